"""The guess: what is told of a head is what was measured, and it is told once there is a guess, not before."""

import copy
import gzip
import json
import re

import numpy as np
import pytest
import traitlets
from axe_playwright_python.sync_playwright import Axe
from examples import head_guess as figure
from hands import bring, choose, press
from looks import LOOK
from numpy.testing import assert_allclose

from attn.course.recordings import read_recording
from attn.figures import HeadGuess
from attn.figures.head_guess import NAMELESS, REMARKS, RULES, class_of, weights_script

PATTERNS, MEASURED = read_recording("minilm_patterns"), read_recording("minilm")
ROWS, FOUND = PATTERNS["runs"], MEASURED["runs"]
HEADS, LOOKED, IT = FOUND["heads"], FOUND["every head"]["by head"], FOUND["it"]
LEVELS = [[PATTERNS["levels"].index(letter) for letter in row["weights"]] for row in ROWS]
WEIGHTS = [np.reshape(some, (72, *2 * [len(row["tokens"])])) / 100 for some, row in zip(LEVELS, ROWS)]
TIRED, SOFT, SHREW, CARBON, BIOPSY, EIFFEL, FLUFFY, TROPHY, IPHONE, DOG = range(10)
NOUNS = IT["difference of differences of all heads"]
CHANGE = LOOKED["off: change of tokens"]


@pytest.fixture
def same_look(blank):
    """Say whether a page shows what it would show if the figure had been made so."""

    def compare(page, **changes):
        looks = [one.locator(".attn-explorable").evaluate(LOOK) for one in (page, blank(figure(**changes)))]
        return looks[0] == looks[1]

    return compare


# --- arithmetic ------------------------------------------------------------------------------------------------------


def test_the_page_and_python_decode_the_weights_alike_for_all_sentences(js):
    one = figure()
    found = js(
        """(state) => state.texts.map((_, text) => state.heads.map((_, head) =>
          attn.head_guess.weightsOf(state, text, head)))""",
        one.state(),
    )
    for text, weights in enumerate(WEIGHTS):
        assert_allclose(found[text], weights, atol=1e-12)
        off = 0.005 * weights.shape[1]
        assert_allclose(weights.sum(axis=2), 1, atol=off, err_msg="a token that asks gives 1 in all")
        for head in ("L1H1", "L3H10", "L6H12"):
            one.head, one.text, one.token = head, text, 0
            assert_allclose(one.pattern, weights[HEADS.index(head)], atol=1e-12)


def test_a_look_at_the_kept_patterns_comes_close_to_what_was_measured():
    """Ten sentences are not fifty; but a mistake in the order of heads or axes would leave nothing alike."""
    to_first = np.mean([weights[:, 1:-1, 0].mean(axis=1) for weights in WEIGHTS], axis=0)
    previous = np.mean([np.diagonal(w, -1, 1, 2)[:, 1:-1].mean(axis=1) for w in WEIGHTS], axis=0)
    assert np.corrcoef(to_first, LOOKED["[CLS]"])[0, 1] > 0.9
    assert np.corrcoef(previous, LOOKED["previous"])[0, 1] > 0.9


def test_ranks_count_the_heads_that_change_more(js):
    rows = [*(row["off: change of tokens"] for row in ROWS), CHANGE]
    found = js(
        "(heads, rows) => rows.map((row) => heads.map((_, i) => attn.head_guess.ranksOf(heads, row, i)))", HEADS, rows
    )
    for row, ranks in zip(rows, found, strict=True):
        layers = np.reshape(row, (6, 12))
        in_layer = (layers[:, None, :] > layers[:, :, None]).sum(axis=2) + 1
        of_all = (np.array(row) > np.array(row)[:, None]).sum(axis=1) + 1
        assert_allclose(ranks, np.stack([in_layer.ravel(), of_all], axis=1))
    assert [found[10][HEADS.index(head)] for head in ("L6H11", "L3H10", "L4H10")] == [[1, 1], [12, 72], [1, 10]]


NOTHING = dict.fromkeys(RULES, 0.0)


