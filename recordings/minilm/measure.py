"""What MiniLM, a model that many use, does with the sentences of this course: recordings for the chapters.

    .venv/bin/pip install safetensors tokenizers
    .venv/bin/python recordings/minilm/measure.py FOLDER

reads model.safetensors and tokenizer.json from FOLDER, has the model read what sentences.yml lists, and writes
minilm.json and minilm_patterns.json in attn/data/recordings.

A number with an interval is a list of three: the value, and the bounds between which 95 % of the values lie if whole
templates are drawn anew, with replacement. "By layer" begins with what enters layer 1. Heads are named layer.head.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path

import numpy as np
import yaml

from attn import Forbid, Replace, Trace, encoder, switch_off
from attn.course.minilm import SHA256, SOURCE, encode, read_minilm
from attn.course.recordings import write_recording
from attn.heads import project_out_of_heads
from attn.layers import layer_norm

SENTENCES = yaml.safe_load((Path(__file__).parent / "sentences.yml").read_text(encoding="utf-8"))
N_LAYERS, N_HEADS, N_SHUFFLED, N_DRAWN, N_DIRECTIONS = 6, 12, 5, 1000, 300
HEADS = [f"{layer}.{head}" for layer in range(1, N_LAYERS + 1) for head in range(N_HEADS)]
LEVELS = "".join(
    chr(code) for code in [*range(35, 127), *range(161, 171)] if chr(code) != "\\"
)  # one for each hundredth
NOTICE = (
    "Measurements of the model all-MiniLM-L6-v2 of the project sentence-transformers, which its card puts under the "
    "Apache License 2.0 (https://www.apache.org/licenses/LICENSE-2.0) without a notice or a line of copyright. "
    "The sentences and what was measured: CC BY 4.0"
)


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """MiniLM or a changed copy of it, and what stands in its way: for a list of texts of one length, interventions."""

    params: dict
    config: object
    tokenizer: object
    hinder: Callable = lambda texts: ()

    def __hash__(self):
        return id(self)


@dataclass(frozen=True)
class Seen:
    """A text, its streams by layer, shape (7, n, 384), and the weights of all heads, shape (72, n, n)."""

    text: object
    streams: np.ndarray
    weights: np.ndarray

    def vector(self, word, nth=0):
        return self.streams[:, self.text.place(word, nth)].mean(axis=1)

    def weight(self, query, key):
        """Return what a word gives to another, for each head: from the mean of its tokens to all of the other's."""
        return self.weights[:, self.text.place(query), self.text.place(key)].mean(axis=1).sum(axis=1)


def read(model, sentences):
    """Return what a model has seen, sentence by sentence; those of one length are read at once."""
    texts = [encode(model.tokenizer, sentence) for sentence in sentences]
    seen = [None] * len(texts)
    lengths = np.array([len(text.ids) for text in texts])
    for length in np.unique(lengths):
        places = np.flatnonzero(lengths == length)
        for some in np.split(places, range(100, len(places), 100)):
            for place, one in zip(some, _read_at_once(model, [texts[place] for place in some])):
                seen[place] = one
    return seen


def _read_at_once(model, texts):
    with Trace() as trace:
        encoder(model.params, model.config, np.stack([text.ids for text in texts]), interventions=model.hinder(texts))
    streams = np.stack([trace.embedded[0], *(layer.after_mlp for layer in trace.layers)], axis=1)
    weights = np.concatenate([layer.attention.weights for layer in trace.layers], axis=1)
    return [Seen(*one) for one in zip(texts, streams, weights)]


def without(model, heads):
    """Return the model with some heads switched off."""
    off = [switch_off(*map(int, head.split("."))) for head in heads]
    return replace(model, hinder=lambda texts: off)


def blind(model, edges, layer=None, head=None):
    """Return the model with some edges forbidden; `edges` lists those of a text."""

    def hinder(texts):
        tables = np.zeros((len(texts), *2 * [len(texts[0].ids)]), bool)
        for table, text in zip(tables, texts):
            for query, key in edges(text):
                table[query, key] = True
        return [Forbid(tables, layer, head)]

    return replace(model, hinder=hinder)


def dictated(model, name, mixture):
    """Return the model with a head that mixes what it is told: the same for all tokens, shape (d_k,), or for each token
    of one text, shape (n, d_k)."""
    layer, head = map(int, name.split("."))
    attention = model.params[f"layer {layer}"]["attention"]

    def hinder(texts):
        with Trace() as trace:
            ids = np.stack([text.ids for text in texts])
            encoder(model.params, model.config, ids, interventions=[switch_off(layer, head)])
        before = [trace.embedded[0], *(one.after_mlp for one in trace.layers)][layer - 1]
        seen = trace.layers[layer - 1].attention
        others = project_out_of_heads(seen.weights @ seen.V, attention["W_O"], attention["b_O"])
        stream = before + others + mixture @ attention["W_O"][head]
        normal = layer_norm(stream, **attention["norm"], epsilon=model.config.epsilon)
        return [Replace(slice(None), normal, layer, "attention")]

    return replace(model, hinder=hinder)


def mixtures(model, sentence):
    """Return what each head mixes for each token, shape (72, n, d_k)."""
    with Trace() as trace:
        encoder(model.params, model.config, encode(model.tokenizer, sentence).ids)
    return np.concatenate([layer.attention.weights @ layer.attention.V for layer in trace.layers])


