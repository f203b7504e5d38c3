"""Cases: a folder with files, some of them damaged, and a command on them; all decided by seed and number."""

import csv
import json
import os
import random
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fuzz import files, more_files
from fuzz.files import Table, rename, write_parquet
from fuzz.mutations import ANY, MAGIC, MUTATIONS, change_cells
from fuzz.options import FILES, OURS, draw_invalid, draw_valid
from fuzz.processes import run_command, run_well
from subsvms.app.runs.history_file import holds_decisions

RUN, MODEL, OUTPUT = "t.subsvms", "t.model", "out"
NONE = "none"
DAMAGED, DAMAGED_RUN = 0.5, 0.6  # share of the cases with a damaged file, on a new table or an earlier run
WRONG = 0.12  # share of the cases with a wrong option
QUICK = ["--svms", "20"]
DRAW = files.DRAW | more_files.DRAW
KINDS = tuple(DRAW)
IN_PARTS = ("csv", "tsv", "parquet", "feather", "delta")
RUNS = (*(kind for kind in KINDS if kind != "delta"), "csv in parts", "parquet in parts", "delta in parts")
WITH_COLUMNS = tuple(kind for kind in KINDS if kind not in ("embeddings", "libsvm", "delta"))
SUFFIXES = "csv jsonl parquet csv.gz svm feather xlsx ods json dta sav sqlite".split()  # of results


@dataclass
class Case:
    """A command, and what is known about the files it is given."""

    command: str  # a key of `MAKE`
    kind: str  # of the table
    damage: str  # to a file, or else what is wrong with the options; "none" if nothing is
    words: list[str]  # after `subsvms`
    table: Table
    stdin: bytes = b""
    stdout: str | None = None  # where standard output goes, if not to a file

    def get(self, option):
        """Return the value of an option that is given last; None if it is not given."""
        places = [i for i, word in enumerate(self.words[:-1]) if word == option]
        return self.words[places[-1] + 1] if places else None


class Runs:
    """Runs of the unchanged program on valid tables, made when they are first needed.

    Several processes may share their folder: each makes what it does not find there.
    """

    def __init__(self, root):
        self.root = Path(root)

    def copy(self, name, place):
        """Copy a run, its table and its model to a folder; return the table."""
        table = draw_run(name)
        if not (self.root / name).exists():
            self.make(name, table)
        shutil.copytree(self.root / name / "place", place, dirs_exist_ok=True)
        return table

    def make(self, name, table):
        made = self.root / f"{name}-{os.getpid()}"
        place, in_parts = made / "place", name.endswith("in parts")
        write_files(table, place)
        words = ["correct", table.where, *table.named, *QUICK, *table.reading, "--threads", "1"]
        words += ["--output", RUN, "--save-model", MODEL, *(["--engine", "local"] if in_parts else [])]
        run_well(words, place)
        record = json.loads((place / RUN / "run.json").read_text())
        record["seconds"] = dict.fromkeys(record["seconds"], 0.5)  # what differs from machine to machine
        (place / RUN / "run.json").write_text(json.dumps(record, indent=1))
        if not in_parts:
            write_decisions(place / "d.csv", list_suggestions(place / RUN, 5))
            run_well(["export", RUN, "--import", "d.csv", "--who", "Ann"], place)
            (place / "d.csv").unlink()
        run_command(["audit", RUN, "--answers", "10", "--questions", "q.csv"], place)  # if it has enough rows
        with suppress(OSError):  # another process was first
            made.rename(self.root / name)


def draw_run(name):
    kind, _, in_parts = name.partition(" in parts")
    rng = random.Random(name)
    table = DRAW[kind](rng)
    while (kind != "delta" and "." not in table.where) or (in_parts and table.where.endswith(".xz")):
        table = DRAW[kind](rng)
    return table


def write_files(table, place):
    for name, data in table.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)


def list_suggestions(folder, most):
    """Return the first issues of a run, as (row, suggested label)."""
    with (folder / "issues.csv").open(newline="", encoding="utf-8") as file:
        return [(int(one["row"]), one["suggested_label"]) for one in csv.DictReader(file)][:most]


