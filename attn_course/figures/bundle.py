"""The explorables as scripts for the pages of the book: one that all pages load, and one for each figure."""

import re

from attn_course.figures.base import Explorable
from attn_course.figures.joined import FOLDER, IMPORT, joined, modules, named
from attn_course.figures.novel_reader import model_scripts
from attn_course.figures.wall import wall_scripts

COMMON = FOLDER / "common.js"


def without_comments(script):
    """Return JavaScript without its comments and indentation, which need a line, or the end of one, for themselves."""
    return re.sub(r"(?m)^\s+|\s*// .*$", "", script)


def figure_scripts():
    """Return the script of each figure by its name.

    A page opened from a file cannot load ES modules, so a figure's module, with all that it imports, becomes a function
    of what all figures share, which waits in `window.attnExplorables` and returns what the module exports.
    """
    return {figure._name: figure_script(figure._name) for figure in Explorable.__subclasses__()}


def figure_script(name):
    path = FOLDER / f"{name}.js"
    imports = [one for text in modules(path).values() for one in IMPORT.findall(text)]
    shared = sorted({name for names, _, other in imports if other.endswith("/common.js") for name in named(names)})
    body, _, exports = joined(path, given=[COMMON]).partition("export default ")
    return (
        f'(window.attnExplorables ??= {{}})["{name}"] = ({{ {", ".join(shared)} }}) => {{\n{body}'
        f"return {exports.strip().removesuffix(';')};\n}};\n"
    )


def scripts_on_request():
    """Yield the names and texts of the scripts that figures bring when the reader asks, but for a released model."""
    yield from (*wall_scripts(), *model_scripts())


def shared_script(*more):
    """Return what figures share, what brings those of a page to life, and more modules of its pages, as one script.

    It comes after the scripts of the figures.
    """
    return f"(() => {{\n{joined(FOLDER / 'mount.js', *more)}}})();\n"
