"""The guesses: asked in the page, answered by what the chapter's cells compute, hidden from the eye alone.

What a page keeps is looked for over HTTP. Where a page of three lines was opened from a file, Chromium on a busy
machine lost what the page had kept, about one time in twenty, and over HTTP never.
"""

import json
import re

import pytest
from keyboard import Reader, mounted
from traitlets import TraitError

from attn_course.figures import Guess, answer_to
from book import chapters, execute

CHAPTERS = chapters()
ASKS = "**Before you read on:**"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_whoever_is_asked_to_guess_is_asked_by_a_sentence_of_its_own_and_told_the_answer(path):
    cells = execute.read(path).cells
    places = [number for number, cell in enumerate(cells) if ASKS in cell.source]
    assert len(places) >= 3 and len(mounted(path)) == len(places)
    for place in places:
        question = cells[place].source.rpartition(ASKS)[2]
        assert cells[place].source.count(ASKS) == 1
        assert re.search(r"\?| …$", question) and "\n" not in question, question
        assert re.match(r'Guess\(\s*"[a-z][a-z0-9-]*"', cells[place + 1].source), "the guess stands below its question"
        assert "remove-input" in cells[place + 1].metadata.tags


@pytest.mark.parametrize(
    ("guess", "found", "options", "right"),
    [
        (["No", "Yes"], True, {}, "Yes"),
        (["cat", "*the* sat"], "*the* sat", {"why": {"*the* sat": "No."}}, "the sat"),
        (["few", "many"], 11, {"values": [1, 100]}, "many"),
        ({"scale": [1, 9], "unit": " s"}, 4.5, {}, 4.5),
        ({"scale": [0, 1], "digits": 1}, 1.00001, {}, 1.0),
    ],
)
def test_each_kind_of_guess_is_answered_as_a_reader_would_say_it(guess, found, options, right):
    one = Guess("one", guess) if isinstance(guess, list) else Guess("one", **guess)
    answer_to("one", found, **options)
    assert one.answer["right"] == right
    assert json.dumps(right) in json.dumps(one.get_state())


