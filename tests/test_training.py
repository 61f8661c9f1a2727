"""Cross-entropy, Adam and the loop: against PyTorch, deterministic, and interrupted."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attn import Tape, TransformerConfig, decoder, init_transformer
from attn.tape import leaves
from attn.training import Adam, Diverged, RanOut, Stopped, batches, cross_entropy, schedule, train


def test_cross_entropy_and_its_gradient_are_those_of_pytorch(torch):
    rng = np.random.default_rng(0)
    logits, targets, keep = 30 * rng.normal(size=(3, 5, 7)), rng.integers(7, size=(3, 5)), rng.random((3, 5)) < 0.6
    loss, grad = cross_entropy(logits, targets, keep)
    tensor = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(tensor[torch.tensor(keep)], torch.tensor(targets[keep]))
    expected.backward()
    assert_allclose(loss, expected.item(), rtol=1e-12)
    assert_allclose(grad, tensor.grad, atol=1e-14)


def test_a_loss_of_huge_logits_stays_finite():
    loss, grad = cross_entropy(np.array([[1000.0, -1000.0]]), np.array([1]))
    assert_allclose(loss, 2000)
    assert_allclose(grad, [[1, -1]])


def test_a_loss_mask_of_0_and_1_masks_and_what_it_hides_may_hold_anything():
    logits, targets = np.array([[5.0, 0.0], [np.nan, 1.0], [0.0, 1.0]]), np.array([0, 0, -7])
    for loss_mask in ([1, 0, 0], [True, False, False], np.array([1.0, 0.0, 0.0])):
        loss, grad = cross_entropy(logits, targets, loss_mask)
        assert_allclose(loss, np.log(1 + np.exp(-5)))
        assert_allclose(grad, np.outer([1, 0, 0], [-1, 1]) / (1 + np.exp(5)))
    with pytest.raises(TypeError, match="made of 0 and 1, but its type is int64"):
        cross_entropy(logits, targets, np.array([2, 0, 0], np.int64))
    with pytest.raises(TypeError, match="targets must be integers, but their type is float64"):
        cross_entropy(logits, np.array([0.0, 0.0, 1.0]))


def test_targets_and_logits_may_be_lists():
    loss, grad = cross_entropy([[0.0, 0.0]], [1])
    assert_allclose(loss, np.log(2))
    assert_allclose(grad, [[0.5, -0.5]])
    loss, grad = cross_entropy([[0.0, 0.0]] * 4, [1, 0, 1, 1])  # a mean, not a sum
    assert_allclose(loss, np.log(2))
    assert_allclose(grad[:2], [[0.125, -0.125], [-0.125, 0.125]])


def target_problem():
    """Minimise |W - 3|^2 / 2, with noise from the batches."""
    params = {"W": np.zeros(5), "inner": {"b": np.ones((2, 3))}}

    def gradients(p, noise):
        return float(np.sum((p["W"] - 3) ** 2)) / 2, {
            "W": p["W"] - 3 + noise.mean(),
            "inner": {"b": 0 * p["inner"]["b"]},
        }

    return params, gradients


def in_pytorch(torch, start, grads, learning_rate, steps, *, warm_up=0, clip=np.inf):
    """Train tensors on given gradients by PyTorch's clipping, Adam and schedule."""
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in start.items()}
    optimiser = torch.optim.Adam(tensors.values(), lr=learning_rate, betas=(0.9, 0.98), eps=1e-9)
    shares = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda done: min(1, (done + 1) / (warm_up + 1)) * (1 - done / steps)
    )
    for row in grads:
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(row[name])
        torch.nn.utils.clip_grad_norm_(list(tensors.values()), clip)
        optimiser.step()
        shares.step()
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


@pytest.mark.parametrize("clip", [np.inf, 1.0, 0.01])
@pytest.mark.parametrize("warm_up", [0, 3])
def test_steps_are_those_of_pytorch_with_its_clipping_adam_and_schedule(torch, clip, warm_up):
    rng = np.random.default_rng(1)
    start = {"a": rng.normal(size=5), "b": rng.normal(size=(2, 3))}
    sizes = [1.0, 10.0, 0.1, 3.0, 0.001, 5.0]
    grads = [{name: size * rng.normal(size=array.shape) for name, array in start.items()} for size in sizes]
    options = {"learning_rate": 0.1, "warm_up": warm_up, "clip": clip}
    trained = train(start, lambda params, row: (0.0, row), [(row,) for row in grads], 6, **options)
    expected = in_pytorch(torch, start, grads, 0.1, 6, warm_up=warm_up, clip=clip)
    for name in start:
        assert_allclose(trained.params[name], expected[name], rtol=1e-4, atol=1e-9)  # PyTorch adds 1e-6 to the norm


