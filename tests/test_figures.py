"""The figures that move: what their pages show, mouse and keyboard in them, and a notebook's side."""

import json
import re

import numpy as np
import pytest
from examples import EACH, MOVES, OTHERS, SENTENCE, ask_share_receive, stepper
from hands import bring, choose, click, control, drag, handle, hold, in_notebook, press, touch, unfold, words
from looks import LOOK, changes, facts
from pages import FRAMES
from playwright.sync_api import expect

import attn_course.figures
from attn.parameters import GPT3
from attn_course.figures import (
    FOLDER,
    AskShareReceive,
    MaskExplorer,
    ParameterCounter,
    SelfCheck,
    SoftmaxExplorer,
    read_source,
)
from attn_course.figures.joined import IMPORT, exported, named
from book import build
from book.page import PARTS

ALIVE = [name for name in EACH if name != "novel_reader"]  # where nothing has to be brought first


def test_every_figure_is_a_pair_of_files_in_the_script_of_the_book_with_an_example(js):
    pairs = {path.stem for path in FOLDER.glob("*.py")} & {path.stem for path in FOLDER.glob("*.js")}
    assert set(js("() => Object.keys(attn)")) == pairs == set(EACH) == set(MOVES)
    assert all(type(figure).__name__ in dir(attn_course.figures) for figure in EACH.values())
    assert {name: figure._name for name, figure in EACH.items()} == {name: name for name in EACH}


# --- what a page shows -----------------------------------------------------------------------------------------------


SHAPES = ".attn-explorable svg :is(path, line, rect, circle, polyline):not(.attn-target, .attn-wider)"
UNSEEN = """(shapes) => [...document.querySelectorAll(shapes)].filter((shape) => {
  const { fill, stroke, visibility } = getComputedStyle(shape);
  const clear = (paint) => /^none$|^rgba\\(.*, 0\\)$/.test(paint);
  return visibility !== "hidden" && shape.getTotalLength() > 0 && clear(fill) && clear(stroke);
}).map((shape) => shape.getAttribute("class") ?? shape.outerHTML)"""


def test_no_class_of_a_figure_means_something_to_the_pages_too():
    figures = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js") if path.name != "mount.js")
    used = set(re.findall(r"attn-[a-z-]+", figures))
    style = (build.ROOT / "book" / "book.css").read_text(encoding="utf-8")
    assert {*re.findall(r"^\.(attn-[a-z-]+)(?: \{|,)", style, re.M)} & used == set()


@pytest.mark.parametrize("name", EACH)
def test_a_figure_shows_what_was_recorded_at_first_and_after_each_move_and_draws_nothing_unseen(blank, recorded, name):
    page = blank(EACH[name])
    root = page.locator(".attn-explorable")
    assert page.evaluate(UNSEEN, SHAPES) == []
    kept = root.locator("input, button").first.element_handle()
    looks = {"at first": root.evaluate(LOOK)}
    for number, (move, *what) in enumerate(MOVES[name], start=1):
        move(page, *what)
        assert page.evaluate(UNSEEN, SHAPES) == []
        looks[f"{number}. {move.__name__} {' '.join(map(str, what))}"] = root.evaluate(LOOK)
        assert number > 1 or kept.evaluate("node => node.isConnected"), "a control that is being moved must stay"
    assert changes(looks) == recorded(name, changes(looks))
    assert page.locator(".attn-detail").count() == page.locator(".attn-detail[aria-live=polite]").count()
    told = page.locator(".attn-problem, .attn-why, .attn-task, .attn-waiting")
    assert told.count() == page.locator("[role=status]").count()
    for scrolls in page.locator(".attn-scroll").all():
        named = scrolls.evaluate("box => box.tabIndex === 0 && box.role === 'group' && !!box.ariaLabel")
        assert named != (scrolls.locator("button[tabindex='0']").count() > 0), "what scrolls is reached by the keyboard"
    if name not in ("self_check", "guess", "smollm2_reader"):
        press(page, "Start again")
        bring(page)
        assert root.evaluate(LOOK) == looks["at first"]
    assert page.locator("input").count() == page.locator("input[autocomplete=off]").count()
    page.evaluate("localStorage.clear()")  # a guess is kept, as tests/test_guesses.py says
    page.goto("about:blank")
    page.go_back()
    bring(page)
    assert root.evaluate(LOOK) == looks["at first"], "who comes back finds the controls as the figure is"
    assert page.said == []


