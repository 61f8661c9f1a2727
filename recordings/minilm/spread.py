"""What single templates, nouns, adjectives and frames have: what stands behind a mean of them."""

from .apples import gaps, pairs_of_apples, scorer
from .arithmetic import means_by, means_of_groups, plain, t_interval
from .model import SENTENCES
from .senses import right_by_average, right_by_model, sentences_of


def senses_by_template(model, word):
    """Return how often the word moves to its sense in the sentences of each template, in the order of sentences.yml."""
    (_, _, templates), (_, _, hard) = (sentences_of(word, part) for part in ("templates", "misleading"))
    found = {"by layer": right_by_model(model, word), "average of the neighbours": right_by_average(model, word)}
    return {
        f"right, {name}": {
            part: plain(means_of_groups(right, hard if part == "misleading" else templates))
            for part, right in parts.items()
        }
        for name, parts in found.items()
    }


def apples_by_half(model, firm, fruit):
    """Return how often the order of the two apples is right, by layer, with each half about the firm and each about the
    fruit."""
    right = gaps(model, scorer(model), pairs_of_apples(firm, fruit)) > 0
    halves = {"firm": [one for one in firm for _ in fruit] * 2, "fruit": [*fruit] * 2 * len(firm)}
    return {kind: plain(means_of_groups(right, names)) for kind, names in halves.items()}


def apples_by_kind(model):
    about = SENTENCES["two apples"]
    return {
        "different words": apples_by_half(model, about["firm"], about["fruit"]),
        "alike": apples_by_half(
            model, [f"she bought {x}" for x in about["alike firm"]], [f"he saw {x}" for x in about["alike fruit"]]
        ),
    }


def spread(values, pairs):
    """Return a t interval over first nouns, and how values of pairs differ between these, adjectives, and frames."""
    firsts = [pair.nouns[0] for pair in pairs]
    return {
        "t interval": t_interval(values, firsts),
        "by first noun": plain(means_of_groups(values, firsts)),
        "by adjectives": means_by(["/".join(pair.adjectives) for pair in pairs], values),
        "by frame": means_by([pair.frame for pair in pairs], values),
    }
