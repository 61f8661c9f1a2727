"""Checks for an attention of your own: a file to take along, which needs NumPy and nothing else.

    from checks_for_yours import check_attention, report

    def mine(Q, K, V, allowed):                  # arrays of shape (batch, heads, n, d)
        return my_attention(Q, K, V, mask=allowed)

    print(report(check_attention(mine)))

Each check is a property that attention has, whoever wrote it; a mistake breaks some of them, and the sentence beside it
says where to look. For PyTorch, `tensor=torch.tensor` makes tensors of what your function gets. The book's page "Test
your own attention" plants ten mistakes, and shows which check finds which.
"""

import textwrap

import numpy as np

# How far a right result may lie from the exact one: several times what it was found to.
TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}
BATCH, HEADS, N, D = 2, 4, 6, 8
MANY = 3_000  # keys: a sum kept in half precision stops growing long before


def exact(Q, K, V, allowed=None):
    """Return attention in float64, written out: softmax(Q Kᵀ / √d) V."""
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ V


def check_attention(attend, *, tensor=np.asarray, dtype="float32", causal=None, both=None, groups=False, seed=0):
    """Check a function that attends.

    Parameters
    ----------
    attend : callable (Q, K, V, allowed) -> output
        Of shapes (batch, heads, n_queries, d), (batch, heads, n_keys, d) twice; `allowed` is an array of bool of shape
        (n_queries, n_keys), True where a query may look at a key, or None. Whatever your own function calls it, turn it
        into that here.
    tensor : callable, optional
        Makes of an array what your function takes, such as `torch.tensor`.
    dtype : {"float64", "float32", "float16", "bfloat16"}
        In which your function computes; it says how near a result must be. Turn inputs into it in `tensor`.
    causal : callable (Q, K, V) -> output, optional
        Your function with its own causal mask, if it has one.
    both : callable (Q, K, V, allowed) -> output, optional
        Your function with its own causal mask and with a mask that is given, at once.
    groups : bool
        Whether it takes fewer heads of keys and values than of queries as well.
    seed : int

    Returns
    -------
    list of (str, str)
        The name of each check, and "" where it holds, or what is wrong.
    """
    near, rng = TOLERANCES[dtype], np.random.default_rng(seed)

    def call(function, *arrays):
        """Return the output as an array; what is None stays so."""
        given = [tensor(array) if array is not None and array.dtype != bool else array for array in arrays[:3]]
        given += [array if array is None else tensor(array) for array in arrays[3:]]
        return as_array(function(*given))

    def run(*arrays):
        return call(attend, *arrays)

    Q, K, V = rng.normal(size=(3, BATCH, HEADS, N, D))
    past = np.tri(N, dtype=bool)
    holes = rng.random((N, N)) < 0.5  # some rows see later keys, and none sees nothing
    holes[range(N), rng.permutation(N)] = True
    wide = np.concatenate([Q, Q[::-1]], axis=-1), np.concatenate([K, V], axis=-1), V
    long = np.zeros((BATCH, HEADS, MANY, D))
    checks = {
        "the shape": lambda: _shape(run(Q, K, V, None)),
        "weights sum to 1": lambda: _same(run(Q, K, np.ones_like(V), None), 1.0, near, ONES),
        "weights sum to 1 under a mask": lambda: _same(run(Q, K, np.ones_like(V), past), 1.0, near, MASKED_ONES),
        "the weights of many keys sum to 1": lambda: _same(
            run(Q, long, long + 1, None), 1.0, max(near, 1e-3), MANY_ONES
        ),
        "the root": lambda: _root(run(Q, K, V, None), Q, K, V, near),
        "what is hidden has no effect": lambda: _hidden(run, Q, K, V, past, near),
        "what is allowed has an effect": lambda: _allowed(run, Q, K, V, past, near),
        "the exact result": lambda: _same(run(Q, K, V, past), exact(Q, K, V, past), near, EXACT),
        "the root of another width": lambda: _same(run(*wide, None), exact(*wide), near, WIDTH),
        "values of another width": lambda: _same(run(Q, K, V[..., :3], None), exact(Q, K, V[..., :3]), near, VALUES),
        "a mask with holes": lambda: _same(run(Q, K, V, holes), exact(Q, K, V, holes), near, HOLES),
        "a mask for two queries": lambda: _same(
            run(Q[..., :2, :], K, V, holes[:2]), exact(Q[..., :2, :], K, V, holes[:2]), near, HOLES
        ),
        "a query that may see nothing": lambda: _empty(run, Q, K, V, holes, near),
        "heads and texts do not mix": lambda: _apart(run, Q, K, V, near),
        "large scores": lambda: _large(run, Q, K, V, near),
        "large scores under a mask": lambda: _hidden(run, *_as_large(Q, K, dtype), V, past, near, HIDDEN_LARGE),
        "twice the same": lambda: _same(run(Q, K, V, past), run(Q, K, V, past), 0, TWICE),
        "inputs stay as they are": lambda: _untouched(attend, [tensor(array) for array in (Q, K, V)]),
    }
    if causal:
        checks["the causal mask"] = lambda: _causal(lambda *arrays: call(causal, *arrays), Q, K, V, past, near)
        checks["new queries, old keys"] = lambda: _corner(lambda *arrays: call(causal, *arrays), Q, K, V, past, near)
    if both:
        given = holes | np.eye(N, dtype=bool)
        checks["the causal mask and another"] = lambda: _same(
            call(both, Q, K, V, given), exact(Q, K, V, past & given), near, BOTH
        )
    if groups:
        checks["grouped heads"] = lambda: _groups(run, Q, K, V, near)
    return [(name, _said(check)) for name, check in checks.items()]


