"""What a layer takes: the entries of all heads of a token in one row."""


def rows(array):
    """Turn (batch, heads, tokens, entries) into (batch, tokens, entries of all heads)."""
    n_texts, n_heads, n, d = array.shape
    return array.swapaxes(1, 2).reshape(n_texts, n, n_heads * d)


def heads(output, n_heads):
    """Turn (batch, tokens, entries of all heads) back."""
    n_texts, n, width = output.shape
    return output.reshape(n_texts, n, n_heads, width // n_heads).swapaxes(1, 2)
