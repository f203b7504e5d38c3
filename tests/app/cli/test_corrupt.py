"""`subsvms corrupt`, called as from a shell."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from loans import call

from subsvms.adversaries import ATTACKS
from subsvms.app.tables.table import place_beside, read_table


@pytest.fixture
def loans(tmp_path):
    """A table with text, codes that look like numbers, odd names and two missing labels."""
    rng = np.random.default_rng(0)
    label = np.repeat(["no", "yes"], [120, 80]).astype(object)
    frame = pd.DataFrame({
        "id": [f"{i:05d}" for i in range(200)],
        "amount, in €": (rng.normal(3 + 2 * (label == "yes"), 1)).round(2),
        "sort": rng.choice(["a", "b", "c, d"], 200),
        "default": label,
    })  # fmt: skip
    frame.loc[[5, 150], "default"] = None
    path = tmp_path / "loans.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ATTACKS)
def test_corrupt_changes_as_many_labels_as_asked_and_nothing_else(loans, name):
    before = loans.read_bytes()
    words = ("corrupt", loans, "--label", "default", "--attack", name, "--error-rate", 0.1, "--seed", 1)
    output = call(*words).output
    out = loans.with_name("loans.corrupted.csv")
    old, new = (pd.read_csv(path, dtype=str) for path in (loans, out))
    changed = old["default"].fillna("") != new["default"].fillna("")
    assert changed.sum() == 19  # of 198 labels, never more than a tenth
    pd.testing.assert_frame_equal(old.drop(columns="default"), new.drop(columns="default"))
    assert new["default"].isna().sum() == 2
    assert "19 of 198 labels (9.6 %) are wrong now" in output and out.name in output
    assert loans.read_bytes() == before


def test_the_same_seed_corrupts_the_same_rows(loans, tmp_path):
    texts = []
    for i, seed in enumerate((3, 3, 4)):
        out = tmp_path / f"{i}.csv"
        call("corrupt", loans, "--label", "default", "--seed", seed, "--output", out)
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2]


def test_an_existing_file_is_not_replaced_unless_forced_and_never_the_input(loans):
    words = ("corrupt", loans, "--label", "default")
    out = loans.with_name("loans.corrupted.csv")
    out.write_text("precious")
    assert "already exists" in call(*words, code=2).output and out.read_text() == "precious"
    assert call(*words, "--force") and out.read_text() != "precious"
    before = loans.read_bytes()
    assert call(*words, "--output", loans, "--force", code=2) and loans.read_bytes() == before
    words = ("corrupt", "-", "--label", "default")
    assert "--output" in call(*words, code=2, input=before.decode()).output
    call(*words, "--output", loans.with_name("new.csv"), input=before.decode())
    assert loans.with_name("new.csv").exists()


def test_corrupt_takes_a_direction_a_matrix_or_a_class_and_writes_the_clean_labels(loans):
    words = ("corrupt", loans, "--label", "default", "--force", "--clean-column", "truth")
    out = loans.with_name("loans.corrupted.csv")

    def moves(*more):
        call(*words, *more)
        frame = pd.read_csv(out, dtype=str).dropna(subset=["truth"])
        assert list(frame.columns)[-2:] == ["default", "truth"]
        wrong = frame[frame["default"] != frame["truth"]]
        return wrong["truth"].value_counts().to_dict()

    assert moves("--attack", "directed", "--rho", "0.5", "--alpha", "1") == {"no": 39}
    assert moves("--attack", "class-conditional", "--matrix", "1 0; 0.5 0.5") == {"yes": 39}
    assert moves("--attack", "region", "--class", "yes", "--error-rate", "0.05") == {"yes": 9}


@pytest.mark.parametrize("name, expected", [
    ("a.csv", "a.corrupted.csv"), ("a.csv.gz", "a.corrupted.csv.gz"),
    ("v1.2.x.csv", "v1.2.x.corrupted.csv"), ("loans.v1.csv.gz", "loans.v1.corrupted.csv.gz"),
    ("loans.data", "loans.data.corrupted.csv"),
])  # fmt: skip
def test_the_default_output_is_next_to_the_file(loans, tmp_path, name, expected):
    data = loans.read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert place_beside(read_table(tmp_path / name, "default"), "corrupted") == tmp_path / expected


BAD = [
    (["--class", "yes"], "--class is for the attack 'region' only"),
    (["--attack", "magic"], "must be one of directed, uniform"),
    (["--error-rate", "1.5"], "--error-rate must be at least 0 and less than 1; got 1.5"),
    (["--error-rate", "0.1", "--rho", "0.1"], "Give --error-rate or --rho, not both"),
    (["--rho", "1"], "rho must be at least 0 and less than 1"),
    (["--attack", "region", "--error-rate", "0.9"], "119"),
    (["--attack", "region", "--class", "maybe"], "The class must be one of 'no', 'yes'; got 'maybe'"),
    (["--attack", "class-conditional", "--matrix", "a b"], "--matrix must be numbers"),
    (["--attack", "boundary", "--exclude", "srot"], "did you mean 'sort'"),
    (["--label", "defalt"], "did you mean 'default'"),
    (["--format", "xlz"], "got 'xlz'"),
    (["--sheet", "one"], "--sheet is for workbooks, but"),
]


@pytest.mark.parametrize("more, message", BAD)
def test_an_error_is_one_sentence_with_exit_code_2_and_no_file(loans, more, message):
    output = call("corrupt", loans, "--label", "default", *more, code=2).output
    assert message in output and "Traceback" not in output
    assert os.listdir(loans.parent) == ["loans.csv"]
