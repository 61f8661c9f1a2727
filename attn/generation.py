"""Generation: a decoder continues a text token by token, and a cache keeps the keys and values of what it has read."""

import numpy as np

from attn.attention import softmax
from attn.checks import as_tokens
from attn.transformer import decoder


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


def generate(
    params, config, tokens, n_new, *, temperature=0.0, top_k=None, top_p=None, rng=None, context=None, context_mask=None
):
    """Continue a text.

    Parameters
    ----------
    params : nested dict of arrays
        As from `init_transformer`.
    config : TransformerConfig
    tokens : array_like of int, shape (..., n)
        The text so far, at least one token.
    n_new : int
        How many tokens to write.
    temperature : float
        What logits are divided by before softmax; at 0 the likeliest token is taken.
    top_k : int, optional
        How many of the likeliest tokens may be drawn; default: all.
    top_p : float, optional
        The likeliest tokens that have this probability together may be drawn; default: all.
    rng : numpy Generator, optional
        Draws the tokens where the temperature is above 0.
    context, context_mask : array, optional
        As for `decoder`.

    Returns
    -------
    array of int, shape (..., n + n_new)
    """
    tokens = as_tokens(tokens)
    if tokens.shape[-1] == 0:
        raise ValueError("generation needs at least one token to begin with")
    if config.unembedding == "none":
        raise ValueError("generation needs logits, but the model's unembedding is none")
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature cannot be negative and top_k not below 1, but they are {temperature} and {top_k}"
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability above 0, but is {top_p}")
    if (temperature > 0) != (rng is not None):
        raise ValueError(f"drawing takes a temperature above 0 and an rng: temperature is {temperature}, rng is {rng}")
    if rng is None and (top_k is not None or top_p is not None):
        raise ValueError(f"top_k and top_p are for drawing, but there is no rng: they are {top_k} and {top_p}")
    if config.n_positions is not None and tokens.shape[-1] + n_new > config.n_positions:
        n = tokens.shape[-1] + n_new
        raise ValueError(f"the text would have {n} tokens, but this model reads at most {config.n_positions}")
    read, new = {"context": context, "context_mask": context_mask, "cache": Cache(), "last": True}, tokens
    for _ in range(n_new):
        logits = decoder(params, config, new, **read)[..., 0, :]
        new = (logits.argmax(axis=-1) if rng is None else draw(logits, rng, temperature, top_k, top_p))[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens


def draw(logits, rng, temperature=1.0, top_k=None, top_p=None):
    """Draw one token from each row of logits.

    Parameters
    ----------
    logits : array, shape (..., vocab_size)
    rng : numpy Generator
    temperature : float
        Above 0.
    top_k : int, optional
        How many of the largest may be drawn; default: all.
    top_p : float, optional
        As many of the likeliest may be drawn as are needed for this probability; default: all.

    Returns
    -------
    array of int, shape (...)

    Notes
    -----
    top_k: Fan, Lewis and Dauphin 2018; top_p: Holtzman et al. 2020.
    """
    P = softmax(np.asarray(logits, float) / temperature)
    if top_k is not None and top_k < P.shape[-1]:
        P = np.where(np.partition(P, -top_k, axis=-1)[..., -top_k, None] > P, 0, P)
    if top_p is not None:
        P = np.where(_least_of(P, top_p) > P, 0, P)
    heights = np.cumsum(P, axis=-1)
    return np.sum(heights <= rng.random((*P.shape[:-1], 1)) * heights[..., -1:], axis=-1)


def _least_of(P, share):
    """Return the smallest of the largest probabilities that make a share of their sum: shape (..., 1)."""
    falling = -np.sort(-P, axis=-1)
    before = np.cumsum(falling, axis=-1) - falling
    needed = before < share * falling.sum(axis=-1, keepdims=True)
    return np.take_along_axis(falling, needed.sum(axis=-1, keepdims=True) - 1, axis=-1)
