"""Which conventions has an attention? A file to take along, which needs NumPy and nothing else.

    from conventions import conventions

    def mine(Q, K, V, *, mask=None, causal=False, scale=None):   # arrays of shape (batch, heads, n, d)
        return my_attention(Q, K, V, mask=mask, is_causal=causal, scale=scale)

    print(conventions(mine))

softmax(QKᵀ/√d)V stands in every library, and leaves open what a query gets that may see nothing, which corner a causal
flag means, and much more. Each question here is a small Q, K, V with options, and a way to read the answer. What your
function does not take it is not asked for: leave out of its signature what it does not have. The options are `mask`
(bool, or what is asked for), `bias` (what is added to scores, where that is another argument), `causal`, `scale`,
`window`, `softcap`, `past` (how many of the keys are kept from before), `sink`, `groups` (fewer heads of keys than of
queries), `bfloat16`, `gradient` (return those of Q, K and V instead), `weights` (return those as well) and `raw` (the
axes as your function has them).

The answers of other people's functions are in `libraries.json`; take it along, and `conventions` names the nearest.
"""

import inspect
import json
import textwrap
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
D = 8  # entries of a row, and so at most eight keys can be told apart
QUESTIONS = {}
NO_ANSWER = "not offered", "refused"


class NotOffered(Exception):
    """The function has no such option."""


def question(function, questions=QUESTIONS):
    """Enter a question under its name, with its docstring: the question in words, and what makes answers equal."""
    questions[function.__name__.replace("_", " ")] = function, *inspect.getdoc(function).splitlines()
    return function


def ask(attend, names=()):
    """Ask a function all questions, or those that are named.

    Parameters
    ----------
    attend : callable (Q, K, V, **options) -> output
        Of arrays of shape (batch, heads, n_queries, d), and (batch, heads, n_keys, d) twice, in float32 or float16.
    names : sequence of str

    Returns
    -------
    dict of str
        The answer to each question: "not offered" where the function does not take the option, "refused: " and the
        first line of its error where it does not take the input.
    """
    attend_or_say_so, hides = offered(attend), False

    def run(Q, K, V, **given):
        if hides and given.get("mask", Q).dtype == bool:
            given["mask"] = ~given["mask"]
        return attend_or_say_so(Q, K, V, **given)

    run.bias = "bias" if "bias" in inspect.signature(attend).parameters else "mask"
    hides = answer(true_in_a_mask, run) == "is hidden"
    answers = {name: answer(QUESTIONS[name][0], run) for name in names or QUESTIONS}
    return answers | ({"true in a mask": "is hidden"} if hides and "true in a mask" in answers else {})


def offered(function):
    """Return a function that says so if it is given an option that its signature does not have."""
    options = inspect.signature(function).parameters

    def run(*arrays, **given):
        if not options.keys() >= given.keys():
            raise NotOffered
        return function(*arrays, **given)

    return run


def answer(function, run):
    """Return what a question finds out, or why there is nothing to be found out."""
    try:
        with np.errstate(all="ignore"):
            return function(run)
    except NotOffered:
        return "not offered"
    except Exception as error:  # whatever a function of somebody else raises is its answer
        first = next((line for line in str(error).strip().splitlines() if "Exception from" not in line), "")
        return f"refused: {type(error).__name__}: {first}"[:160]


def _inputs(n_queries, n_keys, dtype=np.float32):
    """Return Q = 0, so that all keys that may be seen get the same weight, and V = 1, so that outputs are weights."""
    shape = (1, 1, n_keys, D)
    return np.zeros((1, 1, n_queries, D), dtype), np.zeros(shape, dtype), np.eye(n_keys, D, dtype=dtype).reshape(shape)


def _weights(run, n_queries, n_keys, **options):
    return _read(run(*_inputs(n_queries, n_keys), **options), n_keys)


def _read(output, n_keys):
    return np.asarray(output, dtype=float)[0, 0, :, :n_keys]


def _told(row):
    """Return a row of weights in words; PaddlePaddle's softmax leaves 1e-28 where others leave 0."""
    keys = np.flatnonzero(~(np.abs(row) < 1e-20))
    if not np.isfinite(row).all():
        return "NaN" if np.isnan(row).any() else "infinity"
    if len(keys) == 0:
        return "zeros"
    if not np.allclose(row[keys], 1 / len(keys), atol=2e-3):
        return " ".join(f"{weight:.3g}" for weight in row)
    return "mean of all" if len(keys) == len(row) > 1 else "only " + " ".join(map(str, keys))


