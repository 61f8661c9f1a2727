"""Copies of the chapters for a class, without solutions, and with checks that do not show what they expect:

    .venv/bin/python -m book.hand_out FOLDER

The code of a check is packed, so that nobody reads the answer by accident; whoever wants to can unpack it.
"""

import base64
import shutil
import sys
import zlib
from pathlib import Path

import nbformat

from . import ROOT, chapters
from .execute import ChapterFailed, exercises, read

PACKED = """# Run this cell after yours to check the answer.
import base64, zlib
exec(zlib.decompress(base64.b64decode("{}")))"""


def without_answers(notebook):
    """Take the solutions out of a chapter, and pack the code of its checks. Changes the notebook and returns it."""
    for answer, check, _ in exercises(notebook):
        del notebook.cells[notebook.cells.index(answer) + 2]  # the solution
        packed = base64.b64encode(zlib.compress(check.source.encode())).decode()
        check.source, check.outputs = PACKED.format(packed), []
    return notebook


def main(folder):
    if folder.exists():
        sys.exit(f"{folder} is there already: name a folder that is not, so that nothing in it is lost.")
    try:
        copies = {path.name: without_answers(read(path)) for path in chapters()}
    except ChapterFailed as error:
        sys.exit(str(error))
    folder.mkdir(parents=True)
    for page in (ROOT / "chapters").glob("*.md"):
        shutil.copy(page, folder)
    for name, notebook in copies.items():
        nbformat.write(notebook, folder / name)
    print(f"{len(copies)} chapters without solutions: {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
