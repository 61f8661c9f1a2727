"""Where words lie in key space and query space, before and after training: what chapter 14 shows of it.

    .venv/bin/python -m recordings key_spaces

trains ten translators of each kind until they translate nearly without error, and writes
attn_course/data/measured/key_spaces.json. The kinds differ in one thing: by how much their embeddings are multiplied
before training begins.
"""

import numpy as np

from attn import Tape, Trace, TransformerConfig, decoder, encoder, init_transformer
from attn.layers import linear
from attn.training import batches, cross_entropy, train
from attn.transformer import init_linear
from attn_course.corpora import apples
from attn_course.measured import mean_losses

SOURCE = "the toy translations attn_course.corpora.apples, seed 0"
STEPS, EVERY, SEEDS = 600, 150, range(10)
KINDS = {"1": (1,), "0.02": (0.02,)}  # by how much the embeddings are multiplied
CORPUS = apples(np.random.default_rng(0))
SENTENCE = "Apple iPhone is an amazing phone. I like it better than an apple."
PRONOUNS = {
    "The dog finished his food quickly.": (1, 3),
    "My favourite fruit is an apple. I prefer it over a banana.": (5, 8),
}
COMMON = {"vocab_size": len(CORPUS.words), "d_model": 32, "n_heads": 2, "d_ff": 64, "activation": "relu"}
READER = TransformerConfig(**COMMON, n_layers=2, biases="mlp", positions="relative", unembedding="none")
WRITER = TransformerConfig(**COMMON, n_layers=1, biases="mlp", positions="sinusoid", unembedding="none", cross=True)
SIDES = [("decoder", WRITER), ("encoder", READER)]


def untrained(seed, start):
    rng = np.random.default_rng(seed)
    params = {side: init_transformer(rng, config, dtype=np.float64) for side, config in SIDES}
    params["unembedding"] = init_linear(rng, 32, len(CORPUS.words), dtype=np.float64)
    for side, _ in SIDES:
        params[side]["embedding"] *= start
    return params


def translate(params, source, target):
    real = source != 0
    encoded = encoder(params["encoder"], READER, source, mask=real)
    X = decoder(params["decoder"], WRITER, target[:, :-1], context=encoded, context_mask=real)
    return linear(X, **params["unembedding"])


def gradients(params, source, target):
    with Tape() as tape:
        logits = translate(params, source, target)
    loss, grad = cross_entropy(logits, target[:, 1:], target[:, 1:] != 0)
    return loss, tape.gradients(params, (logits, grad))


def share_right(params):
    """Return the share of test sentences of which every next word is guessed right."""
    source, target = CORPUS.test["source"], CORPUS.test["target"]
    wanted = target[:, 1:]
    hits = translate(params, source, target).argmax(-1) == wanted
    return float((hits | (wanted == 0)).all(axis=1).mean())


def cosines(rows):
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units @ units.T


def spaces(params, text, layer):
    """Return the tables of cosines of keys, of queries, and of keys by the scores that all queries give them."""
    with Trace() as trace:
        encoder(params["encoder"], READER, CORPUS.encode(text)[None])
    seen = trace.layers[layer].attention
    side_by_side = [np.concatenate(heads[0], axis=1) for heads in (seen.K, seen.Q)]
    scores = np.concatenate(seen.Q[0] @ np.swapaxes(seen.K[0], 1, 2))
    return [cosines(rows) for rows in (*side_by_side, (scores - scores.mean(axis=1, keepdims=True)).T)]


def rest(table, pair):
    """Return the mean cosine of the pronoun with all words but its noun and itself."""
    return np.mean([table[pair[1], other] for other in range(len(table)) if other not in pair])


def all_cosines(params):
    """Return the cosines of all pairs of words of the sentence in layer 1; and, in layer 2, of pronouns with nouns and
    with the rest of their sentences."""
    pairs = np.triu_indices(len(SENTENCE.split()), 1)
    keys, queries, scores = (table[pairs].round(3).tolist() for table in spaces(params, SENTENCE, layer=0))
    pronouns = [
        [(table[pair], rest(table, pair)) for table in spaces(params, text, layer=1)[:2]]
        for text, pair in PRONOUNS.items()
    ]
    return {"keys": keys, "queries": queries, "scores": scores, "pronouns": np.round(pronouns, 3).tolist()}


def learn(seed, start, n_taken=None):
    """Return the losses, the shares of sentences translated right, and where words lie before and after training."""
    params = untrained(seed, start)
    rows = CORPUS.train["source"], CORPUS.train["target"]
    data = batches(np.random.default_rng(seed), STEPS, 32, *rows)
    run = train(
        params, gradients, data, STEPS,
        learning_rate=5e-3, warm_up=50, probe=share_right, probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    return {
        "loss": mean_losses(run.losses, EVERY),
        "right": np.round(run.probes, 4).tolist(),
        "before": all_cosines(params),
        "after": all_cosines(run.params),
    }
