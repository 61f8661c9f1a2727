"""Press Train: the page draws NumPy's numbers, learns as the package does, and hears the reader while it learns."""

import base64
import json
import re
from functools import partial

import numpy as np
import pytest
import quickjs
import traitlets
from hands import as_in_the_book, fill, pick, press, train, unfold
from numpy.testing import assert_allclose, assert_array_equal

from attn import Forbid, Tape, Trace, TransformerConfig, decoder, encoder, hold, init_transformer, switch_off
from attn.interventions import named_head
from attn.parameters import flat
from attn.training import batches, cross_entropy
from attn.training import train as train_in_python
from attn_course.corpora import coreference, fortunes, repeated
from attn_course.figures import PressTrain
from attn_course.figures.press_train import TASKS, TRAINER
from recordings import gradients, share_right, toys


@pytest.fixture(scope="module")
def trainer():
    """Call a function of trainer.js in an engine that has neither a page nor WebAssembly."""
    context = quickjs.Context()
    context.eval(TRAINER + "; var made = attnTrainer();")

    def call(function, *values):
        given = json.dumps(values, default=lambda array: array.tolist())
        return json.loads(context.eval(f"JSON.stringify(({function})(...{given}))"))

    return call


# --- NumPy's random numbers, and the rows made of them ---------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 99, 2**31, 2**32 - 1])
def test_a_seed_gives_the_numbers_that_numpy_draws(trainer, seed):
    found = trainer(
        """(seed) => {
          const rng = made.defaultRng(seed), many = (one, count) => Array.from({ length: count }, one);
          return [many(rng.random, 50), many(() => rng.below(7), 51), many(() => rng.below(3_000_000_000), 50),
            many(rng.normal, 3000), rng.shuffle(many((_, i) => i, 120)), many(rng.random, 3)];
        }""",
        seed,
    )
    rng = np.random.default_rng(seed)
    order = list(range(120))
    expected = [rng.random(50), rng.integers(7, size=51), rng.integers(3_000_000_000, size=50), rng.normal(size=3000)]
    rng.shuffle(order)
    for numbers, drawn in zip(found, [*expected, order, rng.random(3)]):
        assert_allclose(numbers, drawn, rtol=1e-13, atol=0)


def test_the_tables_of_the_ziggurat_reach_its_edges_and_its_tail(trainer):
    found = trainer("() => { const rng = made.defaultRng(5); return Array.from({ length: 60_000 }, rng.normal); }")
    drawn = np.random.default_rng(5).normal(size=60_000)
    assert np.abs(drawn).max() > 3.6541528853610088, "some lie beyond the last layer"
    assert_allclose(found, drawn, rtol=1e-13, atol=0)


@pytest.mark.parametrize(("seed", "count", "length"), [(0, 7, 20), (99, 40, 20), (3, 1, 14)])
def test_the_page_draws_the_rows_that_are_copied(trainer, seed, count, length):
    found = trainer(
        "(seed, ...sizes) => made.repeatedRows(made.defaultRng(seed), ...sizes).map((row) => [row.whole, row.targets])",
        *(seed, count, length),
    )
    rows, known = repeated(np.random.default_rng(seed), count, length)
    assert_array_equal([whole for whole, _ in found], rows)
    assert_array_equal([targets for _, targets in found], np.where(known, rows[:, 1:], -1))


def test_the_page_draws_the_sentences_about_it(trainer):
    found = trainer(
        """() => Object.entries(made.coreference(made.defaultRng(0))).map(([name, rows]) =>
          [name, rows.map((row) => row.tokens), rows.map((row) => row.targets[7])])"""
    )
    corpus = coreference(np.random.default_rng(0))
    for (name, sentences, answers), part in zip(found, (corpus.train, corpus.test)):
        assert name in ("train", "test")
        assert_array_equal(sentences, part["sentences"])
        assert_array_equal(answers, part["answers"])
    assert trainer("() => made.TASKS.noun.words") == list(corpus.words)


