"""Toy models that are trained in seconds or minutes: studies of chapters 12, 13 and 15, each of its recording's name.

    .venv/bin/python -m recordings copying

trains the models of one of them, and writes attn_course/data/measured/copying.json.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np

from attn import Forbid, Tape, Trace, causal_mask, decoder, encoder, hold, init_transformer, multi_head_attention
from attn.layers import embedding, feed_forward, layer_norm, linear
from attn.training import batches, cross_entropy, train
from attn_course.corpora import coreference, fortunes, repeated, tales
from attn_course.measured import mean_losses
from recordings import gradients, share_right, toy

STUDIES = {}  # by name, each with what a script of its own would have


@dataclass(frozen=True)
class Lesson:
    """How a model is trained, as for `train`, and what is measured of it.

    `batches` takes a numpy Generator, and `begin` random parameters, of which it returns those that training begins
    with. `watch` and `at_the_end` take parameters and return a dict: as training goes on, and when it is over.
    """

    config: object
    gradients: Callable
    batches: Callable
    steps: int
    learning_rate: float
    warm_up: int
    watch: Callable = lambda params: {}
    at_the_end: Callable = lambda params: {}
    begin: Callable = lambda params: params


def study(source, kinds, *, every, n_models=5):
    """Make a study of a function that returns the lesson of a kind."""

    def kept(lesson):
        STUDIES[lesson.__name__] = SimpleNamespace(
            SOURCE=source, KINDS=kinds, SEEDS=range(n_models), EVERY=every,
            learn=partial(learn, lesson, every), __file__=__file__,
        )  # fmt: skip
        return lesson

    return kept


def learn(lesson, every, seed, *kind, n_taken=None):
    """Train one model of a kind by its lesson; return the losses and what was measured."""
    one, rng = lesson(*kind), np.random.default_rng(seed)
    params = one.begin(init_transformer(rng, one.config, dtype=np.float64))
    run = train(
        params, one.gradients, one.batches(rng), one.steps,
        learning_rate=one.learning_rate, warm_up=one.warm_up, probe=one.watch, probe_every=every, n_taken=n_taken,
    )  # fmt: skip
    watched = {name: np.round([found[name] for found in run.probes], 4).tolist() for name in run.probes[0]}
    return {"loss": mean_losses(run.losses, every), **watched, **one.at_the_end(run.params)}


# --- rows that repeat themselves, for chapter 15 ---------------------------------------------------------------------

ROWS, TEST = "the toy rows attn_course.corpora.repeated", repeated(np.random.default_rng(99), 200)
WIDE = {"n_layers": 1, "n_heads": 16, "d_k": 20, "max_distance": 19}  # an embedding for each distance
COPYING = {  # sizes, steps, learning rate, distances at which layer 1 may not look back
    "one layer": ({"n_layers": 1}, 3000, 3e-3, []),
    "one layer, 16 wide heads": (WIDE, 8000, 6e-3, []),
    "two layers": ({"n_layers": 2}, 1000, 3e-3, []),
    "two layers, no look one back": ({"n_layers": 2}, 1000, 3e-3, [1]),
}
HELD = {  # the rule to which the first head of layer 1 is held, and that of layer 2
    "nothing": (None, None),
    "layer 1: one back": ("one back", None),
    "layer 2: what to copy": (None, "what to copy"),
    "both": ("one back", "what to copy"),
    "layer 1: what to copy": ("what to copy", None),  # then one layer would do
    "layer 2: one back": (None, "one back"),  # the right rule in the wrong layer
    "layer 1: itself": ("itself", None),
    "layer 1: the first": ("the first", None),
}
ROOT = {  # what scores are divided by, what W_Q and W_K are first multiplied by, learning rate, warm-up, steps
    "with the root": (16, 1, 5e-3, 20, 4000),
    "without": (1, 1, 5e-3, 20, 4000),
    "without, quiet start": (1, 1 / 4, 5e-3, 20, 4000),
    "root, loud start, slow": (16, 4, 5e-3 / 4, 20, 12000),
    "without, quiet start, slow": (1, 1 / 4, 5e-3 / 4, 20, 4000),
    "without, quiet start, warm-up": (1, 1 / 4, 5e-3, 500, 4000),
}


@study(ROWS, COPYING, every=50)
def copying(sizes, steps, rate, forbidden):
    """Copying by one layer and by two; at the end, the shares right if layer 1 may not look 1, 2, ... 9 back."""

    def without(config, params):
        return {"without": [right(config, partial(no_looks, [*forbidden, back]), params) for back in range(1, 10)]}

    return lesson_in_copying(sizes, steps, rate, partial(no_looks, forbidden), without)


@study(ROWS, HELD, every=10)
def held_heads(*rules):
    """Copying while heads are held and all else learns; at the end, the share right with all let go, and weights."""

    def after(config, params):
        return {"let go": right(config, unchanged, params), "weights": weights_on(config, rules, params)}

    return lesson_in_copying({"n_layers": 2}, 300, 3e-3, partial(held, rules), after)


def lesson_in_copying(sizes, steps, rate, changed, at_the_end):
    """Return a lesson; `changed` returns the interventions for tokens, and `at_the_end` takes the config as well."""
    usual = {"d_model": 64, "n_heads": 4, "max_distance": 8}
    config = toy(vocab_size=20, d_ff=0, positions="relative", **usual | sizes)
    model = partial(logits, config, changed)
    return Lesson(
        config, partial(gradients, model), lambda rng: (repeated(rng, 32) for _ in range(steps)), steps, rate, 20,
        watch=lambda params: {"right": right(config, changed, params)}, at_the_end=partial(at_the_end, config),
    )  # fmt: skip


def logits(config, changed, params, tokens):
    return decoder(params, config, tokens, interventions=changed(tokens))


def right(config, changed, params):
    return round(share_right(partial(logits, config, changed), params, *TEST), 4)


def unchanged(tokens):
    return ()


def no_looks(backs, tokens):
    """Return the interventions by which layer 1 may not look exactly so many places back."""
    return [Forbid(np.eye(19, k=-back, dtype=bool), layer=1) for back in backs]


def held(rules, tokens):
    """Return the interventions that hold the first head of each layer to its rule, if it has one."""
    return [hold(looks(rule, tokens), layer, 1) for layer, rule in enumerate(rules, start=1) if rule]


def looks(rule, tokens):
    """Return where each place looks by a rule: array of int, as the tokens; -1 where the rule names no place."""
    n = tokens.shape[-1]
    places, later = np.broadcast_to(np.arange(n), tokens.shape), np.tri(n, k=-1, dtype=bool)
    same = (tokens[..., :, None] == tokens[..., None, :]) & later
    last = np.where(same.any(axis=-1), n - 1 - same[..., ::-1].argmax(axis=-1), -1)
    return {
        "one back": places - 1,
        "itself": places,
        "the first": np.zeros_like(places),
        "what to copy": np.where(last < 0, -1, last + 1),
    }[rule]


def weights_on(config, rules, params):
    """Return the mean weight of each head of layer 1 one back, and of each head of layer 2 on what to copy."""
    rows, known = TEST
    tokens = rows[:, :-1]
    with Trace() as trace:
        logits(config, partial(held, rules), params, tokens)
    first, second = (layer.attention.weights for layer in trace.layers)
    row, asks = np.nonzero(known)
    copied = second[row, :, asks, looks("what to copy", tokens)[row, asks]]
    means = np.diagonal(first, offset=-1, axis1=2, axis2=3).mean(axis=(0, 2)), copied.mean(axis=0)
    return np.round(means, 3).tolist()


@study(ROWS, ROOT, every=50)
def the_root(divisor, start, rate, warm_up, steps):
    """Copying with the root and without: the losses alone."""
    config = toy(vocab_size=20, n_heads=1, d_k=256, d_ff=0, n_layers=2, positions="relative", scale=1 / divisor)

    def begin(params):
        for layer, name in product(("layer 1", "layer 2"), ("W_Q", "W_K")):
            params[layer]["attention"][name] *= start
        return params

    def rows(rng):
        return (repeated(rng, 16, length=16) for _ in range(steps))

    model = partial(logits, config, unchanged)
    return Lesson(config, partial(gradients, model), rows, steps, rate, warm_up, begin=begin)


# --- which noun is "it", for chapter 13 ------------------------------------------------------------------------------

NOUNS = coreference(np.random.default_rng(0))
AT_IT = np.arange(10) == 7  # where "it" stands
ATTENDING = {"1": (1, 64, 8000), "1, wide MLP": (1, 192, 8000), "2": (2, 64, 2000)}  # layers, width of the MLP, steps


@study("the toy sentences attn_course.corpora.coreference, seed 0", ATTENDING, every=100)
def learning_to_attend(n_layers, d_ff, steps):
    """One layer of attention and two, trained to the end: the shares right on sentences seen and on new ones."""
    config = toy(vocab_size=len(NOUNS.words), n_heads=2, n_layers=n_layers, d_ff=d_ff, positions="sinusoid")

    def of_it(params, sentences, answers):
        with Tape() as tape:
            found = encoder(params, config, sentences)
        loss, grad = cross_entropy(found, answers[:, None] * AT_IT, np.tile(AT_IT, (len(answers), 1)))
        return loss, tape.gradients(params, (found, grad))

    def share(params, part):
        return (encoder(params, config, part["sentences"])[:, 7].argmax(axis=1) == part["answers"]).mean()

    return Lesson(
        config, of_it, lambda rng: batches(rng, steps, 64, NOUNS.train["sentences"], NOUNS.train["answers"]),
        steps, 5e-3, 50, watch=lambda params: {"seen": share(params, NOUNS.train), "new": share(params, NOUNS.test)},
    )  # fmt: skip


# --- small tales, for chapter 15 -------------------------------------------------------------------------------------

TALES, HE_OR_SHE, SAD_OR_GLAD = tales(np.random.default_rng(0)), 9, 11  # places in what is to be guessed
SMALL = {"1 layer, no MLP": (1, 0), "1 layer, MLP": (1, 64), "2 layers, no MLP": (2, 0), "2 layers, MLP": (2, 64)}


@study("the toy tales attn_course.corpora.tales, seed 0", SMALL, every=25, n_models=10)
def small_tales(n_layers, d_ff):
    """One layer and two, with and without an MLP: on new tales, the loss and the shares right of two words."""
    config = toy(vocab_size=len(TALES.words), n_heads=2, n_layers=n_layers, d_ff=d_ff, positions="relative")
    model, rows = partial(logits, config, unchanged), TALES.test["tales"]

    def on_new(params):
        found = model(params, rows[:, :-1])
        hits = (found.argmax(-1) == rows[:, 1:]).mean(axis=0)
        loss, _ = cross_entropy(found, rows[:, 1:])
        return {"new": loss, "he or she": hits[HE_OR_SHE], "sad or glad": hits[SAD_OR_GLAD]}

    return Lesson(
        config, partial(gradients, model), lambda rng: batches(rng, 600, 32, TALES.train["tales"]),
        600, 5e-3, 20, watch=on_new,
    )  # fmt: skip


# --- two, eight and twenty-four layers, for chapter 12 ---------------------------------------------------------------

FORTUNES = fortunes(np.random.default_rng(0))
KNOWABLE = slice(3, 5)  # where in what is to be guessed "she" or "he", and "smiled" or "wept", stand
WAYS = ["not added", "added, then normalised", "normalised, then added"]
WARM_UPS, RATES = {"": 0, ", warm-up": 100}, {"": 3e-3, ", small steps": 3e-4}
DEPTHS = {
    f"{n_layers} layers, {way}{slowly}{small}": (n_layers, way, WARM_UPS[slowly], RATES[small])
    for n_layers, way, slowly, small in product((2, 8, 24), WAYS, WARM_UPS, RATES)
}


@study("the toy sentences attn_course.corpora.fortunes, seed 0", DEPTHS, every=50)
def depth(n_layers, way, warm_up, rate):
    """Outputs that are added or not, normalised before or after: how often the two words that can be known are right in
    sentences not seen."""
    model, (seen, new) = partial(deep, n_layers, way), (part["sentences"] for part in (FORTUNES.train, FORTUNES.test))
    return Lesson(
        deep_sizes(n_layers), partial(gradients, model), lambda rng: batches(rng, 1000, 16, seen), 1000, rate, warm_up,
        watch=lambda params: {"right": share_right(model, params, new, np.s_[:, KNOWABLE])},
    )  # fmt: skip


def deep_sizes(n_layers):
    return toy(vocab_size=len(FORTUNES.words), n_heads=4, n_layers=n_layers, d_ff=64, n_positions=8)


def deep(n_layers, way, params, tokens):
    """Return the logits."""
    n = tokens.shape[-1]
    X = embedding(tokens, params["embedding"]) + embedding(np.arange(n), params["positions"])
    for number in range(1, n_layers + 1):
        a, m = params[f"layer {number}"]["attention"], params[f"layer {number}"]["mlp"]
        X = join(X, partial(attention, a), a["norm"], way)
        X = join(X, partial(mlp, m), m["norm"], way)
    return linear(layer_norm(X, **params["norm"]), **params["unembedding"])


def join(X, part, norm, way):
    """Replace the residual stream by what attention or the MLP computes, or add that to it, in one of two orders."""
    if way == "added, then normalised":
        return layer_norm(X + part(X), **norm)
    update = part(layer_norm(X, **norm))
    return X + update if way == "normalised, then added" else update


def attention(a, X):
    return multi_head_attention(X, a["W_Q"], a["W_K"], a["W_V"], a["W_O"], mask=causal_mask(X.shape[-2]))[0]


def mlp(m, X):
    return feed_forward(X, m["W_1"], m["b_1"], m["W_2"], m["b_2"])
