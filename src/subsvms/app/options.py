"""Every option, declared once: its name, type, default, limits and help.

The options of the commands, the parameters of `correct_table`, their checks, what run.json records, and the
documentation are made from the fields of the classes below: a new option is one more field.
"""

import shlex
from collections.abc import Sequence
from dataclasses import KW_ONLY, MISSING, dataclass
from pathlib import Path
from typing import Any

from subsvms._numbers import check_count
from subsvms.app.declared import DECLARED, Checked, list_options, option
from subsvms.app.tables.formats import FORMATS
from subsvms.exceptions import NOTHING, InputError, Sentence, Setting, tell

# Groups of options in --help, after those that most people need.
LABELS, COLUMNS, RULE, SVMS, READING, LARGE, RECORDS = (
    "The labels", "The columns", "What is changed", "The SVMs", "How FILE is read", "Large tables and speed",
    "Records and programs",
)  # fmt: skip
WHO = "For {import_from}: who decided, if the file does not say."


@dataclass(frozen=True, kw_only=True)
class TableOptions(Checked):
    """What a correction of any table can be asked for: in `correct_table` and in `subsvms correct`."""

    by: Sequence[str] = option(
        (), "Columns to report the noise by, such as the annotator or the source. They are not features."
    )
    id_column: str | None = option(
        None, "Column that names the rows in all files and pages. It is not a feature.", flag="--id"
    )
    groups: str | None = option(
        None,
        "Column that says which rows belong together, such as the patient or the document: no row is judged "
        "by what was learned from its group. It is not a feature. By default copies are groups.",
    )
    annotators: Sequence[str] = option(
        (),
        "Columns that hold one person's answers each. All of these people and the other columns judge the "
        "labels; without {label} the majority's label is a new column.", flag="--annotator",
    )  # fmt: skip
    annotator_column: str | None = option(
        None, "Column that says who answered, in a table with one line an answer: {label} names the column "
        "of the answers, and {id_column} the one that says which row they are about.",
    )  # fmt: skip
    merge_labels: bool | None = option(
        None,
        "Labels that differ only in case or spaces are one class, or not; by default they are an error.",
        group=LABELS,
    )  # fmt: skip
    numeric_classes: bool = option(
        False, "The labels are classes although they look like a quantity.", group=LABELS
    )
    missing_label: Sequence[str] = option(
        (), "Labels that mean 'not labelled', besides the empty one.", group=LABELS
    )
    fill_missing: bool = option(
        False, "Fill in missing labels, if the columns tell the classes apart.", group=LABELS
    )
    exclude: Sequence[str] = option((), "Columns that are not features.", group=COLUMNS)
    only: Sequence[str] = option(
        (), "The only columns that are features, even if they look like identifiers.", group=COLUMNS
    )
    keep: Sequence[str] = option(
        (), "Columns that are features even if they seem to give the label away, or to be identifiers.",
        group=COLUMNS,
    )  # fmt: skip
    action: str = option(
        "fix", "What to do with labels that look wrong: fix, drop, weight or review.", group=RULE,
        choices=("fix", "drop", "weight", "review"),
    )  # fmt: skip
    rule: str = option(
        "posterior", "posterior, which does the least harm, or majority, the paper's plain vote.", group=RULE,
        choices=("posterior", "majority"),
    )  # fmt: skip
    max_error_rate: float | None = option(
        None, "Change at most this share of the labels, the surest first.", group=RULE, low=0, high=1
    )
    min_confidence: float | None = option(
        None, "Change a label only if another is more probable than this, from 0 to 1; by default, if it is "
        "the most probable.", group=RULE, low=0, high=1,
    )  # fmt: skip
    n_estimators: int | None = option(
        None,
        "How many SVMs vote. By default SVMs are chosen that predict the labels best; this, {subsample_size} "
        "and {kernel} set them instead, and what is left out then has the paper's value.", flag="--svms",
        group=SVMS, low=1,
    )  # fmt: skip
    subsample_size: str | int | None = option(
        None, "Rows that each SVM is trained on: log_squared, log or a number.", flag="--subset-size",
        group=SVMS, choices=("log", "log_squared"), low=2,
    )  # fmt: skip
    kernel: str | None = option(
        None, "Kernel of the SVMs: rbf, linear or poly.", group=SVMS, choices=("rbf", "linear", "poly")
    )
    random_state: int = option(
        None, "Seed of everything that is random; by default 0.", flag="--seed", group=SVMS, low=0, high=2**31
    )


