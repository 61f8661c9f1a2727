"""What the figures' JavaScript computes, against the package: in an engine without a page, and so in milliseconds."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from examples import EACH, stepper, stirred
from numpy.testing import assert_allclose

from attn import Tape, Trace, decoder, scaled_dot_product_attention, softmax, switch_off
from attn.interventions import Replace, ReplaceValues, named_head
from attn.parameters import GPT3, TransformerConfig, cache_bytes, count_parameters, flat
from attn.positions import rotary, sinusoid
from attn_course.figures import (
    AskShareReceive,
    CostExplorer,
    HeadsWall,
    ParameterCounter,
    RotaryExplorer,
)
from attn_course.figures.stepper import sizes_of
from attn_course.measured import read_measured
from attn_course.released import RELEASED


@pytest.mark.parametrize("name", EACH)
def test_a_notebook_loads_a_module_in_which_no_name_is_given_twice(name):
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", EACH[name]._esm, re.MULTILINE)
    assert len(names) > 20 and [name for name in names if names.count(name) > 1] == []


@pytest.mark.parametrize(("temperature", "offset"), [(1, 0), (0.1, 50), (5, -50), (0.1, 1000)])
def test_the_softmax_explorer_computes_what_the_package_computes(js, temperature, offset):
    scores = 5 * np.random.default_rng(1).normal(size=7)
    found = js("attn.softmax.weigh", {"scores": scores, "temperature": temperature, "offset": offset})
    assert_allclose(found, softmax((scores + offset) / temperature), atol=1e-12)


@pytest.mark.parametrize(("temperature", "offset"), [(1, 0), (0.1, 50), (5, -3)])
def test_a_bar_that_is_dragged_gets_the_score_of_its_weight_or_the_bound_before_it(js, temperature, offset):
    state = {"scores": [0.5, -1, 0.2, -5], "temperature": temperature, "offset": offset}
    others = np.delete(np.exp(np.array(state["scores"]) / temperature), 1).sum()
    for weight in (-3, 0, 0.05, 0.3, 0.999, 1, 7):
        found = js("attn.softmax.scoreFor", state, 1, weight)
        odds = np.clip(weight, 1e-99, 1 - 1e-16) / np.clip(1 - weight, 1e-99, 1)
        assert found == pytest.approx(np.clip(temperature * np.log(odds * others), -5, 5), abs=0.0051)
        if abs(found) < 5:
            scores = np.array([0.5, found, 0.2, -5])
            assert softmax((scores + offset) / temperature)[1] == pytest.approx(weight, abs=0.02)


ASKED = {"tokens": ["a", "b", "c"], "asker": "d", "temperature": 1, "d_k": 2, "scaled": True, "hidden": None}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0.3},
        {"d_k": 64},
        {"d_k": 64, "scaled": False},
        {"hidden": [True, False, False]},
        {"hidden": [True] * 3},
    ],
)
def test_asking_computes_what_the_package_computes(js, changes):
    rng = np.random.default_rng(2)
    state = {**ASKED, "q": rng.normal(size=2), "K": rng.normal(size=(3, 2)), "V": rng.normal(size=(3, 2)), **changes}
    figure = AskShareReceive(**state)
    found = js("attn.ask_share_receive.ask", state)
    assert_allclose(found["weights"], figure.weights, atol=1e-5)
    assert_allclose(found["output"], figure.output, atol=1e-5)
    spread = np.sqrt(figure.d_k / 2)  # of the scores of so many entries, beside that of two
    divisor = figure.temperature * (np.sqrt(figure.d_k) if figure.scaled else 1) / spread
    scores = np.where(state["hidden"] or [False] * 3, -np.inf, state["K"] @ state["q"] / divisor)
    assert_allclose(found["weights"], softmax(scores), atol=1e-12)


def test_learning_walks_against_the_slope_of_the_loss(js):
    K = np.array([[2, 1], [1, 1], [1, 2]])
    state = {**ASKED, "q": [0, 1], "K": K, "V": K}

    def loss(q):
        return -np.log(softmax(K @ q / np.sqrt(2))[0])

    step = js("attn.ask_share_receive.pull", state, 0)["step"]
    slope = [(loss(np.array([0, 1]) + h) - loss(np.array([0, 1]) - h)) / 2e-5 for h in 1e-5 * np.eye(2)]
    assert_allclose(step, -np.array(slope), atol=1e-8)
    way = js("attn.ask_share_receive.learn", state, 0)
    assert (np.diff([loss(np.array(q)) for q in way]) < 0).all() and loss(np.array(way[-1])) < 0.2
    assert_allclose(np.array(way[1]) - way[0], 0.08 * np.array(step), atol=1e-12)
    behind = js("attn.ask_share_receive.learn", {**state, "q": [-2.9, -2.2]}, 0)  # at an edge, along which it goes on
    assert loss(np.array(behind[-1])) < 0.3 < 1 < loss(np.array(behind[0])) and np.min(behind) >= -2.9


def test_asking_three_times_computes_what_the_package_computes(js):
    figure = EACH["ask_three_times"]
    found = js("attn.ask_three_times.askAll", figure.state())
    assert_allclose([head["weights"] for head in found["found"]], figure.weights, atol=1e-5)
    assert_allclose(found["stops"][-1], figure.moved, atol=1e-5)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", [2, 5, 7])
def test_the_mask_explorer_computes_what_the_package_computes(js, after, n):
    rng = np.random.default_rng(4)
    scores, mask = 3 * rng.normal(size=(n, n)), rng.random((n, n)) < 0.6
    mask[0] = False
    found = js("attn.mask.weigh", {"scores": scores, "mask": mask, "after": after})
    _, weights = scaled_dot_product_attention(scores, np.eye(n), np.eye(n), None if after else mask, scale=1)
    assert_allclose(found, weights * mask, atol=1e-12)


def test_the_edge_of_a_mask_is_a_staircase_and_no_other_mask_has_one(js):
    for n, ahead in [(2, -1), (2, 1), (5, -1), (5, 0), (5, 3), (7, 6)]:
        assert js("attn.mask.staircase", n, ahead) == np.tri(n, k=ahead, dtype=bool).tolist()
        assert js("attn.mask.aheadIn", np.tri(n, k=ahead, dtype=bool)) == ahead
    for other in (1 - np.eye(5), np.tri(5) - np.tri(5, k=-2), np.tri(5).T):
        assert js("attn.mask.aheadIn", other.astype(bool)) is None


@pytest.mark.parametrize("places", [(5, 2), (0, 7), (40, 40)])
def test_the_rotary_explorer_turns_as_the_package_does(js, places):
    query, key = np.random.default_rng(13).normal(size=(2, 2)).round(3)
    figure = RotaryExplorer(query, key, 1.0, *places)  # the first pair of the package turns by 1 a position
    found = js("attn.rotary.compare", figure.state())
    turned = [rotary(vector[None], start=place)[0] for vector, place in zip((query, key), places)]
    assert_allclose(found["turned"], turned, atol=1e-12)
    assert_allclose(found["score"], turned[0] @ turned[1], atol=1e-12)
    angle = js("attn.rotary.angleBetween", *turned)
    assert np.hypot(*query) * np.hypot(*key) * np.cos(angle) == pytest.approx(turned[0] @ turned[1])
    onward = complex(*turned[0]) * np.exp(1j * angle) / np.hypot(*query)
    assert onward == pytest.approx(complex(*turned[1]) / np.hypot(*key))
    for turn in (1.0, 0.2):
        figure = RotaryExplorer(query, key, turn, *places)
        assert js("attn.rotary.compare", figure.state())["score"] == pytest.approx(figure.score, abs=1e-12)


def test_one_pair_of_a_sinusoid_is_a_hand_that_turns(js):
    rows = sinusoid(41, 8)
    for pair, speed in enumerate([1, 0.1, 0.01, 0.001]):
        figure = RotaryExplorer([0, 1], [0, 1], speed, 10, 13, names=["one", "other", "dot product"])
        both = slice(2 * pair, 2 * pair + 2)
        assert js("attn.rotary.compare", figure.state())["score"] == pytest.approx(rows[10, both] @ rows[13, both])


def test_the_gauge_explorer_stretches_cosines_and_no_score(js):
    figure = EACH["gauge"]
    Q, K = (np.array(rows) * [2.0**power, *[1] * 4] for rows, power in [(figure.Q, 1), (figure.K, -1)])
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (K, Q)]
    found = js("attn.gauge.regauge", figure.state())
    assert_allclose(found[::2], [rows @ rows.T for rows in units], atol=1e-12)
    assert_allclose(found[1], np.array(figure.Q) @ np.array(figure.K).T / np.sqrt(5), atol=1e-12)
    assert_allclose(figure.maps, found, atol=1e-12)


def mulberry32(seed):
    """Numbers between 0 and 1, as Tommy Ettinger's generator gives them."""
    bits = 2**32 - 1
    while True:
        seed = (seed + 0x6D2B79F5) & bits
        mixed = ((seed ^ seed >> 15) * (seed | 1)) & bits
        mixed ^= (mixed + (mixed ^ mixed >> 7) * (mixed | 61)) & bits
        yield (mixed ^ mixed >> 14) / 2**32


