"""Transformers built from the layers: encoders and decoders.

Parameters are nested dicts of arrays, and a `TransformerConfig` says all else. Layers are counted
from 1, as their names in the parameters are, and so are heads.
"""

import math
from copy import copy
from functools import partial

import numpy as np

from attn.attention import causal_mask, scaled_dot_product_attention
from attn.checks import as_mask, as_tokens, check_rng
from attn.heads import project_into_heads, project_out_of_heads, share_heads
from attn.interventions import (
    AttentionTrace,
    LayerTrace,
    ReplaceMixtures,
    check_interventions,
    forbid_edges,
    open_trace,
    replace_rows,
    replace_values,
)
from attn.layers import embedding, feed_forward, gated_feed_forward, layer_norm, linear, rms_norm, unembedding
from attn.parameters import check_params, shapes
from attn.positions import POSITIONS, masked
from attn.threads import on_one_thread

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
    embeddings = {"embedding", "token_types", *POSITIONS[config.positions].shapes(config)}
    variance = 1 / config.d_model if config.unembedding == "tied" else 1

    def draw(name, shape):
        if isinstance(shape, dict):
            return {inner: draw(inner, part) for inner, part in shape.items()}
        if name == "gain":
            return np.ones(shape, dtype)
        if name in embeddings:
            return _draw(rng, shape, variance, dtype)
        if name.startswith("W"):
            return _draw(rng, shape, 1 / math.prod(shape[:-1] if name == "W_O" else shape[-2:-1]), dtype)
        return np.zeros(shape, dtype)

    return draw("", shapes(config))


def init_linear(rng, d_in, d_out, *, dtype=np.float32):
    """Draw the parameters of a linear layer: W of variance 1 / d_in, shape (d_in, d_out), and b of zeros."""
    return {"W": _draw(rng, (d_in, d_out), 1 / d_in, dtype), "b": np.zeros(d_out, dtype)}


