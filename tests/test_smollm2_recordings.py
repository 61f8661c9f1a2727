"""What was recorded of SmolLM2: measured as its script says, and where the model is installed, coming out again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attn import TransformerConfig, decoder, init_transformer
from attn_course.measured import read_measured
from recordings.smollm2 import claims, copying, creature, fetching, keys, sinks, wall
from recordings.smollm2.model import HEADS, SENTENCES, Model, differ, handed_over, lead, losses, mixtures
from recordings.smollm2.wall import LEVELS

FOUND, WALL, CLAIMS = (read_measured(name)["runs"] for name in ("smollm2", "smollm2_wall", "smollm2_claims"))
CONFIG = TransformerConfig(
    vocab_size=50, d_model=12, n_heads=3, n_layers=2, n_key_heads=1, d_ff=8, positions="rotary",
    norm_type="rms", activation="swiglu", biases="none",
)  # fmt: skip
ROWS = np.random.default_rng(0).integers(50, size=(4, 6))


@pytest.fixture
def small():
    return Model(init_transformer(np.random.default_rng(1), CONFIG, dtype=float), CONFIG, None)


@pytest.fixture
def model(smollm2):
    return Model(*smollm2)


def test_the_last_tokens_are_asked_as_if_all_had_been_read_at_once(small):
    behind = small.behind(ROWS)
    assert_allclose(behind(), decoder(small.params, CONFIG, ROWS)[:, -1], atol=1e-12)
    trace = small.trace(ROWS)
    mixed = mixtures(trace, 2)[::-1]
    at_once = decoder(small.params, CONFIG, ROWS, interventions=[handed_over(mixed, 2, 3, place=5)])[:, -1]
    assert_allclose(behind([handed_over(mixed[..., -1:, :], 2, 3)]), at_once, atol=1e-12)
    assert_allclose(behind(), decoder(small.params, CONFIG, ROWS)[:, -1], atol=1e-12)  # the cache is as it was
    assert np.abs(at_once - behind()).max() > 1e-3


def test_leads_and_losses_are_those_of_logits():
    logits = np.random.default_rng(2).normal(size=(4, 6, 50))
    assert_allclose(lead(logits[:, -1], [1, 2, 3, 4], [5, 6, 7, 8])[2], logits[2, -1, 3] - logits[2, -1, 7])
    p = np.exp(logits[1, 3]) / np.exp(logits[1, 3]).sum()
    assert_allclose(losses(logits, ROWS)[1, 3], -np.log(p[ROWS[1, 4]]))
    assert losses(logits, ROWS).shape == (4, 5)
    assert differ(np.array([[1, 2, 3], [4, 5, 6]]), np.array([[1, 9, 3], [4, 5, 7]])).tolist() == [1, 2]


def test_a_token_is_hidden_from_later_ones_alone_and_a_lonely_one_sees_itself():
    n = sinks.LENGTH
    seen = sinks.hidden(0, 1).mask(1, n)[0]
    assert seen[0, 0] and seen[1, 1] and not seen[1:, 0].any() and not seen[2:, 1].any() and seen[:, 2:].all()
    lonely = sinks.alone(sinks.ALONE).mask(1, n)[0]
    assert_array_equal(np.flatnonzero(~lonely[sinks.ALONE]), np.arange(sinks.ALONE))
    assert lonely[np.arange(n) != sinks.ALONE].all()
    assert_array_equal(np.argwhere(~sinks.alone(sinks.ALONE, but=(0,)).mask(1, n)[0]), [[sinks.ALONE, 0]])


def test_hidden_units_are_taken_out_as_if_their_rows_were_zero(small, monkeypatch):
    monkeypatch.setattr(sinks, "LAYER", 2)
    trace = small.trace(ROWS)
    put = sinks.without_units(small, trace, (1, 4), 3)
    mlp = small.params["layer 2"]["mlp"]
    W_2 = mlp["W_2"].copy()
    W_2[[1, 4]] = 0
    other = Model({**small.params, "layer 2": {**small.params["layer 2"], "mlp": {**mlp, "W_2": W_2}}}, CONFIG, None)
    assert_allclose(put.stream, other.trace(ROWS).layers[1].after_mlp[:, 3], atol=1e-12)


def test_a_probe_direction_and_cosines_are_what_they_say():
    X = np.random.default_rng(3).normal(size=(5, 4))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert_allclose(keys.mean_cosine(X), (unit @ unit.T)[~np.eye(5, dtype=bool)].mean())
    assert copying.is_word(" house")
    assert not any(map(copying.is_word, ("house", " House", " it", " naïve", " a-b")))


def test_sentences_fit_their_tasks():
    tasks = {name: task for name, task in SENTENCES["tasks"].items() if name != "filler"}
    assert all("{filler}" in text or "nouns" in task for task in tasks.values() for text in task["texts"])
    assert all(frame.startswith("A {} ") for frame in SENTENCES["creature"]["frames"])
    found_on, judged_on = (set(SENTENCES["capitals"][name]["countries"]) for name in ("found on", "judged on"))
    assert not found_on & judged_on and len(found_on) == len(judged_on) == 6


def test_the_recording_is_of_as_many_heads_layers_and_texts_as_it_says():
    assert FOUND["heads"] == HEADS and len(FOUND["sinks"]["first token by head"]) == 270
    assert all(len(task["this layer alone"]) == 30 for task in FOUND["tasks"].values())
    assert len(FOUND["creature"]["put in at the noun"]) == 31
    for shown, asked in zip(WALL, SENTENCES["wall"], strict=True):
        n = len(shown["tokens"])
        assert len(shown["weights"]) == 270 * n * (n + 1) // 2 and set(shown["weights"]) <= set(LEVELS)
        assert len(shown["off"]) == 270 * (n - 1) and len(shown["likely"]) == n - 1
        assert shown["text"] == asked["text"] and ("exchange" in shown) == ("other" in asked)
    assert len(CLAIMS["senses"]["by layer"]) == len(CLAIMS["scores"]["equal weights in one layer"]) == 30


def test_letters_say_changes_up_to_their_reach_and_no_further():
    nats = np.array([0, 0.01, -0.02, 0.3, -4, 12])
    steps = np.array([LEVELS.index(letter) for letter in wall.changes(nats)]) - wall.MIDDLE
    assert_allclose(np.sign(steps) * (steps / wall.STEEP) ** 2, nats, atol=0.2, rtol=0.03)
    with pytest.raises(ValueError, match=r"a change goes up to 18 nats, but these reach from -20.0 to 0.0"):
        wall.changes(np.array([0.0, -20]))


def test_scores_are_multiplied_in_the_layers_that_are_named(small):
    seen, other = (model.trace(ROWS).layers for model in (small, claims.with_scores_times(small, 3, [2])))
    assert_allclose(other[0].attention.scores, seen[0].attention.scores)
    assert_allclose(other[1].attention.scores, 3 * seen[1].attention.scores)


def test_the_capital_of_france_comes_out_again(model):
    best = FOUND["capitals"]["head"]
    again, recorded = fetching.example(model, [best, "L24H4"]), FOUND["capitals"]["France given Japan"]
    for name in ("as it is", best, "L24H4"):
        assert_allclose(again[name], recorded[name], atol=0.01)


def test_it_and_the_colour_read_at_the_noun_come_out_again(model):
    assert np.mean(creature.readable(model, SENTENCES["creature"]["frames"][:3])[1:4]) > 0.8
    assert_allclose(creature.it(model)["effect"], FOUND["it"]["effect"], atol=0.02)


def test_keys_have_the_cosines_that_were_recorded(model):
    again = keys.keys(model)
    for name, parts in FOUND["keys"].items():
        if name != "words":
            for part, cosines in parts.items():
                for pair, cosine in cosines.items():
                    assert abs(again[name][part][pair] - cosine) < 2e-3, (name, part, pair)


def test_a_window_of_the_wall_comes_out_again(model, monkeypatch):
    monkeypatch.setattr(wall, "HEADS", ["L24H5", "L1H1"])
    recorded = WALL[1]
    again, n, places = wall.shown(model, **SENTENCES["wall"][1]), len(recorded["tokens"]), [23 * 9 + 4, 0]
    size = n * (n + 1) // 2
    assert again["tokens"] == recorded["tokens"] and again["next"][0][0] == recorded["next"][0][0] == " Paris"
    for number, place in enumerate(places):
        for name, one, width in (("weights", place, size), ("off", number, n - 1)):
            found, kept = again[name][one * width :][:width], recorded[name][place * width :][:width]
            assert max(abs(LEVELS.index(a) - LEVELS.index(b)) for a, b in zip(found, kept, strict=True)) <= 1
    for answer in ("Paris", "Tokyo"):
        assert_allclose(again["exchange"][answer], np.array(recorded["exchange"][answer])[places], rtol=0.02)


def test_further_claims_come_out_again(model):
    assert claims.beginnings(model)["largest difference"] < 1e-3
    for other, found in claims.parts(model).items():
        for name, share in found.items():
            assert_allclose(share, CLAIMS["parts"][other][name], atol=0.01, err_msg=f"{other}, {name}")
