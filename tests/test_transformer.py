"""Whole models against the same models in PyTorch: outputs, and every gradient to 1e-10."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attn.training import cross_entropy, leaves
from attn.transformer import Tape, decoder_only, encoder_decoder, init_readout, init_stack, stack

POSITIONS = ["none", "sinusoid", "rotary", "relative"]


def stirred(params, rng):
    """Parameters with nothing left at zero or one, so that no gradient can hide."""
    return {
        name: stirred(part, rng) if isinstance(part, dict) else part + 0.3 * rng.normal(size=part.shape)
        for name, part in params.items()
    }


def small_stack(rng, **options):
    sizes = {"vocab_size": 11, "d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 7, "reach": 2, "dtype": np.float64}
    return stirred(init_stack(rng, **{**sizes, **options}), rng)


def small_model(positions):
    rng = np.random.default_rng(0)
    params = {
        "encoder": small_stack(rng, vocab_size=13, positions=positions),
        "decoder": small_stack(rng, n_layers=1, cross=True),
        "readout": stirred(init_readout(rng, 12, 11, np.float64), rng),
    }
    source, target = rng.integers(13, size=(5, 7)), rng.integers(11, size=(5, 4))
    source_mask = np.arange(7) < rng.integers(3, 8, size=5)[:, None]
    return params, source, target, source_mask


def loss_and_gradients(params, source, target, source_mask, positions):
    tape = Tape()
    logits, encoded = encoder_decoder(tape, params, source, target, source_mask=source_mask, positions=positions)
    loss, grad = cross_entropy(logits, (target + 1) % 11)
    side = np.cos(encoded)  # a second loss on the encoder's output: sum(sin(encoded))
    return loss + np.sum(np.sin(encoded)), tape.gradients(params, (logits, grad), (encoded, side))


class InPyTorch:
    """The same encoder-decoder, written with PyTorch's operations alone."""

    def __init__(self, torch, positions):
        self.torch, self.positions = torch, positions

    def norm(self, X, p):
        return self.torch.nn.functional.layer_norm(X, X.shape[-1:], p["gain"], p["bias"])

    def attend(self, X, context, p, seen, is_self):
        torch = self.torch
        outputs = 0
        for h in range(len(p["W_Q"])):
            Q, K, V = X @ p["W_Q"][h], context @ p["W_K"][h], context @ p["W_V"][h]
            if is_self and self.positions == "rotary":
                Q, K = self.turn(Q), self.turn(K)
            scores = Q @ K.transpose(-1, -2) / Q.shape[-1] ** 0.5
            if "relative" in p:
                reach = p["relative"].shape[1] // 2
                for i in range(X.shape[-2]):
                    for j in range(context.shape[-2]):
                        one = torch.zeros_like(scores)
                        one[:, i, j] = 1
                        scores = scores + one * p["relative"][h, max(-reach, min(reach, j - i)) + reach]
            weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
            outputs = outputs + weights @ V @ p["W_O"][h]
        return outputs

    def turn(self, X):
        torch = self.torch
        n, size = X.shape[-2:]
        parts = []
        for pair in range(size // 2):
            angle = torch.arange(n, dtype=X.dtype) / 10_000 ** (2 * pair / size)
            x, y = X[..., 2 * pair], X[..., 2 * pair + 1]
            parts += [x * torch.cos(angle) - y * torch.sin(angle), x * torch.sin(angle) + y * torch.cos(angle)]
        return torch.stack(parts, -1)

    def waves(self, n, size):
        torch = self.torch
        table = torch.zeros(n, size, dtype=torch.float64)
        for d in range(size):
            angle = torch.arange(n, dtype=torch.float64) / 10_000 ** ((d - d % 2) / size)
            table[:, d] = torch.cos(angle) if d % 2 else torch.sin(angle)
        return table

    def stack(self, params, tokens, seen, waves, context=None, context_seen=None):
        X = params["embedding"][self.torch.tensor(tokens)]
        X = X + self.waves(*X.shape[-2:]) if waves else X
        for name, layer in params.items():
            if name.startswith("layer"):
                normal = self.norm(X, layer["attention"]["norm"])
                X = X + self.attend(normal, normal, layer["attention"], seen, context is None)
                if "cross" in layer:
                    X = X + self.attend(
                        self.norm(X, layer["cross"]["norm"]), context, layer["cross"], context_seen, False
                    )
                p = layer["feed_forward"]
                X = X + self.torch.relu(self.norm(X, p["norm"]) @ p["W_1"] + p["b_1"]) @ p["W_2"] + p["b_2"]
        return self.norm(X, params["norm"])

    def loss(self, params, source, target, source_mask):
        torch = self.torch
        seen = torch.tensor(source_mask)[:, None, :]
        encoded = self.stack(params["encoder"], source, seen, self.positions == "sinusoid")
        causal = torch.tril(torch.ones(target.shape[1], target.shape[1], dtype=bool))
        decoded = self.stack(params["decoder"], target, causal, True, encoded, seen)
        logits = decoded @ params["readout"]["W"] + params["readout"]["b"]
        wanted = torch.tensor((target + 1) % 11).reshape(-1)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, 11), wanted) + torch.sin(encoded).sum()