def write_decisions(path, decided):
    """Write decisions that were made elsewhere, as (row, label), in the format that the file's name says."""
    rows = [{"row": row, "label": label} for row, label in decided]
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("row", "label"), *decided])
    elif path.suffix == ".parquet":
        path.write_bytes(write_parquet(pa.Table.from_pylist(rows)))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:  # Label Studio
        choices = [{"type": "choices", "value": {"choices": [row["label"]]}} for row in rows]
        annotations = [[{"result": [choice]}] for choice in choices]
        tasks = [{"data": row, "annotations": one} for row, one in zip(rows, annotations, strict=True)]
        path.write_text(json.dumps(tasks))


def write_answers(rng, path, place, table):
    """Fill in the file of questions of a run, in the format that another file's name says."""
    with (place / "q.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    names = [
        *dict.fromkeys(str(one) for one in table.columns[table.label] if one is not None),
        "cannot tell",
        "?",
        "",
    ]
    for line in lines:
        line["answer"] = rng.choice(names)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
        return
    lines = [{name: line[name] for name in ("row", "question", "answer")} for line in lines]
    lines = [line | {name: int(line[name]) for name in ("row", "question")} for line in lines]
    if path.suffix == ".parquet":
        path.write_bytes(write_parquet(pa.Table.from_pylist(lines)))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        path.write_text(json.dumps(lines))


def seed_case(seed, number):
    return random.Random(f"{seed}:{number}")


def draw_command(rng):
    return rng.choices(list(MAKE), [weight for weight, _ in MAKE.values()])[0]


def make_case(seed, number, place, runs):
    """Write the files of a case to an empty folder, and return it."""
    rng = seed_case(seed, number)
    (place / OURS).write_text("not to be touched")
    command = draw_command(rng)
    _, make = MAKE[command]
    case = make(rng, command, place, runs)
    if rng.random() < WRONG and command not in ("from", "media"):
        if rng.random() < 0.1 and case.words[:2] == ["correct", case.table.where]:
            case.words[1] = rng.choice(FILES)
        else:
            case.words += draw_invalid(rng, "correct" if command in ("local", "decisions") else command)
        case.damage = "wrong option" if case.damage == NONE else case.damage
    if rng.random() < 0.01 and command != "media":  # which is no command
        case.stdout = "/dev/full"
    return case


def damage_table(rng, table):
    if rng.random() >= DAMAGED:
        return NONE
    if table.kind in ("csv", "tsv", "jsonl", "answers", "answers in lines") and rng.random() < 0.4:
        change_cells(rng, table)
        return "change_cells"
    name = rng.choice(list(table.files))
    kind = table.kind
    if kind == "embeddings" and not name.startswith("x."):
        kind = "csv"
    elif kind == "pictures":
        kind = "picture" if name.startswith("p/") else "csv"
    elif kind == "delta":
        kind = "jsonl" if name.endswith(".json") else "parquet"
    table.files[name], done = damage(rng, kind, table.files[name])
    return done


def damage(rng, kind, data):
    if not data:  # as an export without issues
        return rng.choice(MAGIC), "insert_magic"
    mutate = rng.choice(MUTATIONS.get(kind.split()[0], MUTATIONS["compressed"]))
    data = mutate(rng, data)
    if data and rng.random() < 0.1:
        data = rng.choice(ANY)(rng, data)
    return data, mutate.__name__