@pytest.mark.parametrize(
    ("name", "moves"), [("wire", 5), ("wall", 2), ("wall", 5), ("ask_share_receive", 2), ("stepper", 4)]
)
def test_an_address_that_is_sent_opens_with_what_was_made(blank, name, moves):
    page = blank(EACH[name])

    def shown():
        look = page.locator(".attn-explorable").evaluate(LOOK)
        return {part: look.get(part) for part in ("says", "chosen", "bars", "handles")}

    def comes_to_show(look):
        tries = iter(range(100))  # of the wall, other sentences come a moment later
        while shown() != look and next(tries, None) is not None:
            page.wait_for_timeout(50)
        return shown() == look

    before = shown()
    for move, *what in MOVES[name][:moves]:
        move(page, *what)
    made = shown()
    press(page, "Send this")
    page.get_by_role("button", name=re.compile("address")).wait_for()
    sent = page.url
    for address, look in [(sent, made), (f"{sent}%5D", before), (sent.split("#")[0], before)]:
        page.goto("about:blank")
        page.goto(address)
        assert comes_to_show(look) and look != (before if look is made else made)
    page.evaluate("hash => (location.hash = hash)", sent.split("#")[1])  # pasted while the page is open
    assert comes_to_show(made)
    assert page.said == []


def test_other_states_show_what_was_recorded(blank, recorded):
    roots = blank(*OTHERS).locator(".attn-explorable").all()
    numbered = enumerate(zip(roots, OTHERS))
    looks = {f"{i}. {figure._name}": dict(facts(root.evaluate(LOOK))) for i, (root, figure) in numbered}
    assert looks == recorded("others", looks)


EXPLAINED = """(root) => Object.fromEntries([...root.querySelectorAll("button.attn-cell")].map((cell) => {
  cell.focus();
  return [cell.getAttribute("aria-label"), root.querySelector(".attn-detail").textContent];
}))"""


def test_each_number_is_explained_as_recorded_on_focus_on_hover_and_when_it_is_pressed(blank, recorded):
    page = blank(MaskExplorer(["cat", "<b>sat", "mat"], [[1, 0, 2], [0, 3, 0], [0, -1, 2]], np.tri(3, dtype=bool)))
    root, told, cells = (page.locator(f".attn-{name}") for name in ("explorable", "detail", "pattern button"))
    found = {"at first": root.evaluate(EXPLAINED)}
    click(page, "all words")
    found["after a change"] = root.evaluate(EXPLAINED)
    assert found == recorded("mask_explained", found)
    cells.nth(1).hover()
    assert told.inner_text() == found["after a change"][cells.nth(1).get_attribute("aria-label")]
    touch(page, "button.attn-cell", 3)
    assert told.inner_text() == "“cat” is hidden from “<b>sat”. Press to show it."


# --- mouse and keyboard, once for each kind of control ---------------------------------------------------------------


def stop_time(page):
    """Let time pass only where a test says how much."""
    page.clock.install(time=0)
    page.clock.pause_at(1000)


def test_scores_grow_with_the_root_of_the_length_and_are_told(blank):
    keys = [[2, 1], [1, 2]]
    page = blank(AskShareReceive(["a", "b"], "it", [0, 1], keys, np.eye(2), adds="length", d_k=128, scaled=False))
    for told, widths in [("scores 8.00, 16.00,", [20 * 8 / 48, 20 * 16 / 48]), ("scores 0.71, 1.41,", [1.5, 1.5])]:
        bars = [float(bar.get_attribute("width")) for bar in page.locator("rect.attn-score").all()]
        assert told in page.locator(".attn-say").inner_text() and bars == pytest.approx(widths)
        page.get_by_label("divided by √dk").check()


def test_words_are_text_whatever_they_hold_given_in_python_or_by_the_reader(blank):
    nasty = ["<img/src=x/onerror=document.title='broken'>", "</script><script>document.title='broken'</script>"]
    tokens = [*nasty, "&amp;", "'\"", "<b>cat</b>"]
    asked = AskShareReceive(tokens[2:], "<i>it</i>", [0, 1], np.eye(3, 2), np.eye(3, 2))
    page = blank(MaskExplorer(tokens, np.eye(5)), asked)
    assert page.locator(".attn-panel .attn-key-label").all_text_contents() == tokens[2:] * 2
    assert page.locator(".attn-panel text.attn-asker").all_text_contents() == ["<i>it</i>"]
    assert page.locator(".attn-say .attn-role-key").all_text_contents() == tokens[2:]
    shown = page.locator("tbody th")
    assert shown.all_text_contents() == tokens
    page.locator(".attn-words input").fill(" ".join(tokens[2:]))
    page.get_by_role("button", name="Use them").click()
    assert shown.all_text_contents() == tokens[2:]
    made = page.locator(".attn-explorable :is(img, b:not([class]), i, script)")
    assert made.count() == 0 and page.title() == "Figures"


