"""Gather what a person, or a program, should know about a run: plain values that JSON can hold.

The report, the terminal and `--json` are three ways to print the same summary.
"""

import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.features.make import describe_columns
from subsvms.app.names import ANSWERED
from subsvms.app.options import write_command
from subsvms.app.runs import describe
from subsvms.app.runs.noticed import notice
from subsvms.app.runs.record import RECORDED, get_version
from subsvms.app.runs.run import Finding, Run
from subsvms.app.runs.tally import UNIT
from subsvms.app.tables.table import FRAME
from subsvms.correction import _notes as words_of
from subsvms.correction._rule import Halt
from subsvms.exceptions import (
    UNKNOWN,
    Note,
    Sentence,
    cut,
    format_interval,
    format_others,
    format_percent,
    is_share_open,
)

UNSEEN = 0.001  # an error rate below this is shown as none
FEW_CHANGED = "The rule changes few of them."
MANY_WRONG = 10  # labels that are expected to be wrong, and few of them flagged: then an audit helps most


@dataclass(frozen=True)
class About:
    """What a run was about: the table, and what was asked."""

    title: str  # what the table and its label column are called
    label: str
    version: str  # version of subsvms; when the run ended, in ISO 8601, UTC
    finished: str
    features: int  # how many features there are, and from how many columns they come
    columns_used: int
    columns: list[dict[str, Any]]  # what became of each column, as `describe_columns` returns it
    judge: str | None  # who judged, in words, if not SVMs
    sample: int | None  # rows that charts and certificates are about, if they are a sample of the table
    rule: str  # as in `Options`
    action: str


@dataclass(frozen=True)
class Made:
    """What made the result."""

    ensemble: dict[str, Any]  # what judged, as `describe_ensemble` returns it
    parameters: list[list[str]]  # what was asked for, and what followed from it
    digest: str  # SHA-256 of the table
    versions: list[list[str]]  # by package; by stage
    seconds: list[list[Any]]


@dataclass(frozen=True)
class Counted:
    """Rows and labels, counted."""

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
    audited: int | None  # labels changed unseen after people had answered; None before any
    unclaimed: int  # labels that the run changed, and that stay so after answers without a claim
    kept_by: list[list[Any]]  # what kept the labels that were held back, in words, and how many


@dataclass(frozen=True)
class Estimated:
    """How many labels are wrong, as far as it is known."""

    explained: bool  # whether the columns explain the labels. If not, the noise cannot be estimated.
    # estimated share of wrong labels, by errors that depend on the class alone; None if its interval is too
    # wide to name one
    error_rate: float | None
    error_rate_interval: list[float]  # its lower and upper end
    noise_matrix: list[list[float]]  # P(given class | true class), a line for each true class
    # share of the flagged rows for which the suggestion is expected to be right; None without an estimate
    expected_precision: float | None
    consensus_wrong: float | None  # share of the labels that are expected to be wrong after a consensus
    contradicted_share: float | None  # of the labels: up to it, errors of other kinds cannot be excluded


@dataclass(frozen=True)
class Listed:
    """What was found about classes, groups and rows, a line for each."""

    classes: list[dict[str, Any]]  # what `list_classes`, `list_moves` and `list_groups` return
    moves: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    people: list[dict[str, Any]]  # several people who answered, as `list_people` returns them
    agreement: float | None  # of these people, Krippendorff's alpha
    worst: list[dict[str, Any]]  # the rows to look at first, as `describe_worst` returns them
    n_worst: int  # how many rows are listed in all; how many of them have a label
    n_labels: int
    expected_wrong: float  # how many of the labels listed are expected to be wrong
    # which share of the verdicts withstand a change ("share"), and how many the surest withstands ("most");
    # nothing if others than SVMs judged
    certified: dict[str, Any]
    noticed: list[dict[str, Any]]  # beside labels, as `notice` returns it
    kin: dict[str, Any] = field(default_factory=dict)  # rows that are copies, as `describe_kin` returns them


@dataclass(frozen=True)
class Told:
    """What a run says, in sentences."""

    notes: list[Note]  # what to know before using the result; what happened to columns that are not features
    remarks: list[Note]
    standing: str  # how many flagged labels a second judge confirms; empty if there is nothing to say
    words: list[str]  # the result
    listing: str  # which labels are listed, and how many are expected to be wrong; one of `words`
    next: list[str] = field(default_factory=list)  # what to do now