def _which(weights, known):
    """Return the name of the pattern, of those that are known, or its rows in words."""
    for name, seen in known.items():
        rows = np.array(seen, dtype=float)
        if np.allclose(weights, rows / rows.sum(axis=-1, keepdims=True), atol=2e-3):
            return name
    told = [_told(row) for row in weights]
    return told[0] if len(set(told)) == 1 else "; ".join(told)


@question
def corner(run):
    """A causal flag, 2 queries and 4 keys: the triangle of which corner?
    Give a Boolean mask and no flag, np.tri(n, m, k, dtype=bool): k = 0 for upper left, m - n for lower right."""
    known = {"upper left": np.tri(2, 4), "lower right": np.tri(2, 4, 2), "nothing hidden": np.ones((2, 4))}
    return _which(_weights(run, 2, 4, causal=True), known)


@question
def corner_of_more_queries(run):
    """A causal flag, 4 queries and 2 keys: the corner, and what the first queries get?
    Give a Boolean mask and no flag, np.tri(n, m, k, dtype=bool): with k = m - n the first rows are empty."""
    weights = _weights(run, 4, 2, causal=True)
    if _which(weights[2:], {"": np.tri(2)}) == "":
        return f"lower right, first {_told(weights[0])}"
    return _which(weights, {"upper left": np.tri(4, 2), "nothing hidden": np.ones((4, 2))})


@question
def corner_with_a_past(run):
    """A causal flag, 2 new queries, and 2 keys kept from before beside 2 new ones: what does the first query see?
    Give a Boolean mask and no flag, np.tri(n, m, m - n, dtype=bool) for n new queries and m keys in all."""
    known = {"the past and itself": np.tri(2, 4, 2), "as without a past": np.tri(2, 4)}
    return _which(_weights(run, 2, 4, causal=True, past=2), known)


@question
def true_in_a_mask(run):
    """A Boolean mask: True means what?
    Turn the mask round: ~mask."""
    seen = np.array([[True, True, False, False]])
    known = {"may be seen": seen, "is hidden": ~seen, "added": np.exp(seen * 1.0)}
    return _which(_weights(run, 1, 4, mask=seen), known)


def _ones_and_zeros(run, dtype):
    weights = _weights(run, 1, 4, mask=np.array([[1, 1, 0, 0]], dtype))
    return _which(weights, {"added": [np.exp([1, 1, 0, 0])], "1 is seen": [[1, 1, 0, 0]], "0 is seen": [[0, 0, 1, 1]]})


@question
def ones_and_zeros_as_floats(run):
    """A mask of 1 and 0 in floats: how is it read?
    If 1 meant seen, give mask == 1; if it was added, give it as what is added."""
    return _ones_and_zeros(run, np.float32)


@question
def ones_and_zeros_as_integers(run):
    """A mask of 1 and 0 in integers: how is it read?
    If 1 meant seen, give mask == 1; if it was added, give it as what is added."""
    return _ones_and_zeros(run, np.int64)


@question
def minus_infinity_in_a_mask(run):
    """What is given to `mask` as 0 and minus infinity: how is it read?
    Give mask == 0, or other numbers than these as what is added."""
    weights = _weights(run, 1, 4, mask=np.array([[0, 0, -np.inf, -np.inf]], np.float32))
    return _which(weights, {"added": [[1, 1, 0, 0]], "turned round": [[0, 0, 1, 1]]})


def _empty(run, lowest=None):
    """Return what the first of two queries gets, which may see nothing; scores are not equal."""
    Q, K, V = _inputs(2, 4)
    Q, K = Q + 1, K + np.arange(4, dtype=np.float32)[:, None] / D
    mask = np.array([[False] * 4, [True] * 4])
    if lowest is None:
        return _read(run(Q, K, V, mask=mask), 4)[0]
    return _read(run(Q, K, V, **{run.bias: np.where(mask, 0, lowest).astype(np.float32)}), 4)[0]


def _named(row):
    scores = np.exp(np.arange(4) / D**0.5)
    return "as without a mask" if np.allclose(row, scores / scores.sum(), atol=2e-3) else _told(row)


@question
def empty_row_by_a_mask(run):
    """A query that may see nothing by a Boolean mask gets what?
    On both sides, for outputs (batch, heads, n, d): np.where(mask.any(-1, keepdims=True), output, 0)."""
    return _named(_empty(run))


