"""`make book` and the package's layout: failures are failures on every run, and what is stale is made anew."""

import ast
import os
import re
import shutil
import subprocess
import sys

import build
import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from repository import public_address

MODULES = [
    "attention",
    "heads",
    "layers",
    "transformer",
    "training",
    "parameters",
    "corpora",
    "plots",
    "explorables",
    "exercises",
]


@pytest.fixture
def small_book(tmp_path):
    """A book of one title page and one chapter, with this project's settings."""
    for name in ("_config.yml", "references.bib", "requirements.txt"):
        shutil.copy(build.ROOT / name, tmp_path)
    for name in ("_ext", "attn"):
        shutil.copytree(build.ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/index\nchapters:\n  - file: chapters/01_one\n")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters/index.md").write_text("# Title\n\nA page.\n")
    write_chapter(tmp_path, "print(1 + 1)")
    return tmp_path


def write_chapter(folder, code, text="# One\n\nA chapter.", tags=()):
    cells = [
        nbformat.v4.new_markdown_cell(text, id="text"),
        nbformat.v4.new_code_cell(code, id="code", metadata={"tags": list(tags)}),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, folder / "chapters/01_one.ipynb")


def run_build(folder, program="build", **environment):
    known = {name: value for name, value in os.environ.items() if not name.startswith("BOOK_")}
    return subprocess.run(
        [sys.executable, f"_ext/{program}.py"], cwd=folder, capture_output=True, text=True, env={**known, **environment}
    )


def test_a_failing_cell_fails_the_first_and_every_later_build(small_book):
    write_chapter(small_book, "1 / 0")
    for _ in range(2):
        run = run_build(small_book)
        assert run.returncode == 1
        assert "ZeroDivisionError" in run.stderr


def test_a_warning_fails_the_first_and_every_later_build(small_book):
    write_chapter(small_book, "print(1 + 1)", text="# One\n\n[nowhere](nowhere.md)")
    for _ in range(2):
        run = run_build(small_book)
        assert run.returncode == 1
        assert "nowhere.md" in run.stderr and "see the warnings above" in run.stderr


def test_a_warning_in_a_cell_fails_the_build(small_book):
    write_chapter(small_book, "import warnings; warnings.warn('careful')")
    assert run_build(small_book).returncode == 1


@pytest.mark.parametrize(
    ("claims", "message"),
    [(["A1", "A2"], "shows claims that the ledger does not list there: A2"), ([], "undefined label: 'claim-a1-01'")],
    ids=["a claim that the ledger lacks", "a row whose cell is missing"],
)
def test_the_ledger_and_the_chapters_hold_each_other_to_account(small_book, claims, message):
    write_chapter(small_book, "print(1 + 1)", tags=[f"claim-{claim}" for claim in claims])
    (small_book / "chapters/ledger.yml").write_text(
        "- {id: A1, by: [x], said: s, found: f, verdict: holds, shown: [1]}\n"
    )
    (small_book / "chapters/ledger.md").write_text("# Ledger\n\n```{ledger} A\n```\n")
    with open(small_book / "_toc.yml", "a") as contents:
        contents.write("  - file: chapters/ledger\n")
    run = run_build(small_book)
    assert run.returncode == 1 and message in run.stderr


def test_only_what_changed_is_made_anew(small_book):
    first = run_build(small_book)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "executed 01_one.ipynb" in first.stdout and "Executing notebook" not in first.stdout + first.stderr
    page = small_book / "_build/html/chapters/01_one.html"
    made = page.stat().st_mtime_ns

    second = run_build(small_book)
    assert second.returncode == 0 and "The book is ready" in second.stdout
    assert page.stat().st_mtime_ns == made

    with open(small_book / "attn/attention.py", "a") as module:
        module.write("# changed\n")
    third = run_build(small_book)
    assert third.returncode == 0 and "executed 01_one.ipynb" in third.stdout
    assert page.stat().st_mtime_ns > made


def test_the_title_page_offers_the_pdf_as_long_as_it_shows_the_book(small_book, browser):
    shutil.copy(build.ROOT / "chapters/index.md", small_book / "chapters")
    title = small_book / "chapters/index.md"
    title.write_text(re.sub(r"\[([^]]*)\]\(\w+\.(?:md|ipynb)\)", r"\1", title.read_text()))
    run = run_build(small_book, "pdf")
    assert run.returncode == 0, run.stderr
    html = small_book / "_build/html"
    assert (html / "attention-worked-out.pdf").read_bytes().startswith(b"%PDF-")
    page = BeautifulSoup((html / "chapters/index.html").read_text(encoding="utf-8"), "html.parser")
    assert page.find("a", string="the whole book as a PDF")["href"] == "../attention-worked-out.pdf"

    write_chapter(small_book, "print(2 + 2)")
    assert run_build(small_book).returncode == 0
    assert "attention-worked-out.pdf" not in (html / "chapters/index.html").read_text(encoding="utf-8")
    assert not (html / "attention-worked-out.pdf").exists()


