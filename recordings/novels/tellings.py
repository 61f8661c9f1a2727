"""What is told twice: how surprising it is again, which heads look where it was told first, and what they are worth."""

from dataclasses import dataclass

import numpy as np

from attn import ReplaceValues, Trace, decoder, switch_off
from attn_course import novels
from attn_course.novels import CONFIG

from .quotations import HEADS, LATER, name, other_sets
from .reading import mean
from .repeats import random_again

LENGTH, ROWS = 20, 24  # tokens of a text that is told twice, and how many such texts
MOST = 0.5  # of a head's mean weight: what has more is one back, or where the same was told first


@dataclass(frozen=True)
class Twice:
    """Texts that are told twice: rows of shape (n_rows, 2 n)."""

    rows: np.ndarray

    @property
    def n(self):
        return self.rows.shape[1] // 2

    def first(self, X):
        """Return what X, shape (n_rows, 2 n - 1), one for each next token, is in the first telling."""
        return X[:, : self.n - 1]

    def second(self, X):
        """Return the same of the second telling: its first token too has no token of it before it and is left out."""
        return X[:, self.n :]


def twice(once):
    return Twice(np.concatenate([once, once], axis=1))


def texts(held):
    """Return texts told twice: random tokens, no two of a text alike, and passages that no model has read."""
    rng = np.random.default_rng(7)
    random = np.array([random_again(rng, LENGTH, LENGTH, LENGTH)[0] for _ in range(ROWS)])
    return {"random": twice(random), "passages": twice(held.rows[:: len(held.rows) // ROWS, :LENGTH][:ROWS])}


# --- as it is learned ------------------------------------------------------------------------------------------------


def where_heads_look(params, told):
    """Return each head's mean weight one back, and in the second telling on what came next in the first: two arrays,
    shape (n_layers, n_heads)."""
    weights, n = novels.in_parts(lambda rows: novels.looks(params, rows), told.rows[:, :-1]), told.n
    here, asks = np.arange(1, 2 * n - 1), np.arange(n, 2 * n - 1)
    return [weights[:, :, :, at, to].mean(axis=(0, 3)) for at, to in ((here, here - 1), (asks, asks - n + 1))]


def watch(params, held, told):
    """Return by name what one looks at while a model learns: numbers, and lists [layer][head]."""
    random, passages = told["random"], told["passages"]
    lost, weights = novels.losses(params, random.rows), where_heads_look(params, random)
    return {
        "held out": mean(novels.losses(params, held.rows[::16]), 3),
        "random, first": mean(random.first(lost), 3),
        "random, again": mean(random.second(lost), 3),
        "passages, again": mean(passages.second(novels.losses(params, passages.rows)), 3),
        **{key: each.astype(float).round(3).tolist() for key, each in zip(("one back", "copying"), weights)},
    }


def changes(seen, every):
    """Return in which steps what was watched, lists as from `watch`, has made a share of its whole change.

    Of how much easier random tokens are in the second telling, the steps of a tenth, half and nine tenths; of the head
    that in the end looks most one back, and of the one that copies most, the step of half.
    """
    gain = np.subtract(seen["random, first"], seen["random, again"])
    found = {"second telling: a tenth, half, nine tenths": [every * reached(gain, share) for share in (0.1, 0.5, 0.9)]}
    for key in ("one back", "copying"):
        heads = np.reshape(seen[key], (len(gain), -1))
        found[f"{key}: half"] = every * reached(heads[:, heads[-1].argmax()], 0.5)
    return found


def reached(values, share):
    """Return where values first make a share of the way from the first to the mean of the last five."""
    way = np.asarray(values) - values[0]
    return int((way >= share * way[-5:].mean()).argmax())


# --- which heads, and what they are worth ----------------------------------------------------------------------------


def heads_of(params, told):
    """Return the heads that look one back, and those that copy: two lists of (layer, head)."""
    looks = where_heads_look(params, told["random"])
    return [[head for head, weight in zip(HEADS, each.ravel()) if weight > MOST] for each in looks]


def second_telling(params, told, heads):
    """Return, with heads off, the share of the second telling's tokens that are the likeliest, and the loss."""
    interventions = [switch_off(*head) for head in heads]
    logits = decoder(params, CONFIG, told.rows[:, :-1], interventions=interventions)
    right = logits.argmax(axis=-1) == told.rows[:, 1:]
    lost = novels.losses(params, told.rows, interventions)
    return [mean(told.second(right)), mean(told.second(lost), 3)]


def without_heads(params, told, one_back, copying):
    """Return the share right in the second telling, and the loss, without heads, and with these alone in all layers but
    the first; for other heads a list of these."""
    off = {"nothing": [], "copying": copying, "one back": one_back}
    off["all but both"] = [head for head in LATER if head not in [*one_back, *copying]]
    others = other_sets([*one_back, *copying], len(copying))
    found = {key: second_telling(params, told, heads) for key, heads in off.items()}
    return found | {"others": [second_telling(params, told, heads) for heads in others]}


def given_another(params, told, heads):
    """Let heads mix, with the weights they have, the values that they have in the next row, and return in the second
    telling how often the likeliest token is the row's own next one, and how often the other row's."""
    rows, other = told.rows[:, :-1], np.roll(told.rows, 1, axis=0)
    with Trace() as trace:
        decoder(params, CONFIG, other[:, :-1])
    put = [
        ReplaceValues(slice(None), trace.layers[layer - 1].attention.V[:, head - 1], layer, head)
        for layer, head in heads
    ]
    likeliest = decoder(params, CONFIG, rows, interventions=put).argmax(axis=-1)
    return [mean(told.second(likeliest == text[:, 1:])) for text in (told.rows, other)]


def worth(params, told):
    """Return which heads look one back and which copy, and what the second telling is without them."""
    one_back, copying = heads_of(params, told)
    return {
        "heads one back": list(map(name, one_back)),
        "heads that copy": list(map(name, copying)),
        "heads off": {"random": without_heads(params, told["random"], one_back, copying)},
        "values of another": {kind: {"copying": given_another(params, one, copying)} for kind, one in told.items()},
    }