def as_tensors(torch, params):
    return {
        name: as_tensors(torch, part) if isinstance(part, dict) else torch.tensor(part, requires_grad=True)
        for name, part in params.items()
    }


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_whole_encoder_decoder_agrees_with_autograd(torch, positions):
    params, source, target, source_mask = small_model(positions)
    loss, grads = loss_and_gradients(params, source, target, source_mask, positions)
    tensors = as_tensors(torch, params)
    expected = InPyTorch(torch, positions).loss(tensors, source, target, source_mask)
    expected.backward()
    assert_allclose(loss, expected.item(), rtol=1e-12)
    pairs = list(zip(leaves(grads), leaves(tensors), strict=True))
    assert len(pairs) > 40
    for grad, tensor in pairs:
        reference = tensor.grad.numpy()
        assert np.abs(reference).max() > 0
        assert_allclose(grad, reference, atol=1e-10 * np.abs(reference).max())


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_whole_encoder_decoder_agrees_with_central_differences(positions):
    params, source, target, source_mask = small_model(positions)
    _, grads = loss_and_gradients(params, source, target, source_mask, positions)
    rng = np.random.default_rng(1)
    for array, grad in zip(leaves(params), leaves(grads)):
        place = tuple(rng.integers(size) for size in array.shape)
        ends = []
        for sign in (1, -1):
            array[place] += sign * 1e-5
            ends.append(loss_and_gradients(params, source, target, source_mask, positions)[0])
            array[place] -= sign * 1e-5
        assert_allclose(grad[place], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)


