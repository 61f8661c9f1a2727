"""Rows in which something comes again, what is measured on them, and the reader that learned to copy from them."""

import hashlib

import numpy as np
import pytest

from attn import decoder
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import learn, made_up_names, reader_that_copies, repeats, tellings

FIVE = read_measured("told_twice")["runs"]
READER = read_measured("reader_that_copies")
COPIER = READER["runs"]["that copies"]


@pytest.fixture(scope="module")
def params():
    return novels.read_model("copying")


@pytest.fixture(scope="module")
def names(tokenizer, held):
    tokens = held.rows.ravel()
    are = np.zeros(len(tokenizer.words), bool)
    are[[tokenizer.words.index(f" {name}") for name in ("Emma", "Anne", "Elizabeth", "Thomas")]] = True
    return repeats.Names(tokens, tokenizer, are, 129)


# --- rows ------------------------------------------------------------------------------------------------------------


def test_random_tokens_come_again_and_none_of_them_twice_before():
    rng = np.random.default_rng(0)
    for shortest, longest in [(5, 16)] * 20 + [(400, 500)] * 5:
        row, period = repeats.random_again(rng, 1000, shortest, longest)
        assert len(row) == 1000 and shortest <= period <= longest and len(set(row[:period])) == period
        assert (row[period:] == row[:-period]).all() and row.min() >= repeats.FIRST_JOIN


def test_a_passage_that_comes_again_stands_in_the_text():
    row = repeats.passage_again(np.random.default_rng(0), np.arange(1000), 48, 6, 6)
    assert (np.diff(row[:6]) == 1).all() and (row[6:] == row[:-6]).all()


def test_names_are_words_that_stand_for_somebody(tokenizer):
    tokens = tokenizer.encode(novels.read_text())
    found = {tokenizer.words[token] for token in np.flatnonzero(repeats.names_of(tokens, tokenizer))}
    assert {" Elizabeth", " Darcy", " Emma", " Wentworth"} < found
    assert not found & {" Mr", " Hen", " Church", " Oh", " The", "Emma"}


def test_a_made_up_name_stands_wherever_the_real_one_stood(names, tokenizer):
    rng, again = np.random.default_rng(1), 0
    for _ in range(20):
        row, mentions = names.renamed(rng)
        assert row.shape == mentions.shape == (129,)
        assert not {" Emma", " Anne", " Elizabeth", " Thomas"} & {tokenizer.words[token] for token in row[:-1]}
        starts = np.flatnonzero(np.diff(mentions, prepend=0) * (mentions > 0))
        stood = {}
        for start in starts:
            end = start + int((mentions[start:] != mentions[start]).argmax())
            if end > start:  # of the last one, only a part may stand in the row
                stood.setdefault(tokenizer.decode(row[start:end]), []).append(int(mentions[start]))
        assert all(found == list(range(found[0], found[0] + len(found))) for found in stood.values())
        again += any(len(found) > 1 for found in stood.values())
    assert again > 10


def test_what_nobody_could_know_does_not_count(names):
    rng = np.random.default_rng(0)
    mixture = {"length": 129, "novels": 2, "random": (3, 7, 7), "passages": (1, 9, 9), "renamed": 2}
    rows, counts = reader_that_copies.batch(rng, np.arange(80, 2000), names, **mixture)
    assert rows.shape == (8, 129) and counts.shape == (8, 128)
    assert counts[:2].all() and counts[5].all()
    assert not counts[2:5, :7].any() and counts[2:5, 7:].all()
    assert (rows[2:5, 8] == rows[2:5, 1]).all()  # the first that counts has its own token before it in both tellings
    assert (~counts[6:]).sum(axis=1).min() > 0


# --- measures --------------------------------------------------------------------------------------------------------


def test_the_second_telling_begins_behind_its_first_token():
    told = tellings.twice(np.arange(10).reshape(2, 5))
    following = told.rows[:, 1:]
    assert told.first(following).tolist() == [[1, 2, 3, 4], [6, 7, 8, 9]]
    assert told.second(following).tolist() == told.first(following).tolist()


def test_heads_that_look_back_and_heads_that_copy_are_told_apart(monkeypatch):
    told, weights, asks = tellings.twice(np.arange(12).reshape(2, 6)), np.zeros((2, 4, 4, 11, 11)), np.arange(6, 11)
    weights[:, 1, 2, np.arange(1, 11), np.arange(10)] = 0.9
    weights[:, 3, 1, asks, asks - 5], weights[:, 3, 2, asks, asks - 6] = 0.7, 0.8  # the latter looks at the same token
    monkeypatch.setattr(novels, "looks", lambda params, rows: weights[: len(rows)])
    monkeypatch.setattr(novels, "in_parts", lambda function, rows: function(rows))
    assert tellings.heads_of(None, {"random": told}) == [[(2, 3)], [(4, 2)]]


def test_a_change_is_where_a_share_of_it_is_made():
    values = [5, 5, 5.5, 7, 9.5, *[10] * 5]
    assert [tellings.reached(values, share) for share in (0.1, 0.5, 0.9)] == [2, 4, 4]
    quiet, loud = [0.1] * 10, [0.2, 0.2, 0.2, *[0.9] * 7]
    seen = {"random, first": values, "random, again": [5] * 10, "one back": [[a, b] for a, b in zip(loud, quiet)]}
    found = tellings.changes(seen | {"copying": [[[value / 10]] for value in values]}, 10)
    assert [*found.values()] == [[20, 40, 40], 30, 40]


