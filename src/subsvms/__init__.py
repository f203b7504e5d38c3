"""Find wrong labels in a table, fix those that can be fixed, and classify in spite of the others.

Names are imported when they are first used: the help of a command does not wait for scikit-learn and SciPy,
and Ctrl-C works from the first moment.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from subsvms import (
        adversaries,
        annotators,
        audit,
        certificates,
        datasets,
        displays,
        evaluation,
        exceptions,
        metrics,
        scale,
        theory,
    )
    from subsvms.app.frames import correct_table
    from subsvms.correction import Correction, LabelCorrector, correct_labels
    from subsvms.ensemble import SubSVMClassifier, load, save

__version__ = "0.2.0"

_HOMES = dict.fromkeys(("Correction", "LabelCorrector", "correct_labels"), "correction")
_HOMES |= dict.fromkeys(("SubSVMClassifier", "load", "save"), "ensemble") | {"correct_table": "app.frames"}

__all__ = [
    "Correction", "LabelCorrector", "SubSVMClassifier", "adversaries", "annotators", "audit", "certificates",
    "correct_labels", "correct_table", "datasets", "displays", "evaluation", "exceptions", "load",
    "metrics", "save", "scale", "theory",
]  # fmt: skip
_MODULES = tuple(name for name in __all__ if name not in _HOMES)
if find_spec("pyarrow") is None:  # no subsvms[app]; help(subsvms) and import * would load these and fail
    __all__.remove("scale")
    __all__.remove("correct_table")


def __getattr__(name: str) -> Any:
    if name not in (*_HOMES, *_MODULES):
        raise AttributeError(f"module 'subsvms' has no attribute {name!r}")
    value: Any = import_module(f"subsvms.{_HOMES.get(name, name)}")
    value = getattr(value, name) if name in _HOMES else value
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
