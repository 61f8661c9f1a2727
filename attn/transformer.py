"""Transformers built from the layers: encoders, decoders, what a run has seen, and what it may not see.

Parameters are nested dicts of arrays, and a `TransformerConfig` says all else. Layers are counted
from 1, as their names in the parameters are, and heads from 0.
"""

import functools
import math
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from attn.attention import causal_mask, scaled_dot_product_attention
from attn.checks import as_booleans, as_tokens
from attn.heads import project_into_heads, project_out_of_heads, share_heads
from attn.layers import (
    embedding,
    feed_forward,
    layer_norm,
    linear,
    relative_bias,
    rotary,
    sinusoid,
    unembedding,
)
from attn.parameters import shapes
from attn.tape import differentiable, sum_to
from attn.threads import on_one_thread

_open_trace = ContextVar("open trace", default=None)


# --- what a run has seen --------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionTrace:
    """What one attention has seen.

    Parameters
    ----------
    Q : array, shape (..., n_heads, n_queries, d_k)
    K : array, shape (..., n_heads, n_keys, d_k)
    V : array, shape (..., n_heads, n_keys, d_k)
        Each as it was compared and mixed: turned, if positions are rotary.
    weights : array, shape (..., n_heads, n_queries, n_keys)
    scale : float
        What dot products were multiplied by.
    relative : array, shape (n_heads, 2 * max_distance + 1), or None
        The table of relative positions.
    """

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    weights: np.ndarray
    scale: float
    relative: np.ndarray | None = None

    @property
    def scores(self):
        """Scaled, with what relative positions add, before anything is hidden: shape as of the weights."""
        scores = self.Q @ np.swapaxes(self.K, -1, -2) * self.scale
        return scores if self.relative is None else scores + relative_bias(self.relative, *scores.shape[-2:])


@dataclass(frozen=True)
class LayerTrace:
    """What one layer has seen.

    Parameters
    ----------
    attention, cross : AttentionTrace
        `cross` is None where there is no cross-attention.
    after_attention, after_mlp : array, shape (..., n, d_model)
        The stream behind all attention of the layer, and behind its MLP.
    """

    attention: AttentionTrace
    cross: AttentionTrace | None
    after_attention: np.ndarray
    after_mlp: np.ndarray


@dataclass
class Trace:
    """Keeps what every layer that runs inside `with` has seen.

    Attributes
    ----------
    embedded : list of array, shape (..., n, d_model)
        The stream that entered layer 1, for each run.
    layers : list of LayerTrace
        In the order in which they ran; layer 1 is `layers[0]`.
    """

    embedded: list = field(default_factory=list)
    layers: list = field(default_factory=list)

    def __enter__(self):
        self._token = _open_trace.set(self)
        return self

    def __exit__(self, *_):
        _open_trace.reset(self._token)


# --- what a run may not see -----------------------------------------------------------------------


@dataclass(frozen=True)
class Forbid:
    """Keep queries from keys: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    edges : list of (query, key), or array of bool, shape (..., n, n)
        The positions that may not attend, or True where a query (row) may not see a key (column).
    layer : int, optional
        The layer, from 1 on; all unless given.
    head : int, optional
        The head, from 0 on; all unless given.
    """

    edges: object
    layer: int | None = None
    head: int | None = None


def switch_off(layer, head):
    """Return the intervention that lets one head attend to nothing, so that it writes nothing."""
    return Forbid(True, layer, head)


@dataclass(frozen=True)
class Replace:
    """Put other vectors into the stream: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    place : int or slice
        The positions that are replaced.
    stream : array, shape (..., d_model)
        What stands there from now on, such as `trace.layers[2].after_mlp[..., place, :]` of another run.
    layer : int
        The layer, from 1 on; 0 for what enters layer 1.
    after : {"mlp", "attention"}
        Which stream of the layer.
    """

    place: int | slice
    stream: np.ndarray
    layer: int
    after: str = "mlp"


# --- parameters -----------------------------------------------------------------------------------