def test_the_walks_are_dot_products_of_normal_numbers_from_a_stated_generator(js):
    even = np.array([*itertools.islice(mulberry32(5), 2 * 40 * 256)]).reshape(40, 256, 2)
    lengths, angles = np.sqrt(-2 * np.log(1 - even[..., 0])), 2 * np.pi * even[..., 1]
    Q, K = lengths * np.cos(angles), lengths * np.sin(angles)
    found = np.array(js("attn.walks.walk", 5))
    assert_allclose(found[:, 0], 0)
    assert_allclose(found[:, 1:], np.cumsum(Q * K, axis=1), atol=1e-9)
    assert_allclose([Q.mean(), K.mean(), Q.std(), K.std()], [0, 0, 1, 1], atol=0.02)
    for d_k in (1, 7, 256):
        scores = np.sum((Q * K)[:, :d_k], axis=1)
        assert js("attn.walks.spread", found, d_k) == pytest.approx(np.sqrt(np.mean(scores**2)))


NAMES = ["d_model", "n_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff"]
COUNTED_OF = {
    **GPT3,
    "odd": TransformerConfig(**dict(zip(NAMES, [7, 3, 5, 2, 11, 13, 17]))),
    # counts beyond what a double holds
    "huge": TransformerConfig(**dict(zip(NAMES, [999_983, 999_979, 999_961, 999_959, 999_953, 999_931, 999_917]))),
    "Llama 3 8B": RELEASED["Llama 3 8B"],
    "Mistral 7B": RELEASED["Mistral 7B"],
}
COUNTED = """(state) => {
  const counts = Object.entries(attn.parameters.countParameters(state));
  return Object.fromEntries(counts.map(([part, count]) => [part, String(count)]));
}"""


