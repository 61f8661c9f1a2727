"""A backend of Matplotlib for the kernels of a build, MPLBACKEND=module://book.draw: figures as SVG with text.

Each is drawn once more for telephones, where a figure is half as wide; `book/inline.py` takes the two apart.
"""

import math
import textwrap
import warnings
from itertools import pairwise

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.core.pylabtools import print_figure
from IPython.display import display
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas  # noqa: F401
from matplotlib.text import Text
from matplotlib_inline.config import InlineBackend

NARROW = 3.7  # inches: the text of a telephone is 355 pixels wide
ROOM = 4.2  # a figure that is no wider needs no other drawing
FINE = 150  # dots per inch: what is laid out is measured in whole dots
SMALLEST = 7.6  # points: ten pixels
WHITE = (1.0, 1.0, 1.0, 1.0)

if get_ipython():  # a chapter sets an option of the backend that a notebook has
    get_ipython().configurables.append(InlineBackend.instance(parent=get_ipython()))


def show(*args, **kwargs):
    """Show all figures and close them, as Matplotlib asks of a backend."""
    for number in plt.get_fignums():
        figure = plt.figure(number)
        display({"image/svg+xml": draw(figure), "text/plain": repr(figure)}, raw=True)
    plt.close("all")


def draw(figure):
    """Return one SVG of the two drawings of a figure, which stays narrow."""

    def drawing():
        return print_figure(figure, fmt="svg", bbox_inches=None)

    if not figure.axes:
        return drawing()
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        clear_paper(figure)
        figure.set_dpi(FINE)
        drawings = [drawing()]
        if figure.get_figwidth() > ROOM and not is_diagram(figure):
            warnings.simplefilter("ignore")  # of a layout for which there is no room: a test looks at what comes out
            make_narrow(figure)
            drawings.append(drawing())
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(map(without_head, drawings))}</svg>'


def is_diagram(figure):
    """Say whether a figure has no axes that show: what is placed in it by hand cannot be laid out anew."""
    return not any(ax.axison for ax in figure.axes)


def without_head(svg):
    return svg[svg.index("<svg") :]


def clear_paper(figure):
    """Take white paper away: a page has its own."""
    for artist in [figure, *figure.axes]:
        if artist.get_facecolor() == WHITE:
            artist.patch.set_visible(False)


def make_narrow(figure):
    """Lay a figure out for a narrow page: panels below each other, the legend under all, long lines broken."""
    heights = panel_heights(figure)
    rows = stack(figure)
    move_legend(figure)
    for text in texts(figure):
        text.set_fontsize(max(text.get_fontsize(), SMALLEST))
    figure.set_size_inches(NARROW, rows * figure.get_figheight())
    for ax in figure.axes:
        break_labels(ax.yaxis, figure.bbox.width / 3)
    fitted = fit_texts(figure)
    give_back(figure, heights)
    if fitted:  # what was broken leaves other room
        fit_texts(figure)
        give_back(figure, heights)
    figure.set_figheight(min(figure.get_figheight(), figure.get_tightbbox().height + 0.15))  # maps keep their shape


def fit_texts(figure):
    """Break, thin out or slant what has no room, and return whether anything had none."""
    figure.draw_without_rendering()
    before = words(figure)
    for ax in figure.axes:
        spread_labels(ax)
        if ax.xaxis.label.get_window_extent().x1 > figure.bbox.width:
            ax.set_xlabel(ax.get_xlabel(), ha="right", x=1)
    if words(figure) != before:
        figure.draw_without_rendering()
    for text in texts(figure):
        break_text(text, figure.bbox.width)
    return words(figure) != before


def words(figure):
    return [(text.get_text(), text.get_rotation(), text.get_ha()) for text in texts(figure)]


def give_back(figure, heights):
    """Make a figure higher, so that no panel is lower than it was."""
    figure.draw_without_rendering()
    lost = max(0, *(before - now for before, now in zip(heights, panel_heights(figure))))
    rows = len({round(ax.get_position(original=True).y0, 2) for ax in figure.axes})
    figure.set_figheight(figure.get_figheight() + lost * rows)
    figure.draw_without_rendering()


def panel_heights(figure):
    """Return the inches that each panel has, be it filled or not."""
    return [ax.get_position(original=True).height * figure.get_figheight() for ax in figure.axes]


