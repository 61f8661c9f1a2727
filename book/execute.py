"""Execute chapters, and write them back in their normal form: `make record`."""

import ast
import base64
import functools
import io
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from PIL import Image, ImageColor

from attn.course.plots import COLORS, MINUS, NEUTRAL, PLUS
from attn.threads import ONE_THREAD

from . import ROOT
from .guesses import ends, guess_in, judged, question

PICTURE = "image/png"
WIDTH = 510  # pixels of a committed picture: at most 60 kB a chapter, and its numbers can be read
GREYS = ["#ffffff", "#c8c8c8", "#828282", "#1b1b1b"]
TINTS = [(COLORS["weight"], 0.18, 0.36, 0.55), (PLUS, 0.3, 0.6), (MINUS, 0.3, 0.6)]  # with their shares on white
SECONDS = 120  # that a cell may take
DRAWN_TWICE = {"PYTHONSTARTUP": str(ROOT / "book" / "startup.py")}  # the figures of a kernel with this variable
USED = (  # by a kernel: its memory at its peak, which Linux tells in kilobytes, and the seconds of its processor
    "(int(open('/proc/self/status', encoding='utf-8').read().split('VmHWM:')[1].split()[0]) // 1000,"
    " round(__import__('time').process_time(), 1))"
)
NO_FORMULA = re.compile(r"```.*?```|`[^`]*`|\\\$", re.DOTALL)  # code, and an escaped dollar
WAITS = re.compile(r"(= |return )\.\.\.$")
SOLUTION = re.compile(r"<details>\n<summary>Solution</summary>.*?```python\n(.*?)\n```", re.DOTALL)


class ChapterFailed(Exception):
    """One sentence that names the chapter and says what happened to it, and the traceback if a cell has one."""


def read(path):
    """Return a notebook; ChapterFailed says where a guess or a formula is not whole."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, nbformat.ValidationError) as error:
        raise ChapterFailed(f"{path.name} cannot be read as a notebook.\n{error}") from None
    try:
        ends(notebook.cells)
    except ValueError as error:
        raise ChapterFailed(f"A guess of {path.name} cannot be asked: {error}.") from None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and NO_FORMULA.sub("", cell.source).count("$") % 2:
            raise ChapterFailed(
                f"A formula of {path.name} is not closed: there is an odd number of $ in\n{cell.source}"
            )
    return notebook


def execute(path, figures="svg", folder=None, variables=()):
    """Return a chapter with the outputs of a fresh kernel, which runs in a folder (default: the repository's root).

    On Linux, `used` in its metadata holds the kernel's memory at its peak and the seconds of its processor.
    Raises ChapterFailed also where a cell only wrote to the error stream.
    """
    notebook = read(path)
    folder = {"metadata": {"path": folder or path.parent.parent}}
    options = {"kernel_name": "python3", "timeout": SECONDS, "record_timing": False, "coalesce_streams": True}
    arguments = [f"--InlineBackend.figure_formats={figures}", "--log-level=CRITICAL"]
    client = NotebookClient(notebook, extra_arguments=arguments, resources=folder, **options)
    try:
        client.on_cell_executed = functools.partial(note_answers, client, ends(notebook.cells))
        dateless = {**os.environ, "SOURCE_DATE_EPOCH": "0"}  # no figure tells its date
        client.execute(env=dateless | (DRAWN_TWICE if figures == "svg" else {}) | dict(variables))
    except CellExecutionError as error:
        raise ChapterFailed(f"A cell of {path.name} failed.\n{error}") from None
    except CellTimeoutError:
        raise ChapterFailed(f"A cell of {path.name} took longer than {SECONDS} seconds.") from None
    except ValueError as error:
        raise ChapterFailed(f"A guess of {path.name} has no answer: {error}.") from None
    except RuntimeError:  # nbclient's; it dies before the first cell or in one
        raise ChapterFailed(f"The kernel of {path.name} died.") from None
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if output.get("name") == "stderr":
            raise ChapterFailed(f"A cell of {path.name} wrote to the error stream.\n{output.text}")
    return notebook


async def note_answers(client, asked, cell, cell_index, execute_reply):
    """Note the answer to each guess that is answered after this cell, and what the kernel has used so far."""
    if execute_reply["content"]["status"] != "ok":
        return
    for text in asked.get(cell_index, []):
        guess = guess_in(text)
        found = await ask(client, question(guess))
        if found["status"] != "ok":
            raise ValueError(f"{guess.get('answer')} ends with {found['ename']}, {found['evalue']}")
        try:
            text.metadata["guess"] = judged(guess, found["data"]["text/plain"])
        except (KeyError, TypeError, ZeroDivisionError) as error:
            raise ValueError(f"{guess['answer']} does not fit what is asked: {error!r}") from None
    if sys.platform == "linux":
        megabytes, seconds = ast.literal_eval((await ask(client, USED))["data"]["text/plain"])
        client.nb.metadata["used"] = {"megabytes": megabytes, "seconds": seconds}


async def ask(client, expression):
    """Return the kernel's reply to a Python expression; the count of its cells does not go up."""
    request = client.kc.execute("", silent=True, user_expressions={"reply": expression})
    while (reply := await client.kc.get_shell_msg(timeout=SECONDS))["parent_header"].get("msg_id") != request:
        pass
    return reply["content"]["user_expressions"]["reply"]


def on_all_cores(work, paths):
    """Yield each path and its result as they become ready. The last chapters, which train models, start first."""
    os.environ.update(ONE_THREAD)  # kernels run side by side: one core each
    os.environ["TQDM_DISABLE"] = "1"  # a progress bar is for a reader who waits, not for the page
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        futures = {pool.submit(work, path): path for path in sorted(paths, reverse=True)}
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
    strip = {"strip": notebook.metadata["strip"]} if "strip" in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        | strip
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        kept = ("mystnb", "tags", *(["guess"] if guess_in(cell) else []))  # the answer of a guess that went goes too
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in kept if key in cell.metadata})
        if cell.cell_type != "code":
            continue
        if {"hide-input", "remove-input"} & set(cell.metadata.get("tags", [])):
            cell.metadata["jupyter"] = {"source_hidden": True}  # folded in JupyterLab as in the book
        for output in cell.outputs:
            if "data" in output:
                kept = {kind: data for kind, data in output.data.items() if kind.startswith("text/")}
                output.metadata = nbformat.from_dict({})
                if PICTURE in output.data:
                    kept[PICTURE] = small(output.data[PICTURE])
                    output.metadata[PICTURE] = {"alt": cell.metadata["mystnb"]["image"]["alt"]}
                output.data = nbformat.from_dict(kept)
    return notebook


def main(paths):
    try:
        for path, notebook in on_all_cores(functools.partial(execute, figures="png"), paths):
            nbformat.write(normalise(notebook), path)
            print(f"recorded {path.name}", flush=True)
    except ChapterFailed as error:
        sys.exit(f"{error}\nAll chapters that are not named above were left as they are.")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
