"""What a figure refuses, in one table: it says why in one sentence, and stays as it was."""

import json
import re

import numpy as np
import pytest
import traitlets
from examples import EACH, notes_square
from hands import press, unfold, words
from looks import LOOK

from attn_course.figures import SelfCheck

CONFIG, PARAMS = EACH["stepper"].config, json.loads(json.dumps(EACH["stepper"].params))
PARAMS["layer 2"]["mlp"]["b_1"][3] = np.nan
REFUSED = [  # a figure, what it is to change to, and what it says
    ("ask_share_receive", {"K": np.ones((3, 3))}, "K needs the axes (n, 2), but has shape (3, 3)"),
    ("ask_share_receive", {"learns": "dog"}, "learns needs one of cat, sat, <b>mat, but names 'dog'"),
    ("ask_share_receive", {"panes": 4}, "panes must be from 1 to 3, but is 4"),
    ("ask_share_receive", {"temperature": 0}, "temperature must be above zero, but is 0"),
    ("cost", {"key_heads": 7}, "key_heads must divide the 96 heads of '175B', but is 7"),
    ("formula_parts", {"parts": [["Q", "queen", ""]]}, "but there is ['queen']"),
    ("gauge", {"power": np.inf}, "power"),
    (
        "mask",
        {"tokens": ["only", "these"]},
        "the axis n has size 2 in tokens, but size 5 in scores, mask",
    ),
    ("mask", {"tokens": "black"}, "tokens"),
    (
        "mask",
        {"mask": np.ones((5, 3), bool)},
        "the axis n has size 5 in tokens, scores, mask, but size 3 in mask",
    ),
    ("mask", {"mask": [[0, -1e9]] * 2}, "mask needs True and False"),
    ("news", {"keeps": 1.1}, "keeps must be from 0 to 1, but is 1.1"),
    ("news", {"distance": 41}, "distance must be from 1 to 40, but is 41"),
    ("norm", {"x": [1]}, "x needs 2 to 5 entries from -6 to 6, but is [1.0]"),
    ("norm", {"x": [1, -7]}, "from -6 to 6, but is [1.0, -7.0]"),
    ("norm", {"x": [1, np.nan]}, "x needs finite numbers, but has NaN in it"),
    ("norm", {"x": [1, -np.inf]}, "x needs finite numbers, but has infinity in it"),
    ("norm", {"x": None}, "x needs numbers, but is None"),
    ("notes", {"V": [[1], [1, 2]]}, "V needs the axes (n, d_v): "),
    ("notes", {"V": np.ones((7, 0))}, "V needs the axes (n, d_v), but has shape (7, 0)"),
    ("notes", {"V": np.ones(7)}, "V needs the axes (n, d_v), but has shape (7,)"),
    ("notes", {"K": 2 * np.eye(7, 3)}, "the keys in K need length 1, but there is 2"),
    ("notes", {"K": np.eye(7)[:6]}, "the axis n has size 6 in K, but size 7 in V"),
    ("notes", {"V": np.eye(7, 6)}, "the values in V need a direction, but one of them is zero"),
    ("notes", {"V": np.ones((7, 4))}, "the values in V need to differ, but two of them are the same"),
    ("notes", {"written": 8}, "written must be from 0 to 7, but is 8"),
    ("notes", {"asked": 7}, "asked must be a position on the axis n, from 0 to 6, but is 7"),
    ("notes", {"asked": -1}, "from 0 to 6, but is -1"),
    ("notes", {"rule": "delta"}, "any of ['sum', 'delta rule', 'gate']"),
    ("novel_reader", {"tokens": []}, "the figure reads at least 1 token, but has 0"),
    ("novel_reader", {"tokens": [1] * 129, "token": 31}, "token must be from 32 to 128, but is 31"),
    ("novel_reader", {"tokens": [1, 2048], "token": 0}, "tokens are from 0 to 2047, but reach from 1 to 2048"),
    ("novel_reader", {"tokens": [1, 2], "token": 2}, "token must be from 0 to 1, but is 2"),
    ("novel_reader", {"off": ["L4H3"], "itself": ["L4H3"]}, "one thing is done to a head, but L4H3 is named twice"),
    ("novel_reader", {"exchanged": ["L4H5"]}, "heads are L1H1 to L4H4, but there is L4H5"),
    ("novel_reader", {"off": ["L4H3", "L0H2"]}, "heads are L1H1 to L4H4, but there is L0H2"),
    ("novel_reader", {"head": "L5H1"}, "heads are L1H1 to L4H4, but there is L5H1"),
    ("novel_reader", {"target": 2048}, "target must be from -1 to 2047, but is 2048"),
    ("novel_reader", {"temperature": 0.0}, "temperature must be from 0.1 to 2, but is 0.0"),
    ("online", {"seen": 6}, "seen must be from 1 to 5, but is 6"),
    ("parameters", {"d_k": 0}, "d_k"),
    ("rotary", {"key": [1, 2, 3]}, "key needs the axes (2), but has shape (3,)"),
    ("rotary", {"query_at": 41}, "query_at must be from 0 to 40, but is 41"),
    ("rotary", {"turn": np.nan}, "turn needs finite numbers, but has NaN"),
    ("smollm2_reader", {"head": "L31H1"}, "heads are L1H1 to L30H9, but there is L31H1"),
    ("smollm2_reader", {"off": ["L24H5", "L1H10"]}, "heads are L1H1 to L30H9, but there is L1H10"),
    ("smollm2_reader", {"forbidden": [["here", 1, 0]]}, "heads are L1H1 to L30H9, but there is here"),
    ("smollm2_reader", {"look": "matter"}, "look"),
    ("softmax", {"temperature": 0}, "temperature must be above zero, but is 0"),
    ("softmax", {"offset": np.nan}, "offset needs finite numbers, but has NaN"),
    ("stepper", {"tokens": ["<b>Anna", "cried"], "token": 1}, "the model does not know cried"),
    ("stepper", {"tokens": ["she"] * 7}, "reads at most 6 words, but 'she she she she she she she' has 7"),
    ("stepper", {"step": 35}, "step must be from 0 to 34, but is 35"),
    ("stepper", {"head": 2}, "head must be from 0 to 1, but is 2"),
    (
        "stepper",
        {"changes": [["layer 3: stream", 0, 0, 1]]},
        "a change is the name of an array, a row and",
    ),
    ("stepper", {"changes": [["stream", 5, 0, 1]]}, "but ['stream', 5, 0, 1] is not"),
    ("stepper", {"changes": [["stream", 4, 0, np.nan]]}, "a finite number, but ['stream', 4, 0, nan] is not"),
    ("stepper", {"changes": [["probabilities", 4, 0, 1]]}, "but ['probabilities', 4, 0, 1] is not"),
    ("stepper", {"changes": ["stream"]}, "but 'stream' is not"),
    ("stepper", {"config": {**CONFIG, "norm": "post"}}, "the figure needs norm 'pre', but has 'post'"),
    ("stepper", {"config": {**CONFIG, "d_ff": 0}}, "needs an MLP and keys for each head, but d_ff is 0"),
    ("stepper", {"config": {**CONFIG, "d_ff": 12}}, "layer 1 / mlp / W_1 needs shape (4, 12), but has (4, 9)"),
    ("stepper", {"config": {**CONFIG, "n_layers": 3}}, "the params differ from those of the config in layer 3"),
    ("stepper", {"config": {**CONFIG, "vocab_size": 6}}, "embedding needs shape (6, 4), but has (5, 4)"),
    ("stepper", {"words": ["a", "b"]}, "the model has 5 tokens, but there are 2 words"),
    ("stepper", {"params": PARAMS}, "layer 2 / mlp / b_1 needs finite numbers, but has NaN"),
    ("parameters", {"gated": True}, "a gated MLP has no biases, but biases and gated are both True"),
    ("parameters", {"n_key_heads": 5}, "n_key_heads must divide n_heads, 96, but is 5"),
    ("wall", {"token": 99}, "but is 99"),
    ("wall", {"head": "L24H10"}, "heads are L1H1 to L30H9, but there is L24H10"),
]