def test_the_page_draws_the_fortunes(trainer):
    found = trainer(
        """() => { const { train, test } = made.fortunes(made.defaultRng(0));
          return [train.map((row) => row.whole), test.map((row) => row.whole), train[0].targets, test[0].targets]; }"""
    )
    corpus = fortunes(np.random.default_rng(0))
    learned, new = corpus.train["sentences"], corpus.test["sentences"]
    assert_array_equal(found[0], learned)
    assert_array_equal(found[1], new)
    assert_array_equal(found[2], learned[0, 1:])
    assert_array_equal(found[3], np.where(np.isin(np.arange(6), (3, 4)), new[0, 1:], -1))
    assert trainer("() => made.TASKS.fortunes.words") == list(corpus.words)


def test_figure_and_trainer_call_tasks_rules_and_edges_by_the_same_names(trainer):
    named = """() => Object.fromEntries(Object.entries(made.TASKS).map(([name, { rules, edges, scores, words }]) =>
      [name, [Object.keys(rules), Object.keys(edges), scores, words.length]]))"""
    expected = {name: [task[key] for key in ("rules", "edges", "scores", "outputs")] for name, task in TASKS.items()}
    assert trainer(named) == expected


# --- the model: forward, backward, and what is done to it ------------------------------------------------------------

SMALL = {
    "fortunes": TransformerConfig(
        vocab_size=18, d_model=6, n_heads=2, n_layers=2, d_ff=5, positions="learned", n_positions=7,
        activation="relu", biases="mlp", unembedding="separate",
    ),
    "copying": TransformerConfig(
        vocab_size=20, d_model=6, n_heads=3, n_layers=2, d_ff=0, positions="relative",
        activation="relu", biases="mlp", unembedding="separate",
    ),
    "noun": TransformerConfig(
        vocab_size=34, d_model=6, n_heads=2, n_layers=2, d_ff=5, positions="sinusoid",
        activation="relu", biases="mlp", unembedding="separate",
    ),
}  # fmt: skip
LEARNED = """({ task, sizes, params, rows, held, forbidden }) => {
  const batch = made.batchOf(rows);
  const model = made.makeModel(sizes, made.TASKS[task], rows.length * batch.n, { held, forbidden });
  model.put(params);
  const loss = model.learn(batch), gradients = Object.entries(model.gradients());
  return [loss, Object.fromEntries(gradients.map(([path, grad]) => [path, [...grad]])),
    model.looks(made.batchOf(rows.slice(0, 1)))];
}"""


def rows_of(task):
    """Return rows of tokens and their targets, -1 where nothing is wanted."""
    if task == "copying":
        rows, known = repeated(np.random.default_rng(4), 5)
        return rows[:, :-1], np.where(known, rows[:, 1:], -1)
    if task == "fortunes":
        rows = fortunes(np.random.default_rng(0)).train["sentences"][::7]
        return rows[:, :-1], rows[:, 1:]
    part = coreference(np.random.default_rng(0)).test
    tokens, answers = part["sentences"][3:200:40], part["answers"][3:200:40]
    return tokens, np.where(np.arange(10) == 7, answers[:, None], -1)


def rule_of(task, rule, tokens):
    """Return where a rule looks, in NumPy: array of int, as the tokens."""
    n = tokens.shape[1]
    if rule == "from the nouns to the adjective":
        return np.tile(np.where(np.isin(np.arange(n), (1, 5)), 9, -1), (len(tokens), 1))
    if rule == "from “it” to the noun meant":
        return np.where(np.arange(n) == 7, np.where(tokens[:, [9]] < 28, 1, 5), -1)
    if rule.startswith("from “and”"):
        return np.tile(np.where(np.arange(n) == 3, 0, -1), (len(tokens), 1))
    if rule.startswith("from “she”"):
        return np.tile(np.where(np.arange(n) == 4, 1, -1), (len(tokens), 1))
    if rule == "the same letter":
        return np.maximum(toys.looks("what to copy", tokens) - 1, -1)
    return toys.looks(rule, tokens)


