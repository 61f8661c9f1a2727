"""Modules on PyTorch: those of models in transformers, and of three other packages."""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D
from rotary_embedding_torch import RotaryEmbedding
from transformers import GlmConfig, GPT2Config, GPT2Model, LlamaConfig
from transformers.models.glm import modeling_glm as glm
from transformers.models.llama import modeling_llama as llama
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from x_transformers import x_transformers

PINS = [
    "transformers==5.24.0", "x-transformers==2.31.10", "rotary-embedding-torch==0.9.1", "positional-encodings==6.0.3",
    "torch==2.13.0", "numpy==2.4.6",
]  # fmt: skip


def rows_of(X, bfloat16=False):
    return torch.tensor(X, dtype=torch.bfloat16 if bfloat16 else torch.float32)


def counted(X, start=0):
    return torch.arange(start, start + X.shape[2])[None]


def of_model(module, apply, X, start, bfloat16):
    return apply(*[rows_of(X, bfloat16)] * 2, *module(rows_of(X, bfloat16), counted(X, start)))[0].float()


def of_llama(kind):
    def turn(X, *, start=0, longer=1, bfloat16=False):
        about = {"rope_type": kind, "factor": float(longer), "original_max_position_embeddings": 2048}
        config = LlamaConfig(head_dim=X.shape[3], max_position_embeddings=2048, rope_parameters=about)
        return of_model(llama.LlamaRotaryEmbedding(config), llama.apply_rotary_pos_emb, X, start, bfloat16)

    return turn


def of_glm(X, *, start=0, part=None, bfloat16=False):
    about = {"rope_type": "default", "partial_rotary_factor": part / X.shape[3] if part else 1.0}
    config = GlmConfig(head_dim=X.shape[3], rope_parameters=about)
    return of_model(glm.GlmRotaryEmbedding(config), glm.apply_rotary_pos_emb, X, start, bfloat16)


def of_gpt2(X, *, start=0, n_places=16, padding=0):
    model = GPT2Model(GPT2Config(n_embd=X.shape[3], n_layer=0, n_head=1, n_positions=n_places)).eval()
    model.wpe.weight.data, model.ln_f = torch.arange(n_places)[:, None] + torch.zeros(X.shape[3]), torch.nn.Identity()
    about = {"attention_mask": counted(X) >= padding, "position_ids": counted(X, start) if start else None}
    return model(inputs_embeds=torch.zeros(X.shape[1:]), **about)[0].detach()


def of_x(X, *, start=0, longer=1, part=None, bfloat16=False):
    module = x_transformers.RotaryEmbedding(part or X.shape[3], interpolation_factor=longer)
    return x_transformers.apply_rotary_pos_emb(rows_of(X, bfloat16), *module(counted(X, start))).float()


def rotary(X, *, start=0, longer=1, part=None, bfloat16=False):
    module = RotaryEmbedding(part or X.shape[3], interpolate_factor=longer)
    return module.rotate_queries_or_keys(rows_of(X, bfloat16), offset=start).detach().float()


FUNCTIONS = {f"transformers Llama, {kind}": of_llama(kind) for kind in ("linear", "dynamic", "yarn")} | {
    "transformers GLM": of_glm,
    "transformers M2M100": lambda X, *, padding=0: M2M100SinusoidalPositionalEmbedding(16, X.shape[3], 1)(
        1 + (counted(X) >= padding)
    ),  # where 1 is padding
    "transformers GPT-2": of_gpt2,
    "x-transformers RotaryEmbedding": of_x,
    "rotary-embedding-torch RotaryEmbedding": rotary,
    "positional-encodings PositionalEncoding1D": lambda X: PositionalEncoding1D(X.shape[3])(rows_of(X[0])),
}
