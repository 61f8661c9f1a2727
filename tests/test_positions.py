"""The ways to tell positions: as the papers have them, and the table that all of the package asks."""

import json
from dataclasses import replace

import numpy as np
import pytest
import quickjs
from numpy.testing import assert_allclose, assert_array_equal
from test_layers import arrays

from attn import Tape, Trace, TransformerConfig, count_parameters, decoder, generate, init_transformer, softmax
from attn.generation import Cache
from attn.positions import POSITIONS, PositionalEncoding, masked, relative_bias, rotary, sinusoid
from attn_course.figures import FOLDER, joined


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("grad_dtype", [np.float16, np.float32, np.float64])
def test_rotary_positions_turn_gradients_of_another_type_as_well(dtype, grad_dtype):
    X, grad = arrays((3, 2), (3, 2))
    given = X.astype(dtype)
    with Tape() as tape:
        turned, again = rotary(X), rotary(given)
    assert again.dtype == dtype
    assert_allclose(again, turned, atol=1e-3)
    expected = tape.gradients({"X": X}, (turned, grad))
    found = tape.gradients({"X": given}, (again, grad.astype(grad_dtype)))
    assert_allclose(found["X"], expected["X"], atol=2e-3)


def test_a_relative_bias_depends_on_the_distance_up_to_the_largest_and_the_last_query_stands_with_the_last_key():
    table = np.arange(14.0).reshape(2, 7)
    bias = relative_bias(table, 11, 11)
    for i in range(11):
        for j in range(11):
            assert_array_equal(bias[:, i, j], table[:, np.clip(j - i, -3, 3) + 3])
    assert_array_equal(relative_bias(table, 2, 11), bias[:, 9:])


def test_a_masked_bias_is_minus_infinity_where_a_query_may_not_attend():
    bias, seen = np.ones((2, 3, 3), np.float32), np.tri(3, dtype=bool)
    assert_array_equal(masked(bias, seen), np.where(seen, bias, -np.inf), strict=True)


def test_the_angles_of_rotary_positions_and_of_sinusoids_are_those_of_the_papers():
    right, up, positions = rotary(np.tile([1.0, 0.0], (11, 3))), rotary(np.tile([0.0, 1.0], (11, 3))), sinusoid(11, 6)
    for place in (0, 1, 10):
        for pair in range(3):
            angle, entries = place / 10_000 ** (2 * pair / 6), slice(2 * pair, 2 * pair + 2)
            assert_allclose(right[place, entries], [np.cos(angle), np.sin(angle)], atol=1e-12)
            assert_allclose(up[place, entries], [-np.sin(angle), np.cos(angle)], atol=1e-12)
            assert_allclose(positions[place, entries], [np.sin(angle), np.cos(angle)], atol=1e-12)
    assert_allclose(sinusoid(4, 6, start=7), positions[7:], atol=1e-12)


# --- the table ------------------------------------------------------------------------------------


def alibi(p, n_heads, n_queries, n_keys):
    """Linear biases, a slope for each head: Press, Smith and Lewis 2022."""
    apart = np.arange(n_keys) - np.arange(n_keys - n_queries, n_keys)[:, None]
    return -(2.0 ** -np.arange(1, n_heads + 1))[:, None, None] * np.abs(apart)


def test_a_new_way_to_tell_positions_is_one_entry(monkeypatch):
    sizes = {"vocab_size": 11, "d_model": 12, "n_heads": 3, "n_layers": 2}
    without = TransformerConfig(**sizes, positions="none")
    monkeypatch.setitem(POSITIONS, "alibi", PositionalEncoding(bias=alibi))
    config, text = TransformerConfig(**sizes, positions="alibi"), np.array([3, 1, 4, 1, 5, 9, 2])
    assert count_parameters(config) == count_parameters(without)
    params, cache = init_transformer(np.random.default_rng(0), config, dtype=float), Cache()
    with Trace() as trace:
        logits = decoder(params, config, text)
    seen = trace.layers[0].attention
    assert_array_equal(seen.bias, alibi({}, 3, 7, 7))
    expected = softmax(seen.Q @ np.swapaxes(seen.K, -1, -2) / 2 + np.where(np.tri(7, dtype=bool), seen.bias, -np.inf))
    assert_allclose(seen.weights, expected)
    assert np.abs(logits - decoder(params, without, text)).max() > 0.01
    parts = [decoder(params, config, text[:4], cache=cache), decoder(params, config, text[4:], cache=cache)]
    assert_allclose(np.concatenate(parts), logits, atol=1e-12)
    assert generate(params, config, text, 2).shape == (9,)


def machine(code):
    context = quickjs.Context()
    context.eval(joined(FOLDER / "engines/machine.js"))
    return json.loads(context.eval(f"JSON.stringify({code})"))


def test_a_figure_tells_positions_in_the_same_ways_and_refuses_what_it_does_not_know():
    assert machine("Object.keys(POSITIONS)") == list(POSITIONS)
    for config, message in [
        ("{ positions: 'alibi' }", r"positions must be one of learned, .*, none in a figure, but it is alibi"),
        ("{ positions: 'none', activation: 'swiglu' }", "activation must be one of relu, gelu in a figure, but"),
        ("{ positions: 'none', activation: 'relu', norm_type: 'rms' }", "norm_type must be one of layer in a"),
    ]:
        with pytest.raises(quickjs.JSException, match=message):
            machine(f"runMachine({{}}, {config}, [0])")


def test_neighbours_that_count_half_are_turned_half_as_far():
    (X,) = arrays((2, 9, 6))
    every_other = rotary(np.repeat(X, 2, axis=1), step=0.5)[:, ::2]
    assert_allclose(every_other, rotary(X), atol=1e-12)
    assert_allclose(rotary(X, start=3, step=0.5)[:, 1], rotary(X[:, 1:2], start=2)[:, 0], atol=1e-12)


def test_a_model_that_counts_neighbours_as_half_a_step_apart_reads_the_same_in_a_page(js):
    config = TransformerConfig(
        vocab_size=5, d_model=8, n_heads=2, n_layers=2, positions="rotary", position_step=0.3, activation="relu"
    )
    params, tokens = init_transformer(np.random.default_rng(0), config, dtype=float), np.array([1, 4, 2, 0, 3])
    found = js(
        "(params, config, tokens) => attn.stepper.runMachine(params, config, tokens).at(-1).value.data",
        params, vars(config), tokens,
    )  # fmt: skip
    expected, whole = (decoder(params, replace(config, position_step=step), tokens) for step in (0.3, 1))
    assert_allclose([found[str(i)] for i in range(len(found))], expected.ravel(), atol=1e-12)
    assert np.abs(expected - whole).max() > 0.01
