"""Gather what a person, or a program, should know about a run: plain values that JSON can hold.

The report, the terminal and `--json` are three ways to print the same summary.
"""

import time
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.features.make import describe_columns
from subsvms.app.runs import describe
from subsvms.app.runs.options import write_command
from subsvms.app.runs.run import Finding, Run
from subsvms.app.runs.tally import UNIT
from subsvms.app.tables.table import FRAME
from subsvms.correction import _notes as words_of
from subsvms.correction._rule import Halt
from subsvms.exceptions import Note, Sentence, cut, format_interval, format_percent

UNSEEN = 0.001  # an error rate below this is shown as none
MANY_WRONG = 10  # labels that are expected to be wrong, and few of them flagged: then an audit helps most
RECORDED = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pandas")


@dataclass(frozen=True)
class Written:
    """What a run wrote; nothing after a dry run."""

    folder: str | None = None  # where the result and the classifier were written
    model: str | None = None
    # name and description of each file in the folder; first the table, then the issues
    files: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in text, numbers, booleans, None, and lists and dictionaries of these."""

    # what it was about: the table, what was asked, and what was used
    title: str  # what the table and its label column are called
    label: str
    version: str  # version of subsvms; when the run ended, in ISO 8601, UTC
    finished: str
    features: int  # how many features there are, and from how many columns they come
    columns_used: int
    columns: list[dict[str, Any]]  # what became of each column, as `describe_columns` returns it
    sample: int | None  # rows that charts and certificates are about, if they are a sample of the table
    rule: str  # as in `Options`
    action: str
    ensemble: dict[str, Any]  # the SVMs that voted, as `describe_ensemble` returns them
    parameters: list[list[str]]  # what was asked for, and what followed from it
    digest: str  # SHA-256 of the table
    versions: list[list[str]]  # by package; by stage
    seconds: list[list[Any]]
    # what it found, in numbers
    rows: int  # rows of the table; those with a label, those without, and how many of these got one
    labelled: int
    missing: int
    filled: int
    # labels that are probably wrong; labels that were changed; rows that were left out; labels that people
    # verified; labels that were kept although another one is more probable
    flagged: int
    changed: int
    dropped: int
    verified: int
    held_back: int
    audited: int | None  # labels that an audit changed unseen; None without an audit
    kept_by: list[list[Any]]  # what kept the labels that were held back, in words, and how many
    explained: bool  # whether the columns explain the labels. If not, the noise cannot be estimated.
    error_rate: float | None  # estimated share of wrong labels; None if its interval is too wide to name one
    error_rate_interval: list[float]  # its lower and upper end
    noise_matrix: list[list[float]]  # P(given class | true class), a line for each true class
    # share of the flagged rows for which the suggestion is expected to be right; None without an estimate
    expected_precision: float | None
    classes: list[dict[str, Any]]  # what `list_classes`, `list_moves` and `list_groups` return
    moves: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    worst: list[dict[str, Any]]  # the rows to look at first, as `describe_worst` returns them
    n_worst: int  # how many rows are listed in all; how many of them have a label
    n_labels: int
    expected_wrong: float  # how many of the labels listed are expected to be wrong
    # which share of the verdicts withstand a change ("share"), and how many the surest withstands ("most")
    certified: dict[str, Any]
    # what it says, in sentences
    notes: list[Note]  # what to know before using the result; what happened to columns that are not features
    remarks: list[Note]
    standing: str  # how many flagged labels a second judge confirms; empty if there is nothing to say
    words: list[str] = field(default_factory=list)  # the result
    listing: str = ""  # which labels are listed, and how many are expected to be wrong; one of `words`
    next: list[str] = field(default_factory=list)  # what to do now
    folder: str | None  # as in `Written`
    model: str | None
    files: list[list[str]]


def summarise(finding: Finding, written: Written) -> Summary:
    """Return the summary of a run."""
    run = finding.run
    correction, options, tally = run.correction, run.options, run.tally
    noise, missing, withstands = correction.noise, tally.rows - tally.labelled, correction.withstands
    kept_by = tally.kept_by.items()
    audited = None if correction.audit is None else correction.audited
    precision = None  # a plain vote gives no probabilities
    if options.rule != "majority" and tally.n_flagged:
        precision = tally.confidence / UNIT / tally.n_flagged
    summary = Summary(
        **vars(written), title=cut(name_table(run)), label=options.label, version=get_version("subsvms"),
        finished=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        features=int(run.features.X.shape[1]), columns_used=len(set(run.features.sources)),
        columns=describe_columns(run.features, options.by, options.id_column),
        sample=None if options.pool_size is None else len(correction), rule=options.rule,
        action=options.action, ensemble=describe.describe_ensemble(run),
        parameters=describe.list_parameters(run), digest=run.table.digest,
        versions=[[name, get_version(name)] for name in RECORDED],
        seconds=[list(pair) for pair in run.seconds.items()],
        rows=tally.rows, labelled=tally.labelled, missing=missing,
        filled=missing * correction.settings.fill_missing, flagged=tally.n_flagged,
        changed=sum(tally.changed), dropped=tally.dropped, verified=tally.verified,
        held_back=tally.held_back, audited=None if audited is None else int(audited.sum()),
        kept_by=[[words_of.format_keeper(Halt[name], correction.settings), count] for name, count in kept_by],
        explained=noise.explained, error_rate=describe.name_rate(noise.error_rate, noise.error_rate_interval),
        error_rate_interval=[float(limit) for limit in noise.error_rate_interval],
        noise_matrix=noise.matrix.tolist(), expected_precision=precision,
        classes=describe.list_classes(run), moves=describe.list_moves(run), groups=describe.list_groups(run),
        worst=describe.describe_worst(finding.shown, finding.issues, finding.numbers),
        n_worst=finding.n_issues, n_labels=finding.n_labels, expected_wrong=finding.doubt / UNIT,
        certified={"share": float(np.mean(withstands > 0)), "most": int(withstands.max(initial=0))},
        notes=[*finding.notes, *run.table_notes], remarks=list(run.remarks),
        standing=describe.describe_standing(run, finding.issues.carriers),
    )  # fmt: skip
    summary = replace(summary, listing=format_listing(summary))
    return replace(summary, words=format_result(summary), next=list_steps(summary))


def name_table(run: Run) -> str:
    """Return what the table is called, without its folders."""
    paths = run.table.paths
    if not paths:
        name = run.table.name
        return "the data frame" if name == repr(FRAME) else name[0].lower() + name[1:]
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"


def get_version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def format_result(summary: Summary) -> list[str]:
    """Return the result in sentences."""
    rows, labelled = f"{summary.rows:,}", f"{summary.labelled:,}"
    low, high = summary.error_rate_interval
    if not summary.explained:
        words = [
            f"The columns do not explain the labels of {summary.label!r}, so how many of the {labelled} "
            "labels are wrong cannot be estimated."
        ]
    elif summary.error_rate is None:
        words = [
            f"How many of the {labelled} labels are wrong is not known: anything from "
            f"{format_interval(low, high)} would fit the votes."
        ]
    elif summary.error_rate < UNSEEN:
        most = format_percent(max(high, UNSEEN))
        words = [
            f"No noise was detected in the {labelled} labels; up to {most} of them could still be wrong, or "
            "more if wrong labels depend on a column that is used."
        ]
    else:
        rate = format_percent(summary.error_rate)
        words = [
            f"About {rate} of the {labelled} labels are estimated to be wrong ({format_interval(low, high)})."
        ]
    if summary.audited is not None:
        words += [words_of.ESTIMATED_BEFORE] * (summary.explained and summary.error_rate is not None)
    found = words_of.Found(
        summary.labelled, summary.flagged, summary.action, summary.changed, summary.audited,
        summary.explained, summary.expected_precision,
    )  # fmt: skip
    words.append(words_of.format_done(found, dry=summary.folder is None))
    if summary.held_back:
        words.append(words_of.format_held_back(summary.flagged, [(what, n) for what, n in summary.kept_by]))
    if summary.listing:
        words.append(summary.listing)
    if summary.verified:
        words.append(f"Labels that people verified, and that stay as they decided: {summary.verified:,}.")
    if summary.filled:
        words.append(f"Rows without a label, whose labels were filled in: {summary.filled:,} of {rows}.")
    elif summary.missing:
        words.append(f"Rows without a label, which stay without one: {summary.missing:,} of {rows}.")
    return words


def format_listing(summary: Summary) -> str:
    """Return which labels are listed, and how many of them are expected to be wrong; nothing without any."""
    n = summary.n_labels
    if n == 0:
        return ""
    others = n - summary.flagged - summary.held_back
    kinds = {
        "flagged": summary.flagged,
        "held back": summary.held_back,
        "most doubtful of the others" if others < n else "most doubtful, none of them flagged": others,
    }
    which = ", ".join(f"{count:,} {what}" for what, count in kinds.items() if count)
    if summary.audited is not None:  # its answers say more than the probabilities from before it
        return f"Labels listed: {n:,} ({which})."
    # Beside the number of right changes among the same labels, or the limit of the estimate for the whole
    # table, another number would look like a mistake.
    same = summary.flagged == n and summary.expected_precision is not None
    beyond = summary.expected_wrong > summary.error_rate_interval[1] * summary.labelled
    unknown = ", also by noise that the rule cannot correct" if same or beyond else ""
    if n == 1:
        chance = format_percent(summary.expected_wrong)
        return f"The label listed ({which[2:]}) is wrong with probability {chance}{unknown}."
    wrong = f"{summary.expected_wrong:,.0f}"
    return f"Of the {n:,} labels listed ({which}), about {wrong} are expected to be wrong{unknown}."


def list_steps(summary: Summary) -> list[str]:
    """Return what to do now with the folder of a run; without one, how long it took."""
    if summary.folder is None:
        spent = sum(seconds for _, seconds in summary.seconds)
        return [f"Nothing was written; finding the wrong labels took {spent:.1f} seconds."]
    (corrected, _), (listed, _) = summary.files[:2]
    review, audit = (write_command(name, summary.folder) for name in ("review", "audit"))
    weights = f"the column sample_weight of {corrected}"
    at_hand = Handles("report.html", listed, review, corrected, summary.title, weights, audit)
    return format_next_steps(summary, at_hand)


class Handles(NamedTuple):
    """What readers of the next steps have at hand: files and commands, or attributes in a program."""

    worst: str
    listed: str
    review: str
    table: str
    given: str
    weights: str
    audit: str = ""  # none in a program


def format_next_steps(summary: Summary, at_hand: Handles) -> list[str]:
    """Return what a person should do now, in sentences."""
    steps: list[str] = []
    changed = summary.changed or summary.dropped or summary.filled
    if summary.n_worst:
        words = "Look at the worst rows ({worst}), or at all of them ({listed})."
        steps.append(Note("look", words, worst=at_hand.worst, listed=at_hand.listed))
        doubts = [1 - row["quality"] for row in summary.worst if row["given"] is not None]
        if not changed and round(sum(doubts)) >= 1:
            which = f"the first {len(doubts)} labels" if len(doubts) > 1 else "the first label"
            wrong = f"expected wrong: about {sum(doubts):.0f}"
            steps.append(f"Worth a look: {which} in {at_hand.listed}; {wrong}.")
        steps.append(f"To decide on the listed labels one by one: {at_hand.review}")
        if at_hand.audit and summary.expected_wrong >= max(MANY_WRONG, 2 * summary.flagged):
            steps.append(
                "The rule changes few of them. To check about fifty labels, and to change others with a "
                f"guarantee: {at_hand.audit}"
            )
    if summary.notes:
        steps.append("Read the notes: they say what may be wrong with the table, or with this result.")
    if changed and words_of.is_distrusted(summary.notes):
        steps.append(
            f"Do not use {at_hand.table} before you have looked at some of its changes: a note says why."
        )
    elif changed:
        steps.append(f"If you agree, use {at_hand.table} in place of {at_hand.given}.")
    elif summary.action == "weight":
        steps.append(f"Train with {at_hand.weights}.")
    elif summary.flagged == 0 and not summary.groups:
        words = "If a column says who labelled a row, or where it came from, name it with {by}."
        steps.append(Sentence(f"No label was changed. {words}"))
    if summary.missing and not summary.filled and summary.explained:
        steps.append(Sentence("To fill in missing labels: the same with {fill_missing=True}."))
    return steps
