"""Whether a head is a cause: what becomes of "it" with heads off, edges forbidden, or other mixtures written."""

from functools import partial

import numpy as np

from attn.interventions import named_head
from attn_course.minilm import encode
from recordings._arithmetic import mean_interval, plain

from .model import (
    HEADS,
    N_HEADS,
    N_LAYERS,
    mean_mixtures,
    mixtures,
    read,
    together,
    weights_and_values,
    with_mixture,
    without_edges,
    without_heads,
)
from .pairs import difference_of_differences, edges_from_it, leaning, read_pairs, weights_from


def cause(model, pairs, best):
    """Measure how far "it" still leans to the noun that fits, with heads off, with edges forbidden, with heads that
    always write their mean, and with heads that write what they write in the other sentence of the pair."""
    groups, leans = [pair.nouns[0] for pair in pairs], leans_if_changed(model, pairs, best)
    means = mean_mixtures(model, [sentence for pair in pairs for sentence in pair.sentences])
    own = [[mixtures(model, sentence) for sentence in pair.sentences] for pair in pairs]
    by_head = {
        "off": {head: read_pairs(without_heads(model, [head]), pairs) for head in HEADS},
        "mean": {head: read_pairs(with_mixture(model, head, means[head]), pairs) for head in HEADS},
        "swapped": {head: read_swapped(model, head, pairs, own) for head in HEADS},
    }
    return {name: mean_interval(lean, groups) for name, lean in leans.items()} | {
        f"{way}, each head": report_heads(heads, pairs, leans["nothing done"], best, groups)
        for way, heads in by_head.items()
    }


def leans_if_changed(model, pairs, best):
    """Return how far "it" leans in the last layer with a head off, and with edges forbidden: shape (pairs,) each."""
    nouns, adjective, others = (partial(edges_from_it, pairs, part) for part in ("nouns", "adjectives", None))
    changed = {
        "nothing done": model,
        f"{best} off": without_heads(model, [best]),
        f"it may not see both nouns in {best}": without_edges(model, nouns, *named_head(best)),
        "it may not see both nouns": without_edges(model, nouns),
        "it may not see the adjective": without_edges(model, adjective),
        "it may not see two other words": without_edges(model, others),
    }
    return {name: leaning(pairs, read_pairs(one, pairs))[:, -1] for name, one in changed.items()}


def read_swapped(model, head, pairs, own):
    """Return what is seen if a head writes in each sentence what it writes in the other of the pair."""
    return [
        tuple(
            read(with_mixture(model, head, mixed[HEADS.index(head)]), [sentence])[0]
            for sentence, mixed in zip(pair.sentences, two[::-1])
        )
        for pair, two in zip(pairs, own)
    ]


def looks_exchanged(model, pairs, best):
    """Measure how much less "it" leans in the last layer if the two sentences of a pair exchange, in a head, their
    weights from "it" to both nouns, and if they exchange all else. The sum of such weights may differ from 1."""
    base, groups = leaning(pairs, read_pairs(model, pairs)), [pair.nouns[0] for pair in pairs]

    def read_one(sentence, looks_of, rest_of):
        looks = tuple(np.transpose(edges_from_it(pairs, "nouns", encode(model.tokenizer, sentence))))
        weights, values = (part[HEADS.index(best)] for part in weights_and_values(model, rest_of))
        weights[looks] = weights_and_values(model, looks_of)[0][HEADS.index(best)][looks]
        return read(with_mixture(model, best, weights @ values), [sentence])[0]

    def drop(*sides):
        """Return the drop if each of two sentences, (its own, the other), takes looks and rest from these sides."""
        seen = [
            tuple(read_one(two[0], *(two[side] for side in sides)) for two in (pair.sentences, pair.sentences[::-1]))
            for pair in pairs
        ]
        return mean_interval((base - leaning(pairs, seen))[:, -1], groups)

    return {"these alone": drop(1, 0), "all but these": drop(0, 1)}


def report_heads(seen_by_head, pairs, base, best, groups):
    """Return how much less "it" leans in the last layer, head by head.

    If what heads add simply adds up, a swap turns a head's part around, so that half of its drop is the head's.
    """
    leans = {head: leaning(pairs, seen) for head, seen in seen_by_head.items()}
    drops = np.stack([base - lean[:, -1] for lean in leans.values()])
    drop, place = drops.mean(axis=1), HEADS.index(best)
    return {
        "drop": plain(drop),
        "drop of the head": mean_interval(drops[place], groups),
        "rank of the head by drop": int((drop > drop[place]).sum()) + 1,
        "vector of it without the head, by layer": mean_interval(leans[best], groups),
    }


def before_it(model, chosen, held, best):
    """Find where "it" takes from the adjective what a head looks by: the layer, and three heads of it, chosen on some
    pairs by how much less the head tells the nouns apart if "it" may not see the adjective there."""

    def told_apart(model, pairs):
        return difference_of_differences(weights_from("it", pairs, read_pairs(model, pairs))[..., HEADS.index(best)])

    def without_adjective(pairs, *where):
        return told_apart(without_edges(model, partial(edges_from_it, pairs, "adjectives"), *where), pairs)

    layers, groups = range(1, N_LAYERS + 1), [pair.nouns[0] for pair in held]
    layer = min(layers, key=lambda number: without_adjective(chosen, number).mean())
    order = np.argsort([without_adjective(chosen, layer, head).mean() for head in range(1, N_HEADS + 1)])
    return {
        "it may not see the adjective in a layer, 1 to 6": [
            mean_interval(without_adjective(held, number), groups) for number in layers
        ],
        "three heads": [f"L{layer}H{head + 1}" for head in order[:3]],
    }


def looks_at_the_adjective(model, pairs, best, three):
    """Measure what is left if "it" may see the adjective in some heads alone: how far it leans in the last layer, and
    the difference of differences of a head."""
    adjective, groups = partial(edges_from_it, pairs, "adjectives"), [pair.nouns[0] for pair in pairs]
    forbidden = {head: without_edges(model, adjective, *named_head(head)) for head in HEADS}
    allowed = {
        "all heads": HEADS,
        "no head": [],
        "all but the three": [head for head in HEADS if head not in three],
        "the three alone": three,
        "the last layer alone": [head for head in HEADS if named_head(head)[0] == N_LAYERS],
    }
    found = {}
    for name, heads in allowed.items():
        seen = read_pairs(together(model, [one for head, one in forbidden.items() if head not in heads]), pairs)
        weights = weights_from("it", pairs, seen)[..., HEADS.index(best)]
        found[name] = {
            "lean": mean_interval(leaning(pairs, seen)[:, -1], groups),
            "difference of differences": mean_interval(difference_of_differences(weights), groups),
        }
    return found