EDGES = {
    "one back in layer 1": (np.eye(19, k=-1, dtype=bool), 1),
    "two back in layer 1": (np.eye(19, k=-2, dtype=bool), 1),
    "itself in layer 1": (np.eye(19, dtype=bool), 1),
    "one back in all layers": (np.eye(19, k=-1, dtype=bool), None),
    "the adjective from the nouns in layer 1": ([(1, 9), (5, 9)], 1),
    "the adjective from “it” in layer 1": ([(7, 9)], 1),
    "the adjective from “it” in layer 2": ([(7, 9)], 2),
    "the nouns from “it” in layer 2": ([(7, 1), (7, 5)], 2),
    "the name from “and”": ([(3, 0)], None),
    "the verb from “she” or “he”": ([(4, 1)], None),
}
DONE = [
    *((task, {}, edge) for task in TASKS for edge in ["", *TASKS[task]["edges"]]),
    *((task, {f"L{1 + i % 2}H2": rule}, "") for task in TASKS for i, rule in enumerate(TASKS[task]["rules"])),
    ("copying", {"L1H1": "off", "L2H3": "off", "L2H2": "what to copy"}, ""),
    ("copying", {"L1H1": "one back"}, "one back in all layers"),
]


@pytest.mark.parametrize(("task", "held", "forbidden"), DONE)
def test_loss_gradients_and_weights_are_those_of_the_package(trainer, task, held, forbidden):
    config, (tokens, targets) = SMALL[task], rows_of(task)
    rng = np.random.default_rng(7)
    params = init_transformer(rng, config, dtype=float)
    for _, part in flat(params):
        part += rng.normal(size=part.shape) / 3
    done = [Forbid(*EDGES[forbidden])] if forbidden else []
    for head, rule in held.items():
        where = named_head(head)
        done.append(switch_off(*where) if rule == "off" else hold(rule_of(task, rule, tokens), *where))
    run = encoder if task == "noun" else decoder
    with Tape() as tape, Trace() as trace:
        logits = run(params, config, tokens, interventions=done)
    loss, grad = cross_entropy(logits, np.maximum(targets, 0), targets >= 0)
    expected = {"/".join(path): part for path, part in flat(tape.gradients(params, (logits, grad)))}
    sizes = {"vocab": config.vocab_size, "d": config.d_model, "heads": config.n_heads, "layers": 2, "ff": config.d_ff}
    given = {
        "task": task,
        "sizes": {**sizes, "positions": config.positions, "n_positions": config.n_positions},
        "params": {"/".join(path): part.ravel() for path, part in flat(params)},
        "rows": [{"tokens": row, "targets": wanted} for row, wanted in zip(tokens.tolist(), targets.tolist())],
        "held": held,
        "forbidden": forbidden,
    }
    found = trainer(LEARNED, given)
    assert found[0] == pytest.approx(loss, rel=1e-12)
    assert found[1].keys() == expected.keys()
    for path, part in expected.items():
        assert_allclose(found[1][path], part.ravel(), atol=1e-12, err_msg=path)
    seen = [layer.attention.weights[0] for layer in trace.layers]
    assert_allclose(found[2], seen, atol=1e-12)


# --- the whole run, in a page ----------------------------------------------------------------------------------------


