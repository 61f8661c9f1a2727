"""The numbers in the prose of a chapter, and whether its cells have printed them: `make book` and the tests ask."""

import itertools
import json
import re

from .guesses import ASKS, CHOICE, COMMENT, guess_in

CLOCK = "clock"  # tag of a cell whose output depends on the clock
NUMERAL = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SIZE = re.compile(r"<Figure size \d+x\d+ with \d+ Axes>")  # what a picture says of itself
SENTENCE = re.compile(r"(?<=[.?!:])\s+|\n")
WITHOUT_CHECK = re.compile(
    r"```.*?```"  # code blocks: a test of their own runs them
    r"|\]\([^)]*\)"  # where links lead
    r"|^#+ .*?$|^:label:.*?$"  # headings and labels
    r"|\b[Cc]hapters? \d+(?:(?:,| and| to) \d+)*"  # a chapter's number
    r"|\{cite:\w\}`[^`]*`|<[^>]*>"
    r"|`[0-9a-f]{40}`"  # the revision of a file
    r"|(?:colleagues|[A-Z]\w+)(?:, | \()(?:19|20)\d\d(?=[\]):;.](?!\d))",  # the year of a reference
    re.DOTALL | re.MULTILINE,
)


def numerals(text):
    """Return the numbers that stand in a text, with thousands separators taken out."""
    return {float(numeral.replace(",", "")) for numeral in NUMERAL.findall(text.replace("_", ","))}


def printed(cell):
    """Return the text that a cell shows when it is run, the same on every machine."""
    if CLOCK in cell.metadata.get("tags", []):
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
        folded = {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))
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


def prose(cell):
    """Return the text of a cell without the comment and the choices of a guess."""
    text, asks, asked = COMMENT.sub("", cell.source).rpartition(ASKS)
    return text + asks + (CHOICE.sub("", asked) if guess_in(cell) else asked)


def unprinted(notebook, executed):
    """Return by number the sentence of a chapter that tells it, where its code cells, once executed, do not show it.

    A question, its right answer and all explanations are prose; a wrong answer, and a choice of a guess, may be any.
    """
    asked = [question for cell in executed.cells for question in questions(cell)]
    said = [[q["ask"], q["answers"][q["right"]]["text"], *(answer["why"] for answer in q["answers"])] for q in asked]
    texts = [prose(cell) for cell in notebook.cells if cell.cell_type == "markdown"] + list(itertools.chain(*said))
    return missing(texts, shown(cell for cell in executed.cells if not questions(cell)))


def missing(texts, numbers):
    """Return by number the sentence of the texts that tells it, where it is not among the numbers.

    Small counts need no cell that prints them.
    """
    return {
        number: sentence
        for text in texts
        for sentence in SENTENCE.split(WITHOUT_CHECK.sub(" ", text))
        for number in sorted(numerals(sentence) - numbers)
        if number != int(number) or number > 12
    }
