"""The built book's own search: what people type leads first to where the book explains it."""

import re
from urllib.parse import urljoin

import pytest
from bs4 import BeautifulSoup

GLOSSARY = "chapters/glossary.html"
WORDS = {  # what is typed, and its entry in the glossary
    "what is a head": "head",
    "attention weights": "weight",
    "byte pair encoding": "byte-pair-encoding",
    "decoder-only": "decoder",
    "embeddings": "embedding",
    "encoder-decoder attention": "cross-attention",
    "induction heads": "induction",
    "key-value cache": "keyvalue-cache",
    "KV-cache": "keyvalue-cache",
    "self attention": "self-attention",
}
TABLED = """
activation function, ALiBi, attention, attention head, attention map, attention mask, attention score,
autoregressive, backprop, backpropagation, beam search, BERT, BPE, causal attention, context length, context window,
cosine similarity, dropout, embed_dim, EOS, feed-forward network, FFN, fine-tuning, FlashAttention, GELU, GQA,
gradient clipping, greedy decoding, grouped-query attention, head_dim, hidden size, hidden state, inference, KV, KV
cache, layer normalization, LayerNorm, LLM, lm_head, LSTM, masked self-attention, MLA, MQA, multi-head attention,
norm, nucleus sampling, num_heads, perplexity, positional embedding, positional encoding, prompt, residual
connection, RNN, RoPE, scaled dot-product attention, skip connection, softmax, SwiGLU, teacher forcing, temperature,
tokenizer, top-p sampling, transformer block, weight tying
"""  # what is typed as well: the glossary has it as a term, or in its tables
SEARCH = (
    "(query) => Search._performSearch(...Search._parseQuery(query)).map(([page, , place]) => `${page}.html${place}`)"
)


SECTIONS = {  # what is asked for in other words than the book's: one of the first three leads to this page
    "linear attention recall width": "chapters/in_its_place.html",
    "network browser stored model download": "chapters/try_it.html",
    "llama.cpp": "chapters/try_it.html",
    "test my own attention": "chapters/test_your_own.html",
    "mask 0 and 1": "chapters/glossary.html",
    "Let it learn to find": "chapters/13_learning_to_attend.html",  # on a button
}


@pytest.fixture(scope="module")
def found(book, browser):
    """Ask the page of the search, opened as a file, and return where its results lead, the first one first."""
    page = browser.new_page()
    page.goto(f"{book.as_uri()}/search.html")
    yield lambda query: page.evaluate(SEARCH, query)[::-1]
    page.close()


@pytest.mark.parametrize("typed", WORDS)
def test_a_word_leads_first_to_where_the_book_explains_it(found, typed):
    assert found(typed)[0] == f"{GLOSSARY}#{WORDS[typed]}"


@pytest.mark.parametrize("typed", SECTIONS)
def test_other_words_lead_to_a_section_that_speaks_of_them(found, typed):
    assert any(place.startswith(SECTIONS[typed]) for place in found(typed)[:3]), found(typed)[:3]


def test_from_a_folder_each_result_names_its_section_and_shows_its_prose(book, browser):
    page = browser.new_page()
    page.goto(f"{book.as_uri()}/search.html?q=llama.cpp")
    first = page.locator("#search-results li").first
    assert first.locator("a").inner_text() == "Try it: a model reads your sentence > What it is"
    assert "llama.cpp runs the same file" in first.inner_text()
    assert "import " not in page.locator("#search-results").inner_text()
    page.close()


def test_each_term_and_each_word_of_the_tables_leads_first_to_its_entry_or_to_where_its_row_leads(found, book):
    page = BeautifulSoup((book / GLOSSARY).read_text(encoding="utf-8"), "html.parser").article
    typed = {heading: heading.select_one("[aria-label]") for heading in page.find_all("h3")}
    places = {
        symbol["aria-label"] if symbol else heading.get_text().removesuffix("#"): f"#{heading.parent['id']}"
        for heading, symbol in typed.items()
    }
    for row in page.select("tr:has(td a)"):
        here, elsewhere = row.find_all("td")
        for word in re.split(", | or ", re.sub(r" \([^)]*\)", "", elsewhere.get_text())):
            assert word not in places, word
            places[word] = here.a["href"]
    assert len(places) > 200 and {*" ".join(TABLED.split()).split(", ")} <= {*places}
    wrong = {word: place for word, place in places.items() if found(word)[0] != urljoin(GLOSSARY, place)}
    assert wrong == {}
