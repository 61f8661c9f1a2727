"""Whole models against the same models in PyTorch: outputs and every gradient; what a run has seen and may not see."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from differences import central_differences
from numpy.testing import assert_allclose, assert_array_equal

from attn import (
    Tape,
    Trace,
    TransformerConfig,
    decoder,
    encoder,
    generate,
    init_transformer,
)
from attn.generation import Cache
from attn.layers import feed_forward, layer_norm
from attn.tape import leaves
from attn.training import cross_entropy
from attn_course.checks_for_yours import check_padding, check_rotary, check_steps
from book import chapter
from book.execute import read

POSITIONS = ["none", "learned", "sinusoid", "rotary", "relative"]
BASE = TransformerConfig(vocab_size=11, d_model=12, n_heads=3, n_layers=2, d_ff=7, n_positions=9, activation="relu")


def small(**changes):
    """A config, and parameters with nothing left at zero or one, so that no gradient can hide."""
    rng, config = np.random.default_rng(0), replace(BASE, **changes)
    params = init_transformer(rng, config, dtype=np.float64)
    for array in leaves(params):
        array += 0.3 * rng.normal(size=array.shape)
    return config, params


def tokens(n=7, seed=1):
    return np.random.default_rng(seed).integers(11, size=(5, n))


class InPyTorch:
    """The same transformer, written with PyTorch's operations alone, one head and one pair at a time."""

    def __init__(self, torch, config):
        self.torch, self.config = torch, config

    def norm(self, X, p):
        functional = self.torch.nn.functional
        if self.config.norm_type == "rms":
            return functional.rms_norm(X, X.shape[-1:], p["gain"], self.config.epsilon)
        return functional.layer_norm(X, X.shape[-1:], p["gain"], p["bias"], self.config.epsilon)

    def before(self, X, p):
        return self.norm(X, p["norm"]) if self.config.norm == "pre" else X

    def after(self, X, p):
        return self.norm(X, p["norm"]) if self.config.norm == "post" else X

    def attend(self, X, context, p, mask, is_self):
        torch, config, outputs = self.torch, self.config, 0
        for h in range(config.n_heads):
            shared = h * config.n_key_heads // config.n_heads
            Q, K, V = (
                tokens @ p[f"W_{name}"][head] + (p[f"b_{name}"][head] if f"b_{name}" in p else 0)
                for name, tokens, head in [("Q", X, h), ("K", context, shared), ("V", context, shared)]
            )
            if is_self and config.positions == "rotary":
                Q, K = self.turn(Q), self.turn(K)
            scores = Q @ K.transpose(-1, -2) * (Q.shape[-1] ** -0.5 if config.scale is None else config.scale)
            if "relative" in p:
                furthest = p["relative"].shape[1] // 2
                for i in range(X.shape[-2]):
                    for j in range(context.shape[-2]):
                        one = torch.zeros_like(scores)
                        one[:, i, j] = 1
                        entry = max(-furthest, min(furthest, j - i)) + furthest
                        scores = scores + one * p["relative"][h, entry]
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
            outputs = outputs + weights @ V @ p["W_O"][h]
        return outputs + p["b_O"] if "b_O" in p else outputs

    def turn(self, X):
        torch, (n, size) = self.torch, X.shape[-2:]
        parts = []
        for pair in range(size // 2):
            angle = torch.arange(n, dtype=X.dtype) / self.config.rotary_base ** (2 * pair / size)
            x, y = X[..., 2 * pair], X[..., 2 * pair + 1]
            parts += [x * torch.cos(angle) - y * torch.sin(angle), x * torch.sin(angle) + y * torch.cos(angle)]
        return torch.stack(parts, -1)

    def sinusoid(self, n, size):
        torch = self.torch
        table = torch.zeros(n, size, dtype=torch.float64)
        for d in range(size):
            angle = torch.arange(n, dtype=torch.float64) / 10_000 ** ((d - d % 2) / size)
            table[:, d] = torch.cos(angle) if d % 2 else torch.sin(angle)
        return table

    def mlp(self, X, p):
        if self.config.activation == "swiglu":
            return self.torch.nn.functional.silu(X @ p["W_1"]) * (X @ p["W_3"]) @ p["W_2"]
        hidden = X @ p["W_1"] + (p.get("b_1", 0))
        hidden = getattr(self.torch.nn.functional, self.config.activation)(hidden)
        return hidden @ p["W_2"] + (p.get("b_2", 0))

    def run(self, params, tokens, mask, token_types=None, context=None, context_mask=None):
        torch, config, n = self.torch, self.config, tokens.shape[-1]
        if config.window is not None:
            mask = mask & (torch.arange(n)[:, None] - torch.arange(n) < config.window)
        X = params["embedding"][torch.tensor(tokens)]
        if config.positions == "learned":
            X = X + params["positions"][:n]
        if config.positions == "sinusoid":
            X = X + self.sinusoid(n, X.shape[-1])
        if config.n_token_types:
            X = X + params["token_types"][torch.tensor(token_types)]
        X = self.after(X, params)
        for number in range(1, config.n_layers + 1):
            layer = params[f"layer {number}"]
            p, normal = layer["attention"], self.before(X, layer["attention"])
            X = self.after(X + self.attend(normal, normal, p, mask, True), p)
            if config.cross:
                p = layer["cross"]
                X = self.after(X + self.attend(self.before(X, p), context, p, context_mask, False), p)
            if config.d_ff:
                X = self.after(X + self.mlp(self.before(X, layer["mlp"]), layer["mlp"]), layer["mlp"])
        X = self.before(X, params)
        if config.unembedding == "tied":
            return X @ params["embedding"].T
        last = params.get("unembedding")
        return X if last is None else X @ last["W"] + (last.get("b", 0))


def as_tensors(torch, params):
    return {
        name: as_tensors(torch, part) if isinstance(part, dict) else torch.tensor(part, requires_grad=True)
        for name, part in params.items()
    }


def assert_same_gradients(grads, tensors, tolerance=1e-10):
    for grad, tensor in zip(leaves(grads), leaves(tensors), strict=True):
        reference = tensor.grad.numpy()
        assert_allclose(grad, reference, atol=tolerance * max(np.abs(reference).max(), 1e-3))


MODELS = {
    **{positions: {"positions": positions} for positions in POSITIONS},
    "GPT-2": {"activation": "gelu"},
    "post-norm": {"norm": "post"},
    "without norms": {"norm": "none", "positions": "rotary"},
    "as the paper writes it": {"positions": "sinusoid", "biases": "mlp", "unembedding": "separate"},
    "without biases or MLP": {"biases": "none", "d_ff": 0},
    "grouped queries, heads of their own size": {"n_key_heads": 1, "d_k": 6, "positions": "rotary"},
    "Llama 3": {
        "norm_type": "rms",
        "activation": "swiglu",
        "biases": "none",
        "positions": "rotary",
        "n_key_heads": 1,
        "unembedding": "separate",
        "d_k": 4,
    },
    "Mistral": {"norm_type": "rms", "activation": "swiglu", "biases": "none", "positions": "rotary", "window": 3},
    "Qwen 2": {
        "norm_type": "rms",
        "activation": "swiglu",
        "biases": "qkv",
        "positions": "rotary",
        "rotary_base": 50.0,
        "unembedding": "separate",
    },
    "another scale and epsilon": {"scale": 1.0, "epsilon": 0.1, "unembedding": "separate"},
}


@pytest.mark.parametrize("name", MODELS)
def test_a_decoder_and_all_its_gradients_are_those_of_autograd(torch, name):
    config, params = small(**MODELS[name])
    rows = tokens()
    with Tape() as tape:
        logits = decoder(params, config, rows)
    loss, grad = cross_entropy(logits, (rows + 1) % 11)
    tensors = as_tensors(torch, params)
    expected = InPyTorch(torch, config).run(tensors, rows, torch.tril(torch.ones(7, 7, dtype=bool)))
    wanted = torch.nn.functional.cross_entropy(expected.reshape(-1, 11), torch.tensor((rows + 1) % 11).reshape(-1))
    wanted.backward()
    tolerance = 1e-5 if config.activation == "gelu" else 1e-10  # GELU's error function is good to 1.5e-7
    assert_allclose(logits, expected.detach().numpy(), atol=tolerance)
    assert_allclose(loss, wanted.item(), atol=tolerance)
    assert_same_gradients(tape.gradients(params, (logits, grad)), tensors, tolerance)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_with_a_decoder_that_attends_to_it_agrees_with_autograd(torch, positions, norm):
    reader, params_in = small(positions=positions, norm=norm, unembedding="none", n_token_types=2)
    writer, params_out = small(n_layers=1, cross=True, norm=norm, positions=positions, unembedding="separate")
    params = {"in": params_in, "out": params_out}
    source, target = tokens(7), tokens(4, seed=2)
    types, mask = np.tile([0, 0, 1, 1, 1, 0, 1], (5, 1)), np.arange(7) < np.array([3, 7, 5, 4, 6])[:, None]

    with Tape() as tape:
        encoded = encoder(params_in, reader, source, mask=mask, token_types=types)
        logits = decoder(params_out, writer, target, context=encoded, context_mask=mask)
    _, grad = cross_entropy(logits, (target + 1) % 11)
    side = np.cos(encoded)  # a second loss on the encoder's output: sum(sin(encoded))
    grads = tape.gradients(params, (logits, grad), (encoded, side))

    tensors, keys = as_tensors(torch, params), torch.tensor(mask)[:, None, :]
    read = InPyTorch(torch, reader).run(tensors["in"], source, keys, types)
    causal = torch.tril(torch.ones(4, 4, dtype=bool))
    wrote = InPyTorch(torch, writer).run(tensors["out"], target, causal, None, read, keys)
    loss = torch.nn.functional.cross_entropy(wrote.reshape(-1, 11), torch.tensor((target + 1) % 11).reshape(-1))
    (loss + torch.sin(read).sum()).backward()
    assert_allclose(logits, wrote.detach().numpy(), atol=1e-10)
    assert_same_gradients(grads, tensors)


def fill(torch, linear, W, b):
    """Give a linear layer of PyTorch our matrix, from all heads side by side if it has heads, and bias."""
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(W).T)
        linear.bias.copy_(torch.tensor(b))


