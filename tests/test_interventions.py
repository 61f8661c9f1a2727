"""Traces hold what a run has seen, and interventions change what they say and nothing else."""

import copy

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose, assert_array_equal
from test_transformer import small, tokens

from attn import Forbid, Replace, ReplaceMixtures, ReplaceValues, Trace, decoder, encoder, hold, switch_off
from attn.generation import Cache
from attn.layers import layer_norm
from attn.positions import relative_bias


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
def test_a_trace_holds_what_every_layer_has_seen(positions):
    config, params = small(positions=positions, scale=0.3, n_key_heads=1)
    mask = np.arange(7) < np.array([3, 7, 5, 4, 6])[:, None]
    with Trace() as trace:
        logits = encoder(params, config, tokens(), mask=mask)
    assert len(trace.layers) == 2 and trace.embedded[0].shape == (5, 7, 12)
    for number, layer in enumerate(trace.layers, start=1):
        seen, p = layer.attention, params[f"layer {number}"]["attention"]
        assert seen.Q.shape == seen.K.shape == seen.V.shape == (5, 3, 7, 4)
        bias = relative_bias(p["relative"], 7, 7) if positions == "relative" else 0
        assert_allclose(seen.scores, 0.3 * seen.Q @ np.swapaxes(seen.K, -1, -2) + bias)
        weights = np.exp(seen.scores) * mask[:, None, None, :]
        assert_allclose(seen.weights, weights / weights.sum(axis=-1, keepdims=True))
        before = trace.layers[number - 2].after_mlp if number > 1 else trace.embedded[0]
        update = np.einsum("bhnm,bhmd,hde->bne", seen.weights, seen.V, p["W_O"]) + p["b_O"]
        assert_allclose(layer.after_attention, before + update)
        assert layer.cross is None and np.abs(layer.after_mlp - layer.after_attention).max() > 0.01
    assert_allclose(logits, layer_norm(trace.layers[-1].after_mlp, **params["norm"]) @ params["embedding"].T)
    encoder(params, config, tokens())
    assert len(trace.layers) == 2  # a closed trace notes nothing


OTHER = (tokens() + 3) % 11  # another text


def traced(params, config, *interventions, text=None, **options):
    """Return the trace of a decoder's run, and its logits."""
    with Trace() as trace:
        logits = decoder(params, config, tokens() if text is None else text, interventions=interventions, **options)
    return trace, logits


def patterns(params, config, *interventions):
    trace, _ = traced(params, config, *interventions)
    return np.array([layer.attention.weights for layer in trace.layers])  # (layer, text, head, query, key)


def test_cross_attention_is_traced_beside_the_other():
    config, params = small(cross=True)
    trace, _ = traced(params, config, text=tokens(4), context=np.ones((5, 6, 12)))
    assert trace.layers[0].attention.weights.shape == (5, 3, 4, 4)
    assert trace.layers[0].cross.weights.shape == (5, 3, 4, 6)


def test_a_head_that_is_held_looks_where_it_is_told_and_is_free_where_it_is_told_nothing():
    config, params = small(positions="relative")
    looks = np.tile([-1, 0, 0, 1, -1, 5, 2], (5, 1))
    looks[3, 4] = 1  # a row of the batch may have places of its own
    free, held = patterns(params, config), patterns(params, config, hold(looks, 2, 2))
    told = looks >= 0
    assert_array_equal(held[1, :, 1][told], np.eye(7)[looks[told]])
    assert_array_equal(held[1, :, 1][~told], free[1, :, 1][~told])
    assert_array_equal(held[0], free[0])
    assert_array_equal(held[1][:, [0, 2]], free[1][:, [0, 2]])


