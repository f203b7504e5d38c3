"""
A check for a pipeline
======================

``subsvms check`` ends with an exit code, so that a build fails when somebody adds wrong labels. Here it
runs as in a pipeline, on a table to which fifty rows are added.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

# %%
# Accept the table as it is
# -------------------------
# The baseline is a text file for git: it knows each row by what it holds.

folder = Path(tempfile.mkdtemp())
frame = load_breast_cancer(as_frame=True).frame.sample(frac=1.0, random_state=0)
known, new = frame[:-50], frame[-50:]


def check(table, *options):
    """Write the table, run the check, and return its exit code and what it prints."""
    table.to_csv(folder / "cells.csv", index=False)
    words = [sys.executable, "-m", "subsvms", "check", "cells.csv", "--label", "target"]
    words += ["--baseline", "labels.lock", *options]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


code, printed = check(known, "--accept")
print(printed)

# %%
# Add rows
# --------
# Fifty rows are added, first as they are, then with ten wrong labels among them. A check compares how
# many of the new rows the votes contradict with how many they should, if new rows are like known ones.

wrong = new.copy()
wrong.iloc[:10, -1] = 1 - wrong.iloc[:10, -1]
found = {}
for name, added in {"right labels": new, "ten wrong labels": wrong}.items():
    code, printed = check(pd.concat([known, added]), "--format", "json")
    found[name] = json.loads(printed)
    print(f"{name}: exit code {code}, probability by chance {found[name]['baseline']['chance']:.2g}")

# %%
# It fails if chance explains so many contradicted rows in fewer than one commit of a hundred. So clean
# commits pass, and one wrong label may pass as well: on most tables some clean rows look wrong.

figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
places = np.arange(len(found))
for shift, which, color in ((-0.2, "known", "#0072B2"), (0.2, "new", "#D55E00")):
    share = [one["baseline"][f"contradicted_{which}"] / one["baseline"][which] for one in found.values()]
    bars = ax.barh(places + shift, share, 0.38, color=color, label=f"{which} rows")
    ax.bar_label(bars, [f"{one:.0%}" for one in share], padding=3)
ax.set(yticks=places, yticklabels=[f"{name}: {one['outcome']}" for name, one in found.items()])
ax.set(xlabel="labels that the votes contradict", title="New rows are compared with known ones")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.invert_yaxis()
ax.margins(x=0.12)
ax.legend(loc="center right")
plt.show()

# %%
# What failed is named, the worst first, so that somebody can look:

print(
    pd.DataFrame(found["ten wrong labels"]["suspicious"])[
        ["row", "given", "suggested", "label_quality"]
    ].head()
)