@pytest.mark.parametrize(
    ("measures", "kind"),
    [
        ({}, "nothing I can name"),
        ({"previous token": 0.5}, "previous token"),
        ({"previous token": 0.499}, "nothing I can name"),
        ({"same word": 0.3}, "same word"),
        ({"same word": 0.299}, "nothing I can name"),
        ({"the noun that fits": 0.2}, "the noun that fits"),
        ({"the noun that fits": 0.199}, "nothing I can name"),
        ({"the noun that fits": -0.9}, "nothing I can name"),
        ({"rests on the first": 0.5}, "rests on the first"),
        ({"rests on the first": 0.499}, "nothing I can name"),
        ({"previous token": 0.5, "rests on the first": 0.5}, "previous token"),
        ({"same word": 0.3, "rests on the first": 0.7}, "same word"),
        ({"the noun that fits": 0.2, "rests on the first": 0.8}, "the noun that fits"),
        ({"same word": 0.3, "previous token": 0.6}, "previous token"),
    ],
)
def test_a_head_is_called_by_the_first_rule_that_holds(measures, kind):
    assert class_of({**NOTHING, **measures}) == kind


def test_heads_are_called_by_what_was_recorded():
    one = figure()
    called = {kind: [head for head, name in zip(HEADS, one.classes) if name == kind] for kind in one.kinds}
    assert called["previous token"] == ["L1H3"] and called["same word"] == ["L1H9"]
    assert called["the noun that fits"] == ["L4H2"] == [IT["head"]]
    assert called["rests on the first"] == [head for head, w in zip(HEADS, LOOKED["[CLS]"]) if w >= 0.5]
    assert len(called[NAMELESS]) == 72 - 3 - len(called["rests on the first"]) > 30
    assert list(one.measures) == list(RULES) == one.kinds[:-1]
    for name, row in zip(one.measures, (LOOKED["previous"], LOOKED["same word"], NOUNS, LOOKED["[CLS]"])):
        assert one.measures[name] == row


# --- what is told ----------------------------------------------------------------------------------------------------


def rank(numbers, head):
    return 1 + sum(number > numbers[HEADS.index(head)] for number in numbers)


def weight(text, head, query, key):
    return WEIGHTS[text][HEADS.index(head), query, key]


def here(text, head):
    return rank(ROWS[text]["off: change of tokens"], head)


def looked(head, *names):
    return [LOOKED[name][HEADS.index(head)] for name in names]


