"""The pages of results, and the changelog: copied into the site, where their links lead to other pages.

In the repository a page of docs/ links to ../benchmarks/results/scale.md. In the site the copies are in
generated/, with the same paths below it.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
COPIED = (
    "benchmarks/results/*", "experiments/RESULTS.md", "experiments/results/*.*",
    "CHANGELOG.md", "CONTRIBUTING.md",
)  # fmt: skip


def copy_results(app: Sphinx) -> None:
    """Copy the pages, and the tables and pictures that they link to."""
    target = Path(app.srcdir) / "generated"
    for pattern in COPIED:
        for path in ROOT.glob(pattern):
            copy = target / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)


def tidy_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links between docs/ and the rest of the repository lead to the copies, and back; tidy code."""
    folders = r"\]\(\.\./((?:benchmarks|experiments)/|[A-Z]+\.md)"
    source[0] = re.sub(folders, r"](/generated/\1", source[0])
    source[0] = source[0].replace("](docs/", "](/") if name.startswith("generated/") else source[0]
    # doctest needs an empty line at the end of a block, readers do not
    source[0] = re.sub(r"(```python\n>>> .*?)\n\n```", r"\1\n```", source[0], flags=re.DOTALL)


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before pages are looked for, and tidy each as it is read."""
    app.connect("builder-inited", copy_results)
    app.connect("source-read", tidy_source)
    return {"parallel_read_safe": True}
