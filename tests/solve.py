"""Chapters with the solutions in place of the dots, and with other answers; the tests run these from top to bottom."""

import re
from pathlib import Path

import nbformat
import yaml

from book.execute import exercises

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
