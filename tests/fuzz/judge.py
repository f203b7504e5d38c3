"""Say what is wrong with the way a command ended."""

import fnmatch
import hashlib
import json
import re
import signal
from pathlib import Path

from fuzz.cases import NONE, RUN
from fuzz.files import as_rows, get_kind
from fuzz.more_files import read_any
from fuzz.options import OURS

BOOK, REPORT = f"{RUN}/decisions.sqlite", f"{RUN}/report.html"
REVIEW = ("apply", "export", "import", "questions", "answers")  # commands that may open, and so create, BOOK
WRITTEN = {  # what a command changes besides its output: apply and audits say in the report what follows
    "import": (BOOK,), "questions": (BOOK, REPORT), "answers": (BOOK, REPORT), "apply": (REPORT,),
}  # fmt: skip
NO_TABLE = ("import", "questions", "answers", "check", "score", "media")  # commands that write none
DEFAULTS = (  # where results go without --output
    "*.subsvms", "*.subsvms/*", "*.predicted.*", "*.corrupted.*", f"{RUN}/final.*", f"{RUN}/issues.json*",
    f"{RUN}/issues.argilla.json", f"{RUN}/issues.spotlight.parquet",
)  # fmt: skip
LEFT = re.compile(r"\.part|\.lock|\.old|\.unfinished|-wal|-shm|-journal|(^|/)\.")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\ud800-\udfff]")
IN_MEMORY = {"issues.csv", "issues.parquet", "scores.parquet", "report.html", "run.json"}
OF_PEOPLE = re.compile(
    r"people\.csv|ask-next\.csv|.*\.answers\..*"
)  # beside them, if people's answers were read
IN_PARTS = {"corrected", "issues", "scores", "issues.csv", "issues.parquet", "report.html", "run.json"}
MAX_SENTENCE = 700


def take_snapshot(place):
    """Return what each file below a folder holds, as a hash, by its name."""
    return {str(path.relative_to(place)): take_digest(path) for path in sorted(Path(place).rglob("*"))}


def take_digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"


def find_faults(case, ending, before, after, place):
    """Return what is wrong, each as "kind: details"; nothing if all is well."""
    faults = judge_words(case, ending) + judge_files(case, ending, before, after)
    faults += [f"left behind: temporary file {path.name}" for path in (place.parent / "tmp").iterdir()]
    if ending.code == 0 and not faults:
        try:
            faults += judge_result(case, ending, place, before, after)
        except Exception as error:  # a result that cannot even be read
            faults.append(f"wrong result: {type(error).__name__}: {error}")
    return faults


def judge_words(case, ending):
    """Return what is wrong with the exit code and with what was printed."""
    if ending.hung or ending.code == -signal.SIGXCPU:
        return ["hang: it was killed"]
    if ending.code < 0:
        return [f"signal: {signal.Signals(-ending.code).name}"]
    if "Traceback (most recent call last)" in ending.stderr:
        last = ending.stderr.strip().splitlines()[-1]
        return [f"{'memory' if 'Memory' in last else 'traceback'}: {last[:200]}"]
    faults = []
    if ending.code not in (0, 2) and not has_failed(case, ending):
        faults.append(f"exit code: {ending.code}")
    if CONTROL.search(ending.stdout + ending.stderr):
        faults.append("escapes: control characters in what is printed")
    warning = re.search(r"^.*(Warning: |Exception ignored).*", ending.stderr, re.MULTILINE)
    if warning:
        faults.append(f"warning: {warning[0][:200]}")
    if ending.code == 2 and not has_failed(case, ending) and "Usage: subsvms" not in ending.stderr:
        said = [line for line in ending.stderr.splitlines() if line.startswith("subsvms: ")]
        sentences = [line for line in said if not line.startswith("subsvms: warning: ")]
        if len(sentences) != 1 or ending.stderr.splitlines()[-1] != sentences[0]:
            faults.append(f"sentence: {ending.stderr[-200:]!r}")
        elif not sentences[0].endswith((".", "?")) or len(sentences[0]) > MAX_SENTENCE:
            faults.append(f"sentence: {sentences[0][-200:]!r}")
    if ending.code == 0 and "--json" in case.words and case.stdout is None:
        try:
            json.loads(ending.stdout)
        except ValueError as error:
            faults.append(f"JSON: {error}")
    return faults


def has_failed(case, ending):
    """Return whether a check gave its verdict: labels do not pass, or that cannot be said."""
    return case.command == "check" and (ending.code == 1 or ending.code == 2 and bool(ending.stdout))


def judge_files(case, ending, before, after):
    """Return what is wrong with the files: changed, lost, left behind, or in a place of others."""
    faults = []
    # A full disk may be noticed after all is written.
    done = ending.code == 0 or has_failed(case, ending) or case.stdout is not None
    for name in before:
        people = Path(name).name in (OURS, "decisions.sqlite") or name in case.table.files  # never replaced
        force = "--force" in case.words or case.command == "check"
        # A run about answers keeps a table of its own, and knows no other one.
        people = people and not (case.command == "apply" and table_is_its_own(case) and name in case.words)
        replaced = force and is_output(case, name) and not people
        # Questions are stored before there is a file for them; drawn again, as long as nobody has answered.
        changed = (
            done and name in WRITTEN.get(case.command, ()) or (case.command, name) == ("questions", BOOK)
        )
        if before[name] != after.get(name) and not (changed or done and replaced):
            faults.append(f"input changed: {name} is {'different' if name in after else 'gone'}")
    for name in after.keys() - before.keys():
        if name == BOOK and case.command in REVIEW or ".unfinished" in name and "continue" in ending.stderr:
            continue
        plain = re.sub(r"(^|/)\.", r"\1", name) if case.table.main.startswith(".") else name
        hidden = LEFT.search(plain) and name not in list_asked(case)
        if hidden or not done or not is_output(case, name):
            faults.append(f"left behind: {name}")
    return [fault for fault in sorted(faults) if not fault.startswith(tuple(f"{one}/" for one in faults))]


