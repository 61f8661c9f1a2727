"""Many heads: against PyTorch, against one head at a time, and bad sizes."""

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose

from attn import Tape, causal_mask, multi_head_attention, scaled_dot_product_attention
from attn.heads import project_into_heads, project_out_of_heads

N, M, D_MODEL, D_K, D_V = 3, 5, 7, 11, 13


def random_heads(n_heads=4, n_key_heads=None, seed=0, d_v=D_V, d_k=D_K, d_model=D_MODEL):
    rng = np.random.default_rng(seed)
    n_key_heads = n_key_heads or n_heads
    shapes = [
        (n_heads, d_model, d_k),
        (n_key_heads, d_model, d_k),
        (n_key_heads, d_model, d_v),
        (n_heads, d_v, d_model),
    ]
    return [rng.normal(size=shape) / np.sqrt(d_model) for shape in shapes]


def random_tokens(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=(*shape, D_MODEL))


def test_heads_side_by_side_are_heads_one_by_one_added_up():
    X, (W_Q, W_K, W_V, W_O) = random_tokens(2, N), random_heads()
    output, weights = multi_head_attention(X, W_Q, W_K, W_V, W_O, causal_mask(N))
    total = 0
    for h in range(4):
        mixture, one_weights = scaled_dot_product_attention(X @ W_Q[h], X @ W_K[h], X @ W_V[h], causal_mask(N))
        assert_allclose(weights[:, h], one_weights)
        total = total + mixture @ W_O[h]
    assert_allclose(output, total)


@pytest.mark.parametrize("n_key_heads", [1, 2, 3, 6])
def test_grouped_queries_are_shared_key_heads_written_out(n_key_heads):
    X = random_tokens(N)
    W_Q, W_K, W_V, W_O = random_heads(6, n_key_heads)
    output, weights = multi_head_attention(X, W_Q, W_K, W_V, W_O)
    repeat = 6 // n_key_heads
    full, full_weights = multi_head_attention(
        X, W_Q, np.repeat(W_K, repeat, axis=0), np.repeat(W_V, repeat, axis=0), W_O
    )
    assert_allclose(output, full)
    assert_allclose(weights, full_weights)


def test_context_answers_and_x_asks():
    X, context, matrices = random_tokens(N), random_tokens(M, seed=2), random_heads()
    output, weights = multi_head_attention(X, *matrices, context=context)
    assert output.shape == (N, D_MODEL) and weights.shape == (4, N, M)
    changed, _ = multi_head_attention(X, *matrices, context=context[::-1])
    assert_allclose(changed, output)