def check_layer(layer, d_model, *, tensor=np.asarray, dtype="float32", causal=False, also=(), seed=0):
    """Check a whole layer of attention, without positions: X of shape (batch, n, d_model) to an output of that shape.

    It finds heads that were cut with `view` where `transpose` was meant, a causal mask that leaks, and dropout. `also`
    has other ways to call the same layer: with its weights asked for, or with gradients on. They must answer the same.
    """
    near, X = TOLERANCES[dtype] * 10, np.random.default_rng(seed).normal(size=(BATCH, N, d_model))

    def run(array):
        return as_array(layer(tensor(array)))

    checks = {"twice the same": lambda: _same(run(X), run(X), 0, TWICE)}
    checks["texts do not mix"] = lambda: _same(run(X)[:1], run(np.stack([X[0], X[0]]))[:1], near, TEXTS)
    for number, other in enumerate(also, start=1):
        checks[f"another way to ask, {number}"] = lambda other=other: _same(
            as_array(other(tensor(X))), run(X), near, OTHERWISE
        )
    if causal:
        changed = X.copy()
        changed[:, -1] = np.random.default_rng(seed + 1).normal(size=(BATCH, d_model))
        checks["the causal mask"] = lambda: _same(run(X)[:, :-1], run(changed)[:, :-1], near, LEAK)
    else:
        order = np.arange(N)[::-1]
        checks["words in another order"] = lambda: _same(run(X)[:, order], run(X[:, order]), near, ORDER)
    return [(name, _said(check)) for name, check in checks.items()]


def check_rotary(turn, *, pairs, base=10_000.0, tensor=np.asarray, dtype="float32", seed=0):
    """Check rotary positions: turn(X, positions), X of shape (n, d), positions of shape (n,).

    Parameters
    ----------
    pairs : {"neighbours", "halves"}
        Which entries are turned together: 2i and 2i + 1, as in Llama's own code and in GGUF files of a Llama, or i and
        i + d / 2, as in `transformers`.
    base : float
        The largest wavelength over 2π, nearly; the file of a model says it.
    """
    near, rng = TOLERANCES[dtype] * 10, np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, N, D))
    places = np.arange(N)

    def run(array, positions):
        return as_array(turn(tensor(array), tensor(np.asarray(positions))))

    def scores(shift):
        return run(X, places + shift) @ run(Y, places + shift).T

    checks = {
        "the first place": lambda: _same(run(X[:1], [0]), X[:1], near, "place 0 should leave a vector as it is"),
        "lengths": lambda: _same(
            np.linalg.norm(run(X, places), axis=-1), np.linalg.norm(X, axis=-1), near, "a turn keeps lengths"
        ),
        "only distances count": lambda: _same(scores(7), scores(0), near, SHIFT),
        "the pairs and the base": lambda: _same(run(X, places), turned(X, places, pairs, base), near, PAIRS),
    }
    return [(name, _said(check)) for name, check in checks.items()]


def check_steps(at_once, step_by_step, X, *, dtype="float32"):
    """Check a cache: outputs of one pass over X, shape (n, d), against those with each row given after the others.

    `at_once` takes X and returns (n, d). `step_by_step` takes X and returns the same, with one row read at a time, or
    with some read together and the others after them, which finds more.
    """
    near = TOLERANCES[dtype] * 10
    return [("a cache", _said(lambda: _same(as_array(at_once(X)), as_array(step_by_step(X)), near, CACHE)))]


