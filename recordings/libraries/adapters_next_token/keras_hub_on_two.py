"""KerasHub on two back ends: TopPSampler for top-p, RandomSampler for a temperature, and TopKSampler otherwise."""

import numpy as np
from keras import ops
from keras_hub import samplers

PINS = ["keras-hub==0.32.0", "keras==3.15.1", "jax==0.10.2", "torch==2.13.0", "numpy==2.4.6"]
ENVIRONMENTS = {
    "jax": {"variables": {"KERAS_BACKEND": "jax"}},
    "torch": {"variables": {"KERAS_BACKEND": "torch"}},
}


def sampled(logits, n, *, temperature=1.0, top_k=None, top_p=None):
    if top_p is not None:
        sampler = samplers.TopPSampler(top_p, top_k, seed=0, temperature=temperature)
    elif temperature != 1:
        sampler = samplers.RandomSampler(seed=0, temperature=temperature)
    else:
        sampler = samplers.TopKSampler(seed=0, **({} if top_k is None else {"k": top_k}))
    probabilities = sampler.compute_probabilities(ops.convert_to_tensor(np.tile(logits, (n, 1))))
    return ops.convert_to_numpy(sampler.get_next_token(probabilities))


FUNCTIONS = {"keras-hub samplers": sampled}
