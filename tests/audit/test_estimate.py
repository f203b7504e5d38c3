import numpy as np
import pytest
from known_rings import make_suspicious

from subsvms.audit import draw_rows, estimate_error_rate
from subsvms.exceptions import InputError


def test_the_estimate_covers_and_says_so_in_one_sentence(seed):
    ranking, truth = make_suspicious(seed)
    missed = 0
    for draw in range(200):
        rows = draw_rows(ranking, 50, random_state=draw)
        found = estimate_error_rate(ranking, {row: truth[row] for row in rows})
        missed += not found.low <= np.mean(ranking.given != truth) <= found.high
    assert missed <= 20 and len(set(rows)) == 50
    assert str(found).startswith(
        f"Of 50 labels drawn at random {found.n_wrong} were wrong: with 95 % confidence"
    )


def test_rows_about_which_nobody_can_tell_widen_the_interval():
    ranking, truth = make_suspicious(0)
    answers = {row: truth[row] for row in draw_rows(ranking, 50)}
    plain = estimate_error_rate(ranking, answers)
    first = next(row for row, label in answers.items() if label == ranking.given[row])
    untold = estimate_error_rate(ranking, answers | {first: None})
    assert untold.low == plain.low and untold.high > plain.high and "about 1 nobody could tell" in str(untold)


def test_an_estimate_is_refused_without_sound_answers():
    ranking, _ = make_suspicious(0)
    for answers, message in [
        ({}, "no answers"),
        ({600: 0}, "got row 600"),
        ({0: "x"}, "An answer must be one of 0, 1"),
    ]:
        with pytest.raises(InputError, match=message):
            estimate_error_rate(ranking, answers)
    with pytest.raises(InputError, match="n_answers must be at most the number of labels, 600; got 601"):
        draw_rows(ranking, 601)
