"""An audit: which row to ask next, and what the answers so far allow to change.

m answers, with delta = 1 - level for all of them together:

0. *The changes of the rule*, and if wanted what it held back (`_confirm`). Without an answer they stand.
1. *Locate*: a few rows that are as probably wrong as right (`_locate`).
2. *Choose* a ring of free rows: neither answered nor changed (`_locate`).
3. *Confirm* it by rows drawn from it at random (`_rings`, `_evidence`). If it passes, its unseen rows change.
   Then the next is chosen, also after the first that fails.
4. *The rest* of the answers, if no ring is worth it, or two have failed: the most probable hits by the model
   of all answers so far.

Changes of the rule that are not decided are kept, without a claim, if hits minus misses are at least .4 of
the answers. (Taken back, they left more wrong labels of every kind of noise when it was tried.)
"""

import numpy as np

from subsvms._callers import renamed
from subsvms._numbers import check_count, check_type
from subsvms.audit import _locate as locate
from subsvms.audit import _rings as rings
from subsvms.audit._claim import Outcome, count_found
from subsvms.audit._confirm import Confirmation
from subsvms.audit._interview import Interview
from subsvms.audit._ranking import Ranking, as_ranking, is_count, is_switch
from subsvms.audit._repeats import MOST
from subsvms.audit._rings import Ring
from subsvms.correction import Correction
from subsvms.exceptions import InputError

FEWEST_ANSWERS = 10  # answers of an audit
FEWEST_CONFIRMING = 5  # fewer cannot confirm anything
MOST_FAILED = 2  # rings
BATCH = 5  # answers between two fits of the model at the end
FOR_MODEL = 2 / 3  # of the labels changed unseen must be right, if a model is to be trained on them


