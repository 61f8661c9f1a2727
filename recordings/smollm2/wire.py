"""What one head alone carries from one sentence to another, for each head: `python -m recordings.smollm2.wire`.

The capital of a country, in two sentences that differ in the country. At the last word of the first sentence each head
in turn hands over what it mixes in the second. It writes smollm2_wire.json in attn_course/data/measured: for each pair
of countries how likely both capitals are then, by head.
"""

from itertools import permutations

import numpy as np

from attn import softmax
from attn_course.measured import write_measured
from attn_course.smollm2 import read_smollm2

from .fetching import exchanges
from .measure import about
from .model import HEADS, SENTENCES, Model
from .wall import to_three_digits

if __name__ == "__main__":
    said, model = about(), Model(*read_smollm2())
    wording, capitals = (SENTENCES["capitals"]["found on"][name] for name in ("wording", "countries"))
    pairs, of = list(permutations(capitals, 2)), list(capitals)
    rows = model.encode([wording.format(country) for country in capitals])
    words = np.array([model.word(capital) for capital in capitals.values()])
    first, second = (np.array([of.index(pair[side]) for pair in pairs]) for side in (0, 1))

    def likely(logits):
        """Return how likely the own capital and the other one are, pair by pair."""
        shares = softmax(logits.astype(float))
        return np.stack([shares[np.arange(len(pairs)), words[side]] for side in (first, second)])

    as_it_is = likely(model.behind(rows[first])())  # of shape (2, pairs), and (heads, 2, pairs):
    by_head = np.array([likely(logits) for _, logits in exchanges(model, rows, first, second, HEADS)])
    runs = {
        f"{one}, {other}": {
            "as it is": to_three_digits(as_it_is[:, i]),
            "own": to_three_digits(by_head[:, 0, i]),
            "other": to_three_digits(by_head[:, 1, i]),
        }
        for i, (one, other) in enumerate(pairs)
    }
    write_measured("smollm2_wire", __file__, runs, **said, wording=wording, capitals=capitals)
