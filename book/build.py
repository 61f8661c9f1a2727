"""Execute the chapters on all cores and build the book: `make book`."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from attn_course.smollm2 import model_file

from . import ROOT
from .execute import ChapterFailed, digest, fill_cache
from .repository import origin

BUILD = ROOT / "_build"
PAGES = BUILD / "html"
PDF = BUILD / "attention-worked-out.pdf"
ALONE = FileLock(BUILD / "lock", timeout=0)
NOT_BUILT = "The book was not built: see the warnings above."
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


def stamp_of(made):
    return made.with_name(f"{made.name}.made-from")


def stamp(made, source):
    """Note what a file or folder was made from."""
    stamp_of(made).write_text(source, encoding="utf-8")


def is_current(made, source):
    """Say whether a file or folder is there, and was made from this source."""
    return made.exists() and stamp_of(made).exists() and stamp_of(made).read_bytes() == source.encode()


def is_ready():
    return is_current(PAGES, sources())


def run_jupyter_book(folder, builder):
    """Build the book into `folder`/_build, and print its warnings at the end; return whether there were none."""
    program = Path(sys.executable).with_name("jupyter-book")
    build = [program, "build", ROOT, "--path-output", folder, "--builder", builder, "-W", "-n", "--keep-going"]
    ours = {**os.environ, "PYTHONPATH": str(ROOT)}  # the extensions beside this file, not a copy
    ours.pop("SOURCE_DATE_EPOCH", None)  # of kernels; Sphinx would date the foot of each page by it
    run = subprocess.run(build, cwd=ROOT, env=ours, stderr=subprocess.PIPE, encoding="utf-8")
    print(run.stderr, file=sys.stderr)
    return run.returncode == 0


def build_pages(source):
    """Read every chapter and write every page, or exit."""
    for folder in (PAGES, BUILD / ".doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    if not run_jupyter_book(ROOT, "html"):
        sys.exit(NOT_BUILT)
    stamp(PAGES, source)


def build_book():
    """Make what is not current; of sources that change meanwhile, the book is not ready."""
    source = sources()
    if not is_current(PDF, source):
        PDF.unlink(missing_ok=True)  # it shows what was there before
    fill_cache()
    build_pages(source)
    if not is_ready():
        sys.exit("The book is not up to date: something was changed meanwhile. Build it again.")


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