class Audit(Interview):
    """Ask about some labels, and learn which others may be changed without looking.

    The claim holds for any noise, ranking and suggestions, provided that the questions come from here, in
    this order, and none is skipped: "cannot tell" is an answer, None. Show neither suggestion nor rank nor
    vote before the answer. A second audit with another seed, because the first did not pass, voids the claim.

    The first questions are those of `confirm`, about the changes of the rule. Without any answer these stand.

    Parameters
    ----------
    source : Correction or Ranking
        Labels, suggestions, and the order of suspicion. Rows that were verified before are left out.
    n_answers : int, default=50
        How many labels people are asked about, at least 10; one may stop before.
    level : float, default=0.95
    repeat : bool, default=False
        Whether to ask again, blind, about each answer that overturns a label and about some that do not.
    random_state : int, default=None
        The seed; None is 0, so that the same audit asks the same questions.
    held_back : bool, default=False
        Whether to ask about labels that the rule held back next, as `confirm` does.
    for_model : bool, default=False
        Whether two thirds, and not half, of the labels changed unseen must be right: fewer are changed, and
        models that are trained on the table are better. For two classes; the first questions stay the same.

    Attributes
    ----------
    ranking : Ranking
    rings : list of Ring
        Sets that were checked, in their order; the last may be unfinished.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking  # or the correction itself in place of a ranking
    >>> audit = Audit(Ranking.make(["ham"] * 200, ["spam"] * 200, range(200)), n_answers=30)
    >>> while (row := audit.next_row) is not None:
    ...     audit.answer(row, "spam" if row < 100 else "ham")  # or None for "cannot tell"
    >>> print(audit.claim)
    You checked 30 labels, drawn partly at random; ... of them were wrong. ... others were changed without
    being seen. With 95 % confidence fewer labels are wrong now than if only your 30 answers had been ...
    """

    _kinds = {"n_answers": is_count} | dict.fromkeys(("repeat", "held_back", "for_model"), is_switch)
    _relabels = True

    @renamed(confidence="level")
    def __init__(
        self, source: Correction | Ranking, n_answers: int = 50, *, level: float = 0.95, repeat: bool = False,
        random_state: int | None = None, held_back: bool = False, for_model: bool = False,
    ):  # fmt: skip
        ranking = as_ranking(source)
        check_count("n_answers", n_answers, least=FEWEST_ANSWERS)
        for name, value in (("repeat", repeat), ("held_back", held_back), ("for_model", for_model)):
            check_type(name, value, "True or False", bool, np.bool_, int, type(None))
        if n_answers > len(ranking.order):
            said = f"n_answers must be at most the number of labels to ask about, {len(ranking.order)}"
            raise InputError(f"{said}; got {n_answers}.")
        if for_model and ranking.several:
            n = len(ranking.classes)
            raise InputError(f"for_model needs two classes, and there are {n}: leave it out.")
        self.n_answers, self.repeat = int(n_answers), bool(repeat)
        self.held_back, self.for_model = bool(held_back), bool(for_model)
        self._features = locate.Features.of(ranking)
        n_repeats = self.most_questions - self.n_answers
        threshold = FOR_MODEL if for_model else 0.5
        super().__init__(ranking, level, random_state, n_repeats=n_repeats, threshold=threshold)

    @classmethod
    def after(
        cls, confirmation: Confirmation, n_answers: int = 50, *, repeat: bool = False, for_model: bool = False
    ) -> "Audit":
        """Return an audit that goes on after a confirmation, finished or not: its answers are the first ones.

        Parameters are those of the audit; `n_answers` are at least as many as the confirmation may take.
        """
        check_count("n_answers", n_answers, least=max(confirmation.most_questions, FEWEST_ANSWERS))
        audit = cls(
            confirmation.ranking, n_answers, level=confirmation.level, repeat=repeat, for_model=for_model,
            random_state=confirmation.random_state, held_back=confirmation.held_back,
        )  # fmt: skip
        return audit._replay(confirmation.state["answers"])

    def __repr__(self) -> str:
        claim = self.claim
        return f"Audit({claim.n_answers} of {self.n_answers} answers, {count_found(claim)})"

    @property
    def most_questions(self) -> int:
        return self.n_answers + int(MOST * self.n_answers * self.repeat)

    # The order of the questions

    def _ask(self):
        yield from self._ask_sets(self.held_back, self.n_answers)
        yield from self._locate()
        failed = 0
        while failed < MOST_FAILED and (ring := self._place_ring()) is not None:
            verdict = yield from self._ask_ring("confirm", ring)
            failed += verdict == "none"
        yield from self._ask_the_rest()

    def _locate(self):
        n, hits = self.n_answers, list[bool]()
        self._enter("locate", min(locate.count_locating(n), self._count_left()))
        while self._count_left() and len(free := self._list_free()) and not locate.has_located(n, hits):
            row = locate.pick_uncertain(self._features, free, self._fit().mode, len(hits))
            yield [row]
            hits.append(self._first[row] == self.ranking.suggested[row])

    def _place_ring(self):
        """Return the ring with the largest expected gain, and draw from it; None if there is none."""
        n_left, rng = self._count_left(), self._rng(2 + len(self.rings))
        if n_left < FEWEST_CONFIRMING or not len(free := self._list_free()):
            return None
        posterior = self._fit()
        rows = locate.sort_by_hits(self._features, free, posterior.mode)
        found = self._features.sum_hits(rows, posterior.draw(rng))
        delta, several = 1.0 - self.level - self._spent, self.ranking.several
        best = locate.choose_size(found, n_left, delta, self._threshold, several)
        if best is None:
            return None
        N, believed = best
        level = rings.RING_SHARE * delta
        self._spent += level
        draws = rings.draw_positions(N, min(n_left, N), rng)
        shares = rings.list_shares(believed) if several else None
        return Ring(rows[:N], draws, level, shares, float(believed.mean()), self._threshold)

    def _ask_the_rest(self):
        self._enter("rest", self._count_left())
        while self._count_left() and len(free := self._list_free()):
            batch = locate.sort_by_hits(self._features, free, self._fit().mode)
            batch = batch[: min(BATCH, self._count_left())]
            for i in range(len(batch)):
                yield batch[i:].tolist()

    def _fit(self):
        """Return what the answers so far say about where hits are."""
        rows = np.array(list(self._first), dtype=int)
        hits = np.array([self._first[row] == self.ranking.suggested[row] for row in self._first], dtype=bool)
        return locate.fit_hits(self._features.design(rows), hits, self._features.priors)

    def _count_left(self):
        return self.n_answers - len(self._first)

    @property
    def outcome(self) -> Outcome:
        """The claim, and how the audit was made: further answers do not change it."""
        return Outcome(self.claim, self.n_answers, self.repeat, self.random_state)
