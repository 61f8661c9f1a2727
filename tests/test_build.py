"""`make book` and the package's layout: failures are failures on every run, and what is stale is made anew."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from filelock import FileLock

from book import build, formulas, ledger
from book import execute as notebooks
from book.repository import INSTALL, addressed, origin, public_addresses, version


@pytest.fixture
def small_book(tmp_path):
    """A book of one title page and one chapter, with this project's settings."""
    for name in ("_config.yml", "pyproject.toml", "references.bib", "requirements.txt"):
        shutil.copy(build.ROOT / name, tmp_path)
    for name in ("attn", "attn_course", "book", "lab"):
        shutil.copytree(build.ROOT / name, tmp_path / name)
    contents = "format: jb-book\nroot: chapters/index\nchapters:\n  - file: chapters/01_one\n"
    (tmp_path / "_toc.yml").write_text(contents, encoding="utf-8")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters/ledger.yml").write_text("[]", encoding="utf-8")
    (tmp_path / "chapters/index.md").write_text("# Title\n\nA page.\n", encoding="utf-8")
    write_chapter(tmp_path, "print(1 + 1)")
    return tmp_path


def write_chapter(folder, code, text="# One\n\nA chapter.", tags=(), name="01_one"):
    cells = [
        nbformat.v4.new_markdown_cell(text, id="text"),
        nbformat.v4.new_code_cell(code, id="code", metadata={"tags": list(tags)}),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, folder / f"chapters/{name}.ipynb")


def run_build(folder, program="build", *arguments, **environment):
    known = {name: value for name, value in os.environ.items() if not name.startswith("BOOK_")}
    command = [sys.executable, "-m", f"book.{program}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env={**known, **environment})


def asks(folder, expression):
    """Return what a Python expression is for the book in a folder."""
    code = f"from book import build; print({expression})"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return run.stdout


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def soup_of(page):
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def addresses(page):
    """Return where a page's launch button leads, and what it says is its own address."""
    soup = soup_of(page)
    canonical = soup.find("link", rel="canonical")
    return [link["href"] for link in soup.select("a[href*='mybinder.org']")], canonical and canonical["href"]


def test_a_build_does_not_wait_for_a_grammar_that_it_does_not_need():
    assert asks(build.ROOT, "'lark' in __import__('sys').modules") == "False\n"


DRAWING = "import matplotlib.pyplot as plt\nplt.rcParams['svg.hashsalt'] = 'one'\nplt.plot([1, 2]);"
IN_PIECES = "print('one', end=' ', flush=True)\nprint('line')"


def test_what_is_current_is_left_and_from_nothing_the_command_of_jupyter_book_builds_the_same_book(small_book):
    write_chapter(small_book, f"{IN_PIECES}\n{DRAWING}")
    run = run_build(small_book, PATH="")  # without git
    assert run.returncode == 0 and "executed 01_one.ipynb" in run.stdout, run.stderr
    pages = small_book / "_build/html"
    page, whole = pages / "chapters/01_one.html", contents(pages)
    assert "one line\n" in soup_of(page).find(class_="stream").text
    assert addresses(page) == ([], None) and not (pages / "sitemap.xml").exists()

    made = page.stat().st_mtime_ns
    run = run_build(small_book)
    assert run.returncode == 0 and "The book is ready" in run.stdout and page.stat().st_mtime_ns == made

    shutil.rmtree(small_book / "_build")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n"]
    subprocess.run(command, cwd=small_book, env={**os.environ, "PYTHONPATH": str(small_book)}, check=True)
    assert contents(pages) == whole


def test_a_chapter_is_executed_again_for_its_code_and_the_package_and_not_for_its_prose(small_book):
    executed, fill = "executed 01_one.ipynb", "build.fill_cache()"
    assert executed in asks(small_book, fill)
    write_chapter(small_book, "print(1 + 1)", "# One\n\nAnother chapter.")
    assert executed not in asks(small_book, fill)
    write_chapter(small_book, "print(1 + 2)")
    assert executed in asks(small_book, fill)
    with open(small_book / "attn/attention.py", "a", encoding="utf-8") as module:
        module.write("# changed\n")
    assert executed in asks(small_book, fill)


def test_a_warning_names_its_file_and_cell_and_the_book_is_not_ready(small_book):
    text = "# One\n\n[nowhere](nowhere.md)\n\nIt is 1.5. It is not 2.75, as you see."
    write_chapter(small_book, "print(1.5)", text, tags=["claim-A1", "claim-A2"])
    (small_book / "chapters/ledger.yml").write_text("- {id: A1, verdict: holds, shown: [1]}\n", encoding="utf-8")
    (small_book / "chapters/ledger.md").write_text("# Ledger\n\n## Part\n\n### A1\n\nSaid.\n", encoding="utf-8")
    with open(small_book / "_toc.yml", "a", encoding="utf-8") as contents:
        contents.write("  - file: chapters/ledger\n  - file: chapters/02_renamed\n")
    run = run_build(small_book)
    assert run.returncode == 1 and "see the warnings above" in run.stderr
    place = f"{small_book / 'chapters/01_one.ipynb'}, cell 1, line 3"
    assert f"{place}: WARNING: 'myst' cross-reference target not found" in run.stderr
    assert "shows claims that the ledger does not list there: A2" in run.stderr
    assert "02_renamed" in run.stderr
    told = "01_one.ipynb: WARNING: no cell prints 2.75, told in 'It is not 2.75, as you see.'"
    assert told in run.stderr and "1.5" not in run.stderr
    assert asks(small_book, "build.is_ready()") == "False\n"


FAILED = "A cell of 01_one.ipynb failed.\n"


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        ("1 / 0", FAILED, rf"^The book was not built\. {FAILED}(.|\n)*ZeroDivisionError"),
        ("import os; os._exit(1)", f"{FAILED}Kernel died", rf"^The book was not built\. {FAILED}.*Kernel died"),
        (
            "import warnings; warnings.warn('careful')",
            (warned := "A cell of 01_one.ipynb wrote to the error stream.\n"),
            rf"^The book was not built\. {warned}(.|\n)*careful",
        ),
    ],
    ids=["an error", "a dead kernel", "a warning"],
)
def test_a_cell_that_fails_is_named_and_fails_every_build(small_book, code, said, told):
    write_chapter(small_book, code)
    with pytest.raises(notebooks.ChapterFailed, match=f"^{re.escape(said)}"):
        notebooks.execute(small_book / "chapters/01_one.ipynb")
    for _ in range(2):
        run = run_build(small_book)
        quiet = re.sub(r"\[IPKernelApp\] WARNING .*\n", "", run.stderr)
        assert run.returncode == 1 and re.search(told, quiet), run.stderr


