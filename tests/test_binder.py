"""What Binder makes of the repository: the Python it names, the packages it locks, and a chapter that runs in them."""

import os
import re
import subprocess
import sys

import nbformat
import pytest

from book import build

LOCKED = re.compile(r"(\S+==.+?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")
PYTHON = re.fullmatch(r"python-(\d+\.\d+)\s*", (build.ROOT / "binder/runtime.txt").read_text(encoding="utf-8"))[1]

READ_MODELS = """
from attn_course.minilm import read_minilm
from attn_course.smollm2 import read_smollm2
read_minilm(), read_smollm2()
"""


def test_binder_takes_the_python_that_is_named_and_installs_the_lock_and_then_the_package(repository):
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    run = subprocess.run(command, cwd=repository, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    plan = run.stdout + run.stderr
    assert f"Building conda environment for python={PYTHON}\n" in plan
    steps = [
        'pip install --no-cache-dir -r "binder/requirements.txt"\n',
        " src/ ${REPO_DIR}/\n",
        "RUN ./binder/postBuild\n",
    ]
    places = [plan.index(step) for step in steps]
    assert places == sorted(places)


def packages(path):
    """Return what a lock names, each with the hashes of its files; without them, pip and uv install nothing of it."""
    text = path.read_text(encoding="utf-8")
    assert LOCKED.sub("", text) == ""
    return dict(LOCKED.findall(text))


def test_binder_gets_the_versions_of_the_whole_lock_and_neither_has_pytorch(repository):
    whole, binder = (packages(repository / name) for name in ("requirements.txt", "binder/requirements.txt"))
    names = [{re.match(r"[\w.-]+", line)[0] for line in lock} for lock in (whole, binder)]
    assert binder.items() <= whole.items() and 50 < len(binder) < 120
    assert {"numpy", "jupyterlab", "jupyterlab-myst"} <= names[1] and not {"torch", "sphinx", "pytest"} & names[1]
    assert "torch" not in names[0]


@pytest.mark.skipif(f"{sys.version_info[0]}.{sys.version_info[1]}" != PYTHON, reason=f"Binder has Python {PYTHON}")
def test_the_lock_of_binder_alone_runs_a_chapter(repository):
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=repository, check=True)
    command = [
        "uv",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--system-certs",
        "--python",
        ".venv",
        "-r",
        "binder/requirements.txt",
    ]
    install = subprocess.run([sys.executable, "-m", *command], cwd=repository, capture_output=True, encoding="utf-8")
    if re.search("dns error|failed to lookup|error sending request", install.stderr):
        pytest.skip("no network: the packages of the lock cannot be fetched")
    assert install.returncode == 0, install.stderr
    programs = {**os.environ, "PATH": f"{repository}/.venv/bin:{os.environ['PATH']}"}
    subprocess.run("binder/postBuild", cwd=repository, env=programs, capture_output=True, check=True)
    weight = sum(path.lstat().st_size for path in (repository / ".venv").rglob("*")) / 1e6
    assert weight < 545  # 190 for the models; without bytecode, of which pip makes another 85 MB on Binder
    subprocess.run([".venv/bin/python", "-c", READ_MODELS], cwd=repository, check=True)
    execute = [".venv/bin/jupyter-execute", "--output=executed", "chapters/03_scores_softmax_pattern.ipynb"]
    run = subprocess.run(execute, cwd=repository, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    executed = nbformat.read(repository / "chapters/executed.ipynb", 4)
    assert [cell.execution_count for cell in executed.cells if cell.cell_type == "code"][-1] > 10