@pytest.mark.parametrize("name", COUNTED_OF)
def test_the_parameter_counter_counts_what_the_package_counts(js, name):
    config = COUNTED_OF[name]
    figure = ParameterCounter(COUNTED_OF, name)
    assert figure.counts["total"] == count_parameters(config)["total"]
    assert f"{cache_bytes(config, 1):,} bytes" in figure.describe()
    for biases, norms, rms, gated, positions, tied in itertools.product([False, True], repeat=6):
        if biases and gated:  # a gated MLP has none
            continue
        for key_heads in {1, config.n_key_heads, config.n_heads}:
            shown = {"biases": biases, "norms": norms, "rms": rms, "gated": gated, "positions": positions, "tied": tied}
            figure = ParameterCounter(COUNTED_OF, name, n_key_heads=key_heads, **shown)
            found = js(COUNTED, figure.state())
            assert found == {part: str(figure.counts[part]) for part in found} and "total" in found
            assert ParameterCounter({"": figure.config}, "").config == figure.config


@pytest.mark.parametrize("name", [*GPT3, "odd"])
def test_the_tower_has_the_area_of_the_matrices(js, name):
    for positions, tied in itertools.product([False, True], repeat=2):
        figure = ParameterCounter(COUNTED_OF, name, positions=positions, tied=tied)
        found, counts = js("attn.parameters.tower", figure.state()), figure.counts
        areas = found["width"] * np.array([*found["floor"], found["base"], found["height"]])
        base = sum(counts[part] for part in ("embedding", "unembedding", "positions"))
        each = np.array([counts["attention"], counts["mlp"]]) / figure.n_layers
        assert areas.tolist() == [*each, base, counts["attention"] + counts["mlp"] + base]


@pytest.mark.parametrize(
    ("chosen", "n_tokens", "key_heads"), [("175B", 2048, 8), ("Small", 128, 12), ("13B", 2**20, 1)]
)
def test_the_cost_explorer_computes_what_the_package_computes(js, chosen, n_tokens, key_heads):
    figure = CostExplorer(GPT3, chosen, n_tokens=n_tokens, key_heads=key_heads)
    assert js("attn.cost.costs", figure.state()) == pytest.approx(figure.costs, rel=1e-12)


