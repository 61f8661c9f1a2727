"""What heads do about quotations: each measure where its answer is known, and the shipped model's as recorded."""

from dataclasses import replace

import numpy as np
import pytest

from attn import ReplaceValues, Trace, decoder
from attn.interventions import named_head
from attn_course import novels
from attn_course.measured import read_measured
from recordings.novels import continuing, copying, counting, exchange, places, reading, writing

RECORDING = read_measured("novels")
SHIPPED = RECORDING["runs"]["novels"][novels.SHIPPED]
QUOTING = tuple(named_head(head) for head in SHIPPED["quoting"])


@pytest.fixture(scope="module")
def params():
    return novels.read_model()


def first_rows(held, n_rows):
    return replace(held, **{name: array[:n_rows] for name, array in vars(held).items()})


# --- three kinds of places -------------------------------------------------------------------------------------------


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


def test_losses_and_log_odds_are_those_of_the_page(params, tokenizer, held):
    rows = held.rows[:4]
    losses, log_odds = reading.read(params, rows, tokenizer)
    np.testing.assert_allclose(losses, novels.losses(params, rows), atol=1e-4)
    np.testing.assert_allclose(1 / (1 + np.exp(-log_odds)), novels.closing(params, rows[:, :-1], tokenizer), atol=1e-5)


def test_inside_and_closed_are_compared_and_rows_without_them_change_nothing(held):
    X, two = 3.0 * held.inside + 2 * held.closed, (held.inside, held.closed)
    assert places.compared(X, two, np.divide, 2) == [1.5, 1.5, 1.5]
    assert places.compared(X + 100 * held.narration, two, np.subtract, 2) == [1, 1, 1]
    value, low, high = places.compared(X + np.random.default_rng(0).random(X.shape), two, np.subtract, 3)
    assert low < value < high and value == pytest.approx(1, abs=0.1) and 0.02 < high - low < 0.2


def test_mean_ablation_leaves_the_mean_of_what_a_head_mixes(params, held):
    rows = held.rows[:30, :-1]
    mixtures = places.mean_mixtures(params, rows)
    assert mixtures.shape == (4, 4, 32)
    with Trace() as trace:
        decoder(params, novels.CONFIG, rows, interventions=[ReplaceValues(slice(None), mixtures[1, 3], 2, 4)])
    seen = trace.layers[1].attention
    np.testing.assert_allclose((seen.weights @ seen.V)[:, 3], np.broadcast_to(mixtures[1, 3], (30, 128, 32)), atol=1e-5)
    with Trace() as trace:
        decoder(params, novels.CONFIG, rows)
    seen = trace.layers[1].attention
    np.testing.assert_allclose((seen.weights @ seen.V).mean(axis=(0, 2)), mixtures[1], atol=1e-5)


def test_places_where_a_head_looks_are_itself_one_back_and_the_first(monkeypatch):
    weights = np.zeros((2, 4, 4, 20, 20))
    asks = np.arange(20)
    weights[:, 0, 1, asks, asks], weights[:, 2, 3, asks[1:], asks[:-1]], weights[:, 3, 0, asks, 0] = 0.7, 0.5, 0.3
    monkeypatch.setattr(novels, "looks", lambda params, rows: weights)
    found = {key: np.array(one) for key, one in places.where_heads_look(None, np.zeros((2, 20), int)).items()}
    for key, at, weight in [("itself", (0, 1), 0.7), ("one back", (2, 3), 0.5), ("first of the row", (3, 0), 0.3)]:
        assert found[key][at] == weight and found[key].sum() == pytest.approx(weight)


# --- counting --------------------------------------------------------------------------------------------------------


def test_counted_shares_sum_to_one_behind_what_was_seen_and_what_was_not(tokenizer):
    tokens = tokenizer.encode(novels.read_text("held out"))
    orders = counting.count(tokens, 4)
    for before in ([], tokens[10:11], tokens[10:13], [7, 7, 7], tokens[[3, 900, 17]]):
        texts = np.array([[*before, last] for last in range(2048)])
        P = counting.likely(orders, texts)
        assert P.sum() == pytest.approx(1, abs=1e-9) and P.min() > 0


def test_counts_are_discounted_as_chen_and_goodman_do_it():
    counts = np.repeat([1, 2, 3, 4, 9], [40, 12, 6, 3, 2])
    grams = np.arange(len(counts)) * 2048  # each behind another token
    order = counting.discounted(grams, counts)
    rest = 40 / (40 + 2 * 12)
    few = [1 - 2 * rest * 12 / 40, 2 - 3 * rest * 6 / 12, 3 - 4 * rest * 3 / 6]
    np.testing.assert_allclose(order.left, np.array([few[min(count, 3) - 1] for count in counts]) / counts)
    np.testing.assert_allclose(order.shares + order.left, 1)


def test_shorter_texts_count_by_how_many_tokens_stand_before_them(tokenizer):
    tokens = tokenizer.encode(novels.read_text("held out"))
    first, second = np.setdiff1d(np.arange(2048), tokens)[:2]
    tokens = np.concatenate([tokens, np.tile([first, second], 2000)])  # the second is frequent, behind the first alone
    single = counting.count(tokens, 2)[:1]
    often, comma = counting.likely(single, np.array([[second], [tokenizer.words.index(",")]]))
    assert often < 2e-4 < 0.01 < comma


