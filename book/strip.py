"""The strip at the head of each chapter: you are here."""

import re
from functools import cache
from html import escape

import nbformat

SWITCH = (
    '<div class="attn-switch"><label class="attn-done attn-show-all"><input type="checkbox" autocomplete="off"> '
    "Show all results without asking me first</label></div>"
)

GUESS = re.compile(r'<div data-guess="[^"]*"></div>')


@cache
def strip_in(path):
    """Return the short name of a notebook in the strip."""
    return nbformat.read(path, as_version=4).metadata.get("strip", {}).get("name")


def show_where(app, pagename, templatename, context, doctree):
    """Let each chapter begin with the course as a strip, the present one marked. The switch of guesses stands below the
    first one, and on another page where it has room for it."""
    context["body"] = context.get("body", "").replace('<div class="attn-switch"></div>', SWITCH)
    chapters = [name for name in sorted(app.env.found_docs) if re.match(r"chapters/\d\d_", name)]
    if app.builder.name != "html" or pagename not in chapters:
        return

    def box(name):
        title = escape(app.env.titles[name].astext())
        here = ' aria-current="page"' if name == pagename else ""
        address, number = context["pathto"](name), int(name[9:11])
        text = strip_in(app.env.doc2path(name)) or title
        return f'<li><a href="{address}" data-chapter="{number}" title="{title}"{here}>{text}</a></li>'

    strip = f'<nav class="attn-strip" aria-label="You are here"><ol>{"".join(map(box, chapters))}</ol></nav>'
    context["body"] = strip + GUESS.sub(rf"\g<0>{SWITCH}", context["body"], count=1)


def setup(app):
    app.connect("html-page-context", show_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
