"""The rules of axe-core for pages that everybody can use."""

from axe_playwright_python.sync_playwright import Axe

RULES = Axe()


def find_faults(page):
    """Return the rules that a page breaks, each with the elements that break it."""
    found = RULES.run(page).response["violations"]
    return [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found]