@pytest.mark.parametrize("name", GPT3)
def test_the_areas_of_the_cost_explorer_are_as_its_bytes_and_stay_on_the_stage(js, name):
    for n_tokens, key_heads in [(128, 1), (2048, None), (50_048, 1), (2**20, None)]:
        figure = CostExplorer(GPT3, name, n_tokens=n_tokens, key_heads=key_heads)
        sides, view = (js(f"attn.cost.{part}", figure.state()) for part in ("sides", "scaleOf"))
        areas = [sides["whole"] ** 2, sides["square"] ** 2, sides["strip"] * sides["square"]]
        bytes_of = [figure.costs[part] for part in ("parameters", "patterns", "cache")]
        assert_allclose(areas, np.array(bytes_of) / (2 * GPT3[name].n_heads), rtol=1e-12)
        assert sides["square"] * view["scale"] <= 0.6 * 320 and max(sides.values()) * view["scale"] <= 0.9 * 320 + 1e-9
        assert view["far"] == 0 or sides["square"] * view["scale"] > 0.15 * 320, "no farther away than it has to be"


def test_the_costs_of_gpt3_are_those_of_its_sizes():
    layer = 2 * 96 * 128 * 2  # keys and values of one layer for one token, two bytes each
    assert CostExplorer(GPT3, "175B").costs["cache"] == 2048 * 96 * layer
    shared = CostExplorer(GPT3, "175B", key_heads=8).costs["parameters"]  # 88 heads less in W_K, W_V and their biases
    assert CostExplorer(GPT3, "175B").costs["parameters"] - shared == 2 * 96 * 2 * 88 * 128 * 12289
    assert CostExplorer(GPT3, "175B").costs["share"] == pytest.approx(2048 / (2048 + 6 * 12288))


# --- the machine: a transformer in JavaScript, forward and backward --------------------------------------------------


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
MACHINES.append(replace(MACHINES[5], window=3, rotary_base=100.0, norm="none"))
NESTED = """const nested = ({ rows, cols, data }) =>
  Array.from({ length: rows }, (_, i) => [...data.slice(i * cols, (i + 1) * cols)]);"""
machines = pytest.mark.parametrize(
    "config", MACHINES, ids=lambda config: f"{config.positions}-{config.norm}-{config.biases}-{config.unembedding}"
)


@machines
def test_the_machine_computes_what_the_package_computes_and_the_same_gradients(js, config):
    params, tokens = stirred(config, 1), np.array([3, 1, 4, 1, 5, 0, 2, 6, 5])
    with Trace() as trace, Tape() as tape:
        output = decoder(params, config, tokens)
    grad = np.random.default_rng(2).normal(size=output.shape)
    grads = tape.gradients(params, (output, grad))
    code = f"""(params, config, tokens, grad) => {{
      {NESTED}
      const {{ runMachine, runBack, matrixOf }} = attn.stepper;
      const nodes = runMachine(params, config, tokens), grads = runBack(nodes, matrixOf(grad));
      return nodes.map((node) => [node.name, nested(node.value), grads.has(node) ? nested(grads.get(node)) : null]);
    }}"""
    found = js(code, params, vars(config), tokens, grad)
    nodes = {name: (value, grad) for name, value, grad in found}
    assert len(nodes) == len(found), "each step has a name of its own"
    assert_allclose(found[-1][1], output, atol=1e-12)
    for number, layer in enumerate(trace.layers, start=1):
        for head in range(4):
            weights = nodes[f"layer {number}, head {head + 1}: weights"][0]
            assert_allclose(weights, layer.attention.weights[head], atol=1e-12)

    for path, expected in flat(grads):
        *_, part, name = ("", *path)
        of_heads = part == "attention" and name[:2] in ("W_", "b_") and name != "b_O"
        rows = {(*path, str(head)): row for head, row in enumerate(expected)} if of_heads else {path: expected}
        for place, row in rows.items():
            node = " / ".join(place)
            assert_allclose(np.reshape(nodes[node][1], row.shape), row, atol=1e-11, err_msg=node)


RUN = "attn.stepper.runMachine(params, config, %s).at(-1).value.data"