def test_a_chapter_runs_in_the_kernel_of_this_python_whatever_an_editor_noted(small_book):
    path = small_book / "chapters/01_one.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace('"name": "python3"', '"name": "mine"'), encoding="utf-8")
    code = notebooks.execute(path).cells[1]
    assert code.outputs[0].text == "2\n"


def test_a_cell_that_takes_too_long_is_told(small_book, monkeypatch):
    write_chapter(small_book, "import time; time.sleep(60)")
    monkeypatch.setattr(notebooks, "SECONDS", 1)
    with pytest.raises(notebooks.ChapterFailed, match=r"^A cell of 01_one\.ipynb failed\.\nA cell timed out "):
        notebooks.execute(small_book / "chapters/01_one.ipynb")


OPEN = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("About $n/3 times.")]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<<<<<<< HEAD\n{}", r"^01_one\.ipynb cannot be read as a notebook\.\n"),
        ("{}", r"^01_one\.ipynb cannot be read as a notebook\.\n"),
        (OPEN, r"^A formula of 01_one\.ipynb is not closed"),
    ],
    ids=["marks of a merge", "another file", "a formula that is not closed"],
)
def test_a_chapter_that_cannot_be_read_is_named(tmp_path, text, told):
    (tmp_path / "01_one.ipynb").write_text(text, encoding="utf-8")
    with pytest.raises(notebooks.ChapterFailed, match=told):
        notebooks.read(tmp_path / "01_one.ipynb")


