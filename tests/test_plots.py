"""Figures: what is drawn is what was given."""

import re
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba

from attn_course import plots
from attn_course.figures import read_source
from book.inline import INKS


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


LUMINANCE = [0.2126, 0.7152, 0.0722]  # of red, green and blue (WCAG 2)


def linear(colour):
    return np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour])


def contrast(one, other):
    dark, light = sorted(np.dot(LUMINANCE, linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def themes():
    """The variables of the figures' style sheet, as they are in the light and in the dark."""
    css = read_source("figures.css").split(".attn-explorable", 1)[0]
    light, dark = (dict(re.findall(r"--attn-([a-z]+): ([^;]+);", part)) for part in css.split("html[data-theme", 1))
    return [light, light | dark]


def as_rgb(text):
    return to_rgb(text) if text.startswith("#") else np.array(text.split(), dtype=int) / 255


def test_a_heatmap_writes_its_numbers_in_cells_as_strong_as_they_are_large(ax):
    plots.heatmap([[0.0, 0.25], [0.75, 1.0]], ["a", "b"], ["c", "d"], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["0.00", "0.25", "0.75", "1.00"]
    assert {text.get_color() for text in ax.texts} == {"black"}
    (cells,) = ax.collections
    np.testing.assert_array_equal(cells.get_array(), [[0.0, 0.25], [0.75, 1.0]])
    painted = cells.to_rgba(cells.get_array())
    assert (painted[..., :3] == to_rgb(plots.COLORS["weight"])).all()
    np.testing.assert_allclose(painted[..., 3], [[0, 0.1375], [0.4125, 0.55]], atol=0.003)
    assert ax.get_xlim() == (-0.5, 1.5) and ax.get_ylim() == (1.5, -0.5)


@pytest.mark.parametrize(
    ("strength", "names"), [(plots.WEIGHTS(1.0)[3], ["weight"]), (plots.SIGNED(1.0)[3], ["plus", "minus"])]
)
def test_a_number_can_be_read_on_the_strongest_cell_in_the_light_and_in_the_dark(strength, names):
    for theme in themes():
        paper, ink = as_rgb(theme["panel"]), as_rgb(theme["text"])
        for name in names:
            cell = strength * np.array(as_rgb(theme[name])) + (1 - strength) * np.array(paper)
            assert contrast(cell, ink) >= 4.5, (name, theme["panel"])


def test_the_colours_are_told_apart_by_everyone_and_read_on_their_page():
    """Colour vision deficiencies by the matrices of Machado et al. 2009, distances in CIELAB."""
    deficiencies = [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]

    def lab(rgb):
        xyz = [[0.4124, 0.3576, 0.1805], LUMINANCE, [0.0193, 0.1192, 0.9505]] @ np.clip(rgb, 0, 1)
        xyz /= [0.95047, 1, 1.08883]
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    for theme in themes():
        colours = [as_rgb(theme[role]) for role in ("query", "key", "value")]
        assert min(contrast(colour, as_rgb(theme["panel"])) for colour in colours) >= 4.5
        for matrix in deficiencies:
            seen = [lab(matrix @ linear(colour)) for colour in colours]
            assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 20


def test_a_page_has_the_colours_of_the_figures():
    light, _ = themes()
    drawn = plots.COLORS | {"plus": plots.PLUS, "minus": plots.MINUS}
    for name, colour in drawn.items():
        np.testing.assert_allclose(as_rgb(light[name]), to_rgb(colour), err_msg=name)
        assert INKS[colour] in (f"var(--attn-{name})", f"rgb(var(--attn-{name}))")


def test_a_signed_heatmap_is_coloured_around_zero(ax):
    plots.heatmap([[-2.0, 0.0, 1.0]], ["a"], list("bcd"), ax=ax, signed=True, digits=1)
    (cells,) = ax.collections
    below, zero, above = cells.to_rgba([-2.0, 0.0, 2.0])
    np.testing.assert_allclose(below, to_rgba(plots.MINUS, 0.6))
    np.testing.assert_allclose(above, to_rgba(plots.PLUS, 0.6))
    assert zero[3] < 0.01
    assert [text.get_text() for text in ax.texts] == ["−2.0", "0.0", "1.0"]


def test_a_map_needs_no_numbers_and_a_large_one_is_a_picture(ax):
    plots.heatmap(np.eye(21), [""] * 21, [""] * 21, ax=ax, digits=None)
    assert len(ax.images) == 1 and not ax.collections and not ax.texts


def test_dots_grow_with_the_size_and_negative_ones_are_hollow(ax):
    plots.dot_grid([[1.0, -0.5], [0.0, 1e-9]], ["a", "b"], ["c", "d"], ax=ax)
    dots = ax.collections[0]
    np.testing.assert_allclose(dots.get_sizes(), [180, 90, 0, 0])
    np.testing.assert_array_equal(dots.get_offsets(), [[0, 0], [1, 0], [0, 1], [1, 1]])
    filled, hollow = dots.get_facecolors()[:2]
    assert tuple(filled) == to_rgba(plots.COLORS["weight"]) and hollow[3] == 0
    assert ax.yaxis_inverted(), "the first row is on top"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_arrows_go_from_the_origin_to_their_vectors(ax):
    plots.arrows([[1, 2], [-1, 0.5]], ["one", "two"], ax=ax, color="query")
    found = [(note.xy, note.xyann) for note in ax.texts if note.arrow_patch]
    assert found == [((1, 2), (0, 0)), ((-1, 0.5), (0, 0))]
    assert [note.get_text() for note in ax.texts if not note.arrow_patch] == ["one", "two"]


def test_lines_are_named_once_at_their_ends_in_their_colours_and_no_name_stands_upon_another(ax):
    ax.plot([0, 1], [[0, 0], [1, 1.02]], color="r", label="bundle")
    ax.plot([1, 0.5], [1, 0], "o", color="b", label="dots")
    ax.axhline(0.5, color="g", label="level")
    ax.plot([0, 1], [0.2, 0.2])
    plots.label_ends(ax)
    names = {note.get_text(): note for note in ax.texts}
    assert {name: note.get_color() for name, note in names.items()} == {"bundle": "r", "dots": "b", "level": "g"}
    ax.figure.draw_without_rendering()
    boxes = sorted((note.get_window_extent() for note in ax.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))
    assert all(box.x0 > ax.bbox.x0 + 0.9 * ax.bbox.width for box in boxes)


def test_bars_say_their_numbers_the_first_on_top_and_have_no_axis(ax):
    plots.bars({"one": 0.25, "two": -1.5}, ax=ax, say="{:.1f} m")
    assert [text.get_text() for text in ax.texts] == ["0.2 m", "−1.5 m"] and not ax.get_xticks().size
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    assert ax.yaxis_inverted()


def test_dots_stand_in_the_row_of_their_name_and_say_their_mean(ax):
    plots.dots({"one": [1, 3], "two": [5.0]}, ax=ax, color=["r", "b"], shift=0.1, say="{:.1f}", label="kind")
    assert [line.get_xdata().tolist() for line in ax.lines] == [[1, 3], [5]]
    np.testing.assert_allclose([np.mean(line.get_ydata()) for line in ax.lines], [0.1, 1.1])
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [("2.0", "r"), ("5.0", "b")]
    assert ax.get_legend_handles_labels()[1] == ["kind"]


def test_a_range_reaches_from_its_lower_to_its_upper_bound_and_its_number_stands_behind_it(ax):
    plots.ranges({"one": (2, 1, 4), "two": (0, -1, 1)}, ax=ax, color=["r", "b"], say="{:.1f}")
    lines = [path.vertices.tolist() for part in ax.collections for path in part.get_paths()]
    assert lines == [[[1, 0], [4, 0]], [[-1, 1], [1, 1]]]
    assert [line.get_xdata().tolist() for line in ax.lines] == [[2], [0]]
    told = [(text.get_text(), text.xy, text.get_color()) for text in ax.texts if text.get_text()]
    assert told == [("2.0", (4, 0), "r"), ("0.0", (1, 1), "b")]


@pytest.mark.parametrize(("number", "said"), [(-0.123, "−0.12"), (-0.001, "0.00"), (0.0, "0.00"), (-10.0, "−10.00")])
def test_a_number_below_zero_has_the_sign_for_minus_and_zero_has_none(ax, number, said):
    plots.bars({"one": number}, ax=ax)
    plots.dots({"one": [number]}, ax=ax, say="{:.2f}")
    plots.ranges({"one": (number, -20, 20)}, ax=ax, say="{:.2f}")
    assert [text.get_text() for text in ax.texts if text.get_text()] == [said] * 3


def test_a_large_number_stands_above_and_its_words_beside_it(ax):
    plots.large(ax, "0.94", "is the correlation", "r")
    ax.figure.draw_without_rendering()
    (words,) = ax.texts
    number = ax.title
    assert number.get_text() == "0.94" and number.get_color() == "r" and number.get_size() > 1.5 * words.get_size()
    assert words.get_window_extent().x0 > number.get_window_extent().x1


@pytest.mark.parametrize("draw", [plots.heatmap, plots.dot_grid])
def test_labels_that_do_not_fit_are_refused(ax, draw):
    with pytest.raises(ValueError, match=r"3 row and 2 column labels do not fit a matrix of shape \(2, 2\)"):
        draw(np.eye(2), list("abc"), list("de"), ax=ax)