@dataclass(frozen=True)
class Options(TableOptions):
    """What a run depends on, besides the bytes of its files: what run.json records."""

    label: str = option(MISSING, "Name of the label column.")
    _: KW_ONLY
    format: str | None = option(
        None, f"{', '.join(FORMATS)}; by default detected from suffix and content.", group=READING
    )
    encoding: str | None = option(
        None, "Encoding of text files, such as cp1252; by default detected.", group=READING
    )
    separator: str | None = option(None, "Separator of CSV files; by default detected.", group=READING)
    sheet: str | None = option(
        None, "Sheet of a workbook; by default its only one, or the only one that has the label.",
        group=READING,
    )  # fmt: skip
    pred_probs: Sequence[str] = option(
        (),
        "Out-of-sample probabilities of any model, which judge in place of SVMs: a file (.npy in the order "
        "of the sorted classes; CSV, Parquet or another table with columns named by the classes), or the "
        "names of columns of the table, such as p_cat and p_dog, which are then no features.", group=COLUMNS,
    )  # fmt: skip
    query: str | None = option(
        None, "SQL that gives the table, for a database; by default the only one with the label.",
        group=READING,
    )  # fmt: skip
    pool_size: int | None = option(
        None, "In parts: train SVMs on at most this many rows; by default 9,000 or more.", group=LARGE
    )
    # rows, counted from 1, and the labels that people decided they have; None for rows that they left out
    verified: tuple[tuple[int, str | int | float | bool | None], ...] = ()
    # of a table that was made from one line an answer: the column of all answers about a row, as JSON
    answers_column: str | None = option(None, "Column of all answers about a row.", hidden=True)
    early_exit: float | None = option(None, "Without effect: all SVMs vote on every row.", hidden=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool_size:  # 0 if it follows from the number of rows; None for a run in memory
            check_count("pool_size", self.pool_size, 100)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not features."""
        names = [name for name in (self.id_column, self.groups) if name is not None]
        return tuple(dict.fromkeys([*self.exclude, *self.by, *names, *self.answered, *self.pred_probs]))

    @property
    def answered(self) -> tuple[str, ...]:
        """Columns that hold people's answers."""
        return (*self.annotators, *([] if self.answers_column is None else [self.answers_column]))

    @property
    def reading(self) -> dict[str, Any]:
        """What `read_table` takes."""
        names = (*FILE_OPTIONS, *LABEL_OPTIONS)
        return {name: getattr(self, name) for name in names}


FILE_OPTIONS = ("format", "encoding", "separator", "sheet", "query")  # how a file is read
LABEL_OPTIONS = ("missing_label", "merge_labels", "numeric_classes")  # how its labels are


@dataclass(frozen=True, kw_only=True)
class Work(Checked):
    """How `subsvms correct` works, and what it leaves: nothing that run.json records among the options."""

    output: Path | None = option(None, "Folder to create; by default loans.subsvms next to loans.csv.")
    dry_run: bool = option(False, "Find wrong labels, but write nothing.")
    force: bool = option(False, "Replace the result of an earlier run.")
    features: str | None = option(
        None, ".npy or .npz file of embeddings, one per row, to use instead of the columns.", group=COLUMNS
    )
    decisions: Path | None = option(
        None,
        "Folder of an earlier run on FILE: labels that people decided there, or answered in an audit, count "
        "as verified.", group=RULE,
    )  # fmt: skip
    engine: str | None = option(
        None, "memory, or local or dask to work in parts; by default memory if FILE fits, else local.",
        group=LARGE, choices=("memory", "local", "dask"),
    )  # fmt: skip
    scheduler: str | None = option(
        None, "Address of a Dask scheduler; by default one starts on this machine.", group=LARGE
    )
    n_jobs: int | None = option(
        None, "How many threads; by default one per core. Does not change the result.", flag="--threads",
        group=LARGE, low=1,
    )  # fmt: skip
    device: str = option(
        "cpu",
        "Where the SVMs vote: cpu, cuda (a GPU, with the extra gpu), or auto for a GPU if there is one. Does "
        "not change the result.", group=LARGE,
    )  # fmt: skip
    save_model: Path | None = option(None, "Also save the classifier, for subsvms predict.", group=RECORDS)
    from_run: Path | None = option(
        None, "Folder or run.json of an earlier run to repeat, byte for byte; instead of FILE.",
        flag="--from", group=RECORDS,
    )  # fmt: skip
    as_json: bool = option(False, "Print the result as JSON.", flag="--json", group=RECORDS)
    quiet: bool = option(False, "Print nothing but errors.", group=RECORDS)


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """What every command takes that writes a file; listed last."""

    force: bool = option(False, "Replace an existing file.")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """What every command takes that opens a page; listed after its own options."""

    port: int | None = option(
        None, "First port to try; by default the page's own, from 8765 to 9764. Ports in use are skipped.",
        span=(1, 65535),
    )  # fmt: skip
    browser: bool = option(True, "Whether to open the page in a browser.")
    media_from: Sequence[str] = option(
        (), "Host on the web from which the page may show pictures and sounds, such as images.example.org."
    )
    new_address: bool = option(False, "Give the page a new address; the old one stops working.")


@dataclass(frozen=True)
class PredictOptions(WriteOptions):
    """What `subsvms predict` takes, besides options of `correct`."""

    output: Path | None = option(
        None, "Where to write the result; by default loans.predicted.csv next to FILE."
    )
    features: str | None = option(None, "Embeddings of these rows, if the model learned from embeddings.")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Checked):
    """What `subsvms check` asks, and how it answers."""

    fail_above: float | None = option(
        None, "Fail if the lower end of the interval of errors by class is above this share of the labels.",
        low=0, high=1,
    )  # fmt: skip
    baseline: Path | None = option(
        None, "File that knows the rows that were accepted: fail if the votes contradict more of the new "
        "ones than chance explains.",
    )  # fmt: skip
    accept: bool = option(False, "Write {baseline}, which then knows the rows as they are now.")
    decisions: Path | None = option(
        None, "With {accept}: accept only rows that people decided in this folder of a run, besides those "
        "that {baseline} knows.",
    )  # fmt: skip
    output_format: str = option(
        "text", "How to say what was found: text, json, junit or github.", flag="--format",
        choices=("text", "json", "junit", "github"),
    )  # fmt: skip
    output: Path | None = option(None, "Write that to this file, which is replaced, and print the text.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fail_above is None and self.baseline is None:
            raise InputError(Sentence("There is nothing to check: give {fail_above}, {baseline}, or both."))
        if self.accept and self.baseline is None:
            raise InputError(Sentence("{accept} writes a baseline: say where with {baseline}."))
        if self.decisions is not None and not self.accept:
            raise InputError(Sentence("{decisions} says which rows to accept: give {accept}, too."))


@dataclass(frozen=True)
class AttackOptions(WriteOptions):
    """How `subsvms corrupt` attacks, and what it writes."""

    attack: str = option(
        "uniform", "uniform, directed, class-conditional, region, boundary, surest or greedy."
    )
    error_rate: float | None = option(None, "Share of all labels to make wrong, below 1; by default 0.1.")
    rho: float | None = option(None, "Instead: wrong labels as a share of the smallest class, below 1.")
    alpha: float | None = option(
        None, "Direction: share of the wrong labels that are taken from the larger of two classes."
    )
    matrix: str | None = option(
        None, "For class-conditional: '0.9 0.1; 0.2 0.8', one row per class, classes sorted."
    )
    region_class: str | None = option(None, "For region: the class to attack.", flag="--class")
    output: Path | None = option(
        None, "Where to write the table; by default loans.corrupted.csv next to FILE."
    )
    clean_column: str | None = option(None, "Also write the labels as they were, to a column of this name.")


@dataclass(frozen=True)
class ApplyOptions(WriteOptions):
    """What `subsvms apply` takes."""

    undecided: str = option("keep", "Label of undecided rows: keep (the given one) or suggestion.")
    output: Path | None = option(None, "Where to write the table; by default final.csv in the folder.")


@dataclass(frozen=True)
class ExportOptions(WriteOptions):
    """What `subsvms export` takes."""

    to: str | None = option(None, "Format: jsonl, label-studio, argilla or spotlight.")
    output: Path | None = option(None, "Where to write the issues; by default in the folder.")
    import_from: Path | None = option(
        None, "Instead: import decisions made elsewhere from this file.", flag="--import"
    )
    who: str | None = option(None, WHO)


@dataclass(frozen=True)
class AuditOptions(WriteOptions, PageOptions):
    """What `subsvms audit` takes."""

    answers: int | None = option(None, "How many labels people will check; by default 50.", span=(10, None))
    estimate: int | None = option(
        None, "Instead: check so many labels drawn at random, to estimate how many are wrong.",
        span=(1, None),
    )  # fmt: skip
    until: float | None = option(
        None, "Instead: ask until at most this share of the labels is wrong, such as 0.02.", span=(0.001, 0.5)
    )
    any_stop: bool = option(
        False, "For {until}: say after each answer how many labels are wrong at most, so that you may stop "
        "anywhere; it takes more answers until the target is reached.",
    )  # fmt: skip
    test: bool = option(
        False, "Instead: FOLDER is a table with labels and a model's predictions; say what its score is on "
        "the true labels. Nothing is written into the table.",
    )  # fmt: skip
    label: str | None = option(None, "For {test}: the column of the given labels, if its name does not say.")
    prediction: Sequence[str] = option(
        (), "For {test}: the column of the predictions; two to compare two models where they differ."
    )
    hide: Sequence[str] = option((), "For {test}: columns that people do not see, such as probabilities.")
    metric: str | None = option(
        None, "For {test}: accuracy, or for two classes balanced_accuracy or f1; by default accuracy."
    )
    positive: str | None = option(None, "For {test}: the class that F1 is about, by default the second one.")
    yes: bool = option(False, "For {until}: begin without asking whether to.")
    repeat: bool | None = option(
        None, "Whether to ask again about labels that an answer overturns and some others; by default it is."
    )
    for_model: bool | None = option(
        None, "Whether a model will be trained on the table: two thirds, and not half, of the labels changed "
        "unseen must be right then.",
    )  # fmt: skip
    seed: int | None = option(None, "Seed of the questions; by default 0.", span=(0, 2**31))
    level: float | None = option(
        None, "How sure a claim must be; by default 0.95. --confidence is its old name.",
        old_flag="--confidence", span=(0.5, 0.999),
    )  # fmt: skip
    questions: Path | None = option(
        None, "Instead of the page: write the questions to this .csv, .jsonl or .json file."
    )
    import_from: Path | None = option(
        None, "Instead of the page: enter the answers in this file.", flag="--import"
    )
    who: str | None = option(None, WHO)
    status: bool = option(False, "Only print where it stands, and what may be said.")


# On the command line

DECLARING = (Options, Work, CheckOptions, AttackOptions, AuditOptions)  # classes with names of their own
UNNAMED = ("estimator", "gamma", "C", "n_witnesses")  # parameters that the command line does not have
FLAGS = {  # what parameters are called there, if it is not their name with dashes
    **{name: name for name in UNNAMED},
    **{one.name: one.metadata[DECLARED].flag for cls in DECLARING for one in list_options(cls)},
    "y": "--label", "X": "the table",
}  # fmt: skip


def as_flag(setting: Setting) -> str:
    """Return what the command line calls a parameter, with its value if there is one."""
    name, value = setting.parameter, setting.value
    flag = FLAGS.get(name) or f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        words = flag if value else f"--no-{flag.removeprefix('--')}"
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
