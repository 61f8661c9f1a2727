"""Small tales, learned by one layer and by two, with and without an MLP: what chapter 15 shows of it.

    .venv/bin/python -m recordings small_tales

trains ten models of each kind, and writes attn/data/recordings/small_tales.json.
"""

from functools import partial

import numpy as np

from attn import decoder, init_transformer
from attn.course.corpora import tales
from attn.course.recordings import mean_losses
from attn.training import batches, cross_entropy, train
from recordings import gradients, toy

SOURCE = "the toy tales attn.course.corpora.tales, seed 0"
STEPS, EVERY, SEEDS = 600, 25, range(10)
KINDS = {"1 layer, no MLP": (1, 0), "1 layer, MLP": (1, 64), "2 layers, no MLP": (2, 0), "2 layers, MLP": (2, 64)}
CORPUS = tales(np.random.default_rng(0))
HE_OR_SHE, SAD_OR_GLAD = 9, 11  # places in what is to be guessed


def sizes(n_layers, d_ff):
    return toy(vocab_size=len(CORPUS.words), n_heads=2, n_layers=n_layers, d_ff=d_ff, positions="relative")


def evaluate(config, params):
    """Return the loss on tales not seen, and the shares right of "he or she" and of "sad or glad"."""
    rows = CORPUS.test["tales"]
    logits = decoder(params, config, rows[:, :-1])
    loss, _ = cross_entropy(logits, rows[:, 1:])
    hits = logits.argmax(-1) == rows[:, 1:]
    return [float(loss), float(hits[:, HE_OR_SHE].mean()), float(hits[:, SAD_OR_GLAD].mean())]


def learn(seed, n_layers, d_ff, n_taken=None):
    """Return the losses, and on new tales the losses and the shares right of two words."""
    rng, config = np.random.default_rng(seed), sizes(n_layers, d_ff)
    params = init_transformer(rng, config, dtype=np.float64)
    data = batches(rng, STEPS, 32, CORPUS.train["tales"])
    run = train(
        params, partial(gradients, lambda params, tokens: decoder(params, config, tokens)), data, STEPS,
        learning_rate=5e-3, warm_up=20, probe=partial(evaluate, config), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    new, he_or_she, sad_or_glad = np.round(run.probes, 4).T.tolist()
    return {
        "loss": mean_losses(run.losses, EVERY),
        "new": new,
        "he or she": he_or_she,
        "sad or glad": sad_or_glad,
    }
