"""The names of the book's pages, how one is opened to see whether it moves, and how axe judges one."""

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
SHIFTED = """
window.shifts = [];
new PerformanceObserver((list) => list.getEntries().forEach(({ value, sources }) => {
  window.shifts.push([value, sources.map(({ node }) => (node?.outerHTML ?? node?.textContent)?.slice(0, 200))]);
})).observe({ type: "layout-shift", buffered: true });
"""
PAINTED = """() => document.readyState === "interactive" && [...document.images].every((image) => image.complete)
  && performance.getEntriesByName("first-contentful-paint").length"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def page_of(name):
    """Return where the book has the page of a chapter, such as "scaling"."""
    return f"chapters/{chapter(name).stem}.html"


def read_before_the_programs_come(visit, address, width, **options):
    """Open a page whose figures come only after it was painted; it knows by how much its content has moved then."""
    page, held = visit("about:blank", width=width, ask=True, **options), []
    page.requested.clear()
    page.add_init_script(SHIFTED)
    page.route("**/page-later.js*", lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED)
    page.evaluate(FRAMES)
    held[0].continue_()
    page.unroute("**/page-later.js*")  # another time they come as they do
    page.wait_for_load_state("load")
    page.evaluate(FRAMES)
    return page


def shifts(page):
    """Return what has moved in such a page, and by how much, where all together is more than a page may move."""
    moved = page.evaluate("shifts")
    return moved if sum(by for by, _ in moved) > 0.02 else []
