"""The names of the book's pages, and how axe judges one."""

import yaml

from book import build, chapter, number_of

_TOC = yaml.safe_load((build.ROOT / "_toc.yml").read_text(encoding="utf-8"))
_FILES = [entry["file"] for part in _TOC["parts"] for entry in part["chapters"]]
TITLE = f"{_TOC['root']}.html"
CHAPTERS = [f"{name}.html" for name in _FILES if number_of(name)]
PAGES = [TITLE, *(f"{name}.html" for name in [*_FILES, "search"])]
AXE = {  # this rule is experimental, and off, in the axe on board
    "preload": False,
    "resultTypes": ["violations"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


def page_of(name):
    """Return where the book has the page of a chapter, such as "scaling"."""
    return f"chapters/{chapter(name).stem}.html"
