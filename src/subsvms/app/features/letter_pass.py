"""One pass over texts, from their words and letter n-grams to features, as `coders` has them."""

import math

import numpy as np
from numba import njit


@njit(cache=True)
def project(texts, held, times, words, parts, often, idf, axes, found):
    """Fill in what texts become: T is in CSR form in the first three arrays, W in the next three."""
    counts, met = np.zeros(len(idf)), np.zeros(len(idf), dtype=np.int64)
    for i in range(len(found)):
        n_met, length = 0, 0.0
        for j in range(texts[i], texts[i + 1]):
            for k in range(words[held[j]], words[held[j] + 1]):
                if counts[parts[k]] == 0.0:
                    met[n_met] = parts[k]
                    n_met += 1
                counts[parts[k]] += times[j] * often[k]
        row = found[i]
        for g in met[:n_met]:
            weight = (1.0 + math.log(counts[g])) * idf[g]
            length += weight * weight
            counts[g] = 0.0
            for c in range(len(row)):
                row[c] += np.float32(weight) * axes[g, c]
        if n_met:
            row /= np.float32(math.sqrt(length))
