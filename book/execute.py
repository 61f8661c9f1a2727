"""Execute chapters: through jupyter-cache for the book, and for the repository in their normal form: `make record`."""

import base64
import functools
import hashlib
import io
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image, ImageColor

from attn.threads import ONE_THREAD
from attn_course.plots import COLORS, MINUS, NEUTRAL, PLUS

from . import ROOT, number_of

FOLDED = {"hide-input", "hide-cell", "remove-input"}  # tags of cells whose code is not seen at once
PICTURE = "image/png"
WIDTH = 510  # pixels of a committed picture: at most 60 kB a chapter, and its numbers can be read
GREYS = ["#ffffff", "#c8c8c8", "#828282", "#1b1b1b"]
TINTS = [(COLORS["weight"], 0.18, 0.36, 0.55), (PLUS, 0.3, 0.6), (MINUS, 0.3, 0.6)]  # with their shares on white
SECONDS = 600  # that a cell may take, also on a busy machine
OF_A_KERNEL = {  # its environment: each has one core, waits without a bar of progress, and dates nothing
    **ONE_THREAD,
    "TQDM_DISABLE": "1",
    "SOURCE_DATE_EPOCH": "0",
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
}
DRAWN_TWICE = {"MPLBACKEND": "module://book.draw"}  # the figures of a page
NO_FORMULA = re.compile(r"```.*?```|`[^`]*`|\\\$", re.DOTALL)  # code, and an escaped dollar
WAITS = re.compile(r"(= |return )\.\.\.$")
SOLUTION = re.compile(r"<details>\n<summary>Solution</summary>.*?```python\n(.*?)\n```", re.DOTALL)


class ChapterFailed(Exception):
    """One sentence that names the chapter and says what happened to it, and the traceback if a cell has one."""


def read(path):
    """Return a notebook; ChapterFailed says where a formula is not whole."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, nbformat.ValidationError) as error:
        raise ChapterFailed(f"{path.name} cannot be read as a notebook.\n{error}") from None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and NO_FORMULA.sub("", cell.source).count("$") % 2:
            raise ChapterFailed(
                f"A formula of {path.name} is not closed: there is an odd number of $ in\n{cell.source}"
            )
    return notebook


def digest(*patterns):
    """Return a fingerprint of the files that match, of their names and of what is in them."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    parts = [part for path in files for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes())]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def cache_folder():
    """Return the folder of the cache for the code that chapters run on; jupyter-cache itself knows only their cells."""
    package = ("attn/*.py", "attn_course/**/*.py", "attn_course/*.mplstyle", "attn_course/data/**/*.*")
    way = ("book/draw.py", "book/execute.py", "requirements.txt")
    return ROOT / "_build" / ".jupyter_cache" / digest(*package, *way)[:16]


def executed(path, folder):
    """Return a chapter with the outputs that the cache in a folder has for its cells."""
    return get_cache(folder).merge_match_into_notebook(read(path))[1]


def fill_cache():
    """Execute, on all cores, the notebooks whose cells the cache does not have; ChapterFailed names one that fails."""
    folder = cache_folder()
    for older in folder.parent.glob("*"):
        if older != folder:
            shutil.rmtree(older)
    os.environ.update(OF_A_KERNEL | DRAWN_TWICE)
    cache = get_cache(folder)
    for path in sorted(ROOT.glob("chapters/*.ipynb")):
        read(path)
        cache.add_nb_to_project(str(path))
    pending = [Path(record.uri) for record in cache.list_unexecuted()]

    def cached(path):
        cache.cache_notebook_bundle(CacheBundleIn(execute(path), str(path)), check_validity=False, overwrite=True)

    left = len(pending)
    for path, _ in on_all_cores(cached, pending):
        left -= 1
        print(f"executed {path.name}, {left} left", flush=True)


def execute(path):
    """Return a chapter with the outputs of a fresh kernel, which runs in its folder.

    Raises ChapterFailed also where a cell only wrote to the error stream.
    """
    # What a cell prints comes in pieces, by the clock; MyST-NB would begin a line with each.
    options = {"kernel_name": "python3", "timeout": SECONDS, "record_timing": False, "coalesce_streams": True}

    def run():
        notebook, where = read(path), {"metadata": {"path": path.parent}}
        client = NotebookClient(notebook, resources=where, extra_arguments=["--log-level=CRITICAL"], **options)
        client.execute(env={**os.environ, **OF_A_KERNEL})
        return notebook

    try:
        notebook = twice(run)
    except (CellExecutionError, OSError, RuntimeError) as error:  # a cell that takes too long is an OSError
        raise ChapterFailed(f"A cell of {path.name} failed.\n{error}") from None
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if output.get("name") == "stderr":
            raise ChapterFailed(f"A cell of {path.name} wrote to the error stream.\n{output.text}")
    return notebook


