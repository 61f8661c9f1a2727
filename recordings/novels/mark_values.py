"""The mean values of opening and closing quotation marks, head by head, which a page puts in each other's place.

    .venv/bin/python -m recordings.novels.mark_values

writes attn/data/novels/mark_values.npz, for the book's model and for the one that learned to copy.
"""

import numpy as np

from attn.course import novels

from .exchange import mean_values


def values_of(number):
    """Return the mean values of a model at opening marks and at closing ones: shape (2, n_layers, n_heads, d_v)."""
    held = novels.held_out(novels.read_tokenizer())
    return np.stack(mean_values(novels.read_model(number), held)).astype(np.float32)


if __name__ == "__main__":
    values = {name: values_of(number) for name, number in novels.ALIVE.items()}
    np.savez_compressed(novels.FOLDER / novels.MARK_VALUES, **values)