@machines
def test_the_machine_goes_on_with_a_cache_as_if_it_had_read_all_at_once(js, config):
    params, tokens = stirred(config, 3), np.array([3, 1, 4, 1, 5, 0, 2])
    found = js(
        f"""(params, config, tokens) => {{
          const cache = new Map(), read = (part) => [...{RUN % "part, undefined, cache"}];
          return [tokens.slice(0, 3), tokens.slice(3, 4), tokens.slice(4)].flatMap(read);
        }}""",
        params, vars(config), tokens,
    )  # fmt: skip
    assert_allclose(found, decoder(params, config, tokens).ravel(), atol=1e-12)


def test_a_head_that_is_off_writes_nothing(js):
    config, tokens = MACHINES[0], np.array([3, 1, 4])
    params = stirred(config, 5)
    done = "tokens, (layer, head) => (off.includes(`L${layer}H${head + 1}`) ? 'off' : null)"
    code = f"(params, config, tokens, off) => [...{RUN % done}]"
    for off in (["L2H2"], [f"L{layer}H{head}" for layer in (1, 2) for head in range(1, 5)]):
        without = [switch_off(*named_head(head)) for head in off]
        found = js(code, params, vars(config), tokens, off)
        assert_allclose(found, decoder(params, config, tokens, interventions=without).ravel(), atol=1e-12)


# --- the stepper: the sum behind each number -------------------------------------------------------------------------


CHANGED = [  # of each kind of step one, and of parameters
    ["layer 1, head 1: Q", 2, 1, 1.5], ["layer 1, head 2: scores", 3, 1, -0.8], ["layer 1, head 1: weights", 4, 2, -30],
    ["layer 1: normalised", 1, 3, -1.25], ["layer 1: hidden", 4, 5, 0.9], ["layer 1: stream", 2, 2, 0.4],
    ["layer 2, head 1: masked scores", 4, 0, 0.6], ["logits", 4, 3, 1.1], ["positions of the tokens", 0, 1, 0.3],
    ["layer 2 / attention / W_V / 1", 2, 1, 1.75], ["layer 1 / mlp / b_1", 0, 4, -0.5], ["embedding", 1, 2, 2.25],
]  # fmt: skip


def test_the_stepper_knows_the_size_of_each_array_that_can_be_changed(js):
    for figure in (stepper(), stepper(tokens=["she", "lost"], token=0)):
        named = "(state) => attn.stepper.work(state).nodes.map(({ name, value }) => [name, [value.rows, value.cols]])"
        found = dict(js(named, figure.state()))
        del found["probabilities"], found["positions"]  # the table is shown as the rows that were taken
        known = sizes_of(TransformerConfig(**figure.config), len(figure.tokens))
        assert {name: list(size) for name, size in known.items() if name != "positions"} == found


RUN_CHANGED = f"""(state) => {{
  {NESTED}
  const {{ nodes, grads, loss }} = attn.stepper.work(state);
  const found = [...grads].map(([{{ name }}, grad]) => [name, nested(grad)]);
  return [loss, nested(nodes.at(-2).value), Object.fromEntries(found)];
}}"""


def as_arrays(part):
    return {name: as_arrays(inner) for name, inner in part.items()} if isinstance(part, dict) else np.array(part)


def run_in_package(figure, params, *interventions):
    """Return the logits, and the gradients of the loss where the word that is wanted comes next."""
    config, tokens = TransformerConfig(**figure.config), [figure.words.index(word) for word in figure.tokens]
    with Tape() as tape:
        logits = decoder(params, config, np.array(tokens), interventions=interventions)
    grad = np.zeros_like(logits)
    grad[-1] = softmax(np.asarray(logits)[-1]) - np.eye(5)[figure.wanted]
    return logits, tape.gradients(params, (logits, grad))


@pytest.mark.parametrize(
    ("name", "layer", "after"),
    [
        ("stream", 0, "mlp"),
        ("layer 1: stream after attention", 1, "attention"),
        ("layer 2: stream", 2, "mlp"),
        ("V", 2, 1),
    ],
)
def test_a_number_changed_in_the_stream_or_a_value_gives_what_the_package_gives_with_it(js, name, layer, after):
    figure = stepper(wanted=1)
    params = as_arrays(figure.params)
    with Trace() as trace:
        run_in_package(figure, params)
    seen = trace.layers[layer - 1]
    if name == "V":
        name, rows = "layer 2, head 2: V", seen.attention.V[1].copy()
    else:
        stream = trace.embedded[0] if layer == 0 else getattr(seen, f"after_{after}")
        rows = stream.copy()
    rows[3, 1] = -1.5
    place = slice(3, 4)
    other = ReplaceValues(np.arange(5) == 3, rows, 2, 2) if after == 1 else Replace(place, rows[place], layer, after)
    logits, grads = run_in_package(figure, params, other)
    loss, found, found_grads = js(RUN_CHANGED, {**figure.state(), "changes": [[name, 3, 1, -1.5]]})
    assert_allclose(found, logits, atol=1e-12)
    assert loss == pytest.approx(-np.log(softmax(np.asarray(logits)[-1])[1]))
    # the package puts in the whole row, the figure one number of it: only above it have they the same gradients
    assert_allclose(found_grads["unembedding / W"], grads["unembedding"]["W"], atol=1e-12)
    if layer < 2:
        assert_allclose(found_grads["layer 2 / mlp / W_1"], grads["layer 2"]["mlp"]["W_1"], atol=1e-12)