def mean_mixtures(model, sentences):
    """Return what each head mixes in the mean of all tokens, by name: arrays of shape (d_k,)."""
    return dict(zip(HEADS, np.concatenate([mixtures(model, one) for one in sentences], axis=1).mean(axis=1)))


def shuffled(model, seed):
    """Return the model with the numbers of each W_Q and each W_K in another order."""
    rng, params = np.random.default_rng(seed), dict(model.params)
    for number in range(1, N_LAYERS + 1):
        layer = params[f"layer {number}"]
        attention = dict(layer["attention"])
        for name in ("W_Q", "W_K"):
            attention[name] = rng.permutation(attention[name].ravel()).reshape(attention[name].shape)
        params[f"layer {number}"] = {**layer, "attention": attention}
    return replace(model, params=params)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def cosine(X, Y):
    return (X * Y).sum(axis=-1) / np.linalg.norm(X, axis=-1) / np.linalg.norm(Y, axis=-1)


def plain(array, digits=4):
    return np.round(np.asarray(array, float), digits).tolist()


def interval(statistic, groups):
    """Return [value, low, high] of a statistic, called with rows; an array gives a list of them."""
    groups, rng = np.asarray(groups), np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = rng.integers(len(members), size=(N_DRAWN, len(members)))
    drawn = [statistic(np.concatenate([members[i] for i in draw])) for draw in draws]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return plain(np.stack([statistic(np.arange(len(groups))), low, high], axis=-1))


def mean_interval(values, groups):
    """Return [value, low, high] of a mean over the first axis; further axes give lists of them."""
    values = np.asarray(values, float)
    return interval(lambda rows: values[rows].mean(axis=0), groups)


def filled(line):
    """Return a template and the sentences it makes."""
    template, words = line.split(" | ")
    return template, [template.format(word) for word in words.split(", ")]


def anchor(model, words):
    """Return the mean of some words in sentences that tell nothing, by layer: shape (7, 384)."""
    pairs = [(frame.format(word), word) for word in words for frame in SENTENCES["frames"]]
    seen = read(model, [sentence for sentence, _ in pairs])
    return np.mean([one.vector(word) for one, (_, word) in zip(seen, pairs)], axis=0)


# --- words with several senses ---------------------------------------------------------------------------------------


def sentences_of(word, part):
    """Return sentences of a word, the number of the sense of each, and its template; no anchor may stand in them."""
    about = SENTENCES["senses"][word]
    rows = [
        (sentence, sense, template)
        for sense, kind in enumerate(about["anchors"])
        for template, sentences in map(filled, about[part][kind])
        for sentence in sentences
    ]
    anchors = {name for names in about["anchors"].values() for name in names}
    for sentence, *_ in rows:
        if found := anchors & set(sentence.lower().rstrip(".").split()):
            raise ValueError(f"the anchor {found} stands in {sentence!r}")
    sentences, senses, templates = zip(*rows)
    return list(sentences), np.array(senses), np.array(templates)


def nearest(X, centre, anchors):
    """Return which anchor X - centre points to most: for anchors of shape (senses, ..., d), from the middle of them."""
    directions = anchors - anchors.mean(axis=0)
    return np.stack([cosine(X - centre, direction) for direction in directions]).argmax(axis=0)


def neighbours(model, seen, word):
    """Return the plain mean of the embeddings of all other words."""
    text = seen.text
    place, last = text.place(word), len(text.ids) - 2  # the full stop
    others = [i for i in range(1, last) if not place.start <= i < place.stop]
    return model.params["embedding"][text.ids[others]].mean(axis=0)


def embedded(model, words):
    return np.mean(
        [model.params["embedding"][encode(model.tokenizer, word).ids[1:-1]].mean(axis=0) for word in words], 0
    )


def held_out(X, senses, templates):
    """Return whether each X is nearest to its sense's other templates: array of bool, shape of X but for the last."""
    right = np.zeros(X.shape[:-1], bool)
    for template in np.unique(templates):
        out = templates == template
        centres = np.stack([X[(senses == sense) & ~out].mean(axis=0) for sense in np.unique(senses)])
        found = nearest(X[out], X[~out].mean(axis=0), centres)
        right[out] = found == senses[out].reshape(-1, *[1] * (found.ndim - 1))
    return right