def chapter_run(task):
    """Return the losses of the chapter's own run, seed 0, and the share right on new rows."""
    rng = np.random.default_rng(0)
    if task == "fortunes":
        config, corpus = PressTrain(task).config, fortunes(np.random.default_rng(0))
        model, new = partial(toys.logits, config, toys.unchanged), corpus.test["sentences"]
        params = init_transformer(rng, config, dtype=np.float64)
        data = batches(rng, 300, 16, corpus.train["sentences"])
        run = train_in_python(params, partial(gradients, model), data, 300, learning_rate=1e-2, warm_up=20)
        return run.losses, share_right(model, run.params, new, np.s_[:, 3:5])
    lesson = {
        "copying": toys.copying({"n_layers": 2}, 300, 3e-3, []),
        "noun": toys.learning_to_attend(2, 64, 400),
    }[task]
    params = init_transformer(rng, lesson.config, dtype=np.float64)
    rates = {"learning_rate": lesson.learning_rate, "warm_up": lesson.warm_up}
    run = train_in_python(params, lesson.gradients, lesson.batches(rng), lesson.steps, **rates)
    if task == "copying":  # what the lesson watches is rounded
        return run.losses, share_right(partial(toys.logits, lesson.config, toys.unchanged), run.params, *toys.TEST)
    return run.losses, lesson.watch(run.params)["new"]


def setting_of(figure):
    state, task = figure.state(), TASKS[figure.task]
    names = ("task", "layers", "heads", "rate", "seed", "steps")
    return {**{name: state[name] for name in names}, "sizes": task["sizes"], "warmUp": task["warmUp"]}


@pytest.fixture
def bare(blank):
    """A page that holds the trainer as `made`, and no figure."""
    page = blank()
    page.evaluate(f"() => {{ {TRAINER} window.attnTrainer = attnTrainer; window.made = attnTrainer(); }}")
    return page


@pytest.mark.parametrize("task", TASKS)
def test_the_page_learns_as_the_chapter_does_step_for_step(bare, task):
    losses, right = chapter_run(task)
    found = bare.evaluate(
        """(setting) => {
          const run = made.startRun(setting, { held: {}, forbidden: "" });
          while (!run.over) run.advance();
          return [run.losses, run.tested().right];
        }""",
        setting_of(PressTrain(task)),
    )
    assert len(found[0]) == len(losses)
    for step in (1, 10, 100, len(losses)):
        assert found[0][step - 1] == pytest.approx(losses[step - 1], rel=1e-8), step
    assert found[1] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_products_are_those_of_numpy_with_webassembly_and_without(bare, fused):
    rng = np.random.default_rng(3)
    for m, n, k, turned in [(1, 2, 1, False), (3, 6, 5, True), (4, 4, 4, False), (9, 10, 7, True), (19, 20, 16, False)]:
        A, B, C = rng.normal(size=(k, m) if turned else (m, k)), rng.normal(size=(k, n)), rng.normal(size=(m, n + 3))
        A_of = A.T if turned else A
        found = bare.evaluate(
            """([A, B, C, m, n, k, turned, fused]) => {
              const validate = WebAssembly.validate;
              let first = true;
              WebAssembly.validate = (bytes) => (fused || !first) && validate(bytes) || (first = false);
              const wasm = made.memoryOf(4000);
              WebAssembly.validate = validate;
              const plain = new Float64Array(4000);
              return [[wasm.M, wasm.product], [plain, made.plainProduct(plain)]].map(([M, product]) => {
                M.set(A, 8); M.set(B, 1000); M.set(C, 2000);
                product(2000, n + 3, 8, turned ? 1 : k, turned ? m : 1, 1000, n, m, n, k);
                return [...M.subarray(2000, 2000 + m * (n + 3))];
              }).concat([wasm.M.buffer.byteLength % 65536]);
            }""",
            [A.ravel().tolist(), B.ravel().tolist(), C.ravel().tolist(), m, n, k, turned, fused],
        )
        expected = C.copy()
        expected[:, :n] += A_of @ B
        for product in found[:2]:
            assert_allclose(np.reshape(product, C.shape), expected, atol=1e-13)
        assert found[2] == 0, "the memory is that of WebAssembly"


# --- the figure under the reader's hands -----------------------------------------------------------------------------


CURVES = (
    "[...document.querySelectorAll('.attn-plot path:not(.attn-frame)')].map((path) => path.getAttribute('d') || '')"
)


