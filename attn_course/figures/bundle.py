"""The explorables as scripts for the pages of the book: one that all pages load, and one for each figure."""

import re

from attn_course.figures.base import Explorable, read_source
from attn_course.figures.novel_reader import model_scripts
from attn_course.figures.wall import wall_scripts


def light(script):
    """Return JavaScript without its comments and indentation, which need a line, or the end of one, for themselves."""
    return re.sub(r"(?m)^\s+|\s*// .*$", "", script)


def _names(source):
    return re.findall(r"^(?:async )?(?:function|const) (\w+)", source, re.MULTILINE)


def figure_scripts():
    """Return the script of each figure by its name.

    A page opened from a file cannot load ES modules, so a figure's file, after those that it builds on, becomes a
    function of what all figures share, which waits in `window.attnExplorables` and returns the exports of the file.
    """
    given, scripts = _names(read_source("common.js")), {}
    for figure in Explorable.__subclasses__():
        body, _, exports = figure._source.partition("export default ")
        own = _names(body)
        shared = [name for name in given if name not in own and re.search(rf"\b{name}\b", body + exports)]
        scripts[figure._name] = (
            f'(window.attnExplorables ??= {{}})["{figure._name}"] = ({{ {", ".join(shared)} }}) => {{\n{body}'
            f"return {exports.strip().removesuffix(';')};\n}};\n"
        )
    return scripts


def brought_scripts():
    """Yield the names and texts of the scripts that figures bring when the reader asks, but for a released model."""
    yield from (*wall_scripts(), *model_scripts())


def shared_script(*more):
    """Return what figures share, what brings those of a page to life, and more of a page's own scripts, as one script.

    It comes after the scripts of the figures.
    """
    source = read_source("common.js")
    shared = f"const shared = {{ {', '.join(_names(source))} }};"
    return "\n".join(["(() => {", source, shared, read_source("mount.js"), *more, "})();\n"])
