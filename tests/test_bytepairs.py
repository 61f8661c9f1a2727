"""Byte-pair encoding: what is learned, and text to tokens and back."""

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from attn.bytepairs import PIECES, UNKNOWN, Tokenizer, learn
from attn_course.novels import CONFIG, read_text, read_tokenizer
from attn_course.released_tokens import SPELLING, ByteTokenizer


def test_the_neighbours_that_stand_together_most_often_are_joined_first():
    learned = learn("hug pug pun bun hugs", 11)
    assert learned.characters == list(" bghnpsu")
    assert learned.joins == [("u", "g"), ("u", "n")]
    assert [learned.words[token] for token in learned.encode("hug bun")] == ["h", "ug", " ", "b", "un"]


def test_no_token_reaches_over_the_end_of_a_piece():
    pieces = ["He", " said", ",", ' "', "No", " 42", "!", '"', "\n", "\t", "ée", "_", "2", "b"]
    assert PIECES.findall("".join(pieces)) == pieces


def test_what_is_not_known_is_one_token_and_is_seen():
    tokenizer = read_tokenizer()
    assert tokenizer.decode(tokenizer.encode("caf\u00e9 \u2603")) == f"caf{UNKNOWN} {UNKNOWN}"


def in_tokenizers(ours, pattern=PIECES.pattern):
    """Return the same joins in the tokenizers library."""
    vocabulary = {word: token for token, word in enumerate(ours.words)}
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, ours.joins, unk_token=UNKNOWN))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    return theirs


def in_a_page(js, ours, text):
    encode = "(learned, text) => attn.novel_reader.tokenizerOf(learned).encode(text)"
    return js(encode, {"characters": ours.characters, "joins": ours.joins}, text)


TEXTS = {
    "Russian": "Мы научились читать, и мы научились писать. Читать мы любим, писать мы учимся.",
    "German": "Über die Brücke gehen müde Füße; müde Füße gehen früh über die Straße.",
    "Chinese": "我们学习中文。我们学习注意力。中文是我们的语言,注意力是我们的方法。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_in_another_language_is_learned_and_comes_back(js, language):
    text = TEXTS[language]
    learned = learn(text, 1 + len(set(text)) + 15)
    assert any(len(word.strip()) > 1 and not word.isascii() for word in learned.words)
    assert all(first + second in text and (first + second).strip().isalpha() for first, second in learned.joins)
    tokens = learned.encode(text)
    assert len(tokens) < len(text) and learned.decode(tokens) == text
    theirs = in_tokenizers(learned, PIECES.pattern.replace(r"[^\W\d_]", r"\p{L}"))
    assert tokens.tolist() == theirs.encode(text).ids == in_a_page(js, learned, text)


def test_a_page_cuts_a_text_where_python_does(js):
    characters = "aé Я中²Ⅷ½ªß_7٣\u0301\n.\t"
    text = "".join(first + second for first in characters for second in characters)
    pieces = PIECES.findall(text)
    joins = [(*piece,) for piece in sorted(set(pieces)) if len(piece) == 2]  # each piece of two characters, joined
    learned = Tokenizer(sorted(set(characters)), joins)
    assert in_a_page(js, learned, text) == learned.encode(text).tolist()


@given(st.text(alphabet=read_tokenizer().characters))
def test_text_of_known_characters_comes_back_as_it_was(text):
    tokenizer = read_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_tokenizer_of_the_novels_is_what_their_text_teaches():
    learned, stored = learn(read_text(), CONFIG.vocab_size), read_tokenizer()
    assert (learned.characters, learned.joins) == (stored.characters, stored.joins)
    assert len(set(stored.words)) == CONFIG.vocab_size


@pytest.fixture(scope="module")
def theirs():
    return in_tokenizers(read_tokenizer())


def test_text_is_cut_as_the_tokenizers_library_cuts_it(theirs):
    text = read_text("held out")
    assert read_tokenizer().encode(text).tolist() == theirs.encode(text).ids


@given(st.text())
def test_any_text_is_cut_as_the_tokenizers_library_cuts_it(theirs, text):
    assert read_tokenizer().encode(text).tolist() == theirs.encode(text).ids


# --- tokens of bytes -------------------------------------------------------------------------------

BYTES = [chr(SPELLING.get(byte, byte)) for byte in sorted(range(256), key=lambda byte: (byte != ord("!"), byte))]
MADE = ["th", "the", "Ġthe"]  # "!" is token 0, as in GPT-2
JOINS = [("t", "h"), ("th", "e"), ("Ġ", "the")]
MARKS = ["<s>", "<s>x", "<｜end▁of▁sentence｜>", "<é>"]
SAID = ["Hi!", "Hi! Stop!", "a the", "<s>x<s>y <s", "!<｜end▁of▁sentence｜>the", "<é>é the the"]


@pytest.mark.parametrize("marks", [[], MARKS])
def test_tokens_of_bytes_are_those_of_the_tokenizers_library(marks):
    words = [*BYTES, *MADE, *marks]
    ours = ByteTokenizer(words, JOINS, marks)
    model = tokenizers.models.BPE({word: token for token, word in enumerate(words)}, JOINS)
    theirs = tokenizers.Tokenizer(model)
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.add_special_tokens(marks)
    for text in SAID:
        assert ours.encode(text).tolist() == theirs.encode(text).ids, text
        assert ours.decode(ours.encode(text)) == text