def table_is_its_own(case):
    """Return whether a run keeps a table that it made of people's answers."""
    return case.table.kind.startswith("answers")


def is_output(case, name):
    if "--dry-run" in case.words:
        return False
    if any(name == one or name.startswith(f"{one}/") for one in list_asked(case)):
        return True
    if case.command == "score" and name.endswith(".answers.sqlite"):
        return True
    return any(fnmatch.fnmatch(name, pattern) for pattern in DEFAULTS)


def list_asked(case):
    """Return the files and folders that the options name."""
    options = [
        "--output",
        "--save-model",
        "--questions",
        *(["--baseline"] if "--accept" in case.words else []),
    ]
    return [name for name in map(case.get, options) if name is not None]


def judge_result(case, ending, place, before, after):
    """Return what is wrong with the files that a successful command wrote."""
    if "--dry-run" in case.words:
        silent = not ending.stdout.strip() and "--quiet" not in case.words
        return ["wrong result: nothing was printed"] if silent else []
    if case.words[0] == "correct":
        return judge_folder(case, place, before, after)
    new = [name for name in after if after[name] != before.get(name)]
    if case.command in NO_TABLE:
        return []
    parts = [name for name in new if re.search(r"/part-\d+\.parquet$", name)]
    if case.command == "apply" and parts:
        folder = (place / parts[0]).parent
        return compare_parts(case, folder, drops=True) if case.damage == NONE else []
    new = [
        name for name in new if not name.endswith((".sqlite", REPORT))
    ]  # decisions; what apply says in a report
    if len(new) != 1:
        return [f"wrong result: {new} instead of one file"]
    if case.command in ("predict", "corrupt", "apply") and case.damage == NONE:
        return compare_tables(case, place / new[0])
    return []


def judge_folder(case, place, before, after):
    (record,) = [n for n in after if n.endswith("/run.json") and after[n] != before.get(n)]
    folder = (place / record).parent
    model = case.get("--save-model")
    if model is not None and not (place / model).is_file():
        return ["half folder: the model is missing"]
    beside = {Path(model).name} if model is not None and (place / model).parent == folder else set()
    faults = check_folder(folder, beside)
    if faults or case.damage not in (NONE, "change_cells") or case.command == "from":
        return faults
    (corrected,) = folder.glob("corrected*")
    drops = case.get("--action") == "drop"
    return (compare_parts if corrected.is_dir() else compare_tables)(case, corrected, drops)


def check_folder(folder, beside=frozenset()):
    """Return what is wrong with the folder of a run: it must be complete, and as its record says."""
    names = {path.name for path in folder.iterdir() if not OF_PEOPLE.fullmatch(path.name)} - beside
    corrected = {name for name in names if name.startswith("corrected")}
    if names != (IN_PARTS if "corrected" in names else IN_MEMORY) | corrected or len(corrected) != 1:
        return [f"half folder: {sorted(names)}"]
    digests = json.loads((folder / "run.json").read_text(encoding="utf-8"))["files"]
    wrong = [name for name, digest in digests.items() if take_digest(folder / name) != digest]
    return [f"wrong result: {wrong} are not what run.json says"] if wrong else []


def compare_tables(case, path, drops=False):
    """Return what is wrong with a copy of the table, in which only the label may differ."""
    table, kind = case.table, get_kind(path.name)
    if table.kind == "answers in lines" or not table.is_labelled:  # the run is about a table that it made
        return []
    if kind != get_kind(table.main) and (kind in ("xlsx", "parquet") or not case.stdin):  # converted
        name = f"{path.stem}.jsonl" if (kind, table.kind) == ("json", "jsonl") else path.name  # stays so
        rows, _ = read_any(name, path.read_bytes(), {"separator": "\t" if kind == "tsv" else ","})
        fits = len(rows) == table.n_rows or (drops and len(rows) < table.n_rows)
        return [] if fits else [f"wrong result: {len(rows)} rows of {table.n_rows}"]
    old, names = [], []
    for file, content in table.parts.items():
        rows, names = read_any(file, content, table.style)
        old += rows
    if len(set(names)) < len(names):
        return []
    new, _ = read_any(path.name, path.read_bytes(), table.style)
    return compare_rows(old, new, [one for one in names if one != table.label], drops)


def compare_parts(case, folder, drops):
    """Return what is wrong with a corrected table in parts; text has become typed there."""
    rows = [row for path in sorted(folder.iterdir()) for row in read_any(path.name, path.read_bytes())[0]]
    columns, is_typed = case.table.columns, case.kind.startswith(("parquet", "feather", "delta"))
    old = list(as_rows(columns))
    names = [name for name in columns if is_typed and name != case.table.label]
    return compare_rows(old, rows, names, drops)


def compare_rows(old, new, names, drops):
    if drops:
        return [] if len(new) <= len(old) else [f"wrong result: {len(new)} rows of {len(old)}"]
    if len(new) != len(old):
        return [f"wrong result: {len(new)} rows instead of {len(old)}"]
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        for name in names:
            if repr(one[name]) != repr(other[name]):
                return [f"wrong result: row {number}, {name!r}: {one[name]!r} became {other[name]!r}"]
    return []
