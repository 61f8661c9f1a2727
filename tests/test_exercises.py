"""The check behind each exercise: what it says to a right answer, a wrong one, and one that cannot be judged."""

from fractions import Fraction

import numpy as np
import pytest

from attn.exercises import check


@pytest.fixture
def says(capsys):
    def run(answer, right, **options):
        check(answer, right, "Count again.", **options)
        return capsys.readouterr().out.removesuffix("\n")

    return run


def test_a_right_answer_is_right_and_a_wrong_one_gets_the_hint(says):
    assert says(4, 4) == says(4, lambda answer: answer == 4) == "Right."
    assert says(5, 4) == says(5, lambda answer: answer == 4) == "Not yet. Count again."
    assert says(..., 4).startswith("Not answered yet")


@pytest.mark.parametrize(
    "form", [list, tuple, np.array, lambda a: np.array(a, np.float32), lambda a: map_to_fractions(a)]
)
def test_numbers_count_alike_however_they_are_given(says, form):
    assert says(form([0, 1, 0.5]), [0, 1, 0.5]) == says(form([0, 1]), [False, True]) == "Right."
    assert says(form([2]), 2) == says(form([2]), lambda a: a[0] == 2) == "Right."


def map_to_fractions(numbers):
    return [Fraction(number) for number in numbers]


def test_numbers_count_as_they_are_printed_and_whole_ones_exactly(says):
    for digits, printed, off in [(2, 0.33, 0.34), (3, 0.333, 0.334), (4, 0.3333, 0.3334)]:
        assert says(printed, 1 / 3, digits=digits) == "Right." != says(off, 1 / 3, digits=digits)
    assert says(24576.0, 24576) == says(1.0, True) == says(np.int8(0), False) == "Right."
    assert says(24576.01, 24576) == says(0.999, True) == says(np.nan, 4) == says(np.inf, 1.5) == "Not yet. Count again."


@pytest.mark.parametrize(
    ("answer", "right", "said"),
    [
        ([1, 2], [1, 2, 3], "the answer has the shape (3,), and yours is an array of shape (2,)."),
        (3, [1, 2, 3], "the answer has the shape (3,), and yours is a number."),
        ("3", 3, "the answer is a number, and yours is text."),
        ("False", False, "the answer is True or False, and yours is text."),
        (None, [1, 2], "the answer is an array of shape (2,), and yours is None."),
        ([[1], [1, 2]], 3, "the answer is a number, and yours is a list of rows of different lengths."),
        (abs, 3, "the answer is a number, and yours is a function."),
        ({"a": 1}, 3, "the answer is a number, and yours is of the type dict."),
        (3, lambda a: a[7], "yours is a number, with which this cannot be worked out."),
        ("3", lambda a: a + 1, "yours is text, with which this cannot be worked out."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_words(says, answer, right, said):
    assert says(answer, right) == f"Not yet: {said} Count again."


def test_an_error_in_a_function_of_the_reader_is_the_readers_to_see(says):
    assert says(lambda: 1 / 0, lambda f: f()) == (
        "Not yet: your function ends with ZeroDivisionError, division by zero. Count again."
    )


def test_text_is_compared_without_the_blanks_around_it(says):
    assert says(" orange. ", "orange.") == "Right."
    assert says("orange", "orange.") == says(3, "orange.") == "Not yet. Count again."