def test_what_stops_a_build_at_once_is_one_sentence_which_repeats_no_secret(small_book):
    address = r"BOOK_URL must be an address such as https://\S+, which it is not\."
    runs = {address: run_build(small_book, BOOK_URL="ftp://ada:s3cret@nowhere")}
    with FileLock(small_book / "_build/lock"):
        runs[r"The book was not built: another build of it is at work\."] = run_build(small_book)
    shutil.rmtree(small_book / "_build")
    (small_book / "_build").touch()
    runs[r"The book was not built: .*_build'\."] = run_build(small_book)
    for sentence, run in runs.items():
        assert run.returncode == 1 and run.stdout == "" and re.fullmatch(sentence, run.stderr.rstrip()), sentence


def test_a_book_whose_sources_change_while_it_is_built_is_not_ready(small_book):
    code = "with open('index.md', 'a', encoding='utf-8') as page:\n    page.write('And more.')"
    write_chapter(small_book, code)
    run = run_build(small_book)
    assert run.returncode == 1 and "something was changed meanwhile. Build it again." in run.stderr
    assert asks(small_book, "build.is_ready()") == "False\n"


def test_a_model_that_is_installed_later_makes_the_book_anew(monkeypatch):
    found = []
    for file in (None, Path("SmolLM2.gguf")):
        monkeypatch.setattr(build, "model_file", lambda file=file: file)
        found.append(build.sources())
    assert found[0] != found[1]


def test_a_row_of_the_ledger_needs_a_cell_that_shows_it(small_book):
    write_chapter(small_book, "print(1 + 1)", "# One\n\n## First\n\n## Second", tags=["claim-A1"])
    chapter = small_book / "chapters/01_one.ipynb"
    assert ledger.section_of(chapter, "A1") == "Second"
    with pytest.raises(ValueError, match=r"says that 01_one\.ipynb shows A2, but no cell has the tag claim-A2"):
        ledger.section_of(chapter, "A2")


def test_the_book_is_ready_as_long_as_it_is_there_and_its_sources_are_the_same(tmp_path, monkeypatch):
    pages, stamp = tmp_path / "html", tmp_path / "html.made-from"
    for name, value in {"PAGES": pages, "STAMP": stamp, "sources": lambda: "source"}.items():
        monkeypatch.setattr(build, name, value)
    assert not build.is_ready()
    stamp.write_text("source", encoding="utf-8")
    assert not build.is_ready(), "it was taken away"
    pages.mkdir()
    assert build.is_ready()
    for other in (b"another", b"\xff"):
        stamp.write_bytes(other)
        assert not build.is_ready()


def add_remote(folder, address):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", address], cwd=folder, check=True)