def _draw(rng, shape, variance, dtype):
    check_rng(rng)
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
        False for padding, which nobody may attend to; positions are counted from the first token that is none.
    token_types : array of int, shape (..., n), optional
        Which row of `token_types` each token gets; default: the first.
    interventions : sequence of Forbid, Replace, ReplaceValues and ReplaceMixtures

    Returns
    -------
    array, shape (..., n, vocab_size)
        One logit for each possible token; without an unembedding the residual stream, shape (..., n, d_model).
    """
    tokens, mask = _checked(params, config, tokens, mask)
    if token_types is not None and not config.n_token_types:
        raise ValueError("token types are given, but n_token_types is 0")
    if token_types is not None and np.shape(token_types) != tokens.shape:
        raise ValueError(f"token types of shape {np.shape(token_types)} do not fit tokens of shape {tokens.shape}")
    X = _embed(params, config, tokens, _first_position(mask), token_types)
    X = _run(X, params, config, _for_all_queries(mask), interventions=check_interventions(interventions, config))
    return _unembed(X, params, config)


@on_one_thread
def decoder(
    params, config, tokens, *, mask=None, context=None, context_mask=None, cache=None, last=False, interventions=()
):
    """Read a text from left to right: a token may attend to itself and to what came before.

    Parameters
    ----------
    params : nested dict of arrays
        As from `init_transformer`.
    config : TransformerConfig
    tokens : array of int, shape (..., n)
    mask : array of bool, shape (..., n), optional
        As for `encoder`; a cache keeps it for what comes later.
    context : array, shape (..., m, d_model), optional
        What cross-attention attends to.
    context_mask : array of bool, shape (..., m), optional
        False for padding.
    cache : Cache, optional
        Keys and values of what came before; those of `tokens` are added to it, once all is computed.
    last : bool
        Whether only the last token is asked what comes next, as when a text is continued: a matrix of the size of
        the embedding then meets one row.
    interventions : sequence of Forbid, Replace, ReplaceValues and ReplaceMixtures

    Returns
    -------
    array, shape (..., n, vocab_size)
        One logit for each possible next token; without an unembedding the residual stream, shape (..., n, d_model).
        With `last`, for one token.
    """
    start = 0 if cache is None else len(cache)
    tokens, mask = _checked(params, config, tokens, mask, start)
    _check_context(config, context)
    if last and mask is not None and not mask[..., -1:].all():
        raise ValueError(
            "what comes next is asked behind the last column: padding stands on the left, but this mask ends in it"
        )
    extended = copy(cache)  # a call that fails leaves nothing in the cache
    mask = mask if cache is None else extended.begin(config, mask, tokens.shape)
    X = _embed(params, config, tokens, start + _first_position(mask))
    seen = causal_mask(tokens.shape[-1], start + tokens.shape[-1])
    if config.window is not None:
        seen = np.triu(seen, k=start + 1 - config.window)
    seen = seen if mask is None else seen & _for_all_queries(mask)
    context_mask = None if context_mask is None else _for_all_queries(as_mask(context_mask, np.shape(context)[:-1]))
    interventions = check_interventions(interventions, config)
    X = _run(X, params, config, seen, context, context_mask, cache=extended, start=start, interventions=interventions)
    logits = _unembed(X[..., -1:, :] if last else X, params, config)
    if cache is not None:
        vars(cache).update(vars(extended))
    return logits


def _run(X, params, config, mask, context=None, context_mask=None, *, cache=None, start=0, interventions=()):
    """Run embedded tokens, before which a cache holds `start` others, through all layers."""
    X = embedded = replace_rows(X, interventions, 0)
    trace, layers = open_trace.get(), []
    cross_attention = partial(_cross_attention, mask=context_mask, context=context)
    for number in range(1, config.n_layers + 1):
        layer = params[f"layer {number}"]
        self_attention = partial(
            _self_attention, mask=mask, number=number, cache=cache, start=start, interventions=interventions
        )
        X, attention = _sublayer(self_attention, X, layer["attention"], config)
        X, cross = _sublayer(cross_attention, X, layer["cross"], config) if config.cross else (X, None)
        X = after_attention = replace_rows(X, interventions, number, "attention")
        X, _ = _sublayer(_mlp, X, layer["mlp"], config) if config.d_ff else (X, None)
        X = replace_rows(X, interventions, number)
        if trace is not None:
            layers.append(LayerTrace(attention, cross, after_attention, X))
    if trace is not None:  # at the end, so that a run that fails leaves nothing there
        trace.embedded.append(embedded)
        trace.layers.extend(layers)
    return X


def _embed(params, config, tokens, start, token_types=None):
    """Look up tokens, and add where they stand, from `start` on, and of which type they are."""
    X = POSITIONS[config.positions].embed(embedding(tokens, params["embedding"]), params, start)
    if config.n_token_types:
        X = X + embedding(np.zeros_like(tokens) if token_types is None else token_types, params["token_types"])
    return _post_norm(X, params, config)


def _sublayer(function, X, p, config):
    """Add to the residual stream what a sublayer reads from it; return it, and what the sublayer has seen."""
    update, seen = function(_pre_norm(X, p, config), p, config)
    return _post_norm(X + update, p, config), seen


def _pre_norm(X, p, config):
    """Normalise what a sublayer reads, if the config says so."""
    return _normalised(X, p, config) if config.norm == "pre" else X


def _post_norm(X, p, config):
    """Normalise the residual stream itself, if the config says so."""
    return _normalised(X, p, config) if config.norm == "post" else X


def _normalised(X, p, config):
    return {"layer": layer_norm, "rms": rms_norm}[config.norm_type](X, **p["norm"], epsilon=config.epsilon)


def _self_attention(X, p, config, *, mask, number, cache, start, interventions):
    """Let tokens attend to each other and to those in the cache; only here are queries and keys told positions."""
    positions = POSITIONS[config.positions]
    Q, K, V = (_project(X, p, name) for name in "QKV")
    Q, K = positions.turn(Q, start, config), positions.turn(K, start, config)
    if cache is not None:
        K, V = cache.extend(number, K, V)
    V = replace_values(share_heads(V, config.n_heads), interventions, number)
    sizes = config.n_heads, Q.shape[-2], K.shape[-2]
    mask = forbid_edges(mask, interventions, number, sizes)
    handed_over = partial(replace_values, interventions=interventions, layer=number, kind=ReplaceMixtures)
    return _attend(Q, K, V, p, config, mask, positions.bias(p, *sizes), handed_over)


def _cross_attention(X, p, config, *, mask, context):
    return _attend(_project(X, p, "Q"), _project(context, p, "K"), _project(context, p, "V"), p, config, mask)


def _project(X, p, name):
    return project_into_heads(X, p[f"W_{name}"], p.get(f"b_{name}"))


def _attend(Q, K, V, p, config, mask, bias=None, handed_over=lambda mixtures: mixtures):
    """Return what all heads write together, of the mixtures that they hand over, and an AttentionTrace."""
    K, V = share_heads(K, config.n_heads), share_heads(V, config.n_heads)
    scale = config.d_k**-0.5 if config.scale is None else config.scale
    mixtures, weights = scaled_dot_product_attention(Q, K, V, mask if bias is None else masked(bias, mask), scale=scale)
    update = project_out_of_heads(handed_over(mixtures), p["W_O"], p.get("b_O"))
    return update, AttentionTrace(Q, K, V, weights, scale, bias)


def _mlp(X, p, config):
    if config.activation == "swiglu":
        return gated_feed_forward(X, p["W_1"], p["W_2"], p["W_3"]), None
    return feed_forward(X, p["W_1"], p.get("b_1"), p["W_2"], p.get("b_2"), activation=config.activation), None


def _unembed(X, params, config):
    X = _pre_norm(X, params, config)
    if config.unembedding == "tied":
        return unembedding(X, params["embedding"])
    if config.unembedding == "separate":
        return linear(X, **params["unembedding"])
    return X


def _for_all_queries(mask):
    """Turn a mask of keys, shape (..., m), into one for all heads and queries, shape (..., 1, 1, m)."""
    return None if mask is None else mask[..., None, None, :]


def _first_position(mask):
    """Return the position of the first column, shape (..., 1): below 0 for padding; 0 where no text begins with any."""
    padding = 0 if mask is None else mask.argmax(axis=-1)[..., None]
    return -padding if np.any(padding) else 0


def _checked(params, config, tokens, mask, start=0):
    """Return the tokens and their mask as arrays, or say what does not fit the config."""
    check_params(params, config)
    tokens = as_tokens(tokens)
    n = start + tokens.shape[-1]
    if config.n_positions is not None and n > config.n_positions:
        raise ValueError(f"the text has {n} tokens, but this model reads at most {config.n_positions}")
    return tokens, None if mask is None else as_mask(mask, tokens.shape)


def _check_context(config, context):
    if config.cross != (context is not None):
        given = "missing" if context is None else f"given, of shape {np.shape(context)}"
        raise ValueError(f"cross-attention needs a context: cross is {config.cross}, context is {given}")
    if config.cross and (np.ndim(context) < 2 or np.shape(context)[-1] != config.d_model):
        raise ValueError(f"context needs shape (..., m, {config.d_model}), but has shape {np.shape(context)}")
