"""Which noun is "it"? One layer of attention and two, trained to the end: what chapter 13 shows of it.

    .venv/bin/python -m recordings learning_to_attend

trains five models of each kind, and writes attn/data/recordings/learning_to_attend.json.
"""

from functools import partial

import numpy as np

from attn import Tape, encoder, init_transformer
from attn.course.corpora import coreference
from attn.course.recordings import mean_losses
from attn.training import batches, cross_entropy, train
from recordings import toy

SOURCE = "the toy sentences attn.course.corpora.coreference, seed 0"
EVERY, SEEDS = 100, range(5)
KINDS = {"1": (1, 64, 8000), "1, wide MLP": (1, 192, 8000), "2": (2, 64, 2000)}  # layers, width of the MLP, steps
CORPUS = coreference(np.random.default_rng(0))
AT_IT = np.arange(10) == 7  # where "it" stands


def sizes(n_layers, d_ff):
    return toy(vocab_size=len(CORPUS.words), n_heads=2, n_layers=n_layers, d_ff=d_ff, positions="sinusoid")


def gradients(config, params, sentences, answers):
    with Tape() as tape:
        logits = encoder(params, config, sentences)
    loss, grad = cross_entropy(logits, answers[:, None] * AT_IT, np.tile(AT_IT, (len(answers), 1)))
    return loss, tape.gradients(params, (logits, grad))


def share_right(config, part, params):
    logits = encoder(params, config, part["sentences"])
    return float((logits[:, 7].argmax(axis=1) == part["answers"]).mean())


def learn(seed, n_layers, d_ff, steps, n_taken=None):
    """Return the losses, and the shares right on sentences of the training and on new ones."""
    rng, config, rows = np.random.default_rng(seed), sizes(n_layers, d_ff), CORPUS.train
    params = init_transformer(rng, config, dtype=np.float64)
    data = batches(rng, steps, 64, rows["sentences"], rows["answers"])
    run = train(
        params, partial(gradients, config), data, steps,
        learning_rate=5e-3, warm_up=50,
        probe=lambda params: [share_right(config, part, params) for part in (CORPUS.train, CORPUS.test)],
        probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    seen, new = np.round(run.probes, 4).T.tolist()
    return {"loss": mean_losses(run.losses, EVERY), "seen": seen, "new": new}
