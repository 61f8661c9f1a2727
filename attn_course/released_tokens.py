"""The tokenizers of released models, and how a text is continued with one.

SmolLM2's is written out; others are those of the library `tokenizers`, as their files describe them.
"""

import functools
import re
import unicodedata
from functools import cached_property
from pathlib import Path

import numpy as np

from attn.attention import softmax
from attn.bytepairs import Tokenizer, pairs_of
from attn.checks import as_tokens
from attn.generation import Cache, draw, length_of
from attn.transformer import decoder
from attn_course.released import MARKS, content_of, open_gguf

WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
OTHERS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DIGITS = {"llama-bpe": r"\p{N}{1,3}", "qwen2": r"\p{N}"}  # that go together, by what a GGUF file calls such a cut


SEEN = {*range(33, 127), *range(161, 173), *range(174, 256)}
SPELLING = {byte: 256 + number for number, byte in enumerate(sorted({*range(256)} - SEEN))}
BACK = {chr(SPELLING.get(byte, byte)): byte for byte in range(256)}


class ByteTokenizer(Tokenizer):
    """Turns text into tokens of bytes and back, as SmolLM2 does; each digit is a token of its own.

    Parameters
    ----------
    words : list of str
        The bytes of each token, a character for each.
    joins : list of (str, str)
        The pairs of neighbours that become one token, in the order in which they were learned.
    marks : list of str
        The words that are in a text as they are, such as <|endoftext|>.

    Notes
    -----
    Radford et al. 2019. A byte is written as it is in Latin-1, and where nobody sees it there as one of the characters
    that follow: a space is Ġ. A byte that is no token is left out. Of two marks that begin alike, the longest is taken.
    """

    def __init__(self, words, joins, marks):
        if isinstance(words, dict) or not all(isinstance(word, str) for word in words):
            raise TypeError("words are a list of texts in the order of their tokens")
        self.words, self.joins = tuple(words), pairs_of(joins)
        joined = [(mark, "mark") for mark in marks] + [("".join(pair), "joined word") for pair in self.joins]
        if missing := [(word, kind) for word, kind in joined if word not in self._tokens]:
            raise ValueError(f"the {missing[0][1]} {missing[0][0]!r} is not among the words")
        self._known = {mark: [self.words.index(mark)] for mark in sorted(filter(None, marks), key=len, reverse=True)}
        one_of_them = "|".join(map(re.escape, self._known)) or "(?!)"  # without marks, nothing is one
        self._marks = re.compile(f"({one_of_them})")
        self._marked = frozenset(self._known)

    @cached_property
    def _tokens(self):
        return {word: token for token, word in enumerate(self.words)}

    def _text(self, words):
        return b"".join(map(self._bytes_of, words)).decode(errors="replace")  # what is no whole character is \ufffd

    def _bytes_of(self, word):
        as_it_is = word in self._marked or not BACK.keys() >= {*word}
        return word.encode() if as_it_is else bytes(BACK[letter] for letter in word)

    def _pieces(self, text):
        for number, part in enumerate(self._marks.split(text)):
            if number % 2:
                yield part
            else:
                for piece in _pattern_of_bytes().findall(part):
                    yield piece.encode().decode("latin-1").translate(SPELLING)

    def _numbers(self, parts):
        return [self._tokens[part] for part in parts if part in self._tokens]


@functools.cache
def _pattern_of_bytes():
    """Return what cuts a text into pieces before it becomes bytes: GPT-2's pattern, with digits apart."""
    others = filter(lambda character: unicodedata.category(character) in ("Nl", "No"), map(chr, range(0x20000)))
    digits, spaces = r"\d" + "".join(others), r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    letter, other = rf"[^\W_{digits}]", rf"(?:_|[^\w{spaces}])"
    space = rf"[{spaces}]+(?![^{spaces}{digits}])|[{spaces}]+"  # the last one before a word belongs to it
    return re.compile(rf"'(?:s|t|re|ve|m|ll|d)| ?{letter}+|[{digits}]| ?{other}+|{space}")


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


def about_tokens(said):
    """Return what a GGUF file says of its tokens, by the names behind tokenizer.ggml."""
    begin = "tokenizer.ggml."
    return {name.removeprefix(begin): it for name, it in said.items() if name.startswith(begin)}


def _of_gguf(said):
    """Return the tokenizer that a GGUF file describes, as llama.cpp takes it."""
    from tokenizers import AddedToken, processors

    about = about_tokens(said)
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


def continue_text(
    params, config, tokenizer, text, n_new, *, temperature=0.0, top_k=None, top_p=None, rng=None, stop=None
):
    """Continue a text and hand out each token when it is written.

    Parameters
    ----------
    params, config
        As for `generate`.
    tokenizer : Tokenizer
        One of this module, or of `attn.bytepairs`.
    text : str
    n_new : int
        How many tokens to write at most.
    temperature, top_k, top_p, rng
        As for `generate`.
    stop : int, optional
        The token that ends a text; it is not handed out.

    Yields
    ------
    piece : str
        The text of one token; \ufffd where it is a part of a character.
    probability : float
        What the model gives to this token among all, before `temperature`, `top_k` and `top_p` change it.
    """
    cache, new = Cache(), as_tokens(tokenizer.encode(text))
    length_of(config, new, n_new, stop)
    for _ in range(n_new):
        (logits,) = decoder(params, config, new, cache=cache, last=True)
        new = draw(logits, rng, temperature, top_k, top_p)[None]
        if new[0] == stop:
            return
        yield tokenizer.decode(new), float(softmax(logits)[new[0]])
