"""The checks to take along: they find planted mistakes, and none in attention that is right."""

import ast
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from attn import scaled_dot_product_attention
from attn.positions import rotary
from attn_course import checks_for_yours
from attn_course.checks_for_yours import (
    D,
    N,
    check_attention,
    check_layer,
    check_padding,
    check_rotary,
    check_steps,
    report,
    turned,
)


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def scores_of(Q, K):
    return Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])


def attend(Q, K, V, allowed=None):
    return softmax(np.where(True if allowed is None else allowed, scores_of(Q, K), -np.inf)) @ V


def in_half(Q, K, V, allowed):
    scores = scores_of(Q.astype(np.float16), K.astype(np.float16)).astype(np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.where(allowed, scores, np.float16(-np.inf)))
        return powers / powers.sum(axis=-1, keepdims=True) @ V


def dropped(Q, K, V, allowed, rng=np.random.default_rng(0)):  # noqa: B008
    return attend(Q, K, V, allowed) * (rng.random(V.shape) > 0.1) / 0.9


def summed_in_half(Q, K, V, allowed):
    powers = np.exp(np.where(allowed, scores_of(Q, K), -np.inf) - scores_of(Q, K).max(axis=-1, keepdims=True))
    return powers / np.add.accumulate(powers.astype(np.float16), axis=-1)[..., -1:] @ V


def root_of_values(Q, K, V, allowed):
    return attend(Q * np.sqrt(Q.shape[-1] / V.shape[-1]), K, V, allowed)


def cut_to_queries(Q, K, V, allowed):
    n = Q.shape[-2]
    return attend(Q, K[..., :n, :], V[..., :n, :], allowed if allowed is True else allowed[:, :n])


def changed_in_place(Q, K, V, allowed):
    Q *= np.sqrt(D)
    return attend(Q / np.sqrt(D), K, V, allowed)


MISTAKES = {  # by the check that is meant for them; True is allowed where there is no mask
    "weights sum to 1": [lambda Q, K, V, allowed: softmax(np.where(allowed, scores_of(Q, K), -1e9), axis=-2) @ V],
    "the root": [  # that of the number of tokens, and none
        lambda Q, K, V, allowed: attend(Q * np.sqrt(D / N), K, V, allowed),
        lambda Q, K, V, allowed: attend(Q * np.sqrt(D), K, V, allowed),
    ],
    "what is hidden has no effect": [  # a mask turned round, and one of 0 and 1 that is added
        lambda Q, K, V, allowed: attend(Q, K, V, allowed is True or ~allowed | np.eye(N, dtype=bool)),
        lambda Q, K, V, allowed: softmax(scores_of(Q, K) + np.logical_not(allowed)) @ V,
    ],
    "weights sum to 1 under a mask": [lambda Q, K, V, allowed: (softmax(scores_of(Q, K)) * allowed) @ V],
    "large scores under a mask": [lambda Q, K, V, allowed: softmax(scores_of(Q, K) + np.where(allowed, 0, -1e4)) @ V],
    "the weights of many keys sum to 1": [summed_in_half],
    "the root of another width": [lambda Q, K, V, allowed: attend(Q * np.sqrt(Q.shape[-1] / D), K, V, allowed)],
    "values of another width": [root_of_values],
    "a mask with holes": [
        lambda Q, K, V, allowed: attend(Q, K, V, allowed is True or np.tri(*allowed.shape, dtype=bool)),
    ],
    "a mask for two queries": [cut_to_queries],
    "a query that may see nothing": [lambda Q, K, V, allowed: softmax(np.where(allowed, scores_of(Q, K), -1e30)) @ V],
    "twice the same": [dropped],
    "large scores": [in_half],
    "heads and texts do not mix": [lambda Q, K, V, allowed: attend(Q, K[:, :1].repeat(4, axis=1), V, allowed)],
    "inputs stay as they are": [changed_in_place],
}


@pytest.mark.parametrize(("finds", "mistaken"), [(finds, one) for finds, all in MISTAKES.items() for one in all])
def test_a_planted_mistake_is_found_by_the_check_that_is_meant_for_it(finds, mistaken):
    findings = dict(check_attention(lambda Q, K, V, allowed: mistaken(Q, K, V, True if allowed is None else allowed)))
    assert findings[finds], report(findings.items())


def assert_right(findings):
    assert not any(wrong for _, wrong in findings), report(findings)


