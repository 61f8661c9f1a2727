"""How many numbers a transformer has to learn."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a decoder-only transformer.

    Parameters
    ----------
    d_model : int
        Numbers in an embedding.
    n_heads, d_k : int
        Heads in a layer, and numbers in a query, a key and a value of each.
    n_layers, vocab_size, n_positions : int
    d_ff : int, optional
        Hidden numbers of the MLP; 4 d_model unless given.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    Examples
    --------
    >>> TransformerConfig(768, 12, 64, 12, 50257, 2048).d_ff
    3072
    """

    d_model: int
    n_heads: int
    d_k: int
    n_layers: int
    vocab_size: int
    n_positions: int
    d_ff: int | None = None

    def __post_init__(self):
        if self.d_ff is None:
            object.__setattr__(self, "d_ff", 4 * self.d_model)
        for name, size in vars(self).items():
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"{name} must be a positive integer, but is {size!r}")


def count_parameters(config, *, biases=True, norms=True, positions=True, tied=True):
    """Count the parameters of a transformer, part by part.

    Parameters
    ----------
    config : TransformerConfig
    biases, norms, positions : bool
        Whether the model has biases, two layer norms a layer and a final one, and a learned
        table of positions. What it has not counts zero.
    tied : bool
        Whether the unembedding is the embedding once more; then it counts zero.

    Returns
    -------
    dict of int, in parameters
        `W_Q`, `W_K`, `value_down` and `value_up` of one head, their sum `head`, the
        `attention_block` of one layer, `attention` and `mlp` of all layers (matrices only),
        `embedding`, `unembedding`, `positions`, `norms`, `biases`, and the `total`.

    Notes
    -----
    The value map is counted as it is built: down to d_k numbers, and up again by that part
    of W_O that belongs to the head. Sizes: Brown et al. 2020, table 2.1.

    Examples
    --------
    >>> count_parameters(GPT3["175B"])["total"]
    174604259328
    """
    d_model, n_layers, d_ff = config.d_model, config.n_layers, config.d_ff
    d_heads = config.n_heads * config.d_k
    matrix = d_model * config.d_k
    counts = {"W_Q": matrix, "W_K": matrix, "value_down": matrix, "value_up": matrix, "head": 4 * matrix}
    counts["attention_block"] = config.n_heads * counts["head"]
    parts = {
        "attention": n_layers * counts["attention_block"],
        "mlp": n_layers * 2 * d_model * d_ff,
        "embedding": config.vocab_size * d_model,
        "unembedding": 0 if tied else config.vocab_size * d_model,
        "positions": config.n_positions * d_model if positions else 0,
        "norms": (2 * n_layers + 1) * 2 * d_model if norms else 0,
        "biases": n_layers * (3 * d_heads + d_model + d_ff + d_model) if biases else 0,
    }
    return {**counts, **parts, "total": sum(parts.values())}


def _gpt3(n_layers, d_model, n_heads, d_k):
    return TransformerConfig(d_model, n_heads, d_k, n_layers, vocab_size=50_257, n_positions=2_048)


# Brown et al. 2020, table 2.1. Two of its rows contradict themselves: XL prints 24 heads of 128 numbers, which is
# more than its d_model of 2,048 holds, and 13B prints a d_model of 5,140 for 40 heads of 128. Here they agree.
GPT3 = {
    "Small": _gpt3(12, 768, 12, 64),
    "Medium": _gpt3(24, 1024, 16, 64),
    "Large": _gpt3(24, 1536, 16, 96),
    "XL": _gpt3(24, 2048, 16, 128),
    "2.7B": _gpt3(32, 2560, 32, 80),
    "6.7B": _gpt3(32, 4096, 32, 128),
    "13B": _gpt3(40, 5120, 40, 128),
    "175B": _gpt3(96, 12288, 96, 128),
}
