"""From votes to a judgement: the noise, the rule that follows from it, and a second look at its changes."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from subsvms._progress import announce, one_stage
from subsvms._typing import Table
from subsvms.correction._guards import Guards, look_twice
from subsvms.correction._noise import estimate_noise
from subsvms.correction._rule import Judgement, Rule, Settings, learn_rule
from subsvms.correction._verdicts import judge_table
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._votes import Votes


class Appraisal(NamedTuple):
    """What was learned from the votes on a table, or on a sample of it."""

    rule: Rule
    guards: Guards
    judgement: Judgement  # of these rows
    notes: tuple[str, ...]  # on the votes, without those of the guards


def appraise(
    model: SubSVMClassifier,
    X: Table,
    given: np.ndarray,
    votes: Votes,
    settings: Settings,
    sizes: np.ndarray | None = None,
) -> Appraisal:
    """Learn from votes what is thought of the labels.

    Parameters
    ----------
    model, X, given
        As in `subsvms.correction._guards.look_twice`.
    votes : Votes
        Of SVMs that did not see the row.
    settings : Settings
    sizes : ndarray of int of shape (n_classes,), optional
        Rows of each class in the table, if these are a sample of it.
    """
    announce("judging labels")
    judged = np.flatnonzero((given >= 0) & (votes.n_voters > 0))
    noise = estimate_noise(votes.mean_value[judged], given[judged], model.classes_)
    rule = learn_rule(votes, given, noise, settings, sizes)
    judgement = judge_table(rule, votes, given)
    guards = Guards()
    if settings.rule == "posterior":
        seed = check_random_state(model.random_state).randint(2**31 - 1)
        with one_stage("checking that no change does harm"):
            guards = look_twice(
                model, X, given, votes, judgement, noise.evidence.max(), seed=seed,
                sampled=bool(rule.sizes.sum() > rule.seen.sum()),
            )  # fmt: skip
    if guards.denied:
        rule = replace(rule, denied=True)
        judgement = judge_table(rule, votes, given)
    return Appraisal(rule, guards, guards.spare(judgement, given), judgement.notes)