def test_a_changed_weight_gives_what_the_package_gives_with_it_and_its_gradients(js):
    figure = stepper(wanted=1)
    params = as_arrays(figure.params)
    params["layer 1"]["attention"]["W_Q"][1][2, 0] = 1.75
    params["layer 2"]["mlp"]["b_1"][7] = -2
    changes = [["layer 1 / attention / W_Q / 1", 2, 0, 1.75], ["layer 2 / mlp / b_1", 0, 7, -2]]
    logits, grads = run_in_package(figure, params)
    _, found, found_grads = js(RUN_CHANGED, {**figure.state(), "changes": changes})
    assert_allclose(found, logits, atol=1e-12)
    assert_allclose(found_grads["layer 1 / attention / W_Q / 1"], grads["layer 1"]["attention"]["W_Q"][1], atol=1e-12)
    assert_allclose(found_grads["embedding"], grads["embedding"], atol=1e-12)


@pytest.mark.parametrize("changes", [[one] for one in CHANGED] + [CHANGED], ids=[one[0] for one in CHANGED] + ["all"])
def test_past_a_number_that_is_set_the_gradients_are_still_those_of_the_loss(js, changes):
    state = stepper(wanted=1).state()

    def run(*more):
        return js(RUN_CHANGED, {**state, "changes": [*changes, *more]})

    _, _, grads = run()
    values = dict(js(VALUES, {**state, "changes": changes}))
    for name, i, j in [("embedding", 0, 1), ("layer 1 / attention / W_K / 0", 1, 1), ("layer 1 / mlp / W_2", 5, 0),
                       ("layer 1, head 2: Q", 3, 0), (changes[0][0], changes[0][1], changes[0][2])]:  # fmt: skip
        here, step = values[name][i][j], 1e-5
        above, below = (run([name, i, j, here + sign * step])[0] for sign in (1, -1))
        assert grads[name][i][j] == pytest.approx((above - below) / (2 * step), abs=1e-7), name


VALUES = f"""(state) => {{
  {NESTED}
  return attn.stepper.work(state).nodes.map(({{ name, value }}) => [name, nested(value)]);
}}"""
OPENED = """(state) => {
  const { work, openValue, openGrad, matrixOf } = attn.stepper, done = work(state);
  const opened = (node, grad) => Array.from(node.value.data, (_, k) => {
    const here = { node, i: Math.floor(k / node.value.cols), j: k % node.value.cols };
    const { text, lit } = grad ? openGrad(here, done, state) : openValue(here, state);
    const number = (grad ? done.grads.get(node) : node.made ?? node.value).data[k];
    return [number === -Infinity ? "hidden" : number, text,
      lit.map(({ node, i, j, grad }) => `${grad ? "gradient of " : ""}${node.name}: ${i}, ${j}`)];
  });
  return [...done.nodes.map((node) => [node.name, opened(node, false)]),
    ...[...done.grads.keys()].map((node) => [`gradient of ${node.name}`, opened(node, true)])];
}"""
WORDED = {
    "A number that was learned.": None,
    "Not hidden, so it stays as it is.": None,
    "e^(−∞) is zero.": 0,
    "0, as ReLU was silent": 0,
    "0, as nobody read this row": 0,
    "Gradient. Only the last word's guess is judged.": 0,
    "Only the last word's guess is judged.": 0,
}


def worked_out(text):
    """Return the number that a sum comes to, as it is written, and how far rounding may have led it away."""
    text = re.sub(r"^You set this number to −?[\d.]+\. Without you it would be −?[\d.∞]+: ", "", text)
    if text in WORDED:
        return WORDED[text], 0
    if "comes after" in text:
        return "hidden", 0
    if text.startswith("The row of"):
        return None, 0
    text = re.sub(r"; [\d.−]+ is the mean .*|, [\d.−]+ being the row's weighted mean", "", text)
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


