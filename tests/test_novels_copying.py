"""The reader that learned to copy from rows in which something comes again: as it was recorded."""

import numpy as np
import pytest

from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import learn, reader_that_copies

READER = read_measured("reader_that_copies")


def test_names_end_their_texts_and_are_in_no_novel(tokenizer):
    text = novels.read_text() + novels.read_text("held out")
    assert not [name for name in reader_that_copies.NAMES if name in text]
    for texts in reader_that_copies.twice_in_frames(tokenizer):
        ends = [tokenizer.decode(row[-reader_that_copies.NAME_LENGTH :]) for row in texts]
        assert ends == [f" {name}" for name in reader_that_copies.NAMES]
        assert all(tokenizer.decode(row).count(end) == 2 for row, end in zip(texts, ends))


def test_the_readers_training_begins_as_it_was_recorded_and_goes_on_where_it_was(tmp_path, monkeypatch, tokenizer):
    tokens, kept = tokenizer.encode(novels.read_text()), []
    monkeypatch.setattr(reader_that_copies, "EVERY", 2)
    for name, stops in {"at once": [4], "stopped": [2, 4]}.items():
        monkeypatch.setattr(learn, "REACHED", tmp_path / name)
        monkeypatch.setattr(reader_that_copies, "REACHED", tmp_path / name)
        (tmp_path / name).mkdir()
        for n_taken in stops:
            _, losses = reader_that_copies.learn_to_copy(tokens, None, n_taken)
        kept.append(losses)
    assert kept[0] == kept[1]
    np.testing.assert_allclose(kept[0], [7.778668, 7.809321, 7.806079, 7.677819], atol=2e-4)


def test_the_reader_loses_and_copies_what_was_recorded(tokenizer, held):
    params = novels.read_model("copying")
    assert novels.losses(params, held.rows).mean() == pytest.approx(READER["runs"]["held out"]["that copies"], abs=2e-4)
    again = reader_that_copies.measure(params, tokenizer)
    for what, parts in READER["runs"]["that copies"].items():
        for key, recorded in parts.items():
            np.testing.assert_allclose(again[what][key], recorded, atol=0.02, err_msg=key)
