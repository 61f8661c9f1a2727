"""ggml, which llama.cpp is built on: ggml_flash_attn_ext.

Its scale has to be given. Queries are float32 and what is added is float16, as it demands.
"""

import ctypes

import ggml
import numpy as np
from ggml.utils import NUMPY_DTYPE_TO_GGML_TYPE, to_numpy

PINS = ["ggml-python==0.0.45", "numpy==2.4.6"]


def flash(Q, K, V, *, bias=None, scale=None, softcap=0.0, sink=False, groups=False, raw=False):
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=64 * 2**20, mem_buffer=None, no_alloc=False))

    def tensor(array):
        shape = (ctypes.c_int64 * array.ndim)(*reversed(array.shape))
        made = ggml.ggml_new_tensor(context, NUMPY_DTYPE_TO_GGML_TYPE[array.dtype.type], array.ndim, shape)
        ctypes.memmove(ggml.ggml_get_data(made), np.ascontiguousarray(array).ctypes.data, array.nbytes)
        return made

    added = None if bias is None else ggml.ggml_cast(context, tensor(bias), ggml.GGML_TYPE_F16)
    inputs = [tensor(Q.astype(np.float32)), tensor(K), tensor(V), added]
    output = ggml.ggml_flash_attn_ext(context, *inputs, Q.shape[3] ** -0.5 if scale is None else scale, 0.0, softcap)
    if sink:
        ggml.ggml_flash_attn_ext_add_sinks(output, tensor(np.zeros(Q.shape[1], np.float32)))
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, output)
    ggml.ggml_graph_compute_with_ctx(context, graph, 1)
    found = to_numpy(output).reshape(tuple(reversed(output.contents.ne))).copy()
    ggml.ggml_free(context)
    return found if raw else found.transpose(0, 2, 1, 3)


FUNCTIONS = {"ggml ggml_flash_attn_ext": flash}
