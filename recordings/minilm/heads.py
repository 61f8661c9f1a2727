"""What heads attend to: nouns to their own adjectives, every head in natural sentences, and the patterns of some."""

from itertools import product

import numpy as np

from attn import switch_off
from attn.interventions import named_head
from recordings._arithmetic import mean_interval, plain

from .model import HEADS, SENTENCES, read

LEVELS = "".join(chr(code) for code in [*range(35, 127), *range(161, 171)] if chr(code) != "\\")  # one a hundredth
KEYS = ["own", "the other noun's", "others, same distance"]  # what a noun gives weight to


def adjectives(model):
    """Choose a head in which nouns attend to their own adjectives on half of the templates; report on the others."""
    about, rng = SENTENCES["adjectives"], np.random.default_rng(0)
    (_, chosen_on), *reported = (
        weights_to_adjectives(model, rng, templates)
        for templates in (about["before"][::2], about["before"][1::2], about["behind"])
    )
    own, other, alike = chosen_on.mean(axis=1)
    chosen = {
        "own above the other noun's": (own - other).argmax(),
        "own above others at the distance": (own - np.maximum(other, alike)).argmax(),
    }

    def report(head):
        found = [{key: mean_interval(X[:, head], templates) for key, X in zip(KEYS, W)} for templates, W in reported]
        return {"head": HEADS[head], **dict(zip(["adjective before", "adjective behind"], found))}

    return {rule: report(head) for rule, head in chosen.items()}


def weights_to_adjectives(model, rng, templates):
    """Return the template of each sentence, and the weights from nouns to `KEYS`: shape (3, sentences, 72)."""

    def two_of(kind):
        return rng.choice(SENTENCES["adjectives"][kind].split(), 2, replace=False)

    drawn = [(template, *two_of("nouns"), *two_of("adjectives")) for template, _ in product(templates, range(10))]
    seen, found = read(model, [template.format(n=n, m=m, a=a, b=b) for template, n, m, a, b in drawn]), []
    for (_, n, m, a, b), one in zip(drawn, seen):
        own, other = one.weight(n, a) + one.weight(m, b), one.weight(n, b) + one.weight(m, a)
        found.append((own / 2, other / 2, same_distance(one, (n, m), (a, b))))
    return [template for template, *_ in drawn], np.swapaxes(found, 0, 1)


def same_distance(one, nouns, adjectives):
    """Return what other words give at the distance at which these nouns have their adjectives, shape (72,)."""
    places = [one.text.place(noun).start for noun in nouns]
    apart = {one.text.place(adjective).start - place for place, adjective in zip(places, adjectives)}
    n = len(one.text.ids)
    rows = [(i, i + step) for step in apart for i in range(1, n - 1) if i not in places and 1 <= i + step < n - 1]
    return np.mean([one.weights[:, i, j] for i, j in rows], axis=0)


def every_head(model):
    """Measure what each head gives to the token before and to [CLS] in sentences, and what changes without it."""
    sentences = SENTENCES["natural"]
    weights = [one.weights[:, 1:-1] for one in read(model, sentences)]  # from words, to all tokens
    previous = [np.diagonal(W[:, 1:, 1:], axis1=1, axis2=2).mean(axis=1) for W in weights]
    return {
        "sentences": len(sentences),
        "by head": {
            "previous": plain(np.mean(previous, axis=0), 3),
            "[CLS]": plain(np.mean([W[:, :, 0].mean(axis=1) for W in weights], axis=0), 3),
            "off: change of tokens": plain(changes_without(model, sentences).mean(axis=0)),
        },
    }


def patterns(model):
    """Return ten sentences with all weights, one letter each, and how much they change with each head off."""
    sentences = SENTENCES["shown"]
    return [
        {
            "text": sentence,
            "tokens": list(one.text.tokens),
            "weights": "".join(LEVELS[level] for level in np.round(100 * one.weights).astype(int).ravel()),
            "off: change of tokens": plain(changes, 3),
        }
        for sentence, one, changes in zip(sentences, read(model, sentences), changes_without(model, sentences))
    ]


def changes_without(model, sentences):
    """Return the mean relative change of tokens in the last layer with each head off: shape (sentences, 72)."""
    whole = [one.streams[-1] for one in read(model, sentences)]

    def changes(head):
        changed = [one.streams[-1] for one in read(model, sentences, switch_off(*named_head(head)))]
        return [np.mean(norm(new - old) / norm(old)) for old, new in zip(whole, changed)]

    return np.transpose([changes(head) for head in HEADS])


def norm(X):
    return np.linalg.norm(X, axis=-1)
