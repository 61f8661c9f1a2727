"""What a drawing offers to be held: one table of all of it and its bounds, and what is true of each."""

import re

import pytest
from examples import EACH
from hands import drag, handle, hold, press, swipe

HELD = [  # figure, what is held, where more lies: how much it is, after an arrow key, with Shift; the least, the most
    ("softmax", "score of dog", "right", 2, 2.1, 2.5, -5, 5),
    ("ask_share_receive", "The question of it", "right", 0, 0.1, 0.5, -3, 3),
    ("ask_share_receive", "The question of it", "up", 1, 1.1, 1.5, -2.2, 2.9),
    ("ask_three_times", "The question of it in head one", "right", -0.01, 0.09, 0.49, -3, 3),
    ("mask", "edge of the mask", "right", 0, 1, 4, -1, 4),
    ("parameters", "d_model", "right", 12288, 12352, 12608, 1, None),
    ("parameters", "n_layers", "up", 96, 97, 101, 1, None),
    ("parameters", "d_ff", "up", 49152, 49408, 50432, 1, None),
    ("cost", "tokens", "right and down", 2048, 4096, 65536, 128, 2**20),
    ("cost", "key heads", "right", 8, 12, 48, 1, 96),
    ("gauge", "key of b", "right", 0.5, 0.536, 0.707, 0.25, 4),
    ("gauge", "query of b", "left", 2, 2.144, 2.828, 0.25, 4),
    ("rotary", "query stands at", "right", 5, 6, 10, 0, 40),
    ("rotary", "key stands at", "right", 2, 3, 7, 0, 40),
    ("rotary", "both, together", "right", 2, 3, 7, 0, 37),
    ("walks", "dₖ", "right", 64, 65, 69, 1, 256),
]
each = pytest.mark.parametrize(
    ("name", "label", "way", "start", "step", "five", "least", "most"), HELD, ids=[": ".join(row[:3]) for row in HELD]
)
WAYS = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "right and down": (1, 1)}
KEYS = {"right": ("ArrowRight", "ArrowLeft"), "up": ("ArrowUp", "ArrowDown")}
HANDLES = {name: (label, way) for name, label, way, *_ in HELD}  # one of each figure
SCALED = ("cost", "parameters")  # what is dragged too far there changes the scale of its drawing when it is let go
SIXTY = """async (held, key) => {
  for (let i = 0; i < 60; i++) {
    held.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey: true, bubbles: true }));
    await null;
  }
}"""
DRAWN = """() => [...document.querySelectorAll(".attn-scene")]
  .map((scene) => scene.innerHTML.replace(/<circle[^>]*attn-drop[^>]*>/g, "")).join()"""  # drops run, and do not glide


def reader_of(held, way):
    """Return what reads how much there is of what is held: of an arrow in a plane, its part along this way."""

    def read():
        pair = re.fullmatch(r"\((.+), (.+)\)", held.get_attribute("aria-valuetext").replace("−", "-"))
        return float(pair[1 + (way == "up")] if pair else held.get_attribute("aria-valuenow"))

    return read


def test_all_that_is_held_stands_in_the_table(unloaded):
    page = unloaded(*EACH.values())
    found = page.locator("[data-explorable]").evaluate_all(
        """(figures) => figures.flatMap((figure) => [...figure.querySelectorAll(".attn-handle")]
          .map((held) => [figure.dataset.explorable, held.getAttribute("aria-label")]))"""
    )
    found = [row for row in found if row[0] != "wire"]  # held over dots, where none is more than another
    kinds = [{(name, label.rpartition(" ")[0] or label) for name, label, *_ in rows} for rows in (found, HELD)]
    assert kinds[0] == kinds[1]


