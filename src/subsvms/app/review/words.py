"""Which words of a text speak for a suggested label, and which for the given one.

The features of a text are groups of letters, condensed, and the SVMs are not linear in them, so there are no
weights of words to show. What is shown is what a reader can check by searching: how much more often a word
occurs in rows that carry the one label than in rows that carry the other,

    delta = logit((n_a + 1/2) / (N_a + 1)) - logit((n_b + 1/2) / (N_b + 1)),

with n_a of the N_a texts of class a that contain it (each word once a text). Its variance is the sum of
1 / (n + 1/2) + 1 / (N - n + 1/2) over both classes; words that differ by less than twice its root are left
alone (after Monroe, Colaresi and Quinn, "Fightin' words", 2008). The labels are those given, wrong ones
included, which weakens the words but does not turn them round.

Tables are counted once, from at most `TEXTS` evenly spaced texts, each up to `CHARACTERS` characters.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp, log, sqrt
from typing import Any

TEXTS = 10_000  # half a second for texts of 500 characters
CHARACTERS = 2000
WORD = re.compile(r"\w{2,}")
LEAST_ERRORS = 2.0  # by which a word must differ
STRONG = 3.0  # delta of a word that is marked fully: twenty times the odds
MOST_MARKS = 40  # in one text, the strongest

Mark = list[Any]  # start, end (in UTF-16 code units, as JavaScript counts), "for" or "against", strength


class WordCounts:
    """In how many texts of each class every word occurs.

    codes: the class of each text; -1 for those without a label, which are not counted.
    """

    def __init__(self, texts: Iterable[str], codes: Iterable[int], n_classes: int):
        self.n_texts = [0] * n_classes
        self.counts: list[Counter[str]] = [Counter() for _ in range(n_classes)]
        self._known: dict[tuple[str, int, int], float] = {}  # what was compared: texts share most words
        for text, code in zip(texts, codes, strict=True):
            if code >= 0:
                self.n_texts[code] += 1
                self.counts[code].update(set(WORD.findall(text[:CHARACTERS].casefold())))

    def compare(self, word: str, suggested: int, given: int) -> float:
        """Return how much a word speaks for one class and against another; 0 if that may be chance."""
        asked = (word, suggested, given)
        if asked not in self._known:
            self._known[asked] = self._compare(*asked)
        return self._known[asked]

    def _compare(self, word: str, suggested: int, given: int) -> float:
        n, n_texts = self.counts[suggested][word], self.n_texts[suggested]
        if given >= 0:
            m, m_texts = self.counts[given][word], self.n_texts[given]
        else:
            m = sum(counts[word] for counts in self.counts) - n
            m_texts = sum(self.n_texts) - n_texts
        delta = _logit(n, n_texts) - _logit(m, m_texts)
        error = sqrt(_invert(n) + _invert(n_texts - n) + _invert(m) + _invert(m_texts - m))
        return delta if abs(delta) > LEAST_ERRORS * error else 0.0

    def mark(self, text: str, suggested: int, given: int) -> list[Mark]:
        """Return the words of a text that speak for either class, in their order."""
        found: list[Mark] = []
        for match in WORD.finditer(text):
            delta = self.compare(match.group().casefold(), suggested, given)
            if delta:
                side, strength = ("for" if delta > 0 else "against"), min(1.0, abs(delta) / STRONG)
                found.append([match.start(), match.end(), side, round(strength, 2)])
        if len(found) > MOST_MARKS:
            least = sorted((mark[3] for mark in found), reverse=True)[MOST_MARKS - 1]
            found = [mark for mark in found if mark[3] >= least][:MOST_MARKS]
        return count_units(text, found)

    def lean(self, texts: Sequence[str], suggested: int, given: int) -> float:
        """Return how much texts lean to one class: from -1 to 1, the mean over all marked words."""
        words = [word for text in texts for word in WORD.findall(text[:CHARACTERS].casefold())]
        found = [delta for word in words if (delta := self.compare(word, suggested, given))]
        mean = sum(found) / len(found) if found else 0.0
        return 2 / (1 + exp(-mean)) - 1


def count_units(text: str, marks: list[Mark]) -> list[Mark]:
    """Return marks whose places are counted in UTF-16 code units."""
    if text.isascii() or max(text) <= "\uffff":
        return marks
    wide = [i for i, letter in enumerate(text) if letter > "\uffff"]
    return [[place + bisect_left(wide, place) for place in mark[:2]] + mark[2:] for mark in marks]


def _invert(n):
    return 1 / (n + 0.5)


def _logit(n, n_texts):
    share = (n + 0.5) / (n_texts + 1)
    return log(share / (1 - share))
