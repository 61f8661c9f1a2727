"""mlx-lm, and CTranslate2 with a model that gives the same logits everywhere; what is given switches drawing on."""

import tempfile
from functools import partial

import ctranslate2
import mlx.core as mx
import numpy as np
from ctranslate2.specs import TransformerDecoderModelSpec
from mlx_lm.sample_utils import make_logits_processors, make_sampler

PINS = ["mlx-lm==0.32.2", "mlx==0.32.4", "mlx-cpu==0.32.4", "ctranslate2==4.8.5", "numpy==2.4.6"]


def known(on, **options):
    """Return the options that are given, and with them what switches drawing on."""
    given = {name: value for name, value in options.items() if value is not None}
    return on | given if given else {}


def of_mlx(logits, n, *, temperature=None, top_k=None, top_p=None, penalty=None, prompt=None):
    mx.random.seed(0)
    rows = mx.array(np.tile(logits, (n, 1)))
    for process in make_logits_processors(repetition_penalty=penalty):
        rows = process(mx.array(prompt), rows)
    given = known({"temp": 1.0}, temp=temperature, top_k=top_k, top_p=top_p)
    return make_sampler(**given)(rows - mx.logsumexp(rows, axis=-1, keepdims=True))


def of_ctranslate2(
    logits, n, *, temperature=None, top_k=None, top_p=None, penalty=None, prompt=(0,), score=False, include=True
):  # fmt: skip
    spec, zeros = TransformerDecoderModelSpec.from_config(1, 1, no_final_norm=True), np.zeros((99, 8), np.float32)
    layer, words = spec.decoder.layer[0], [str(token) for token in range(len(logits))]
    for part, size in zip((*layer.self_attention.linear, layer.ffn.linear_0, layer.ffn.linear_1), (24, 8, 8, 8)):
        part.weight, part.bias = zeros[:size], np.zeros(size, np.float32)
    for norm in (layer.self_attention.layer_norm, layer.ffn.layer_norm):
        norm.gamma = norm.beta = zeros[0]
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = np.zeros((len(logits), 8), np.float32)
    spec.decoder.position_encodings.encodings, spec.decoder.projection.bias = zeros, logits
    spec.register_vocabulary(words)
    given = {"sampling_temperature": temperature, "sampling_topk": top_k, "sampling_topp": top_p}
    given = known({"sampling_topk": 0}, **given, repetition_penalty=penalty)
    length = len(prompt) if include else 1  # the first token of the prompt is never counted
    about = {"max_length": length, "include_prompt_in_result": include, "return_scores": True, "end_token": []}
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
        spec.save(folder)
        ctranslate2.set_random_seed(1)
        texts = [[words[token] for token in prompt]] * n
        found = ctranslate2.Generator(folder).generate_batch(texts, **about, **given)
    tokens = [one.sequences_ids[0][-1] for one in found]
    return (tokens, [one.scores[0] for one in found]) if score else tokens


FUNCTIONS = {
    "mlx-lm make_sampler": of_mlx,
    "ctranslate2 Generator.generate_batch": of_ctranslate2,
    "ctranslate2 Generator.generate_batch, include_prompt_in_result=False": partial(of_ctranslate2, include=False),
}
