"""The guesses: asked in the page, answered by what the chapter's cells compute, hidden from the eye alone.

What a page keeps is looked for over HTTP. Where a page of three lines was opened from a file, Chromium on a busy
machine lost what the page had kept, about one time in twenty, and over HTTP never.
"""

import itertools
import json
import re
from types import SimpleNamespace

import nbformat
import pytest

from book import build, guesses
from book.execute import ChapterFailed, read

CHAPTERS = build.chapters()
ASK = "**Before you read on:** how much is it?\n\n- 2\n- 3\n\n<!-- guess\nid: sum\nanswer: {answer}\n-->"


def asked(path):
    """Return of each guess of a chapter its cell and what the last build found, in the order of the page."""
    return [cell for cell in read(build.EXECUTED / path.name).cells if "guess" in cell.metadata]


def choices(cell):
    return guesses.guess_in(cell)["choices"]


def notebook(folder, *sources):
    """Write a notebook of text cells, which begin with a letter of prose, and code cells, and return its path."""
    cells = [
        nbformat.v4.new_markdown_cell(text) if re.match(r"[*#]", text) else nbformat.v4.new_code_cell(text)
        for text in sources
    ]
    path = folder / "chapters" / "one.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_whoever_is_asked_to_guess_is_asked_in_the_page_by_a_sentence_of_its_own(book, path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "markdown" and guesses.ASKS in cell.source]
    assert len(cells) >= 5
    for cell in cells:
        assert guesses.guess_in(cell), cell.source
        assert cell.source.count(guesses.ASKS) == 1 and cell.source.endswith("-->"), cell.source
        question = cell.source.rpartition(guesses.ASKS)[2].partition("\n")[0]
        assert re.search(r"\?| …$", question), question
    assert len(asked(path)) == len(cells)


def test_the_right_answer_follows_what_the_cells_compute(kernel, tmp_path):
    for value, right in [(2, 0), (3, 1)]:
        path = notebook(tmp_path, ASK.format(answer="number"), f"number = {value}", "## More", "number = 7")
        (cell, *_) = kernel(path).cells
        assert cell.metadata["guess"]["right"] == right
        counts = [cell.execution_count for cell in kernel(path).cells if cell.cell_type == "code"]
        assert counts == [1, 2]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("nothing", "nothing ends with NameError"),
        ("5", "'5' is not among two to four choices"),
        ("[1", "is no YAML"),
        ("1\nwhy: {7: odd}", "there is a reason for"),
        ("1\nwhat: 7", "but there is what"),
        ("number\nvalues: [0, 3]", "does not fit what is asked"),
    ],
)
def test_a_guess_without_an_answer_is_named(kernel, tmp_path, answer, told):
    with pytest.raises(ChapterFailed, match=f"A guess of one.ipynb (has no answer|cannot be asked): .*{told}"):
        kernel(notebook(tmp_path, ASK.format(answer=answer), "number = 2"))


def test_a_guess_before_all_code_is_named(kernel, tmp_path):
    with pytest.raises(ChapterFailed, match="there is no code cell"):
        kernel(notebook(tmp_path, ASK.format(answer="2"), "## More", "number = 2"))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (ASK.replace("id: sum\n", ""), "the comment of 'how much is it?' has no id"),
        (ASK.replace("sum", "2"), "the id of 'how much is it?' must be small letters with hyphens, but is 2"),
        (ASK.replace("much", "large"), "'how large is it?' has the id of another guess, sum"),
    ],
)
def test_a_guess_without_an_id_of_its_own_is_named_with_its_chapter(tmp_path, source, told):
    path = notebook(tmp_path, ASK.format(answer="2"), "number = 2", "## More", source.format(answer="2"), "number = 3")
    with pytest.raises(ChapterFailed) as failed:
        read(path)
    assert str(failed.value) == f"A guess of one.ipynb cannot be asked: {told}."


def found(answer, **labels):
    return repr(json.dumps({"answer": answer, **labels}))


