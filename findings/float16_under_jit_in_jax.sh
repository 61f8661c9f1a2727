#!/usr/bin/env bash
# jax.nn.dot_product_attention of jax 0.10.2 (CPU), in float16.
#
# Guessed: jax.jit changes how fast it is, not whether it runs.
# Seen: it runs without jit, and raises under jit. The function asks for a precision that a CPU does not have, and tries
# again without it should that fail; under jit it fails later, when the program is compiled. bfloat16 runs in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 jax==0.10.2
cd "$folder"
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp

attend = jax.nn.dot_product_attention


def asked(function, dtype):
    array = jnp.ones((1, 2, 1, 4), dtype)
    try:
        return f"runs, all ones: {bool((function(array, array, array) == 1).all())}"
    except ValueError as error:
        return f"raises: {error}"


print("jax", jax.__version__)
found = {}
for dtype in ("float32", "bfloat16", "float16"):
    for name, function in {"without jit": attend, "under jit": jax.jit(attend)}.items():
        found[dtype, name] = asked(function, dtype)
        print(f"{dtype:<8} {name:<11} {found[dtype, name]}")
assert "F16_F16_F32" in found.pop(("float16", "under jit"))
assert set(found.values()) == {"runs, all ones: True"}
PYTHON
