"""Every link inside the built site leads somewhere, and no page needs a network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "build/docs"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SITE.is_dir(), reason="first: python -m sphinx -W docs build/docs"),
]


class Page(HTMLParser):
    """The places in a page that others may link to, its links, and what the browser loads to show it."""

    def __init__(self, path):
        super().__init__()
        self.path, self.anchors, self.links, self.loaded = path, {"", "top"}, set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values.get("id"), values.get("name")}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in {"img", "script", "source", "iframe"} and "src" in values:
            self.loaded.add(values["src"])
        if tag == "link" and values.get("rel") != "canonical":
            self.loaded.add(values["href"])


@pytest.fixture(scope="module")
def pages():
    found = {path: Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts}
    assert len(found) > 100
    return found


def find_broken(page, pages):
    broken = []
    for link in page.links | page.loaded:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        there = target in pages and unquote(parts.fragment) in pages[target].anchors
        if not (there or (target.is_file() and not parts.fragment)):
            broken.append(link)
    return broken


def test_every_link_inside_the_site_leads_somewhere(pages):
    broken = {str(path.relative_to(SITE)): find_broken(page, pages) for path, page in pages.items()}
    assert not {path: links for path, links in broken.items() if links}


def test_a_broken_link_would_be_found(pages, tmp_path):
    (tmp_path / "other.html").write_text("<h1 id='here'>Other</h1>")
    (tmp_path / "page.html").write_text("".join(f"<a href='{link}'>x</a>" for link in (
        "other.html#here", "page.html", "#", "other.html#gone", "gone.html", "https://example.org"
    )))  # fmt: skip
    made = {path: Page(path) for path in tmp_path.glob("*.html")}
    assert sorted(find_broken(made[tmp_path / "page.html"], made)) == ["gone.html", "other.html#gone"]


def test_no_page_loads_anything_from_a_network(pages):
    outside = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert not outside
    address = re.compile(r"(?:url\(|@import)[\s'\"]*(?:https?:)?//")
    styles = [path for path in SITE.rglob("*.css") if address.search(path.read_text())]
    assert not styles


def test_every_page_of_the_docs_is_in_the_site():
    sources = Path(__file__).parents[2] / "docs"
    missing = [path.name for path in sources.glob("*.md") if not (SITE / f"{path.stem}.html").is_file()]
    assert not missing
