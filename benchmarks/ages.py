"""List the committed results that are older than the code they measure.

    python -m benchmarks.ages
    python -m benchmarks.ages --of correction

A result is older if a module that it measures (made.json names files and folders) has other code now than
at the commit of the result: docstrings and comments do not count. `--of` asks only about results that measure
a folder. The exit code is the number of such results, at most 100. A result that measures nothing of this
code, but an earlier version that others are compared with, has no age.
"""

import argparse
import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from benchmarks.made import MADE, ROOT, ask_git

RESULTS = ROOT / "benchmarks/results"
SOURCE = "src/subsvms"


@cache
def list_changed(commit, measured):
    """Return the measured files whose code is not that of a commit, as paths below the source."""
    if not measured:
        return []
    folders = [f":(glob){SOURCE}/{name}{'' if name.endswith('.py') else '/**'}" for name in measured]
    names = ask_git("diff", "--no-renames", "--name-only", commit, "--", *folders).splitlines()
    return [
        name for name in names
        if name.endswith(".py") and not name.endswith("/__main__.py")  # which only starts the program
        and has_other_code(commit, name)
    ]  # fmt: skip


@cache
def has_other_code(commit, name):
    """Say whether a file has other statements now; a file that is new or gone has."""
    now, shown = (
        ROOT / name,
        subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True),
    )
    if shown.returncode or not now.exists():
        return True
    return list_code(shown.stdout) != list_code(now.read_bytes())


def list_code(text):
    """Return a module's code without docstrings and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and is_text(body[0].value):
            del body[0]
    return ast.dump(tree)


def is_text(node):
    """Say whether an expression is a constant text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def find_ages(noted):
    """Return for each result the files that changed since; None where its commit is not known here."""
    ages = {}
    for name, entry in noted.items():
        try:
            ages[name] = list_changed(entry["commit"].split(",")[0], tuple(entry["measures"]))
        except subprocess.CalledProcessError:
            ages[name] = None
    return ages


def main():
    """Print a line for each result, the old ones with what changed, and how many there are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", help="only results that measure this folder")
    chosen = parser.parse_args().of
    noted = json.loads((RESULTS / MADE).read_text(encoding="utf-8"))
    noted = {name: entry for name, entry in noted.items() if chosen is None or chosen in entry["measures"]}
    ages = find_ages(noted)
    old = [name for name, changed in ages.items() if changed is None or changed]
    for name, changed in ages.items():
        made = f"{noted[name]['version']} at {noted[name]['commit']}"
        if changed is None:
            print(f"old  {name}: {made}, which is not in this repository")
        elif changed:
            print(f"old  {name}: {made}; {len(changed)} modules changed, as {Path(changed[0]).name}")
        else:
            print(f"new  {name}: {made}")
    print(f"{len(old)} of {len(ages)} results are older than the code they measure.")
    sys.exit(min(len(old), 100))


if __name__ == "__main__":
    main()
