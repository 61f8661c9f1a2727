"""The figures that move: the real JavaScript against the package, mouse and keyboard in the built page, bad input."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import traitlets
from hands import press
from looks import LOOK, arrays_of_stepper, look_of, meanings_of_attention, meanings_of_mask, nodes_of_stepper
from numpy.testing import assert_allclose

import attn.figures
from attn import (
    Tape,
    Trace,
    causal_mask,
    decoder,
    init_transformer,
    multi_head_attention,
    scaled_dot_product_attention,
    softmax,
)
from attn.course.plots import COLORS
from attn.course.recordings import read_recording
from attn.figures import (
    FOLDER,
    AttentionExplorer,
    CostExplorer,
    GaugeExplorer,
    HeadGuess,
    HeadsExplorer,
    MaskExplorer,
    NovelReader,
    ParameterCounter,
    QueryPlane,
    RotaryExplorer,
    ScalingExplorer,
    SelfCheck,
    SentenceStepper,
    SoftmaxExplorer,
    TrainingExplorer,
    UpdatePlane,
    book_script,
    read_source,
)
from attn.figures.head_guess import weights_script
from attn.parameters import GPT3, TransformerConfig, count_parameters
from attn.positions import rotary

SENTENCE = ["The", "black", "cat", "ate", "fish"]


def explorer(**changes):
    rng = np.random.default_rng(0)
    state = {
        "tokens": SENTENCE,
        "Q": rng.normal(size=(5, 3)),
        "K": rng.normal(size=(5, 3)),
        "V": rng.normal(size=(5, 2)),
    }
    return AttentionExplorer(**{**state, "query": 2, **changes})


def html(figure):
    return figure._repr_mimebundle_()[0]["text/html"]


@pytest.fixture
def blank(visit, tmp_path):
    """Open a page of nothing but explorables, in the given HTML, as a page of the book would hold them."""

    def open_page(*bodies, **options):
        style = f"<style>{read_source('figures.css')}</style>"
        script = f"<script>{weights_script()[1]}{book_script()}</script>"  # what a page brings on request is there
        (tmp_path / "page.html").write_text(
            f"<!doctype html><meta charset=utf-8>{style}{''.join(bodies)}{script}", encoding="utf-8"
        )
        return visit((tmp_path / "page.html").as_uri(), offline=True, until="load", **options)  # all is on the page

    return open_page


# --- arithmetic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
def test_the_attention_explorer_computes_what_the_package_computes(blank, causal):
    page, rng = blank(), np.random.default_rng(0)
    for n, d_k, d_v, size in [(2, 3, 5, 1), (5, 2, 3, 1), (7, 5, 2, 30)]:
        Q, K, V = size * rng.normal(size=(n, d_k)), size * rng.normal(size=(n, d_k)), rng.normal(size=(n, d_v))
        state = {"Q": Q.tolist(), "K": K.tolist(), "V": V.tolist(), "causal": causal}
        shown = page.evaluate("state => attnExplorables.attention.attend(state)", state)
        output, weights = scaled_dot_product_attention(Q, K, V, causal_mask(n) if causal else None)
        assert_allclose(shown["weights"], weights, atol=1e-12)
        assert_allclose(shown["output"], output, atol=1e-12)
        assert_allclose(shown["scores"], Q @ K.T, atol=1e-9)


def test_the_softmax_explorer_computes_what_the_package_computes(blank):
    page, rng = blank(), np.random.default_rng(1)
    for temperature, offset in [(1, 0), (0.1, 50), (5, -50), (0.1, 1000)]:
        scores = 5 * rng.normal(size=7)
        state = {"scores": scores.tolist(), "temperature": temperature, "offset": offset}
        shown = page.evaluate("state => attnExplorables.softmax.weigh(state)", state)
        assert_allclose(shown, softmax((scores + offset) / temperature), atol=1e-12)


def test_the_query_plane_computes_what_the_package_computes(blank):
    page, rng = blank(), np.random.default_rng(2)
    for n in (2, 3, 7):
        q, K, V = rng.normal(size=2), rng.normal(size=(n, 2)), rng.normal(size=(n, 5))
        shown = page.evaluate(
            "state => attnExplorables.query_plane.attendOne(state)", {"q": q.tolist(), "K": K.tolist(), "V": V.tolist()}
        )
        output, weights = scaled_dot_product_attention([q], K, V)
        assert_allclose(shown["weights"], weights[0], atol=1e-12)
        assert_allclose(shown["output"], output[0], atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_scaling_explorer_computes_what_the_package_computes(blank, scaled):
    page, rng = blank(), np.random.default_rng(3)
    sizes = [1, 7, 1024]
    for chosen, size in enumerate(sizes):
        figure = ScalingExplorer(sizes, np.sqrt(size) * rng.normal(size=(3, 5)), chosen=chosen, scaled=scaled)
        shown = page.evaluate("state => attnExplorables.scaling.saturate(state)", figure.state())
        assert_allclose(shown["weights"], figure.weights, atol=1e-12)
        assert_allclose(shown["jacobian"], figure.jacobian, atol=1e-12)
        assert_allclose(shown["trace"], 1 - np.sum(figure.weights**2), atol=1e-12)


@pytest.mark.parametrize("after", [False, True])
def test_the_mask_explorer_computes_what_the_package_computes(blank, after):
    page, rng = blank(), np.random.default_rng(4)
    for n in (2, 5, 7):
        mask = rng.random((n, n)) < 0.6
        mask[0] = False
        figure = MaskExplorer(list("abcdefg"[:n]), 3 * rng.normal(size=(n, n)), mask, after=after)
        shown = page.evaluate("state => attnExplorables.mask.weigh(state)", figure.state())
        _, weights = scaled_dot_product_attention(figure.scores, np.eye(n), np.eye(n), None if after else mask, scale=1)
        assert_allclose(shown, weights * mask, atol=1e-12)
        assert_allclose(figure.weights, weights * mask, atol=1e-12)


def test_the_update_plane_computes_what_the_package_computes(blank):
    page, rng = blank(), np.random.default_rng(6)
    for n in (2, 3, 7):
        spots = {"here": [0, 1]}
        figure = UpdatePlane(
            list("abcdefg"[:n]),
            "a",
            rng.normal(size=2),
            rng.normal(size=(n, 2)),
            3 * rng.normal(size=n),
            axes=["x", "y"],
            spots=spots,
        )
        shown = page.evaluate("state => attnExplorables.update_plane.move(state)", figure.state())
        output, weights = scaled_dot_product_attention([[1.0]], np.array(figure.scores)[:, None], figure.V)
        assert_allclose(shown["weights"], weights[0], atol=1e-12)
        assert_allclose(shown["delta"], output[0], atol=1e-12)
        assert_allclose(shown["moved"], figure.moved, atol=1e-12)
        assert_allclose(figure.moved, figure.E + output[0], atol=1e-12)


@pytest.mark.parametrize("places", [(5, 2), (0, 7), (40, 40)])
def test_the_rotary_explorer_computes_what_the_package_computes(blank, places):
    page, rng = blank(), np.random.default_rng(13)
    query, key = rng.normal(size=(2, 2)).round(3)
    for turn in (1.0, 0.2):
        figure = RotaryExplorer(query, key, turn, *places)
        shown = page.evaluate("state => attnExplorables.rotary.compare(state)", figure.state())
        assert_allclose(shown["turned"], figure.turned, atol=1e-12)
        assert_allclose(shown["score"], figure.score, atol=1e-12)
    figure = RotaryExplorer(query, key, 1.0, *places)  # the first pair of the package turns by 1 a position
    turned = [rotary(vector[None], start=place)[0] for vector, place in zip((query, key), places)]
    assert_allclose(figure.turned, turned, atol=1e-12)


def stepper(**changes):
    words = ["<b>Anna", "lost", "gold", "and", "she"]
    config = TransformerConfig(
        vocab_size=5, d_model=4, n_heads=2, n_layers=2, d_ff=9, n_positions=6,
        activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip
    params = stirred(config, 3)
    return SentenceStepper(params, config, words, ["<b>Anna lost gold and she", "<b>Anna lost"], **changes)


def unfit(words=None, spoil=False, **changes):
    good = stepper()
    params, config = json.loads(json.dumps(good.params)), TransformerConfig(**{**good.config, **changes})
    if spoil:
        params["layer 2"]["mlp"]["b_1"][3] = np.nan
    return SentenceStepper(params, config, words or good.words, (words or good.words)[:1])


def stirred(config, seed):
    """Parameters in which no gain is one and no bias zero."""
    rng = np.random.default_rng(seed)

    def stir(part):
        return (
            {name: stir(inner) for name, inner in part.items()}
            if isinstance(part, dict)
            else part + rng.normal(size=part.shape) / 3
        )

    return stir(init_transformer(rng, config, dtype=float))


def plain(part):
    return {name: plain(inner) for name, inner in part.items()} if isinstance(part, dict) else part.tolist()


MACHINES = [
    TransformerConfig(
        vocab_size=7, d_model=8, n_heads=4, n_layers=2, d_ff=d_ff, n_positions=9, n_key_heads=key_heads,
        positions=positions, norm=norm, activation=activation, biases=biases, unembedding=unembedding, scale=scale,
    )
    for positions, d_ff, norm, key_heads, activation, biases, unembedding, scale in [
        ("learned", 12, "pre", 4, "relu", "mlp", "separate", None),
        ("learned", 12, "pre", 4, "gelu", "all", "tied", None),
        ("sinusoid", 12, "post", 4, "relu", "mlp", "separate", None),
        ("relative", 12, "pre", 4, "relu", "mlp", "separate", None),
        ("relative", 0, "pre", 4, "relu", "mlp", "separate", 1.0),
        ("rotary", 12, "pre", 2, "gelu", "none", "tied", None),
        ("rotary", 12, "post", 1, "relu", "all", "none", 0.3),
        ("none", 12, "none", 4, "gelu", "none", "none", None),
    ]
]  # fmt: skip


@pytest.mark.parametrize(
    "config", MACHINES, ids=lambda config: f"{config.positions}-{config.norm}-{config.biases}-{config.unembedding}"
)
def test_the_machine_computes_what_the_package_computes_and_the_same_gradients(blank, config):
    params, tokens = stirred(config, 1), np.array([3, 1, 4, 1, 5, 0, 2, 6, 5])
    with Trace() as trace, Tape() as tape:
        output = decoder(params, config, tokens)
    grad = np.random.default_rng(2).normal(size=output.shape)
    grads = tape.gradients(params, (output, grad))
    found = blank().evaluate(
        """([params, config, tokens, grad]) => {
          const { runMachine, runBack, matrixOf } = attnExplorables.stepper;
          const nested = ({ rows, cols, data }) =>
            Array.from({ length: rows }, (_, i) => [...data.slice(i * cols, (i + 1) * cols)]);
          const nodes = runMachine(params, config, tokens), grads = runBack(nodes, matrixOf(grad));
          return nodes.map((node) => [node.name, nested(node.value), grads.has(node) ? nested(grads.get(node)) : null]);
        }""",
        [plain(params), vars(config), tokens.tolist(), grad.tolist()],
    )
    nodes = {name: (np.array(value), grad) for name, value, grad in found}
    assert len(nodes) == len(found), "each step has a name of its own"
    assert_allclose(found[-1][1], output, atol=1e-12)
    for number, layer in enumerate(trace.layers, start=1):
        for head in range(4):
            assert_allclose(
                nodes[f"layer {number}, head {head + 1}: weights"][0], layer.attention.weights[head], atol=1e-12
            )

    def compare(part, path):
        for name, inner in part.items():
            here = [*path, name]
            if isinstance(inner, dict):
                compare(inner, here)
            elif name[:2] in ("W_", "b_") and path[-1] == "attention" and name != "b_O":
                for head, rows in enumerate(inner):
                    shown = nodes[" / ".join([*here, str(head)])][1]
                    assert_allclose(np.reshape(shown, rows.shape), rows, atol=1e-11, err_msg=str(here))
            else:
                assert_allclose(
                    np.reshape(nodes[" / ".join(here)][1], inner.shape), inner, atol=1e-11, err_msg=str(here)
                )

    compare(grads, [])


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: f"{config.positions}-{config.n_key_heads}")
def test_the_machine_goes_on_with_a_cache_as_if_it_had_read_all_at_once(blank, config):
    params, tokens = stirred(config, 3), np.array([3, 1, 4, 1, 5, 0, 2])
    found = blank().evaluate(
        """([params, config, tokens]) => {
          const cache = new Map(), { runMachine } = attnExplorables.stepper;
          const read = (part) => [...runMachine(params, config, part, undefined, cache).at(-1).value.data];
          return [tokens.slice(0, 3), tokens.slice(3, 4), tokens.slice(4)].flatMap(read);
        }""",
        [plain(params), vars(config), tokens.tolist()],
    )
    assert_allclose(found, decoder(params, config, tokens).ravel(), atol=1e-12)


def test_a_head_that_is_off_writes_nothing(blank):
    config = MACHINES[0]
    params, tokens = stirred(config, 5), [3, 1, 4]
    found = blank().evaluate(
        """([params, config, tokens]) => {
          const run = (off) => [...attnExplorables.stepper.runMachine(params, config, tokens, off).at(-1).value.data];
          return [run((layer, head) => layer === 2 && head === 1), run(() => true)];
        }""",
        [plain(params), vars(config), tokens],
    )
    from attn import switch_off

    without = decoder(params, config, np.array(tokens), interventions=[switch_off(2, 1)])
    assert_allclose(found[0], without.ravel(), atol=1e-12)
    nobody = [switch_off(layer, head) for layer in (1, 2) for head in range(4)]
    assert_allclose(found[1], decoder(params, config, np.array(tokens), interventions=nobody).ravel(), atol=1e-12)


def test_the_stepper_runs_its_own_model():
    figure = stepper()
    for name, (value, _) in nodes_of_stepper(figure).items():
        if name == "probabilities":
            assert_allclose(value, figure.probabilities, atol=1e-12)
    assert len(arrays_of_stepper(stepper(step=3, backward=True))) == 6


OPENED = """(root) => [...root.querySelectorAll(".attn-arrays table")].map((table) =>
  [...table.querySelectorAll("button")].map((cell) => {
    cell.focus();
    const lit = [...root.querySelectorAll(".attn-arrays table")].map((other) =>
      [...other.querySelectorAll("button")].flatMap((node, i) => (node.classList.contains("attn-lit") ? [i] : [])));
    return [cell.textContent, root.querySelector(".attn-detail").textContent, lit];
  }))"""
WORDED = {
    "A number that was learned.": None,
    "Not hidden, so it stays as it is.": None,
    "e^(−∞) is zero.": 0,
    "0, as ReLU was silent": 0,
    "0, as nobody read this row": 0,
    "Gradient. Only the last word's guess is judged.": 0,
}


def worked_out(text):
    """Return the number that a sum comes to, as it is written, and how far rounding may have led it away."""
    if text in WORDED:
        return WORDED[text], 0
    if "comes after" in text:
        return -np.inf, 0
    if text.startswith("The row of"):
        return None, 0
    text = re.sub(
        r"; [\d.−]+ is the mean .*|, [\d.−]+ being the row's weighted mean", "", text.removeprefix("Gradient. ")
    )
    parts = re.findall(r"through “[^”]+”: ([^;]+);", text) or [text.rpartition(" = ")[0]]
    total, rounding = 0, 0.01
    for part in parts:
        if part in WORDED:
            continue
        number = r"\(?−?\d+\.\d+\)?"
        told = re.sub(rf"e\^({number})", r"exp(\1)", part).replace("−", "-").replace("×", "*")
        assert re.fullmatch(r"[-+*/().,\d\sexpmax]+", told), part
        total += eval(told, {"exp": np.exp, "max": max})
        sizes = [abs(float(size)) for size in re.findall(r"\d+\.\d+", told)]
        off = 0.005 * len(sizes) + 0.006 * sum(sizes) * max(1, *sizes)
        rounding += off / (min(sizes[-1], 1) if "/" in told else 1)
    return total, rounding


@pytest.mark.parametrize("backward", [False, True])
def test_every_number_of_the_stepper_opens_the_sum_that_makes_it(blank, backward):
    figure = stepper(backward=backward, wanted=1)
    page, computed = blank(html(figure)), 0
    for step in range(35):
        box(step)(page)
        figure.step = step
        opened = page.locator(".attn-explorable").evaluate(OPENED)
        assert len(opened) == len(arrays_of_stepper(figure))
        for shown, text, _ in itertools.chain(*opened):
            number = -np.inf if shown == "−∞" else float(shown.replace("−", "-"))
            result, rounding = worked_out(text)
            assert result is None or result == number or abs(result - number) <= rounding, (step, text)
            computed += rounding > 0
    assert computed > 1000 and page.said == []


def test_a_row_of_places_is_not_taken_for_one_of_words_where_both_tables_are_as_long(blank):
    good = stepper()
    config = TransformerConfig(**{**good.config, "n_positions": 5})
    figure = SentenceStepper(
        {**good.params, "positions": good.params["positions"][:5]}, config, good.words, good.sentences
    )
    page = blank(html(figure))
    for step, row in [(0, "“lost”"), (1, "place 2")]:
        box(step)(page)
        page.locator(".attn-arrays table").nth(1).locator("tbody tr").nth(1).get_by_role("button").first.hover()
        assert page.locator(".attn-detail").inner_text() == f"The row of {row}, entry 1."


def test_the_numbers_of_a_sum_are_lit_where_they_stand(blank):
    def lit(step, table, cell, backward=False):
        page = blank(html(stepper(step=step, backward=backward, wanted=1)))
        return page.locator(".attn-explorable").evaluate(OPENED)[table][cell][2]

    row, column = [4, 5, 6, 7], [1, 3, 5, 7]
    assert lit(3, 2, 2 + 1) == [row, column, []], "the second word's query: its row, and a column of W_Q"
    assert lit(5, 2, 5 * 1 + 2) == [[2, 3], [4, 5], []], "a score: a query and a key"
    assert lit(1, 2, 9) == [[9], [9], []], "a sum: one number of each"
    assert lit(7, 1, 5 * 1) == [[5, 6], []], "a weight: the scores that are not hidden"
    assert lit(2, 3, 4) == [row, [0], [0], []], "normalised: the whole row, a gain and a bias"
    assert lit(3, 4, 2, backward=True) == [[1, 5, 9, 13, 17], [], [], [], [], [0, 2, 4, 6, 8]], "the gradient of W_Q"
    assert lit(5, 4, 2, backward=True) == [[0, 2, 4, 6, 8], [], [], [], [], [1, 6, 11, 16, 21]], "a key's gradient"
    assert lit(34, 2, 24, backward=True)[1] == [24], "a logit: the probability of its word"


def heads_explorer(**changes):
    rng = np.random.default_rng(7)
    known = {word: rng.normal(size=5) for word in ["wizard", "Queen", "Harry"]}
    W_Q, W_K, W_V, W_O = (rng.normal(size=shape) for shape in [(3, 5, 2), (3, 5, 2), (3, 5, 7), (3, 7, 5)])
    state = {
        "tokens": ["the", "wizard", "met", "Harry"],
        "known": known,
        "W_Q": W_Q,
        "W_K": W_K,
        "W_V": W_V,
        "W_O": W_O,
    }
    return HeadsExplorer(**{**state, "heads": ["one", "two", "three"], "axes": list("abcde"), "query": 3, **changes})


def test_the_heads_explorer_computes_what_the_package_computes(blank):
    page, figure = blank(), heads_explorer()
    shown = page.evaluate("state => attnExplorables.heads.attendHeads(state)", figure.state())
    X = np.array([figure.known.get(token, np.zeros(5)) for token in figure.tokens])
    output, weights = multi_head_attention(X, figure.W_Q, figure.W_K, figure.W_V, figure.W_O)
    assert_allclose(shown["weights"], weights, atol=1e-12)
    assert_allclose(shown["updates"], figure.updates, atol=1e-12)
    assert_allclose(shown["total"], output, atol=1e-12)
    assert_allclose(figure.updates.sum(axis=0), output, atol=1e-12)


def test_the_parameter_counter_counts_what_the_package_counts(blank):
    page = blank()
    names = ["d_model", "n_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff"]
    odd = TransformerConfig(**dict(zip(names, [7, 3, 5, 2, 11, 13, 17])))
    huge = [999_983, 999_979, 999_961, 999_959, 999_953, 999_931, 999_917]  # counts beyond what a double holds
    for name, config in {**GPT3, "odd": odd, "huge": TransformerConfig(**dict(zip(names, huge)))}.items():
        for choice in range(16):
            options = {
                option: bool(choice >> i & 1) for i, option in enumerate(["biases", "norms", "positions", "tied"])
            }
            figure = ParameterCounter({name: config}, name, **options)
            shown = page.evaluate("state => attnExplorables.parameters.countParameters(state)", figure.state())
            assert shown == {part: figure.counts[part] for part in shown} and "total" in shown, name
            assert figure.config == replace(
                config,
                biases="all" if options["biases"] else "none",
                norm="pre" if options["norms"] else "none",
                positions="learned" if options["positions"] else "none",
                unembedding="tied" if options["tied"] else "separate",
            )


def test_the_cost_explorer_computes_what_the_class_computes(blank):
    page = blank()
    for chosen, n_tokens, key_heads in [("175B", 2048, 8), ("Small", 128, 12), ("13B", 2**20, 1)]:
        figure = CostExplorer(GPT3, chosen, n_tokens=n_tokens, key_heads=key_heads)
        assert page.evaluate("state => attnExplorables.cost.costs(state)", figure.state()) == pytest.approx(
            figure.costs, rel=1e-12
        )
    layer = 2 * 96 * 128 * 2  # keys and values of one layer for one token, two bytes each
    assert CostExplorer(GPT3, "175B").costs["cache"] == 2048 * 96 * layer
    shared = CostExplorer(GPT3, "175B", key_heads=8).costs["parameters"]  # 88 heads less in W_K, W_V and their biases
    assert CostExplorer(GPT3, "175B").costs["parameters"] - shared == 2 * 96 * 2 * 88 * 128 * 12289
    assert CostExplorer(GPT3, "175B").costs["share"] == pytest.approx(2048 / (2048 + 6 * 12288))


# --- the attention explorer in a page without a kernel -------------------------------------------


def column(page, name):
    """The numbers of one column of the table of steps."""
    names = page.locator(".attn-steps thead th").all_inner_texts()
    cells = page.locator(f".attn-steps tbody td:nth-child({names.index(name) + 1})").all_inner_texts()
    return [float(cell.replace("−", "-").replace("-∞", "-inf")) for cell in cells]


def test_every_step_is_shown_for_the_chosen_word(blank):
    figure = explorer()
    page = blank(html(figure))
    scores = np.array(figure.Q[2]) @ np.array(figure.K).T
    assert_allclose(column(page, "score"), scores, atol=0.006)
    assert_allclose(column(page, "÷ √3"), scores / np.sqrt(3), atol=0.006)
    assert_allclose(column(page, "weight"), figure.weights[2], atol=0.006)
    output = [float(text.replace("−", "-")) for text in page.locator(".attn-output td").all_inner_texts()]
    assert_allclose(output, figure.output[2], atol=0.006)


def test_the_keyboard_moves_a_query_and_the_steps_follow(blank):
    figure = explorer()
    page = blank(html(figure))
    slider = page.get_by_role("slider", name="q₂")
    slider.focus()
    page.keyboard.press("End")
    Q = np.array(figure.Q)
    Q[2, 1] = 6
    _, weights = scaled_dot_product_attention(Q, figure.K, figure.V)
    assert_allclose(column(page, "weight"), weights[2], atol=0.006)
    before = slider.input_value()
    page.keyboard.press("ArrowLeft")
    assert float(slider.input_value()) < float(before)


def test_the_mouse_chooses_a_word_and_the_mask(blank):
    figure = explorer()
    page = blank(html(figure))
    page.get_by_label("ate", exact=True).click()
    page.get_by_label("itself and earlier words").click()
    figure.query, figure.causal = 3, True
    assert column(page, "÷ √3")[4] == -np.inf
    assert_allclose(column(page, "weight"), figure.weights[3], atol=0.006)
    assert page.locator(".attn-chosen th").inner_text() == "ate"
    assert page.locator(".attn-pattern tbody").get_by_text("–", exact=True).count() == 10


def test_a_cell_tells_its_sum_on_hover_and_on_focus(blank):
    figure = explorer(Q=np.eye(5, 3), K=2 * np.eye(5, 3), V=np.ones((5, 1)), query=0)
    page = blank(html(figure))
    detail = page.locator(".attn-detail")
    page.locator(".attn-steps tbody tr").first.locator("button").first.hover()
    assert detail.inner_text() == "score(The, The) = 1.00 × 2.00 + 0.00 × 0.00 + 0.00 × 0.00 = 2.00"
    page.locator(".attn-pattern button").first.focus()
    assert detail.inner_text().startswith(
        "weight(The → The) = e^1.15 ÷ (e^1.15 + e^0.00 + e^0.00 + e^0.00 + e^0.00) = 0.44"
    )
    page.keyboard.press("ArrowDown")
    assert detail.inner_text().startswith("weight(black → The)")
    page.keyboard.press("End")
    assert detail.inner_text().startswith("weight(black → fish)")
    page.locator(".attn-output button").first.hover()
    assert detail.inner_text().endswith("= 1.00")


def test_the_readers_words_are_text_whatever_they_hold(blank):
    nasty = "<img/src=x/onerror=document.title='broken'> </script><b>bold</b> cat"
    figure = explorer()
    page = blank(html(figure))
    page.get_by_label("Your own words").fill(nasty)
    page.get_by_role("button", name="Use them").click()
    assert page.locator(".attn-steps tbody th").all_inner_texts() == nasty.split()
    assert page.locator(".attn-explorable img, .attn-explorable b").count() == 0
    assert page.title() != "broken"
    assert_allclose(sum(column(page, "weight")), 1, atol=0.02)


def test_tokens_given_in_python_cannot_break_out_of_the_page(blank):
    tokens = ["</script><script>document.title='broken'</script>", "<b>black</b>", "&amp;", "'", '"']
    page = blank(html(explorer(tokens=tokens)))
    assert page.title() != "broken"
    assert page.locator(".attn-steps tbody th").all_inner_texts() == tokens


def test_too_many_words_are_refused_with_their_number_and_nothing_changes(blank):
    page = blank(html(explorer()))
    page.get_by_label("Your own words").fill("one two three four five six seven eight nine")
    page.get_by_role("button", name="Use them").click()
    assert page.get_by_text("9 words given; this figure takes 2 to 8.").is_visible()
    assert page.locator(".attn-steps tbody th").all_inner_texts() == SENTENCE


def test_start_again_brings_everything_back(blank):
    figure = explorer()
    page = blank(html(figure))
    page.get_by_label("Your own words").fill("fish ate")
    page.get_by_role("button", name="Use them").click()
    assert page.locator(".attn-steps tbody th").all_inner_texts() == ["fish", "ate"]
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".attn-steps tbody th").all_inner_texts() == SENTENCE
    assert_allclose(column(page, "weight"), figure.weights[2], atol=0.006)


def test_two_of_a_kind_live_on_one_page(blank):
    page = blank(html(explorer()), html(explorer(query=4)))
    first, second = page.locator(".attn-explorable").all()
    first.get_by_label("The", exact=True).click()
    assert first.locator(".attn-chosen th").inner_text() == "The"
    assert second.locator(".attn-chosen th").inner_text() == "fish"
    for figure, word in [(first, "The"), (second, "fish")]:
        assert figure.get_by_label(word, exact=True).is_checked()
        assert figure.get_by_label("all words").is_checked()


def test_keys_stay_inside_the_figure(blank):
    page = blank("<p id=counter>0</p>", html(explorer()))
    page.evaluate(
        "document.body.addEventListener('keydown', () => { document.querySelector('#counter').textContent = 'heard' })"
    )
    page.get_by_role("slider", name="q₁").press("ArrowRight")
    assert page.locator("#counter").inner_text() == "0"


# --- the other two -------------------------------------------------------------------------------


def test_a_raised_score_takes_from_all_others(blank):
    page = blank(html(SoftmaxExplorer(["fox", "dog", "the"], [0, 0, 0])))
    weights = page.locator(".attn-scored > output.attn-value")
    assert weights.all_inner_texts() == ["0.333", "0.333", "0.333"]
    page.get_by_role("slider", name="fox").press("End")
    assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in softmax([5, 0, 0])]
    assert page.get_by_role("slider", name="temperature").count() == 0


def test_an_offset_changes_no_weight(blank):
    page = blank(html(SoftmaxExplorer(["fox", "dog"], [1, 0], knobs=True)))
    weights = page.locator(".attn-scored > output.attn-value")
    before = weights.all_inner_texts()
    page.get_by_role("slider", name="added to every score").press("End")
    assert weights.all_inner_texts() == before
    page.get_by_role("slider", name="temperature").press("Home")
    assert weights.all_inner_texts() == ["1.000", "0.000"]


def test_the_query_is_dragged_and_slid(blank):
    figure = QueryPlane(["cat", "sat", "mat"], "it", [0, 1], [[2, 1], [1, 1], [1, 2]], [[2, 1], [1, 3], [1, 2]])
    page = blank(html(figure))
    weights = page.locator(".attn-weighted output")
    assert weights.all_inner_texts() == ["0.248", "0.248", "0.503"]
    box = page.locator(".attn-plane").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 5 / 6, box["y"] + box["height"] / 2)
    page.mouse.up()
    figure.q = [2, 0]
    assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights]
    page.get_by_role("slider", name="q₁").press("Home")
    figure.q = [-3, 0]
    assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights]


def test_the_length_and_the_scale_are_chosen(blank):
    figure = ScalingExplorer([1, 16, 1024], 10 * np.random.default_rng(4).normal(size=(3, 5)))
    page = blank(html(figure))
    weights = page.locator(".attn-weighted output")
    page.get_by_role("slider", name="d_k").press("End")
    assert page.locator(".attn-slider output").inner_text() == "1024"
    for scaled, label in [(False, "as they are"), (True, "divided by √d_k")]:
        page.get_by_label(label).click()
        figure.chosen, figure.scaled = 2, scaled
        assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights]
        cells = [float(text.replace("−", "-")) for text in page.locator(".attn-pattern td").all_inner_texts()]
        assert_allclose(cells, figure.jacobian.ravel(), atol=0.006)


def shown_numbers(page, selector):
    """The numbers in the cells of a table; a hidden one counts zero."""
    return [float(text.replace("−", "-").replace("–", "0")) for text in page.locator(selector).all_inner_texts()]


def test_masks_and_single_pairs_are_switched(blank):
    figure = MaskExplorer(SENTENCE, np.random.default_rng(5).normal(size=(5, 5)))
    page = blank(html(figure))
    for label, mask in [("itself and earlier words", causal_mask(5)), ("all but itself", ~np.eye(5, dtype=bool))]:
        page.get_by_label(label).click()
        figure.mask = mask.tolist()
        assert_allclose(shown_numbers(page, ".attn-pattern button"), figure.weights.ravel(), atol=0.006)
    cell = page.get_by_role("button", name="cat to ate:")
    cell.focus()
    page.keyboard.press("Enter")
    mask[2, 3] = False
    figure.mask = mask.tolist()
    assert cell.inner_text() == "–" and page.locator("input:checked").count() == 1
    assert "hidden from “cat”" in page.locator(".attn-detail").inner_text()
    assert_allclose(shown_numbers(page, ".attn-pattern button"), figure.weights.ravel(), atol=0.006)
    assert_allclose(shown_numbers(page, ".attn-sum"), 1)
    page.get_by_label("zero after softmax").click()
    figure.after = True
    assert_allclose(shown_numbers(page, ".attn-sum"), figure.weights.sum(axis=1), atol=0.006)


def test_a_mask_stays_when_the_words_change_and_the_words_are_text(blank):
    page = blank(html(MaskExplorer(SENTENCE, np.eye(5), causal_mask(5))))
    page.get_by_label("Your own words").fill("<b>cat</b> black cat")
    page.get_by_role("button", name="Use them").click()
    assert page.locator("tbody th").all_inner_texts() == ["<b>cat</b>", "black", "cat"]
    assert page.get_by_label("itself and earlier words").is_checked()
    assert page.locator(".attn-hidden").count() == 3
    page.get_by_role("button", name="Start again").click()
    assert page.locator("tbody th").all_inner_texts() == SENTENCE
    assert page.locator(".attn-hidden").count() == 10


def test_a_raised_score_moves_the_word(blank):
    figure = UpdatePlane(
        ["miniature", "Eiffel"],
        "tower",
        [0, 1],
        [[0, -3], [2, 0.5]],
        [0, 0],
        axes=["Paris", "size"],
        spots={"toy": [2, -1]},
    )
    page = blank(html(figure))
    assert page.locator(".attn-plane-label").all_text_contents() == ["toy"]
    page.get_by_role("slider", name="Eiffel").press("End")
    figure.scores = [0, 8]
    assert page.locator(".attn-scored > output").all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights]
    x, y = figure.moved
    assert page.locator(".attn-detail").inner_text().endswith(f"= ({x:.2f}, {y:.2f})")
    place = page.locator(".attn-place")
    assert_allclose([float(place.get_attribute(name)) for name in ("cx", "cy")], [160 + x * 320 / 6, 160 - y * 320 / 6])


def test_a_head_and_a_word_are_chosen(blank):
    figure = heads_explorer()
    page = blank(html(figure))
    page.get_by_label("two", exact=True).click()
    page.get_by_label("wizard", exact=True).click()
    figure.head, figure.query = 1, 1
    pattern, shares = page.locator(".attn-pattern").all()
    numbers = [float(text.replace("−", "-")) for text in pattern.locator("td .attn-cell").all_inner_texts()]
    assert_allclose(numbers, figure.weights[1].ravel(), atol=0.006)
    numbers = [float(text.replace("−", "-")) for text in shares.locator("td .attn-cell").all_inner_texts()]
    assert_allclose(numbers, np.vstack([figure.updates[:, 1], figure.updates[:, 1].sum(axis=0)]).ravel(), atol=0.006)
    assert page.locator(".attn-chosen th").all_inner_texts() == ["wizard", "two"]


def test_words_given_to_the_heads_are_text_and_unknown_ones_have_no_features(blank):
    page = blank(html(heads_explorer()))
    page.get_by_label("Your own words").fill("<b>who</b> met Harry")
    page.get_by_role("button", name="Use them").click()
    assert page.locator(".attn-pattern").first.locator("tbody th").all_inner_texts() == ["<b>who</b>", "met", "Harry"]
    first = page.locator(".attn-pattern").first.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first == ["0.33", "0.33", "0.33"]


def test_a_model_and_sizes_are_counted_live(blank):
    figure = ParameterCounter(GPT3, "175B")
    page = blank(html(figure))
    total = page.locator(".attn-detail")
    assert total.inner_text().startswith("174,604,259,328 parameters")
    page.get_by_label("Small").click()
    assert total.inner_text().startswith(f"{count_parameters(GPT3['Small'])['total']:,} parameters")
    page.get_by_label("n_layers").fill("13")
    page.get_by_label("biases").click()
    larger = replace(GPT3["Small"], n_layers=13, biases="none")
    assert total.inner_text().startswith(f"{count_parameters(larger)['total']:,} parameters")
    assert page.get_by_role("radio", checked=True).count() == 0
    page.get_by_role("button", name="Start again").click()
    assert total.inner_text().startswith("174,604,259,328 parameters")
    assert page.get_by_label("175B").is_checked() and page.get_by_label("biases").is_checked()


@pytest.mark.parametrize("typed", ["0", "2.5", "-3", "1000001", ""])
def test_a_size_that_is_none_is_refused_with_what_was_typed(blank, typed):
    page = blank(html(ParameterCounter(GPT3, "Small")))
    before = page.locator(".attn-detail").inner_text()
    page.get_by_label("d_k").fill(typed)
    assert (
        f"d_k must be a whole number from 1 to 1,000,000, but is “{typed}”"
        in page.locator(".attn-problem").inner_text()
    )
    assert page.locator(".attn-detail").inner_text() == before
    assert page.locator(".attn-problem").inner_text().endswith("; the counts are those of 64.")
    assert page.get_by_label("d_k").input_value() == typed
    page.get_by_label("d_k").fill("64")
    assert page.locator(".attn-problem").inner_text() == ""
    for undo, model in [(click("13B"), "13B"), (press("Start again"), "Small")]:
        page.get_by_label("d_k").fill(typed)
        undo(page)
        assert page.locator(".attn-explorable").evaluate(LOOK) == look_of(ParameterCounter(GPT3, model))


def test_tokens_key_heads_and_a_model_are_chosen(blank):
    figure = CostExplorer(GPT3, "175B")
    page = blank(html(figure))
    assert page.locator(".attn-counted output").all_inner_texts() == ["325.2 GiB", "768.0 MiB", "9.0 GiB", "0.027"]
    page.get_by_role("slider", name="tokens").press("End")
    page.get_by_role("slider", name="key heads").press("Home")
    figure.n_tokens, figure.key_heads = 2**20, 1
    assert page.locator(".attn-counted output").all_inner_texts()[3] == f"{figure.costs['share']:.3f}"
    assert page.locator(".attn-counted output").all_inner_texts()[2] == f"{figure.costs['cache'] / 2**30:.1f} GiB"
    page.get_by_label("Small").click()
    assert page.locator(".attn-slider output").all_inner_texts() == ["1,048,576", "12"]
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".attn-slider output").all_inner_texts() == ["2,048", "96"]


def training_explorer(**changes):
    rng = np.random.default_rng(8)
    runs = {name: (softmax(3 * rng.normal(size=(4, 3))).round(5), rng.random(4)) for name in ("queries", "all")}
    return TrainingExplorer(**{"tokens": ["cat", "sat", "<b>mat"], "steps": [0, 1, 10, 500], "runs": runs, **changes})


def test_training_is_scrubbed_step_by_step(blank):
    figure = training_explorer()
    page = blank(html(figure))
    weights = page.locator(".attn-weighted output")
    slider = page.get_by_role("slider", name="step")
    for i in range(4):
        assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights[0][i]]
        assert page.locator(".attn-slider output").inner_text() == str(figure.steps[i])
        slider.press("ArrowRight")
    page.get_by_label("all", exact=True).click()
    assert weights.all_inner_texts() == [f"{weight:.3f}" for weight in figure.weights[1][3]]
    assert page.locator(".attn-weighted .attn-key").all_inner_texts()[2] == "<b>mat"
    drawn = page.locator(".attn-curve").nth(1).get_attribute("d").removeprefix("M").split(" L")
    heights = [150 * (1 - weight) for weight in np.array(figure.weights)[1, :, 1]]
    assert_allclose([float(point.split(",")[1]) for point in drawn], heights, atol=0.06)
    places = [float(point.split(",")[0]) for point in drawn]
    assert places[0] == 0 and places[-1] == 340 and sorted(places) == places


def test_a_stretch_moves_cosines_and_no_score(blank):
    rng = np.random.default_rng(10)
    figure = GaugeExplorer(["<b>a", "b", "c"], rng.normal(size=(3, 5)), rng.normal(size=(3, 5)))
    before = figure.maps
    page = blank(html(figure))
    page.get_by_role("slider", name="stretch").press("End")
    figure.power = 4.0
    for shown, label in enumerate(["cosines of keys", "cosines of queries", "scores"]):
        page.get_by_label(label).click()
        assert_allclose(shown_numbers(page, ".attn-pattern td .attn-cell"), figure.maps[shown].ravel(), atol=0.006)
    assert_allclose(
        page.evaluate("state => attnExplorables.gauge.regauge(state)", figure.state()), figure.maps, atol=1e-12
    )
    assert_allclose(figure.maps[2], before[2])
    assert np.abs(figure.maps[:2] - before[:2]).max(axis=(1, 2)).min() > 0.1
    assert page.locator("tbody th").all_inner_texts() == ["<b>a", "b", "c"]


def test_words_of_the_plane_are_text(blank):
    tokens = ["</script><b>cat</b>", "<img/src=x>", "'\""]
    page = blank(html(QueryPlane(tokens, "<i>it</i>", [0, 1], [[2, 1], [1, 1], [1, 2]], np.eye(3))))
    assert page.locator(".attn-key-label").all_text_contents() == tokens
    assert page.locator(".attn-weighted .attn-key").all_inner_texts() == tokens
    page.get_by_label("Other labels for these words").fill("<b>one</b> two three four")
    page.get_by_role("button", name="Use them").click()
    assert page.get_by_text("4 words given; this figure takes 3.").is_visible()
    page.get_by_label("Other labels for these words").fill("<b>one</b> two three")
    page.get_by_role("button", name="Use them").click()
    assert page.locator(".attn-key-label").all_text_contents() == ["<b>one</b>", "two", "three"]
    assert page.locator(".attn-explorable img, .attn-explorable b, .attn-explorable i").count() == 0


def self_check(**changes):
    asked = [
        ("1 + 1 <b>?", "2", {"2": "One more.", "11": "Joined."}),
        ("2 + 2?", "4", {"22": "Joined.", "4": "Two more."}),
    ]
    return SelfCheck(asked, **changes)


def test_a_choice_is_explained_at_once_and_may_be_changed(blank):
    page = blank(html(self_check()))
    first, second = page.locator(".attn-question").all()
    assert first.locator("legend").text_content() == "1. 1 + 1 <b>?"
    first.get_by_role("button", name="11").focus()
    page.keyboard.press("Enter")
    assert first.get_by_role("status").inner_text() == "Not that one. Joined."
    assert first.get_by_role("button", name="11").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert first.get_by_role("status").inner_text() == "Right. One more."
    assert first.get_by_role("button", name="11").get_attribute("aria-pressed") == "false"
    assert second.get_by_role("status").inner_text() == ""
    assert page.get_by_text("1 of 2 right").is_visible()
    assert page.locator(".attn-explorable b").count() == 0


def test_no_answer_is_marked_before_a_choice_and_a_wrong_one_never_counts(blank):
    page = blank(html(self_check()))
    assert page.locator(".attn-right, [aria-pressed=true]").count() == 0
    assert page.locator("[role=status]").all_inner_texts() == ["", ""]
    assert page.get_by_text("0 of 2 right").is_visible()
    page.get_by_role("button", name="11").click()
    page.get_by_role("button", name="22").click()
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["11", "22"]
    assert page.locator(".attn-right").count() == 0
    assert page.get_by_text("0 of 2 right").is_visible()
    page.get_by_role("button", name="4", exact=True).click()
    assert page.locator(".attn-right").all_inner_texts() == ["4"]
    assert page.get_by_text("1 of 2 right").is_visible()


# --- what the figures have in common -------------------------------------------------------------


def one_of_each():
    rng = np.random.default_rng(11)
    plane = {"axes": ["x", "y"], "spots": {"here": [0, 1], "there": [2, -1]}}
    alike = softmax(rng.normal(size=(2, 4, 5)) + np.outer([0, 1, 2, 9], [1, 0, 0, 0, 0]))  # most end at the bottom
    runs = {name: (weights, rng.random(4)) for name, weights in zip(["queries", "all"], alike)}
    figures = [
        explorer(),
        SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], knobs=True),
        QueryPlane(["cat", "sat", "mat"], "it", [0, 1], *rng.normal(size=(2, 3, 2)).round(3)),
        ScalingExplorer([1, 16, 1024], 4 * rng.normal(size=(3, 5)), chosen=1, scaled=True),
        MaskExplorer(SENTENCE, rng.normal(size=(5, 5)), causal_mask(5)),
        UpdatePlane(["big", "tower"], "tower", [0, 1], rng.normal(size=(2, 2)), [1, -1], **plane),
        heads_explorer(W_O=rng.normal(size=(3, 7, 5)) * [1, 1, 0, 1, 1]),  # nothing is written to one axis
        ParameterCounter(GPT3, "175B"),
        CostExplorer(GPT3, "175B", key_heads=8),
        training_explorer(tokens=["cat", "sat", "<b>mat", "on", "it"], runs=runs, run=1, moment=2),
        GaugeExplorer(["a", "b", "c"], rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), power=2.0),
        self_check(chosen=[1, 1]),
        RotaryExplorer([2, 0.5], [1.5, -1], 0.3),
        stepper(),
        HeadGuess(read_recording("minilm_patterns"), read_recording("minilm")),
        NovelReader(["It is a <b>truth"]),
    ]
    return {figure._name: figure for figure in figures}


EACH = one_of_each()
ALIVE = [name for name in EACH if name != "novel_reader"]  # which is once its model is there: test_novel_reader.py


def test_every_figure_is_a_pair_of_files_and_in_the_script_of_the_book(blank):
    pairs = {path.stem for path in FOLDER.glob("*.py")} & {path.stem for path in FOLDER.glob("*.js")}
    assert set(blank().evaluate("Object.keys(attnExplorables)")) == pairs == set(EACH)
    assert all(type(figure).__name__ in dir(attn.figures) for figure in EACH.values())


def control(page, label):
    return page.locator("label").filter(has=page.get_by_text(label, exact=True)).locator("input")


def key(label, pressed):
    return lambda page: control(page, label).press(pressed)


def click(label):
    return lambda page: control(page, label).click()


def fill(label, text):
    return lambda page: control(page, label).fill(text)


def words(text):
    def give(page):
        page.locator(".attn-words input").fill(text)
        press("Use them")(page)

    return give


def box(number):
    return lambda page: page.locator(".attn-step").nth(number).click()


def put(name, value, *place):
    """The change of one entry of a trait."""

    def change(figure):
        array = np.array(getattr(figure, name))
        array[place] = value
        return {name: array.tolist()}

    return change


def attended(text, **others):
    """The words and vectors of the attention explorer once the reader gives these words, all of them known."""
    rows, start = [SENTENCE.index(word) for word in text.split()], explorer()
    return {"tokens": text.split(), **{name: np.array(getattr(start, name))[rows] for name in "QKV"}, **others}


def guess(head, kind):
    return lambda figure: {"guesses": {**figure.guesses, head: kind}}


I, J = np.indices((5, 5))
MOVES = {  # what the reader does, and what it does to the state
    "attention": [
        (key("q₂", "End"), put("Q", 6, 2, 1)),
        (click("ate"), {"query": 3}),
        (key("q₁", "Home"), put("Q", -6, 3, 0)),
        (click("itself and earlier words"), {"causal": True}),
        (words("fish cat ate fish"), attended("fish cat ate fish")),
        (words("fish ate"), attended("fish ate", query=1)),
    ],
    "softmax": [
        (key("fox", "End"), put("scores", 5, 0)),
        (key("the", "ArrowLeft"), put("scores", -1.1, 2)),
        (key("temperature", "ArrowRight"), {"temperature": 1.1}),
        (key("added to every score", "Home"), {"offset": -50.0}),
        (words("the new fox"), {"tokens": ["the", "new", "fox"], "scores": [-1.1, 0, 5]}),
        (key("fox", "Home"), put("scores", -5, 2)),
        (key("temperature", "Home"), {"temperature": 0.1}),
    ],
    "query_plane": [
        (key("q₁", "End"), {"q": [3, 1]}),
        (key("q₂", "ArrowLeft"), {"q": [3, 0.95]}),
        (words("one two three"), {"tokens": ["one", "two", "three"]}),
        (key("q₁", "Home"), {"q": [-3, 0.95]}),
    ],
    "scaling": [
        (key("d_k", "ArrowRight"), {"chosen": 2}),
        (click("as they are"), {"scaled": False}),
        (key("d_k", "Home"), {"chosen": 0}),
        (click("divided by √d_k"), {"scaled": True}),
    ],
    "mask": [
        (click("itself and the word before"), {"mask": (J == I) | (J == I - 1)}),
        (click("zero after softmax"), {"after": True}),
        (click("all but itself"), {"mask": J != I}),
        (
            words("fish cat fish"),
            lambda figure: {
                "tokens": ["fish", "cat", "fish"],
                "scores": np.array(figure.scores)[np.ix_([4, 2, 4], [4, 2, 4])],
                "mask": ~np.eye(3, dtype=bool),
            },
        ),
        (click("−∞ before softmax"), {"after": False}),
    ],
    "update_plane": [
        (key("big", "End"), put("scores", 8, 0)),
        (key("tower", "Home"), put("scores", -4, 1)),
        (key("tower", "ArrowRight"), put("scores", -3.9, 1)),
    ],
    "heads": [
        (click("two"), {"head": 1}),
        (click("wizard"), {"query": 1}),
        (words("Queen toString Harry"), {"tokens": ["Queen", "toString", "Harry"], "query": 2}),
        (click("three"), {"head": 2}),
        (click("toString"), {"query": 1}),
        (words("who knows"), {"tokens": ["who", "knows"], "query": 1}),
    ],
    "parameters": [
        (click("Small"), lambda figure: figure.presets["Small"]),
        (fill("n_layers", "13"), {"n_layers": 13}),
        (click("biases"), {"biases": False}),
        (click("layer norms"), {"norms": False}),
        (click("table of positions"), {"positions": False}),
        (click("unembedding tied to the embedding"), {"tied": False}),
        (click("13B"), lambda figure: figure.presets["13B"]),
    ],
    "cost": [
        (key("tokens", "End"), {"n_tokens": 2**20}),
        (key("key heads", "Home"), {"key_heads": 1}),
        (click("Small"), {"chosen": "Small", "key_heads": 12}),
        (key("key heads", "ArrowLeft"), {"key_heads": 6}),
        (key("tokens", "Home"), {"n_tokens": 128}),
    ],
    "training": [
        (key("step", "ArrowRight"), {"moment": 3}),
        (click("queries"), {"run": 0}),
        (key("step", "Home"), {"moment": 0}),
    ],
    "gauge": [
        (key("stretch", "End"), {"power": 4}),
        (click("cosines of queries"), {"shown": 1}),
        (key("stretch", "ArrowLeft"), {"power": 3.9}),
        (click("scores"), {"shown": 2}),
    ],
    "rotary": [
        (key("query stands at", "ArrowRight"), {"query_at": 6}),
        (key("both, together", "End"), {"query_at": 40, "key_at": 36}),
        (key("key stands at", "Home"), {"key_at": 0}),
        (key("angle a position", "ArrowLeft"), {"turn": 0.25}),
        (key("query stands at", "Home"), {"query_at": 0}),
    ],
    "stepper": [
        (box(3), {"step": 3}),
        (press("Next step →"), {"step": 4}),
        (click("2"), {"head": 1}),
        (click("gold"), {"token": 2}),
        (words("she lost gold and"), {"tokens": ["she", "lost", "gold", "and"], "token": 3}),
        (box(13), {"step": 13}),
        (click("backward: the error"), {"backward": True}),
        (lambda page: page.locator("select").select_option("gold"), {"wanted": 2}),
        (press("Next step →"), {"step": 12}),
        *((box(step), {"step": step}) for step in range(35)),
        (press("Next step →"), {"step": 33}),
        (click("forward: the prediction"), {"backward": False}),
        (click("<b>Anna lost"), {"tokens": ["<b>Anna", "lost"], "token": 1}),
        *((box(step), {"step": step}) for step in range(35)),
    ],
    "head_guess": [
        (press("Head 3.9"), {"head": "3.9"}),
        (press("same word"), guess("3.9", "same word")),
        (lambda page: page.locator("select").select_option("9"), {"text": 9, "token": 1}),
        (lambda page: page.locator(".attn-ask").nth(9).click(), {"token": 9}),
        (lambda page: page.locator(".attn-large .attn-cell").nth(5 * 14 + 8).click(), {"token": 5}),
        (lambda page: page.locator(".attn-answer").nth(3).dispatch_event("click"), {}),  # what is written down stays
        (press("Next case →"), {"head": "4.10", "text": 2, "token": 4}),
        (press("nothing I can name"), guess("4.10", "nothing I can name")),
        (press("The cat sat on the mat because it was tired."), {"text": 0, "token": 8}),
        (press("Head 4.1"), {"head": "4.1"}),
        (press("rests on the first"), guess("4.1", "rests on the first")),
        (press("Head 3.1"), {"head": "3.1"}),
        (press("the noun that fits"), guess("3.1", "the noun that fits")),
        (press("They looked at the miniature Eiffel tower."), {"text": 5, "token": 1}),
        (press("Head 3.9, your guess: same word"), {"head": "3.9"}),
    ],
    "self_check": [
        (press("2"), {"chosen": [0, 1]}),
        (press("22"), {"chosen": [0, 0]}),
        (press("11"), {"chosen": [1, 0]}),
    ],
}


def make(figure, change):
    with figure.hold_trait_notifications():
        for name, value in (change(figure) if callable(change) else change).items():
            setattr(figure, name, value)


@pytest.mark.parametrize("name", ALIVE)
def test_a_figure_shows_what_the_package_computes_at_first_and_after_each_move(blank, name):
    figure, page = one_of_each()[name], blank(html(EACH[name]))
    root = page.locator(".attn-explorable")
    kept = root.locator("input, button").first.element_handle()
    assert root.evaluate(LOOK) == look_of(figure)
    for number, (move, change) in enumerate(MOVES[name]):
        move(page)
        make(figure, change)
        assert root.evaluate(LOOK) == look_of(figure), number
        if number == 0:
            assert kept.evaluate("node => node.isConnected"), "a control that is being moved must stay"
    if name != "self_check":
        press("Start again")(page)
        assert root.evaluate(LOOK) == look_of(EACH[name])
    assert page.said == []


@pytest.mark.parametrize("name", ALIVE)
def test_who_comes_back_finds_the_controls_as_the_figure_is(blank, name):
    page = blank(html(EACH[name]))
    assert page.locator("input").count() == page.locator("input[autocomplete=off]").count()
    for move, _ in MOVES[name]:
        move(page)
    page.goto("about:blank")
    page.go_back()
    assert page.locator(".attn-explorable").evaluate(LOOK) == look_of(EACH[name])


OTHERS = [  # states that no move above leads to
    SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], 3.0, 7.0),
    ScalingExplorer([1, 4], [[9, 1, 0], [6, 1, 0]]),  # the weights hardly answer to the scores
    ScalingExplorer([1, 4], [[9, 1, 0], [6, 1, 0]], chosen=1, scaled=True),  # weakly
    ScalingExplorer([1, 4], [[9, 1, 0], [2, 1, 0]], chosen=1, scaled=True),  # or plainly
    explorer(causal=True, query=0),
    MaskExplorer(["a", "b"], [[0, 5], [-5, 0]], [[False, False], [True, False]]),
    training_explorer(steps=[0, 3, 5, 9]),
    self_check(),
    self_check(chosen=[1, -1]),
]


def test_a_figure_shows_what_the_package_computes_in_other_states(blank):
    page = blank(*map(html, OTHERS))
    for root, figure in zip(page.locator(".attn-explorable").all(), OTHERS, strict=True):
        assert root.evaluate(LOOK) == look_of(figure)


def test_a_weight_that_is_nothing_adds_nothing_to_the_entropy(blank):
    page = blank(html(SoftmaxExplorer(["fox", "dog"], [100, 0], 0.1, knobs=True)))
    assert "Entropy: 0.00 nats; equal weights have 0.69." in page.locator(".attn-detail").inner_text()


EXPLAINED = """(root) => {
  const cells = [...root.querySelectorAll("button.attn-cell")];
  const told = (cell) => {
    cell.focus();
    return root.querySelector(".attn-detail").textContent;
  };
  return [...cells.map(told), told(cells[0])];
}"""
MEANINGS = {"attention": meanings_of_attention, "mask": meanings_of_mask}


@pytest.mark.parametrize("name", MEANINGS)
def test_each_number_is_explained_and_anew_after_each_change(blank, name):
    figure, page, meanings = one_of_each()[name], blank(html(EACH[name])), MEANINGS[name]
    root, told = page.locator(".attn-explorable"), page.locator(".attn-detail")
    assert root.evaluate(EXPLAINED) == [*meanings(figure), meanings(figure)[0]]
    for number, (move, change) in enumerate(MOVES[name]):
        before = figure.tokens
        move(page)
        make(figure, change)
        expected = meanings(figure)[0] if figure.tokens == before else look_of(figure)["says"][0]
        assert told.text_content() == expected, number
        assert root.evaluate(EXPLAINED) == [*meanings(figure), meanings(figure)[0]], number


@pytest.mark.parametrize(
    ("name", "cell", "place", "change"),
    [
        ("attention", "black to The:", 17 + 5, {"query": 1}),
        ("mask", "ate to fish:", 3 * 5 + 4, put("mask", True, 3, 4)),
        ("mask", "ate to The:", 3 * 5, put("mask", False, 3, 0)),
    ],
)
def test_a_cell_that_is_pressed_without_mouse_or_keyboard_does_what_it_says_and_tells_it(
    blank, name, cell, place, change
):
    figure, page = one_of_each()[name], blank(html(EACH[name]))
    page.get_by_role("button", name=cell).dispatch_event("click")
    make(figure, change)
    found, expected = page.locator(".attn-explorable").evaluate(LOOK), look_of(figure)
    assert found.pop("says") == [MEANINGS[name](figure)[place]] and expected.pop("says")
    assert found == expected


def test_words_after_a_mask_without_a_name_all_see_each_other(blank):
    figure, page = one_of_each()["mask"], blank(html(EACH["mask"]))
    page.get_by_role("button", name="ate to fish:").click()
    words("cat fish")(page)
    scores = np.array(figure.scores)[2::2, 2::2]
    make(figure, {"tokens": ["cat", "fish"], "scores": scores, "mask": np.ones((2, 2), bool)})
    assert page.locator(".attn-explorable").evaluate(LOOK) == look_of(figure)


@pytest.mark.parametrize(
    ("name", "fewest", "most"),
    [("attention", 2, 8), ("softmax", 2, 10), ("query_plane", 3, 3), ("mask", 2, 8), ("heads", 2, 8)],
)
def test_as_many_words_are_taken_as_the_field_says_and_only_such_that_are_seen(blank, name, fewest, most):
    page = blank(html(EACH[name]))
    root, before, address = page.locator(".attn-explorable"), look_of(EACH[name]), page.url
    field = before["fields"][0][0]
    takes = most if fewest == most else f"{fewest} to {most}"

    def refused(text, number):
        words(text)(page)
        said = f"{number} {'word' if number == 1 else 'words'} given; this figure takes {takes}."
        return root.evaluate(LOOK) == {**before, "fields": [[field, text]], "refused": [said]}

    for number in (0, 1, fewest - 1, most + 1):
        assert refused(" ".join(["word"] * number), number)
    assert refused("\u200b \u00ad one\u200b \u2060\u200d", 1), "what has no width is no word"
    words(" ".join(EACH[name].tokens))(page)
    assert root.evaluate(LOOK) == before
    assert refused("one", 1)
    press("Start again")(page)
    assert root.evaluate(LOOK) == before
    for number in {fewest, most}:
        own = [f"word{i}" for i in range(number)]
        words(f"  {'  '.join(own)} ")(page)
        found = root.evaluate(LOOK)
        assert found["fields"] == [[field, " ".join(own)]] and found["refused"] == [""]
        rows = [table["rows"] for table in found.get("tables", [])]
        assert own in [*rows, [bar[0] for bar in found.get("bars", [])]]
    assert page.url == address and page.said == []


def test_the_query_is_dragged_inside_the_plane_and_only_while_it_is_held(blank):
    figure, page = one_of_each()["query_plane"], blank(html(EACH["query_plane"]))
    root, box = page.locator(".attn-explorable"), page.locator(".attn-plane").bounding_box()

    def move(x, y):
        page.mouse.move(box["x"] + box["width"] * (0.5 + x / 6), box["y"] + box["height"] * (0.5 - y / 6))

    def shows(q):
        figure.q = q
        return root.evaluate(LOOK) == look_of(figure)

    move(1, -2)
    assert shows(EACH["query_plane"].q)
    page.mouse.down()
    assert shows([1, -2])
    move(-1.04, 2.01)
    assert shows([-1.05, 2])
    move(3.4, -3.3)
    assert shows([3, -3])
    page.mouse.up()
    move(0, 1)
    assert shows([3, -3])
    page.mouse.down()
    assert shows([0, 1])
    page.locator(".attn-plane").dispatch_event("pointercancel")
    move(2, 2)
    assert shows([0, 1])


def test_made_up_vectors_are_of_their_word_and_their_role(blank):
    page = blank(html(EACH["attention"]))
    words("who knows who")(page)
    told = page.locator(".attn-explorable").evaluate(EXPLAINED)
    sums = [np.array(re.findall(r"([\d.]+) × ([\d.]+)", text), float) for text in [*told[:9:3], *told[9:11]]]
    query, keys, values = sums[0][:, 0], [pairs[:, 1] for pairs in sums[:3]], np.array(sums[3:])[..., 1]
    assert (keys[0] == keys[2]).all() and (values[:, 0] == values[:, 2]).all()
    numbers = [*query, *keys[0], *keys[1], *values[:, 0], *values[:, 1]]
    assert len(set(numbers)) > 10 and min(numbers) >= 0 and max(numbers) <= 1


def test_made_up_scores_are_of_their_pair(blank):
    page = blank(html(MaskExplorer(["who", "cat"], np.zeros((2, 2)))))
    words("who knows")(page)
    told = page.locator(".attn-explorable").evaluate(EXPLAINED)
    scores = [float(re.search(r"score (\S+),", text)[1]) for text in told[:4]]
    assert scores[0] == 0 and len(set(scores)) == 4 and max(scores) <= 3


@pytest.mark.parametrize("dark", [False, True])
def test_bars_are_seen_in_the_readers_own_colours(blank, dark):
    page = blank(html(EACH["softmax"]), forced_colors="active", dark=dark)
    ink, paper, border = page.evaluate(
        """() => {
          const [bar, colour] = [document.querySelector(".attn-bar"), (style) => style.backgroundColor];
          return [getComputedStyle(bar, "::before"), getComputedStyle(bar)].map(colour)
            .concat(getComputedStyle(bar).borderTopColor);
        }"""
    )
    assert re.findall(r"\d+", ink)[:3] == re.findall(r"\d+", border)[:3] != re.findall(r"\d+", paper)[:3]


FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


def test_arrow_keys_home_and_end_move_inside_a_table(blank):
    page = blank(html(EACH["mask"]))
    page.get_by_role("button", name="cat to cat:").focus()
    moves = {
        "ArrowRight": "cat to ate",
        "ArrowUp": "black to ate",
        "ArrowLeft": "black to cat",
        "ArrowDown": "cat to cat",
        "Home": "cat to The",
        "End": "cat to fish",
    }
    for key, place in moves.items():
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED).split(":")[0] == place, key
    for cell, keys in {"The to The:": ["ArrowUp", "ArrowLeft"], "fish to fish:": ["ArrowRight", "ArrowDown"]}.items():
        page.get_by_role("button", name=cell).focus()
        for pressed in keys:
            page.keyboard.press(pressed)
            assert page.evaluate(FOCUSED).startswith(cell), "there is nothing beyond the edge"
    scrolls = """(cell, keys) => keys.map((key) =>
      cell.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))"""
    cell = page.get_by_role("button", name="cat to cat:")
    assert cell.evaluate(scrolls, [*moves, "PageDown", "Tab"]) == [False] * len(moves) + [True, True]


@pytest.mark.parametrize(
    ("name", "selectors"),
    [("mask", [".attn-pattern"]), ("attention", [".attn-steps", ".attn-output", ".attn-pattern"])],
)
def test_a_table_is_one_tab_stop_which_stays_where_the_reader_was(blank, name, selectors):
    page = blank(html(EACH[name]))
    for selector in selectors:
        table = page.locator(selector)
        stops = table.locator("button[tabindex='0']")
        assert table.locator("button").count() > 1 and stops.count() == 1
        last = table.locator("button").last
        last.focus()
        assert stops.count() == 1 and last.get_attribute("tabindex") == "0"
        page.keyboard.press("Tab")
        assert not table.evaluate("table => table.contains(document.activeElement)")
        page.keyboard.press("Shift+Tab")
        assert last.evaluate("cell => cell === document.activeElement")


@pytest.mark.parametrize("name", ["attention", "softmax", "query_plane", "mask", "heads"])
def test_the_keyboard_stays_where_it_was_when_the_words_change(blank, name):
    page = blank(html(EACH[name]))
    words = page.locator(".attn-words input")
    before = words.input_value().split()
    own = "one two three" if name == "query_plane" else "one two"
    words.fill(own)
    use, again = page.get_by_role("button", name="Use them"), page.get_by_role("button", name="Start again")
    use.focus()
    page.keyboard.press("Enter")
    assert words.input_value() == own
    assert use.evaluate("node => node === document.activeElement")
    again.focus()
    page.keyboard.press("Enter")
    assert words.input_value().split() == before
    assert again.evaluate("node => node === document.activeElement")
    words.fill(own)
    page.evaluate("document.body.style.height = '5000px'; scrollTo(0, 4000)")
    page.keyboard.press("Enter")
    assert words.input_value() == own and words.evaluate("node => node === document.activeElement")
    assert page.evaluate("scrollY") == 4000, "the page stays where the reader has it"


def test_the_keyboard_stays_at_the_model_that_was_chosen(blank):
    page = blank(html(EACH["cost"]))
    page.get_by_label("175B").focus()
    for label in reversed(list(GPT3)[:-1]):  # each key finds what the one before it left
        page.keyboard.press("ArrowUp")
        assert control(page, label).is_checked()
        assert control(page, label).evaluate("node => node === document.activeElement")
    again = page.get_by_role("button", name="Start again")
    again.focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("175B").is_checked() and again.evaluate("node => node === document.activeElement")


@pytest.mark.parametrize("name", ALIVE)
def test_a_figure_reads_its_model_once_a_change_tells_it_and_is_silent_when_it_is_taken_away(blank, name):
    found = blank().evaluate(
        """async ([name, state]) => {
          const listening = [], did = [];
          const model = {
            get: (key) => did.push("get") && state[key],
            set: () => did.push("set"),
            save_changes: () => did.push("save"),
            on: (event, listener) => listening.push([event, listener]),
            off: (event, listener) =>
              listening.splice(listening.findIndex(([name, heard]) => name === event && heard === listener), 1),
          };
          const el = document.createElement("div");
          const end = attnExplorables[name].render({ model, el });
          const events = listening.map(([event]) => event), heard = listening.map(([, listener]) => listener);
          const after = async (work) => {
            did.length = 0;
            work();
            await Promise.resolve();
            return [...did];
          };
          const drawn = await after(() => heard.forEach((listener) => listener()));
          const control = el.querySelector(".attn-explorable :is(input, .attn-answer)");
          const told = (await after(() =>
            ["input", "change", "click"].forEach((name) => control.dispatchEvent(new Event(name)))
          )).filter((name) => name !== "get");
          const again = [...el.querySelectorAll("button")].filter(({ textContent }) => textContent === "Start again");
          const drawnAgain = await after(() => again.forEach((button) => button.click()));
          const ended = await after(() => {
            heard.forEach((listener) => listener());
            end();
          });
          return { events, drawn, told, drawnAgain, ended, left: listening.length };
        }""",
        [name, EACH[name].state()],
    )
    traits = list(EACH[name].state())
    assert sorted(found["events"]) == sorted(f"change:{trait}" for trait in traits)
    assert found["drawn"] == ["get"] * len(traits), "it is drawn once, however much has changed"
    assert set(found["told"][:-1]) == {"set"} and found["told"][-1] == "save", "the kernel must hear of it"
    if name != "self_check":
        assert found["drawnAgain"][-1] == "get", "what was typed goes even if nothing has changed"
    assert found["ended"] == [] and found["left"] == 0


@pytest.mark.parametrize("name", ALIVE)
def test_what_changes_by_itself_is_spoken_and_what_scrolls_is_reached(blank, name):
    page = blank(html(EACH[name]))
    assert page.locator(".attn-detail").count() == page.locator(".attn-detail[aria-live=polite]").count()
    assert page.locator(".attn-problem, .attn-why").count() == page.locator("[role=status]").count()
    for scrolls in page.locator(".attn-scroll").all():
        named = scrolls.evaluate("box => box.tabIndex === 0 && box.role === 'group' && !!box.ariaLabel")
        assert named != (scrolls.locator("button[tabindex='0']").count() > 0)


def test_vectors_of_another_length_get_their_own_sliders(blank):
    longer = explorer(Q=np.ones((5, 7)), K=np.ones((5, 7)))
    sliders = blank().evaluate(
        """async ([before, after]) => {
          const listeners = [], el = document.createElement("div");
          let state = before;
          const model = { get: (key) => state[key], on: (event, listener) => listeners.push(listener) };
          attnExplorables.attention.render({ model, el });
          state = after;
          listeners.forEach((listener) => listener());
          await Promise.resolve();
          return el.querySelectorAll("input[type=range]").length;
        }""",
        [explorer().state(), longer.state()],
    )
    assert sliders == 7


def test_each_mask_lets_a_word_see_what_it_says(blank):
    page = blank(html(EACH["mask"]))
    i, j = np.indices((5, 5))
    masks = {
        "all words": i == i,
        "itself and earlier words": j <= i,
        "itself and the word before": (j == i) | (j == i - 1),
        "all but itself": j != i,
    }
    for label, mask in masks.items():
        page.get_by_label(label, exact=True).click()
        shown = page.locator(".attn-pattern button").evaluate_all(
            "cells => cells.map(cell => !cell.classList.contains('attn-hidden'))"
        )
        assert shown == mask.ravel().tolist(), label


@pytest.mark.parametrize("name", ["attention", "mask"])
def test_made_up_numbers_depend_on_the_words_alone(blank, name):
    def shown():
        page = blank(html(EACH[name]))
        page.get_by_label("Your own words").fill("who knows")
        page.get_by_role("button", name="Use them").click()
        return page.locator(".attn-pattern button").all_inner_texts()

    assert shown() == shown()


# --- the Python side -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: explorer(tokens=["only", "these", "three"]),
            r"the axis n has size 3 in tokens, but size 5 in Q, K, V",
        ),
        (lambda: explorer(K=np.ones((5, 2))), r"the axis d_k has size 3 in Q, but size 2 in K"),
        (lambda: explorer(query=5), r"query must be a position on the axis n, from 0 to 4, but is 5"),
        (lambda: explorer(query=-1), r"from 0 to 4, but is -1"),
        (lambda: explorer(tokens=list("abcdefghi")), r"the axis n takes 2 to 8 entries, but has 9 in tokens"),
        (lambda: explorer(tokens="black"), r"tokens"),
        (lambda: explorer(V=np.full((5, 2), np.nan)), r"V needs finite numbers, but has NaN in it"),
        (lambda: explorer(V=np.full(5, np.nan)), r"V needs finite numbers, but has NaN in it"),
        (lambda: explorer(Q=np.full((5, 3), -np.inf)), r"Q needs finite numbers, but has infinity in it"),
        (lambda: explorer(V=None), r"V needs numbers, but is None"),
        (lambda: explorer(V=[[1], [1, 2]]), r"V needs the axes \(n, d_v\): .*inhomogeneous"),
        (lambda: explorer(V=np.ones((5, 0))), r"V needs the axes \(n, d_v\), but has shape \(5, 0\)"),
        (lambda: explorer(V=np.ones(5)), r"V needs the axes \(n, d_v\), but has shape \(5,\)"),
        (lambda: SoftmaxExplorer(["a", "b"], [1, 2, 3]), r"the axis n has size 2 in tokens, but size 3 in scores"),
        (lambda: SoftmaxExplorer(["a", "b"], [1, 2], temperature=0), r"above zero, but is 0"),
        (lambda: SoftmaxExplorer(["a", "b"], [1, 2], offset=np.nan), r"offset needs finite numbers, but has NaN"),
        (
            lambda: ScalingExplorer([1, 4], np.ones((3, 5))),
            r"the axis n_sizes has size 2 in sizes, but size 3 in scores",
        ),
        (
            lambda: ScalingExplorer([1, 4], np.ones((2, 9))),
            r"the axis n_keys takes 2 to 8 entries, but has 9 in scores",
        ),
        (lambda: ScalingExplorer([0, 4], np.ones((2, 5))), r"sizes must be at least 1, but has 0"),
        (lambda: ScalingExplorer([1, 2.5], np.ones((2, 5))), r"sizes needs whole numbers, but is \[1, 2.5\]"),
        (lambda: ScalingExplorer([1, 4], np.ones((2, 5)), chosen=2), r"axis n_sizes, from 0 to 1, but is 2"),
        (lambda: MaskExplorer(["a", "b"], np.eye(3)), r"the axis n has size 2 in tokens, but size 3 in scores"),
        (
            lambda: MaskExplorer(["a", "b"], np.eye(2), np.ones((2, 3), bool)),
            r"the axis n has size 2 in .*mask, but size 3 in mask",
        ),
        (lambda: MaskExplorer(["a", "b"], np.eye(2), [[0, -1e9]] * 2), r"mask needs True and False"),
        (
            lambda: UpdatePlane(["a"], "b", [0, 1], np.eye(2), [1], axes=["x", "y"], spots={"c": [0, 0]}),
            r"the axis n has size 1 in tokens, scores, but size 2 in V",
        ),
        (lambda: heads_explorer(axes=list("abc")), r"the axis d_model has size 5 in known, .*W_O, but size 3 in axes"),
        (lambda: heads_explorer(known=[[1.0] * 5]), r"known needs a dict"),
        (lambda: heads_explorer(W_K=np.ones((2, 5, 2))), r"the axis n_heads has size 3 in W_Q.*, but size 2 in W_K"),
        (lambda: heads_explorer(head=3), r"head must be a position on the axis n_heads, from 0 to 2, but is 3"),
        (lambda: setattr(ParameterCounter(GPT3, "Small"), "d_k", 0), r"d_k"),
        (lambda: CostExplorer(GPT3, "175B", key_heads=7), r"divide the 96 heads of '175B', but is 7"),
        (lambda: CostExplorer(GPT3, "176B"), r"but is '176B'"),
        (lambda: CostExplorer(GPT3, "175B", n_tokens=1000), r"but is 1000"),
        (
            lambda: training_explorer(tokens=["a", "b"]),
            r"the axis n has size 2 in tokens, but size 3 in weights",
        ),
        (lambda: training_explorer(moment=4), r"moment must be a position on the axis n_steps, from 0 to 3, but is 4"),
        (
            lambda: training_explorer(steps=[0, 1, 2]),
            r"the axis n_steps has size 3 in steps, but size 4 in weights, losses",
        ),
        (
            lambda: GaugeExplorer(["a", "b"], np.eye(2), np.eye(3)),
            r"the axis n has size 2 in tokens, Q, but size 3 in K",
        ),
        (lambda: GaugeExplorer(["a", "b"], np.eye(2), np.eye(2), power=np.inf), r"power"),
        (
            lambda: SelfCheck([("a?", "b", {"c": "d", "e": "f"})]),
            r"'a\?' needs its right answer 'b' among at least 2, but there are \['c', 'e'\]",
        ),
        (lambda: SelfCheck([("a?", "b", {"b": "d", "e": " "})]), r"'a\?' does not explain \['e'\]"),
        (lambda: self_check(chosen=[0, 2]), r"question of \[2, 2\] answers, but is \[0, 2\]"),
        (lambda: RotaryExplorer([1, 2], [1, 2, 3]), r"key needs the axes \(2\), but has shape \(3,\)"),
        (lambda: RotaryExplorer([1, 2], [1, 2], query_at=41), r"query_at must be from 0 to 40, but is 41"),
        (lambda: RotaryExplorer([1, 2], [1, 2], np.nan), r"turn needs finite numbers, but has NaN"),
        (lambda: stepper(tokens=["<b>Anna", "cried"], token=1), r"the model does not know cried"),
        (lambda: stepper(tokens=["she"] * 7), r"reads at most 6 words, but 'she she she she she she she' has 7"),
        (lambda: stepper(tokens=[]), r"tokens"),
        (lambda: stepper(token=5), r"axis n, from 0 to 4, but is 5"),
        (lambda: stepper(step=35), r"step must be from 0 to 34, but is 35"),
        (lambda: stepper(head=2), r"head must be from 0 to 1, but is 2"),
        (lambda: stepper(wanted=5), r"axis n_words, from 0 to 4, but is 5"),
        (lambda: unfit(norm="post"), r"the figure needs norm 'pre', but has 'post'"),
        (lambda: unfit(d_ff=0), r"needs an MLP and keys for each head, but d_ff is 0"),
        (lambda: unfit(d_ff=12), r"layer 1 / mlp / W_1 needs shape \(4, 12\), but has \(4, 9\)"),
        (lambda: unfit(n_layers=3), r"the params differ from those of the config in layer 3"),
        (lambda: unfit(vocab_size=6), r"embedding needs shape \(6, 4\), but has \(5, 4\)"),
        (lambda: unfit(["a", "b"]), r"the model has 5 tokens, but there are 2 words"),
        (lambda: unfit(spoil=True), r"layer 2 / mlp / b_1 needs finite numbers, but has NaN"),
        (
            lambda: QueryPlane(["a", "b"], "c", [1, 2, 3], np.eye(2), np.eye(2)),
            r"q needs the axes \(2\), but has shape \(3,\)",
        ),
        (
            lambda: QueryPlane(["a", "b"], "c", [1, 2], np.ones((2, 3)), np.eye(2)),
            r"K needs the axes \(n, 2\), but .*3",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sizes(make, message):
    with pytest.raises(traitlets.TraitError, match=message):
        make()


def test_a_refused_change_leaves_the_figure_as_it_was():
    figure = explorer()
    before = figure.state()
    with pytest.raises(traitlets.TraitError):
        figure.Q = np.ones((4, 3))
    assert figure.state() == before


def test_traits_change_together_inside_a_hold():
    figure = explorer()
    with figure.hold_trait_notifications():
        figure.tokens, figure.Q, figure.K, figure.V, figure.query = ["a", "b"], np.eye(2), np.eye(2), np.eye(2), 0
    assert figure.weights.shape == (2, 2)


def test_traits_that_do_not_fit_together_are_all_taken_back():
    figure = explorer()
    before = figure.state()
    with pytest.raises(traitlets.TraitError, match="axis n has size 2 in tokens, Q, but size 5 in K, V"):  # noqa: SIM117
        with figure.hold_trait_notifications():
            figure.tokens, figure.Q, figure.query = ["a", "b"], np.eye(2, 3), 1
    assert figure.state() == before
    figure.query = 4
    assert figure.state() == {**before, "query": 4}


def test_arguments_come_in_the_order_of_the_traits_and_no_more_than_these():
    figure = SoftmaxExplorer(["a", "b"], [1, 2], 0.5, offset=3)
    assert figure.state() == {
        "tokens": ["a", "b"],
        "scores": [1, 2],
        "temperature": 0.5,
        "offset": 3,
        "knobs": False,
    }
    with pytest.raises(TypeError, match="takes tokens, scores, temperature, offset, knobs, but 6 values are given"):
        SoftmaxExplorer(["a", "b"], [1, 2], 1, 0, True, "too much")
    with pytest.raises(TypeError, match="tokens"):
        SoftmaxExplorer(["a", "b"], [1, 2], tokens=["c", "d"])


def test_what_a_notebook_shows_without_a_kernel_holds_the_same_state():
    figure = explorer()
    data, _ = figure._repr_mimebundle_()
    state = json.loads(re.search(r"<script[^>]*>(.*?)</script>", data["text/html"])[1])
    assert state == figure.state()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("Attention explorer: 'cat' attends to The ")


def test_figures_formulas_and_explorables_use_the_same_colours():
    style = read_source("figures.css")
    for role in ("query", "key", "value"):
        assert re.search(rf"--attn-{role}: (#\w+);", style)[1] == COLORS[role]
    red, green, blue = (int(COLORS["weight"][i : i + 2], 16) for i in (1, 3, 5))
    assert f"--attn-weight: {red} {green} {blue};" in style


def test_the_colours_are_told_apart_by_everyone_and_read_on_their_page():
    """Contrast by WCAG 2; colour vision deficiencies by the matrices of Machado et al. 2009, distances in CIELAB."""
    deficiencies = [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

    def linear(colour):
        channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)

    def lab(rgb):
        xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    def contrast(one, two):
        low, high = sorted(to_xyz[1] @ linear(colour) for colour in (one, two))
        return (high + 0.05) / (low + 0.05)

    blocks = re.findall(r"\{(\s+--attn-query.*?)\}", read_source("figures.css"), re.DOTALL)
    assert len(blocks) == 2
    for block, paper in zip(blocks, ["#ffffff", "#14181e"]):
        colours = re.findall(r"--attn-(?:query|key|value): (#\w+);", block)
        assert min(contrast(colour, paper) for colour in colours) >= 4.5
        for matrix in deficiencies:
            seen = [lab(matrix @ linear(colour)) for colour in colours]
            assert min(np.linalg.norm(seen[i] - seen[j]) for i, j in [(0, 1), (0, 2), (1, 2)]) > 20


def test_no_explorable_reaches_outside_itself():
    for path in sorted(FOLDER.glob("*.js")):
        source = read_source(path.name)
        assert (
            "innerHTML" not in source
            and "getElementById" not in source
            and "http://" not in source.replace("http://www.w3.org/2000/svg", "")
        )
        if path.name != "mount.js":
            assert "document.querySelector" not in source
