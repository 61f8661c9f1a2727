"""The package beside PyTorch on one thread, in one run: `make bench`. Ratios count, not milliseconds."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from attn import blockwise_attention, causal_mask, scaled_dot_product_attention
from attn.training import cross_entropy, train
from attn.transformer import Tape, encoder_decoder, init_readout, init_stack

torch.set_num_threads(1)
LENGTHS = [512, 1024, 2048, 4096]
VOCAB_SIZE, N_SOURCE, N_TARGET, N_ROWS, N_HEADS = 57, 16, 17, 64, 2
both = pytest.mark.parametrize("who", ["course", "beside"])


def measure(benchmark, group, who, bar, function, note=""):
    benchmark.group = group
    benchmark.extra_info.update(who=who, bar=bar, note=note)
    benchmark(function)


def heads(n):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(8, n, 64)).astype(np.float32) for _ in range(3)]


@both
@pytest.mark.parametrize("n", LENGTHS)
def test_attention(benchmark, n, who):
    arrays = heads(n)
    tensors = [torch.from_numpy(array)[None] for array in arrays]
    work = {
        "course": lambda: scaled_dot_product_attention(*arrays),
        "beside": lambda: functional.scaled_dot_product_attention(*tensors),
    }
    measure(benchmark, f"attention, {n} tokens", who, 2.0, work[who], "the course returns the weights as well")


@both
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("n", LENGTHS)
def test_blockwise(benchmark, n, causal, who):
    arrays = heads(n)
    tensors = [torch.from_numpy(array)[None] for array in arrays]
    work = {
        "course": lambda: blockwise_attention(*arrays, causal=causal),
        "beside": lambda: functional.scaled_dot_product_attention(*tensors, is_causal=causal),
    }
    note = ""
    if who == "course":
        tracemalloc.start()
        work[who]()
        note = f"at most {tracemalloc.get_traced_memory()[1] / 2**20:.1f} MiB (to reach: 25 at 4096)"
        tracemalloc.stop()
    measure(benchmark, f"in blocks, {n} tokens{', causal' if causal else ''}", who, 1.4, work[who], note)


@both
def test_one_token_with_a_cache(benchmark, who):
    n, d = 1024, 64
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(3, d, d)) / 8
    K, V = X @ W[1], X @ W[2]

    def cached():
        K[-1], V[-1] = X[-1] @ W[1], X[-1] @ W[2]
        return scaled_dot_product_attention((X[-1] @ W[0])[None], K, V)[0]

    def again():
        return scaled_dot_product_attention(X @ W[0], X @ W[1], X @ W[2], causal_mask(n))[0][-1:]

    np.testing.assert_allclose(cached(), again(), atol=1e-12)
    products, products_again = 3 * d * d + 2 * n * d, 3 * n * d * d + 2 * n * n * d
    theory = f"{products / products_again:.4f}"
    measure(
        benchmark,
        f"one token with a cache, {n} tokens",
        who,
        theory,
        {"course": cached, "beside": again}[who],
        "beside: everything anew; to reach: by products",
    )


# --- a training step ------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, context, causal=False):
        parts = ((self.q, x), (self.k, context), (self.v, context))
        q, k, v = (layer(y).unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for layer, y in parts)
        return self.o(functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d, cross):
        super().__init__()
        self.attention, self.norm = Attention(d), nn.LayerNorm(d)
        self.cross, self.cross_norm = (Attention(d), nn.LayerNorm(d)) if cross else (None, None)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x, context=None):
        y = self.norm(x)
        x = x + self.attention(y, y, causal=self.cross is not None)
        if self.cross is not None:
            x = x + self.cross(self.cross_norm(x), context)
        return x + self.mlp(x)


class EncoderDecoder(nn.Module):
    """The course's model: two layers that read, one that writes, waves for positions."""

    def __init__(self, d):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCAB_SIZE, d), nn.Embedding(VOCAB_SIZE, d)
        self.encoder, self.decoder = nn.ModuleList([Layer(d, False), Layer(d, False)]), Layer(d, True)
        self.encoded, self.readout = nn.LayerNorm(d), nn.Sequential(nn.LayerNorm(d), nn.Linear(d, VOCAB_SIZE))
        angles = torch.arange(N_TARGET)[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)
        self.register_buffer("waves", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, source, target):
        x = self.source(source) + self.waves[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x)
        return self.readout(self.decoder(self.target(target) + self.waves[: target.shape[1]], self.encoded(x)))


def course_step(d, rows):
    rng = np.random.default_rng(0)
    sizes = {"vocab_size": VOCAB_SIZE, "d_model": d, "n_heads": N_HEADS}
    params = {
        "encoder": init_stack(rng, n_layers=2, positions="sinusoid", **sizes),
        "decoder": init_stack(rng, n_layers=1, cross=True, **sizes),
        "readout": init_readout(rng, d, VOCAB_SIZE),
    }

    def gradients(params, source, target):
        tape = Tape()
        logits, _ = encoder_decoder(tape, params, source, target[:, :-1], positions="sinusoid")
        loss, grad = cross_entropy(logits, target[:, 1:])
        return loss, tape.gradients(params, (logits, grad))

    return lambda: train(params, gradients, iter(rows), len(rows), rate=1e-3)


def torch_step(d, rows):
    torch.manual_seed(0)
    model = EncoderDecoder(d)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    tensors = [tuple(map(torch.from_numpy, row)) for row in rows]

    def steps():
        for source, target in tensors:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()

    return steps


@both
@pytest.mark.parametrize("d_model", [32, 64])
def test_twenty_training_steps(benchmark, d_model, who):
    rng = np.random.default_rng(1)
    rows = [
        (rng.integers(VOCAB_SIZE, size=(N_ROWS, N_SOURCE)), rng.integers(VOCAB_SIZE, size=(N_ROWS, N_TARGET + 1)))
        for _ in range(20)
    ]
    step = {"course": course_step, "beside": torch_step}[who](d_model, rows)
    measure(benchmark, f"twenty training steps, d_model {d_model}", who, 1.0, step)
