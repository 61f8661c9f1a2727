"""The controls of a reader's own function: moved in a real JupyterLab, and what stands in their place elsewhere."""

import re

import nbformat
import pytest
import test_lab

from attn_course.live import HOW
from book import ROOT, chapter, chapters, name_of
from book.execute import ChapterFailed, normalise, read

lab, desk, opened = test_lab.lab, test_lab.desk, test_lab.opened

MOVES = {  # by chapter: a control, the keys that move it, and what its function prints or draws then
    "queries_keys_values": ("degrees", ["ArrowRight"], r"{'cat': 0\.21"),
    "scores_softmax_pattern": ("back", ["End"], "<img"),
    "masking": ("may_see", ["Control+A", *"j < i", "Enter"], "<img"),
    "many_heads": ("asks", ["n"], r"car +wrecked 0\.20"),
    "where_a_word_stands": ("one_back", ["Home"], "<img"),
    "how_a_model_learns": ("step", ["Home"], "<img"),
    "heads_and_layers": ("first", ["L"], r"right 0\.93"),
    "a_model_that_reads": ("text", ["Control+A", *"Emma was a", "Enter"], r"model +·very"),
}
OTHERS = {"how_a_model_learns": "shares", "heads_and_layers": "models"}  # a word of cells that train others, for long


def has_controls(cell):
    return cell.cell_type == "code" and "@interact(" in cell.source


def notebook(tmp_path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in ["from attn_course.live import interact", *sources]]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "own.ipynb")
    return tmp_path / "own.ipynb"


def test_where_no_kernel_runs_the_start_and_what_the_function_gives_for_it_are_shown(kernel, tmp_path):
    own = "@interact(n=(1, 5), word=['<b>', 'c'])\ndef repeat(n=2, word='<b>'):\n    print(word * n)"
    drawn = "@interact(n=(1, 5))\ndef dots(n=2):\n    plt.plot(range(n), 'o')\n    plt.show()"
    sources = [own, "import matplotlib.pyplot as plt", drawn, "repeat(3, 'd')"]
    executed = kernel(notebook(tmp_path, *sources))
    executed.cells[3].metadata.mystnb = {"image": {"alt": "two dots"}}
    _, text, _, picture, called = [cell.outputs for cell in normalise(executed).cells]
    told, shown = (output.data for output in text)
    line = f'<p class="attn-live">n = 2, word = &lt;b&gt;. {HOW}</p>'
    assert told == {"text/plain": f"n = 2\nword = <b>\n{HOW}", "text/html": line}
    assert shown == {"text/plain": "<b><b>"}
    assert [set(output.data) for output in picture] == [{"text/plain", "text/html"}, {"text/plain", "image/png"}]
    assert [output.text for output in called] == ["ddd\n"], "the function is what it was"


def test_a_function_that_fails_at_the_start_fails_in_its_cell(kernel, tmp_path):
    own = notebook(tmp_path, "@interact(n=(0, 5))\ndef inverse(n=0):\n    print(1 / n)")
    with pytest.raises(ChapterFailed, match="ZeroDivisionError"):
        kernel(own)


def test_every_chapter_with_controls_has_them_moved_here():
    assert [name_of(path) for path in chapters() if any(map(has_controls, read(path).cells))] == [*MOVES]


def outputs_of(page, place):
    """Return the controls of a cell, and what its function gives."""
    cell = test_lab.cell_at(page, place)
    return cell.locator(".widget-inline-hbox"), cell.locator(".widget-output .jp-OutputArea")


def wait_for_change(page, locator, before):
    page.wait_for_function(
        "([one, before]) => one.innerHTML !== before && (one.innerText.trim() || one.querySelector('img'))",
        arg=[locator.element_handle(), before],
    )


@pytest.mark.parametrize("chosen", MOVES)
def test_a_control_runs_the_function_again(opened, desk, chosen):
    name, keys, then = MOVES[chosen]
    path = chapter(chosen)
    cells = read(path).cells
    [place] = [place for place, cell in enumerate(cells) if has_controls(cell)]
    desk.evaluate("localStorage.setItem('attention-worked-out: show all', 'yes')")
    page = opened(f"chapters/{path.name}")
    for at, cell in enumerate(cells[: place + 1]):
        if cell.cell_type == "code" and not (chosen in OTHERS and OTHERS[chosen] in cell.source):
            test_lab.run(page, at)
    controls, given = outputs_of(page, place)
    before = given.inner_html()
    control = controls.filter(has=page.get_by_text(name, exact=True))
    control.locator("input, select, .noUi-handle").first.focus()
    for key in keys:
        page.keyboard.press(key)
    wait_for_change(page, given, before)
    assert re.search(then, given.inner_html())


def test_the_sliders_of_install_and_run_move_their_figure(opened, desk):
    page_of_book = (ROOT / "chapters" / "install_and_run.md").read_text(encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(code) for code in re.findall(r"```python\n(.*?)\n```", page_of_book, re.DOTALL)]
    desk.evaluate(
        """(content) => window.jupyterapp.serviceManager.contents.save(
            "how.ipynb", { type: "notebook", format: "json", content })""",
        nbformat.v4.new_notebook(cells=cells, metadata=read(chapter("queries_keys_values")).metadata),
    )
    page = opened("how.ipynb")
    for at in range(len(cells)):
        test_lab.run(page, at)
    figure = page.locator(".attn-explorable")
    for at in [2, 3]:
        controls, _ = outputs_of(page, at)
        before = figure.inner_html()
        controls.locator(".noUi-handle").focus()
        page.keyboard.press("End")
        wait_for_change(page, figure, before)
