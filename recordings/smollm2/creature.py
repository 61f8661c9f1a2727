"""A noun and its adjective, "it" and what comes after it: which look carries the answer, and what can be read where."""

from itertools import product

import numpy as np

from attn import Forbid, Replace
from recordings._arithmetic import cosine, interval, mean_interval, plain

from .model import SENTENCES, lead

COLOUR, NOUN = 1, 2  # the places of both words in each frame: A blue creature


def creature(model):
    """Return what is left of the effect of a colour on the answer with looks forbidden; what of it moves with a stream
    that is put in, by layer; and in what share a probe reads the colour at the noun, by layer."""
    about = SENTENCES["creature"]
    words = np.array([model.word(colour) for colour in about["colours"]])
    parts = [frame_effects(model, rows_of(model, frame), words) for frame in about["frames"]]
    whole = {name: np.array([part[name] for part in parts]) for name in parts[0]}  # (frames,) or (frames, layers + 1)
    frames, full = range(len(parts)), whole.pop("effect")
    return {
        "frames": len(parts),
        "colours": len(words),
        "effect": mean_interval(full, frames),
        "effect, a door is asked about": mean_interval(effects_of_a_door(model, words), frames),
        "two colours": two_colours(model),
        **{
            name: interval(lambda rows, part=part: part[rows].mean(axis=0) / full[rows].mean(), frames)
            for name, part in whole.items()
        },
        "read at the noun, after each layer": plain(readable(model, about["frames"]), 3),
    }


def rows_of(model, frame):
    return model.encode([frame.format(colour) for colour in SENTENCES["creature"]["colours"]])


def frame_effects(model, rows, words):
    """Return by how much the answers differ between each colour and the next, as they are and changed: means."""
    one, n = np.arange(len(words)), rows.shape[1]
    other = np.roll(one, -1)

    def effect(done=()):
        logits = model.logits(rows, done)
        return np.mean(lead(logits[one], words[one], words[other]) - lead(logits[other], words[one], words[other]))

    def put_in(streams, place):
        """Return how far the answer moves to the other colour with the other text's streams at a place."""
        base = lead(model.logits(rows)[one], words[one], words[other])
        moved = [
            lead(model.logits(rows[one], [Replace(place, stream[other, place], layer)]), words[one], words[other])
            for layer, stream in enumerate(streams)
        ]
        return [np.mean(base - leads) for leads in moved]

    trace = model.trace(rows)
    streams = [trace.embedded[0], *(layer.after_mlp for layer in trace.layers)]
    between = [(query, COLOUR) for query in range(NOUN, n - 1)]
    return {
        "effect": effect(),
        "the noun may not see the colour": effect([Forbid([(NOUN, COLOUR)])]),
        "no word before the last may see it": effect([Forbid(between)]),
        "the last word may not see it": effect([Forbid([(n - 1, COLOUR)])]),
        "put in at the noun": put_in(streams, NOUN),
        "put in at the colour": put_in(streams, COLOUR),
        "put in at the last word": put_in(streams, n - 1),
    }


def effects_of_a_door(model, words):
    """Return the effect of the colour in each frame if the question is about a door that is not in the text."""
    asked = [frame.rpartition(" of the ")[0] + " of the door was" for frame in SENTENCES["creature"]["frames"]]
    other = np.roll(words, -1)

    def effect(frame):
        logits = model.logits(rows_of(model, frame))
        return np.mean(lead(logits, words, other) - lead(np.roll(logits, -1, axis=0), words, other))

    return [effect(frame) for frame in asked]


def two_colours(model):
    """Return, where two things have a colour each, by how much it matters which has which, in what share the own colour
    is ahead of the other, and what of the effect is left if neither noun may see its colour."""
    about, colours = SENTENCES["creature"], SENTENCES["creature"]["colours"]
    groups, effects, cut, ahead = [], [], [], []
    pairs = list(zip(colours, np.roll(colours, -1)))
    for (text, nouns), asked in product(about["two colours"], (0, 1)):
        rows, turned = (model.encode([text.format(*pair[::way], nouns[asked]) for pair in pairs]) for way in (1, -1))
        own, other = (np.array([model.word(pair[which]) for pair in pairs]) for which in (asked, 1 - asked))
        places = np.flatnonzero((rows != turned).any(axis=0))  # of the colours; each noun is behind its own
        unseen = [Forbid([(place + 1, place) for place in places])]
        found = [[lead(model.logits(some, done), own, other) for some in (rows, turned)] for done in ((), unseen)]
        effects.append(np.mean(found[0][0] - found[0][1]))
        cut.append(np.mean(found[1][0] - found[1][1]))
        ahead.append(np.mean([found[0][0] > 0, found[0][1] < 0]))
        groups.append(text)
    share = interval(lambda rows: np.mean(np.array(cut)[rows]) / np.mean(np.array(effects)[rows]), groups)
    return {
        "effect": mean_interval(effects, groups),
        "own colour ahead": mean_interval(ahead, groups),
        "the nouns may not see their colours": share,
    }


def readable(model, frames):
    """Return in what share the colour is read from the noun's stream after each layer: a frame is left out, and the
    nearest mean of the others is taken."""
    traces = [model.trace(rows_of(model, frame)) for frame in frames]
    streams = np.array([[layer.after_mlp[:, NOUN] for layer in trace.layers] for trace in traces])
    streams = streams - streams.mean(axis=2, keepdims=True)  # (frames, layers, colours, d_model)
    right = []
    for left_out in range(len(frames)):
        means = np.delete(streams, left_out, axis=0).mean(axis=0)
        near = cosine(streams[left_out][:, :, None], means[:, None])
        right.append(near.argmax(axis=-1) == np.arange(near.shape[1]))
    return np.mean(right, axis=(0, 2))


def it(model):
    """Return how far the adjective moves the answer between two nouns: in their sentence, and with neither noun in the
    text; and whether the stream at "it" differs in any bit if only the adjective behind it does."""
    about = SENTENCES["it"]
    groups, inside, without, same = [], [], [], []
    bare = [[about["without nouns"].format(x=x) for x in two] for two in about["adjectives"]]
    alone = [model.logits(model.encode(texts)) for texts in bare]
    for text, (a, b), two in product(about["texts"], about["nouns"], about["adjectives"]):
        answers = [[model.word(a)] * 2, [model.word(b)] * 2]
        rows = model.encode([text.format(a=a, b=b, x=x) for x in two])
        inside.append(np.subtract(*lead(model.logits(rows), *answers)))
        without.append(np.subtract(*lead(alone[about["adjectives"].index(two)], *answers)))
        groups.append(a)
        place = int(np.flatnonzero(rows[0] != rows[1])[0]) - 2
        streams = [[layer.after_mlp[0, place] for layer in model.trace(row[None]).layers] for row in rows]
        same.append(np.array_equal(*streams))
    return {
        "pairs": len(groups),
        "effect": mean_interval(inside, groups),
        "with neither noun in the text": mean_interval(without, groups),
        "equal to the last bit at it": bool(all(same)),
    }
