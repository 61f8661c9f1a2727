"""What Binder makes of the repository: the Python it names, the packages it locks, and a chapter that runs in them."""

import re
import shutil
import subprocess
import sys

import build
import nbformat
import pytest

PYTHON = re.fullmatch(r"python-(\d+\.\d+)\s*", (build.ROOT / "runtime.txt").read_text())[1]


@pytest.fixture
def repository(tmp_path):
    """A copy of what the repository holds, and of nothing that lies beside it."""
    target = tmp_path / "repository"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=build.ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.ROOT / name, target / name)
    return target


def test_binder_takes_the_python_that_is_named_and_installs_the_lock_and_the_package(repository):
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    run = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    plan = run.stdout + run.stderr
    assert f"Building conda environment for python={PYTHON}\n" in plan
    sources, installed = (
        plan.index("COPY --chown=0:0 src/ ${REPO_DIR}/"),
        plan.index('pip install --no-cache-dir -r "requirements.txt"'),
    )
    assert sources < installed and (repository / "requirements.txt").read_text().endswith("\n-e .\n")


@pytest.mark.skipif(f"{sys.version_info[0]}.{sys.version_info[1]}" != PYTHON, reason=f"Binder has Python {PYTHON}")
@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_the_lock_alone_runs_a_chapter(repository):
    install = subprocess.run(
        ["make", f"PYTHON={sys.executable}", ".venv/installed"], cwd=repository, capture_output=True, text=True
    )
    assert install.returncode == 0, install.stderr
    execute = [".venv/bin/jupyter-execute", "--output=executed", "chapters/03_scores_softmax_pattern.ipynb"]
    run = subprocess.run(execute, cwd=repository, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    executed = nbformat.read(repository / "chapters/executed.ipynb", 4)
    assert [cell.execution_count for cell in executed.cells if cell.cell_type == "code"][-1] > 10
