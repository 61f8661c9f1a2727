"""The two pages of the appendix that are written from data, in Markdown that also reads in JupyterLab and on GitHub.

`make record` writes them anew below their first heading of a part: the ledger from chapters/ledger.yml, the references
from references.bib. What stands above is written by hand.
"""

import re

import yaml
from pybtex.database import parse_file
from pybtex.plugin import find_plugin

from . import build
from .execute import read

ESCAPED = re.compile(r"\\([.()+-])")  # Markdown means nothing by these within a line
FOLDER = build.ROOT / "chapters"
PARTS = {
    "M": "Why words need context",
    "Q": "Queries, keys, values",
    "S": "Scores, softmax, scaling",
    "K": "Masking",
    "V": "Values, update, learning",
    "E": "Key space and query space",
    "H": "Many heads",
    "P": "GPT-3's parameters",
    "T": "The whole",
}


def slug(heading):
    """Return the address of a heading on its page, as MyST and GitHub make it.

    >>> slug("What is won, and what is not"), slug("How large is $d_k$?")
    ('what-is-won-and-what-is-not', 'how-large-is-d_k')
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def section_of(chapter, claim):
    """Return the heading above the cell of a chapter that shows a claim; ValueError if there is none."""
    heading = None
    for cell in read(chapter).cells:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^## (.*)$", cell.source, re.MULTILINE)][-1]
        elif f"claim-{claim}" in cell.metadata.get("tags", []):
            return heading
    raise ValueError(f"The ledger says that {chapter.name} shows {claim}, but no cell of it has the tag claim-{claim}.")


def ledger_entry(row):
    shown = []
    for number in row["shown"]:
        chapter = next(FOLDER.glob(f"{number:02d}_*.ipynb"))
        heading = section_of(chapter, row["id"])
        shown.append(f"[chapter {number}: {heading}]({chapter.name}#{slug(heading)})")
    real = f"**In a real model.** {row['real']}\n\n" if "real" in row else ""
    return (
        f"### {row['id']}\n\n"
        f"Said ({', '.join(row['by'])}): {row['said']}\n\n"
        f"**{row['verdict'].capitalize()}.** {row['found']}\n\n"
        f"{real}"
        f"Shown in {'; '.join(shown)}.\n"
    )


def ledger():
    rows = yaml.safe_load((FOLDER / "ledger.yml").read_text(encoding="utf-8"))
    parts = [
        [f"## {title}\n", *(ledger_entry(row) for row in rows if row["id"][0] == letter)]
        for letter, title in PARTS.items()
    ]
    return "\n".join(entry for part in parts for entry in part)


def name_of(entry):
    """Return how the chapters call a work: "Rabe and Staats, 2021", "Dao and colleagues, 2022"."""
    authors = [
        " ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in entry.persons["author"]
    ]
    if len(authors) > 2:
        authors = [f"{authors[0]} and colleagues"]
    return f"{' and '.join(authors)}, {entry.fields['year']}"


def references():
    works = parse_file(build.ROOT / "references.bib")
    style = find_plugin("pybtex.style.formatting", "unsrt")()
    backend = find_plugin("pybtex.backends", "markdown")()
    entries = []
    for entry in style.format_bibliography(works):
        text = ESCAPED.sub(r"\1", entry.text.render(backend))
        entries.append(f"## {name_of(works.entries[entry.key])}\n\n{text}\n")
    return "\n".join(sorted(entries))


def renewed():
    """Return both pages, each with its path, as they have to stand there."""
    for name, entries in [("ledger.md", ledger()), ("references.md", references())]:
        path = FOLDER / name
        above = path.read_text(encoding="utf-8").partition("\n## ")[0]
        yield path, f"{above}\n{entries}"


def main():
    for path, text in renewed():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