def test_attention_that_is_right_passes():
    def ours(Q, K, V, allowed):
        return scaled_dot_product_attention(Q, K, V, allowed)[0]

    def causal(Q, K, V):
        n, m = Q.shape[-2], K.shape[-2]
        return ours(Q, K, V, np.tri(n, m, m - n, dtype=bool))

    def grouped(Q, K, V, allowed):
        times = Q.shape[1] // K.shape[1]
        return ours(Q, K.repeat(times, axis=1), V.repeat(times, axis=1), allowed)

    for seed in range(5):
        findings = check_attention(grouped, causal=causal, groups=True, dtype="float64", seed=seed)
        assert len(findings) == 21
        assert_right(findings)


def masked(scores, allowed):
    return scores if allowed is None else scores.masked_fill(~allowed, -np.inf)


def in_halves(torch, S, allowed):
    return torch.softmax(masked(S, allowed).float(), -1)


RIGHT = {
    "the product in half": lambda torch, Q, K, V, allowed: in_halves(torch, Q @ K.mT / Q.shape[-1] ** 0.5, allowed),
    "the query scaled": lambda torch, Q, K, V, allowed: in_halves(torch, Q / Q.shape[-1] ** 0.5 @ K.mT, allowed),
    "both scaled": lambda torch, Q, K, V, allowed: in_halves(
        torch, Q / Q.shape[-1] ** 0.25 @ (K / Q.shape[-1] ** 0.25).mT, allowed
    ),
    "logarithms": lambda torch, Q, K, V, allowed: torch.log_softmax(
        masked(Q @ K.mT / Q.shape[-1] ** 0.5, allowed).float(), -1
    ).exp(),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("weigh", RIGHT.values(), ids=RIGHT)
def test_attention_that_is_right_in_half_precision_passes(torch, weigh, dtype):
    """With rows that see nothing as NaN, and as zeros."""

    def tensor(array):
        return torch.tensor(array) if array.dtype == bool else torch.tensor(array).to(getattr(torch, dtype))

    for seed, empty in [(0, np.nan), (1, 0.0), (2, 0.0)]:
        findings = check_attention(
            lambda *given, empty=empty: weigh(torch, *given).nan_to_num(empty).to(given[2].dtype) @ given[2],
            tensor=tensor, dtype=dtype, seed=seed,
        )  # fmt: skip
        assert_right(findings)


def test_a_flag_that_drops_the_mask_and_a_layer_that_answers_otherwise_are_found():
    causal = lambda Q, K, V: attend(Q, K, V, np.tri(Q.shape[-2], K.shape[-2], dtype=bool))  # noqa: E731
    both = lambda Q, K, V, allowed: attend(Q, K, V, allowed & np.tri(N, dtype=bool))  # noqa: E731
    assert not dict(check_attention(attend, both=both))["the causal mask and another"]
    assert dict(check_attention(attend, both=lambda *given: causal(*given[:3])))["the causal mask and another"]
    W = np.random.default_rng(0).normal(size=(3, 8, 8))
    layer = lambda X: attend(*(X @ one for one in W))  # noqa: E731
    findings = dict(check_layer(layer, 8, also=[layer, lambda X: attend(*(X @ one for one in W), np.tri(N) > 0)]))
    assert not findings["another way to ask, 1"] and findings["another way to ask, 2"]


def test_masks_of_the_wrong_corner_and_groups_in_the_wrong_order_are_found():
    corner = dict(check_attention(attend, causal=lambda Q, K, V: attend(Q, K, V, np.tri(Q.shape[-2], N, dtype=bool))))
    assert corner["new queries, old keys"] and not corner["the causal mask"]
    upper = dict(check_attention(attend, causal=lambda Q, K, V: attend(Q, K, V, np.tri(N, dtype=bool).T)))
    assert upper["the causal mask"]

    def tiled(Q, K, V, allowed):
        times = Q.shape[1] // K.shape[1]
        return attend(Q, np.tile(K, (1, times, 1, 1)), np.tile(V, (1, times, 1, 1)), allowed)

    findings = check_attention(tiled, groups=True)
    assert [name for name, wrong in findings if wrong] == ["grouped heads"]


def layer(X, cut, causal=False):
    W = np.random.default_rng(1).normal(size=(4, 16, 16)) / 4
    Q, K, V = (cut(X @ W[i]) for i in range(3))
    mixed = attend(Q, K, V, np.tri(X.shape[1], dtype=bool) if causal else None)
    return mixed.swapaxes(1, 2).reshape(X.shape) @ W[3]


def by_transpose(X):
    return X.reshape(*X.shape[:2], 4, 4).swapaxes(1, 2)


def by_view(X):
    return X.reshape(X.shape[0], 4, X.shape[1], 4)


def test_heads_that_are_cut_by_view_are_found():
    for causal, finds in [(False, "words in another order"), (True, "the causal mask")]:
        right, wrong = (
            check_layer(partial(layer, cut=cut, causal=causal), 16, causal=causal) for cut in (by_transpose, by_view)
        )
        assert_right(right)
        assert dict(wrong)[finds]


def test_a_layer_that_leaks_is_found_though_it_begins_with_a_norm():
    def normed(X):
        return layer((X - X.mean(-1, keepdims=True)) / X.std(-1, keepdims=True), by_transpose)

    assert dict(check_layer(normed, 16, causal=True))["the causal mask"]


@pytest.mark.parametrize("pairs", ["neighbours", "halves"])
def test_rotary_pairs_bases_and_offsets_are_told_apart(pairs):
    other = {"neighbours": "halves", "halves": "neighbours"}[pairs]

    def turn(which=pairs, base=10_000.0, moved=0):
        return lambda X, positions: turned(np.asarray(X), np.asarray(positions) * (1 + moved), which, base)

    assert_right(check_rotary(turn(), pairs=pairs))
    for wrong in (turn(other), turn(base=100_000.0), turn(moved=1)):
        assert dict(check_rotary(wrong, pairs=pairs))["the pairs and the base"]
    learned = np.random.default_rng(0).normal(size=(50, D))
    added = dict(check_rotary(lambda X, positions: X + learned[positions], pairs=pairs))
    assert added["the first place"] and added["only distances count"]


def test_rotary_of_the_package_turns_neighbours():
    assert_right(check_rotary(lambda X, positions: rotary(X, start=int(positions[0])), pairs="neighbours"))


def test_a_cache_that_starts_its_places_anew_and_padding_that_counts_are_found():
    X = np.random.default_rng(0).normal(size=(N, D))

    def at_once(X):
        turned_X = turned(X, np.arange(len(X)), "halves", 10_000)
        return attend(turned_X, turned_X, X, np.tri(len(X), dtype=bool))

    def steps(X, place):
        def one(n):
            keys = turned(X[: n + 1], np.arange(n + 1), "halves", 10_000)
            return attend(turned(X[n : n + 1], [place(n)], "halves", 10_000), keys, X[: n + 1])[0]

        return np.stack([one(n) for n in range(len(X))])

    assert not check_steps(at_once, lambda X: steps(X, lambda n: n), X)[0][1]
    assert check_steps(at_once, lambda X: steps(X, lambda n: 0), X)[0][1]

    table = np.random.default_rng(1).normal(size=(9, D))

    def padded(rows, hides, counts):
        longest, found = max(map(len, rows)), []
        for row in rows:
            n_padding = longest - len(row)
            places = np.arange(longest) - (0 if counts else n_padding)
            X = table[[0] * n_padding + row] + np.sin(places[:, None] * 0.3)
            found.append(attend(X[-1:], X, X, (np.arange(longest) >= n_padding) | (not hides))[0])
        return np.stack(found)

    for hides, counts, right in [(True, False, True), (False, False, False), (True, True, False)]:
        wrong = check_padding(partial(padded, hides=hides, counts=counts), [1, 2, 3])[0][1]
        assert (wrong == "") == right


def test_a_function_that_fails_is_reported_and_not_raised():
    assert "✗ the shape: the output has shape (6, 8)" in report(check_attention(lambda Q, K, V, allowed: V[0, 0]))
    assert "✗ the shape: ZeroDivisionError: " in report(check_attention(lambda *arrays: 1 / 0))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_functions_of_pytorch_pass_in_each_precision(torch, dtype):
    function = torch.nn.functional.scaled_dot_product_attention

    def tensor(array):
        made = torch.tensor(array)
        return made if made.dtype == torch.bool else made.to(getattr(torch, dtype))

    def grouped(Q, K, V, allowed):
        return function(Q, K, V, attn_mask=allowed, enable_gqa=True)

    def turned_round(Q, K, V, allowed):
        return function(Q, K, V, attn_mask=None if allowed is None else ~allowed)

    def causal(*qkv):
        return function(*qkv, is_causal=True)

    check = partial(check_attention, tensor=tensor, dtype=dtype)
    assert_right(check(grouped, groups=True))
    found = dict(check(grouped, causal=causal))
    assert found["the causal mask"] == "" and "bottom right" in found["new queries, old keys"]  # its mask is top left
    assert dict(check(turned_round))["what is hidden has no effect"]


def test_attention_of_transformers_passes(torch, transformers):
    llama = transformers.models.llama.modeling_llama

    def turn(X, positions):
        angles = positions[:, None].float() * 10_000 ** (-torch.arange(0, D, 2) / D)
        cos, sin = (torch.cat([table, table], -1)[None] for table in (angles.cos(), angles.sin()))
        return llama.apply_rotary_pos_emb(X[None, None].float(), X[None, None].float(), cos, sin)[0][0, 0]

    assert_right(check_rotary(turn, pairs="halves", tensor=torch.tensor))
    assert dict(check_rotary(turn, pairs="neighbours", tensor=torch.tensor))["the pairs and the base"]

    def eager(Q, K, V, allowed):
        module = torch.nn.Module().eval()
        module.num_key_value_groups = Q.shape[1] // K.shape[1]
        mask = None if allowed is None else torch.where(allowed, 0.0, -torch.inf)[None, None]
        return llama.eager_attention_forward(module, Q.float(), K.float(), V.float(), mask, Q.shape[-1] ** -0.5)[
            0
        ].transpose(1, 2)

    assert_right(check_attention(eager, tensor=torch.tensor, groups=True))


def test_the_file_needs_numpy_alone():
    tree = ast.parse(Path(checks_for_yours.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [alias.name for node in imports for alias in node.names] == ["textwrap", "numpy"]


def test_what_the_page_says_of_pytorch_s_fused_functions_is_so(torch):
    fused = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 1, 2, 4, 8)
    other = torch.cat([V[:, :, :3], V[:, :, 3:] + 1], dim=2)  # the last value changes
    past = torch.ones(4, 4).tril()

    from torch.nn.attention.bias import causal_lower_right

    alone, lower_right = V[:, :, :1], causal_lower_right(1, 4)
    torch.testing.assert_close(fused(Q[:, :, :1], K, V, is_causal=True), alone)
    torch.testing.assert_close(fused(Q[:, :, :1], K, V, attn_mask=lower_right), fused(Q[:, :, :1], K, V))

    def leak(mask):
        return (fused(Q, K, V, attn_mask=mask) - fused(Q, K, other, attn_mask=mask))[:, :, :3].abs().max()

    assert leak(past) > 0.1 and leak(past.bool()) == 0
    with pytest.raises(RuntimeError, match="attn_mask dtype"):
        fused(Q, K, V, attn_mask=past.long())

    module, X = torch.nn.MultiheadAttention(16, 2, dropout=0.5, batch_first=True).eval(), torch.randn(1, 4, 16)
    changed = torch.cat([X[:, :3], X[:, 3:] + 1], dim=1)
    first, second = (module(one, one, one, attn_mask=~past.bool())[0][:, :3] for one in (X, changed))
    torch.testing.assert_close(first, second)
    assert torch.equal(module(X, X, X)[0], module(X, X, X)[0])
    assert not torch.equal(fused(Q, K, V, dropout_p=0.5), fused(Q, K, V, dropout_p=0.5))

    Q.requires_grad_()
    blind = fused(Q, K, V, attn_mask=past.tril(-1).bool())
    (grad,) = torch.autograd.grad(blind.sum(), Q)
    assert not blind[:, :, 0].any() and grad.isfinite().all()
    unseeing = {"attn_mask": ~past.tril(-1).bool()}
    assert module(X, X, X, **unseeing)[0][:, 0].isnan().all()
    assert module.train()(X, X, X, **unseeing, need_weights=False)[0].isfinite().all()

    owners = torch.stack([torch.zeros(1, 4, 8), torch.ones(1, 4, 8)], dim=1)
    mixed = fused(torch.randn(1, 4, 4, 8), torch.randn(1, 2, 4, 8), owners, enable_gqa=True)
    assert mixed[0, :, 0, 0].round().tolist() == [0, 0, 1, 1]
