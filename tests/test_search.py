"""The built book's own search: what people type leads first to where the book explains it."""

import re
from urllib.parse import urljoin

import pytest
from bs4 import BeautifulSoup

GLOSSARY = "chapters/glossary.html"
WORDS = {  # what is typed, and the place of the glossary or the chapter
    "activation function": "relu",
    "ALiBi": "relative-bias",
    "attention": "chapters/02_queries_keys_values.html#from-a-question-to-an-answer-in-four-steps",
    "attention head": "head",
    "attention map": "attention-pattern",
    "attention mask": "mask",
    "attention score": "score",
    "attention weights": "weight",
    "autoregressive": "autoregressive",
    "backprop": "backpropagation",
    "backpropagation": "backpropagation",
    "beam search": "beam-search",
    "BERT": "encoder",
    "BPE": "byte-pair-encoding",
    "byte pair encoding": "byte-pair-encoding",
    "causal attention": "causal-mask",
    "context length": "context-window",
    "context window": "context-window",
    "cosine similarity": "cosine",
    "decoder-only": "decoder",
    "dropout": "dropout",
    "embed_dim": "d-model",
    "embeddings": "embedding",
    "encoder-decoder attention": "cross-attention",
    "EOS": "stop-token",
    "feed-forward network": "mlp",
    "FFN": "mlp",
    "fine-tuning": "fine-tuning",
    "FlashAttention": "chapters/11_what_it_costs.html#softmax-without-seeing-everything",
    "GELU": "gelu",
    "GQA": "grouped-queries",
    "gradient clipping": "chapters/12_how_a_model_learns.html#how-fast",
    "greedy decoding": "greedy-decoding",
    "grouped-query attention": "grouped-queries",
    "head_dim": "d-k",
    "hidden size": "d-model",
    "hidden state": "residual-stream",
    "induction heads": "induction",
    "inference": "inference",
    "key-value cache": "keyvalue-cache",
    "KV": "keyvalue-cache",
    "KV cache": "keyvalue-cache",
    "KV-cache": "keyvalue-cache",
    "layer normalization": "layer-norm",
    "LayerNorm": "layer-norm",
    "LLM": "language-model",
    "lm_head": "unembedding",
    "LSTM": "recurrent-network",
    "masked self-attention": "causal-mask",
    "MLA": "latent-attention",
    "MoE": "mixture-of-experts",
    "MQA": "multi-query-attention",
    "multi-head attention": "chapters/07_many_heads.html",
    "norm": "layer-norm",
    "nucleus sampling": "top-p",
    "num_heads": "n-heads",
    "perplexity": "perplexity",
    "positional embedding": "chapters/08_where_a_word_stands.html",
    "positional encoding": "chapters/08_where_a_word_stands.html",
    "prompt": "prompt",
    "residual connection": "residual-stream",
    "RNN": "recurrent-network",
    "RoPE": "rotary-positions",
    "scaled dot-product attention": "chapters/04_scaling.html",
    "self attention": "self-attention",
    "skip connection": "residual-stream",
    "softmax": "softmax",
    "SwiGLU": "gated-mlp",
    "teacher forcing": "chapters/05_masking.html#how-many-lessons-are-in-one-sentence",
    "temperature": "temperature",
    "tokenizer": "tokenizer",
    "top-p sampling": "top-p",
    "transformer block": "layer",
    "weight tying": "unembedding",
}
SEARCH = (
    "(query) => Search._performSearch(...Search._parseQuery(query)).map(([page, , place]) => `${page}.html${place}`)"
)


@pytest.fixture(scope="module")
def found(book, browser):
    """Ask the page of the search, opened as a file, and return where its results lead, the first one first."""
    page = browser.new_page()
    page.goto(f"{book.as_uri()}/search.html")
    yield lambda query: page.evaluate(SEARCH, query)[::-1]
    page.close()


@pytest.mark.parametrize("typed", WORDS)
def test_a_word_leads_first_to_where_the_book_explains_it(found, typed):
    place = WORDS[typed]
    assert found(typed)[0] == (place if "/" in place else f"{GLOSSARY}#{place}")


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
    assert len(places) > 200
    wrong = {word: place for word, place in places.items() if found(word)[0] != urljoin(GLOSSARY, place)}
    assert wrong == {}
