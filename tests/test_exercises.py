"""The check behind each exercise: what it says to a right answer, a wrong one, and one that cannot be judged."""

import pytest

from attn.exercises import check


def says(capsys, answer, is_right=lambda answer: answer == 4):
    check(answer, is_right, "Count again.")
    return capsys.readouterr().out


def test_a_right_answer_is_right_and_a_wrong_one_gets_the_hint(capsys):
    assert says(capsys, 4) == "Right.\n"
    assert says(capsys, 5) == "Not yet. Count again.\n"
    assert says(capsys, ...).startswith("Not answered yet")


@pytest.mark.parametrize("error", [ValueError("too long"), KeyError("W"), ZeroDivisionError("by zero")])
def test_an_answer_that_cannot_be_judged_gets_its_error_and_the_hint_and_lets_the_chapter_run_on(capsys, error):
    def fails(answer):
        raise error

    assert says(capsys, 4, fails) == f"Not yet: {type(error).__name__}: {error}. Count again.\n"