@pytest.mark.parametrize(("name", "changes", "message"), REFUSED)
def test_what_does_not_fit_is_refused_by_one_sentence_and_changes_nothing(name, changes, message):
    figure = EACH[name]
    before = figure.state()

    def change():
        with figure.hold_trait_notifications():
            for trait, value in changes.items():
                setattr(figure, trait, value)

    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        change()
    assert figure.state() == before


SIZE = "dk must be a whole number from 1 to 1,000,000, but is “{}”; the counts are those of 128."
SEED = "seed must be a whole number from 0 to 4,294,967,295, but that is no number."
TYPED = [  # a figure, what is typed into which of its fields, and what it says
    *(("parameters", "dk", typed, SIZE.format(typed)) for typed in ("0", "2.5", "-3", "1000001", "")),
    ("press_train", "heads per layer", "3", "The heads share the width 64, and 3 does not divide it."),
    ("press_train", "learning rate", "0", "learning rate must be a number above 0 and at most 1, but is 0."),
    ("press_train", "seed", "", SEED),
    ("mask", "Your own words", "", "0 words given; this figure takes 2 to 8."),
    ("mask", "Your own words", "one " * 9, "9 words given; this figure takes 2 to 8."),
    ("softmax", "Your own words", "one", "1 word given; this figure takes 2 to 10."),
    ("softmax", "Your own words", "\u200b \u00ad one\u200b \u2060\u200d", "1 word given; this figure takes 2 to 10."),
    ("softmax", "Your own words", "one " * 11, "11 words given; this figure takes 2 to 10."),
    ("stepper", "Your own words", "she cried", "The model does not know “cried”."),
]