def make_correct(rng, command, place, runs):
    """Return `subsvms correct` on a new table, in memory or in parts."""
    local = command == "local"
    table = DRAW[rng.choice(IN_PARTS if local else KINDS)](rng)
    done = damage_table(rng, table)
    if rng.random() < 0.04 and len(table.files) == 1:
        rename(rng, table)
    quick = QUICK if rng.random() < 0.8 else []  # else SVMs are chosen
    words = ["correct", table.where, *table.named, *quick, *table.reading]
    words += draw_valid(rng, "correct")
    words += ["--engine", "local", *draw_valid(rng, "local", most=1)] if local else []
    for option, share in (("--by", 0.15), ("--exclude", 0.1), ("--only", 0.05)):
        if rng.random() < share:
            words += [option, rng.choice(list(table.columns))]
    case = Case(command, table.kind, done, words, table)
    if rng.random() < 0.05 and len(table.files) == 1 and not local:
        words[1], case.stdin = "-", table.files[table.main]
    if case.stdin or rng.random() < 0.7:
        words += ["--output", OUTPUT]
    if rng.random() < 0.1:
        words += ["--save-model", MODEL]
    if not case.stdin:
        write_files(table, place)
    if case.get("--output") and rng.random() < 0.12:
        put_earlier_run(rng, case, place, runs)
    return case


def put_earlier_run(rng, case, place, runs):
    earlier = place.parent / "earlier"
    runs.copy(rng.choice(RUNS), earlier)
    shutil.move(earlier / RUN, place / OUTPUT)
    shutil.rmtree(earlier)
    book = place / OUTPUT / "decisions.sqlite"
    if rng.random() < 0.5 or not holds_decisions(book):  # without acts of people it is replaced
        book.unlink(missing_ok=True)
    if rng.random() < 0.2:
        (place / OUTPUT / OURS).write_text("a note beside the run")
        case.damage = "foreign file" if case.damage == NONE else case.damage
    if rng.random() < 0.6:
        case.words.append("--force")


def make_corrupt(rng, command, place, runs):
    table = DRAW[rng.choice([kind for kind in KINDS if kind != "embeddings"])](rng)
    done = damage_table(rng, table)
    words = [command, table.where, "--label", table.label, *table.reading, *draw_valid(rng, command)]
    if rng.random() < 0.5:
        words += ["--output", f"c.{rng.choice(SUFFIXES)}"]
    write_files(table, place)
    return Case(command, table.kind, done, words, table)


def make_check(rng, command, place, runs):
    """Return `subsvms check`, with a baseline that is there or not, and perhaps damaged."""
    table = DRAW[rng.choice(WITH_COLUMNS)](rng)
    done = damage_table(rng, table)
    words = [command, table.where, "--label", table.label, *QUICK, *table.reading, *draw_valid(rng, command)]
    write_files(table, place)
    if rng.random() < 0.6:
        words += [
            "--baseline",
            rng.choice(["b.lock", "b.lock", "b.txt", "b.parquet", "no/b.lock", "t.csv", OURS]),
        ]
        if rng.random() < 0.5:
            words.append("--accept")
        if done == NONE and rng.random() < 0.5:
            accept = ["--baseline", "b.lock", "--accept"]
            run_command(
                [command, table.where, "--label", table.label, *QUICK, *table.reading, *accept], place
            )
            if (place / "b.lock").exists() and rng.random() < 0.5:
                data, done = damage(rng, "csv", (place / "b.lock").read_bytes())
                (place / "b.lock").write_bytes(data)
    return Case(command, table.kind, done, words, table)


def make_score(rng, command, place, runs):
    """Return `subsvms audit --test` on a table with a column of predictions."""
    table = DRAW[rng.choice(("csv", "tsv", "answers"))](rng)
    while "." in table.kind:
        table = DRAW["csv"](rng)
    names = [one for one in dict.fromkeys(table.columns[table.label]) if one is not None]
    table.columns[table.label] = [names[0] if one is None else one for one in table.columns[table.label]]
    table.columns["pred"] = [rng.choice([one, one, *names]) for one in table.columns[table.label]]
    table.files = {table.where: files.write_delimited(table)}
    done = damage_table(rng, table)
    words = ["audit", table.where, "--test", "--label", table.label, "--answers", "12"]
    words += draw_valid(rng, command)
    words += rng.choice([["--questions", rng.choice(["q.csv", "q.jsonl", "q.json"])], ["--status"]])
    write_files(table, place)
    return Case(command, table.kind, done, words, table)


def make_media(rng, command, place, runs):
    """Return what the pages do with the pictures that a table names."""
    table = DRAW["pictures"](rng)
    done = damage_table(rng, table)
    write_files(table, place)
    return Case(command, table.kind, done, [command, *map(str, table.columns["shown"])], table)


