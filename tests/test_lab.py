"""Notebooks in a real JupyterLab: what its extension does to cells and links, and figures whose kernel is alive.

What a guess says is tested in pages of the book: tests/test_guesses.py.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from book import ROOT
from book.ledger import slug

CHAPTER = ROOT / "chapters/02_queries_keys_values.ipynb"
SOURCES = [cell.source for cell in nbformat.read(CHAPTER, 4).cells]


def place(start, sources=SOURCES):
    """Return the number of the one cell that starts so."""
    [number] = [number for number, source in enumerate(sources) if source.startswith(start)]
    return number


SLOW = """import sys
import time

import numpy as np
from attn.training import train
from attn_course.siblings import Siblings

def gradients(params, row):
    time.sleep(0.5)
    return 1.0, {"W": row}

def learn(seed):
    return train({"W": np.zeros(1)}, gradients, [(np.ones(1),)] * 1000, 1000, learning_rate=0.1)

models = Siblings("slow", lambda seed: seed and learn(seed), range(5))
models.train_all()
"""


def shown(figure):
    return f"from attn_course import figures\n\nfigure = figures.{figure}\nfigure"


TRAINED = """import numpy as np

from attn import decoder
from attn_course.corpora import repeated

rows, known = repeated(np.random.default_rng(99), 200)
logits = decoder(figure.params, figure.config, rows[:, :-1])
print(f"{(logits.argmax(-1) == rows[:, 1:])[known].mean():.2f} right")"""
ASKS = [  # text begins with a star or a heading
    "from attn_course.figures import Guess, answer_to",
    "## Who?\n\n**Before you read on:** who was tired?",
    'Guess("tired", ["the dog", "the cat"])',
    "print('It was the cat.')",
    'answer_to("tired", "the cat", why={"the dog": "The dog was hungry."})',
    "*So the cat was tired.*",
    "**Before you read on:** of what?",
    'Guess("what", ["work", "play"])',
    "print('The cat had played.')",
    'answer_to("what", "play")',
    "raise ValueError('a mistake of the reader')",
    "## How many?\n\n**Before you read on:** how many mice?",
    'Guess("mice", scale=[0, 10], unit=" mice")',
    "print('Three mice.')",
    'answer_to("mice", 3, why={"high": "Cats sleep a lot."})',
    "### Where?\n\n**Before you read on:** where?",
    'Guess("where", ["under it", "on the mat"])',
    "print('On the mat.')",
    'answer_to("where", "on the mat")',
    "## The end\n\nNothing is asked here.",
    "print('Good night.')",
]
SAYS = [source[7:-2] for source in ASKS if source.startswith("print")]


def cell_of(source):
    if source[0] in "#*":
        return nbformat.v4.new_markdown_cell(source)
    tags = ["raises-exception"] if source.startswith("raise") else []  # with it, Run All goes on
    return nbformat.v4.new_code_cell(source, metadata={"tags": tags})


CAPITALS = ("The capital of France is", "The capital of Japan is")
HOW = (ROOT / "chapters/install_and_run.md").read_text(encoding="utf-8")
OWN = {
    "asks": ASKS,
    "slow": (ASKS[0], 'Guess("models", ["few", "many"])', SLOW, "print(type(sys.last_value.trained).__name__)"),
    "trainer": (shown("PressTrain(steps=20)"), TRAINED),
    "reader": (shown('NovelReader(["Emma was"])'), "print(figure.text, figure.off)", "figure.off = []"),
    "model": (shown(f"SmolLM2Reader([{CAPITALS}])"), "print(figure.exchanged)"),
    "how": re.findall(r"```python\n(.*?)\n```", HOW, re.DOTALL),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that holds the chapters, and notebooks of the tests' own."""
    tmp_path = tmp_path_factory.mktemp("lab")
    shutil.copytree(CHAPTER.parent, tmp_path / "chapters")
    for name, sources in OWN.items():
        notebook = nbformat.read(CHAPTER, 4)
        notebook.cells = [cell_of(source) for source in sources]
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0"]
    command += ["--IdentityProvider.token=", "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"]
    folders = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {name: value for name, value in {**os.environ, **folders}.items() if name != "TQDM_DISABLE"}
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        command += [f"--ServerApp.root_dir={tmp_path}"]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api").close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
                time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def desk(lab, browser):
    """A page with that JupyterLab, which takes as long to come as a test to run."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(120_000)
    begin(page, lab)
    yield page
    context.close()


def begin(page, lab):
    """Open JupyterLab on an empty desk: a notebook that it opened again might come late, over that of the next test."""
    page.goto(f"{lab}/lab?reset")
    page.wait_for_function("window.jupyterapp")
    wait_for(page, "() => window.jupyterapp.restored")


def wait_for(page, promise, given=None):
    """Wait until what a function of JavaScript promises has come.

    Asked to wait for the promise itself, Chromium 150 says now and then that it was garbage collected, and all goes on.
    """
    page.evaluate(
        f"""(given) => {{
            window.came = null;
            ({promise})(given).then(() => (window.came = "all"), (error) => (window.came = `${{error}}`));
        }}""",
        given,
    )
    assert page.wait_for_function("window.came").json_value() == "all"


@pytest.fixture
def opened(desk):
    """Open a notebook, alone on the desk, and wait for its kernel; return the page."""

    def open_notebook(name):
        wait_for(
            desk,
            """async (path) => {
                const { commands, shell } = window.jupyterapp;
                [...shell.widgets("main")].forEach((widget) => widget.dispose());
                await commands.execute("docmanager:open", { path, factory: "Notebook" });
            }""",
            name,
        )
        desk.wait_for_function(
            """(path) => {
                const notebook = window.jupyterapp.shell.currentWidget;
                return notebook?.context?.path === path && notebook.sessionContext.isReady;
            }""",
            arg=name,
        )
        wait_for(desk, "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.info")
        return desk

    return open_notebook


def run(page, number=None):
    """Run one cell, or all of them, and wait until the kernel has answered.

    JupyterLab may scroll a little longer, so that what the mouse takes hold of is let go elsewhere: press a key then.
    """
    wait_for(
        page,
        """async (number) => {
            const { commands, shell } = window.jupyterapp;
            if (number === null) return await commands.execute("notebook:run-all-cells");
            shell.currentWidget.content.activeCellIndex = number;
            await commands.execute("notebook:run-cell");
        }""",
        number,
    )


def cell_at(page, number):
    """Return a cell, once it is in sight: JupyterLab draws only those."""
    page.evaluate("(at) => void window.jupyterapp.shell.currentWidget.content.scrollToItem(at, 'center')", number)
    return page.locator(f".jp-Notebook-cell[data-windowed-list-index='{number}']")


def read(page, number, output, awaited):
    """Run a cell until it prints what is awaited, for ten seconds at most; return its output.

    The figure tells the kernel of one change at a time, and waits for its answer before it tells of the next.
    """
    for _ in range(20):
        run(page, number)
        said = output.inner_text().strip()
        if awaited in said:
            break
        page.wait_for_timeout(500)
    return said


def test_the_kernel_brings_the_model_and_a_figure_and_python_move_each_other(opened):
    page = opened("reader.ipynb")
    run(page, 0)
    figure = page.locator(".attn-explorable")
    figure.get_by_role("button", name="Load the model").press("Enter")
    figure.locator(".attn-token").first.wait_for()
    figure.get_by_role("button", name="Head L4H3 writes").click()
    figure.locator(".attn-next").first.click()
    figure.locator(".attn-token").nth(2).wait_for()
    text = "".join(figure.locator(".attn-token").all_inner_texts()).replace("·", " ")
    assert text.startswith("Emma was ")
    assert read(page, 1, page.locator(".jp-OutputArea-output").last, text) == f"{text} ['L4H3']"
    off = figure.locator(".attn-power", has_text="off")
    assert off.count() == 1
    run(page, 2)
    off.wait_for(state="detached")


def test_what_is_trained_in_a_figure_comes_to_python(opened):
    page = opened("trainer.ipynb")
    run(page, 0)
    figure = page.locator(".attn-explorable")
    figure.get_by_role("button", name="▶ Train").press("Enter")
    figure.get_by_text("All 20 steps").wait_for()
    [right] = re.findall(r"steps: (\S+ right)", figure.locator(".attn-detail").inner_text())
    assert read(page, 1, page.locator(".jp-OutputArea-output").last, right) == right


def test_the_sliders_of_install_and_run_move_their_figure(opened):
    page = opened("how.ipynb")
    for number in range(len(OWN["how"])):
        run(page, number)
    figure = page.locator(".attn-explorable")
    for number in (2, 3):
        before = figure.inner_html()
        cell_at(page, number).locator(".noUi-handle").focus()
        page.keyboard.press("End")
        page.wait_for_function("([one, before]) => one.innerHTML !== before", arg=[figure.element_handle(), before])


def test_a_chapter_runs_from_top_to_bottom_and_its_guesses_ask(opened):
    page = opened(f"chapters/{CHAPTER.name}")
    run(page)
    counts = page.evaluate(
        """window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
            .filter((cell) => cell.cell_type === "code").map((cell) => cell.execution_count)"""
    )
    assert counts == list(range(1, 1 + len(counts)))

    asks = cell_at(page, place('Guess("short-or-long-key"'))
    asks.get_by_role("button", name="the long one").wait_for()
    assert asks.locator(".jp-InputArea-editor").is_hidden()
    exercise = cell_at(page, place("### Complete the query matrix"))
    exercise.locator(".jp-RenderedMarkdown, .myst").first.locator("h3", has_text="Complete the query").wait_for()


def test_a_solution_sets_its_formulas_when_it_is_opened(opened):
    page = opened("chapters/04_scaling.ipynb")
    cells = nbformat.read(ROOT / "chapters" / "04_scaling.ipynb", 4).cells
    [number] = [number for number, cell in enumerate(cells) if "Each squared weight is" in cell.source]
    fold = cell_at(page, number).locator("details", has_text="Each squared weight is")
    fold.locator("summary").click()
    for _ in range(60):  # JupyterLab may set the cell anew, and a fold of it is closed then
        if fold.locator("mjx-container").count():
            break
        page.wait_for_timeout(500)
        if not fold.evaluate("(fold) => fold.open"):
            fold.locator("summary").click()
    assert fold.locator("mjx-container").count() == 2 and "$" not in fold.inner_text()
    fold.locator("summary").click()
    fold.locator("summary").click()
    page.wait_for_timeout(500)
    assert fold.locator("mjx-container").count() == 2, "a fold that is opened again sets nothing twice"


def test_who_stops_a_training_stops_the_run_and_finds_what_was_trained(opened):
    page = opened("slow.ipynb")
    cell = page.locator(".jp-Notebook-cell").nth
    says = """(cell) => [...cell.querySelectorAll(".jp-OutputArea-child")]
        .map((child) => getComputedStyle(child, "::after").content).filter((text) => text !== "none")"""
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    cell(2).locator("[role=progressbar], .widget-hprogress").first.wait_for()  # it trains, and what follows is hidden
    assert cell(2).evaluate(says) == []
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    cell(2).get_by_text("sys.last_value.trained is what was trained").wait_for()
    counts = "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map((cell) => cell.execution_count)"
    page.wait_for_function("document.querySelectorAll('.jp-Notebook-ExecutionIndicator[data-status=idle]').length")
    assert page.evaluate(counts)[3] is None and cell(2).evaluate(says) == []
    run(page, 3)
    assert cell(3).evaluate(says) == ['"Its result is hidden until you have guessed."']
    cell(1).get_by_role("button", name="Just show me").press("Enter")
    assert cell(3).locator(".jp-OutputArea-output").inner_text().strip() == "Trained"


def test_a_link_lands_on_its_heading_and_a_chapter_that_is_only_read_is_not_unsaved(opened):
    """The command is what JupyterLab makes of a link that is followed."""
    page = opened("chapters/05_masking.ipynb")  # which no other test runs
    headings = {
        "07_many_heads.ipynb": "Can heads share their keys?",
        "references.md": "Veličković and colleagues, 2024",
    }
    for name, heading in headings.items():
        link = {"path": f"chapters/{name}", "id": f"#{slug(heading)}"}
        page.evaluate("(link) => void window.jupyterapp.commands.execute('rendermime:handle-local-link', link)", link)
        page.wait_for_function(
            """(name) => {
                const headings = document.querySelectorAll(".jp-MainAreaWidget:not(.lm-mod-hidden) :is(h2, h3)");
                const found = [...headings].find(({ textContent }) => textContent.startsWith(name));
                const top = found?.getBoundingClientRect().top;
                return 0 < top && top < innerHeight / 2;
            }""",
            arg=heading,
        )
    widgets = "[...window.jupyterapp.shell.widgets('main')].map(({ context }) => context?.model.dirty)"
    assert True not in page.evaluate(widgets)


@pytest.fixture
def asked(opened):
    """Open the notebook that asks, as a reader of whom nothing is remembered, and run it."""
    opened("slow.ipynb").evaluate("() => Object.keys(localStorage).forEach((key) => localStorage.removeItem(key))")
    page = opened("asks.ipynb")
    run(page)
    return page


def notebook(page):
    """Return the notebook that is open: one that was closed may stay in the page for a while."""
    return page.locator("#" + page.evaluate("window.jupyterapp.shell.currentWidget.id"))


def seen(page):
    """Return which of the results a reader sees."""
    outputs = notebook(page).locator(".jp-OutputArea-output")
    for text in SAYS:
        outputs.filter(has_text=text).wait_for(state="attached")  # seen or not, it has come
    return [text for text in SAYS if outputs.filter(has_text=text).is_visible()]


def guess(page, id):
    number = place(f'Guess("{id}"', ASKS)
    return notebook(page).locator(f"[data-windowed-list-index='{number}'] .attn-guess")


def switch(page):
    return notebook(page).get_by_label("Show all results without asking me first")


def verdict(page, id):
    return guess(page, id).locator(".attn-why")


WHO, WHAT, MANY, WHERE, END = SAYS


def test_a_reader_guesses_and_only_then_sees(asked):
    page = asked
    explained = notebook(page).locator("p", has_text="So the cat was tired.")
    assert seen(page) == [END] and explained.is_hidden() and guess(page, "what").is_hidden()
    assert page.locator(".jp-OutputArea-output", has_text="a mistake of the reader").is_visible()
    guess(page, "tired").get_by_role("button", name="the dog").press("Enter")
    assert verdict(page, "tired").inner_text() == "You said “the dog”; it is “the cat”. The dog was hungry."
    assert seen(page) == [WHO, END] and explained.is_visible()
    guess(page, "what").get_by_role("button", name="play").click()
    assert seen(page) == [WHO, WHAT, END]


def test_no_key_that_is_pressed_in_a_figure_reaches_the_notebook(asked):
    page = asked
    guess(page, "mice").get_by_role("slider").focus()
    for key in ["d", "d", "a", "End", "ArrowLeft", "Tab", "d", "d", "Enter"]:
        page.keyboard.press(key)
        assert page.locator("[data-lm-suppress-shortcuts]").count(), "Notebook 7 sees a key before the figure does"
    assert verdict(page, "mice").inner_text().startswith("You said 9 mice; it is 3 mice.")
    assert seen(page) == [MANY, END]
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == len(ASKS)
    page.keyboard.press("Shift+Enter")  # which does
    active = page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex")
    assert ASKS[active] == "print('Three mice.')"


def test_what_was_said_outlives_a_reload_and_one_switch_hides_and_shows_cells(asked, opened, lab):
    asked.evaluate("localStorage['attention-worked-out'] = JSON.stringify({ 'asks?what': 'play' })")
    page = opened("asks.ipynb")
    run(page)
    assert seen(page) == [END], "a guess hides also what follows the next one, although that was made"
    guess(page, "tired").get_by_role("button", name="the cat").press("Enter")
    kept = page.evaluate("JSON.parse(localStorage['attention-worked-out'])")
    assert kept == {"asks?what": "play", "asks?tired": "the cat"} and seen(page) == [WHO, WHAT, END]
    switch(page).press("Space")
    assert seen(page) == SAYS and guess(page, "where").get_by_role("button", name="Just show me").is_visible()
    begin(page, lab)  # only now are figures drawn before they stand in the page
    page = opened("asks.ipynb")
    run(page)
    verdict(page, "tired").get_by_text("and so it is").wait_for()
    assert switch(page).is_checked() and seen(page) == SAYS
    switch(page).press("Space")
    assert seen(page) == [WHO, WHAT, END]


def test_a_guess_waits_for_its_answer(asked):
    page = asked
    wait_for(page, "() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    run(page, place('Guess("tired"', ASKS))
    guess(page, "tired").get_by_role("button", name="the dog").press("Enter")
    assert verdict(page, "tired").inner_text() == "You said “the dog”. Run the cells below to see what it is."
    run(page, place('answer_to("tired"', ASKS))
    verdict(page, "tired").get_by_text("You said “the dog”; it is “the cat”.").wait_for()


def test_what_a_saved_notebook_says_was_said(asked, opened):
    """Otherwise a guess that can no longer be made would hide what follows."""
    guess(asked, "tired").get_by_role("button", name="the dog").press("Enter")
    verdict(asked, "tired").get_by_text("You said “the dog”; it is “the cat”.").wait_for()
    seen(asked)  # what was run has come, and all of it is there to save
    wait_for(asked, "() => window.jupyterapp.commands.execute('docmanager:save')")
    asked.evaluate("() => localStorage.clear()")
    page = opened("asks.ipynb")
    verdict(page, "tired").get_by_text("You said “the dog”; it is “the cat”.").wait_for()
    guess(page, "what").wait_for()
    assert seen(page) == [WHO, END]


def test_a_result_says_on_how_many_models_it_rests_as_in_the_book(asked):
    tag = """(tags) => window.jupyterapp.shell.currentWidget.content.widgets[3].model.setMetadata("tags", tags)"""
    for tags, mark in [(["one-model"], "● one model"), (["hide-input", "trained"], "●●● several models"), ([], "none")]:
        asked.evaluate(tag, tags)
        wanted = f'"{mark}"' if tags else mark
        asked.wait_for_function(
            """([id, wanted]) => wanted === getComputedStyle(document.querySelector(
                `#${id} [data-windowed-list-index="3"] .jp-Cell-outputArea`), "::before").content""",
            arg=[asked.evaluate("window.jupyterapp.shell.currentWidget.id"), wanted],
        )


def test_numbers_that_the_book_folds_stay_folded_until_their_cell_is_run(asked):
    page, where = asked, place("print('On the mat.')", ASKS)
    cell = f"window.jupyterapp.shell.currentWidget.content.widgets[{where}]"
    page.evaluate(f"""() => {cell}.model.setMetadata("tags", ["hide-cell"])""")
    switch(page).press("Space")
    run(page)
    page.wait_for_function(f"{cell}.outputHidden")
    run(page, where)
    assert seen(page) == SAYS


def test_a_released_model_is_run_by_the_package(opened, smollm2):
    page = opened("model.ipynb")
    run(page)
    first = notebook(page).locator(".attn-nexts").first
    first.get_by_text("·Paris").wait_for()
    notebook(page).get_by_text("hands over what it mixes in the second text", exact=True).click()
    first.get_by_text("·Tokyo").wait_for()
    assert first.inner_text().split() == ["·Tokyo", "0.760,", "was", "0.000"]
    output = notebook(page).locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output")
    assert read(page, 1, output, "['L24H5']") == "['L24H5']"


def test_without_the_extension_a_guess_asks_and_hides_nothing(desk, opened, lab):
    """Last of all: the desk stays without it."""
    desk.route("**/attention-worked-out/**", lambda route: route.abort())
    begin(desk, lab)
    page = opened("asks.ipynb")
    run(page)
    assert seen(page) == SAYS and switch(page).count() == 0
    guess(page, "tired").get_by_role("button", name="the dog").press("Enter")
    assert verdict(page, "tired").inner_text() == "You said “the dog”; it is “the cat”. The dog was hungry."