def check_padding(model, tokens, *, dtype="float32"):
    """Check padding: `model` takes a list of rows of tokens, pads them itself, and returns for each row what it gives
    its last token, shape (n_rows, d). A row must get the same alone and beside a longer one."""
    near, longer = TOLERANCES[dtype] * 10, [*tokens, *tokens]
    alone, beside = as_array(model([tokens])), as_array(model([tokens, longer]))
    return [("padding", _said(lambda: _same(beside[:1], alone, near, PADDING)))]


def report(findings):
    """Return the findings as text, a line each; long ones go on in the next."""
    lines = [f"{'✗' if wrong else '✓'} {name}{': ' + wrong if wrong else ''}" for name, wrong in findings]
    return "\n".join(textwrap.fill(line, 84, subsequent_indent="    ") for line in lines)


# --- what is wrong, and where to look -------------------------------------------------------------

ONES = "values of 1 come out as {found}: is softmax over the keys, the last axis? Is dropout on, or its factor?"
MASKED_ONES = "values of 1 come out as {found}: is the mask set before softmax, to -inf, and not after it?"
EXACT = "the result is off by {off}"
MANY_ONES = f"values of 1 under {MANY:,} equal keys are {{found}}: is the sum of softmax kept in half precision?"
WIDTH = "with queries and keys of 16 entries, off by {off}: is the root that of another number, or fixed?"
VALUES = "with values of 3 entries, off by {off}: is the root that of the values' length, or are they cut?"
HOLES = "a mask that is not causal gives another result, off by {off}: is every mask taken as causal, cut, or dropped?"
EMPTY = "a query that may see nothing receives what it must not see, off by {off}: hide by -inf, and give it zeros"
BOTH = "a causal flag with a mask beside it is off by {off}: is one of the two dropped?"
OTHERWISE = "the same layer, asked in another way, answers otherwise, off by {off}: is a mask or a flag dropped there?"
TWICE = "two calls differ by {off}: is dropout on?"
TEXTS = "a text changes with another text of its batch, by {off}"
LEAK = "earlier outputs change with the last token, by {off}"
ORDER = "words in another order get other outputs, off by {off}: are heads cut with reshape where transpose is needed?"
SHIFT = "scores change by {off} if all places are moved by 7"
PAIRS = "off by {off}: are neighbours turned together, or halves? Is it the model's base?"
CACHE = "with a cache the outputs are off by {off}: do new tokens get the next places, and see all keys?"
PADDING = "a row changes by {off} beside a longer one: is padding hidden? Where do places begin? Are values turned?"
HIDDEN = "a hidden key changes outputs by {off}: is True what is hidden? Is the mask added as 0 and 1?"
HIDDEN_LARGE = (
    "a hidden key changes outputs by {off} where scores are large: is it hidden by a number that scores can pass, and "
    "not by -inf? Does the product overflow?"
)
CAUSAL = "the causal mask gives another result, off by {off}: does it hide the upper triangle, where rows ask?"
CORNER = "two new queries for six keys are off by {off}: the last query must see all keys; align the mask bottom right"
GROUPS = "query heads get the keys of another group, off by {off}: heads 0 and 1 share the first (repeat_interleave)"


def as_array(result):
    """Return a result as an array of float64, whatever made it."""
    for method in ("detach", "cpu", "double"):  # NumPy has no bfloat16
        result = getattr(result, method)() if hasattr(result, method) else result
    return np.asarray(result, dtype=float).copy()


def _said(check):
    try:
        check()
    except AssertionError as error:
        return str(error)
    except Exception as error:  # whatever a function of somebody else raises belongs into the report
        return f"{type(error).__name__}: {error}"
    return ""


def _same(found, wanted, near, told):
    found, wanted = np.broadcast_arrays(found, wanted)
    off = np.abs(found - wanted).max() if found.size else 0.0
    if not off <= near * max(1.0, np.abs(wanted).max()):
        worst = found.flat[np.abs(found - wanted).argmax()]
        raise AssertionError(told.format(off=f"{off:.2g}", found=f"{worst:.2g}"))


def _shape(found):
    if found.shape != (BATCH, HEADS, N, D):
        raise AssertionError(f"the output has shape {found.shape}, and not {(BATCH, HEADS, N, D)}")


