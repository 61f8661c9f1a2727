"""The guesses of a chapter: what the reader is asked before a result, and the answer that the chapter's cells compute.

A guess is a cell of text that ends in a comment, which neither GitHub nor JupyterLab shows:

    **Before you read on:** how many times as long does it take?

    - twice
    - four times

    <!-- guess
    id: time-of-twice-the-words
    answer: seconds[1] / seconds[0]
    values: [2, 4]
    -->

`id` names the guess in its chapter for as long as it stands there: under it, a reader's browser keeps what was said.
`answer` is Python, evaluated after the last code cell before the next guess or heading. What it must be depends on how
the reader is asked:

- a list of choices: the text of one of them; or True or False, for the choices Yes and No; or, where `values` holds a
  number for each choice, a number, which goes to the choice that is nearest by its ratio.
- `scale: [1, 1000]`: a number on it. A scale that starts above 0 is logarithmic. `unit` stands after the number, which
  has `digits` (0) places after the point.
- `at`, Python for the points of an axis, and `scale`: a curve, a number at each of the points, which is drawn. `across`
  names the axis, `along` what is drawn.
- `rows` and `columns`, Python for the labels of a pattern: the place in it, two numbers.

`why` holds, by the choice or by `low` and `high`, what one who said so may have had in mind.
"""

import ast
import json
import math
import re
from html import escape

import numpy as np
import yaml

from attn.course.digits import significant

ASKS = "**Before you read on:**"
OPENS = re.compile(r"<!--(?! claim-)")  # a comment, unless it marks a claim of the ledger
COMMENT = re.compile(r"^<!-- guess\n(.*?)^-->", re.DOTALL | re.MULTILINE)
ID = re.compile(r"[a-z][a-z0-9-]*")
CHOICE = re.compile(r"^- (.+)$", re.MULTILINE)
KEYS = {"id", "answer", "values", "scale", "unit", "digits", "rows", "columns", "at", "across", "along", "why"}
COMPUTED = ("answer", "rows", "columns", "at")


def guess_in(cell):
    """Return what the comment of a cell says, with its choices, or None for a cell that asks for no guess."""
    if cell.cell_type != "markdown" or not (ASKS in cell.source or OPENS.search(cell.source)):
        return None
    comment = COMMENT.search(cell.source)
    if not comment:
        raise ValueError(f"{_begins(cell)} has no comment below it that begins with '<!-- guess' and ends with '-->'")
    try:
        guess = yaml.safe_load(comment[1])
    except yaml.YAMLError as error:
        raise ValueError(f"the comment of {_begins(cell)} is no YAML: {' '.join(str(error).split())}") from None
    for key in ("answer", "id"):
        if not isinstance(guess, dict) or key not in guess:
            raise ValueError(f"the comment of {_begins(cell)} has no {key}")
    if not ID.fullmatch(str(guess["id"])):
        raise ValueError(f"the id of {_begins(cell)} must be small letters with hyphens, but is {guess['id']!r}")
    if unknown := set(guess) - KEYS:
        told = f"{', '.join(sorted(KEYS))}, but there is {', '.join(sorted(unknown))}"
        raise ValueError(f"the comment of {_begins(cell)} may have {told}")
    for key in {*COMPUTED} & set(guess):
        try:
            compile(str(guess[key]), key, "eval")
        except SyntaxError as error:
            raise ValueError(f"the {key} of {_begins(cell)} is no Python: {error.msg} in {guess[key]}") from None
    return guess | {"choices": CHOICE.findall(cell.source.rpartition(ASKS)[2].partition("<!--")[0])}


def with_answer(source, answer):
    """Return the source of a cell with the answer, as `judged` returns it, in the place of its comment."""
    return COMMENT.sub(lambda _: f'<div data-guess="{escape(json.dumps(answer))}"></div>', source)


