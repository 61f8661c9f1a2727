"""The check of each exercise: what it says to a right answer, a wrong one, and one that cannot be judged."""

from fractions import Fraction

import nbformat
import numpy as np
import pytest

from attn_course.exercises import Waiting, check, rule_of
from attn_course.figures import shared_script
from book.page import PARTS
from book.prose import printed


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
    assert says(" orange. ", "orange.") == "Right.", "text is compared without the blanks around it"
    assert says("orange", "orange.") == says(3, "orange.") == "Not yet. Count again."


def in_fractions(numbers):
    return [Fraction(number) for number in numbers]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda a: np.array(a, np.float32), in_fractions])
def test_numbers_count_alike_however_they_are_given(says, form):
    assert says(form([0, 1, 0.5]), [0, 1, 0.5]) == says(form([0, 1]), [False, True]) == "Right."
    assert says(form([2]), 2) == says(form([2]), lambda a: a[0] == 2) == "Right."


def test_numbers_count_as_they_are_printed_and_whole_ones_exactly(says):
    for digits, near, off in [(2, 0.33, 0.34), (3, 0.333, 0.334), (4, 0.3333, 0.3334)]:
        assert says(near, 1 / 3, digits=digits) == "Right." != says(off, 1 / 3, digits=digits)
    assert says(24576.0, 24576) == says(1.0, True) == says(np.int8(0), False) == "Right."
    assert says(24576.01, 24576) == says(0.999, True) == says(np.nan, 4) == says(np.inf, 1.5) == "Not yet. Count again."


