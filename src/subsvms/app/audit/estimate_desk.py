"""Questions about random rows, to estimate how many labels are wrong in all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from subsvms.app.audit.desk import QuestionDesk, check_enough
from subsvms.app.audit.store import Book, StoredEstimate
from subsvms.app.audit.turns import Sample, begin_sample
from subsvms.app.runs.scores import make_ranking
from subsvms.audit import draw_rows


class EstimateDesk(QuestionDesk):
    """Random rows of a run's folder, to estimate how many labels are wrong; begun, or goes on.

    folder: made by `subsvms correct`.
    n_answers, seed, confidence, create: as in `AuditDesk`.
    """

    part, command = "estimate", "subsvms audit --estimate"
    why_one = "drawing again would void its confidence"

    def __init__(
        self,
        folder: str | Path,
        *,
        n_answers: int | None = None,
        seed: int | None = None,
        confidence: float | None = None,
        create: bool = True,
    ):
        super().__init__(folder)
        self._open(create, n_answers=n_answers, random_state=seed, confidence=confidence)

    def _begin(self, book: Book, options: dict[str, Any]) -> Book:
        ranking, seed = make_ranking(self.scores), options["random_state"]
        check_enough(ranking, options["n_answers"], "--estimate")
        rows = draw_rows(ranking, options["n_answers"], random_state=seed)
        return replace(book, estimate=StoredEstimate([row + 1 for row in rows], seed, options["confidence"]))

    def _list_options(self, stored: StoredEstimate) -> dict[str, Any]:
        return {
            "n_answers": len(stored.rows),
            "random_state": stored.random_state,
            "confidence": stored.confidence,
        }

    def _start(self, book: Book) -> Sample:
        assert book.estimate is not None
        return begin_sample(book.estimate, self.scores)

    def _describe_progress(self) -> dict[str, Any]:
        done, of, finished = len(self.work.answers), len(self.work.rows), self.work.finished
        return {
            "stage": "done" if finished else "estimate",
            "sentence": "Done" if finished else f"Labels drawn at random: {done} of {of}",
            "asked": done, "of": of, "share": done / of, "is_proof": False, "total": f"{done} of {of} labels",
            "answers": done, "n_answers": of, "finished": finished,
            "claim": str(self.work.error_rate) if finished else None,
        }  # fmt: skip