def _begins(cell):
    """Return how the question of a cell begins, to name it by."""
    line = cell.source.rpartition(ASKS)[2].strip().partition("\n")[0]
    return repr(line if len(line) < 60 else line[:57] + "...")


def ends(cells):
    """Return by the number of a code cell the cells of text whose guesses are answered after it."""
    found, waiting, last, ids = {}, None, None, set()
    for number, cell in enumerate([*cells, None]):
        is_text = cell is not None and cell.cell_type == "markdown"
        guess = guess_in(cell) if is_text else None
        if guess and guess["id"] in ids:
            raise ValueError(f"{_begins(cell)} has the id of another guess, {guess['id']}")
        ids |= {guess["id"]} if guess else set()
        if waiting and (cell is None or guess or (is_text and re.search("^##", cell.source, re.MULTILINE))):
            if last is None:
                raise ValueError("there is no code cell between it and the next heading")
            found.setdefault(last, []).append(waiting)
            waiting = None
        waiting = cell if guess else waiting
        last = last if cell is None or is_text else number
    return found


def question(guess):
    """Return the Python that gives, as JSON, the answer to a guess and the labels of its pattern."""
    asked = ", ".join(f"{key!r}: {guess[key]}" for key in COMPUTED if key in guess)
    return f"__import__('json').dumps({{{asked}}}, default=lambda value: value.tolist())"


def judged(guess, reply):
    """Return what a page needs to ask for a guess and to judge it; ValueError says what does not fit.

    Parameters
    ----------
    guess : dict
        As `guess_in` returns it.
    reply : str
        What the kernel printed of the `question`: text, as Python writes it.
    """
    found = json.loads(ast.literal_eval(reply))
    about, why = {"id": guess["id"]}, guess.get("why", {})
    if choices := guess["choices"]:
        if unknown := set(why) - set(choices):
            raise ValueError(f"the choices are {choices}, but there is a reason for {unknown}")
        return about | {
            "right": right_choice(found["answer"], choices, guess.get("values")),
            "why": [why.get(one, "") for one in choices],
        }
    if "scale" in guess:
        start, stop = guess["scale"]
        about |= {key: guess.get(key, other) for key, other in [("scale", None), ("unit", ""), ("digits", 0)]}
        # A cosine may be 1.0000000000000002.
        right = np.round(significant(found["answer"]), about["digits"] + 2).tolist()
        if not start <= np.min(right) <= np.max(right) <= stop:
            raise ValueError(f"the answer {right} is not on the scale from {start} to {stop}")
        if "at" in guess:
            if np.shape(right) != (len(found["at"]),):
                raise ValueError(f"the curve has {np.size(right)} numbers at {len(found['at'])} points")
            about |= {"at": found["at"], "across": guess["across"], "along": guess["along"]}
        return about | {"right": right, "why": [why.get("low", ""), why.get("high", "")]}
    row, column = found["answer"]
    if not (0 <= row < len(found["rows"]) and 0 <= column < len(found["columns"])):
        raise ValueError(f"the pattern of {found['rows']} and {found['columns']} has no place {found['answer']}")
    return about | {"right": [row, column], "rows": found["rows"], "columns": found["columns"], "why": []}


def right_choice(answer, choices, values=None):
    """Return the number of the right choice.

    >>> right_choice(True, ["No", "Yes"]), right_choice("cat", ["sat", "cat"]), right_choice(3.1, ["2", "4"], [2, 4])
    (1, 1, 1)
    """
    if values:
        if len(values) != len(choices) or answer <= 0:
            raise ValueError(f"{len(choices)} choices have {len(values)} values, and the answer is {answer}")
        return min(range(len(values)), key=lambda place: abs(math.log(answer / values[place])))
    told = {True: "Yes", False: "No"}.get(answer, answer) if isinstance(answer, bool) else str(answer)
    if told not in choices or not 2 <= len(choices) <= 4:
        raise ValueError(f"{told!r} is not among two to four choices: {choices}")
    return choices.index(told)
