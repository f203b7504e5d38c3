"""The paper's data: 13 LIBSVM sets by name, checked against hashes and against Table 1.

A file is read from a local folder, as `a1a`, `a1a.xz`, `a1a.bz2` or `a1a.gz`, or fetched from the LIBSVM data
page if no folder is given. Hashes are of the decompressed text. Those in `expected/files.csv` are of copies
of that page's files; in w2a and w5a.t equal rows may be in another order than on the page itself.

Features are scaled as in the paper: splice to [-1, 1] and svmguide1 to [0, 1] by the range of the training
file; the others are used as they are (0 and 1). mushrooms has one file, and the paper's split of it is not
published, so a stratified split with the paper's counts is drawn, from seed 0.
"""

import bz2
import csv
import gzip
import hashlib
import io
import lzma
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

EXPECTED = Path(__file__).parent / "expected"
PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
DECOMPRESS = {"": bytes, ".xz": lzma.decompress, ".bz2": bz2.decompress, ".gz": gzip.decompress}
SCALED = {"splice": (-1, 1), "svmguide1": (0, 1)}


class DataError(ValueError):
    """Says in one sentence which data file is missing or wrong, and what to do."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set; class 1 is the smaller class of the training labels."""

    name: str
    X_train: sparse.csr_array | np.ndarray
    y_train: np.ndarray  # (n_train,), 0 or 1: the clean labels
    X_test: sparse.csr_array | np.ndarray
    y_test: np.ndarray  # (n_test,)

    def __eq__(self, other):
        return isinstance(other, Dataset) and self.name == other.name

    def __hash__(self):
        return hash(self.name)  # so that kernel matrices are shared, with test labels or without


def read_expected(name):
    """Return the lines of a file in `expected/` as dictionaries."""
    with (EXPECTED / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


TABLE_1 = {
    line["data"]: {key: int(line[key]) for key in line if key != "data"} for line in read_expected("table1")
}
HASHES = {line["file"]: line["sha256"] for line in read_expected("files")}
NAMES = tuple(TABLE_1)


def read_text(file, folder=None):
    """Return the text of a data file, from the folder or from the LIBSVM page, and check its hash."""
    if folder is None:
        return fetch_text(file)
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"The data folder {str(folder)!r} does not exist: give another with --data-dir.")
    for suffix, decompress in DECOMPRESS.items():
        path = folder / (file + suffix)
        if path.exists():
            try:
                text = decompress(path.read_bytes())
            except (OSError, EOFError, lzma.LZMAError) as error:
                raise DataError(
                    f"The data file {path.name} cannot be decompressed ({error}): download it again."
                ) from None
            found = hashlib.sha256(text).hexdigest()
            if found != HASHES[file]:
                raise DataError(
                    f"The data file {path.name} is not the expected one: its text has the SHA-256 {found}, "
                    f"but should have {HASHES[file]}; download it again."
                )
            return text
    raise DataError(
        f"The data file {file} is missing in {str(folder)!r}: put it there, compressed or not, or leave out "
        "--data-dir to download it."
    )


def fetch_text(file):
    """Return the text of a file from the LIBSVM data page, and keep it in the user's cache."""
    try:
        import pooch
    except ImportError:
        raise DataError(
            "Downloading data needs pooch: pip install 'subsvms[experiments]', or give --data-dir."
        ) from None
    try:
        path = pooch.retrieve(
            PAGE + file, known_hash=f"sha256:{HASHES[file]}", path=pooch.os_cache("subsvms")
        )
    except ValueError as error:  # pooch names both hashes
        raise DataError(f"The data file {file} on the LIBSVM page is not the expected one: {error}") from None
    except Exception as error:  # anything can go wrong on the network
        raise DataError(
            f"The data file {file} could not be fetched from the LIBSVM page ({error}): download it by hand "
            "and give its folder with --data-dir."
        ) from None
    return Path(path).read_bytes()


@lru_cache(maxsize=2)
def load(name, folder=None):
    """Return a data set by its name, scaled and checked against Table 1 of the paper."""
    if name not in TABLE_1:
        raise DataError(f"The data must be one of {', '.join(NAMES)}; got {name!r}.")
    n_features = TABLE_1[name]["n_features"]

    def read(file):
        X, y = load_svmlight_file(io.BytesIO(read_text(file, folder)), n_features=n_features)
        return sparse.csr_array(X), y

    X, y = read(name)
    if name == "mushrooms":
        sizes = {"train_size": TABLE_1[name]["n_train"], "test_size": TABLE_1[name]["n_test"]}
        X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0, **sizes)
    else:
        X_test, y_test = read(f"{name}.t")
    if name in SCALED:
        scaler = MinMaxScaler(SCALED[name]).fit(X.toarray())
        X, X_test = scaler.transform(X.toarray()), scaler.transform(X_test.toarray())
    labels, sizes = np.unique(y, return_counts=True)
    smaller = labels[np.argmin(sizes)]
    found = Dataset(name, X, (y == smaller).astype(int), X_test, (y_test == smaller).astype(int))
    check_counts(found)
    return found


def check_counts(data):
    """Raise an error unless the sizes are those of Table 1."""
    test = int(data.y_test.sum())
    counts = {
        "n_features": data.X_train.shape[1],
        "n_train": len(data.y_train),
        "n_train_smaller": int(data.y_train.sum()),
        "n_test": len(data.y_test),
        "n_test_smaller": min(test, len(data.y_test) - test),
    }
    if counts != TABLE_1[data.name]:
        raise DataError(
            f"The counts of {data.name} differ from Table 1: expected {TABLE_1[data.name]}, found {counts}."
        )
