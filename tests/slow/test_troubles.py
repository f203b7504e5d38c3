"""A table of 60,000 rows, from the file to the list of wrong labels."""

import numpy as np
import pandas as pd
import pytest
from loans import call

pytestmark = pytest.mark.slow

N = 60_000  # more than the sample that is learned from


@pytest.mark.nightly
def test_sixty_thousand_rows_with_a_leak_and_an_identifier(tmp_path):
    rng = np.random.default_rng(0)
    clean = rng.random(N) < 0.4
    given = clean ^ (rng.random(N) < 0.1)
    table = pd.DataFrame(rng.normal(1.5 * clean[:, None], 1, (N, 10)).round(3)).rename(columns="x{}".format)
    table["customer"] = np.char.add("C", np.arange(N).astype(str))
    table["code"] = given * 7
    table["y"] = np.where(given, "yes", "no")
    table.to_csv(tmp_path / "big.csv", index=False)
    output = call("correct", tmp_path / "big.csv", "--label", "y", "--id", "customer").output
    assert "'code' was left out" in output and "voting on the other rows ..." in output
    issues = pd.read_csv(tmp_path / "big.subsvms" / "issues.csv", usecols=range(6))
    assert (issues["customer"] == "C" + (issues["row"] - 1).astype(str)).all()
    assert (issues["line"] == issues["row"] + 1).all()
    changed = issues.loc[issues["is_label_issue"], "row"].to_numpy() - 1
    wrong = given != clean
    assert wrong[changed].mean() > 0.85 and wrong[changed].sum() > 0.85 * wrong.sum()