@pytest.mark.parametrize(("name", "label", "typed", "said"), TYPED)
def test_what_is_typed_and_does_not_fit_stays_beside_a_sentence_and_changes_nothing(blank, name, label, typed, said):
    page = blank(EACH[name])
    unfold(page)
    page.mouse.move(0, 0)  # where it explains nothing
    root, field = page.locator(".attn-explorable"), page.get_by_label(label)
    before, fitting = root.evaluate(LOOK), field.input_value()

    def give(text):
        field.fill(text)
        if label == "Your own words":
            field.press("Enter")

    for undo in (lambda: give(fitting), lambda: press(page, "Start again")):
        give(typed)
        look = root.evaluate(LOOK)
        assert look.pop("problems") == [said] and field.input_value() == typed
        assert {**look, "fields": before["fields"]} == before
        undo()
        assert root.evaluate(LOOK) == before
    assert page.said == []


@pytest.mark.parametrize(("name", "most"), [("mask", 8), ("softmax", 10)])
def test_as_many_words_are_taken_as_the_field_says(blank, name, most):
    page = blank(EACH[name])
    address = page.url
    for number in (2, most):
        words(page, f"  {'  '.join(['word'] * number)} ")
        look = page.locator(".attn-explorable").evaluate(LOOK)
        assert look["fields"][0][1] == " ".join(["word"] * number) and "problems" not in look
    assert page.url == address and page.said == []


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"c": "d", "e": "f"}, "'a?' needs its right answer 'b' among at least 2, but there are ['c', 'e']"),
        ({"b": "d", "e": " "}, "'a?' does not explain ['e']"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(answers, message):
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        SelfCheck([("a?", "b", answers)])


def test_traits_change_together_inside_a_hold():
    figure = notes_square(asked=6)
    with figure.hold_trait_notifications():
        figure.K, figure.V, figure.asked, figure.written = np.eye(2), np.eye(2), 0, 2
    assert figure.notes.tolist() == [[1, 0], [0, 1]]
