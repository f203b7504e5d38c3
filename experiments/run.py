"""Do the missing runs of a preset: one row each, nothing twice.

Runs of one data set follow each other, so that its files are read and its kernel matrices computed once. The
candidates of the grid are rows of their own ("candidates", and "folds" for cross-validation), computed gamma
by gamma for all cases of a data set; methods that choose among them do so afterwards, and the one that needs
all data sets comes last.
"""

import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd

import subsvms
from experiments import synthetic
from experiments.datasets import TABLE_1, load
from experiments.grid import cross_validate, evaluate
from experiments.judge import METRICS, score
from experiments.methods import Task, hide, load_methods
from experiments.protocol import BASELINES, Case, Run, corrupt, seed_of

KEYS = list(Case._fields)
POINT = ["gamma", "C", "ratio"]


def do_preset(preset, store, folder=None, on_progress=print):
    """Do the missing runs of a preset.

    Parameters
    ----------
    preset : Preset
    store : Store
    folder : path-like, optional
        Folder of the data files.
    on_progress : callable
        Called with a line of text every few seconds.
    """
    methods = load_methods()
    runs = list_runs(preset, methods)
    todo = missing_runs(runs, store)
    made = missing_settings(preset, store)
    clock = Clock(sum(cost(run) for run in todo) + len(made), on_progress)
    for setting in made:
        store.append("synthetic", synthetic.do_setting(*setting))
        store.gather("synthetic")
        clock.done(1.0, f"synthetic data, d = {setting[0]}, beta = {setting[1]}")
    simple = [run for run in todo if run.method not in BASELINES]
    for run in simple:
        store.append("runs", [do_run(run, methods[run.method], preset.protocol, folder, pd.DataFrame())])
        store.gather("runs")
        clock.done(cost(run), "/".join(map(str, run)))
    by_data = defaultdict(list)
    for run in todo:
        if run.method in BASELINES:
            by_data[run.data].append(run)
    later = []
    for name, own_runs in by_data.items():
        cases = sorted({Case(*run[:3]) for run in own_runs})
        fill_grid(name, cases, preset.protocol, store, folder, clock, sum(cost(run) for run in own_runs))
        candidates = with_folds(store, name)
        for run in sorted(own_runs, key=lambda run: best_gamma(select(candidates, run))):
            method = methods[run.method]
            if getattr(method, "EVERYWHERE", False):
                later.append(run)
                continue
            own = select(candidates, run)
            store.append("runs", [do_run(run, method, preset.protocol, folder, own)])
            store.gather("runs")
            clock.done(0.1 * cost(run), "/".join(map(str, run)))
    if later:
        everything = in_order(store.read("candidates"))
        for run in later:
            own = everything.assign(own=(everything[KEYS] == list(run[:3])).all(axis=1))
            store.append("runs", [do_run(run, methods[run.method], preset.protocol, folder, own)])
            store.gather("runs")
    store.gather("runs", least=2)
    on_progress(f"{len(todo)} runs done, {len(runs) - len(todo)} were done before.")


def list_runs(preset, methods):
    """Return the runs of a preset; methods that are not in the paper get the cases of its baselines."""
    runs = preset.runs()
    cases = preset.cases(preset.baseline_data, preset.baseline_alphas, preset.baseline_corruptions)
    others = [name for name in methods if name not in (*BASELINES, "SubSVMs")]
    return runs + [Run(*case, name) for name in others for case in cases]


def missing_runs(runs, store):
    """Return the runs that have no row yet."""
    rows = store.read("runs")
    done = set() if rows.empty else set(rows[list(Run._fields)].itertuples(index=False, name=None))
    return [run for run in runs if tuple(run) not in done]


def missing_settings(preset, store):
    """Return the settings of the synthetic data that have no rows yet."""
    rows = store.read("synthetic")
    keys = ["d", "beta", "corruption"]
    done = set() if rows.empty else set(rows[keys].itertuples(index=False, name=None))
    settings = synthetic.list_settings(preset.dimensions, preset.made)
    return [setting for setting in settings if setting not in done]


