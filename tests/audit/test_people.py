import numpy as np
from known_rings import audited, make_suspicious

from subsvms.audit import SimulatedAnnotator


def test_errors_towards_the_suggestion_go_one_way():
    truth, suggested = np.zeros(500, dtype=int), np.arange(500) % 2
    person = SimulatedAnnotator(truth, error_rate=0.2, suggested=suggested)
    answers = np.array([person(row) for row in range(500)])
    assert answers[suggested == 0].sum() == 0 and 30 < answers.sum() < 70
    assert SimulatedAnnotator([1, None, 0], error_rate=1.0)(1) is None


def test_repeats_of_careless_people_do_less_harm():
    harm = {True: 0, False: 0}
    for seed in range(10):
        ranking, truth = make_suspicious(seed, n_wrong=0)
        for repeat in harm:
            person = SimulatedAnnotator(truth, error_rate=0.1, random_state=seed)
            audit = audited(ranking, truth, person=person, repeat=repeat, random_state=seed)
            harm[repeat] += int(np.sum(audit.labels != truth) - np.sum(ranking.given != truth))
    assert harm[True] < harm[False] - 10
