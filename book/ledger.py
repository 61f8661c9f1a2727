"""The ledger of claims: its page, written from chapters/ledger.yml, and the seals at the cells that show a claim.

The page is Markdown that also reads in JupyterLab and on GitHub. `make record` writes it anew from its second heading
on; what stands above is written by hand. In the book it also has the colours of the verdicts.
"""

import functools
import re
from collections import Counter
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from . import ROOT, chapters, number_of
from .execute import read

FOLDER = ROOT / "chapters"
PAGE = FOLDER / "ledger.md"
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
VERDICTS = {  # the sign of each, none of which is drawn as an emoji, and what it means
    "holds": ("✓", "The claim is true."),
    "made exact": ("◎", "The claim is true and its numbers were rounded; here are all digits."),
    "corrected": ("✎", "Something in the claim is not true; the entry says what."),
    "tested": (
        "▷",
        "The claim is about what a model does, so a model was made to do it. "
        "The entry gives the result, whatever it was.",
    ),
    "by construction": (
        "⊞",
        "Something was built by hand that does what the claim says. "
        "So it can be done; whether trained models do it is another question.",
    ),
    "by citation": ("§", "No cell can show the claim; the entry names the works that report it."),
}
VERDICT = re.compile(r"\S (.+?)(?: \(\d+\)|\.)")  # as it stands in the list of all, and in an entry
GLANCE = "All claims at a glance"
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


def sign(row):
    return VERDICTS[row["verdict"]][0]


def glance(rows):
    """Return the list of verdicts with their counts, and all claims by part, each a sign that leads to its entry."""
    counts = Counter(row["verdict"] for row in rows)
    verdicts = [
        f"- **{mark} {verdict} ({counts[verdict]})** {meaning}" for verdict, (mark, meaning) in VERDICTS.items()
    ]
    parts = [
        " ".join([f"- **{title}**", *(f"[{row['id']} {sign(row)}](#{row['id'].lower()})" for row in part)])
        for title, part in by_part(rows)
    ]
    return "\n".join([f"## {GLANCE}\n", *verdicts, f"\n{len(rows)} claims, by part:\n", *parts, ""])


def by_part(rows):
    return [(title, [row for row in rows if row["id"][0] == letter]) for letter, title in PARTS.items()]


def ledger_entry(row):
    shown = []
    for number in row["shown"]:
        chapter = next(path for path in chapters() if number_of(path) == number)
        heading = section_of(chapter, row["id"])
        shown.append(f"[chapter {number}: {heading}]({chapter.name}#{slug(heading)})")
    real = f"**In a real model.** {row['real']}\n\n" if "real" in row else ""
    return (
        f"### {row['id']}\n\n"
        f"**{row['said']}** ({', '.join(row['by'])})\n\n"
        f"**{sign(row)} {row['verdict'].capitalize()}.** {row['found']}\n\n"
        f"{real}"
        f"Shown in {'; '.join(shown)}.\n"
    )


def ledger():
    rows = yaml.safe_load((FOLDER / "ledger.yml").read_text(encoding="utf-8"))
    parts = [[f"## {title}\n", *map(ledger_entry, part)] for title, part in by_part(rows)]
    return "\n".join([glance(rows), *(entry for part in parts for entry in part)])


def renewed(path, entries):
    """Return the text of a page whose entries are written anew: what stands above them is kept."""
    above = path.read_text(encoding="utf-8").partition("\n## ")[0]
    return f"{above}\n{entries}"


# --- in the book -----------------------------------------------------------------------------------


@functools.cache
def read_ledger(srcdir):
    path = Path(srcdir, "chapters/ledger.yml")
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []


def class_of(verdict):
    return f"attn-{verdict.replace(' ', '-')}"


def plain(markdown):
    return re.sub("[*`$]", "", markdown)


class LedgerVerdicts(SphinxTransform):
    """Give the claims, marks and verdicts on the ledger's page the classes by which they are coloured."""

    default_priority = 500

    def apply(self, **kwargs):
        if self.env.docname != "chapters/ledger":
            return
        rows = {row["id"].lower(): row for row in read_ledger(self.env.srcdir)}
        for section in self.document.findall(nodes.section):
            if row := rows.get(section["ids"][0]):
                section["classes"] += ["attn-claim", class_of(row["verdict"])]
            elif section["ids"][0] == slug(GLANCE):
                section["classes"].append("attn-glance")
        for link in self.document.findall(nodes.reference):
            if row := rows.get(link.get("refuri", "").removeprefix("#")):
                link["classes"] += ["attn-claim-mark", class_of(row["verdict"])]
                link["reftitle"] = row["verdict"] if "\\" in row["said"] else f"{row['verdict']}: {plain(row['said'])}"
        for words in self.document.findall(nodes.strong):
            match = VERDICT.fullmatch(words.astext())
            if match and match[1].lower() in VERDICTS:
                words["classes"] += ["attn-verdict", class_of(match[1].lower())]


class LedgerLinks(SphinxTransform):
    """Lead from what shows claims, a cell or a mark, to the ledger; warn of what the ledger does not list."""

    default_priority = 500

    def apply(self, **kwargs):
        if not (chapter := number_of(self.env.docname)):
            return
        listed = {row["id"]: row for row in read_ledger(self.env.srcdir) if chapter in row["shown"]}
        for place in list(self.document.findall(nodes.Element)):
            claims = self.shown_at(place)
            if unlisted := set(claims) - set(listed):
                logger.warning(
                    "chapter %s shows claims that the ledger does not list there: %s",
                    chapter,
                    ", ".join(sorted(unlisted)),
                    location=place,
                )
            if rows := [listed[claim] for claim in claims if claim in listed]:
                place.parent.insert(place.parent.index(place) + 1, self.seals(rows))

    @staticmethod
    def shown_at(place):
        """Return the claims that a node shows: by the tags of a code cell, or by a mark below a sentence."""
        if isinstance(place, nodes.container) and place.get("nb_element") == "cell_code":
            return [found[1] for tag in place["cell_metadata"].get("tags", []) if (found := TAG.match(tag))]
        return MARK.findall(place.astext()) if isinstance(place, nodes.raw | nodes.comment) else []

    def seals(self, rows):
        """Return a line that leads to each claim, with what the ledger says of it."""
        line = nodes.paragraph(classes=["attn-claims"])
        line += nodes.inline("", "In the ledger:", classes=["visually-hidden"])
        for row in rows:
            words = nodes.inline("", f"{row['id']} {sign(row)} {row['verdict']}")
            aim = {"reftype": "myst", "reftarget": "chapters/ledger", "reftargetid": row["id"].lower()}
            link = addnodes.pending_xref("", words, **aim, refdomain="doc", refdoc=self.env.docname, refexplicit=True)
            line += [nodes.Text(" "), nodes.inline("", "", link, classes=["attn-seal", class_of(row["verdict"])])]
        return line


def setup(app):
    app.add_transform(LedgerVerdicts)
    app.add_transform(LedgerLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE, ledger()), encoding="utf-8")
