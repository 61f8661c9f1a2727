"""Execute the chapters on all cores and build the book: `make book`."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from notebooks import ChapterFailed, execute, on_all_cores, read

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "_ext"))
from repository import origin  # noqa: E402

BUILD = ROOT / "_build"
EXECUTED = BUILD / "executed"
PAGES = BUILD / "html"
PAGES_STAMP = BUILD / "made-from"
READ_BEFORE = BUILD / ".doctrees"  # what Sphinx remembers of the chapters
READ_STAMP = READ_BEFORE / "made-with"
PDF = BUILD / "attention-worked-out.pdf"
NOT_BUILT = "The book was not built: see the warnings above."
CHAPTERS = ("chapters/*.ipynb",)
ALL_ELSE = (
    "chapters/*.md",
    "chapters/*.yml",
    "recordings/*.json",
    "attn/**/*.*",
    "_ext/*.*",
    "tools/*.py",
    "_*.yml",
    "*.bib",
    "*.txt",
)


def digest(*patterns):
    """Return a fingerprint of the files that match, of their names and of what is in them."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    parts = [part for path in files for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes())]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def is_current(stamp, fingerprint):
    return stamp.exists() and stamp.read_text() == fingerprint


def chapters():
    return sorted(ROOT.glob("chapters/[!_]*.ipynb"))


def made_from(executed):
    """Return the fingerprint that an executed chapter carries, None where there is none or the file is broken."""
    try:
        return json.loads(executed.read_bytes())["metadata"]["made_from"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def execute_chapters():
    """Execute each chapter whose cells, or what they run on, are not those of last time; _ext/outputs.py shows them."""
    code = digest(
        "attn/**/*.py",
        "attn/*.mplstyle",
        "recordings/*.json",
        "chapters/questions.yml",
        "tools/notebooks.py",
        "requirements.txt",
    )
    cells = {path: [cell.source for cell in read(path).cells if cell.cell_type == "code"] for path in chapters()}
    wanted = {path: hashlib.sha256(json.dumps([code, cells[path]]).encode()).hexdigest() for path in cells}
    pending = [path for path in wanted if made_from(EXECUTED / path.name) != wanted[path]]
    EXECUTED.mkdir(parents=True, exist_ok=True)
    if pending:
        print("Executing", ", ".join(path.name for path in pending), flush=True)
    for path, notebook in on_all_cores(execute, pending):
        notebook.metadata["made_from"] = wanted[path]
        nbformat.write(notebook, EXECUTED / path.name)
        print(f"executed {path.name}", flush=True)


def settings():
    """Return the fingerprint of all that every page is made from."""
    return digest(*ALL_ELSE) + " ".join(origin(ROOT))


def sources():
    """Return the fingerprint of all that the book is made from."""
    return digest(*CHAPTERS) + settings()


def build_pages():
    """Read the chapters that changed, or all if anything else did, and write every page; or exit.

    A chapter that is not read again does not repeat its warnings: after a warning, all are read again.
    """
    known = is_current(READ_STAMP, settings())
    for path in (PAGES_STAMP, READ_STAMP):
        path.unlink(missing_ok=True)
    for folder in [PAGES] if known else [PAGES, READ_BEFORE]:
        shutil.rmtree(folder, ignore_errors=True)
    if not run_jupyter_book(ROOT, "html"):
        sys.exit(NOT_BUILT)
    READ_STAMP.write_text(settings())
    PAGES_STAMP.write_text(sources())


def run_jupyter_book(folder, builder):
    """Build the book into `folder`/_build; return whether there was neither error nor warning."""
    program = Path(sys.executable).with_name("jupyter-book")
    build = [program, "build", ROOT, "--path-output", folder, "--builder", builder, "-W", "-n", "--keep-going"]
    return subprocess.run(build, cwd=ROOT).returncode == 0


def is_ready():
    return is_current(PAGES_STAMP, sources()) and (PAGES / "index.html").exists()


def main():
    try:
        if not is_ready():
            if not is_current(PAGES_STAMP, sources()):
                PDF.unlink(missing_ok=True)  # it shows what was there before
            execute_chapters()
            build_pages()
    except ValueError as error:
        sys.exit(str(error))
    except ChapterFailed as error:
        sys.exit(f"The book was not built. {error}")
    print(f"\nThe book is ready. Open it in a browser: {(PAGES / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
