"""Transformers built from the layers: an encoder, a decoder, and both together.

Parameters are nested dicts of arrays. A forward pass is handed a `Tape`; it writes down what is
needed to go back, and what each attention layer has seen.
"""

from dataclasses import dataclass

import numpy as np

from attn.attention import (
    causal_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    softmax_backward,
)
from attn.heads import merge, merge_backward, split, split_backward
from attn.layers import (
    back_through_norm,
    embedding,
    embedding_backward,
    linear,
    linear_backward,
    normalise,
    relative_bias,
    relative_bias_backward,
    rotary,
    rotary_backward,
    sinusoid,
)

POSITIONS = ("none", "sinusoid", "rotary", "relative")


@dataclass(frozen=True)
class Attended:
    """What one attention layer has seen in a forward pass.

    Parameters
    ----------
    Q : array, shape (..., n_heads, n_queries, d_k)
    K : array, shape (..., n_heads, n_keys, d_k)
    V : array, shape (..., n_heads, n_keys, d_v)
    weights : array, shape (..., n_heads, n_queries, n_keys)
    """

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    weights: np.ndarray

    @property
    def scores(self):
        """The scaled scores before any mask or bias: array, shape (..., n_heads, n_queries, n_keys)."""
        return self.Q @ np.swapaxes(self.K, -1, -2) * self.Q.shape[-1] ** -0.5


class Tape:
    """Writes down each step of a forward pass, so that gradients can go back through all of them.

    Attributes
    ----------
    attended : list of Attended
        One for each attention layer, in the order in which they ran.
    """

    def __init__(self):
        self._steps = []
        self.attended = []

    def add(self, output, inputs, backward):
        """Write down that `output` came from `inputs`; `backward` takes its gradient to theirs."""
        self._steps.append((output, inputs, backward))
        return output

    def gradients(self, params, *pairs):
        """Return the gradients of parameters, in nested dicts like theirs.

        Parameters
        ----------
        params : nested dict of arrays
        *pairs : (array, array)
            An array that the forward pass made, and the gradient of the loss with respect to it.

        Returns
        -------
        nested dict of arrays
            Zeros for what took no part.
        """
        found = {}

        def collect(array, grad):
            found[id(array)] = found[id(array)] + grad if id(array) in found else grad

        for output, grad in pairs:
            collect(output, grad)
        for output, inputs, backward in reversed(self._steps):
            if id(output) not in found:
                continue
            for array, grad in zip(inputs, backward(found.pop(id(output)))):
                collect(array, grad)
        return _like(params, found)


def init_stack(
    rng,
    *,
    vocab_size,
    d_model,
    n_heads,
    n_layers,
    d_k=None,
    d_ff=None,
    positions="none",
    reach=8,
    cross=False,
    dtype=np.float32,
):
    """Return random parameters for a stack of attention layers.

    Parameters
    ----------
    rng : numpy Generator
    vocab_size, d_model, n_heads, n_layers : int
    d_k : int, optional
        Numbers in a query, a key and a value of a head; d_model / n_heads unless given.
    d_ff : int, optional
        Hidden numbers of the MLP behind each attention; 2 d_model unless given, and none for 0.
    positions : {"none", "sinusoid", "rotary", "relative"}
    reach : int
        How far relative positions are told apart.
    cross : bool
        Whether each layer also attends to a context.
    dtype : numpy dtype

    Returns
    -------
    nested dict of arrays
        `embedding`, one dict a layer, and the last layer norm. Values have mean 0 and variance
        1 / d_in; embeddings have variance 1, biases are zero.

    Raises
    ------
    ValueError
        If `n_heads` does not divide `d_model` and no `d_k` is given.
    """
    if d_k is None and d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, but {n_heads} does not divide {d_model}")
    d_k = d_model // n_heads if d_k is None else d_k
    d_ff = 2 * d_model if d_ff is None else d_ff

    def matrix(*shape):
        return _random_matrix(rng, dtype, *shape)

    def norm():
        return {"gain": np.ones(d_model, dtype), "bias": np.zeros(d_model, dtype)}

    def attention(has_bias):
        heads = {name: matrix(n_heads, d_model, d_k) for name in ("W_Q", "W_K", "W_V")}
        W_O = matrix(n_heads * d_k, d_model).reshape(n_heads, d_k, d_model)
        bias = {"relative": np.zeros((n_heads, 2 * reach + 1), dtype)} if has_bias else {}
        return {"norm": norm(), **heads, "W_O": W_O, **bias}

    params = {"embedding": rng.normal(size=(vocab_size, d_model)).astype(dtype)}
    for number in range(1, n_layers + 1):
        layer = {"attention": attention(_check_positions(positions) == "relative")}
        if cross:
            layer["cross"] = attention(False)
        if d_ff:
            layer["feed_forward"] = {
                "norm": norm(),
                "W_1": matrix(d_model, d_ff),
                "b_1": np.zeros(d_ff, dtype),
                "W_2": matrix(d_ff, d_model),
                "b_2": np.zeros(d_model, dtype),
            }
        params[f"layer {number}"] = layer
    return {**params, "norm": norm()}