def told(page):
    return page.locator(".attn-detail").inner_text()


def trained_in_python(figure):
    """Train what the figure shows, heads held, and return what it tells at the end."""
    rng, rules = np.random.default_rng(figure.seed), (figure.held.get("L1H1"), figure.held.get("L2H1"))
    params = init_transformer(rng, figure.config, dtype=np.float64)
    data = (repeated(rng, 32) for _ in range(figure.steps))
    copier = partial(toys.logits, figure.config, partial(toys.held, rules))
    run = train_in_python(params, partial(gradients, copier), data, figure.steps, learning_rate=figure.rate, warm_up=20)
    return run, share_right(copier, run.params, *toys.TEST)


def test_a_held_head_is_held_while_the_rest_learns(blank):
    figure = PressTrain(steps=40, held={"L1H1": "one back"})
    page = blank(figure)
    train(page)
    _, right = trained_in_python(figure)
    assert told(page).startswith(
        f"All 40 steps: {right:.2f} right on 200 new rows. One back: head L1H1 gives most, 1.00."
    )
    pick(page, "Head L1H1", "off")
    page.wait_for_function(f"!document.querySelector('.attn-detail').textContent.includes('{right:.2f} right')")
    pick(page, "Head L1H1", "one back")
    page.get_by_text(f"{right:.2f} right").wait_for()


def test_a_copying_model_is_told_to_have_learned(blank):
    figure = PressTrain(steps=60, held={"L2H1": "what to copy"})
    page = blank(figure)
    train(page)
    _, right = trained_in_python(figure)
    assert right > 0.9 and told(page).startswith(f"✓ All 60 steps: {right:.2f} right on 200 new rows.")


def test_a_run_that_is_stopped_goes_on_where_it_was(blank):
    page = blank(PressTrain(steps=120))
    train(page)
    whole = told(page)
    press(page, "▶ Train")
    press(page, "■ Stop")
    page.get_by_text("It waits at step").wait_for()
    press(page, "▶ Go on")
    page.get_by_text("All 120 steps").wait_for()
    assert told(page) == whole


def test_a_page_that_is_hidden_trains_no_further_until_it_is_asked(blank):
    page = blank(PressTrain(steps=3000))
    press(page, "▶ Train")
    page.locator(".attn-outcome", has_text=re.compile(r"^Step [1-9]")).wait_for()
    page.evaluate(
        """Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));"""
    )
    page.get_by_role("button", name="▶ Go on").wait_for()
    step = re.search(r"waits at step (\d+)", told(page))[1]
    page.wait_for_timeout(300)
    assert f"waits at step {step}:" in told(page)
    press(page, "▶ Go on")
    page.get_by_role("button", name="■ Stop").wait_for()


REFUSING = {
    "throws": "<script>Worker = class { constructor() { throw new Error('no'); } }</script>",
    "site": """<script>
      const rule = document.createElement("meta");
      Object.assign(rule, { httpEquiv: "Content-Security-Policy", content: "worker-src 'none'" });
      document.head.append(rule);
    </script>""",
    "fails": """<script>
      Worker = class {
        constructor() { setTimeout(() => this.onerror(new Event("error"))); }
        postMessage() {}
      };
    </script>""",
    "no WebAssembly": "<script>delete window.WebAssembly; Worker = null;</script>",
}


@pytest.mark.parametrize("refused", REFUSING)
def test_where_a_worker_is_refused_the_page_trains_by_itself(unloaded, refused):
    figure = PressTrain(steps=20, held={"L2H1": "what to copy"})
    page = unloaded(REFUSING[refused], figure)
    train(page)
    _, right = trained_in_python(figure)
    assert f"All 20 steps: {right:.2f} right" in told(page)