@question
def empty_row_by_minus_infinity(run):
    """A query whose scores all get minus infinity gets what?
    On both sides: np.where((mask > -np.inf).any(-1, keepdims=True), output, 0)."""
    return _named(_empty(run, -np.inf))


@question
def empty_row_by_the_lowest_number(run):
    """A query whose scores all get the lowest number of float32 gets what?
    Do not use the lowest number: make the mask Boolean, mask == 0."""
    return _named(_empty(run, np.finfo(np.float32).min))


@question
def gradients_beside_an_empty_row(run):
    """A query may see nothing by a Boolean mask, and only the other one has a loss: the gradients?
    Leave no row empty: let a query of padding see itself, and take its output out of the loss."""
    mask = np.array([[False] * 4, [True] * 4])
    gradients = run(*_inputs(2, 4), mask=mask, gradient=True)
    return "finite" if all(np.isfinite(np.asarray(one, dtype=float)).all() for one in gradients) else "NaN"


@question
def mask_beside_the_flag(run):
    """A causal flag with a Boolean mask beside it: which of them hides?
    Give no flag and one Boolean mask, np.tri(n, m, k, dtype=bool) & mask, with the corner that you come from."""
    mask, past = np.array([[True, True, True], [False, True, True], [False, True, True]]), np.tri(3)
    known = {"both": past * mask, "the mask alone": mask, "the flag alone": past}
    return _which(_weights(run, 3, 3, causal=True, mask=mask), known)


@question
def minus_infinity_beside_the_flag(run):
    """A causal flag and minus infinity on the first key: what does the first query get?
    Give no flag and one Boolean mask that hides all."""
    bias = np.zeros((3, 3), np.float32)
    bias[:, 0] = -np.inf
    row = _weights(run, 3, 3, causal=True, **{run.bias: bias})[0]
    return _which(row[None], {"the later keys": [[0, 1, 1]]})


@question
def mask_that_is_too_short(run):
    """A mask of 3 columns for 4 keys: what of the fourth?
    Make the mask as long as the keys yourself: False hides what is added."""
    known = {"it is hidden": [[1, 1, 1, 0]], "it is seen": [[1, 1, 1, 1]]}
    return _which(_weights(run, 1, 4, mask=np.ones((1, 3), bool)), known)


@question
def mask_of_one_row(run):
    """A mask of one row for 2 queries: does it hold for both?
    Write it out: np.broadcast_to(mask, (*mask.shape[:-2], n, m))."""
    row = [1, 1, 0, 0]
    known = {"for both": [row, row], "for the first": [row, [1, 1, 1, 1]], "added": np.exp([row, row])}
    return _which(_weights(run, 2, 4, mask=np.array([row], bool)), known)


def _hidden(run, spoil):
    Q, K, V = _inputs(2, 4)
    spoil(K, V)
    mask = np.array([[True, True, False, False]] * 2)
    return _which(_read(run(Q, K, V, mask=mask), 4), {"no effect": mask}).split("; ")[0]


@question
def nan_in_a_hidden_value(run):
    """NaN in a value that is hidden by a Boolean mask: what do queries get?
    Clear the padding before, real of shape (batch, m): V = np.where(real[:, None, :, None], V, 0)."""
    return _hidden(run, lambda K, V: V[..., 3, :].fill(np.nan))


@question
def nan_in_a_hidden_key(run):
    """NaN in a key that is hidden by a Boolean mask: what do queries get?
    Clear the padding before, real of shape (batch, m): K = np.where(real[:, None, :, None], K, 0)."""
    return _hidden(run, lambda K, V: K[..., 3, :].fill(np.nan))


@question
def no_keys(run):
    """No keys at all: what do queries get?
    Ask before you call: without keys the output is zeros."""
    output = np.asarray(run(*_inputs(2, 0)), dtype=float)
    return "NaN" if np.isnan(output).any() else "other numbers" if output.any() else "zeros"


@question
def large_scores_in_float16(run):
    """float16, and products of queries and keys of 115,200, more than the format holds?
    Divide the queries by √d before, scale=1, or compute in float32."""
    Q, K, V = (array.astype(np.float16) for array in _inputs(1, 2))
    K[..., 0, :] = 120
    return _which(_read(run(Q + np.float16(120), K, V), 2), {"right": [[1, 0]]})


