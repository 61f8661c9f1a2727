"""What "it" stands for: a head whose weights tell, and where the vector of "it" moves."""

import numpy as np

from recordings._arithmetic import cosine, mean_interval, plain

from .cause import before_it, cause
from .model import HEADS, SENTENCES, shuffled
from .pairs import difference_of_differences, leaning, pairs_of, read_pairs, weights_from
from .senses import N_SHUFFLED


def it(model):
    """Choose a head on half of the animals, and report on the others what it does, and whether it is a cause."""
    pairs = pairs_of("animal first")
    firsts = SENTENCES["it"]["sets"]["animal first"]["a"].split()
    chosen_on = np.array([firsts.index(pair.nouns[0]) % 2 == 0 for pair in pairs])
    seen = read_pairs(model, pairs)
    weights = weights_from("it", pairs, seen)
    effect = difference_of_differences(weights)
    best = int(effect[chosen_on].mean(axis=0).argmax())
    rest = np.flatnonzero(~chosen_on)
    chosen, held = [pairs[i] for i in np.flatnonzero(chosen_on)], [pairs[i] for i in rest]
    held_seen, groups = [seen[i] for i in rest], [pair.nouns[0] for pair in held]
    mixed = [shuffled(model, seed) for seed in range(N_SHUFFLED)]
    mixed = [difference_of_differences(weights_from("it", held, read_pairs(one, held))).mean(axis=0) for one in mixed]
    from_because = difference_of_differences(weights_from("because", held, held_seen))
    return {
        "pairs": len(pairs),
        "pairs reported": len(held),
        "head": HEADS[best],
        "weights": report_weights(weights[rest][..., best], groups),
        "difference of differences from because": mean_interval(from_because[:, best], groups),
        "difference of differences, shuffled, by seed": {"largest of all heads": plain([one.max() for one in mixed])},
        "difference of differences of all heads": plain(effect[rest].mean(axis=0), 3),
        "vector, by layer": {
            word: mean_interval(leaning(held, held_seen, word), groups) for word in ("it", "because", "was")
        },
        "other sets": {name: other_set(model, name, best) for name in SENTENCES["it"]["sets"]},
        "cause": cause(model, held, HEADS[best]),
        "before it": before_it(model, chosen, held, HEADS[best]),
        "pronoun and noun": pronoun_and_noun(held, held_seen, groups),
    }


def report_weights(weights, groups):
    """Return what one head does; `weights` has shape (pairs, 2 sentences, 2 nouns)."""
    share = weights[..., 0] / weights.sum(axis=-1)
    return {
        "to both nouns, first sentence": mean_interval(weights[:, 0], groups),
        "to both nouns, second sentence": mean_interval(weights[:, 1], groups),
        "difference of differences": mean_interval(difference_of_differences(weights), groups),
        "the right way": mean_interval(share[:, 0] > share[:, 1], groups),
        "both right": mean_interval((share[:, 0] > 0.5) & (share[:, 1] < 0.5), groups),
    }


def other_set(model, name, head):
    """Return what the head chosen on the first set does in another."""
    pairs = pairs_of(name)
    weights = weights_from("it", pairs, read_pairs(model, pairs))
    effects = difference_of_differences(weights).mean(axis=0)
    return {
        "pairs": len(pairs),
        "example": list(pairs[0].sentences),
        **report_weights(weights[..., head], [pair.nouns[0] for pair in pairs]),
        "rank of the head": int((effects > effects[head]).sum()) + 1,
    }


def pronoun_and_noun(pairs, seen, groups):
    """Return cosines by layer, in sentences where "it" is the animal, with animals of other sentences beside."""
    ones = [two[0] for two in seen]
    others = [ones[(i + 35) % len(ones)].vector(pairs[(i + 35) % len(ones)].nouns[0]) for i in range(len(ones))]
    it, because = (np.stack([one.vector(word) for one in ones]) for word in ("it", "because"))
    animal, thing = (np.stack([one.vector(pair.nouns[i]) for one, pair in zip(ones, pairs)]) for i in (0, 1))
    cosines = {
        "it, animal": cosine(it, animal),
        "it, thing": cosine(it, thing),
        "it, animal of another sentence": cosine(it, np.stack(others)),
        "because, animal": cosine(because, animal),
        "all pairs of words": np.stack([mean_cosine_of_words(one) for one in ones]),
    }
    found = {name: mean_interval(values, groups) for name, values in cosines.items()}
    above = {name: mean_interval(cosines["it, animal"] - cosines[name], groups) for name in list(cosines)[1:]}
    return {**found, "it, animal, above": above}


def mean_cosine_of_words(one):
    n = len(one.text.ids) - 1
    return np.mean([cosine(one.streams[:, i], one.streams[:, j]) for i in range(1, n) for j in range(1, i)], axis=0)
