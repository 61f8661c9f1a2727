"""What a model makes of what it reads: a text that comes twice, more or less context, and names."""

from functools import partial

import numpy as np

from attn import decoder
from attn_course import novels
from attn_course.novels import CONFIG

MEN = [
    "Edward", "Henry", "William", "Thomas", "John", "Charles", "Frank",
    "James", "George", "Robert", "Edmund", "Frederick", "Walter",
]  # fmt: skip
WOMEN = [
    "Elizabeth", "Emma", "Fanny", "Anne", "Marianne", "Elinor", "Catherine",
    "Jane", "Harriet", "Lydia", "Isabella", "Charlotte", "Louisa",
]  # fmt: skip
FAMILIES = [
    "Darcy", "Crawford", "Collins", "Bingley", "Rushworth", "Weston",
    "Elton", "Knightley", "Wickham", "Tilney", "Willoughby", "Elliot",
]  # fmt: skip
THEN_WHO = [
    "{} was very much surprised, and",
    "{} was silent for some time, and then",
    "When {} came into the room,",
    "{} did not answer; but",
    "It was a great comfort to {} that",
    "{} was so much hurt that",
]
NAMED_TWICE = [
    "Mr. {} looked at Elizabeth, and Elizabeth looked at Mr.",
    "She had seen Mr. {} in the morning, and was not surprised to see Mr.",
    '"Mr. {} is come," said she; and soon afterwards Mr.',
]


def mean(numbers, digits=4):
    return round(float(np.mean(numbers)), digits)


def read(params, rows, tokenizer, interventions=()):
    """Return the loss of each next token of rows, and the log-odds of a closing mark there.

    Parameters
    ----------
    params : nested dict of arrays
    rows : array of int, shape (n_rows, length + 1)
    tokenizer : Tokenizer
    interventions : sequence of interventions

    Returns
    -------
    losses, log_odds : array, shape (n_rows, length)
        In nats.
    """
    mark = tokenizer.words.index(novels.CLOSING)

    def lost_and_odds(part):
        logits = decoder(params, CONFIG, part[:, :-1], interventions=interventions)
        heights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        total = heights.sum(axis=-1, dtype=float)
        right = np.take_along_axis(heights, part[:, 1:, None], axis=-1)[..., 0]
        return np.stack([np.log(total / right), np.log(heights[..., mark] / (total - heights[..., mark]))], axis=-1)

    return np.moveaxis(novels.in_parts(lost_and_odds, rows), -1, 0)


def read_twice(params, text):
    """Return the loss of random tokens and of the novels, read first, again, and after another text; and how much any
    head attends to what came next the first time."""
    rng, found = np.random.default_rng(0), {}
    texts = {"random": rng.integers(80, CONFIG.vocab_size, (60, 50)), "novels": text[:3000].reshape(60, 50)}
    for name, once in texts.items():
        twice = np.concatenate([once, once], axis=1)
        again = novels.losses(params, twice)
        other = novels.losses(params, np.concatenate([np.roll(once, 1, axis=0), once], axis=1))
        found[name] = [mean(again[:, 4:49]), mean(again[:, 54:]), mean(other[:, 54:]), prefix_matching(params, twice)]
    return found


def prefix_matching(params, rows):
    """Return the largest mean weight of any head on the token after the last one that is like the token that asks.

    rows : texts that come twice, shape (n_rows, 2 n).
    """
    n = rows.shape[1] // 2
    asks = np.arange(n + 4, 2 * n - 1)
    weights = novels.in_parts(partial(novels.looks, params), rows)
    return mean(weights[:, :, :, asks, asks - n + 1].mean(axis=(0, 3)).max())


def loss_by_context(params, held):
    """Return the loss of each row's last 20 tokens, by how many tokens are read before them."""
    losses = {before: novels.losses(params, held.rows[:, -21 - before :]) for before in (0, 2, 4, 8, 16, 32, 64, 108)}
    return {before: mean(one[:, -20:]) for before, one in losses.items()}


def next_logits(params, tokenizer, frames, name):
    """Return the logits after each frame in which a name stands: array, shape (n_frames, vocab_size)."""
    return np.stack([decoder(params, CONFIG, tokenizer.encode(frame.format(name)))[-1] for frame in frames])


def she_not_he(params, tokenizer, names):
    """Return by name how much likelier "she" is than "he" after it, in nats, averaged over the frames."""
    she, he = (tokenizer.words.index(word) for word in (" she", " he"))
    logits = [next_logits(params, tokenizer, THEN_WHO, name) for name in names]
    return [mean(one[:, she] - one[:, he], 3) for one in logits]
