"""The count of parameters, against numbers worked out by hand and printed by others."""

import numpy as np
import pytest

from attn.parameters import GPT3, TransformerConfig, count_parameters

BARE = {"biases": False, "norms": False, "positions": False, "tied": False}


def test_gpt3_is_counted_part_by_part():
    counts = count_parameters(GPT3["175B"], **BARE)
    assert counts == {
        "W_Q": 1_572_864, "W_K": 1_572_864, "value_down": 1_572_864, "value_up": 1_572_864, "head": 6_291_456,
        "attention_block": 603_979_776, "attention": 57_982_058_496, "mlp": 115_964_116_992,
        "embedding": 617_558_016, "unembedding": 617_558_016, "positions": 0, "norms": 0, "biases": 0,
        "total": 175_181_291_520,
    }  # fmt: skip
    assert all(type(count) is int for count in counts.values())


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("Small", "125.2 M"), ("Medium", "355.9 M"), ("Large", "760.3 M"), ("XL", "1315.7 M"),
        ("2.7B", "2651.6 M"), ("6.7B", "6658.4 M"), ("13B", "12.853 B"), ("175B", "174.604 B"),
    ],
)  # fmt: skip
def test_the_eight_sizes_are_those_of_the_paper(name, paper):
    number, unit = paper.split()
    total = count_parameters(GPT3[name])["total"] / {"M": 1e6, "B": 1e9}[unit]
    assert f"{total:.{len(number.split('.')[1])}f}" == number


def test_the_released_model_is_counted_to_the_last_parameter():
    assert count_parameters(GPT3["175B"])["total"] == 174_604_259_328


def test_the_count_is_that_of_arrays_of_these_shapes():
    config = TransformerConfig(d_model=7, n_heads=3, d_k=5, n_layers=2, vocab_size=11, n_positions=13, d_ff=17)
    layer = [(3, 7, 5)] * 3 + [(3, 5, 7)] + [(7, 17), (17, 7)]
    layer_biases, layer_norms = [(3, 5)] * 3 + [(7,), (17,), (7,)], [(7,)] * 4
    shapes = 2 * (layer + layer_biases + layer_norms) + [(11, 7), (13, 7), (7,), (7,)]
    assert count_parameters(config)["total"] == sum(np.prod(shape) for shape in shapes)
    assert count_parameters(config, tied=False)["total"] == sum(np.prod(shape) for shape in shapes) + 77


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "7"])
def test_a_size_that_is_none_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match=f"n_heads must be a positive integer, but is {wrong!r}"):
        TransformerConfig(768, wrong, 64, 12, 50257, 2048)


def test_the_two_rows_that_contradict_themselves_give_other_counts_as_printed():
    xl = TransformerConfig(2048, 24, 128, 24, 50_257, 2_048)
    assert f"{count_parameters(xl)['total'] / 1e9:.2f}" == "1.52"
    thirteen = TransformerConfig(5140, 40, 128, 40, 50_257, 2_048)
    assert f"{count_parameters(thirteen)['total'] / 1e9:.3f}" == "12.936"