def _sum(run, dtype, **options):
    Q, K, _ = _inputs(1, 4096, dtype)
    total = np.asarray(run(Q, K, K + dtype(1), **options), dtype=float).mean()
    return "1" if abs(total - 1) < 0.02 else f"{total:.3g}"


@question
def many_keys_in_float16(run):
    """float16, 4,096 equal scores: what do the weights sum to?
    Compute in float32 where rows are long."""
    return _sum(run, np.float16)


@question
def many_keys_in_bfloat16(run):
    """bfloat16, 4,096 equal scores: what do the weights sum to?
    Compute in float32 where rows are long."""
    return _sum(run, np.float32, bfloat16=True)


def _scale(run, **options):
    """Return by what the score 1 of a second key is multiplied."""
    Q, K, V = _inputs(1, 2)
    K[..., 1, :] = 1 / D
    first, second = _read(run(Q + 1, K, V, **options), 2)[0]
    return np.log(second / first)


@question
def scale_that_is_not_given(run):
    """No scale is given, and d is 8: scores are multiplied by what?
    Give it: scale=d ** -0.5."""
    known = {"1/√d": D**-0.5, "1": 1, "1/d": 1 / D}
    found = _scale(run)
    return next((name for name, scale in known.items() if np.isclose(found, scale, atol=2e-3)), f"{found:.3g}")


@question
def scale_of_zero(run):
    """A scale of 0 is given: what do queries get?
    Give zeros as queries instead."""
    found = _scale(run, scale=0.0)
    known = {"mean of all": 0, "the scale that is not given": D**-0.5}
    return next((name for name, scale in known.items() if np.isclose(found, scale, atol=2e-3)), f"{found:.3g}")


@question
def scale_below_zero(run):
    """A scale of -1 is given: what do queries get?
    Give -Q, and the scale without its sign."""
    found = _scale(run, scale=-1.0)
    return "right" if np.isclose(found, -1, atol=2e-3) else "NaN" if np.isnan(found) else f"{found:.3g}"


def _groups(run, n_texts):
    """Return from which head of keys each head of queries takes; values tell their text and their head."""
    values = np.arange(n_texts * 2, dtype=np.float32).reshape(n_texts, 2, 1, 1)
    output = run(
        np.zeros((n_texts, 4, 3, D), np.float32),
        np.zeros((n_texts, 2, 3, D), np.float32),
        np.broadcast_to(values, (n_texts, 2, 3, D)).copy(),
        groups=True,
    )
    found = np.asarray(output, dtype=float)[:, :, 0, 0].round(2)
    own = found - 2 * np.arange(n_texts)[:, None]
    known = {"neighbours (0 0 1 1)": [0, 0, 1, 1], "in turn (0 1 0 1)": [0, 1, 0, 1]}
    for name, heads in known.items():
        if (own == heads).all():
            return name
    return "of another text: " + " ".join(f"{head:g}" for head in found.ravel())


@question
def heads_that_share(run):
    """4 heads of queries, 2 of keys and values: which share?
    Repeat K and V before, r times: np.repeat(K, r, axis=1) for neighbours, np.tile(K, (1, r, 1, 1)) for in turn."""
    return _groups(run, 1)


@question
def heads_that_share_in_two_texts(run):
    """4 heads of queries, 2 of keys and values, 2 texts: which share?
    Repeat K and V before, r times: np.repeat(K, r, axis=1) for neighbours, np.tile(K, (1, r, 1, 1)) for in turn."""
    return _groups(run, 2)


@question
def axes(run):
    """Arrays of 4 axes as the function takes them: in which order?
    Exchange two axes before and after: np.swapaxes(Q, 1, 2)."""
    Q = np.zeros((1, 3, 3, D), np.float32)
    V = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1) + Q
    output = np.asarray(run(Q, Q, V, raw=True), dtype=float)
    known = {"batch, heads, tokens, entries": V.mean(axis=2, keepdims=True)}
    known["batch, heads, tokens, entries; in the output tokens, heads"] = V.mean(axis=2)[:, None]
    known["batch, tokens, heads, entries"] = V.mean(axis=1, keepdims=True)
    return next((name for name, mean in known.items() if np.allclose(output, mean, atol=1e-2)), "another order")


@question
def window_of_two(run):
    """A causal window of 2: what does query 4 see?
    Count again: a window of w keys reaches w - 1 steps back."""
    row = _weights(run, 6, 6, causal=True, window=2)[4]
    known = {"2 keys, 3 and 4": [[0, 0, 0, 1, 1, 0]], "3 keys, 2 to 4": [[0, 0, 1, 1, 1, 0]]}
    known["all 5 before"] = [[1, 1, 1, 1, 1, 0]]
    return _which(row[None], known)


