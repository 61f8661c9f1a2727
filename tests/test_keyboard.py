"""Each chapter from top to bottom by the keyboard alone, over HTTP as test_guesses.py says, at a first visit."""

import pytest
from keyboard import Reader, Typist, mounted
from pages import FRAMES, read_before_the_programs_come, shifts

from book import chapters
from book.execute import exercises, read

FIRST = """results => results.map(({ children }) => {
  const parts = [...children], isPicture = (part) => part.querySelector(".attn-figure, .attn-explorable") !== null;
  const words = parts.findIndex((part) => !part.matches(".cell, .attn-claims, .attn-figure-caption"));
  return parts.slice(0, words < 0 ? parts.length : words).map(isPicture);
}).filter((cells) => cells.includes(true))"""


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_a_light_still_page_every_guess_is_made_and_kept_and_every_exercise_answered(visit, packed, address, path):
    page = read_before_the_programs_come(visit, f"{address}/chapters/{path.stem}.html", 1280)
    assert not shifts(page)
    results = page.locator(".attn-result")
    assert results.count() == page.locator(".attn-result[hidden=until-found]").count() == len(mounted(path))
    reader = Reader(page, mounted(path))
    reader.guess()
    assert page.locator(".attn-result[hidden]").count() == 0 and page.said == []
    figure = page.locator(".attn-guesses")
    right = sum(reader.said)
    assert f"{right} of your {len(reader.said)} guesses came out as you said" in figure.inner_text()
    assert figure.locator("tbody tr").count() == len(reader.said)
    assert figure.locator(".attn-hit").count() == right
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate(FRAMES)
    sizes = packed(page.requested)  # of all that the chapter has to show
    assert len(sizes) <= 15 and sum(sizes) <= 300_000
    assert not [url for url in page.requested if not url.startswith((address, "data:"))]

    page.reload()
    assert page.locator(".attn-result[hidden]").count() == 0, "what was said is kept"
    answers = page.locator(".attn-result").evaluate_all(FIRST)
    assert all(is_picture for is_picture, *_ in answers), "a picture that answers stands before the code that drew it"

    boxes, in_page = page.locator("[data-exercise]"), page.locator("[data-exercise]:has(form)")
    assert boxes.count() == len(exercises(read(path)))
    assert in_page.count() + page.get_by_text("This one needs Python").count() == boxes.count()
    for number, box in enumerate(in_page.all()):
        typist = Typist(page, box)
        solved = box.locator("xpath=ancestor::section[1]").get_by_label("Solved")
        assert typist.answer(right=False) == f"Not yet. {typist.rule['hint']}" and not solved.is_checked(), number
        assert typist.answer(right=True) == "Right." and solved.is_checked(), number
    assert page.said == []