@dataclass(frozen=True)
class Written:
    """What a run wrote; nothing after a dry run."""

    folder: str | None = None  # where the result and the classifier were written
    model: str | None = None
    # name and description of each file in the folder; first the table, then the issues
    files: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Summary:
    """A run in text, numbers, booleans, None, and lists and dictionaries of these."""

    about: About
    made: Made
    counted: Counted
    noise: Estimated
    listed: Listed
    told: Told
    written: Written

    def flatten(self) -> dict[str, Any]:
        """Return all values by name, without the parts: for `--json`, the record and the report."""
        return {name: value for part in vars(self).values() for name, value in vars(part).items()}

    def advising(self, steps: list[str]) -> "Summary":
        """Return the same with these steps to take now."""
        return replace(self, told=replace(self.told, next=steps))


def summarise(finding: Finding, written: Written) -> Summary:
    """Return the summary of a run."""
    run, issues, proved = finding.run, finding.issues, finding.run.correction.withstands
    about, counted, noise = describe_table(run), count_labels(run), describe_noise(run)
    made = Made(
        ensemble=describe.describe_ensemble(run), parameters=describe.list_parameters(run),
        digest=run.table.digest, versions=[[name, get_version(name)] for name in RECORDED],
        seconds=[list(pair) for pair in run.seconds.items()],
    )  # fmt: skip
    listed = Listed(
        classes=describe.list_classes(run), moves=describe.list_moves(run), groups=describe.list_groups(run),
        people=describe.list_people(run), agreement=describe.measure_people(run),
        worst=describe.describe_worst(finding.shown, issues, finding.numbers), n_worst=finding.n_issues,
        n_labels=finding.n_labels, expected_wrong=finding.doubt / UNIT,
        certified={}
        if proved is None
        else {"share": float(np.mean(proved > 0)), "most": int(proved.max(initial=0))},
        noticed=notice(run, np.arange(len(run.correction)) if finding.drawn is None else finding.drawn),
        kin=describe.describe_kin(run),
    )  # fmt: skip
    listing, tally = format_listing(counted, noise, listed), run.tally
    classes = run.correction.classes.tolist()
    joined, limits = np.sum(tally.moves, axis=0).tolist(), run.correction.noise.rate_interval
    consensus = run.correction.consensus
    many = () if consensus else words_of.format_many(classes, tally.flagged, tally.given, joined, limits,
                                                     finding.notes)  # fmt: skip
    told = Told(
        notes=[*finding.notes, *many, *run.table_notes], remarks=list(run.remarks),
        standing=describe.describe_standing(run, issues.carriers), listing=listing,
        words=[
            *format_result(about, counted, noise, listing, dry=written.folder is None, consensus=consensus),
            *(run.kin.tell() if run.kin else ()),
        ],
    )  # fmt: skip
    summary = Summary(about, made, counted, noise, listed, told, written)
    return summary.advising(list_steps(summary))


def describe_table(run: Run) -> About:
    """Return what a run was about."""
    options, features = run.options, run.features
    asked: dict[Any, str] = {options.groups: "groups"} | dict.fromkeys(options.pred_probs, "judge")
    asked |= dict.fromkeys(options.by, "by") | {options.id_column: "id"}
    return About(
        title=cut(name_table(run)), label=options.label, version=get_version("subsvms"),
        finished=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), features=int(features.X.shape[1]),
        columns_used=0 if features.stand_in else len(set(features.sources)), rule=options.rule,
        action=options.action, judge=run.correction.judge,
        columns=describe_columns(features, asked),
        sample=None if options.pool_size is None else len(run.correction),
    )  # fmt: skip


def count_labels(run: Run) -> Counted:
    """Return how many rows and labels there are of each kind."""
    correction, tally, missing = run.correction, run.tally, run.tally.rows - run.tally.labelled
    settings, audited, audit = correction.settings, correction.audited, correction.audit
    counts, judge = tally.kept_by.items(), correction.judge
    kept_by = [[words_of.format_keeper(Halt[name], settings, judge), n] for name, n in counts]
    return Counted(
        rows=tally.rows, labelled=tally.labelled, missing=missing, filled=missing * settings.fill_missing,
        flagged=tally.n_flagged, changed=sum(tally.changed), dropped=tally.dropped, verified=tally.verified,
        held_back=tally.held_back, kept_by=kept_by,
        audited=None if audit is None or audited is None else int(audited.sum()),
        unclaimed=0 if audit is None else int(correction.changed[audit.claim.standing].sum()),
    )  # fmt: skip


