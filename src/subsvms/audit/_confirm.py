"""A few answers before the changes of the rule are believed: the first questions of every audit.

Two sets exist before anybody is asked: the labels that the rule changes, or would change with the action
"review", and those that it held back, with the best other class as suggestion. From each, rows are drawn at
random, at most `MOST_FIRST`; sets of six and fewer are asked about in full. The first set

    passes            if the answers prove that most of its changes are right (`_rings`, `_evidence`);
    is taken back     if they speak against it, or if it is not decided;
    is kept           without a claim, if it is not decided and hits minus misses are at least `KEEP` of the
                      answers (with two classes: .7 are hits).

The second set is applied if it passes, and otherwise stays as given. An audit goes on where these questions
end, with the part of delta that they have not spent.
"""

import numpy as np

from subsvms._numbers import check_type
from subsvms.audit._interview import MOST_FIRST, Interview
from subsvms.audit._ranking import Ranking, is_switch
from subsvms.correction import Correction


class Confirmation(Interview):
    """Ask about the changes of the rule, and about labels that it held back: made by `confirm`.

    Attributes
    ----------
    ranking : Ranking
    rings : list of Ring
        The sets, in their order.

    Examples
    --------
    >>> from subsvms.audit import Ranking, confirm
    >>> changed = [row < 100 for row in range(200)]
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200), flagged=changed)
    >>> confirmation = confirm(ranking, random_state=0)
    >>> while (row := confirmation.next_row) is not None:
    ...     confirmation.answer(row, "spam")
    >>> print(confirmation.claim)
    Confirmed: most of the 100 changes are right, with 95 % confidence; of 7 checked at random 7 were right.
    """

    what = "confirmation"
    _kinds = {"held_back": is_switch}

    def __init__(
        self, source: Correction | Ranking, *, held_back: bool = True, level: float = 0.95,
        random_state: int | None = None,
    ):  # fmt: skip
        check_type("held_back", held_back, "True or False", bool, np.bool_, int, type(None))
        self.held_back = bool(held_back)
        super().__init__(source, level, random_state)

    def __repr__(self) -> str:
        claim = self.claim
        words = ", ".join(f"{one.name} {one.verdict}" for one in claim.sets) or "nothing decided"
        return f"Confirmation({claim.n_answers} of at most {self.most_questions} answers, {words})"

    @property
    def most_questions(self) -> int:
        marks = [self.ranking.flagged, self.ranking.held_back & self.held_back]
        return sum(min(int(mark[self.ranking.order].sum()), MOST_FIRST) for mark in marks)

    def _ask(self):
        return self._ask_sets(self.held_back, 2 * MOST_FIRST)


def confirm(
    correction: Correction | Ranking, *, held_back: bool = True, level: float = 0.95,
    random_state: int | None = None,
) -> Confirmation:  # fmt: skip
    """Begin to ask whether the changes of the rule are right, before they are believed.

    At most 15 questions about the labels that the rule changes, drawn at random, and at most 15 about those
    that it held back. With the actions "drop", "weight" and "review" and with the rule "majority" they are
    about the labels that are thought wrong, `correction.flagged`.

    Parameters
    ----------
    correction : Correction or Ranking
    held_back : bool, default=True
        Whether to ask about labels that the rule held back, too.
    level : float, default=0.95
        Of what is claimed in the end, by this and by an audit that follows, together.
    random_state : int, default=None
        The seed; None is 0. `Audit` begins with the same questions if it has the same seed.

    Returns
    -------
    Confirmation
        `next_row` and `answer` ask and answer, `claim` says what follows, and `apply` applies it. Show
        neither the suggestion nor the given label before the answer. `Audit.after` goes on with an audit.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> from subsvms.audit import SimulatedAnnotator, confirm, run_audit
    >>> X = np.random.default_rng(0).random((600, 2))
    >>> clean = (X.sum(axis=1) > 1).astype(int)
    >>> correction = correct_labels(X, np.where(np.arange(600) % 5, clean, 1 - clean), random_state=0)
    >>> confirmation = run_audit(confirm(correction), SimulatedAnnotator(clean))  # or your own labelling tool
    >>> confirmation.claim.sets[0].verdict, len(confirmation.apply(correction))
    ('passed', 600)
    """
    return Confirmation(correction, held_back=held_back, level=level, random_state=random_state)
