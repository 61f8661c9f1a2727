"""The page of references, written from references.bib as the ledger's page is written."""

import re

from pybtex.database import parse_file
from pybtex.plugin import find_plugin

from . import ROOT
from .ledger import renewed

PAGE = ROOT / "chapters" / "references.md"
ESCAPED = re.compile(r"\\([.()+-])")  # Markdown means nothing by these within a line


def name_of(entry):
    """Return how the chapters call a work: "Rabe and Staats, 2021", "Dao and colleagues, 2022"."""
    authors = [
        " ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in entry.persons["author"]
    ]
    if len(authors) > 2:
        authors = [f"{authors[0]} and colleagues"]
    return f"{' and '.join(authors)}, {entry.fields['year']}"


def references():
    works = parse_file(ROOT / "references.bib")
    style = find_plugin("pybtex.style.formatting", "unsrt")()
    backend = find_plugin("pybtex.backends", "markdown")()
    entries = []
    for entry in style.format_bibliography(works):
        text = ESCAPED.sub(r"\1", entry.text.render(backend))
        entries.append(f"## {name_of(works.entries[entry.key])}\n\n{text}\n")
    return "\n".join(sorted(entries))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE, references()), encoding="utf-8")
