#!/usr/bin/env bash
# A line that a cell prints in two pieces, in a page of MyST-NB 1.4.0 with `nb_merge_streams`.
#
# Guessed: the pieces of a stream are joined as nbclient's `coalesce_streams` and JupyterLab join them, end to end.
# Seen: the spaces at the end of a piece go, and each piece begins a line of its own: "loss 1.386" is told as two lines.
# A kernel that is not asked to flush sends what is printed by its clock, cut at any place: on a busy machine the same
# notebook gives another page.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet myst-nb==1.4.0 sphinx==8.2.3 nbclient==0.10.2 ipykernel==6.30.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from sphinx.application import Sphinx

folder = Path(sys.argv[1]) / "book"
folder.mkdir()
code = "print('loss', end=' ', flush=True)\nprint(1.386)"
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# One"), nbformat.v4.new_code_cell(code)])
nbformat.write(notebook, folder / "index.ipynb")
Sphinx(
    *[folder, None, folder / "html", folder / "doctrees", "html"],
    confoverrides={"extensions": ["myst_nb"], "nb_merge_streams": True},
    status=None,
).build()
page = (folder / "html" / "index.html").read_text(encoding="utf-8")
told = re.search(r'class="output stream.*?<span></span>(.*?)</pre>', page, re.DOTALL)[1]
NotebookClient(notebook, coalesce_streams=True).execute()
joined = notebook.cells[1].outputs[0].text
print(f"nbclient: {joined!r}; the page: {told!r}")
assert (joined, told) == ("loss 1.386\n", "loss\n1.386\n")
PYTHON