def test_a_new_setting_leaves_the_former_run_as_a_ghost(blank):
    page = blank(PressTrain(steps=20))
    unfold(page)
    train(page)
    before = page.evaluate(CURVES)
    assert before[:2] == ["", ""] and all(before[2:])
    fill(page, "seed", "1")
    assert page.evaluate(CURVES) == [*before[2:], "", ""]
    train(page)
    after = page.evaluate(CURVES)
    assert after[:2] == before[2:] and after[2] != before[2]
    press(page, "Start again")
    assert page.evaluate(CURVES) == [""] * 4


def test_a_run_is_watched_for_four_seconds_and_a_fast_one_gives_the_same_numbers(unloaded):
    page = unloaded(REFUSING["throws"], PressTrain(steps=20), reduced_motion="no-preference")
    assert not page.get_by_label("fast").is_checked()
    outcome = page.locator(".attn-outcome")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    press(page, "▶ Train")
    outcome.get_by_text("Step 0 of 20").wait_for()
    page.clock.run_for(1990)
    assert outcome.inner_text().startswith("Step 9 of 20")
    page.clock.run_for(2000)
    assert outcome.inner_text().startswith("Step 19 of 20")
    page.clock.run_for(100)
    watched = told(page), page.evaluate(CURVES)[2:]
    assert watched[0].startswith("All 20 steps")
    page.get_by_label("fast").check()
    press(page, "▶ Train")
    page.clock.run_for(0)
    assert (told(page), page.evaluate(CURVES)[2:]) == watched


def test_a_run_that_is_watched_can_be_let_go_on_the_way(unloaded):
    page = unloaded(PressTrain(steps=10), reduced_motion="no-preference")
    press(page, "▶ Train")
    page.get_by_label("fast").check()
    page.get_by_text("All 10 steps").wait_for()
    page = unloaded(PressTrain(steps=10))
    assert page.get_by_label("fast").is_checked(), "as for all who want no motion"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
@pytest.mark.parametrize("task", TASKS)
def test_settings_are_folded_and_a_run_and_its_result_share_a_screen(blank, task, width, height):
    page = blank(PressTrain(task, steps=10), width=width)
    as_in_the_book(page)
    settings, number = page.locator("details"), page.get_by_label("seed")
    assert settings.get_attribute("open") is None and not number.is_visible()
    usual = TASKS[task]["usual"]
    assert f"{usual['heads']} heads, rate {usual['rate']}, 10 steps, seed 0" in settings.locator("summary").inner_text()
    train(page)
    top = page.locator(".attn-train").bounding_box()["y"]
    for result in (".attn-outcome", ".attn-plot", ".attn-detail"):
        box = page.locator(result).bounding_box()
        assert top < box["y"] and box["y"] + box["height"] - top < 0.8 * height, "below the head of a page"
    unfold(page)
    fill(page, "seed", "3")
    assert "seed 3" in settings.locator("summary").inner_text()
    page.get_by_label("which noun is “it”?").check()
    assert number.is_visible(), "who chooses another task goes on with its settings"


# --- settings --------------------------------------------------------------------------------------------------------

