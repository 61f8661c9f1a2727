"""The spine of the course and its side paths: how long they take, and how the book folds the latter.

A section that begins with `SIDE` is a side path. `python -m book.spine` prints the table of times of how_to_read.
"""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

from . import ROOT, chapters, number_of
from .execute import read

SIDE = "A side path: what follows does not need it."
WORDS_PER_MINUTE = 150
MINUTES = {"guess": 1, "code": 1, "table": 1, "picture": 0.5, "moving": 2, "question": 0.5}
UNCOUNTED = ("Exercises", "References")  # exercises take as long as one likes
# Comments, what is folded, and what a summary says of side paths.
UNREAD = re.compile(
    r"<!--.*?-->|<details>.*?</details>|```.*?```|^\*From the side paths:\*$.*?(?=^\*\*)", re.DOTALL | re.MULTILINE
)


def sections(notebook):
    """Return the cells of a chapter by section: what stands above the first is a section as well, named ""."""
    found = {"": []}
    for cell in notebook.cells:
        heading = re.match(r"## (.+)", cell.source) if cell.cell_type == "markdown" else None
        if heading:
            found[heading[1]] = []
        found[list(found)[-1]].append(cell)
    return found


def is_side(cells):
    return f"*{SIDE}*" in cells[0].source.split("\n\n")[:2]


def kind_of(cell):
    """Return what a cell is to a reader, or None for prose and for code that is folded and shows nothing."""
    if cell.cell_type == "markdown":
        return None
    shown = str(cell.get("outputs", ""))
    if 'data-explorable="guess"' in shown:
        return "guess"
    if "data-answer" in shown:
        return None
    if "self_check" in shown:
        return "questions"
    if "data-explorable" in shown:
        return "moving"
    if "plt.show()" in cell.source:
        return "picture"
    if "hide-cell" in cell.metadata.get("tags", []):
        return None
    if "hide-input" in cell.metadata.get("tags", []):
        return "table" if cell.outputs else None
    return "code"


def cost(cell):
    """Return the minutes that a cell takes beside its words."""
    kind = kind_of(cell)
    if kind == "questions":
        asked = re.findall(r'"ask": "((?:[^"\\]|\\.)*)"', cell.outputs[0].data["text/html"])
        return MINUTES["question"] * sum("(From the side path" not in question for question in asked)
    return MINUTES.get(kind, 0)


def minutes(cells):
    """Return how long a reader takes for cells who makes every guess and moves every figure, but takes no side path."""
    cells = [cell for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    words = len(UNREAD.sub("", prose).split())
    return words / WORDS_PER_MINUTE + sum(map(cost, cells))


def times(notebook):
    """Return the minutes of a chapter's spine, and those of its side paths."""
    spine = side = 0
    for heading, cells in sections(notebook).items():
        if heading not in UNCOUNTED:
            spine, side = (spine, side + minutes(cells)) if is_side(cells) else (spine + minutes(cells), side)
    return spine, side


def rounded(time):
    return 5 * round(time / 5)


def table():
    """Return the times of all chapters as a table of Markdown."""
    found = {path: times(read(path)) for path in chapters()}
    lines = ["| chapter | spine | side paths |", "|---|---|---|"]
    for path, both in found.items():
        spine, side = map(rounded, both)
        title = read(path).cells[0].source.partition("\n")[0].removeprefix("# ")
        lines.append(f"| [{title}]({path.name}) | {spine} min | {f'{side} min' if side else ''} |")
    spine, side = (round(sum(both) / 30) / 2 for both in zip(*found.values()))  # to half an hour
    return "\n".join([*lines, f"| **all** | **{spine:g} hours** | **{side:g} hours** |"])


class SidePaths(SphinxTransform):
    """Say at the head of a chapter how long it takes, and fold its side paths."""

    default_priority = 410

    def apply(self, **kwargs):
        if not number_of(self.env.docname):
            return
        notebook = read(ROOT / f"{self.env.docname}.ipynb")
        spine, side = map(rounded, times(notebook))
        for paragraph in self.document.findall(nodes.paragraph):
            if paragraph.astext().startswith("You need:"):
                beside = f", and {side} more for side paths, which are folded" if side else ""
                told = [nodes.strong("", "Time:"), nodes.Text(f" about {spine} minutes{beside}.")]
                time = nodes.paragraph("", "", *told)
                paragraph.parent.insert(paragraph.parent.index(paragraph) + 1, time)
                for line in (paragraph, time):
                    line["classes"].append("attn-needs")
                break
        by_heading = sections(notebook)
        for section in list(self.document.findall(nodes.section)):
            marks = [child for child in section.children[1:2] if child.astext() == SIDE]
            if not marks:
                continue
            time = max(1, round(minutes(by_heading[section_title(section, by_heading)])))
            minutes_of = f"{time} minute{'s' if time > 1 else ''}"
            summary = f"<summary>A side path of {minutes_of}: what follows does not need it.</summary>"
            section.replace(marks[0], nodes.raw("", f'<details class="attn-side">{summary}', format="html"))
            section.append(nodes.raw("", "</details>", format="html"))


def section_title(section, headings):
    """Return the heading of the notebook that a section of the page was made from."""
    plain = re.compile(r"[^a-z0-9]")
    titles = {plain.sub("", heading.lower()): heading for heading in headings}
    return titles[plain.sub("", section.next_node(nodes.title).astext().lower())]


def setup(app):
    app.add_transform(SidePaths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(table())