def test_a_published_book_has_its_addresses_as_long_as_it_is_published(small_book):
    add_remote(small_book, "https://s3cret@github.com/ada/course")
    title = small_book / "chapters/index.md"
    text = (build.ROOT / "chapters/index.md").read_text(encoding="utf-8")
    title.write_text(re.sub(r"\[([^]]*)\]\(\w+\.(?:md|ipynb)(?:#[\w-]+)?\)", r"\1", text), encoding="utf-8")
    run = run_build(small_book)
    assert run.returncode == 0, run.stderr

    html, published = small_book / "_build/html", "https://ada.github.io/course/"
    button = "https://mybinder.org/v2/gh/ada/course/HEAD?urlpath=lab/tree/chapters/01_one.ipynb"
    assert addresses(html / "chapters/01_one.html") == ([button], f"{published}chapters/01_one.html")
    assert addresses(html / "chapters/index.html")[0] == [button], "the title page is no notebook"
    chapter = soup_of(html / "chapters/01_one.html")
    wrong = chapter.select_one("a.btn-source-issues-button")["href"]
    assert wrong.startswith("https://github.com/ada/course/issues/new?") and "chapters/01_one" in wrong
    assert f"Version {version()}" in chapter.select_one(".bd-footer-content").get_text()
    assert f"<loc>{published}chapters/01_one.html</loc>" in (html / "sitemap.xml").read_text(encoding="utf-8")
    card = chapter.find("meta", property="og:image")["content"]
    assert card.startswith(published) and (html / card.removeprefix(published)).exists()
    assert not [path for path in html.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    downloaded = html / "_sources/chapters/01_one.ipynb"
    assert downloaded.read_bytes() == (small_book / "chapters/01_one.ipynb").read_bytes()

    subprocess.run(["git", "remote", "remove", "origin"], cwd=small_book, check=True)
    assert run_build(small_book).returncode == 0
    assert addresses(html / "chapters/01_one.html") == ([], None)
    assert "/issues/" not in (html / "chapters/01_one.html").read_text(encoding="utf-8")


def test_the_book_has_the_address_of_its_own_repository_and_that_of_the_variable_before_that_of_pages(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("BOOK_URL", raising=False)
    (tmp_path / "chapters").mkdir()
    assert origin(tmp_path) == ("", "")
    add_remote(tmp_path, "https://ada:s3cret@github.com/ada/course.git")
    assert origin(tmp_path) == ("https://github.com/ada/course", "https://ada.github.io/course/")
    assert origin(tmp_path / "chapters") == ("", ""), "a copy inside another repository does not take its address"
    monkeypatch.setenv("BOOK_URL", "https://course.example.org")
    assert origin(tmp_path) == ("https://github.com/ada/course", "https://course.example.org/")


def test_where_the_repository_is_known_the_page_on_reading_names_it_and_nothing_stands_for_it():
    text = (build.ROOT / f"{INSTALL}.md").read_text(encoding="utf-8")
    told = addressed(text, "https://github.com/ada/course")
    assert "ADDRESS" in text and "OWNER/NAME" in text and not re.search("ADDRESS|OWNER|NAME|place of http", told)
    assert "git clone https://github.com/ada/course attention" in told and "/gh/ada/course/HEAD" in told


def test_one_version_and_one_date_stand_everywhere_and_have_notes():
    def read(name):
        return (build.ROOT / name).read_text(encoding="utf-8")

    cited = yaml.safe_load(read("CITATION.cff"))
    number, date = re.search(r"^## ([\d.]+) \((\d{4}-\d\d-\d\d)\)$", read("CHANGELOG.md"), re.MULTILINE).groups()
    extension = json.loads(read("lab/share/jupyter/labextensions/attention-worked-out/package.json"))
    told = re.search(r"version = \{(.*)\}", read(f"{INSTALL}.md"))[1]
    assert {number, cited["version"], extension["version"], told} == {version()} and cited["date-released"] == date
    notes = read("CHANGELOG.md").split(f"## {number}")[1].split("\n## ")[0]
    assert "### What changed in what is true" in notes


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://github.com/ada/course", "ada/course"),
        ("https://ada:pass@github.com/ada/course.git/", "ada/course"),
        ("git@github.com:ada/course.git", "ada/course"),
        ("ssh://git@github.com/ada/my.course", "ada/my.course"),
        ("https://github.com.evil.org/ada/course", None),
        ("https://evil.org/github.com/ada/course", None),
        ("https://github.com/ada", None),
        ("/srv/git/course", None),
        ("", None),
    ],
)
def test_only_a_repository_on_github_is_an_address_for_binder(remote, found):
    assert public_addresses(remote)[0] == (f"https://github.com/{found}" if found else "")


def test_the_styles_of_formulas_tell_the_licences_of_mathjax_and_of_its_fonts():
    formulas.typeset(r"\sum_i x_i", True)
    styles = formulas.formula_styles()
    assert styles.startswith("/* MathJax's: Copyright (c) 2017-2022 The MathJax Consortium, Apache License 2.0")
    before = styles.split("@font-face")[:-1]
    assert len(before) > 2
    for rules in before:
        assert re.search(r"/\* Copyright [^*]*SIL Open Font License, Version 1\.1[^*]*\*/\n$", rules)


@pytest.fixture
def make():
    """Run make in a folder."""
    if os.name == "nt" or not shutil.which("make"):
        pytest.skip("no make, or none that runs a shell script")

    def run(folder, *command):
        command = ["make", "--no-print-directory", *command]
        return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")

    return run


