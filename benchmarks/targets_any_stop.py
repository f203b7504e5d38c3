"""Measure a target at which one may stop anywhere: how often a claim is ever false, and what it costs.

    python -m benchmarks.targets_any_stop         # half an hour; finished cells are not repeated
    python -m benchmarks.targets_any_stop --report

Tables, orders and targets are those of `benchmarks.targets`; each cell is audited 1,000 times, by a compiled
copy of `subsvms.audit._any_stop`, as the program itself, which waits for people, would take a day. *False*:
share of audits in which any claim was false, after any answer: the number of labels said to be wrong at most
was too small. *Answers*: until the target is reached; `once`: with one sample and one threshold
(targets.csv); `same`: what the program took in a few audits of the cell, to show that the copy is one.
"""

import argparse
import math

import numpy as np
import pandas as pd
from numba import njit
from scipy.special import logit

from benchmarks.made import append_lines, find_done, write
from benchmarks.pages import as_markdown
from benchmarks.targets import CELL, LEVEL, N_RUNS, RATES, RESULTS, SETS, list_cells, rank
from subsvms.audit import Ranking, Target
from subsvms.audit import _any_stop as any_stop_of  # private: its constants
from subsvms.audit import _any_stop as forecast_of  # private, too

N_OWN = 5  # audits by the program itself
LINES = RESULTS / "targets_any_stop.csv"
COLUMNS = (
    *CELL, "error_rate", "order", "rows", "wrong", "answers", "answers_90", "drawn", "false",
    "forecast_ratio", "early_ratio", "same", "same_of_copy",
)  # fmt: skip
SAFE, FIRST, BATCH, GROWTH = any_stop_of.SAFE, any_stop_of.FIRST, any_stop_of.BATCH, any_stop_of.GROWTH
GRID, WASTE, PRIORS = any_stop_of.GRID, any_stop_of.WASTE, forecast_of.PRIORS


@njit(cache=True, error_model="numpy")
def fit(x, wrong, seen, mode):
    """Return a and b of the model by the answers so far."""
    a, b = mode
    for _ in range(30):
        g_a, g_b = (PRIORS[0, 0] - a) / PRIORS[0, 1] ** 2, (PRIORS[1, 0] - b) / PRIORS[1, 1] ** 2
        h_a, h_ab, h_b = 1 / PRIORS[0, 1] ** 2, 0.0, 1 / PRIORS[1, 1] ** 2
        for i in range(len(x)):
            if seen[i]:
                p = 1 / (1 + math.exp(-(a + b * x[i])))
                g_a += wrong[i] - p
                g_b += (wrong[i] - p) * x[i]
                h_a += p * (1 - p)
                h_ab += p * (1 - p) * x[i]
                h_b += p * (1 - p) * x[i] ** 2
        determinant = h_a * h_b - h_ab**2
        step_a, step_b = (h_b * g_a - h_ab * g_b) / determinant, (h_a * g_b - h_ab * g_a) / determinant
        largest = max(abs(step_a), abs(step_b))
        shrink = min(1.0, 1.0 / largest) if largest > 0 else 1.0
        a, b = a + shrink * step_a, b + shrink * step_b
        if largest < 1e-9:
            break
    return a, b


@njit(cache=True, error_model="numpy")
def plan(expected, allowed, need):
    """Return how many rows to look at, and about how many answers it takes, as `plan_answers`."""
    n, total, seen, at, best, best_cost = len(expected), expected.sum(), 0.0, 0, 0, 1e18
    last = -1
    for k in range(GRID):
        h = int((n - allowed + 1) ** (k / (GRID - 1)) + 1e-9) - 1
        if h == last:
            continue
        last = h
        while at < h:
            seen += expected[at]
            at += 1
        left = n - h
        rate = min(max((total - seen) / left, 1e-9), 1 - 1e-9)
        first, final = 0, GRID - 1  # what is gained grows with the draws
        while first < final:
            middle = (first + final) // 2
            drawn = max(left - allowed, 1) ** (middle / (GRID - 1))
            excess = allowed + 1 - rate * (left - drawn)
            p = min(max(rate + excess / (left - drawn / 2), 1e-9), 1 - 1e-9)
            gain = rate * math.log(rate / p) + (1 - rate) * math.log((1 - rate) / (1 - p))
            if excess > 0 and WASTE * drawn * gain >= need:
                final = middle
            else:
                first = middle + 1
        cost = h + max(left - allowed, 1) ** (first / (GRID - 1))
        if cost < best_cost - 5e-4:
            best, best_cost = h, cost
    return best, best_cost


@njit(cache=True, error_model="numpy")
def audit(wrong, x, allowed, limit, seed, forecasts):
    """Return the answers until the target is reached, random ones, and whether any claim was false.

    wrong, x: of each row, the most suspicious first; forecasts: the first, and one after 60 answers.
    """
    np.random.seed(seed)
    n_rows, total, false = len(wrong), int(wrong.sum()), False
    e, high = np.ones(n_rows + 1), n_rows  # E_w, infinite once it is rejected; w from n_found to high
    seen, n_seen, n_found, n_drawn = np.zeros(n_rows, dtype=np.bool_), 0, 0, 0
    mode = (PRIORS[0, 0], PRIORS[1, 0])
    most = n_rows
    while most > allowed:
        mode = fit(x, wrong, seen, mode)
        free = np.flatnonzero(~seen)
        expected = 1 / (1 + np.exp(-(mode[0] + mode[1] * x[free])))
        doubt = math.log(e[n_found + allowed + 1 : high + 1].min())
        look, cost = plan(expected, allowed, math.log(limit) - doubt)
        look = look if n_seen >= FIRST else 0
        forecasts[0 if n_seen == 0 else 1] = n_seen + cost if n_seen == 0 or n_seen <= 60 else forecasts[1]
        batch = max(BATCH, int(GROWTH * n_seen))
        rows = free[: min(batch, look)] if look else np.random.permutation(free)[:batch]
        bet = expected.mean()
        for row in rows:
            n_left = n_rows - n_seen
            if not look:
                n_drawn += 1
                for w in range(n_found + 1, high + 1):
                    p = (w - n_found) / n_left
                    a = min(bet, SAFE * p)
                    e[w] *= a / p if wrong[row] else (1 - a) / (1 - p)
                    e[w] = e[w] if e[w] < limit else np.inf
            seen[row] = True
            n_seen += 1
            n_found += wrong[row]
            high = min(high, n_found + n_rows - n_seen)
            while high > n_found and e[high] == np.inf:
                high -= 1
            most = max(high - n_found, 0)
            false |= total - n_found > most
            if most <= allowed:
                break
    return n_seen, n_drawn, false


