"""Cross-entropy, Adam and the loop: against PyTorch, deterministic, and interrupted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attn.training import batches, cross_entropy, train


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


def target_problem():
    """Minimise |W - 3|^2 / 2, with noise from the batches."""
    params = {"W": np.zeros(5), "inner": {"b": np.ones((2, 3))}}

    def gradients(p, noise):
        return float(np.sum((p["W"] - 3) ** 2)) / 2, {
            "W": p["W"] - 3 + noise.mean(),
            "inner": {"b": 0 * p["inner"]["b"]},
        }

    return params, gradients


def test_a_step_is_that_of_pytorchs_adam(torch):
    rng = np.random.default_rng(1)
    grads = rng.normal(size=(4, 5))
    start = {"W": np.ones(5)}
    trained = train(start, lambda p, grad: (0.0, {"W": grad}), [(grad,) for grad in grads], 4, rate=0.1, clip=np.inf)
    tensor = torch.ones(5, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([tensor], lr=0.1, betas=(0.9, 0.98), eps=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / 4)
    for grad in grads:
        tensor.grad = torch.tensor(grad)
        optimiser.step()
        schedule.step()
    assert_allclose(trained.params["W"], tensor.detach().numpy(), rtol=1e-6)
    assert_allclose(start["W"], 1)


def test_training_is_deterministic_and_leaves_the_start_alone():
    results = []
    for _ in range(2):
        params, gradients = target_problem()
        noise = np.random.default_rng(2).normal(size=(50, 1))
        data = batches(np.random.default_rng(3), 100, 8, noise)
        results.append(
            train(params, gradients, data, 100, rate=0.2, warm_up=5, probe=lambda p: p["W"].copy(), probe_every=10)
        )
        assert_allclose(params["W"], 0)
    assert_allclose(results[0].params["W"], results[1].params["W"], rtol=0, atol=0)
    assert len(results[0].losses) == 100 and len(results[0].probes) == 11
    assert_allclose(results[0].probes[0], 0)
    assert_allclose(results[0].params["W"], 3, atol=0.5)
    assert_allclose(results[0].params["inner"]["b"], 1)


def test_a_long_gradient_is_clipped_by_the_norm_of_all():
    seen = {}

    def gradients(p):
        return 0.0, {"a": np.array([30.0]), "b": np.array([40.0])}

    def run(clip):
        return train({"a": np.zeros(1), "b": np.zeros(1)}, gradients, [()], 1, rate=1.0, clip=clip).params

    seen = {clip: run(clip) for clip in (1.0, 1e-9)}
    assert_allclose(seen[1.0]["a"], -1)  # the first step of Adam has the size of the rate
    assert abs(seen[1e-9]["a"][0]) < 0.5  # so small a gradient is lost in epsilon


def test_an_interrupt_keeps_what_was_learned(capsys):
    params, _ = target_problem()

    def gradients(p, step):
        if step == 7:
            raise KeyboardInterrupt
        return 1.0, {"W": p["W"] - 3, "inner": {"b": 0 * p["inner"]["b"]}}

    trained = train(params, gradients, ((step,) for step in range(100)), 100, rate=0.1)
    assert len(trained.losses) == 7
    assert np.all(trained.params["W"] > 0)
    assert "stopped after 7 of 100 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0, 3])), r"from 0 to 2, but reach from 0 to 3"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0])), r"logits \(2, 3\), targets \(1,\)"),
        (lambda: cross_entropy(np.ones((2, 3)), np.array([0, 1]), np.array([False, False])), r"kept 0 of \(2,\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sizes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