def word_senses(model, word):
    """Measure how often a word's vector moves to its own sense, by layer, beside what would do so without attention."""
    sentences, senses, templates = sentences_of(word, "templates")
    hard, hard_senses, hard_templates = sentences_of(word, "misleading")
    names = SENTENCES["senses"][word]["anchors"].values()

    def right(model):
        seen, hard_seen = read(model, sentences), read(model, hard)
        anchors = np.stack([anchor(model, words) for words in names])
        X, hard_X = (np.stack([one.vector(word) for one in some]) for some in (seen, hard_seen))
        stop = np.stack([one.streams[:, -2] for one in seen])
        own, own_hard = senses[:, None], hard_senses[:, None]
        return {
            "word": nearest(X, X.mean(axis=0), anchors) == own,
            "full stop": nearest(stop, stop.mean(axis=0), anchors) == own,
            "misleading": nearest(hard_X, X.mean(axis=0), anchors) == own_hard,
            "held out": held_out(X, senses, templates),
        }

    def average_right():
        anchors = np.stack([embedded(model, words) for words in names])
        X, hard_X = (
            np.stack([neighbours(model, one, word) for one in read(model, some)]) for some in (sentences, hard)
        )
        return {
            "word": nearest(X, X.mean(axis=0), anchors) == senses,
            "misleading": nearest(hard_X, X.mean(axis=0), anchors) == hard_senses,
            "held out": held_out(X, senses, templates),
        }

    trained, average = right(model), average_right()
    mixed = [right(shuffled(model, seed)) for seed in range(N_SHUFFLED)]
    groups = {"misleading": hard_templates}
    told = {part: mean_interval(found, groups.get(part, templates)) for part, found in trained.items()}
    return {
        "sentences": len(sentences),
        "misleading sentences": len(hard),
        "chance": plain(1 / len(names)),
        "right, by layer": told,
        "right, average of the neighbours": {
            part: mean_interval(found, groups.get(part, templates)) for part, found in average.items()
        },
        "right, shuffled, by seed and layer": {
            part: plain([one[part].mean(axis=0) for one in mixed]) for part in ("word", "misleading")
        },
    }


def mole_phrases(model):
    """Compare the source's three phrases with the anchors: from zero, from the middle of the anchors, from the mole's
    own mean; and count how often the sense is right if one anchor stands for each sense, of all such choices."""
    about, phrases = SENTENCES["senses"]["mole"]["anchors"], SENTENCES["mole phrases"]
    single = np.stack([[anchor(model, [word]) for word in words] for words in about.values()])
    anchors, mean = single.mean(axis=1), mean_vector(model, "mole")
    chosen = [np.stack([single[sense, i] for sense, i in enumerate(choice)]) for choice in product(range(5), repeat=3)]
    middle = anchors.mean(axis=0)
    told = []
    for (phrase, sense), one in zip(phrases.items(), read(model, phrases)):
        X, own = one.vector("mole"), list(about).index(sense)
        starts = {"zero": (0, 0), "middle": (middle, middle), "own mean": (mean, middle)}
        cosines = {name: [cosine(X - start, to - centre) for to in anchors] for name, (start, centre) in starts.items()}
        right = {
            "zero": [np.stack([cosine(X, to) for to in some]).argmax(axis=0) == own for some in chosen],
            "middle": [nearest(X, some.mean(axis=0), some) == own for some in chosen],
            "own mean": [nearest(X, mean, some) == own for some in chosen],
        }
        told.append({"text": phrase, "sense": sense})
        for name in starts:
            told[-1][f"cosines from {name}, by layer"] = dict(zip(about, plain(cosines[name], 3)))
            told[-1][f"right from {name}, share of choices, by layer"] = plain(np.mean(right[name], axis=0), 3)
    return told


def mean_vector(model, word):
    return np.mean([one.vector(word) for one in read(model, sentences_of(word, "templates")[0])], axis=0)


# --- two apples ------------------------------------------------------------------------------------------------------


def pairs_of_apples(firm, fruit):
    """Return sentences with both apples, which of the two is the firm's, and what they share with others."""
    both = list(product(firm, fruit))
    first = [(f"{one} while {other}.", 0, one) for one, other in both]
    return first + [(f"{other} while {one}.", 1, one) for one, other in both]


def two_apples(model):
    """Measure whether the firm's apple stands nearer to firms than the fruit's in one sentence, by layer."""
    about, anchors = SENTENCES["two apples"], SENTENCES["senses"]["apple"]["anchors"]
    alike = [[f"she bought {thing}" for thing in about["alike firm"]], [f"he saw {x}" for x in about["alike fruit"]]]
    texts = {"different words": pairs_of_apples(about["firm"], about["fruit"]), "alike": pairs_of_apples(*alike)}

    def scores(model, rows):
        """Return the scores of the firm's and of the fruit's apple, each of shape (rows, 7)."""
        seen = read(model, [sentence for sentence, *_ in rows])
        return [
            np.stack([score(one.vector("apple", abs(firm - i))) for one, (_, firm, _) in zip(seen, rows)])
            for i in (0, 1)
        ]

    def gaps(model, rows):
        firm, fruit = scores(model, rows)
        return firm - fruit

    def scorer(model):
        firm, fruit = (anchor(model, words) for words in anchors.values())
        return lambda X: cosine(X - (firm + fruit) / 2, firm - fruit)

    found = {}
    score = scorer(model)
    for name, rows in texts.items():
        groups, gap = [row[2] for row in rows], gaps(model, rows)
        sides = [about["firm"], about["fruit"]] if name == "different words" else alike
        alone = [[score(one.vector("apple")) for one in read(model, [f"{x}." for x in side])] for side in sides]
        apart = np.subtract(*(np.mean(side, axis=0) for side in alone))
        half = len(rows) // 2
        found[name] = {
            "sentences": len(rows),
            "right order, by layer": mean_interval(gap > 0, groups),
            "right order, firm first": plain((gap[:half] > 0).mean(axis=0)),
            "right order, fruit first": plain((gap[half:] > 0).mean(axis=0)),
            "gap, by layer": mean_interval(gap, groups),
            "gap between sentences, by layer": plain(apart),
            "share of the gap, layers 1 to 6": mean_interval(gap[:, 1:] / apart[1:], groups),
        }
    source = [(about["source"], 0, "")]
    firm, fruit = scores(model, source)
    found["source"] = {"text": about["source"], "firm, by layer": plain(firm[0]), "fruit, by layer": plain(fruit[0])}
    mixed = {name: [] for name in texts}
    for seed in range(N_SHUFFLED):
        other = shuffled(model, seed)
        score = scorer(other)
        for name, rows in texts.items():
            mixed[name].append(plain((gaps(other, rows) > 0).mean(axis=0)))
    for name, shares in mixed.items():
        found[name]["right order, shuffled, by seed and layer"] = shares
    found["cosines of keys and queries"] = keys_and_queries(model, texts["different words"])
    return found