def do_run(run, method, protocol, folder, candidates):
    """Return the row of one run."""
    data = load(run.data, folder)
    given = corrupt(data.y_train, Case(*run[:3]))
    task = Task(
        data=blindfold(data),
        given=given,
        seed=seed_of("method", *run),
        protocol=protocol,
        candidates=hide(candidates, method) if len(candidates) else candidates,
    )
    answer = method.run(task)
    if answer.chosen is not None:
        rows = {measure: candidates.loc[answer.chosen[measure].index] for measure in METRICS}
        measures = {measure: float(rows[measure][measure].mean()) for measure in METRICS}
        parameters = rows["bac"][POINT].iloc[0].to_dict()
        test_seconds = float(rows["bac"]["test_seconds"].mean())
    else:
        measures = score(data.y_test, answer.labels, answer.values)
        parameters, test_seconds = answer.parameters, answer.test_seconds
    return {
        **run._asdict(),
        **measures,
        **{name: float(parameters.get(name, np.nan)) for name in POINT},
        "seed": task.seed,
        "train_seconds": float(answer.train_seconds),
        "test_seconds": float(test_seconds),
        "made": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "version": subsvms.__version__,
    }


def blindfold(data):
    """Return the data set without its test labels."""
    return replace(data, y_test=np.zeros(0, dtype=int))


def select(candidates, run):
    """Return the candidates of one case, with their cross-validation."""
    return candidates[(candidates[KEYS] == list(run[:3])).all(axis=1)]


def best_gamma(candidates):
    """Return the gamma of the best candidate; in this order, runs compute each kernel matrix only once."""
    return candidates.loc[candidates["bac"].idxmax(), "gamma"]


def fill_grid(name, cases, protocol, store, folder, clock, weight):
    """Compute the missing candidates of a data set, gamma by gamma."""
    data = load(name, folder)
    for factor in protocol.gamma:
        for kind, compute in (("candidates", evaluate), ("folds", cross_validate)):
            there = store.read(kind)
            have = set()
            if len(there):
                same = there[(there["data"] == name) & np.isclose(there["gamma"], factor)]
                have = set(same[KEYS].itertuples(index=False, name=None))
            open_cases = [case for case in cases if tuple(case) not in have]
            # a few at a time, so that a run that is stopped loses minutes of work, not hours
            for i in range(0, len(open_cases), 4):
                part = open_cases[i : i + 4]
                givens = np.stack([corrupt(data.y_train, case) for case in part])
                store.append(kind, compute(data, part, givens, factor, protocol))
            share = 0.45 * weight / len(protocol.gamma)
            clock.done(share, f"{name}: {kind}, gamma = {factor:.3g}/d")
        store.gather("candidates")
        store.gather("folds")


def with_folds(store, name):
    """Return the candidates of a data set with a column of cross-validated accuracies for each split."""
    candidates, folds = (store.read(kind) for kind in ("candidates", "folds"))
    candidates = candidates[candidates["data"] == name]
    folds = folds[folds["data"] == name]
    wide = folds.pivot_table(
        index=[*KEYS, *POINT], columns="split", values=[f"cv_{measure}" for measure in METRICS]
    )  # fmt: skip
    wide.columns = [f"{name}_{split}" for name, split in wide.columns]
    wide["cv_seconds"] = folds.groupby([*KEYS, *POINT])["cv_seconds"].mean()
    return in_order(candidates.merge(wide.reset_index(), on=[*KEYS, *POINT], how="left"))


def in_order(candidates):
    """Return the candidates sorted, so that ties are broken alike whatever was computed first."""
    return candidates.sort_values([*KEYS, *POINT], ignore_index=True)


def cost(run):
    """Return roughly how many seconds a run takes; only the ratios matter, for the time left."""
    n = TABLE_1[run.data]["n_train"] / 1000
    return 0.2 + 0.15 * n**2 if run.method in BASELINES else 1.0 + 0.2 * n


class Clock:
    """Reports how much is done, and how long the rest will take."""

    def __init__(self, total, on_progress):
        self.total, self.on_progress = max(total, 1e-9), on_progress
        self.begin, self.spent, self.reported = time.perf_counter(), 0.0, 0.0

    def done(self, amount, what):
        """Record that something is done, and report it every few seconds."""
        self.spent += amount
        now = time.perf_counter() - self.begin
        if now - self.reported < 5 and self.spent < self.total:
            return
        self.reported = now
        left = now * max(self.total - self.spent, 0.0) / max(self.spent, 1e-9)
        share = min(self.spent / self.total, 1)
        self.on_progress(f"{share:4.0%}  {now:6.0f} s, about {left:.0f} s left  {what}")
