"""All explorables as one script, for the pages of the book."""

import json

from attn.figures.base import Explorable, read_source


def book_script(*more):
    """Return all explorables, and more of a page's own scripts, as one classic script for pages that have no kernel.

    A page opened from a file cannot load ES modules, so each module becomes a function whose
    exports are collected in `window.attnExplorables`, and `mount.js` brings the page's to life.
    """
    figures = {figure._name: figure for figure in Explorable.__subclasses__()}
    shared = dict.fromkeys(part for figure in figures.values() for part in figure._parts)
    modules = []
    for name in sorted(figures):
        body, exports = read_source(f"{name}.js").split("export default ")
        modules.append(f"{json.dumps(name)}: (() => {{\n{body}return {exports}}})(),")
    parts = [*map(read_source, shared), "window.attnExplorables = {", *modules, "};", read_source("mount.js"), *more]
    return "\n".join(["(() => {", *parts, "})();\n"])