def keys_and_queries(model, rows):
    """Compare keys and queries of all heads side by side, layers 1 to 6: the two apples, Apple and than."""
    source = SENTENCES["two apples"]["source"]

    def cosines(sentence, *places):
        text = encode(model.tokenizer, sentence)
        with Trace() as trace:
            encoder(model.params, model.config, text.ids)
        one, other = (text.place(word, nth).start for word, nth in places)
        sides = [[layer.attention.K for layer in trace.layers], [layer.attention.Q for layer in trace.layers]]
        return [[cosine(X[:, one].ravel(), X[:, other].ravel()) for X in side] for side in sides]

    pairs = {"apple, apple": [("apple", 0), ("apple", 1)], "apple, than": [("apple", 0), ("than", 0)]}
    pairs["apple, iphone"] = [("apple", 0), ("iphone", 0)]
    told = {name: dict(zip(("keys", "queries"), plain(cosines(source, *places), 3))) for name, places in pairs.items()}
    many = np.array([cosines(sentence, *pairs["apple, apple"]) for sentence, *_ in rows])
    return {"source": told, "apple, apple, mean of all": dict(zip(("keys", "queries"), plain(many.mean(axis=0), 3)))}


# --- the tower -------------------------------------------------------------------------------------------------------


def tower(model):
    """Measure where names and sizes move the tower: a cosine, a share of the way, and what random directions reach."""
    about, rng = SENTENCES["tower"], np.random.default_rng(0)
    lines = [(frame, word) for frame in about["frames"] for word in frame.split(" | ")[1].split(", ")]
    groups = [frame for frame, _ in lines]

    @cache
    def towers(adjective):
        sentences = [" ".join(frame.split(" | ")[0].format(adjective, word).split()) for frame, word in lines]
        return np.stack([one.vector("tower") for one in read(model, sentences)])

    anchors = {word: anchor(model, [word]) for word in [*about["other words"].split(), *about["cities"]]}

    def mean(words):
        return np.mean([anchors[word] for word in words], axis=0)

    ways = {name: np.subtract(*(anchor(model, words) for words in ends)) for name, ends in about["directions"].items()}
    drawn = [rng.permutation(about["other words"].split())[:6] for _ in range(N_DIRECTIONS)]
    random = np.stack([mean(words[:3]) - mean(words[3:]) for words in drawn])
    others = np.mean([towers(name) for name in about["other names"]], axis=0)
    french = np.mean([towers(name) for name in about["French names"]], axis=0)
    moves = {
        "Eiffel, not another name, towards Paris": (towers("Eiffel") - others, ways["Paris"]),
        "a French name, not another name, towards Paris": (french - others, ways["Paris"]),
        "Eiffel, not a French name, towards Paris": (towers("Eiffel") - french, ways["Paris"]),
        "Eiffel, not another name, towards iron": (towers("Eiffel") - others, ways["iron"]),
        "miniature, not gigantic, towards small": (towers("miniature") - towers("gigantic"), ways["small"]),
        "miniature Eiffel, not gigantic Eiffel, towards small": (
            towers("miniature Eiffel") - towers("gigantic Eiffel"),
            ways["small"],
        ),
        "miniature Eiffel, not Eiffel, towards Paris": (towers("miniature Eiffel") - towers("Eiffel"), ways["Paris"]),
    }
    cities = {
        city: anchors[city] - mean([other for other in about["cities"] if other != city]) for city in about["cities"]
    }
    to_cities = {city: plain(pull((towers("Eiffel") - others).mean(axis=0), way), 3) for city, way in cities.items()}
    told = {}
    for name, (move, way) in moves.items():
        reached = np.abs(pull(move.mean(axis=0), random)) >= np.abs(pull(move.mean(axis=0), way))
        told[name] = {
            "cosine, layers 1 to 6": interval(lambda rows, m=move, way=way: pull(m[rows].mean(axis=0), way), groups),
            "share of the way, layers 1 to 6": mean_interval(
                ((move * way).sum(-1) / (way * way).sum(-1))[:, 1:], groups
            ),
            "random directions that reach it, layers 1 to 6": plain(reached.mean(axis=0), 3),
        }
    return {
        **{"sentences of each kind": len(lines), "random directions": N_DIRECTIONS, "moves": told},
        "Eiffel, not another name, towards each city, cosine, layers 1 to 6": to_cities,
    }


def pull(move, way):
    """Return the cosine of a move with a way, layers 1 to 6; below them a word does not move."""
    return cosine(move[..., 1:, :], way[..., 1:, :])


# --- nouns and adjectives --------------------------------------------------------------------------------------------