IT_AT, CAT, MAT = 8, 2, 6  # in both sentences of the cat
MEANS = ("previous", "same word", "[CLS]")
LEAN = IT["cause"]["nothing done"][0]
CASES = {  # the numbers that each verdict tells, in their order; and what its words claim beside them
    "L1H3": (
        lambda h: [50, looked(h, "previous")[0], CHANGE[2], rank(CHANGE, h), 72],
        lambda h: looked(h, "previous")[0] == max(max(LOOKED[name]) for name in (*MEANS, "next", "self", "[SEP]"))
        and rank(CHANGE, h) > 20,
    ),
    "L3H8": (
        lambda h: [50, looked(h, "[CLS]")[0], CHANGE[31], sum(one < CHANGE[31] for one in CHANGE)],
        lambda h: looked(h, "[CLS]")[0] == max(LOOKED["[CLS]"]) and rank(CHANGE, h) > 60,
    ),
    "L3H10": (
        lambda h: [50, looked(h, "[CLS]")[0], weight(DOG, h, 9, 3), here(DOG, h), 72, rank(CHANGE, h), 50],
        lambda h: ROWS[DOG]["tokens"][9] == ROWS[DOG]["tokens"][3] == "chased"
        and weight(DOG, h, 9, 3) > 0.5 > weight(DOG, h, 9, 0)
        and here(DOG, h) <= 10 < 72 == rank(CHANGE, h),
    ),
    "L4H11": (
        lambda h: [
            50, *looked(h, *MEANS), WEIGHTS[SHREW][46, 1:5, 0].mean(), WEIGHTS[DOG][46, 1:13, 0].mean(),
            here(SHREW, h), 72, here(DOG, h),
        ],
        lambda h: here(DOG, h) < 10 and here(SHREW, h) > 60 and WEIGHTS[SHREW][46, 1:5, 0].min() > 0.8,
    ),
    "L3H12": (
        lambda h: [
            50, looked(h, "[CLS]")[0], np.mean([weight(CARBON, h, i, i - 1) for i in range(2, 6)]),
            looked(h, "previous")[0], 50,
        ],
        lambda h: 0.2 < looked(h, "previous")[0] < looked(h, "[CLS]")[0] and rank(LOOKED["previous"], h) == 2,
    ),
    "L4H2": (
        lambda h: [
            100, NOUNS[37], *(weight(text, h, IT_AT, noun) for text in (TIRED, SOFT) for noun in (CAT, MAT)),
            100, 100, 3, 48, LEAN, IT["cause"][f"{h} off"][0],
        ],
        lambda h: IT["weights"]["the right way"][0] == 1
        and IT["pairs reported"] == 100
        and IT["other sets"]["trophy and suitcase"]["the right way"][0] * 48 == 3
        and abs(LEAN - IT["cause"][f"{h} off"][0]) < 0.001
        and weight(SOFT, h, IT_AT, MAT) > weight(SOFT, h, IT_AT, CAT),
    ),
    "L6H12": (
        lambda h: [
            50, *looked(h, *MEANS), weight(TIRED, h, IT_AT, CAT), weight(SOFT, h, IT_AT, CAT),
            (WEIGHTS[TIRED][71].argmax(axis=1) == CAT).sum(), 13, here(TIRED, h), 72,
        ],
        lambda h: here(TIRED, h) == 1 and abs(NOUNS[71]) < 0.1 and sum(WEIGHTS[TIRED][71].argmax(axis=1) == CAT) > 10,
    ),
    "L5H4": (
        lambda h: [
            50, looked(h, "[CLS]")[0], weight(TROPHY, h, 10, 2), weight(TROPHY, h, 10, 8),
            weight(SOFT, h, IT_AT, CAT), weight(SOFT, h, IT_AT, MAT), 100, NOUNS[51],
        ],
        lambda h: ROWS[TROPHY]["tokens"][10] == "it"
        and weight(TROPHY, h, 10, 2) > weight(TROPHY, h, 10, 8)
        and weight(SOFT, h, IT_AT, CAT) > weight(SOFT, h, IT_AT, MAT),
    ),
    "L3H2": (
        lambda h: [
            50, *looked(h, *MEANS), weight(TIRED, h, IT_AT, 10), LEAN,
            IT["before it"]["vector of it, three heads off"][0],
        ],
        lambda h: set(IT["before it"]["three heads"]) == {"L3H2", "L3H4", "L3H9"}
        and IT["before it"]["vector of it, three heads off"][0] < 0.6 * LEAN
        and IT["before it"]["three heads off"][0] < 0.1 * IT["weights"]["difference of differences"][0],
    ),
    "L4H10": (
        lambda h: [50, *looked(h, *MEANS), CHANGE[45], 1, 5, rank(CHANGE, h), 72],
        lambda h: CHANGE[45] == max(CHANGE[:60]) and CHANGE.count(CHANGE[45]) == 1,
    ),
}  # fmt: skip


def test_there_is_a_test_for_every_case():
    assert list(CASES) == list(REMARKS) == [case["head"] for case in figure().cases]


@pytest.mark.parametrize("head", CASES)
def test_a_verdict_tells_what_was_recorded_and_its_words_hold(head):
    numbers, claim = CASES[head]
    one = figure(head=head)
    verdict = one.verdicts[HEADS.index(head)]
    told = re.findall(r"(?<![LH\d])\d+(?:\.\d+)?", verdict)  # no names of heads
    expected = [f"{number:.{len(text.partition('.')[2])}f}" for number, text in zip(numbers(head), told, strict=True)]
    assert told == expected
    assert claim(head)
    assert verdict.endswith(".")


