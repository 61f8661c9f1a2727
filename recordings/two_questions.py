"""Two questions about a row, and one, two or four heads to answer them: what chapter 14 shows of it.

    .venv/bin/python recordings/two_questions.py

trains five models of each kind, and writes two_questions.json beside this file.
"""

from functools import partial

import numpy as np

from attn import Tape, Trace, TransformerConfig, decoder, init_transformer
from attn.course.corpora import two_relations
from attn.course.recordings import mean_losses, record
from attn.layers import linear
from attn.training import batches, cross_entropy, train
from attn.transformer import init_linear

STEPS, EVERY, SEEDS, HEADS = 4000, 100, range(5), (1, 2, 4)
CORPUS = two_relations(np.random.default_rng(0))
ASKED = ("before", "same_name")


def sizes(n_heads):
    return TransformerConfig(
        vocab_size=len(CORPUS.words), d_model=32, n_heads=n_heads, n_layers=1, d_ff=64, positions="relative",
        activation="relu", biases="mlp", unembedding="none",
    )  # fmt: skip


def answer(config, params, rows):
    X = decoder(params["layers"], config, rows)
    return [linear(X, **params[name]) for name in ASKED]


def gradients(config, params, rows, *targets):
    with Tape() as tape:
        answers = answer(config, params, rows)
    pairs = zip(answers, targets, strict=True)
    losses, grads = zip(*[cross_entropy(logits, np.maximum(t, 0), t >= 0) for logits, t in pairs], strict=True)
    return sum(losses), tape.gradients(params, *zip(answers, grads, strict=True))


def shares_right(config, params):
    answers, targets = answer(config, params, CORPUS.test["rows"]), [CORPUS.test[name] for name in ASKED]
    return [float((a.argmax(-1) == t)[t >= 0].mean()) for a, t in zip(answers, targets, strict=True)]


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


def learn(seed, n_heads, n_taken=None):
    """Return mean losses of `EVERY` steps each; shares of right answers to both questions before the first and after
    each of these; and where the heads look in the end. If it is given, only `n_taken` of the steps are taken."""
    rng, config = np.random.default_rng(seed), sizes(n_heads)
    params = {"layers": init_transformer(rng, config, dtype=np.float64)}
    params |= {name: init_linear(rng, 32, 8, dtype=np.float64) for name in ASKED}
    rows = [CORPUS.train[name] for name in ("rows", *ASKED)]
    run = train(
        *(params, partial(gradients, config)),
        *(batches(np.random.default_rng(seed), STEPS, 64, *rows), STEPS),
        **{"learning_rate": 5e-3, "warm_up": 50, "probe_every": EVERY, "n_taken": n_taken},
        probe=partial(shares_right, config),
    )
    losses = mean_losses(run.losses, EVERY)
    shares = np.round(run.probes, 4).T.tolist()
    looks = weights_on(config, run.params)
    return {"seed": seed, "loss": losses, **dict(zip(ASKED, shares, strict=True)), "weights": looks}


if __name__ == "__main__":
    kinds = {str(n_heads): (n_heads,) for n_heads in HEADS}
    record(__file__, "the toy rows attn.course.corpora.two_relations, seed 0", learn, kinds, seeds=SEEDS, every=EVERY)
