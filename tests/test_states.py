import json
import os
import pickle

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from subsvms._states import State, digest, read_state, write_state
from subsvms.exceptions import InputError

STATE = State({"factor": 2.0}, {"kept": np.arange(10), "weight": np.ones((2, 3), np.float32)})


@pytest.fixture
def saved(tmp_path):
    write_state(STATE, tmp_path / "state")
    return tmp_path / "state"


def rewrite(path, **changes):
    """Change the metadata of a file, and nothing else."""
    with safe_open(path, framework="np") as file:
        metadata, arrays = file.metadata(), {key: file.get_tensor(key) for key in file.keys()}
    path.write_bytes(to_bytes(arrays, metadata | changes))


def test_a_state_is_read_as_it_was_written(saved):
    read = read_state(saved)
    assert read.header == STATE.header
    for key, array in STATE.arrays.items():
        np.testing.assert_array_equal(read.arrays[key], array, strict=True)
    write_state(STATE, saved.with_name("again"))
    assert saved.with_name("again").read_bytes() == saved.read_bytes()


def test_a_truncated_file_is_refused_and_every_changed_byte_is_noticed(saved):
    content = saved.read_bytes()
    for length in (0, 5, 8, 100, -1):
        saved.write_bytes(content[:length])
        with pytest.raises(InputError, match="is not a model file, or it is damaged"):
            read_state(saved)
    for place in range(8, len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        saved.write_bytes(changed)
        with pytest.raises(InputError, match="state'"):
            read_state(saved)


def test_a_file_of_another_program_is_refused(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(FileNotFoundError, match="no file"):
        read_state(path)
    path.write_text("label,a,b\n1,2,3\n" * 100)
    with pytest.raises(InputError, match="is not a model file"):
        read_state(path)
    path.write_bytes(to_bytes({"weight": np.ones(3)}))
    with pytest.raises(InputError, match="was not written by subsvms"):
        read_state(path)
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))  # a type that NumPy lacks
    with pytest.raises(InputError, match="was not written by subsvms"):
        read_state(path)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    (tmp_path / "m").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="is not a model file"):
        read_state(tmp_path / "m")
    assert not (tmp_path / "exploded").exists()


def test_another_format_is_refused(saved):
    rewrite(saved, subsvms="99")
    with pytest.raises(InputError, match="format '99'.*reads format 2"):
        read_state(saved)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "no JSON", '{"a": ["\\ud800"]}'], ids=range(4))
def test_a_header_that_is_not_a_dictionary_of_text_is_refused(saved, text):
    rewrite(saved, header=text, sha256=digest(text, STATE.arrays))
    with pytest.raises(InputError, match="does not describe a model"):
        read_state(saved)


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OSError, match="is a folder or a device"):
        write_state(STATE, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is a folder or a device"):
        write_state(STATE, tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="no folder .*missing"):
        write_state(STATE, tmp_path / "missing" / "m")


def test_a_link_and_the_permissions_of_a_file_are_kept(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_state(STATE, link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert read_state(file).header == STATE.header
