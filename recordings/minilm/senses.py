"""Words with several senses: how often a word's vector moves to the sense of its sentence."""

import numpy as np

from attn_course.minilm import encode
from recordings._arithmetic import cosine, mean_interval, plain

from .model import SEEDS, SENTENCES, anchor, read, shuffled

PARTS = {"word": "templates", "misleading": "misleading"}  # of sentences.yml, by what is reported


def word_senses(model, word):
    """Measure how often a word's vector moves to its own sense, by layer, beside what would do so without attention."""
    sentences = {name: sentences_of(word, part) for name, part in PARTS.items()}
    mixed = [right_by_model(shuffled(model, seed), word) for seed in SEEDS]

    def intervals(right):
        return {name: mean_interval(right[name], templates) for name, (*_, templates) in sentences.items()}

    return {
        "sentences": len(sentences["word"][0]),
        "misleading sentences": len(sentences["misleading"][0]),
        "chance": plain(1 / len(SENTENCES["senses"][word]["anchors"])),
        "right, by layer": intervals(right_by_model(model, word)),
        "right, average of the neighbours": intervals(right_by_average(model, word)),
        "right, shuffled, by seed and layer": {
            name: plain([one[name].mean(axis=0) for one in mixed]) for name in PARTS
        },
    }


def sentences_of(word, part):
    """Return sentences of a word, the number of the sense of each, and its template."""
    about, rows = SENTENCES["senses"][word], []
    for sense, kind in enumerate(about["anchors"]):
        for template, words in (line.split(" | ") for line in about[part][kind]):
            rows += [(template.format(other), sense, template) for other in words.split(", ")]
    sentences, senses, templates = zip(*rows)
    return sentences, np.array(senses), templates


def right_by_model(model, word):
    """Return whether the word of each sentence moves to its sense, by layer: arrays of bool, shape (n, 7)."""

    def vectors(sentences):
        return np.stack([one.vector(word) for one in read(model, sentences)])

    return moves_to_sense(word, lambda words: anchor(model, words), vectors)


def right_by_average(model, word):
    """Return the same of the plain mean of the embeddings of all other words: arrays of bool, shape (n,)."""
    table = model.params["embedding"]

    def embedded(words):
        return np.mean([table[encode(model.tokenizer, word).ids[1:-1]].mean(axis=0) for word in words], axis=0)

    def neighbours(sentence):
        text = encode(model.tokenizer, sentence)
        place, last = text.place(word), len(text.ids) - 2  # the full stop
        others = [i for i in range(1, last) if not place.start <= i < place.stop]
        return table[text.ids[others]].mean(axis=0)

    return moves_to_sense(word, embedded, lambda sentences: np.stack([neighbours(one) for one in sentences]))


def moves_to_sense(word, anchored, vectors):
    """Return whether the vector of each sentence, from the mean of the templates', points most to its own sense."""
    anchors = np.stack([anchored(words) for words in SENTENCES["senses"][word]["anchors"].values()])
    directions = anchors - anchors.mean(axis=0)
    sentences = {name: sentences_of(word, part) for name, part in PARTS.items()}
    X = {name: vectors(texts) for name, (texts, *_) in sentences.items()}
    centre = X["word"].mean(axis=0)
    nearest = {name: np.argmax([cosine(X[name] - centre, way) for way in directions], axis=0) for name in PARTS}
    return {name: np.equal(nearest[name].T, senses).T for name, (_, senses, _) in sentences.items()}
