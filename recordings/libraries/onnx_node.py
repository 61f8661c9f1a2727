"""Models of a single ONNX operator, for whatever runs them."""

from onnx import TensorProto, helper


def one_node(operator, inputs, outputs, attributes, *, opset=23, domain="", bfloat16=False):
    """Return a model that is one node, and its inputs; an input that is None and an output "" are left out.

    With `bfloat16`, a cast stands before and after the node, since NumPy has no such numbers to give.
    """
    arrays = {name: array for name, array in inputs.items() if array is not None}
    attributes = {name: value for name, value in attributes.items() if value is not None}
    mark = " in bfloat16" if bfloat16 else ""
    names, results = (
        [name + mark if name in arrays else "" for name in inputs],
        [name and name + mark for name in outputs],
    )
    outputs = [name for name in outputs if name]
    nodes = [helper.make_node(operator, names, results, domain=domain, **attributes)]
    if bfloat16:
        casts = [helper.make_node("Cast", [name], [name + mark], to=TensorProto.BFLOAT16) for name in arrays]
        nodes = [*casts, *nodes, *(helper.make_node("Cast", [name + mark], [name], to=1) for name in outputs)]
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
    taken = [helper.make_tensor_value_info(name, kinds[name], array.shape) for name, array in arrays.items()]
    given = [helper.make_tensor_value_info(name, next(iter(kinds.values())), None) for name in outputs]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph, version = helper.make_graph(nodes, "attention", taken, given), helper.find_min_ir_version_for(opsets[:1])
    return helper.make_model(graph, opset_imports=opsets, ir_version=version), arrays


def attention(run, opset):
    """Return the operator Attention of an opset as a function; `run` takes a model and arrays, and returns outputs."""

    def windowed(
        Q, K, V, *, mask=None, causal=False, scale=None, softcap=None, past=0, bfloat16=False, weights=False,
        groups=False, raw=False, window=None,
    ):  # fmt: skip
        inputs = {"Q": Q, "K": K[:, :, past:], "V": V[:, :, past:], "attn_mask": mask}
        if past:
            inputs |= {"past_key": K[:, :, :past], "past_value": V[:, :, :past]}
        attributes = {"is_causal": int(causal), "scale": scale, "softcap": softcap, "left_window_size": window}
        attributes["qk_matmul_output_mode"] = 3 if weights else None
        outputs = ["Y", *(["present_key", "present_value"] if past else ["", ""]), "weights" if weights else ""]
        found = run(*one_node("Attention", inputs, outputs, attributes, opset=opset, bfloat16=bfloat16))
        return (found[0], found[-1]) if weights else found[0]

    def plain(
        Q,
        K,
        V,
        *,
        mask=None,
        causal=False,
        scale=None,
        softcap=None,
        past=0,
        bfloat16=False,
        weights=False,
        groups=False,
        raw=False,
    ):
        options = {"softcap": softcap, "past": past, "bfloat16": bfloat16, "weights": weights}
        return windowed(Q, K, V, mask=mask, causal=causal, scale=scale, **options)

    return windowed if opset >= 25 else plain
