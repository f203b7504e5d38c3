"""
Texts, as TF-IDF and as embeddings
==================================

Which part of SciPy does a piece of documentation belong to? The descriptions of its functions are
real texts that are on every machine that runs this example. Some labels are made wrong, and found
by the words alone.
"""

from inspect import getdoc

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.special
import scipy.stats
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline

from subsvms import adversaries, correct_labels

# %%
# The texts
# ---------
# Of each function's documentation we take what stands before the list of its parameters: often a
# single sentence.

modules = {"signal": scipy.signal, "special": scipy.special, "stats": scipy.stats}
found = {
    getdoc(getattr(module, name)).split("\nParameters\n")[0]: label
    for label, module in modules.items()
    for name in sorted(module.__all__)
    if callable(getattr(module, name))
}
texts, clean = list(found), np.array(list(found.values()))
given = adversaries.uniform_flips(clean, error_rate=0.15, random_state=0).labels
print(f"{len(texts)} texts, {(given != clean).sum()} labels made wrong")

# %%
# Words as features
# -----------------
# TF-IDF gives a sparse matrix, and a sparse matrix is as good as a table. These texts have labels
# that the words contradict most:

X = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2).fit_transform(texts)
by_words = correct_labels(X, given, random_state=0)
for row in np.argsort(by_words.label_quality)[:4]:
    first, suggested = texts[row].splitlines()[0], by_words.suggested_labels[row]
    print(f"{given[row]} -> {suggested} (in truth {clean[row]}): {first}")

# %%
# Embeddings as features
# ----------------------
# Embeddings place texts with similar words, or similar meanings, side by side. Here they are the
# simplest kind, made from the same words by ``TruncatedSVD``; those of
# a language model are an array in the same way.

embeddings = TruncatedSVD(50, random_state=0).fit_transform(X)
by_embeddings = correct_labels(embeddings, given, random_state=0)

# %%
# A classifier of your own
# ------------------------
# Any pipeline with ``predict_proba`` can judge instead of SVMs, and it gets the texts as they are.

own = make_pipeline(TfidfVectorizer(stop_words="english"), ComplementNB())
by_classifier = correct_labels(texts, given, estimator=own, random_state=0)

# %%
# What is left
# ------------
# All three find most of the wrong labels. None finds all: some sentences could stand in more than
# one of the three.

judges = {"words": by_words, "embeddings": by_embeddings, "own classifier": by_classifier}
missed = [((judge.labels != clean) & (given != clean)).sum() for judge in judges.values()]
harmed = [((judge.labels != clean) & (given == clean)).sum() for judge in judges.values()]
n_given = (given != clean).sum()

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
names = ["as given", *judges]
ax.barh(names, [n_given, *missed], color="#0072B2", label="wrong from the start")
ax.barh(names, [0, *harmed], left=[n_given, *missed], color="#D55E00", hatch="//", label="made wrong")
ax.invert_yaxis()
ax.set(xlabel="wrong labels", title=f"Of {n_given} wrong labels, {min(missed)} to {max(missed)} are missed")
ax.legend(loc="lower right")
plt.show()
