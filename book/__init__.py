"""What makes the pages: chapters are executed, read by Sphinx with the extensions here, and checked."""

import re
import sys
from pathlib import Path

# Beside JupyterLab, nbformat comes to read a grammar of addresses that nobody asks for: nearly a second each time.
sys.modules["rfc3987_syntax"] = None

ROOT = Path(__file__).resolve().parent.parent
NUMBERED = re.compile(r"(\d\d)_(\w+)")


def number_of(place):
    """Return the number of a chapter, which its file name alone tells; None for any other page.

    `place` is its path, or the name that Sphinx has for it.

    >>> number_of("chapters/04_scaling"), number_of("chapters/glossary.md")
    (4, None)
    """
    found = NUMBERED.fullmatch(Path(place).stem)
    return int(found[1]) if found else None


def name_of(place):
    """Return the name of a chapter, which stays as it is where the number changes; None for any other page.

    >>> name_of("chapters/04_scaling"), name_of("chapters/glossary.md")
    ('scaling', None)
    """
    found = NUMBERED.fullmatch(Path(place).stem)
    return found[2] if found else None


def chapters():
    """Return the paths of all chapters, in their order."""
    return sorted(filter(number_of, ROOT.glob("chapters/*.ipynb")))


def chapter(name):
    """Return the path of the chapter of a name, such as "scaling"."""
    return next(path for path in chapters() if name_of(path) == name)