def _root(found, Q, K, V, near):
    """Find by what the scores seem to be divided."""
    if np.abs(found - exact(Q, K, V)).max() <= near * 10:
        return
    known = {"nothing": 1, "d": D, "the root of d times the heads": (D * HEADS) ** 0.5}
    others = known | {f"about {divisor:.2g}": divisor for divisor in np.geomspace(0.5, 64, 200)}
    off = {name: np.abs(found - exact(Q * np.sqrt(D) / divisor, K, V)).max() for name, divisor in others.items()}
    best = min(known, key=off.get) if min(off[name] for name in known) <= near * 10 else min(off, key=off.get)
    if off[best] <= max(near * 10, 0.1):
        raise AssertionError(f"the scores are divided by {best}, and not by the root of d, {D**0.5:.3g}")


def _hidden(run, Q, K, V, past, near, told=HIDDEN):
    K_2, V_2 = K.copy(), V.copy()
    size = np.linalg.norm(K, axis=-1).max() / np.linalg.norm(Q, axis=-1).max()
    K_2[..., -1, :], V_2[..., -1, :] = size * Q[..., -2, :], 50  # a match, and no key is longer
    before, after = run(Q, K, V, past)[..., :-1, :], run(Q, K_2, V_2, past)[..., :-1, :]
    _same(after, before, near, told)


def _as_large(Q, K, dtype):
    """Return queries and keys of scores as large as may be: in float16 no product of two passes 50,000."""
    most = np.linalg.norm(Q, axis=-1).max() * np.linalg.norm(K, axis=-1).max()
    size = (5e4 / most) ** 0.5 if dtype == "float16" else 120
    return Q * size, K * size


def _empty(run, Q, K, V, holes, near):
    nothing = holes.copy()
    nothing[2] = False
    with np.errstate(all="ignore"):
        before, after = (run(Q, K, values, nothing)[..., 2, :] for values in (V, V + 10))
    if not np.isnan(before).all():  # NaN is loud enough
        _same(after, before, near, EMPTY)


def _allowed(run, Q, K, V, past, near):
    V_2 = V.copy()
    V_2[..., 0, :] += 10
    change = np.abs(run(Q, K, V_2, past) - run(Q, K, V, past)).max(axis=(0, 1, 3))
    if not (change > near).all():
        raise AssertionError(f"query {change.argmin()} may look at key 0, but takes nothing from it")


def _apart(run, Q, K, V, near):
    other = Q.copy(), K.copy(), V.copy()
    for array in other:
        array[0, 0] *= -1
    before, after = run(Q, K, V, None), run(*other, None)
    _same(after[1], before[1], near, "a text changes with another one, by {off}")
    _same(after[0, 1:], before[0, 1:], near, "a head changes with another one, by {off}")


def _large(run, Q, K, V, near):
    found, wanted = run(Q * 60, K * 60, V, None), exact(Q * 60, K * 60, V)
    if not np.isfinite(found).all():
        raise AssertionError(
            "large scores give NaN or infinity: is the maximum subtracted, and the product in float32?"
        )
    right = (np.abs(found - wanted).max(axis=-1) <= near * 10 + 0.05).mean()
    if right < 0.8:  # in half precision a few rows tip to another key
        raise AssertionError(f"with large scores only {right:.2f} of the rows are right")


def _untouched(attend, given):
    before = [as_array(one) for one in given]
    attend(*given, None)
    for name, one, was in zip("QKV", given, before):
        _same(as_array(one), was, 0, f"{name} is changed in place, by {{off}}")


def _causal(causal, Q, K, V, past, near):
    _same(causal(Q, K, V), exact(Q, K, V, past), near, CAUSAL)


def _corner(causal, Q, K, V, past, near):
    _same(causal(Q[..., -2:, :], K, V), exact(Q[..., -2:, :], K, V, past[-2:]), near, CORNER)


def _groups(run, Q, K, V, near):
    _same(run(Q, K[:, :2], V[:, :2], None), exact(Q, K[:, [0, 0, 1, 1]], V[:, [0, 0, 1, 1]]), near, GROUPS)


def turned(X, positions, pairs, base):
    """Return rotary positions in float64, written out."""
    d = X.shape[-1]
    first, second = (
        (np.arange(0, d, 2), np.arange(1, d, 2)) if pairs == "neighbours" else (np.arange(d // 2), np.arange(d // 2, d))
    )
    angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
    found = np.array(X, dtype=float)
    found[:, first] = X[:, first] * np.cos(angles) - X[:, second] * np.sin(angles)
    found[:, second] = X[:, first] * np.sin(angles) + X[:, second] * np.cos(angles)
    return found
