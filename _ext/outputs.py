"""Each chapter with the outputs of its last execution, figures and all: `make book` leaves them in _build/executed."""

from pathlib import Path

import nbformat


def show_outputs(app, docname, source):
    path = Path(app.srcdir, "_build", "executed", f"{Path(docname).name}.ipynb")
    if not path.exists():
        return
    app.env.note_dependency(str(path))
    notebook, executed = nbformat.reads(source[0], as_version=4), nbformat.read(path, as_version=4)
    notebook.metadata.language_info = executed.metadata.language_info
    pairs = [[cell for cell in cells if cell.cell_type == "code"] for cells in (notebook.cells, executed.cells)]
    for cell, run in zip(*pairs, strict=True):
        cell.outputs = run.outputs
    source[0] = nbformat.writes(notebook)


def setup(app):
    app.connect("source-read", show_outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