def init_transformer(rng, config, *, dtype=np.float32):
    """Draw the parameters of a transformer.

    Parameters
    ----------
    rng : numpy Generator
    config : TransformerConfig
    dtype : numpy dtype

    Returns
    -------
    nested dict of arrays
        `count_parameters(config)["total"]` numbers. Matrices have mean 0 and variance 1 / d_in, so
        have tied embeddings, which are an unembedding as well; other embeddings have variance 1,
        gains are one, biases and relative positions zero.
    """
    tied = config.unembedding == "tied"

    def draw(name, shape):
        if isinstance(shape, dict):
            return {inner: draw(inner, part) for inner, part in shape.items()}
        if name == "gain":
            return np.ones(shape, dtype)
        if name in ("embedding", "positions", "token_types"):
            return _draw(rng, shape, 1 / config.d_model if tied else 1, dtype)
        if name.startswith("W"):
            return _draw(rng, shape, 1 / math.prod(shape[:-1] if name == "W_O" else shape[-2:-1]), dtype)
        return np.zeros(shape, dtype)

    return draw("", shapes(config))


def init_linear(rng, d_in, d_out, *, dtype=np.float32):
    """Draw the parameters of a linear layer: W of variance 1 / d_in, shape (d_in, d_out), and b of zeros."""
    return {"W": _draw(rng, (d_in, d_out), 1 / d_in, dtype), "b": np.zeros(d_out, dtype)}


def _draw(rng, shape, variance, dtype):
    return (rng.normal(size=shape) * variance**0.5).astype(dtype)


# --- running --------------------------------------------------------------------------------------


@on_one_thread
def encoder(params, config, tokens, *, mask=None, token_types=None, interventions=()):
    """Read a text: every token may attend to every other.

    Parameters
    ----------
    params : nested dict of arrays
        As from `init_transformer`.
    config : TransformerConfig
    tokens : array of int, shape (..., n)
    mask : array of bool, shape (..., n), optional
        False for padding, which nobody may attend to.
    token_types : array of int, shape (..., n), optional
        Which row of `token_types` each token gets; the first unless given.
    interventions : sequence of Forbid and Replace

    Returns
    -------
    array, shape (..., n, vocab_size)
        One logit for each possible token; without an unembedding the stream, shape (..., n, d_model).

    Raises
    ------
    ValueError
        If the text is longer than `config.n_positions`, or something does not fit.
    TypeError
        If tokens are not integers, or a mask is neither boolean nor made of 0 and 1.
    """
    tokens, interventions = _checked(params, config, tokens, None, 0, interventions)
    if mask is not None and np.shape(mask) != tokens.shape:
        raise ValueError(f"a mask of shape {np.shape(mask)} does not fit tokens of shape {tokens.shape}")
    X = _embed(params, config, tokens, token_types, 0)
    return _run(X, params, config, _for_all_heads(mask), interventions=interventions)


@on_one_thread
def decoder(params, config, tokens, *, context=None, context_mask=None, cache=None, interventions=()):
    """Read a text from left to right: a token may attend to itself and to what came before.

    Parameters
    ----------
    params : nested dict of arrays
        As from `init_transformer`.
    config : TransformerConfig
    tokens : array of int, shape (..., n)
    context : array, shape (..., m, d_model), optional
        What cross-attention attends to.
    context_mask : array of bool, shape (..., m), optional
        False for padding.
    cache : Cache, optional
        Keys and values of what came before; those of `tokens` are added to it.
    interventions : sequence of Forbid and Replace

    Returns
    -------
    array, shape (..., n, vocab_size)
        One logit for each possible next token; without an unembedding the stream, shape (..., n, d_model).

    Raises
    ------
    ValueError
        If the text is longer than `config.n_positions`, or something does not fit.
    TypeError
        If tokens are not integers, or a mask is neither boolean nor made of 0 and 1.
    """
    start = len(cache or ())
    tokens, interventions = _checked(params, config, tokens, context, start, interventions)
    X = _embed(params, config, tokens, None, start)
    seen, options = causal_mask(tokens.shape[-1], start + tokens.shape[-1]), {"cache": cache, "start": start}
    return _run(X, params, config, seen, context, _for_all_heads(context_mask), interventions=interventions, **options)


class Cache:
    """The keys and values of all tokens that a decoder has read, layer by layer."""

    def __init__(self):
        self._kept = {}

    def __len__(self):
        return next(iter(self._kept.values()))[0].shape[-2] if self._kept else 0

    def extend(self, layer, K, V):
        """Add the keys and values of new tokens; return those of all."""
        if layer in self._kept:
            K, V = (np.concatenate(pair, axis=-2) for pair in zip(self._kept[layer], (K, V), strict=True))
        self._kept[layer] = K, V
        return K, V


