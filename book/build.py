"""Execute the chapters on all cores and build the book: `make book`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from attn_course.smollm2 import model_file

from . import ROOT
from .execute import ChapterFailed, digest, fill_cache
from .repository import origin

BUILD = ROOT / "_build"
PAGES = BUILD / "html"
STAMP = BUILD / "html.made-from"
ALONE = FileLock(BUILD / "lock", timeout=0)
MADE_FROM = (
    "chapters/*.*",
    "attn/*.py",
    "attn_course/**/*.*",
    "book/*.*",
    "lab/**/kept.js",
    "_*.yml",
    "*.bib",
    "*.txt",
    "pyproject.toml",
)


def sources():
    """Return the fingerprint of all that the book is made from, the released model that it holds among it."""
    model = model_file()
    return digest(*MADE_FROM) + " ".join([*origin(ROOT), model.name if model else "no model"])


def is_ready():
    """Say whether the pages are there, and made from what is there now."""
    return PAGES.exists() and STAMP.exists() and STAMP.read_bytes() == sources().encode()


def build_pages(source):
    """Read every chapter, write every page, and print the warnings at the end; exit where there are any."""
    for folder in (PAGES, BUILD / ".doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    ours = {**os.environ, "PYTHONPATH": str(ROOT)}  # the extensions beside this file, not a copy
    ours.pop("SOURCE_DATE_EPOCH", None)  # of kernels; Sphinx would date the foot of each page by it
    build = [program, "build", ROOT, "-W", "-n", "--keep-going"]
    run = subprocess.run(build, cwd=ROOT, env=ours, stderr=subprocess.PIPE, encoding="utf-8")
    print(run.stderr, file=sys.stderr)
    if run.returncode:
        sys.exit("The book was not built: see the warnings above.")
    STAMP.write_text(source, encoding="utf-8")


def build_book():
    """Execute what is not current, and make all pages; of sources that change meanwhile, the book is not ready."""
    source = sources()
    fill_cache()
    build_pages(source)
    if not is_ready():
        sys.exit("The book is not up to date: something was changed meanwhile. Build it again.")


def main():
    """Build the book, or exit with one sentence, in place of a traceback."""
    try:
        if not is_ready():
            with ALONE:
                build_book()
    except Timeout:
        sys.exit("The book was not built: another build of it is at work.")
    except OSError as error:
        sys.exit(f"The book was not built: {error}.")
    except ValueError as error:
        sys.exit(str(error))
    except ChapterFailed as error:
        sys.exit(f"The book was not built. {error}")
    print(f"\nThe book is ready. Open it in a browser: {(PAGES / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
