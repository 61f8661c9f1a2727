"""What was recorded of SmolLM2: of the sizes that it says, and where the model is installed, coming out again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attn_course.measured import read_measured
from recordings.smollm2 import claims, creature, fetching, keys, wall
from recordings.smollm2.model import HEADS, SENTENCES, Model
from recordings.smollm2.wall import LEVELS

FOUND, WALL, CLAIMS = (read_measured(name)["runs"] for name in ("smollm2", "smollm2_wall", "smollm2_claims"))


@pytest.fixture
def model(smollm2):
    return Model(*smollm2)


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


def test_the_capital_of_france_comes_out_again(model):
    best = FOUND["capitals"]["head"]
    again, recorded = fetching.example(model, [best, "L24H4"]), FOUND["capitals"]["France given Japan"]
    for name in ("as it is", best, "L24H4"):
        assert_allclose(again[name], recorded[name], atol=0.01)


def test_it_and_the_colour_read_at_the_noun_come_out_again(model):
    assert np.mean(creature.readable(model, SENTENCES["creature"]["frames"][:3])[1:4]) > 0.8
    assert_allclose(creature.it(model)["effect"], FOUND["it"]["effect"], atol=0.02)
    colours = np.array([model.word(colour) for colour in SENTENCES["creature"]["colours"]])
    of_a_door = np.mean(creature.effects_of_a_door(model, colours))
    assert abs(of_a_door - FOUND["creature"]["effect, a door is asked about"][0]) < 0.02


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
    assert claims.beginnings(model, n_texts=1)["largest difference"] < 1e-3
    for other, found in claims.parts(model).items():
        for name, share in found.items():
            assert_allclose(share, CLAIMS["parts"][other][name], atol=0.01, err_msg=f"{other}, {name}")
