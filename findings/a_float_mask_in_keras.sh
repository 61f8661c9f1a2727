#!/usr/bin/env bash
# layers.GroupQueryAttention of Keras 3.15.1 (on jax 0.10.2, CPU), given a mask of floats where its documentation has one
# of Booleans.
#
# Guessed: return_attention_scores changes what is returned, not what is computed.
# Seen: with it a key is seen if its number is above 0.5; without it, if its number is not 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 keras==3.15.1 jax==0.10.2
cd "$folder"
JAX_PLATFORMS=cpu KERAS_BACKEND=jax KERAS_HOME="$folder" "$folder/venv/bin/python" - <<'PYTHON'
import keras
import numpy as np

layer = keras.layers.GroupQueryAttention(head_dim=4, num_query_heads=1, num_key_value_heads=1, use_bias=False)
x = np.eye(4, dtype=np.float32)[None, :3]
layer.build(x.shape, x.shape, x.shape)
query, key, value, out = layer.weights
for weight in (query, key):
    weight.assign(np.zeros(weight.shape))
for weight in (value, out):
    weight.assign(np.eye(4).reshape(weight.shape))  # the output is the row of weights
mask = np.tile(np.float32([0.6, 0.4, 0.0]), (1, 3, 1))
alone = np.array(layer(x, x, attention_mask=mask))[0, :, :3]
with_scores, scores = (np.array(one) for one in layer(x, x, attention_mask=mask, return_attention_scores=True))
with_scores = with_scores[0, :, :3]
print("keras", keras.__version__, "mask", mask[0, 0].astype(float).round(1).tolist())
print("output without return_attention_scores:", alone[0].tolist())
print("output with return_attention_scores:   ", with_scores[0].tolist())
assert np.allclose(alone, [0.5, 0.5, 0]) and np.allclose(with_scores, [1, 0, 0]) and np.allclose(scores, [1, 0, 0])
PYTHON
