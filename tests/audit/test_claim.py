import numpy as np
from known_rings import audited, make_suspicious

from subsvms.audit import Audit, CheckedSet, Claim, ErrorRate, PassedRing


def test_a_repr_has_the_numbers_and_no_rows(seed):
    ranking, truth = make_suspicious(seed)
    begun = Audit(ranking)
    assert repr(begun) == "Audit(0 of 50 answers, 0 overturned, 0 others changed unseen)"
    assert repr(begun.claim) == "Claim(0 answers, 0 overturned, 0 others changed unseen)"
    audit = audited(ranking, truth)
    claim = audit.claim
    found = f"{claim.n_overturned} overturned, {len(claim.changed)} others changed unseen"
    if claim.at_most_wrong is not None:
        found += f", at most {claim.at_most_wrong} of these wrongly with 95 % confidence"
    found += ")"
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
        "being seen. With 99.5 % confidence fewer labels are wrong now than if only your 50 answers had "
        "been entered; of the 10 checked at random among such labels, 1 was wrong. With 99.5 % confidence at "
        "most 1 of the 1 are wrong."
    )
    assert str(ErrorRate(50, 1, 0, 1000, 0.001, 0.1, 0.995)) == (
        "Of 50 labels drawn at random 1 was wrong: with 99.5 % confidence between 0.1 % and 10.0 % of all "
        "labels are wrong, that is, 1 to 100 of 1,000."
    )


def say(*sets, **parts):
    nothing = np.array([], dtype=int)
    return str(Claim(10, 3, (), nothing, 0.95, True, sets=sets, is_confirmation=True, **parts))


def test_a_confirmation_says_what_follows_for_each_set():
    for one, words in [
        (CheckedSet("changes", 156, 7, 7, 149, "passed", 60),
         "Confirmed: most of the 156 changes are right, with 95 % confidence; of 7 checked at random 7 were "
         "right."),
        (CheckedSet("changes", 156, 5, 1, 151, "back", None),
         "Taken back: of 5 of the 156 changes checked at random 1 was right; the others have the labels "
         "again that were given."),
        (CheckedSet("changes", 156, 10, 6, 146, "back", None),
         "Not decided: of 10 of the 156 changes checked at random 6 were right; the others have the labels "
         "again that were given."),
        (CheckedSet("changes", 156, 10, 8, 146, "kept", None),
         "Not decided: of 10 of the 156 changes checked at random 8 were right; the others stay as the "
         "rule changed them, without a claim."),
        (CheckedSet("changes", 1, 1, 1, 0, "asked", None), "Of the 1 change, all checked, 1 was right."),
        (CheckedSet("held_back", 40, 7, 7, 33, "passed", 9),
         "Applied: most of the 40 labels that the rule held back are wrong, with 95 % confidence; of 7 "
         "checked at random 7 were wrong."),
        (CheckedSet("held_back", 40, 3, 0, 37, "back", None),
         "Left as given: of 3 of the 40 labels that the rule held back checked at random 0 were wrong."),
    ]:  # fmt: skip
        assert say(one) == words
    assert say() == "The rule changed no label and held none back: there is nothing to confirm."
    several = say(CheckedSet("changes", 156, 9, 8, 147, "passed", None), several=True)
    assert several.startswith("Confirmed: the 156 changes do more good than harm, with 95 % confidence")


def test_a_claim_for_a_model_is_about_two_thirds():
    ring = PassedRing(100, 12, 12, 88, 20)
    said = str(Claim(50, 20, (ring,), np.arange(88), 0.95, True, threshold=2 / 3))
    assert "With 95 % confidence more than two thirds of these were wrong; of the 12 checked" in said
    said = str(Claim(50, 20, (), np.arange(0), 0.95, True, threshold=2 / 3))
    assert said.endswith("the answers did not show two thirds of any set to be wrong.")
