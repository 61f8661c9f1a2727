"""Generation: a decoder continues a text token by token, and a cache keeps the keys and values of what it has read."""

import numpy as np

from attn.attention import softmax
from attn.checks import as_array, as_size, as_tokens, check_rng, check_tokens
from attn.transformer import decoder


class Cache:
    """The keys and values of all tokens that a decoder has read, layer by layer."""

    def __init__(self):
        self._config, self._kept, self._mask = None, {}, None  # each is replaced and none changed: a copy grows alone

    def __len__(self):
        return next(iter(self._kept.values()))[0].shape[-2] if self._kept else 0

    def begin(self, config, mask, shape):
        """Say which model reads on, tokens of what shape, and their mask; return that of all, None without padding."""
        held = next(iter(self._kept.values()))[0].shape[:-3] if self._kept else shape[:-1]
        if self._config not in (None, config):
            raise ValueError("the cache is of another model: give each its own")
        if held != shape[:-1]:
            raise ValueError(f"the cache holds texts of shape {held}, but tokens have shape {shape}")
        self._config = config
        if mask is not None or self._mask is not None:
            before = np.ones((*shape[:-1], len(self)), bool) if self._mask is None else self._mask
            self._mask = np.concatenate([before, np.ones(shape, bool) if mask is None else mask], axis=-1)
        return self._mask

    def extend(self, layer, K, V):
        """Add the keys and values of new tokens; return those of all."""
        if layer in self._kept:
            K, V = (np.concatenate(pair, axis=-2) for pair in zip(self._kept[layer], (K, V), strict=True))
        self._kept = {**self._kept, layer: (K, V)}
        return K, V


def generate(
    params, config, tokens, n_new, *, temperature=0.0, top_k=None, top_p=None, rng=None, stop=None,
    mask=None, context=None, context_mask=None,
):  # fmt: skip
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
        What logits are divided by before softmax and before both cuts; at 0 the likeliest token is taken.
    top_k : int, optional
        How many of the likeliest tokens may be drawn; default: all.
    top_p : float, optional
        The likeliest tokens that have this probability together, of those that top_k leaves, may be drawn; default:
        all.
    rng : numpy Generator, optional
        Draws the tokens where the temperature is above 0.
    stop : int, optional
        The token that ends a text: it is repeated where other texts go on, and nothing is written once all have ended.
    mask : array of bool, shape (..., n), optional
        False for padding, which makes texts equally long: on the left, as writing goes on from the last column.
    context, context_mask : array, optional
        As for `decoder`.

    Returns
    -------
    array of int, shape (..., n + n_new), or shorter if all texts have ended

    Raises
    ------
    ValueError
        If the arguments contradict each other or the model, or logits are no scores of tokens.
    """
    tokens = as_tokens(tokens)
    n = length_of(config, tokens, n_new, stop)
    options = {"context": context, "context_mask": context_mask, "cache": Cache(), "last": True}
    new, ended = tokens, np.zeros(tokens.shape[:-1], bool)
    while tokens.shape[-1] < n and not (stop is not None and ended.all()):
        logits = decoder(params, config, new, mask=mask, **options)[..., 0, :]
        mask, new = None, draw(logits, rng, temperature, top_k, top_p)
        if stop is not None:
            new = np.where(ended, stop, new)
            ended = new == stop
        new = new[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens


def length_of(config, tokens, n_new, stop):
    """Return how many tokens a text will have, or say why it cannot be continued so."""
    n = tokens.shape[-1] + as_size("n_new", n_new, 0)
    if tokens.shape[-1] == 0:
        raise ValueError("generation needs at least one token to begin with")
    if config.unembedding == "none":
        raise ValueError("generation needs logits, but the model's unembedding is none")
    if config.n_positions is not None and n > config.n_positions:
        raise ValueError(f"the text would have {n} tokens, but this model reads at most {config.n_positions}")
    if stop is not None:
        check_tokens([as_size("stop", stop, 0)], config.vocab_size)
    return n


def draw(logits, rng, temperature=1.0, top_k=None, top_p=None):
    """Draw one token from each row of logits.

    Parameters
    ----------
    logits : array, shape (..., vocab_size)
        `-inf` for what is impossible.
    rng : numpy Generator, or None at a temperature of 0
    temperature : float
        What logits are divided by, before both cuts; at 0 the likeliest is taken.
    top_k : int, optional
        How many of the largest may be drawn; default: all.
    top_p : float, optional
        As many of the likeliest, of those that top_k leaves, may be drawn as are needed for this probability; default:
        all.

    Returns
    -------
    array of int, shape (...)

    Raises
    ------
    ValueError
        If the options contradict each other, or a row of logits has no distribution.
    TypeError
        If `rng` is no Generator.

    Notes
    -----
    top_k: Fan, Lewis and Dauphin 2018; top_p: Holtzman et al. 2020. Of equally likely tokens the first are kept.
    """
    _check_drawing(rng, temperature, top_k, top_p)
    logits = np.asarray(as_array("logits", logits), float)
    largest = logits.max(axis=-1, keepdims=True)
    if not np.isfinite(largest).all():
        wrong = largest[~np.isfinite(largest)][0]
        raise ValueError(f"a row of logits needs a largest number to choose a token by, but its largest is {wrong}")
    if rng is None:
        return logits.argmax(axis=-1)
    with np.errstate(over="ignore"):
        P = softmax((logits - largest) / temperature)
    if top_k is not None or top_p is not None:
        P = _likeliest(P, top_k, top_p)
    heights = np.cumsum(P, axis=-1)
    return np.sum(heights <= rng.random((*P.shape[:-1], 1)) * heights[..., -1:], axis=-1)


def _check_drawing(rng, temperature, top_k, top_p):
    if not 0 <= temperature < np.inf:
        raise ValueError(f"temperature must be a number from 0 on, but is {temperature}")
    if top_k is not None:
        as_size("top_k", top_k)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability above 0, but is {top_p}")
    if rng is None and (top_k is not None or top_p is not None):
        raise ValueError(f"top_k and top_p are for drawing, but there is no rng: they are {top_k} and {top_p}")
    if rng is not None:
        check_rng(rng)
    if (temperature > 0) != (rng is not None):
        raise ValueError(f"drawing takes a temperature above 0 and an rng: temperature is {temperature}, rng is {rng}")


def _likeliest(P, top_k, top_p):
    """Keep the `top_k` largest probabilities, and of these as many as make `top_p` of their sum; set all else to 0."""
    falling = -np.sort(-P, axis=-1)
    if top_k is not None:
        falling[..., top_k:] = 0
    if top_p is not None:
        before = np.cumsum(falling, axis=-1) - falling
        falling[before >= top_p * falling.sum(axis=-1, keepdims=True)] = 0
    n_kept = np.sum(falling > 0, axis=-1, keepdims=True)
    least = np.take_along_axis(falling, n_kept - 1, axis=-1)
    above, equal = least < P, least == P
    first = equal & (np.cumsum(equal, axis=-1) <= n_kept - above.sum(axis=-1, keepdims=True))
    return np.where(above | first, P, 0)
