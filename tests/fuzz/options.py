"""Options of the commands, drawn at random: most of them valid, some of them not."""

OURS = "precious.txt"  # a file that no command may touch
VALID = {  # by command: each option and its values; none for a flag
    "correct": {
        "--rule": "posterior majority", "--kernel": "rbf linear poly", "--action": "fix drop weight review",
        "--subset-size": "log log_squared 2 9", "--seed": "0 7 2147483648", "--threads": "1 2",
        "--max-error-rate": "0 0.1 0.5 1", "--min-confidence": "0 0.5 0.9 1", "--missing-label": "NA ? maybe",
        "--merge-labels": "", "--no-merge-labels": "", "--numeric-classes": "", "--fill-missing": "",
        "--dry-run": "", "--json": "", "--quiet": "",
    },
    "local": {"--pool-size": "100 1000"},
    "predict": {"--threads": "1 2", "--force": ""},
    "corrupt": {
        "--attack": "uniform directed boundary surest greedy region", "--error-rate": "0 0.1 0.3",
        "--rho": "0.2", "--alpha": "0.5 1", "--clean-column": "clean", "--seed": "1",
    },
    "apply": {"--undecided": "keep suggestion", "--force": ""},
    "export": {"--force": ""},
    "import": {"--who": "Ann Łukasz"},
    "questions": {"--seed": "3", "--level": "0.9", "--force": ""},
    "answers": {"--who": "Ann Łukasz"},
    "check": {
        "--fail-above": "0 0.05 1", "--format": "text json junit github", "--output": "said.txt",
        "--seed": "1", "--id": "id",
    },
    "score": {"--metric": "accuracy balanced_accuracy f1", "--hide": "size", "--seed": "1"},
}  # fmt: skip
INVALID = {
    "correct": {
        "--label": ["", "nothing", "size", "\x1b[2J", "y\udcff", "x" * 300],
        "--rule": ["", "median", "Posterior"],
        "--action": ["delete", "\x1b[2J"],
        "--max-error-rate": ["-0.1", "1.5", "nan", "inf", "x"],
        "--min-confidence": ["-1", "2", "nan"],
        "--svms": ["0", "-1", "1.5", "x"],
        "--subset-size": ["0", "1", "1000000", "half", "-3", "²", "9" * 30],
        "--kernel": ["sigmoid", "precomputed"],
        "--seed": ["-1", "99999999999", "x"],
        "--threads": ["0", "-2"],
        "--by": ["nothing", "y", "size\udcff"],
        "--only": ["nothing", "y", "label"],
        "--keep": ["nothing", "y", "size\udcff"],
        "--id": ["nothing", "y", "\x1b[2J"],
        "--exclude": ["nothing", "\x1b[2J"],
        "--features": ["missing.npy", "t.csv", "."],
        "--pred-probs": ["missing.npy", "t.csv", ".", "", "day", "size", "y", OURS],
        "--decisions": ["", ".", "t.csv", OURS],
        "--from": ["", ".", "t.csv", OURS],
        "--annotator": ["nothing", "y", "size", "colour", "\x1b[2J"],
        "--annotator-column": ["nothing", "y", "colour"],
        "--groups": ["nothing", "y", "colour", "day"],
        "--sheet": ["", "nothing", "\x1b[2J"],
        "--query": [
            "",
            "select",
            "drop table loans",
            "select 1; select 2",
            "select * from nothing",
            "\udcff",
        ],
        "--encoding": "undefined punycode idna rot13 utf-16 utf-7".split() + ["no such", "", "cp\udcff"],
        "--separator": ["", ",,", "\n", '"', "x", "\x00", "€"],
        "--format": ["csv", "tsv", "parquet", "feather", "jsonl", "svmlight", "excel", ""],
        "--engine": ["spark", "", "memory", "local"],
        "--scheduler": ["nowhere"],
        "--pool-size": ["1", "100", "-5"],
        "--early-exit": ["0.4", "1", "nan", "0.9"],
        "--missing-label": ["\udcff", "", "no"],
        "--output": ["", ".", "no/such/out", "t.csv", "/dev/null", "x" * 300, "out\udcff", OURS, "/proc/x"],
        "--save-model": ["", ".", "no/such/model", "t.csv", "/dev/full", "x" * 300, "out", "out/model"],
        "--nonsense": ["1"],
    },
    "predict": {
        "--features": ["missing.npy"],
        "--output": ["", ".", "x.exe", "t.csv", "out.svm", "no/such.csv", "out.dta", "out.xlsx", "out.lock"],
    },
    "corrupt": {
        "--attack": ["class-conditional", "nothing"],
        "--matrix": ["0.9 0.1; 0.2 0.8", "1", "", "nan nan; nan nan", "a"],
        "--class": ["yes", "nothing"],
        "--error-rate": ["-1", "1", "nan"],
        "--rho": ["1", "-1"],
        "--clean-column": ["y", "size", "", "x" * 300],
        "--output": ["", ".", "x.exe", "t.csv", "no/such.csv", OURS],
    },
    "apply": {
        "--undecided": ["", "drop"],
        "--output": ["", ".", "x.exe", "t.csv", "t.subsvms/run.json", "no/such.csv"],
    },
    "export": {
        "--to": ["", "csv"],
        "--output": ["", ".", "no/such.json", "t.csv", "t.subsvms/decisions.sqlite"],
    },
    "import": {
        "--who": ["", "x" * 100, "\x1b[2J", "\udcff"],
        "--to": ["jsonl"],
        "--import": ["", ".", "t.csv", OURS, "missing.csv"],
    },
    "questions": {
        "--questions": ["", ".", "no/such.csv", "t.csv", "x.exe", "t.subsvms/decisions.sqlite", "x.lock"],
        "--answers": ["9", "10000", "x"],
        "--until": ["0.02", "0", "2"],
        "--level": ["0.4", "1", "nan"],
        "--import": ["", "."],
    },
    "answers": {
        "--who": ["", "x" * 100, "\x1b[2J", "\udcff"],
        "--import": ["", ".", "t.csv", OURS, "missing.csv"],
        "--answers": ["11"],
    },
    "check": {
        "--baseline": ["", ".", "t.csv", "no/b.lock", "x" * 300, OURS, "b.answers.sqlite", "/dev/null"],
        "--decisions": ["", ".", "t.csv"],
        "--output": ["", ".", "no/such", "t.csv", "/dev/full", "x.lock", "b.lock"],
        "--fail-above": ["-1", "2", "nan", "x"],
        "--format": ["", "xml"],
        "--label": ["", "nothing", "size"],
    },
    "score": {
        "--questions": ["", ".", "no/such.csv", "t.csv", "x.exe", "t.answers.sqlite", "x-wal"],
        "--prediction": ["", "nothing", "y", "size"],
        "--label": ["", "nothing", "size", "pred"],
        "--positive": ["", "nothing", "yes"],
        "--hide": ["nothing", "pred"],
        "--import": ["", ".", "t.csv", "missing.csv"],
        "--metric": ["", "auc"],
    },
}
FILES = ["missing.csv", ".", "", OURS, "/dev/null", "/dev/zero", "*.nothing", "t", "x" * 300, "-x"]
RARE = {"--dry-run": 0.3, "--json": 0.7, "--missing-label": 0.3}  # drawn less often than the others


def draw_valid(rng, command, *, most=3):
    options, words = VALID[command], []
    for option in rng.sample(list(options), min(rng.randrange(most + 1), len(options))):
        if rng.random() < RARE.get(option, 1.0):
            values = options[option].split()
            words += [option, rng.choice(values)] if values else [option]
    return words


def draw_invalid(rng, command):
    """Return one option that is wrong, or right only for some tables."""
    option = rng.choice(list(INVALID[command]))
    return [option, rng.choice(INVALID[command][option])]
