"""The toy grammars: what they promise, and that no test row was seen in training."""

import numpy as np
import pytest

from attn_course.corpora import DIRTY, TIRED, apples, coreference, fortunes, repeated, two_relations

CORPORA = {
    "coreference": (coreference, "sentences"),
    "apples": (apples, "source"),
    "two relations": (two_relations, "rows"),
    "fortunes": (fortunes, "sentences"),
}


@pytest.mark.parametrize("name", CORPORA)
def test_no_test_row_a_tenth_or_a_quarter_is_seen_in_training_and_a_seed_gives_the_same_rows(name):
    make, rows = CORPORA[name]
    corpus, again = make(np.random.default_rng(1)), make(np.random.default_rng(1))
    train, test = ({tuple(row) for row in part[rows]} for part in (corpus.train, corpus.test))
    assert train and test and not train & test
    n_test, n_train, share = len(corpus.test[rows]), len(corpus.train[rows]), 1 / 4 if "sentences" in rows else 1 / 10
    assert abs(n_test - share * (n_test + n_train)) <= 0.5
    for part, other in ((corpus.train, again.train), (corpus.test, again.test)):
        for key in part:
            np.testing.assert_array_equal(part[key], other[key])
    assert max(int(part[rows].max()) for part in (corpus.train, corpus.test)) < len(corpus.words)


def test_the_adjective_alone_tells_who_is_meant():
    corpus = coreference(np.random.default_rng(2))
    for part in (corpus.train, corpus.test):
        for tokens, answer in zip(part["sentences"], part["answers"]):
            words = corpus.decode(tokens).split()
            assert words[::2][:1] + words[2:5] + words[6:9] == ["the", "sat", "on", "the", "because", "it", "was"]
            assert corpus.words[answer] == (words[1] if words[9] in TIRED else words[5])
            assert words[9] in TIRED + DIRTY
    pairs = [{frozenset(row) for row in part["sentences"][:, [1, 5]].tolist()} for part in (corpus.train, corpus.test)]
    assert not pairs[0] & pairs[1]
    ordered = {tuple(row) for part in (corpus.train, corpus.test) for row in part["sentences"][:, [1, 5]].tolist()}
    assert len(ordered) == 2 * sum(map(len, pairs)) and all(pair[::-1] in ordered for pair in ordered)


def test_every_kind_of_sentence_about_apples_is_trained():
    corpus = apples(np.random.default_rng(3))
    texts = [corpus.decode(row) for row in corpus.train["source"]]
    assert sum("finished his" in text for text in texts) > 5 and sum("finished her" in text for text in texts) > 5
    for sentence in [
        "Apple iPhone is an amazing phone. I like it better than an apple.",
        "The dog finished his food quickly.",
        "My favourite fruit is an apple. I prefer it over a banana.",
    ]:
        assert corpus.decode(corpus.encode(sentence)) == sentence


def test_the_pronoun_of_the_translation_follows_the_noun():
    corpus = apples(np.random.default_rng(4))
    pairs = [(corpus.decode(s), corpus.decode(t)) for s, t in zip(corpus.train["source"], corpus.train["target"])]
    for word, pronoun in [("watch", "elle"), ("laptop", "il")]:
        found = [
            target
            for source, target in pairs
            if f" {word}" in source and "clock" not in source and "machine" not in target and "It is" in source
        ]
        assert found and all(f" . {pronoun} est " in target for target in found)


def test_the_answers_to_both_relations_are_right():
    corpus = two_relations(np.random.default_rng(6))
    for row, before, same_name in zip(corpus.test["rows"][:50], corpus.test["before"], corpus.test["same_name"]):
        names, items = row // 8, row % 8
        for i in range(8):
            assert before[i] == (items[i - 1] if i else -1)
            earlier = [items[j] for j in range(i) if names[j] == names[i]]
            assert same_name[i] == (earlier[-1] if earlier else -1)


def test_a_row_repeats_with_a_period_of_its_own():
    rows, known = repeated(np.random.default_rng(7), 300)
    periods = set()
    for row, can_be_known in zip(rows, known):
        period = 19 - int(can_be_known.sum())
        periods.add(period)
        np.testing.assert_array_equal(row[period:], row[:-period])
        assert len(set(row[:period])) == period
        stood_before = [symbol in row[:place] for place, symbol in enumerate(row[:-1])]
        assert can_be_known.tolist() == stood_before
    assert periods == {5, 6, 7, 8, 9, 10}
    assert set(rows[:, 0]) == set(rows[:, 4]) == set(range(20))  # a row may begin with any symbol


def test_a_fortune_keeps_to_its_grammar_and_none_is_missing():
    corpus = fortunes(np.random.default_rng(8))
    rows = np.vstack([corpus.train["sentences"], corpus.test["sentences"]])
    assert len(corpus.test["sentences"]) == 16 and len(set(map(tuple, rows))) == 64
    for row in rows:
        name, verb, _, *rest = corpus.decode(row).split()
        pronoun, feeling = (
            "she" if name in ("Anna", "Mary") else "he",
            "wept" if verb in ("lost", "wasted") else "smiled",
        )
        assert rest == ["and", pronoun, feeling, "."]


def test_what_is_no_word_and_no_token_and_rows_that_cannot_repeat_are_refused():
    corpus = coreference(np.random.default_rng(9))
    assert corpus.encode("").dtype == int
    with pytest.raises(ValueError, match="not a word of this corpus: dragon"):
        corpus.encode("the dragon")
    for wrong in (-1, len(corpus.words)):
        with pytest.raises(ValueError, match=f"from 0 to {len(corpus.words) - 1}, but there is {wrong}"):
            corpus.decode([0, wrong])
    for length in (9, 42):
        with pytest.raises(ValueError, match=f"length must be from 10 to 41, but is {length}"):
            repeated(np.random.default_rng(7), 2, length=length)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_held_out_is_drawn_by_lot(seed):
    """Taken in order, all pairs with the first noun, or all fortunes of one name, would be in the test."""
    sentences = coreference(np.random.default_rng(seed)).test["sentences"]
    pairs = {frozenset(pair) for pair in sentences[:, [1, 5]].tolist()}
    assert len(pairs) == 30
    assert max(sum(noun in pair for pair in pairs) for noun in sentences[:, 1]) <= 10
    sentences = fortunes(np.random.default_rng(seed)).test["sentences"]
    assert [len(set(sentences[:, place])) for place in range(3)] == [4, 4, 4]


def test_rows_come_in_no_order():
    """Short sentences about apples are drawn more often than long ones, so they would come first."""
    for seed in range(3):
        drawn = apples(np.random.default_rng(seed))
        lengths = (np.vstack([drawn.test["source"], drawn.train["source"]]) > 0).sum(axis=1)
        fifth = len(lengths) // 5
        assert abs(lengths[:fifth].mean() - lengths[-fifth:].mean()) < 1.5
    drawn = two_relations(np.random.default_rng(1))
    first = np.concatenate([drawn.test["rows"], drawn.train["rows"]])[:, 0]
    assert abs(np.corrcoef(first, np.arange(len(first)))[0, 1]) < 0.2
