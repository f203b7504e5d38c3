"""Describe the parts of a run in plain values, cut short enough to be shown: what a summary is made of."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from subsvms.app.runs.causes import MOST_LABELS, Carriers
from subsvms.app.runs.issues import Issues
from subsvms.app.runs.run import Run
from subsvms.app.runs.tally import group_noise
from subsvms.app.tables.arrow import list_values
from subsvms.audit._claim import Outcome
from subsvms.correction._noise import NoiseEstimate
from subsvms.ensemble import SubSVMClassifier
from subsvms.ensemble._sampling import subset_size
from subsvms.exceptions import CHARACTERS_SHOWN, cut, format_percent, is_rate_known, quote_spaces

SETS_SHOWN = 100  # of copies, and of equal rows with different labels
ROWS_SHOWN = 50  # in full, with all they are compared with
GROUPS_SHOWN = 50  # of one column
COLUMNS_SHOWN = 40  # of a row
COUNTED = ("contradicted", "flagged", "changed", "left_out", "changed_to", "filled")  # of a `Tally`, by class
SETS = {"changes": "Changes of the run", "held_back": "Labels it held back"}
VERDICTS = {  # what became of such a set
    "passed": "confirmed", "kept": "kept without a claim", "back": "as given", "asked": "nothing is left",
}  # fmt: skip
GIVEN = "{judge} judged each label, by out-of-sample probabilities that were given."
JUDGED = "{judge} judged each label, by probabilities of classifiers that were not trained on its row."
TEXT_SHOWN = 5000  # characters of a value of a row to look at: long texts are there to be read


def name_rate(rate: float, interval: Any) -> float | None:
    """Return an estimated rate, or None if it is not known."""
    return float(rate) if is_rate_known(*interval) else None


def list_classes(run: Run) -> list[dict[str, Any]]:
    """Return what was found about each class."""
    # "rate" and its ends are about the true class, the share of its rows that carry another label;
    # "estimated_wrong" about the given class c, how many of its rows belong to another one: n * sum over t !=
    # c of P(true t) P(given c | t). "rows" have this label before; "changed" and "left_out" of them no longer
    # have it, "changed_to" and "filled" others got it, and "after" have it in the end.
    noise, tally = run.correction.noise, run.tally
    joint = noise.shares[:, None] * noise.matrix * tally.labelled
    wrong, limits = joint.sum(axis=0) - np.diag(joint), bound_wrong(noise, tally.given)
    found = []
    for number, name in enumerate(noise.classes.tolist()):
        low, high = noise.rate_interval[number].tolist()
        counts = {key: getattr(tally, key)[number] for key in COUNTED}
        lost, won = counts["changed"] + counts["left_out"], counts["changed_to"] + counts["filled"]
        found.append({
            "name": cut(quote_spaces(str(name))), "rows": tally.given[number],
            "rate": name_rate(noise.rates[number], (low, high)), "rate_low": low, "rate_high": high,
            "estimated_wrong": round(float(wrong[number])) if is_rate_known(*limits[number]) else None,
            **counts, "after": tally.given[number] - lost + won,
        })  # fmt: skip
    return found


def describe_kin(run: Run) -> dict[str, Any]:
    """Return rows that are copies, and equal rows with different labels, by their numbers from 1."""
    kin, names = run.kin, run.correction.classes.tolist()
    if kin is None:
        return {}
    pairs = list(zip(kin.contradictory, kin.given, strict=True))[:SETS_SHOWN]
    found: dict[str, Any] = {
        "copies": [(rows + 1).tolist() for rows in kin.sets[:SETS_SHOWN]], "n_copies": len(kin.sets),
        "unlike": [
            {"rows": (rows + 1).tolist(), "labels": [cut(quote_spaces(str(names[c]))) for c in given]}
            for rows, given in pairs
        ], "n_unlike": len(kin.contradictory), "words": " ".join(kin.tell()), "of": kin.n_rows,
    }  # fmt: skip
    if len(run.correction) == run.tally.rows:  # all rows are at hand
        for one, (rows, _) in zip(found["unlike"], pairs, strict=True):
            labels = run.correction.labels[rows].tolist()
            one["after"] = [cut(quote_spaces(str(label))) for label in labels]
    return found


def bound_wrong(noise: NoiseEstimate, given: Sequence[int]) -> np.ndarray:
    """Return limits of the share of wrong labels in each given class, from those of the true classes."""
    n_classes = len(noise.classes)
    other = ~np.eye(n_classes, dtype=bool)
    ways = np.where(other, noise.matrix, 0.0)
    ways = np.where(ways.sum(axis=1, keepdims=True) > 0, ways, other)  # evenly where no noise is seen
    ways = ways / ways.sum(axis=1, keepdims=True)
    limits = ways.T @ (noise.shares[:, None] * noise.rate_interval) * sum(given)
    limits = np.minimum(limits / np.maximum(given, 1)[:, None], 1.0)
    limits[np.ptp(noise.rate_interval, axis=1) >= 1] = 0.0, 1.0
    return limits


def list_moves(run: Run) -> list[dict[str, Any]]:
    """Return how many flagged labels go from one class to another, most first."""
    names = [quote_spaces(str(name)) for name in run.correction.classes.tolist()]
    moves = [
        {"given": names[given], "suggested": names[suggested], "rows": count}
        for given, line in enumerate(run.tally.moves)
        for suggested, count in enumerate(line)
        if count
    ]
    return sorted(moves, key=lambda move: -move["rows"])


def list_groups(run: Run) -> list[dict[str, Any]]:
    """Return the noise by each column that was asked for."""
    found = []
    for column, counts in run.tally.groups.items():
        groups = group_noise(counts)
        lines = [group | {"value": cut(group["value"])} for group in groups[:GROUPS_SHOWN]]
        found.append({"column": column, "lines": lines, "more": max(0, len(groups) - GROUPS_SHOWN)})
    return found


def list_people(run: Run) -> list[dict[str, Any]]:
    """Return what was found about each person, those who err most first."""
    consensus = run.correction.consensus
    people = [] if consensus is None else sorted(consensus.people, key=lambda person: person.right)
    numbers = ("right", "low", "high", "chance", "depends", "advice")
    return [
        {
            "name": cut(person.name),
            "kappa": None if np.isnan(person.kappa) else person.kappa,
            "answers": person.n_answers,
            "matrix": person.matrix.tolist(),
            "classes": [quote_spaces(str(name)) for name in consensus.classes.tolist()],
        }
        | {name: getattr(person, name) for name in numbers}
        for person in people
    ]


def measure_people(run: Run) -> float | None:
    """Return how far people agree with each other, if that can be said."""
    consensus = run.correction.consensus
    alpha = float("nan") if consensus is None else consensus.agreement
    return None if np.isnan(alpha) else alpha


def describe_worst(run: Run, issues: Issues, numbers: np.ndarray) -> list[dict[str, Any]]:
    """Return what is known about the rows to look at first, and the rows that speak for and against each."""
    correction = issues.correction
    names = [quote_spaces(str(name)) for name in correction.classes.tolist()]
    columns, rows, found = choose_columns(run), issues.rows[:ROWS_SHOWN], []
    quality, action, reason = correction.label_quality, correction.action, correction.explain(rows)
    proposed, proved = correction.compared[rows], correction.withstands
    confidence = correction.judgement.posterior[rows, proposed]
    share = correction.votes.share[rows, proposed]
    name = run.options.id_column
    for i, row in enumerate(rows.tolist()):
        sides = {
            side: [
                {"row": int(numbers[other]) + 1, "label": names[correction.given[other]],
                 "values": show_values(run, other, columns)}
                for other in getattr(issues.witnesses, side)[i]
            ]
            for side in ("supporting", "opposing")
        }  # fmt: skip
        values = show_values(run, row, columns, TEXT_SHOWN)
        found.append({
            "row": int(numbers[row]) + 1,
            "id": None if name is None else show_values(run, row, [name])[0],
            "given": names[correction.given[row]] if correction.given[row] >= 0 else None,
            "suggested": names[proposed[i]], "confidence": float(confidence[i]),
            "quality": float(np.nan_to_num(quality[row])), "vote_share": float(np.nan_to_num(share[i])),
            "withstands": None if proved is None else int(proved[row]), "action": str(action[row]),
            "reason": reason[i],
            "values": [list(pair) for pair in zip(columns, values, strict=True)],
            **sides, **describe_carriers(issues, i, names, numbers),
        })  # fmt: skip
    return found


def describe_carriers(issues: Issues, place: int, names: list[str], numbers: np.ndarray) -> dict[str, Any]:
    """Return the labels that carry a suggestion, and how many must be wrong to turn it; None if unknown."""
    carriers = issues.carriers
    if carriers is None or carriers.flips[place] == 0:
        return {"flips": None, "carriers": None}
    pairs = zip(carriers.rows[place].tolist(), carriers.weights[place].tolist(), strict=True)
    lines = [
        {"row": int(numbers[row]) + 1, "label": names[issues.correction.given[row]], "weight": weight}
        for row, weight in pairs
        if row >= 0
    ]
    return {"flips": int(carriers.flips[place]), "carriers": lines}


def describe_standing(run: Run, carriers: Carriers | None) -> str:
    """Return in a sentence how many flagged labels a second judge confirms, whatever labels are chosen."""
    if carriers is None:
        if run.tally.n_flagged == 0 or run.tally.labelled <= MOST_LABELS:
            return ""
        return (
            "Which labels carry each suggestion, how many would have to be wrong for it to turn, and how "
            f"many suggestions would stand together, is computed for tables of up to {MOST_LABELS:,} labels."
        )
    found = carriers.standing
    if found is None or found.n_rows < 2:  # what there is to say is beside the row
        return ""
    fixed = run.options.action == "fix" and run.correction.audit is None  # else people changed more
    what = "changes" if fixed else "flagged labels"
    chosen = f"{found.n_flips:,} labels" if found.n_flips != 1 else "label"
    return (
        f"Of the {found.n_rows:,} {what} a second judge, a linear committee, confirms {found.n_agreeing:,}, "
        f"and at least {found.n_standing:,} of these verdicts would stand whatever {chosen} of the table had "
        "been chosen to be changed."
    )


def choose_columns(run: Run) -> list[str]:
    """Return the columns to show of a row: those that are used come before the others if not all fit."""
    table = run.table
    if table.matrix is not None:
        if run.features_path is None:
            return list(run.features.sources[:COLUMNS_SHOWN])
        return [str(j) for j in range(min(table.matrix.shape[1], COLUMNS_SHOWN))]
    names = [name for name in table.columns.column_names if name != table.label]
    used = {*run.features.sources, *run.options.answered, *run.options.pred_probs}
    names.sort(key=lambda name: name not in run.options.answered)  # beside the label
    chosen = set(sorted(names, key=lambda name: name not in used)[:COLUMNS_SHOWN])
    return [name for name in names if name in chosen]


def show_values(run: Run, row: int, columns: list[str], limit: int = CHARACTERS_SHOWN) -> list[str]:
    """Return the values of a row as text, cut short where they are long."""
    table = run.table
    if table.matrix is not None:
        line = table.matrix[[row]].tocsr()
        values = dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))
        return [f"{values.get(int(name), 0.0):g}" for name in columns]
    cells = (list_values(table.columns[name].slice(row, 1))[0] for name in columns)
    return ["" if cell is None else cut(str(cell), limit) for cell in cells]


def describe_ensemble(run: Run) -> dict[str, Any]:
    """Return which SVMs voted, what they were compared with if they were chosen, and a sentence on that."""
    # Of another judge there is a sentence alone.
    model, choice, candidates = run.model, run.correction.choice, []
    if model is None:
        judge = str(run.correction.judge)
        words = GIVEN if run.judge.estimator is None else JUDGED
        return {"words": words.format(judge=f"{judge[0].upper()}{judge[1:]}")}
    n_svms, size = model.n_estimators, int(model.subsets_.shape[1])
    words = ": options set them, so none were chosen from the data"
    if choice is not None:
        words, pairs = f". {choice}", ((one, one is choice.chosen) for one in choice.candidates)
        candidates = [asdict(one) | {"breadth": one.breadth, "chosen": chosen} for one, chosen in pairs]
    return {
        "words": f"{n_svms:,} SVMs voted, each trained on {size:,} rows{words}.",
        "n_estimators": n_svms, "subset_size": size,
        "paper_size": subset_size("log_squared", run.tally.labelled, len(model.classes_)),
        "kernel": model.kernel,
        "gamma": None if model.kernel == "linear" else model.voters_.kernel.gamma,
        "C": float(model.C), "candidates": candidates,
    }  # fmt: skip


def describe_audit(outcome: Outcome, n_unseen: int) -> dict[str, Any]:
    """Return what the report says about answers besides the claim: plain values for `place_audit`."""
    claim = outcome.claim
    pairs: list[tuple[str, Any, int, str]] = [
        (SETS[one.name], one, one.n_unseen, VERDICTS[one.verdict]) for one in claim.sets
    ]
    pairs += [(f"Set {i}", one, one.n_changed, "changed") for i, one in enumerate(claim.rings, start=1)]
    sets = [
        {
            "name": name, "rows": one.n_rows, "checked": one.n_checked, "hits": one.n_hits, "unseen": unseen,
            "verdict": verdict, "at_most_wrong": one.at_most_wrong,
        }
        for name, one, unseen, verdict in pairs
    ]  # fmt: skip
    most = "of at most" if claim.is_confirmation else "of"
    figures = [
        ["Labels checked", f"{claim.n_answers} {most} {outcome.n_answers}"],
        ["Of them wrong", str(claim.n_overturned)], ["Changed without being seen", str(n_unseen)],
        ["Confidence", f"{100 * claim.level:.6g}%"], ["Seed", str(outcome.random_state)],
    ]  # fmt: skip
    if not claim.is_confirmation:
        figures += [
            ["Some questions asked again", "yes" if outcome.repeat else "no"],
            ["For a model", "yes" if claim.threshold > 0.5 else "no"],
        ]
    return {
        "finished": claim.finished, "sets": sets, "figures": figures,
        "is_confirmation": claim.is_confirmation,
    }  # fmt: skip


def list_parameters(run: Run) -> list[list[str]]:
    """Return what the run was asked to do, and what followed from it."""
    model, options = run.model, run.options
    most, least = options.max_error_rate, options.min_confidence
    asked = {
        "rule": options.rule, "action": options.action,
        "changes allowed": "any" if most is None else f"{format_percent(most)} of the labels",
        "confidence needed": "the most probable label" if least is None else f"{least:g}",
        **({"judge": str(run.correction.judge)} if model is None else list_svm_parameters(model)),
        "seed": str(options.random_state),
        "columns left out": ", ".join(map(cut, options.exclude)) or "none",
        "columns used": ", ".join(map(cut, options.only)) or "all",
        "features from": "columns" if run.features_path is None else run.features_path.name,
    }  # fmt: skip
    if run.judge.has_probabilities(options):
        given = "an array" if run.judge.path is None else run.judge.path.name
        asked["probabilities from"] = ", ".join(map(cut, options.pred_probs)) or given
    if options.pool_size is not None:
        asked["rows in the sample"] = f"{len(run.correction):,}"
        asked |= {} if model is None else {"rows that SVMs are trained on": f"{len(model.oob_winners_):,}"}
    return [list(pair) for pair in asked.items()]


def list_svm_parameters(model: SubSVMClassifier) -> dict[str, str]:
    """Return how many SVMs voted, on how many rows each was trained, and their kernel."""
    kernel = model.kernel
    if kernel != "linear":
        kernel = f"{kernel}, gamma {model.voters_.kernel.gamma:.3g}"
    return {
        "SVMs": f"{model.n_estimators:,}", "rows in each subset": f"{model.subsets_.shape[1]:,}",
        "kernel": kernel,
    }  # fmt: skip
