"""A chapter in a real JupyterLab: run from top to bottom, its figure moved by hand, read and moved in Python."""

import json
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
from book.guesses import guess_in, judged

from book import build
from book.ledger import slug

CHAPTER = build.ROOT / "chapters/02_queries_keys_values.ipynb"
SOURCES = [cell.source for cell in nbformat.read(CHAPTER, 4).cells]


def place(start):
    """Return the number of the one cell that starts so."""
    [number] = [number for number, source in enumerate(SOURCES) if source.startswith(start)]
    return number


SLOW = """import time
import numpy as np
from attn.course.progress import each
from attn.training import train

def gradients(params, row):
    time.sleep(0.5)
    return 1.0, {"W": row}

def learn(seed):
    return train({"W": np.zeros(1)}, gradients, [(np.ones(1),)] * 1000, 1000, learning_rate=0.1)

models = [learn(seed) for seed in each(range(5))]
"""


EXPLORER = """from attn.figures import AttentionExplorer

explorer = AttentionExplorer(["The", "black", "cat", "ate", "fish"],
                             [[0.1, 0.2], [0.9, 0.1], [0.4, 0.5], [0.3, 0.9], [0.7, 0.2]],
                             [[0.2, 0.1], [1.0, 0.3], [0.4, 0.8], [0.1, 0.6], [0.5, 0.5]],
                             [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.2, 0.8]], query=2)
explorer"""
WEIGHTS = """word = explorer.query
for token, weight in zip(explorer.tokens, explorer.weights[word]):
    print(f"{explorer.tokens[word]} gives {token:<6} {weight:.3f}")"""
KNOB = """from ipywidgets import IntSlider, link

knob = IntSlider(description="word", max=4)
link((explorer, "query"), (knob, "value"))
knob"""


READER = """from attn.figures import NovelReader

reader = NovelReader(["Emma was"])
reader"""
TRAINER = """from attn.figures import PressTrain

trainer = PressTrain(steps=20)
trainer"""
TRAINED = """import numpy as np

from attn import decoder
from attn.course.corpora import repeated

rows, known = repeated(np.random.default_rng(99), 200)
logits = decoder(trainer.params, trainer.config, rows[:, :-1])
print(f"{(logits.argmax(-1) == rows[:, 1:])[known].mean():.2f} right")"""
ASKS = [  # what a cell of text asks and what the kernel would answer, or a code cell and what it printed
    (
        """## Who?

**Before you read on:** who was tired?

- the dog
- the $c$ at

<!-- guess
id: tired
answer: '"unseen"'
why:
  the dog: The dog was hungry.
-->""",
        {"answer": "the $c$ at"},
    ),
    ("print('It was the cat.')", "It was the cat."),
    ("So the cat was tired.", None),
    (
        "**Before you read on:** of what?\n\n- work\n- play\n\n<!-- guess\nid: what\nanswer: why\n-->",
        {"answer": "play"},
    ),
    ("print('The cat had played.')", "The cat had played."),
    ("raise ValueError('a mistake of the reader')", None),
    (
        "## How many?\n\n**Before you read on:** how many mice?\n\n<!-- guess\nid: mice\nanswer: n\nscale: [0, 10]\n"
        "unit: ' mice'\nwhy:\n  high: Cats sleep a lot.\n-->",
        {"answer": 3},
    ),
    ("print('Three mice.')", "Three mice."),
    (
        "### Where?\n\n**Before you read on:** where?\n\n<!-- guess\nid: where\nanswer: place\nrows: words\n"
        "columns: words\n-->",
        {"answer": [1, 0], "rows": ["cat", "mat"], "columns": ["cat", "mat"]},
    ),
    ("print('On the mat.')", "On the mat."),
    (
        "### When?\n\n**Before you read on:** draw it: how awake?\n\n<!-- guess\nid: awake\nanswer: curve\nat: hours\n"
        "scale: [0, 1]\nacross: hour\nalong: share\n-->",
        {"answer": [1, 0, 1], "at": [0, 12, 24]},
    ),
    ("print('At night.')", "At night."),
    ("## The end\n\nNothing is asked here.", None),
    ("print('Good night.')", "Good night."),
]
FEW = 4  # notebooks that ask all guesses of the book: one for each chapter would take longer to open, one alone to ask
SAYS = [printed for source, printed in ASKS if isinstance(printed, str)]


