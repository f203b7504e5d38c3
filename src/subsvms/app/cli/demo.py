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

from subsvms.adversaries import directed_flips
from subsvms.correction._corrector import LabelCorrector
from subsvms.correction._result import Correction
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.exceptions import InputError, LabelNoiseWarning, format_others, format_percent, format_rate

SHOWN = 3  # values of a row
COMPILING = 5.0  # seconds; only a run that compiles takes that long


@dataclass(frozen=True)
class Demo:
    """What happened in a demonstration."""

    data: Any  # scikit-learn's breast cancer data
    model: SubSVMClassifier
    correction: Correction
    seconds: float

    @property
    def example(self) -> str:
        """The most suspicious row that was corrected, in words; nothing without one."""
        correction, names = self.correction, self.data.target_names
        changed = np.flatnonzero(correction.changed)
        if len(changed) == 0:
            return ""
        row = changed[np.argmin(correction.label_quality[changed])]
        pairs = list(zip(self.data.feature_names, self.data.data[row], strict=True))[:SHOWN]
        values = ", ".join(f"{name} {value:g}" for name, value in pairs)
        numbers = correction.given[row], correction.judgement.suggested[row], self.data.target[row]
        given, new, clean = (names[number] for number in numbers)
        verdict = "as it was" if new == clean else f"but it was {clean}"
        return (
            f"Row {row + 1}, for example ({values}, ...): the label given is {given}, the corrected one "
            f"{new}, {verdict}. The suggestion is right with probability "
            f"{format_percent(correction.confidence[row])}; {format_percent(correction.vote_share[row])} of "
            "the SVMs vote for it."
        )


def run_demo(wrong: float, seed: int) -> Demo:
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
        corrector.fit(X, attack.labels)
    return Demo(data, corrector.model_, corrector.correction_, time.perf_counter() - began)


def show_demo(demo: Demo) -> None:
    """Print how many labels are right before and after the correction, by class."""
    console, correction, clean = Console(), demo.correction, demo.data.target
    model, noise = demo.model, correction.noise
    compiling = ", compiling included: the next run is faster" if demo.seconds > COMPILING else ""
    console.print(
        f"{np.sum(correction.given != clean)} of {len(clean)} labels were made wrong. {model.n_estimators} "
        f"SVMs, each trained on {model.subsets_.shape[1]} rows, voted on the rows they had not seen, in "
        f"{demo.seconds:.1f} s{compiling}. Errors that depend on the class alone: "
        f"{format_rate(noise.error_rate, *noise.error_rate_interval)}. {format_others(noise.contradicted)}"
    )
    table = Table("labels that are right", title="scikit-learn's breast cancer data")
    for column in ("rows", "as given", "after correction"):
        table.add_column(column, justify="right")
    lines = [(name, clean == number) for number, name in enumerate(demo.data.target_names)]
    for name, of_class in [*lines, ("all", np.ones(len(clean), dtype=bool))]:
        right = [(labels == clean)[of_class] for labels in (correction.given, correction.labels)]
        cells = [f"{np.sum(one)} ({format_percent(np.mean(one))})" for one in right]
        table.add_row(str(name), str(of_class.sum()), *cells)
    console.print(table)
    if demo.example:
        console.print(demo.example)
    console.print("With a table of your own: subsvms correct loans.csv --label default", soft_wrap=True)
