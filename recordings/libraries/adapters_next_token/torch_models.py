"""transformers and x-transformers, with models that give the same logits everywhere; drawing is switched on."""

import torch
from transformers import GPTJConfig, GPTJForCausalLM
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

PINS = ["transformers==5.24.0", "x-transformers==2.31.10", "torch==2.13.0", "numpy==2.4.6"]


def head(logits):
    """Return a last layer that gives these logits; what is drawn hereafter is always the same."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, len(logits))
    layer.weight.data, layer.bias.data = torch.zeros_like(layer.weight), torch.tensor(logits)
    return layer


def known(**options):
    return {name: value for name, value in options.items() if value is not None}


def generate(logits, n, *, temperature=None, top_k=None, top_p=None, penalty=None, prompt=None, score=False):
    model = GPTJForCausalLM(GPTJConfig(vocab_size=len(logits), n_embd=8, n_layer=0, n_head=1, eos_token_id=None)).eval()
    model.lm_head = head(logits)
    given = known(temperature=temperature, top_k=top_k, top_p=top_p, repetition_penalty=penalty)
    about = {"do_sample": True, "max_new_tokens": 1, "return_dict_in_generate": True, "output_scores": True}
    found = model.generate(torch.tensor([prompt or [0]] * n), **about, **given)
    tokens = found.sequences[:, -1]
    return (tokens, model.compute_transition_scores(found.sequences, found.scores)[:, 0]) if score else tokens


def of_x(logits, n, temperature, name, **cut):
    net = TransformerWrapper(
        num_tokens=len(logits), max_seq_len=9, attn_layers=Decoder(dim=8, depth=1, attn_dim_head=8)
    )
    net.to_logits = head(logits)
    about = known(temperature=temperature, filter_logits_fn=name, filter_kwargs=known(**cut))
    return AutoregressiveWrapper(net).generate(torch.zeros(n, 1, dtype=torch.long), 1, **about)[:, 0]


def x_top_k(logits, n, *, temperature=None, top_k=None):
    return of_x(logits, n, temperature, None, k=top_k)


def x_top_p(logits, n, *, temperature=None, top_p=None):
    return of_x(logits, n, temperature, "top_p", thres=top_p)


FUNCTIONS = {
    "transformers generate, do_sample=True": generate,
    "x-transformers generate": x_top_k,
    "x-transformers generate, filter_logits_fn=top_p": x_top_p,
}
