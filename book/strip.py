"""The strip at the head of each chapter: you are here."""

import re
from functools import cache
from html import escape

import nbformat


@cache
def strip_in(path):
    """Return what a notebook says of its place in the strip: its short name, and its step if it is of the machine."""
    return nbformat.read(path, as_version=4).metadata.get("strip", {})


def show_where(app, pagename, templatename, context, doctree):
    """Let each chapter begin with the course as a strip, the present one lit, and room for the switch of guesses.

    Its first row is the machine in the order in which a sentence meets it; the other chapters look at the whole.
    """
    chapters = [name for name in sorted(app.env.found_docs) if re.match(r"chapters/\d\d_", name)]
    if app.builder.name != "html" or pagename not in chapters:
        return

    def place(name):
        return strip_in(app.env.doc2path(name))

    def box(name):
        title = escape(app.env.titles[name].astext())
        here = ' aria-current="page"' if name == pagename else ""
        address, number = context["pathto"](name), int(name[9:11])
        text = place(name).get("name", title)
        return f'<li><a href="{address}" data-chapter="{number}" title="{title}"{here}>{text}</a></li>'

    machine = sorted((name for name in chapters if "step" in place(name)), key=lambda name: place(name)["step"])
    rows = ["".join(map(box, row)) for row in (machine, [name for name in chapters if name not in machine])]
    strip = "".join(f"<ol>{row}</ol>" for row in rows)
    switch = '<div class="attn-switch"></div>' if "data-guess" in context["body"] else ""
    context["body"] = f'<nav class="attn-strip" aria-label="You are here">{strip}</nav>{switch}{context["body"]}'


def setup(app):
    app.connect("html-page-context", show_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
