"""Execute the chapters on all cores and build the book: `make book`."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient.exceptions import CellExecutionError
from notebooks import execute, on_all_cores
from repository import origin

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
CACHE = BUILD / ".jupyter_cache"
PDF = BUILD / "attention-worked-out.pdf"


def digest(*patterns):
    """Return a fingerprint of the files that match."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def is_current(stamp, fingerprint):
    return stamp.exists() and stamp.read_text() == fingerprint


def execute_chapters():
    """Execute what is not in the cache yet. Jupyter Book then finds everything there."""
    stamp, code = (
        CACHE / "made-with",
        digest("attn/**/*.py", "attn/*.mplstyle", "_ext/notebooks.py", "requirements.txt"),
    )
    if not is_current(stamp, code):  # an execution with other code says nothing about this one
        shutil.rmtree(CACHE, ignore_errors=True)
    cache = get_cache(CACHE)
    CACHE.mkdir(parents=True, exist_ok=True)
    stamp.write_text(code)
    for path in sorted(ROOT.glob("chapters/[!_]*.ipynb")):
        cache.add_nb_to_project(str(path))
    pending = sorted(Path(record.uri) for record in cache.list_unexecuted())
    if pending:
        print("Executing", ", ".join(path.name for path in pending), flush=True)
    for path, notebook in on_all_cores(execute, pending):
        cache.cache_notebook_bundle(CacheBundleIn(notebook, str(path)), check_validity=False, overwrite=True)
        print(f"executed {path.name}", flush=True)


def build_pages(out):
    """Build all pages below `out`; return whether there was neither error nor warning."""
    for folder in ("html", ".doctrees"):  # a page that is kept would not repeat its warnings
        shutil.rmtree(out / folder, ignore_errors=True)
    return run_jupyter_book(out.parent, "html")


def run_jupyter_book(folder, builder):
    """Build the book into `folder`/_build; return whether there was neither error nor warning."""
    program = Path(sys.executable).with_name("jupyter-book")
    build = [program, "build", ROOT, "--path-output", folder, "--builder", builder, "-W", "-n", "--keep-going"]
    return subprocess.run(build, cwd=ROOT).returncode == 0


def sources():
    """Return the fingerprint of all that the book is made from."""
    return digest("chapters/*.*", "attn/**/*.*", "_ext/*.*", "_*.yml", "*.bib", "*.txt") + " ".join(origin(ROOT))


def main(out=BUILD):
    try:
        stamp, made_from = out / "made-from", sources()
    except ValueError as error:
        sys.exit(str(error))
    if not is_current(stamp, made_from):
        stamp.unlink(missing_ok=True)
        PDF.unlink(missing_ok=True)  # it shows what was there before
        try:
            execute_chapters()
        except CellExecutionError as error:
            sys.exit(f"The book was not built, because a cell failed.\n{error}")
        if not build_pages(out):
            sys.exit("The book was not built: see the warnings above.")
        stamp.write_text(made_from)
    print(f"\nThe book is ready. Open it in a browser: {(out / 'html' / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
