"""Copies of the chapters with the solutions in place of the dots; the tests run these from top to bottom."""

import shutil

import build
import nbformat
from notebooks import exercises, read

SOLVED = build.BUILD / "solved"


def solve(notebook):
    """Put each solution in place of the dots and "Right." behind each check; change the notebook and return it."""
    for answer, check, code in exercises(notebook):
        answer.source = code
        check.outputs = [nbformat.v4.new_output("stream", text="Right.\n")]
    return notebook


def main():
    shutil.rmtree(SOLVED, ignore_errors=True)
    SOLVED.mkdir(parents=True)
    for path in build.chapters():
        nbformat.write(solve(read(path)), SOLVED / path.name)


if __name__ == "__main__":
    main()