def fill_attention(torch, module, p):
    wide = [np.concatenate(list(p[f"W_{name}"]), axis=1) for name in "QKV"]
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.tensor(np.concatenate([W.T for W in wide])))
        module.in_proj_bias.copy_(torch.tensor(np.concatenate([p[f"b_{name}"].ravel() for name in "QKV"])))
    fill(torch, module.out_proj, np.concatenate(list(p["W_O"])), p["b_O"])


def fill_norm(torch, module, p):
    with torch.no_grad():
        module.weight.copy_(torch.tensor(p["gain"]))
        module.bias.copy_(torch.tensor(p["bias"]))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_a_layer_and_its_gradients_are_those_of_pytorchs_own_layer(torch, cross, norm_first, activation):
    norm = "pre" if norm_first else "post"
    config, params = small(n_layers=1, cross=cross, norm=norm, activation=activation, unembedding="none")
    theirs = torch.nn.TransformerDecoderLayer if cross else torch.nn.TransformerEncoderLayer
    bend = partial(torch.nn.functional.gelu, approximate="tanh") if activation == "gelu_tanh" else activation
    options = {"dropout": 0.0, "activation": bend, "batch_first": True, "norm_first": norm_first}
    module, p = theirs(12, 3, 7, dtype=torch.float64, **options), params["layer 1"]
    norms = [module.norm1, module.norm2, *([module.norm3] if cross else [])]
    parts = [p["attention"], *([p["cross"]] if cross else []), p["mlp"]]
    for their_norm, part in zip(norms, parts, strict=True):
        fill_norm(torch, their_norm, part["norm"])
    fill_attention(torch, module.self_attn, p["attention"])
    if cross:
        fill_attention(torch, module.multihead_attn, p["cross"])
    fill(torch, module.linear1, p["mlp"]["W_1"], p["mlp"]["b_1"])
    fill(torch, module.linear2, p["mlp"]["W_2"], p["mlp"]["b_2"])

    context = np.random.default_rng(3).normal(size=(5, 6, 12))
    with Tape() as tape, Trace() as trace:
        if cross:
            decoder(params, config, tokens(4), context=context)
        else:
            encoder(params, config, tokens(4))
    X, output = trace.embedded[0], trace.layers[0].after_mlp
    x = torch.tensor(X, requires_grad=True)
    causal = torch.triu(torch.ones(4, 4, dtype=bool), 1)
    expected = module(x, torch.tensor(context), tgt_mask=causal) if cross else module(x)
    side = np.random.default_rng(4).normal(size=output.shape)
    expected.backward(torch.tensor(side))
    found = tape.gradients({"X": X, **p}, (output, side))
    tolerance = 1e-5 if activation == "gelu" else 1e-10
    assert_allclose(output, expected.detach().numpy(), atol=tolerance)
    assert_allclose(found["X"], x.grad.numpy(), atol=tolerance)
    assert_allclose(found["mlp"]["W_1"], module.linear1.weight.grad.numpy().T, atol=tolerance)
    assert_allclose(found["mlp"]["norm"]["gain"], norms[-1].weight.grad.numpy(), atol=tolerance)
    in_proj = module.self_attn.in_proj_weight.grad.numpy().reshape(3, 3, 4, 12).transpose(0, 1, 3, 2)
    for name, grad in zip("QKV", in_proj):
        assert_allclose(found["attention"][f"W_{name}"], grad, atol=tolerance)


