"""What nbval sees in a chapter, as this project has set it up."""

import os
import platform
import re
import subprocess
import sys

import nbformat
import pytest

from book import build

ARCHITECTURE = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"


@pytest.mark.usefixtures("kernel")
def test_a_cell_that_shows_something_else_or_takes_too_much_memory_is_named(tmp_path):
    """The cells know each other, so they have run in one kernel, though there are two cores."""
    shows = {
        "number = 42": None,
        "number += 1; print(number)": "43\n",
        "number += 1; print(number)  # and a hand has changed what it printed": "45\n",
        "import time; print(time.time_ns())": "1\n",
        "display({'image/svg+xml': '<svg/>'}, raw=True)": None,
        "print(len(b'x' * 800_000_000))": "800000000\n",
    }
    cells = [
        nbformat.v4.new_code_cell(
            source,
            execution_count=count,
            outputs=[nbformat.v4.new_output("stream", text=text)] if text else [],
            metadata={"tags": ["clock"] if "time" in source else []},
        )
        for count, (source, text) in enumerate(shows.items(), start=1)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "05_masking.ipynb")
    settings = ["-c", "pyproject.toml", "-p", "conftest", "-p", "no:cacheprovider", "-n", "2"]
    command = [sys.executable, "-m", "pytest", "--nbval", *settings, tmp_path]
    run = subprocess.run(command, cwd=build.ROOT, capture_output=True, encoding="utf-8")
    wrong = ["05_masking.ipynb::Cell 2", *(["05_masking.ipynb::Cell 5"] if sys.platform == "linux" else [])]
    assert re.findall(r"FAILED .*(05_masking\.ipynb::Cell \d+)", run.stdout) == wrong, run.stdout
    assert r"'45\n' == '44\n'" in run.stdout


DIES_AT_FIRST = """
import sys
from pathlib import Path
from ipykernel import kernelapp
died = Path(__file__).with_suffix(".died")
if not died.exists():
    sys.exit(died.touch())
kernelapp.launch_new_instance()
"""


@pytest.mark.usefixtures("kernel")
def test_a_kernel_that_dies_as_it_starts_is_started_once_more(tmp_path):
    (tmp_path / "ipykernel_launcher.py").write_text(DIES_AT_FIRST, encoding="utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    nbformat.write(notebook, tmp_path / "05_masking.ipynb")
    settings = ["-c", "pyproject.toml", "-p", "conftest", "-p", "no:cacheprovider", "-n", "0"]
    command = [sys.executable, "-m", "pytest", "--nbval", *settings, tmp_path / "05_masking.ipynb"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(build.ROOT)])}
    run = subprocess.run(command, cwd=build.ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert (tmp_path / "ipykernel_launcher.died").exists()
    assert run.returncode == 0, run.stdout


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="OpenBLAS has older processors for x86 alone")
def test_openblas_computes_as_on_the_older_processor_that_a_variable_names():
    """So `make variants` runs the chapters as on another processor."""
    older = {**os.environ, "OPENBLAS_CORETYPE": "Sandybridge"}
    run = subprocess.run([sys.executable, "-c", ARCHITECTURE], env=older, capture_output=True, encoding="utf-8")
    assert run.stdout == "Sandybridge\n", run.stderr
