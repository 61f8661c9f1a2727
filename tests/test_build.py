"""`make book` and the package's layout: failures are failures on every run, and what is stale is made anew."""

import ast
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

from benchmarks import bench_book
from book import build, formulas
from book import execute as notebooks
from book import ledger as pages
from book.repository import origin, public_address


@pytest.fixture
def small_book(tmp_path):
    """A book of one title page and one chapter, with this project's settings."""
    for name in ("_config.yml", "references.bib", "requirements.txt"):
        shutil.copy(build.ROOT / name, tmp_path)
    for name in ("attn", "book"):
        shutil.copytree(build.ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/index\nchapters:\n  - file: chapters/01_one\n", encoding="utf-8"
    )
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
    return subprocess.run(
        [sys.executable, "-m", f"book.{program}", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**known, **environment},
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "A cell of 01_one.ipynb failed."),
        ("import warnings; warnings.warn('careful')", "A cell of 01_one.ipynb wrote to the error stream."),
        ("import os; os._exit(1)", "The kernel of 01_one.ipynb died."),
    ],
    ids=["an error", "a warning", "a dead kernel"],
)
def test_a_cell_that_fails_fails_every_build_until_it_is_mended(small_book, code, said):
    write_chapter(small_book, "exec(open('trouble', encoding='utf-8').read())")
    (small_book / "trouble").write_text(code, encoding="utf-8")
    for _ in range(2):
        run = run_build(small_book)
        assert run.returncode == 1 and f"The book was not built. {said}" in run.stderr
        assert "most recent call last" not in run.stderr.partition(said)[0]
    (small_book / "trouble").write_text("", encoding="utf-8")
    assert run_build(small_book).returncode == 0


def test_a_kernel_that_dies_before_the_first_cell_is_one_sentence(small_book):
    (small_book / "profile_default/startup").mkdir(parents=True)
    (small_book / "profile_default/startup/00.py").write_text("import os; os._exit(1)", encoding="utf-8")
    run = run_build(small_book, IPYTHONDIR=str(small_book))
    assert run.returncode == 1 and "The book was not built. The kernel of 01_one.ipynb died.\n" in run.stderr


def test_a_chapter_runs_in_the_kernel_of_this_python_whatever_an_editor_noted(small_book):
    path = small_book / "chapters/01_one.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace('"name": "python3"', '"name": "mine"'), encoding="utf-8")
    code = notebooks.execute(path).cells[1]
    assert code.outputs[0].text == "2\n"


ASKED = "# One\n\n**Before you read on:** how many?\n\n- one\n- two\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# One\n\nIt is 1.5. It is not 2.75, as you see.", "01_one.ipynb: 2.75 in 'It is not 2.75, as you see.'"),
        ("# One\n\nAbout $n/3 times.", "A formula of 01_one.ipynb is not closed"),
        (
            ASKED + "<!-- gues\nanswer: '\"one\"'\n-->",
            "A guess of 01_one.ipynb cannot be asked: 'how many?' has no comment",
        ),
        (
            ASKED + "<!-- guess\nid: one\nanswer: 1\nwhy\n-->",
            "A guess of 01_one.ipynb cannot be asked: the comment of 'how many?' is no",
        ),
        (
            ASKED + "<!-- guess\nid: one\nanswer: (1\n-->",
            "cannot be asked: the answer of 'how many?' is no Python: '(' was never closed",
        ),
        (ASKED + "<!-- guess\nid: one\nanswer: 1\nwhen: 2\n-->", "the comment of 'how many?' may have answer, columns"),
    ],
)
def test_what_the_prose_has_wrong_stops_the_build_with_chapter_and_sentence(small_book, text, said):
    write_chapter(small_book, "print(1.5)", text=text)
    run = run_build(small_book)
    assert run.returncode == 1 and said in run.stderr and run.stderr.startswith("The book was not built")
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}", "{}"], ids=["marks of a merge", "another file"])
def test_a_chapter_that_is_no_notebook_is_named(small_book, text):
    (small_book / "chapters/01_one.ipynb").write_text(text, encoding="utf-8")
    run = run_build(small_book)
    assert run.returncode == 1
    assert run.stderr.startswith("The book was not built. 01_one.ipynb cannot be read as a notebook.\n")


