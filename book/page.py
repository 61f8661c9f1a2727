"""What _config.yml cannot say: figures that move, the PDF, nothing from elsewhere, folds called by their words."""

import logging
import os
import re
import shutil
from html import escape
from pathlib import Path

from attn.figures import book_script
from attn.figures.head_guess import weights_script
from attn.figures.novel_reader import model_scripts

from .build import PDF, ROOT, SOURCE

IN_NOTEBOOK = re.compile(r"(?<=\.ipynb):(\d+)(\d{4})$")

STRIP = {
    1: "words",
    2: "q, k, v",
    3: "softmax",
    4: "scale",
    5: "mask",
    6: "values",
    7: "heads",
    8: "positions",
    9: "a layer",
    10: "parameters",
    11: "cost",
    12: "learning",
    13: "two spaces",
    14: "many layers",
    15: "a reader",
    16: "in use",
}
THE_MACHINE = [1, 8, 2, 3, 4, 5, 6, 7, 9]  # in the order in which a sentence meets them; the others look at the whole

PARTS = ["progress", "guesses", "exercises"]  # of the script of all pages, behind the explorables


def name_place(record):
    """Let a warning name the file that is written by hand, and the cell; MyST-NB counts line 5 of cell 3 as 30006."""
    if isinstance(getattr(record, "location", None), str):
        record.location = IN_NOTEBOOK.sub(
            lambda counted: f", cell {counted[1]}, line {int(counted[2]) - 1}",
            record.location.replace(f"{SOURCE}{os.sep}", f"{ROOT}{os.sep}"),
        )
    return True


def prepare_pdf(app):
    """Offer the PDF where there is one, and let the one-page form, from which it is made, show every kind of node.

    Sphinx falls back on the HTML of a node only as long as no extension registers another one for that form.
    """
    if app.builder.name == "html" and PDF.exists():
        app.tags.add("pdf")  # the title page offers it
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = {**handlers["html"], **handlers.get("singlehtml", {})}


def drop_foreign_scripts(app, pagename, templatename, context, doctree):
    """Leave out Thebe, which would load its program from elsewhere, and the unused: widget states, sphinx-design."""

    def is_foreign(script):
        name = str(getattr(script, "filename", None) or script)
        kind = getattr(script, "attributes", {}).get("type", "")
        return re.search("thebe|design", name) or "widget-state" in kind

    for kind in ("script_files", "css_files"):
        context[kind] = [script for script in context[kind] if not is_foreign(script)]


def unname_folds(app, pagename, templatename, context, doctree):
    """Let a folded cell be called what stands on it, "Show the code", and not by MyST-NB's hidden name."""
    context["body"] = context.get("body", "").replace(' aria-label="Toggle hidden content"', "")


def chapters_of(app):
    """Return the pages of the chapters by their numbers."""
    return {int(name[9:11]): name for name in sorted(app.env.found_docs) if re.match(r"chapters/\d\d_", name)}


def show_where(app, pagename, templatename, context, doctree):
    """Let each chapter begin with the course as a strip, the present one lit, and room for the switch of guesses."""
    chapters = chapters_of(app)
    if app.builder.name != "html" or pagename not in chapters.values():
        return

    def box(number):
        title = escape(app.env.titles[chapters[number]].astext())
        here = ' aria-current="page"' if chapters[number] == pagename else ""
        address = context["pathto"](chapters[number])
        name = STRIP.get(number, title)
        return f'<li><a href="{address}" data-chapter="{number}" title="{title}"{here}>{name}</a></li>'

    machine = [number for number in THE_MACHINE if number in chapters]
    rows = ["".join(map(box, row)) for row in (machine, [number for number in chapters if number not in machine])]
    strip = "".join(f"<ol>{row}</ol>" for row in rows)
    switch = '<div class="attn-switch"></div>' if "data-guess" in context["body"] else ""
    context["body"] = f'<nav class="attn-strip" aria-label="You are here">{strip}</nav>{switch}{context["body"]}'


def write_assets(app, exception):
    """Put beside the pages the explorables, the model of one of them, the chapters to download, and the PDF."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    static.mkdir(exist_ok=True)
    parts = [Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8") for name in PARTS]
    for name, text in [
        ("explorables.js", book_script("(() => {", *parts, "})();")),
        weights_script(),
        *model_scripts(),
    ]:
        static.joinpath(name).write_text(text, encoding="utf-8")
    sources = Path(app.outdir, "_sources")
    for copy in sources.glob("*/*"):
        shutil.copy(ROOT / copy.relative_to(sources), copy)  # as in the repository, and so without answers
    if "pdf" in app.tags:
        shutil.copy(PDF, app.outdir)


def setup(app):
    for handler in logging.getLogger("sphinx").handlers:
        handler.addFilter(name_place)
    app.connect("builder-inited", prepare_pdf)
    app.connect("html-page-context", drop_foreign_scripts, priority=900)
    app.connect("html-page-context", unname_folds)
    app.connect("html-page-context", show_where)
    app.connect("build-finished", write_assets)
    app.add_js_file("explorables.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