def addresses(page):
    """Return where a page's launch button leads, and what it says is its own address."""
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    canonical = soup.find("link", rel="canonical")
    return [link["href"] for link in soup.select("a[href*='mybinder.org']")], canonical and canonical["href"]


def test_a_book_from_nowhere_has_no_launch_button_and_claims_no_address(small_book):
    assert run_build(small_book).returncode == 0
    assert addresses(small_book / "_build/html/chapters/01_one.html") == ([], None)
    assert not (small_book / "_build/html/sitemap.xml").exists()


@pytest.mark.parametrize("known_by", ["variable", "remote"])
def test_the_launch_button_and_the_address_follow_the_repository_without_its_credentials(small_book, known_by):
    environment = {}
    if known_by == "variable":
        environment = {
            "BOOK_REPOSITORY": "https://ada:s3cret@github.com/ada/course.git",
            "BOOK_URL": "https://course.example.org",
        }
    else:
        subprocess.run(["git", "init", "--quiet"], cwd=small_book, check=True)
        subprocess.run(
            ["git", "remote", "add", "origin", "https://s3cret@github.com/ada/course"], cwd=small_book, check=True
        )
    run = run_build(small_book, **environment)
    assert run.returncode == 0, run.stderr
    published = "https://course.example.org/" if environment else "https://ada.github.io/course/"
    html = small_book / "_build/html"
    button = "https://mybinder.org/v2/gh/ada/course/main?urlpath=lab/tree/chapters/01_one.ipynb"
    assert addresses(html / "chapters/01_one.html") == ([button], f"{published}chapters/01_one.html")
    assert f"<loc>{published}chapters/01_one.html</loc>" in (html / "sitemap.xml").read_text()
    card = BeautifulSoup((html / "chapters/01_one.html").read_text(), "html.parser").find("meta", property="og:image")[
        "content"
    ]
    assert card.startswith(published) and (html / card.removeprefix(published)).exists()
    assert not [path for path in html.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]

    if known_by == "remote":  # an empty variable says that there is none, and the pages are made anew
        assert run_build(small_book, BOOK_REPOSITORY="").returncode == 0
        assert addresses(html / "chapters/01_one.html") == ([], None)


@pytest.mark.parametrize("variable", ["BOOK_REPOSITORY", "BOOK_URL"])
def test_an_address_that_cannot_be_used_is_refused_without_being_repeated(small_book, variable):
    run = run_build(small_book, **{variable: "ftp://ada:s3cret@nowhere"})
    assert run.returncode != 0 and run.stdout == ""
    assert re.fullmatch(rf"{variable} must be an address such as https://\S+, which it is not\.\n", run.stderr)


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://github.com/ada/course", ("ada", "course")),
        ("https://ada:pass@github.com/ada/course.git/", ("ada", "course")),
        ("git@github.com:ada/course.git\n", ("ada", "course")),
        ("ssh://git@github.com/ada/my.course", ("ada", "my.course")),
        ("https://github.com.evil.org/ada/course", None),
        ("https://evil.org/github.com/ada/course", None),
        ("https://github.com/ada", None),
        ("/srv/git/course", None),
        ("", None),
    ],
)
def test_only_a_repository_on_github_is_an_address_for_binder(remote, found):
    assert public_address(remote) == found


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("python", ["no-such-python", "old-python"])
def test_a_missing_or_old_python_gets_one_clear_sentence(tmp_path, python):
    shutil.copy(build.ROOT / "Makefile", tmp_path)
    shutil.copy(build.ROOT / "requirements.txt", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    run = subprocess.run(
        ["make", f"PYTHON={python if python.startswith('no') else old}", "book"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    sentences = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert len(sentences) == 1 and sentences[0].startswith("This book needs Python 3.11 or newer")


def test_the_workflow_pins_what_it_uses_and_may_write_only_where_it_publishes():
    workflow = yaml.safe_load((build.ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8"))
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)
    assert workflow["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job} == {
        "publish": {"pages": "write", "id-token": "write"}
    }


def test_a_module_imports_only_from_those_above_it():
    for path in build.ROOT.glob("attn/**/*.py"):
        name = path.relative_to(build.ROOT / "attn").parts[0].removesuffix(".py")
        if name not in MODULES:
            continue
        imported = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        used = {module.split(".")[1] for module in imported if module and module.startswith("attn.")}
        assert used - {name} <= set(MODULES[: MODULES.index(name)]), (name, used)