@pytest.mark.parametrize("number", ["", "0", "99", "masking"])
def test_a_chapter_that_does_not_exist_gets_a_sentence_with_those_that_do(make, tmp_path, number):
    shutil.copy(build.ROOT / "Makefile", tmp_path)
    (tmp_path / "chapters").mkdir()
    for name in ("01_one", "02_two"):
        (tmp_path / f"chapters/{name}.ipynb").touch()
    run = make(tmp_path, "--old-file", ".venv/installed", "check", f"CHAPTER={number}")
    assert run.returncode != 0 and run.stdout == ""
    assert run.stderr.startswith(f"CHAPTER must be one of 01 02, but is '{number}'.\n")


@pytest.mark.parametrize("number", ["5", "05"])
def test_a_chapter_is_named_by_its_number_with_or_without_the_zero(make, number):
    run = make(build.ROOT, "--dry-run", "--old-file", ".venv/installed", "check", f"CHAPTER={number}")
    assert run.stdout.endswith(" -k 05_\n") and "must be" not in run.stdout


@pytest.mark.parametrize("python", ["no-such-python", "old-python"])
def test_a_missing_or_old_python_gets_one_clear_sentence(make, tmp_path, python):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(build.ROOT / name, tmp_path)
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    run = make(tmp_path, f"PYTHON={python if python.startswith('no') else old}", "book")
    assert run.returncode != 0
    sentences = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert len(sentences) == 1 and sentences[0].startswith("This book needs Python 3.11 or newer")


def test_the_workflow_pins_what_it_uses_and_may_write_only_where_it_publishes():
    workflow = yaml.safe_load((build.ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8"))
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)
    assert workflow["permissions"] == {"contents": "read"}
    allowed = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert allowed == {"publish": {"pages": "write", "id-token": "write"}}


def opens_text(call):
    """Say whether a call, as a node of the syntax tree, reads or writes text in the encoding of the system."""
    named = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    files = re.fullmatch(r"open|(?!Image|novels).*\.(open|read_text|write_text)", ast.unparse(call.func))
    binary = bool({ast.unparse(argument) for argument in call.args} & {"'rb'", "'wb'"})
    return "encoding" not in named and not binary and bool(files or named.get("text") == "True")


def test_every_file_is_opened_with_its_encoding():
    """Without one, Python takes the system's, which on Windows is another."""
    paths = [*build.ROOT.glob("*.py"), *build.ROOT.glob("[!.]*/**/*.py")]
    calls = [
        f"{path.relative_to(build.ROOT)}: {ast.unparse(node)}"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and opens_text(node)
    ]
    assert len(paths) > 50
    assert calls == []


def test_the_core_of_the_tests_asks_for_no_browser_no_kernel_and_no_book():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", "core", "tests/test_guesses.py"]
    run = subprocess.run(command, cwd=build.ROOT, capture_output=True, encoding="utf-8")
    found = set(re.findall(r"::(\w+)", run.stdout))
    assert "test_an_answer_that_does_not_fit_is_refused" in found
    assert "test_just_show_me_says_what_it_is_and_counts_as_no_guess" not in found


DIED = RuntimeError("Kernel died before replying to kernel_info")
TAKEN = OSError("this port is taken")


@pytest.mark.parametrize(("tries", "told"), [([DIED, None], None), ([DIED, DIED, None], DIED), ([DIED, TAKEN], TAKEN)])
def test_a_kernel_that_dies_is_started_once_more_and_what_its_client_says_at_last_is_told(
    tmp_path, monkeypatch, capsys, tries, told
):
    (tmp_path / "chapters").mkdir()
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "chapters" / "01_one.ipynb")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    for name, value in (notebooks.OF_A_KERNEL | notebooks.DRAWN_TWICE).items():
        monkeypatch.setenv(name, value)  # what the build sets is taken back
    answers = iter(tries)

    def start(client, env):
        if error := next(answers):
            raise error

    monkeypatch.setattr(notebooks.NotebookClient, "execute", start)
    if told is None:
        notebooks.fill_cache()
        assert capsys.readouterr().out == "executed 01_one.ipynb, 0 left\n"
    else:
        with pytest.raises(notebooks.ChapterFailed, match=rf"^A cell of 01_one\.ipynb failed\.\n{told}$"):
            notebooks.fill_cache()
