"""Words with several senses: how often a word's vector moves to the sense of its sentence."""

import numpy as np

from attn_course.minilm import encode
from recordings._arithmetic import cosine, mean_interval, plain

from .model import SENTENCES, anchor, read, shuffled

N_SHUFFLED = 5


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


def filled(line):
    """Return a template and the sentences it makes."""
    template, words = line.split(" | ")
    return template, [template.format(word) for word in words.split(", ")]


def nearest(X, centre, anchors):
    """Return which anchor X - centre points to most: for anchors of shape (senses, ..., d), from the middle of them."""
    directions = anchors - anchors.mean(axis=0)
    return np.stack([cosine(X - centre, direction) for direction in directions]).argmax(axis=0)


def right_by_model(model, word):
    """Return whether the word of each sentence, and its full stop, moves to the sense: arrays of bool, shape (n, 7)."""
    sentences, senses, _ = sentences_of(word, "templates")
    hard, hard_senses, _ = sentences_of(word, "misleading")
    seen, hard_seen = read(model, sentences), read(model, hard)
    anchors = np.stack([anchor(model, words) for words in SENTENCES["senses"][word]["anchors"].values()])
    X, hard_X = (np.stack([one.vector(word) for one in some]) for some in (seen, hard_seen))
    stop = np.stack([one.streams[:, -2] for one in seen])
    return {
        "word": nearest(X, X.mean(axis=0), anchors) == senses[:, None],
        "full stop": nearest(stop, stop.mean(axis=0), anchors) == senses[:, None],
        "misleading": nearest(hard_X, X.mean(axis=0), anchors) == hard_senses[:, None],
    }


def right_by_average(model, word):
    """Return the same of the plain mean of the embeddings of all other words: arrays of bool, shape (n,)."""
    sentences, senses, _ = sentences_of(word, "templates")
    hard, hard_senses, _ = sentences_of(word, "misleading")
    anchors = np.stack([embedded(model, words) for words in SENTENCES["senses"][word]["anchors"].values()])
    X, hard_X = (np.stack([neighbours(model, one, word) for one in read(model, some)]) for some in (sentences, hard))
    return {
        "word": nearest(X, X.mean(axis=0), anchors) == senses,
        "misleading": nearest(hard_X, X.mean(axis=0), anchors) == hard_senses,
    }


def neighbours(model, seen, word):
    text = seen.text
    place, last = text.place(word), len(text.ids) - 2  # the full stop
    others = [i for i in range(1, last) if not place.start <= i < place.stop]
    return model.params["embedding"][text.ids[others]].mean(axis=0)


def embedded(model, words):
    table = model.params["embedding"]
    return np.mean([table[encode(model.tokenizer, word).ids[1:-1]].mean(axis=0) for word in words], axis=0)


def word_senses(model, word):
    """Measure how often a word's vector moves to its own sense, by layer, beside what would do so without attention."""
    sentences, _, templates = sentences_of(word, "templates")
    hard, _, hard_templates = sentences_of(word, "misleading")
    mixed = [right_by_model(shuffled(model, seed), word) for seed in range(N_SHUFFLED)]

    def intervals(found):
        groups = {"misleading": hard_templates}
        return {part: mean_interval(right, groups.get(part, templates)) for part, right in found.items()}

    return {
        "sentences": len(sentences),
        "misleading sentences": len(hard),
        "chance": plain(1 / len(SENTENCES["senses"][word]["anchors"])),
        "right, by layer": intervals(right_by_model(model, word)),
        "right, average of the neighbours": intervals(right_by_average(model, word)),
        "right, shuffled, by seed and layer": {
            part: plain([one[part].mean(axis=0) for one in mixed]) for part in ("word", "misleading")
        },
    }


def mole_phrases(model):
    """Return the source's three phrases, with the cosines of "mole" and each sense by layer: "mole" from its mean in
    all sentences, the senses from their middle."""
    about, phrases = SENTENCES["senses"]["mole"]["anchors"], SENTENCES["mole phrases"]
    anchors = np.stack([anchor(model, words) for words in about.values()])
    mean = np.mean([one.vector("mole") for one in read(model, sentences_of("mole", "templates")[0])], axis=0)

    def cosines(one):
        return plain([cosine(one.vector("mole") - mean, way) for way in anchors - anchors.mean(axis=0)], 3)

    return [
        {"text": phrase, "sense": sense, "cosines from own mean, by layer": dict(zip(about, cosines(one)))}
        for (phrase, sense), one in zip(phrases.items(), read(model, phrases))
    ]
