"""What an audit starts from: labels, suggestions and the order of suspicion; or its saved state, checked."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subsvms._labels import Classes, check_labels
from subsvms._numbers import read_array
from subsvms.correction import Correction
from subsvms.exceptions import InputError, format_value


@dataclass(frozen=True, eq=False)
class Ranking:
    """Labels, suggestions, and the order of suspicion; `make` checks them, `of` takes them from a correction.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    given, suggested : ndarray of int of shape (n_rows,)
        Class numbers: -1 for no label, and the best other class.
    order : ndarray of int of shape (n_ranked,)
        Rows with a label that nobody verified, the most suspicious first.
    contradicted : ndarray of bool of shape (n_rows,)
        Whether the vote prefers another class to the label.
    flagged, held_back : ndarray of bool of shape (n_rows,)
        Whether the rule changes the label to the suggested one, or would with another action; and whether
        it held such a change back. None stands for no rows.
    quality : ndarray of shape (n_rows,) or None
        How credible each label is, for forecasts alone.

    Examples
    --------
    >>> from subsvms.audit import Ranking
    >>> ranking = Ranking.make(["ham", "ham", "spam"], ["spam", "spam", "ham"], quality=[0.9, 0.1, 0.5])
    >>> ranking.order
    array([1, 2, 0])
    """

    classes: np.ndarray
    given: np.ndarray
    suggested: np.ndarray
    order: np.ndarray
    contradicted: np.ndarray
    flagged: np.ndarray = None  # type: ignore[assignment]  # arrays of False, made below
    held_back: np.ndarray = None  # type: ignore[assignment]
    quality: np.ndarray | None = None

    def __post_init__(self):
        for name in ("flagged", "held_back"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(len(self.given), dtype=bool))

    @classmethod
    def of(cls, correction: Correction) -> "Ranking":
        """Return the ranking of a correction: by `label_quality`, with the best other class as suggestion."""
        asked = ~correction.missing & ~correction.decided
        free = np.flatnonzero(asked)
        order = free[np.argsort(correction.label_quality[free], kind="stable")]
        flagged = correction.flagged & asked
        return cls(
            correction.classes, correction.given, correction.judgement.rival, order,
            correction.contradicted, flagged, correction.held_back, correction.label_quality,
        )  # fmt: skip

    @classmethod
    def make(
        cls, given: ArrayLike, suggested: ArrayLike, quality: ArrayLike,
        contradicted: ArrayLike | None = None, flagged: ArrayLike | None = None,
        held_back: ArrayLike | None = None,
    ) -> "Ranking":  # fmt: skip
        """Return a ranking by any other tool, from arrays of shape (n_rows,).

        `suggested` are the most probable other labels, `quality` says how credible each label is (low values
        are suspected first), `contradicted` whether another label is more probable, and `flagged` and
        `held_back` which labels the tool changed, and nearly changed: people are asked about these first.
        """
        credible: np.ndarray = read_array("quality", quality)
        labels = [read_array(name, one, None) for name, one in (("given", given), ("suggested", suggested))]
        n = credible.size
        if credible.ndim != 1 or not np.isfinite(credible).all():
            raise InputError("quality must be one finite number for each row.")
        if n < 2 or any(one.shape != (n,) for one in labels):
            lengths = f"{labels[0].size}, {labels[1].size} and {n}"
            expected = "given, suggested and quality must have equal lengths, at least 2"
            raise InputError(f"{expected}; got {lengths}.")
        classes, numbers = check_labels(np.concatenate(labels), 2 * n)
        same = np.flatnonzero(numbers[:n] == numbers[n:])
        if len(same):
            label = format_value(classes.tolist()[numbers[same[0]]])
            raise InputError(f"A suggestion must differ from the label, but row {same[0]} has {label} twice.")
        marked: dict[str, Any] = {"contradicted": contradicted, "flagged": flagged, "held_back": held_back}
        for name, mark in marked.items():
            mark = marked[name] = np.zeros(n, dtype=bool) if mark is None else np.asarray(mark)
            if mark.shape != (n,) or mark.dtype != bool:
                raise InputError(f"{name} must hold True or False for each of {n} rows.")
        if np.any(marked["flagged"] & marked["held_back"]):
            raise InputError("A change that was made was not held back: flagged and held_back overlap.")
        return cls(classes, numbers[:n], numbers[n:], np.argsort(credible, kind="stable"), **marked)

    @property
    def several(self) -> bool:
        return len(self.classes) > 2

    @property
    def digest(self) -> str:
        """A checksum: an audit goes on only with what it was made from."""
        sha = hashlib.sha256(repr(self.classes.tolist()).encode())
        for name in ("given", "suggested", "order", "contradicted", "flagged", "held_back"):
            sha.update(np.ascontiguousarray(getattr(self, name), dtype="<i8").tobytes())
        return sha.hexdigest()

    def number(self, label: Any) -> int:
        """Return the class number of a label; raise an error if there is no such class."""
        return Classes(self.classes).find(label, "An answer", ", or None for 'cannot tell'")


def as_ranking(source: "Correction | Ranking") -> Ranking:
    if isinstance(source, Correction):
        source = Ranking.of(source)
    elif not isinstance(source, Ranking):
        kind = type(source).__name__
        raise TypeError(f"An audit is made from a Correction or a Ranking; got {kind}: see Ranking.make.")
    return source


# A saved state, which anyone may have changed: each fault is one sentence.


def check_parameters(state: Any, version: int, kinds: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    """Return the parameters in a state, also those of `kinds`; raise an error if one is missing or unfit."""
    if not isinstance(state, Mapping):
        raise InputError(f"The state of an audit must be a dictionary; got {type(state).__name__}.")
    if state.get("format") == 1:
        raise InputError(
            "The audit was begun with version 0.1 of subsvms, which asked other questions: finish it and "
            "apply it with that version, or begin again with a new correction."
        )
    if state.get("format") != version:
        raise InputError(
            f"The audit has format {format_value(state.get('format'))}, but this version of subsvms reads "
            f"format {version}: use the version that began it."
        )
    parameters = {"confidence": is_float, "random_state": is_count, **kinds}
    parts: dict[str, Callable[[Any], bool]] = {
        "made_from": lambda value: isinstance(value, str), **parameters,
        "answers": lambda value: isinstance(value, list | tuple),
    }  # fmt: skip
    for name, fits in parts.items():
        if not fits(state.get(name)):
            found = format_value(state.get(name))
            raise InputError(f"The state of the audit has no valid {name!r}; got {found}.")
    return {{"confidence": "level"}.get(name, name): state[name] for name in parameters}  # its name in files


def check_answer(i: int, pair: Any, n_classes: int) -> tuple[int, int | None]:
    """Return the row and the class number of the i-th answer in a state."""
    if not (isinstance(pair, list | tuple) and len(pair) == 2 and is_count(pair[0])):
        raise InputError(f"Answer {i} of the audit must be a row and a class; got {format_value(pair)}.")
    row, number = pair
    if number is not None and not (is_count(number) and number < n_classes):
        expected = f"Answer {i} of the audit must be a class from 0 to {n_classes - 1} or None"
        raise InputError(f"{expected}; got {format_value(number)}.")
    return row, number


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_float(value: Any) -> bool:
    return isinstance(value, float)


def is_switch(value: Any) -> bool:
    return isinstance(value, bool)
