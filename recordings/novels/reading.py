"""What a model loses on what it reads, what it makes of a closing mark there, and of a text that comes twice."""

from functools import partial

import numpy as np

from attn import decoder
from attn_course import novels
from attn_course.novels import CONFIG

RANDOM = np.random.default_rng(0).integers(80, CONFIG.vocab_size, (60, 50))  # texts of random tokens


def mean(numbers, digits=4):
    return round(float(np.mean(numbers)), digits)


def read(params, rows, tokenizer, interventions=()):
    """Return in nats the loss of each next token of rows, shape (n_rows, length + 1), and the log-odds of a closing
    mark there: two arrays, shape (n_rows, length)."""
    mark = tokenizer.words.index(novels.CLOSING)

    def lost_and_odds(part):
        logits = decoder(params, CONFIG, part[:, :-1], interventions=interventions)
        heights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        total = heights.sum(axis=-1, dtype=float)
        right = np.take_along_axis(heights, part[:, 1:, None], axis=-1)[..., 0]
        return np.stack([np.log(total / right), np.log(heights[..., mark] / (total - heights[..., mark]))], axis=-1)

    return np.moveaxis(novels.in_parts(lost_and_odds, rows), -1, 0)


def read_twice(params, once):
    """Return the loss of texts, shape (n_rows, n), read first, again, and after another text; and how much any head
    attends to what came next the first time."""
    twice = np.concatenate([once, once], axis=1)
    again = novels.losses(params, twice)
    other = novels.losses(params, np.concatenate([np.roll(once, 1, axis=0), once], axis=1))
    return [mean(again[:, 4:49]), mean(again[:, 54:]), mean(other[:, 54:]), prefix_matching(params, twice)]


def prefix_matching(params, rows):
    """Return the largest mean weight of any head on the token after the last one that is like the token that asks.

    rows : texts that come twice, shape (n_rows, 2 n).
    """
    n = rows.shape[1] // 2
    asks = np.arange(n + 4, 2 * n - 1)
    weights = novels.in_parts(partial(novels.looks, params), rows)
    return mean(weights[:, :, :, asks, asks - n + 1].mean(axis=(0, 3)).max())
