"""Figures of attention: arrays in, Matplotlib Axes out.

The colours are those of the explorables (`attn/figures/figures.css`): queries, keys and
values have one each, weights a fourth.
"""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

COLORS = {"query": "#0057b8", "key": "#b0005e", "value": "#806000", "weight": "#00796b"}
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#ffffff", COLORS["weight"]])
SIGNED = LinearSegmentedColormap.from_list("signed", ["#b35806", "#ffffff", "#44546a"])


def heatmap(matrix, rows, columns, *, ax, title="", signed=False, reach=None, digits=2):
    """Draw a matrix as coloured cells with its numbers written in.

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
    digits : int
        Decimals of the numbers written into the cells.

    Returns
    -------
    matplotlib Axes
    """
    matrix = np.asarray(matrix, dtype=float)
    _check_labels(matrix, rows, columns)
    reach = reach or (max(np.abs(matrix).max(), 1e-12) if signed else 1)
    image = ax.imshow(matrix, cmap=SIGNED if signed else WEIGHTS, vmin=-reach if signed else 0, vmax=reach)
    for (i, j), number in np.ndenumerate(matrix):
        ink = _ink(image.cmap(image.norm(number)))
        ax.text(j, i, f"{number:.{digits}f}", ha="center", va="center", size=8, color=ink)
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


def _check_labels(matrix, rows, columns):
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"{len(rows)} row and {len(columns)} column labels do not fit a matrix of shape {matrix.shape}"
        )


def _ink(paper):
    """Return the colour, black or white, that stands out more from a colour (WCAG 2)."""
    channels = np.array(paper[:3])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


def _label(ax, rows, columns, title):
    slanted = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    is_symbol = all(label.startswith("$") for label in columns)
    ax.set_xticks(range(len(columns)), columns, **({} if is_symbol else slanted))
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    return ax
