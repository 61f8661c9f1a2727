"""The door: what comes in is turned into arrays of one dtype, or refused with a sentence that says what it is."""

import operator

import numpy as np

PLAIN = [{(np.ndarray, np.dtype(kind))} for kind in ("float32", "float64")]  # taken as they are


def as_array(name, given):
    """Return what is given as an array, or say that its rows have different lengths, or that some of it is masked."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose own mask would be lost: give its data, and a mask beside it")
    try:
        return np.asarray(given)
    except ValueError:
        rows = given
        while len(lengths := sorted({len(row) if hasattr(row, "__len__") else 0 for row in rows})) == 1:
            rows = [inner for row in rows for inner in row]
        raise ValueError(f"the rows of {name} need one length, but theirs are {lengths}") from None


def as_floats(**arrays):
    """Return the arrays in one floating dtype; integers count as float64."""
    if {(type(array), getattr(array, "dtype", None)) for array in arrays.values()} in PLAIN:
        return list(arrays.values())
    arrays = {name: as_array(name, array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} must hold real numbers, but its type is {array.dtype}")
    dtypes = {array.dtype for array in arrays.values()}
    dtype = np.result_type(*(dtype if dtype.kind == "f" else np.float64 for dtype in dtypes)).newbyteorder("=")
    return [array.astype(dtype, copy=False) for array in arrays.values()]


def widened(array):
    """Return float16 as float32, to compute in: it overflows at 65,504."""
    return array.astype(np.promote_types(array.dtype, np.float32), copy=False)


def as_booleans(name, mask):
    """Return a mask as booleans; it may be made of 0 and 1, but not of what is added to scores."""
    mask = as_array(name, mask)
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise TypeError(f"{name} is boolean, or made of 0 and 1, but its type is {mask.dtype}")
    return mask.astype(bool, copy=False)


def as_tokens(tokens):
    """Return tokens as an array with an axis of positions, or say what they are instead."""
    try:
        tokens = as_array("tokens", tokens)
    except ValueError as error:
        told = "fill the shorter ones up on the left, and tell by a mask, False there, that this is padding"
        raise ValueError(f"{error}: {told}") from None
    if tokens.dtype.kind == "U":
        raise TypeError(f"tokens are integers, but this is the text {str(tokens.flat[0])!r}: encode it first")
    if tokens.ndim == 0:
        raise ValueError("tokens need an axis of positions, but there is a single number")
    if tokens.size and tokens.dtype.kind not in "iu":
        raise TypeError(f"tokens must be integers, but their type is {tokens.dtype}")
    return tokens.astype(int, copy=False)


def as_mask(mask, shape):
    """Return a mask of tokens as booleans, or say that it has another shape than they have."""
    mask = as_booleans("a mask", mask)
    if mask.shape != shape:
        raise ValueError(f"a mask of shape {mask.shape} does not fit tokens of shape {shape}")
    return mask


def as_size(name, size, smallest=1):
    """Return a size, which may be an integer of NumPy's, as an int."""
    try:
        whole = None if isinstance(size, bool) else operator.index(size)
    except TypeError:
        whole = None
    if whole is None or whole < smallest:
        wanted = "a positive integer" if smallest else "zero or a positive integer"
        raise ValueError(f"{name} must be {wanted}, but is {size!r}")
    return whole


def check_rng(rng):
    """Refuse what is not a generator of random numbers, such as a seed."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy Generator, as np.random.default_rng(0) is one, but is {rng!r}")


def check_tokens(tokens, vocab_size):
    """Refuse tokens that are not in the vocabulary, with the first of them."""
    unknown = [int(token) for token in tokens if not 0 <= token < vocab_size]
    if unknown:
        raise ValueError(f"tokens must be from 0 to {vocab_size - 1}, but there is {unknown[0]}")


def with_common_axes(Q, K, V):
    """Return Q, K and V with the same leading axes, or say which shapes do not fit."""
    for name, array in {"Q": Q, "K": K, "V": V}.items():
        if array.ndim < 2:
            raise ValueError(f"{name} needs at least two axes (tokens, entries), but its shape is {array.shape}")
    if Q.shape[-1] != K.shape[-1] or Q.shape[-1] == 0:
        raise ValueError(f"Q and K need the same d_k of at least 1: Q has shape {Q.shape}, K has shape {K.shape}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"each key needs one value: K has shape {K.shape}, V has shape {V.shape}")
    if Q.shape[:-2] == K.shape[:-2] == V.shape[:-2]:
        return [Q, K, V]
    try:
        leading = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    except ValueError:
        raise ValueError(
            f"leading axes do not broadcast: Q has shape {Q.shape}, K has shape {K.shape}, V has shape {V.shape}"
        ) from None
    return [np.broadcast_to(array, (*leading, *array.shape[-2:])) for array in (Q, K, V)]