def adjectives(model):
    """Choose a head in which nouns look at their own adjectives on half of the templates, and report on the others."""
    about, rng = SENTENCES["adjectives"], np.random.default_rng(0)
    nouns, words = about["nouns"].split(), about["adjectives"].split()

    def measured(templates):
        """Return weights, shape (sentences, 72), to the own adjective, the other noun's, and at the same distance."""
        rows = []
        for template, _ in product(templates, range(10)):
            (n, m), (a, b) = rng.choice(nouns, 2, replace=False), rng.choice(words, 2, replace=False)
            rows.append((template, template.format(n=n, m=m, a=a, b=b), n, m, a, b))
        found = []
        for (_, _, n, m, a, b), one in zip(rows, read(model, [row[1] for row in rows])):
            own, other = one.weight(n, a) + one.weight(m, b), one.weight(n, b) + one.weight(m, a)
            found.append((own / 2, other / 2, same_distance(one, (n, m), (a, b))))
        return [row[0] for row in rows], np.array(found).swapaxes(0, 1)

    halves = [measured(about["before"][half::2]) for half in (0, 1)]
    behind = measured(about["behind"])
    own, other, alike = halves[0][1].mean(axis=1)
    chosen = {
        "own above the other noun's": own - other,
        "own above others at the distance": own - np.maximum(other, alike),
    }
    told = {}
    for rule, advantage in chosen.items():
        head = int(advantage.argmax())
        told[rule] = {"head": HEADS[head], "source": adjectives_of_the_source(model, head)}
        for side, (templates, found) in {"before": halves[1], "behind": behind}.items():
            own, other, alike = found[:, :, head]
            told[rule][f"adjective {side}"] = {
                "own": mean_interval(own, templates),
                "the other noun's": mean_interval(other, templates),
                "others, same distance": mean_interval(alike, templates),
                "own above the other noun's": mean_interval(own - other, templates),
            }
    own, other, alike = halves[1][1].mean(axis=1)
    told["all heads, own above both others, second half"] = plain(own - np.maximum(other, alike), 3)
    return {"sentences of each half": len(halves[1][0]), "sentences with adjectives behind": len(behind[0]), **told}


def adjectives_of_the_source(model, head):
    """Return what the source's two nouns give to their own adjectives and to the other noun's in one head."""
    (one,) = read(model, ["A fluffy blue creature roamed the verdant forest."])
    adjectives = {"creature": ("fluffy", "blue"), "forest": ("verdant",)}
    return {
        f"{noun} to {adjective}": plain(one.weight(noun, adjective)[head], 3)
        for noun, adjective in product(adjectives, sum(adjectives.values(), ()))
    }


def same_distance(one, nouns, adjectives):
    """Return what other words give at the distance at which these nouns have their adjectives, shape (72,)."""
    places = [one.text.place(noun).start for noun in nouns]
    apart = {one.text.place(adjective).start - place for place, adjective in zip(places, adjectives)}
    n = len(one.text.ids)
    rows = [(i, i + step) for step in apart for i in range(1, n - 1) if i not in places and 1 <= i + step < n - 1]
    return np.mean([one.weights[:, i, j] for i, j in rows], axis=0)


# --- what "it" stands for --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two sentences that differ in one word, which says whether `it` is the first noun or the other."""

    sentences: tuple
    nouns: tuple
    adjectives: tuple


def pairs_of(name):
    about = SENTENCES["it"]["sets"][name]
    firsts, others = about["a"].split(), about["o"].split()
    pairs = []
    for (f, frame), (i, a), (j, o) in product(enumerate(about["frames"]), enumerate(firsts), enumerate(others)):
        words = about["x"][(i + j + 2 * f) % len(about["x"])]
        pairs.append(Pair(tuple(frame.format(a=a, o=o, x=word) for word in words), (a, o), tuple(words)))
    return pairs


def read_pairs(model, pairs):
    """Return what was seen for the first and for the second sentence of each pair."""
    seen = read(model, [sentence for pair in pairs for sentence in pair.sentences])
    return list(zip(seen[::2], seen[1::2]))


def weights_from(word, pairs, seen):
    """Return what a word gives to both nouns in both sentences: shape (pairs, 2 sentences, 2 nouns, 72)."""
    return np.array(
        [[[one.weight(word, noun) for noun in pair.nouns] for one in two] for pair, two in zip(pairs, seen)]
    )


def difference_of_differences(values):
    """Return how much more the first noun leads the other in the first sentence: axis 1 sentences, axis 2 nouns."""
    return (values[:, 0, 0] - values[:, 0, 1]) - (values[:, 1, 0] - values[:, 1, 1])


def leaning(pairs, seen, word="it"):
    """Return how much nearer, by cosine, a word stands to the first noun than to the other, in the first sentence
    above the second: shape (pairs, 7)."""
    cosines = [
        [[cosine(one.vector(word), one.vector(noun)) for noun in pair.nouns] for one in two]
        for pair, two in zip(pairs, seen)
    ]
    return difference_of_differences(np.array(cosines))


def leaning_to(model, pairs, seen):
    """Return `leaning` towards the nouns as they stand in sentences that tell nothing, so that only "it" can move."""
    nouns = {noun: anchor(model, [noun]) for noun in {noun for pair in pairs for noun in pair.nouns}}
    cosines = [
        [[cosine(one.vector("it"), nouns[noun]) for noun in pair.nouns] for one in two]
        for pair, two in zip(pairs, seen)
    ]
    return difference_of_differences(np.array(cosines))


