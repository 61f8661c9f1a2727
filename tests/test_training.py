"""Cross-entropy, Adam and the loop: against PyTorch, deterministic, and interrupted."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attn.tape import leaves
from attn.training import Adam, Diverged, RanOut, batches, cross_entropy, train


def test_cross_entropy_and_its_gradient_are_those_of_pytorch(torch):
    rng = np.random.default_rng(0)
    logits, targets, keep = 30 * rng.normal(size=(3, 5, 7)), rng.integers(7, size=(3, 5)), rng.random((3, 5)) < 0.6
    loss, grad = cross_entropy(logits, targets, keep)
    tensor = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(tensor[torch.tensor(keep)], torch.tensor(targets[keep]))
    expected.backward()
    assert_allclose(loss, expected.item(), rtol=1e-12)
    assert_allclose(grad, tensor.grad, atol=1e-14)


def test_a_loss_of_huge_logits_stays_finite_all_may_be_lists_and_float16_is_summed_in_more():
    loss, grad = cross_entropy([[1000.0, -1000.0]], [1])
    assert_allclose(loss, 2000)
    assert_allclose(grad, [[1, -1]])
    loss, grad = cross_entropy(np.zeros((1, 70_000), np.float16), [0])
    assert_allclose(loss, np.log(70_000), rtol=1e-6)
    assert grad.dtype == np.float16


def test_a_loss_mask_of_0_and_1_masks_and_what_it_hides_may_hold_anything():
    logits, targets = np.array([[5.0, 0.0], [np.nan, 1.0], [0.0, 1.0]]), np.array([0, 0, -7])
    for loss_mask in ([1, 0, 0], [True, False, False], np.array([1.0, 0.0, 0.0])):
        loss, grad = cross_entropy(logits, targets, loss_mask)
        assert_allclose(loss, np.log(1 + np.exp(-5)))
        assert_allclose(grad, np.outer([1, 0, 0], [-1, 1]) / (1 + np.exp(5)))


@pytest.mark.parametrize("clip", [np.inf, 1.0, 0.01, None])
@pytest.mark.parametrize("warm_up", [0, 3])
def test_steps_are_those_of_pytorch_with_its_clipping_adam_and_schedule(torch, clip, warm_up):
    rng, sizes = np.random.default_rng(1), [1.0, 10.0, 0.1, 3.0, 0.001, 5.0]
    start = {"a": rng.normal(size=5), "b": rng.normal(size=(2, 3))}
    grads = [{name: size * rng.normal(size=array.shape) for name, array in start.items()} for size in sizes]
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in start.items()}
    optimiser = torch.optim.Adam(tensors.values(), lr=0.1, betas=(0.9, 0.98), eps=1e-9)
    share = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda i: min(1, (i + 1) / (warm_up + 1)) * (1 - i / 6))
    for row in grads:
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(row[name])
        torch.nn.utils.clip_grad_norm_(list(tensors.values()), clip or 1.0)  # of all arrays together; default: 1
        optimiser.step()
        share.step()
    options = {"learning_rate": 0.1, "warm_up": warm_up, **({"clip": clip} if clip else {})}
    trained = train(start, lambda params, row: (0.0, row), [(row,) for row in grads], 6, **options)
    for name, tensor in tensors.items():
        assert_allclose(trained.params[name], tensor.detach(), rtol=1e-4, atol=1e-9)  # PyTorch adds 1e-6 to the norm


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
    whole, stopped = Adam(start), Adam(start)
    for i, grad in enumerate(grads):
        whole.step(grad, 0.1)
        if i == 1:
            stopped.restore({name: array.copy() for name, array in whole.state().items()})
        if i > 1:
            stopped.step(grad, 0.1)
    for ours, theirs in zip(leaves(stopped.params), leaves(whole.params)):
        assert_array_equal(ours, theirs)


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


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

def interrupted(params, step):
    if step == 2:
        raise KeyboardInterrupt
    return 1.0, params

shell = InteractiveShell()
shell.push({"interrupted": interrupted})
shell.run_cell("import numpy as np; from attn.training import train")
shell.run_cell("train({'W': np.ones(1)}, interrupted, ((step,) for step in range(9)), 9, learning_rate=0.1)")
shell.run_cell("import sys; trained = sys.last_value.trained")
shell.run_cell("print(trained.losses, trained.params['W'].round(2))")
"""


def run_python(code, *without):
    environment = {name: value for name, value in os.environ.items() if name not in without}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True).stdout


def test_an_interrupt_is_one_sentence_in_a_notebook_and_carries_what_was_learned():
    said = "Stopped after 2 of 9 steps; sys.last_value.trained is what was trained.\n"
    assert run_python(NOTEBOOK) == f"{said}[1.0, 1.0] [0.81]\n"


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


def diverges(at, loss=1.0, slope=1.0, error=None):
    """Return gradients that go wrong at a step."""
    steps = iter(range(1, 100))

    def gradients(params):
        wrong = next(steps) == at
        if wrong and error:
            raise error
        return loss if wrong else 1.0, {"W": np.array([slope if wrong else 1.0])}

    return gradients


def test_data_that_end_too_early_are_told_with_what_was_trained():
    told = "6 steps need as many batches, but the data ended after 5; sys.last_value.trained is what was trained."
    start = {"W": np.zeros(1)}
    for steps, options in [(6, {}), (100, {"n_taken": 6})]:
        with pytest.raises(RanOut, match=told) as raised:
            train(start, diverges(99), iter([()] * 5), steps, learning_rate=0.1, **options)
        expected = train(start, diverges(99), [()] * 9, steps, learning_rate=0.1, n_taken=5)
        assert raised.value.trained.losses == expected.losses == [1.0] * 5
        assert_array_equal(raised.value.trained.params["W"], expected.params["W"])


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


def test_other_errors_stay_what_they_are():
    with pytest.raises(ValueError, match=r"^something else$"):
        train({"W": np.zeros(1)}, diverges(2, error=ValueError("something else")), [()] * 9, 9, learning_rate=0.1)