@each
def test_keys_move_it_by_steps_and_a_hand_along_its_way_up_to_its_bounds(
    blank, name, label, way, start, step, five, least, most
):
    page = blank(EACH[name])
    held = handle(page, label)
    read = reader_of(held, way)
    flat = held.get_attribute("aria-valuetext").startswith("(")
    assert read() == pytest.approx(start, abs=0.006)
    for more, less in [KEYS[way]] if flat else KEYS.values():
        for pressed, value in [(more, step), (less, start), (f"Shift+{more}", five)]:
            held.press(pressed)
            assert read() == pytest.approx(value, abs=0.006), pressed
        for pressed, value in [(less, least), (more, most)]:
            held.evaluate(SIXTY, pressed)
            assert value is None or read() == pytest.approx(value, abs=0.006), pressed
        press(page, "Start again")

    right, down = WAYS[way]  # and by hand along this way, and only while it is held

    def middle():
        box = held.locator(".attn-target").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def along(place, since):
        return sum(part * (now - then) for part, now, then in zip((right, down), place, since)) / (right**2 + down**2)

    held.focus()
    first = middle()
    held.press(KEYS["up" if way == "up" else "right"][0])
    grain = along(middle(), first)
    assert grain > 0, "more lies where the hand has to go"
    press(page, "Start again")
    held.focus()
    held.scroll_into_view_if_needed()
    first = middle()
    x, y = first[0] + 4, first[1] + 4  # the hand keeps its distance from the middle
    page.mouse.move(x, y)
    page.mouse.down()
    assert read() == pytest.approx(start, abs=0.006)
    page.mouse.move(x + 60 * down, y - 60 * right)
    assert abs(read() - start) <= abs(step - start) + 0.006, "beside its way it does not move"
    page.mouse.move(x + 20 * right, y + 20 * down)
    assert along(middle(), first) == pytest.approx(20, abs=grain / 2 + 2)
    scene = held.locator("xpath=ancestor::*[local-name()='svg']").bounding_box()
    for far, bound in [(2000, most), (-2000, least)]:
        page.mouse.move(x + far * right, y + far * down)
        for place, side, size in zip(middle(), ("x", "y"), ("width", "height")):
            assert scene[side] - 1 <= place <= scene[side] + scene[size] + 1
        if name in SCALED and label != "key heads":
            assert (read() > start) == (far > 0)
        else:
            assert read() == pytest.approx(bound, abs=0.006)
    page.mouse.up()
    there = read()
    for event in ("pointerup", "pointercancel"):
        page.mouse.move(*first)
        assert read() == there, event
        page.mouse.move(*middle())
        page.mouse.down()
        held.dispatch_event("pointercancel")
    page.mouse.up()


@pytest.mark.parametrize("name", [name for name in HANDLES if name != "mask"])  # it does not glide
def test_a_drawing_glides_to_where_it_would_be_at_once_and_what_is_held_does_not_lag(blank, name):
    label, way = HANDLES[name]
    still, page = (blank(EACH[name], reduced_motion=motion) for motion in ("reduce", "no-preference"))
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    right, down = (40 * part for part in WAYS[way])
    for by_hand in (False, True):
        before = still.evaluate(DRAWN)
        for one in (still, page):
            drag(one, label, -right, -down, release=False) if by_hand else hold(one, label, "ArrowUp")
        if by_hand:
            assert page.evaluate(DRAWN) == still.evaluate(DRAWN), "at once, and no later"
            for one in (still, page):
                one.mouse.up()
        else:
            page.clock.run_for(100)
            assert page.evaluate(DRAWN) not in (before, still.evaluate(DRAWN)), "it is on its way"
        page.clock.run_for(1000)
        assert page.evaluate(DRAWN) == still.evaluate(DRAWN) != before
    assert page.said == []


ON_A_TELEPHONE = {"width": 390, "has_touch": True, "is_mobile": True}


def test_beside_what_is_held_a_finger_scrolls_the_page(blank):
    page = blank(EACH["rotary"], **ON_A_TELEPHONE)
    page.evaluate("document.body.style.height = '5000px'")
    scene = page.locator(".attn-scene").last.bounding_box()
    assert swipe(page, scene["x"] + 3, scene["y"] + scene["height"] - 3, 0, -90) == "pointercancel", "it scrolls"


@pytest.mark.parametrize("name", HANDLES)
def test_a_finger_moves_each_thing_that_can_be_held_on_a_telephone(blank, name):
    page = blank(EACH[name], **ON_A_TELEPHONE)
    page.evaluate("document.body.style.height = '5000px'")  # it could scroll
    for held in page.locator(".attn-handle").all():
        target, label = held.locator(".attn-target"), held.get_attribute("aria-label")
        target.evaluate("target => target.scrollIntoView({ block: 'center' })")
        seen, scrolled = {held.get_attribute("aria-valuetext")}, page.evaluate("scrollY")
        for way in (70, -140):  # it may be at an end, and a step may be long
            box = target.bounding_box()
            assert box["width"] >= 44 or name == "mask", label  # whose cells are pressed as well
            assert swipe(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, way, way) == "pointerup", (
                label
            )
            seen.add(held.get_attribute("aria-valuetext"))
        assert len(seen) > 1, label
        assert page.evaluate("scrollY") == scrolled, "the page stays while it is held"
