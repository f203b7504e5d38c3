"""Fail if pip-audit found a vulnerability of an installed package; only warn where it could not look.

python -m pip_audit --format json --output found.json; python .ci/vulnerabilities.py found.json
"""

import json
import sys
from pathlib import Path


def read_findings(path: Path) -> list[str] | None:
    """Return a line for each vulnerability that was found; None if nobody answered."""
    try:
        packages = json.loads(path.read_text(encoding="utf-8"))["dependencies"]
    except (OSError, ValueError, KeyError):
        return None
    return [
        f"{one['name']} {one['version']}: {found['id']}; mended in: {', '.join(found['fix_versions'])}"
        for one in packages
        for found in one.get("vulns", ())
    ]


if __name__ == "__main__":
    lines = read_findings(Path(sys.argv[1]))
    if lines is None:
        print("::warning::Vulnerabilities could not be looked up: the registry did not answer.")
    else:
        print("\n".join(lines) or "No known vulnerability.")
    sys.exit(bool(lines))
