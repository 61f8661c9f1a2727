"""The numbers in the prose of a chapter, and whether its cells have printed them: the build and the tests ask."""

import itertools
import json
import re

import yaml
from sphinx.util import logging

from . import ROOT, chapters, number_of
from .execute import FOLDED, executed

GUESSES = re.compile(r'<div data-(?:explorable="guess"|answer=)')
CLOCK = "clock"  # tag of a cell whose output depends on the clock
NUMERAL = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SIZE = re.compile(r"<Figure size \d+x\d+ with \d+ Axes>")  # what a picture says of itself
PER_CENT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?= %| (?:to|and) \d+(?:\.\d+)? %)")
SENTENCE = re.compile(r"(?<=[.?!:])\s+|\n")
WITHOUT_CHECK = re.compile(
    r"```.*?```"  # code blocks: a test of their own runs them
    r"|\]\([^)]*\)"  # where links lead
    r"|^#+ .*?$|^:label:.*?$"  # headings and labels
    r"|\b[Cc]hapters? \d+(?:(?:,| and| to) \d+)*"  # a chapter's number
    r"|\{cite:\w\}`[^`]*`|<[^>]*>"
    r"|`[0-9a-f]{40}`|`[\w-]+==[\d.]+`"  # the revision of a file, the version of a package
    r"|(?:colleagues|[A-Z]\w+)(?:, | \()(?:19|20)\d\d(?=[\]):;.](?!\d))",  # the year of a reference
    re.DOTALL | re.MULTILINE,
)


def numerals(text):
    """Return the numbers that stand in a text, with thousands separators taken out."""
    return {float(numeral.replace(",", "")) for numeral in NUMERAL.findall(text.replace("_", ","))}


def is_guess(cell):
    """Say whether a cell asks for a guess, or answers one."""
    return any(GUESSES.match(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", []))


def printed(cell):
    """Return the text that a cell shows when it is run, the same on every machine; a guess prints none."""
    if CLOCK in cell.metadata.get("tags", []) or is_guess(cell):
        return ""
    texts = [
        output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])
    ]
    return SIZE.sub("", "\n".join(texts))


def shown(cells):
    """Return the numbers that cells show: in their output, and in their code without comments, unless it is folded.

    The numbers of a folded check count: they are those that its exercise asks for.
    """
    texts = []
    for cell in [cell for cell in cells if cell.cell_type == "code"]:
        folded = FOLDED & set(cell.metadata.get("tags", []))
        counts = not folded or cell.source.startswith("# Run this cell after yours")
        texts += [printed(cell), re.sub("#.*", "", cell.source) if counts else ""]
    return numerals("\n".join(texts))


def questions(cell):
    """Return what a cell of self-check questions asks, nothing for another cell."""
    found = [
        re.search(r'"self_check"><script[^>]*>(.*?)</script>', output.get("data", {}).get("text/html", ""))
        for output in cell.get("outputs", [])
    ]
    return [question for match in found if match for question in json.loads(match[1])["questions"]]


def unprinted(notebook):
    """Return by number the sentence of an executed chapter that tells it, where its code cells do not show it.

    A question, its right answer and all explanations are prose; a wrong answer may be any.
    """
    asked = [question for cell in notebook.cells for question in questions(cell)]
    said = [[q["ask"], q["answers"][q["right"]]["text"], *(answer["why"] for answer in q["answers"])] for q in asked]
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"] + list(itertools.chain(*said))
    return missing(texts, shown(cell for cell in notebook.cells if not questions(cell)))


def missing(texts, numbers):
    """Return by number the sentence of the texts that tells it, where it is not among the numbers.

    Small counts need no cell that prints them, and 0.96 may be told as 96 %.
    """
    return {
        number: sentence
        for text in texts
        for sentence in SENTENCE.split(WITHOUT_CHECK.sub(" ", text))
        for number in sorted(numerals(sentence) - numbers - shares(sentence, numbers))
        if number != int(number) or number > 12
    }


def shares(sentence, numbers):
    """Return what a sentence tells in per cent, where it is among the numbers as a share."""
    return {float(told) for told in PER_CENT.findall(sentence) if round(float(told) / 100, 6) in numbers}


def warn_of_numbers(app, env):
    """Warn of each number that the book tells and that the chapters, as they were executed here, do not print."""
    warn = logging.getLogger(__name__).warning
    cache, pages = app.config.nb_execution_cache_path, env.found_docs
    found = {path: executed(path, cache) for path in chapters() if f"chapters/{path.stem}" in pages}
    for path, run in found.items():
        for number, sentence in unprinted(run).items():
            warn("no cell prints %g, told in %r", number, sentence, location=f"chapters/{path.stem}")
    for row in yaml.safe_load((ROOT / "chapters" / "ledger.yml").read_text(encoding="utf-8")):
        cells = [cell for path, run in found.items() if number_of(path) in row["shown"] for cell in run.cells]
        for number, sentence in missing([row.get("found", ""), row.get("real", "")], shown(cells)).items():
            warn("%s: no cell prints %g, told in %r", row["id"], number, sentence, location="chapters/ledger")


def setup(app):
    app.connect("env-check-consistency", warn_of_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
