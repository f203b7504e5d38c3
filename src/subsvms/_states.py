"""The state of a fitted object as plain values (JSON and named arrays), and a file that holds both.

The file is safetensors, not pickle, so reading it runs no code. Its content is not trusted: the checksum
reveals damage and careless edits, but anyone can compute a checksum, so every value is checked before an
object is built from a state.
"""

import hashlib
import json
import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from subsvms._atomic import write_whole
from subsvms.exceptions import InputError, is_text

FORMAT = 2  # increased when older versions could misread a file
# What a forged file can make Python raise while an object is built from it.
WRONG = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip


class State(NamedTuple):
    """The state of a fitted object."""

    header: dict[str, Any]  # JSON
    arrays: dict[str, np.ndarray]

    def part(self, name: str) -> "State":
        """Return one of the states that `join_states` joined."""
        parts = ((key.partition("."), array) for key, array in self.arrays.items())
        return State(self.header[name], {key: array for (of, _, key), array in parts if of == name})


def join_states(header: dict[str, Any], **parts: State) -> State:
    """Return one state that holds several."""
    arrays = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
    return State(header | {name: part.header for name, part in parts.items()}, arrays)


def write_state(state: State, path: str | os.PathLike) -> None:
    """Write a state to a file, completely or not at all; the same state gives the same bytes."""
    path = Path(path).resolve()  # a link remains a link to the file
    if path.exists() and not path.is_file():
        raise OSError(f"{str(path)!r} is a folder or a device: give the name of an ordinary file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save in: create it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"The folder {str(path.parent)!r} is not writable: choose another.")
    write_whole(path, encode_state(state))


def encode_state(state: State) -> bytes:
    arrays = {key: np.ascontiguousarray(value) for key, value in state.arrays.items()}
    text = json.dumps(state.header)
    metadata = {"subsvms": str(FORMAT), "header": text, "sha256": digest(text, arrays)}
    return _sort_header(to_bytes(arrays, metadata))


def _sort_header(data: bytes) -> bytes:
    """Return a safetensors file with its header sorted, since metadata is written in random order."""
    end = 8 + int.from_bytes(data[:8], "little")
    text = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the arrays stay aligned
    return len(text).to_bytes(8, "little") + text + data[end:]


def read_state(path: str | os.PathLike) -> State:
    """Read what `write_state` wrote; raise an InputError if it is something else or was changed."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r} to load a model from.")
    path.open("rb").close()  # its error for a missing permission is clearer than that of safetensors
    metadata, arrays = _read(path)
    text = metadata.get("header", "")
    if metadata.get("sha256") != digest(text, arrays):
        raise InputError(f"{str(path)!r} was changed after it was saved: save the model again.")
    with distrust(path):
        header = json.loads(text)
        require(isinstance(header, dict), "header")
        require(is_text(json.dumps(header, ensure_ascii=False)), "text")
        return State(header, arrays)


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if metadata.get("subsvms") == str(FORMAT):
                return metadata, {key: file.get_tensor(key) for key in file.keys()}
    except (SafetensorError, UnicodeDecodeError, *WRONG) as error:
        raise InputError(
            f"{str(path)!r} is not a model file, or it is damaged: save the model again ({error})."
        ) from None
    if "subsvms" not in metadata:
        raise InputError(f"{str(path)!r} is a safetensors file, but was not written by subsvms.save.")
    raise InputError(
        f"{str(path)!r} has format {metadata['subsvms'][:20]!r}, but this version of subsvms reads "
        f"format {FORMAT}: use the version that wrote it."
    )


def digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    sha = hashlib.sha256(text.encode())
    for key in sorted(arrays):
        array = arrays[key]
        sha.update(f"{key} {array.dtype.str} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


@contextmanager
def distrust(path: str | os.PathLike) -> Iterator[None]:
    """Turn any error raised while a model is built into one sentence about its file."""
    try:
        yield
    except WRONG as error:
        reason = textwrap.shorten(str(error), 200, placeholder="...")
        reason = "".join(letter if letter.isprintable() else "?" for letter in reason)
        raise InputError(f"{str(path)!r} does not describe a model that can vote: {reason}.") from None


def require(condition: Any, part: str) -> None:
    """Raise an error that names a part of the file unless a condition holds."""
    if not condition:
        raise ValueError(f"check its {part}")


def is_array(array: np.ndarray, kind: str, shape: tuple[int | None, ...]) -> bool:
    """Return whether an array has this kind of numbers, all finite, and this shape (None stands for any)."""
    fits = array.ndim == len(shape) and all(map(lambda a, b: a in (None, b), shape, array.shape))
    return array.dtype.str[1:].startswith(kind) and fits and bool(np.isfinite(array).all())


def is_within(array: np.ndarray, low: int, end: int) -> bool:
    return array.size == 0 or bool(array.min() >= low and array.max() < end)


def is_choice(array: np.ndarray, n_columns: int) -> bool:
    """Return whether an array holds numbers of some of `n_columns` columns, in increasing order."""
    sound = is_array(array, "i8", (None,)) and len(array) > 0 and is_within(array, 0, n_columns)
    return sound and bool(np.all(np.diff(array) > 0))


def is_number(value: Any) -> bool:
    """Return whether a value of a header is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