def it(model):
    """Choose a head on half of the animals, and report on the others what it does, and whether it is a cause."""
    pairs = pairs_of("animal first")
    firsts = SENTENCES["it"]["sets"]["animal first"]["a"].split()
    chosen_on = np.array([firsts.index(pair.nouns[0]) % 2 == 0 for pair in pairs])
    seen = read_pairs(model, pairs)
    found = weights_from("it", pairs, seen)
    effect = difference_of_differences(found)
    best = int(effect[chosen_on].mean(axis=0).argmax())
    rest = np.flatnonzero(~chosen_on)
    held, groups = [pairs[i] for i in rest], [pairs[i].nouns[0] for i in rest]
    held_seen = [seen[i] for i in rest]
    mixed = [shuffled(model, seed) for seed in range(N_SHUFFLED)]
    mixed = [(weights_from("it", held, some), leaning(held, some)) for some in (read_pairs(one, held) for one in mixed)]
    return {
        "pairs": len(pairs),
        "pairs reported": len(held),
        "head": HEADS[best],
        "weights": told_of_pairs(held, found[rest][..., best], groups),
        "difference of differences from because": mean_interval(
            difference_of_differences(weights_from("because", held, held_seen))[:, best], groups
        ),
        "difference of differences, shuffled, by seed": {
            "same head": plain([difference_of_differences(one)[:, best].mean() for one, _ in mixed]),
            "largest of all heads": plain([difference_of_differences(one).mean(axis=0).max() for one, _ in mixed]),
        },
        "difference of differences by adjectives": {
            "/".join(words): plain(effect[rest][[pair.adjectives == words for pair in held], best].mean())
            for words in sorted({pair.adjectives for pair in held})
        },
        "difference of differences of all heads": plain(effect[rest].mean(axis=0), 3),
        "vector, by layer": {
            **{word: mean_interval(leaning(held, held_seen, word), groups) for word in ("it", "because", "was")},
            "it, towards the nouns of other sentences": mean_interval(leaning_to(model, held, held_seen), groups),
            "it, shuffled, by seed": plain([one.mean(axis=0) for _, one in mixed]),
        },
        "other sets": {name: other_set(model, name, best) for name in SENTENCES["it"]["sets"]},
        "cause": cause(model, held, groups, HEADS[best], effect[rest].mean(axis=0)),
        "before it": before_it(model, [pairs[i] for i in np.flatnonzero(chosen_on)], held, HEADS[best]),
        "pronoun and noun": pronoun_and_noun(held, held_seen, groups),
    }


def told_of_pairs(pairs, found, groups):
    """Return what one head does; `found` has shape (pairs, 2 sentences, 2 nouns)."""
    share = found[..., 0] / found.sum(axis=-1)
    return {
        "to both nouns, first sentence": mean_interval(found[:, 0], groups),
        "to both nouns, second sentence": mean_interval(found[:, 1], groups),
        "difference of differences": mean_interval(difference_of_differences(found), groups),
        "the right way": mean_interval(share[:, 0] > share[:, 1], groups),
        "both right": mean_interval((share[:, 0] > 0.5) & (share[:, 1] < 0.5), groups),
    }


def other_set(model, name, head):
    """Return what the head chosen on the first set does in another."""
    pairs = pairs_of(name)
    seen, groups = read_pairs(model, pairs), [pair.nouns[0] for pair in pairs]
    found = weights_from("it", pairs, seen)
    effects = difference_of_differences(found).mean(axis=0)
    return {
        "pairs": len(pairs),
        "example": list(pairs[0].sentences),
        **told_of_pairs(pairs, found[..., head], groups),
        "rank of the head": int((effects > effects[head]).sum()) + 1,
        "vector, last layer": mean_interval(leaning(pairs, seen)[:, -1], groups),
    }


def cause(model, pairs, groups, best, effects):
    """Measure how far "it" still leans to the noun that fits, with heads off, with edges forbidden, and with heads that
    always write their mean."""
    before = read_pairs(model, pairs)
    base = leaning(pairs, before)[:, -1]
    by_effect = [HEADS[i] for i in np.argsort(-effects)]
    layers = {
        f"layer {number}": [head for head in HEADS if head[0] == str(number)] for number in range(1, N_LAYERS + 1)
    }
    off = {f"{best} off": [best], **{f"all heads of {name} off": heads for name, heads in layers.items()}}
    off |= {f"the {n} heads that lean most off": by_effect[:n] for n in (5, 10)}
    edges = {
        "both nouns": partial(edges_from_it, pairs, "nouns"),
        "the adjective": partial(edges_from_it, pairs, "adjectives"),
        "two other words": partial(edges_from_it, pairs, None),
    }
    number, head = map(int, best.split("."))
    ways = {name: without(model, heads) for name, heads in off.items()}
    ways |= {
        f"it may not see both nouns in {best}": blind(model, edges["both nouns"], number, head),
        f"it may not see both nouns in layer {number}": blind(model, edges["both nouns"], number),
        **{f"it may not see {what}": blind(model, which) for what, which in edges.items()},
    }
    told = {name: mean_interval(leaning(pairs, read_pairs(way, pairs))[:, -1], groups) for name, way in ways.items()}
    found = {name: weights_from("it", pairs, read_pairs(ways[name], pairs))[..., HEADS.index(best)] for name in ways}
    blinded = {name: mean_interval(difference_of_differences(found[name]), groups) for name in ways if "see" in name}
    means = mean_mixtures(model, [sentence for pair in pairs for sentence in pair.sentences])
    own = [[mixtures(model, sentence) for sentence in pair.sentences] for pair in pairs]
    each = {
        "off": {head: read_pairs(without(model, [head]), pairs) for head in HEADS},
        "mean": {head: read_pairs(dictated(model, head, means[head]), pairs) for head in HEADS},
        "swapped": {head: read_swapped(model, head, pairs, own) for head in HEADS},
    }
    return {
        "nothing done": mean_interval(base, groups),
        **told,
        f"difference of differences of {best}": blinded,
        **{f"{way}, each head": told_of_each(heads, pairs, before, best, groups) for way, heads in each.items()},
    }


