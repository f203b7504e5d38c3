"""Show that two versions of the code give the same bits: hash all that they find and write.

    python -m benchmarks.same_bits --write before.json       # with the one version
    python -m benchmarks.same_bits --against before.json     # with the other; --only WORD for some cases

Each case is a correction, a run of the command line, an audit or a model. It uses public names and commands
only, so that any version can be asked. Its parts (labels, quality, confidence, reasons, files, ...) are
hashed one by one, numbers as they are, to the last bit. What may differ between versions is left out:
`report.html`, the notes and, in `run.json`, everything but what was found. Tables: the paper's
(SUBSVMS_DATA; their cases are skipped without it), scikit-learn's, and made ones with text, dates,
categories and missing values.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from experiments import datasets
from subsvms import (
    SubSVMClassifier,
    adversaries,
    audit,
    certificates,
    correct_labels,
    correct_table,
    save,
    scale,
)

LOADERS = {"breast_cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris, "digits": load_digits}
MOST = 1200  # rows of a table
FOUND = (
    "error_rate",
    "rows",
    "labelled",
    "flagged",
    "changed",
    "held_back",
    "classes",
    "moves",
    "groups",
    "noise_matrix",
)
WORDS = ["good", "bad", "slow", "quick", "cheap", "dear", "loud", "quiet", "late", "broken"]


def digest(value):
    """Return a hash of an array, a frame or plain values."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()[:16]
    if sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, pd.DataFrame):
        parts = [[str(name), digest(value[name].to_numpy())] for name in value.columns]
        return digest(json.dumps(parts).encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return digest(f"{value.dtype.str} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    return digest(repr(np.asarray(value, dtype=object).tolist()).encode())


def flip(y, rate, seed):
    """Return labels of which a share is replaced by another class."""
    return adversaries.uniform_flips(y, error_rate=rate, random_state=seed).labels


def hash_correction(found):
    """Return the hashes of what a correction says about each row."""
    names = (
        "labels changed flagged label_quality confidence vote_share withstands sample_weight reason action"
    )
    hashed = {name: digest(getattr(found, name)) for name in names.split()}
    frame = found.to_frame(witnesses=found.witnesses is not None)
    noise = (found.noise.matrix, found.noise.error_rate)
    return hashed | {"noise": digest([np.asarray(part).tolist() for part in noise]), "frame": digest(frame)}


def make_mixed(seed, n_rows=500, n_classes=2, missing=0.0):
    """Return a frame with columns of every kind and noisy labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    days = np.datetime64("2021-03-01") + (y * 200 + rng.integers(0, 400, n_rows))
    size = rng.normal(50 + 12 * y, 8).round(3)
    frame = pd.DataFrame({
        "id": [f"row {i}" for i in range(n_rows)],
        "size": np.where(rng.random(n_rows) < 0.05, np.nan, size),
        "colour": np.where(rng.random(n_rows) < 0.7, np.array(["red", "green", "blue", "grey"])[y], "white"),
        "day": days.astype(str),
        "review": [" ".join(rng.choice(WORDS, 7)) + " " + WORDS[k] * 2 for k in y],
        "count": rng.poisson(3 + 4 * y),
        "who": rng.choice(["ann", "bob", "eve"], n_rows),
    })  # fmt: skip
    label = np.array(["no", "yes", "maybe", "never"])[flip(y, 0.12, seed)].astype(object)
    label[rng.random(n_rows) < missing] = None
    return frame.assign(label=label)


def correct_numbers():
    """Give the cases that correct arrays: names, and functions without parameters."""
    for name, load in LOADERS.items():
        X, y = load(return_X_y=True)
        for noise in ("clean", "uniform", "directed"):
            given = y if noise == "clean" else flip(y, 0.15, 1)
            if noise == "directed":
                given = np.where((y == 1) & (np.random.default_rng(2).random(len(y)) < 0.3), 0, y)
            yield (
                f"sklearn {name} {noise}",
                lambda X=X, y=given: hash_correction(correct_labels(X, y, random_state=0)),
            )
    if "SUBSVMS_DATA" in os.environ:
        for name in datasets.NAMES:
            for noise in ("clean", "uniform"):
                yield f"paper {name} {noise}", lambda name=name, noise=noise: correct_paper(name, noise)
    X, y = load_breast_cancer(return_X_y=True)
    given = flip(y, 0.2, 3)
    verified, missing = np.full(len(y), None, dtype=object), given.astype(object)
    verified[:60], missing[::7] = y[:60], None
    p = cross_val_predict(
        LogisticRegression(max_iter=5000), (X - X.mean(0)) / X.std(0), given, method="predict_proba"
    )
    settings = {
        "majority": {"rule": "majority"},
        "drop": {"action": "drop"},
        "weight": {"action": "weight"},
        "review": {"action": "review"},
        "capped": {"max_error_rate": 0.05},
        "confident": {"min_confidence": 0.9},
        "verified": {"verified": verified},
        "paper": {"estimator": SubSVMClassifier()},
        "linear": {"estimator": SubSVMClassifier(kernel="linear", n_estimators=300)},
        "logistic": {"estimator": LogisticRegression(max_iter=50)},
        "two judges": {
            "estimator": [LogisticRegression(max_iter=50), RandomForestClassifier(n_estimators=30)]
        },
    }
    for name, how in settings.items():
        Z = (X - X.mean(0)) / X.std(0)
        yield (
            f"settings {name}",
            lambda how=how, Z=Z: hash_correction(correct_labels(Z, given, random_state=0, **how)),
        )
    yield "settings missing", lambda: hash_correction(correct_labels(X, missing, random_state=0))
    yield (
        "settings probabilities",
        lambda: hash_correction(correct_labels(p, given, estimator="probabilities")),
    )
    large = make_classification(
        26_000, 12, n_informative=6, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    yield (
        "settings pool",
        lambda: hash_correction(correct_labels(large[0], flip(large[1], 0.1, 0), random_state=0)),
    )


def correct_paper(name, noise):
    """Correct a table of the paper, or some rows of it."""
    data = datasets.load(name, os.environ["SUBSVMS_DATA"])
    step = -(-len(data.y_train) // MOST)  # some files are sorted by class
    X, y = data.X_train[::step], data.y_train[::step]
    return hash_correction(correct_labels(X, y if noise == "clean" else flip(y, 0.15, 4), random_state=0))


def correct_frames():
    """Give the cases that correct data frames."""
    frame = make_mixed(0)
    verified = frame["label"].where(np.arange(len(frame)) < 40)
    settings = {
        "plain": {},
        "by": {"by": ["who"], "id_column": "id"},
        "exclude": {"exclude": ["review", "who"]},
        "only": {"only": ["size", "day"]},
        "verified": {"verified": verified, "action": "weight"},
        "majority": {"rule": "majority", "n_estimators": 200, "subsample_size": "log"},
        "capped": {"max_error_rate": 0.04},
        "seed": {"random_state": 7},
    }
    for name, how in settings.items():
        yield f"frame {name}", lambda how=how: hash_correction(correct_table(frame, "label", **how))
    for n_classes in (3, 4):
        more = make_mixed(n_classes, n_classes=n_classes, missing=0.05)
        yield (
            f"frame {n_classes} classes",
            lambda m=more: hash_correction(correct_table(m, "label", fill_missing=True)),
        )
    yield (
        "frame large",
        lambda: hash_correction(correct_table(make_mixed(5, 22_000), "label", exclude=["review"])),
    )


def command(*arguments):
    """Run the command line; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "subsvms", *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"subsvms {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def hash_folder(folder):
    """Return the hashes of the files of a run; tables are hashed by content, others by their bytes."""
    hashed = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            hashed[name] = digest(pd.read_parquet(path))
        elif path.name == "run.json":
            record = json.loads(path.read_text(encoding="utf-8"))
            found = record.get("result", record)
            hashed[name] = digest({key: found[key] for key in FOUND if key in found} or sorted(found))
        elif path.is_file() and path.suffix in (".csv", ".tsv", ".jsonl", ".json", ".txt", ".svm"):
            hashed[name] = digest(path.read_bytes())
    return hashed


def run_commands(folder):
    """Give the cases that run the command line, each in a folder of its own."""
    frame = make_mixed(1, missing=0.04)
    writers = {
        "csv": lambda path: frame.to_csv(path, index=False),
        "tsv": lambda path: frame.to_csv(path, index=False, sep="\t"),
        "jsonl": lambda path: frame.to_json(path, orient="records", lines=True),
        "json": lambda path: frame.to_json(path, orient="records"),
        "parquet": lambda path: frame.to_parquet(path),
        "xlsx": lambda path: frame.to_excel(path, index=False),
        "dta": lambda path: frame.assign(label=frame["label"].fillna("")).to_stata(path, write_index=False),
    }
    for ending, write in writers.items():
        yield (
            f"command {ending}",
            lambda e=ending, w=write: correct_file(folder / e, f"t.{e}", w, "--seed", 3),
        )
    with_options = {
        "drop": ("--action", "drop", "--id", "id"),
        "weight": ("--action", "weight", "--by", "who"),
        "filled": ("--fill-missing", "--max-error-rate", "0.05"),
        "svms": ("--svms", "150", "--subset-size", "log", "--kernel", "linear"),
        "local": ("--engine", "local", "--by", "who"),
        "local capped": ("--engine", "local", "--max-error-rate", "0.04", "--action", "drop"),
        "dask": ("--engine", "dask", "--id", "id"),
    }
    for name, options in with_options.items():
        kind = "parquet" if "--engine" in options else "csv"
        yield (
            f"command {name}",
            lambda n=name, k=kind, o=options: correct_file(folder / n, f"t.{k}", writers[k], *o),
        )
    yield (
        "command text in parts",
        lambda: correct_file(folder / "text", "t.csv", writers["csv"], "--engine", "local"),
    )
    if "SUBSVMS_DATA" in os.environ:
        yield (
            "command svmlight",
            lambda: correct_file(
                folder / "svmlight",
                "t.svm",
                lambda path: path.write_bytes(datasets.read_text("splice", os.environ["SUBSVMS_DATA"])),
                label="label",
            ),
        )
    yield "command decisions", lambda: decide(folder / "decisions", frame)
    yield "command audit", lambda: answer(folder / "audit", frame)


def correct_file(folder, name, write, *options, label="label"):
    """Correct a file, save the model and predict with it; return the hashes of all that was written."""
    folder.mkdir()
    write(folder / name)
    place, model = folder / "run", folder / "model.safetensors"
    command("correct", folder / name, "--label", label, "--output", place, "--save-model", model, *options)
    hashed = hash_folder(place) | {"model": digest(model.read_bytes())}
    predicted = folder / "predicted.csv"
    command("predict", model, folder / name, "--output", predicted)
    return hashed | {"predicted": digest(predicted.read_bytes())}


def decide(folder, frame):
    """Import decisions, apply them, and correct again with them."""
    folder.mkdir()
    table, place = folder / "t.csv", folder / "run"
    frame.to_csv(table, index=False)
    command("correct", table, "--label", "label", "--output", place)
    issues = pd.read_parquet(place / "issues.parquet")
    rows = issues["row"].to_numpy()
    chosen = np.where(np.arange(len(rows)) % 3 == 0, issues["given_label"], issues["suggested_label"])
    decided = pd.DataFrame({"row": rows, "label": chosen}).dropna().head(12)
    decided.to_csv(folder / "decided.csv", index=False)
    command("export", place, "--import", folder / "decided.csv", "--who", "ann")
    for kind in ("jsonl", "label-studio"):
        command("export", place, "--to", kind)
    command("apply", place, "--undecided", "suggestion", "--output", folder / "applied.csv")
    command("correct", table, "--label", "label", "--decisions", place, "--output", folder / "again")
    exported = {
        path.name: digest(path.read_bytes())
        for path in sorted(place.glob("*.json*"))
        if path.name != "run.json"
    }
    return (
        exported | {"applied": digest((folder / "applied.csv").read_bytes())} | hash_folder(folder / "again")
    )


def answer(folder, frame):
    """Answer an audit with the label without its noise, as far as the columns say it, and apply it."""
    folder.mkdir()
    table, place, file = folder / "t.csv", folder / "run", folder / "questions.csv"
    frame.to_csv(table, index=False)
    command("correct", table, "--label", "label", "--output", place)
    asked = []
    while True:
        try:
            command("audit", place, "--answers", 20, "--questions", file, "--force")
        except RuntimeError as error:
            if "all questions are answered" in str(error):
                break
            raise
        questions = pd.read_csv(file)
        asked += questions["row"].tolist()
        questions["answer"] = np.where(questions["size"].fillna(50) > 56, "yes", "no")
        questions.to_csv(file, index=False)
        command("audit", place, "--import", file, "--who", "ann")
    command("apply", place, "--output", folder / "applied.csv")
    return {"asked": digest(asked), "applied": digest((folder / "applied.csv").read_bytes())}


def use_others(folder):
    """Give the cases of audits, certificates, models and batches in Python."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.min(0)) / np.ptp(X, axis=0)
    given = flip(y, 0.15, 6)

    def ask():
        found = correct_labels(X, given, random_state=0)
        done = audit.run_audit(audit.Audit(found, 50, random_state=0), lambda row: y[row])
        return {"labels": digest(done.apply(found).labels), "claim": digest(str(done.claim).encode())}

    def fit():
        model = SubSVMClassifier(n_estimators=200, random_state=0).fit(X, given)
        save(model, folder / "m.safetensors")
        return {
            "votes": digest(model.predict_proba(X)),
            "labels": digest(model.predict(X)),
            "decision": digest(model.decision_function(X)),
            "file": digest((folder / "m.safetensors").read_bytes()),
        }

    def certify():
        from subsvms.ensemble import LinearCommittee

        committee = LinearCommittee(random_state=0).fit(X, given)
        proof = certificates.certify(committee, X[:100])
        return {"predicted": digest(committee.predict(X)), "withstands": digest(proof.withstands)}

    def batches():
        import pyarrow as pa

        table = pa.Table.from_pandas(make_mixed(9, 900), preserve_index=False)
        corrector = scale.fit_batches(lambda: table.to_batches(max_chunksize=200), "label")
        parts = list(scale.correct_batches(corrector, table.to_batches(max_chunksize=333)))
        return {"corrected": digest(pa.Table.from_batches(parts).to_pandas())}

    yield "other audit", ask
    yield "other classifier", fit
    yield "other certificates", certify
    yield "other batches", batches


def list_cases(folder):
    """Give all cases."""
    yield from correct_numbers()
    yield from correct_frames()
    yield from use_others(folder)
    yield from run_commands(folder)


def main():
    """Write the hashes, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    before = json.loads(arguments.against.read_text()) if arguments.against else {}
    hashed, differ = {}, 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, do in list_cases(Path(folder)):
            if arguments.only not in name:
                continue
            began = time.perf_counter()
            try:
                hashed[name] = do()
            except Exception as error:  # the case differs, others go on
                hashed[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
            other = sorted(
                part
                for part in {*hashed[name], *before.get(name, {})}
                if hashed[name].get(part) != before.get(name, {}).get(part)
            )
            said = "" if not arguments.against else "equal" if not other else f"DIFFERENT: {', '.join(other)}"
            differ += bool(arguments.against and other)
            print(
                f"{name}: {time.perf_counter() - began:.1f} s {said} {hashed[name].get('error', '')}",
                flush=True,
            )
    if arguments.write:
        arguments.write.write_text(json.dumps(hashed, indent=1) + "\n")
    if arguments.against:
        print(f"{len(hashed)} cases, {differ} of them different")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
