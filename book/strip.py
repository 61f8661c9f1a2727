"""The head of each page: the loom, with what a chapter explains lit, and the strip of all chapters."""

from functools import cache
from html import escape

import nbformat

from . import name_of, number_of
from .loom_mark import PARTS, WHOLE, loom_mark, loom_run


@cache
def strip_in(path):
    """Return the short name of a notebook in the strip."""
    return nbformat.read(path, as_version=4).metadata.get("strip", {}).get("name")


def show_where(app, pagename, templatename, context, doctree):
    """Let each chapter begin with the loom and the course as a strip, the present one marked, and the book with the
    loom at work and the names of its parts, each of which leads to its chapter."""
    chapters = sorted(filter(number_of, app.env.found_docs))
    if app.builder.name != "html" or pagename not in ["chapters/index", *chapters]:
        return

    def part(name):
        return f'<li><a href="{context["pathto"](name)}">{PARTS[name_of(name)][0]}</a></li>'

    def box(name):
        title = escape(app.env.titles[name].astext())
        here = ' aria-current="page"' if name == pagename else ""
        address, number = context["pathto"](name), number_of(name)
        text = strip_in(app.env.doc2path(name)) or title
        return f'<li><a href="{address}" data-chapter="{number}" title="{title}"{here}>{text}</a></li>'

    if pagename in chapters:
        loom, label, links = loom_mark(name_of(pagename)), "You are here", map(box, chapters)
    else:
        explained = [name for name in chapters if name_of(name) in PARTS and PARTS[name_of(name)] != WHOLE]
        loom, label, links = loom_run(), "The parts of the picture", map(part, explained)
    strip = f'<nav class="attn-strip" aria-label="{label}"><ol>{"".join(links)}</ol></nav>'
    context["body"] = f'<div class="attn-loom-head">{loom}</div>{strip}' + context["body"]


def setup(app):
    app.connect("html-page-context", show_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