def test_other_sets_hold_other_heads():
    sets = tellings.other_sets([(2, 1), (4, 1), (4, 2)], 2)
    assert len(sets) == len(set(map(tuple, sets))) == 10
    assert all(layer > 1 and (layer, head) not in [(2, 1), (4, 1), (4, 2)] for one in sets for layer, head in one)


def test_what_is_given_comes_from_the_row_before(params, held):
    told = tellings.texts(held)["random"]
    heads = tellings.heads_of(params, {"random": told})[1]
    own, others = tellings.given_another(params, told, heads)
    likeliest = decoder(params, novels.CONFIG, told.rows[:, :-1]).argmax(axis=-1)
    right = told.second(likeliest == told.rows[:, 1:]).mean()
    assert tellings.given_another(params, told, [])[0] == pytest.approx(right, abs=1e-4)
    assert own < 0.1 < 0.5 < others


def test_names_end_their_texts_and_are_in_no_novel(tokenizer):
    text = novels.read_text() + novels.read_text("held out")
    assert not [name for name in made_up_names.NAMES if name in text]
    for texts in made_up_names.twice_in_frames(tokenizer):
        ends = [tokenizer.decode(row[-made_up_names.LONG :]) for row in texts]
        assert ends == [f" {name}" for name in made_up_names.NAMES]
        assert all(tokenizer.decode(row).count(end) == 2 for row, end in zip(texts, ends))


# --- as recorded -----------------------------------------------------------------------------------------------------


def test_the_readers_file_is_the_one_that_was_measured():
    for name, digest in READER["sha256"].items():
        assert hashlib.sha256((novels.FOLDER / name).read_bytes()).hexdigest() == digest, name
    assert (novels.FOLDER / novels.model_file("copying")).stat().st_size < 1_100_000


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


def test_the_reader_loses_and_copies_what_was_recorded(params, held):
    assert novels.losses(params, held.rows).mean() == pytest.approx(READER["runs"]["held out"]["that copies"], abs=2e-4)
    told = tellings.texts(held)
    heads = tellings.heads_of(params, told)
    recorded = [READER["runs"][key] for key in ("heads one back", "heads that copy")]
    assert [tellings.named(one) for one in heads] == recorded
    for kind, one in told.items():
        for off in ([], heads[1]):
            share, lost = COPIER["heads off"][kind]["copying" if off else "nothing"]
            found = tellings.second_telling(params, one, off)
            assert found == [pytest.approx(share, abs=0.01), pytest.approx(lost, abs=0.01)]


def test_made_up_names_cost_the_reader_what_was_recorded(params, tokenizer):
    tokens = tokenizer.encode(novels.read_text())
    found = made_up_names.mentioned(params, tokenizer, np.bincount(tokens, minlength=len(tokenizer.words)))
    for key, recorded in COPIER["made-up names"].items():
        np.testing.assert_allclose(found[key], recorded, atol=0.02, err_msg=key)


def test_the_reader_copies_names_that_no_novel_has_and_reads_novels_nearly_as_well():
    books, runs = READER["runs"]["the book's"], READER["runs"]
    assert runs["held out"]["that copies"] - runs["held out"]["the book's"] < 0.1
    names = COPIER["made-up names"]
    assert names["second"][0] < 0.4 * names["another was read"][0] < 0.4 * names["by frequency"]
    assert abs(books["made-up names"]["second"][0] - books["made-up names"]["another was read"][0]) < 0.5


def test_a_page_can_have_the_reader_that_copies_instead():
    (about, numbers), (other, others) = novels.for_a_page(), novels.for_a_page("copying")
    differ = [key for key in about if about[key] != other[key]]
    assert differ == ["name", "marks"] and about.keys() == other.keys()
    assert len(numbers) == len(others) and numbers != others


def test_five_models_of_five_learn_to_copy_and_none_without_texts_told_twice():
    for run, without, once in zip(*FIVE.values()):
        assert run["random, again"][-1] < 3 < 7.5 < once["random, again"][-1] < 12 < without["random, again"][-1]
        for control in (without, once):
            assert np.max(control["copying"]) < 0.1 and not control["at the end"]["heads that copy"]
        a_tenth, _, nine_tenths = run["change"]["second telling: a tenth, half, nine tenths"]
        assert run["change"]["one back: half"] < run["change"]["copying: half"] and nine_tenths - a_tenth <= 130
        assert_heads_copy(run["at the end"])


def assert_heads_copy(end):
    """Assert that the heads that copy do it: without them, with others off, given alone, and given another's values."""
    off, given = (end[key]["random"] for key in ("heads off", "values of another"))
    assert off["copying"][0] < 0.02 and off["one back"][0] < 0.05
    left = [share for share, _ in off["others"]]  # none, where too few other heads are left
    assert min(left, default=1) > 0.85 * off["nothing"][0]
    assert off["all but both"][0] > 0.85 * off["nothing"][0]
    assert given["copying"][0] < 0.01 and given["copying"][1] > 0.8 * given["none"][0]
