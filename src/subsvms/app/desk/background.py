"""The review page beside a program or a notebook that goes on."""

import queue
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import serve
from subsvms.exceptions import format_count

PATIENCE = 0.2  # seconds between looks for Ctrl-C while a program waits


class Review:
    """A review page that is open, or was.

    folder: of the run, with the decisions: `subsvms review FOLDER` opens it again, `subsvms apply FOLDER`
    writes the table that people agreed on.
    address: of the page; anyone on this machine who has it can decide.
    """

    def __init__(self, folder: Path, port: int | None = None):
        self.folder, self._desk = folder, ReviewDesk(folder)
        self._decided: np.ndarray | None = None
        self._server: Any = None
        opened: queue.Queue[Any] = queue.Queue()
        # A thread has an event loop of its own: that of a notebook is already running.
        how: Any = {"args": (port, opened), "name": "subsvms review", "daemon": True}
        self._thread = threading.Thread(target=self._serve, **how)
        self._thread.start()
        first = opened.get()
        if isinstance(first, BaseException):
            raise first
        self.address: str = first

    def _serve(self, port, opened):
        """Serve the page in a thread, which first hands over its address, or why there is none."""
        keep = partial(setattr, self, "_server")
        try:
            serve(self._desk, port=port, ready=opened.put, started=keep)
        except BaseException as error:
            opened.put(error)

    @classmethod
    def open(
        cls, folder: Path, *, port: int | None = None, browser: bool = True, block: bool | None = None
    ) -> "Review":
        """Serve the page, and say where; wait until Ctrl-C if this is a program, or if `block` says so."""
        review = cls(folder, port)
        waits = not is_interactive() if block is None else block
        how = "Press Ctrl-C to stop" if waits else "review.close() stops it"
        title = f"{format_count(len(review._desk), 'label')} to review, at {review.address}"
        print(f"{title}\n{how}; decisions are kept in {folder}")
        if browser:
            webbrowser.open(review.address)
        if waits:
            review.wait()
        return review

    def __repr__(self) -> str:
        state = f"open at {self.address}" if self._decided is None else "closed"
        return f"Review({state}, decisions in {str(self.folder)!r})"

    @property
    def decided(self) -> np.ndarray:
        """The labels that people decided so far, None elsewhere: `verified=` of the next correction.

        Rows that people left out have none either; `subsvms apply` leaves them out.
        """
        if self._decided is not None:
            return self._decided
        self._desk.refresh()
        labels: Any = np.full(self._desk.source.n_rows, None, dtype=object)
        for row, label in self._desk.settled.items():
            labels[row - 1] = label
        return labels

    def wait(self) -> None:
        """Serve the page until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                time.sleep(PATIENCE)
        self.close()

    def close(self) -> None:
        """Stop the page; what was decided is kept."""
        if self._decided is None:
            self._server.should_exit = True  # first: the page stops even if the decisions cannot be read
            try:
                self._decided = self.decided
            finally:
                self._thread.join()
                self._desk.close()


def is_interactive() -> bool:
    """Return whether somebody types: a console or a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)
