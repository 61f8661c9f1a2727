"""Guesses: what the reader is asked before a result, and the answer that the chapter computes after it."""

import json
import math
from html import escape

import numpy as np
from traitlets import Dict, Float, Int, List, TraitError, Unicode

from attn_course.digits import significant
from attn_course.figures.base import Explorable

_asked = {}  # the guesses of this kernel by their ids


class Guess(Explorable):
    """A question that the reader answers before the result, by one of some choices or by a number.

    Below the question, which is text, the guess asks; `answer_to` answers it, in a cell after the result.

    Parameters
    ----------
    id : str
        Its name in its chapter, which never changes: a reader's guess is kept under it.
    choices : list of str
        Two to four; what stands between asterisks is stressed.
    scale : [float, float], optional
        For a number, between which it lies; a scale that starts above 0 is logarithmic.
    unit : str
        What stands after the number.
    digits : int
        How many places it has after the point.
    said : list
        What the reader has said: nothing yet, one thing, or one None from a reader who passed.
    answer : dict, optional
        `right`, as a reader would say it, and `why`, as `answer_to` takes it.

    Raises
    ------
    TraitError
        If it asks for none of the two or for both, or for fewer than two or more than four choices.

    Examples
    --------
    >>> Guess("sum", ["2", "3"]).describe()
    'Your guess: 2, or 3'
    """

    _without_script = "To guess, run this cell in a notebook, or open the built book with JavaScript."

    id = Unicode()
    choices = List(Unicode())
    scale = List(Float())
    unit = Unicode()
    digits = Int()
    said = List()
    answer = Dict(default_value=None, allow_none=True)

    def __init__(self, *values, **named):
        super().__init__(*values, **named)
        _asked[self.id] = self

    def check(self, state):
        n_choices, n_ends = len(state["choices"]), len(state["scale"])
        if (n_choices, n_ends) not in ((0, 2), (2, 0), (3, 0), (4, 0)):
            told = f"{n_choices} choices and a scale of {n_ends} ends"
            raise TraitError(f"{state['id']} needs two to four choices or a scale of two ends, but has {told}")

    def describe(self):
        if self.choices:
            return f"Your guess: {', or '.join(choice.replace('*', '') for choice in self.choices)}"
        start, stop = (f"{end:,g}" for end in self.scale)
        return f"Your guess: a number from {start} to {stop}{self.unit}"


class Answer:
    """What is right, in words, and for a page of the book as data."""

    def __init__(self, guess):
        self.guess = guess

    def __repr__(self):
        guess, right = self.guess, self.guess.answer["right"]
        return f"It is {right:,.{guess.digits}f}{guess.unit}." if guess.scale else f"It is “{right}”."

    def _repr_html_(self):
        data = json.dumps(self.guess.answer, ensure_ascii=False).replace("<", "\\u003c")
        told = escape(repr(self), quote=False)
        return f'<div data-answer="{self.guess.id}"><script type="application/json">{data}</script><p>{told}</p></div>'


def answer_to(id, found, *, values=None, why=None):
    """Answer a guess with what was found, and show what it is.

    Parameters
    ----------
    id : str
        That of the guess. Where its cell has not been run, a sentence says so, and there is nothing to answer.
    found : str, bool or float
        A choice, or True or False for the choices Yes and No; where the choices have `values`, a positive number, which
        goes to the choice that is nearest by its ratio. On a scale, a number.
    values : list of float, optional
        A positive number for each choice.
    why : dict, optional
        By the choice, or by "low" and "high", what one who said so may have had in mind.

    Returns
    -------
    Answer or None

    Raises
    ------
    ValueError
        If what was found is nothing that a reader could have said.

    Examples
    --------
    >>> guess = Guess("sum", ["2", "3"])
    >>> answer_to("sum", 1 + 2, why={"2": "That is one plus one."})
    It is “3”.
    """
    if id not in _asked:
        print("This answers a guess further up. Run the cell that asks, and then this one again.")
        return None
    guess, why = _asked[id], why or {}
    expected = {*guess.choices} if guess.choices else {"low", "high"}
    if unknown := {*why} - expected:
        raise ValueError(f"{id} can be answered by {sorted(expected)}, but there is a reason for {sorted(unknown)}")
    right = _choice(guess, found, values) if guess.choices else _number(guess, found)
    guess.answer = {"right": right, "why": {said.replace("*", ""): reason for said, reason in why.items()}}
    return Answer(guess)


def _choice(guess, found, values):
    """Return the choice that is right."""
    id, choices = guess.id, guess.choices
    if values:
        if len(values) != len(choices) or not found > 0:
            raise ValueError(f"{id} has {len(choices)} choices and {len(values)} values, and the answer is {found}")
        found = min(zip(values, choices), key=lambda one: abs(math.log(found / one[0])))[1]
    elif isinstance(found, bool | np.bool_):
        found = "Yes" if found else "No"
    if str(found) not in choices:
        raise ValueError(f"{id} is answered by {str(found)!r}, which is not among the choices {choices}")
    return str(found).replace("*", "")


def _number(guess, found):
    """Return the number that is right."""
    start, stop = guess.scale
    right = np.round(significant(found), guess.digits + 2)  # a cosine may be 1.0000000000000002
    if not start <= right <= stop:
        raise ValueError(f"{guess.id} has a scale from {start:g} to {stop:g}, but the answer is {right}")
    return right.tolist()
