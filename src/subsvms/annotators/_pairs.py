"""Who copies whom: people who agree with each other more often than what each of them knows explains.

Person u is right with probability a_u, and says each of the other of K classes equally often. Two people who
answer for themselves agree with probability

    e_uv = a_u a_v + (1 - a_u) (1 - a_v) / (K - 1),

and with e_uv + r (1 - e_uv) if one of them copies the other on a share r of the rows, or if both err alike.
Each pair has one of a few shares r (`LEVELS`): which, follows by Bayes' rule from how often they agreed about
the rows that both saw; how frequent each share is, from all pairs; and a_u, by least squares, from the pairs
that are not thought to copy. Copies come in groups: that u and v copy is likely before they are compared if
those whom u copies are those whom v copies.

An answer of u about a row counts 1 / (1 + sum of r_uv over the others v who answered about it), with r_uv the
mean of what is thought of r: copies of one person count as one. Two good people are not taken for copies,
since they agree with others as often as their a_u says.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from subsvms.annotators._answers import FEW, Answers

LEVELS = np.array([0.0, 0.5, 1.0])  # shares r; with quarters as many labels were wrong
ALWAYS = 0.995  # how often copies agree: a slip in two hundred rows does not prove the contrary
USUAL, LEAST_PAIRS = 0.1, 0.01  # frequency of each share above 0 before anything is seen; its weight in pairs
LITTLE = 0.05  # a smaller r_uv is none: where nobody copies, all answers count one
CONTRADICTED = 0.25  # share of others' answers; people who know better than chance err less often
PAIRS_ALONE = 5.0  # pairs that are known not to copy before anybody answers
SAME_BY_CHANCE = 0.001  # probability of saying the same every time, or of always agreeing, by chance
SURE = 0.98  # nobody is right more often, or less often than by 1 - SURE
LIKE_OTHERS = 1.25  # pairs' weight of the mean person in a_u, about two or three answers
EARLY, N_STEPS = 20, 30  # whole copies are found first, without groups: else good people were one group
MOST_COMPARED = 1000  # people, those with the most answers
MOST_WEIGHED = 300  # the same where groups are found: each step multiplies matrices of that size


def count_pairs(answers: Answers, most: int = MOST_COMPARED) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return people with enough answers, how many rows each two share, and how many with equal answers."""
    sure = answers.weight == 1.0  # a row is left out for who gave two answers to it
    person, row, label = answers.person[sure], answers.row[sure], answers.label[sure]
    n_said = np.bincount(person, minlength=len(answers.names))
    people = np.sort(np.argsort(-n_said, kind="stable")[:most])
    people = people[n_said[people] >= FEW]

    def count(cells):
        cells = np.unique(cells, return_inverse=True)[1]
        shape = len(n_said), cells.max(initial=0) + 1
        table = sparse.csr_matrix((np.ones(len(cells)), (person, cells)), shape)[people]
        return np.triu((table @ table.T).toarray(), 1)

    return people, count(row), count(row * np.int64(answers.n_classes) + label)