def init_readout(rng, d_model, n_outputs, dtype=np.float32):
    """Return random parameters for `read_out`: a dict of W, shape (d_model, n_outputs), and b."""
    return {"W": _random_matrix(rng, dtype, d_model, n_outputs), "b": np.zeros(n_outputs, dtype)}


def stack(
    tape, params, tokens, *, causal=False, mask=None, context=None, context_mask=None, positions="none", scale=None
):
    """Run tokens through a stack: an encoder, or a decoder if causal.

    Parameters
    ----------
    tape : Tape
    params : nested dict of arrays
        As from `init_stack`.
    tokens : array of int, shape (..., n)
    causal : bool
        Whether a token sees only itself and what came before.
    mask : array of bool, shape (..., n), optional
        False for padding, which nobody may attend to.
    context : array, shape (..., m, d_model), optional
        What the cross-attention of each layer attends to.
    context_mask : array of bool, shape (..., m), optional
    positions : {"none", "sinusoid", "rotary", "relative"}
        As given to `init_stack`.
    scale : float, optional
        What dot products are multiplied by; `d_k ** -0.5` unless given.

    Returns
    -------
    array, shape (..., n, d_model)
        After the last layer norm.
    """
    n = np.shape(tokens)[-1]
    X = _embed(tape, params["embedding"], tokens)
    if _check_positions(positions) == "sinusoid":
        X = tape.add(X + sinusoid(n, X.shape[-1]).astype(X.dtype), (X,), lambda grad: (grad,))
    seen = _allowed(causal_mask(n) if causal else None, mask)
    for name, layer in params.items():
        if not name.startswith("layer"):
            continue
        normal = _norm(tape, X, layer["attention"]["norm"])
        X = _sum(tape, X, _attend(tape, normal, normal, layer["attention"], seen, positions == "rotary", scale))
        if "cross" in layer:
            normal = _norm(tape, X, layer["cross"]["norm"])
            X = _sum(
                tape, X, _attend(tape, normal, context, layer["cross"], _allowed(None, context_mask), False, scale)
            )
        if "feed_forward" in layer:
            X = _sum(tape, X, _feed(tape, _norm(tape, X, layer["feed_forward"]["norm"]), layer["feed_forward"]))
    return _norm(tape, X, params["norm"])


def read_out(tape, params, X):
    """Return one score for each possible output: array, shape (..., n_outputs)."""
    return _linear(tape, X, params["W"], params["b"])


def decoder_only(tape, params, tokens, *, positions="none"):
    """Return scores for the next token at each place.

    Parameters
    ----------
    tape : Tape
    params : dict with "decoder" (as from `init_stack`) and "readout" (as from `init_readout`)
    tokens : array of int, shape (..., n)
    positions : str
        As given to `init_stack`.

    Returns
    -------
    array, shape (..., n, vocab_size)
    """
    return read_out(tape, params["readout"], stack(tape, params["decoder"], tokens, causal=True, positions=positions))


