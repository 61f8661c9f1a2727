"""All explorables as one script, for the pages of the book."""

from attn.figures.base import FOLDER, read_source

SHARED = ("common.js", "machine.js", "bytepairs.js", "loom.js")  # what the figures' own files build on


def book_script(*more):
    """Return all explorables, and more of a page's own scripts, as one classic script for pages that have no kernel.

    A page opened from a file cannot load ES modules, so each file with a default export becomes a function whose
    exports are collected in `window.attnExplorables`, and `mount.js` brings the page's to life.
    """
    modules = []
    for path in sorted(FOLDER.glob("*.js")):
        body, _, exports = read_source(path.name).partition("export default ")
        if exports:
            modules.append(f'"{path.stem}": (() => {{\n{body}return {exports}}})(),')
    parts = [*map(read_source, SHARED), "window.attnExplorables = {", *modules, "};", read_source("mount.js"), *more]
    return "\n".join(["(() => {", *parts, "})();\n"])