def test_what_follows_the_underscore_of_a_symbol_is_set_low_in_text_and_drawing(blank):
    why = {"p_i(δ_ij − p_j)": "Not vocab_size, and not n_heads.", "√d_k": "Yes."}
    page = blank(SelfCheck([("Which <b> of W_Q?", "√d_k", why)], chosen=[0]), ParameterCounter(GPT3, "Small"))
    assert page.locator(".attn-question sub").all_text_contents() == ["Q", "i", "ij", "j", "k", "heads"]
    assert page.locator("svg tspan[font-size]").all_text_contents() == ["model", "ff"]


def test_two_of_a_kind_live_on_one_page_and_keys_stay_inside_the_figure(blank):
    page = blank(EACH["mask"], MaskExplorer(SENTENCE, np.eye(5)))
    page.evaluate("document.body.addEventListener('keydown', () => { document.title = 'heard' })")
    first, second = page.locator(".attn-explorable").all()
    before = second.evaluate(LOOK)
    first.get_by_label("all but itself").click()
    first.get_by_role("button", name="cat to ate:").press("ArrowRight")
    first.get_by_role("button", name="cat to fish:").press("Enter")
    assert first.get_by_role("button", name="cat to fish: hidden").count() == 1
    assert second.evaluate(LOOK) == before and before["chosen"] == ["all words", "−∞ before softmax"]
    assert page.title() == "Figures"


def test_learning_leaves_a_trail_that_grows_and_ends(blank):
    page = blank(EACH["ask_share_receive"], reduced_motion="no-preference")
    trail = "() => document.querySelector('.attn-trail').getAttribute('points').split(' ').length"
    stop_time(page)
    press(page, "Let it learn to find “cat”")
    page.clock.run_for(1000)
    halfway = page.evaluate(trail)
    page.clock.run_for(2000)
    whole = page.evaluate(trail)
    page.clock.run_for(2000)
    assert 20 < halfway < whole == page.evaluate(trail)


def test_arcs_are_as_wide_as_the_weights_of_the_word_that_is_pressed(blank):
    figure = EACH["wall"]
    page = blank(figure)
    words = page.locator(".attn-sentence label")
    clicks, presses = lambda: words.nth(2).click(), lambda: page.keyboard.press("ArrowRight")
    for word, move in [(figure.token, lambda: None), (2, clicks), (3, presses)]:
        move()
        widths = [float(arc.get_attribute("stroke-width")) for arc in page.locator(".attn-arc").all()]
        np.testing.assert_allclose(widths, 1 + 11 * figure.patterns[23 * 9 + 4, word], atol=1e-9)  # L24H5
        assert words.nth(word).locator("input").is_checked()


