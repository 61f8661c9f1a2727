"""What is refused, in tables: by figures, which stay as they were, and by the package; one sentence says why."""

import json
import re
from functools import partial

import numpy as np
import pytest
import traitlets
from examples import EACH
from hands import press, unfold, words
from looks import LOOK
from test_bytepairs import BYTES, JOINS
from test_parameters import SMALL
from test_transformer import small

from attn.attention import causal_mask, scaled_dot_product_attention, softmax
from attn.blockwise import blockwise_attention
from attn.bytepairs import Tokenizer, learn
from attn.generation import draw, generate
from attn.heads import multi_head_attention
from attn.interventions import Forbid, Replace, ReplaceMixtures, ReplaceValues, hold, switch_off
from attn.layers import embedding, feed_forward, layer_norm, linear, rms_norm
from attn.parameters import TransformerConfig
from attn.positions import relative_bias, rotary, sinusoid
from attn.training import Adam, batches, cross_entropy
from attn.transformer import decoder, encoder, init_transformer
from attn_course.figures import MaskExplorer, SelfCheck
from attn_course.released import installed, read_model
from attn_course.released_tokens import ByteTokenizer, continue_text

CONFIG, PARAMS = EACH["stepper"].config, json.loads(json.dumps(EACH["stepper"].params))
PARAMS["layer 2"]["mlp"]["b_1"][3] = np.nan
REFUSED = [  # a figure, what it is to change to, and what it says
    ("ask_share_receive", {"K": np.ones((3, 3))}, "K needs the axes (n, 2), but has shape (3, 3)"),
    ("ask_share_receive", {"learns": "dog"}, "learns needs one of cat, sat, <b>mat, but names 'dog'"),
    ("ask_share_receive", {"panes": 4}, "panes must be from 1 to 3, but is 4"),
    ("ask_share_receive", {"temperature": 0}, "temperature must be above zero, but is 0"),
    ("cost", {"key_heads": 7}, "key_heads must divide the 96 heads of '175B', but is 7"),
    ("gauge", {"power": np.inf}, "power"),
    ("mask", {"tokens": ["only", "these"]}, "the axis n has size 2 in tokens, but size 5 in scores, mask"),
    ("mask", {"tokens": "black"}, "tokens"),
    ("mask", {"mask": np.ones((5, 3), bool)}, "the axis n has size 5 in tokens, scores, mask, but size 3 in mask"),
    ("mask", {"mask": [[0, -1e9]] * 2}, "mask needs True and False"),
    ("mask", {"scores": [[1], [1, 2]]}, "scores needs the axes (n, n): "),
    ("mask", {"scores": np.ones((5, 0))}, "scores needs the axes (n, n), but has shape (5, 0)"),
    ("novel_reader", {"tokens": []}, "the figure reads at least 1 token, but has 0"),
    ("novel_reader", {"tokens": [1] * 129, "token": 31}, "token must be from 32 to 128, but is 31"),
    ("novel_reader", {"tokens": [1, 2048], "token": 0}, "tokens are from 0 to 2047, but reach from 1 to 2048"),
    ("novel_reader", {"tokens": [1, 2], "token": 2}, "token must be from 0 to 1, but is 2"),
    ("novel_reader", {"off": ["L4H3"], "itself": ["L4H3"]}, "one thing is done to a head, but L4H3 is named twice"),
    ("novel_reader", {"off": ["L4H3", "L0H2"]}, "heads are L1H1 to L4H4, but there is L0H2"),
    ("novel_reader", {"head": "L5H1"}, "heads are L1H1 to L4H4, but there is L5H1"),
    ("novel_reader", {"target": 2048}, "target must be from -1 to 2047, but is 2048"),
    ("novel_reader", {"temperature": 0.0}, "temperature must be from 0.1 to 2, but is 0.0"),
    ("parameters", {"d_k": 0}, "d_k"),
    ("rotary", {"key": [1, 2, 3]}, "key needs the axes (2), but has shape (3,)"),
    ("rotary", {"query_at": 41}, "query_at must be from 0 to 40, but is 41"),
    ("rotary", {"turn": np.nan}, "turn needs finite numbers, but has NaN"),
    ("smollm2_reader", {"head": "L31H1"}, "heads are L1H1 to L30H9, but there is L31H1"),
    ("smollm2_reader", {"forbidden": [["here", 1, 0]]}, "heads are L1H1 to L30H9, but there is here"),
    ("smollm2_reader", {"look": "matter"}, "look"),
    ("softmax", {"scores": [1, 2, np.nan]}, "scores needs finite numbers, but has NaN in it"),
    ("softmax", {"scores": [1, 2, -np.inf]}, "scores needs finite numbers, but has infinity in it"),
    ("softmax", {"scores": None}, "scores needs numbers, but is None"),
    ("softmax", {"temperature": 0}, "temperature must be above zero, but is 0"),
    ("stepper", {"tokens": ["<b>Anna", "cried"], "token": 1}, "the model does not know cried"),
    ("stepper", {"tokens": ["she"] * 7}, "reads at most 6 words, but 'she she she she she she she' has 7"),
    ("stepper", {"token": 5}, "token must be a position on the axis n, from 0 to 4, but is 5"),
    ("stepper", {"token": -1}, "from 0 to 4, but is -1"),
    ("stepper", {"step": 35}, "step must be from 0 to 34, but is 35"),
    ("stepper", {"head": 2}, "head must be from 0 to 1, but is 2"),
    ("stepper", {"changes": [["layer 3: stream", 0, 0, 1]]}, "a change is the name of an array, a row and"),
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
    ("head_game", {"round": 4}, "round must be from 0 to 3, but is 4"),
    ("head_game", {"seen": 1}, "seen must be from 0 to 0, but is 1"),
    ("wire", {"other": "France"}, "two of France, Italy, Japan, Germany, Russia, Greece are compared, but these are"),
    ("wire", {"head": "L31H1"}, "heads are L1H1 to L30H9, but there is L31H1"),
    ("library_answers", {"go": 3}, "go must be from 0 to 2, but is 3"),
    ("library_answers", {"question": "axes"}, "'axes' is not asked, but there are: corner, empty row"),
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
    figure = MaskExplorer(["a", "b", "c"], np.zeros((3, 3)))
    with figure.hold_trait_notifications():
        figure.tokens, figure.scores, figure.mask = ["a", "b"], np.zeros((2, 2)), np.eye(2, dtype=bool)
    assert figure.weights.tolist() == [[1, 0], [0, 1]]


# --- the package ----------------------------------------------------------------------------------

ONE, RAGGED = np.ones((1, 1)), [[1.0, 2.0], [3.0]]
MASKED = np.ma.masked_equal([[1.0, 2.0]], 2.0)
RNG = np.random.default_rng(0)
DRAWING = {"temperature": 1.0, "rng": RNG}


def ones(*shapes):
    return map(np.ones, shapes)


def attend(Q=(3, 7), K=(5, 7), V=(5, 11), mask=None, by=scaled_dot_product_attention):
    """Attend among ones of these shapes."""
    return by(*ones(Q, K, V), **({} if mask is None else {"mask": mask}))


def one_by_one(**others):
    """Attend with a single query, key and value."""
    return scaled_dot_product_attention(**{"Q": ONE, "K": ONE, "V": ONE} | others)


def blocks(size):
    return blockwise_attention(ONE, ONE, ONE, block_size=size)


def heads(**shapes):
    """Let four heads attend among ones of these shapes."""
    fitting = {"X": (3, 7), "W_Q": (4, 7, 11), "W_K": (4, 7, 11), "W_V": (4, 7, 13), "W_O": (4, 13, 7)}
    return multi_head_attention(**{name: np.ones(shape) for name, shape in {**fitting, **shapes}.items()})


def config(**changes):
    return TransformerConfig(**{**SMALL, **changes})


def run(*inputs, by=decoder, changes=(), **options):
    """Run a small model, whose config has these changes."""
    model, params = small(**dict(changes))
    return by(params, model, *inputs, **options)


def meddle(n, *interventions):
    """Read n tokens with interventions."""
    return run([0] * n, interventions=interventions)


def write(n_new=2, text=((0, 1, 2),) * 5, **options):
    return run(text, n_new, by=generate, **options)


def go_on(text="ab", n_new=2, **options):
    """Continue a text by one token."""
    return next(run(Tokenizer(list("abcdefghijkl"), []), text, n_new, by=continue_text, **options))


def loss(targets=(0, 1), *mask):
    return cross_entropy(np.ones((2, 3)), targets, *mask)


def step(**b):
    """Take a step by gradients of these shapes in b, or by none there."""
    adam = Adam({"a": np.zeros(2), "b": {"c": np.zeros(2), "d": np.zeros(2)}})
    grads = {name: np.ones(shape) for name, shape in b.items()}
    adam.step({"a": np.ones(2), **({"b": grads} if b else {})}, 0.1)


def draw_rows(*arrays, rng=RNG):
    return next(batches(rng, 3, 2, *arrays))


read, cross = partial(run, by=encoder), partial(run, [0], changes={"cross": True})
VALUES = [  # what a ValueError says, and the call
    # attention
    ("softmax compares scores along an axis, but got a single number", lambda: softmax(3.0)),
    ("n_queries is -1, n_keys is 3", lambda: causal_mask(-1, 3)),
    ("n_queries is 3, n_keys is -1", lambda: causal_mask(3, -1)),
    ("Q and K need the same d_k of at least 1: Q has shape (3, 7), K has shape (5, 11)", lambda: attend(K=(5, 11))),
    ("need the same d_k of at least 1: Q has shape (3, 0), K has shape (5, 0)", lambda: attend(Q=(3, 0), K=(5, 0))),
    ("need the same d_k of at least 1: Q has shape (3, 6)", lambda: attend(Q=(3, 6), by=blockwise_attention)),
    ("each key needs one value: K has shape (5, 7), V has shape (3, 11)", lambda: attend(V=(3, 11))),
    ("Q needs at least two axes (tokens, entries), but its shape is (7,)", lambda: attend(Q=7)),
    ("leading axes do not broadcast: Q has shape (2, 3, 7), K has", lambda: attend(Q=(2, 3, 7), K=(13, 5, 7))),
    ("(5, 3) does not broadcast to scores of shape (3, 5)", lambda: attend(mask=np.ones((5, 3), bool))),
    ("(2, 3, 5) does not broadcast to scores of shape (3, 5)", lambda: attend(mask=np.ones((2, 3, 5), bool))),
    ("(batch, n_keys), needs an axis of queries, mask[:, None, :]", lambda: attend(mask=np.ones((2, 5), bool))),
    ("the rows of scores need one length, but theirs are [1, 2]", lambda: softmax(RAGGED)),
    ("the rows of scores need one length, but theirs are [0, 2]", lambda: softmax([[[1.0, 2.0], 3.0]])),
    ("the rows of Q need one length, but theirs are [1, 2]", lambda: one_by_one(Q=RAGGED)),
    ("the rows of V need one length, but theirs are [1, 2]", lambda: blockwise_attention(ONE, ONE, RAGGED)),
    ("the rows of mask need one length, but theirs are [1, 2]", lambda: one_by_one(mask=RAGGED)),
    ("block_size must be at least 1, but is 0", lambda: blocks(0)),
    # heads
    ("X has shape (3, 8), W_Q has shape (4, 7, 11)", lambda: heads(X=(3, 8))),
    ("X has shape (7,), W_Q has shape (4, 7, 11)", lambda: heads(X=7)),
    ("context has shape (5, 6), W_Q has shape (4, 7, 11)", lambda: heads(context=(5, 6))),
    ("their shapes are (4, 7, 11), (4, 7, 12), (4, 7, 13)", lambda: heads(W_K=(4, 7, 12))),
    ("their shapes are (4, 7, 11), (4, 7, 11), (2, 7, 13)", lambda: heads(W_V=(2, 7, 13))),
    ("their shapes are (4, 7, 11), (4, 7, 11), (4, 6, 13)", lambda: heads(W_V=(4, 6, 13))),
    ("W_K has 3, W_Q has 4", lambda: heads(W_K=(3, 7, 11), W_V=(3, 7, 13))),
    ("W_K has 0, W_Q has 4", lambda: heads(W_K=(0, 7, 11), W_V=(0, 7, 13))),
    ("W_O must have shape (4, 13, 7) for these W_Q and W_V, but has shape (4, 12, 7)", lambda: heads(W_O=(4, 12, 7))),
    ("W_O must have shape (4, 13, 7) for these W_Q and W_V, but has shape (3, 13, 7)", lambda: heads(W_O=(3, 13, 7))),
    ("W_Q needs three axes (heads, rows, columns), but its shape is (7, 11)", lambda: heads(W_Q=(7, 11))),
    # layers
    ("X, W and b do not fit each other: their shapes are (2, 3), (5, 7)", lambda: linear(*ones((2, 3), (5, 7), 7))),
    ("their shapes are (2, 5), (5, 7), (5,)", lambda: linear(*ones((2, 5), (5, 7), 5))),
    ("their shapes are (2, 5), (7,), (7,)", lambda: layer_norm(*ones((2, 5), 7, 7))),
    ("their shapes are (2, 5), (7,)", lambda: rms_norm(*ones((2, 5), 7))),
    ("their shapes are (2, 5), (7, 3)", lambda: feed_forward(*ones((2, 3), (3, 5)), None, np.ones((7, 3)), None)),
    ("but is 'swish'", lambda: feed_forward(ONE, ONE, None, ONE, None, activation="swish")),
    ("from 0 to 4, but reach from 0 to 5", lambda: embedding([0, 5], np.ones((5, 2)))),
    ("from 0 to 4, but reach from -1 to 3", lambda: embedding([-1, 3], np.ones((5, 2)))),
    # positions
    ("so their number must be even, but is 5", lambda: sinusoid(3, 5)),
    ("so their number must be even, but is 7", lambda: rotary(np.ones((3, 7)))),
    ("the base of rotary positions is a number above 0, but is 0", lambda: rotary(np.ones((3, 6)), base=0)),
    ("the base of rotary positions is a number above 0, but is -5", lambda: rotary(np.ones((3, 6)), base=-5)),
    ("X needs at least two axes (tokens, entries), but its shape is (4,)", lambda: rotary(np.ones(4))),
    ("(n_heads, 2 * max_distance + 1), but has shape (5,)", lambda: relative_bias(np.ones(5), 3, 3)),
    ("(n_heads, 2 * max_distance + 1), but has shape (2, 4)", lambda: relative_bias(np.ones((2, 4)), 3, 3)),
    # configs
    *(
        (f"n_heads must be a positive integer, but is {wrong!r}", partial(config, n_heads=wrong))
        for wrong in (0, -1, 2.5, "7", True, np.bool_(True), np.int64(-1), np.float64(2))
    ),
    ("positions must be one of learned, sinusoid, ", lambda: config(positions="where")),
    ("norm must be one of pre, post, none, but is 'both'", lambda: config(norm="both")),
    ("a gated MLP has no biases, but biases are 'all'", lambda: config(activation="swiglu")),
    ("activation must be one of gelu, gelu_tanh, relu, swiglu, but is 'swish'", lambda: config(activation="swish")),
    ("biases must be one of all, mlp, qkv, none, but is True", lambda: config(biases=True)),
    ("unembedding must be one of tied, separate, none, but is 'shared'", lambda: config(unembedding="shared")),
    ("n_heads must divide d_model, but 5 does not divide 12", lambda: config(n_heads=5)),
    ("n_key_heads must divide n_heads, but 4 does not divide 6", lambda: config(n_key_heads=4)),
    ("learned positions need n_positions, but it is not given", lambda: config(n_positions=None)),
    ("positions 'learned' have no max_distance, but it is 3", lambda: config(max_distance=3)),
    ("max_distance must be a positive integer, but is 0", lambda: config(positions="relative", max_distance=0)),
    ("rotary positions need an even d_k, but it is 5", lambda: config(positions="rotary", d_k=5)),
    ("need an even d_model, but it is 15", lambda: config(positions="sinusoid", d_model=15, d_k=2)),
    ("window must be a positive integer, but is 0", lambda: config(window=0)),
    ("alone not 10000, but it is 500.0 with learned positions", lambda: config(rotary_base=500.0)),
    ("alone not 10000, but it is 0 with rotary positions", lambda: config(positions="rotary", rotary_base=0)),
    *(
        (f"other than 1, but it is {step} with {name} positions", partial(config, positions=name, position_step=step))
        for step, name in [(0, "rotary"), (-1, "rotary"), (np.inf, "rotary"), (0.5, "none")]
    ),
    ("d_ff must be zero or a positive integer, but is -1", lambda: config(d_ff=-1)),
    ("n_token_types must be zero or a positive integer, but is -1", lambda: config(n_token_types=-1)),
    # models
    *(
        (message, partial(run, tokens, by=by))
        for by in (encoder, decoder, partial(generate, n_new=1))
        for message, tokens in [
            ("tokens need one length, but theirs are [2, 3]: fill the shorter ones up", [[1, 2], [3, 4, 5]]),
            ("tokens need an axis of positions, but there is a single number", 3),
            ("tokens must be from 0 to 10, but reach from 0 to 11", [[0, 11]]),
        ]
    ),
    ("the text has 10 tokens, but this model reads at most 9", lambda: run(np.zeros((2, 10), int))),
    ("cross is False, context is given, of shape (2, 12)", lambda: run([0], context=np.ones((2, 12)))),
    ("cross is True, context is missing", lambda: cross()),
    ("context needs shape (..., m, 12), but has shape (2, 7)", lambda: cross(context=np.ones((2, 7)))),
    ("context needs shape (..., m, 12), but has shape (12,)", lambda: cross(context=np.ones(12))),
    ("mask of shape (3,) does not fit", lambda: cross(context=np.ones((3, 3, 12)), context_mask=np.ones(3))),
    ("a mask of shape (1,) does not fit tokens of shape (2,)", lambda: read([0, 1], mask=[True])),
    ("token types are given, but n_token_types is 0", lambda: read([0], token_types=[0])),
    ("types of shape (2,) do not fit", lambda: read([[0, 1]], changes={"n_token_types": 2}, token_types=[0, 1])),
    # interventions
    ("the layer must be from 1 to 2, but is 3", lambda: meddle(1, switch_off(3, 1))),
    ("the layer must be from 1 to 2, but is 0", lambda: meddle(1, switch_off(0, 1))),
    ("the layer must be from 1 to 2, but is 1.5", lambda: meddle(1, switch_off(1.5, 1))),
    ("the layer must be from 1 to 2, but is '1'", lambda: meddle(1, switch_off("1", 1))),
    ("the head must be from 1 to 3, but is 4", lambda: meddle(1, switch_off(1, 4))),
    ("the head must be from 1 to 3, but is 0", lambda: meddle(1, switch_off(1, 0))),
    ("the layer must be from 0 to 2, but is 3", lambda: meddle(1, Replace(0, 1, 3))),
    ("the layer must be from 0 to 2, but is None", lambda: meddle(1, Replace(0, 1, None))),
    ("after must be mlp or attention, but is 'norm'", lambda: meddle(1, Replace(0, 1, 1, "norm"))),
    ("there is no attention before it", lambda: meddle(1, Replace(0, 1, 0, "attention"))),
    ("at slice(2, 4, None) in a text of 2 tokens", lambda: meddle(2, Replace(slice(2, 4), 1, 1))),
    ("there is nothing to replace at 2 in a text of 2 tokens", lambda: meddle(2, Replace(2, 1, 1))),
    ("the layer must be from 1 to 2, but is 3", lambda: meddle(1, ReplaceValues(0, 1, 3, 1))),
    ("the layer must be from 1 to 2, but is 3", lambda: meddle(1, ReplaceMixtures(0, 1, 3, 1))),
    ("the head must be from 1 to 3, but is 0", lambda: meddle(1, ReplaceValues(0, 1, 1, 0))),
    ("at slice(2, 4, None) in a text of 2 tokens", lambda: meddle(2, ReplaceValues(slice(2, 4), 1, 1, 1))),
    ("there is nothing to replace at 9 in a text of 1 tokens", lambda: meddle(1, ReplaceValues(9, 1, 1, 1))),
    ("2 tokens, but are bool, of shape (3,)", lambda: meddle(2, ReplaceValues(np.ones(3, bool), 1, 1, 1))),
    ("2 tokens, but are float64, of shape (2,)", lambda: meddle(2, ReplaceValues(np.ones(2), 1, 1, 1))),
    ("the forbidden edge (2, 0) is not in a text of 2 tokens", lambda: meddle(2, Forbid([(2, 0)]))),
    ("the forbidden edge (1, -1) is not in a text of 2 tokens", lambda: meddle(2, Forbid([(1, -1)]))),
    ("but they are float64, of shape (3, 3)", lambda: meddle(2, Forbid(np.eye(3).tolist()))),
    ("but they are int64, of shape (3, 3)", lambda: meddle(3, Forbid(np.eye(3, dtype=int)))),
    ("edges of shape (3, 3) do not fit a text of 2 tokens", lambda: meddle(2, Forbid(np.eye(3, dtype=bool)))),
    ("the rows of edges need one length, but theirs are [1, 2]", lambda: meddle(2, Forbid([[0, 1], [1]]))),
    ("but they are int64, of shape (3,), up to 9", lambda: hold([-1, 0, 9], 1, 1)),
    ("looks are positions in the text, one for each query, but they are float64, ", lambda: hold([-1, 0.5], 1, 1)),
    ("looks are positions in the text, one for each query, but they are int64, of shape ()", lambda: hold(0, 1, 1)),
    # generation
    ("temperature is 1.0, rng is None", lambda: write(temperature=1.0)),
    ("temperature is 0.0, rng is Generator", lambda: write(rng=RNG)),
    ("temperature must be a number from 0 on, but is -1.0", lambda: write(temperature=-1.0)),
    ("temperature must be a number from 0 on, but is nan", lambda: write(temperature=np.nan)),
    ("temperature must be a number from 0 on, but is inf", lambda: write(temperature=np.inf, rng=RNG)),
    ("top_k must be a positive integer, but is 0", lambda: write(**DRAWING, top_k=0)),
    ("top_p is a probability above 0, but is 0.0", lambda: write(**DRAWING, top_p=0.0)),
    ("top_p is a probability above 0, but is 1.5", lambda: write(**DRAWING, top_p=1.5)),
    ("top_k and top_p are for drawing, but there is no rng: they are 3 and None", lambda: write(top_k=3)),
    ("top_k and top_p are for drawing, but there is no rng: they are None and 0.5", lambda: write(top_p=0.5)),
    ("n_new must be zero or a positive integer, but is -1", lambda: write(-1)),
    ("n_new must be zero or a positive integer, but is 2.5", lambda: write(2.5)),
    ("the text would have 10 tokens, but this model reads at most 9", lambda: write(7)),
    ("the text would have 10 tokens, but this model reads at most 9", lambda: go_on(n_new=8)),
    ("tokens must be from 0 to 10, but there is 11", lambda: write(stop=11)),
    ("stop must be zero or a positive integer, but is -1", lambda: write(stop=-1)),
    ("stop must be zero or a positive integer, but is '.'", lambda: go_on(stop=".")),
    ("a mask of shape (5, 4) does not fit tokens of shape (5, 3)", lambda: write(mask=np.ones((5, 4), bool))),
    ("padding stands on the left, but this mask ends in it", lambda: write(mask=[[True, True, False]] * 5)),
    ("generation needs at least one token to begin with", lambda: write(text=[])),
    ("generation needs at least one token to begin with", lambda: go_on("")),
    ("generation needs logits, but the model's unembedding is none", lambda: write(changes={"unembedding": "none"})),
    *(
        (f"a row of logits needs a largest number to choose a token by, but its largest is {max(wrong)}", call)
        for wrong in ([np.nan, 0, 9, 3], [0, np.inf, 9, 3], [-np.inf] * 4)
        for call in (partial(draw, [[0, 1, 2, 3], wrong], RNG), partial(draw, [[0, 1, 2, 3], wrong], None, 0))
    ),
    # training
    ("targets must be from 0 to 2, but reach from 0 to 3", lambda: loss([0, 3])),
    ("targets must be from 0 to 2, but reach from -1 to 2", lambda: loss([-1, 2])),
    ("logits have shape (2, 3), targets (1,)", lambda: loss([0])),
    ("logits have shape (), targets ()", lambda: cross_entropy(3.0, 1)),
    ("targets (2,), 2 of (3,) count", lambda: loss([0, 1], [1, 0, 1])),
    ("targets (2,), 0 of (2,) count", lambda: loss([0, 1], [False, False])),
    ("parameters and gradients differ in b", lambda: step()),
    ("parameters and gradients differ in b / d, b / e", lambda: step(c=2, e=2)),
    ("b / d has shape (2,), but its gradient has shape (3,)", lambda: step(c=2, d=3)),
    ("arrays of one length of at least 1, but theirs are [0]", lambda: draw_rows(np.zeros((0, 33)))),
    ("arrays of one length of at least 1, but theirs are [5, 7]", lambda: draw_rows(*ones(5, 7))),
    ("arrays of one length of at least 1, but theirs are []", lambda: draw_rows()),
    # the tokens of a text
    ("the text has 3 characters, too many for 3 tokens", lambda: learn("abc", 3)),
    ("the text gives 6 tokens, but 7 are wanted", lambda: learn("abc", 7)),
    ("vocab_size must be a positive integer, but is 6.5", lambda: learn("abc", 6.5)),
    ("tokens must be from 0 to 2, but there is 3", lambda: Tokenizer(["a", "b"], []).decode([0, 3])),
    ("the tokens of one text, but these have shape (1, 2)", lambda: Tokenizer(["a", "b"], []).decode([[0, 1]])),
    ("the joined word 'th' is not among the words", lambda: ByteTokenizer(BYTES, JOINS, [])),
    ("the mark '<s>' is not among the words", lambda: ByteTokenizer(BYTES, [], ["<s>"])),
]
TYPES = [  # what a TypeError says, and the call
    *(
        (f"{name} must hold real numbers, but its type is {wrong.dtype}", partial(one_by_one, **{name: wrong}))
        for name in "QKV"
        for wrong in (np.array([["a"]]), np.array([[1j]]), np.array([[None]]), np.array([[True]]))
    ),
    *(
        (f"{name} is a masked array, whose own mask would be lost", partial(one_by_one, **{name: MASKED}))
        for name in ("Q", "K", "V", "mask")
    ),
    ("tokens is a masked array, whose own mask would be lost", lambda: run(MASKED)),
    ("mask must be boolean (True = may attend) or float (added), but its type is int", lambda: one_by_one(mask=[[1]])),
    ("zeros and ones of a float64 mask are added and hide nothing", lambda: attend(mask=np.tri(3, 5))),
    ("zeros and ones of a float32 mask are added", lambda: attend(mask=np.ones((3, 1), np.float32))),
    ("zeros and ones of a float64 mask are added", lambda: attend(mask=np.eye(3, 5).tolist())),
    ("cannot be interpreted as an integer", lambda: causal_mask(2.5)),
    ("cannot be interpreted as an integer", lambda: blocks(2.5)),
    ("tokens must be integers, but their type is float64", lambda: embedding([0.5], np.ones((5, 2)))),
    *(
        ("tokens are integers, but this is the text 'A chapter': encode it first", partial(run, text, by=by))
        for by in (encoder, decoder, partial(generate, n_new=1))
        for text in ("A chapter", ["A chapter", "begins"])
    ),
    ("a mask is boolean, or made of 0 and 1, but its type is float64", lambda: read([1, 2], mask=[0.0, -np.inf])),
    ("a mask is boolean, or made", lambda: cross(context=np.ones((3, 12)), context_mask=[0.0, 0.0, -np.inf])),
    ("a mask is boolean, or made of 0 and 1, but its type is int64", lambda: write(mask=[[2, 1, 1]] * 5)),
    ("one of Forbid, Replace, ReplaceValues, ReplaceMixtures, but this is (1, 0)", lambda: meddle(1, (1, 0))),
    ("interventions come in a list, but this is a single Forbid", lambda: run([0], interventions=switch_off(1, 1))),
    ("this is a single ReplaceValues", lambda: run([0], interventions=ReplaceValues(0, np.zeros(4), 1, 1))),
    *(
        ("rng must be a numpy Generator, as np.random.default_rng(0) is one, but is 0", call)
        for call in (
            lambda: write(temperature=1.0, rng=0),
            lambda: draw(np.zeros(3), 0),
            lambda: init_transformer(0, config()),
            lambda: draw_rows(np.zeros(5), rng=0),
        )
    ),
    ("a loss mask is boolean, or made of 0 and 1, but its type is int64", lambda: loss([0, 1], [2, 0])),
    ("targets must be integers, but their type is float64", lambda: loss([0.0, 1.0])),
    ("tokens must be integers, but their type is float64", lambda: Tokenizer(["t"], []).decode([1.0])),
    ("a join is a pair of texts, (first, second), but there is 't h'", lambda: Tokenizer(list("the"), ["t h"])),
    ("a join is a pair of texts, (first, second), but there is 't h'", lambda: ByteTokenizer(BYTES, ["t h"], [])),
    ("a join is a pair of texts, (first, second), but", lambda: ByteTokenizer(BYTES, [("t", "h", "e")], [])),
    ("words are a list of texts in the order of their tokens", lambda: ByteTokenizer({"t": 1, "h": 0}, [], [])),
    ("words are a list of texts in the order of their tokens", lambda: ByteTokenizer(["t", None], [], [])),
]
TOO_LARGE = [
    *(
        ("overflow: the squares of entries of up to ", partial(norm, np.array(rows), *more))
        for norm, more in [(layer_norm, [np.ones(2), np.zeros(2)]), (rms_norm, [np.ones(2)])]
        for rows in ([[1e200, -1e200]], [[np.nan, 0], [1e200, 0]], [[1e308, 1e308]])
    ),
    ("up to 1e+200 cannot be held", lambda: rms_norm(np.array([[np.nan, 0], [1e200, 0]]), np.ones(2))),
]
MISSING = [
    ("there is no file or folder meta-llama", lambda: read_model("meta-llama/Llama-3.2-1B")),
    ("the package no-such-model is not installed: run make models", lambda: installed("no_such_model", "*")),
]
ERRORS = {ValueError: VALUES, TypeError: TYPES, FloatingPointError: TOO_LARGE, FileNotFoundError: MISSING}
REFUSED_BY_THE_PACKAGE = [(error, *row) for error, rows in ERRORS.items() for row in rows]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED_BY_THE_PACKAGE)
def test_what_does_not_fit_is_refused_by_the_package(error, message, call):
    with pytest.raises(error, match=re.escape(message)):
        call()