def test_float32_stays_float32():
    output, weights = multi_head_attention(
        random_tokens(N).astype(np.float32), *(W.astype(np.float32) for W in random_heads())
    )
    assert output.dtype == weights.dtype == np.float32


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_outputs_and_gradients_agree_with_pytorch(torch, masked, cross):
    n_heads, d_model, d_k = 3, 15, 5
    rng = np.random.default_rng(0)
    X, context = rng.normal(size=(2, N, d_model)), rng.normal(size=(2, M, d_model))
    matrices = random_heads(n_heads, d_v=d_k, d_k=d_k, d_model=d_model)
    mask = causal_mask(N, M if cross else N) if masked else None
    module = torch.nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():  # PyTorch multiplies with transposed matrices and keeps all heads in one
        module.in_proj_weight.copy_(
            torch.tensor(np.concatenate([W.transpose(0, 2, 1).reshape(-1, d_model) for W in matrices[:3]]))
        )
        module.out_proj.weight.copy_(torch.tensor(matrices[3].reshape(-1, d_model).T))
    asking = torch.tensor(X, requires_grad=True)
    answering = torch.tensor(context, requires_grad=True) if cross else asking
    forbidden = None if mask is None else torch.tensor(~mask)
    expected, expected_weights = module(asking, answering, answering, attn_mask=forbidden, average_attn_weights=False)

    learned = dict(zip(["X", "W_Q", "W_K", "W_V", "W_O"], [X, *matrices])) | ({"context": context} if cross else {})
    with Tape() as tape:
        output, weights = multi_head_attention(X, *matrices, mask, context=context if cross else None)
    assert_allclose(output, expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    assert_allclose(weights, expected_weights.detach().numpy(), rtol=1e-10, atol=1e-12)

    grad_output = rng.normal(size=output.shape)
    expected.backward(torch.tensor(grad_output))
    grads = tape.gradients(learned, (output, grad_output))
    in_proj = module.in_proj_weight.grad.numpy().reshape(3, n_heads, d_k, d_model).transpose(0, 1, 3, 2)
    out_proj = module.out_proj.weight.grad.numpy().T.reshape(n_heads, d_k, d_model)
    expected_grads = [asking.grad.numpy(), *in_proj, out_proj, *([answering.grad.numpy()] if cross else [])]
    for grad, wanted in zip(grads.values(), expected_grads, strict=True):
        assert_allclose(grad, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_key_heads", [2, 4])
def test_the_gradient_agrees_with_central_differences(n_key_heads):
    X, context = random_tokens(2, N), random_tokens(2, M, seed=2)
    assert_gradients(
        lambda X, context, *matrices: multi_head_attention(X, *matrices, context=context),
        *(X, context, *random_heads(4, n_key_heads)),
    )


def test_biases_are_added_to_each_head_and_to_the_sum():
    X, (W_Q, _, _, W_O) = random_tokens(2, N), random_heads(d_v=D_K)
    b_Q, b_O = np.random.default_rng(4).normal(size=(4, D_K)), np.random.default_rng(5).normal(size=D_MODEL)
    Q = project_into_heads(X, W_Q, b_Q)
    assert_allclose(Q[:, 2], X @ W_Q[2] + b_Q[2])
    assert_allclose(project_out_of_heads(Q, W_O, b_O), sum(Q[:, h] @ W_O[h] for h in range(4)) + b_O)
    assert_gradients(lambda *a: project_out_of_heads(project_into_heads(*a[:3]), *a[3:]), X, W_Q, b_Q, W_O, b_O)


def test_types_and_empty_axes_are_kept():
    small = [np.full(W.shape, 100, np.int8) for W in random_heads()]
    X = np.full((N, D_MODEL), 100, np.int8)
    expected, _ = multi_head_attention(X.astype(float), *(W.astype(float) for W in small))
    assert_allclose(multi_head_attention(X, *small)[0], expected)
    for shape, d_v in [((0, N), D_V), ((2, 0), D_V), ((2, N), 0)]:
        X, matrices = random_tokens(*shape), random_heads(d_v=d_v)
        with Tape() as tape:
            output, weights = multi_head_attention(X, *matrices)
        assert output.shape == (*shape, D_MODEL) and weights.shape == (shape[0], 4, shape[1], shape[1])
        assert not output.any()
        found = tape.gradients(dict(enumerate([X, *matrices])), (output, np.ones_like(output))).values()
        assert [grad.shape for grad in found] == [array.shape for array in (X, *matrices)]
        assert not any(grad.any() for grad in found)
    W_Q, W_K, W_V, W_O = random_heads()
    with pytest.raises(TypeError, match="W_O must hold real numbers, but its type is complex128"):
        multi_head_attention(random_tokens(N), W_Q, W_K, W_V, W_O + 0j)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((N, 8))}, r"X has shape \(3, 8\), W_Q has shape \(4, 7, 11\)"),
        ({"context": np.ones((M, 6))}, r"context has shape \(5, 6\), W_Q has shape \(4, 7, 11\)"),
        ({"W_K": np.ones((4, 7, 12))}, r"\(4, 7, 11\), \(4, 7, 12\)"),
        ({"W_V": np.ones((2, 7, 13))}, r"\(4, 7, 11\), \(4, 7, 11\), \(2, 7, 13\)"),
        ({"W_K": np.ones((3, 7, 11)), "W_V": np.ones((3, 7, 13))}, r"W_K has 3, W_Q has 4"),
        ({"W_O": np.ones((4, 12, 7))}, r"W_O must have shape \(4, 13, 7\).*\(4, 12, 7\)"),
        ({"W_K": np.ones((0, 7, 11)), "W_V": np.ones((0, 7, 13))}, r"W_K has 0, W_Q has 4"),
        ({"W_V": np.ones((4, 6, 13))}, r"\(4, 7, 11\), \(4, 7, 11\), \(4, 6, 13\)"),
        ({"W_O": np.ones((3, 13, 7))}, r"W_O must have shape \(4, 13, 7\).*\(3, 13, 7\)"),
        ({"X": np.ones(D_MODEL)}, r"X has shape \(7,\), W_Q has shape \(4, 7, 11\)"),
        ({"W_Q": np.ones((7, 11))}, r"W_Q needs three axes.*\(7, 11\)"),
    ],
)
def test_sizes_that_do_not_fit_are_named(change, message):
    arguments = dict(zip(["W_Q", "W_K", "W_V", "W_O"], random_heads()), X=random_tokens(N)) | change
    with pytest.raises(ValueError, match=message):
        multi_head_attention(**arguments)
