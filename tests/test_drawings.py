"""Drawings of figures: two widths, text that is text, and the colours of the page."""

import re

import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup

from attn_course.plots import COLORS, heatmap, name_axes
from book.draw import NARROW, SMALLEST
from book.draw import draw as draw_twice
from book.inline import drawings, place_pictures

NAME = f"{'a' * 64}.svg"


@pytest.fixture
def drawn():
    """Draw a figure in both widths, as a build does, and return each drawing as it stands in a page."""

    def draw(figure, alt="what it shows"):
        page = place_pictures(f'<img alt="{alt}" src="../_images/{NAME}" />', {NAME: draw_twice(figure)})
        return BeautifulSoup(page, "html.parser").find_all("svg")

    with plt.style.context("attn_course.style"):
        yield draw
    plt.close("all")


def inches(svg):
    return [round(int(svg[side]) / 96, 1) for side in ("width", "height")]


def place(svg, text):
    """Where a text begins, as x and y."""
    (found,) = [node for node in svg.find_all("text") if node.get_text() == text]
    return float(found["x"]), float(found["y"])


def test_panels_that_stand_side_by_side_stand_below_each_other_in_a_narrow_drawing(drawn):
    figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.4), sharey=True)
    for ax, title in zip(axes, ["one", "two"]):
        heatmap([[0.1, 0.9]], ["row"], ["a", "b"], ax=ax, title=title)
    name_axes(axes)
    wide, narrow = drawn(figure)
    assert inches(wide) == [6.8, 2.4] and inches(narrow)[0] == NARROW
    (x, y), (right, beside) = (place(wide, title) for title in ("one", "two"))
    assert right > x + 100 and beside == y
    (x, y), (below, lower) = (place(narrow, title) for title in ("one", "two"))
    assert below == x and lower > y + 50
    assert [len(svg.find_all("text", string="row")) for svg in (wide, narrow)] == [1, 2]


def test_many_panels_stand_in_two_columns(drawn):
    figure, axes = plt.subplots(1, 5, figsize=(6.8, 2))
    for number, ax in enumerate(axes):
        ax.set_title(f"panel {number}", loc="left")
    _, narrow = drawn(figure)
    places = [place(narrow, f"panel {number}") for number in range(5)]
    assert len({x for x, _ in places}) == 2 and len({y for _, y in places}) == 3


def test_no_panel_gets_lower_and_no_letter_too_small_in_a_narrow_drawing(drawn):
    figure, ax = plt.subplots(figsize=(6.8, 2))
    for number in range(4):
        ax.plot([0, 1], [number, 0], label=f"the line that begins at {number}")
    ax.set_title("a title that is much too long for a page that is as narrow as this one")
    ax.set_xticks([0, 0.5, 1], ["a label of words", "another such label", "and the last one"])
    ax.tick_params(axis="y", labelsize=5)
    ax.legend(ncols=2)
    figure.draw_without_rendering()
    height = ax.get_position().height * 2
    wide, narrow = drawn(figure)
    assert ax.get_position().height * figure.get_figheight() >= height - 0.02
    sizes = [re.search(r"font-size:([\d.]+)px", text["style"])[1] for text in narrow.find_all("text")]
    assert min(map(float, sizes)) == SMALLEST
    assert len([text for text in narrow.find_all("text") if "the line" in text.get_text()]) == 4
    below = place(narrow, "the line that begins at 3")[1]
    assert below > 72 * (inches(narrow)[1] - 0.4)
    assert wide.find("text", string="another such label") and not narrow.find("text", string="another such label")


def test_a_figure_that_is_narrow_comes_once(drawn):
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.plot([0, 1])
    (only,) = drawn(figure)
    assert only["class"] == ["attn-figure", "attn-only"] and inches(only) == [4, 2]


def test_a_drawing_has_the_letters_and_the_colours_of_the_page(drawn):
    figure, ax = plt.subplots(figsize=(4, 2))
    for role, colour in COLORS.items():
        ax.plot([0, 1], color=colour, label=role)
    ax.plot([1, 0], color="0.6")
    ax.plot([1, 1], color="k")
    ax.text(0, 0, "code", family="monospace")
    ax.set_title("words beside $W_Q$")
    ax.legend(facecolor="w", framealpha=1, frameon=True)
    (svg,) = drawn(figure, "“two” lines")
    assert svg["role"] == "img" and svg["aria-label"] == "“two” lines"
    html = str(svg)
    assert not re.search("font-family|DejaVu|STIX|metadata|xlink|<!--|<style", html)
    assert not re.findall(r"#[0-9a-f]{6}", html)
    for role in ("--attn-query", "--attn-key", "--attn-value", "rgb(var(--attn-weight))", "--ink-40", "currentColor"):
        assert f"stroke:{role}" in html or f"stroke:var({role})" in html, role
    assert "--ink-40:color-mix(in srgb,currentColor 40%,var(--pst-color-background))" in svg["style"]
    assert html.count("fill:var(--pst-color-background)") == 1  # the legend's: the figure's own paper is gone
    assert svg.find("text", string="code")["class"] == ["attn-code"]
    (title,) = [text for text in svg.find_all("text") if text.find("tspan")]
    assert title.find("tspan").get_text().replace("\xa0", " ") == "words beside "
    assert [span.get_text() for span in title.select(".attn-formula")] == ["W", "Q"]


def test_places_in_a_page_have_names_of_their_own_and_only_those_that_are_named(drawn):
    figure, ax = plt.subplots(figsize=(6.8, 2))
    ax.plot([0, 1], "o")
    page = "".join(map(str, drawn(figure)))
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names)) > 4
    assert set(names) == set(re.findall(r'(?:url\(|href=")#([^)"]+)', page))


def test_both_drawings_are_one_file_and_a_file_with_one_is_read_as_well():
    one = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    assert len(drawings(one)) == 1
    assert len(drawings(f'<svg xmlns="http://www.w3.org/2000/svg">{one}{one}</svg>')) == 2
