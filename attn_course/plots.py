"""Figures of attention: arrays in, Matplotlib Axes out.

The colours are those of the explorables (`attn_course/figures/figures.css`): queries, keys and
values have one each, weights a fourth; what is above or below zero has two of its own.
"""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from .tables import with_minus

COLORS = {"query": "#0057b8", "key": "#b0005e", "value": "#806000", "weight": "#00796b"}
PLUS, MINUS = "#44546a", "#d55e00"
NEUTRAL = "#6a4c93", "#c2571a", "#5f6b76", "#a58bd0"  # for what has no role: violet, orange, slate, and a light violet


def _map(name, *stops):
    """Return a map whose colours differ in strength alone: any letters can be read on it, and a page may be dark."""
    return LinearSegmentedColormap.from_list(name, [(at, (*to_rgb(color), strength)) for at, color, strength in stops])


WEIGHTS = _map("weights", (0, COLORS["weight"], 0), (1, COLORS["weight"], 0.55))
SIGNED = _map("signed", (0, MINUS, 0.6), (0.5, MINUS, 0), (0.5, PLUS, 0), (1, PLUS, 0.6))
MANY = 400  # cells, each of which is a shape of its own in an SVG


def heatmap(matrix, rows, columns, *, ax, title="", signed=False, reach=None, digits=2):
    """Draw a matrix as coloured cells, with its numbers written in or without.

    Parameters
    ----------
    matrix : array_like, shape (n_rows, n_columns)
        Weights from 0 to 1, or with `signed` any numbers, coloured around zero.
    rows, columns : sequence of str
        Labels; `columns` stand on top.
    ax : matplotlib Axes
    title : str
    signed : bool
    reach : float
        The number that gets the full colour: 1 for weights, else the largest there is.
    digits : int or None
        Decimals of the numbers written into the cells; None for no numbers.

    Returns
    -------
    matplotlib Axes
    """
    matrix = np.asarray(matrix, dtype=float)
    _check_labels(matrix, rows, columns)
    reach = reach or (max(np.abs(matrix).max(), 1e-12) if signed else 1)
    colors = {"cmap": SIGNED if signed else WEIGHTS, "vmin": -reach if signed else 0, "vmax": reach}
    if matrix.size > MANY:
        ax.imshow(matrix, **colors)
    else:
        edges = [np.arange(n + 1) - 0.5 for n in reversed(matrix.shape)]
        ax.pcolormesh(*edges, matrix, edgecolors="white", linewidth=1, **colors)
        ax.set(aspect="equal", ylim=(matrix.shape[0] - 0.5, -0.5))
    if digits is not None:
        for (i, j), number in np.ndenumerate(matrix):
            ax.text(j, i, with_minus(f"{number:.{digits}f}"), ha="center", va="center", size=8)
    return _label(ax, rows, columns, title)


def dot_grid(matrix, rows, columns, *, ax, title=""):
    """Draw a matrix as dots whose area grows with the number's size; negative ones are hollow.

    Parameters
    ----------
    matrix : array_like, shape (n_rows, n_columns)
    rows, columns : sequence of str
    ax : matplotlib Axes
    title : str

    Returns
    -------
    matplotlib Axes
    """
    matrix = np.asarray(matrix, dtype=float)
    _check_labels(matrix, rows, columns)
    y, x = np.indices(matrix.shape)
    shares = np.abs(matrix) / max(np.abs(matrix).max(), 1e-12)
    sizes = np.where(shares > 1e-6, 180 * shares, 0)  # a dot far below a pixel may be drawn as one
    faces = np.where(matrix.ravel() < 0, "none", COLORS["weight"])
    ax.scatter(x.ravel(), y.ravel(), s=sizes.ravel(), c=faces, edgecolors=COLORS["weight"], linewidths=0.8)
    ax.set(xlim=(-0.5, matrix.shape[1] - 0.5), ylim=(matrix.shape[0] - 0.5, -0.5), aspect="equal")
    return _label(ax, rows, columns, title)


def name_axes(axes, rows="asks", columns="is asked"):
    """Say what the rows and the columns of patterns are, which stand side by side on these axes.

    Parameters
    ----------
    axes : matplotlib Axes or sequence of them
    rows, columns : str
    """
    for ax in np.ravel(axes):
        ax.set_xlabel(columns)
    np.ravel(axes)[0].set_ylabel(rows)