def test_a_folder_that_cannot_be_written_is_one_sentence(small_book):
    (small_book / "_build").touch()
    run = run_build(small_book)
    assert run.returncode == 1
    assert re.fullmatch(r"The book was not built: .*_build'\.\n", run.stderr)


def test_of_two_builds_at_once_one_says_so(small_book):
    with FileLock(small_book / "_build/lock"):
        run = run_build(small_book)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr == "The book was not built: another build of it is at work.\n"


def test_what_is_changed_while_the_book_is_built_is_not_mixed_with_what_was_there(small_book):
    write_chapter(
        small_book, "with open('chapters/index.md', 'a', encoding='utf-8') as page:\n    page.write('And more.')"
    )
    run = run_build(small_book)
    assert run.returncode == 1 and "something was changed meanwhile. Build it again." in run.stderr
    assert not (small_book / "_build/html").exists()
    assert run_build(small_book).returncode == 0
    assert "And more." in (small_book / "_build/html/chapters/index.html").read_text(encoding="utf-8")


def test_a_cell_that_takes_too_long_is_one_sentence(small_book, monkeypatch):
    write_chapter(small_book, "import time; time.sleep(60)")
    monkeypatch.setattr(notebooks, "SECONDS", 1)
    with pytest.raises(notebooks.ChapterFailed, match=r"^A cell of 01_one\.ipynb took longer than 1 seconds\.$"):
        notebooks.execute(small_book / "chapters/01_one.ipynb")


def test_a_warning_fails_every_build_and_names_the_cell(small_book):
    assert run_build(small_book).returncode == 0
    write_chapter(small_book, "print(1 + 1)", text="# One\n\n[nowhere](nowhere.md)")
    for _ in range(2):
        run = run_build(small_book)
        assert run.returncode == 1
        assert "01_one.ipynb, cell 1, line 3: WARNING: 'myst' cross-reference target not found" in run.stderr
        assert "see the warnings above" in run.stderr


def test_a_cell_may_show_only_claims_that_the_ledger_lists_there(small_book):
    write_chapter(small_book, "print(1 + 1)", tags=["claim-A1", "claim-A2"])
    (small_book / "chapters/ledger.yml").write_text("- {id: A1, shown: [1]}\n", encoding="utf-8")
    (small_book / "chapters/ledger.md").write_text("# Ledger\n\n## Part\n\n### A1\n\nSaid.\n", encoding="utf-8")
    with open(small_book / "_toc.yml", "a", encoding="utf-8") as contents:
        contents.write("  - file: chapters/ledger\n")
    run = run_build(small_book)
    assert run.returncode == 1 and "shows claims that the ledger does not list there: A2" in run.stderr


def test_a_row_of_the_ledger_needs_a_cell_that_shows_it(small_book):
    write_chapter(small_book, "print(1 + 1)", "# One\n\n## First\n\n## Second", tags=["claim-A1"])
    chapter = small_book / "chapters/01_one.ipynb"
    assert pages.section_of(chapter, "A1") == "Second"
    with pytest.raises(ValueError, match=r"says that 01_one\.ipynb shows A2, but no cell of it has the tag claim-A2\."):
        pages.section_of(chapter, "A2")


