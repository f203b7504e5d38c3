"""The record of a run: read with suspicion, and as earlier versions wrote it."""

import json
from copy import deepcopy

import pytest
from loans import refuse
from nasty_texts import assert_refused

from subsvms.app.runs.record import read_record
from subsvms.exceptions import TableError


def test_a_record_takes_no_further_settings(folder):
    refuse("leave out --rule", "correct", "--from", folder, "--rule", "majority")


@pytest.mark.parametrize("text", [
    "", "[]", "[" * 100_000, '{"subsvms": 2}',
    '{"subsvms": 2, "options": {"rule": "x"}, "input": {"paths": 3}}',
    '{"subsvms": 2, "options": {"label": "y", "svm": 3}, "input": {"paths": []}}',
], ids=range(6))  # fmt: skip
def test_what_is_not_a_record_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert_refused("is not the record of a run, or it was changed", read_record, tmp_path)


def test_a_table_in_place_of_a_folder_is_refused(folder):
    table = folder.with_name("loans.csv")
    said = (
        f"{str(table)!r} is a file, and the folder of a run is expected: give the one that subsvms correct "
        "made, such as loans.subsvms."
    )
    assert assert_refused(said, read_record, table) == said
    for command in ("review", "confirm", "audit", "apply"):
        refuse(said, command, table)


@pytest.mark.parametrize("version", [1, 99])
def test_a_record_of_another_format_is_refused(tmp_path, version):
    (tmp_path / "run.json").write_text(f'{{"subsvms": {version}}}')
    assert_refused("use the version that wrote it, or run subsvms correct", read_record, tmp_path)


def test_the_record_of_a_run_with_early_exits_is_read(folder):
    """They stood for the paper's SVMs."""
    record = json.loads((folder / "run.json").read_text())
    plain = record["options"] | {"n_estimators": None, "subsample_size": None, "kernel": None}
    for options, kernel in ((plain, "rbf"), (plain | {"n_estimators": 50}, None)):
        record["options"] = options | {"early_exit": 0.999}
        (folder / "run.json").write_text(json.dumps(record))
        found = read_record(folder).options
        assert (found.kernel, found.early_exit) == (kernel, None)


WRONG = (None, True, -1, 3.5, 10**30, "", "zzz", "\0", [], [[]], ["x"], [[1, [2]]], {}, {"a": 1})


def list_places(value, place=()):
    """Yield the place of every value that is read from a record."""
    yield place
    inner = dict(enumerate(value[:1])) if isinstance(value, list) else value
    for key, one in inner.items() if isinstance(inner, dict) else ():
        if place or key in ("subsvms", "input", "options", "files"):
            yield from list_places(one, (*place, key))


def test_no_edit_of_a_record_gives_a_traceback(finished, tmp_path):
    good = json.loads((finished.folder / "run.json").read_text())
    read = refused = 0
    for *above, last in list(list_places({**good, "found": {}}))[1:]:
        for wrong in WRONG:
            record = value = deepcopy(good)
            for key in above:
                value = value[key]
            value[last] = wrong
            (tmp_path / "run.json").write_text(json.dumps(record))
            try:
                read_record(tmp_path)
                read += 1
            except TableError as error:
                refused += 1
                assert str(tmp_path) in str(error)
    assert read > 20 and refused > 300


def test_a_value_of_a_wrong_type_is_named(finished, tmp_path):
    record = json.loads((finished.folder / "run.json").read_text())
    record["options"]["verified"] = [[1, ["no"]]]
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert_refused("$.options.verified", read_record, tmp_path)
