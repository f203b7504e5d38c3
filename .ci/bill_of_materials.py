"""Print a bill of materials of the environment that runs this, as CycloneDX JSON.

plain/bin/python .ci/bill_of_materials.py subsvms > bill-of-materials.json
"""

import json
import re
import sys
from importlib.metadata import Distribution, distribution, distributions


def describe(one: Distribution) -> dict:
    """Return what CycloneDX calls a component: a package, its version, address and licence."""
    name = re.sub(r"[-_.]+", "-", one.name).lower()
    address = f"pkg:pypi/{name}@{one.version}"
    found = {"type": "library", "bom-ref": address, "name": name, "version": one.version, "purl": address}
    licence = one.metadata.get("License-Expression")
    return found | ({"licenses": [{"expression": licence}]} if licence else {})


def list_materials(name: str) -> dict:
    """Return the bill of a package and all others that are installed beside it, but for pip."""
    own = describe(distribution(name))
    others = {one["bom-ref"]: one for one in map(describe, distributions()) if one["name"] != "pip"}
    others.pop(own["bom-ref"])
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": [others[key] for key in sorted(others)],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(list_materials(sys.argv[1]), indent=1))