def describe_noise(run: Run) -> Estimated:
    """Return how many labels are estimated to be wrong."""
    noise, tally, interval = run.correction.noise, run.tally, run.correction.noise.error_rate_interval
    consensus = run.correction.consensus
    unknown = run.options.rule == "majority" or not tally.n_flagged  # a plain vote gives no probabilities
    return Estimated(
        explained=noise.explained, error_rate=describe.name_rate(noise.error_rate, interval),
        error_rate_interval=interval.tolist(), noise_matrix=noise.matrix.tolist(),
        expected_precision=None if unknown else tally.confidence / UNIT / tally.n_flagged,
        consensus_wrong=None if consensus is None else consensus.expected_wrong,
        contradicted_share=sum(tally.contradicted) / tally.judged if tally.judged else None,
    )  # fmt: skip


def name_table(run: Run) -> str:
    """Return what the table is called, without its folders."""
    paths = run.table.paths
    if not paths:
        name = run.table.name
        return "the data frame" if name == repr(FRAME) else name[0].lower() + name[1:]
    if run.options.answered:  # a table that was made for the run is called as the one it was made from
        return paths[0].name.replace(ANSWERED, "")
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"


def format_noise(noise: Estimated, label: str, n_labels: int, judge: str | None) -> list[str]:
    """Return in sentences how many of so many labels are wrong: by the class alone, and otherwise."""
    if not noise.explained:
        return [
            f"{words_of.format_unexplained(judge)} the labels of {label!r}, so how many of the {n_labels:,} "
            "labels are wrong cannot be estimated."
        ]
    rate = UNKNOWN if noise.error_rate is None else f"about {format_percent(noise.error_rate)}"
    if noise.error_rate is not None and noise.error_rate < UNSEEN:
        rate = "none found"
    by_class = f"Errors that depend on the class alone, among {n_labels:,} labels: {rate}"
    interval = format_interval(*noise.error_rate_interval)
    return [f"{by_class} ({interval}).", format_others(noise.contradicted_share, judge)]


def format_result(
    about: About, counted: Counted, noise: Estimated, listing: str, *, dry: bool, consensus: Any = None
) -> list[str]:  # fmt: skip
    """Return the result in sentences."""
    rows, flagged = f"{counted.rows:,}", counted.flagged
    words = [str(consensus)]
    if consensus is None:
        words = format_noise(noise, about.label, counted.labelled, about.judge)
    if counted.audited is not None and noise.explained and noise.error_rate is not None:
        words.append(words_of.ESTIMATED_BEFORE)
    found = words_of.Found(
        counted.labelled, flagged, about.action, counted.changed, counted.audited, noise.explained,
        noise.expected_precision, counted.unclaimed,
    )  # fmt: skip
    words.append(words_of.format_done(found, dry=dry))
    if counted.held_back:
        words.append(words_of.format_held_back(flagged, [(what, n) for what, n in counted.kept_by]))
    if listing:
        words.append(listing)
    if counted.verified:
        words.append(f"Labels that people verified, and that stay as they decided: {counted.verified:,}.")
    if counted.filled:
        words.append(f"Rows without a label, whose labels were filled in: {counted.filled:,} of {rows}.")
    elif counted.missing:
        words.append(f"Rows without a label, which stay without one: {counted.missing:,} of {rows}.")
    return words