def asking():
    """Return a notebook that asks for guesses, as `make record` would leave it."""
    notebook = nbformat.read(CHAPTER, 4)
    notebook.cells = []
    for source, about in ASKS:
        if source.startswith(("print", "raise")):
            cell = nbformat.v4.new_code_cell(source)
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{about}\n")] if about else []
            cell.metadata["tags"] = [] if about else ["raises-exception"]  # with it, Run All goes on
        else:
            cell = nbformat.v4.new_markdown_cell(source)
            if guess := guess_in(cell):
                cell.metadata["guess"] = judged(guess, repr(json.dumps(about)))
        notebook.cells.append(cell)
    return notebook


def foreign():
    """Return a notebook whose metadata mean something else, and in which a guess was taken out."""
    notebook = asking()
    strange = ["yes", {"id": "tired"}, {"id": "tired", "right": 7, "why": []}, {"id": "mice", "scale": 3, "why": []}]
    flat = {"id": "awake", "at": [0, 12], "scale": [0, 1], "right": 1, "why": []}
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell, guess in zip(texts, [*strange, {"id": "where", "rows": [], "right": [0, 0], "why": []}, flat]):
        cell.metadata["guess"] = guess
    texts[0].source = texts[0].source.replace("**Before you read on:**", "I had asked")
    return notebook


def guesses_of(chapters):
    """Return a notebook of all cells of these chapters that ask."""
    notebook = nbformat.read(CHAPTER, 4)
    cells = [cell for path in chapters for cell in nbformat.read(path, 4).cells if "guess" in cell.metadata]
    notebook.cells = [nbformat.v4.new_markdown_cell(cell.source, metadata=cell.metadata) for cell in cells]
    return notebook


OWN = {
    "slow": (SLOW, "import sys; print(type(sys.last_value.trained).__name__)"),
    "trainer": (TRAINER, TRAINED),
    "reader": (READER, "print(reader.text, reader.off)"),
    "explorer": (EXPLORER, WEIGHTS, KNOB),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that holds the chapters, and notebooks of the tests' own."""
    tmp_path = tmp_path_factory.mktemp("lab")
    shutil.copytree(CHAPTER.parent, tmp_path / "chapters")
    for name, sources in OWN.items():
        notebook = nbformat.read(CHAPTER, 4)
        notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    nbformat.write(asking(), tmp_path / "asks.ipynb")
    nbformat.write(foreign(), tmp_path / "foreign.ipynb")
    for number in range(FEW):
        nbformat.write(guesses_of(build.chapters()[number::FEW]), tmp_path / f"guesses {number}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0"]
    command += ["--IdentityProvider.token=", "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"]
    folders = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {name: value for name, value in {**os.environ, **folders}.items() if name != "TQDM_DISABLE"}
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [*command, f"--ServerApp.root_dir={tmp_path}"], env=environment, stdout=log, stderr=log
        )
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
    page.evaluate("() => window.jupyterapp.restored")


@pytest.fixture
def opened(desk):
    """Open a notebook, alone on the desk, and wait for its kernel; return the page."""

    def open_notebook(name):
        desk.evaluate(
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
        desk.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.info")
        return desk

    return open_notebook


def run(page, number=None):
    """Run one cell, or all of them, and wait until the kernel has answered."""
    page.evaluate(
        """async (number) => {
            const { commands, shell } = window.jupyterapp;
            if (number === null) return await commands.execute("notebook:run-all-cells");
            shell.currentWidget.content.activeCellIndex = number;
            await commands.execute("notebook:run-cell");
        }""",
        number,
    )


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


def test_the_kernel_brings_the_model_and_python_sees_what_it_reads(opened):
    page = opened("reader.ipynb")
    run(page, 0)
    figure = page.locator(".attn-explorable")
    figure.get_by_role("button", name="Load the model").click()
    figure.locator(".attn-token").first.wait_for()
    figure.get_by_role("button", name="Head L4H3 writes").click()
    figure.get_by_role("button", name="Take the likeliest").click()
    figure.locator(".attn-token").nth(2).wait_for()
    text = "".join(figure.locator(".attn-token").all_inner_texts()).replace("·", " ")
    assert text.startswith("Emma was ")
    assert read(page, 1, page.locator(".jp-OutputArea-output").last, text) == f"{text} ['L4H3']"


def test_what_is_trained_in_a_figure_comes_to_python(opened):
    page = opened("trainer.ipynb")
    run(page, 0)
    figure = page.locator(".attn-explorable")
    figure.get_by_role("button", name="▶ Train").click()
    figure.get_by_text("All 20 steps").wait_for()
    [right] = re.findall(r"steps: (\S+ right)", figure.locator(".attn-detail").inner_text())
    assert read(page, 1, page.locator(".jp-OutputArea-output").last, right) == right


def test_a_chapter_runs_from_top_to_bottom_and_shows_no_comment_of_a_guess(opened):
    page = opened(f"chapters/{CHAPTER.name}")
    run(page)
    counts = page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map((cell) => cell.execution_count)"
    )
    assert [count for count in counts if count] == list(range(1, 1 + sum(count is not None for count in counts)))

    cell = page.locator(".jp-Notebook-cell").nth
    show = "(number) => window.jupyterapp.shell.currentWidget.content.scrollToItem(number)"
    [asks] = [number for number, source in enumerate(SOURCES) if "Which of them gets more weight?" in source]
    page.evaluate(show, asks)
    rendered = cell(asks).locator(".jp-RenderedMarkdown, .myst").first
    cell(asks).get_by_role("button", name="the long one").wait_for()
    assert rendered.get_by_text("the long one").is_hidden(), "the choices stand there once"
    assert "answer:" not in rendered.inner_text() and "guess" not in rendered.inner_text()

    exercise = place("### Complete the query matrix")
    page.evaluate(show, exercise)
    rendered = cell(exercise).locator(".jp-RenderedMarkdown, .myst")
    rendered.first.locator("h3", has_text="Complete the query matrix").wait_for()