@pytest.mark.parametrize(
    ("guess", "found", "options", "told"),
    [
        ({"choices": ["few", "many"]}, 1, {"values": [1]}, "one has 2 choices and 1 values, and the answer is 1"),
        ({"choices": ["few", "many"]}, float("nan"), {"values": [1, 2]}, "and the answer is nan"),
        ({"choices": ["few", "many"]}, 5, {}, r"one is answered by .5., which is not among the choices"),
        ({"choices": ["few", "many"]}, "few", {"why": {"some": "No."}}, r"but there is a reason for \['some'\]"),
        ({"scale": [1, 9]}, 10, {}, "one has a scale from 1 to 9, but the answer is 10"),
        ({"scale": [0, 1]}, float("nan"), {}, "one has a scale from 0 to 1, but the answer is nan"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(guess, found, options, told):
    Guess("one", **guess)
    with pytest.raises(ValueError, match=told):
        answer_to("one", found, **options)


def test_who_runs_the_cell_that_answers_first_is_told_where_it_is_asked(capsys):
    assert answer_to("never", 1) is None
    told = "This answers a guess further up. Run the cell that asks, and then this one again.\n"
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    "asks", [{}, {"choices": ["one"]}, {"choices": [*"abcde"]}, {"scale": [1]}, {"choices": [*"ab"], "scale": [0, 1]}]
)
def test_a_guess_asks_for_one_thing(asks):
    with pytest.raises(TraitError, match="one needs two to four choices or a scale of two ends, but has"):
        Guess("one", **asks)


@pytest.mark.parametrize("name", ["half_an_hour", "in_its_place", "learning_to_copy", "test_your_own"])
def test_a_page_beside_the_chapters_hides_its_results_as_well(visit, address, name):
    page = visit(f"{address}/chapters/{name}.html", ask=True)
    hidden = page.locator(".attn-result[hidden=until-found]")
    n_hidden, pass_on = hidden.count(), page.get_by_role("button", name="Just show me")
    assert n_hidden == page.locator('[data-explorable="guess"]').count() > 0
    pass_on.first.click()
    assert hidden.count() == n_hidden - 1
    page.reload()
    assert hidden.count() == n_hidden - 1, "what was said is kept"


CHAPTER = "chapters/04_scaling.html"
SCALING = next(path for path in CHAPTERS if path.stem == "04_scaling")


def test_who_forgets_the_guesses_of_a_chapter_is_asked_again_and_keeps_what_was_read(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.evaluate("localStorage.setItem('attention-worked-out', JSON.stringify({ '01_why_words_need_context': true }))")
    page.locator(".attn-answer").first.click()
    results = page.locator(".attn-result")
    assert page.locator(".attn-result[hidden]").count() == results.count() - 1
    with page.expect_navigation():
        page.get_by_role("button", name="Forget these guesses").click()
    assert page.locator(".attn-result[hidden=until-found]").count() == results.count()
    assert not page.locator(".attn-guesses").is_visible()
    kept = page.evaluate("JSON.parse(localStorage.getItem('attention-worked-out'))")
    assert kept["why_words_need_context"], "without the number that the chapter had in an earlier book"
    assert not [name for name in kept if "?" in name]


def test_just_show_me_says_what_it_is_and_counts_as_no_guess(visit, book):
    page = visit((book / CHAPTER).as_uri(), ask=True)
    first = page.locator(".attn-guess").first
    first.get_by_role("button", name="Just show me").click()
    assert first.locator(".attn-why").inner_text() == "It is “by 4”."
    assert page.locator(".attn-result[hidden]").count() == page.locator(".attn-result").count() - 1
    assert not page.locator(".attn-guesses").is_visible()
    assert page.evaluate("document.activeElement.className") == "attn-why", "the keyboard is not lost with its button"
    page.goto((book / "chapters/index.html").as_uri())
    assert "guess" not in page.locator(".attn-progress").inner_text()


def places_of(box):
    """Return where the reader's mark and the result's lie on the track of a guess, as shares of its length."""
    return box.locator(".attn-miss").evaluate(
        """(miss) => [".attn-mine", ".attn-its"].map((name) => {
          const [track, mark] = [miss, miss.querySelector(name)].map((node) => node.getBoundingClientRect());
          return (mark.left + mark.width / 2 - track.left - 8) / (track.width - 16);
        })"""
    )


def test_the_result_is_drawn_where_the_guess_was_made_and_nothing_moves_under_the_finger(visit, book):
    page = visit((book / "chapters/03_scores_softmax_pattern.html").as_uri(), ask=True)
    number = page.locator(".attn-guess").evaluate_all("boxes => boxes.findIndex((box) => box.querySelector('input'))")
    box = page.locator(".attn-guess").nth(number)
    slider, guess = box.locator("input"), box.get_by_role("button", name="That is my guess")
    assert guess.is_disabled(), "a slider that was not moved is no guess"
    slider.focus()
    page.keyboard.press("End")
    before = [slider.bounding_box()[side] for side in ("x", "width")]
    guess.click()
    page.wait_for_function("document.getAnimations().length === 0")
    assert [box.locator(".attn-miss").bounding_box()[side] for side in ("x", "width")] == pytest.approx(before, abs=1)
    assert places_of(box) == pytest.approx([1, 0.25], abs=0.01)
    assert box.locator("output").inner_text() == "it is 0.25"

    page.goto((book / "chapters/05_masking.html").as_uri())
    answers = page.locator(".attn-guess").first.locator(".attn-answer")
    answers.last.scroll_into_view_if_needed()
    before = [answers.nth(i).bounding_box() for i in range(answers.count())]
    answers.first.click()
    assert [answers.nth(i).bounding_box() for i in range(answers.count())] == before


def test_an_address_that_cannot_be_read_harms_nothing(visit, book):
    page = visit((book / CHAPTER).as_uri() + "#%", ask=True)
    assert page.said == [] and page.locator("form.attn-answer-form").count() > 0


def test_where_the_store_is_full_a_guess_is_made_all_the_same(visit, book):
    page = visit((book / CHAPTER).as_uri(), ask=True)
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') } }")
    page.locator(".attn-answer").first.click()
    page.get_by_label("Show all results without asking me first").check()
    assert "0 of your 1 guess came out" in page.locator(".attn-guesses").inner_text()
    assert page.locator(".attn-result[hidden]").count() == 0 and page.said == []


def test_one_switch_shows_everything_and_is_kept_and_known_after_back(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.get_by_label("Show all results without asking me first").check()
    assert page.locator(".attn-result[hidden]").count() == 0
    page.goto(f"{address}/chapters/05_masking.html")
    assert page.locator(".attn-result[hidden]").count() == 0 < page.locator(".attn-result").count()
    page.goto(f"{address}/chapters/how_to_read.html")
    page.get_by_label("Show all results without asking me first").uncheck()
    page.go_back()
    page.wait_for_load_state("networkidle")
    assert page.locator(".attn-result[hidden]").count() == page.locator(".attn-result").count() > 0


def test_what_is_hidden_is_found_and_linked_to(visit, book):
    page = visit((book / CHAPTER).as_uri(), ask=True)
    hidden = page.locator(".attn-result[hidden]")
    n_hidden = hidden.count()
    hidden.first.evaluate("node => node.dispatchEvent(new Event('beforematch'))")  # as the browser's search does
    assert hidden.count() == n_hidden - 1
    page.evaluate("document.querySelector('.attn-result[hidden] p').id = 'here'; location.hash = 'here'")
    page.wait_for_function("!document.getElementById('here').closest('.attn-result').hidden")
    assert hidden.count() == n_hidden - 2


def test_on_paper_all_results_stand_and_nothing_asks(visit, book):
    page = visit((book / CHAPTER).as_uri(), ask=True)
    page.emulate_media(media="print")
    shown = "nodes => nodes.map((node) => getComputedStyle(node).contentVisibility)"
    assert set(page.locator(".attn-result").evaluate_all(shown)) == {"visible"}
    assert page.locator(".attn-answers").first.is_visible() and not page.get_by_text("Just show me").first.is_visible()


def test_without_javascript_all_results_stand_and_the_choices_are_a_list(visit, book):
    page = visit((book / CHAPTER).as_uri(), java_script_enabled=False)
    assert page.locator(".attn-guess, .attn-result").count() == 0
    assert page.get_by_text("The standard deviation grows by a factor of 4").is_visible()
    assert page.get_by_text("Your guess: not at all, or by 4, or by 16").is_visible()
    assert page.get_by_text("It is “by 4”.").is_visible()


def test_a_guess_that_was_kept_by_another_version_of_the_book_is_asked_again(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    reader = Reader(page, mounted(SCALING))
    reader.guess()
    page.evaluate(
        """() => {
          const key = "attention-worked-out", record = JSON.parse(localStorage.getItem(key));
          const names = Object.keys(record).filter((name) => name.includes("?"));
          names.forEach((name, i) => (record[name] = i % 2 ? [0.1, 0.9] : "a choice that is gone")); // or a curve
          localStorage.setItem(key, JSON.stringify(record));
        }"""
    )
    page.reload()
    assert page.locator(".attn-result[hidden]").count() == len(reader.said) and page.said == []


KEPT = "Object.keys(JSON.parse(localStorage.getItem('attention-worked-out'))).filter((name) => name.includes('?'))"


def test_a_guess_that_was_kept_under_its_question_is_kept_under_its_id_and_found_when_the_question_was_mended(
    visit, address
):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.locator(".attn-answer").first.click()
    page.evaluate(
        """() => {
          const key = "attention-worked-out", sentence = document.querySelector("#guess-spread-of-dot-products");
          const [said] = Object.values(JSON.parse(localStorage.getItem(key)));
          localStorage.setItem(key, JSON.stringify({ [`04_scaling?${sentence.textContent}`]: said }));
        }"""
    )

    def is_found(question):
        page.reload()
        assert question in page.locator("#guess-spread-of-dot-products").inner_text()
        assert page.locator(".attn-guess").first.locator(".attn-why").inner_text().startswith("You said ")
        assert page.evaluate(KEPT) == ["scaling?spread-of-dot-products"]

    is_found("the vectors get 16 times")
    mended = ("the vectors get 16 times", "the vectors, say, get 16 times")
    page.route("**/*.html", lambda route: route.fulfill(body=route.fetch().text().replace(*mended)))
    is_found("the vectors, say, get 16 times")


def test_the_title_page_counts_guesses_and_forgets_them(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.locator(".attn-answer").first.click()
    page.goto(f"{address}/chapters/index.html")
    assert "made 1 guess." in page.locator(".attn-progress").inner_text()
    page.get_by_role("button", name="Forget this").click()
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator(".attn-result[hidden]").count() == page.locator(".attn-result").count()
