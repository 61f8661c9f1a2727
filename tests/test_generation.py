"""Generation: one token with the cache is everything anew, and draws follow the probabilities."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_transformer import MODELS, POSITIONS, small, tokens

from attn import Forbid, Replace, Tape, Trace, decoder, encoder, generate, init_transformer, softmax
from attn.bytepairs import Tokenizer
from attn.generation import Cache, draw
from attn.interventions import ReplaceValues
from attn.tape import leaves
from attn_course.released_tokens import continue_text


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pieces", [[1] * 7, [4, 1, 2]])
def test_reading_piece_by_piece_with_a_cache_is_reading_at_once(name, pieces):
    config, params = small(**MODELS[name])
    whole, cache = decoder(params, config, tokens()), Cache()
    ends = np.cumsum(pieces)
    parts = [decoder(params, config, tokens()[:, end - n : end], cache=cache) for n, end in zip(pieces, ends)]
    assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-12)


def test_a_cache_works_with_cross_attention_and_with_forbidden_edges():
    config, params = small(cross=True)
    options = {"context": np.random.default_rng(2).normal(size=(5, 6, 12)), "interventions": [Forbid([(5, 1), (5, 2)])]}
    whole, cache = decoder(params, config, tokens(), **options), Cache()
    options["interventions"] = []
    start = decoder(params, config, tokens()[:, :5], cache=cache, **options)
    edges = [Forbid([(5, 1), (5, 2)])]
    one = decoder(params, config, tokens()[:, 5:6], cache=cache, context=options["context"], interventions=edges)
    assert_allclose(np.concatenate([start, one], axis=1), whole[:, :6], atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_last_token_alone_has_the_logits_that_it_has_among_all(name):
    config, params = small(**MODELS[name])
    assert_allclose(decoder(params, config, tokens(), last=True), decoder(params, config, tokens())[:, -1:], atol=1e-12)


@pytest.mark.parametrize("positions", ["learned", "rotary", "relative"])
def test_greedy_generation_takes_the_likeliest_token_each_time(positions):
    config, params = small(positions=positions)
    text = tokens(3)
    for _ in range(5):
        text = np.concatenate([text, decoder(params, config, text)[:, -1:].argmax(axis=-1)], axis=1)
    assert_array_equal(generate(params, config, tokens(3), 5), text)
    assert_array_equal(generate(params, config, tokens(3)[0], 5), text[0])
    assert len({tuple(row) for row in text}) > 1


def test_generation_reads_the_context_that_it_is_given():
    config, params = small(cross=True)
    mask = np.arange(6) < np.array([3, 6, 5, 4, 2])[:, None]
    options = {"context": 3 * np.random.default_rng(2).normal(size=(5, 6, 12)), "context_mask": mask}
    text = tokens(3)
    for _ in range(5):
        text = np.concatenate([text, decoder(params, config, text, **options)[:, -1:].argmax(axis=-1)], axis=1)
    assert_array_equal(generate(params, config, tokens(3), 5, **options), text)
    assert (generate(params, config, tokens(3), 5, context=options["context"]) != text).any()
    assert (generate(params, config, tokens(3), 5, context=0 * options["context"]) != text).any()


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
        pieces = [decoder(params, config, padded[:2], mask=mask[:2], cache=cache)]
        pieces += [decoder(params, config, padded[2:], mask=mask[2:], cache=cache)]
        assert_allclose(np.concatenate(pieces)[left : left + 5], alone, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_cache_keeps_what_is_padding(positions):
    config, params = small(positions=positions)
    cache = Cache()
    decoder(params, config, [7, 7, 3], mask=[False, False, True], cache=cache)
    later = [decoder(params, config, piece, cache=cache) for piece in ([1, 4], [1])]
    assert_allclose(np.concatenate(later), decoder(params, config, [3, 1, 4, 1])[1:], atol=1e-12)
    cache = Cache()
    decoder(params, config, [3], cache=cache)
    padded = decoder(params, config, [7, 1], mask=[False, True], cache=cache)  # a hole moves no position
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


@pytest.mark.parametrize("wrong", [[0, np.nan, 9, 3], [0, np.inf, 9, 3], [-np.inf] * 4])
def test_logits_without_a_distribution_are_refused(wrong):
    for options in ({}, {"temperature": 0}):
        with pytest.raises(ValueError, match=r"a row of logits needs a largest number .* is (nan|inf|-inf)"):
            draw([[0, 1, 2, 3], wrong], None if options else np.random.default_rng(0), **options)
    config, params = small(norm="none")
    params["layer 1"]["attention"]["W_O"][0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="its largest is nan"):
        generate(params, config, tokens(3), 2)


def test_the_coldest_temperature_takes_the_likeliest():
    assert set(draw([[1.0, 3.0, 2.0, -np.inf]] * 100, np.random.default_rng(0), temperature=1e-308)) == {1}


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
        np.testing.assert_allclose(np.bincount(drawn, minlength=4)[left] / 4000, P[left] / P[left].sum(), atol=0.03)
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
    assert set(draw(many, rng, 1e-3)) == {3}
    assert set(draw(np.array([[-np.inf, 0.0]] * 1000), rng)) == {1}


def test_a_seed_gives_the_same_text_and_top_1_is_greedy():
    config, params = small()
    texts = [
        generate(params, config, tokens(3), 6, temperature=2.0, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    ]
    assert_array_equal(texts[0], texts[1])
    assert not np.array_equal(texts[0], texts[2])
    best = generate(params, config, tokens(3), 6, temperature=2.0, top_k=1, rng=np.random.default_rng(1))
    assert_array_equal(best, generate(params, config, tokens(3), 6))
    cold = generate(params, config, tokens(3), 6, temperature=1e-6, rng=np.random.default_rng(1))
    assert_array_equal(cold, best)


def test_a_text_may_be_continued_by_nothing_and_not_beyond_the_last_position():
    config, params = small()
    assert_array_equal(generate(params, config, tokens(3), 0), tokens(3))
    with pytest.raises(ValueError, match="the text would have 10 tokens, but this model reads at most 9"):
        generate(params, config, tokens(3), 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 1.0}, "temperature is 1.0, rng is None"),
        ({"rng": np.random.default_rng(0)}, "temperature is 0.0, rng is Generator"),
        ({"temperature": -1.0}, "temperature must be a number from 0 on, but is -1.0"),
        ({"temperature": np.nan}, "but is nan"),
        ({"temperature": np.inf, "rng": np.random.default_rng(0)}, "but is inf"),
        (
            {"temperature": 1.0, "rng": np.random.default_rng(0), "top_k": 0},
            "top_k must be a positive integer, but is 0",
        ),
        ({"n_new": -1}, "n_new must be zero or a positive integer, but is -1"),
        ({"n_new": 2.5}, "n_new must be zero or a positive integer, but is 2.5"),
        ({"stop": 11}, "tokens must be from 0 to 10, but there is 11"),
        ({"mask": np.ones((5, 4), bool)}, r"mask of shape \(5, 4\) does not fit tokens of shape \(5, 3\)"),
        ({"mask": [[True, True, False]] * 5}, "padding stands on the left, but this mask ends in it"),
        ({"mask": [[2, 1, 1]] * 5}, "a mask is boolean"),
        ({"top_k": 3}, "top_k and top_p are for drawing, but there is no rng: they are 3 and None"),
        ({"top_p": 0.5}, "there is no rng: they are None and 0.5"),
        (
            {"temperature": 1.0, "rng": np.random.default_rng(0), "top_p": 0.0},
            "top_p is a probability above 0, but is 0.0",
        ),
        ({"temperature": 1.0, "rng": np.random.default_rng(0), "top_p": 1.5}, "but is 1.5"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    config, params = small()
    with pytest.raises((ValueError, TypeError), match=message):
        generate(params, config, tokens(3), **{"n_new": 2, **options})


@pytest.mark.parametrize("rng", [0, np.random])
def test_a_seed_is_no_generator(rng):
    config, params = small()
    for call in (
        lambda: generate(params, config, tokens(3), 2, temperature=1.0, rng=rng),
        lambda: draw(np.zeros(3), rng),
        lambda: init_transformer(rng, config),
    ):
        with pytest.raises(TypeError, match=r"rng must be a numpy Generator, .* but is (0|<module)"):
            call()


def test_a_text_needs_a_beginning_and_a_model_an_unembedding():
    config, params = small()
    with pytest.raises(ValueError, match="at least one token"):
        generate(params, config, [], 3)
    config, params = small(unembedding="none")
    with pytest.raises(ValueError, match="unembedding is none"):
        generate(params, config, [1], 3)


def test_a_text_is_continued_token_by_token_with_the_probability_of_each():
    config, params = small(positions="rotary", n_positions=None)
    tokenizer = Tokenizer(list("abcdefgh"), [("a", "b"), ("c", "d")])
    options = {"temperature": 0.7, "top_k": 5}
    whole = generate(params, config, tokenizer.encode("bad"), 8, **options, rng=np.random.default_rng(3))
    written = [*continue_text(params, config, tokenizer, "bad", 8, **options, rng=np.random.default_rng(3))]
    assert "".join(piece for piece, _ in written) == tokenizer.decode(whole[3:])
    P = softmax(decoder(params, config, whole))
    assert_allclose([p for _, p in written], P[np.arange(2, 10), whole[3:]])


def test_a_text_ends_before_the_token_that_stops_it():
    config, params = small(positions="rotary", n_positions=None)
    tokenizer = Tokenizer(list("abcdefgh"), [("a", "b"), ("c", "d")])
    whole = generate(params, config, tokenizer.encode("bad"), 8)
    place = next(i for i in range(4, 11) if whole[i] not in whole[3:i])
    written = [*continue_text(params, config, tokenizer, "bad", 8, stop=whole[place])]
    assert "".join(piece for piece, _ in written) == tokenizer.decode(whole[3:place])
    with pytest.raises(ValueError, match="needs at least one token to begin with"):
        next(continue_text(params, config, tokenizer, "", 8))


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


def test_a_call_that_is_interrupted_leaves_nothing_in_the_cache(monkeypatch):
    config, params = small()
    cache, whole = Cache(), decoder(params, config, tokens())
    decoder(params, config, tokens()[:, :4], cache=cache)
    left = [1]

    def interrupted(*given):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return (given[0], None)

    with monkeypatch.context() as patch:
        patch.setattr("attn.transformer._mlp", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decoder(params, config, tokens()[:, 4:], cache=cache)
    assert_allclose(decoder(params, config, tokens()[:, 4:], cache=cache), whole[:, 4:], atol=1e-12)


def test_a_copy_of_a_cache_grows_alone():
    config, params = small()
    cache = Cache()
    decoder(params, config, tokens()[:, :4], cache=cache)
    other = copy.copy(cache)
    decoder(params, config, tokens()[:, 4:], cache=other)
    assert (len(cache), len(other)) == (4, 7)


def test_a_cache_is_of_one_model_and_of_as_many_texts():
    config, params = small()
    cache = Cache()
    decoder(params, config, tokens()[:, :4], cache=cache)
    with pytest.raises(ValueError, match=r"the cache holds texts of shape \(5,\), but tokens have shape \(2, 3\)"):
        decoder(params, config, tokens()[:2, 4:], cache=cache)
    with pytest.raises(ValueError, match="the cache is of another model: give each its own"):
        decoder(*small(n_layers=3)[::-1], tokens()[:, 4:], cache=cache)
    assert len(cache) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "."}, "stop must be zero or a positive integer, but is '.'"),
        ({"stop": -1}, "stop must be zero or a positive integer, but is -1"),
        ({"stop": 99}, "tokens must be from 0 to 10, but there is 99"),
        ({"n_new": 2.5}, "n_new must be zero or a positive integer, but is 2.5"),
        ({"n_new": 99}, "the text would have 101 tokens, but this model reads at most 9"),
    ],
)
def test_a_text_is_continued_as_it_is_generated_or_not_at_all(options, message):
    config, params = small()
    words = Tokenizer(list("abcdefghijkl"), [])
    with pytest.raises(ValueError, match=message):
        next(continue_text(params, config, words, "ab", **{"n_new": 2, **options}))


@pytest.mark.parametrize("kind", [np.uint64, np.int8, np.uint8])
def test_tokens_of_any_integers_are_continued_by_the_same(kind):
    config, params = small()
    text = generate(params, config, tokens(3).astype(kind), 3)
    assert_array_equal(text, generate(params, config, tokens(3), 3))
    assert text.dtype == int