def test_a_figure_and_python_move_each_other(opened):
    page = opened("explorer.ipynb")
    run(page)
    cell = page.locator(".jp-Notebook-cell").nth
    figure = cell(0).locator(".attn-explorable")
    figure.get_by_role("slider", name="q₁").focus()
    page.keyboard.press("End")
    figure.get_by_label("itself and earlier words").click()
    page.wait_for_function("document.querySelectorAll('.jp-Notebook-ExecutionIndicator[data-status=idle]').length")

    shown = figure.locator(".attn-pattern .attn-chosen .attn-cell").all_text_contents()
    said = read(page, 1, cell(1).locator(".jp-OutputArea-output"), "fish   0.000")
    assert [line.split()[0:3:2] for line in said.splitlines()] == [
        ["cat", word] for word in ("The", "black", "cat", "ate", "fish")
    ]
    weights = [float(line.split()[-1]) for line in said.splitlines()]
    assert weights[:3] == pytest.approx([float(weight) for weight in shown[:3]], abs=0.006)
    assert sum(weights[:3]) == pytest.approx(1, abs=0.002) and weights[3:] == [0, 0]

    knob = cell(2).locator(".noUi-handle")
    knob.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "[...document.querySelectorAll('.attn-chosen th')].some((name) => name.textContent === 'black')"
    )


def test_a_solution_sets_its_formulas_when_it_is_opened(opened):
    page = opened("chapters/04_scaling.ipynb")
    cells = nbformat.read(build.ROOT / "chapters" / "04_scaling.ipynb", 4).cells
    [number] = [number for number, cell in enumerate(cells) if "Each squared weight is" in cell.source]
    page.evaluate("(number) => window.jupyterapp.shell.currentWidget.content.scrollToItem(number)", number)
    fold = page.locator(".jp-Notebook-cell details", has_text="Each squared weight is")
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
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.locator(".jp-OutputArea [role=progressbar], .jp-OutputArea .widget-hprogress").first.wait_for()  # it trains
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    said = page.locator(".jp-Notebook-cell").first.get_by_text("sys.last_value.trained is what was trained")
    said.wait_for()
    counts = "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map((cell) => cell.execution_count)"
    page.wait_for_function("document.querySelectorAll('.jp-Notebook-ExecutionIndicator[data-status=idle]').length")
    assert page.evaluate(counts)[1] is None
    run(page, 1)
    assert page.locator(".jp-Notebook-cell").nth(1).locator(".jp-OutputArea-output").inner_text().strip() == "Trained"


def test_a_link_lands_on_its_heading_and_a_chapter_that_is_only_read_is_not_unsaved(opened):
    """The command is what JupyterLab makes of a link that is followed."""
    page = opened("chapters/05_masking.ipynb")  # which no other test runs
    for name, heading in [
        ("07_many_heads.ipynb", "Can heads share their keys?"),
        ("references.md", "Veličković and colleagues, 2024"),
    ]:
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
    """Open the notebook that asks, as a reader of whom nothing is remembered."""
    opened("slow.ipynb").evaluate("() => Object.keys(localStorage).forEach((key) => localStorage.removeItem(key))")
    return opened("asks.ipynb")


