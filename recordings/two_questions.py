"""Two questions about a row, and one, two or four heads to answer them, with an MLP and without: chapter 15.

    .venv/bin/python -m recordings two_questions

trains five models of each kind, and writes attn_course/data/measured/two_questions.json.
"""

from functools import partial

import numpy as np

from attn import Tape, Trace, decoder, init_transformer
from attn.layers import linear
from attn.training import batches, cross_entropy, train
from attn.transformer import init_linear
from attn_course.corpora import two_relations
from attn_course.measured import mean_losses
from recordings import toy

SOURCE = "the toy rows attn_course.corpora.two_relations, seed 0; many rows: seeds 0 to 15"
EVERY, SEEDS = 100, range(5)
KINDS = {f"{n}": (n,) for n in (1, 2, 4)}  # how many heads
KINDS |= {f"{n}, no MLP": (n, 0) for n in (1, 2, 4)}
KINDS |= {"1, no MLP, three times the rate": (1, 0, 16_000, 15e-3), "1, many rows": (1, 64, 4000, 5e-3, 16)}
CORPUS = two_relations(np.random.default_rng(0))
ASKED = ("before", "same_name")


def rows_to_learn_from(n_draws):
    """Return rows and their answers from several draws of the corpus: a dict of arrays, shape (3600 * n_draws, 8)."""
    draws = [two_relations(np.random.default_rng(seed)).train for seed in range(n_draws)]
    return {name: np.concatenate([draw[name] for draw in draws]) for name in ("rows", *ASKED)}


def sizes(n_heads, d_ff):
    sizes = {"vocab_size": len(CORPUS.words), "n_heads": n_heads, "n_layers": 1, "d_ff": d_ff}
    return toy(**sizes, positions="relative", unembedding="none")


def answer(config, params, rows):
    X = decoder(params["layers"], config, rows)
    return [linear(X, **params[name]) for name in ASKED]


def losses(answers, targets):
    """Return for each question the loss and its gradient at the logits."""
    return [cross_entropy(logits, np.maximum(wanted, 0), wanted >= 0) for logits, wanted in zip(answers, targets)]


def gradients(config, params, rows, *targets):
    with Tape() as tape:
        answers = answer(config, params, rows)
    found = losses(answers, targets)
    pairs = [(logits, grad) for logits, (_, grad) in zip(answers, found)]
    return sum(loss for loss, _ in found), tape.gradients(params, *pairs)


def shares_right(config, part, params):
    answers, targets = answer(config, params, part["rows"]), [part[name] for name in ASKED]
    return [float((a.argmax(-1) == t)[t >= 0].mean()) for a, t in zip(answers, targets, strict=True)]


def at_the_end(config, part, params):
    """Return the loss of both questions together, and the shares right."""
    found = losses(answer(config, params, part["rows"]), [part[name] for name in ASKED])
    shares = dict(zip(ASKED, np.round(shares_right(config, part, params), 4).tolist()))
    return {"loss": round(sum(loss for loss, _ in found), 5), **shares}


def weights_on(config, params):
    """Return each head's mean weight on the token just before, and on the last of the same name, where they differ."""
    rows, places = CORPUS.test["rows"], np.arange(8)
    with Trace() as trace:
        answer(config, params, rows)
    same = (rows[:, :, None] // 8 == rows[:, None, :] // 8) & (places < places[:, None])
    last = 7 - same[:, :, ::-1].argmax(axis=2)
    row, asks = np.nonzero(same.any(axis=2) & (last < places - 1))
    weights = trace.layers[0].attention.weights[row, :, asks]
    there = [weights[np.arange(len(row)), :, at] for at in (asks - 1, last[row, asks])]
    return [found.mean(axis=0).round(3).tolist() for found in there]


def learn(seed, n_heads, d_ff=64, steps=4000, learning_rate=5e-3, n_draws=1, n_taken=None):
    """Return the losses and, on new rows, the shares right of both questions. At the end, what the heads attend to, and
    losses and shares on rows of the training, those of the first draw, and on new ones."""
    rng, config, seen = np.random.default_rng(seed), sizes(n_heads, d_ff), rows_to_learn_from(n_draws)
    params = {"layers": init_transformer(rng, config, dtype=np.float64)}
    params |= {name: init_linear(rng, 32, 8, dtype=np.float64) for name in ASKED}
    data = batches(np.random.default_rng(seed), steps, 64, *seen.values())
    run = train(
        params, partial(gradients, config), data, steps,
        learning_rate=learning_rate, warm_up=50,
        probe=partial(shares_right, config, CORPUS.test), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    before, same_name = np.round(run.probes, 4).T.tolist()
    parts = {"seen": CORPUS.train, "new": CORPUS.test}
    return {
        "loss": mean_losses(run.losses, EVERY),
        "before": before,
        "same_name": same_name,
        "weights": weights_on(config, run.params),
        "at the end": {name: at_the_end(config, part, run.params) for name, part in parts.items()},
    }
