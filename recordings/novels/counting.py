"""The best simple model beside the transformer: n-grams that are counted, smoothed as Kneser and Ney do.

Modified and interpolated: Chen and Goodman 1999. A text of n tokens is one whole number, its digits the tokens.
"""

from dataclasses import dataclass

import numpy as np

from attn_course.novels import CONFIG

from .reading import mean

ORDERS, BEST, FIRST, LATE = (2, 3, 5), "5-grams", slice(4), slice(64, 128)


@dataclass(frozen=True)
class Order:
    """What is known of all texts of one length: arrays over different texts, and over what stands before their last.

    Parameters
    ----------
    grams, shares : array, shape (n_grams,)
        Each text, sorted, and the share of its last token behind the others, after the discount.
    contexts, left : array, shape (n_contexts,)
        Each text without its last token, sorted, and what the discounts leave for shorter texts.
    """

    grams: np.ndarray
    shares: np.ndarray
    contexts: np.ndarray
    left: np.ndarray


def coded(texts):
    """Return each text as one whole number: from shape (..., n) to (...)."""
    return texts.astype(np.int64) @ CONFIG.vocab_size ** np.arange(texts.shape[-1])[::-1]


def count(tokens, n):
    """Return an `Order` for each length up to n: the longest from counts, others from how many tokens stand before."""
    grams, counts = np.unique(coded(np.lib.stride_tricks.sliding_window_view(tokens, n)), return_counts=True)
    orders = [discounted(grams, counts)]
    for length in range(n - 1, 0, -1):
        grams, counts = np.unique(grams % CONFIG.vocab_size**length, return_counts=True)
        orders.insert(0, discounted(grams, counts))
    return orders


def discounted(grams, counts):
    """Return an `Order` of counted texts: how many are counted 1, 2, 3 and 4 times says what is taken from a count."""
    seen = np.bincount(counts)[1:5]
    of_few = np.arange(1, 4) - np.arange(2, 5) * seen[0] / (seen[0] + 2 * seen[1]) * seen[1:] / seen[:-1]
    discounts = of_few[np.minimum(counts, 3) - 1]
    contexts, which = np.unique(grams // CONFIG.vocab_size, return_inverse=True)
    total, left = np.bincount(which, counts), np.bincount(which, discounts)
    return Order(grams, (counts - discounts) / total[which], contexts, left / total)


def likely(orders, texts):
    """Return how likely the last token of each text is behind the others: from shape (..., n) to (...)."""
    P = np.full(texts.shape[:-1], 1 / CONFIG.vocab_size)
    for n, order in enumerate(orders[: texts.shape[-1]], start=1):
        codes = coded(texts[..., -n:])
        share = looked_up(order.grams, order.shares, codes, 0)
        P = share + looked_up(order.contexts, order.left, codes // CONFIG.vocab_size, 1) * P
    return P


def looked_up(keys, values, wanted, otherwise):
    """Return the value of each key that is wanted, or of what is not among the sorted keys, something else."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], otherwise)


def losses(tokens, rows, n):
    """Return in nats how surprising each next token of rows is, from the n - 1 before it in the row, or from all that
    there are: from shape (n_rows, length) to (n_rows, length - 1)."""
    first = [likely(count(tokens, few), rows[:, :few]) for few in range(2, n)]
    rest = likely(count(tokens, n), np.lib.stride_tricks.sliding_window_view(rows, n, axis=1))
    return -np.log(np.column_stack([*first, rest]))


def all_losses(tokens, rows):
    """Return by name the losses of n-grams of each length: arrays, shape (n_rows, length)."""
    return {f"{n}-grams": losses(tokens, rows, n) for n in ORDERS}


def beside(lost, counted):
    """Return by name the loss of a model, of n-grams, and of the model and the best of them mixed half and half, in
    all, early and late in rows.

    lost : array, shape (n_rows, length); counted : dict of such arrays.
    """
    mixed = -np.log((np.exp(-lost) + np.exp(-counted[BEST])) / 2)
    models = {"model": lost, **counted, f"model and {BEST}": mixed}
    return {name: [mean(one), mean(one[:, FIRST]), mean(one[:, LATE])] for name, one in models.items()}