@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_a_forbidden_edge_has_weight_zero_there_and_nowhere_else(positions):
    config, params = small(positions=positions)
    free = patterns(params, config)
    assert (free[:, :, :, 5, 2] > 0).all()
    edges = np.zeros((7, 7), bool)
    edges[5, 2] = True
    for given in ([(5, 2)], np.array([(5, 2)]), edges, edges.tolist()):
        held = patterns(params, config, Forbid(given, layer=2, head=2))
        assert (held[1, :, 1, 5, 2] == 0).all()
        assert_allclose(held[0], free[0])
        assert_allclose(held[1][:, [0, 2]], free[1][:, [0, 2]])
        others = np.delete(free[1, :, 1, 5], 2, axis=-1)
        assert_allclose(np.delete(held[1, :, 1, 5], 2, axis=-1), others / others.sum(axis=-1, keepdims=True))
    everywhere = patterns(params, config, Forbid([(5, 2)]))
    assert (everywhere[:, :, :, 5, 2] == 0).all() and (everywhere[:, :, :, 5, 1] > 0).all()
    both = patterns(params, config, Forbid([(5, 2)], layer=1), Forbid([(5, 1)], layer=1))
    assert (both[0, :, :, 5, [1, 2]] == 0).all() and (both[1, :, :, 5, [1, 2]] > 0).all()


def test_edges_may_differ_from_text_to_text():
    config, params = small()
    edges = np.zeros((5, 7, 7), bool)
    edges[range(5), 6, range(5)] = True
    held = patterns(params, config, Forbid(edges))[..., 6, :]
    assert_array_equal((held == 0).any(axis=2), np.broadcast_to(edges[:, 6], (2, 5, 7)))


def test_a_head_that_is_switched_off_writes_nothing():
    config, params = small()
    plain = decoder(params, config, tokens())
    for layer, head in [(1, 3), (2, 1)]:
        off = decoder(params, config, tokens(), interventions=[switch_off(layer, head)])
        other = copy.deepcopy(params)
        other[f"layer {layer}"]["attention"]["W_O"][head - 1] = 0
        assert_allclose(off, decoder(other, config, tokens()), atol=1e-12)
        assert np.abs(off - plain).max() > 0.01


@pytest.mark.parametrize(("layer", "after"), [(0, "mlp"), (1, "attention"), (1, "mlp"), (2, "mlp")])
def test_a_stream_that_is_replaced_everywhere_makes_the_other_runs_output(layer, after):
    config, params = small()
    trace, wanted = traced(params, config, text=OTHER)
    stream = trace.embedded[0] if layer == 0 else getattr(trace.layers[layer - 1], f"after_{after}")
    swapped = decoder(params, config, tokens(), interventions=[Replace(slice(None), stream, layer, after)])
    assert_allclose(swapped, wanted, atol=1e-12)
    one = decoder(params, config, tokens(), interventions=[Replace(3, stream[..., 3, :], layer, after)])
    plain = decoder(params, config, tokens())
    assert_allclose(one[:, :3], plain[:, :3], atol=1e-12)
    assert np.abs(one[:, 3] - plain[:, 3]).max() > 0.01


@pytest.mark.parametrize("n_key_heads", [None, 1])
def test_values_that_are_replaced_change_what_one_head_mixes_and_no_weight(n_key_heads):
    config, params = small(positions="rotary", n_key_heads=n_key_heads)
    here, values = np.random.default_rng(4).random((5, 7)) < 0.4, np.arange(4.0)
    (plain, _), (trace, _) = traced(params, config), traced(params, config, ReplaceValues(here, values, 2, 2))
    (first, free), (same, other) = plain.layers, trace.layers
    assert_array_equal(same.after_mlp, first.after_mlp)
    assert_array_equal(other.attention.weights, free.attention.weights)
    V = free.attention.V.copy()
    V[:, 1][here] = values
    assert_array_equal(other.attention.V, V)
    update = (free.attention.weights[:, 1] @ (V - free.attention.V)[:, 1]) @ params["layer 2"]["attention"]["W_O"][1]
    assert_allclose(other.after_attention, free.after_attention + update, atol=1e-12)
    assert np.abs(update).max() > 0.01


