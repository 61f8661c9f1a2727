"""The chapters: in normal form, executed, laid out alike, and at one with what they print."""

import copy
import itertools
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from variants import ANSWERS, names, on_the_spine, solve

from attn_course.exercises import QUESTIONS
from attn_course.figures import SelfCheck
from book import chapters, ledger, references, spine
from book.execute import DRAWN_TWICE, FOLDED, exercises, normalise, read
from book.inline import drawings
from book.prose import CLOCK, is_guess, missing, printed, questions, shown, unprinted

FOLDER = Path(__file__).resolve().parent.parent / "chapters"
TEMPLATE = FOLDER.parent / "book" / "template.ipynb"
CHAPTERS = chapters()
NOTEBOOKS = [*CHAPTERS, *sorted({*FOLDER.glob("*.ipynb")} - {*CHAPTERS}), TEMPLATE]


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


def sections(notebook):
    """Return the cells of each section by heading."""
    return {heading: cells for heading, cells in spine.sections(notebook).items() if heading}


def shows_figure(cell):
    return "plt.show()" in cell.source or is_moving(cell)


def is_moving(cell):
    return "data-explorable" in str(cell.get("outputs", "")) and not questions(cell) and not is_guess(cell)


@each(NOTEBOOKS)
def test_a_notebook_is_in_normal_form_and_executed_in_order(path):
    notebook = read(path)
    assert normalise(copy.deepcopy(notebook)) == notebook, "run make record"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run make record"
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/html", "image/png"}, "an id of a widget means nothing in another kernel"


@each(CHAPTERS)
def test_a_chapter_reads_on_github_its_pictures_small_and_no_answer_before_its_question(path):
    cells = read(path).cells
    assert cells[1] == read(TEMPLATE).cells[1] and cells[1].metadata.tags == ["remove-cell"]
    assert not any(re.search(r"^(:::|```\{)", cell.source, re.MULTILINE) for cell in cells)
    asked = [question for cell in cells for question in questions(cell)]
    texts = [question["answers"][question["right"]]["why"] for question in asked]
    assert texts and not [text for text in texts if any(text in cell.source for cell in cells)]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == sum("plt.show()" in cell.source for cell in cells)
    assert sum(len(picture) for picture in pictures) * 3 / 4 <= 60_000


def test_figures_are_drawn_sharp_and_the_same_every_time(kernel, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", DRAWN_TWICE["MPLBACKEND"])

    def figures():
        outputs = [output for cell in kernel(TEMPLATE).cells for output in cell.get("outputs", [])]
        return [output.data["image/svg+xml"] for output in outputs if "image/svg+xml" in output.get("data", {})]

    first = figures()
    assert first and first == figures()
    assert {len(drawings(figure)) for figure in first} == {2}  # a wide one and a narrow one


@each(NOTEBOOKS[:-1])  # the template speaks of the rules
def test_a_number_in_prose_is_printed_by_a_cell(path):
    assert unprinted(read(path)) == {}, "told, but printed by no cell: print them, or take them out"


def test_a_number_that_no_cell_prints_is_found():
    size = nbformat.v4.new_output("display_data", {"text/plain": "<Figure size 1110x480 with 2 Axes>"})
    stream = nbformat.v4.new_output("stream", text="333.33\n")
    code = nbformat.v4.new_code_cell("print(1_000 / 3)", outputs=[stream, size])
    told = (
        "As [12.5](a-99.5.md) says (Ada, 2017), 333.33 is 1,000 over 3, not 2,000 or, Ada, 2048 to 1990;"
        f" $x^{{0.75}}$ is `0.5` and 13, or 1110 in revision `2220a243{'0' * 32}` of `jax==44.5.2`."
        "\n\n```python\n77.7\n```"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(told), code])
    assert set(unprinted(notebook)) == {12.5, 0.75, 0.5, 13, 1110, 2000, 2048, 1990}


@pytest.mark.parametrize(
    ("source", "tags", "found"),
    [("steps = 400", [], set()), ("steps = 40  # or 400", [], {400}), ("steps = 400", ["hide-input"], {400})],
    ids=["in code", "in a comment", "in folded code"],
)
def test_a_number_counts_as_shown_where_a_reader_sees_it(source, tags, found):
    code = nbformat.v4.new_code_cell(source, metadata={"tags": tags})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("After 400 steps."), code])
    assert set(unprinted(notebook)) == found


