"""Whole models against the same models in PyTorch: outputs and every gradient; what a run has seen and may not see."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attn import Tape, Trace, TransformerConfig, decoder, encoder, init_transformer
from attn.parameters import flat
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
                apart = torch.arange(K.shape[-2]) - torch.arange(Q.shape[-2])[:, None]
                scores = scores + p["relative"][h, apart.clamp(-furthest, furthest) + furthest]
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
        name, _, approximate = self.config.activation.partition("_")
        options = {"approximate": approximate} if approximate else {}
        hidden = getattr(self.torch.nn.functional, name)(X @ p["W_1"] + p.get("b_1", 0), **options)
        return hidden @ p["W_2"] + p.get("b_2", 0)

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
            X = X + params["token_types"][0 if token_types is None else torch.tensor(token_types)]
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
        return X if last is None else X @ last["W"] + last.get("b", 0)


def as_tensors(torch, params):
    return {
        name: as_tensors(torch, part) if isinstance(part, dict) else torch.tensor(part, requires_grad=True)
        for name, part in params.items()
    }


def assert_same_gradients(grads, tensors, tolerance=1e-10):
    for grad, tensor in zip(leaves(grads), leaves(tensors), strict=True):
        reference = tensor.grad.numpy()
        assert_allclose(grad, reference, atol=tolerance * max(np.abs(reference).max(), 1e-3))


TODAY = {"norm_type": "rms", "activation": "swiglu", "biases": "none", "positions": "rotary"}
MODELS = {
    **{positions: {"positions": positions} for positions in POSITIONS},
    "GPT-2": {"activation": "gelu_tanh"},
    "the exact GELU, and token types": {"activation": "gelu", "n_token_types": 2},
    "post-norm": {"norm": "post"},
    "without norms": {"norm": "none", "positions": "rotary"},
    "as the paper writes it": {"positions": "sinusoid", "biases": "mlp", "unembedding": "separate"},
    "without biases or MLP": {"biases": "none", "d_ff": 0},
    "grouped queries, heads of their own size": {"n_key_heads": 1, "d_k": 6, "positions": "rotary"},
    "Llama 3": {**TODAY, "n_key_heads": 1, "unembedding": "separate", "d_k": 4, "epsilon": 0.1},
    "Mistral": {**TODAY, "window": 3},
    "Qwen 2": {**TODAY, "biases": "qkv", "rotary_base": 50.0, "unembedding": "separate"},
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


@pytest.mark.parametrize(("unembedding", "variance"), [("tied", 1 / 200), ("separate", 1), ("none", 1)])
@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_parameters_are_drawn_with_the_variances_of_the_docstring(unembedding, variance, positions):
    sizes = {"vocab_size": 500, "d_model": 200, "n_heads": 2, "n_layers": 1, "d_k": 50, "d_ff": 300, "n_positions": 400}
    options = {"positions": positions, "unembedding": unembedding, "n_token_types": 300, "cross": True}
    variances = dict.fromkeys(("embedding", "positions", "token_types"), variance) | {"W_O": 1 / 100, "W_2": 1 / 300}
    for (*_, name), array in flat(init_transformer(np.random.default_rng(5), TransformerConfig(**sizes, **options))):
        if name.startswith("b") or name in ("gain", "relative"):
            assert_array_equal(array, 1 if name == "gain" else 0)
        else:
            assert_allclose(array.var(), variances.get(name, 1 / 200), rtol=0.05)
            assert abs(array.mean()) / array.std() * array.size**0.5 < 4


@pytest.mark.parametrize("positions", POSITIONS)
def test_float32_stays_float32(positions):
    config = replace(BASE, positions=positions, n_token_types=2)
    params = init_transformer(np.random.default_rng(4), config)
    with Tape() as tape:
        X = encoder(params, config, tokens())
    grads = leaves(tape.gradients(params, (X, X)))
    assert {array.dtype for array in (X, *grads)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("run", [encoder, decoder])
@pytest.mark.parametrize("shape", [(0, 7), (2, 0), (0,)])
def test_empty_texts_and_no_texts_are_run_as_well(positions, run, shape):
    config, params = small(positions=positions, n_key_heads=1)
    with Tape() as tape:
        logits = run(params, config, np.zeros(shape, int))
    assert logits.shape == (*shape, 11)
    assert not any(grad.any() for grad in leaves(tape.gradients(params, (logits, logits))))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 1}, "there is layer 2 / attention / norm / gain, but the config asks for none"),
        ({"n_layers": 3}, r"asks for layer 3 / attention / norm / gain of shape \(12,\), but there is none"),
        ({"vocab_size": 12}, r"asks for embedding of shape \(12, 12\), but it has shape \(11, 12\)"),
        ({"d_k": 6}, r"asks for layer 1 / attention / W_Q of shape \(3, 12, 6\), but it has shape \(3, 12, 4\)"),
        ({"unembedding": "separate"}, r"asks for unembedding / W of shape \(12, 11\), but there is none"),
    ],
)
def test_params_of_another_config_are_refused_by_name(change, message):
    config, params = small()
    with pytest.raises(ValueError, match=f"params and config do not belong together: .*{message}"):
        encoder(params, replace(config, **change), [1, 2])
    _, others = small(**change)
    with pytest.raises(ValueError, match="params and config do not belong together: "):
        decoder(others, config, [1, 2])


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
    sizes = {"d_model": 24, "n_heads": 6, "n_key_heads": 2, "n_layers": 1, "n_positions": None}
    config, params = small(**TODAY, **sizes, unembedding="separate")
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