def notebook(page):
    """Return the notebook that is open: one that was closed may stay in the page for a while."""
    return page.locator("#" + page.evaluate("window.jupyterapp.shell.currentWidget.id"))


def seen(page):
    """Return which of the results a reader sees."""
    outputs = notebook(page).locator(".jp-OutputArea-output")
    for text in SAYS:
        outputs.filter(has_text=text).wait_for(state="attached")  # seen or not, it has come
    return [text for text in SAYS if outputs.filter(has_text=text).is_visible()]


def box(page, question):
    return page.get_by_role("group", name=question)


def is_dirty(page):
    return page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty")


WHO, WHAT, MANY, WHERE, AWAKE, END = SAYS


def test_a_reader_chooses_and_only_then_sees(asked):
    page = asked
    assert seen(page) == [END]
    explained = page.locator("p", has_text="So the cat was tired.")
    assert explained.is_hidden() and box(page, "of what?").is_hidden()

    box(page, "who was tired?").get_by_role("button", name="the dog").click()
    said = box(page, "who was tired?").get_by_role("status")
    said.locator("mjx-container").wait_for()
    assert said.inner_text().startswith("You said “the dog”; it is “the ")
    assert said.inner_text().endswith("”. The dog was hungry.")
    assert seen(page) == [WHO, END] and explained.is_visible()

    box(page, "of what?").get_by_role("button", name="play").click()
    assert box(page, "of what?").get_by_role("status").inner_text() == "You said “play”, and so it is."
    assert seen(page) == [WHO, WHAT, END]

    box(page, "how many mice?").get_by_role("button", name="Just show me").click()
    assert box(page, "how many mice?").get_by_role("status").inner_text() == "It is 3 mice."
    assert seen(page) == [WHO, WHAT, MANY, END] and not is_dirty(page)


def test_running_gives_no_result_away_and_hides_no_error(asked):
    page = asked
    run(page)
    page.locator(".jp-OutputArea-output", has_text="a mistake of the reader").wait_for()
    assert seen(page) == [END]
    run(page, 1)
    assert seen(page) == [END]
    metadata = "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map((cell) => cell.metadata.guess)"
    assert page.evaluate(metadata) == [cell.metadata.get("guess") for cell in asking().cells]

    box(page, "who was tired?").get_by_role("button", name="the dog").click()
    assert seen(page) == [WHO, END]


