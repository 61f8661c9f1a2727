"""KerasHub on JAX, JAX's ways to take rows of a table, MLX on a CPU, and the operator of ONNX in two evaluators."""

import jax
import jax.numpy as jnp
import mlx.core as mx
import numpy as np
import onnxruntime
from keras_hub import layers
from mlx import nn
from onnx.reference import ReferenceEvaluator
from onnx_node import one_node

PINS = [
    "keras-hub==0.32.0", "keras==3.15.1", "jax==0.10.2", "mlx==0.32.4", "mlx-cpu==0.32.4", "onnx==1.23.2",
    "onnxruntime==1.32.0", "numpy==2.4.6",
]  # fmt: skip
ENVIRONMENTS = {"": {"variables": {"KERAS_BACKEND": "jax"}}}


def of_keras(kind, X, start, bfloat16=False, **about):
    layer = kind(**about, dtype="mixed_bfloat16" if bfloat16 else "float32")
    return layer(jnp.asarray(X[0]), start_index=start).astype(jnp.float32)


def keras_rotary(kind):
    def turn(X, *, start=0, longer=1, bfloat16=False):
        about = {"rope_type": kind, "scaling_factor": longer, "original_max_position_embeddings": 2048}
        return of_keras(layers.RotaryEmbedding, X, start, bfloat16, **about)

    return turn


def numbered(shape, dtype=None):
    return jnp.arange(shape[0], dtype=jnp.float32)[:, None] + jnp.zeros(shape)


def jax_table(look_up):
    def add(X, *, start=0, n_places=16):
        return look_up(numbered((n_places, X.shape[3])), jnp.arange(start, start + X.shape[2]))

    return add


def of_mlx(X, *, start=0, longer=1, part=None, bfloat16=False):
    rows = mx.array(X).astype(mx.bfloat16 if bfloat16 else mx.float32)
    return nn.RoPE(part or X.shape[3], scale=longer)(rows, start).astype(mx.float32)


def of_onnx(run):
    """Waves have to be given: here all pairs turn by a tenth with each place."""

    def turn(X, *, start=0, n_places=16, part=None):
        angles = np.repeat(np.arange(n_places, dtype=np.float32)[:, None] / 10, (part or X.shape[3]) // 2, axis=1)
        places = np.arange(start, start + X.shape[2])[None]
        inputs = {"X": X, "cos_cache": np.cos(angles), "sin_cache": np.sin(angles), "position_ids": places}
        model, arrays = one_node("RotaryEmbedding", inputs, ["Y"], {"rotary_embedding_dim": part})
        return run(model.SerializeToString()).run(None, arrays)[0]

    return turn


FUNCTIONS = {f"keras-hub RotaryEmbedding, {kind}": keras_rotary(kind) for kind in ("linear", "dynamic", "yarn")} | {
    "keras-hub SinePositionEncoding": lambda X, *, start=0, bfloat16=False: of_keras(
        layers.SinePositionEncoding, X, start, bfloat16
    ),
    "keras-hub PositionEmbedding": lambda X, *, start=0, n_places=16: of_keras(
        layers.PositionEmbedding, X, start, sequence_length=n_places, initializer=numbered
    ),
    "jax index": jax_table(lambda rows, places: rows[places]),
    "jax numpy.take": jax_table(lambda rows, places: jnp.take(rows, places, axis=0)),
    "jax lax.dynamic_slice_in_dim": jax_table(lambda rows, at: jax.lax.dynamic_slice_in_dim(rows, at[0], len(at))),
    "mlx nn.RoPE": of_mlx,
    "mlx nn.SinusoidalPositionalEncoding": lambda X: nn.SinusoidalPositionalEncoding(X.shape[3])(mx.arange(X.shape[2])),
    "onnx RotaryEmbedding, reference": of_onnx(ReferenceEvaluator),
    "onnxruntime RotaryEmbedding": of_onnx(onnxruntime.InferenceSession),
}
