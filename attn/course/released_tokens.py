"""The tokenizers of released models, as their files describe them, in the library `tokenizers` (`make models`)."""

from pathlib import Path

import numpy as np

from attn.course.released import MARKS, content_of, open_gguf

WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
OTHERS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DIGITS = {"llama-bpe": r"\p{N}{1,3}", "qwen2": r"\p{N}"}  # that go together, by what a GGUF file calls such a cut


class TextTokenizer:
    """Turns text into tokens and back, as `attn.bytepairs.Tokenizer`, with what the model wants before and behind it.

    Parameters
    ----------
    theirs : tokenizers.Tokenizer
    """

    def __init__(self, theirs):
        self._theirs = theirs
        self._before = theirs.encode("a", add_special_tokens=False).ids[-1:]  # so that a word keeps the space before it
        self._cut = len(self._text(self._before))

    def encode(self, text):
        """Return the tokens of a text: array of int, shape (n,)."""
        return np.array(self._theirs.encode(text).ids, dtype=int)

    def decode(self, tokens):
        """Return the text of tokens, array_like of int, shape (n,); what is no whole character is \ufffd."""
        tokens, size = [int(token) for token in tokens], self._theirs.get_vocab_size()
        if unknown := [token for token in tokens if not 0 <= token < size]:
            raise ValueError(f"tokens must be from 0 to {size - 1}, but there is {unknown[0]}")
        return self._text([*self._before, *tokens])[self._cut :]

    def _text(self, tokens):
        return self._theirs.decode(tokens, skip_special_tokens=False)


def read_tokenizer(path):
    """Read the tokenizer of a released model.

    Parameters
    ----------
    path : path
        A GGUF file, or a folder with tokenizer.json.

    Returns
    -------
    TextTokenizer

    Raises
    ------
    ValueError
        If the file cuts text in a way that is not known here.
    FileNotFoundError
        If there is no such file.
    """
    from tokenizers import Tokenizer

    path = Path(path)
    if not path.is_dir():
        return TextTokenizer(_of_gguf(open_gguf(path)[0]))
    theirs = Tokenizer.from_str(content_of(path / "tokenizer.json").decode())
    theirs.no_truncation()
    theirs.no_padding()
    return TextTokenizer(theirs)


def _of_gguf(said):
    """Return the tokenizer that a GGUF file describes, as llama.cpp takes it."""
    from tokenizers import AddedToken, processors

    about = {
        name.removeprefix("tokenizer.ggml."): it for name, it in said.items() if name.startswith("tokenizer.ggml.")
    }
    model, cut = about.get("model"), about.get("pre", "default")
    if model == "gpt2" and cut in ("smollm", "gpt-2", *DIGITS):
        theirs = _of_bytes(about, cut)
    elif model == "llama":
        theirs = _of_sentences(about)
    else:
        raise ValueError(f"text is not cut here as for a {model} tokenizer of the kind {cut}: give a tokenizer.json")
    kinds = about.get("token_type", [])
    theirs.add_special_tokens([
        AddedToken(word, special=True, normalized=False)
        for word, kind in zip(about["tokens"], kinds) if word and kind in MARKS
    ])  # fmt: skip
    begins = about.get("add_bos_token", model == "llama" or cut == "llama-bpe")
    ends = about.get("add_eos_token", False)
    marks = {"begin": about.get("bos_token_id", 1), "end": about.get("eos_token_id", 2)}
    theirs.post_processor = processors.TemplateProcessing(
        single=["begin"] * begins + ["$A"] + ["end"] * ends,
        special_tokens=[{"id": name, "ids": [it], "tokens": [about["tokens"][it]]} for name, it in marks.items()],
    )
    return theirs


def _of_bytes(about, cut):
    """Return the tokenizer of a GPT-2, Llama 3, SmolLM2 or Qwen 2: pairs of bytes, joined within pieces of a text."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    words = {word: token for token, word in enumerate(about["tokens"])}
    joins = [tuple(pair.split(" ")) for pair in about["merges"]]
    theirs = Tokenizer(models.BPE(words, joins, ignore_merges=cut == "llama-bpe"))
    if cut in DIGITS:
        pieces = pre_tokenizers.Split(Regex(WORDS + DIGITS[cut] + OTHERS), "isolated")
        steps = [pieces, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    else:
        steps = [pre_tokenizers.Digits(individual_digits=True)] if cut == "smollm" else []
        steps = [*steps, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    theirs.pre_tokenizer, theirs.decoder = pre_tokenizers.Sequence(steps), decoders.ByteLevel()
    return theirs


def _of_sentences(about):
    """Return the tokenizer of a Llama 2 or a Mistral: of neighbours, the two are joined whose word has most points."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    words, points = {word: token for token, word in enumerate(about["tokens"])}, about["scores"]
    cuts = ((word[:at], word[at:]) for word in words for at in range(1, len(word)))
    joins = [(one, other) for one, other in cuts if one in words and other in words]
    joins.sort(key=lambda pair: (-points[words["".join(pair)]], words[pair[0]], words[pair[1]]))
    unknown = about["tokens"][about.get("unknown_token_id", 0)]
    theirs = Tokenizer(models.BPE(words, joins, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    first = [normalizers.Prepend("▁")] if about.get("add_space_prefix", True) else []
    theirs.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    theirs.decoder = decoders.Sequence(steps)
    return theirs
