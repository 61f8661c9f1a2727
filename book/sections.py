"""What the book's search reads: each section with its prose, its captions, and what stands on its figures' buttons.

Sphinx's own search knows of a word only on which page it stands, and fetches its excerpts, which no browser does from a
folder. Here a script holds all sections, and `search.js` finds the best of them.
"""

import json
import re
from pathlib import Path

from docutils import nodes

from attn_course.figures import FOLDER

PLACE = re.compile(r'<section [^>]*?id="([^"]+)"|data-explorable="(\w+)"')
BUTTON = re.compile(r'button\("attn-button", [`"]([^`"$]{3,})[`"]')
SCRIPT = '<script src="_static/sections.js"></script>'


def own_parts(section):
    return [part for part in section.children if not isinstance(part, (nodes.section, nodes.title))]


def prose_of(section):
    """Return the text of a section without its sections, its cells, its formulas and other code."""
    told = [
        text.parent
        for part in own_parts(section)
        for text in part.findall(nodes.Text)
        if not any(
            isinstance(above, (nodes.container, nodes.literal_block, nodes.math_block, nodes.raw))
            for above in parents(text)
        )
    ]
    text = " ".join(dict.fromkeys(block.astext() for block in map(block_of, told)))
    return " ".join(re.sub(r"\\text\{(\w+)\}", r"\1", text).split())


def parents(node):
    while node := node.parent:
        yield node


def block_of(node):
    """Return the paragraph, or what else, that a piece of text stands in."""
    return next((one for one in (node, *parents(node)) if not isinstance(one, nodes.Inline)), node)


def buttons_of(html):
    """Return what stands on the buttons of the figures of each section, by its id."""
    found, here = {}, ""
    for place, figure in PLACE.findall(html):
        here = place or here
        if figure and (script := FOLDER / f"{figure}.js").exists():
            found.setdefault(here, []).extend(BUTTON.findall(script.read_text(encoding="utf-8")))
    return {place: " ".join(dict.fromkeys(told)) for place, told in found.items()}


def sections_of(docname, doctree, html):
    """Yield page, anchor, title, prose, and buttons and formulas of each section; the first stands for its page."""
    buttons = buttons_of(html)
    for section in doctree.findall(nodes.section):
        own = section["ids"][0]
        anchor = "" if isinstance(section.parent, nodes.document) else f"#{own}"
        formulas = [math.astext() for part in own_parts(section) for math in part.findall(nodes.math_block)]
        beside = " ".join([buttons.get(own, ""), *formulas])
        yield [docname, anchor, section.next_node(nodes.title).astext(), prose_of(section), beside]


def write_sections(app, exception):
    if exception or app.builder.format != "html":
        return
    out, rows = Path(app.outdir), []
    for docname in sorted(app.env.found_docs):
        html = (out / f"{docname}.html").read_text(encoding="utf-8")
        rows += sections_of(docname, app.env.get_doctree(docname), html)
    found = Path(__file__).with_name("search.js").read_text(encoding="utf-8")
    told = json.dumps(rows, ensure_ascii=False)
    (out / "_static" / "sections.js").write_text(f"const SECTIONS = {told};\n{found}", encoding="utf-8")
    page = out / "search.html"
    html = page.read_text(encoding="utf-8")
    if SCRIPT not in html:
        page.write_text(html.replace("</head>", f"{SCRIPT}\n</head>", 1), encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_sections, priority=950)  # when pages are as they stay
    return {"parallel_read_safe": True, "parallel_write_safe": True}
