"""The explorables as scripts for the pages of the book: one that all pages load, and one for each figure."""

import re

from attn.figures.base import FOLDER, read_source

SHARED = ("common.js", "ask.js", "machine.js", "bytepairs.js")  # what the figures' own files build on


def _names(source):
    return re.findall(r"^(?:async )?(?:function|const) (\w+)", source, re.MULTILINE)


def figure_scripts():
    """Return the script of each figure by its name.

    A page opened from a file cannot load ES modules, so a figure's file becomes a function of what the figures share,
    which waits in `window.attnExplorables` and returns the exports of the file.
    """
    given = _names(read_source(*SHARED))
    scripts = {}
    for path in sorted(FOLDER.glob("*.js")):
        body, _, exports = read_source(path.name).partition("export default ")
        if exports:
            used = [name for name in given if re.search(rf"\b{name}\b", body + exports) and name not in _names(body)]
            scripts[path.stem] = (
                f'(window.attnExplorables ??= {{}})["{path.stem}"] = ({{ {", ".join(used)} }}) => {{\n{body}'
                f"return {exports.strip().removesuffix(';')};\n}};\n"
            )
    return scripts


def shared_script(*more):
    """Return what figures share, what brings those of a page to life, and more of a page's own scripts, as one script.

    It comes after the scripts of the figures.
    """
    source = read_source(*SHARED)
    shared = f"const shared = {{ {', '.join(_names(source))} }};"
    return "\n".join(["(() => {", source, shared, read_source("mount.js"), *more, "})();\n"])


def book_script(*more):
    """Return all explorables, and more of a page's own scripts, as one script."""
    return "".join(figure_scripts().values()) + shared_script(*more)
