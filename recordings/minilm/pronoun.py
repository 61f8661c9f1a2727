"""What "it" stands for: a head whose weights tell, whether it is a cause, and where the vector of "it" moves."""

import numpy as np

from attn import ReplaceMixtures, switch_off
from attn.interventions import named_head
from recordings._arithmetic import cosine, mean_interval, plain

from .model import HEADS, SEEDS, read, shuffled
from .pairs import SETS, first_nouns, halves, leaning, pairs_from, read_pairs, shifts, weights_from


def it(model):
    """Choose a head on half of the animals, and report on the others what it does, and whether it is a cause."""
    chosen, held = halves()
    best = int(shifts(model, chosen).mean(axis=0).argmax())
    seen, groups = read_pairs(model, held), first_nouns(held)
    of_shuffled = [shifts(shuffled(model, seed), held).mean(axis=0).max() for seed in SEEDS]
    return {
        "pairs reported": len(held),
        "head": HEADS[best],
        "weights": report_weights(model, held, best),
        "difference of differences from because": mean_interval(shifts(model, held, "because")[:, best], groups),
        "difference of differences, shuffled, by seed": {"largest of all heads": plain(of_shuffled)},
        "vector, by layer": {"it": mean_interval(leaning(held, seen), groups)},
        "other sets": {name: other_set(model, pairs_from(**about), best) for name, about in SETS.items()},
        "cause": cause(model, held, HEADS[best]),
        "pronoun and noun": pronoun_and_noun(held, seen, groups),
    }


def report_weights(model, pairs, head):
    """Return what one head gives from "it" to both nouns, and how often it goes the right way."""
    weights, groups = weights_from(model, pairs)[..., head], first_nouns(pairs)
    share = weights[..., 0] / weights.sum(axis=-1)
    return {
        "to both nouns, first sentence": mean_interval(weights[:, 0], groups),
        "to both nouns, second sentence": mean_interval(weights[:, 1], groups),
        "difference of differences": mean_interval(shifts(model, pairs)[:, head], groups),
        "the right way": mean_interval(share[:, 0] > share[:, 1], groups),
        "both right": mean_interval((share[:, 0] > 0.5) & (share[:, 1] < 0.5), groups),
    }


def other_set(model, pairs, head):
    """Return what the head chosen on the first set does in another."""
    found = report_weights(model, pairs, head)
    shown = {name: found[name] for name in ("difference of differences", "the right way")}
    return {"example": list(pairs[0].sentences), **shown}


def cause(model, pairs, best):
    """Measure the lean of "it" with each head off, writing its mean, or what it writes in the pair's other sentence."""
    own, groups = read_pairs(model, pairs), first_nouns(pairs)
    base = leaning(pairs, own)[:, -1]

    def mean(head):
        return np.concatenate([one.mixture(head) for two in own for one in two]).mean(axis=0)

    def other(head):
        return [np.stack([one.mixture(head) for one in two[::-1]]) for two in own]

    seen = {
        "off": lambda head: read_pairs(model, pairs, switch_off(*named_head(head))),
        "mean": lambda head: read_pairs(model, pairs, mixing(head, mean(head))),
        "swapped": lambda head: read_mixed(model, pairs, head, other(head)),
    }
    leans = {way: {head: leaning(pairs, seen_with(head)) for head in HEADS} for way, seen_with in seen.items()}
    return {
        "nothing done": mean_interval(base, groups),
        f"{best} off": mean_interval(leans["off"][best][:, -1], groups),
        **{f"{way}, each head": report_heads(by_head, base, best, groups) for way, by_head in leans.items()},
    }


def mixing(head, mixture):
    """Return the intervention that lets a head write another mixture for all tokens, shape (d_k,) or (..., n, d_k)."""
    return ReplaceMixtures(slice(None), mixture, *named_head(head))


def read_mixed(model, pairs, head, mixtures):
    """Return what is seen if a head writes other mixtures, in each pair of shape (2 sentences, n, d_k)."""
    return [read(model, pair.sentences, mixing(head, mixture)) for pair, mixture in zip(pairs, mixtures)]


def report_heads(leans, base, best, groups):
    """Return how much less "it" leans in the last layer, head by head."""
    drops = {head: base - lean[:, -1] for head, lean in leans.items()}
    means = np.array([drop.mean() for drop in drops.values()])
    return {
        "drop": plain(means),
        "drop of the head": mean_interval(drops[best], groups),
        "rank of the head by drop": int((means > drops[best].mean()).sum()) + 1,
        "vector of it without the head, by layer": mean_interval(leans[best], groups),
    }


def looks_exchanged(model, pairs, head):
    """Measure what is lost if both sentences exchange the head's weights from "it" to both nouns, or all but these."""
    own, number = read_pairs(model, pairs), HEADS.index(head)

    def mixture(pair, looks, rest):
        """Return what the head mixes if "it" looks at both nouns as in one sentence, and all else is of another."""
        weights = rest.weights[number].copy()
        for noun in pair.nouns:
            edges = rest.text.place("it"), rest.text.place(noun)
            weights[edges] = looks.weights[number][edges]
        return weights @ rest.V[number]  # the sum of weights may differ from 1

    def drop(mixtures):
        drops = leaning(pairs, own) - leaning(pairs, read_mixed(model, pairs, head, mixtures))
        return mean_interval(drops[:, -1], first_nouns(pairs))

    mixed = [np.stack([mixture(pair, b, a), mixture(pair, a, b)]) for pair, (a, b) in zip(pairs, own)]
    return {"these alone": drop(mixed), "all but these": drop([two[::-1] for two in mixed])}


def pronoun_and_noun(pairs, seen, groups):
    """Return cosines by layer, in sentences where "it" is the animal, with animals of other sentences beside."""
    ones = [two[0] for two in seen]
    it, because = (np.stack([one.vector(word) for one in ones]) for word in ("it", "because"))
    animal, thing = (np.stack([one.vector(pair.nouns[i]) for one, pair in zip(ones, pairs)]) for i in (0, 1))
    cosines = {
        "it, animal": cosine(it, animal),
        "it, thing": cosine(it, thing),
        "it, animal of another sentence": cosine(it, np.roll(animal, -35, axis=0)),
        "because, animal": cosine(because, animal),
        "all pairs of words": np.stack([mean_cosine_of_words(one) for one in ones]),
    }
    above = {"it, thing": mean_interval(cosines["it, animal"] - cosines["it, thing"], groups)}
    return {name: mean_interval(values, groups) for name, values in cosines.items()} | {"it, animal, above": above}


def mean_cosine_of_words(one):
    n = len(one.text.ids) - 1
    return np.mean([cosine(one.streams[:, i], one.streams[:, j]) for i in range(1, n) for j in range(1, i)], axis=0)
