"""What a function's conventions are, in planted functions, in those that are installed, and in what was recorded."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

from attn_course import conventions
from attn_course.conventions import QUESTIONS, ask, nearest
from attn_course.measured import read_measured
from recordings.libraries.__main__ import ADAPTERS
from recordings.libraries.asked import load, version_of

RECORDING = read_measured("libraries")
FUNCTIONS = {run["name"]: run for run in RECORDING["runs"]}


def softmax(scores):
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def plain(Q, K, V, *, mask=None, causal=False, scale=None, window=None, softcap=None, corner=0, fill=-np.inf):
    """Attention that hides with `fill`, whose flag has its corner `corner` keys to the right of the upper left."""
    K, V = (np.repeat(array, Q.shape[1] // array.shape[1], axis=1) for array in (K, V))
    n, m = Q.shape[-2], K.shape[-2]
    scores = Q @ K.swapaxes(-1, -2) * (Q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if softcap is None else softcap * np.tanh(scores / softcap)
    seen = np.ones((n, m), bool) if mask is None else mask
    if causal:
        seen = seen & np.tri(n, m, m - n if corner == "lower right" else corner, dtype=bool)
    if window is not None:
        seen = seen & ~np.tri(n, m, -window, dtype=bool)
    return softmax(np.where(seen, scores, fill)) @ V


def zeros(Q, K, V, *, mask=None):
    found = plain(Q, K, V, mask=mask)
    return found if mask is None else np.where(mask.any(axis=-1, keepdims=True), found, 0)


def cap_after_mask(Q, K, V, *, mask=None, softcap=None):
    scores = np.where(mask, Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.5, -1e9)
    return softmax(softcap * np.tanh(scores / softcap)) @ V


def in_half(Q, K, V):
    powers = np.exp(Q @ K.swapaxes(-1, -2)).astype(np.float16)
    return powers / np.cumsum(powers, axis=-1, dtype=np.float16)[..., -1:] @ V


def in_turn(Q, K, V, *, groups=False):
    return plain(Q, *(np.concatenate([array, array], axis=1) for array in (K, V)))


def other_axes(Q, K, V, *, raw=False):
    return plain(*(array.swapaxes(1, 2) for array in (Q, K, V))).swapaxes(1, 2)


def mean_weights(Q, K, V, *, weights=False):
    return plain(Q, K, V), softmax(Q @ K.swapaxes(-1, -2)).mean(axis=1)


PLANTED = [
    (lambda Q, K, V, *, causal=False: plain(Q, K, V, causal=causal), {"corner": "upper left"}),
    (
        lambda Q, K, V, *, causal=False: plain(Q, K, V, causal=causal, corner="lower right", fill=-1e9),
        {"corner": "lower right", "corner of more queries": "lower right, first mean of all"},
    ),
    (
        lambda Q, K, V, *, mask=None: plain(Q, K, V, mask=None if mask is None else ~mask),
        {"true in a mask": "is hidden", "empty row by a mask": "NaN"},
    ),
    (lambda Q, K, V, *, mask=None: plain(Q, K, V, mask=mask, fill=-1e9), {"empty row by a mask": "mean of all"}),
    (zeros, {"empty row by a mask": "zeros", "nan in a hidden value": "NaN"}),
    (
        lambda Q, K, V, *, mask=None: plain(Q, K, V) if mask is None else softmax(Q @ K.swapaxes(-1, -2) + mask) @ V,
        {
            "ones and zeros as floats": "added",
            "ones and zeros as integers": "added",
            "minus infinity in a mask": "added",
        },
    ),
    (
        lambda Q, K, V, *, mask=None, causal=False: plain(Q, K, V, causal=causal, mask=None if causal else mask),
        {"mask beside the flag": "the flag alone"},
    ),
    (lambda Q, K, V: plain(Q, K, V, scale=1), {"scale that is not given": "1"}),
    (
        lambda Q, K, V, *, scale=None: plain(Q, K, V, scale=scale or None),
        {"scale of zero": "the scale that is not given", "scale below zero": "right"},
    ),
    (in_turn, {"heads that share": "in turn (0 1 0 1)", "heads that share in two texts": "in turn (0 1 0 1)"}),
    (other_axes, {"axes": "batch, tokens, heads, entries"}),
    (
        lambda Q, K, V, *, causal=False, window=None: plain(Q, K, V, causal=causal, window=window),
        {"window of two": "2 keys, 3 and 4"},
    ),
    (
        lambda Q, K, V, *, causal=False, window=None: plain(Q, K, V, causal=causal, window=window + 1),
        {"window of two": "3 keys, 2 to 4"},
    ),
    (cap_after_mask, {"soft cap and mask": "mask, then cap"}),
    (
        lambda Q, K, V, *, mask=None, softcap=None: plain(Q, K, V, mask=mask, softcap=softcap),
        {"soft cap and mask": "cap, then mask"},
    ),
    (in_half, {"many keys in float16": "2", "large scores in float16": "NaN"}),
    (mean_weights, {"weights that are returned": "their mean over heads"}),
    (
        lambda Q, K, V, *, mask=None, causal=False, bias=None: (
            plain(Q, K, V, causal=causal, fill=-1e9)
            if bias is None
            else softmax(np.where(np.tri(3), 0, -1e9) + bias) @ V
        ),
        {"minus infinity beside the flag": "the later keys"},
    ),
]


@pytest.mark.parametrize("planted", range(len(PLANTED)))
def test_a_planted_convention_is_named(planted):
    attend, wanted = PLANTED[planted]
    assert ask(attend, list(wanted)) == wanted


def test_what_a_function_does_not_take_it_is_not_asked_for():
    found = ask(lambda Q, K, V: plain(Q, K, V))
    assert list(found) == list(QUESTIONS)
    assert {name for name, told in found.items() if told != "not offered"} == {
        "no keys", "large scores in float16", "many keys in float16", "scale that is not given", "narrow values",
    }  # fmt: skip


def test_conventions_name_the_answers_and_the_nearest_function():
    told = conventions.conventions(lambda Q, K, V, *, mask=None: zeros(Q, K, V, mask=mask))
    assert "empty row by a mask: zeros, as " in " ".join(told.split())
    assert "near: " in told


def test_the_nearest_function_is_itself():
    for name, run in FUNCTIONS.items():
        best, alike, otherwise = nearest(run["answers"], RECORDING["runs"])[0]
        assert not otherwise, name
        assert best["answers"] == run["answers"] or len(alike) == len(nearest(run["answers"], [run])[0][1])


def test_the_file_needs_numpy_and_nothing_else():
    tree = ast.parse(Path(conventions.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"inspect", "json", "textwrap", "pathlib", "numpy"}


# --- what was recorded ----------------------------------------------------------------------------


def test_each_function_was_asked_each_question_and_says_its_version():
    assert {name: tuple(told) for name, told in RECORDING["questions"].items()} == {
        name: told for name, (_, *told) in QUESTIONS.items() for told in [tuple(told)]
    }
    assert len(FUNCTIONS) == len(RECORDING["runs"]) >= 24 and len(QUESTIONS) >= 20
    assert len({run["version"].split("==")[0] for run in FUNCTIONS.values()}) >= 14
    assert {run["adapter"] for run in FUNCTIONS.values()} == set(ADAPTERS)
    for run in FUNCTIONS.values():
        assert list(run["answers"]) == list(QUESTIONS) and "==" in run["version"] and run["pins"]
        assert all("/" + "root" not in told for told in run["answers"].values())


PACKAGES = {"our_own": "attn", "pytorch": "torch", "onnx_reference": "onnx"}


@pytest.mark.parametrize("adapter", PACKAGES)
def test_installed_functions_answer_as_recorded(adapter, monkeypatch):
    pytest.importorskip(PACKAGES[adapter])
    monkeypatch.syspath_prepend(ADAPTERS[adapter].parents[1])
    module = load(str(ADAPTERS[adapter]))
    told = []
    for name, attend in module.FUNCTIONS.items():
        recorded = [run for run in RECORDING["runs"] if run["name"] == name or run["name"].startswith(f"{name} (")]
        installed = version_of(name, module.PINS)
        run = next((run for run in recorded if run["version"] == installed), recorded[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {question: answer.split(":")[0] for question, answer in ask(attend).items()}
        others = {question for question, answer in run["answers"].items() if answer.split(":")[0] != found[question]}
        assert not others or run["version"] != installed, (name, others)
        told += [f"{installed}: {name} answers otherwise than {run['version']}: {others}"] if others else []
    if told:  # of a reader's version: worth a word, and no failure
        pytest.skip("; ".join(told))
