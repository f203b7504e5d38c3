"""From decisions to a table, and to the next run."""

import pytest
from loans import call, read

from subsvms.app.review.apply import apply_decisions
from subsvms.app.runs.decisions import Act
from subsvms.app.runs.job import read_verified
from subsvms.exceptions import TableError


def test_apply_writes_what_was_decided_and_nothing_else(desk, folder, tmp_path):
    flagged = desk.rows[desk.flagged].tolist()
    accept, keep, other = flagged[0], flagged[1], flagged[2]
    filled = int(desk.rows[desk.given < 0][0])
    opposite = {"yes": "no", "no": "yes"}
    desk.decide_many([Act([desk.settle(accept, "accept", None), desk.settle(keep, "keep", None)], "Ann")])
    desk.decide_many([Act([desk.settle(other, "skip", None), desk.settle(filled, "accept", None)], "Bob")])
    original = read(folder.with_name("loans.csv"))
    suggested = {int(row): desk.classes[code] for row, code in zip(desk.rows, desk.suggested, strict=True)}
    for undecided in ("keep", "suggestion"):
        done = apply_decisions(folder, undecided=undecided, output=tmp_path / f"{undecided}.csv")
        final = read(tmp_path / f"{undecided}.csv")
        assert done.n_changed == sum(a != b for a, b in zip(final, original, strict=True))
        assert final[accept - 1]["default"] == opposite[original[accept - 1]["default"]]
        assert final[keep - 1]["default"] == original[keep - 1]["default"]
        assert final[filled - 1]["default"] == suggested[filled]
        for row in flagged[2:]:
            expected = suggested[row] if undecided == "suggestion" else original[row - 1]["default"]
            assert final[row - 1]["default"] == expected
        untouched = set(range(1, len(original) + 1)) - set(desk.rows.tolist())
        assert all(final[row - 1] == original[row - 1] for row in untouched)
    with pytest.raises(TableError, match="already exists"):
        apply_decisions(folder, output=tmp_path / "keep.csv")
    with pytest.raises(TableError, match="keep or suggestion"):
        apply_decisions(folder, undecided="maybe")


def test_decided_rows_are_verified_in_the_next_run_and_stand_in_the_rounds_after(desk, folder, tmp_path):
    rows = desk.rows[desk.flagged][:20].tolist()
    verdicts = ["keep" if i % 2 else "accept" for i in range(20)]
    decided = [desk.settle(row, verdict, None) for row, verdict in zip(rows, verdicts, strict=True)]
    desk.decide_many([Act(decided, "Ann")])
    table, second = folder.with_name("loans.csv"), folder.with_name("loans.reviewed.subsvms")
    call("correct", table, "--label", "default", "--svms", 100, "--quiet", "--decisions", folder)
    corrected, original = read(second / "corrected.csv"), read(table)
    kept = [corrected[row - 1]["default"] == original[row - 1]["default"] for row in rows]
    assert kept == [verdict == "keep" for verdict in verdicts]
    assert not {str(row) for row in rows} & {issue["row"] for issue in read(second / "issues.csv")}
    done = apply_decisions(second, output=tmp_path / "final.csv")
    assert done.n_decided == 20 and done.n_changed == 10
    assert len(read_verified(second, "default")[0]) == 20
    call("correct", "--from", second, "--output", tmp_path / "again", "--quiet")
    for name in ("corrected.csv", "issues.csv", "issues.parquet"):
        assert (second / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    result = call("correct", table, "--label", "colour", "--decisions", folder, code=2)
    assert "are about the column 'default', not 'colour'" in " ".join(result.output.split())
