"""The demonstration: a real table, attacked and corrected."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from subsvms._sentences import format_percent, format_rate
from subsvms.adversaries import directed_flips
from subsvms.correction._corrector import LabelCorrector
from subsvms.correction._result import Correction
from subsvms.exceptions import InputError, LabelNoiseWarning

SHOWN = 3  # values of a row
COMPILING = 5.0  # seconds; only a run that compiles takes that long


@dataclass(frozen=True)
class Demo:
    """What happened in a demonstration."""

    n_rows: int
    n_svms: int
    subset_size: int
    names: tuple[str, str]  # the classes
    clean: np.ndarray  # (n_rows,): labels as they were, after the attack, and after the correction
    given: np.ndarray
    proposed: np.ndarray
    estimate: str  # share of wrong labels, estimated from the given ones, and its interval
    example: str  # one corrected row in words; empty if none was corrected
    seconds: float


def run_demo(wrong: float = 0.2, seed: int = 0) -> Demo:
    """Attack scikit-learn's breast cancer data and correct it."""
    data = load_breast_cancer()
    X, clean = minmax_scale(data.data), data.target
    smaller = np.bincount(clean).min() / len(clean)
    if not 0 <= wrong < smaller:
        raise InputError(
            "{wrong} must be at least 0 and less than {smaller:.2f}, that of the smaller class; got {got}.",
            smaller=smaller, got=wrong,
        )  # fmt: skip
    attack = directed_flips(clean, rho=wrong / smaller, alpha=0.5, random_state=seed)
    began = time.perf_counter()
    corrector = LabelCorrector(random_state=seed, n_jobs=-1, n_witnesses=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)  # expected here
        correction = corrector.fit(X, attack.labels).correction_
    return Demo(
        n_rows=len(clean),
        n_svms=corrector.model_.n_estimators,
        subset_size=corrector.model_.subsets_.shape[1],
        names=tuple(data.target_names),
        clean=clean,
        given=attack.labels,
        proposed=correction.labels,
        estimate=format_rate(correction.noise.error_rate, *correction.noise.error_rate_interval),
        example=describe_row(correction, data),
        seconds=time.perf_counter() - began,
    )


def describe_row(correction: Correction, data: Any) -> str:
    """Return the most suspicious row that was corrected, in words; nothing without one."""
    changed = np.flatnonzero(correction.changed)
    if len(changed) == 0:
        return ""
    row = changed[np.argmin(correction.label_quality[changed])]
    pairs = list(zip(data.feature_names, data.data[row], strict=True))[:SHOWN]
    values = ", ".join(f"{name} {value:g}" for name, value in pairs)
    given, new, clean = (
        data.target_names[number]
        for number in (correction.given[row], correction.judgement.suggested[row], data.target[row])
    )
    verdict = "as it was" if new == clean else f"but it was {clean}"
    return (
        f"Row {row + 1}, for example ({values}, ...): the label given is {given}, the corrected one "
        f"{new}, {verdict}. The suggestion is right with probability "
        f"{format_percent(correction.confidence[row])}; {format_percent(correction.vote_share[row])} of the "
        "SVMs vote for it."
    )


def show_demo(demo: Demo, console: Console | None = None) -> None:
    """Print how many labels are right before and after the correction, by class."""
    console = console or Console()
    n_wrong = np.sum(demo.given != demo.clean)
    compiling = ", compiling included: the next run is faster" if demo.seconds > COMPILING else ""
    console.print(
        f"{n_wrong} of {demo.n_rows} labels were made wrong. {demo.n_svms} SVMs, each trained on "
        f"{demo.subset_size} rows, voted on the rows they had not seen, in {demo.seconds:.1f} s{compiling}. "
        f"Wrong labels, estimated from these votes: {demo.estimate}."
    )
    table = Table("labels that are right", title="scikit-learn's breast cancer data")
    for column in ("rows", "as given", "after correction"):
        table.add_column(column, justify="right")
    lines = [(name, demo.clean == number) for number, name in enumerate(demo.names)]
    for name, of_class in [*lines, ("all", np.ones(demo.n_rows, dtype=bool))]:
        cells = [
            f"{np.sum(labels[of_class] == demo.clean[of_class])}"
            f" ({format_percent(np.mean(labels[of_class] == demo.clean[of_class]))})"
            for labels in (demo.given, demo.proposed)
        ]
        table.add_row(str(name), str(of_class.sum()), *cells)
    console.print(table)
    if demo.example:
        console.print(demo.example)
    console.print("With a table of your own: subsvms correct loans.csv --label default", soft_wrap=True)