def read_swapped(model, head, pairs, own):
    """Return what is seen if a head writes in each sentence what it writes in the other of the pair."""
    return [
        tuple(
            read(dictated(model, head, mixed[HEADS.index(head)]), [sentence])[0]
            for sentence, mixed in zip(pair.sentences, two[::-1])
        )
        for pair, two in zip(pairs, own)
    ]


def before_it(model, chosen, held, best):
    """Find where "it" takes from the adjective what a head looks by: the layer, and three heads of it, chosen on some
    pairs by how much less the head tells the nouns apart if "it" may not see the adjective there."""

    def looked(model, pairs):
        return difference_of_differences(weights_from("it", pairs, read_pairs(model, pairs))[..., HEADS.index(best)])

    def blinded(pairs, *where):
        return looked(blind(model, partial(edges_from_it, pairs, "adjectives"), *where), pairs)

    layers, groups = range(1, N_LAYERS + 1), [pair.nouns[0] for pair in held]
    layer = min(layers, key=lambda number: blinded(chosen, number).mean())
    order = np.argsort([blinded(chosen, layer, head).mean() for head in range(N_HEADS)])
    three, *others = [[f"{layer}.{head}" for head in some] for some in (order[:3], *combinations(order[3:], 3))]
    others_off = [looked(without(model, some), held).mean() for some in others]
    swapped, off = pairs_of("thing first"), without(model, three)
    return {
        "it may not see the adjective in a layer, 1 to 6": [mean_interval(blinded(held, k), groups) for k in layers],
        "three heads": three,
        "three heads off": mean_interval(looked(off, held), groups),
        "three other heads of the layer off, least and most": plain([min(others_off), max(others_off)]),
        "vector of it, three heads off": mean_interval(leaning(held, read_pairs(off, held))[:, -1], groups),
        "thing first": mean_interval(looked(model, swapped), [pair.nouns[0] for pair in swapped]),
        "thing first, three heads off": mean_interval(looked(off, swapped), [pair.nouns[0] for pair in swapped]),
    }


def edges_from_it(pairs, part, text):
    """Return the edges of a text from "it" to both nouns, to the adjective, or to two words that are neither."""
    words = [word for pair in pairs if text.text in pair.sentences for word in (getattr(pair, part) if part else ())]
    if part is None:
        places = [text.place("the", 1), text.place("because")]
    else:
        places = [text.place(word) for word in dict.fromkeys(words) if word in text.words]
    query = text.place("it").start
    return [(query, key) for place in places for key in range(place.start, place.stop)]


def told_of_each(heads, pairs, before, best, groups):
    """Return how much less "it" leans in the last layer, and how much its vector has changed there, head by head.

    If what heads add simply adds up, a swap turns a head's part around, so that half of its drop is the head's.
    """
    leans = {head: leaning(pairs, after) for head, after in heads.items()}
    base = leaning(pairs, before)[:, -1]
    drops = [base - lean[:, -1] for lean in leans.values()]
    old = np.stack([one.vector("it")[-1] for two in before for one in two])
    new = np.stack([[one.vector("it")[-1] for two in after for one in two] for after in heads.values()])
    changes = (np.linalg.norm(new - old, axis=-1) / np.linalg.norm(old, axis=-1)).mean(axis=1)
    drop, place = np.mean(drops, axis=1), HEADS.index(best)
    return {
        "drop": plain(drop),
        "drop of the head": mean_interval(drops[place], groups),
        "drop of the head, share of all": interval(lambda rows: drops[place][rows].mean() / base[rows].mean(), groups),
        "rank of the head by drop": int((drop > drop[place]).sum()) + 1,
        "vector of it without the head, by layer": mean_interval(leans[best], groups),
        "change of it": plain(changes, 3),
        "rank of the head by change": int((changes > changes[place]).sum()) + 1,
    }


def pronoun_and_noun(pairs, seen, groups):
    """Return cosines by layer, in sentences where "it" is the animal, with animals of other sentences beside."""
    ones = [two[0] for two in seen]
    others = [ones[(i + 35) % len(ones)].vector(pairs[(i + 35) % len(ones)].nouns[0]) for i in range(len(ones))]
    vectors = {word: np.stack([one.vector(word) for one in ones]) for word in ("it", "because", "was")}
    nouns = [np.stack([one.vector(pair.nouns[i]) for one, pair in zip(ones, pairs)]) for i in (0, 1)]
    all_pairs = [
        np.mean([cosine(one.streams[:, i], one.streams[:, j]) for i in range(1, n) for j in range(1, i)], axis=0)
        for one in ones
        for n in [len(one.text.ids) - 1]
    ]
    cosines = {
        "it, animal": cosine(vectors["it"], nouns[0]),
        "it, thing": cosine(vectors["it"], nouns[1]),
        "it, animal of another sentence": cosine(vectors["it"], np.stack(others)),
        "because, animal": cosine(vectors["because"], nouns[0]),
        "was, animal": cosine(vectors["was"], nouns[0]),
        "all pairs of words": np.stack(all_pairs),
    }
    told = {name: mean_interval(values, groups) for name, values in cosines.items()}
    above = {name: mean_interval(cosines["it, animal"] - cosines[name], groups) for name in list(cosines)[1:]}
    return {**told, "it, animal, above": above}


