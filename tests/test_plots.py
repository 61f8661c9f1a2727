"""Figures: what is drawn is what was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from attn.course.plots import COLORS, arrows, dot_grid, heatmap


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_a_heatmap_writes_its_numbers_and_can_be_read_on_its_colours(ax):
    heatmap([[0.0, 0.25], [0.75, 1.0]], ["a", "b"], ["c", "d"], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["0.00", "0.25", "0.75", "1.00"]
    image = ax.images[0]
    for text, value in zip(ax.texts, [0.0, 0.25, 0.75, 1.0]):
        paper = image.cmap(image.norm(value))[:3]
        light = np.dot(
            [0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in paper]
        )
        ink = {"black": 0.0, "white": 1.0}[text.get_color()]
        contrast = (max(light, ink) + 0.05) / (min(light, ink) + 0.05)
        assert contrast >= 4.5, (value, text.get_color())


def test_a_signed_heatmap_is_coloured_around_zero(ax):
    heatmap([[-2.0, 0.0, 1.0]], ["a"], list("bcd"), ax=ax, signed=True, digits=1)
    image = ax.images[0]
    assert image.norm.vmin == -2 and image.norm.vmax == 2
    colours = [image.cmap(image.norm(value)) for value in (-2.0, 0.0, 2.0)]
    assert colours[0][0] > colours[0][2] and colours[2][2] > colours[2][0] and min(colours[1][:3]) > 0.98
    assert [text.get_color() for text in ax.texts] == ["white", "black", "black"]


def test_dots_grow_with_the_size_and_negative_ones_are_hollow(ax):
    dot_grid([[1.0, -0.5], [0.0, 1e-9]], ["a", "b"], ["c", "d"], ax=ax)
    dots = ax.collections[0]
    np.testing.assert_allclose(dots.get_sizes(), [180, 90, 0, 0])
    np.testing.assert_array_equal(dots.get_offsets(), [[0, 0], [1, 0], [0, 1], [1, 1]])
    filled, hollow = dots.get_facecolors()[:2]
    assert tuple(filled) == to_rgba(COLORS["weight"]) and hollow[3] == 0
    low, high = ax.get_ylim()
    assert low > high  # the first row is on top
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_arrows_go_from_the_origin_to_their_vectors(ax):
    arrows([[1, 2], [-1, 0.5]], ["one", "two"], ax=ax, color="query")
    found = [(note.xy, note.xyann) for note in ax.texts if note.arrow_patch]
    assert found == [((1, 2), (0, 0)), ((-1, 0.5), (0, 0))]
    assert [note.get_text() for note in ax.texts if not note.arrow_patch] == ["one", "two"]


@pytest.mark.parametrize("draw", [heatmap, dot_grid])
def test_labels_that_do_not_fit_are_refused(ax, draw):
    with pytest.raises(ValueError, match=r"3 row and 2 column labels do not fit a matrix of shape \(2, 2\)"):
        draw(np.eye(2), list("abc"), list("de"), ax=ax)
