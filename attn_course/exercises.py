"""What is asked at the end of a chapter: its questions, and the check behind each exercise."""

import json
from html import escape
from importlib.resources import files

import numpy as np
import yaml
from IPython import get_ipython
from IPython.display import display

from attn_course.digits import significant

QUESTIONS = files("attn_course") / "data" / "questions.yml"
MOST_NUMBERS, MOST_MARKS = 12, 49  # that a reader is asked to fill in on a page


def questions(chapter):
    """Return the questions of a chapter, by its number, as `SelfCheck` takes them.

    Returns
    -------
    list of (str, str, dict of str to str)
        What is asked, the right answer, and for every answer why it is right or wrong.
    """

    def ask(question):
        return question["ask"] + (f" (From the side path “{question['side']}”)" if "side" in question else "")

    asked = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))[chapter]
    return [(ask(question), question["right"], question["answers"]) for question in asked]


def check(answer, right, hint, *, digits=2):
    """Say whether an exercise is solved; never raise, so that a chapter runs through either way.

    Parameters
    ----------
    answer : object
        The reader's answer, or `...` where there is none yet. Lists, tuples, arrays and single numbers count alike, and
        so do 0 and 1 for False and True.
    right : number, array, text or callable
        The right answer; or a function that takes the answer, numbers as an array of floats, and returns whether it is
        right, or says in words how far it is from that. What it raises counts as "not yet".
    hint : str
        What to look at again when it is not.
    digits : int
        Places after the point that must agree with a right answer in numbers; whole numbers must be met, but for
        rounding.

    Examples
    --------
    >>> check(..., 4, "Count again.")
    Not answered yet: put your answer in place of the dots, then run both cells.
    >>> check(5, 4, "Count again.")
    Not yet. Count again.
    >>> check([0.33, 0.67], [1 / 3, 2 / 3], "Count again.")
    Right.
    >>> check(5, lambda n: n < 5 or f"{n:.0f} is not below 5", "Count again.")
    Not yet: 5 is not below 5. Count again.
    >>> check([1, 2], [1, 2, 3], "Count again.")
    Not yet: the answer has the shape (3,), and yours is an array of shape (2,). Count again.
    """
    rule = None if callable(right) else rule_of(right, hint, digits)
    if answer is ...:
        display(Waiting(rule))
        return
    given = _as_numbers(answer)
    why = _judge(given, right) if rule is None else _compare(given, rule)
    display(Said("Right." if why == "" else f"Not yet{why} {hint}"))
    shell = get_ipython()
    if shell is not None and shell.user_ns.get("answer") is answer:
        shell.user_ns["answer"] = ...  # if the cell of the next exercise fails, this answer is not judged there


def rule_of(right, hint, digits):
    """Return by what an answer is judged, here and by `attn_course/exercises.js`.

    Returns
    -------
    dict
        `kind`, which is "text", "truth" or "numbers"; `right`, as text or (nested lists of) numbers; `hint`; and for
        all but text `shape` and `room`: a number may be off by the room, and by a billionth of itself.
    """
    if isinstance(right, str):
        return {"kind": "text", "right": right, "hint": hint}
    right = np.asarray(right)
    room = 0.5 * 10.0**-digits if right.dtype.kind == "f" else 0
    kind = "truth" if right.dtype == bool else "numbers"
    return {"kind": kind, "right": significant(right), "shape": right.shape, "room": room, "hint": hint}


def fits_a_page(rule):
    """Say whether a reader can fill the answer in on a page: text, or a table that is small and finite."""
    if rule["kind"] == "text":
        return True
    right = np.asarray(rule["right"])
    most = MOST_MARKS if rule["kind"] == "truth" else MOST_NUMBERS
    return right.ndim <= 2 and 0 < right.size <= most and right.dtype.kind in "biuf" and bool(np.isfinite(right).all())


class Said(str):
    """What the check says; as HTML, because JupyterLab breaks the lines of a printed text inside its words."""

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        return f"<p>{escape(self, quote=False)}</p>"


class Waiting:
    """What stands below an exercise that is not answered: a sentence, and for a page of the book the rule.

    Where the rule is None, as it is Python, or asks for more than a page can, the page says how to run the exercise.
    """

    def __init__(self, rule):
        self.rule = rule if rule and fits_a_page(rule) else None

    def __repr__(self):
        return "Not answered yet: put your answer in place of the dots, then run both cells."

    def _repr_html_(self):
        return f'<div data-exercise="{escape(json.dumps(self.rule))}"><p>{self}</p></div>'


def _judge(given, is_right):
    """Return nothing if the answer is right, and else how the sentence goes on that says it is not."""
    try:
        found = is_right(given)
        return f": {found}." if isinstance(found, str) else "" if found else "."
    except Exception as error:  # whatever a reader's answer may cause is part of the lesson
        if callable(given):
            return f": your function ends with {type(error).__name__}, {error}."
        return f": yours is {_kind(given)}, with which this cannot be worked out."


def _compare(given, rule):
    if rule["kind"] == "text":
        return "" if isinstance(given, str) and given.strip() == rule["right"] else "."
    right = np.asarray(rule["right"])
    if not isinstance(given, np.ndarray):
        return f": the answer is {_kind(right)}, and yours is {_kind(given)}."
    if right.ndim == 0 and given.size == 1:
        given = given.reshape(())
    if given.shape != right.shape:
        return f": the answer has the shape {right.shape}, and yours is {_kind(given)}."
    return "" if np.all(np.abs(given - right) <= rule["room"] + 1e-9 * np.abs(right)) else "."


def _as_numbers(answer):
    """Return numbers, however they are given, as an array of floats, and anything else as it is."""
    if isinstance(answer, str) or answer is None:
        return answer
    try:
        return np.asarray(answer, float)
    except (TypeError, ValueError):  # a function, a config, rows of different lengths
        return answer


def _kind(answer):
    """Return what an answer is, in words: "a number", "an array of shape (2, 3)"."""
    if isinstance(answer, np.ndarray):
        single = "True or False" if answer.dtype == bool else "a number"
        return f"an array of shape {answer.shape}" if answer.ndim else single
    kinds = {str: "text", list: "a list of rows of different lengths", type(None): "None"}
    return "a function" if callable(answer) else kinds.get(type(answer), f"of the type {type(answer).__name__}")
