"""The model that has read six novels: its text, its numbers, what was measured, and the training that made it."""

import hashlib
from functools import partial

import numpy as np
import pytest

from attn import decoder, init_transformer, switch_off
from attn.bytepairs import Tokenizer
from attn.parameters import count_parameters
from attn.tape import leaves
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import learn, pack, quotations, reading, train

RECORDING = read_measured("novels")
SHIPPED = RECORDING["runs"]["novels"][RECORDING["shipped"]]


@pytest.fixture(scope="module")
def params():
    return novels.read_model()


def test_files_are_those_that_were_measured():
    for name, digest in RECORDING["sha256"].items():
        assert hashlib.sha256((novels.FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_no_paragraph_that_is_held_out_is_also_read():
    text, kept = (novels.read_text(part).split("\n") for part in ("training", "held out"))
    assert len(kept) == sum(pack.HELD_OUT.values())
    assert not {part for part in kept if len(part) > 60} & set(text)
    assert "Signet" not in "".join(kept)


def test_the_model_has_a_million_parameters_and_each_is_there(params):
    assert sum(part.size for part in leaves(params)) == count_parameters(novels.CONFIG)["total"] > 1_000_000
    fresh = init_transformer(np.random.default_rng(0), novels.CONFIG)
    assert [part.shape for part in leaves(params)] == [part.shape for part in leaves(fresh)]


def test_the_model_loses_what_was_recorded_on_text_that_it_has_not_read(params, held):
    recorded = SHIPPED["zero ablation"][""]["loss"]
    assert abs(novels.losses(params, held.rows).mean() - recorded) < 0.002
    assert recorded < 3.65


def test_training_begins_as_it_was_recorded(tmp_path, monkeypatch, tokenizer):
    """The first of the 50 losses whose mean is recorded; a learning rate 1 % off changes the last by 0.0014."""
    monkeypatch.setattr(learn, "REACHED", tmp_path)
    again = learn.learn_to_read(1, tokenizer.encode(novels.read_text()), n_taken=5)
    np.testing.assert_allclose(again, [8.089097, 8.109962, 8.070142, 7.998436, 7.915756], atol=2e-4)
    assert [run["seed"] for run in RECORDING["runs"]["novels"]] == list(train.SEEDS)
    assert all(len(run["loss"]) == learn.STEPS // RECORDING["every"] for run in RECORDING["runs"]["novels"])


def test_who_stops_the_training_goes_on_where_it_was(tmp_path, monkeypatch, tokenizer):
    tokens = tokenizer.encode(novels.read_text("held out"))
    kept = []
    monkeypatch.setattr(learn, "ROWS", 2)
    for name, stops in {"at once": [4], "stopped": [1, 3, 4]}.items():
        monkeypatch.setattr(learn, "REACHED", tmp_path / name)
        learn.REACHED.mkdir()
        for n_taken in stops:
            losses = learn.learn_to_read(0, tokens, n_taken=n_taken)
        with np.load(learn.REACHED / "seed 0.npz") as state:
            kept.append((losses, {part: array.tolist() for part, array in state.items()}))
    assert len(losses) == 4
    assert kept[0] == kept[1]


def test_rounded_parameters_are_within_half_a_step_of_what_they_were():
    params = init_transformer(np.random.default_rng(3), novels.CONFIG)
    flat = novels.quantize(params)
    back = novels.dequantize(flat)
    assert {array.dtype for name, array in flat.items()} == {np.dtype("int8"), np.dtype("float32")}
    for ours, theirs in zip(leaves(params), leaves(back)):
        step = np.abs(ours).max(axis=-1, keepdims=True) / 127 if ours.ndim > 1 else 0
        assert ours.shape == theirs.shape and theirs.dtype == np.float32
        assert (np.abs(ours - theirs) <= step * 0.5001).all()


def test_marks_open_and_close_and_a_paragraph_forgets_them():
    tokenizer = Tokenizer(list('"\n ,ab'), [(" ", '"'), (" ", "a")])
    text = '"a," b "b\nb "a"'
    marks, inside = novels.quotations(tokenizer.encode(text), tokenizer)
    assert [tokenizer.words[token] for token in tokenizer.encode(text)] == [
        *('"', "a", ",", '"', " ", "b", ' "', "b", "\n", "b", ' "', "a", '"'),
    ]
    assert marks.tolist() == [0, 0, 0, 3, 3, 3, 6, 6, -1, -1, 10, 10, 12]
    assert inside.astype(int).tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0]


def test_places_that_are_judged_are_ends_of_clauses_and_their_marks_stand_in_the_row(held, tokenizer):
    words = np.array(tokenizer.words)[held.rows]
    assert held.rows.shape[1] == novels.LENGTH + 1 and held.marks.shape == words[:, :-1].shape
    assert not (held.inside & held.outside).any()
    assert set(words[:, :-1][held.inside | held.outside]) <= set(novels.ENDS)
    row, place = np.nonzero(held.inside)
    assert (held.marks[row, place] < place).all()
    assert set(words[row, held.marks[row, place]]) == {novels.OPENING, novels.CLOSING}
    closed = words[:, 1:] == novels.CLOSING
    assert closed[held.inside].mean() > 0.1 and closed[held.outside].mean() == 0


def test_losses_closings_and_looks_are_the_decoders(params, held, tokenizer):
    rows, off = held.rows[:30], [switch_off(1, 3)]
    logits = decoder(params, novels.CONFIG, rows[:, :-1], interventions=off).astype(float)
    P = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    lost = -np.log(np.take_along_axis(P, rows[:, 1:, None], axis=-1))[..., 0]
    np.testing.assert_allclose(novels.losses(params, rows, off), lost, atol=1e-4)
    mark = tokenizer.words.index('"')
    np.testing.assert_allclose(novels.closing(params, rows[:, :-1], tokenizer, off), P[..., mark], atol=1e-5)
    weights = novels.looks(params, rows[:, :-1])
    assert weights.shape == (30, 4, 4, 128, 128)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-4)
    asking = np.random.default_rng(0).random((30, 128)) < 0.1
    row, place = np.nonzero(asking)
    np.testing.assert_allclose(novels.looks_from(params, rows[:, :-1], asking), weights[row, :, :, place], atol=1e-6)
    silent = novels.looks_from(params, rows[:, :-1], asking, off)
    assert not silent[:, 0, 2].any() and silent[:, 0, 1].any()


def test_the_recorded_heads_look_at_marks_as_the_model_does(params, held):
    recorded = np.array(SHIPPED["on the mark"][-1])
    found = quotations.on_the_mark(novels.in_parts(partial(novels.looks, params), held.rows[:, :-1]), held)
    np.testing.assert_allclose(found, recorded, atol=0.01)


def test_a_head_that_copies_would_be_found(monkeypatch):
    once = np.arange(40).reshape(4, 10)
    rows = np.concatenate([once, once], axis=1)
    weights = np.zeros((4, 4, 4, 20, 20))
    weights[:, 2, 1, np.arange(10, 20), np.arange(1, 11)] = 0.7
    monkeypatch.setattr(novels, "looks", lambda params, rows: weights)
    assert reading.prefix_matching(None, rows) == 0.7


@pytest.mark.parametrize("number", [n for n in train.SEEDS if novels.model_file(n) in RECORDING["sha256"]])
def test_each_model_of_the_package_loses_what_was_recorded(number, held, tokenizer):
    params, recorded = novels.read_model(number), RECORDING["runs"]["novels"][number]["zero ablation"][""]["loss"]
    assert sum(part.size for part in leaves(params)) == count_parameters(novels.CONFIG)["total"]
    assert reading.read(params, held.rows, tokenizer)[0].mean() == pytest.approx(recorded, abs=2e-4)
