"""The letter n-grams of texts, counted word by word, and the directions in which they differ most.

What scikit-learn's TfidfVectorizer counts (`char_wb`) depends on the words of a text alone, and texts repeat
words. So the n-grams of each distinct word are counted once. With T the words of each text and W the n-grams
of each word, the counts are T W: whole numbers, the same as if each text were counted. The features are
T W diag(idf) C', each row divided by the length of its row of T W diag(idf); multiplied from the right, this
is T times a small dense matrix.

Words are sorted, so a text gets the same bits whatever the texts beside it are.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

NGRAMS = {"analyzer": "char_wb", "ngram_range": (3, 4)}  # letters that follow each other within a word
COMPONENTS = 30  # features of a column
MAX_TEXTS = 10_000  # to learn from; more change little and take longer
CODE = np.float32  # as in skrub; categories and letters need no more
SMALLEST_SPREAD = 10 * np.finfo(CODE).eps  # a smaller spread is rounding


def learn_letters(texts: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, float]:
    """Return n-grams, their weights, the components and the scale of their values, as skrub learns them.

    Shapes: texts (n_rows,); returns idf (n_ngrams,), components (n_features, n_ngrams).
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    if len(texts) > MAX_TEXTS:
        present = np.array([text for text in texts if text is not None], dtype=object)
        texts = present[:: -(-len(present) // MAX_TEXTS)]
    holds, words = count_words(texts)
    vectorizer = CountVectorizer(**NGRAMS)
    counts = sparse.csr_matrix(holds @ vectorizer.fit_transform(words))
    counts.sort_indices()
    weigher = TfidfTransformer().fit(counts)
    weights = weigher.transform(counts).astype(CODE)
    if min(weights.shape) > COMPONENTS:
        components = TruncatedSVD(COMPONENTS, random_state=0).fit(weights).components_
    else:
        components = np.eye(min(COMPONENTS, weights.shape[1]), weights.shape[1], dtype=CODE)
    spread = float(np.sqrt((weights @ components.T).var(axis=0).sum()))
    divisor = spread if spread > SMALLEST_SPREAD else 1.0
    return tuple(map(str, vectorizer.get_feature_names_out())), weigher.idf_, components, divisor


def project_letters(
    texts: np.ndarray, ngrams: Sequence[str], idf: np.ndarray, components: np.ndarray
) -> np.ndarray:
    """Return the components of each text, zero where it is missing or holds none of the n-grams.

    Shapes: texts (n_rows,); returns (n_rows, n_features).
    """
    from sklearn.feature_extraction.text import CountVectorizer

    holds, words = count_words(texts)
    if len(words) == 0:
        return np.zeros((len(texts), len(components)), dtype=CODE)
    weights = CountVectorizer(vocabulary=ngrams, **NGRAMS).transform(words) @ sparse.diags_array(idf)
    whole = sparse.csr_array(holds @ weights)
    whole.sort_indices()
    whole.data **= 2
    lengths = np.sqrt(whole @ np.ones(whole.shape[1]))
    lengths[lengths == 0] = 1.0
    return (holds @ (weights @ components.T.astype(np.float64)) / lengths[:, None]).astype(CODE)


def count_words(texts: np.ndarray) -> tuple[Any, list[str]]:
    """Return how often each text holds each word, and the words.

    Shapes: returns counts (n_rows, n_words).
    """
    import pandas as pd

    split = [() if text is None else text.lower().split() for text in texts]
    found = np.array(list(chain.from_iterable(split)), dtype=object)
    codes, words = pd.factorize(found)
    order = np.argsort(words, kind="stable")
    place = np.empty(len(words), dtype=np.int64)
    place[order] = np.arange(len(words))
    ends = np.cumsum([0, *map(len, split)])
    shape = (len(texts), len(words))
    counts = sparse.csr_array((np.ones(len(codes), dtype=np.int64), place[codes], ends), shape=shape)
    counts.sum_duplicates()
    return counts, words[order].tolist()