def test_the_right_answer_of_a_question_stands_first_second_and_third_about_as_often():
    chapters = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    asked = list(itertools.chain(*chapters.values()))
    places = np.bincount([[*question["answers"]].index(question["right"]) for question in asked])
    assert len(places) == 3 and places.min() > len(asked) / 4, f"right are {places}: put some answers in another order"
    longest = [question["right"] == max(question["answers"], key=len) for question in asked]
    assert np.mean(longest) < 0.5, "the right answer is the longest too often"


def test_a_question_is_prose_but_its_wrong_answers_are_not():
    figure = SelfCheck([("How much is 1,000 over 3, not 55?", "333.33", {"333.33": "Yes.", "44": "66 no."})])
    output = nbformat.v4.new_output("display_data", {"text/html": figure._repr_mimebundle_()[0]["text/html"]})
    asked = nbformat.v4.new_code_cell("SelfCheck(55, 66)", outputs=[output])
    code = nbformat.v4.new_code_cell("print(1_000 / 3)", outputs=[nbformat.v4.new_output("stream", text="333.33\n")])
    notebook = nbformat.v4.new_notebook(cells=[code, asked])
    assert set(unprinted(notebook)) == {55, 66}


def test_a_share_that_is_printed_may_be_told_in_per_cent():
    assert not missing(["It is right in 91 to 96 % of the cases, and in 0.96."], {0.91, 0.96})
    assert set(missing(["It is right in 95 % of the cases."], {0.96})) == {95}


@pytest.mark.parametrize(
    "row", yaml.safe_load((FOLDER / "ledger.yml").read_text(encoding="utf-8")), ids=lambda row: row["id"]
)
def test_a_number_that_the_ledger_found_is_printed_where_it_says(row):
    verdicts = {"holds", "made exact", "by construction", "by citation", "corrected", "tested"}
    assert set(row) - {"real"} == {"id", "by", "said", "found", "verdict", "shown"} and row["verdict"] in verdicts
    notebooks = [read(next(FOLDER.glob(f"{chapter:02d}_*"))) for chapter in row["shown"]]
    cells = [cell for notebook in notebooks for cell in notebook.cells if cell.cell_type == "code"]
    assert missing([row["found"], row.get("real", "")], shown(cells)) == {}


def test_the_pages_that_are_written_from_data_are_up_to_date():
    for page, entries in [(ledger.PAGE, ledger.ledger()), (references.PAGE, references.references())]:
        text = page.read_text(encoding="utf-8")
        assert text == ledger.renewed(page, entries), f"{page.name} is not up to date: run make record"


@each(CHAPTERS)
def test_a_chapter_follows_the_skeleton(path):
    notebook = read(path)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.match(rf"# {int(path.name[:2])}\. ", notebook.cells[0].source)
    assert [words for words in ("**You need:**", "**Before you read on:**", "**Next:**") if words not in text] == []
    after = [other.name for other in CHAPTERS if other.name > path.name][:1] or ["ledger.md"]
    assert re.findall(r"\*\*Next:\*\*.*?\]\(([^)]*)\)", text) == after
    assert list(sections(notebook))[-4:] == ["Questions", "Exercises", "Summary", "References"]
    n_questions = sum(len(questions(cell)) for cell in sections(notebook)["Questions"])
    assert 4 <= n_questions <= 6, "a chapter has four to six questions"
    assert len(names(notebook)) >= 3, "a chapter has three exercises or more"
    assert any(map(is_moving, notebook.cells)), "at least one figure of a chapter is an explorable"


@each(NOTEBOOKS)
def test_a_link_of_the_cell_that_the_book_leaves_out_leads_to_a_heading(path):
    """Sphinx, which checks all other links, never sees it; JupyterLab opens only what lies beside the notebook."""
    (cell,) = [cell for cell in read(path).cells if "remove-cell" in cell.metadata.get("tags", [])]
    (name, heading), *others = re.findall(r"\]\(([^)#]*)#([^)]*)\)", cell.source)
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert not others and "/" not in name
    assert heading in [ledger.slug(title) for title in re.findall(r"^#+ (.*)$", page, re.MULTILINE)]


@each(CHAPTERS)
def test_every_section_has_something_to_look_at(path):
    ideas = list(sections(read(path)).items())[:-4]
    assert ideas and [heading for heading, cells in ideas if not any(map(shows_figure, cells))] == []