def _run(X, params, config, seen, context=None, context_seen=None, *, cache=None, start=0, interventions=()):
    """Run embedded tokens through all layers; `seen` is True where a query may attend to a key."""
    trace = _open_trace.get()
    X = _replaced(X, 0, "mlp", interventions)
    if trace is not None:
        trace.embedded.append(X)
    for number in range(1, config.n_layers + 1):
        layer, cross = params[f"layer {number}"], None
        allowed = _without_forbidden(seen, number, config.n_heads, X.shape[-2], start, interventions)
        extend = functools.partial(cache.extend, number) if cache is not None else None
        X, attention = _residual(X, layer["attention"], config, _attention, allowed, start=start, extend=extend)
        if config.cross:
            X, cross = _residual(X, layer["cross"], config, _attention, context_seen, context)
        X = after_attention = _replaced(X, number, "attention", interventions)
        if config.d_ff:
            X, _ = _residual(X, layer["mlp"], config, _mlp)
        X = _replaced(X, number, "mlp", interventions)
        if trace is not None:
            trace.layers.append(LayerTrace(attention, cross, after_attention, X))
    return _unembed(_before(X, params, config), params, config)


def _embed(params, config, tokens, token_types, start):
    """Look up tokens, and add where they stand and of which type they are."""
    X, n = embedding(tokens, params["embedding"]), tokens.shape[-1]
    if config.positions == "learned":
        X = X + embedding(np.arange(start, start + n), params["positions"])
    if config.positions == "sinusoid":
        X = X + sinusoid(n, config.d_model, start=start).astype(X.dtype)
    if token_types is not None and not config.n_token_types:
        raise ValueError("token types are given, but n_token_types is 0")
    if config.n_token_types:
        X = X + embedding(np.zeros_like(tokens) if token_types is None else token_types, params["token_types"])
    return _after(X, params, config)


def _residual(X, p, config, sublayer, *inputs, **options):
    """Return X + sublayer(norm(X)), or norm(X + sublayer(X)), and what the sublayer has seen."""
    update, seen = sublayer(_before(X, p, config), p, config, *inputs, **options)
    return _after(X + update, p, config), seen


def _before(X, p, config):
    return _norm(X, p["norm"], config) if config.norm == "pre" else X


def _after(X, p, config):
    return _norm(X, p["norm"], config) if config.norm == "post" else X


def _norm(X, p, config):
    return layer_norm(X, **p, epsilon=config.epsilon)


def _attention(X, p, config, seen, context=None, *, start=0, extend=None):
    """Attend in all heads; where tokens stand is told to self-attention only."""
    is_self = context is None
    Q = project_into_heads(X, p["W_Q"], p.get("b_Q"))
    K, V = (project_into_heads(X if is_self else context, p[f"W_{name}"], p.get(f"b_{name}")) for name in "KV")
    if is_self and config.positions == "rotary":
        Q, K = rotary(Q, start=start), rotary(K, start=start)
    if extend:
        K, V = extend(K, V)
    K, V = share_heads(K, config.n_heads), share_heads(V, config.n_heads)
    table = p.get("relative")
    mask = seen if table is None else relative_bias(table, Q.shape[-2], K.shape[-2], seen)
    mixtures, weights = scaled_dot_product_attention(Q, K, V, mask, scale=config.scale)
    scale = config.d_k**-0.5 if config.scale is None else config.scale
    return project_out_of_heads(mixtures, p["W_O"], p.get("b_O")), AttentionTrace(Q, K, V, weights, scale, table)


def _mlp(X, p, config):
    return feed_forward(X, p["W_1"], p.get("b_1"), p["W_2"], p.get("b_2"), activation=config.activation), None


def _unembed(X, params, config):
    if config.unembedding == "tied":
        return unembedding(X, params["embedding"])
    if config.unembedding == "separate":
        return linear(X, **params["unembedding"])
    return X


@differentiable
def _put(X, place, stream):
    """Replace rows of X; what stood there gets no gradient, and what stands there now gets it."""
    replaced = X.copy()
    if X.size and not X[..., place, :].size:
        raise ValueError(f"there is nothing to replace at {place} in a text of {X.shape[-2]} tokens")
    replaced[..., place, :] = stream

    def backward(grad):
        grad_X = grad.copy()
        grad_X[..., place, :] = 0
        return grad_X, None, sum_to(grad[..., place, :], np.shape(stream))

    return replaced, backward


def _replaced(X, layer, after, interventions):
    for one in interventions:
        if isinstance(one, Replace) and (one.layer, one.after) == (layer, after):
            X = _put(X, one.place, one.stream)
    return X


