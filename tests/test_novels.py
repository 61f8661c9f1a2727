"""The model that has read six novels: its text, its numbers, what was measured, and the training that made it."""

import hashlib

import numpy as np
import pytest

from attn import decoder, init_transformer, switch_off
from attn.bytepairs import Tokenizer
from attn.tape import leaves
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import learn, pack, reading, train

RECORDING = read_measured("novels")


@pytest.mark.parametrize("recording", ["novels", "reader_that_copies"])
def test_files_are_those_that_were_measured(recording):
    for name, digest in read_measured(recording)["sha256"].items():
        assert hashlib.sha256((novels.FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_no_paragraph_that_is_held_out_is_also_read():
    text, kept = (novels.read_text(part).split("\n") for part in ("training", "held out"))
    assert len(kept) == sum(pack.HELD_OUT.values())
    assert not {part for part in kept if len(part) > 60} & set(text)
    assert "Signet" not in "".join(kept)


def test_training_begins_as_it_was_recorded_and_goes_on_where_it_was(tmp_path, monkeypatch, tokenizer):
    """The first of the 50 losses whose mean is recorded; a learning rate 1 % off changes the last by 0.0014."""
    tokens, kept = tokenizer.encode(novels.read_text()), []
    for name, stops in {"at once": [5], "stopped": [1, 3, 5]}.items():
        monkeypatch.setattr(learn, "REACHED", tmp_path / name)
        learn.REACHED.mkdir()
        for n_taken in stops:
            losses = learn.learn_to_read(1, tokens, n_taken=n_taken)
        with np.load(learn.REACHED / "seed 1.npz") as state:
            kept.append((losses, {part: array.tolist() for part, array in state.items()}))
    assert kept[0] == kept[1]
    np.testing.assert_allclose(losses, [8.089097, 8.109962, 8.070142, 7.998436, 7.915756], atol=2e-4)
    assert [run["seed"] for run in RECORDING["runs"]["novels"]] == list(train.SEEDS)
    assert all(len(run["loss"]) == learn.STEPS // RECORDING["every"] for run in RECORDING["runs"]["novels"])


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


def test_places_are_ends_of_clauses_of_three_kinds_by_the_mark_that_stands_behind_them(held, tokenizer):
    kinds, words = (held.inside, held.closed, held.narration), np.array(tokenizer.words)[held.rows]
    assert [int(kind.sum()) for kind in kinds] == [817, 159, 3342] and np.sum(kinds, axis=0).max() == 1
    assert held.rows.shape[1] == novels.LENGTH + 1 and held.marks.shape == words[:, :-1].shape
    assert set(words[:, :-1][held.inside | held.outside]) <= set(novels.ENDS)
    for kind, marks in zip(kinds, (held.opening_marks, held.closing_marks)):
        row, place = np.nonzero(kind)
        assert (held.marks[row, place] < place).all() and marks[row, held.marks[row, place]].all()
    assert (held.marks[held.narration] < 0).all()
    opens, closes = held.opening_marks, held.closing_marks
    assert not (opens & closes).any() and set(words[:, :-1][closes]) == {novels.CLOSING}
    assert set(words[:, :-1][opens]) == {novels.OPENING, novels.CLOSING}
    assert (words[:, :-2][(opens & (words[:, :-1] == novels.CLOSING))[:, 1:]] == "\n").all()
    closed = words[:, 1:] == novels.CLOSING
    assert closed[held.inside].mean() > 0.1 and closed[held.outside].mean() == 0


def test_losses_closings_and_looks_are_the_decoders(held, tokenizer):
    params, rows, off = novels.read_model(), held.rows[:30], [switch_off(1, 3)]
    logits = decoder(params, novels.CONFIG, rows[:, :-1], interventions=off).astype(float)
    P = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    lost = -np.log(np.take_along_axis(P, rows[:, 1:, None], axis=-1))[..., 0]
    np.testing.assert_allclose(novels.losses(params, rows, off), lost, atol=1e-4)
    mark = tokenizer.words.index('"')
    places = np.random.default_rng(0).random(rows[:, :-1].shape) < 0.3
    likely = novels.closing(params, rows[:, :-1], tokenizer, places, off)
    np.testing.assert_allclose(likely, np.where(places, P[..., mark], np.nan), atol=1e-5)
    weights = novels.looks(params, rows[:, :-1])
    assert weights.shape == (30, 4, 4, 128, 128)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-4)
    asking = np.random.default_rng(0).random((30, 128)) < 0.1
    row, place = np.nonzero(asking)
    np.testing.assert_allclose(novels.looks_from(params, rows[:, :-1], asking), weights[row, :, :, place], atol=1e-6)
    silent = novels.looks_from(params, rows[:, :-1], asking, off)
    assert not silent[:, 0, 2].any() and silent[:, 0, 1].any()


@pytest.mark.parametrize("number", [n for n in train.SEEDS if novels.model_file(n) in RECORDING["sha256"]])
def test_each_model_of_the_package_loses_what_was_recorded(number, held, tokenizer):
    params, recorded = novels.read_model(number), RECORDING["runs"]["novels"][number]["zero ablation"][""]["loss"]
    fresh = init_transformer(np.random.default_rng(0), novels.CONFIG)
    assert [part.shape for part in leaves(params)] == [part.shape for part in leaves(fresh)]
    assert reading.read(params, held.rows, tokenizer)[0].mean() == pytest.approx(recorded, abs=2e-4)
    assert recorded < 3.65
