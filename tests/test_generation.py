"""Generation: one token with the cache is everything anew, and draws follow the probabilities."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_transformer import MODELS, POSITIONS, small, tokens

from attn import Forbid, Replace, Tape, Trace, decoder, encoder, generate, softmax
from attn.bytepairs import Tokenizer
from attn.generation import Cache, draw
from attn.interventions import ReplaceValues
from attn.tape import leaves
from attn_course.released_tokens import continue_text


def read_in_parts(params, config, text, *ends, **options):
    """Return what a decoder with a cache gives to a text that it reads in parts, which end there."""
    cache, parts = Cache(), np.split(text, ends, axis=-1)
    return np.concatenate([decoder(params, config, part, cache=cache, **options) for part in parts], axis=-2)


@pytest.mark.parametrize("name", MODELS)
def test_reading_in_parts_with_a_cache_or_for_the_last_token_alone_is_reading_at_once(name):
    config, params = small(**MODELS[name])
    whole = decoder(params, config, tokens())
    for ends in (range(1, 7), [4, 5]):
        assert_allclose(read_in_parts(params, config, tokens(), *ends), whole, atol=1e-12)
    assert_allclose(decoder(params, config, tokens(), last=True), whole[:, -1:], atol=1e-12)


def test_a_cache_works_with_cross_attention_and_with_forbidden_edges():
    config, params = small(cross=True)
    context, edges = np.random.default_rng(2).normal(size=(5, 6, 12)), [Forbid([(5, 1), (5, 2)])]
    whole, cache = decoder(params, config, tokens(), context=context, interventions=edges), Cache()
    start = decoder(params, config, tokens()[:, :5], cache=cache, context=context)
    one = decoder(params, config, tokens()[:, 5:6], cache=cache, context=context, interventions=edges)
    assert_allclose(np.concatenate([start, one], axis=1), whole[:, :6], atol=1e-12)


def likeliest(params, config, text, **options):
    """Return a text with the likeliest five tokens behind it, each found without a cache."""
    for _ in range(5):
        text = np.concatenate([text, decoder(params, config, text, **options)[:, -1:].argmax(axis=-1)], axis=1)
    return text


@pytest.mark.parametrize("positions", ["learned", "rotary", "relative"])
def test_greedy_generation_takes_the_likeliest_token_each_time(positions):
    config, params = small(positions=positions)
    text = likeliest(params, config, tokens(3))
    for kind in (int, np.uint64, np.int8):
        assert_array_equal(generate(params, config, tokens(3).astype(kind), 5), text, strict=True)
    assert_array_equal(generate(params, config, tokens(3)[0], 5), text[0])
    assert_array_equal(generate(params, config, tokens(3), 0), tokens(3))
    assert len({tuple(row) for row in text}) > 1


def test_generation_reads_the_context_that_it_is_given():
    config, params = small(cross=True)
    mask = np.arange(6) < np.array([3, 6, 5, 4, 2])[:, None]
    options = {"context": 3 * np.random.default_rng(2).normal(size=(5, 6, 12)), "context_mask": mask}
    text = likeliest(params, config, tokens(3), **options)
    assert_array_equal(generate(params, config, tokens(3), 5, **options), text)
    for change in ({"context_mask": None}, {"context": 0 * options["context"]}):
        assert (generate(params, config, tokens(3), 5, **options | change) != text).any()


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("positions", POSITIONS)
def test_prompts_of_different_lengths_go_on_as_each_does_alone(positions, cross):
    config, params = small(positions=positions, cross=cross)
    texts, rng = [[3, 1, 4], [1, 5, 9, 2], [6]], np.random.default_rng(0)
    context = 3 * rng.normal(size=(3, 6, 12)) if cross else [None] * 3
    padded = np.array([[7] * (4 - len(text)) + text for text in texts])
    mask = np.array([[0] * (4 - len(text)) + [1] * len(text) for text in texts])
    together = generate(params, config, padded, 5, mask=mask, context=context if cross else None)
    for text, row, found in zip(texts, context, together):
        alone = generate(params, config, text, 5, context=row)
        assert_array_equal(found[4:], alone[len(text) :])
    assert cross or (generate(params, config, padded, 5) != together).any()
    assert_array_equal(generate(params, config, padded, 0, mask=mask), padded)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_padded_text_is_read_as_it_is_alone(positions):
    config, params = small(positions=positions)
    text = [3, 1, 4, 1, 5]
    for left, right in [(0, 2), (2, 0), (1, 1), (3, 1)]:
        padded = [7] * left + text + [7] * right
        mask = np.array([0] * left + [1] * 5 + [0] * right)
        for run in (encoder, decoder):
            alone = run(params, config, text)
            both = run(params, config, [padded, padded], mask=[mask, mask])
            assert_allclose(both[:, left : left + 5], [alone, alone], atol=1e-12)
        cache = Cache()
        parts = [decoder(params, config, padded[at], mask=mask[at], cache=cache) for at in (slice(2), slice(2, None))]
        assert_allclose(np.concatenate(parts)[left : left + 5], alone, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_hole_in_a_text_moves_no_position(positions):
    config, params = small(positions=positions)
    cache = Cache()
    decoder(params, config, [3], cache=cache)
    padded = decoder(params, config, [7, 1], mask=[False, True], cache=cache)
    assert_allclose(padded[1], decoder(params, config, [3, 9, 1], mask=[True, False, True])[2], atol=1e-12)


def test_no_gradient_comes_from_padding():
    config, params = small(positions="learned")
    text, mask = np.array([[7, 7, 3, 1, 4], [1, 5, 9, 2, 6]]), np.array([[0, 0, 1, 1, 1], [1] * 5])

    def found(text, mask, counts):
        with Tape() as tape:
            logits = decoder(params, config, text, mask=mask)
        return list(leaves(tape.gradients(params, (logits, np.sin(np.arange(11)) * counts[..., None]))))

    together = found(text, mask, mask)
    parts = [found(text[0, 2:], None, np.ones(3)), found(text[1], None, np.ones(5))]
    for whole, *each in zip(together, *parts):
        assert_allclose(whole, sum(each), atol=1e-12)


def test_a_text_ends_at_the_stop_token():
    config, params = small()
    free = generate(params, config, tokens(3), 6)
    stop = int(free[0, 4])
    stopped = generate(params, config, tokens(3), 6, stop=np.int64(stop))
    for row, before in zip(stopped, free):
        written = before[3:].tolist()
        end = written.index(stop) + 1 if stop in written else 6
        assert_array_equal(row, [*before[: 3 + end], *[stop] * (6 - end)][: len(row)])
    assert_array_equal(generate(params, config, tokens(3)[0], 6, stop=stop), free[0, :5])  # a single text is not filled
    assert_array_equal(
        generate(params, config, [*tokens(3)[0, :2], stop], 1),
        generate(params, config, [*tokens(3)[0, :2], stop], 1, stop=stop),
    )  # a stop that was given ends nothing


@pytest.mark.parametrize(("options", "left"), [({"top_p": 0.1}, 1), ({"top_k": 3}, 3), ({"top_p": 0.25}, 3)])
def test_of_equally_likely_tokens_no_more_are_drawn_than_are_needed(options, left):
    drawn = draw(np.zeros((2000, 10)), np.random.default_rng(0), **options)
    assert np.unique(drawn).tolist() == list(range(left))


class Highest(np.random.Generator):
    """A generator that draws the largest number below 1."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def random(self, size):
        return np.full(size, np.nextafter(1.0, 0))


