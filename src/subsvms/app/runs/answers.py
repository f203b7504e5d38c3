"""Answers of several people in a table: found in its columns, and merged into a label column for the run.

People's answers stand in one column each (`annotators`), or one line an answer, with the names in a column of
their own (`annotator_column`); then `id_column` says which lines are about the same row. Such a table is made
one with a line for each row, the majority's label, and all answers about the row in a column of JSON
(`answers_column`), which is what the run is about: it keeps it in its folder. If there is a label column
besides the answers of people, that is what the run corrects.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from subsvms.annotators._answers import Answers, read_answers
from subsvms.annotators._find import UNUSED, combine, scale_votes
from subsvms.annotators._model import count_majority, fit_alone
from subsvms.app.features.columns import note_unused
from subsvms.app.options import Options
from subsvms.app.quoting import name_some, show
from subsvms.app.tables.files import check_named
from subsvms.app.tables.formats import FORMATS
from subsvms.app.tables.labels import read_labels
from subsvms.app.tables.table import LabelledTable, number_name
from subsvms.correction._result import Correction
from subsvms.exceptions import Note, Sentence, TableError

CONSENSUS, ANSWERS = "consensus", "answers"  # names of new columns


def has_answers(options: Options) -> bool:
    """Return whether several people answered about a row."""
    return bool(options.annotators or options.annotator_column or options.answers_column)


def merge_answers(table: LabelledTable, options: Options) -> tuple[Any, Options, tuple[Note, ...]]:
    """Return columns with a line for each row and a label, options that read them again, and notes."""
    check_options(table, options)
    columns, notes = table.columns, ()
    label = options.label or number_name(CONSENSUS, columns.column_names)
    if options.annotator_column is not None:
        columns, notes = _gather_lines(table, options)
        name = number_name(ANSWERS, set(columns.column_names) - {options.label})
        columns = columns.rename_columns([*columns.column_names[:-1], name])
        options = replace(options, annotator_column=None, answers_column=name)
    options = replace(options, label=label)
    if label in columns.column_names:
        return columns, options, notes
    found, more = _read(columns, options, table)
    majority = count_majority(found, fit_alone(found))
    names = [None if number < 0 else found.classes.tolist()[number] for number in majority.tolist()]
    import pyarrow as pa

    return columns.append_column(label, pa.array(names)), options, (*notes, *more)


def check_options(table: LabelledTable, options: Options) -> None:
    """Raise an error if options do not go together, or name columns that the table does not have."""
    if options.annotators and options.annotator_column is not None:
        words = "{annotators} are columns of answers, {annotator_column} is for one line an answer: give one."
        raise TableError(Sentence(words))
    if options.rule == "majority":
        raise TableError(Sentence("{rule=majority} is a vote of SVMs, which knows no people: leave it out."))
    if options.annotator_column is not None and options.id_column is None:
        words = "{annotator_column} needs {id_column}, the column that says which row an answer is about."
        raise TableError(Sentence(words))
    if options.annotator_column is not None and not options.label:
        raise TableError(Sentence("{label} is missing: name the column that holds the answers."))
    if table.matrix is not None:
        raise TableError(f"{table.name} is LIBSVM text, which has no columns for answers: convert the table.")
    names = table.columns.column_names
    asked = {"annotators": options.annotators, "answers_column": (options.answers_column,)}
    asked |= {name: (getattr(options, name),) for name in ("annotator_column", "id_column")}
    asked |= {"label": (options.label,)} if options.annotator_column is not None else {}
    for option, columns in asked.items():
        check_named([name for name in columns if name is not None], names, option, table.name)
    twice = [name for name, count in Counter(options.annotators).items() if count > 1]
    if twice or options.label in options.annotators:
        name = twice[0] if twice else options.label
        words = "{annotators} names {name}, which is {what}: leave it out."
        what = "there twice" if twice else "the label column"
        raise TableError(words, name=show(name), what=what)
    if options.annotators and len(options.annotators) < 2:
        raise TableError(
            Sentence("{annotators} must name at least two people: for one, the column is the label.")
        )


def has_features(table: LabelledTable, options: Options) -> bool:
    """Return whether a table has columns besides labels and answers; people alone can judge, too."""
    return table.matrix is not None or bool(
        set(table.columns.column_names) - {table.label, *options.left_out}
    )


def _gather_lines(table, options):
    """Return a line for each row from one line an answer; the last column holds all answers, as JSON."""
    import pyarrow as pa

    columns, who, label = table.columns, options.annotator_column, options.label
    ids = columns[options.id_column].to_pylist()
    if any(one is None or one == "" for one in ids):
        line = next(i for i, one in enumerate(ids, 1) if one is None or one == "")
        words = "{id_column} must name the row of each answer, but {name} is empty in line {line} of {table}."
        raise TableError(words, name=show(options.id_column), line=line, table=table.name)
    places: dict[Any, int] = {}
    of = np.array([places.setdefault(one, len(places)) for one in ids])
    first = np.unique(of, return_index=True)[1]
    people, labels = columns[who].to_pylist(), columns[label].to_pylist()
    said: list[dict[str, list]] = [{} for _ in places]
    for row, person, answer in zip(of.tolist(), people, labels, strict=True):
        if answer is not None and answer != "":
            name = "nobody named" if person is None or person == "" else str(person)
            heard = said[row].setdefault(name, [])
            heard += [answer] * (answer not in heard)
    kept, varying = {}, []
    for name in columns.column_names:
        if name in (who, label):
            continue
        whole, some = columns[name].combine_chunks(), columns[name].take(pa.array(first))
        if whole.equals(some.take(pa.array(of)).combine_chunks()):
            kept[name] = some
        else:
            varying.append(name)
    words = "the columns {names} differ between answers about one row"
    notes = (note_unused(words, names=name_some(varying)),) if varying else ()
    cells = [json.dumps({name: heard[0] if len(heard) == 1 else heard for name, heard in one.items()},
                        ensure_ascii=False) for one in said]  # fmt: skip
    return pa.table(kept).append_column("", pa.array(cells, pa.string())), notes


def find_answers(table: LabelledTable, options: Options) -> Answers | None:
    """Return the answers of people about the rows of a table with labels; None if it has none."""
    if not has_answers(options):
        return None
    check_options(table, options)
    return _read(table.columns, options, table)[0]


def _read(columns, options, table):
    """Return the answers, and notes on their spelling: all of them are read as one column of labels."""
    import pyarrow as pa

    if options.answers_column is not None:
        lines = _read_cells(columns[options.answers_column], options.answers_column, table)
        rows, people = [line[0] for line in lines], [line[1] for line in lines]
        column = pa.chunked_array([pa.array([line[2] for line in lines])])
    else:
        n_rows = len(columns)
        said = [as_common(columns[name]) for name in options.annotators]
        kinds = {str(one.type): name for one, name in zip(said, options.annotators, strict=True)}
        if len(kinds) > 1:
            found = ", ".join(f"{show(name)} holds {kind}" for kind, name in kinds.items())
            raise TableError(f"All people's columns must be of one type, but {found}: convert them.")
        column = pa.chunked_array([chunk for one in said for chunk in one.chunks])
        rows = list(range(n_rows)) * len(options.annotators)
        people = [name for name in options.annotators for _ in range(n_rows)]
    is_text = table.format in FORMATS and FORMATS[table.format].all_text
    how = {name: getattr(options, name) for name in ("missing_label", "merge_labels", "numeric_classes")}
    labels, _, notes = read_labels(column, table.name, " and ".join(options.annotators[:2]) or "answers",
                                   is_text=is_text, **how)  # fmt: skip
    known = sorted({one for one in (*labels.tolist(), *table.labels.tolist()) if one is not None})
    answers = {"row": rows, "person": people, "label": labels.tolist()}
    return read_answers(answers, len(columns), known), notes


def as_common(column):
    """Return a column of one person as the others are: one type of text, one of whole numbers."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or column.type == pa.string_view():
        return column.cast(pa.large_string())
    if types.is_floating(column.type):  # pandas has no whole numbers where an answer is missing
        column = compute.if_else(compute.is_nan(column), None, column)
        whole = compute.all(compute.equal(column, compute.floor(column))).as_py()
        return column.cast(pa.int64()) if whole else column
    return column.cast(pa.int64()) if types.is_integer(column.type) else column


def _read_cells(column, name, table):
    """Return (row, person, label) of each answer in a column of JSON."""
    lines = []
    for row, cell in enumerate(column.to_pylist()):
        try:
            said = json.loads(cell) if cell else {}
            pairs = [(person, one) for person, heard in said.items()
                     for one in (heard if isinstance(heard, list) else [heard])]  # fmt: skip
        except (ValueError, AttributeError):
            raise TableError(
                f"The column {show(name)} of {table.name} must hold answers as JSON, such as "
                f'{{"anna": "yes", "bob": "no"}}; row {row + 1} does not: correct the table again.'
            ) from None
        lines += [(row, person, one) for person, one in pairs]
    return lines


def weigh(correction: Correction, answers: Answers, seed: int, *, alone: bool) -> Correction:
    """Return a correction judged by people, and by votes unless they are alone, in place of the rule."""
    people = fit_alone(answers)
    log_q = None
    if correction.noise.explained and not alone:
        log_q = scale_votes(correction, answers.classes, people, answers.per_row > 0)
    notes = (UNUSED,) if log_q is None and not alone else ()
    consensus = combine(answers, people, log_q, seed, judged=correction, notes=notes)
    return consensus.apply(correction)