@pytest.mark.parametrize(
    ("guess", "reply", "expected"),
    [
        ({"choices": ["No", "Yes"]}, found(True), {"right": 1}),
        ({"choices": ["cat", "sat"], "why": {"sat": "No."}}, found("cat"), {"right": 0, "why": ["", "No."]}),
        ({"choices": ["few", "many"], "values": [1, 100]}, found(11), {"right": 1}),
        ({"choices": [], "scale": [1, 9], "unit": " s"}, found(4.5), {"right": 4.5, "unit": " s", "digits": 0}),
        ({"choices": []}, found([0, 1], rows=["a"], columns=["b", "c"]), {"right": [0, 1], "columns": ["b", "c"]}),
        (
            {"choices": [], "scale": [0, 1], "digits": 1, "at": "[1, 2]", "across": "n", "along": "share"},
            found([0.25, 1.00001], at=[1, 2]),
            {"right": [0.25, 1.0], "at": [1, 2], "across": "n"},
        ),
    ],
)
def test_each_kind_of_answer_is_judged(guess, reply, expected):
    assert (expected | {"id": "one"}).items() <= guesses.judged({"id": "one"} | guess, reply).items()


@pytest.mark.parametrize(
    ("guess", "reply", "told"),
    [
        ({"choices": ["few", "many"], "values": [1]}, found(1), "2 choices have 1 values"),
        ({"choices": [], "scale": [1, 9]}, found(10), "10 is not on the scale from 1 to 9"),
        ({"choices": []}, found([0, 2], rows=["a"], columns=["b", "c"]), "has no place"),
        ({"choices": [], "scale": [0, 1]}, found([0, 2], at=[1, 2]), r"\[0, 2\] is not on the scale from 0 to 1"),
        ({"choices": [], "scale": [0, 1], "at": "n"}, found([0, 1], at=[1]), "the curve has 2 numbers at 1 points"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(guess, reply, told):
    with pytest.raises(ValueError, match=told):
        guesses.judged({"id": "one"} | guess, reply)


class Reader:
    """One who guesses, in a page, by the keyboard alone; each guess in turn right and wrong."""

    def __init__(self, page, cells):
        self.page, self.said = page, []
        self.cells = [SimpleNamespace(about=cell.metadata["guess"], choices=choices(cell)) for cell in cells]

    def guess(self):
        """Make all guesses from top to bottom, and note for each whether it was right."""
        boxes = self.page.locator(".attn-guess")
        assert boxes.count() == len(self.cells)
        for number, one in enumerate(self.cells):
            box, wants_right = boxes.nth(number), number % 2 == 0
            right = one.about["right"]
            if one.choices:
                place = right if wants_right else (right + 1) % len(one.choices)
                self.press(box.locator(".attn-answer").nth(place), "Enter")
            elif "at" in one.about:
                start, stop = one.about["scale"]
                for place, number in enumerate(right):
                    steps = round((number - (start + stop) / 2) / (stop - start) / 0.02)
                    box.locator("[role=slider]").nth(place).focus()
                    for _ in range(abs(steps)):
                        self.page.keyboard.press("ArrowUp" if (steps > 0) == wants_right else "ArrowDown")
                self.press(box.get_by_role("button", name="That is my guess"), "Enter")
            elif "scale" in one.about:
                slider = box.locator("input")
                slider.focus()
                start, stop = one.about["scale"]
                is_low = abs(right - start) < abs(stop - right)
                self.page.keyboard.press("Home" if is_low == wants_right else "End")
                self.press(box.get_by_role("button", name="That is my guess"), "Enter")
                wants_right = self.is_near(one.about, start if is_low == wants_right else stop)
            else:
                cells = box.locator(".attn-cell")
                cells.first.focus()
                for _ in range(right[1] if wants_right else (right[1] + 1) % len(one.about["columns"])):
                    self.page.keyboard.press("ArrowRight")
                self.page.keyboard.press(" ")
            verdict = box.locator(".attn-why").inner_text()
            assert verdict.startswith("You said ") and ("; it is " not in verdict) == wants_right, verdict
            self.said.append(wants_right)

    def press(self, button, key):
        button.focus()
        self.page.keyboard.press(key)

    @staticmethod
    def is_near(about, said):
        """Say whether a guess on a scale counts as right, as the page does."""
        (start, stop), right = about["scale"], about["right"]
        if start > 0:
            return max(said / right, right / said) <= 1.25
        return said == right if about["digits"] == 0 else abs(said - right) <= 0.05 * (stop - start)


FIRST = """results => results.map(({ children }) => {
  const parts = [...children], isPicture = (part) => part.querySelector(".attn-figure, .attn-explorable") !== null;
  const words = parts.findIndex((part) => !part.matches(".cell, .attn-claims, .attn-figure-caption"));
  return parts.slice(0, words < 0 ? parts.length : words).map(isPicture);
}).filter((cells) => cells.includes(true))"""


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_every_guess_is_made_by_the_keyboard_and_stands_beside_its_result(visit, address, path):
    page = visit(f"{address}/chapters/{path.stem}.html", ask=True)
    results = page.locator(".attn-result")
    assert results.count() == page.locator(".attn-result[hidden=until-found]").count() == len(asked(path))
    reader = Reader(page, asked(path))
    reader.guess()
    assert page.locator(".attn-result[hidden]").count() == 0 and page.said == []
    figure = page.locator(".attn-guesses")
    right = sum(reader.said)
    assert f"{right} of your {len(reader.said)} guesses came out as you said" in figure.inner_text()
    assert figure.locator("tbody tr").count() == len(reader.said)
    assert figure.locator(".attn-hit").count() == right
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280

    page.reload()
    assert page.locator(".attn-result[hidden]").count() == 0, "what was said is kept"
    answers = page.locator(".attn-result").evaluate_all(FIRST)
    assert all(is_picture for is_picture, *_ in answers), "a picture that answers stands before the code that drew it"


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


def test_a_slider_that_was_not_moved_is_no_guess(visit, book):
    page = visit((book / "chapters/03_scores_softmax_pattern.html").as_uri(), ask=True)
    second = page.locator(".attn-guess:has(input[type=range])").first
    press = second.get_by_role("button", name="That is my guess")
    assert press.is_disabled()
    second.locator("input").press("ArrowRight")
    assert press.is_enabled()


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
    slider = box.locator("input")
    slider.focus()
    page.keyboard.press("End")
    before = [slider.bounding_box()[side] for side in ("x", "width")]
    box.get_by_role("button", name="That is my guess").click()
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


def test_a_curve_is_drawn_in_one_sweep_and_the_measured_one_over_it(visit, book):
    page = visit((book / CHAPTER).as_uri(), ask=True)
    box = page.locator(".attn-guess:has(.attn-axes)")
    box.locator("xpath=ancestor::div[contains(@class, 'attn-result')]").evaluate_all(
        "nodes => nodes.forEach((node) => (node.hidden = false))"
    )
    plot = box.locator(".attn-axes")
    plot.scroll_into_view_if_needed()
    side = plot.bounding_box()
    page.mouse.move(side["x"] + 0.1 * side["width"], side["y"] + 0.8 * side["height"])
    page.mouse.down()
    page.mouse.move(side["x"] + 0.98 * side["width"], side["y"] + 0.1 * side["height"], steps=3)
    page.mouse.up()
    said = box.locator("[role=slider]").evaluate_all("points => points.map((one) => Number(one.ariaValueNow))")
    assert said == sorted(said) and said[0] < 0.15 and said[-1] > 0.85 and len(set(said)) == len(said) == 6
    box.get_by_role("button", name="That is my guess").click()
    drawn = box.locator(".attn-its-point").evaluate_all("points => points.map((one) => one.getAttribute('cy'))")
    heights = [float(height) for height in drawn]
    right = next(cell.metadata["guess"]["right"] for cell in asked(SCALING) if "at" in cell.metadata["guess"])
    assert [a > b for a, b in itertools.pairwise(heights)] == [a < b for a, b in itertools.pairwise(right)]
    assert box.locator(".attn-why").inner_text().startswith("You said ")


def test_after_back_the_page_knows_what_the_switch_says(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.goto(f"{address}/chapters/how_to_read.html")
    page.get_by_label("Show all results without asking me first").check()
    page.go_back()
    page.wait_for_load_state("networkidle")
    assert page.locator(".attn-result[hidden]").count() == 0 < page.locator(".attn-result").count()


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


def test_a_formula_of_a_choice_stands_in_the_verdict_and_in_the_figure(visit, book):
    page = visit((book / "chapters/02_queries_keys_values.html").as_uri(), ask=True)
    box = page.locator(".attn-guess", has_text="enough for both")
    box.locator("xpath=ancestor::div[contains(@class, 'attn-result')]").evaluate_all(
        "nodes => nodes.forEach((node) => (node.hidden = false))"
    )
    box.locator(".attn-answer").nth(1).click()
    assert box.locator(".attn-why mjx-container").count() == 1
    assert page.locator(".attn-guesses mjx-container").count() >= 2


def test_one_switch_shows_everything_and_is_kept(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    switch = page.get_by_label("Show all results without asking me first")
    switch.check()
    assert page.locator(".attn-result[hidden]").count() == 0
    page.goto(f"{address}/chapters/05_masking.html")
    assert page.locator(".attn-result[hidden]").count() == 0 < page.locator(".attn-result").count()
    page.goto(f"{address}/chapters/how_to_read.html")
    page.get_by_label("Show all results without asking me first").uncheck()
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator(".attn-result[hidden]").count() == page.locator(".attn-result").count()


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
    assert not page.locator(".attn-guess:visible").count()
    assert page.locator("ul.attn-choices").first.is_visible()


def test_without_javascript_all_results_stand_and_the_choices_are_a_list(visit, book):
    page = visit((book / CHAPTER).as_uri(), java_script_enabled=False)
    assert page.locator(".attn-guess, .attn-result").count() == 0
    assert page.get_by_text("The typical size grows by a factor of 4").is_visible()
    assert page.get_by_role("listitem").filter(has_text="by 16").is_visible()


def test_a_guess_that_was_kept_by_another_version_of_the_book_is_asked_again(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    reader = Reader(page, asked(SCALING))
    reader.guess()
    page.evaluate(
        """() => {
          const key = "attention-worked-out", record = JSON.parse(localStorage.getItem(key));
          for (const name of Object.keys(record)) if (name.includes("?")) record[name] = "a choice that is gone";
          localStorage.setItem(key, JSON.stringify(record));
        }"""
    )
    page.reload()
    assert page.locator(".attn-result[hidden]").count() == len(reader.said) and page.said == []


KEPT = "Object.keys(JSON.parse(localStorage.getItem('attention-worked-out'))).filter((name) => name.includes('?'))"


def test_a_guess_is_found_again_when_its_question_was_mended(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.locator(".attn-answer").first.click()
    question = page.locator(".attn-guess").first.locator("xpath=preceding-sibling::p[1]").inner_text()
    with_comma = lambda route: route.fulfill(  # noqa: E731
        body=route.fetch().text().replace("the vectors get 16 times", "the vectors, say, get 16 times")
    )
    page.route("**/*.html", with_comma)
    page.reload()
    assert "16 times" in question and page.get_by_text("the vectors, say, get 16 times").count() > 0
    assert page.locator(".attn-guess").first.locator(".attn-why").inner_text().startswith("You said ")
    assert page.evaluate(KEPT) == ["scaling?spread-of-dot-products"]


def test_a_guess_that_was_kept_under_its_question_is_kept_under_its_id(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.locator(".attn-answer").first.click()
    page.evaluate(
        """() => {
          const key = "attention-worked-out", sentence = document.querySelector("#guess-spread-of-dot-products");
          const [said] = Object.values(JSON.parse(localStorage.getItem(key)));
          localStorage.setItem(key, JSON.stringify({ [`04_scaling?${sentence.textContent}`]: said }));
        }"""
    )
    for _ in range(2):
        page.reload()
        assert page.locator(".attn-guess").first.locator(".attn-why").inner_text().startswith("You said ")
        assert page.evaluate(KEPT) == ["scaling?spread-of-dot-products"]


def test_the_title_page_counts_guesses_and_forgets_them(visit, address):
    page = visit(f"{address}/{CHAPTER}", ask=True)
    page.locator(".attn-answer").first.click()
    page.goto(f"{address}/chapters/index.html")
    assert "made 1 guess." in page.locator(".attn-progress").inner_text()
    page.get_by_role("button", name="Forget this").click()
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator(".attn-result[hidden]").count() == page.locator(".attn-result").count()


def test_a_notebook_judges_as_the_page_does():
    """The page and JupyterLab's extension are two programs, each with its own words for how near is near enough."""
    folders = [build.ROOT / "book", *(build.ROOT / "lab").rglob("attention-worked-out/static")]
    scripts = [(folder / "guesses.js").read_text(encoding="utf-8") for folder in folders]
    page, notebook = (re.search(r"const NEAR = (\{.*?\});", script)[1] for script in scripts)
    assert page == notebook
