"""N-grams are counted word by word, and learned from a part of the texts if there are many."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from subsvms.app.features import coders
from subsvms.app.features.coders import NGRAMS, count_words, learn_letters, project_letters

TEXTS = np.array(
    ["To be, or not to be", "", "a", "that  is\tthe Question", "İstanbul ŠKODA", "aaaa aaaa"], object
)


def test_counting_by_words_counts_what_scikit_learn_counts():
    holds, words = count_words(TEXTS)
    vectorizer = CountVectorizer(**NGRAMS)
    found = (holds @ vectorizer.fit_transform(words)).toarray()
    whole = CountVectorizer(**NGRAMS)
    np.testing.assert_array_equal(found, whole.fit_transform(TEXTS).toarray())
    assert list(vectorizer.get_feature_names_out()) == list(whole.get_feature_names_out())


def test_very_many_texts_are_learned_from_in_part(monkeypatch):
    texts = np.array([f"word{i % 7} other{i % 11}" if i % 3 else None for i in range(300)], dtype=object)
    monkeypatch.setattr(coders, "MAX_TEXTS", 100)
    present = np.array([text for text in texts if text is not None], dtype=object)
    learned = learn_letters(texts)
    monkeypatch.setattr(coders, "MAX_TEXTS", 10**6)
    for found, wanted in zip(learned, learn_letters(present[::2]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert not project_letters(np.array([None, "???"], dtype=object), *learned[:3]).any()