@pytest.mark.parametrize("positions", POSITIONS)
def test_gradients_agree_with_central_differences(positions):
    config, params = small(positions=positions)
    rows = tokens(4)[:2]

    def loss():
        return cross_entropy(decoder(params, config, rows), (rows + 1) % 11)[0]

    with Tape() as tape:
        logits = decoder(params, config, rows)
    grads = tape.gradients(params, (logits, cross_entropy(logits, (rows + 1) % 11)[1]))
    for name in ("W_Q", "b_K", "W_O", *(["relative"] if positions == "relative" else [])):
        array, grad = params["layer 2"]["attention"][name], grads["layer 2"]["attention"][name]
        assert_allclose(grad, central_differences(loss, array, step=1e-5), rtol=1e-4, atol=1e-8)


def test_a_bias_of_the_keys_changes_nothing():
    config, params = small()
    before = decoder(params, config, tokens())
    params["layer 1"]["attention"]["b_K"][:] += 3.0
    assert_allclose(decoder(params, config, tokens()), before, atol=1e-12)
    params["layer 1"]["attention"]["b_Q"][:] += 3.0
    assert np.abs(decoder(params, config, tokens()) - before).max() > 0.01


def test_parameters_are_drawn_with_the_variances_of_the_docstring():
    sizes = {"vocab_size": 500, "d_model": 200, "n_heads": 2, "n_layers": 1, "d_k": 50, "d_ff": 300, "n_positions": 400}
    for unembedding, variance in [("tied", 1 / 200), ("separate", 1), ("none", 1)]:
        config = TransformerConfig(**sizes, unembedding=unembedding, n_token_types=300, cross=True)
        params = init_transformer(np.random.default_rng(5), config)
        for table in ("embedding", "positions", "token_types"):
            assert_allclose(params[table].var(), variance, rtol=0.03)
        for part in ("attention", "cross"):
            for name, d_in in [("W_Q", 200), ("W_K", 200), ("W_V", 200), ("W_O", 100)]:
                assert_allclose(params["layer 1"][part][name].var(), 1 / d_in, rtol=0.05)
        assert_allclose(params["layer 1"]["mlp"]["W_1"].var(), 1 / 200, rtol=0.03)
        assert_allclose(params["layer 1"]["mlp"]["W_2"].var(), 1 / 300, rtol=0.03)
        if unembedding == "separate":
            assert_allclose(params["unembedding"]["W"].var(), 1 / 200, rtol=0.03)
        drawn = [array for array in leaves(params) if array.var() > 0]
        assert max(abs(array.mean()) / array.std() * array.size**0.5 for array in drawn) < 4
        assert_what_is_not_drawn(params)
    assert_what_is_not_drawn(init_transformer(np.random.default_rng(5), replace(config, positions="relative")))