def format_listing(counted: Counted, noise: Estimated, listed: Listed) -> str:
    """Return which labels are listed, and how many of them are expected to be wrong; nothing without any."""
    n, wrong = listed.n_labels, listed.expected_wrong
    if n == 0:
        return ""
    others = n - counted.flagged - counted.held_back
    kinds = {
        "flagged": counted.flagged,
        "held back": counted.held_back,
        "most doubtful of the others" if others < n else "most doubtful, none of them flagged": others,
    }
    which = ", ".join(f"{count:,} {what}" for what, count in kinds.items() if count)
    if counted.audited is not None:  # its answers say more than the probabilities from before it
        return f"Labels listed: {n:,} ({which})."
    # Beside the number of right changes among the same labels, or the limit of the estimate for the whole
    # table, another number would look like a mistake.
    same = not listed.people and counted.flagged == n and noise.expected_precision is not None
    beyond = not listed.people and wrong > noise.error_rate_interval[1] * counted.labelled
    unknown = ", also by noise that the rule cannot correct" if same or beyond else ""
    if n == 1:
        return f"The label listed ({which[2:]}) is wrong with probability {format_percent(wrong)}{unknown}."
    return f"Of the {n:,} labels listed ({which}), about {wrong:,.0f} are expected to be wrong{unknown}."


def list_steps(summary: Summary) -> list[str]:
    """Return what to do now with the folder of a run; without one, how long it took."""
    folder, files = summary.written.folder, summary.written.files
    if folder is None:
        spent = sum(seconds for _, seconds in summary.made.seconds)
        return [f"Nothing was written; finding the wrong labels took {spent:.1f} seconds."]
    (corrected, _), (listed, _) = files[:2]
    review, confirm, audit = (write_command(name, folder) for name in ("review", "confirm", "audit"))
    estimate = write_command("audit", folder, estimate=50)
    weights = f"the column sample_weight of {corrected}"
    given = summary.about.title
    at_hand = Handles("report.html", listed, review, corrected, given, weights, confirm, audit, estimate)
    return format_next_steps(summary, at_hand)


class Handles(NamedTuple):
    """What readers of the next steps have at hand: files and commands, or attributes in a program."""

    worst: str
    listed: str
    review: str
    table: str
    given: str
    weights: str
    confirm: str
    audit: str
    estimate: str


def format_next_steps(summary: Summary, at_hand: Handles) -> list[str]:
    """Return what a person should do now, in sentences."""
    steps: list[str] = []
    counted, listed, notes = summary.counted, summary.listed, summary.told.notes
    changed = counted.changed or counted.dropped or counted.filled
    if listed.n_worst:
        words = "Look at the worst rows ({worst}), or at all of them ({listed})."
        steps.append(Note("look", words, worst=at_hand.worst, listed=at_hand.listed))
        doubts = [1 - row["quality"] for row in listed.worst if row["given"] is not None]
        if not changed and round(sum(doubts)) >= 1:
            which = f"the first {len(doubts)} labels" if len(doubts) > 1 else "the first label"
            wrong = f"expected wrong: about {sum(doubts):.0f}"
            steps.append(f"Worth a look: {which} in {at_hand.listed}; {wrong}.")
        confirm = words_of.format_confirm(counted.flagged, counted.held_back, summary.about.action)
        if confirm and counted.audited is None:
            steps.append(f"{confirm.capitalize()}: {at_hand.confirm}")
        steps.append(f"To decide on the listed labels one by one: {at_hand.review}")
        few = listed.expected_wrong >= max(MANY_WRONG, 2 * counted.flagged)
        unknown = is_share_open(summary.noise.error_rate_interval, summary.noise.contradicted_share)
        if few or unknown:
            why = "The table alone cannot show how many labels are wrong." if unknown else FEW_CHANGED
            steps.append(f"{why} {words_of.AUDIT.capitalize()}: {at_hand.audit}")
        if unknown:
            steps.append(f"{words_of.ESTIMATE.capitalize()}: {at_hand.estimate}")
    if notes:
        steps.append("Read the notes: they say what may be wrong with the table, or with this result.")
    if changed and words_of.is_distrusted(notes):
        steps.append(f"Do not use {at_hand.table} before you have confirmed its changes: a note says why.")
    elif changed:
        steps.append(f"If you agree, use {at_hand.table} in place of {at_hand.given}.")
    elif summary.about.action == "weight":
        steps.append(f"Train with {at_hand.weights}.")
    elif counted.flagged == 0 and not listed.groups:
        words = "If a column says who labelled a row, or where it came from, name it with {by}."
        steps.append(Sentence(f"No label was changed. {words}"))
    if counted.missing and not counted.filled and summary.noise.explained:
        steps.append(Sentence("To fill in missing labels: the same with {fill_missing=True}."))
    return steps