def test_a_scale_and_a_size_of_heads_of_ones_own_keep_the_gradient_true():
    rng = np.random.default_rng(6)
    params = small_stack(rng, d_k=5, positions="relative")
    assert params["layer 1"]["attention"]["W_O"].shape == (3, 5, 12)
    tokens, side = rng.integers(11, size=(2, 4)), rng.normal(size=(2, 4, 12))

    def run(scale):
        tape = Tape()
        X = stack(tape, params, tokens, positions="relative", scale=scale)
        return np.sum(side * X), lambda: tape.gradients(params, (X, side))

    assert_allclose(run(5**-0.5)[0], run(None)[0])
    assert abs(run(1.0)[0] - run(None)[0]) > 0.01
    grads = run(1.0)[1]()["layer 1"]["attention"]["W_Q"]
    W = params["layer 1"]["attention"]["W_Q"]
    ends = []
    for sign in (1, -1):
        W[1, 2, 3] += sign * 1e-5
        ends.append(run(1.0)[0])
        W[1, 2, 3] -= sign * 1e-5
    assert_allclose(grads[1, 2, 3], (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def test_padding_has_no_influence():
    params, source, target, source_mask = small_model("sinusoid")
    logits, _ = encoder_decoder(Tape(), params, source, target, source_mask=source_mask, positions="sinusoid")
    other = np.where(source_mask, source, (source + 1) % 13)
    changed, _ = encoder_decoder(Tape(), params, other, target, source_mask=source_mask, positions="sinusoid")
    assert not np.array_equal(source, other)
    assert_allclose(changed, logits, atol=1e-12)


def test_padding_and_the_causal_mask_hold_together():
    rng = np.random.default_rng(7)
    params, tokens = small_stack(rng), rng.integers(11, size=(1, 5))
    real = np.array([[False, True, True, True, True]])
    whole = stack(Tape(), params, tokens, causal=True, mask=real)
    for place, untouched in [(0, [1, 2, 3, 4]), (3, [1, 2])]:  # padding reaches nobody, a word reaches no earlier one
        changed = tokens.copy()
        changed[0, place] = (changed[0, place] + 1) % 11
        assert_allclose(
            stack(Tape(), params, changed, causal=True, mask=real)[0, untouched], whole[0, untouched], atol=1e-12
        )


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_decoder_does_not_look_ahead(positions):
    rng = np.random.default_rng(2)
    params = {"decoder": small_stack(rng, positions=positions), "readout": init_readout(rng, 12, 11, np.float64)}
    tokens = rng.integers(11, size=(3, 7))
    changed = tokens.copy()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    before, after = (decoder_only(Tape(), params, t, positions=positions) for t in (tokens, changed))
    assert_allclose(before[:, :4], after[:, :4], atol=1e-12)
    assert np.abs(before[:, 4:] - after[:, 4:]).max() > 0.01


def test_without_positions_shuffled_tokens_give_shuffled_outputs():
    rng = np.random.default_rng(3)
    tokens, order = rng.integers(11, size=7), rng.permutation(7)
    for positions in POSITIONS:
        params = small_stack(rng, positions=positions)
        same = np.allclose(
            stack(Tape(), params, tokens[order], positions=positions),
            stack(Tape(), params, tokens, positions=positions)[order],
        )
        assert same == (positions == "none")


def test_every_attention_layer_hands_out_what_it_saw():
    params, source, target, source_mask = small_model("none")
    tape = Tape()
    encoder_decoder(tape, params, source, target, source_mask=source_mask)
    assert [seen.weights.shape for seen in tape.attended] == [(5, 3, 7, 7), (5, 3, 7, 7), (5, 3, 4, 4), (5, 3, 4, 7)]
    first = tape.attended[0]
    assert_allclose(first.scores, first.Q @ np.swapaxes(first.K, -1, -2) / 2)
    weights = np.exp(first.scores) * source_mask[:, None, None, :]
    assert_allclose(first.weights, weights / weights.sum(axis=-1, keepdims=True))
    assert first.V.shape == (5, 3, 7, 4)


def test_float32_stays_float32():
    rng = np.random.default_rng(4)
    for positions in POSITIONS:
        params = init_stack(rng, vocab_size=5, d_model=8, n_heads=2, n_layers=1, positions=positions)
        tape = Tape()
        X = stack(tape, params, rng.integers(5, size=(2, 3)), positions=positions)
        assert X.dtype == np.float32
        assert {grad.dtype for grad in leaves(tape.gradients(params, (X, X)))} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: init_stack(rng, vocab_size=5, d_model=8, n_heads=3, n_layers=1), r"3 does not divide 8"),
        (
            lambda rng: init_stack(rng, vocab_size=5, d_model=8, n_heads=2, n_layers=1, positions="learned"),
            r"is 'learned'",
        ),
        (lambda rng: stack(Tape(), small_stack(rng), np.array([[0, 1]]), positions="where"), r"is 'where'"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(5))
