"""A chapter in a real JupyterLab: run from top to bottom, its figure moved by hand, read and moved in Python."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import build
import nbformat
import pytest

CHAPTER = build.ROOT / "chapters/02_queries_keys_values.ipynb"
SOURCES = [cell.source for cell in nbformat.read(CHAPTER, 4).cells]


def place(start):
    """Return the number of the one cell that starts so."""
    [number] = [number for number, source in enumerate(SOURCES) if source.startswith(start)]
    return number


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that holds the chapter."""
    shutil.copy(CHAPTER, tmp_path / "chapter.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0"]
    command += ["--IdentityProvider.token=", "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    with open(tmp_path / "log", "w") as log:
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
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.5)
        yield f"{address}/lab/tree/chapter.ipynb"
    finally:
        server.terminate()
        server.wait(timeout=30)


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


def test_a_chapter_runs_and_its_figure_and_python_move_each_other(lab, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(lab)
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext?.isReady")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.info")

    run(page)
    counts = page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map((cell) => cell.execution_count)"
    )
    assert [count for count in counts if count] == list(range(1, 1 + sum(count is not None for count in counts)))

    cell = page.locator(".jp-Notebook-cell").nth
    figure = cell(place("explorer = AttentionExplorer")).locator(".attn-explorable")
    figure.scroll_into_view_if_needed()
    figure.get_by_role("slider", name="q₁").focus()
    page.keyboard.press("End")
    figure.get_by_label("itself and earlier words").click()
    page.wait_for_function("document.querySelectorAll('.jp-Notebook-ExecutionIndicator[data-status=idle]').length")

    reading = place("word = explorer.query")
    run(page, reading)
    said = cell(reading).locator(".jp-OutputArea-output").inner_text()
    assert [line.split()[0:3:2] for line in said.splitlines()] == [
        ["cat", word] for word in ("The", "black", "cat", "ate", "fish")
    ]
    weights = [float(line.split()[-1]) for line in said.splitlines()]
    shown = figure.locator(".attn-pattern .attn-chosen .attn-cell").all_inner_texts()
    assert weights[:3] == pytest.approx([float(weight) for weight in shown[:3]], abs=0.006)
    assert weights[2] > 0.7 and weights[3:] == [0, 0]

    knob = cell(place("from ipywidgets import IntSlider")).locator(".noUi-handle")
    knob.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "[...document.querySelectorAll('.attn-chosen th')].some((name) => name.textContent === 'black')"
    )

    exercise = place("### Complete the query matrix")
    page.evaluate("(number) => window.jupyterapp.shell.currentWidget.content.scrollToItem(number)", exercise)
    rendered = cell(exercise).locator(".jp-RenderedMarkdown, .myst")
    rendered.first.wait_for()
    assert ":::" not in rendered.first.inner_text()
    context.close()