def make_on_run(rng, command, place, runs):
    """Return a command that works on the folder or the model of an earlier run."""
    name = rng.choice(RUNS)
    if command == "decisions":
        name = rng.choice([kind for kind in KINDS if kind in RUNS])
    table = runs.copy(name, place)
    given = rng.choice(["d.jsonl", "d.csv", "d.json", "d.parquet"][: 3 if command == "questions" else 4])
    asked = rng.choice([["audit", RUN, "--answers", "10"], ["audit", RUN], ["confirm", RUN]])
    named = ("run.json", "decisions.sqlite", "issues.parquet", "scores.parquet")
    record, decisions, issues, scores = (f"{RUN}/{one}" for one in named)
    reading = [*table.named, *table.reading]
    words, targets = {  # the command, and files that may be damaged
        "from": (
            ["correct", "--from", rng.choice([RUN, record]), "--output", OUTPUT],
            [*[record] * 4, table.main],
        ),
        "decisions": (
            ["correct", table.where, "--decisions", RUN, *reading, *QUICK],
            [record, *[decisions] * 3],
        ),
        "predict": (["predict", MODEL, table.where, *table.reading], [MODEL, MODEL, table.main]),
        "apply": (["apply", RUN, "--undecided", "suggestion"], [record, issues, decisions, table.main]),
        "export": (
            ["export", RUN, "--to", rng.choice(["jsonl", "label-studio", "argilla", "spotlight"])],
            [record, issues, decisions, table.main],
        ),
        "import": (["export", RUN, "--import", given], [record, decisions, given]),
        "questions": (
            [*asked, *rng.choice([["--questions", given], ["--questions", given], ["--status"]])],
            [record, decisions, scores, table.main],
        ),
        "answers": (["audit", RUN, "--import", given], [record, decisions, scores, given, given]),
    }[command]
    if command == "import":
        write_decisions(place / given, list_suggestions(place / RUN, 4))
    elif command == "answers" and (place / "q.csv").exists():
        write_answers(rng, place / given, place, table)
    (place / "q.csv").unlink(missing_ok=True)
    if command in ("predict", "apply", "export", "import", "questions", "answers"):
        words += draw_valid(rng, command)
    elif rng.random() < 0.3:
        words += ["--dry-run"]
    done = damage_file(rng, place, rng.choice(targets), table, runs) if rng.random() < DAMAGED_RUN else NONE
    return Case(command, name, done, words, table)


def damage_file(rng, place, target, table, runs):
    """Damage a file of an earlier run; return what was done to which."""
    path = place / target
    if not path.exists():
        return NONE
    if path.name == "decisions.sqlite" and rng.random() < 0.15:
        other = place.parent / "other"
        runs.copy(rng.choice([name for name in KINDS if name in RUNS and name != table.kind]), other)
        shutil.copy(other / RUN / path.name, path)
        shutil.rmtree(other)
        return "decisions of another run"
    kind = {MODEL: "model", "d.json": "run.json"}.get(path.name, path.name)
    if target == table.main and table.kind in ("pictures", "delta"):
        kind = "csv" if table.kind == "pictures" else "parquet"
    elif kind not in MUTATIONS:
        kind = table.kind if target == table.main else path.suffix[1:]
    data, done = damage(rng, kind, path.read_bytes())
    path.write_bytes(data)
    return f"{done}: {'table' if target == table.main else path.name}"


MAKE = {  # each command: its weight among the cases, and the function that makes them
    "correct": (40, make_correct), "local": (14, make_correct), "from": (5, make_on_run),
    "decisions": (5, make_on_run), "predict": (8, make_on_run), "corrupt": (6, make_corrupt),
    "apply": (4, make_on_run), "export": (3, make_on_run), "import": (3, make_on_run),
    "questions": (4, make_on_run), "answers": (5, make_on_run), "check": (5, make_check),
    "score": (3, make_score), "media": (2, make_media),
}  # fmt: skip
