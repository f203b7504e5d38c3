"""Tables whose truth is known, and people who answer from it at a desk or in files."""

import csv
from contextlib import closing, suppress
from types import SimpleNamespace

import numpy as np
from loans import call, make_rows, write

from subsvms.app.desk.audit import AuditDesk, NotAsked
from subsvms.app.desk.opened import open_acts
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.runs.answer_store import Act
from subsvms.audit import SimulatedAnnotator


def make_folder(place, *, n=600, wrong=0.3, seed=0, missing=(3, 8), action="review"):
    """Correct a table of loans with known clean labels; some have no label."""
    rows, clean = make_rows(n, wrong=wrong, seed=seed)
    for i in missing:
        rows[i]["default"] = ""
    table = write(place / "loans.csv", rows)
    options = ("--svms", 100, "--threads", 1, "--quiet", "--action", action, "--fill-missing")
    call("correct", table, "--label", "default", *options)
    return SimpleNamespace(folder=place / "loans.subsvms", table=table, clean=clean)


def answer_all(desk, person, who="Ann", most=10**6):
    """Answer questions as they come, and return how many."""
    for n in range(most):
        question = desk.question(who)
        if question is None:
            return n
        label = person(question["row"] - 1)
        desk.answer(who, question["row"], None if label is None else str(label), question["id"])
    return most


def decide(folder, verdict, *rows, n=1, who="Ann"):
    """Decide about some rows, or the first issues, at a desk of its own; return the rows."""
    with closing(ReviewDesk(folder)) as desk:
        rows = rows or tuple(desk.rows[:n].tolist())
        desk.decide_many([Act([desk.settle(row, verdict, None) for row in rows], who)])
    return list(rows)


def read_answers(folder, part="audit"):
    with closing(open_acts(folder)) as decisions:
        return decisions.answers[part]


def fill_in(path, person, columns=("row", "answer"), most=10**6):
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for line in lines[:most]:
        line[columns[1]] = person(int(line[columns[0]]) - 1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return lines


def answer_there(folder, clean, who):
    """Answer at a desk of one's own until nothing is asked; return the rows that were acknowledged."""
    rows = []
    with closing(AuditDesk(folder)) as desk:
        while (question := desk.question(who)) is not None:
            with suppress(NotAsked):
                desk.answer(who, question["row"], str(clean[question["row"] - 1]), question["id"])
                rows.append(question["row"])
    return rows


def person_of(clean, **options):
    return SimulatedAnnotator(np.asarray(clean), **options)