def test_the_learning_rate_rises_and_falls():
    shares = [schedule(step, 100, 9) for step in range(1, 101)]
    assert_allclose(shares[:3], [0.1, 0.2 * 0.99, 0.3 * 0.98])
    assert np.argmax(shares) == 9 and shares[-1] == pytest.approx(0.01)


def test_gradients_are_found_by_name_in_whatever_order_they_come():
    start = {"a": np.zeros(2), "b": {"c": np.zeros(2), "d": np.zeros(2)}}
    turned = {"b": {"d": np.full(2, 3.0), "c": np.full(2, -2.0)}, "a": np.full(2, 1.0)}
    adam = Adam(start)
    adam.step(turned, 0.1)
    assert_allclose([adam.params["a"][0], adam.params["b"]["c"][0], adam.params["b"]["d"][0]], [-0.1, 0.1, -0.1])
    assert start["a"][0] == 0


@pytest.mark.parametrize(
    ("grads", "message"),
    [
        ({"a": np.ones(2)}, "differ in b"),
        ({"a": np.ones(2), "b": {"c": np.ones(2), "e": np.ones(2)}}, "differ in b / d, b / e"),
        ({"a": np.ones(2), "b": {"c": np.ones(2), "d": np.ones(3)}}, r"b / d has shape \(2,\), .* shape \(3,\)"),
    ],
)
def test_gradients_that_do_not_fit_are_named(grads, message):
    adam = Adam({"a": np.zeros(2), "b": {"c": np.zeros(2), "d": np.zeros(2)}})
    with pytest.raises(ValueError, match=message):
        adam.step(grads, 0.1)


def test_adam_goes_on_from_a_state_as_if_it_had_never_stopped():
    rng = np.random.default_rng(7)
    grads = [{"a": rng.normal(size=3), "b": {"c": rng.normal(size=(2, 2))}} for _ in range(4)]
    start = {"a": np.ones(3), "b": {"c": np.zeros((2, 2))}}
    whole, first, second = Adam(start), Adam(start), Adam(start)
    for grad in grads:
        whole.step(grad, 0.1)
    for grad in grads[:2]:
        first.step(grad, 0.1)
    kept = {name: array.copy() for name, array in first.state().items()}
    second.restore(kept)
    for grad in grads[2:]:
        second.step(grad, 0.1)
    for ours, theirs in zip(leaves(second.params), leaves(whole.params)):
        np.testing.assert_array_equal(ours, theirs)


def test_training_is_deterministic_and_leaves_the_start_alone():
    results = []
    for _ in range(2):
        params, gradients = target_problem()
        noise = np.random.default_rng(2).normal(size=(50, 1))
        data = batches(np.random.default_rng(3), 100, 8, noise)
        results.append(
            train(
                params,
                gradients,
                data,
                100,
                learning_rate=0.2,
                warm_up=5,
                probe=lambda p: p["W"].copy(),
                probe_every=10,
            )
        )
        assert_allclose(params["W"], 0)
    assert_allclose(results[0].params["W"], results[1].params["W"], rtol=0, atol=0)
    assert len(results[0].losses) == 100 and len(results[0].probes) == 11
    assert_allclose(results[0].probes[0], 0)
    assert_allclose(results[0].params["W"], 3, atol=0.5)
    assert_allclose(results[0].params["inner"]["b"], 1)


def test_a_long_gradient_is_clipped_by_the_norm_of_all_and_not_array_by_array():
    """After two steps Adam remembers how long each gradient was: 30 and 40 are shortened by one factor."""
    rows = [{"a": np.array([30.0]), "b": np.array([40.0])}, {"a": np.array([0.3]), "b": np.array([0.4])}]
    for clip in (None, 1.0, 0.5):
        trained = train(
            {"a": np.zeros(1), "b": np.zeros(1)},
            lambda p, row: (0.0, row),
            [(row,) for row in rows],
            2,
            learning_rate=1.0,
            **({"clip": clip} if clip else {}),
        )
        first, after = 0.6 * (clip or 1.0), min(0.3, 0.6 * (clip or 1.0))  # default: 1
        mean, square = 0.1 * first * 0.9 + 0.1 * after, 0.02 * first**2 * 0.98 + 0.02 * after**2
        second = 0.5 * (mean / (1 - 0.81)) / np.sqrt(square / (1 - 0.98**2))
        assert_allclose(trained.params["a"], -1 - second, rtol=1e-6)


