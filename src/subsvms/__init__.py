"""Find wrong labels in a table, fix those that can be fixed, and classify in spite of the others.

Names are imported when they are first asked for: who only wants the help of a command should not wait for
scikit-learn and SciPy, and Ctrl-C is heard from the first moment.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from subsvms import adversaries, certificates, displays, metrics, theory
    from subsvms.corrector import LabelCorrector, LabelNoiseWarning, correct_labels
    from subsvms.datasets import make_separable_gaussians
    from subsvms.estimators import SubSVMClassifier
    from subsvms.persistence import load, save
    from subsvms.planning import plan
    from subsvms.regularity import estimate_regularity

__version__ = "0.1.0.dev0"

__all__ = [
    "LabelCorrector",
    "LabelNoiseWarning",
    "SubSVMClassifier",
    "adversaries",
    "certificates",
    "correct_labels",
    "displays",
    "estimate_regularity",
    "load",
    "make_separable_gaussians",
    "metrics",
    "plan",
    "save",
    "theory",
]

_HOMES = {
    "LabelCorrector": "corrector",
    "LabelNoiseWarning": "corrector",
    "SubSVMClassifier": "estimators",
    "correct_labels": "corrector",
    "estimate_regularity": "regularity",
    "load": "persistence",
    "make_separable_gaussians": "datasets",
    "plan": "planning",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'subsvms' has no attribute {name!r}")
    home = import_module(f"subsvms.{_HOMES.get(name, name)}")
    value = getattr(home, name) if name in _HOMES else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