def assert_what_is_not_drawn(params):
    """Gains are one, biases and relative positions zero."""
    for name, part in params.items():
        if isinstance(part, dict):
            assert_what_is_not_drawn(part)
        elif name.startswith("b") or name in ("gain", "relative"):
            assert_array_equal(part, 1 if name == "gain" else 0)
        else:
            assert part.var() > 0


def test_padding_has_no_influence():
    config, params = small(positions="sinusoid")
    mask = np.arange(7) < np.array([3, 7, 5, 4, 6])[:, None]
    other = np.where(mask, tokens(), (tokens() + 1) % 11)
    assert not np.array_equal(tokens(), other)
    before, after = (encoder(params, config, rows, mask=mask)[mask] for rows in (tokens(), other))
    assert_allclose(after, before, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_decoder_does_not_look_ahead(positions):
    config, params = small(positions=positions)
    changed = tokens()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    before, after = (decoder(params, config, rows) for rows in (tokens(), changed))
    assert_allclose(before[:, :4], after[:, :4], atol=1e-12)
    assert np.abs(before[:, 4:] - after[:, 4:]).max() > 0.01


def test_only_without_positions_shuffled_tokens_give_shuffled_outputs():
    row, order = np.array([3, 1, 4, 1, 5, 9, 2]), np.random.default_rng(3).permutation(7)
    for positions in POSITIONS:
        config, params = small(positions=positions)
        same = np.allclose(encoder(params, config, row[order]), encoder(params, config, row)[order])
        assert same == (positions == "none")


@pytest.mark.parametrize("positions", POSITIONS)
def test_cross_attention_is_not_told_where_the_tokens_of_the_context_stand(positions):
    config, params = small(positions=positions, cross=True)
    context, order = np.random.default_rng(3).normal(size=(5, 6, 12)), np.random.default_rng(4).permutation(6)
    before = decoder(params, config, tokens(), context=context)
    assert_allclose(decoder(params, config, tokens(), context=context[:, order]), before, atol=1e-12)
    assert np.abs(decoder(params, config, tokens(), context=context + 1) - before).max() > 0.01


def test_float32_stays_float32():
    for positions in POSITIONS:
        config = replace(BASE, positions=positions, n_token_types=2)
        params = init_transformer(np.random.default_rng(4), config)
        with Tape() as tape:
            X = encoder(params, config, tokens())
        assert X.dtype == np.float32
        assert {grad.dtype for grad in leaves(tape.gradients(params, (X, X)))} == {np.dtype(np.float32)}


def test_empty_texts_and_no_texts_are_run_as_well():
    for positions in POSITIONS:
        config, params = small(positions=positions, n_key_heads=1)
        for shape in [(0, 7), (2, 0), (0,)]:
            for run in (encoder, decoder):
                with Tape() as tape:
                    logits = run(params, config, np.zeros(shape, int))
                assert logits.shape == (*shape, 11)
                assert not any(grad.any() for grad in leaves(tape.gradients(params, (logits, logits))))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
def test_token_types_are_added_and_the_mlp_applies_the_activation_of_the_config(activation):
    config, params = small(positions="none", norm="none", n_token_types=2, activation=activation)
    types = np.tile([0, 0, 1, 1, 1, 0, 1], (5, 1))
    for options, rows in [({"token_types": types}, types), ({}, 0 * types)]:
        with Trace() as trace:
            encoder(params, config, tokens(), **options)
        assert_allclose(trace.embedded[0], params["embedding"][tokens()] + params["token_types"][rows])
        before, p = trace.layers[1].after_attention, params["layer 2"]["mlp"]
        assert_allclose(trace.layers[1].after_mlp, before + feed_forward(before, **p, activation=activation))


@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_the_residual_stream_is_normalised_where_the_config_says(epsilon):
    config, params = small(norm="post", epsilon=epsilon, unembedding="none")
    first = {name: part for name, part in params.items() if name != "layer 2"}
    before, p = decoder(first, replace(config, n_layers=1), tokens()), params["layer 2"]
    with Trace() as trace:
        output = decoder(params, config, tokens())
    assert_allclose(trace.layers[0].after_mlp, before)
    middle = trace.layers[1].after_attention
    assert_allclose(output, layer_norm(middle + feed_forward(middle, *mlp(p)), **p["mlp"]["norm"], epsilon=epsilon))
    config, params = small(epsilon=epsilon, unembedding="none")
    with Trace() as trace:
        output = decoder(params, config, tokens())
    middle, p = trace.layers[1].after_attention, params["layer 2"]
    normal = layer_norm(middle, **p["mlp"]["norm"], epsilon=epsilon)
    assert_allclose(trace.layers[1].after_mlp, middle + feed_forward(normal, *mlp(p)))
    assert_allclose(output, layer_norm(trace.layers[1].after_mlp, **params["norm"], epsilon=epsilon))


def mlp(layer):
    return [layer["mlp"][name] for name in ("W_1", "b_1", "W_2", "b_2")]


# --- what is refused ------------------------------------------------------------------------------


def crossing(**options):
    config, params = small(cross=True)
    return decoder(params, config, [0], **options)


def typed(**options):
    config, params = small(n_token_types=2)
    return encoder(params, config, [[0, 1], [2, 3]], **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c, p: decoder(p, c, np.zeros((2, 10), int)), r"text has 10 tokens, but this model reads at most 9"),
        (lambda c, p: decoder(p, c, 3), r"single number"),
        (lambda c, p: decoder(p, c, [[0, 11]]), r"from 0 to 10, but reach from 0 to 11"),
        (
            lambda c, p: decoder(p, c, [0], context=np.ones((2, 12))),
            r"cross is False, context is given, of .*\(2, 12\)",
        ),
        (lambda *_: crossing(), r"cross is True, context is missing"),
        (lambda *_: crossing(context=np.ones((2, 7))), r"m, 12\).*shape \(2, 7\)"),
        (lambda *_: crossing(context=np.ones(12)), r"m, 12\).*shape \(12,\)"),
        (lambda c, p: encoder(p, c, [0], token_types=[0]), r"n_token_types is 0"),
        (lambda *_: typed(token_types=[0, 1]), r"token types of shape \(2,\) do not fit tokens of shape \(2, 2\)"),
        (
            lambda *_: crossing(context=np.ones((3, 3, 12)), context_mask=np.ones(3)),
            r"a mask of shape \(3,\) does not fit tokens of shape \(3, 3\)",
        ),
        (lambda c, p: encoder(p, c, [0, 1], mask=[True]), r"mask of shape \(1,\).*tokens of shape \(2,\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(*small())


def test_a_mask_of_floats_is_refused_where_a_boolean_one_is_meant():
    config, params = small(cross=True)
    added, context = np.array([0.0, 0.0, -np.inf]), np.ones((3, 12))
    with pytest.raises(TypeError, match="a mask is boolean, or made of 0 and 1, but its type is float64"):
        encoder(small()[1], replace(config, cross=False), [1, 2, 3], mask=added)
    with pytest.raises(TypeError, match="a mask is boolean"):
        decoder(params, config, [1, 2, 3], context=context, context_mask=added)
    ones, booleans = (
        decoder(params, config, [1, 2, 3], context=context, context_mask=mask)
        for mask in ([1, 1, 0], [True, True, False])
    )
    assert_array_equal(ones, booleans)


@pytest.mark.parametrize("run", [encoder, decoder])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 1}, "there is layer 2 / attention / norm / gain, but the config asks for none"),
        ({"n_layers": 3}, r"asks for layer 3 / attention / norm / gain of shape \(12,\), but there is none"),
        ({"positions": "relative"}, r"asks for layer 1 / attention / relative of shape \(3, 17\), but there is none"),
        ({"positions": "none"}, "there is positions, but the config asks for none"),
        ({"n_positions": 8}, r"asks for positions of shape \(8, 12\), but it has shape \(9, 12\)"),
        ({"vocab_size": 12}, r"asks for embedding of shape \(12, 12\), but it has shape \(11, 12\)"),
        ({"d_k": 6}, r"asks for layer 1 / attention / W_Q of shape \(3, 12, 6\), but it has shape \(3, 12, 4\)"),
        ({"n_key_heads": 1}, r"W_K of shape \(1, 12, 4\), but it has shape \(3, 12, 4\)"),
        ({"d_ff": 8}, r"W_1 of shape \(12, 8\), but it has shape \(12, 7\)"),
        ({"d_ff": 0}, "there is layer 1 / mlp / norm / gain, but"),
        ({"norm": "none"}, "there is layer 1 / attention / norm / gain, but"),
        ({"biases": "mlp"}, "there is layer 1 / attention / b_Q, but"),
        ({"unembedding": "separate"}, r"asks for unembedding / W of shape \(12, 11\), but there is none"),
        ({"n_token_types": 2}, r"asks for token_types of shape \(2, 12\), but there is none"),
        ({"cross": True}, r"asks for layer 1 / cross / norm / gain of shape \(12,\), but there is none"),
    ],
)
def test_params_of_another_config_are_refused_by_name(run, change, message):
    config, params = small()
    with pytest.raises(ValueError, match=f"params and config do not belong together: .*{message}"):
        run(params, replace(config, **change), [1, 2])
    _, others = small(**change)
    with pytest.raises(ValueError, match="params and config do not belong together: "):
        run(others, config, [1, 2])


