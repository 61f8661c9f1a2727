"""Each chapter with what its last execution showed and found: `make book` leaves it in _build/executed."""

import json
import re
from html import escape
from pathlib import Path

import nbformat

GUESS = re.compile("^<!-- guess\n.*?^-->", re.DOTALL | re.MULTILINE)  # book/guesses.py says what is in it


def show_outputs(app, docname, source):
    """Put into a chapter, as Sphinx reads it, its outputs and, in the place of each guess's comment, its answer."""
    path = Path(app.srcdir, "_build", "executed", f"{Path(docname).name}.ipynb")
    if not path.exists():
        return
    app.env.note_dependency(str(path))
    notebook, executed = nbformat.reads(source[0], as_version=4), nbformat.read(path, as_version=4)
    notebook.metadata.language_info = executed.metadata.language_info
    pairs = [[cell for cell in cells if cell.cell_type == "code"] for cells in (notebook.cells, executed.cells)]
    for cell, run in zip(*pairs, strict=True):
        cell.outputs = run.outputs
    answers = (cell.metadata["guess"] for cell in executed.cells if "guess" in cell.metadata)
    for cell in (cell for cell in notebook.cells if cell.cell_type == "markdown"):
        cell.source = GUESS.sub(lambda _: f'<div data-guess="{escape(json.dumps(next(answers)))}"></div>', cell.source)
    source[0] = nbformat.writes(notebook)


def setup(app):
    app.connect("source-read", show_outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
