"""
A step in a pipeline, tuned by grid search
==========================================

`subsvms.LabelCorrector` is a step for imbalanced-learn's pipeline: it corrects the labels
that a model is trained on, and leaves alone those that it is tested on. ``GridSearchCV`` decides
whether that helps, and how.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from imblearn.pipeline import Pipeline
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from subsvms import LabelCorrector, adversaries

# %%
# A training set with wrong labels
# --------------------------------
# The test set keeps its true labels. Of the training labels more than a quarter are wrong: benign
# tumours that are labelled malignant.

X, clean = load_breast_cancer(return_X_y=True)
X, X_test, clean, y_test = train_test_split(X, clean, test_size=0.4, stratify=clean, random_state=0)
y = adversaries.directed_flips(clean, rho=0.75, alpha=1.0, random_state=0).labels

# %%
# The pipeline
# ------------
# scikit-learn's own pipeline has no steps that change ``y``; imbalanced-learn's has. The grid
# compares no correction at all (``"passthrough"``) with labels that are fixed, and with rows that
# are dropped, for models with few and with many neighbours. The correction does not depend on the
# model, so with ``memory`` it is made once for each fold.

cache = TemporaryDirectory()
pipeline = Pipeline(
    [
        ("correct", LabelCorrector(random_state=0)),
        ("scale", StandardScaler()),
        ("model", KNeighborsClassifier()),
    ],
    memory=cache.name,
)
neighbours = [1, 5, 25]
grid = [
    {"correct": ["passthrough"], "model__n_neighbors": neighbours},
    {"correct__action": ["fix", "drop"], "model__n_neighbors": neighbours},
]
search = GridSearchCV(pipeline, grid, scoring="balanced_accuracy", cv=5).fit(X, y)
search.best_params_

# %%
# Does a search on wrong labels find the right model?
# ---------------------------------------------------
# Cross-validation scores a model by labels that are partly wrong, so its scores are too low. The
# *order* of the candidates is what counts. Below are the scores that the search saw, and those on
# the clean test set, which it did not see.

results = search.cv_results_
tested = [
    balanced_accuracy_score(y_test, clone(pipeline).set_params(**candidate).fit(X, y).predict(X_test))
    for candidate in results["params"]
]
cache.cleanup()

figure, axes = plt.subplots(2, 1, figsize=(6, 6.6), sharex=True, layout="constrained")
actions = np.array([candidate.get("correct__action", "no correction") for candidate in results["params"]])
styles = {"no correction": ("#767676", "s:"), "drop": ("#0072B2", "^--"), "fix": ("#D55E00", "o-")}
for ax, scores in zip(axes, (results["mean_test_score"], np.array(tested)), strict=True):
    for action, (colour, style) in styles.items():
        ax.plot(neighbours, scores[actions == action], style, color=colour, label=action)
    chosen = search.best_params_["model__n_neighbors"], scores[search.best_index_]
    ax.plot(*chosen, "o", color="black", fillstyle="none", markersize=16, label="chosen by the search")
    ax.set(ylabel="balanced accuracy", xscale="log", xticks=neighbours, xticklabels=neighbours)
    ax.minorticks_off()
    ax.grid(color="0.9")
axes[0].set_title("What the search saw: wrong labels, low scores")
axes[1].set(title="On clean test data: correction helps every model", xlabel="neighbours of the model")
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()

# %%
# The search chooses well between correction and no correction, because that difference is large. It
# cannot see small ones: the number of neighbours that it takes is not the best one on clean data.
