"""What a run is asked to do, checked once. Messages name the flags of the command line."""

import shlex
from dataclasses import dataclass
from typing import Any

from subsvms._numbers import check_count, check_range
from subsvms._sentences import NOTHING, Setting, tell
from subsvms.app.words import suggest
from subsvms.exceptions import TableError

CHOICES = {
    "rule": ("posterior", "majority"),
    "action": ("fix", "drop", "weight", "review"),
    "kernel": ("rbf", "linear", "poly"),
}
# Parameters that have another name on the command line than their own with dashes.
SHORT = {
    "n_estimators": "--svms", "subsample_size": "--subset-size", "random_state": "--seed",
    "id_column": "--id", "n_jobs": "--threads", "from_run": "--from",
    "import_from": "--import", "as_json": "--json", "n_answers": "--answers", "region_class": "--class",
    "y": "--label", "X": "the table",
}  # fmt: skip
# Parameters of the library that the command line does not have.
UNNAMED = ("estimator", "gamma", "C", "n_witnesses")


def as_flag(setting: Setting) -> str:
    """Return what the command line calls a parameter, with its value if there is one."""
    name, value = setting.parameter, setting.value
    flag = name if name in UNNAMED else SHORT.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        words = flag if value else flag.replace("--", "--no-", 1)
    elif value is NOTHING:
        words = flag
    else:
        several = value if isinstance(value, list | tuple) else [value]
        words = " ".join(f"{flag} {shlex.quote(str(one))}" for one in several)
    return f" ({words})" if setting.aside else words


def write_command(name: str, *words: Any, **settings: Any) -> str:
    """Return a command of subsvms as one types it; a setting of NOTHING has its name alone."""
    said = " ".join(as_flag(Setting(name, value)) for name, value in settings.items())
    return f"{shlex.join(['subsvms', name, *map(str, words)])} {said}".rstrip()


def tell_flags(value: Any) -> Any:
    """Return a sentence, or whatever holds sentences, in the words of the command line."""
    return tell(value, as_flag)


SIZES = ("log", "log_squared")
# Fields that have scikit-learn's name here and a shorter one on the command line and in records of format 1.
FLAGS = {
    "n_estimators": "svms", "subsample_size": "subset_size", "random_state": "seed", "id_column": "id",
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What a run depends on, besides the bytes of its files."""

    label: str  # name of the label column
    rule: str = "posterior"  # {"posterior", "majority"}
    action: str = "fix"  # {"fix", "drop", "weight", "review"}: what happens to labels that are probably wrong
    max_error_rate: float | None = None  # the largest share of the labels that may change
    min_confidence: float = 0.5  # A label changes only if another one is more probable than this
    n_estimators: int | None = None  # how many SVMs vote (--svms)
    # {"log", "log_squared"}, int or None: rows that each SVM is trained on (--subset-size)
    subsample_size: str | int | None = None
    # {"rbf", "linear", "poly"} or None: if this and the two above are None, they are chosen from the data;
    # else those that are None have the paper's values
    kernel: str | None = None
    random_state: int = 0  # the seed (--seed)
    exclude: tuple[str, ...] = ()  # columns that are not features; the only columns that are
    only: tuple[str, ...] = ()
    # columns that are features even if they seem to give the label away, or to be identifiers
    keep: tuple[str, ...] = ()
    by: tuple[str, ...] = ()  # columns to report the noise by. They are not features.
    id_column: str | None = None  # column that names the rows (--id). It is not a feature.
    format: str | None = None  # how to read the file; None to detect it
    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    query: str | None = None
    missing_label: tuple[str, ...] = ()  # labels that mean "not labelled"
    # whether labels that differ only in case or spaces are one class; None to stop if there are any
    merge_labels: bool | None = None
    numeric_classes: bool = False  # whether numbers are classes even if they look like a quantity
    fill_missing: bool = False  # whether rows without a label get the suggested one
    # rows, counted from 1, and the labels that people decided they have; None for rows that they left out
    verified: tuple[tuple[int, str | int | float | bool | None], ...] = ()
    early_exit: float | None = None  # in parts: confidence with which the votes on a row may end early
    # in parts: SVMs are trained on at most this many rows; 0 if it follows from the number of rows. None
    # for a run in memory.
    pool_size: int | None = None

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known and (name != "kernel" or value is not None):
                hint = suggest(str(value), known) or "."
                words = "{name} must be one of {known}; got {value!r}{hint}"
                raise TableError(words, name=Setting(name), known=", ".join(known), value=value, hint=hint)
        if self.max_error_rate is not None:
            check_range("max_error_rate", self.max_error_rate, 0, 1)
        check_range("min_confidence", self.min_confidence, 0, 1)
        if self.n_estimators is not None:
            check_count("n_estimators", self.n_estimators)
        check_count("random_state", self.random_state, 0)
        check_range("random_state", self.random_state, 0, 2**31)
        if self.early_exit is not None:
            check_range("early_exit", self.early_exit, 0.5, 1, "[)")
        if self.pool_size:
            check_count("pool_size", self.pool_size, 100)
        if self.id_column is not None and not isinstance(self.id_column, str):
            raise TableError("{id_column} must be the name of a column; got {got!r}.", got=self.id_column)
        if self.subsample_size not in (None, *SIZES):
            if isinstance(self.subsample_size, str):
                words = "{subsample_size} must be log, log_squared or a whole number; got {got!r}."
                raise TableError(words, got=self.subsample_size)
            check_count("subsample_size", self.subsample_size, 2)

    @classmethod
    def from_flags(cls, **flags: Any) -> "Options":
        """Return the options that these flags ask for: `svms=500` is `n_estimators=500`."""
        fields = {flag: field for field, flag in FLAGS.items()}
        return cls(**{fields.get(name, name): value for name, value in flags.items()})

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not features."""
        names = [] if self.id_column is None else [self.id_column]
        return tuple(dict.fromkeys([*self.exclude, *self.by, *names]))

    @property
    def reading(self) -> dict[str, Any]:
        """What `read_table` takes."""
        names = (
            "format",
            "encoding",
            "separator",
            "sheet",
            "query",
            "missing_label",
            "merge_labels",
            "numeric_classes",
        )
        return {name: getattr(self, name) for name in names}