def _without_forbidden(seen, layer, n_heads, n_queries, start, interventions):
    """Take the forbidden edges of one layer out of what may be seen."""
    for one in interventions:
        if isinstance(one, Forbid) and one.layer in (None, layer):
            heads = np.arange(n_heads) == one.head if one.head is not None else np.ones(n_heads, bool)
            forbidden = heads[:, None, None] & _edges(one.edges, start + n_queries)[..., None, start:, :]
            seen = ~forbidden if seen is None else seen & ~forbidden
    return seen


def _edges(edges, n):
    """Return forbidden edges as an array of bool, shape (..., n, n)."""
    if edges is True or isinstance(edges, np.ndarray):
        if edges is not True and edges.shape[-2:] != (n, n):
            raise ValueError(f"forbidden edges of shape {edges.shape} do not fit a text of {n} tokens")
        return np.broadcast_to(edges, (*np.shape(edges)[:-2], n, n))
    table = np.zeros((n, n), bool)
    for query, key in edges:
        if not (0 <= query < n and 0 <= key < n):
            raise ValueError(f"the forbidden edge {(query, key)} is not in a text of {n} tokens")
        table[query, key] = True
    return table


def _for_all_heads(mask):
    """Turn a mask of keys, shape (..., m), into one of edges: an axis for heads, one for queries."""
    return None if mask is None else as_booleans("a mask", mask)[..., None, None, :]


def _check_params(params, config):
    """Refuse parameters of other names or shapes than `init_transformer` draws for a config, with the first of them."""
    expected = _shapes_for(config)
    if _shapes(params) == expected:
        return
    expected, found = dict(_listed(expected)), dict(_listed(_shapes(params)))
    name = next((name for name in {**expected, **found} if expected.get(name) != found.get(name)), None)
    if name is None:  # they differ in parts that hold no parameter
        return
    if name not in found:
        said = f"the config asks for {name} of shape {expected[name]}, but there is none"
    elif name not in expected:
        said = f"there is {name}, but the config asks for none"
    else:
        said = f"the config asks for {name} of shape {expected[name]}, but it has shape {found[name]}"
    raise ValueError(f"params and config do not belong together: {said}")


_shapes_for = functools.cache(shapes)


def _shapes(params):
    return {name: _shapes(part) if isinstance(part, dict) else part.shape for name, part in params.items()}


def _listed(shapes, path=""):
    """Yield the path and the shape of each parameter."""
    for name, part in shapes.items():
        if isinstance(part, dict):
            yield from _listed(part, f"{path}{name} / ")
        else:
            yield f"{path}{name}", part


def _checked(params, config, tokens, context, start, interventions):
    """Return the tokens as an array and the interventions as a tuple, or say what does not fit the config."""
    _check_params(params, config)
    tokens = as_tokens(tokens)
    n = start + tokens.shape[-1]
    if config.n_positions is not None and n > config.n_positions:
        raise ValueError(f"the text has {n} tokens, but this model reads at most {config.n_positions}")
    if config.cross != (context is not None):
        raise ValueError(f"cross-attention needs a context: cross is {config.cross}, context is {_told(context)}")
    if config.cross and (np.ndim(context) < 2 or np.shape(context)[-1] != config.d_model):
        raise ValueError(f"context needs shape (..., m, {config.d_model}), but has shape {np.shape(context)}")
    if isinstance(interventions, (Forbid, Replace)):
        raise TypeError(f"interventions come in a list, but this is a single {type(interventions).__name__}")
    interventions = tuple(interventions)
    for one in interventions:
        if not isinstance(one, (Forbid, Replace)):
            raise TypeError(f"an intervention is a Forbid or a Replace, but this is {one!r}")
        smallest, optional = (0, ()) if isinstance(one, Replace) else (1, (None,))
        if one.layer not in (*optional, *range(smallest, config.n_layers + 1)):
            raise ValueError(f"the layer must be from {smallest} to {config.n_layers}, but is {one.layer!r}")
        if isinstance(one, Forbid) and one.head not in (None, *range(config.n_heads)):
            raise ValueError(f"the head must be from 0 to {config.n_heads - 1}, but is {one.head!r}")
        if isinstance(one, Replace) and one.after not in ("mlp", "attention"):
            raise ValueError(f"after must be mlp or attention, but is {one.after!r}")
        if isinstance(one, Replace) and (one.layer, one.after) == (0, "attention"):
            raise ValueError("layer 0 stands for what enters layer 1, and there is no attention before it")
    return tokens, interventions


def _told(context):
    return "missing" if context is None else f"given, of shape {np.shape(context)}"
