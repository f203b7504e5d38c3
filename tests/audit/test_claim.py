import numpy as np
from known_rings import audited, make_suspicious

from subsvms.audit import Audit, Claim, ErrorRate, PassedRing


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


def test_clean_labels_stay_and_the_claim_says_so(seed):
    ranking, _ = make_suspicious(seed)
    audit = audited(ranking, ranking.given)
    assert np.array_equal(audit.labels, ranking.given)
    assert str(audit.claim) == (
        "You checked 50 labels, drawn partly at random; 0 of them were wrong. No other label was changed: "
        "the answers did not show most of any set to be wrong."
    )


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