@pytest.mark.parametrize("changes", [[], CHANGED], ids=["as it is", "changed"])
def test_every_number_of_the_stepper_opens_the_sum_that_makes_it(js, changes):
    computed = 0
    opened = js(OPENED, stepper(wanted=1, changes=changes).state())
    assert sum(text.startswith("You set") for _, cells in opened for _, text, _ in cells) == len(changes)
    for name, cells in opened:
        for number, text, _ in cells:
            result, rounding = worked_out(text)
            assert result is None or result == number or abs(result - number) <= rounding, (name, number, text)
            computed += rounding > 0
    assert computed > 1000


def test_a_score_gets_its_gradient_by_the_weight_that_softmax_made_though_another_is_set(js):
    changes = [["layer 1, head 1: weights", 4, 2, -30]]
    weight = dict(js(VALUES, stepper(wanted=1).state()))["layer 1, head 1: weights"][4][2]
    told = dict(js(OPENED, stepper(wanted=1, changes=changes).state()))["gradient of layer 1, head 1: masked scores"]
    assert told[4 * 5 + 2][1].startswith(f"{weight:.2f} × (0.00 − ")


def test_a_sum_of_the_stepper_names_the_numbers_in_it(js):
    lit = {name: [places for *_, places in cells] for name, cells in js(OPENED, stepper(wanted=1).state())}

    def along(name, *places):
        return [f"{name}: {i}, {j}" for i, j in places]

    own, n = "layer 1, head 1: ", "layer 1: normalised"
    row, down = [(1, k) for k in range(4)], [(k, 1) for k in range(4)]
    W_Q = "layer 1 / attention / W_Q / 0"
    assert lit[own + "Q"][3] == along(n, *row) + along(W_Q, *down), "a query: its row, and a column of W_Q"
    assert lit[own + "scores"][7] == along(own + "Q", (1, 0), (1, 1)) + along(own + "K", (2, 0), (2, 1))
    assert lit[own + "weights"][5] == along(own + "masked scores", (1, 0), (1, 1)), "the scores that are not hidden"
    assert lit["stream"][9] == along("embeddings", (2, 1)) + along("positions of the tokens", (2, 1))
    back = [place for k in range(5) for place in [f"gradient of {own}Q: {k}, 0", f"{n}: {k}, 1"]]
    assert lit[f"gradient of {W_Q}"][2] == back
    assert lit["gradient of logits"][24] == along("probabilities", (4, 4))


LOOM = """(config, n, room) => {
  const { width, window, whole, strips } = attn.stepper.loomOf(config, n, room);
  const edges = ({ x, y, w, high, names, word }) => [x, y, x + w, y + high, names[0], word];
  return [width, window, whole, strips.map(edges)];
}"""


@pytest.mark.parametrize("room", ["large", "wide", "narrow"])
def test_the_strips_of_the_loom_stand_apart_on_a_stage_of_one_height(js, room):
    config = stepper().config
    heights = {js(LOOM, {**config, "n_layers": layers}, n, room)[1] for n in range(1, 9) for layers in (1, 2)}
    assert len(heights) == 1, "however many words and layers"
    for n in (1, 2, 5, 8):
        width, window, whole, strips = js(LOOM, config, n, room)
        named = {(name, word) for *_, name, word in strips}
        assert whole > window and len(named) == len(strips) == n * (2 * (6 * 2 + 6) + 4)
        assert min(x for x, *_ in strips) > 0 <= min(y for _, y, *_ in strips)
        assert max(right for _, _, right, *_ in strips) <= width and max(low for _, _, _, low, *_ in strips) <= whole
        for one, other in itertools.combinations(strips, 2):
            apart = [one[2] <= other[0] + 1e-9, other[2] <= one[0] + 1e-9, one[3] <= other[1], other[3] <= one[1]]
            assert any(apart), (one, other)


