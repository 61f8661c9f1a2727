"""Scripts that measure what takes too long for a page, each run once: `python -m recordings the_root`.

A script trains models of several kinds, each from several seeds, and what comes out is written into
attn_course/data/measured. For that, and so that the beginning can be measured again (tests/test_recordings.py), a
script has

- `SOURCE`, what the models are trained on;
- `KINDS`, by name what makes a kind; `SEEDS`; `EVERY`, the steps between two measurements;
- `learn(seed, *kind, n_taken=None)`, which trains one model, for `n_taken` of the planned steps if it is given, and
  returns a dict: "loss", the means of `EVERY` steps each; what was measured before the first step and after each of
  these, lists with one number more than "loss"; and what was measured at the end.
"""

from attn import Tape
from attn.training import cross_entropy


def gradients(model, params, rows, known=None):
    """Return the loss at each next token of rows and its gradients; `known`: the places that count, or all.

    `model` is called with parameters and tokens, and returns logits.
    """
    with Tape() as tape:
        logits = model(params, rows[:, :-1])
    loss, grad = cross_entropy(logits, rows[:, 1:], known)
    return loss, tape.gradients(params, (logits, grad))
