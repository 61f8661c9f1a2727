"""Two questions about a row, and one, two or four heads to answer them: what chapter 14 shows of it.

    .venv/bin/python -m recordings.two_questions

trains five models of each kind, and writes attn/data/recordings/two_questions.json.
"""

from functools import partial

import numpy as np

from attn import Tape, Trace, TransformerConfig, decoder, init_transformer
from attn.course.corpora import two_relations
from attn.course.recordings import mean_losses, record
from attn.layers import linear
from attn.training import batches, cross_entropy, train
from attn.transformer import init_linear

SOURCE = "the toy rows attn.course.corpora.two_relations, seed 0"
STEPS, EVERY, SEEDS = 4000, 100, range(5)
KINDS = {"1": (1,), "2": (2,), "4": (4,)}  # how many heads
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
    found = [cross_entropy(logits, np.maximum(wanted, 0), wanted >= 0) for logits, wanted in zip(answers, targets)]
    pairs = [(logits, grad) for logits, (_, grad) in zip(answers, found)]
    return sum(loss for loss, _ in found), tape.gradients(params, *pairs)


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
    """Return the losses, the shares right of both questions, and what the heads attend to at the end."""
    rng, config = np.random.default_rng(seed), sizes(n_heads)
    params = {"layers": init_transformer(rng, config, dtype=np.float64)}
    params |= {name: init_linear(rng, 32, 8, dtype=np.float64) for name in ASKED}
    rows = [CORPUS.train[name] for name in ("rows", *ASKED)]
    data = batches(np.random.default_rng(seed), STEPS, 64, *rows)
    run = train(
        params, partial(gradients, config), data, STEPS,
        learning_rate=5e-3, warm_up=50, probe=partial(shares_right, config), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    before, same_name = np.round(run.probes, 4).T.tolist()
    return {
        "seed": seed,
        "loss": mean_losses(run.losses, EVERY),
        "before": before,
        "same_name": same_name,
        "weights": weights_on(config, run.params),
    }


if __name__ == "__main__":
    record(__file__, SOURCE, learn, KINDS, seeds=SEEDS, every=EVERY)
