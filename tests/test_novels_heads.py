"""What heads do about quotations: the places where it is measured, and the shipped model's as it was recorded."""

import numpy as np
import pytest

from attn.interventions import named_head
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import copying, counting, exchange, measure, places, writing

RECORDING = read_measured("novels")
SHIPPED = RECORDING["runs"]["novels"][novels.SHIPPED]
QUOTING = tuple(named_head(head) for head in SHIPPED["quoting"])


@pytest.fixture(scope="module")
def params():
    return novels.read_model()


def test_places_are_of_three_kinds_by_the_mark_that_stands_behind_them(held, tokenizer):
    assert [int(getattr(held, kind).sum()) for kind in places.KINDS] == [817, 159, 3342]
    assert (held.inside.astype(int) + held.closed + held.narration).max() == 1
    for kind, marks in {"inside": held.opening_marks, "closed": held.closing_marks}.items():
        row, place = np.nonzero(getattr(held, kind))
        assert marks[row, held.marks[row, place]].all(), kind
    assert (held.marks[held.narration] < 0).all()
    words = np.array(tokenizer.words)[held.rows[:, :-1]]
    assert set(words[held.opening_marks]) == {novels.OPENING, novels.CLOSING} and set(words[held.closing_marks]) == {
        novels.CLOSING
    }
    assert (words[:, :-1][(held.opening_marks & (words == novels.CLOSING))[:, 1:]] == "\n").all()
    assert not (held.opening_marks & held.closing_marks).any()


def test_counted_shares_sum_to_one_behind_what_was_seen_and_what_was_not(tokenizer):
    tokens = tokenizer.encode(novels.read_text("held out"))
    orders = counting.count(tokens, 4)
    for before in ([], tokens[10:11], tokens[10:13], [7, 7, 7], tokens[[3, 900, 17]]):
        texts = np.array([[*before, last] for last in range(2048)])
        P = counting.likely(orders, texts)
        assert P.sum() == pytest.approx(1, abs=1e-9) and P.min() > 0


def test_n_grams_lose_what_was_recorded(tokenizer, held):
    lost = counting.losses(tokenizer.encode(novels.read_text()), held.rows, 3)
    assert lost.mean() == pytest.approx(SHIPPED["n-grams"]["3-grams"][0], abs=2e-4)


def test_the_author_closes_as_many_quotations_as_were_recorded(held, tokenizer):
    texts = measure.beginnings(tokenizer, held.rows.ravel())
    assert texts.shape == (180, 72)
    assert measure.first_marks(texts[:, 12:], tokenizer) == SHIPPED["first mark"]["Austen"]


def test_what_was_recorded_of_the_shipped_model_is_measured_again(params, tokenizer, held):
    recorded = SHIPPED["zero ablation"][""]
    again = places.measure(params, tokenizer, held)
    assert again["loss"] == pytest.approx(recorded["loss"], abs=2e-4)
    np.testing.assert_allclose(again["P"], recorded["P"], rtol=0.02, atol=2e-5)
    np.testing.assert_allclose(again["log-odds, inside - closed"], recorded["log-odds, inside - closed"], atol=0.02)
    direct = writing.inside_less_closed(params, tokenizer, held)
    np.testing.assert_allclose([*direct.values()], [*SHIPPED["direct logit attribution"].values()], atol=0.005)
    assert copying.named_again(params, tokenizer) == pytest.approx(SHIPPED["named again, beside others"], abs=0.002)


def test_exchanged_values_let_what_is_closed_be_closed_again_as_was_recorded(params, tokenizer, held):
    values, here = exchange.mean_values(params, held), held.closed.any(axis=1)
    marked = [part[here] for part in (held.rows, held.opening_marks, held.closing_marks)]
    log_odds = exchange.patched(params, *marked, tokenizer, QUOTING[:1], values)
    again = (1 / (1 + np.exp(-log_odds)))[held.closed[here]].mean()
    recorded = SHIPPED["values put in"]["exchanged"][SHIPPED["quoting"][0]]["P"][1]
    assert again == pytest.approx(recorded, rel=0.02)
    assert recorded > 10 * SHIPPED["zero ablation"][""]["P"][1]
