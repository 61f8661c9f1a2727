"""What the numbers of measure.py are to be compared with: other sentences, single templates, later layers held.

    .venv/bin/python -m recordings.minilm.controls

writes minilm_controls.json in attn/data/recordings. A list of three called "t interval", or under "self-repair", is a
mean of the means of first nouns, and its bounds by Student's t; other lists of three have bounds as those of
measure.py. Either way nouns are drawn, and frames and adjectives are fixed. A list called "by first noun", or under
"senses" and "two apples", has the means of single groups, in the order of sentences.yml.
"""

import time

from attn.course.minilm import read_minilm
from attn.course.recordings import read_recording

from .anisotropy import anisotropy, mean_of_words, without_mean
from .apples import keys_and_queries
from .arithmetic import mean_interval, plain, t_interval
from .cause import leans_if_changed, looks_at_the_adjective, looks_exchanged
from .coverage import coverage
from .measure import write
from .model import HEADS, SENTENCES, Model
from .pairs import crossed_pairs, difference_of_differences, leaning, pairs_of, read_pairs, weights_from
from .pronoun import pronoun_and_noun
from .rests import rests
from .self_repair import self_repair
from .similarity import similarity
from .spread import apples_by_kind, senses_by_template, spread


def findings(model):
    """Measure what belongs to the recorded heads, those chosen on the first half of the animals."""
    recorded = read_recording("minilm")["runs"]
    best, three = recorded["it"]["head"], recorded["it"]["before it"]["three heads"]
    held = held_pairs()
    return {
        "senses": {word: senses_by_template(model, word) for word in SENTENCES["senses"]},
        "two apples": apples_by_kind(model),
        "it": report_it(model, held, best),
        "crossed": {name: report_set(model, pairs, best) for name, pairs in crossed_pairs().items()},
        "self-repair": self_repair(model, held, [best, *three]),
        "looks at the adjective": looks_at_the_adjective(model, held, best, three),
        "looks at the nouns exchanged": looks_exchanged(model, held, best),
        "rests": rests(model, recorded["every head"]["by head"]),
        "anisotropy": anisotropy(model, mean_of_words(model)),
        "keys and queries of the two apples, mean taken off": keys_and_queries(
            model, SENTENCES["two apples"]["source"], mean_off=True
        ),
        "similarity": similarity(model),
        "coverage": coverage(),
    }


def held_pairs():
    """Return the pairs of the ten animals on which no head was chosen."""
    animals = SENTENCES["it"]["sets"]["animal first"]["a"].split()[1::2]
    return [pair for pair in pairs_of("animal first") if pair.nouns[0] in animals]


def report_it(model, pairs, best):
    """Return how the weights of a head and the vector of "it" differ between pairs, and with the mean taken off."""
    seen, groups, mean = read_pairs(model, pairs), [pair.nouns[0] for pair in pairs], mean_of_words(model)
    weights = weights_from("it", pairs, seen)[..., HEADS.index(best)]
    centred = [tuple(without_mean(one, mean) for one in two) for two in seen]
    lean = leaning(pairs, seen)
    return {
        "difference of differences": spread(difference_of_differences(weights), pairs),
        "vector of it, last layer": spread(lean[:, -1], pairs),
        "vector, by layer, t interval": {
            word: t_interval(leaning(pairs, seen, word), groups) for word in ("it", "because", "was")
        },
        "vector of it, by layer, mean taken off, t interval": t_interval(leaning(pairs, centred), groups),
        "cause, t interval": {
            name: t_interval(lean, groups) for name, lean in leans_if_changed(model, pairs, best).items()
        },
        "other sets": {name: report_set(model, pairs_of(name), best) for name in SENTENCES["it"]["sets"]},
        "pronoun and noun, mean taken off": pronoun_and_noun(pairs, centred, groups),
    }


def report_set(model, pairs, best):
    """Return what a head does in some pairs, how far "it" leans there, and how both differ between pairs."""
    seen, groups = read_pairs(model, pairs), [pair.nouns[0] for pair in pairs]
    weights = weights_from("it", pairs, seen)
    shift, share = difference_of_differences(weights), weights[..., HEADS.index(best)]
    effects, share = shift.mean(axis=0), share[..., 0] / share.sum(axis=-1)
    lean, of_head = leaning(pairs, seen)[:, -1], shift[:, HEADS.index(best)]
    return {
        "pairs": len(pairs),
        "example": list(pairs[0].sentences),
        "difference of differences": {"interval": mean_interval(of_head, groups), **spread(of_head, pairs)},
        "the right way": plain((share[:, 0] > share[:, 1]).mean()),
        "rank of the head": int((effects > effects[HEADS.index(best)]).sum()) + 1,
        "vector of it, last layer": {"interval": mean_interval(lean, groups), **spread(lean, pairs)},
    }


def main():
    """Measure all, and write the recording."""
    start = time.time()
    write("minilm_controls", __file__, findings(Model(*read_minilm())), start)


if __name__ == "__main__":
    main()