def test_only_what_changed_is_made_anew(small_book):
    first = run_build(small_book)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "executed 01_one.ipynb" in first.stdout
    page = small_book / "_build/html/chapters/01_one.html"
    made = page.stat().st_mtime_ns

    second = run_build(small_book)
    assert second.returncode == 0 and "The book is ready" in second.stdout
    assert page.stat().st_mtime_ns == made

    with open(small_book / "attn/attention.py", "a", encoding="utf-8") as module:
        module.write("# changed\n")
    third = run_build(small_book)
    assert third.returncode == 0 and "executed 01_one.ipynb" in third.stdout
    assert page.stat().st_mtime_ns > made


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_book_of_which_one_chapter_was_read_again_is_the_one_that_is_built_from_nothing(small_book):
    pages = small_book / "_build/html"
    chapter = "# One\n\nA *key*, a key and a key.\n\n## {}\n\nA key, {} and a key, as a **key** is one."
    (small_book / "chapters/glossary.md").write_text(
        "# Glossary\n\n## Terms\n\n### key\n\nWhat is found by.\n", encoding="utf-8"
    )
    with open(small_book / "_toc.yml", "a", encoding="utf-8") as toc:
        toc.write("  - file: chapters/glossary\n  - file: chapters/02_two\n")
    write_chapter(small_book, "print(2)", chapter.format("Second", "$Q$"), name="02_two")
    write_chapter(small_book, "print(1)", chapter.format("First", "$K$"))
    assert run_build(small_book).returncode == 0
    write_chapter(small_book, "print(1)", chapter.format("Changed", "$V + 1$").replace("# One", "# Other"))
    run = run_build(small_book)
    assert run.returncode == 0 and "0 added, 1 changed" in run.stdout
    kept = contents(pages)
    assert b"Changed" in kept[Path("genindex.html")] and b"Other" in kept[Path("chapters/02_two.html")]

    shutil.rmtree(small_book / "_build/.doctrees")
    shutil.rmtree(pages)
    run = run_build(small_book)
    assert run.returncode == 0 and "4 added" in run.stdout
    assert kept == contents(pages)


def cut_off(path):
    path.write_bytes(path.read_bytes()[:100])


def test_what_is_missing_or_broken_is_made_anew(small_book):
    write_chapter(
        small_book, "import matplotlib.pyplot as plt\nplt.rcParams['svg.hashsalt'] = 'one'\nplt.plot([1, 2]);"
    )
    assert run_build(small_book).returncode == 0
    made = small_book / "_build"
    pages, executed = made / "html", made / "executed/01_one.ipynb"
    whole, outputs = contents(pages), executed.read_text(encoding="utf-8")

    def is_made_anew():
        run = run_build(small_book)
        return run.returncode == 0 and contents(pages) == whole

    (pages / "chapters/01_one.html").unlink()
    assert is_made_anew()
    (made / "html.made-from").write_bytes(b"\xff")
    executed.write_text(re.sub(r'"outputs": \[.*?\n   \]', '"outputs": []', outputs, flags=re.DOTALL), encoding="utf-8")
    assert is_made_anew()  # the notebook also tells what its kernel used, which is never the same
    assert nbformat.read(executed, 4).cells == nbformat.reads(outputs, 4).cells
    for broken in (made / ".doctrees/chapters/index.doctree", next(made.glob("jupyter_execute/*.svg"))):
        cut_off(broken)
        shutil.rmtree(pages)
        assert is_made_anew()


def test_a_chapter_that_is_renamed_is_missed(small_book):
    assert run_build(small_book).returncode == 0
    (small_book / "chapters/01_one.ipynb").rename(small_book / "chapters/01_uno.ipynb")
    assert run_build(small_book).returncode == 1  # the table of contents still names the other


def test_the_title_page_offers_the_pdf_as_long_as_it_shows_the_book(small_book, browser):
    shutil.copy(build.ROOT / "chapters/index.md", small_book / "chapters")
    title = small_book / "chapters/index.md"
    title.write_text(
        re.sub(r"\[([^]]*)\]\(\w+\.(?:md|ipynb)\)", r"\1", title.read_text(encoding="utf-8")), encoding="utf-8"
    )
    run = run_build(small_book, "pdf")
    assert run.returncode == 0, run.stderr
    html = small_book / "_build/html"
    assert (html / "attention-worked-out.pdf").read_bytes().startswith(b"%PDF-")
    page = BeautifulSoup((html / "chapters/index.html").read_text(encoding="utf-8"), "html.parser")
    assert page.find("a", string="the whole book as a PDF")["href"] == "../attention-worked-out.pdf"

    cut_off(small_book / "_build/attention-worked-out.pdf")
    assert run_build(small_book, "pdf").returncode == 0
    assert (small_book / "_build/attention-worked-out.pdf").read_bytes().endswith(b"%%EOF\n")

    shutil.rmtree(html)  # as before the tests, which want all pages made from nothing
    assert run_build(small_book).returncode == 0 and (html / "attention-worked-out.pdf").exists()

    write_chapter(small_book, "print(2 + 2)")
    assert run_build(small_book).returncode == 0
    assert "attention-worked-out.pdf" not in (html / "chapters/index.html").read_text(encoding="utf-8")
    assert not (html / "attention-worked-out.pdf").exists()


