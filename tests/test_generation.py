"""Generation: one token with the cache is everything anew, and draws follow the probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_transformer import MODELS, small, tokens

from attn import Forbid, decoder, generate, softmax
from attn.generation import Cache, draw


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


class Highest:
    """Stands in for a generator that draws the largest number below 1."""

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
        ({"temperature": -1.0}, "-1.0 and None"),
        ({"temperature": 1.0, "rng": np.random.default_rng(0), "top_k": 0}, "1.0 and 0"),
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
    with pytest.raises(ValueError, match=message):
        generate(params, config, tokens(3), 2, **options)


def test_a_text_needs_a_beginning_and_a_model_an_unembedding():
    config, params = small()
    with pytest.raises(ValueError, match="at least one token"):
        generate(params, config, [], 3)
    config, params = small(unembedding="none")
    with pytest.raises(ValueError, match="unembedding is none"):
        generate(params, config, [1], 3)
