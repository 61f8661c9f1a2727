"""What Binder makes of the repository: the Python it names, the packages it locks, and a chapter that runs in them."""

import re
import shutil
import subprocess
import sys

import build
import nbformat
import pytest

PYTHON = re.fullmatch(r"python-(\d+\.\d+)\s*", (build.ROOT / "binder/runtime.txt").read_text())[1]


@pytest.fixture
def repository(tmp_path):
    """A copy of what the repository holds, and of nothing that lies beside it."""
    if not (build.ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git tells what the repository holds, and this copy came without it")
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
        plan.index('pip install --no-cache-dir -r "binder/requirements.txt"'),
    )
    assert sources < installed and (repository / "binder/requirements.txt").read_text().endswith("\n-e .\n")


def packages(path):
    """Return what a lock names."""
    return set(path.read_text().split("\n")) - {"", "-e ."}


def test_binder_gets_the_versions_of_the_whole_lock_and_neither_has_pytorch(repository):
    whole, binder = (packages(repository / name) for name in ("requirements.txt", "binder/requirements.txt"))
    names = [{re.match(r"[\w.-]+", line)[0] for line in lock} for lock in (whole, binder)]
    assert binder <= whole and len(binder) > 50
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
        "--system-certs",
        "--python",
        ".venv",
        "-r",
        "binder/requirements.txt",
    ]
    install = subprocess.run([sys.executable, "-m", *command], cwd=repository, capture_output=True, text=True)
    if re.search("dns error|failed to lookup|error sending request", install.stderr):
        pytest.skip("no network: the packages of the lock cannot be fetched")
    assert install.returncode == 0, install.stderr
    weight = sum(path.lstat().st_size for path in (repository / ".venv").rglob("*")) / 1e6
    assert weight < 450
    execute = [".venv/bin/jupyter-execute", "--output=executed", "chapters/03_scores_softmax_pattern.ipynb"]
    run = subprocess.run(execute, cwd=repository, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    executed = nbformat.read(repository / "chapters/executed.ipynb", 4)
    assert [cell.execution_count for cell in executed.cells if cell.cell_type == "code"][-1] > 10
