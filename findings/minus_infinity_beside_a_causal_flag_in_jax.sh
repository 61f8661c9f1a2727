#!/usr/bin/env bash
# jax.nn.dot_product_attention of jax 0.10.2 (CPU): is_causal=True beside a bias of minus infinity.
#
# Guessed: a query for which the flag and the bias together leave nothing gets NaN or zeros.
# Seen: the flag hides with a finite number. Minus infinity is below it, so the query attends evenly to the *later*
# tokens that the flag hides. With the same key hidden by a Boolean mask it gets the mean of all tokens.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 jax==0.10.2
cd "$folder"
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np

q = k = jnp.zeros((1, 3, 1, 4))
v = jnp.eye(4)[None, :3, None, :]  # the output is the row of weights
no_first = np.array([False, True, True])


def weights(**options):
    return np.array(jax.nn.dot_product_attention(q, k, v, is_causal=True, **options))[0, :, 0, :3].round(3).tolist()


hidden = jnp.where(jnp.array(no_first), 0.0, -jnp.inf)[None, None, None, :].repeat(3, axis=2)
by_bias, by_mask = weights(bias=hidden), weights(mask=jnp.array(np.tile(no_first, (1, 1, 3, 1))))
print("jax", jax.__version__)
print("first key hidden by minus infinity:", by_bias)
print("first key hidden by a mask:        ", by_mask)
assert by_bias[0] == [0.0, 0.5, 0.5], "the first query attends to the two later keys alone"
assert np.allclose(by_mask[0], 1 / 3, atol=1e-3) and by_bias[1:] == by_mask[1:] == [[0, 1, 0], [0, 0.5, 0.5]]
PYTHON
