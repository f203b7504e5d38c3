"""The audit: its numbers against plain counting, its questions, what it claims, and what it refuses."""

import itertools
import json

import numpy as np
import pytest
from corrections import attacked, quick
from hypothesis import given
from hypothesis import strategies as st
from made_audits import decide, list_passes, look_up, make_ranking, make_ring
from scipy.stats import hypergeom
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from subsvms.audit import (
    Audit,
    Claim,
    ErrorRate,
    PassedRing,
    Ranking,
    SimulatedAnnotator,
    _evidence,
    _locate,
    _rings,
    draw_rows,
    estimate_error_rate,
    run_audit,
)
from subsvms.audit._model import fit_hits
from subsvms.exceptions import InputError


def make_suspicious(seed, n=600, n_wrong=150, n_classes=2):
    """Return a ranking whose worst rows are mostly wrong, and the true labels."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < np.where(np.arange(n) < n_wrong, 0.85, 0.03)
    return make_ranking(np.where(wrong, 1, -1), seed, n_classes)


def audited(ranking, truth, n_answers=50, person=None, **options):
    return run_audit(Audit(ranking, n_answers, **options), person or SimulatedAnnotator(truth))


# Evidence


def test_the_chance_of_a_sequence_is_what_counting_gives():
    for N, W in itertools.product((3, 6), range(7)):
        if W > N:
            continue
        tables = set(itertools.permutations([1] * W + [0] * (N - W)))
        for n in range(N + 1):
            for h in range(n + 1):
                start = (1,) * h + (0,) * (n - h)
                share = np.mean([table[:n] == start for table in tables])
                assert np.exp(_evidence.log_chance(N, W, n, h)) == pytest.approx(share)


def walk(N, W, n_answers, passed):
    """Return, for a ring with W hits, the probability of each (answers, hits) at which it stops or ends."""
    alive, ends = {0: 1.0}, {}
    for t in range(n_answers):
        after = {}
        for h, p in alive.items():
            for hit, q in ((1, (W - h) / (N - t)), (0, 1 - (W - h) / (N - t))):
                after[h + hit] = after.get(h + hit, 0.0) + p * q
        alive = {h: p for h, p in after.items() if p > 0 and not passed[t + 1, h]}
        ends |= {
            (t + 1, h): p for h, p in after.items() if p > 0 and (passed[t + 1, h] or t + 1 == n_answers)
        }
    return ends


@pytest.mark.parametrize("N, n_answers", [(10, 9), (17, 10), (30, 20), (60, 40), (200, 50)])
def test_the_exact_probability_of_a_false_pass_is_below_its_level_for_every_share(N, n_answers, seed):
    """E at any time, and the bound at the end: at most .3 delta and .8 delta together, whatever W is."""
    ring = make_ring(N, n_answers, seed)
    passed = _rings.list_passes(ring, n_answers)
    for W in range(N + 1):
        early = late = 0.0
        for (n, h), p in walk(N, W, n_answers, passed).items():
            useless = W <= _evidence.count_null(N, n, h)
            early += p * (useless and passed[n, h])
            late += p * (useless and not passed[n, h] and _evidence.exceeds_half(N, n, h, 0.025))
        assert early <= 0.3 * 0.05 + 1e-12 and late <= 0.5 * 0.05 + 1e-12


@pytest.mark.parametrize("N, n_answers", [(17, 10), (60, 40), (300, 30)])
def test_the_exact_probability_that_a_ring_has_fewer_hits_than_the_bound_is_below_its_level(
    N, n_answers, seed
):
    ring, level = make_ring(N, n_answers, seed), 0.04
    passed = _rings.list_passes(ring, n_answers)
    ends = {end for W in range(N + 1) for end in walk(N, W, n_answers, passed)}
    fewest = {(n, h): _evidence.find_fewest(N, n, h, level, passed[: n + 1, : n + 1]) for n, h in ends}
    for W in range(N + 1):
        assert sum(p for end, p in walk(N, W, n_answers, passed).items() if W < fewest[end]) <= level + 1e-12


def test_the_table_of_passes_agrees_with_the_verdicts(seed):
    """So that simulations may use it."""
    rng = np.random.default_rng(seed)
    for N in (10, 50, 300):
        ring = make_ring(N, 25, seed)
        for share in (0.3, 0.6, 0.9):
            scores = np.where(rng.random(len(ring.draws)) < share, 1, -1)
            assert decide(ring, scores) == look_up(ring, scores, list_passes(ring))


@pytest.mark.parametrize("N", [10, 25, 80, 400])
def test_more_hits_never_prevent_a_pass(N, seed):
    """So that what is as extreme as the answers becomes more probable with W, which `find_fewest` needs."""
    passed = _rings.list_passes(make_ring(N, 40, seed), min(40, N - 1))
    reached = np.zeros(len(passed), dtype=bool)
    reached[0] = True
    for t in range(1, len(passed)):
        reached = (reached | np.roll(reached, 1) & (np.arange(len(reached)) > 0)) & (
            np.arange(len(reached)) <= t
        )
        hits = np.flatnonzero(reached)
        assert np.all(np.diff(passed[t, hits].astype(int)) >= 0)
        reached &= ~passed[t]


@given(N=st.integers(2, 40), data=st.data())
def test_the_fewest_hits_are_enough_and_one_fewer_is_not(N, data):
    n = data.draw(st.integers(1, N))
    h = data.draw(st.integers(0, n))
    fewest = _evidence.find_fewest(N, n, h, 0.05)
    assert hypergeom.sf(h - 1, N, fewest, n) > 0.05
    assert fewest == h or hypergeom.sf(h - 1, N, fewest - 1, n) <= 0.05
    assert _evidence.exceeds_half(N, n, h, 0.05) == (fewest - h > (N - n) / 2)


def test_the_mean_evidence_for_several_classes_is_one_if_changes_do_no_good():
    """All orders of a small ring: for the true sum E has mean one; for the sum so far it is no larger."""
    truth, bets, weights = np.array([1, 1, 0, -1, -1, 0]), np.array([0.3, 0.9]), np.array([0.5, 0.5])
    orders = np.array(list(itertools.permutations(truth)))
    mean = np.mean([np.exp(_evidence.log_evidence_several(6, order, bets, weights)) for order in orders])
    assert mean == pytest.approx(1.0)
    for n in (2, 4):
        starts = {tuple(order[:n]) for order in orders if truth.sum() <= order[:n].sum()}
        for start in starts:
            last = _evidence.log_evidence_several(6, np.array(start), bets, weights)
            before = np.cumsum(start) - start
            m = (truth.sum() - before) / (6 - np.arange(n))
            bet = np.minimum(bets[:, None], 0.99 / (1 + m))
            assert last <= np.log(weights @ np.prod(1 + bet * (np.array(start) - m), axis=1)) + 1e-12


# The first sample, and the model


def test_the_first_sample_has_the_stated_probabilities():
    ranking, _ = make_suspicious(0, n=40)
    p = _locate.weigh_ranks(ranking.given[ranking.order])
    assert p.sum() == pytest.approx(1.0) and p.min() > 0.3 / 40
    counts = np.zeros(40)
    for seed in range(3000):
        pilot = _locate.draw_pilot(ranking, 8, np.random.default_rng(seed))
        assert len(set(pilot.tolist())) == 8
        counts[pilot] += 1
    assert np.abs(counts / 3000 - _locate.include(p, 8)).max() < 0.04


def test_the_model_maximises_its_density():
    rng = np.random.default_rng(0)
    design, priors = rng.normal(size=(30, 3)), np.array([[-2.0, 0.6, 0.0], [1.5, 0.5, 1.0]])
    hits = rng.random(30) < 0.4

    def log_density(beta):
        linear = design @ beta
        return (
            np.sum(hits * linear - np.logaddexp(0, linear))
            - np.sum(((beta - priors[0]) / priors[1]) ** 2) / 2
        )

    mode = fit_hits(design, hits, priors).mode
    assert all(log_density(mode) >= log_density(mode + 1e-3 * step) for step in rng.normal(size=(50, 3)))


# Questions and answers


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fifty_answers_correct_many_more_of_labels(seed, n_classes):
    ranking, truth = make_suspicious(seed, n_classes=n_classes)
    audit = audited(ranking, truth)
    claim = audit.claim
    assert claim.finished and claim.n_answers == 50 and len(claim.changed) > 40
    assert np.sum(audit.labels != truth) < np.sum(ranking.given != truth) - 50
    assert f"{len(claim.changed)} others were changed without being seen" in str(claim)
    if n_classes == 2:
        assert np.sum(ranking.suggested[claim.changed] != truth[claim.changed]) <= claim.at_most_wrong
        assert "at most" in str(claim)
    else:
        assert claim.at_most_wrong is None and "at most" not in str(claim)


@pytest.mark.parametrize("n_answers", [10, 50, 200])
@pytest.mark.parametrize("repeat", [False, True])
def test_each_row_is_asked_once_and_repeats_come_on_top(seed, n_answers, repeat):
    ranking, truth = make_suspicious(seed)
    audit = audited(ranking, truth, n_answers, repeat=repeat)
    rows = [row for row, _ in audit.state["answers"]]
    n_wrong = audit.claim.n_overturned
    assert len(set(rows)) == n_answers and len(rows) == n_answers + repeat * n_wrong


def test_a_repr_has_the_numbers_and_no_rows(seed):
    ranking, truth = make_suspicious(seed)
    begun = Audit(ranking)
    assert repr(begun) == "Audit(0 of 50 answers, 0 overturned, 0 others changed unseen)"
    assert repr(begun.claim) == "Claim(0 answers, 0 overturned, 0 others changed unseen)"
    audit = audited(ranking, truth)
    claim = audit.claim
    found = (
        f"{claim.n_overturned} overturned, {len(claim.changed)} others changed unseen, at most "
        f"{claim.at_most_wrong} of these wrongly with 95% confidence)"
    )
    assert str(audit) == f"Audit(50 of 50 answers, {found}" and repr(claim) == f"Claim(50 answers, {found}"
    assert str(claim).startswith("You checked 50 labels")


def test_clean_labels_stay(seed):
    ranking, _ = make_suspicious(seed)
    audit = audited(ranking, ranking.given)
    assert np.array_equal(audit.labels, ranking.given)
    assert str(audit.claim) == (
        "You checked 50 labels, drawn partly at random; 0 of them were wrong. No other label was changed: "
        "the answers did not show most of any set to be wrong."
    )


def test_cannot_tell_counts_as_a_miss_and_keeps_the_label(seed):
    ranking, truth = make_suspicious(seed)
    audit = audited(ranking, truth, person=lambda row: None)
    assert audit.claim.n_overturned == 0 and not audit.decided and len(audit.claim.changed) == 0
    never = audited(ranking, truth, person=lambda row: ranking.given[row])
    assert [row for row, _ in never.state["answers"]] == [row for row, _ in audit.state["answers"]]


def test_stopping_early_keeps_what_passed_and_changes_nothing_else(seed):
    """After each answer: what passed stays, an unfinished ring changes nothing, and the words never fail."""
    ranking, truth = make_suspicious(seed)
    audit, person, before = Audit(ranking, 60, repeat=True), SimulatedAnnotator(truth, error_rate=0.1), set()
    while (row := audit.next_row) is not None:
        audit.answer(row, person(row))
        changed = set(audit.claim.changed.tolist())
        assert before <= changed | set(audit.decided) and str(audit.claim) and str(audit.progress)
        assert len(audit.labels) == len(truth) and 0 <= audit.progress.share <= 1
        before = changed
    assert before and audit.progress.stage == "done"


@pytest.mark.parametrize("repeat", [False, True])
def test_a_saved_audit_goes_on_as_if_nothing_had_happened(seed, repeat):
    ranking, truth = make_suspicious(seed)
    whole = audited(ranking, truth, repeat=repeat, random_state=seed)
    audit, person = Audit(ranking, 50, repeat=repeat, random_state=seed), SimulatedAnnotator(truth)
    while (row := audit.next_row) is not None:
        is_repeat = any(row == one for one, _ in audit.state["answers"])
        assert is_repeat if row not in audit.upcoming(1) else not is_repeat
        assert repeat or not is_repeat
        audit.answer(row, person(row))
        if len(audit.state["answers"]) % 7 in (1, 4):
            audit = Audit.load(json.loads(json.dumps(audit.state)), ranking)
    assert audit.state == whole.state and np.array_equal(audit.labels, whole.labels)
    assert str(audit.claim) == str(whole.claim)


def test_seeds_ask_about_other_rows():
    ranking, _ = make_suspicious(0)
    assert Audit(ranking, random_state=1).upcoming(20) != Audit(ranking, random_state=2).upcoming(20)


def test_the_upcoming_rows_are_asked_in_their_order(seed):
    ranking, truth = make_suspicious(seed)
    audit = Audit(ranking)
    for row in audit.upcoming(20):
        assert audit.next_row == row
        audit.answer(row, truth[row])
    assert audit.progress.stage == "confirm" and "Checking a set of" in str(audit.progress)


def test_a_repeat_that_differs_is_decided_by_a_third_answer():
    ranking, truth = make_suspicious(0)
    audit = Audit(ranking, repeat=True)
    first, times = audit.next_row, 0
    while (row := audit.next_row) is not None:
        label = ranking.given[row]
        if row == first:  # wrong, right, wrong
            label = [ranking.suggested[row], ranking.given[row], ranking.suggested[row]][times]
            times += 1
            assert times == 3 or first not in audit.decided
        audit.answer(row, label)
    asked = [row for row, _ in audit.state["answers"]]
    assert times == 3 and audit.decided[first] == ranking.suggested[first]
    assert np.all(np.diff([i for i, row in enumerate(asked) if row == first]) > 5)


def test_repeats_of_careless_people_do_less_harm():
    harm = {True: 0, False: 0}
    for seed in range(10):
        ranking, truth = make_suspicious(seed, n_wrong=0)
        for repeat in harm:
            person = SimulatedAnnotator(truth, error_rate=0.1, random_state=seed)
            audit = audited(ranking, truth, person=person, repeat=repeat, random_state=seed)
            harm[repeat] += int(np.sum(audit.labels != truth) - np.sum(ranking.given != truth))
    assert harm[True] < harm[False] - 10


def test_errors_towards_the_suggestion_go_one_way():
    truth, suggested = np.zeros(500, dtype=int), np.arange(500) % 2
    person = SimulatedAnnotator(truth, error_rate=0.2, suggested=suggested)
    answers = np.array([person(row) for row in range(500)])
    assert answers[suggested == 0].sum() == 0 and 30 < answers.sum() < 70
    assert SimulatedAnnotator([1, None, 0], error_rate=1.0)(1) is None


# Hostile input


def load_with(audit, ranking, **parts):
    return Audit.load(audit.state | parts, ranking)


@pytest.mark.parametrize(
    "parts, message",
    [
        ({"format": 9}, "has format 9"),
        ({"made_from": "ab"}, "made from other labels"),
        ({"n_answers": "50"}, "no valid 'n_answers'"),
        ({"n_answers": 10**9}, "at most the number of labels"),
        ({"random_state": -1}, "no valid 'random_state'"),
        ({"confidence": 2.0}, "level must be"),
        ({"repeat": None}, "no valid 'repeat'"),
        ({"answers": {}}, "no valid 'answers'"),
        ({"answers": [3]}, "Answer 1 of the audit must be a row and a class"),
        ({"answers": [[True, 0]]}, "Answer 1 of the audit must be a row and a class"),
        ({"answers": [[-5, 0]]}, "Answer 1 of the audit must be a row and a class"),
    ],
)
def test_a_forged_state_is_refused_in_one_sentence(parts, message):
    ranking, _ = make_suspicious(0)
    with pytest.raises(InputError, match=message) as caught:
        load_with(Audit(ranking), ranking, **parts)
    assert str(caught.value).count(". ") == 0


def test_answers_that_were_not_asked_are_refused():
    ranking, truth = make_suspicious(0)
    audit = Audit(ranking)
    row = audit.next_row
    for wrong in (row + 1, -1, None, True, "x", 1.5):
        with pytest.raises(InputError, match=f"asks about row {row} now"):
            audit.answer(wrong, 0)
    for label in ("0", 7, 1.5, [0], True, float("nan")):
        with pytest.raises(InputError, match="An answer must be one of 0, 1, or None"):
            audit.answer(row, label)
    audit.answer(np.int64(row), np.int64(truth[row]))
    state = audit.state
    with pytest.raises(InputError, match="Answer 2 of the audit is about row .*, which was not asked then"):
        Audit.load(state | {"answers": state["answers"] * 2}, ranking)
    with pytest.raises(InputError, match="must be a class from 0 to 1 or None; got 2"):
        Audit.load(state | {"answers": [[row, 2]]}, ranking)
    with pytest.raises(InputError, match="must be a dictionary; got list"):
        Audit.load([state], ranking)
    done = audited(ranking, truth)
    with pytest.raises(InputError, match="The audit is finished"):
        done.answer(row, 0)


@pytest.mark.parametrize(
    "given, suggested, quality, message",
    [
        (["a", "b"], ["b", "b"], [1, 2], "row 1 has 'b' twice"),
        (["a", "b"], ["b"], [1, 2], "equal lengths"),
        (["a", "b"], ["b", "a"], [1, np.nan], "one finite number"),
        (["a", None], ["b", "a"], [1, 2], "contains NaN, None"),
    ],
)
def test_a_ranking_is_checked(given, suggested, quality, message):
    with pytest.raises(InputError, match=message):
        Ranking.make(given, suggested, quality)


def test_parameters_are_checked():
    ranking, _ = make_suspicious(0)
    for options, message in [
        ({"n_answers": 9}, "at least 10"),
        ({"n_answers": 601}, "at most the number of labels to ask about, 600; got 601"),
        ({"level": 1.0}, "less than 1"),
        ({"random_state": -1}, "random_state must be a whole number"),
    ]:
        with pytest.raises(InputError, match=message):
            Audit(ranking, **options)
    with pytest.raises(TypeError, match="made from a Correction or a Ranking; got list"):
        Audit([1, 2])
    with pytest.raises(InputError, match="contradicted must hold True or False"):
        Ranking.make(["a", "b"], ["b", "a"], [1, 2], [0, 1])


# From and to a correction


@pytest.fixture(scope="module")
def case():
    X, clean = load_breast_cancer(return_X_y=True)
    clean = np.array(["malignant", "benign"])[clean]
    return minmax_scale(X), clean, attacked(clean, rho=0.6, alpha=0.0)


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_the_audited_correction_has_its_labels_whatever_the_action(case, action):
    X, clean, given = case
    correction = quick(X, given, action=action)
    audit = audited(correction, clean, 40)
    after = audit.apply(correction)
    decided = np.isin(np.arange(len(given)), list(audit.decided))
    assert np.array_equal(after.labels, audit.labels) and after.kept.all()
    assert np.sum(after.labels != clean) < np.sum(given != clean) / 2
    assert np.array_equal(np.flatnonzero(after.action == "audited"), audit.claim.changed)
    assert np.array_equal(after.action == "verified", decided) and np.array_equal(after.decided, decided)
    assert np.array_equal(after.changed, after.labels != given)
    assert np.all(after.sample_weight[decided | after.audited] == 1)
    rest = ~decided & ~after.audited
    assert np.array_equal(after.labels[rest], given[rest]) and not after.flagged[rest].any()
    assert after.explain(int(audit.claim.changed[0])).startswith(
        "audited: random answers show that most labels"
    )
    kept = np.flatnonzero(correction.flagged & rest)
    assert all("the audit did not confirm" in reason for reason in after.explain(kept))


def test_rows_without_a_label_or_verified_before_are_not_asked(case):
    X, clean, given = case
    given, verified = given.astype(object), np.full(len(given), None, dtype=object)
    given[:50], verified[50:100] = None, clean[50:100]
    correction = quick(X, given, verified=verified)
    audit = audited(correction, clean, 40)
    assert min(row for row, _ in audit.state["answers"]) >= 100
    after = audit.apply(correction)
    assert np.array_equal(after.labels[50:100], clean[50:100]) and after.decided.sum() == 90
    assert np.array_equal(after.labels[:50], correction.labels[:50]) and audit.labels[0] is None
    assert np.all(after.action[:50] == "missing")


def test_an_audit_is_applied_to_its_own_correction_only(case):
    X, clean, given = case
    audit = Audit(quick(X, given))
    with pytest.raises(InputError, match="made from another correction"):
        audit.apply(quick(X, clean))


# How many are wrong?


def test_the_estimate_covers_and_says_so_in_one_sentence(seed):
    ranking, truth = make_suspicious(seed)
    missed = 0
    for draw in range(200):
        rows = draw_rows(ranking, 50, random_state=draw)
        found = estimate_error_rate(ranking, {row: truth[row] for row in rows})
        missed += not found.low <= np.mean(ranking.given != truth) <= found.high
    assert missed <= 20 and len(set(rows)) == 50
    assert str(found).startswith(
        f"Of 50 labels drawn at random {found.n_wrong} were wrong: with 95% confidence"
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


def test_sizes_of_rings_and_their_power():
    assert _rings.list_sizes(7).size == 0 and _rings.list_sizes(2000)[-1] > 1500
    power = _rings.chance_to_pass(100, np.linspace(0.5, 1, 6), 20, 0.05)
    assert np.all(np.diff(power) > 0) and power[0] < 0.025


def test_one_is_singular_and_a_high_confidence_is_not_rounded_to_certainty():
    ring = PassedRing(20, 10, 1, 1, 1)
    assert str(Claim(50, 1, (ring,), np.arange(1), 0.995, True)) == (
        "You checked 50 labels, drawn partly at random; 1 of them was wrong. 1 other was changed without "
        "being seen. With 99.5% confidence fewer labels are wrong now than if only your 50 answers had "
        "been entered; of the 10 checked at random among such labels, 1 was wrong. With 99.5% confidence at "
        "most 1 of the 1 are wrong."
    )
    assert str(ErrorRate(50, 1, 0, 1000, 0.001, 0.1, 0.995)) == (
        "Of 50 labels drawn at random 1 was wrong: with 99.5% confidence between 0.1% and 10.0% of all "
        "labels are wrong, that is, 1 to 100 of 1,000."
    )