def test_the_highest_draw_is_still_a_token():
    logits = np.zeros(10)  # the sum of ten tenths is a little below 1
    assert np.cumsum(softmax(logits))[-1] <= np.nextafter(1.0, 0)
    assert draw(logits, Highest()) == 9


def test_only_as_many_tokens_are_drawn_as_a_probability_needs():
    P, rng = np.array([0.1, 0.45, 0.05, 0.4]), np.random.default_rng(0)
    for share, left in [(0.44, [1]), (0.46, [1, 3]), (0.86, [0, 1, 3]), (1.0, [0, 1, 2, 3])]:
        drawn = draw(np.log(np.tile(P, (4000, 1))), rng, top_p=share)
        assert np.unique(drawn).tolist() == left
        assert_allclose(np.bincount(drawn, minlength=4)[left] / 4000, P[left] / P[left].sum(), atol=0.03)
    both = draw(np.log(np.tile(P, (4000, 1))), rng, top_k=3, top_p=0.87)  # of all tokens three would be needed
    assert np.unique(both).tolist() == [1, 3]


def test_drawing_follows_temperature_and_top_k():
    logits = np.array([0.0, 1.0, 2.0, 3.0])
    rng, many = np.random.default_rng(0), np.tile(logits, (20_000, 1))
    for temperature in (0.5, 1.0, 2.0):
        shares = np.bincount(draw(many, rng, temperature), minlength=4) / 20_000
        assert_allclose(shares, softmax(logits / temperature), atol=0.015)
    shares = np.bincount(draw(many, rng, 1.0, top_k=2), minlength=4) / 20_000
    assert_allclose(shares, [0, 0, *softmax(logits[2:])], atol=0.015)
    assert set(draw(many, rng, 1e-3)) == set(draw([[*logits, -np.inf]] * 100, rng, 1e-308)) == {3}
    assert set(draw(np.array([[-np.inf, 0.0]] * 1000), rng)) == {1}