def test_n_grams_read_no_further_than_the_row(tokenizer):
    tokens = tokenizer.encode(novels.read_text("held out"))
    rows = novels.rows_of(tokens)[:3]
    lost = counting.losses(tokens[:20_000], rows, 3)
    assert lost.shape == (3, 128)
    for n, place in [(2, 0), (3, 1), (3, 100)]:
        P = counting.likely(counting.count(tokens[:20_000], n), rows[:, place + 2 - n : place + 2])
        np.testing.assert_allclose(lost[:, place], -np.log(P))


def test_the_model_and_n_grams_are_mixed_by_halves():
    one, other = np.full((2, 128), -np.log(0.1)), np.full((2, 128), -np.log(0.5))
    found = counting.beside(one, {"2-grams": other})
    assert found["model and 2-grams"] == pytest.approx([-np.log(0.3)] * 3, abs=1e-4)


# --- what comes first, what is put in, what is written ---------------------------------------------------------------


def test_the_mark_that_comes_first_counts(tokenizer):
    closing, opening, end = (tokenizer.words.index(word) for word in continuing.FIRST)
    new = np.full((5, 60), 100)
    new[0, [3, 9]], new[1, [2, 5]], new[2, [59, 20]] = (closing, opening), (opening, end), (closing, end)
    new[3, 59] = closing
    assert continuing.first_marks(new, tokenizer) == [0.4, 0.2, 0.2, 0.2]


def test_the_author_closes_as_many_quotations_as_were_recorded(held, tokenizer):
    texts = continuing.beginnings(tokenizer, held.rows.ravel())
    assert texts.shape == (180, 72)
    assert continuing.first_marks(texts[:, 12:], tokenizer) == SHIPPED["first mark"]["Austen"]


def test_marks_get_the_values_of_the_other_kind(held):
    opens, closes, values = held.opening_marks[:9], held.closing_marks[:9], np.arange(2 * 16 * 32).reshape(2, 4, 4, 32)
    put = exchange.put_in([(3, 2), (4, 3)], values, opens, closes)
    assert [(one.layer, one.head) for one in put] == [(3, 2), (3, 2), (4, 3), (4, 3)]
    for one, here, value in zip(put[2:], (closes, opens), values):
        assert (one.place == here).all() and (one.values == value[3, 2]).all()


def test_mean_values_are_those_of_marks_of_each_kind(params, held):
    rows = first_rows(held, 30)
    opening, closing = exchange.mean_values(params, rows)
    with Trace() as trace:
        decoder(params, novels.CONFIG, rows.rows[:, :-1])
    V = trace.layers[3].attention.V[:, 2]
    np.testing.assert_allclose(opening[3, 2], V[rows.opening_marks].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(closing[3, 2], V[rows.closing_marks].mean(axis=0), atol=1e-5)


def test_what_parts_add_to_a_logit_sums_to_it(params, tokenizer, held):
    rows, E = held.rows[:3, :-1], params["embedding"]
    parts = writing.contributions(params, rows, np.ones(rows.shape, bool), tokenizer)
    logits, mark = decoder(params, novels.CONFIG, rows), tokenizer.words.index(novels.CLOSING)
    of_bias = params["norm"]["bias"] @ (E[mark] - E.mean(axis=0))
    np.testing.assert_allclose(
        parts.sum(axis=1) + of_bias, np.ravel(logits[..., mark] - logits.mean(axis=-1)), atol=1e-4
    )


def test_only_what_stands_before_tells_a_mark_that_opens_a_paragraph_from_one_that_closes(params, tokenizer, held):
    found = writing.one_back(params, tokenizer, first_rows(held, 60), *QUOTING[0])["written"]
    assert found["nothing"]["opening a paragraph"][0] > 2 and found["nothing"]["closing"][0] < -3
    blind = found["all but itself in all layers below"]
    assert blind["opening a paragraph"] == blind["closing"] and len(set(blind["closing"])) == 1
    assert found["one back in all layers below"]["opening a paragraph"][0] < -2


# --- copying ---------------------------------------------------------------------------------------------------------


def test_a_name_that_is_copied_is_raised_and_others_are_not(monkeypatch, tokenizer):
    families = [tokenizer.words.index(f" {name}") for name in copying.FAMILIES]

    def copies(params, tokenizer, frames, name):
        logits = np.random.default_rng(len(name)).normal(size=(len(frames), 2048))
        logits[:, families[3]] += 9  # likeliest whatever was read
        logits[:, tokenizer.words.index(f" {name}")] += 2
        return logits

    monkeypatch.setattr(copying, "next_logits", copies)
    raised, above, bound = copying.named_again(None, tokenizer, n_drawn=50)
    assert raised > 1.2 and above > 0.8 and abs(bound) < 0.9


def test_a_name_is_raised_beside_its_own_mean_whatever_the_others_are():
    likely, raised = np.random.default_rng(0).normal(size=(2, 1, 7)), np.arange(7.0)
    np.testing.assert_allclose(copying.raises(likely + np.diag(raised)), np.broadcast_to(raised, (2, 7)), atol=1e-12)


def test_a_token_is_again_only_where_it_stood_in_its_own_row():
    rows = np.array([[1, 2, 1, 3, 3], [4, 1, 5, 4, 1]])
    assert copying.stood_before(rows).tolist() == [[False, True, False, True], [False, False, True, True]]


# --- as recorded -----------------------------------------------------------------------------------------------------


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