def addresses(page):
    """Return where a page's launch button leads, and what it says is its own address."""
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    canonical = soup.find("link", rel="canonical")
    return [link["href"] for link in soup.select("a[href*='mybinder.org']")], canonical and canonical["href"]


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
    assert f"<loc>{published}chapters/01_one.html</loc>" in (html / "sitemap.xml").read_text(encoding="utf-8")
    card = BeautifulSoup((html / "chapters/01_one.html").read_text(encoding="utf-8"), "html.parser").find(
        "meta", property="og:image"
    )["content"]
    assert card.startswith(published) and (html / card.removeprefix(published)).exists()
    assert not [path for path in html.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]

    if known_by == "remote":  # an empty variable says that there is none, and the pages are made anew
        assert run_build(small_book, BOOK_REPOSITORY="").returncode == 0
        assert addresses(html / "chapters/01_one.html") == ([], None)


def test_a_copy_inside_another_repository_does_not_take_its_address(small_book):
    subprocess.run(["git", "init", "--quiet"], cwd=small_book, check=True)
    subprocess.run(["git", "remote", "add", "origin", "https://github.com/ada/other"], cwd=small_book, check=True)
    assert origin(small_book) == ("https://github.com/ada/other", "https://ada.github.io/other/")
    assert origin(small_book / "chapters") == ("", "")


def test_without_git_the_book_has_no_launch_button_and_claims_no_address(small_book):
    run = run_build(small_book, PATH="")
    assert run.returncode == 0, run.stderr
    assert addresses(small_book / "_build/html/chapters/01_one.html") == ([], None)
    assert not (small_book / "_build/html/sitemap.xml").exists()


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


def test_the_styles_of_formulas_tell_the_licences_of_mathjax_and_of_its_fonts():
    formulas.typeset(r"\sum_i x_i", True)
    styles = formulas.formula_styles()
    assert styles.startswith("/* MathJax's: Copyright (c) 2017-2022 The MathJax Consortium, Apache License 2.0")
    before = styles.split("@font-face")[:-1]
    assert len(before) > 2
    for rules in before:
        assert re.search(r"/\* Copyright [^*]*SIL Open Font License, Version 1\.1[^*]*\*/\n$", rules)


@pytest.mark.parametrize("number", ["", "0", "99", "masking"])
def test_a_chapter_that_does_not_exist_gets_a_sentence_with_those_that_do(small_book, number):
    run = run_build(small_book, "check", number)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr == f"CHAPTER must be one of 01, but is {number!r}.\n"


@pytest.mark.skipif(os.name == "nt" or not shutil.which("make"), reason="no make, or none that runs a shell script")
@pytest.mark.parametrize("python", ["no-such-python", "old-python"])
def test_a_missing_or_old_python_gets_one_clear_sentence(tmp_path, python):
    shutil.copy(build.ROOT / "Makefile", tmp_path)
    shutil.copy(build.ROOT / "requirements.txt", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    run = subprocess.run(
        ["make", f"PYTHON={python if python.startswith('no') else old}", "book"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
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


def opens_text(call):
    """Say whether a call, as a node of the syntax tree, reads or writes text in the encoding of the system."""
    named = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    files = re.fullmatch(r"open|(?!Image|novels).*\.(open|read_text|write_text)", ast.unparse(call.func))
    return "encoding" not in named and bool(files or named.get("text") == "True")


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
    assert found == {"test_each_kind_of_answer_is_judged", "test_an_answer_that_does_not_fit_is_refused"}


def test_the_bench_times_a_build_from_nothing_and_one_with_nothing_to_do(small_book, book):
    lines = []
    bench_book.test_make_book(small_book, lines.append)
    bench_book.test_make_book_again(book, lines.append)
    assert [line.split(":")[0] for line in lines] == ["make book, cold", "make book, nothing changed"]


def test_the_copy_that_the_bench_builds_holds_all_that_the_book_is_made_from(repository, monkeypatch):
    made_from = build.digest(*build.CHAPTERS, *build.ALL_ELSE)
    monkeypatch.setattr(build, "ROOT", repository)
    assert build.digest(*build.CHAPTERS, *build.ALL_ELSE) == made_from, "git does not track something of it"
