"""Nouns and adjectives: heads in which a noun attends to its own adjective."""

from itertools import product

import numpy as np

from recordings._arithmetic import mean_interval

from .model import HEADS, SENTENCES, read


def adjectives(model):
    """Choose a head in which nouns attend to their own adjectives on half of the templates; report on the others."""
    about, rng = SENTENCES["adjectives"], np.random.default_rng(0)
    halves = [weights_to_adjectives(model, rng, about["before"][half::2]) for half in (0, 1)]
    after = weights_to_adjectives(model, rng, about["behind"])
    own, other, alike = halves[0][1].mean(axis=1)
    chosen = {
        "own above the other noun's": own - other,
        "own above others at the distance": own - np.maximum(other, alike),
    }
    found = {}
    for rule, advantage in chosen.items():
        head = int(advantage.argmax())
        found[rule] = {
            "head": HEADS[head],
            "adjective before": report(head, *halves[1]),
            "adjective behind": report(head, *after),
        }
    return found


def weights_to_adjectives(model, rng, templates):
    """Return the template of each sentence, and the weights to the own adjective, to the other noun's, and at the same
    distance: shape (3, sentences, 72)."""
    about, rows = SENTENCES["adjectives"], []
    nouns, words = about["nouns"].split(), about["adjectives"].split()
    for template, _ in product(templates, range(10)):
        (n, m), (a, b) = rng.choice(nouns, 2, replace=False), rng.choice(words, 2, replace=False)
        rows.append((template, template.format(n=n, m=m, a=a, b=b), n, m, a, b))
    found = []
    for (_, _, n, m, a, b), one in zip(rows, read(model, [row[1] for row in rows])):
        own, other = one.weight(n, a) + one.weight(m, b), one.weight(n, b) + one.weight(m, a)
        found.append((own / 2, other / 2, same_distance(one, (n, m), (a, b))))
    return [row[0] for row in rows], np.array(found).swapaxes(0, 1)


def same_distance(one, nouns, adjectives):
    """Return what other words give at the distance at which these nouns have their adjectives, shape (72,)."""
    places = [one.text.place(noun).start for noun in nouns]
    apart = {one.text.place(adjective).start - place for place, adjective in zip(places, adjectives)}
    n = len(one.text.ids)
    rows = [(i, i + step) for step in apart for i in range(1, n - 1) if i not in places and 1 <= i + step < n - 1]
    return np.mean([one.weights[:, i, j] for i, j in rows], axis=0)


def report(head, templates, found):
    own, other, alike = found[:, :, head]
    return {
        "own": mean_interval(own, templates),
        "the other noun's": mean_interval(other, templates),
        "others, same distance": mean_interval(alike, templates),
        "own above the other noun's": mean_interval(own - other, templates),
    }
