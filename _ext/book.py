"""The book's Sphinx extension: local MathJax, coloured symbols, figures that move, nothing from elsewhere."""

import re
import shutil
from importlib.metadata import files
from pathlib import Path

from docutils import nodes
from sphinx.ext import mathjax

from attn.explorables import book_script, read_source

HERE = Path(__file__).parent
MATHJAX = re.compile(r"mathjax/(tex-chtml\.js|input/tex/extensions/html\.js|output/chtml/fonts/woff-v2/.*\.woff)$")
SYMBOL = re.compile(
    r"(?<![\\A-Za-z_^])"  # not inside a command or a word, and not an index
    r"(?P<symbol>(?:W_\{?(?P<weight>[QKV])\}?)|(?P<letter>[QKVqkv]))"
    r"(?![A-Za-z])"
)
ROLES = {"q": "query", "k": "key", "v": "value"}
BRACED_TEXT = re.compile(r"(\\(?:text|operatorname|mathrm|begin|end)\s*\{[^{}]*\})")


def colour_symbols(latex):
    """Mark queries, keys and values and their matrices in a formula, so that the style sheet can colour them.

    >>> colour_symbols(r"Q = X W_Q, d_k")
    '\\\\class{attn-query}{Q} = X \\\\class{attn-query}{W_Q}, d_k'
    """

    def mark(match):
        role = ROLES[(match["weight"] or match["letter"]).lower()]
        return rf"\class{{attn-{role}}}{{{match['symbol']}}}"

    parts = BRACED_TEXT.split(latex)
    parts[::2] = [SYMBOL.sub(mark, part) for part in parts[::2]]
    return "".join(parts)


def coloured(visit):
    """Return a visitor of formulas that colours them on their way out: the search index has them as written."""

    def visit_coloured(translator, node):
        copy = node.deepcopy()
        copy[:] = [nodes.Text(colour_symbols(node.astext()))]
        visit(translator, copy)

    return visit_coloured


def configure(app, config):
    config.mathjax_path = "mathjax/tex-chtml.js"
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
    """Put the course's scripts and styles and the part of MathJax that it needs beside the pages."""
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
    for file in files("sphinx-mathjax-offline"):
        if match := MATHJAX.search(file.as_posix()):
            target = static / "mathjax" / match[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


def setup(app):
    app.setup_extension("sphinx.ext.mathjax")
    registry = app.registry
    registry.html_inline_math_renderers["mathjax"] = coloured(mathjax.html_visit_math), None
    registry.html_block_math_renderers["mathjax"] = coloured(mathjax.html_visit_displaymath), None
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
