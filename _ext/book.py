"""The book's Sphinx extension: its scripts and styles, figures that move, nothing from elsewhere."""

import re
import shutil
from pathlib import Path

from attn.explorables import book_script, read_source

HERE = Path(__file__).parent


def configure(app, config):
    config.html_theme_options["navbar_persistent"] = []  # the theme's second search bar


def pdf_of(app):
    return Path(app.srcdir, "_build", "attention-worked-out.pdf")


def prepare_pdf(app):
    """Offer the PDF where there is one, and let the one-page form, from which it is made, show every kind of node.

    Sphinx falls back on the HTML of a node only as long as no extension registers another one for that form.
    """
    if app.builder.name == "html" and pdf_of(app).exists():
        app.tags.add("pdf")  # the title page offers it
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = {**handlers["html"], **handlers.get("singlehtml", {})}


def drop_foreign_scripts(app, pagename, templatename, context, doctree):
    """Leave out Thebe, which would load its program from elsewhere, and what nothing here uses: widget states, sphinx-design."""

    def is_foreign(script):
        name = str(getattr(script, "filename", None) or script)
        kind = getattr(script, "attributes", {}).get("type", "")
        return re.search("thebe|design", name) or "widget-state" in kind

    for kind in ("script_files", "css_files"):
        context[kind] = [script for script in context[kind] if not is_foreign(script)]


def write_assets(app, exception):
    """Put the course's scripts and styles beside the pages."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    static.mkdir(exist_ok=True)
    static.joinpath("explorables.js").write_text(book_script(), encoding="utf-8")
    static.joinpath("explorables.css").write_text(read_source("explorables.css"), encoding="utf-8")
    for name in ("book.css", "book.js", "progress.js"):
        shutil.copyfile(HERE / name, static / name)
    if "pdf" in app.tags:
        shutil.copy(pdf_of(app), app.outdir)


def setup(app):
    app.connect("config-inited", configure)
    app.connect("builder-inited", prepare_pdf)
    app.connect("html-page-context", drop_foreign_scripts, priority=900)
    app.connect("build-finished", write_assets)
    for name in ("explorables.css", "book.css"):
        app.add_css_file(name)
    app.add_js_file("book.js", priority=100)
    app.add_js_file("explorables.js", loading_method="defer")
    app.add_js_file("progress.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