def test_every_row_is_drawn_and_rows_of_several_arrays_stay_together():
    numbers = np.arange(7)
    drawn = list(batches(np.random.default_rng(0), 50, 4, numbers, 10 * numbers))
    assert len(drawn) == 50 and all(rows.shape == (4,) for rows, _ in drawn)
    assert {int(row) for rows, _ in drawn for row in rows} == set(range(7))
    for rows, tens in drawn:
        np.testing.assert_array_equal(tens, 10 * rows)


def test_the_probe_sees_the_start_and_every_third_step():
    counts = iter(range(1, 9))

    def gradients(params, step):
        return float(next(counts)), {"W": np.ones(1)}

    data, start = [(step,) for step in range(8)], {"W": np.zeros(1)}
    trained = train(start, gradients, data, 8, learning_rate=1.0, probe=lambda params: params["W"][0], probe_every=3)
    steps = -np.cumsum([1 - done / 8 for done in range(8)])  # each as long as the learning rate
    assert_allclose(trained.probes, [0, steps[2], steps[5]], rtol=1e-6)
    assert trained.losses == list(range(1, 9))


def test_steps_are_as_long_as_the_schedule_says():
    def gradients(params):
        return 0.0, {"W": np.ones(1)}

    start = {"W": np.zeros(1)}
    trained = train(start, gradients, [()] * 8, 8, learning_rate=0.5, warm_up=3, probe=lambda params: params["W"][0])
    assert_allclose(-np.diff(trained.probes), [0.5 * schedule(step, 8, 3) for step in range(1, 9)], rtol=1e-6)


def test_an_interrupt_carries_what_was_learned_and_stops_the_cell():
    params, _ = target_problem()

    def gradients(p, step):
        if step == 7:
            raise KeyboardInterrupt
        return 1.0, {"W": p["W"] - 3, "inner": {"b": 0 * p["inner"]["b"]}}

    with pytest.raises(KeyboardInterrupt, match=r"Stopped after 7 of 100 steps; sys.last_value.trained is") as stopped:
        train(params, gradients, ((step,) for step in range(100)), 100, learning_rate=0.1)
    assert isinstance(stopped.value, Stopped) and len(stopped.value.trained.losses) == 7
    assert np.all(stopped.value.trained.params["W"] > 0)


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

def interrupted(params):
    raise KeyboardInterrupt

shell = InteractiveShell()
shell.push({"interrupted": interrupted})
shell.run_cell("import numpy as np; from attn.training import train")
shell.run_cell("train({'W': np.zeros(1)}, interrupted, [()], 1, learning_rate=0.1)")
shell.run_cell("import sys; print(sys.last_value.trained.losses)")
"""


def run_python(code, *without):
    environment = {name: value for name, value in os.environ.items() if name not in without}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True).stdout


def test_a_notebook_says_one_sentence_and_finds_what_was_trained():
    printed = "Stopped after 0 of 1 steps; sys.last_value.trained is what was trained.\n[]\n"
    assert run_python(NOTEBOOK) == printed


THREADS = """
import numpy as np
from threadpoolctl import threadpool_info
from attn.training import train

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def gradients(params):
    print(threads())
    return 1.0, params

