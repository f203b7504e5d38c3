"""The folder of a finished run, opened again: its record, its report, and rows to show people."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._atomic import explaining, write_whole
from subsvms._labels import Classes
from subsvms.app import names
from subsvms.app.desk.media import MEDIA_ROWS, NotShown, find_media, read_media
from subsvms.app.desk.rows import PartRows, Rows, TableRows, as_text
from subsvms.app.options import write_command
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import AnswerStore
from subsvms.app.runs.parquet_files import Scores, read_score_parts, read_scores
from subsvms.app.runs.record import read_record
from subsvms.app.tables.addresses import as_place, is_address
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import check_target, digest_bytes, digest_file
from subsvms.app.tables.table import LabelledTable, read_table
from subsvms.exceptions import InputError, TableError

TAKEN = "{path!r} {what}: choose another name{output:aside}."


class Desk:
    """A run's folder, opened; with `create` there will be a file of what people did; readers need none."""

    room = page = ""  # the command for what is done here, and the page for it
    page_words: Mapping[str, Any] = {}  # what the page says besides its title

    def __init__(self, folder: str | Path, *, create: bool = False):
        self.folder = Path(folder)
        self.record = read_record(self.folder)
        self.options, self.title = self.record.options, self.record.found.title
        self.in_parts = self.options.pool_size is not None  # then the table is not in memory
        self.paths = [Path(one) for one in self.record.input.paths if not is_address(one)]  # of the table
        self.media_folder = self.paths[0].parent if self.paths else None  # of pictures and sounds
        self.source: Rows = self._open_rows()
        self.columns = self.source.columns  # but the label
        self.named = Classes.of(self.source.classes)
        self.labels, self.classes = self.named.labels, self.named.texts  # in typed formats numbers; text
        rows = self._find_decidable()
        self.decisions = open_acts(self.folder, rows=rows, labels=self.labels, create=create)

    def close(self) -> None:
        """Close the file of what people did."""
        self.decisions.close()

    def _find_decidable(self) -> Container[int] | None:
        """Return the rows that people may decide about; None for any."""
        return None

    @property
    def table(self) -> LabelledTable:
        """The whole table; only if it was corrected in memory."""
        assert isinstance(self.source, TableRows)
        return self.source.table

    def _open_rows(self) -> Rows:
        if self.in_parts:
            return PartRows(self.folder, self.record)
        paths = self.record.input.paths
        if not paths:
            raise TableError(
                f"The table of {str(self.folder)!r} was read from standard input, so its rows cannot be "
                "shown: save it in a file and correct that."
            )
        table = read_table(paths, self.options.label, **self.options.reading)
        if table.digest != self.record.input.sha256:
            raise TableError(
                f"{table.name} has changed since the run in {str(self.folder)!r}: correct it again, or "
                "restore the table that the run read."
            )
        return TableRows(self.folder, table)

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Refuse acts that cannot be about the run, whatever their seals say."""
        try:
            yield
        except InputError as error:
            raise TableError(
                f"{str(self.decisions.file.path)!r} does not fit the run in its folder "
                f"({str(error).rstrip('.')}): restore both from a copy."
            ) from None

    @property
    def settled(self) -> dict[int, Any]:
        """The label that people decided for each row, None for rows left out: now, or before the run."""
        return dict(self.options.verified) | self.decisions.given_labels

    @property
    def shown_columns(self) -> list[str]:
        """Names of the values of a row."""
        return self.columns or self.source.empty.column_names  # LIBSVM text has one, a label alone none

    def find_class(self, name: Any) -> int:
        """Return the number of the class with this name."""
        if name not in self.classes:
            raise TableError(f"There is no class {show(name)}: choose one of those in the table.")
        return self.classes.index(name)

    def read_scores(self) -> Scores:
        """Return the scores of the run, as it wrote them: the order of the questions follows from them."""
        source, paths = self.source, [self.folder / names.SCORES]
        if self.in_parts:
            scores = read_score_parts(self.folder, source.label_type, source.classes, source.n_rows)
            paths = list((self.folder / names.SCORE_PARTS).glob("*.parquet"))
        else:
            scores = read_scores(self.folder, self.table)
        for path in paths:
            if digest_file(path) != self.record.files.get(path.relative_to(self.folder).as_posix()):
                raise TableError(
                    f"{str(path)!r} was changed after the run wrote it: run subsvms correct again."
                )
        return scores

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """Return values of some rows, which count from 1, as a pyarrow.Table: `shown_columns`, or some."""
        return self.source.take(rows, self.columns if columns is None else columns)

    def show(self, rows: Sequence[int]) -> list[list[str]]:
        """Return the values of each of some rows, which count from 1, as text."""
        columns = [list_values(column) for column in self.take(rows).columns]
        return [[as_text(column[i]) for column in columns] for i in range(len(rows))]

    @cached_property
    def media(self) -> dict[str, str]:
        """The shown columns that name pictures or sounds: {name: "image" or "audio"}."""
        return find_media(self.source.sample(MEDIA_ROWS, self.columns)[0]) if self.columns else {}

    def read_media(self, row: int, column: str) -> tuple[bytes, str]:
        """Return the bytes and the type of the picture or sound that a column names in a row."""
        if column not in self.media or not 1 <= row <= self.source.n_rows or self.media_folder is None:
            raise NotShown("There is no such picture or sound.")
        (value,) = list_values(self.take([row], [column])[column])
        return read_media(self.media_folder, as_text(value))

    def check_folder(self, path: Path) -> Path:
        """Return where to write a folder; never one that the run wrote, or that holds the table."""
        place, own = path.resolve(), self.folder.resolve()
        if place in {own / name for name in names.FOLDERS}:
            raise TableError(TAKEN, path=str(path), what="is a folder of the run itself")
        if any(place in one.resolve().parents for one in (own, *self.paths)):
            raise TableError(TAKEN, path=str(path), what="holds the table or the run")
        return path

    def check_output(self, path: Path, *, force: bool) -> Path:
        """Return where to write, with links followed; files that the run read or wrote are never replaced."""
        own = (names.RECORD, names.ISSUES, names.LISTED, names.REPORT, *self.record.files)
        kept = (*own, *names.DECISION_FILES, *names.AUDIT_FILES)
        if path.resolve() in {(self.folder / name).resolve() for name in kept}:
            raise TableError(TAKEN, path=str(path), what="is a file of the run itself")
        read = (*self.record.input.paths, self.record.input.features, self.record.input.pred_probs)
        return check_target(path, [as_place(one) for one in read if one is not None], force=force)

    def add_to_report(self, audit: dict[str, Any] | None, final: Mapping[str, Any] | None = None) -> None:
        """Write into the report what an audit found, and which table to use; all else is as the run wrote."""
        from subsvms.app.report import place_audit, place_final  # which a review does not need

        path = self.folder / names.REPORT
        with explaining(path):
            page = path.read_bytes().decode(errors="replace") if path.is_file() else ""
            before = place_audit(place_final(page, None) or "", None)
            if before is None or digest_bytes(before.encode()) != self.record.report:
                raise TableError(
                    f"{str(path)!r} was changed after the run wrote it, so nothing was added to it: restore "
                    "it."
                )
            after: Any = page
            if audit is not None:
                follow = {"undecided": "suggestion"} if audit["stands"] else {}
                how = {} if final else {"apply": write_command("apply", self.folder, **follow)}
                after = place_audit(page, audit | how)
            after = after if final is None else place_final(after, final)
            if after != page:
                write_whole(path, after.encode())


def open_acts(folder: Path, *, create: bool = False, **known: Any) -> AnswerStore:
    """Open the file of what people did in the folder of a run; options as in `AnswerStore`."""
    return AnswerStore(folder / names.DECISIONS, folder / names.RECORD, create=create, **known)


def refuse_old(folder: Path, decisions: AnswerStore) -> None:
    """Raise an error if version 0.1 began an audit in a folder: its questions had another order."""
    path, begun, loses = folder / names.AUDIT, decisions.begun.get("audit"), ""
    state = begun.get("state") if isinstance(begun, dict) else None
    if isinstance(state, dict) and state.get("format") == 1:
        path, loses = decisions.file.path, ", which takes the decisions of the review page away, too"
    elif not path.exists():
        return
    raise TableError(
        f"{str(path)!r} holds an audit that version 0.1 began, and this version asks otherwise: apply it "
        f"with that version, or move the file away to begin again{loses}."
    )
