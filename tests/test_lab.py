"""An explorable in a real JupyterLab: moved by hand, read in Python, and the other way round."""

import os
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

CELLS = [
    "import numpy as np\n"
    "from attn.explorables import AttentionExplorer\n"
    "figure = AttentionExplorer(['The', 'black', 'cat'], np.eye(3), np.eye(3), np.eye(3), query=2)\n"
    "figure",
    "print('entry', figure.Q[2][0], 'causal', figure.causal, 'weight', figure.weights[2, 0].round(3))",
    "figure.query = 1",
]


@pytest.fixture
def lab(browser, tmp_path):
    """The address of a JupyterLab that holds one notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, tmp_path / "moved.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0"]
    command += ["--IdentityProvider.token=", "--LabApp.news_url=", f"--ServerApp.root_dir={tmp_path}"]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api").close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.5)
        yield f"{address}/lab/tree/moved.ipynb"
    finally:
        server.terminate()
        server.wait(timeout=30)


def run_cell(page, number):
    """Run one cell and wait until it is done."""
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(timeout=60_000)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(number)
    cell.locator(".jp-InputArea-editor").click()
    page.locator(".jp-NotebookPanel-toolbar [data-jp-item-name=run]").click()
    page.wait_for_function(
        "n => /\\[\\d+\\]/.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell')[n].querySelector('.jp-InputPrompt').textContent)",
        arg=number,
        timeout=60_000,
    )
    return cell


def test_traits_follow_the_figure_and_the_figure_follows_the_traits(lab, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.goto(lab, timeout=60_000)
    page.locator(".jp-Notebook .jp-CodeCell").nth(2).wait_for(timeout=60_000)

    cell = run_cell(page, 0)
    figure = cell.locator(".attn-explorable")
    figure.wait_for(timeout=60_000)
    assert figure.count() == 1
    page.wait_for_timeout(500)
    assert figure.locator(".attn-chosen th").inner_text() == "cat"

    figure.get_by_role("slider", name="q₁").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    figure.get_by_label("itself and earlier words").click()
    said = run_cell(page, 1).locator(".jp-OutputArea-output").inner_text()
    assert said.startswith("entry 5.99 causal True weight 0.9")

    run_cell(page, 2)
    page.wait_for_function("document.querySelector('.attn-chosen th').textContent === 'black'", timeout=30_000)
    context.close()
