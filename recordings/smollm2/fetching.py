"""Where the answer is fetched: which layer's look at the clue is needed, and what one head hands over."""

from itertools import permutations, product

import numpy as np

from attn import softmax
from attn.interventions import named_head
from recordings._arithmetic import interval, mean_interval, plain

from .model import HEADS, N_HEADS, N_LAYERS, SENTENCES, differ, handed_over, lead, mixtures, not_from_the_last

LAYERS = range(1, N_LAYERS + 1)


# --- one layer -------------------------------------------------------------------------------------------------------


def tasks(model):
    """Return by task the effect of the clue on the answer, and the share of it that is left if the last word may look
    at the clue nowhere, in one layer alone, or in all layers but one."""
    return {name: one_task(model, **about) for name, about in SENTENCES["tasks"].items() if name != "filler"}


def one_task(model, texts, clues, nouns=None):
    groups = [rows_of(model, text, clues, nouns) for text in texts]
    parts = [effects(model, *group) for group in groups]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    whole = found["all layers"]
    pairs = range(len(whole))
    shares = {
        name: interval(lambda rows, left=left: left[rows].mean() / whole[rows].mean(), pairs)
        for name, left in found.items()
    }
    return {
        "pairs": len(whole),
        "effect": mean_interval(whole, pairs),
        "nowhere": shares["nowhere"],
        "this layer alone": [shares[f"only {layer}"] for layer in LAYERS],
        "all but this layer": [shares[f"but {layer}"] for layer in LAYERS],
    }


def rows_of(model, text, clues, nouns):
    """Return the tokens of both texts of each pair, and the two answers."""
    filler = SENTENCES["tasks"]["filler"]
    if nouns is None:
        filled = [[text.format(clue, filler=filler) for clue in two] for two in clues]
        answers = clues
    else:
        filled = [[text.format(one, noun=a, thing=b) for one in two] for (a, b), two in product(nouns, clues)]
        answers = [two for two, _ in product(nouns, clues)]
    first, second = (model.encode([two[side] for two in filled]) for side in (0, 1))
    ones, others = ([model.word(two[side]) for two in answers] for side in (0, 1))
    return first, second, ones, others


def effects(model, first, second, ones, others):
    """Return by how much the answers lead each other more in the first text than in the second, pair by pair."""
    n, keys = first.shape[1], differ(first, second)
    behind = [model.behind(rows) for rows in (first, second)]

    def effect(layers):
        done = not_from_the_last(keys, n, layers)
        return np.subtract(*(lead(logits(done), ones, others) for logits in behind))

    only = {f"only {layer}": effect([other for other in LAYERS if other != layer]) for layer in LAYERS}
    but = {f"but {layer}": effect([layer]) for layer in LAYERS}
    return {"all layers": effect([]), "nowhere": effect(LAYERS), **only, **but}


# --- one head --------------------------------------------------------------------------------------------------------


def capitals(model):
    """Find the head that carries the answer most, on some countries in one wording; judge it on others."""
    found_on, judged_on = SENTENCES["capitals"]["found on"], SENTENCES["capitals"]["judged on"]
    shares = moved(model, found_on["wording"], found_on["countries"], HEADS)
    best = max(HEADS, key=lambda head: np.mean(shares[head]["share"]))
    neighbours = [f"L{named_head(best)[0]}H{head}" for head in range(1, N_HEADS + 1)]
    return {
        "pairs": len(shares[best]["share"]),
        "head": best,
        "share of the way by head": plain([np.mean(shares[head]["share"]) for head in HEADS], 3),
        "judged": {
            wording: judged(**moved(model, wording, judged_on["countries"], [best])[best])
            for wording in judged_on["wordings"]
        },
        "France given Japan": example(model, neighbours),
    }


def moved(model, wording, countries, heads):
    """Return by head, pair by pair, how much of the way from one capital to the other it takes to give the head, at the
    last word, what it mixes for the other country; and whether the other capital is then ahead."""
    pairs = list(permutations(countries, 2))
    of = {country: i for i, country in enumerate(countries)}
    rows = model.encode([wording.format(country) for country in countries])
    words = np.array([model.word(capital) for capital in countries.values()])
    one, other = (np.array([of[pair[side]] for pair in pairs]) for side in (0, 1))
    logits, found = model.logits(rows), {}
    base, goal = lead(logits[one], words[other], words[one]), lead(logits[other], words[other], words[one])
    for head, exchanged in exchanges(model, rows, one, other, heads):
        leads = lead(exchanged, words[other], words[one])
        found[head] = {"share": (leads - base) / (goal - base), "ahead": leads > 0, "groups": one}
    return found


def exchanges(model, rows, one, other, heads):
    """Yield each head and the logits after some rows if it hands over, at the last word, what it mixes in others."""
    trace, behind = model.trace(rows), model.behind(rows[one])
    for head in heads:
        layer, number = named_head(head)
        yield head, behind([handed_over(mixtures(trace, layer)[other][..., -1:, :], layer, number)])


def judged(share, ahead, groups):
    """Return what a head does in pairs of countries; bounds draw the first of them anew."""
    return {
        "share of the way": mean_interval(share, groups),
        "the other capital is ahead": int(ahead.sum()),
        "pairs": len(ahead),
    }


def example(model, heads):
    """Return how likely Paris and Tokyo are after "The capital of France is", and with heads given Japan's numbers."""
    rows = model.encode(["The capital of France is", "The capital of Japan is"])
    words, trace = [model.word("Paris"), model.word("Tokyo")], model.trace(rows)
    found = {"as it is": plain(likely(model.logits(rows[:1]), words))}
    for head in heads:
        layer, number = named_head(head)
        given = handed_over(mixtures(trace, layer)[1:], layer, number, place=rows.shape[1] - 1)
        found[head] = plain(likely(model.logits(rows[:1], [given]), words))
    return found


def likely(logits, words):
    return softmax(logits[0].astype(float))[words]
