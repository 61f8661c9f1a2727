"""Writing: a decoder continues a text, token by token, and keeps the keys and values of what it has read."""

import numpy as np

from attn.attention import softmax
from attn.checks import as_tokens
from attn.transformer import Cache, decoder


def generate(params, config, tokens, n_new, *, temperature=0.0, top_k=None, rng=None, context=None, context_mask=None):
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
        How many of the likeliest tokens may be drawn; all unless given.
    rng : numpy Generator, optional
        Draws the tokens; needed unless the temperature is 0.
    context, context_mask : array, optional
        As for `decoder`.

    Returns
    -------
    array of int, shape (..., n + n_new)

    Raises
    ------
    ValueError
        If there is no token to begin with, or temperature, top_k and rng contradict each other.
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
    if (temperature > 0) != (rng is not None):
        raise ValueError(f"drawing takes a temperature above 0 and an rng: temperature is {temperature}, rng is {rng}")
    if top_k is not None and rng is None:
        raise ValueError(f"top_k is for drawing, but there is no rng: top_k is {top_k}")
    if config.n_positions is not None and tokens.shape[-1] + n_new > config.n_positions:
        n = tokens.shape[-1] + n_new
        raise ValueError(f"the text would have {n} tokens, but this model reads at most {config.n_positions}")
    cache, new = Cache(), tokens
    for _ in range(n_new):
        logits = decoder(params, config, new, context=context, context_mask=context_mask, cache=cache)[..., -1, :]
        new = (logits.argmax(axis=-1) if rng is None else draw(logits, rng, temperature, top_k))[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens


def draw(logits, rng, temperature=1.0, top_k=None):
    """Draw one token from each row of logits.

    Parameters
    ----------
    logits : array, shape (..., vocab_size)
    rng : numpy Generator
    temperature : float
        Above 0.
    top_k : int, optional
        How many of the largest may be drawn; all unless given.

    Returns
    -------
    array of int, shape (...)
    """
    if top_k is not None and top_k < logits.shape[-1]:
        least = np.partition(logits, -top_k, axis=-1)[..., -top_k, None]
        logits = np.where(logits < least, -np.inf, logits)
    heights = np.cumsum(softmax(np.asarray(logits, float) / temperature), axis=-1)
    return np.sum(heights <= rng.random((*logits.shape[:-1], 1)) * heights[..., -1:], axis=-1)