LETTERS = Tokenizer(list("abcdefgh"), [("a", "b"), ("c", "d")])


def test_a_text_is_continued_token_by_token_with_the_probability_of_each_up_to_what_stops_it():
    config, params = small(positions="rotary", n_positions=None)
    options = {"temperature": 0.7, "top_k": 5}

    def drawn(write, *inputs, **more):
        return write(params, config, *inputs, 8, **options, rng=np.random.default_rng(3), **more)

    whole = drawn(generate, LETTERS.encode("bad"))
    pieces, chances = zip(*drawn(continue_text, LETTERS, "bad"))
    assert "".join(pieces) == LETTERS.decode(whole[3:])
    P = softmax(decoder(params, config, whole))
    assert_allclose(chances, P[np.arange(2, 10), whole[3:]])
    place = next(i for i in range(4, 11) if whole[i] not in whole[3:i])
    assert [piece for piece, _ in drawn(continue_text, LETTERS, "bad", stop=whole[place])] == [*pieces[: place - 3]]


# --- a call that fails ----------------------------------------------------------------------------

WRONG = {  # calls that are refused, most of them in the middle of the model
    "values of another shape": {"interventions": [ReplaceValues(0, np.zeros(7), 2, 1)]},
    "a place that there is not": {"interventions": [Replace(99, np.zeros(12), 1)]},
    "edges of another shape": {"interventions": [Forbid(np.ones((2, 2), bool))]},
    "no intervention": {"interventions": ["off"]},
    "a mask of another shape": {"mask": np.ones((5, 9), bool)},
    "a mask that ends in padding": {"mask": np.arange(2) < np.ones((5, 1)), "last": True},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_call_that_fails_leaves_nothing_in_the_cache_and_in_the_trace(name):
    config, params = small()
    cache = Cache()
    decoder(params, config, tokens()[:, :4], cache=cache)
    with Trace() as trace:
        with pytest.raises((ValueError, TypeError, IndexError)):
            decoder(params, config, tokens()[:, 4:6], cache=cache, **WRONG[name])
        assert (len(cache), trace.embedded, trace.layers) == (4, [], [])
        rest = decoder(params, config, tokens()[:, 4:], cache=cache)
    assert_allclose(rest, decoder(params, config, tokens())[:, 4:], atol=1e-12)
    assert (len(trace.embedded), len(trace.layers)) == (1, config.n_layers)


def test_a_cache_counts_its_tokens_and_is_of_one_model_and_of_as_many_texts():
    config, params = small()
    cache = Cache()
    decoder(params, config, tokens()[:, :4], cache=cache)
    other = copy.copy(cache)  # which grows alone
    decoder(params, config, tokens()[:, 4:], cache=other)
    assert (len(Cache()), len(cache), len(other)) == (0, 4, 7)
    for model, text, message in [
        ((params, config), tokens(6), "the text has 10 tokens, but this model reads at most 9"),
        ((params, config), tokens()[:2, 4:], r"the cache holds texts of shape \(5,\), but tokens have shape \(2, 3\)"),
        (small(n_layers=3)[::-1], tokens()[:, 4:], "the cache is of another model: give each its own"),
    ]:
        with pytest.raises(ValueError, match=message):
            decoder(*model, text, cache=cache)
        assert len(cache) == 4