def twice(start):
    """Start a kernel: of two that start at once and take the same port, one dies, and is started again."""
    try:
        return start()
    except RuntimeError:
        return start()


def n_cores():
    """Return how many cores this process may use: of its machine, and of its container."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        return min(known, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no container, or one without a quota
        return known


def on_all_cores(work, paths):
    """Yield each path and its result as they become ready. The last chapters, which train models, start first."""
    pool = ThreadPoolExecutor(n_cores())
    try:
        order = sorted(paths, key=lambda path: (number_of(path) or 0, path), reverse=True)
        futures = {pool.submit(work, path): path for path in order}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def exercises(notebook):
    """Return of each exercise the cell that waits for the answer, the cell that checks it, and the solution's code."""
    found = []
    for answer, check, solution in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        if answer.cell_type == "code" and WAITS.search(answer.source):
            code = SOLUTION.match(solution.source)
            if not code:
                raise ValueError(f"There is no solution two cells after {answer.source!r}.")
            found.append((answer, check, code[1]))
    return found


@functools.cache
def palette():
    """Return an image with the colours of a committed picture: a thin line keeps the colour that its legend names."""
    inks = [ImageColor.getrgb(ink) for ink in [*GREYS, *COLORS.values(), *NEUTRAL]]
    tints = [[round(255 + (c - 255) * share) for c in ImageColor.getrgb(ink)] for ink, *of in TINTS for share in of]
    image = Image.new("P", (1, 1))
    image.putpalette([channel for ink in [*inks, *tints] for channel in ink])
    return image


def small(picture):
    """Return a PNG, as text in base 64, in the width and with the few colours that are committed."""
    image = Image.open(io.BytesIO(base64.b64decode(picture)))
    if image.width <= WIDTH:
        return picture
    size = WIDTH, round(image.height * WIDTH / image.width)
    resized = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    reduced = resized.quantize(palette=palette(), dither=Image.Dither.NONE)
    file = io.BytesIO()
    reduced.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def normalise(notebook):
    """Reduce a notebook to what is committed: text outputs, small figures, no widget state, steady ids.

    Changes the notebook in place and returns it.
    """
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        kept = {key: cell.metadata[key] for key in ("mystnb", "tags") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(kept)
        if cell.cell_type != "code":
            continue
        tags = set(cell.metadata.get("tags", []))
        hidden = {"source_hidden": FOLDED & tags, "outputs_hidden": {"hide-output", "hide-cell"} & tags}
        if any(hidden.values()):
            cell.metadata["jupyter"] = {name: True for name, found in hidden.items() if found}  # as in the book
        if hidden["outputs_hidden"]:
            cell.metadata["mystnb"] = {"code_prompt_show": "Show the numbers", "code_prompt_hide": "Hide the numbers"}
        for output in cell.outputs:
            if "data" in output:
                kept = {kind: data for kind, data in output.data.items() if kind.startswith("text/")}
                output.metadata = nbformat.from_dict({})
                if PICTURE in output.data:
                    kept[PICTURE] = small(output.data[PICTURE])
                    output.metadata[PICTURE] = {"alt": cell.metadata["mystnb"]["image"]["alt"]}
                output.data = nbformat.from_dict(kept)
    return notebook


def use_cache(app, config):
    """Let Sphinx take all results from the cache; what is not there would be executed in another way."""
    fill_cache()
    config.nb_execution_cache_path = str(cache_folder())


def setup(app):
    app.connect("config-inited", use_cache, priority=900)  # after Sphinx, which dates the foot of each page
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main(paths):
    try:
        for path, notebook in on_all_cores(execute, paths):
            nbformat.write(normalise(notebook), path)
            print(f"recorded {path.name}", flush=True)
    except ChapterFailed as error:
        sys.exit(f"{error}\nAll chapters that are not named above were left as they are.")


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