def test_guesses_are_made_by_the_keyboard_alone_and_no_key_reaches_the_notebook(asked):
    page = asked
    page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 6;
            content.activate();
        }"""
    )
    many, where = box(page, "how many mice?"), box(page, "where?")
    slider = many.get_by_role("slider", name="Your guess")
    slider.wait_for()
    for _ in range(5):  # a heading has a link of its own
        page.keyboard.press("Tab")
        if slider.evaluate("(slider) => slider === document.activeElement"):
            break
    for key in ["d", "d", "a", "End", "ArrowLeft", "Tab", "Enter"]:
        page.keyboard.press(key)
    said = many.get_by_role("status")
    assert said.inner_text() == "You said 9 mice; it is 3 mice. Cats sleep a lot."
    assert said.evaluate("(said) => said === document.activeElement") and seen(page) == [MANY, END]

    where.get_by_role("button", name="cat → cat").focus()
    for key in ["ArrowDown", "d", "d", "Space"]:
        page.keyboard.press(key)
    assert where.get_by_role("status").inner_text() == "You said “mat → cat”, and so it is."
    assert seen(page) == [MANY, WHERE, END]

    awake = box(page, "draw it: how awake?")
    for number, key in enumerate(["End", "Home", "End"]):
        awake.get_by_role("slider").nth(number).focus()
        page.keyboard.press(key)
    awake.get_by_role("button", name="That is my guess").press("Enter")
    assert awake.get_by_role("status").inner_text() == "You said 1, 0, 1, and so it is."
    assert seen(page) == [MANY, WHERE, AWAKE, END]
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == len(ASKS)
    assert not is_dirty(page)

    where.get_by_role("status").focus()
    page.keyboard.press("Shift+Enter")  # which does
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex") == 9


def test_what_was_said_outlives_a_reload_and_one_switch_shows_all(asked, opened, lab):
    before = {"asks?what": "play", "asks?mice": "many"}  # "many" was a choice in an earlier book, with numbers
    store = "(kept) => (localStorage['attention-worked-out'] = JSON.stringify(kept))"
    asked.evaluate(store, {**before, "05_masking": True})
    page = opened("asks.ipynb")
    assert seen(page) == [END], "a guess hides also what follows the next one, although that was made"
    box(page, "who was tired?").get_by_role("button", name="at").click()
    kept = page.evaluate("JSON.parse(localStorage['attention-worked-out'])")
    assert kept == {**before, "masking": True, "asks?tired": "the $c$ at"}
    begin(page, lab)
    page = opened("asks.ipynb")
    box(page, "who was tired?").get_by_role("status").get_by_text("and so it is").wait_for()
    assert seen(page) == [WHO, WHAT, END]

    switch = page.get_by_label("Show all results without asking me first")
    switch.check()
    assert seen(page) == SAYS and box(page, "where?").get_by_role("button", name="Just show me").is_visible()
    page = opened("asks.ipynb")
    assert switch.is_checked() and seen(page) == SAYS
    switch.uncheck()
    assert seen(page) == [WHO, WHAT, END] and not is_dirty(page)


def test_a_notebook_that_asks_otherwise_is_left_alone_and_a_changed_question_asks_anew(asked, opened):
    page = opened("foreign.ipynb")
    assert seen(page) == SAYS and page.locator(".attn-guess, .attn-held").count() == 0 and not is_dirty(page)

    page = opened("asks.ipynb")
    change = """(replace) => {
        const { sharedModel } = window.jupyterapp.shell.currentWidget.content.widgets[0].model;
        sharedModel.setSource(sharedModel.getSource().replace(...replace));
    }"""
    page.evaluate(change, ["- the dog", "- the old dog"])
    box(page, "who was tired?").get_by_role("button", name="the old dog").wait_for()
    page.evaluate(change, ["- the old dog\n", "- the old dog\n- the fox\n"])  # what is right can no longer be told
    box(page, "who was tired?").wait_for(state="detached")
    assert seen(page) == [WHO, END]


def test_a_result_says_on_how_many_models_it_rests_as_in_the_book(asked):
    tag = """(tags) => window.jupyterapp.shell.currentWidget.content.widgets[1].model.setMetadata("tags", tags)"""
    for tags, mark in [(["one-model"], "● one model"), (["hide-input", "trained"], "●●● several models"), ([], "none")]:
        asked.evaluate(tag, tags)
        wanted = f'"{mark}"' if tags else mark
        asked.wait_for_function(
            """([id, wanted]) => wanted === getComputedStyle(document.querySelector(
                `#${id} [data-windowed-list-index="1"] .jp-Cell-outputArea`), "::before").content""",
            arg=[asked.evaluate("window.jupyterapp.shell.currentWidget.id"), wanted],
        )


def say(page, box, about, wants_right):
    """Make one guess by the keyboard, the right one or a wrong one as far as keys reach it."""
    right, choices = about["right"], box.locator(".attn-answer")
    if choices.count():
        choices.nth(right if wants_right else (right + 1) % choices.count()).press("Enter")
        return
    if "rows" in about:
        box.locator(".attn-cell").first.focus()
        column = right[1] if wants_right else (right[1] + 1) % len(about["columns"])
        for key in ["ArrowDown"] * right[0] + ["ArrowRight"] * column + ["Space"]:
            page.keyboard.press(key)
        return
    start, stop = about["scale"]
    goals = right if "at" in about else [right]
    for slider, goal in zip(box.locator("input[type=range]").all(), goals, strict=True):
        is_low = abs(goal - start) < abs(stop - goal)
        slider.press("Home" if is_low == wants_right else "End")
    box.get_by_role("button", name="That is my guess").press("Enter")


@pytest.mark.parametrize("number", range(FEW))
def test_every_guess_of_the_book_is_made_by_the_keyboard(asked, opened, number):
    page, cells = opened(f"guesses {number}.ipynb"), guesses_of(build.chapters()[number::FEW]).cells
    show = "(number) => void window.jupyterapp.shell.currentWidget.content.scrollToItem(number, 'center')"
    for place, cell in enumerate(cells):
        about, wants_right = cell.metadata["guess"], place % 2 == 0
        page.evaluate(show, place)
        question = notebook(page).locator(f"[data-windowed-list-index='{place}'] .attn-guess")
        question.wait_for()
        say(page, question, about, wants_right)
        verdict = question.get_by_role("status").inner_text()
        assert re.match("You said .*(, and so it is|; it is )", verdict, re.DOTALL), (about["id"], verdict)
        assert "scale" in about or ("; it is " not in verdict) == wants_right, (about["id"], verdict)
    kept = page.evaluate("JSON.parse(localStorage['attention-worked-out'])")
    assert kept.keys() == {f"guesses {number}?{cell.metadata['guess']['id']}" for cell in cells}