print(threads())
train({"W": np.ones(1)}, gradients, [()], 1, learning_rate=0.1)
"""


def test_training_runs_on_one_thread_where_no_variable_says_so():
    before, during = run_python(THREADS, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS").splitlines()
    if before in ("set()", "{1}"):
        pytest.skip("matrix products run on one thread here, or in a library that threadpoolctl does not know")
    assert during == "{1}"


def test_data_that_end_too_early_are_told_with_what_was_trained_and_more_are_left():
    params, gradients = target_problem()
    noise = [(np.zeros(1),)] * 5
    told = "6 steps need as many batches, but the data ended after 5; sys.last_value.trained is what was trained."
    for steps, options in [(6, {}), (100, {"n_taken": 6})]:
        with pytest.raises(ValueError, match=told) as raised:
            train(params, gradients, iter(noise), steps, learning_rate=0.1, **options)
        expected = train(params, gradients, noise, steps, learning_rate=0.1, n_taken=5)
        assert isinstance(raised.value, RanOut) and raised.value.trained.losses == expected.losses
        np.testing.assert_array_equal(raised.value.trained.params["W"], expected.params["W"])
    left = iter(noise)
    trained = train(params, gradients, left, 3, learning_rate=0.1)
    assert len(trained.losses) == 3 and len(list(left)) == 2


def test_a_training_holds_one_batch_at_a_time():
    drawn, taken = [], []

    def data():
        for step in range(9):
            drawn.append(step)
            yield (step,)

    def gradients(params, step):
        taken.append(step)
        assert drawn == taken
        return 0.0, {"W": np.ones(1)}

    train({"W": np.zeros(1)}, gradients, data(), 5, learning_rate=0.1)
    assert taken == list(range(5))


@pytest.mark.parametrize(
    ("arrays", "lengths"), [([np.zeros((0, 33))], r"\[0\]"), ([np.zeros(5), np.zeros(7)], r"\[5, 7\]"), ([], r"\[\]")]
)
def test_batches_need_rows_to_draw_from(arrays, lengths):
    with pytest.raises(ValueError, match=f"arrays of one length of at least 1, but theirs are {lengths}"):
        next(batches(np.random.default_rng(0), 3, 2, *arrays))
    with pytest.raises(TypeError, match=r"rng must be a numpy Generator, .* but is 0"):
        next(batches(0, 3, 2, np.zeros(5)))


def test_a_loss_of_float16_is_summed_in_more():
    logits = np.zeros((1, 70_000), np.float16)
    loss, grad = cross_entropy(logits, [0])
    assert_allclose(loss, np.log(70_000), rtol=1e-6)
    assert grad.dtype == np.float16


def test_only_some_of_the_planned_steps_may_be_taken():
    params, gradients = target_problem()
    noise = [(np.full(1, step),) for step in range(8)]
    options = {"learning_rate": 0.1, "probe": lambda p: p["W"].copy()}
    whole = train(params, gradients, noise, 8, **options)
    part = train(params, gradients, noise, 8, n_taken=3, **options)
    np.testing.assert_array_equal(part.probes, whole.probes[:4])
    assert part.losses == whole.losses[:3]


def diverges(at, loss=1.0, slope=1.0, error=None):
    """Return gradients that go wrong at a step."""
    steps = iter(range(1, 100))

    def gradients(params):
        wrong = next(steps) == at
        if wrong and error:
            raise error
        return loss if wrong else 1.0, {"W": np.array([slope if wrong else 1.0])}

    return gradients


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"loss": np.nan}, "the loss is nan"),
        ({"loss": np.inf}, "the loss is inf"),
        ({"slope": np.nan}, "the length of the gradient is nan"),
        ({"slope": -np.inf}, "the length of the gradient is inf"),
        ({"error": OverflowError("1e200 squared overflows float64")}, "1e200 squared overflows float64"),
        ({"error": FloatingPointError("overflow in exp")}, "overflow in exp"),
    ],
)
def test_a_training_that_diverges_says_when_and_carries_what_was_learned(wrong, what):
    expected = train({"W": np.zeros(1)}, diverges(99), [()] * 9, 9, learning_rate=1e6, n_taken=3)
    with pytest.raises(Diverged) as raised:
        train({"W": np.zeros(1)}, diverges(4, **wrong), [()] * 9, 9, learning_rate=1e6)
    assert str(raised.value) == f"training diverged at step 4: {what}; try a lower learning_rate than 1e+06"
    assert raised.value.trained.losses == [1.0] * 3
    np.testing.assert_array_equal(raised.value.trained.params["W"], expected.params["W"])
    with pytest.raises(FloatingPointError, match=f"at step 1: {what}; look at the parameters and the data"):
        train({"W": np.zeros(1)}, diverges(1, **wrong), [()] * 9, 9, learning_rate=1e6)


def test_a_decoder_that_learns_far_too_fast_is_said_to_diverge():
    config = TransformerConfig(vocab_size=5, d_model=4, n_heads=1, n_layers=1, n_positions=6)
    rows = np.random.default_rng(0).integers(5, size=(4, 6))

    def gradients(params, rows):
        with Tape() as tape:
            logits = decoder(params, config, rows[:, :-1])
        loss, grad = cross_entropy(logits, rows[:, 1:])
        return loss, tape.gradients(params, (logits, grad))

    start = init_transformer(np.random.default_rng(1), config, dtype=np.float64)
    message = r"training diverged at step .*than 1e"
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=message) as diverged:
        train(start, gradients, [(rows,)] * 20, 20, learning_rate=1e160)
    assert 0 < len(diverged.value.trained.losses) < 20


def test_other_errors_stay_what_they_are():
    with pytest.raises(ValueError, match=r"^something else$"):
        train({"W": np.zeros(1)}, diverges(2, error=ValueError("something else")), [()] * 9, 9, learning_rate=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0, 3])), r"from 0 to 2, but reach from 0 to 3"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0])), r"shape \(2, 3\), targets \(1,\)"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([-1, 2])), r"from 0 to 2, but reach from -1 to 2"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0, 1]), [1, 0, 1]), r"targets \(2,\), 2 of \(3,\) count"),
        (lambda: cross_entropy(3.0, 1), r"shape \(\), targets \(\)"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0, 1]), np.array([False, False])), r"0 of \(2,\) count"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sizes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
