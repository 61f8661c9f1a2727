"""Whether a model copies what it has read, names and rare tokens."""

import re

import numpy as np

from .places import compared
from .reading import FAMILIES, NAMED_TWICE, mean, next_logits

FRAMES = [
    *NAMED_TWICE,
    "Mr. {} was not at home. She had a letter to write to Mr.",
    '"I have seen Mr. {} to-day," said Emma. "Indeed! And how is Mr.',
    "When Mr. {} left the room, nobody spoke for some time but of Mr.",
]
RARE = 400  # tokens that come less often in the training text


# --- names in frames -------------------------------------------------------------------------------------------------


def named_again(params, tokenizer, n_drawn=1000):
    """Return how much a name that was read raises its own logarithm, beside its mean where another was read.

    Returns
    -------
    list of float
        The mean over frames and names in nats, the share of the raises above zero, and 97.5 % of the means if the
        names that were read are shuffled.
    """
    tokens = [tokenizer.words.index(f" {name}") for name in FAMILIES]
    logits = np.stack([next_logits(params, tokenizer, FRAMES, name) for name in FAMILIES], axis=1).astype(float)
    logarithms = (logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))[..., tokens]
    rng, n = np.random.default_rng(0), len(FAMILIES)
    raised = raises(logarithms)
    shuffled = [raises(logarithms[:, rng.permutation(n)]).mean() for _ in range(n_drawn)]
    return [mean(raised), mean(raised > 0), mean(np.quantile(shuffled, 0.975))]


def raises(logarithms):
    """Return each name's logarithm where it was read, less the mean of its others: from shape (n_frames, n, n), frames,
    what was read, what is named, to (n_frames, n)."""
    n = logarithms.shape[-1]
    own = np.diagonal(logarithms, axis1=1, axis2=2)
    return own - (logarithms.sum(axis=1) - own) / (n - 1)


# --- tokens that stood in the row ------------------------------------------------------------------------------------


def repeated(lost, rows, tokenizer, often):
    """Return the loss of names and of rare tokens, by whether they stood in the row before.

    Parameters
    ----------
    lost : dict of arrays, shape (n_rows, length)
        Of several models, by name.
    rows : array of int, shape (n_rows, length + 1)
    tokenizer : Tokenizer
    often : array of int, shape (vocab_size,)
        How often each token comes in the training text.

    Returns
    -------
    dict
        By kind and "again" or "new": how many places there are, and the mean loss of each model; and how much more
        "again" costs than "new", with the bounds of 95 % of its values if rows are drawn again.
    """
    capital = np.array([bool(re.fullmatch(" [A-Z][a-z]+", word)) for word in tokenizer.words])
    is_name = capital & ~np.isin([word.lower() for word in tokenizer.words], tokenizer.words)
    new, again = rows[:, 1:], stood_before(rows)
    found = {}
    for kind, counts in {"names": is_name[new], "rare tokens": often[new] < RARE}.items():
        two = counts & again, counts & ~again
        for when, here in zip(("again", "new"), two):
            losses = {who: mean(one[here]) for who, one in lost.items()}
            found[f"{kind}, {when}"] = {"places": int(here.sum()), **losses}
        found[f"{kind}, again - new"] = {who: compared(one, two, np.subtract, 3) for who, one in lost.items()}
    return found


def stood_before(rows):
    """Return whether each next token has stood in its row: from shape (n_rows, length + 1) to bool (n_rows, length)."""
    same = rows[:, 1:, None] == rows[:, None, :-1]
    return (same & np.tri(rows.shape[1] - 1, dtype=bool)).any(axis=-1)
