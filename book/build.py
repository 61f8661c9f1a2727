"""Execute the chapters on all cores and build the book: `make book`."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
import yaml
from filelock import FileLock, Timeout

from . import ROOT
from .execute import DRAWN_TWICE, ChapterFailed, execute, on_all_cores, read
from .guesses import ends, guess_in, with_answer
from .prose import missing, shown, unprinted
from .repository import origin

BUILD = ROOT / "_build"
EXECUTED = BUILD / "executed"
SOURCE = BUILD / "source"  # what Sphinx reads
PAGES = BUILD / "html"
BY_SPHINX = [PAGES, BUILD / ".doctrees", BUILD / "jupyter_execute"]
PDF = BUILD / "attention-worked-out.pdf"
ALONE = FileLock(BUILD / "lock", timeout=0)
NOT_BUILT = "The book was not built: see the warnings above."
MADE_FROM = (
    "chapters/*.*",
    "attn/**/*.*",
    "book/*.*",
    "_*.yml",
    "*.bib",
    "*.txt",
)


BESIDE = (  # what Sphinx reads besides the chapters
    "_*.yml",
    "references.bib",
    "chapters/*.md",
    "chapters/*.yml",
    "book/book.*",
    "book/favicon.svg",
    "attn/figures/figures.css",
)


def digest(*patterns):
    """Return a fingerprint of the files that match, of their names and of what is in them."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    parts = [part for path in files for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes())]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def contents(made):
    """Return a fingerprint of a file or of all files in a folder."""
    name = made.relative_to(ROOT).as_posix()
    return digest(name, f"{name}/**/*")


def stamp_of(made):
    return made.with_name(f"{made.name}.made-from")


def stamp(made, source):
    """Note what the file or folder was made from, and what it is."""
    stamp_of(made).write_text(f"{source} {contents(made)}", encoding="utf-8")


def is_current(made, source):
    """Say whether the file or folder was made from this source, and is still what it was then."""
    noted = stamp_of(made)
    return noted.exists() and noted.read_bytes() == f"{source} {contents(made)}".encode()


def chapters():
    return sorted(ROOT.glob("chapters/[!_]*.ipynb"))


def execute_chapters():
    """Execute each chapter whose code cells and guesses, or what they run on, are not those of last time."""
    code = digest(
        "attn/**/*.py",
        "attn/**/*.mplstyle",
        "attn/**/*.yml",
        "attn/data/**/*.*",
        "book/draw.py",
        "book/execute.py",
        "book/guesses.py",
        "requirements.txt",
    )

    def source(notebook):
        cells = [(cell.id, cell.source) if cell.cell_type == "code" else guess_in(cell) for cell in notebook.cells]
        answered = sorted(ends(notebook.cells))
        return hashlib.sha256(json.dumps([code, answered, *filter(None, cells)]).encode()).hexdigest()

    pending = [path for path in chapters() if not is_current(EXECUTED / path.name, source(read(path)))]
    EXECUTED.mkdir(parents=True, exist_ok=True)
    if pending:
        print("Executing", ", ".join(path.name for path in pending), flush=True)
    for path, notebook in on_all_cores(execute, pending):
        nbformat.write(notebook, EXECUTED / path.name)
        stamp(EXECUTED / path.name, source(notebook))
        print(f"executed {path.name}", flush=True)


def check_numbers():
    """Refuse a book that tells a number which the chapters, as they were executed here, do not print."""
    executed = {path: nbformat.read(EXECUTED / path.name, as_version=4) for path in chapters()}
    untrue = {path.name: unprinted(read(path), run) for path, run in executed.items()}
    for row in yaml.safe_load((ROOT / "chapters" / "ledger.yml").read_text(encoding="utf-8")):
        cells = [cell for path, run in executed.items() if int(path.name[:2]) in row["shown"] for cell in run.cells]
        untrue[f"ledger.yml, {row['id']}"] = missing([row.get("found", ""), row.get("real", "")], shown(cells))
    told = [f"{name}: {number:g} in {text!r}" for name, found in untrue.items() for number, text in found.items()]
    if told:
        sys.exit("\n".join(["The book was not built: it tells what no cell has printed here.", *told]))


def sources():
    """Return the fingerprint of all that the book is made from."""
    return digest(*MADE_FROM) + " ".join(origin(ROOT))


def with_results(notebook, executed):
    """Return a chapter as Sphinx reads it: with its outputs, and each guess's answer in the place of its comment.

    The prose of a chapter may have changed since it was executed; its code cells are the same, by their ids.
    """
    outputs = {cell.id: cell.outputs for cell in executed.cells if cell.cell_type == "code"}
    answers = {guess["id"]: guess for guess in (cell.metadata.get("guess") for cell in executed.cells) if guess}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs[cell.id]
        elif guess := guess_in(cell):
            cell.source = with_answer(cell.source, answers[guess["id"]])
    notebook.metadata.language_info = executed.metadata.language_info
    return notebook


def gather():
    """Make the folder that Sphinx reads: the chapters with their results, and all else as it stands."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for path in [path for pattern in BESIDE for path in ROOT.glob(pattern)]:
        target = SOURCE / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for path in chapters():
        nbformat.write(with_results(read(path), read(EXECUTED / path.name)), SOURCE / "chapters" / path.name)


def build_pages(source):
    """Read every chapter and write every page, or exit."""
    for folder in BY_SPHINX:
        shutil.rmtree(folder, ignore_errors=True)
    gather()
    if not run_jupyter_book(ROOT, "html"):
        sys.exit(NOT_BUILT)
    stamp(PAGES, source)


def run_jupyter_book(folder, builder):
    """Build the book into `folder`/_build, and print its warnings at the end; return whether there were none."""
    program = Path(sys.executable).with_name("jupyter-book")
    build = [program, "build", SOURCE, "--path-output", folder, "--builder", builder, "-W", "-n", "--keep-going"]
    ours = {**os.environ, **DRAWN_TWICE, "PYTHONPATH": str(ROOT)}  # the extensions beside this file, not a copy
    run = subprocess.run(build, cwd=ROOT, env=ours, stderr=subprocess.PIPE, encoding="utf-8")
    print(run.stderr, file=sys.stderr)
    return run.returncode == 0


def is_ready():
    return is_current(PAGES, sources())


def build_book():
    """Make what is not current, and exit if a source was changed meanwhile: pages would mix old and new."""
    source = sources()
    if not is_current(PDF, source):
        PDF.unlink(missing_ok=True)  # it shows what was there before
    execute_chapters()
    check_numbers()
    if sources() == source:
        build_pages(source)
    if not is_ready():
        sys.exit("The book was not built: something was changed meanwhile. Build it again.")


@contextmanager
def one_sentence():
    """Exit with one sentence, in place of a traceback, where the book cannot be built."""
    try:
        yield
    except Timeout:
        sys.exit("The book was not built: another build of it is at work.")
    except OSError as error:
        sys.exit(f"The book was not built: {error}.")
    except ValueError as error:
        sys.exit(str(error))
    except ChapterFailed as error:
        sys.exit(f"The book was not built. {error}")


def main():
    with one_sentence():
        if not is_ready():
            with ALONE:
                build_book()
    print(f"\nThe book is ready. Open it in a browser: {(PAGES / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