def texts(figure):
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def stack(figure):
    """Put equal panels that stand side by side into one column, many into two; return how many times higher."""
    axes = [ax for ax in figure.axes if ax.get_subplotspec()]
    grids = {ax.get_gridspec() for ax in axes}
    grid = grids.pop() if len(grids) == 1 else None
    if not grid or grid.ncols == 1 or len(set(grid.get_width_ratios())) > 1 or len(axes) < len(figure.axes):
        return 1
    columns = 1 if grid.ncols < 4 else 2
    rows = math.ceil(len(axes) / columns)
    cells = figure.add_gridspec(rows, columns)
    first = axes[0]
    places, names = first.get_yticks(), first.get_yticklabels()
    for number, ax in enumerate(axes):
        ax.set_subplotspec(cells[number // columns, number % columns])
        if number % columns == 0 and ax.get_ylim() == first.get_ylim():
            ax.tick_params(labelleft=first.yaxis.get_tick_params()["labelleft"])
            ax.set_ylabel(ax.get_ylabel() or first.get_ylabel())
            if not any(label.get_text() for label in ax.get_yticklabels()):
                ax.set_yticks(places, [name.get_text() for name in names])
                for name, label in zip(names, ax.get_yticklabels()):
                    label.set_size(name.get_size())
    return rows / grid.nrows


def move_legend(figure):
    """Put a legend, if it is the only one, under the panels in one column."""
    found = [*filter(None, (ax.get_legend() for ax in figure.axes)), *figure.legends]
    if len(found) != 1:
        return
    (legend,) = found
    labels = [textwrap.fill(text.get_text(), 44) for text in legend.get_texts()]
    legend.remove()
    figure.legend(
        legend.legend_handles,
        labels,
        title=legend.get_title().get_text() or None,
        fontsize=max(legend.get_texts()[0].get_fontsize(), SMALLEST),
        loc="outside lower left",
    )


def break_text(text, width):
    """Break a line that would leave the drawing."""
    box = text.get_window_extent()
    if (box.x0 >= 0 and box.x1 <= width) or text.get_rotation() % 180:
        return
    room = {"left": width - box.x0, "right": box.x1, "center": 2 * min(width - box.x1, box.x0) + box.width}
    break_to(text, max(room[text.get_ha()] - 4, width / 4))


def break_to(text, room):
    """Break a text between words until it is no wider than the room, if that can be."""
    whole = text.get_text().replace("\n", " ")
    for lines in range(2, 5):
        if text.get_window_extent().width <= room:
            return
        wrapped = textwrap.fill(whole, math.ceil(len(whole) / lines) + 2, break_long_words=False)
        if all(map(is_line, wrapped.split("\n"))):
            text.set_text(wrapped)


def is_line(line):
    """Whether each formula in a line is whole."""
    return line.count("$") % 2 == 0


def is_number(label):
    return label.get_text().lstrip("−-").replace(".", "").isdigit()


def break_labels(axis, room):
    """Break those labels of an axis that are words, so that none is wider than the room."""
    labels = axis.get_ticklabels()
    if any(label.get_text() for label in labels) and not any("$" in one.get_text() or is_number(one) for one in labels):
        for label in labels:
            break_to(label, room)
        axis.set_ticks(axis.get_ticklocs(), [label.get_text() for label in labels])


def spread_labels(ax):
    """Where the labels below or above a panel run into each other, thin them out, break or slant them."""
    labels = [label for label in ax.get_xticklabels() if label.get_visible() and label.get_text()]
    if len(labels) < 2 or labels[0].get_rotation() or not collide(labels):
        return
    if all(map(is_number, labels)):
        ax.set_xticks(ax.get_xticks()[::2])
        return
    places = [label.get_window_extent() for label in labels]
    break_labels(ax.xaxis, min(b.x0 + b.x1 - a.x0 - a.x1 for a, b in pairwise(places)) / 2 - 4)
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    if collide(labels):
        on_top = ax.xaxis.get_tick_params().get("labeltop")
        for label in labels:
            label.set(rotation=45, ha="left" if on_top else "right", rotation_mode="anchor")


def collide(labels):
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
    return any(a.x1 + 4 > b.x0 for a, b in pairwise(boxes))