@question
def soft_cap_and_mask(run):
    """Scores are capped (soft cap 2), and a Boolean mask hides: which comes first?
    Cap first and mask after, or hide what is hidden once more."""
    Q, K, V = _inputs(1, 4)
    K[..., 1, :] = 1
    weights = _read(run(Q + 1, K, V, softcap=2.0, mask=np.array([[True, True, False, False]])), 4)
    capped = np.exp(2 * np.tanh(np.array([0, D**0.5]) / 2))
    known = {"cap, then mask": [[*capped, 0, 0]], "mask, then cap": [[*capped, np.exp(-2), np.exp(-2)]]}
    return _which(weights, known | {"not capped": [[1, np.exp(D**0.5), 0, 0]]})


@question
def sink_of_score_zero(run):
    """A sink of score 0 beside 4 equal keys: what do these get?
    Add a key and a value of zeros, which every query may see."""
    weights = _weights(run, 1, 4, sink=True)
    return "a fifth each" if np.allclose(weights, 1 / 5, atol=2e-3) else _told(weights[0])


@question
def narrow_values(run):
    """Values of 3 entries under keys of 8: are they taken?
    Fill the values up with zeros, and cut the output."""
    Q, K, V = _inputs(1, 3)
    return _which(np.asarray(run(Q, K, V[..., :3].copy()), dtype=float)[0, 0], {"right": [[1, 1, 1]]})


@question
def weights_that_are_returned(run):
    """Weights are asked for, of 2 heads: which come back?
    Take the mean over heads, or compute the weights yourself."""
    Q, K, V = (np.repeat(array, 2, axis=1) for array in _inputs(1, 2))
    K[0, 1, 0] = 10 * D
    Q[0, 1] = 1
    found = np.asarray(run(Q, K, V, weights=True)[1], dtype=float).squeeze()
    known = {"of each head": [[0.5, 0.5], [1, 0]], "their mean over heads": [0.75, 0.25]}
    return next(
        (name for name, wanted in known.items() if found.shape == np.shape(wanted) and np.allclose(found, wanted)),
        f"an array of shape {found.shape}",
    )


def nearest(answers, functions):
    """Return the functions of the table, those first that answer most alike.

    Parameters
    ----------
    answers : dict of str
    functions : list of dict
        Each with its "answers".

    Returns
    -------
    list of (dict, list of str, list of str)
        A function, the questions that both answer alike, and those that both answer otherwise.
    """
    found = []
    for function in functions:
        both = [name for name in answers if _is_answer(answers[name]) and _is_answer(function["answers"].get(name))]
        alike = [name for name in both if answers[name] == function["answers"][name]]
        found.append((function, alike, [name for name in both if name not in alike]))
    return sorted(found, key=lambda one: len(one[1]) - 2 * len(one[2]), reverse=True)


def _is_answer(told):
    return told is not None and not told.startswith(NO_ANSWER)


def conventions(attend, table=None):
    """Return in words what a function does where the formula leaves it open, and whose convention that is.

    Parameters
    ----------
    attend : callable (Q, K, V, **options) -> output
        As for `ask`.
    table : path, optional
        Of libraries.json, which lies beside this file otherwise.

    Returns
    -------
    str
    """
    beside = HERE / "libraries.json"
    path = table or (beside if beside.exists() else HERE / "data" / "measured" / beside.name)
    functions = json.loads(Path(path).read_text(encoding="utf-8"))["runs"]
    answers, lines = ask(attend), []
    for name, told in answers.items():
        if told == "not offered":
            continue
        packages = [
            one["name"].split()[0] for one in functions if one["answers"].get(name) == told and _is_answer(told)
        ]
        known = list(dict.fromkeys(packages))
        whose = f", as {', '.join(known[:6])}" + (f" and {len(known) - 6} more" if known[6:] else "") if known else ""
        lines.append(f"{name}: {told}{whose}")
    for function, alike, otherwise in nearest(answers, functions)[:2]:
        lines.append(
            f"near: {function['name']} ({function['version']}), {len(alike)} answers alike"
            + (f", not: {', '.join(otherwise)}" if otherwise else "")
        )
    return "\n".join(textwrap.fill(line, 84, subsequent_indent="    ") for line in lines)