def test_values_of_another_run_are_put_in_place_by_place_and_with_a_cache():
    config, params = small()
    trace, _ = traced(params, config, text=OTHER)
    V = trace.layers[1].attention.V[:, 2]
    trace, at_once = traced(params, config, ReplaceValues(slice(1, 4), V, 2, 3))
    assert_array_equal(trace.layers[1].attention.V[:, 2, 1:4], V[:, 1:4])
    one = ReplaceValues(2, V[0, 2], 2, 3)
    expected, cache = decoder(params, config, tokens(), interventions=[one]), Cache()
    decoder(params, config, tokens()[:, :6], cache=cache, interventions=[one])
    last = decoder(params, config, tokens()[:, 6:], cache=cache, interventions=[one])
    assert_allclose(last[:, 0], expected[:, 6], atol=1e-12)
    assert np.abs(expected - at_once).max() > 0.01


@pytest.mark.parametrize("n_key_heads", [None, 1])
def test_mixtures_of_another_run_change_what_one_head_hands_over_at_some_queries(n_key_heads):
    config, params = small(positions="rotary", n_key_heads=n_key_heads)
    (other, _), (plain, _) = traced(params, config, text=OTHER), traced(params, config)
    seen, given = plain.layers[1].attention, other.layers[1].attention
    mixtures = (given.weights @ given.V)[:, 1]
    trace, _ = traced(params, config, ReplaceMixtures(slice(4, 6), mixtures, 2, 2))
    update = np.zeros_like(plain.layers[1].after_attention)
    update[:, 4:6] = (mixtures - (seen.weights @ seen.V)[:, 1])[:, 4:6] @ params["layer 2"]["attention"]["W_O"][1]
    assert_allclose(trace.layers[1].after_attention, plain.layers[1].after_attention + update, atol=1e-12)
    assert np.abs(update[:, 4:6]).max() > 0.01


def test_a_mixture_is_put_in_where_this_run_asks_also_with_a_cache():
    config, params = small()
    last, cache = np.arange(4.0), Cache()
    expected = decoder(params, config, tokens(), interventions=[ReplaceMixtures(6, last, 1, 3)])
    decoder(params, config, tokens()[:, :6], cache=cache)
    one = decoder(params, config, tokens()[:, 6:], cache=cache, interventions=[ReplaceMixtures(0, last, 1, 3)])
    assert_allclose(one[:, 0], expected[:, 6], atol=1e-12)


def test_gradients_go_through_interventions_and_reach_the_values_that_are_put_in():
    config, params = small()
    rng, rows = np.random.default_rng(8), tokens(4)[:2]
    here = np.array([[False, True, True, False], [True, False, False, False]])
    each, one, stream = rng.normal(size=(2, 4, 4)), rng.normal(size=4), rng.normal(size=12)
    interventions = [
        *(Forbid([(3, 1)], layer=1), switch_off(2, 2), Replace(2, stream, 1), ReplaceMixtures(1, stream[4:8], 2, 3)),
        *(ReplaceValues(here, each, 1, 3), ReplaceValues(3, one, 2, 1)),
    ]
    first, second = (params[f"layer {number}"]["attention"] for number in (1, 2))
    assert_gradients(
        lambda *_: decoder(params, config, rows, interventions=interventions),
        *(each, one, first["W_Q"], first["W_V"], second["W_K"], second["W_V"]),
    )


def test_gradients_reach_the_run_whose_stream_is_put_into_another():
    config, params = small()
    rows, layer = tokens(4)[:2], params["layer 1"]

    def run(*_):
        with Trace() as trace:
            decoder(params, config, rows)
        other = [Replace(slice(1, 3), np.ones(12), 1), Replace(slice(None), trace.layers[0].after_mlp, 1)]
        return decoder(params, config, (rows + 1) % 11, interventions=other)

    assert_gradients(run, layer["attention"]["W_Q"], layer["mlp"]["W_1"])


def test_interventions_may_come_from_a_generator():
    config, params = small()
    given = [switch_off(1, 1), Replace(0, np.zeros(12), 1)]
    expected = decoder(params, config, tokens(), interventions=given)
    assert_array_equal(decoder(params, config, tokens(), interventions=(one for one in given)), expected)