SHOWN = """(state) => {
  const { loomOf, stepsOf, timesOf, shownAt, work } = attn.stepper, { nodes, grads } = work(state);
  const all = [0, 1].map((head) => stepsOf(nodes, state.config, head));
  const { strips } = loomOf(state.config, 1, "wide"), times = timesOf(all);
  const standing = new Set(strips.flatMap(({ names }) => names));
  const made = all[0].map((_, step) => all.map((steps) => steps[step].shows.at(-1)[0].name));
  const seen = (step, backward) => strips.map(({ names }) => shownAt(names, times, step, backward))
    .filter(({ there }) => there).map(({ name }) => name);
  return [made, made.map((_, step) => seen(step, false)), made.map((_, step) => seen(step, true)),
    [...grads.keys()].map(({ name }) => name).filter((name) => standing.has(name))];
}"""


def test_what_a_step_makes_stands_on_the_loom_and_every_gradient_comes_to_it(js):
    made, forward, backward, graded = js(SHOWN, stepper().state())
    assert all(set(names) <= set(seen) for names, seen in zip(made, forward)), "forward, with what was made before"
    assert [len(seen) for seen in forward] == sorted(len(seen) for seen in forward)
    assert set(forward[0]) == {"embeddings"} and backward[34] == ["logits"]
    assert set().union(*backward) == set(graded), "backward, from the logits to what the words fetched"


def test_a_row_of_places_is_not_taken_for_one_of_words(js):
    told = {name: [text for _, text, _ in cells] for name, cells in js(OPENED, stepper().state())}
    assert told["embeddings"][4] == "The row of “lost”, entry 1."
    assert told["positions of the tokens"][4] == "The row of place 2, entry 1."


# --- the wall --------------------------------------------------------------------------------------------------------

WALL = read_measured("smollm2_wall")
READ = "(...recorded) => attn.wall.reading(...recorded).patterns"


@pytest.mark.parametrize("sentence", [0, 8])
def test_the_wall_reads_its_letters_as_the_class_does_and_measures_heads(js, sentence):
    record, patterns = WALL["runs"][sentence], HeadsWall(WALL, sentence=sentence).patterns
    assert_allclose(js(READ, record, WALL["levels"]), patterns, atol=1e-12)
    assert_allclose(patterns.sum(axis=-1), 1, atol=0.06)
    calls = "(patterns, tokens) => patterns.map((rows) => [attn.wall.restOf(rows), ...{}])"
    works = "['one back', 'same word', 'after the same word'].map((work) => attn.wall.workOf(rows, tokens, work))"
    rest, back, same, after = np.transpose(js(calls.format(works), patterns, record["tokens"]))
    assert_allclose(rest, patterns[:, 2:, 0].mean(axis=1))
    assert_allclose(back, np.diagonal(patterns, -1, 1, 2)[:, 1:].mean(axis=1))
    again, before = {0: ([4], [0]), 8: ([4, 5, 6, 7], [0, 1, 2, 3])}[sentence]  # “the” and “The”; one two three four
    assert_allclose(same, patterns[:, again, before].mean(axis=1))
    assert_allclose(after, patterns[:, again, np.add(before, 1)].mean(axis=1))


def test_the_wall_of_a_model_that_looks_both_ways_reads_all_of_its_weights(js):
    recording = read_measured("minilm_patterns")
    figure = HeadsWall(recording, model="MiniLM", sentence=9)
    assert_allclose(js(READ, recording["runs"][9], recording["levels"], 72), figure.patterns, atol=1e-12)
    assert_allclose(figure.patterns.sum(axis=-1), 1, atol=0.06)
    assert np.triu(figure.patterns, 1).max() > 0.5 and figure.patterns.shape[0] == len(figure.heads) == 72


def test_the_wall_reads_changes_and_how_far_an_exchange_goes(js):
    record = WALL["runs"][1]
    first = js("(record, levels) => attn.wall.reading(record, levels).off(211, 4)", record, WALL["levels"])
    letter = record["off"][211 * 4 + 3]
    steps = (WALL["levels"].index(letter) - 43) / 10
    assert_allclose(first, np.sign(steps) * steps**2)
    assert_allclose(HeadsWall(WALL, sentence=1).effects[211, 3], first)
    exchange = record["exchange"]
    odds = {name: np.log(exchange[name][1] / exchange[name][0]) for name in ("here", "there")}
    by_head = np.log(np.divide(exchange["Tokyo"], exchange["Paris"]))
    ways = js("(exchange) => attn.wall.waysOf(attn.wall.exchangeOf(exchange))", exchange)
    assert_allclose(ways, (by_head - odds["here"]) / (odds["there"] - odds["here"]))
    assert np.argmax(ways) == 23 * 9 + 4 and ways[211] > 0.8 and np.sort(ways)[-2] < 0.2
