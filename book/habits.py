"""Turns of phrase that become habits, counted by page: `python -m book.habits` prints how often each occurs.

The rules are those of CONTRIBUTING, "The language".
"""

import re
from collections import Counter

from . import ROOT
from .execute import read
from .spine import SIDE

APART = re.compile(  # what is no sentence of the text
    r"```.*?```|^---\n.*?\n---|\$\$.*?\$\$|<[^>]*>|\]\([^)]*\)|^\|.*?$|^#+ .*?$|^> \*\*You may have read.*?$"
    r"|\*\*(?:You need|Next|Before you read on|What to ask of a new design):\*\*|^## References.*\Z"
    rf"|^\*{re.escape(SIDE)}\*",
    re.DOTALL | re.MULTILINE,
)
SENTENCE = re.compile(r"(?<=[.?!])[*)\"]*\s+|\n\s*\n|\n(?=[-\d])")
HABITS = {
    "colon": r"[\w)\]*$\"]: \S",
    "So": r"^\W*So\b",
    "what": r"(?<!^)\b(?:of|is|and|with|to|in|from|says|on|for|than|all) what\b",
    "stands, holds": r"\b(?:stands?|holds?)\b",
    "0.96 of": r"\b0\.\d+ of\b|\bin 0\.\d+|\bshares? of 0\.",
    ", as": r", as (?!\w+ as\b|in\b|for\b|if\b|it\b.{0,9}$|a\b|an\b|one\b|you\b|above|with|before|\[)",
    "nearly …": r"\b(?:nearly|hardly|as well|is left)\b",
    "bracket": r"\((?!\[)(?:[^\s()]+ ){5,}[^()]*\)",  # other than a citation
}


def text_of(path):
    """Return the text of a page, without code, formulas, tables, headings, quotations and references."""
    if path.suffix == ".md":
        return APART.sub(" ", path.read_text(encoding="utf-8"))
    cells = [cell for cell in read(path).cells if cell.cell_type == "markdown"]
    read_by_all = [cell.source for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]
    return "\n\n".join(APART.sub(" ", source) for source in read_by_all)


def sentences(path):
    """Return the sentences of a page."""
    return [" ".join(one.split()) for one in SENTENCE.split(text_of(path)) if len(one.split()) > 2]


def count(path):
    """Return how many sentences a page has, and in how many each habit occurs."""
    found = sentences(path)
    counts = {name: sum(bool(re.search(habit, one)) for one in found) for name, habit in HABITS.items()}
    return Counter({"sentences": len(found), **counts})


if __name__ == "__main__":
    pages = [
        *sorted((ROOT / "chapters").glob("*.ipynb")),
        *(ROOT / "chapters" / f"{name}.md" for name in ("index", "how_to_read", "try_it")),
    ]
    print(f"{'':<26}", *["sentences", *HABITS], sep="  ")
    for page in pages:
        print(f"{page.stem[:26]:<26}", *[f"{number:>{len(name)}}" for name, number in count(page).items()], sep="  ")
    total = sum(map(count, pages), Counter())
    print(f"{'all':<26}", *[f"{total[name]:>{len(name)}}" for name in ["sentences", *HABITS]], sep="  ")