def test_a_relative_table_is_refused_where_positions_are_rotary():
    config, params = small(positions="rotary")
    params["layer 1"]["attention"]["relative"] = np.zeros((3, 17))
    with pytest.raises(ValueError, match="there is layer 1 / attention / relative, but the config asks for none"):
        decoder(params, config, [1, 2])


@pytest.mark.parametrize("run", [encoder, decoder, lambda *inputs: generate(*inputs, 1)])
def test_text_and_ragged_rows_are_refused_as_tokens(run):
    config, params = small()
    for text in ("A chapter", ["A chapter", "begins"]):
        with pytest.raises(TypeError, match="tokens are integers, but this is the text 'A chapter': encode it first"):
            run(params, config, text)
    with pytest.raises(
        ValueError,
        match=r"need one length, but theirs are \[2, 3\]: fill .* on the left, and tell by a mask",
    ):
        run(params, config, [[1, 2, 3], [1, 2], [4, 5]])
    with pytest.raises(ValueError, match="tokens need an axis of positions, but there is a single number"):
        run(params, config, 3)


def test_a_cache_counts_its_tokens():
    config, params = small()
    cache = Cache()
    assert len(cache) == 0
    decoder(params, config, tokens(4), cache=cache)
    decoder(params, config, tokens(3), cache=cache)
    assert len(cache) == 7
    with pytest.raises(ValueError, match="text has 10 tokens, but this model reads at most 9"):
        decoder(params, config, tokens(3), cache=cache)