def find_copying(both: np.ndarray, equal: np.ndarray, n_classes: int) -> np.ndarray:
    """Return r_uv, (n_people, n_people), from counts of shared and of equal answers (upper triangles)."""
    m, K = len(both), n_classes
    i, j = np.nonzero(both)
    n, k = both[i, j], equal[i, j]
    found = np.zeros((m, m))
    if m < 3 or not len(n):
        return found
    levels = LEVELS[[0, -1]] if m == 3 else LEVELS  # of three people, two good ones may agree as half copies
    shares = np.concatenate([[1.0 - USUAL * (len(levels) - 1)], np.full(len(levels) - 1, USUAL)])
    prior, agreed = shares[None, :], k / n
    start = (1.0 + np.sqrt(max(0.0, (K - 1) * (K * k.sum() / n.sum() - 1.0)))) / K  # a, if all are equal
    a = np.full(m, min(start, SURE))
    for step in range(N_STEPS):
        by_chance = (1.0 - a) / (K - 1)
        e = np.clip(a[i] * a[j] + (1.0 - a[i]) * by_chance[j], 1.0 - SURE, SURE)[:, None]
        p = np.minimum(e + levels * (1.0 - e), ALWAYS)
        log_p = k[:, None] * np.log(p) + (n - k)[:, None] * np.log1p(-p) + np.log(prior)
        if step < EARLY:
            log_p[:, 1:-1] = -np.inf
        post = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        post /= post.sum(axis=1, keepdims=True)
        copying = 1.0 - post[:, 0]
        shares = post.sum(axis=0) + LEAST_PAIRS
        shares[0] += PAIRS_ALONE
        shares /= shares.sum()
        some = np.full(len(n), 1.0 - shares[0])
        if step >= EARLY:
            found[i, j] = found[j, i] = copying
            common, size = (found @ found)[i, j], found.sum(axis=1)
            some = (some + common) / (1.0 + size[i] + size[j] - 2.0 * copying - common)
            some = np.clip(some, 1e-6, 0.99)
        prior = np.column_stack([1.0 - some, np.outer(some, shares[1:] / shares[1:].sum())])
        slope, weight = a - by_chance, n * post[:, 0]
        top, below = np.zeros(m), np.zeros(m)
        for u, v in ((i, j), (j, i)):
            top += np.bincount(u, weight * slope[v] * (agreed - by_chance[v]), m)
            below += np.bincount(u, weight * slope[v] ** 2, m)
        right = (top + LIKE_OTHERS * np.median(a)) / (below + LIKE_OTHERS)
        a = (a + np.clip(right, 1.0 - SURE, SURE)) / 2.0
    found[i, j] = found[j, i] = post @ levels
    return np.where(found < LITTLE, 0.0, found)


def find_constant(answers: Answers) -> np.ndarray:
    """Return the people, by number, who say the same every time, though others often say something else."""
    # Others must say so about the table, and about the very rows: who saw a batch of one class may be right.
    pairs = answers.said
    n_said = np.bincount(answers.person, minlength=len(answers.names))
    alone = np.bincount(pairs.person)[pairs.person] == 1
    person, label = pairs.person[alone], pairs.label[alone]
    n, n_label = n_said[person], np.bincount(answers.label, minlength=answers.n_classes)
    share = (n_label[label] - n + 1.0) / (len(answers) - n + 1.0)  # of the class, among others' answers
    odd = person[(n >= FEW) & (n * np.log(share) < np.log(SAME_BY_CHANCE))]

    def is_contradicted(one):
        own = answers.person == one
        others = answers.label[np.isin(answers.row, answers.row[own]) & ~own]
        return len(others) == 0 or np.mean(others != answers.label[own][0]) > CONTRADICTED

    return np.array([one for one in odd.tolist() if is_contradicted(one)], dtype=int)


def weigh_answers(answers: Answers, *, judged: bool) -> Answers:
    """Return the answers as the model weighs them: copies share one, constants have none beside others."""
    # Without a judge, and with only two people besides copies and constants, nothing tells who of them is
    # right: then people are thought to be `alike`, and copies do not weigh less.
    varied = ~np.isin(answers.person, find_constant(answers))
    some = answers.take(np.flatnonzero(varied))
    people, both, equal = count_pairs(some, MOST_WEIGHED)
    shared = find_copying(both, equal, answers.n_classes)
    n_people = len(answers.names)
    n_said = np.bincount(some.person, minlength=n_people)
    n_few = np.count_nonzero((n_said > 0) & (n_said < FEW)) // FEW  # known as a crowd
    n_own = (1.0 / (1.0 + shared.sum(axis=1))).sum() + n_few
    heard = np.bincount(some.row, minlength=answers.n_rows) > 0  # elsewhere a constant is better than none
    weight = np.where(varied | ~heard[answers.row], answers.weight, 0.0)
    if n_own < 2.5 and not judged:  # two, and copies that are not quite sure
        return replace(answers, weight=weight, alike=True)
    u, v = np.nonzero(shared)
    copied = sparse.csr_matrix((shared[u, v], (people[u], people[v])), (n_people, n_people))
    ones = np.ones(len(answers))
    who = sparse.csr_matrix((ones, (answers.row, answers.person)), (answers.n_rows, n_people))
    others = (who @ copied).multiply(who > 0).tocsr()
    copied = np.asarray(others[answers.row, answers.person]).ravel()
    return replace(answers, weight=weight / (1.0 + copied), alike=False)