def run_cell(name, kind):
    """Correct a table, audit it many times with each order and target, and return the lines."""
    ranking, truth = rank(name, kind)
    wrong, quality = (ranking.given != truth)[ranking.order].astype(np.int64), ranking.quality[ranking.order]
    orders = {"suspicion": wrong, "random": np.random.default_rng(0).permutation(wrong[::-1])[::-1]}
    orders["worst"] = np.sort(wrong)
    for rate in RATES:
        for order, places in orders.items():
            line = {"data": name, "kind": kind, "error_rate": rate, "order": order, "rows": len(wrong)}
            yield line | {"wrong": float(wrong.mean())} | audit_often(places, quality, rate)


def audit_often(wrong, quality, rate):
    """Return what a target costs, and in which share of the audits a claim was false."""
    n, sure = len(wrong), forecast_of.MOST_SURE
    allowed, x = math.floor(rate * n + 1e-9), logit(np.clip(1 - quality, sure, 1 - sure))
    runs, said = [], []
    for seed in range(N_RUNS):
        forecasts = np.zeros(2)
        runs.append(audit(wrong, x, allowed, 1 / (1 - LEVEL), seed, forecasts))
        said.append(np.abs(np.log(np.maximum(forecasts, 1) / runs[-1][0])))
    taken, drawn, false = np.array(runs).T
    first, early = np.exp(np.median(said, axis=0))
    return {
        "answers": float(np.median(taken)), "answers_90": float(np.quantile(taken, 0.9)),
        "drawn": float(np.median(drawn)), "false": float(false.mean()), "forecast_ratio": float(first),
        "early_ratio": float(early), "same": float(np.mean(list(audit_itself(wrong, quality, rate)))),
        "same_of_copy": float(np.mean(taken)),
    }  # fmt: skip


def audit_itself(wrong, quality, rate):
    """Return the answers that the program takes; its questions without the checks around them."""
    n = len(wrong)
    ranking = Ranking.make(np.zeros(n, dtype=int), np.ones(n, dtype=int), np.arange(n))
    object.__setattr__(ranking, "quality", quality)
    for seed in range(N_OWN):
        target = Target(ranking, rate, any_stop=True, level=LEVEL, random_state=seed)
        while target._queue:
            row = target._queue[0]
            target._first[row] = int(wrong[row])
            target._queue = next(target._steps, [])
        yield len(target._first)


def write_report():
    """Write the tables: cost beside one sample and a plain one, and what cells show."""
    lines, once = pd.read_csv(LINES), pd.read_csv(RESULTS / "targets.csv")
    keys = [*CELL, "error_rate", "order"]
    lines = lines.merge(once[[*keys, "answers", "plain"]], on=keys, suffixes=("", "_once"))
    lines["noise"] = np.where(lines["kind"] == "real", "real", "made")
    lines["to_once"], lines["to_plain"] = (lines["answers"] / lines[c] for c in ("answers_once", "plain"))
    groups = lines.groupby(["noise", "error_rate", "order"])
    names = ["answers", "answers_once", "plain", "drawn", "to_once", "to_plain", "false"]
    table = groups[names].median().assign(worst_false=groups["false"].max(), cells=groups.size())
    asked = lines[lines["order"] == "suspicion"]
    near = asked[["forecast_ratio", "early_ratio"]].quantile([0.5, 0.8, 0.9])
    limit = 1 - LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / N_RUNS)
    broken, same = int((lines["false"] > limit).sum()), (lines["same"] / lines["same_of_copy"]).mean()
    text = (
        f"# Quality targets with claims at any stop\n\n`python -m benchmarks.targets_any_stop`; perfect "
        f"people; {N_RUNS:,} audits of each of {len(lines)} cells, medians over cells. A claim was false at "
        f"any moment in more than {limit:.3f} of the audits in {broken} of them. `answers_once`: one sample "
        "and one threshold; `plain`: a random sample whose size is known from the truth. The program took "
        f"{same:.3f} of the answers of its compiled copy ({N_OWN} audits of each cell).\n\n"
    )
    text += "\n".join(as_markdown(table.reset_index(), 3)) + "\n\n## Forecasts: by which factor they were "
    text += "wrong\n\n" + "\n".join(as_markdown(near.reset_index(names="share of cells"), 3)) + "\n"
    write(RESULTS / "targets_any_stop.md", text, lines=LINES)


def main(words=None):
    """Do the cells that are missing, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--report", action="store_true", help="write the tables alone")
    args = parser.parse_args(words)
    done = find_done(LINES, CELL)
    for cell in [] if args.report else list_cells(SETS):
        if cell not in done and (not args.only or cell[0] in args.only):
            append_lines(LINES, COLUMNS, list(run_cell(*cell)))
    write_report()


if __name__ == "__main__":
    main()
