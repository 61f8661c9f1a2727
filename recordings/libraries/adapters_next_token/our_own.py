"""The package of this book, which draws where it is given a generator."""

import numpy as np

from attn.generation import draw

PINS = ["attention-worked-out @ file://{repository}", "numpy==2.4.6"]


def ours(logits, n, *, temperature=1.0, top_k=None, top_p=None):
    rng = np.random.default_rng(0) if temperature else None
    return draw(np.tile(logits, (n, 1)), rng, temperature, top_k, top_p)


FUNCTIONS = {"attn draw": ours}
