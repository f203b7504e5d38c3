"""Some of the paper's data sets, scaled as the paper's are."""

import lzma

from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

FEATURES = {"a1a": 123, "splice": 60, "mushrooms": 112, "svmguide1": 4, "w1a": 300}
SCALED = {"splice": (-1, 1), "svmguide1": (0, 1)}


def read(folder, name):
    X, y = load_svmlight_file(lzma.open(folder / f"{name}.xz"), n_features=FEATURES[name.split(".")[0]])
    return X, y


def load(folder, name):
    """Return training and test data, scaled by the range of the training file if the paper's are."""
    if name == "mushrooms":
        X, y = read(folder, name)
        X, X_test, y, y_test = train_test_split(X, y, train_size=6093, stratify=y, random_state=0)
    else:
        (X, y), (X_test, y_test) = read(folder, name), read(folder, name + ".t")
    if name in SCALED:
        scaler = MinMaxScaler(SCALED[name]).fit(X.toarray())
        X, X_test = scaler.transform(X.toarray()), scaler.transform(X_test.toarray())
    return X, y, X_test, y_test