BOXES = """(nodes) => nodes.map((node) => node.getBoundingClientRect())
  .map(({ x, y, width, height }) => [x, y, width, height])"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_edge_of_a_mask_lies_between_what_is_seen_and_what_is_hidden(blank, width):
    page = blank('<div id="fold" style="display: none">', EACH["mask"], width=width)
    page.evaluate("document.getElementById('fold').style.display = 'block'")
    cells, grip, edge = page.locator("button.attn-cell"), handle(page, "edge of the mask"), page.locator(".attn-edge")
    page.wait_for_function("document.querySelector('.attn-edge').getBoundingClientRect().width > 50")

    def lies_after(ahead):
        row, knob = (place.evaluate_all(BOXES) for place in (cells, grip.locator(".attn-knob")))
        left, _, wide, high = row[max(ahead, 0)]
        end = [left + wide * (ahead >= 0), row[0][1] + high / 2]
        hidden = [cell.inner_text() == "–" for cell in cells.all()]
        assert [knob[0][0] + knob[0][2] / 2, knob[0][1] + knob[0][3] / 2] == pytest.approx(end, abs=6)
        assert np.array_equal(hidden, ~np.tri(5, k=ahead, dtype=bool).ravel())
        assert edge.bounding_box()["x"] == pytest.approx(end[0], abs=6)

    lies_after(0)
    for pressed, ahead in [("ArrowRight", 1), ("Shift+ArrowLeft", -1)]:
        hold(page, "edge of the mask", pressed)
        lies_after(ahead)
    click(page, "all but itself")
    assert not grip.is_visible() and not edge.is_visible()


@pytest.mark.parametrize("hidden", [3, 4])
def test_the_bars_of_a_row_grow_when_a_neighbour_is_struck_out_and_show_what_they_were(blank, hidden):
    page = blank(MaskExplorer(SENTENCE, np.zeros((5, 5))))
    cells = page.locator("button.attn-cell")
    tall = "(cell) => new DOMMatrix(getComputedStyle(cell, '::before').transform).d"
    assert cells.nth(0).evaluate(tall) == pytest.approx(0.2)
    cells.nth(hidden).click()
    assert [cell.evaluate(tall) for cell in cells.all()[:3]] == pytest.approx([0.25] * 3)
    assert page.locator(".attn-moved").count() == 5
    was = cells.nth(0).evaluate("(cell) => Number(cell.style.getPropertyValue('--attn-was'))")
    assert was == pytest.approx(0.2)


def test_the_corner_of_the_costs_is_dragged_on_one_scale_which_changes_when_it_is_let_go(blank):
    page = blank(EACH["cost"])
    square, told = page.locator("rect.attn-of-patterns"), page.locator(".attn-detail")
    drag(page, "tokens", 1000, 1000, release=False)
    height = square.bounding_box()["height"]
    assert "Drawn" not in told.inner_text()
    page.mouse.up()
    assert square.bounding_box()["height"] == pytest.approx(height / 4, abs=1.5)
    assert "Drawn 4 times" in told.inner_text()


def test_no_band_of_the_tower_is_too_thin_to_be_seen_and_another_scale_is_told(blank):
    page = blank(ParameterCounter(GPT3, "Small"))
    said = page.locator(".attn-scene")
    assert "times" not in said.text_content()
    for name in [*GPT3][1:]:
        click(page, name)
        bands = page.locator("path.attn-attention").first.get_attribute("d")
        heights = [float(height) for height in re.findall(r"v-([\d.]+)h", bands)]
        assert min(heights) > 3 and len(heights) <= 24, name
    assert "a band = 8 floors" in said.text_content()
    click(page, "Small")
    assert "A parameter is drawn 1,024 times larger." in said.text_content()


SEEN = """(place) => {
  const step = () => Number(place.value), seen = (window.seen = [step()]);
  new MutationObserver(() => seen.at(-1) === step() || seen.push(step())).observe(place, { attributes: true });
}"""


def test_what_runs_shows_each_step_once_and_stops_at_the_end_when_asked_and_when_the_reader_takes_over(blank):
    page = blank(EACH["stepper"], reduced_motion="no-preference")
    slider = page.get_by_role("slider", name="Step")
    slider.evaluate(SEEN)
    stop_time(page)
    press(page, "▶ Run")
    page.clock.run_for(40_000)
    assert page.evaluate("seen") == [*range(35)]
    for end in (lambda: press(page, "Stop"), lambda: slider.press("ArrowRight")):
        press(page, "▶ Run")
        page.clock.run_for(1000)
        end()
        taken = page.evaluate("seen.at(-1)")
        page.clock.run_for(40_000)
        assert page.evaluate("seen.at(-1)") == taken < 34
        assert page.get_by_role("button", name="▶ Run").is_visible()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_what_runs_by_itself_runs_once_until_it_is_touched_and_not_for_who_asked_for_less_motion(blank, motion):
    page = blank(stepper(plays=True, step=34), reduced_motion=motion)
    step = page.locator(".attn-step-title")
    if motion == "reduce":
        page.wait_for_timeout(600)
        return expect(step).to_contain_text("Step 35 of 35")
    expect(page.locator(".attn-running")).to_be_visible()
    expect(step).not_to_contain_text("Step 35 of 35")
    page.locator(".attn-loom").dispatch_event("pointerdown")
    reached = step.text_content()
    page.wait_for_timeout(900)
    assert step.text_content() == reached
    press(page, "▶ Run")
    expect(step).not_to_contain_text(reached)


def test_values_run_down_the_ribbons_once_the_reader_sees_them(blank):
    page = blank('<div style="height: 3000px"></div>', EACH["ask_share_receive"], reduced_motion="no-preference")
    running = "() => document.querySelectorAll('.attn-drop[visibility=visible]').length > 0"
    page.wait_for_timeout(300)
    assert not page.evaluate(running)
    page.locator(".attn-drop").first.evaluate("drop => drop.ownerSVGElement.scrollIntoView()")
    page.wait_for_function(running)


def test_an_arrow_that_shows_how_it_learns_goes_back_unless_it_is_taken(blank):
    arrow = (
        "() => document.querySelector('.attn-outcome, .attn-explorable').textContent.match(/asks with \\((.*?)\\)/)[1]"
    )
    page = blank(ask_share_receive(shows=True), reduced_motion="no-preference")
    page.clock.install()
    for is_taken in (False, True):
        page.reload()
        page.wait_for_function(f"({arrow})() !== '0.00, 1.00'")
        if is_taken:
            hold(page, "The question of it", "ArrowRight")
            page.clock.run_for(300)  # a gliding that has begun ends
            taken = page.evaluate(arrow)
        page.clock.run_for(5000)
        assert page.evaluate(arrow) == (taken if is_taken else "0.00, 1.00")
    assert taken != "0.00, 1.00"
    address = page.url
    page.goto("about:blank")
    page.goto(f"{address}#arrow-3=[[1,1]]")  # an arrow that was sent
    page.evaluate(FRAMES)
    page.clock.run_for(5000)
    assert page.evaluate(arrow) == "1.00, 1.00"


@pytest.mark.parametrize("dark", [False, True])
def test_bars_are_seen_in_the_readers_own_colours(blank, dark):
    bar = '<div class="attn-explorable"><span class="attn-bar"></span></div>'
    page = blank(bar, EACH["softmax"], forced_colors="active", dark=dark)
    ink, paper, border, share = page.evaluate(
        """() => {
          const [bar, colour] = [document.querySelector(".attn-bar"), (style) => style.backgroundColor];
          return [getComputedStyle(bar, "::before"), getComputedStyle(bar)].map(colour)
            .concat(getComputedStyle(bar).borderTopColor, getComputedStyle(document.querySelector(".attn-share")).fill);
        }"""
    )
    same = {tuple(re.findall(r"\d+", colour)[:3]) for colour in (ink, border, share)}
    assert len(same) == 1 and not same & {tuple(re.findall(r"\d+", paper)[:3])}


def has_focus(node):
    return node.evaluate("node => node === document.activeElement")


FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


def test_arrow_keys_home_and_end_move_inside_a_table(blank):
    page = blank(EACH["mask"])
    page.get_by_role("button", name="cat to cat:").focus()
    moves = {"ArrowRight": "cat to ate", "ArrowUp": "black to ate", "ArrowLeft": "black to cat"}
    moves |= {"ArrowDown": "cat to cat", "Home": "cat to The", "End": "cat to fish"}
    for key, place in moves.items():
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED).split(":")[0] == place, key
    for cell, keys in {"The to The:": ["ArrowUp", "ArrowLeft"], "fish to fish:": ["ArrowRight", "ArrowDown"]}.items():
        page.get_by_role("button", name=cell).focus()
        for pressed in keys:
            page.keyboard.press(pressed)
            assert page.evaluate(FOCUSED).startswith(cell), "there is nothing beyond the edge"
    scrolls = """(cell, keys) => keys.map((key) =>
      cell.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))"""
    cell = page.get_by_role("button", name="cat to cat:")
    assert cell.evaluate(scrolls, [*moves, "PageDown", "Tab"]) == [False] * len(moves) + [True, True]


def test_a_table_is_one_tab_stop_which_stays_where_the_reader_was(blank):
    page = blank(EACH["mask"], EACH["mask"])
    for table in page.locator("table").all():
        stops = table.locator("button[tabindex='0']")
        assert table.locator("button").count() > 1 and stops.count() == 1
        last = table.locator("button").last
        last.focus()
        assert stops.count() == 1 and last.get_attribute("tabindex") == "0"
        page.keyboard.press("Tab")
        assert not table.evaluate("table => table.contains(document.activeElement)")
        page.keyboard.press("Shift+Tab")
        assert has_focus(last)


def test_the_keyboard_stays_where_it_was_when_the_words_or_the_model_change(blank):
    page = blank(EACH["softmax"])
    field, own = page.locator(".attn-words input"), "one two"
    before = field.input_value()
    field.fill(own)
    for name, text in [("Use them", own), ("Start again", before)]:
        button = page.get_by_role("button", name=name)
        button.press("Enter")
        assert field.input_value().split() == text.split() and has_focus(button)
    field.fill(own)
    page.evaluate("document.body.style.height = '5000px'; scrollTo(0, 4000)")
    page.keyboard.press("Enter")
    assert field.input_value() == own and has_focus(field)
    assert page.evaluate("scrollY") == 4000, "the page stays where the reader has it"

    page = blank(EACH["cost"])
    page.get_by_label("175B").focus()
    for label in reversed(list(GPT3)[:-1]):  # each key finds what the one before it left
        page.keyboard.press("ArrowUp")
        assert control(page, label).is_checked() and has_focus(control(page, label))


# --- the loom --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("backward", [False, True])
def test_the_loom_is_as_high_at_one_step_as_at_any_other_and_each_says_what_it_does(blank, recorded, width, backward):
    page = blank(stepper(backward=backward, step=34 * backward), width=width)
    sizes = """(names) => names.map((name) => {
      const { top, height } = document.querySelector(name).getBoundingClientRect();
      return [top + scrollY, height];
    })"""
    unfold(page)
    parts = [f".attn-{name}" for name in ("explorable", "loom", "time", "step", "magnifier")]
    found, said = [], {}
    for number in range(1, 36):
        found.append(page.evaluate(sizes, parts))
        title, text = page.locator(".attn-step-title, .attn-step-text").all_inner_texts()
        assert title.startswith(f"Step {number} of 35, ")
        said[title] = text
        page.get_by_role("button", name="Next step").dispatch_event("click")
    assert page.get_by_role("slider", name="Step", exact=False).count() == 1
    assert all(found[0] == one for one in found)
    told = {"steps": said}
    assert told == recorded(f"stepper_{'backward' if backward else 'forward'}", told)
    assert found[0][1][1] < 480 and page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("backward", [False, True])
def test_the_whole_run_has_its_colours_from_the_start_and_what_a_step_touches_stands_out(blank, backward):
    page = blank(stepper(backward=backward, step=34 * backward))
    shades = "(strips) => strips.map(({ classList, style }) => [classList.contains('attn-now'), Number(style.opacity)])"
    ribbons = "(ribbons) => ribbons.map(({ style }) => Number(style.opacity))"
    for _ in range(3):
        found = page.locator(".attn-vector").evaluate_all(shades)
        assert dict(found) == {True: 1, False: 0.8} and len({*map(tuple, found)}) == 2
        assert sum(opacity > 0.5 for opacity in page.locator(".attn-ribbon").evaluate_all(ribbons)) == 2 * 2 * 5
        press(page, "Next step")


def test_a_strip_unfolds_its_numbers_and_they_stay_unfolded_with_other_words(blank):
    page = blank(stepper(step=8))
    numbers, own = page.locator(".attn-magnifier"), page.locator(".attn-words")
    assert not numbers.is_visible() and not own.is_visible()
    press(page, "layer 1: normalised, “she”")
    assert numbers.is_visible() and page.locator(".attn-arrays caption").inner_text() == "normalised (words × dmodel)"
    words(page, "she lost gold")
    assert numbers.is_visible() and has_focus(own.get_by_role("button"))
    sentence = page.locator("label", has_text="Sentence").locator("select")
    offered = ["<b>Anna lost gold and she", "<b>Anna lost", "she lost gold"]
    assert sentence.locator("option").all_inner_texts() == offered
    assert sentence.locator("option:checked").inner_text() == "she lost gold"
    sentence.select_option("<b>Anna lost")
    assert page.locator(".attn-foot").all_text_contents() == ["<b>Anna", "lost"] and numbers.is_visible()


def test_numbers_that_are_unfolded_begin_with_the_word_that_is_followed_in_view(blank):
    page = blank(stepper(tokens=["<b>Anna"] * 6, step=9), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390, "a long sentence does not widen the page"
    unfold(page)
    page.wait_for_function("document.querySelector('.attn-arrays .attn-scroll').scrollTop > 0")
    below = """([panel, row]) => panel.getBoundingClientRect().bottom - row.getBoundingClientRect().bottom"""
    found = [page.locator(f".attn-arrays {part}").last.element_handle() for part in (".attn-scroll", "tbody tr")]
    assert abs(page.evaluate(below, found)) < 2  # as cells stand apart


def test_what_a_step_does_is_spoken_once(blank):
    page = blank(stepper(step=2))
    unfold(page)
    watch = """(step) => {
      document.body.dataset.spoken = 0;
      new MutationObserver(() => document.body.dataset.spoken++)
        .observe(step, { childList: true, characterData: true, subtree: true });
    }"""
    page.locator(".attn-step[aria-live=polite]").evaluate(watch)
    touch(page, ".attn-arrays .attn-cell", 3)
    page.locator(".attn-setting input").press("End")
    assert page.locator(".attn-arrays .attn-set").count() == 1
    assert page.evaluate("document.body.dataset.spoken") == "0"
    press(page, "Next step")
    assert page.evaluate("document.body.dataset.spoken") == "1"


def test_every_strip_of_the_loom_and_every_number_of_it_is_reached_by_the_keyboard(blank):
    page = blank(stepper())
    labels = page.locator(".attn-vector, .attn-foot").evaluate_all(
        "(nodes) => nodes.map((node) => node.getAttribute('aria-label') ?? node.textContent)"
    )
    assert page.locator(".attn-loom [tabindex='0']").count() == 1
    page.locator(".attn-foot").first.focus()
    met = []
    for _ in range(1 + 2 * 12 + 4):  # the words, the floors of two layers, and those below and above
        page.keyboard.press("Home")
        met.append(page.evaluate(FOCUSED))
        while True:
            page.keyboard.press("ArrowRight")
            if (here := page.evaluate(FOCUSED)) == met[-1]:
                break
            met.append(here)
        page.keyboard.press("ArrowUp")
    assert sorted(met) == sorted(labels) and len(set(met)) == len(met) == 5 + 5 * 40
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    assert page.evaluate(FOCUSED) == "normalised, “<b>Anna”"
    page.keyboard.press("Enter")
    arrays = page.get_by_label("Numbers that are shown")
    assert arrays.locator("option:checked").inner_text() == "normalised"
    assert page.locator(".attn-foot[aria-pressed=true]").text_content() == "<b>Anna"
    page.locator(".attn-arrays [tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".attn-detail").inner_text().endswith("its deviation.")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert page.locator(".attn-setting output").inner_text() == "4.00"
    assert page.locator(".attn-arrays .attn-set").inner_text() == "4.00"


def test_a_number_is_dragged_and_only_while_it_is_held_and_what_is_hidden_is_not(blank):
    page = blank(stepper(step=2))
    unfold(page)
    cell, handled = page.locator(".attn-arrays .attn-cell").nth(5), page.locator(".attn-setting output")
    before = float(cell.inner_text().replace("−", "-"))
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 50, y)
    assert float(cell.inner_text().replace("−", "-")) == pytest.approx(before + 1) == float(handled.inner_text())
    page.mouse.move(x - 300, y)
    assert float(handled.inner_text().replace("−", "-")) == pytest.approx(before - 6), "the slider reaches as far"
    page.mouse.up()
    page.mouse.move(x + 3, y)
    assert float(cell.inner_text().replace("−", "-")) == pytest.approx(before - 6)
    assert page.locator(".attn-vector .attn-set").count() == page.locator(".attn-arrays .attn-set").count() == 1
    page.get_by_role("slider", name="Step").fill("6")
    hidden = page.locator(".attn-arrays .attn-cell", has_text="∞").first
    hidden.hover()
    page.mouse.down()
    page.mouse.move(x + 100, y)
    assert hidden.inner_text() == "−∞" and page.locator(".attn-setting input").is_disabled()


def test_strips_fly_to_what_they_make_and_end_as_for_a_reader_who_asked_for_no_motion(blank):
    looks = {}
    for motion in ("no-preference", "reduce"):
        page = blank(stepper(step=8), reduced_motion=motion)
        press(page, "Next step")
        flying = page.locator(".attn-flights > *").count()
        pairs = 2 * 15  # from each value to each word that may look at it
        assert flying == (pairs if motion == "no-preference" else 0)
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        page.wait_for_function("document.querySelectorAll('.attn-flights > *').length === 0")
        looks[motion] = page.locator(".attn-explorable").evaluate(LOOK)
    assert looks["no-preference"] == looks["reduce"]


# --- what comes on request -------------------------------------------------------------------------------------------


REQUESTS = {  # what is not there, how it is asked for, what is told, and what is seen once it has come
    "press_train": ("trainer.js", (press, "▶ Train"), "What trains did not come.", ".attn-look[d^=M]"),
    "novel_reader": ("novels-3.js", (press, "Load the model (1.1 MB)"), "The model did not come.", ".attn-token"),
    "wall": ("wall-SmolLM2.js", (choose, "8"), "The sentences did not come.", ".attn-sentence:has-text('two')"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_heavy_comes_on_request_and_its_absence_is_told_and_it_may_be_asked_for_again(unloaded, beside, name):
    script, (ask, *what), told, seen = REQUESTS[name]
    text = (beside / script).read_bytes()
    (beside / script).unlink()
    page = unloaded(EACH[name])
    assert [address.rpartition("/")[2] for address in page.requested[1:]] == ["explorables.js"]
    ask(page, *what)
    page.get_by_text(told).wait_for()
    (beside / script).write_bytes(text)
    ask(page, *what)
    page.locator(seen).first.wait_for()
    page.said.clear()


# --- in a notebook ---------------------------------------------------------------------------------------------------


FOLLOWED = """async ({ el, end, did, listening, tell }) => {
  const events = listening.map(([event]) => event);
  const after = async (work) => {
    did.length = 0;
    work();
    await Promise.resolve();
    return [...did];
  };
  const drawn = await after(() => events.forEach((event) => tell(event)));
  const control = el.querySelector("input:not([type='checkbox']), .attn-answer, .attn-handle")
    ?? el.querySelector(".attn-button");
  const told = (await after(() =>
    [new Event("input"), new Event("change"), new Event("click"), new KeyboardEvent("keydown", { key: "ArrowUp" })]
      .forEach((event) => control.dispatchEvent(event))
  )).filter((name) => name !== "get");
  const again = [...el.querySelectorAll("button")].filter(({ textContent }) => textContent === "Start again");
  const drawnAgain = await after(() => again.forEach((button) => button.click()));
  const ended = await after(() => {
    events.forEach((event) => tell(event));
    end();
  });
  return { events, drawn, told, drawnAgain, ended, left: listening.length };
}"""


def test_a_figure_reads_its_model_once_a_change_tells_it_and_is_silent_when_it_is_taken_away(blank):
    page = blank()
    for name in ALIVE:
        if name in ("guess", "smollm2_reader"):  # what a guess asks stays, and the model is asked at once
            continue
        found, traits = in_notebook(page, EACH[name], FOLLOWED), list(EACH[name].state())
        assert sorted(found["events"]) == sorted(f"change:{trait}" for trait in traits), name
        assert found["drawn"] == ["get"] * len(traits), "it is drawn once, however much has changed"
        assert {one[:3] for one in found["told"][:-1]} == {"set"}, "the kernel must hear of it"
        assert found["told"][-1] == "save"
        if name != "self_check":
            assert found["drawnAgain"][-1] == "get", "what was typed goes even if nothing has changed"
        assert found["ended"] == [] and found["left"] == 0


def test_a_sentence_of_another_length_gets_handles_of_its_own(blank):
    longer = """async ({ el, model }) => {
      model.set("tokens", ["a", "b", "c", "d", "e"]);
      model.set("scores", [1, 2, 3, 4, 5]);
      await Promise.resolve();
      return el.querySelectorAll(".attn-handle").length;
    }"""
    assert in_notebook(blank(), SoftmaxExplorer(["a", "b"], [1, 2]), longer) == 5


# --- the Python side -------------------------------------------------------------------------------------------------


def test_arguments_come_in_the_order_of_the_traits_and_no_more_than_these():
    figure = SoftmaxExplorer(["a", "b"], [1, 2], 0.5, offset=3)
    state = {"tokens": ["a", "b"], "scores": [1, 2], "temperature": 0.5, "offset": 3, "knobs": False}
    assert figure.state() == state
    with pytest.raises(TypeError, match="takes tokens, scores, temperature, offset, knobs, but 6 values are given"):
        SoftmaxExplorer(["a", "b"], [1, 2], 1, 0, True, "too much")
    with pytest.raises(TypeError, match="tokens"):
        SoftmaxExplorer(["a", "b"], [1, 2], tokens=["c", "d"])


def test_what_a_notebook_shows_without_a_kernel_holds_the_same_state():
    figure = MaskExplorer(["<b>a", "b"], np.eye(2))
    data, _ = figure._repr_mimebundle_()
    state = json.loads(re.search(r"<script[^>]*>(.*?)</script>", data["text/html"])[1])
    assert state == figure.state()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == "Mask explorer: 0 of 4 pairs hidden; 'b' attends to <b>a 0.27, b 0.73"


def test_no_explorable_reaches_outside_itself():
    for path in sorted(FOLDER.glob("*.js")):
        source = read_source(path.name)
        known = source.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"innerHTML|getElementById|http://", known)
        assert path.name == "mount.js" or "document.querySelector" not in source


def test_what_a_module_imports_is_exported_there():
    for path in sorted([*FOLDER.rglob("*.js"), *PARTS]):
        for names, _, other in IMPORT.findall(path.read_text(encoding="utf-8")):
            known = exported((path.parent / other).read_text(encoding="utf-8"))
            assert set(named(names)) <= set(known), f"{path.name} imports what {other} does not export"
