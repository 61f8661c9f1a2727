"""The chapters with the solutions in place of the dots, whole and without their side paths.

`python -m tests.variants` writes them to _build, and `pytest --nbval _build/solved _build/spine` runs them.
"""

import re
import shutil
from pathlib import Path

import nbformat
import yaml

from book import build, chapters, spine
from book.execute import exercises, read

SOLVED, SPINE = build.BUILD / "solved", build.BUILD / "spine"
ANSWERS = yaml.safe_load(Path(__file__).with_name("answers.yml").read_text(encoding="utf-8"))
NAME = re.compile(r"^### (.*)$", re.MULTILINE)
TRIALS = """import warnings
from IPython.utils.capture import capture_output

def said(answer):
    with capture_output() as out, warnings.catch_warnings(action="ignore"):
        exec({check!r}, {{**globals(), "answer": answer}})
    return out.outputs[-1].data["text/plain"] if out.outputs else out.stdout.strip()

for given in {right!r}:
    assert said(eval(given, {{**globals(), "answer": globals().get("solution")}})) == "Right.", given
for given in {wrong!r}:
    assert said(eval(given, {{**globals(), "answer": globals().get("solution")}})).startswith("Not yet"), given"""


def names(notebook):
    """Return the names of the exercises: the third-level headings below "Exercises"."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return NAME.findall("\n".join(sources).partition("## Exercises\n")[2])


def solve(notebook, answers):
    """Put each solution in place of the dots, "Right." as what each check prints, and then trials of other answers.

    `answers` holds, by the name of the exercise, the code of right ones and of wrong ones. Changes the notebook and
    returns it.
    """
    for number, (name, (answer, check, code)) in enumerate(zip(names(notebook), exercises(notebook), strict=True)):
        answer.source = f"{code}\nsolution = globals().get('answer')"  # its check takes the answer away
        check.outputs = [nbformat.v4.new_output("display_data", {"text/plain": "Right.", "text/html": "<p>Right.</p>"})]
        trials = nbformat.v4.new_code_cell(TRIALS.format(check=check.source, **answers[name]), id=f"trials-{number}")
        notebook.cells.insert(notebook.cells.index(check) + 1, trials)
    return notebook


def on_the_spine(notebook):
    """Return a chapter without its side paths and the exercises for them."""
    kept = []
    for cells in spine.sections(notebook).values():
        aside = False
        for cell in [] if spine.is_side(cells) else cells:
            if cell.cell_type == "markdown" and "### " in cell.source:
                aside = "*For the side path" in cell.source
            kept += [] if aside else [cell]
    return nbformat.v4.new_notebook(cells=kept, metadata=notebook.metadata)


def main():
    for folder in (SOLVED, SPINE):
        shutil.rmtree(folder, ignore_errors=True)  # chapters may have had other names
        folder.mkdir(parents=True)
    for path in chapters():
        solved = solve(read(path), ANSWERS[path.name[:2]])
        nbformat.write(solved, SOLVED / path.name)
        nbformat.write(on_the_spine(solved), SPINE / path.name)


if __name__ == "__main__":
    main()