UNFIT = [  # a change, the page's sentence, Python's
    ({"task": "toString"}, "There is no task “toString”.", "must be one of fortunes, copying, noun, but is 'toString'"),
    ({"layers": 0}, "layers must be a whole number from 1 to 3, but is 0.", "layers must be from 1 to 3, but is 0"),
    ({"layers": 4}, "layers must be a whole number from 1 to 3, but is 4.", "layers must be from 1 to 3, but is 4"),
    ({"heads": 3}, "The heads share the width 64, and 3 does not divide it.", "divide the width 64, but 3 does not"),
    ({"heads": 16}, "heads per layer must be a whole number from 1 to 8, but is 16.", "heads must be from 1 to 8"),
    (
        {"rate": 0},
        "learning rate must be a number above 0 and at most 1, but is 0.",
        "rate must be above 0 and at most",
    ),
    ({"rate": -1}, "learning rate must be a number above 0 and at most 1, but is -1.", "but is -1"),
    ({"rate": 1.5}, "learning rate must be a number above 0 and at most 1, but is 1.5.", "but is 1.5"),
    ({"steps": 9}, "steps must be a whole number from 10 to 5,000, but is 9.", "steps must be from 10 to 5000"),
    ({"seed": -1}, "seed must be a whole number from 0 to 4,294,967,295, but is -1.", "seed must be from 0"),
    ({"seed": 2**32}, "seed must be a whole number from 0 to 4,294,967,295, but is 4294967296.", "seed must be from"),
    ({"forbidden": "all"}, "“all” cannot be forbidden.", "'all' cannot be forbidden, but one back in layer 1"),
    ({"held": {"L3H1": "off"}}, "There is no head L3H1.", "heads are L1H1 to L2H4, but there is L3H1"),
    ({"held": {"L1H5": "off"}}, "There is no head L1H5.", "heads are L1H1 to L2H4, but there is L1H5"),
    ({"held": {"L1H1": "constructor"}}, "A head cannot be held to “constructor”.", "but not 'constructor'"),
]


@pytest.mark.parametrize(("changes", "sentence", "message"), UNFIT)
def test_what_does_not_fit_is_refused_in_page_and_python_with_one_sentence(js, changes, sentence, message):
    good = PressTrain().state()
    assert js("attn.press_train.refusal", good, TASKS) == ""
    said = js("attn.press_train.refusal", {**good, **changes}, TASKS)
    assert said == re.sub(r"(?<=\d),(?=\d)", "", sentence), "this engine writes thousands without a comma"
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        PressTrain(**changes)


def test_a_setting_goes_into_the_address_and_comes_back(blank):
    page = blank(PressTrain())
    unfold(page)
    fill(page, "seed", "7")
    pick(page, "Head L1H3", "what to copy")
    pick(page, "No head may look at", "two back in layer 1")
    press(page, "Put it into the address")
    address = page.url
    assert address.endswith(
        "#train=copying&layers=2&heads=4&rate=0.003&steps=300&seed=7&forbidden=two+back+in+layer+1&L1H3=what+to+copy"
    )
    page.goto("about:blank")
    page.goto(address)
    assert page.get_by_label("seed").input_value() == "7"
    assert page.get_by_label("Head L1H3").input_value() == "what to copy"
    assert page.get_by_label("No head may look at").input_value() == "two back in layer 1"
    press(page, "Start again")
    assert page.get_by_label("seed").input_value() == "0"
    page.goto("about:blank")
    page.goto(
        address.replace("train=copying", "train=noun").replace(
            "forbidden=two+back+in+layer+1&L1H3=what+to+copy", "L1H1=off"
        )
    )
    assert page.get_by_label("which noun is “it”?").is_checked()


@pytest.mark.parametrize(
    "hash_",
    [
        "#train=",
        "#train=__proto__&layers=2",
        "#train=copying",
        "#train=copying&layers=2&heads=3&rate=0.003&steps=300&seed=0",
        "#train=copying&layers=2&heads=4&rate=0&steps=300&seed=0",
        "#train=copying&layers=1e9&heads=4&rate=1&steps=300&seed=0",
        "#train=copying&layers=2&heads=4&rate=0.003&steps=300&seed=0&<img src=x onerror=alert(1)>=off",
        "#train=copying&layers=2&heads=4&rate=0.003&steps=300&seed=0&L1H1=<b>",
        "#train=copying&layers=2&heads=4&rate=0.003&steps=300&seed=0&__proto__=off",
        "#train=%",
    ],
)
def test_an_address_that_does_not_fit_is_refused_with_a_sentence(blank, hash_):
    page = blank(PressTrain())
    address = page.url
    page.goto("about:blank")
    page.goto(address + hash_)
    assert page.locator(".attn-problem").inner_text().startswith("The setting in the address does not fit. ")
    assert page.get_by_label("heads per layer").input_value() == "4"
    assert page.locator(".attn-explorable :is(img, b)").count() == 0 and page.said == []


