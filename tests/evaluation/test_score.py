import numpy as np
import pytest

from subsvms.evaluation import compare_models, draw_test_rows, score_interval
from subsvms.exceptions import InputError


def make_test_set(seed, n=400, n_classes=2, noise=0.15, error=0.1, same=0.0):
    """Return true and given labels, and predictions of two models; `same`: how often these err alike."""
    rng = np.random.default_rng([seed, n, n_classes])
    clean = np.minimum(rng.integers(n_classes + 1, size=n), n_classes - 1)  # the last class is larger

    def flip(rate):
        return np.where(rng.random(n) < rate, (clean + rng.integers(1, n_classes, size=n)) % n_classes, clean)

    noisy, one = flip(noise), flip(error)
    return clean, np.where(rng.random(n) < same, one, noisy), one, flip(error)


def measure(clean, predicted, metric):
    if metric == "accuracy":
        return np.mean(clean == predicted)
    recall, precision = np.mean(predicted[clean == 1] == 1), np.mean(clean[predicted == 1] == 1)
    if metric == "f1":
        return 2 * recall * precision / (recall + precision)
    return (recall + np.mean(predicted[clean == 0] == 0)) / 2


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1"])
@pytest.mark.parametrize("same", [0.0, 0.8])
def test_the_interval_covers_whatever_the_noise_is_and_does_not_clean_the_test_set(metric, same, seed):
    clean, noisy, one, _ = make_test_set(seed, same=same)
    truth, runs = measure(clean, one, metric), 40
    missed = 0
    for draw in range(runs):
        rows = draw_test_rows(noisy, one, 50, metric=metric, random_state=draw)
        found = score_interval(noisy, one, rows, clean[rows].tolist(), metric=metric)
        missed += not found.low <= truth <= found.high
    assert missed <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)
    assert found.noisy == pytest.approx(measure(noisy, one, metric))
    assert len(set(rows)) == 50 == found.n_answers
    assert str(found).startswith(
        f"With 95 % confidence the {metric.replace('_', ' ').replace('f1', 'F1')} on the true"
    )


def test_all_answers_give_the_score_itself():
    clean, noisy, one, _ = make_test_set(0, n=60)
    for metric in ("accuracy", "balanced_accuracy", "f1"):
        rows = draw_test_rows(noisy, one, 60, metric=metric)
        found = score_interval(noisy, one, rows, clean[rows].tolist(), metric=metric)
        assert found.low == pytest.approx(measure(clean, one, metric)) == pytest.approx(found.high)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("m", [12, 40])
def test_two_models_are_compared_by_rows_on_which_they_differ(n_classes, m, seed):
    clean, noisy, one, two = make_test_set(seed, n_classes=n_classes)
    truth, missed, runs = np.mean(clean == one) - np.mean(clean == two), 0, 30
    for draw in range(runs):
        rows = draw_test_rows(noisy, one, m, other=two, random_state=draw)
        found = compare_models(noisy, one, two, rows, clean[rows].tolist())
        missed += not found.low - 1e-12 <= truth <= found.high + 1e-12
    assert np.all(one[rows] != two[rows]) and found.n_differ == np.sum(one != two)
    assert missed <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)
    rows = draw_test_rows(noisy, one, 400, other=two)
    assert len(rows) == found.n_differ
    exact = compare_models(noisy, one, two, rows, clean[rows].tolist())
    assert exact.low == pytest.approx(truth) == pytest.approx(exact.high)
    back = draw_test_rows(noisy, two, 400, other=one)
    turned = compare_models(noisy, two, one, back, clean[back].tolist())
    assert turned.low == pytest.approx(-truth)


def test_models_that_agree_everywhere_have_no_difference():
    clean, noisy, one, _ = make_test_set(0)
    assert draw_test_rows(noisy, one, other=one) == []
    found = compare_models(noisy, one, one, [], [])
    assert (found.low, found.high) == (0, 0) and "All 0 rows on which" in str(found)


def test_cannot_tell_widens_the_interval_on_both_sides():
    clean, noisy, one, two = make_test_set(0)
    rows = draw_test_rows(noisy, one, 50)
    told = clean[rows].tolist()
    sure, unsure = (score_interval(noisy, one, rows, [*some, *told[5:]]) for some in (told[:5], [None] * 5))
    assert unsure.low <= sure.low and unsure.high >= sure.high and unsure.n_untold == 5
    assert unsure.high - unsure.low > sure.high - sure.low and "5 of them 'cannot tell'" in str(unsure)


def test_more_answers_are_asked_where_they_say_more():
    clean, noisy, one, _ = make_test_set(0, n=1000, error=0.02)
    agree = np.mean(noisy == one)
    rows = draw_test_rows(noisy, one, 100)
    assert np.mean(noisy[rows] == one[rows]) < agree
    rare = np.where(np.arange(1000) < 60, 1, 0)
    rows = draw_test_rows(rare, rare, 50, metric="balanced_accuracy")
    assert 4 <= np.sum(rare[rows]) < 25 and len(set(rows)) == 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n, p, r, a: score_interval(n, p[:-1], r, a), "must be columns with one label for each row"),
        (lambda n, p, r, a: score_interval(n, p, r, a[:-1]), "one answer for each row; got 9 for 10"),
        (lambda n, p, r, a: score_interval(n, p, [r[0], *r[:-1]], a), "rows must be different numbers"),
        (lambda n, p, r, a: score_interval(n, p, [400, *r[1:]], a), "from 0 to 399, as drawn; got 400"),
        (lambda n, p, r, a: score_interval(n, p, r, ["x", *a[1:]]), "An answer must be one of 0, 1, or None"),
        (lambda n, p, r, a: score_interval(n, p, r, a, metric="auc"), "metric must be one of accuracy, "),
        (
            lambda n, p, r, a: score_interval(n, p, r, a, level=1),
            "level must be at least 0.5 and less than 1",
        ),
        (lambda n, p, r, a: draw_test_rows(n, p, 401), "at most the number of rows, 400; got 401"),
        (lambda n, p, r, a: draw_test_rows(n, p + n, metric="f1"), "for two classes here, and there are 3"),
        (
            lambda n, p, r, a: draw_test_rows(n, p, metric="f1", positive=5),
            "positive must be one of 0, 1; got 5",
        ),
        (lambda n, p, r, a: compare_models(n, p, p, r, a), "predict the same for row"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(call, message):
    clean, noisy, one, _ = make_test_set(0)
    rows = draw_test_rows(noisy, one, 10)
    with pytest.raises(InputError, match=message):
        call(noisy, one, rows, clean[rows].tolist())