def test_a_part_without_any_parameter_is_no_parameter():
    config, params = small()
    assert_array_equal(decoder({**params, "notes": {}}, config, [1, 2]), decoder(params, config, [1, 2]))


@pytest.fixture(scope="module")
def written_for_pytorch():
    """PyTorch, and what the listing of chapter 19 defines."""
    torch = pytest.importorskip("torch")
    prose = "\n".join(cell.source for cell in read(chapter("todays_models")).cells)
    names = {}
    exec(re.search(r"```python\n(import torch\n.*?)```", prose, re.DOTALL)[1], names)
    return torch, names


def test_the_layer_of_today_that_is_written_for_pytorch_is_that_of_the_package(written_for_pytorch):
    torch, names = written_for_pytorch
    config, params = small(
        d_model=24, n_heads=6, n_key_heads=2, n_layers=1, positions="rotary", n_positions=None, norm_type="rms",
        activation="swiglu", biases="none", unembedding="separate",
    )  # fmt: skip
    layer, (attention, mlp) = names["Layer"](24, 6, 2, 7).double(), params["layer 1"].values()
    given = {"norm_1": attention["norm"]["gain"], "norm_2": mlp["norm"]["gain"]}
    given |= {f"W_{name}": np.concatenate(attention[f"W_{name}"], axis=1).T for name in "QKV"}
    given |= {"W_O": np.concatenate(attention["W_O"]).T, **{f"W_{n}": mlp[f"W_{n}"].T for n in (1, 2, 3)}}
    layer.load_state_dict({f"{name}.weight": torch.tensor(array) for name, array in given.items()})
    with Trace() as trace:
        decoder(params, config, tokens())
    X = torch.tensor(trace.embedded[0])
    found = layer(X, torch.ones(X.shape[:2], dtype=bool))[0].detach().numpy()
    assert_allclose(found, trace.layers[0].after_mlp, atol=1e-12)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_layer_that_is_written_for_pytorch_passes_the_checks_of_the_book(written_for_pytorch, halves, dtype):
    torch, names = written_for_pytorch
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    layer = names["Layer"](32, 4, 2, 48, halves).to(kind)

    def at_once(X):
        X = torch.as_tensor(X).to(kind)[None]
        return layer(X, torch.ones(1, len(X[0]), dtype=bool))[0][0].detach()

    def in_parts(X):
        parts, cache = [], None
        for start, stop in [(0, 3), (3, 4), (4, 7)]:
            new = torch.as_tensor(X[start:stop]).to(kind)[None]
            out, cache = layer(new, torch.ones(1, stop, dtype=bool), cache)
            parts.append(out[0].detach())
        return torch.cat(parts)

    def padded(rows):  # in front, as for writing on
        longest = max(map(len, rows))
        X = torch.tensor([[[0] * 32] * (longest - len(row)) + row for row in rows]).to(kind)
        real = torch.tensor([[i >= longest - len(row) for i in range(longest)] for row in rows])
        return layer(X, real)[0][:, -1].detach()

    X = np.random.default_rng(0).normal(size=(7, 32)).astype("float32")

    def tensor(array):
        made = torch.as_tensor(array)
        return made.to(kind) if made.is_floating_point() else made

    findings = check_steps(at_once, in_parts, X, dtype=dtype) + check_padding(padded, X.tolist(), dtype=dtype)
    pairs = "halves" if halves else "neighbours"
    turn = partial(names["rotary"], halves=halves)
    findings += check_rotary(turn, pairs=pairs, tensor=tensor, dtype=dtype)
    assert [told for _, told in findings if told] == []