# --- in a notebook ---------------------------------------------------------------------------------------------------

IN_A_NOTEBOOK = """async (state) => {
  const listening = {};
  state.shown = Object.keys(state);
  const model = {
    get: (name) => state[name], save_changes: () => {}, off: () => {},
    on: (event, listener) => ((listening[event] ??= []).push(listener)),
    set: (name, value) => {
      state[name] = value;
      (listening[`change:${name}`] ?? []).forEach((listener) => listener());
    },
  };
  const el = document.body.appendChild(document.createElement("div"));
  attnExplorables.press_train.render({ model, el });
  const button = el.querySelector(".attn-train");
  const links = [...el.querySelectorAll("button")].filter((one) => one.textContent.includes("address")).length;
  button.click();
  while (!state.trained || !Object.keys(state.trained).length) await new Promise((resolve) => setTimeout(resolve, 20));
  const text = (view) => btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
  return [links, Object.entries(state.trained).map(([path, view]) => [path, text(view)])];
}"""


def test_what_was_trained_comes_back_to_python_and_runs_there(bare):
    figure = PressTrain(steps=10, held={"L1H1": "one back"})
    with pytest.raises(ValueError, match="nothing has been trained yet"):
        figure.params  # noqa: B018
    links, trained = bare.evaluate(IN_A_NOTEBOOK, figure.state())
    assert links == 0, "a notebook's address is not the page's"
    figure.trained = {path: memoryview(base64.b64decode(text)) for path, text in trained}
    run, _ = trained_in_python(figure)
    for (path, found), (_, expected) in zip(flat(figure.params), flat(run.params), strict=True):
        assert_allclose(found, expected, atol=1e-9, err_msg=str(path))
    tokens = repeated(np.random.default_rng(1), 3)[0][:, :-1]
    assert_allclose(
        decoder(figure.params, figure.config, tokens), decoder(run.params, figure.config, tokens), atol=1e-7
    )


def test_what_trains_comes_on_request_and_its_absence_is_told(unloaded, beside):
    script = beside / "trainer.js"
    text = script.read_bytes()
    script.unlink()
    page = unloaded(PressTrain(steps=10))
    assert not [address for address in page.requested if "trainer" in address]
    press(page, "▶ Train")
    page.get_by_text("What trains did not come.").wait_for()
    script.write_bytes(text)
    train(page)
    page.said.clear()


def test_python_says_what_the_figure_shows():
    figure = PressTrain(
        "noun", seed=3, held={"L1H2": "off", "L2H1": "itself"}, forbidden="the nouns from “it” in layer 2"
    )
    assert (figure.layers, figure.heads, figure.rate, figure.steps) == (2, 2, 5e-3, 400)
    assert figure.describe() == (
        "Press Train: which noun is “it”?, layers 2, heads 2, learning rate 0.005, seed 3, 400 steps; "
        "head L1H2 is off; head L2H1 is held to “itself”; nobody may look at the nouns from “it” in layer 2"
    )
    assert PressTrain("copying", 1, 8).heads == 8


def test_a_quick_setting_solves_the_puzzle_and_a_held_head_does_not(blank):
    page = blank(PressTrain(rate=1e-2, steps=300))
    aim = page.locator(".attn-task")
    assert aim.inner_text().startswith("Puzzle: over 0.9 right after at most 100 steps, with no head held.")
    press(page, "▶ Train")
    page.locator(".attn-solved").wait_for()
    assert re.fullmatch(r"✓ Over 0.9 right after (\d+) steps, and no head was held.", aim.inner_text())
    page = blank(PressTrain(steps=300, held={"L1H1": "one back"}))
    press(page, "▶ Train")
    page.get_by_text(re.compile("This run came there after .*, with help.")).wait_for()
    assert page.locator(".attn-solved").count() == 0
