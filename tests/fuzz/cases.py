"""Cases: a folder with files, some of them damaged, and a command on them; all decided by seed and number."""

import csv
import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fuzz.files import DRAW, IN_PARTS, Table, rename, write_parquet
from fuzz.mutations import ANY, MUTATIONS, change_cells
from fuzz.options import FILES, OURS, draw_invalid, draw_valid
from fuzz.processes import run_well

RUN, MODEL, OUTPUT = "t.subsvms", "t.model", "out"
NONE = "none"
DAMAGED, DAMAGED_RUN = 0.5, 0.6  # share of the cases with a damaged file, on a new table or an earlier run
WRONG = 0.12  # share of the cases with a wrong option
QUICK = ["--svms", "20"]
WEIGHTS = {
    "correct": 45, "local": 18, "from": 6, "decisions": 6, "predict": 9, "corrupt": 6, "apply": 4,
    "export": 3, "import": 3,
}  # fmt: skip
KINDS = ("csv", "tsv", "jsonl", "parquet", "feather", "libsvm", "embeddings")
RUNS = (*KINDS, "csv in parts", "parquet in parts")  # earlier runs that cases work on


@dataclass
class Case:
    """A command, and what is known about the files it is given."""

    command: str  # a key of `WEIGHTS`
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
    """Runs of the unchanged program on valid tables, made in an empty folder when they are first needed."""

    def __init__(self, root):
        self.root, self.tables = Path(root), {}

    def copy(self, name, place):
        """Copy a run, its table and its model to a folder; return the table."""
        if name not in self.tables:
            self.tables[name] = self.make(name)
        shutil.copytree(self.root / name / "place", place, dirs_exist_ok=True)
        return self.tables[name]

    def make(self, name):
        kind, _, in_parts = name.partition(" ")
        rng = random.Random(name)
        table = DRAW[kind](rng)
        while "." not in table.where or (in_parts and table.where.endswith(".xz")):
            table = DRAW[kind](rng)
        place = self.root / name / "place"
        write_files(table, place)
        words = ["correct", table.where, "--label", table.label, *QUICK, *table.reading, "--threads", "1"]
        words += ["--output", RUN, "--save-model", MODEL, *(["--engine", "local"] if in_parts else [])]
        run_well(words, place)
        record = json.loads((place / RUN / "run.json").read_text())
        record["seconds"] = dict.fromkeys(record["seconds"], 0.5)  # what differs from machine to machine
        (place / RUN / "run.json").write_text(json.dumps(record, indent=1))
        if not in_parts:
            write_decisions(place / "d.csv", list_suggestions(place / RUN, 5))
            run_well(["export", RUN, "--import", "d.csv", "--who", "Ann"], place)
            (place / "d.csv").unlink()
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


def seed_case(seed, number):
    return random.Random(f"{seed}:{number}")


def draw_command(rng):
    return rng.choices(list(WEIGHTS), WEIGHTS.values())[0]


def make_case(seed, number, place, runs):
    """Write the files of a case to an empty folder, and return it."""
    rng = seed_case(seed, number)
    (place / OURS).write_text("not to be touched")
    command = draw_command(rng)
    make = {"correct": make_correct, "local": make_correct, "corrupt": make_corrupt}
    case = make.get(command, make_on_run)(rng, command, place, runs)
    if rng.random() < WRONG and command != "from":
        if rng.random() < 0.1 and case.words[:2] == ["correct", case.table.where]:
            case.words[1] = rng.choice(FILES)
        else:
            case.words += draw_invalid(rng, "correct" if command in ("local", "decisions") else command)
        case.damage = "wrong option" if case.damage == NONE else case.damage
    if rng.random() < 0.01:
        case.stdout = "/dev/full"
    return case


def damage_table(rng, table):
    if rng.random() >= DAMAGED:
        return NONE
    if table.kind in ("csv", "tsv", "jsonl") and rng.random() < 0.4:
        change_cells(rng, table)
        return "change_cells"
    name = rng.choice(list(table.files))
    is_text = table.kind == "embeddings" and not name.startswith("x.")
    table.files[name], done = damage(rng, "csv" if is_text else table.kind, table.files[name])
    return done


def damage(rng, kind, data):
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
    words = ["correct", table.where, "--label", table.label, *quick, *table.reading]
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
    if rng.random() < 0.5:
        (place / OUTPUT / "decisions.sqlite").unlink(missing_ok=True)
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
        words += ["--output", rng.choice(["c.csv", "c.jsonl", "c.parquet", "c.csv.gz", "c.svm", "c.feather"])]
    write_files(table, place)
    return Case(command, table.kind, done, words, table)


def make_on_run(rng, command, place, runs):
    """Return a command that works on the folder or the model of an earlier run."""
    name = rng.choice(KINDS if command == "decisions" else RUNS)
    table = runs.copy(name, place)
    given = rng.choice(["d.jsonl", "d.csv", "d.json", "d.parquet"])
    record, decisions, issues = (f"{RUN}/{one}" for one in ("run.json", "decisions.sqlite", "issues.parquet"))
    reading = ["--label", table.label, *table.reading]
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
    }[command]
    if command == "import":
        write_decisions(place / given, list_suggestions(place / RUN, 4))
    if command in ("predict", "apply", "export", "import"):
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
        other = rng.choice([name for name in KINDS if runs.tables.get(name) is not table])
        runs.copy(other, place.parent / "other")
        shutil.copy(place.parent / "other" / RUN / path.name, path)
        shutil.rmtree(place.parent / "other")
        return "decisions of another run"
    kind = {MODEL: "model", "d.json": "run.json"}.get(path.name, path.name)
    if kind not in MUTATIONS:
        kind = table.kind if target == table.main else path.suffix[1:]
    data, done = damage(rng, kind, path.read_bytes())
    path.write_bytes(data)
    return f"{done}: {'table' if target == table.main else path.name}"
