"""What tests of released models share: small sizes, and what transformers and llama.cpp compute."""

import json
import urllib.request

import tokenizers

# Each size is another one, and none a default, so that nothing of what is said can be left unread.
SIZES = {
    "vocab_size": 59, "hidden_size": 30, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 211, "rms_norm_eps": 0.02,
    "rope_parameters": {"rope_type": "default", "rope_theta": 77.0},
}  # fmt: skip
GPT2 = {
    "vocab_size": 59, "n_embd": 30, "n_head": 5, "n_layer": 3, "n_positions": 211, "layer_norm_epsilon": 0.02,
    "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
BERT = {
    "vocab_size": 59, "hidden_size": 30, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 5,
    "max_position_embeddings": 211, "layer_norm_eps": 0.02, "type_vocab_size": 3,
}  # fmt: skip


def logits_of(torch, model, tokens):
    """Return what a model of PyTorch computes: array, shape (n, vocab_size)."""
    with torch.inference_mode():
        return model(torch.tensor(tokens)[None])[0][0].numpy()


def write(gguf, path, kind, said, arrays):
    """Write a GGUF file of a kind of model: what its header says, by names without that kind, and its arrays."""
    writer = gguf.GGUFWriter(path, kind)
    add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    for name, value in said.items():
        whole = name if name.startswith("tokenizer.") else f"{kind}.{name}"
        add.get(type(value), writer.add_array)(whole, value)
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def smollm2_in_tokenizers(ours):
    """Return SmolLM2's tokenizer in the library tokenizers, without its marks."""
    vocabulary = {word: token for token, word in enumerate(ours.words)}
    theirs, cut = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, ours.joins)), tokenizers.pre_tokenizers
    theirs.pre_tokenizer = cut.Sequence([cut.Digits(individual_digits=True), cut.ByteLevel(add_prefix_space=False)])
    return theirs


def params_of(xllamacpp, path, n_ctx):
    """Return what a server of llama.cpp is started with, on one thread."""
    about = xllamacpp.CommonParams()
    about.model.path, about.n_ctx, about.warmup, about.verbosity = str(path), n_ctx, False, -1
    about.n_parallel = about.cpuparams.n_threads = about.cpuparams_batch.n_threads = 1
    return about


def post(server, address, **question):
    """Return what a server of llama.cpp on this machine answers."""
    request = urllib.request.Request(f"{server.listening_address}/{address}", json.dumps(question).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