@each(NOTEBOOKS)
def test_every_figure_has_an_alt_text_a_caption_and_its_code_folded(path):
    cells = read(path).cells
    for cell, following in itertools.pairwise(cells):
        if not shows_figure(cell):
            continue
        assert re.match(r"\*[^*].*\*(\n|$)", following.source), f"no caption in italics after {cell.source[-80:]!r}"
        assert "hide-input" in cell.metadata.get("tags", []), f"no tag hide-input on {cell.source[-80:]!r}"
        if "plt.show()" in cell.source:
            assert len(cell.metadata.mystnb.image.alt) > 40


@each(CHAPTERS)
def test_where_the_clock_draws_labels_have_places_of_their_own(path):
    """A label that hangs on a measured point stands somewhere else on the next machine, perhaps on another label."""
    timed = [cell.source for cell in read(path).cells if CLOCK in cell.metadata.get("tags", [])]
    assert not [source for source in timed if re.search(r"\.(annotate|text)\(", source)]


@each(NOTEBOOKS)
def test_code_that_is_the_lesson_fits_the_page(path):
    for cell in read(path).cells:
        if cell.cell_type == "code" and not FOLDED & set(cell.metadata.get("tags", [])):
            lines = cell.source.splitlines()
            assert max(map(len, lines)) <= 80, cell.source
            assert len([line for line in lines if line.strip()]) <= 10, cell.source
            if not shows_figure(cell):
                assert max(map(len, printed(cell).splitlines()), default=0) <= 88, printed(cell)


@each(NOTEBOOKS)
def test_each_exercise_waits_for_an_answer_and_has_a_solution(path):
    """Whether the solution is right is seen where the chapter is run with it: tests/variants.py."""
    notebook = read(path)
    found = exercises(notebook)
    assert len(found) == len(names(notebook)), "an exercise has a code cell that ends with '= ...' or 'return ...'"
    for _, check, code in found:
        assert printed(check).startswith("Not answered yet")
        compile(code, "solution", "exec")


def test_every_exercise_has_answers_that_are_tried():
    tried = {number: [*some] for number, some in ANSWERS.items()}
    assert {path.name[:2]: names(read(path)) for path in CHAPTERS} == tried
    assert all(one["right"] and len(one["wrong"]) >= 3 for some in ANSWERS.values() for one in some.values())


def test_a_solution_takes_the_place_of_the_dots_and_its_check_has_to_say_right():
    cells = [
        nbformat.v4.new_markdown_cell("## Exercises\n\n### Two and two\n\nHow much?"),
        nbformat.v4.new_code_cell("answer = ..."),
        nbformat.v4.new_code_cell("check(answer)"),
        nbformat.v4.new_markdown_cell("<details>\n<summary>Solution</summary>\n\nSo:\n\n```python\nanswer = 4\n```\n"),
    ]
    solved = solve(nbformat.v4.new_notebook(cells=cells), {"Two and two": {"right": ["4.0"], "wrong": ["5"]}})
    _, answer, check, trials, _ = solved.cells
    assert answer.source.startswith("answer = 4\n") and printed(check) == "Right."
    judge = "def check(answer): print('Right.' if answer == 4 else 'Not yet.')"
    exec(f"{judge}\n{trials.source}", {})
    with pytest.raises(AssertionError, match="5"):
        exec(f"{judge.replace('== 4', '> 3')}\n{trials.source}", {})
    with pytest.raises(ValueError, match=r"no solution two cells after 'answer = \.\.\.'"):
        solve(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("answer = ...") for _ in range(3)]), {})


def test_on_the_spine_an_exercise_for_a_side_path_is_gone_with_it():
    first, second = ['### First\n\n*For the side path "Aside".*', "x = 2"], ["### Second", "x = 3"]
    texts = ["# 1. One", f"## Aside\n\n*{spine.SIDE}*", "x = 1", "## Exercises", *first, *second, "## Summary"]
    cells = [(nbformat.v4.new_code_cell if " = " in text else nbformat.v4.new_markdown_cell)(text) for text in texts]
    kept = [cell.source for cell in on_the_spine(nbformat.v4.new_notebook(cells=cells)).cells]
    assert kept == ["# 1. One", "## Exercises", *second, "## Summary"]
