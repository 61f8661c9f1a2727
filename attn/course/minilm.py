"""A model that many use, all-MiniLM-L6-v2, read into this package's own encoder.

Its weights are no part of this package. Whoever has the folder that Hugging Face hands out can run it here; what it
needs besides NumPy is the optional extra `minilm`.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attn.parameters import TransformerConfig

SOURCE = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
CONFIG = TransformerConfig(
    vocab_size=30_522, d_model=384, n_heads=12, n_layers=6, n_positions=512, norm="post", unembedding="none",
    n_token_types=2, epsilon=1e-12,
)  # fmt: skip


@dataclass(frozen=True)
class Encoded:
    """A sentence in the model's own tokens.

    Parameters
    ----------
    text : str
    ids : array of int, shape (n,)
    tokens : tuple of str
        The pieces as the vocabulary spells them; one that continues a word begins with "##".
    words : tuple of str
        For each token the word that it is or belongs to, in small letters; "" for [CLS] and [SEP].
    starts : tuple of bool
        Whether a token is the first of its word.
    """

    text: str
    ids: np.ndarray
    tokens: tuple
    words: tuple
    starts: tuple

    def place(self, word, nth=0):
        """Return where a word stands, as a slice of tokens.

        Parameters
        ----------
        word : str
        nth : int
            0 for the first time that it is there.

        """
        first = [i for i, (mine, start) in enumerate(zip(self.words, self.starts)) if start and mine == word.lower()]
        if not 0 <= nth < len(first):
            raise ValueError(f"{word!r} is there {len(first)} times, not {nth + 1}, in {self.text!r}")
        rest = self.starts[first[nth] + 1 :]
        return slice(first[nth], first[nth] + 1 + (rest.index(True) if True in rest else len(rest)))


def read_minilm(folder):
    """Read all-MiniLM-L6-v2 from the folder in which its files are.

    Parameters
    ----------
    folder : path
        Holds model.safetensors and tokenizer.json.

    Returns
    -------
    params : nested dict of arrays
        For `encoder`, in float32.
    config : TransformerConfig
    tokenizer : tokenizers.Tokenizer
        For `encode`.

    Raises
    ------
    ValueError
        If a file is not the one that the recordings were made with.

    Notes
    -----
    Reimers and Gurevych 2019; Wang et al. 2020. The file also holds a pooler, which sentence vectors do without.
    """
    contents = {name: _checked(Path(folder) / name, digest) for name, digest in SHA256.items()}
    from safetensors.numpy import load
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(contents["tokenizer.json"].decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _as_params(load(contents["model.safetensors"])), CONFIG, tokenizer


def encode(tokenizer, text):
    """Split a text into tokens, [CLS] before them and [SEP] after.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer
    text : str

    Returns
    -------
    Encoded
    """
    encoding = tokenizer.encode(text)
    numbers = encoding.word_ids
    spans = [None if number is None else encoding.word_to_chars(number) for number in numbers]
    words = tuple("" if span is None else text[slice(*span)].lower() for span in spans)
    starts = tuple(number is None or number != before for before, number in zip([None, *numbers], numbers))
    return Encoded(text, np.array(encoding.ids), tuple(encoding.tokens), words, starts)


def _checked(path, digest):
    """Return the content of a file, or say what is wrong with it."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path.name} in {path.parent}; the model is at {SOURCE}")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ValueError(
            f"{path} is not the file that was measured: its SHA-256 is {found[:12]}…, and should be {digest[:12]}…"
        )
    return content


def _as_params(file):
    """Turn the file's names and shapes, which are PyTorch's, into this package's."""
    tables = {"embedding": "word", "positions": "position", "token_types": "token_type"}
    params = {name: file[f"embeddings.{theirs}_embeddings.weight"] for name, theirs in tables.items()}
    params["norm"] = _norm(file, "embeddings.LayerNorm")
    for number in range(1, CONFIG.n_layers + 1):
        at = f"encoder.layer.{number - 1}."
        W_1, b_1 = _linear(file, at + "intermediate.dense")
        W_2, b_2 = _linear(file, at + "output.dense")
        params[f"layer {number}"] = {
            "attention": {
                "norm": _norm(file, at + "attention.output.LayerNorm"),
                **_attention(file, at + "attention."),
            },
            "mlp": {"norm": _norm(file, at + "output.LayerNorm"), "W_1": W_1, "W_2": W_2, "b_1": b_1, "b_2": b_2},
        }
    return params


def _attention(file, at):
    """Split the matrices of all heads, which stand side by side, into those of each."""
    heads = CONFIG.n_heads, CONFIG.d_k
    parts = {}
    for name, theirs in {"Q": "query", "K": "key", "V": "value"}.items():
        W, b = _linear(file, f"{at}self.{theirs}")
        parts[f"W_{name}"] = np.ascontiguousarray(W.reshape(-1, *heads).transpose(1, 0, 2))
        parts[f"b_{name}"] = b.reshape(heads)
    W_O, b_O = _linear(file, f"{at}output.dense")
    return {**parts, "W_O": W_O.reshape(*heads, -1), "b_O": b_O}


def _linear(file, name):
    return np.ascontiguousarray(file[f"{name}.weight"].T), file[f"{name}.bias"]


def _norm(file, name):
    return {"gain": file[f"{name}.weight"], "bias": file[f"{name}.bias"]}
