"""Cross-entropy, Adam and the loop: against PyTorch, deterministic, and interrupted."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

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


def test_a_loss_of_huge_logits_stays_finite_and_all_may_be_lists():
    loss, grad = cross_entropy([[1000.0, -1000.0]], [1])
    assert_allclose(loss, 2000)
    assert_allclose(grad, [[1, -1]])


def test_a_loss_mask_of_0_and_1_masks_and_what_it_hides_may_hold_anything():
    logits, targets = np.array([[5.0, 0.0], [np.nan, 1.0], [0.0, 1.0]]), np.array([0, 0, -7])
    for loss_mask in ([1, 0, 0], [True, False, False], np.array([1.0, 0.0, 0.0])):
        loss, grad = cross_entropy(logits, targets, loss_mask)
        assert_allclose(loss, np.log(1 + np.exp(-5)))
        assert_allclose(grad, np.outer([1, 0, 0], [-1, 1]) / (1 + np.exp(5)))


START = {"W": np.zeros(5), "inner": {"b": np.ones((2, 3))}}


def towards_three(p, noise):
    """Minimise |W - 3|^2 / 2, with noise from the batches."""
    loss = float(np.sum((p["W"] - 3) ** 2)) / 2
    return loss, {"W": p["W"] - 3 + noise.mean(), "inner": {"b": 0 * p["inner"]["b"]}}


@pytest.mark.parametrize("clip", [np.inf, 1.0, 0.01, None])
@pytest.mark.parametrize("warm_up", [0, 3])
def test_steps_are_those_of_pytorch_with_its_clipping_adam_and_schedule(torch, clip, warm_up):
    rng, sizes = np.random.default_rng(1), [1.0, 10.0, 0.1, 3.0, 0.001, 5.0]
    start = {"a": rng.normal(size=5), "b": rng.normal(size=(2, 3))}
    grads = [{name: size * rng.normal(size=array.shape) for name, array in start.items()} for size in sizes]
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in start.items()}
    optimiser = torch.optim.Adam(tensors.values(), lr=0.1, betas=(0.9, 0.98), eps=1e-9)
    shares = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda done: min(1, (done + 1) / (warm_up + 1)) * (1 - done / 6)
    )
    for row in grads:
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(row[name])
        torch.nn.utils.clip_grad_norm_(list(tensors.values()), clip or 1.0)  # of all arrays together; default: 1
        optimiser.step()
        shares.step()
    options = {"learning_rate": 0.1, "warm_up": warm_up, **({"clip": clip} if clip else {})}
    trained = train(start, lambda params, row: (0.0, row), [(row,) for row in grads], 6, **options)
    for name, tensor in tensors.items():
        assert_allclose(trained.params[name], tensor.detach(), rtol=1e-4, atol=1e-9)  # PyTorch adds 1e-6 to the norm


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
        assert_array_equal(ours, theirs)


def test_training_is_deterministic_and_leaves_the_start_alone():
    noise = np.random.default_rng(2).normal(size=(50, 1))
    options = {"learning_rate": 0.2, "warm_up": 5, "probe": lambda p: p["W"].copy(), "probe_every": 10}
    one, two = (
        train(START, towards_three, batches(np.random.default_rng(3), 100, 8, noise), 100, **options) for _ in range(2)
    )
    assert_array_equal(one.params["W"], two.params["W"])
    assert_array_equal([START["W"], one.probes[0]], 0)
    assert len(one.losses) == 100 and len(one.probes) == 11
    assert_allclose(one.params["W"], 3, atol=0.5)
    assert_allclose(one.params["inner"]["b"], 1)


def test_every_row_is_drawn_and_rows_of_several_arrays_stay_together():
    numbers = np.arange(7)
    drawn = list(batches(np.random.default_rng(0), 50, 4, numbers, 10 * numbers))
    assert len(drawn) == 50 and all(rows.shape == (4,) for rows, _ in drawn)
    assert {int(row) for rows, _ in drawn for row in rows} == set(range(7))
    for rows, tens in drawn:
        assert_array_equal(tens, 10 * rows)


def test_the_probe_sees_the_start_and_every_third_step():
    counts = iter(range(1, 9))

    def gradients(params, step):
        return float(next(counts)), {"W": np.ones(1)}

    data, start = [(step,) for step in range(8)], {"W": np.zeros(1)}
    trained = train(start, gradients, data, 8, learning_rate=1.0, probe=lambda params: params["W"][0], probe_every=3)
    steps = -np.cumsum([1 - done / 8 for done in range(8)])  # each as long as the learning rate
    assert_allclose(trained.probes, [0, steps[2], steps[5]], rtol=1e-6)
    assert trained.losses == list(range(1, 9))


def test_an_interrupt_carries_what_was_learned_and_stops_the_cell():
    def gradients(p, step):
        if step == 7:
            raise KeyboardInterrupt
        return towards_three(p, np.zeros(1))

    with pytest.raises(KeyboardInterrupt, match=r"Stopped after 7 of 100 steps; sys.last_value.trained is") as stopped:
        train(START, gradients, ((step,) for step in range(100)), 100, learning_rate=0.1)
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
    noise = [(np.zeros(1),)] * 5
    told = "6 steps need as many batches, but the data ended after 5; sys.last_value.trained is what was trained."
    for steps, options in [(6, {}), (100, {"n_taken": 6})]:
        with pytest.raises(ValueError, match=told) as raised:
            train(START, towards_three, iter(noise), steps, learning_rate=0.1, **options)
        expected = train(START, towards_three, noise, steps, learning_rate=0.1, n_taken=5)
        assert isinstance(raised.value, RanOut) and raised.value.trained.losses == expected.losses
        assert_array_equal(raised.value.trained.params["W"], expected.params["W"])
    left = iter(noise)
    assert len(train(START, towards_three, left, 3, learning_rate=0.1).losses) == 3 and len(list(left)) == 2


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


def test_a_loss_of_float16_is_summed_in_more():
    logits = np.zeros((1, 70_000), np.float16)
    loss, grad = cross_entropy(logits, [0])
    assert_allclose(loss, np.log(70_000), rtol=1e-6)
    assert grad.dtype == np.float16


def test_only_some_of_the_planned_steps_may_be_taken():
    noise = [(np.full(1, step),) for step in range(8)]
    options = {"learning_rate": 0.1, "probe": lambda p: p["W"].copy()}
    whole = train(START, towards_three, noise, 8, **options)
    part = train(START, towards_three, noise, 8, n_taken=3, **options)
    assert_array_equal(part.probes, whole.probes[:4])
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
    assert_array_equal(raised.value.trained.params["W"], expected.params["W"])
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