def test_a_head_without_a_remark_is_told_by_its_measures_alone():
    one = figure()
    others = [head for head in HEADS if head not in REMARKS]
    assert len(others) == 62
    for head in others:
        place = HEADS.index(head)
        previous, same, first = (f"{number:.2f}" for number in looked(head, *MEANS))
        evidence = {
            "same word": f"a word that comes again gives {same} to its other places",
            "rests on the first": f"a token gives {first} to [CLS]",
            NAMELESS: f"a token gives {previous} to the one before it, {same} to the same word and {first} to [CLS]",
        }[one.classes[place]]
        layer = CHANGE[place // 12 * 12 :][:12]
        ranks = f"rank {1 + sum(c > CHANGE[place] for c in layer)} of 12 in its layer, {rank(CHANGE, head)} of all 72."
        assert one.verdicts[place] == (
            f"by measure it is “{one.classes[place]}”: over 50 sentences {evidence}. "
            f"Switched off, it changes the tokens by {CHANGE[place]:.3f}: {ranks}"
        )


def test_cases_open_on_the_tokens_that_they_speak_of():
    one = figure()
    asks = {case["head"]: (case["text"], one.tokens[case["text"]].split()[case["token"]]) for case in one.cases}
    assert asks == {
        "L1H3": (TIRED, "it"), "L3H8": (EIFFEL, "tower"), "L3H10": (TIRED, "it"), "L4H11": (SHREW, "mole"),
        "L3H12": (CARBON, "carbon"), "L4H2": (TIRED, "it"), "L6H12": (TIRED, "it"), "L5H4": (TROPHY, "it"),
        "L3H2": (TIRED, "it"), "L4H10": (TIRED, "it"),
    }  # fmt: skip


# --- before and after a guess ----------------------------------------------------------------------------------------

HIDDEN = ".attn-bar, .attn-off, .attn-elsewhere, .attn-right, [aria-pressed=true].attn-answer"


def test_nothing_is_told_before_a_guess_whatever_is_looked_at(blank):
    one = figure()
    page = blank(one)
    for head, text in [("L1H3", 0), ("L4H2", 7), ("L3H10", 9), ("L6H12", 2)]:
        press(page, f"Head {head}")
        choose(page, str(text))
        root = page.locator(".attn-explorable")
        assert root.locator(HIDDEN).count() == 0
        assert root.locator(".attn-why").inner_text() == "" and root.locator(".attn-after").inner_text() == ""
        seen = root.evaluate("root => root.innerText + [...root.querySelectorAll('*')].map((one) => "
                             "[...one.attributes].map(({ value }) => value)).join()")  # fmt: skip
        assert "measure" not in seen and one.verdicts[HEADS.index(head)][:40] not in seen
        assert "Switched off" not in seen and "No guess yet" in seen


def test_each_guess_is_written_down_and_answered_by_the_measure(blank):
    page = blank(figure(head="L3H5"))
    for kind in figure().kinds:
        press(page, kind)
        agrees = kind == "rests on the first"
        assert figure(guesses={"L3H5": kind}).agreeing == agrees
        said = page.locator(".attn-why").inner_text()
        assert said.startswith(f"You said “{kind}”; by measure it is “rests on the first”: over 50 sentences")
        assert page.locator(".attn-right").count() == agrees
        assert page.get_by_text(f"{int(agrees)} of 1 guesses agree with the measure").is_visible()
        told = page.get_by_text("difference of differences", exact=True).count()
        assert (told > 0) == (kind == "the noun that fits")
        marked = "node => getComputedStyle(node, '::before').content"
        assert page.locator(".attn-answer[aria-pressed=true]").evaluate(marked)[1] == ("✓" if agrees else "✗")
        press(page, "Start again")
        bring(page)


def test_a_guess_is_kept_and_hides_and_shows_with_its_head(blank, same_look):
    page = blank(figure())
    press(page, "previous token")
    press(page, "Head L1H4")
    assert page.locator(HIDDEN).count() == 0 and page.locator(".attn-why").inner_text() == ""
    press(page, "Head L1H3, your guess: previous token")
    assert same_look(page, guesses={"L1H3": "previous token"})
    page.locator(".attn-answer").nth(1).dispatch_event("click")
    assert same_look(page, guesses={"L1H3": "previous token"}), "what is written down stays"
    assert page.locator(".attn-answer[aria-disabled=true]").count() == 5
    press(page, "Start again")
    assert same_look(page) and page.locator(HIDDEN).count() == 0
    assert page.locator(".attn-answer[aria-disabled=true]").count() == 0


PICTURES = """(root) => Object.fromEntries([".attn-map", ".attn-elsewhere"].map((kind) => [kind,
  [...root.querySelectorAll(kind)].map((one) => [one.innerText, one.querySelector("svg").getAttribute("viewBox"),
    ...[...one.querySelectorAll("path")].map((path) =>
      [Number(path.getAttribute("opacity")), path.getAttribute("d")])])]))"""


def picture(weights, text=""):
    """A small map: squares in four shades, by the nearest quarter."""
    quarters, n = np.floor(4 * weights + 0.5).astype(int), len(weights)
    shades = [
        [0.2 + 0.8 * level / 4, "".join(f"M{j},{i}h1v1h-1z" for i, j in np.argwhere(quarters == level))]
        for level in range(1, 5)
    ]
    return [text, f"0 0 {n} {n}", *shades]


@pytest.mark.parametrize("text", [TIRED, DOG])
def test_small_maps_draw_all_heads_and_after_a_guess_the_other_nine_sentences(blank, text):
    page = blank(figure(head="L3H10", text=text, token=1, guesses={"L3H10": "same word"}))
    found = page.locator(".attn-explorable").evaluate(PICTURES)
    by_layer = [one for layer in range(6) for one in found[".attn-map"][layer::6]]
    assert by_layer == [picture(weights) for weights in WEIGHTS[text]]
    others = [picture(WEIGHTS[i][33], row["text"]) for i, row in enumerate(ROWS) if i != text]
    assert found[".attn-elsewhere"] == others and len(others) == 9


def test_a_small_map_of_another_sentence_leads_to_the_large_one(blank, same_look):
    page = blank(figure(guesses={"L1H3": "same word"}))
    page.locator(".attn-elsewhere").nth(TROPHY - 1).click()
    assert same_look(page, text=TROPHY, token=10, guesses={"L1H3": "same word"})
    assert page.evaluate("document.activeElement.textContent") == "it"
    assert page.evaluate("document.activeElement.className") == "attn-ask"
    page.locator(".attn-elsewhere").nth(SHREW).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "american", "where there is no “it”, the first word"


# --- moves -----------------------------------------------------------------------------------------------------------


def focused(page):
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")


def test_the_keyboard_alone_chooses_looks_guesses_and_goes_on(blank, same_look):
    page = blank(figure())
    page.locator("select").focus()
    page.keyboard.press("Tab")
    assert focused(page) == "Head L1H1"
    for pressed in (*["ArrowDown"] * 9, "End", *["ArrowLeft"] * 3, "Enter"):
        page.keyboard.press(pressed)
    assert focused(page) == "Head L3H10" and same_look(page, head="L3H10")
    page.keyboard.press("Tab")
    assert focused(page) == "[CLS]", "all heads are one stop"
    for pressed in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(pressed)
    assert same_look(page, head="L3H10", token=2)
    page.keyboard.press("ArrowRight")
    assert page.locator(".attn-detail").inner_text() == (
        f"Head L3H10: “cat” asks “[CLS]” and gives {WEIGHTS[TIRED][33, 2, 0]:.2f}."
    )
    for pressed in ("Tab", "Tab", "Enter"):
        page.keyboard.press(pressed)
    assert focused(page) == "same word", "the pattern is one stop, and the guess leaves the keyboard where it was"
    assert page.locator(".attn-why").inner_text().startswith("You said “same word”; by measure it is “rests on")
    for pressed in ("Tab", "Tab", "Tab", "Tab", "Enter"):
        page.keyboard.press(pressed)
    assert focused(page) == "Next case →"
    assert same_look(page, head="L4H11", text=SHREW, token=4, guesses={"L3H10": "same word"})


def test_the_number_of_a_cell_is_told_where_it_is_only_a_shade(blank):
    page = blank(figure(head="L4H2"))
    cell = page.get_by_role("button", name="it asks cat: 0.49", exact=True)
    assert cell.inner_text() == ""
    cell.hover()
    assert page.locator(".attn-detail").inner_text() == "Head L4H2: “it” asks “cat” and gives 0.49."
    choose(page, str(EIFFEL))
    assert page.get_by_role("button", name="at asks the: 0.48", exact=True).inner_text() == "0.48"
    page.locator(".attn-large").get_by_role("button", name="they asks the:").hover()
    press(page, "Head L4H3")
    expected = f"{WEIGHTS[EIFFEL][38, 1, 4]:.2f}"
    assert page.locator(".attn-large").get_by_role("button", name=f"they asks the: {expected}").count() == 1


def test_next_case_walks_through_all_cases_and_passes_over_those_with_a_guess(blank, js):
    cases = figure().cases
    page = blank(figure())
    titles = page.locator(".attn-question legend")
    for i, case in enumerate(cases):
        assert titles.inner_text() == f"What does head {case['head']} do? (case {i + 1} of 10)"
        assert page.locator("select").input_value() == str(case["text"])
        assert page.locator(".attn-ask[aria-pressed=true]").inner_text() == ROWS[case["text"]]["tokens"][case["token"]]
        press(page, "Next case →")
    assert titles.inner_text() == "What does head L1H3 do? (case 1 of 10)", "and begins anew"
    press(page, "Head L2H3")
    assert titles.inner_text() == "What does head L2H3 do?"
    order = [case["head"] for case in cases]
    for head, guessed, after in [
        ("L1H3", [], "L3H8"),
        ("L1H3", ["L3H8", "L3H10"], "L4H11"),
        ("L4H10", ["L1H3"], "L3H8"),
        ("L2H3", [], "L1H3"),
        ("L2H3", ["L1H3"], "L3H8"),
        ("L3H2", order, "L4H10"),
        ("L3H2", [one for one in order if one != "L3H2"], "L3H2"),
    ]:
        state = {"cases": cases, "head": head, "guesses": dict.fromkeys(guessed, "same word")}
        assert js("attn.head_guess.caseAfter", state)["head"] == after


def test_in_a_notebook_python_gets_the_guess_and_what_it_changes_is_shown(blank):
    one = figure(guesses={"L3H10": "same word"})
    found = blank(figure()).evaluate(
        """async (state) => {
          const did = [], listening = {};
          const model = {
            get: (name) => state[name],
            set: (name, value) => ((state[name] = value), did.push([name, value]), listening[`change:${name}`]()),
            save_changes: () => did.push("save"), on: (event, listener) => (listening[event] = listener), off: () => {},
          };
          const el = document.createElement("div");
          attnExplorables.head_guess.render({ model, el });
          const click = (selector, i) => el.querySelectorAll(selector)[i].click();
          click(".attn-answer", 0), click(".attn-map", 9), click(".attn-ask", 3);
          const moves = [...did];
          await Promise.resolve();
          state = { ...state, guesses: { ...state.guesses, L4H2: "the noun that fits" } };
          listening["change:guesses"]();
          await Promise.resolve();
          return [moves, el.querySelector(".attn-why").textContent, el.querySelectorAll(".attn-guessed").length];
        }""",
        one.state(),
    )
    guesses = {"L3H10": "same word", "L1H3": "previous token"}
    assert found[0] == [["guesses", guesses], "save", ["head", "L4H2"], "save", ["token", 3], "save"]
    with one.hold_trait_notifications():
        one.guesses, one.head = {**guesses, "L4H2": "the noun that fits"}, "L4H2"
    assert found[1] == f"You said “the noun that fits”; {one.verdicts[37]}" and found[2] == 3
    assert one.agreeing == 2


@pytest.mark.parametrize(
    ("dark", "text", "guesses"),
    [(False, EIFFEL, {}), (False, TIRED, {"L4H2": "the noun that fits"}), (True, EIFFEL, {"L4H2": "same word"})],
)
def test_the_figure_is_usable_by_everyone_and_fits_a_narrow_page(blank, dark, guesses, text):
    page = blank(figure(head="L4H2", text=text, token=2, guesses=guesses), width=390)
    if dark:
        page.evaluate(
            "document.documentElement.dataset.theme = 'dark'; document.body.style = 'background: #14181e; color: white'"
        )
    rules = {"label-content-name-mismatch": {"enabled": True}, "target-size": {"enabled": True}}
    found = Axe().run(page, options={"preload": False, "resultTypes": ["violations"], "rules": rules})
    assert [rule["id"] + str(rule["nodes"][:1]) for rule in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    sizes = page.locator(".attn-explorable :is(button, select)").evaluate_all(
        "nodes => nodes.map((node) => node.getBoundingClientRect()).flatMap(({ width, height }) => [width, height])"
    )
    assert min(sizes) >= 23.9, "wide enough for a finger"
    assert page.said == []


def test_the_large_pattern_stands_beside_the_maps_and_shows_what_gets_most_where_it_is_wider_than_its_place(blank):
    page = blank(figure(head="L1H3", text=TIRED, token=11))
    maps, large, ask = (page.locator(each).bounding_box() for each in (".attn-maps", ".attn-large", ".attn-question"))
    assert large["x"] >= maps["x"] + maps["width"] and ask["y"] < large["y"] + large["height"] + 120
    page = blank(figure(head="L1H3", text=TIRED, token=12), width=390)
    pane, last = page.locator(".attn-large-pane"), page.locator(".attn-large tbody tr").nth(12).locator("td")
    best = last.nth(11).bounding_box()
    box = pane.bounding_box()
    assert box["x"] < best["x"] and best["x"] + best["width"] <= box["x"] + box["width"] + 1
    more = "node => node.classList.contains('attn-more')"
    assert pane.evaluate(more)
    pane.evaluate("node => { node.scrollLeft = 9999; }")
    page.wait_for_function("!document.querySelector('.attn-more')")
    names = page.locator(".attn-large tbody th").first.bounding_box()
    assert names["x"] == pytest.approx(box["x"], abs=1), "whose rows these are stays in sight"


def test_what_a_sentence_holds_is_text(blank):
    nasty = copy.deepcopy(PATTERNS)
    nasty["runs"][SHREW]["text"] = "American </script><img/src=x/onerror=document.title='broken'> shrew <b>mole"
    nasty["runs"][SHREW]["tokens"][1] = "</script><b>american</b>"
    one = HeadGuess(nasty, MEASURED, text=SHREW, token=1, guesses={"L1H3": "same word"})
    page = blank(one)
    assert page.locator(".attn-large tbody th").nth(1).inner_text() == nasty["runs"][SHREW]["tokens"][1]
    choose(page, "0")
    assert page.locator(".attn-elsewhere span").nth(1).inner_text() == nasty["runs"][SHREW]["text"]
    assert page.locator(".attn-explorable :is(b, img)").count() == 0 and page.title() == "Figures"


def test_a_page_of_the_book_brings_the_patterns_on_request(unloaded, beside):
    body = figure()._repr_mimebundle_()[0]["text/html"]
    assert ROWS[0]["weights"][:40] not in body and len(gzip.compress(body.encode())) < 12_000
    name, text = weights_script()
    (beside / name).unlink()
    page = unloaded(figure())
    page.locator(".attn-load").click()
    page.get_by_text("The patterns did not come.").wait_for()
    (beside / name).write_text(text, encoding="utf-8")
    bring(page)
    press(page, "Start again")
    page.locator("select").wait_for()


# --- the Python side -------------------------------------------------------------------------------------------------


def test_the_state_is_small_and_holds_the_patterns_as_text_once():
    state = figure().state()
    text = json.dumps(state, ensure_ascii=False)
    assert len(text) < 160_000 and len(gzip.compress(text.encode())) < 70_000
    assert state["weights"] == [row["weights"] for row in ROWS] and text.count(ROWS[SHREW]["weights"][:50]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": "L7H1"}, "heads are L1H1 to L6H12, but there is L7H1"),
        ({"guesses": {"L4H13": "same word"}}, "heads are L1H1 to L6H12, but there is L4H13"),
        (
            {"guesses": {"L4H2": "magic"}},
            "a head is called previous token, same word, the noun that fits, rests on the first, nothing I can name, "
            "but there is magic",
        ),
        ({"guesses": {"L4H2": 3}}, "guesses"),
        ({"text": 10}, "text must be a position on the axis n_texts, from 0 to 9, but is 10"),
        ({"text": 2, "token": 6}, "token must be a position in text 2 from 0 to 5, but is 6"),
        ({"token": -1}, "token must be a position in text 0 from 0 to 12, but is -1"),
        ({"classes": ["same word"] * 71}, "the axis n_heads has size 72 in heads"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(change, message):
    one = figure()
    before = one.state()

    def make():
        with one.hold_trait_notifications():
            for name, value in change.items():
                setattr(one, name, value)

    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        make()
    assert one.state() == before


def test_where_the_figure_begins():
    assert (figure().head, figure().text, figure().token) == ("L1H3", 0, 8)
    assert (figure(text=SHREW).text, figure(text=SHREW).token) == (SHREW, 0)
    assert (figure(head="L4H2").head, figure(head="L4H2").text) == ("L4H2", 0)


def test_python_tells_what_the_reader_sees_and_how_many_guesses_agree():
    one = figure(head="L4H2")
    assert one.describe() == (
        "Head guess: head L4H2, asked by 'it', looks at cat 0.49, [CLS] 0.20, mat 0.14; "
        "0 of 0 guesses agree with the measure"
    )
    one.guesses = {"L4H2": "the noun that fits", "L3H10": "same word"}
    assert one.describe().endswith("; 1 of 2 guesses agree with the measure")