@pytest.mark.parametrize(
    ("answer", "right", "said"),
    [
        ([1, 2], [1, 2, 3], "the answer has the shape (3,), and yours is an array of shape (2,)."),
        (3, [1, 2, 3], "the answer has the shape (3,), and yours is a number."),
        ("False", False, "the answer is True or False, and yours is text."),
        (None, [1, 2], "the answer is an array of shape (2,), and yours is None."),
        ([[1], [1, 2]], 3, "the answer is a number, and yours is a list of rows of different lengths."),
        (abs, 3, "the answer is a number, and yours is a function."),
        ({"a": 1}, 3, "the answer is a number, and yours is of the type dict."),
        (3, lambda a: a[7], "yours is a number, with which this cannot be worked out."),
        (lambda: 1 / 0, lambda f: f(), "your function ends with ZeroDivisionError, division by zero."),
        (7, lambda n: bool(n < 5) or f"{n:.0f} is not below 5", "7 is not below 5."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_words(says, answer, right, said):
    assert says(answer, right) == f"Not yet: {said} Count again."


def test_in_a_notebook_a_verdict_is_html_and_an_answer_is_judged_once(kernel, tmp_path):
    """Where a cell fails, an answer to another exercise must not stand in for its own."""
    cells = [
        "from attn_course.exercises import check",
        "answer = [1, 2]",
        "check(answer, [1, 2], 'Again.')",
        "try:\n    answer = 1 / 0\nexcept ZeroDivisionError:\n    pass",
        "check(answer, 3, 'Count.')",
        "kept = 5; check(kept, 5, 'Again.'); print(kept)",
        "check(5, 4, 'It must be < 5.')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "one.ipynb")
    executed = kernel(tmp_path / "one.ipynb").cells
    said = [printed(cell) for cell in executed]
    assert said[2] == "Right." and said[4].startswith("Not answered yet") and said[5] == "Right.\n5\n"
    (output,) = executed[6].outputs
    assert output.data["text/plain"] == "Not yet. It must be < 5."
    assert output.data["text/html"] == "<p>Not yet. It must be &lt; 5.</p>", "lines break between words"


RULES = {
    "a number": (1 / 3, 2, ["0.33", "1/3", "0.333", ".33", "0.34", "-0.33", "33", "0.3", "3.3e-1", "−0.33"]),
    "a whole number": (24576, 2, ["24576", "24,576", "24,576/1", "24576.0", "24576.01", "24575", "2.4576e4"]),
    "a negative number": (-2, 2, ["-2", "−2", "-4/2", "−4/2", "2", "-2.001"]),
    "many digits": (0.0944, 3, ["0.0944", "0.094", "0.0949", "0.095", "0.0939", "0.0938"]),
    "a row": ([0.5, -0.5], 2, ["0.5 -0.5", "1/2 -1/2", "-0.5 0.5", "0.504 -0.5", "0.506 -0.5"]),
    "a table": ([[1, 2], [3, 4]], 2, ["1 2 3 4", "1 3 2 4"]),
}


def in_page(visit, tmp_path, rule):
    """Open a page with one exercise in it, and return it."""
    (tmp_path / "book.js").write_text(shared_script(*PARTS), encoding="utf-8")
    exercise = f'<div class="cell"></div><div class="cell">{Waiting(rule)._repr_html_()}</div>'
    html = f'<section id="exercises"><section id="one"><h3>One</h3>{exercise}</section></section>'
    (tmp_path / "page.html").write_text(
        f"<meta charset=utf-8>{html}<script defer src=book.js></script>", encoding="utf-8"
    )
    return visit((tmp_path / "page.html").as_uri(), until="load")


def said_in(page):
    page.get_by_role("button", name="Check").click()
    return page.locator(".attn-why").inner_text()


@pytest.mark.parametrize("name", RULES)
def test_the_page_judges_as_the_notebook_does(visit, tmp_path, says, name):
    right, digits, answers = RULES[name]
    page = in_page(visit, tmp_path, rule_of(right, "Count again.", digits))
    verdicts = set()
    for answer in answers:
        texts = answer.split()
        for field, text in zip(page.locator("form input").all(), texts, strict=True):
            field.fill(text)
        numbers = np.reshape([float(Fraction(plain(text))) for text in texts], np.shape(right))
        verdicts.add(says(numbers, right, digits=digits))
        assert said_in(page) == says(numbers, right, digits=digits), answer
    assert verdicts == {"Right.", "Not yet. Count again."}


def plain(text):
    return text.replace("−", "-").replace(",", "")


def test_what_is_no_number_is_told_and_nothing_is_judged(visit, tmp_path):
    page = in_page(visit, tmp_path, rule_of([1, 2], "Count again.", 2))
    first, second = page.locator("form input").all()
    assert said_in(page) == "Not all answered yet."
    first.fill("1")
    assert said_in(page) == "Not all answered yet."
    for text in ["1,5", "two", "1//2", "½", "0,333", "0x10", "1/0", "1e400"]:
        second.fill(text)
        assert said_in(page) == f"“{text}” is not a number; write 0.25 or 1/4."
    assert not page.get_by_label("Solved").is_checked()


def test_text_and_truth_are_judged_alike_too(visit, tmp_path, says):
    page = in_page(visit, tmp_path, rule_of("orange.", "Count again.", 2))
    for text in [" orange. ", "orange", "Orange."]:
        page.locator("form input").fill(text)
        assert said_in(page) == says(text, "orange.")

    page = in_page(visit, tmp_path, rule_of(False, "Count again.", 2))
    assert said_in(page) == "Not answered yet."
    for name, answer in [("True", True), ("False", False)]:
        page.get_by_label(name, exact=True).check()
        assert said_in(page) == says(answer, False)

    mask = np.tri(3, dtype=bool)
    page = in_page(visit, tmp_path, rule_of(mask, "Count again.", 2))
    assert said_in(page) == says(np.zeros((3, 3)), mask) == "Not yet. Count again."
    for place in np.flatnonzero(mask):
        page.locator(".attn-mark").nth(place).click()
    assert said_in(page) == says(mask, mask) == "Right."
    assert page.get_by_label("Solved").is_checked(), "solved is solved"


def test_what_is_code_or_large_is_left_to_python(visit, tmp_path):
    for right in [None, np.zeros((5, 4)), [1, np.inf], np.zeros((2, 2, 2))]:
        rule = None if right is None else rule_of(right, "Count again.", 2)
        page = in_page(visit, tmp_path, rule)
        assert "This one needs Python." in page.locator("[data-exercise]").inner_text()
        assert page.locator("form").count() == 0