def encoder_decoder(tape, params, source, target, *, source_mask=None, positions="none"):
    """Return scores for the next target token at each place, given a source.

    Parameters
    ----------
    tape : Tape
    params : dict with "encoder", "decoder" (with cross-attention) and "readout"
    source : array of int, shape (..., m)
    target : array of int, shape (..., n)
    source_mask : array of bool, shape (..., m), optional
        False for padding.
    positions : str
        Of the encoder; the decoder has sinusoids.

    Returns
    -------
    scores : array, shape (..., n, vocab_size)
    encoded : array, shape (..., m, d_model)
        What the encoder hands to the decoder.
    """
    encoded = stack(tape, params["encoder"], source, mask=source_mask, positions=positions)
    decoded = stack(
        tape, params["decoder"], target, causal=True, context=encoded, context_mask=source_mask, positions="sinusoid"
    )
    return read_out(tape, params["readout"], decoded), encoded


def _random_matrix(rng, dtype, *shape):
    """Return numbers of mean 0 and variance 1 / d_in, where d_in is the last axis but one."""
    return (rng.normal(size=shape) * shape[-2] ** -0.5).astype(dtype)


def _embed(tape, table, tokens):
    return tape.add(embedding(tokens, table), (table,), lambda grad: (embedding_backward(grad, tokens, len(table)),))


def _linear(tape, X, W, b):
    return tape.add(linear(X, W, b), (X, W, b), lambda grad: linear_backward(grad, X, W))


def _norm(tape, X, p):
    """Layer norm; the way back needs what it made of the rows, so that is not computed twice."""
    gain, bias = p["gain"], p["bias"]
    normal, deviation = normalise(X)
    output = normal * gain
    output += bias
    return tape.add(output, (X, gain, bias), lambda grad: back_through_norm(grad, normal, deviation, gain))


def _sum(tape, X, update):
    return tape.add(X + update, (X, update), lambda grad: (grad, grad))


def _feed(tape, X, p):
    """The feed-forward layer in two steps, so that what is between them is not computed twice."""
    W_1, b_1 = p["W_1"], p["b_1"]
    hidden = linear(X, W_1, b_1)
    np.maximum(hidden, 0, out=hidden)
    tape.add(hidden, (X, W_1, b_1), lambda grad: linear_backward(grad * (hidden > 0), X, W_1))
    return _linear(tape, hidden, p["W_2"], p["b_2"])


def _split(tape, X, W):
    return tape.add(split(X, W), (X, W), lambda grad: split_backward(grad, X, W))


def _turned(tape, X):
    return tape.add(rotary(X), (X,), lambda grad: (rotary_backward(grad),))


def _attend(tape, X, context, p, seen, turn, scale):
    """Attention of all heads without the residual; what it saw goes to the tape."""
    Q, K, V = _split(tape, X, p["W_Q"]), _split(tape, context, p["W_K"]), _split(tape, context, p["W_V"])
    if turn:
        Q, K = _turned(tape, Q), _turned(tape, K)
    mask, inputs = seen, (Q, K, V)
    if "relative" in p:
        table = p["relative"]
        mask, inputs = relative_bias(table, Q.shape[-2], K.shape[-2]), (Q, K, V, table)
        mask = mask if seen is None else np.where(seen, mask, -np.inf)
    mixtures, weights = scaled_dot_product_attention(Q, K, V, mask, scale=scale)

    def backward(grad):
        grads = scaled_dot_product_attention_backward(grad, Q, K, V, weights, scale=scale)
        if "relative" not in p:
            return grads
        grad_scores = softmax_backward(grad @ np.swapaxes(V, -1, -2), weights)
        return *grads, relative_bias_backward(grad_scores, table.shape[1])

    tape.attended.append(Attended(Q, K, V, weights))
    mixtures = tape.add(mixtures, inputs, backward)
    return tape.add(
        merge(mixtures, p["W_O"]), (mixtures, p["W_O"]), lambda grad: merge_backward(grad, mixtures, p["W_O"])
    )


def _allowed(mask, padding):
    """Combine a mask of pairs with one of keys; both may be missing."""
    if padding is None:
        return mask
    keys = np.asarray(padding, dtype=bool)[..., None, None, :]  # one axis for heads, one for queries
    return keys if mask is None else keys & mask


def _check_positions(positions):
    if positions not in POSITIONS:
        raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, but is {positions!r}")
    return positions


def _like(params, found):
    """Return nested dicts like `params` with what was found for each array."""
    return {
        name: _like(part, found)
        if isinstance(part, dict)
        else found[id(part)]
        if id(part) in found
        else np.zeros_like(part)
        for name, part in params.items()
    }
