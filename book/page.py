"""What _config.yml cannot say: where the reader is, figures that move, nothing foreign, folds called by their words."""

import hashlib
import itertools
import logging
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

from attn_course.figures import figure_scripts, scripts_on_request, shared_script, without_comments
from attn_course.figures.press_train import TRAINER
from attn_course.figures.smollm2_reader import smollm2_scripts

from . import ROOT, chapters, number_of

IN_NOTEBOOK = re.compile(r"(?<=\.ipynb):(\d+)(\d{4})$")

PARTS = [ROOT / name for name in ("book/progress.js", "book/guesses.js", "attn_course/exercises.js")]  # of all pages


def name_place(record):
    """Let a warning name the file that is written by hand, and the cell; MyST-NB counts line 5 of cell 3 as 30006."""
    if isinstance(getattr(record, "location", None), str):
        record.location = IN_NOTEBOOK.sub(
            lambda counted: f", cell {counted[1]}, line {int(counted[2]) - 1}", record.location
        )
    return True


def say_where(app, pagename, templatename, context, doctree):
    """Let each chapter begin with a line that says where the reader is."""
    if number := number_of(pagename):
        context["body"] = f'<p class="attn-where">Chapter {number} of {len(chapters())}</p>' + context["body"]


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


class Cells(SphinxTransform):
    """Mark cells that show nothing at first, questions above guesses, and captions: paragraphs below cells in italics.

    A style that asks what stands next to a thing would move it where a page is painted while it comes.
    """

    default_priority = 400

    def apply(self, **kwargs):
        for cell in filter(lambda node: "cell" in node["classes"], self.document.findall(nodes.container)):
            place = cell.parent.index(cell)
            above, below = (cell.parent.children[max(at, 0) : at + 1] for at in (place - 1, place + 1))
            folds = {"tag_hide-cell", "tag_hide-output"} & {*cell["classes"]}
            if folds or not any("cell_output" in part["classes"] for part in cell.children):
                cell["classes"].append("attn-silent")
            for question in above if 'data-explorable="guess"' in cell.astext() else []:
                question["classes"].append("attn-question")
            ends = below[0].children[:1] + below[0].children[-1:] if below else []
            if ends and isinstance(below[0], nodes.paragraph) and {*map(type, ends)} == {nodes.emphasis}:
                below[0]["classes"].append("attn-figure-caption")


def page_scripts():
    """Return by its place in _static the text of each script of the pages, made light."""
    scripts = {
        **{f"figures/{name}.js": text for name, text in figure_scripts().items()},
        "explorables.js": shared_script(*PARTS),
        "trainer.js": TRAINER,
    }
    return {name: without_comments(text) for name, text in scripts.items()}


def write_assets(app, exception):
    """Put beside the pages the explorables, and what some of these bring on request."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for name, text in itertools.chain(page_scripts().items(), scripts_on_request(), smollm2_scripts(without_comments)):
        static.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        static.joinpath(name).write_text(text, encoding="utf-8")


def bring_figures(app, exception):
    """Let each page load, before the script that brings them to life, those figures that it shows."""
    if exception or app.builder.format != "html":
        return
    scripts = page_scripts()
    for page in Path(app.outdir, "chapters").glob("*.html"):
        html = page.read_text(encoding="utf-8")
        for name in sorted(set(re.findall(r'data-explorable="(\w+)"', html))):
            version = hashlib.sha256(scripts[f"figures/{name}.js"].encode()).hexdigest()[:8]
            tag = rf'<script defer src="\1figures/{name}.js?v={version}"></script>\n'
            html = re.sub(r'(?=<script defer[^>]* src="([^"]*)page-later\.js)', tag, html, count=1)
        page.write_text(html, encoding="utf-8")


def setup(app):
    for handler in logging.getLogger("sphinx").handlers:
        handler.addFilter(name_place)
    app.add_transform(Cells)
    app.connect("html-page-context", say_where)
    app.connect("html-page-context", drop_foreign_scripts, priority=900)
    app.connect("html-page-context", unname_folds)
    app.connect("build-finished", write_assets)
    app.connect("build-finished", bring_figures, priority=950)  # after the pages were made light
    app.add_js_file("explorables.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
