"""The chapters come out the same on every processor, without their side paths, in any folder, and in little memory."""

import os
import subprocess
import sys

import nbformat
import pytest
from solve import ANSWERS, solve

from book import build, spine
from book.execute import read
from book.kernels import FAMILIES, FURTHEST, differences, environment, runnable
from book.prose import unprinted

CHAPTERS = sorted(build.chapters(), reverse=True)  # the last ones, which train models, first
MEGABYTES = 700
LONG = ("12", "13", "14", "15", "16", "17")  # train for half a minute and more: `make kernels` and CI run them


def pytest_generate_tests(metafunc):
    kernels = metafunc.config.getoption("kernels")
    if "path" in metafunc.fixturenames:
        some = "family" in metafunc.fixturenames and kernels != "all"
        paths = [path for path in CHAPTERS if not some or path.name.startswith(LONG) == (kernels == "long")]
        metafunc.parametrize("path", paths, ids=lambda path: path.stem)
    if "family" in metafunc.fixturenames:
        known = runnable() or [None]  # no OpenBLAS, as on macOS
        furthest = [FURTHEST] if FURTHEST in known else known[:1]
        metafunc.parametrize("family", known if kernels == "all" else furthest)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The environment in which Python finds the package as pip installs it, and not this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", folder]
    subprocess.run([*pip, "--disable-pip-version-check", build.ROOT], check=True)
    variables = {"PYTHONPATH": str(folder)}
    where = subprocess.run(
        [sys.executable, "-c", "import attn; print(attn.__file__)"],
        **{
            "cwd": folder.parent,
            "env": os.environ | variables,
            "capture_output": True,
            "encoding": "utf-8",
            "check": True,
        },
    )
    assert where.stdout.startswith(str(folder))
    return variables


def test_a_chapter_comes_out_the_same_from_the_package_and_with_its_solutions(
    path, family, installed, kernel, tmp_path
):
    solved, folder = solve(read(path), ANSWERS[path.name[:2]]), tmp_path / "empty"
    folder.mkdir()
    nbformat.write(solved, tmp_path / path.name)
    variables = installed | (environment(family) if family else {})
    executed = kernel(tmp_path / path.name, "png", folder=folder, variables=variables)  # the build draws them twice
    assert "\n\n".join(differences(solved, executed)) == ""
    assert unprinted(read(path), executed) == {}
    assert executed.metadata.get("used", {}).get("megabytes", 0) <= MEGABYTES  # told on Linux


def on_the_spine(notebook):
    """Return a chapter without its side paths and the exercises for them."""
    kept = []
    for cells in spine.sections(notebook).values():
        aside = False
        for cell in [] if spine.is_side(cells) else cells:
            if cell.cell_type == "markdown" and "### " in cell.source:
                aside = "*For the side path" in cell.source
            kept += [] if aside else [cell]
    return nbformat.v4.new_notebook(cells=kept, metadata=notebook.metadata)


def test_a_chapter_comes_out_the_same_without_its_side_paths(path, kernel, tmp_path):
    alone = on_the_spine(read(path))
    if len(alone.cells) == len(read(path).cells):
        pytest.skip("this chapter has no side paths")
    nbformat.write(alone, tmp_path / path.name)
    executed = kernel(tmp_path / path.name, "png", folder=build.ROOT)
    assert "\n\n".join(differences(alone, executed)) == ""


def test_the_book_shows_what_is_committed(path, book):
    executed = read(build.EXECUTED / path.name)
    assert "\n\n".join(differences(read(path), executed)) == ""
    assert executed.metadata.get("used", {}).get("megabytes", 0) <= MEGABYTES


def test_what_is_chaotic_is_seen_and_what_depends_on_the_clock_is_not(kernel, tmp_path):
    families = runnable()
    if len(families) < 2:
        pytest.skip(f"this processor computes in one way only: {families}")
    calm, wild, clock = (
        "X = np.random.default_rng(0).normal(size=(60, 60)); print((X @ X).sum().round(6))",
        "X = np.sin(1e14 * (X @ X @ X)); print(X.sum().round(2))",
        "import time; print(time.time_ns())",
    )
    cells = [nbformat.v4.new_code_cell(code) for code in ("import numpy as np", calm, wild, clock)]
    cells[-1].metadata.tags = ["clock"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "wild.ipynb")
    first, last = (kernel(tmp_path / "wild.ipynb", variables=environment(families[i])) for i in (0, -1))
    (found,) = differences(first, last)
    assert found.startswith(wild)


def test_a_figure_and_a_guess_that_differ_are_seen():
    def chapter(number):
        text = nbformat.v4.new_markdown_cell("**Before you read on:** how many?", metadata={"guess": {"right": number}})
        figure = nbformat.v4.new_output("display_data", {"text/html": f"<div>{number}</div>", "image/png": str(number)})
        return nbformat.v4.new_notebook(cells=[text, nbformat.v4.new_code_cell("show()", outputs=[figure])])

    assert differences(chapter(1), chapter(1)) == []
    assert len(differences(chapter(1), chapter(2))) == 2


def test_the_newest_family_and_the_oldest_compute_with_other_instructions():
    newest, oldest = (environment(family)["NPY_DISABLE_CPU_FEATURES"].split() for family in (FAMILIES[0], FAMILIES[-1]))
    assert newest == [] and set(runnable()) <= set(FAMILIES)
    assert all(set(environment(family)["NPY_DISABLE_CPU_FEATURES"].split()) <= set(oldest) for family in FAMILIES)
