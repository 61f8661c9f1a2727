"""The ledger of claims: its page, written from chapters/ledger.yml, and the marks at the cells that show a claim.

The page is Markdown that also reads in JupyterLab and on GitHub. `make record` writes it anew below its first heading
of a part; what stands above is written by hand.
"""

import functools
import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from . import ROOT
from .execute import read

FOLDER = ROOT / "chapters"
PAGE = FOLDER / "ledger.md"
CHAPTER = re.compile(r"chapters/(\d\d)_")
TAG = re.compile(r"claim-([A-Z]\d+)$")
MARK = re.compile(r"<!-- claim-([A-Z]\d+) -->")  # below a sentence that cites, where no cell can show the claim
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
logger = logging.getLogger(__name__)


def slug(heading):
    """Return the address of a heading on its page, as MyST and GitHub make it.

    >>> slug("What is won, and what is not"), slug("How large is $d_k$?")
    ('what-is-won-and-what-is-not', 'how-large-is-d_k')
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def section_of(chapter, claim):
    """Return the heading above what shows a claim in a chapter, a cell or a mark; ValueError if there is none."""
    heading = None
    for cell in read(chapter).cells:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^## (.*)$", cell.source, re.MULTILINE)][-1]
        if f"claim-{claim}" in cell.metadata.get("tags", []) or claim in MARK.findall(cell.source):
            return heading
    raise ValueError(
        f"The ledger says that {chapter.name} shows {claim}, but no cell has the tag claim-{claim} or such a mark."
    )


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


def renewed(path, entries):
    """Return the text of a page whose entries are written anew: what stands above them is kept."""
    above = path.read_text(encoding="utf-8").partition("\n## ")[0]
    return f"{above}\n{entries}"


# --- the marks in the chapters -------------------------------------------------------------------


@functools.cache
def read_ledger(srcdir):
    path = Path(srcdir, "chapters/ledger.yml")
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []


class LedgerLinks(SphinxTransform):
    """Lead from what shows claims, a cell or a mark, to the ledger; warn of what the ledger does not list."""

    default_priority = 500

    def apply(self, **kwargs):
        match = CHAPTER.match(self.env.docname)
        if not match:
            return
        chapter = int(match[1])
        listed = {row["id"] for row in read_ledger(self.env.srcdir) if chapter in row["shown"]}
        for place in list(self.document.findall(nodes.Element)):
            claims = self.shown_at(place)
            if unlisted := set(claims) - listed:
                logger.warning(
                    "chapter %s shows claims that the ledger does not list there: %s",
                    chapter,
                    ", ".join(sorted(unlisted)),
                    location=place,
                )
            if claims:
                place.parent.insert(place.parent.index(place) + 1, self.lead_to(claims))

    @staticmethod
    def shown_at(place):
        """Return the claims that a node shows: by the tags of a code cell, or by a mark below a sentence."""
        if isinstance(place, nodes.container) and place.get("nb_element") == "cell_code":
            return [found[1] for tag in place["cell_metadata"].get("tags", []) if (found := TAG.match(tag))]
        return MARK.findall(place.astext()) if isinstance(place, nodes.raw | nodes.comment) else []

    def lead_to(self, claims):
        line = nodes.paragraph("", "In the ledger:", classes=["attn-claims"])
        for claim in claims:
            aim = {"refdomain": "doc", "reftype": "myst", "reftarget": "chapters/ledger", "reftargetid": claim.lower()}
            link = addnodes.pending_xref("", nodes.inline("", claim), **aim, refdoc=self.env.docname, refexplicit=True)
            line += [nodes.Text(" "), link]
        return line


def setup(app):
    app.add_transform(LedgerLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE, ledger()), encoding="utf-8")
