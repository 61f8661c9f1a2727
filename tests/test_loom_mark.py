"""The loom in small, as the head of a chapter may show it."""

import re
from xml.etree import ElementTree

import pytest

from book import chapters, name_of
from book.loom_mark import PARTS, SECONDS, SHAPES, loom_mark, loom_run

GROUP = "{http://www.w3.org/2000/svg}g"


def test_parts_are_those_of_chapters_and_each_is_another():
    assert set(PARTS) <= set(map(name_of, chapters()))
    assert len({told for told, _ in PARTS.values()}) == len({frozenset(lit) for _, lit in PARTS.values()}) == len(PARTS)
    assert set().union(*(lit for _, lit in PARTS.values())) == set(SHAPES), "each shape is lit somewhere"


@pytest.mark.parametrize("part", PARTS)
def test_a_mark_draws_every_shape_and_lights_those_of_its_part(part):
    drawn = loom_mark(part)
    picture = ElementTree.fromstring(drawn)
    (faint,) = picture.findall(GROUP)
    told, lit = PARTS[part]
    assert picture[0].text == f"The loom: {told}" and picture.get("role") == "img"
    assert all(drawn.count(shape) == 1 for shape in SHAPES.values())
    shapes = [ElementTree.tostring(one) for one in faint]
    for name, shape in SHAPES.items():
        first = ElementTree.fromstring(f'<g xmlns="http://www.w3.org/2000/svg">{shape}</g>')[0]
        assert (ElementTree.tostring(first) in shapes) == (name not in lit), name
    assert len(drawn.encode()) <= 2500


def test_the_run_ends_by_itself_and_is_still_for_who_asked_for_no_motion(browser):
    drawn = loom_run()
    ElementTree.fromstring(drawn)
    assert len(drawn.encode()) <= 2500 and "infinite" not in drawn
    ends = "document.getAnimations().map((one) => one.effect.getComputedTiming().endTime)"
    for motion, count in {"no-preference": len(SHAPES) - 2, "reduce": 0}.items():
        page = browser.new_page(reduced_motion=motion)
        page.set_content(drawn)
        found = page.evaluate(ends)
        assert len(found) == count and max(found, default=0) <= 1000 * SECONDS
        page.close()
    assert re.search(r"--i:0\D", drawn) and f"--i:{len(SHAPES) - 3}" in drawn
