"""Names of the files in the folder of a run: it removes only these, and those that its record names."""

import re

from subsvms._atomic import SUFFIX

RECORD, REPORT, ISSUES, LISTED = "run.json", "report.html", "issues.parquet", "issues.csv"
SCORES = "scores.parquet"
TABLE, DENSE, SPARSE = "table.parquet", "features.npy", "features.npz"  # a data frame, and its embeddings
JUDGED = "pred_probs.npy"  # probabilities that judged it
ANSWERED = ".answers"  # in the name of a table that was made for a run from answers of several people
PEOPLE, ASK_NEXT = "people.csv", "ask-next.csv"
DECISIONS = "decisions.sqlite"
DECISION_FILES = tuple(DECISIONS + more for more in ("", "-wal", "-shm", "-journal"))  # SQLite's, too
PAGE_SECRET = "page-secret"  # from which the addresses of pages about the run are made
AUDIT = "audit.json"
AUDIT_FILES = (AUDIT, AUDIT + ".lock", PAGE_SECRET)

# In parts: folders, and files that only the work needs.
UNFINISHED = ".unfinished"  # after the name of a folder that a later run can continue
FOLDERS = ("corrected", "issues", "scores", "done", "votes", "input")
CORRECTED, ISSUE_PARTS, SCORE_PARTS, DONE, VOTES, STAGED = FOLDERS
DOUBTFUL = "most-doubtful.parquet"  # in ISSUE_PARTS
FINAL = "final"  # the table after a review, also a folder in parts
FINAL_PARTS = re.compile(r"part-\d+\.parquet")  # in it
PLAN = ".plan.json"
TOKEN = ".token"  # identifies the run that may write here
DRAWN, FETCHED = "drawn.json", "fetched.parquet"  # of the first pass
SEPARATOR = "separator.txt"  # in STAGED
SHARED = "shared-"  # prefix of files that only workers need

TEMPORARY = r"\.[\w.-]+-\w{8}" + re.escape(SUFFIX)  # of `write_whole`
SCRAP = re.compile(
    "|".join((
        *map(re.escape, (PLAN, TOKEN, DRAWN, FETCHED, f"{STAGED}/{SEPARATOR}")),
        rf"{SHARED}[0-9a-f]{{16}}\.pickle",
        rf"{DONE}/\d+\.(json|parquet)",
        rf"{VOTES}/\d+\.npz",
        rf"{STAGED}/\d+\.parquet",
        rf"(({CORRECTED}|{ISSUE_PARTS}|{SCORE_PARTS}|{DONE}|{VOTES})/)?\.[\w.-]+-[0-9a-f]{{16}}",
        TEMPORARY,
    ))
)  # fmt: skip
UNDER_WAY = re.compile(  # all that is written before a record names the files, or a folder has its name
    "|".join((
        *map(re.escape, (RECORD, REPORT, ISSUES, LISTED, SCORES, TABLE, DENSE, SPARSE, JUDGED)),
        re.escape(f"{ISSUE_PARTS}/{DOUBTFUL}"),
        rf"{CORRECTED}\.[\w.]+",
        rf"[^/]+{re.escape(ANSWERED)}\.[\w.]+|{re.escape(PEOPLE)}|{re.escape(ASK_NEXT)}",
        rf"({CORRECTED}|{ISSUE_PARTS}|{SCORE_PARTS})/part-\d+\.parquet",
        FINAL_PARTS.pattern,
        SCRAP.pattern,
    ))
)  # fmt: skip
