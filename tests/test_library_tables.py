"""Where a word stands and which token comes next: planted functions, our own, and what was recorded."""

import functools

import numpy as np
import pytest

from attn_course.measured import read_measured
from recordings.libraries import next_token, places
from recordings.libraries.__main__ import adapters_in
from recordings.libraries.asked import load

TABLES = {"places": places, "next_token": next_token}


def turned(X, *, start=0, longer=1, halves=False, back=False):
    angles = longer * (start + np.arange(X.shape[2]))[:, None] * 1e4 ** (-np.arange(0, 1, 2 / X.shape[3]))
    first, second = np.split(X, 2, axis=3) if halves else (X[..., ::2], X[..., 1::2])
    numbers = (first + 1j * second) * np.exp(-1j * angles if back else 1j * angles)
    pair = [numbers.real, numbers.imag]
    return np.concatenate(pair, axis=3) if halves else np.stack(pair, axis=4).reshape(X.shape)


def table(X, *, start=0, n_places=16):
    return np.clip(np.arange(start, start + X.shape[2]), 0, n_places - 1)[:, None] + np.zeros(X.shape)


def cosines(X, *, start=2):
    angles = (start + np.arange(X.shape[2]))[:, None] * 1e4 ** -np.linspace(0, 1, X.shape[3] // 2)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def drawn(logits, n, *, temperature=1.0, top_k=None, top_p=1.0, cut_first=False, more=False):
    rng, P = np.random.default_rng(1), np.exp(logits / (1 if cut_first else temperature))
    order = np.argsort(-P, kind="stable")[:top_k]
    before = np.cumsum(P[order]) - P[order]
    kept = order[before <= top_p * P.sum() if more else before < top_p * P[order].sum()]
    chances = P[kept] ** (1 / temperature if cut_first else 1)
    return rng.choice(kept, n, p=chances / chances.sum())


PLANTED = [
    (places, turned, {"pairs": "neighbours", "place below zero": "-1 0", "number for longer texts": "2 2 2 2"}),
    (places, functools.partial(turned, halves=True, back=True), {"pairs": "halves, turned back"}),
    (places, table, {"pairs": "not offered", "past the last row": "3 3", "place below zero": "0 0"}),
    (places, cosines, {"pairs": "halves, cosine first", "first place": "2"}),
    (places, cosines, {"base that is not given": "10,000, reached by the last pair"}),
    (
        next_token,
        drawn,
        {"temperature and top p": "0", "top k and top p": "0 1", "top p that equal tokens meet": "0 1"},
    ),
    (
        next_token,
        functools.partial(drawn, cut_first=True),
        {"temperature and top p": "0 1", "score beside a token": "not offered"},
    ),
    (
        next_token,
        functools.partial(drawn, more=True),
        {"top k and top p": "0 1 2", "top p that equal tokens meet": "0 1 2"},
    ),
]


@pytest.mark.parametrize("planted", range(len(PLANTED)))
def test_a_planted_answer_is_named(planted):
    asked, function, wanted = PLANTED[planted]
    assert asked.ask(function, list(wanted)) == wanted


@pytest.mark.parametrize("name", TABLES)
def test_each_function_was_asked_each_question(name):
    asked, recording = TABLES[name], read_measured(f"library_{name}")
    assert recording["questions"] == {question: told for question, (_, *told) in asked.QUESTIONS.items()}
    assert {run["adapter"] for run in recording["runs"]} == set(adapters_in(f"adapters_{name}"))
    for run in recording["runs"]:
        assert list(run["answers"]) == list(asked.QUESTIONS) and "==" in run["version"] and run["pins"]
        assert all(run["answers"].values()) and "/root" not in str(run["answers"])


@pytest.mark.parametrize("name", TABLES)
def test_our_own_functions_answer_as_recorded(name):
    recorded = {run["name"]: run["answers"] for run in read_measured(f"library_{name}")["runs"]}
    for function, ours in load(str(adapters_in(f"adapters_{name}")["our_own"])).FUNCTIONS.items():
        assert TABLES[name].ask(ours) == recorded[function]
