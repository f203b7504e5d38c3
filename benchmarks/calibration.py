"""Measure whether stated probabilities and intervals are right, and whether results change smoothly.

    python -m benchmarks.calibration reliability    # an hour on two cores; finished runs are not repeated
    python -m benchmarks.calibration intervals      # ten minutes
    python -m benchmarks.calibration smoothness     # ten minutes
    python -m benchmarks.calibration shares         # a quarter of an hour
    python -m benchmarks.calibration report

`reliability`: over the tables of `benchmarks.ordinary` and those of `benchmarks.several`, labels that were
changed are put into bins of `confidence`, and all labels into bins of `label_quality`; the share of right
ones should lie in the bin. `intervals`: over fresh Gaussian tables with noise by class, each end of
`rate_interval` and of `error_rate_interval` should miss the truth in at most 5 %. `smoothness`: labels are
flipped one after the other, in an order that is drawn once; the number of changed labels should not jump.
`shares`: over the tables of `reliability` and those with real noise, whose true labels are also given as if
they were noisy, the share of wrong labels beside the two numbers that are printed: the interval of errors by
class, and the share of labels that the votes contradict.
One line per run is appended to calibration_*.csv in benchmarks/results; calibration.md shows them all.
`--every 3` does only about a third of the runs, always the same ones.
"""

import argparse
import os
import warnings
import zlib
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks import ordinary, several
from benchmarks.made import read_seeds, write
from benchmarks.ordinary import run_missing
from benchmarks.pages import as_markdown, save
from subsvms import LabelCorrector

RESULTS = Path(__file__).parent / "results"
TOLERANCE = 2.0  # standard errors
WORST = 12  # lines of the table of the worst cells
FEWEST = 20  # labels of a bin that is drawn


