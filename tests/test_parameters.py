"""Sizes, counts and costs, against numbers worked out by hand and printed by others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn import TransformerConfig, count_parameters
from attn.parameters import CHOICES, GPT3, cache_bytes, check_params, load, pattern_bytes, save, shapes, share_of_pairs
from attn.tape import leaves
from attn.transformer import init_transformer
from attn_course.released import RELEASED

SMALL = {"vocab_size": 11, "d_model": 12, "n_heads": 6, "n_layers": 2, "n_positions": 13}


def test_the_eight_sizes_have_the_totals_of_the_paper():
    millions = [125, 356, 760, 1_320, 2_650, 6_660, 12_850, 174_600]  # Brown et al. 2020, table D.1
    for (name, config), printed in zip(GPT3.items(), millions):
        digits = len(str(printed).rstrip("0")) if printed > 1_000 else 3
        assert float(f"{count_parameters(config)['total'] / 1e6:.{digits}g}") == printed, name


def test_the_released_models_are_counted_to_the_last_parameter():
    assert count_parameters(GPT3["175B"])["total"] == 174_604_259_328
    gpt2 = TransformerConfig(vocab_size=50_257, d_model=768, n_heads=12, n_layers=12, n_positions=1024)
    assert count_parameters(gpt2)["total"] == 124_439_808
    llama_2, mistral, llama_3 = (RELEASED[name] for name in ("Llama 2 7B", "Mistral 7B", "Llama 3 8B"))
    assert count_parameters(llama_2)["total"] == 6_738_415_616
    assert count_parameters(mistral)["total"] == 7_241_732_096
    assert count_parameters(llama_3)["total"] == 8_030_261_248
    assert cache_bytes(llama_3, 8192) == 2**30 == cache_bytes(llama_2, 8192) / 4  # a quarter of the key heads
    bert = replace(gpt2, vocab_size=30_522, n_positions=512, norm="post", n_token_types=2, unembedding="none")
    assert count_parameters(bert)["total"] == 109_482_240 - 768 * 769  # BERT's pooler is left out


configs = st.fixed_dictionaries(
    {
        **{name: st.sampled_from(list(options)) for name, options in CHOICES.items()},
        "d_k": st.sampled_from([None, 10]),
        "d_ff": st.sampled_from([None, 0, 17]),
        "n_key_heads": st.sampled_from([None, 1, 3]),
        "cross": st.booleans(),
        "n_token_types": st.sampled_from([0, 2]),
    }
).filter(lambda choices: choices["activation"] != "swiglu" or choices["biases"] == "none")


@settings(max_examples=200)
@given(configs)
def test_as_many_numbers_are_drawn_as_are_counted(choices):
    config = TransformerConfig(**SMALL, **choices)
    params = init_transformer(np.random.default_rng(0), config)
    assert [array.shape for array in leaves(params)] == list(leaves(shapes(config)))
    assert sum(array.size for array in leaves(params)) == count_parameters(config)["total"]


@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_a_model_that_was_saved_is_loaded_as_it_was(positions, tmp_path):
    config = TransformerConfig(**SMALL, positions=positions, cross=True, unembedding="separate")
    params = init_transformer(np.random.default_rng(0), config)
    save(tmp_path / "model.npz", params)
    loaded = load(tmp_path / "model.npz")
    check_params(loaded, config)
    for array, expected in zip(leaves(loaded), leaves(params), strict=True):
        np.testing.assert_array_equal(array, expected, strict=True)


def test_every_part_is_counted_as_by_hand():
    choices = {"positions": "relative", "cross": True, "n_key_heads": 3, "n_token_types": 2, "unembedding": "separate"}
    counts = count_parameters(TransformerConfig(**SMALL, **choices))  # heads of 2 numbers, an MLP of 48, 17 distances
    assert counts == {
        **{"W_Q": 24, "W_K": 24, "value_down": 24, "value_up": 24, "head": 96, "attention_block": 18 * 24},
        **{"attention": 2 * 2 * 18 * 24, "mlp": 2 * 2 * 12 * 48, "embedding": 132, "unembedding": 132},
        **{"positions": 2 * 6 * 17, "token_types": 24, "norms": 7 * 24},
        **{"biases": 2 * (2 * (12 + 6 + 6 + 12) + 48 + 12) + 11, "total": 4_967},
    }


def test_the_cache_and_the_patterns_are_counted():
    config = replace(GPT3["175B"], n_key_heads=8)
    assert cache_bytes(GPT3["175B"], 2048) == 2 * 2 * 96 * 96 * 128 * 2048
    assert cache_bytes(config, 3) * 12 == cache_bytes(GPT3["175B"], 3)
    assert cache_bytes(config, 3, bytes_each=4) == 2 * cache_bytes(config, 3)
    assert pattern_bytes(GPT3["175B"], 10) == 2 * 96 * 100
    small = GPT3["Small"]
    assert share_of_pairs(small, 6 * small.d_model) == 0.5
    assert share_of_pairs(replace(small, n_key_heads=1), 100) > share_of_pairs(small, 100)


def test_sizes_may_be_integers_of_numpy():
    given = {name: np.int16(size) for name, size in {**SMALL, "d_ff": 0, "n_token_types": 0}.items()}
    config = TransformerConfig(**given)
    assert config == TransformerConfig(**SMALL, d_ff=0)
    assert all(type(getattr(config, name)) is int for name in (*given, "d_k"))


def test_the_two_rows_whose_heads_do_not_fill_the_width_give_other_counts_as_printed():
    xl = replace(GPT3["XL"], n_heads=24, n_key_heads=24)
    assert f"{count_parameters(xl)['total'] / 1e9:.2f}" == "1.52"
    thirteen = replace(GPT3["13B"], d_model=5140, d_ff=4 * 5140)
    assert f"{count_parameters(thirteen)['total'] / 1e9:.3f}" == "12.936"