# --- every head ------------------------------------------------------------------------------------------------------


def looks(one):
    """Return what the words of a text give, by head: to the word before, behind, themselves, the same elsewhere, [CLS]
    and [SEP]; NaN where there is nothing of the kind."""
    n, W = len(one.text.ids), one.weights
    i = np.arange(1, n - 1)
    same = (one.text.ids[:, None] == one.text.ids) & ~np.eye(n, dtype=bool)
    again = [q for q in i if same[q].any()]
    return {
        "previous": W[:, i[1:], i[1:] - 1].mean(axis=1),
        "next": W[:, i[:-1], i[:-1] + 1].mean(axis=1),
        "self": W[:, i, i].mean(axis=1),
        "same word": np.mean([W[:, q, same[q]].sum(axis=1) for q in again], axis=0)
        if again
        else np.full(len(W), np.nan),
        "[CLS]": W[:, i, 0].mean(axis=1),
        "[SEP]": W[:, i, -1].mean(axis=1),
    }


def changes(before, after):
    """Return the relative change of token vectors in the last layer, and the cosine distance of their mean."""
    old, new = before.streams[-1], after.streams[-1]
    moved = np.linalg.norm(new - old, axis=-1) / np.linalg.norm(old, axis=-1)
    return moved.mean(), 1 - cosine(old.mean(axis=0), new.mean(axis=0))


def every_head(model):
    """Measure what each head looks at in natural sentences, and what happens without it, or with its mean alone."""
    sentences = SENTENCES["natural"]
    seen, means = read(model, sentences), mean_mixtures(model, sentences)
    found = [looks(one) for one in seen]
    looked = {name: plain(np.nanmean([one[name] for one in found], axis=0), 3) for name in found[0]}
    ways = {"off": lambda head: without(model, [head]), "mean": lambda head: dictated(model, head, means[head])}
    for way, hinder in ways.items():
        pairs = [[changes(*two) for two in zip(seen, read(hinder(head), sentences))] for head in HEADS]
        tokens, sentence = np.mean(pairs, axis=1).T
        looked |= {f"{way}: change of tokens": plain(tokens), f"{way}: change of the sentence": plain(sentence, 5)}
    return {"sentences": len(sentences), "by head": looked}


def sinks(model):
    """Return the share of all that words give which [CLS] and [SEP] take, by layer, and how many heads rest there."""
    seen = read(model, SENTENCES["natural"])
    ones, groups = [looks(one) for one in seen], np.arange(len(seen))
    told = {}
    for name in ("[CLS]", "[SEP]"):
        given = np.stack([one[name] for one in ones])
        told[name] = {
            "share": mean_interval(given.mean(axis=1), groups),
            "share by layer, 1 to 6": mean_interval(given.reshape(len(seen), N_LAYERS, N_HEADS).mean(axis=-1), groups),
            "heads above .3": int((given.mean(axis=0) > 0.3).sum()),
        }
    return {**told, "if all were equal": plain(np.mean([1 / len(one.text.ids) for one in seen]))}


# --- the patterns that are kept --------------------------------------------------------------------------------------


def pattern_letters(weights):
    """Return weights as one letter each, to the nearest hundredth."""
    return "".join(LEVELS[level] for level in np.round(100 * weights).astype(int).ravel())


def patterns(model):
    """Return ten sentences with the weights of all heads, and how much each loses with each head off."""
    sentences = SENTENCES["shown"]
    seen = read(model, sentences)
    off = [read(without(model, [head]), sentences) for head in HEADS]
    return [
        {
            "text": sentence,
            "tokens": list(one.text.tokens),
            "weights": pattern_letters(one.weights),
            "off: change of tokens": plain([changes(one, after[place])[0] for after in off], 3),
        }
        for place, (sentence, one) in enumerate(zip(sentences, seen))
    ]


def findings(model):
    return {
        "heads": HEADS,
        "senses": {word: word_senses(model, word) for word in SENTENCES["senses"]},
        "mole phrases": mole_phrases(model),
        "two apples": two_apples(model),
        "tower": tower(model),
        "adjectives": adjectives(model),
        "it": it(model),
        "sinks": sinks(model),
        "every head": every_head(model),
    }


def main(folder):
    """Measure all, and write both recordings."""
    model = Model(*read_minilm(folder))
    for name, measure, more in (("minilm", findings, {}), ("minilm_patterns", patterns, {"levels": LEVELS})):
        start = time.time()
        write_recording(
            *(name, __file__, measure(model)),
            **{"source": SOURCE, "licence": NOTICE, "start": start},
            versions={package: version(package) for package in ("safetensors", "tokenizers")},
            **{"sha256 of weights": SHA256["model.safetensors"], **more},
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