def correct(X, given, seed):
    """Return the correction of these labels with all defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LabelCorrector(random_state=seed, n_jobs=1).fit(X, given).correction_


# Reliability

BINS = {"confidence": np.array([0.5, 0.7, 0.9, 1.0]), "label_quality": np.linspace(0, 1, 11).round(1)}
SUMS = ("number", "stated", "right")  # in each bin: rows, sum of stated probabilities, right labels
CELL = ("group", "data", "kind", "seed")


def name_bin(measure, i, part):
    """Return the column of one sum."""
    low, high = BINS[measure][i : i + 2]
    return f"{measure} {low:.1f}-{high:.1f} {part}"


BIN_COLUMNS = [
    name_bin(measure, i, part) for measure in BINS for i in range(len(BINS[measure]) - 1) for part in SUMS
]


def count_bins(measure, stated, right):
    """Return the columns of one measure: sums over the rows of each bin, which includes its lower edge."""
    n_bins = len(BINS[measure]) - 1
    place = np.clip(np.searchsorted(BINS[measure], stated, side="right") - 1, 0, n_bins - 1)
    sums = [np.bincount(place, weights, n_bins) for weights in (np.ones(len(stated)), stated, right)]
    return {
        name_bin(measure, i, part): float(values[i])
        for part, values in zip(SUMS, sums, strict=True)
        for i in range(n_bins)
    }


def run_reliability(job):
    """Correct one table, and return its bins."""
    X, clean, given, known = read_cell(*job)
    if given is None:  # the attack would take all rows of a class
        return dict(zip(CELL, job, strict=True)) | dict.fromkeys(BIN_COLUMNS, 0)
    correction = correct(X, given, job[-1])
    changed = correction.changed & known
    right = {
        "confidence": (correction.labels == clean)[changed],
        "label_quality": (given == clean)[known],
    }
    stated = {
        "confidence": correction.confidence[changed],
        "label_quality": correction.label_quality[known],
    }
    line = dict(zip(CELL, job, strict=True))
    for measure in BINS:
        line |= count_bins(measure, stated[measure], right[measure])
    return line


def read_cell(group, name, kind, seed):
    """Return rows, clean labels, given labels if there can be some, and where both are known."""
    if group == "several classes":
        X, clean, given = read_several(name, kind, seed)
        return X, clean, given, np.ones(len(clean), dtype=bool)
    X, clean, given, known = ordinary.read(group, name, seed)
    if kind == GOLD:
        return X[known], clean[known], clean[known], known[known]
    return X, clean, ordinary.corrupt(X, clean, kind, seed) if given is None else given, known


def read_several(name, kind, seed):
    """Return rows, clean labels and given labels of a table of `benchmarks.several`; None if not possible."""
    X, clean = several.load_table(name, os.environ.get("SUBSVMS_DATA"), seed)
    attack, _, rate = kind.rpartition(", ")
    try:
        own = zlib.crc32(f"{name}/{attack}/{rate}/{seed}".encode()) >> 1
        return X, clean, several.corrupt(attack, float(rate), X, clean, own)
    except ValueError:  # too few rows of a class for this attack
        return X, clean, None


def list_reliability(seeds):
    """Return (group, data, kind, seed) of every run; tables of several classes take long: one seed."""
    jobs = [job[:4] for job in ordinary.list_jobs(seeds) if job[4] == "subsvms"]
    names = [
        name
        for name in several.list_tables(os.environ.get("SUBSVMS_DATA"))
        if name not in ordinary.SKLEARN  # they are there already
    ]
    kinds = [f"{attack}, {rate}" for attack, rate in several.CASES]
    return jobs + [("several classes", name, kind, seeds[0]) for name in names for kind in kinds]


def add_bins(lines, key, measure):
    """Return a line for each value of a column and each bin: how sure the rule was, and how often right."""
    sums = lines.groupby(key)[BIN_COLUMNS].sum()
    rows = []
    for value, line in sums.iterrows():
        for i in range(len(BINS[measure]) - 1):
            low, high = BINS[measure][i : i + 2]
            number, stated, right = (line[name_bin(measure, i, part)] for part in SUMS)
            if number:
                verdict = judge(right / number, low, high, number)
                found = (int(number), stated / number, right / number, verdict)
                rows.append((value, f"{low:.1f} to {high:.1f}", *found))
    return pd.DataFrame(rows, columns=[key, "bin", "labels", "stated", "right", "in the bin"])


def judge(share, low, high, number):
    """Say whether a share lies in its bin, up to the standard errors of a share at its edges."""
    below, above = (TOLERANCE * np.sqrt(edge * (1 - edge) / number) for edge in (low, high))
    if low - below <= share <= high + above:
        return "yes"
    return "stated too high" if share < low else "stated too low"


def list_worst(lines):
    """Return the cells in which most changes are wrong beyond what was stated."""
    n_bins = len(BINS["confidence"]) - 1
    table = lines[[*CELL]].copy()
    for part in SUMS:
        table[part] = lines[[name_bin("confidence", i, part) for i in range(n_bins)]].sum(axis=1)
    table = table.groupby(["group", "data", "kind"], as_index=False)[list(SUMS)].sum()
    table["surplus"] = table["stated"] - table["right"]
    table = table.nlargest(WORST, "surplus").rename(
        columns={"number": "changed", "stated": "right, as stated", "surplus": "wrong beyond that"}
    )
    return table.astype({"changed": int, "right": int})


def report_reliability(path):
    """Return the section of the report, and draw its picture."""
    lines = pd.read_csv(path)
    draw_reliability(lines, path.with_suffix(".png"))
    text = [
        "## Reliability",
        f"`python -m benchmarks.calibration reliability`: {len(lines):,} runs, seeds "
        f"{', '.join(map(str, sorted(lines['seed'].unique())))}. *Stated* is the mean of the stated "
        "probabilities, *right* the share of right labels. A share may lie outside its bin by two binomial "
        "standard errors (at the edge of the bin); errors of one table are not independent, so that is "
        "strict. Large tables count for more than small ones. The picture leaves out bins of fewer than "
        f"{FEWEST} labels.",
        f"![reliability]({path.with_suffix('.png').name})",
    ]
    tables = {
        "Changed labels, by `confidence` and group": add_bins(lines, "group", "confidence"),
        "Changed labels, by `confidence` and kind of noise": add_bins(lines, "kind", "confidence"),
        "Changes that are wrong beyond what was stated": list_worst(lines),
        "All labels, by `label_quality` and group": add_bins(lines, "group", "label_quality"),
    }
    for title, table in tables.items():
        text += [f"### {title}", "\n".join(as_markdown(table, digits=3))]
    return text


def draw_reliability(lines, path):
    """Draw the share of right labels against what was stated, a line for each group."""
    figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
    xlabels = ("confidence of changed labels", "label_quality of all labels")
    colours = {group: f"C{i}" for i, group in enumerate(sorted(set(lines["group"])))}
    for measure, axes, xlabel in zip(BINS, panels, xlabels, strict=True):
        low = BINS[measure][0]
        axes.plot([low, 1], [low, 1], color="0.6", linewidth=1, linestyle="--")
        bins = add_bins(lines, "group", measure)
        for group, part in bins[bins["labels"] >= FEWEST].groupby("group"):
            width = TOLERANCE * np.sqrt(part["right"] * (1 - part["right"]) / part["labels"])
            style = {"fmt": "o-", "markersize": 4, "color": colours[group], "label": group}
            axes.errorbar(part["stated"], part["right"], width, **style)
        axes.set(xlim=(low - 0.02, 1.02), ylim=(-0.02, 1.02), xlabel=xlabel, ylabel="share of them right")
        axes.grid(alpha=0.3)
    panels[1].legend(fontsize="small")
    save(figure, path, lines=path.with_suffix(".csv"))


# Intervals

GAUSSIANS = {  # rows, columns, distance of the centres in standard deviations, shares of the classes
    "5 apart": (800, 5, 5.0, (0.5, 0.5)),
    "2 apart": (800, 5, 2.0, (0.5, 0.5)),
    "rare class, 4 apart": (1000, 4, 4.0, (0.9, 0.1)),
    "three classes, 4 apart": (900, 6, 4.0, (0.4, 0.35, 0.25)),
}
LARGEST, NOISELESS = 0.3, 0.3  # largest rate, and the chance that a class has none
OUTSIDE = 0.05  # each end of an interval may fail this often
WHOLE = "error rate"
INTERVAL_COLUMNS = (
    "kind", "seed", "changed",
    *(f"{part} {end}" for part in (0, 1, 2, WHOLE) for end in ("drawn", "flipped", "low", "high")),
)  # fmt: skip


def draw_table(kind, seed):
    """Return a Gaussian table, its clean and given labels, and the rate that was drawn for each class."""
    n_rows, n_columns, distance, shares = GAUSSIANS[kind]
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    n_classes = len(shares)
    clean = rng.choice(n_classes, n_rows, p=shares)
    centres = distance / np.sqrt(2) * np.eye(n_classes, n_columns)  # each as far from every other
    X = centres[clean] + rng.normal(size=(n_rows, n_columns))
    rates = np.where(rng.random(n_classes) < NOISELESS, 0.0, rng.uniform(0, LARGEST, n_classes))
    other = (clean + rng.integers(1, n_classes, n_rows)) % n_classes
    return X, clean, np.where(rng.random(n_rows) < rates[clean], other, clean), rates


def run_intervals(job):
    """Correct one table, and return true rates beside the ends of their intervals."""
    kind, seed = job
    X, clean, given, rates = draw_table(kind, seed)
    correction = correct(X, given, seed)
    noise, flipped = correction.noise, given != clean
    line = {"kind": kind, "seed": seed, "changed": int(correction.changed.sum())}
    for c, rate in enumerate(rates):
        low, high = noise.rate_interval[c]
        line |= name_ends(c, rate, flipped[clean == c].mean(), low, high)
    return line | name_ends(WHOLE, rates[clean].mean(), flipped.mean(), *noise.error_rate_interval)


def name_ends(part, *values):
    """Return the columns of one interval."""
    ends = ("drawn", "flipped", "low", "high")
    return {f"{part} {end}": float(value) for end, value in zip(ends, values, strict=True)}


def list_intervals(seeds):
    """Return (kind, seed) of every run."""
    return [(kind, seed) for seed in seeds for kind in GAUSSIANS]


def report_intervals(path):
    """Return the section of the report."""
    lines = pd.read_csv(path)
    rows = []
    for kind, part in lines.groupby("kind", sort=False):
        for name in (0, 1, 2, WHOLE):
            own = part.dropna(subset=[f"{name} drawn"])
            if len(own):
                label = name if name == WHOLE else f"class {name}, {GAUSSIANS[kind][3][name]:.0%}"
                rows.append({"kind": kind, "of": label, **count_misses(own, name)})
    return [
        "## Intervals",
        f"`python -m benchmarks.calibration intervals`: {len(lines):,} fresh tables. *Below* is the share of "
        "tables whose true rate is below the lower end, *above* the share with a rate above the upper end; "
        "the true rate is the one that flips were drawn with and, in brackets, the share that was flipped. "
        f"Each may be {OUTSIDE:.0%} and two standard errors. *Noiseless below* counts only classes without "
        "noise, whose lower end should be 0. *Unknown*: intervals from 0 to 1.",
        "\n".join(as_markdown(pd.DataFrame(rows), digits=3)),
    ]


def count_misses(lines, name):
    """Return how often each end of an interval fails, how wide it is, and whether that is allowed."""
    low, high = lines[f"{name} low"] - 1e-9, lines[f"{name} high"] + 1e-9
    below, above = ([np.mean(lines[f"{name} {truth}"] < low) for truth in ("drawn", "flipped")],
                    [np.mean(lines[f"{name} {truth}"] > high) for truth in ("drawn", "flipped")])  # fmt: skip
    allowed = OUTSIDE + TOLERANCE * np.sqrt(OUTSIDE * (1 - OUTSIDE) / len(lines))
    noiseless = lines[f"{name} drawn"] == 0
    failed = [end for end, share in (("lower", below[0]), ("upper", above[0])) if share > allowed]
    return {
        "tables": len(lines),
        "below": f"{below[0]:.3f} ({below[1]:.3f})",
        "above": f"{above[0]:.3f} ({above[1]:.3f})",
        "allowed": allowed,
        "fails": ", ".join(failed),
        "noiseless below": f"{np.sum(noiseless & (low > 0))} of {np.sum(noiseless)}",
        "mean width": np.mean(high - low),
        "unknown": int(np.sum(high - low >= 1)),
    }


# Smoothness

TABLES = {"breast cancer": "scikit-learn's", "svmguide1": "LIBSVM", "clusters, 3,000": "made"}
RATES = np.append(np.arange(51) / 1000, np.arange(6, 16) / 100).tolist()
SMOOTHNESS_COLUMNS = ("data", "rate", "seed", "rows", "flipped", "changed", "right")


def run_smoothness(job):
    """Flip the first rows of a fixed order, and return how many labels a correction changes."""
    name, rate, seed = job
    X, clean, _, _ = ordinary.read(TABLES[name], name, 0)
    flipped = np.random.default_rng(0).permutation(len(clean))[: round(rate * len(clean))]
    given = clean.copy()
    given[flipped] = 1 - clean[flipped]
    correction = correct(X, given, seed)
    right = correction.changed & (correction.labels == clean)
    counts = (len(clean), len(flipped), int(correction.changed.sum()), int(right.sum()))
    return dict(zip(SMOOTHNESS_COLUMNS, (*job, *counts), strict=True))


def list_smoothness(seeds):
    """Return (data, rate, seed) of every run."""
    names = [name for name, group in TABLES.items() if group != "LIBSVM" or "SUBSVMS_DATA" in os.environ]
    return [(name, rate, seed) for name in names for seed in seeds for rate in RATES]


def list_steps(lines):
    """Return the largest steps of each table and seed between neighbouring rates."""
    rows = []
    for (name, seed), part in lines.sort_values("rate").groupby(["data", "seed"]):
        steps, added = np.diff(part["changed"]), np.diff(part["flipped"])
        beyond = np.maximum(
            steps - added, -steps
        )  # a new flip may add a change; nothing should take one away
        at = beyond.argmax() if len(beyond) else 0
        rates = part["rate"].to_numpy()
        rows.append({
            "data": name, "seed": seed, "rows": part["rows"].iloc[0], "steps": len(steps),
            "largest step": np.abs(steps).max(initial=0), "beyond the added flips": beyond.max(initial=0),
            "there": f"{rates[at]:.1%} to {rates[min(at + 1, len(rates) - 1)]:.1%}",
            "changed there": " to ".join(str(n) for n in part["changed"].iloc[at : at + 2]),
            "steps down": int(np.sum(steps < 0)),
            "first change at": f"{rates[(part['changed'] > 0).to_numpy()].min():.1%}"
            if part["changed"].any() else "",
        })  # fmt: skip
    return pd.DataFrame(rows)


def report_smoothness(path):
    """Return the section of the report, and draw its picture."""
    lines = pd.read_csv(path)
    draw_smoothness(lines, path.with_suffix(".png"))
    return [
        "## Smoothness",
        f"`python -m benchmarks.calibration smoothness`: {len(lines):,} runs. The rows of a table are put in "
        "an order that is drawn once, and the first of them get the other label; the seed is that of the "
        "vote. *Beyond the added flips* is the largest step between neighbouring rates less the flips that "
        "were added, or the largest step down.",
        f"![smoothness]({path.with_suffix('.png').name})",
        "\n".join(as_markdown(list_steps(lines))),
    ]


def draw_smoothness(lines, path):
    """Draw changed labels against flipped ones, a line for each seed, and dashed those that were right."""
    names = list(dict.fromkeys(lines["data"]))
    figure, panels = plt.subplots(
        1, len(names), figsize=(2.9 * len(names), 2.9), layout="constrained", squeeze=False
    )
    for name, axes in zip(names, panels[0], strict=True):
        own = lines[lines["data"] == name].sort_values("rate")
        axes.axline((0, 0), slope=1, color="0.6", linewidth=1, linestyle=":")
        for i, (seed, part) in enumerate(own.groupby("seed")):
            axes.plot(part["flipped"], part["changed"], color=f"C{i}", linewidth=1, label=f"seed {seed}")
            axes.plot(part["flipped"], part["right"], "--", color=f"C{i}", linewidth=1, label="of them right")
        axes.set(title=name, xlabel="labels flipped", ylabel="labels changed")
        axes.grid(alpha=0.3)
    panels[0, 0].legend(fontsize="small")
    save(figure, path, lines=path.with_suffix(".csv"))


# Shares

GOLD = "true labels, given as if they were noisy"
BY_CLASS = ("clean", "uniform", "class-conditional", "directed", "pair", "two", "one class", GOLD)
SHARE_COLUMNS = (*CELL, "wrong", "low", "high", "contradicted", "left", "changed", "auc", "notes")


def run_shares(job):
    """Correct one table, and return the true share of wrong labels beside the numbers that are printed."""
    X, clean, given, known = read_cell(*job)
    if given is None:
        return dict(zip(CELL, job, strict=True)) | dict.fromkeys(SHARE_COLUMNS[len(CELL) :], "")
    correction = correct(X, given, job[-1])
    wrong, left, changed, auc = ordinary.score(
        clean, given, known, correction.labels, correction.label_quality
    )
    contradicted = np.mean(getattr(correction, "contradicted", np.nan))  # 0.1.0 had no such number
    found = (wrong, *correction.noise.error_rate_interval, contradicted, left, changed, auc)
    return dict(zip(SHARE_COLUMNS, (*job, *found, len(correction.notes)), strict=True))


def list_shares(seeds):
    """Return (group, data, kind, seed) of every run; tables with real noise with every seed."""
    real = [
        ("real noise", name, kind, s)
        for name in ordinary.list_real()
        for kind in ("real", GOLD)
        for s in seeds
    ]
    return real + [job for job in list_reliability(seeds[:1]) if job[0] != "real noise"]


def report_shares(path):
    """Return the section of the report."""
    lines = pd.read_csv(path).dropna(subset=["wrong"])
    by_class = lines["kind"].str.startswith(BY_CLASS)
    most = lines[["high", "contradicted"]].max(axis=1)
    lines = lines.assign(
        errors=np.where(by_class, "by class", "of other kinds"), width=lines["high"] - lines["low"],
        inside=(lines["low"] - 1e-9 <= lines["wrong"]) & (lines["wrong"] <= lines["high"] + 1e-9),
        most=most, below=lines["wrong"] <= most + 1e-9, harmed=lines["left"] > lines["wrong"] + ordinary.HARM,
    )  # fmt: skip
    lines["errors"] = np.where(lines["group"] == "real noise", lines["kind"], lines["errors"])
    measures = {
        "inside": "in the interval", "width": "its width", "below": "at most the larger number",
        "most": "the larger number", "harmed": "harmed", "auc": "ranking",
    }  # fmt: skip
    columns = ["wrong", "left", "changed", *measures]
    tables = {"group": lines, "kind": lines, "data": lines[lines["group"] == "real noise"]}
    text = [
        "## Shares of wrong labels",
        f"`python -m benchmarks.calibration shares`: {len(lines):,} runs. Shares of runs whose share of "
        "wrong labels is in the interval of errors by class, and at most the larger of its upper end and the "
        "share of labels that the votes contradict; means of both; runs after which more labels are wrong.",
    ]
    for key, part in tables.items():
        groups = part.groupby([key, "errors"])
        table = groups[columns].mean().rename(columns=measures)
        table.insert(0, "runs", groups.size())
        text.append("\n".join(as_markdown(table.reset_index(), digits=3)))
    return text


PARTS = {  # seeds, jobs, what does one, columns, section of the report
    "reliability": ("100-104", list_reliability, run_reliability, (*CELL, *BIN_COLUMNS), report_reliability),
    "intervals": ("0-199", list_intervals, run_intervals, INTERVAL_COLUMNS, report_intervals),
    "smoothness": ("0-1", list_smoothness, run_smoothness, SMOOTHNESS_COLUMNS, report_smoothness),
    "shares": ("100-104", list_shares, run_shares, SHARE_COLUMNS, report_shares),
}


def is_drawn(job, every):
    """Say whether a job is one of those that are done if only every so many are."""
    return zlib.crc32("/".join(map(str, job)).encode()) % every == 0


def write_report(folder):
    """Write calibration.md: a section for each part that has been run."""
    text = ["# Calibration"]
    for part, (*_, report) in PARTS.items():
        path = folder / f"calibration_{part}.csv"
        if path.exists():
            text += report(path)
            lines = path
    write(folder / "calibration.md", "\n\n".join(text) + "\n", lines=lines)


def main(words=None):
    """Run what is missing of one part, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=[*PARTS, "report"])
    parser.add_argument("--seeds", help="one, or first-last; for intervals, the numbers of the tables")
    parser.add_argument("--every", type=int, default=1, help="do one of so many runs")
    parser.add_argument("--only", nargs="*", help="names of tables, or kinds of Gaussian tables")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    if args.part != "report":
        seeds, list_jobs, run, columns, _ = PARTS[args.part]
        jobs = [
            job
            for job in list_jobs(read_seeds(args.seeds or seeds))
            if is_drawn(job, args.every) and (not args.only or set(args.only) & set(job))
        ]
        run_missing(run, jobs, args.results / f"calibration_{args.part}.csv", columns, args.workers)
    write_report(args.results)


if __name__ == "__main__":
    main()
