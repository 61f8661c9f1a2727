"""Results in rows and columns: a table where a page can set one, lines of text where it cannot."""

import re
from html import escape

ONE_PIECE = re.compile(r"\[[^][]*\]|\d (?:±|to|of) [-−]?\d")


class Table:
    """A table of texts, which a notebook shows as HTML and a terminal as aligned columns.

    Parameters
    ----------
    columns : sequence of str
        Their names; that of the first, which names the rows, may be empty.
    rows : iterable of sequences of str
        Each as long as `columns`.
    """

    def __init__(self, columns, rows):
        self.columns, self.rows = list(columns), [list(row) for row in rows]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} entries, but there are {len(self.columns)} columns: {row}")

    def __repr__(self):
        lines = [self.columns, *self.rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        )

    def _repr_html_(self):
        heads = "".join(f'<th scope="col">{escape(name)}</th>' if name else "<td></td>" for name in self.columns)
        texts = [
            (first, "".join(f"<td>{escape(kept_together(with_minus(text)))}</td>" for text in others))
            for first, *others in self.rows
        ]
        rows = "".join(f'<tr><th scope="row">{escape(first)}</th>{others}</tr>' for first, others in texts)
        return f'<table class="attn-numbers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def with_minus(text):
    """Return a text whose numbers have a minus sign, and none on zero."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", re.sub(r"(?<![\w.])-(?=0\.?0*(?![\d.]))", "", text))


def kept_together(text):
    """Return a text in which an interval, a number and its error, two bounds or "9 of 10" stay in one line each.

    >>> kept_together("0.42 ± 0.01 [0.40, 0.44], 3 to 5").split(" ")
    ['0.42\\xa0±\\xa00.01', '[0.40,\\xa00.44],', '3\\xa0to\\xa05']
    """
    return ONE_PIECE.sub(lambda piece: piece[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def by_answer(recording, question):
    """Return a table of the answers that functions of libraries gave to a question, those first that are given most."""
    groups = {}
    for run in recording["runs"]:
        groups.setdefault(run["answers"][question].split(":")[0], []).append(run["name"])
    asked = sorted(groups.items(), key=lambda row: -len(row[1]))
    rows = []
    for told, names in asked:
        packages = list(dict.fromkeys(name.split()[0] for name in names))
        if told != "not offered":
            rows.append([told, str(len(names)), ", ".join(packages[:5]) + (" …" if packages[5:] else "")])
    return Table(["answer", "rows", "of these packages"], rows)
