"""What heads do about quotations, beside counted n-grams and the author: the shipped model's, as it was recorded."""

from functools import partial

import numpy as np
import pytest

from attn.interventions import named_head
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import counting, exchange, measure, places, quotations

SHIPPED = read_measured("novels")["runs"]["novels"][novels.SHIPPED]
ODDS, PARAMS = "log-odds, inside - closed", novels.read_model()


def test_n_grams_lose_what_was_recorded(tokenizer, held):
    lost = counting.losses(tokenizer.encode(novels.read_text()), held.rows, 3)
    assert lost.mean() == pytest.approx(SHIPPED["n-grams"]["3-grams"][0], abs=2e-4)


def test_the_author_closes_as_many_quotations_as_were_recorded(held, tokenizer):
    texts = measure.beginnings(tokenizer, held.rows.ravel())
    assert texts.shape == (180, 72)
    assert measure.first_marks(texts[:, 12:], tokenizer) == SHIPPED["first mark"]["Austen"]


def test_what_was_recorded_of_the_shipped_model_is_measured_again(tokenizer, held):
    weights = novels.in_parts(partial(novels.looks, PARAMS), held.rows[:, :-1])
    np.testing.assert_allclose(quotations.on_the_mark(weights, held), SHIPPED["on the mark"][-1], atol=0.01)
    recorded = SHIPPED["zero ablation"][""]
    again = places.measure(PARAMS, tokenizer, held)
    assert again["loss"] == pytest.approx(recorded["loss"], abs=2e-4)
    np.testing.assert_allclose(again[ODDS], recorded[ODDS], atol=0.02)


def test_exchanged_values_let_what_is_closed_be_closed_again_as_was_recorded(tokenizer, held):
    head, whole = SHIPPED["quoting"][0], SHIPPED["zero ablation"][""][ODDS][0]
    again = exchange.measure(PARAMS, tokenizer, held, [[named_head(head)]])["exchanged"][head]
    recorded = SHIPPED["values put in"]["exchanged"][head]
    np.testing.assert_allclose(again[ODDS], recorded[ODDS], atol=0.02)
    assert recorded[ODDS][0] < 0.1 * whole < SHIPPED["zero ablation"][head][ODDS][0]
