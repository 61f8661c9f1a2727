"""Press Train: the page draws NumPy's numbers, learns as the package does, and hears the reader while it learns."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import quickjs
import traitlets
from hands import as_in_the_book, fill, in_notebook, pick, press, train, unfold
from numpy.testing import assert_allclose

from attn import Forbid, Tape, Trace, decoder, hold, init_transformer, switch_off
from attn.interventions import named_head
from attn.parameters import flat
from attn.training import batches, cross_entropy
from attn.training import train as train_in_python
from attn_course.corpora import fortunes, repeated
from attn_course.figures import PressTrain
from attn_course.figures.press_train import TASKS, TRAINER


@pytest.fixture(scope="module")
def trainer():
    """Call a function of trainer.js in an engine that has neither a page nor WebAssembly."""
    context = quickjs.Context()
    context.eval(TRAINER + "; var made = attnTrainer();")

    def call(function, *values):
        given = json.dumps(values, default=lambda array: array.tolist())
        return json.loads(context.eval(f"JSON.stringify(({function})(...{given}))"))

    return call


# --- NumPy's random numbers, and names -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 99, 2**31, 2**32 - 1])
def test_a_seed_gives_the_numbers_that_numpy_draws(trainer, seed):
    found = trainer(
        """(seed) => {
          const rng = made.defaultRng(seed), many = (one, count) => Array.from({ length: count }, one);
          return [many(rng.random, 50), many(() => rng.below(7), 51), many(() => rng.below(3_000_000_000), 50),
            many(rng.normal, 60_000), rng.shuffle(many((_, i) => i, 120)), many(rng.random, 3)];
        }""",
        seed,
    )
    rng = np.random.default_rng(seed)
    order = list(range(120))
    expected = [rng.random(50), rng.integers(7, size=51), rng.integers(3_000_000_000, size=50), rng.normal(size=60_000)]
    assert np.abs(expected[-1]).max() > 3.6541528853610088, "some lie beyond the last layer of the ziggurat"
    rng.shuffle(order)
    for numbers, drawn in zip(found, [*expected, order, rng.random(3)]):
        assert_allclose(numbers, drawn, rtol=1e-13, atol=0)


FORTUNES = fortunes(np.random.default_rng(0))


def test_figure_and_trainer_call_tasks_rules_edges_and_words_by_the_same_names(trainer):
    named = """() => Object.fromEntries(Object.entries(made.TASKS).map(([name, { rules, edges, scores, words }]) =>
      [name, [words, Object.keys(rules), Object.keys(edges), scores]]))"""
    found, expected = trainer(named), {}
    for name, task in TASKS.items():
        words = list(FORTUNES.words) if name == "fortunes" else found[name][0]
        assert len(words) == task["outputs"]
        expected[name] = [words, task["rules"], task["edges"], task["scores"]]
    assert found == expected


def test_of_new_fortunes_only_what_is_found_and_what_follows_from_the_name_counts(trainer):
    found = trainer("() => made.fortunes(made.defaultRng(0)).test.map((row) => row.targets)")
    wanted = FORTUNES.test["sentences"][:, 1:]
    assert found == np.where(np.isin(np.arange(6), (3, 4)), wanted, -1).tolist()


# --- the model: forward, backward, and what is done to it ------------------------------------------------------------

SMALL = {
    task: replace(PressTrain(task).config, d_model=6, n_layers=2, n_heads=n, n_key_heads=n, d_k=6 // n, d_ff=d_ff)
    for task, n, d_ff in [("fortunes", 2, 5), ("copying", 3, 0)]
}
LEARNED = """({ task, sizes, params, rows, held, forbidden }) => {
  const batch = made.batchOf(rows);
  const model = made.makeModel(sizes, made.TASKS[task], rows.length * batch.n, { held, forbidden });
  model.put(params);
  const loss = model.learn(batch), gradients = Object.entries(model.gradients());
  return [loss, Object.fromEntries(gradients.map(([path, grad]) => [path, [...grad]])),
    model.looks(made.batchOf(rows.slice(0, 1)))];
}"""


def tokens_and_targets(rows, wanted=None):
    """Return what is read, and what is wanted where, -1 where nothing is: of rows, and which places count."""
    return rows[:, :-1], rows[:, 1:] if wanted is None else np.where(wanted, rows[:, 1:], -1)


def rows_of(task):
    if task == "copying":
        return tokens_and_targets(*repeated(np.random.default_rng(4), 5))
    return tokens_and_targets(FORTUNES.train["sentences"][::7])


def looks(rule, tokens):
    """Return where each place looks by a rule, in NumPy: array of int, as the tokens; -1 for nowhere."""
    n, found = tokens.shape[-1], np.full(tokens.shape, -1)
    at = {  # of these rules, from where to where
        "from “and” to the name": {3: 0},
        "from “she” or “he” to the verb": {4: 1},
    }
    if rule in at:
        for place, there in at[rule].items():
            found[:, place] = there
        return found
    same = (tokens[..., :, None] == tokens[..., None, :]) & np.tri(n, k=-1, dtype=bool)
    last = np.where(same.any(axis=-1), n - 1 - same[..., ::-1].argmax(axis=-1), -1)
    return {
        "one back": np.broadcast_to(np.arange(n) - 1, tokens.shape),
        "itself": np.broadcast_to(np.arange(n), tokens.shape),
        "the first": np.zeros_like(tokens),
        "the same letter": last,
        "what to copy": np.where(last < 0, -1, last + 1),
    }[rule]


EDGES = {
    "one back in layer 1": (np.eye(19, k=-1, dtype=bool), 1),
    "two back in layer 1": (np.eye(19, k=-2, dtype=bool), 1),
    "itself in layer 1": (np.eye(19, dtype=bool), 1),
    "one back in all layers": (np.eye(19, k=-1, dtype=bool), None),
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
        done.append(switch_off(*where) if rule == "off" else hold(looks(rule, tokens), *where))
    with Tape() as tape, Trace() as trace:
        logits = decoder(params, config, tokens, interventions=done)
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


def trained_in_python(figure):
    """Train what a figure shows, heads held; return the run, and the share right on new rows."""
    task, config, rng = figure.task, figure.config, np.random.default_rng(figure.seed)

    def answers(params, tokens):
        held = [hold(looks(rule, tokens), *named_head(head)) for head, rule in figure.held.items()]
        return decoder(params, config, tokens, interventions=held)

    def gradients(params, *batch):
        tokens, targets = tokens_and_targets(*batch)
        with Tape() as tape:
            logits = answers(params, tokens)
        loss, grad = cross_entropy(logits, np.maximum(targets, 0), targets >= 0)
        return loss, tape.gradients(params, (logits, grad))

    params = init_transformer(rng, config, dtype=np.float64)
    if task == "copying":
        data, new = (repeated(rng, 32) for _ in range(figure.steps)), repeated(np.random.default_rng(99), 200)
    else:
        data = batches(rng, figure.steps, 16, FORTUNES.train["sentences"])
        new = [FORTUNES.test["sentences"]]
    rates = {"learning_rate": figure.rate, "warm_up": TASKS[task]["warmUp"]}
    learned = train_in_python(params, gradients, data, figure.steps, **rates)
    tokens, targets = tokens_and_targets(*new)
    asked = (targets >= 0) & (np.isin(np.arange(targets.shape[1]), (3, 4)) if task == "fortunes" else True)
    return learned, (answers(learned.params, tokens).argmax(axis=-1) == targets)[asked].mean()


@pytest.fixture
def bare(blank):
    """A page that holds the trainer as `made`, and no figure."""
    page = blank()
    page.evaluate(f"() => {{ {TRAINER} window.attnTrainer = attnTrainer; window.made = attnTrainer(); }}")
    return page


@pytest.mark.parametrize("task", TASKS)
def test_the_page_learns_as_the_chapter_does_step_for_step(bare, task):
    figure, about = PressTrain(task), TASKS[task]
    run, right = trained_in_python(figure)
    state = {name: figure.state()[name] for name in ("task", "layers", "heads", "rate", "seed", "steps")}
    found = bare.evaluate(
        """(setting) => {
          const run = made.startRun(setting, { held: {}, forbidden: "" });
          while (!run.over) run.advance();
          return [run.losses, run.tested().right];
        }""",
        {**state, "sizes": about["sizes"], "warmUp": about["warmUp"]},
    )
    assert found[0] == pytest.approx(run.losses, rel=1e-8)
    assert found[1] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_products_of_webassembly_are_those_of_numpy_fused_and_not(bare, fused):
    rng = np.random.default_rng(3)
    for m, n, k, turned in [(1, 2, 1, False), (3, 6, 5, True), (4, 4, 4, False), (9, 10, 7, True), (19, 20, 16, False)]:
        A, B, C = rng.normal(size=(k, m) if turned else (m, k)), rng.normal(size=(k, n)), rng.normal(size=(m, n + 3))
        found = bare.evaluate(
            """([A, B, C, m, n, k, turned, fused]) => {
              const validate = WebAssembly.validate;
              let first = true;
              WebAssembly.validate = (bytes) => (fused || !first) && validate(bytes) || (first = false);
              const { M, product } = made.memoryOf(4000);
              WebAssembly.validate = validate;
              M.set(A, 8); M.set(B, 1000); M.set(C, 2000);
              product(2000, n + 3, 8, turned ? 1 : k, turned ? m : 1, 1000, n, m, n, k);
              return [[...M.subarray(2000, 2000 + m * (n + 3))], M.buffer.byteLength % 65536];
            }""",
            [A.ravel().tolist(), B.ravel().tolist(), C.ravel().tolist(), m, n, k, turned, fused],
        )
        C[:, :n] += (A.T if turned else A) @ B
        assert_allclose(np.reshape(found[0], C.shape), C, atol=1e-13)
        assert found[1] == 0, "the memory is that of WebAssembly"


# --- the figure under the reader's hands -----------------------------------------------------------------------------


CURVES = (
    "[...document.querySelectorAll('.attn-plot path:not(.attn-frame)')].map((path) => path.getAttribute('d') ?? '')"
)


def told(page):
    return page.locator(".attn-detail").inner_text()


@pytest.mark.parametrize(
    ("steps", "held", "rule", "said"),
    [
        (40, "L1H1", "one back", "All 40 steps: {:.2f} right on 200 new rows. One back: head L1H1 gives most, 1.00."),
        (60, "L2H1", "what to copy", "✓ All 60 steps: {:.2f} right on 200 new rows."),  # above 0.9
    ],
)
def test_a_held_head_is_held_while_the_rest_learns_and_a_model_that_learned_is_told(blank, steps, held, rule, said):
    figure = PressTrain(steps=steps, held={held: rule})
    page = blank(figure)
    train(page)
    _, right = trained_in_python(figure)
    assert told(page).startswith(said.format(right))
    pick(page, f"Head {held}", "off")
    page.get_by_text(f"{right:.2f} right").wait_for(state="detached")
    pick(page, f"Head {held}", rule)
    page.get_by_text(f"{right:.2f} right").wait_for()


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
    press(page, "▶ Train")
    page.clock.run_for(500)
    page.get_by_label("fast").check()  # who has seen enough lets it go
    page.clock.run_for(300)
    assert (told(page), page.evaluate(CURVES)[2:]) == watched
    assert unloaded(PressTrain(steps=10)).get_by_label("fast").is_checked(), "as for all who want no motion"


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
    page.get_by_label(next(about["label"] for name, about in TASKS.items() if name != task)).check()
    assert number.is_visible(), "who chooses another task goes on with its settings"


# --- settings --------------------------------------------------------------------------------------------------------

UNFIT = [  # a change, the page's sentence, Python's
    ({"task": "toString"}, "There is no task “toString”.", "must be one of fortunes, copying, but is 'toString'"),
    ({"layers": 0}, "layers must be a whole number from 1 to 3, but is 0.", "layers must be from 1 to 3, but is 0"),
    ({"layers": 4}, "layers must be a whole number from 1 to 3, but is 4.", "layers must be from 1 to 3, but is 4"),
    ({"heads": 3}, "The heads share the width 64, and 3 does not divide it.", "divide the width 64, but 3 does not"),
    ({"heads": 16}, "heads per layer must be a whole number from 1 to 8, but is 16.", "heads must be from 1 to 8"),
    ({"rate": 0}, "learning rate must be a number above 0 and at most 1, but is 0.", "rate must be above 0"),
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


FITS = "#train=copying&layers=2&heads=4&rate=0.003&steps=300&seed=0"


def test_a_setting_goes_into_the_address_and_comes_back(blank):
    page = blank(PressTrain())
    unfold(page)
    fill(page, "seed", "7")
    pick(page, "Head L1H3", "what to copy")
    pick(page, "No head may look at", "two back in layer 1")
    press(page, "Put it into the address")
    address, done = page.url, "&forbidden=two+back+in+layer+1&L1H3=what+to+copy"
    assert address.endswith(f"{FITS.replace('seed=0', 'seed=7')}{done}")
    page.goto("about:blank")
    page.goto(address)
    assert page.get_by_label("seed").input_value() == "7"
    assert page.get_by_label("Head L1H3").input_value() == "what to copy"
    assert page.get_by_label("No head may look at").input_value() == "two back in layer 1"
    press(page, "Start again")
    assert page.get_by_label("seed").input_value() == "0"
    page.goto("about:blank")
    page.goto(address.replace("train=copying", "train=fortunes").replace(done, "&L1H1=off"))
    assert page.get_by_label("tell a fortune to its end").is_checked()


@pytest.mark.parametrize(
    "hash_",
    [
        "#train=",
        "#train=__proto__&layers=2",
        "#train=copying",
        FITS.replace("heads=4", "heads=3"),
        f"{FITS}&<img src=x onerror=alert(1)>=off",
        f"{FITS}&L1H1=<b>",
        f"{FITS}&__proto__=off",
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

TRAINED = """async ({ el, state }) => {
  const links = [...el.querySelectorAll("button")].filter((one) => one.textContent.includes("address")).length;
  el.querySelector(".attn-train").click();
  while (!state.trained || !Object.keys(state.trained).length) await new Promise((resolve) => setTimeout(resolve, 20));
  const text = (view) => btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
  return [links, Object.entries(state.trained).map(([path, view]) => [path, text(view)])];
}"""


def test_what_was_trained_comes_back_to_python(bare):
    figure = PressTrain(steps=10, held={"L1H1": "one back"})
    with pytest.raises(ValueError, match="nothing has been trained yet"):
        figure.params  # noqa: B018
    links, trained = in_notebook(bare, figure, TRAINED)
    assert links == 0, "a notebook's address is not the page's"
    figure.trained = {path: memoryview(base64.b64decode(text)) for path, text in trained}
    run, _ = trained_in_python(figure)
    for (path, found), (_, expected) in zip(flat(figure.params), flat(run.params), strict=True):
        assert_allclose(found, expected, atol=1e-9, err_msg=str(path))


def test_python_says_what_the_figure_shows():
    held = {"L1H1": "off", "L1H2": "itself"}
    figure = PressTrain("fortunes", seed=3, held=held, forbidden="the name from “and”")
    assert (figure.layers, figure.heads, figure.rate, figure.steps) == (1, 2, 1e-2, 300)
    told = "head L1H1 is off; head L1H2 is held to “itself”; nobody may look at the name from “and”"
    assert figure.describe().endswith(f"learning rate 0.01, seed 3, 300 steps; {told}")


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
