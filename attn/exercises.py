"""What is asked at the end of a chapter: its questions, and the check behind each exercise."""

from pathlib import Path

import numpy as np
import yaml

QUESTIONS = Path(__file__).parent.parent / "chapters" / "questions.yml"


def questions(chapter):
    """Return the questions of a chapter, by its number, as `SelfCheck` takes them.

    Returns
    -------
    list of (str, str, dict of str to str)
        What is asked, the right answer, and for every answer why it is right or wrong.
    """
    asked = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))[chapter]
    return [(question["ask"], question["right"], question["answers"]) for question in asked]


def check(answer, right, hint, *, digits=2):
    """Say whether an exercise is solved; never raise, so that a chapter runs through either way.

    Parameters
    ----------
    answer : object
        The reader's answer, or `...` where there is none yet. Lists, tuples, arrays and single numbers count alike, and
        so do 0 and 1 for False and True.
    right : number, array, text or callable
        The right answer; or a function that takes the answer, numbers as an array of floats, and returns whether it is
        right. What it raises counts as "not yet".
    hint : str
        What to look at again when it is not.
    digits : int
        Places after the point that must agree with a right answer in numbers; whole numbers must be met exactly.

    Examples
    --------
    >>> check(..., 4, "Count again.")
    Not answered yet: put your answer in place of the dots, then run both cells.
    >>> check(5, 4, "Count again.")
    Not yet. Count again.
    >>> check([0.33, 0.67], [1 / 3, 2 / 3], "Count again.")
    Right.
    >>> check([1, 2], [1, 2, 3], "Count again.")
    Not yet: the answer has the shape (3,), and yours is an array of shape (2,). Count again.
    """
    if answer is ...:
        print("Not answered yet: put your answer in place of the dots, then run both cells.")
        return
    given = _as_numbers(answer)
    why = _judge(given, right) if callable(right) else _compare(given, right, digits)
    print("Right." if why == "" else f"Not yet{why} {hint}")


def _judge(given, is_right):
    """Return nothing if the answer is right, and else how the sentence goes on that says it is not."""
    try:
        return "" if is_right(given) else "."
    except Exception as error:  # whatever a reader's answer may cause is part of the lesson
        if callable(given):
            return f": your function ends with {type(error).__name__}, {error}."
        return f": yours is {_kind(given)}, with which this cannot be worked out."


def _compare(given, right, digits):
    if isinstance(right, str):
        return "" if isinstance(given, str) and given.strip() == right else "."
    right = np.asarray(right)
    if not isinstance(given, np.ndarray):
        return f": the answer is {_kind(right)}, and yours is {_kind(given)}."
    if right.ndim == 0 and given.size == 1:
        given = given.reshape(())
    if given.shape != right.shape:
        return f": the answer has the shape {right.shape}, and yours is {_kind(given)}."
    room = 0.5 * 10.0**-digits if right.dtype.kind == "f" else 0
    return "" if np.all(np.abs(given - right) <= room + 1e-9 * np.abs(right)) else "."


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
