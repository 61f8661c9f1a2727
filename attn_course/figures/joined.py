"""From JavaScript modules that import one another to one script, which runs where modules cannot be loaded."""

import re
from pathlib import Path
from textwrap import indent

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)


def read_source(name):
    """Return the text of a file of this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def named(listed):
    """Return the names in the braces of an import or an export."""
    return re.findall(r"\w+", listed)


def modules(*paths):
    """Return the texts of modules and of all that they import, by path, each after what it imports."""
    found = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        found |= modules(*((path.parent / other).resolve() for _, _, other in IMPORT.findall(text))) | {path: text}
    return found


def exported(text):
    return [name for names in EXPORT.findall(text) for name in named(names)]


def joined(*paths, given=()):
    """Return modules and all that they import as one text without imports, but for those modules that are `given`.

    All names are in one scope then, so that two modules must not use one for different things.
    """
    texts = modules(*(Path(path).resolve() for path in paths))

    def without_imports(path):
        def shared(match):
            other = (path.parent / match[3]).resolve()
            return f"const {match[2]} = {{ {', '.join(exported(texts[other]))} }};\n" if match[2] else ""

        return IMPORT.sub(shared, EXPORT.sub("", texts[path]))

    return "".join(without_imports(path) for path in texts if path not in given)


def as_function(name, file):
    """Return a module of this folder and all that it imports as one function, whose text can make a worker.

    It returns whatever any of these modules exports.
    """
    exports = [one for text in modules(FOLDER / file).values() for one in exported(text)]
    body = f"{joined(FOLDER / file)}return {{ {', '.join(exports)} }};\n"
    return f"function {name}() {{\n{indent(body, '  ')}}}\n"