def arrows(vectors, labels, *, ax, color):
    """Draw vectors of the plane as arrows from the origin, with a label at each tip.

    Parameters
    ----------
    vectors : array_like, shape (n, 2)
    labels : sequence of str
    ax : matplotlib Axes
    color : str
        A key of `COLORS`.

    Returns
    -------
    matplotlib Axes
    """
    for (x, y), label in zip(vectors, labels, strict=True):
        ax.annotate(
            "",
            (x, y),
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": COLORS[color], "lw": 2, "shrinkA": 0, "shrinkB": 0},
        )
        ax.annotate(label, (x, y), textcoords="offset points", xytext=(6, 4), color=COLORS[color])
    ax.axhline(0, color="0.6", lw=0.8)
    ax.axvline(0, color="0.6", lw=0.8)
    ax.set(aspect="equal")
    return ax


def label_ends(ax):
    """Write the label of each line, or bundle of lines, at its right end and in its colour, none upon another."""
    ax.figure.draw_without_rendering()
    ends = {}
    for line in ax.lines:
        points = ax.transAxes.inverted().transform(line.get_transform().transform(line.get_xydata()))
        if not line.get_label().startswith("_"):
            seen = points[(np.abs(points - 0.5) < 0.51).all(axis=1)]
            ends.setdefault((line.get_label(), line.get_color()), []).append(seen[seen[:, 0].argmax()])
    places = sorted((np.median(points, axis=0)[1], np.max(points, axis=0)[0], *name) for name, points in ends.items())
    gap = 13 / 72 * ax.figure.dpi / ax.bbox.height * (1 + max(label.count("\n") for *_, label, _ in places))
    steps = gap * np.arange(len(places))
    heights = np.array([height for height, *_ in places]) - steps
    above, below = np.maximum.accumulate(heights), np.minimum.accumulate(heights[::-1])[::-1]
    for y, (_, x, label, color) in zip((above + below) / 2 + steps, places):
        note = {"xycoords": "axes fraction", "xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(label, (x, y), color=color, size=10, annotation_clip=False, **note)


def log_ticks(axis):
    """Write all ticks of a logarithmic axis alike: as plain numbers, or as powers of ten where these would be long."""
    low, high = axis.get_view_interval()
    plain = low > 1e-4 and high < 1e6
    axis.set_major_formatter(lambda x, _: f"{x:,g}" if plain else f"$10^{{{round(np.log10(x))}}}$")


def large(ax, number, words, color="k"):
    """Write the number that counts large above the axes, and beside it what it counts."""
    title = ax.set_title(number, size=20, weight="bold", color=color)
    ax.annotate(words, (1, 0), xycoords=title, xytext=(6, 2), textcoords="offset points", va="bottom", size=10)


def bars(found, *, ax, color=NEUTRAL[0], say="{:.2f}"):
    """Draw a bar for each name with its number at the end, and no axis, as nothing is left to read from one."""
    drawn = ax.barh(range(len(found)), list(found.values()), color=color, height=0.62)
    ax.bar_label(drawn, [with_minus(say.format(number)) for number in found.values()], padding=4)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    return name_rows(ax, found)


def dots(found, *, ax, color=NEUTRAL[0], shift=0, say="", label=None, **look):
    """Draw a row of dots for each name, a dot for each of its numbers, and say their mean; `shift` moves rows down."""
    for y, (numbers, ink) in enumerate(zip(found.values(), np.broadcast_to(color, len(found)))):
        beside = 0.014 * (np.arange(len(numbers)) - (len(numbers) - 1) / 2)
        style = {"marker": "o", "ls": "", "ms": 5.5, "alpha": 0.7, "color": ink, **look}
        ax.plot(numbers, y + shift + beside, label=None if y else label, **style)
        _say_behind(max(numbers), y + shift, with_minus(say.format(np.mean(numbers))), ax, ink)
    return name_rows(ax, found)


def ranges(found, *, ax, color=NEUTRAL[0], shift=0, say="", **look):
    """Draw for each name a dot, and a line from its lower to its upper bound, behind which the number of the dot is."""
    numbers, low, high = np.transpose(list(found.values()))
    rows = np.arange(len(found)) + shift
    ax.hlines(rows, low, high, color=color, lw=2)
    for number, end, y, ink in zip(numbers, high, rows, np.broadcast_to(color, len(found))):
        _say_behind(end, y, with_minus(say.format(number)), ax, ink)
    return dots({name: one[:1] for name, one in found.items()}, ax=ax, color=color, shift=shift, alpha=1, **look)


def name_rows(ax, names):
    """Write names at the left, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    return ax


def _say_behind(x, y, words, ax, color):
    place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(words, (x, y), color=color, annotation_clip=False, **place)


def _check_labels(matrix, rows, columns):
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"{len(rows)} row and {len(columns)} column labels do not fit a matrix of shape {matrix.shape}"
        )


def _label(ax, rows, columns, title):
    slanted = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    is_symbol = all(label.startswith("$") for label in columns)
    ax.set_xticks(range(len(columns)), columns, **({} if is_symbol else slanted))
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    return ax
