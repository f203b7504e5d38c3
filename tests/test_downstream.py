"""What a correction is good for: scores beside slow and plain versions, runs that continue, losses first."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from benchmarks.peers import downstream, page, scores

ROOT = Path(__file__).parents[1]


def make_noisy(n_classes, n=120):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, class_sep=1.5, random_state=0
    )
    given = y.copy()
    given[: n // 10] = (given[: n // 10] + 1) % n_classes
    return X.astype(np.float32), y, given


def boost_briefly(X, given, n_stages=4):
    return GradientBoostingClassifier(n_estimators=n_stages, random_state=0).fit(X, given)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_area_under_the_margin_is_the_mean_margin_of_shorter_and_shorter_models(n_classes):
    X, _, given = make_noisy(n_classes)
    expected = np.zeros(len(given))
    for n_stages in range(1, 5):
        values = boost_briefly(X, given, n_stages).decision_function(X).reshape(len(given), -1)
        if n_classes == 2:  # one value stands for two
            values = np.hstack([np.zeros_like(values), values])
        for row, label in enumerate(given):
            others = [value for k, value in enumerate(values[row]) if k != label]
            expected[row] += (values[row, label] - max(others)) / 4
    np.testing.assert_allclose(scores.average_margins(boost_briefly(X, given), X, given), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_self_influence_is_the_slope_of_a_rows_own_loss_in_its_weight(n_classes):
    """Weights move by a little, leaves are computed again with plain sums, and the trees stay."""
    X, _, given = make_noisy(n_classes, n=40)
    model, step = boost_briefly(X, given), 1e-5
    shrink = 0.1 if n_classes == 2 else 0.1 * (n_classes - 1) / n_classes
    values = np.tile(model.init_.predict_log_proba(X[:1]), (len(given), 1))
    own = np.eye(n_classes)[given]
    expected = np.zeros(len(given))
    for trees in model.estimators_:
        p = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        values = values.copy()
        for k, tree in zip(range(n_classes - len(trees), n_classes), trees, strict=True):
            leaf = tree.apply(X)
            for row in range(len(given)):
                mates = leaf == leaf[row]
                moves = []
                for weight in (1 + step, 1 - step):
                    w = np.where(np.arange(len(given)) == row, weight, 1.0)[mates]
                    pull, curvature = w * (own - p)[mates, k], w * (p * (1 - p))[mates, k]
                    moves.append(shrink * pull.sum() / curvature.sum())
                expected[row] += (own - p)[row, k] * (moves[0] - moves[1]) / (2 * step)
                values[row, k] += sum(moves) / 2
    np.testing.assert_allclose(scores.sum_influence(model, X, given), expected, rtol=1e-5, atol=1e-8)


def test_data_oob_agrees_with_scikit_learns_out_of_bag_probabilities():
    X, _, given = make_noisy(3)  # no two rows are equal, so the leaves of full trees hold one class
    forest = RandomForestClassifier(60, random_state=0, oob_score=True).fit(X, given)
    expected = forest.oob_decision_function_[np.arange(len(given)), given]
    np.testing.assert_allclose(scores.score_out_of_bag(forest, X, given), expected)
    whole = RandomForestClassifier(3, bootstrap=False, random_state=0)  # every tree sees every row
    whole.fit(X, given)
    assert (scores.score_out_of_bag(whole, X, given) == 0.5).all()


@pytest.mark.parametrize("name", scores.SCORES)
def test_a_score_ranks_wrong_labels_first(name):
    X, y, given = make_noisy(3)
    assert downstream.rank(given != y, scores.SCORES[name](X, given, 0))["auc"] > 0.75


def test_each_action_does_what_its_name_says(monkeypatch):
    monkeypatch.setattr(downstream, "N_ANSWERS", 2)
    clean, given = np.array([0, 1, 0, 1, 0]), np.array([1, 0, 0, 1, 0])
    known = np.array([False, True, True, True, True])
    cell = downstream.Cell(np.zeros((5, 1)), np.where(known, clean, given), given, known, None, None)
    advice = downstream.Advice(np.arange(5.0), labels=np.array([0, 1, 1, 1, 0]), weight=np.full(5, 0.5))
    sets = {name: tuple(map(list, pair)) for name, pair in downstream.list_sets(cell, advice, 0).items()}
    every = [1.0] * 5
    assert sets == {
        "told": (given.tolist(), [0, 1, 1, 1, 1]),  # one of four known labels is wrong: one of five rows
        "asked": ([1, 1, 0, 1, 0], every),  # the first row cannot be asked about
        "fix": ([0, 1, 1, 1, 0], every),
        "drop": (given.tolist(), [0, 0, 0, 1, 1]),
        "weight": (given.tolist(), [0.5] * 5),
    }


def test_test_rows_are_not_trained_on_and_unknown_labels_are_never_the_truth(monkeypatch):
    n = 90
    X, clean, given = np.arange(n)[:, None], np.arange(n) % 2, np.ones(n, dtype=int)
    known = np.arange(n) < 60
    monkeypatch.setattr(downstream, "read", lambda *_: (X, np.where(known, clean, -1), given, known))
    cell = downstream.load_cell("real noise", "name", "real", 0)
    assert not set(cell.X.ravel()) & set(cell.X_test.ravel()) and len(cell.X_test) == 20
    assert (cell.X_test < 60).all() and (cell.y_test == cell.X_test.ravel() % 2).all()
    assert (cell.clean[~cell.known] == 1).all() and cell.known.sum() == 40


def test_a_run_continues_where_it_stopped(tmp_path, monkeypatch):
    few = {name: downstream.ADVISERS[name] for name in (downstream.OURS, "Data-OOB")}
    monkeypatch.setattr(downstream, "ADVISERS", few)
    monkeypatch.setattr(downstream, "KINDS", ("uniform",))
    monkeypatch.setattr(scores, "N_TREES", 20)
    path = tmp_path / "downstream.csv"
    words = ["--seeds", "0", "--only", "wine", "--results", str(tmp_path), "--workers", "1"]
    words += ["--to", str(tmp_path / "peers.md")]
    downstream.main(words)
    whole = pd.read_csv(path)
    assert list(whole["method"]) == [downstream.AS_GIVEN, downstream.TRUTH, *few]
    assert whole.loc[1, "left keep"] == 0 and whole.loc[0, "left keep"] == whole.loc[0, "given"] > 0
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))  # stopped before the last line
    done = []
    monkeypatch.setattr(downstream, "run", lambda job, run=downstream.run: done.append(job) or run(job))
    downstream.main(words)
    assert [job[-1] for job in done] == ["Data-OOB"]
    pd.testing.assert_frame_equal(pd.read_csv(path).drop(columns="seconds"), whole.drop(columns="seconds"))
    downstream.main(words)
    assert len(done) == 1


@pytest.fixture
def made_lines(tmp_path):
    """Return the path of invented lines, and the lines: four cells, three seeds, the last line missing."""
    rng = np.random.default_rng(0)
    cells = [("real noise", name, "real") for name in "ad"] + [("made", name, "uniform") for name in "bc"]
    lines = []
    for cell in cells:
        for seed in range(3):
            for method in (downstream.AS_GIVEN, downstream.TRUTH, *downstream.ADVISERS):
                lines.append([*cell, seed, method, 9, 0.1, *rng.random(24)])
    table = pd.DataFrame(lines, columns=list(downstream.COLUMNS))
    nothing = table["method"].isin([downstream.AS_GIVEN, downstream.TRUTH])
    for column in downstream.COLUMNS[7:]:
        table.loc[~nothing if column.endswith("keep") else nothing, column] = np.nan
        if column.endswith("audit"):
            table.loc[table["method"] != downstream.OURS, column] = np.nan
    table.iloc[:-1].to_csv(tmp_path / "downstream.csv", index=False)
    return tmp_path / "downstream.csv", table.iloc[:-1]


def test_a_cell_counts_if_every_method_finished_it(made_lines):
    path, lines = made_lines
    whole = page.read_whole(path)
    assert len(whole) == len(lines) + 1 - len(downstream.ADVISERS) - 2
    assert ("c", 2) not in set(zip(whole["data"], whole["seed"], strict=True))
    pd.concat([lines, lines.iloc[[3]].assign(method="slow")]).to_csv(path, index=False)
    assert "slow" not in set(page.read_whole(path)["method"])
    lines[lines["method"] == downstream.AS_GIVEN].to_csv(path, index=False)  # ours has not begun
    assert page.read_whole(path).empty and page.read_whole(path.with_name("none.csv")).empty


def test_averages_and_their_errors_agree_with_plain_sums(made_lines):
    path, lines = made_lines
    values = page.stack_trained(page.read_whole(path))
    found = page.average(page.take(values, "forest", "subsvms", "drop", "uniform"))
    own = lines[(lines["method"] == "subsvms") & (lines["kind"] == "uniform")]
    b, c = (own[own["data"] == name]["forest drop"].to_numpy() for name in "bc")
    c = c[:2]  # not every method finished the last seed
    assert found[0] == pytest.approx((b.mean() + c.mean()) / 2)
    variance = (b.var(ddof=1) + c.var(ddof=1)) / 2
    assert found[1] == pytest.approx(np.sqrt((variance / 3 + variance / 2) / 4))


def test_every_average_that_we_lose_is_listed(made_lines):
    lines = page.read_whole(made_lines[0])
    found = page.find_losses(page.stack_trained(lines))
    listed = set(zip(found["what"], found["noise"], strict=True))
    cells = lines.groupby(["kind", "data", "method"]).mean(numeric_only=True)
    means = cells.groupby(["kind", "method"]).mean()
    words = {"auc": "ROC AUC of the ranking", "SVC told": "balanced accuracy of an SVC: drop, told how many"}
    for kind, noise in (("real", "real noise"), ("uniform", "10 % at random")):
        own = means.loc[kind]
        for column, what in words.items():
            peers = own[column].dropna().drop(["subsvms", "subsvms, the vote alone"])
            assert ((what, noise) in listed) == (peers.max() > own.loc["subsvms", column])
        fixed = own["left fix"].dropna().drop("subsvms, the vote alone")
        rivals = [own.loc["as given", "left keep"], *fixed.drop("subsvms")]
        assert (("wrong labels left: fix", noise) in listed) == (min(rivals) < fixed["subsvms"])
        answers = [*own["forest asked"].dropna(), own.loc["subsvms", "forest fix"]]
        lost = max(answers) > own.loc["subsvms", "forest audit"]
        assert (("balanced accuracy of a forest: audit, 50 answers", noise) in listed) == lost


def test_the_page_is_what_the_command_makes_of_the_lines_and_begins_with_losses(tmp_path):
    downstream.main(["--report", "--to", str(tmp_path / "peers.md")])
    text = (tmp_path / "peers.md").read_text()
    assert text == (ROOT / "benchmarks/results/peers.md").read_text()
    assert text.startswith("# Beside others, losses first\n\n## Where we lose\n") and "nan" not in text
