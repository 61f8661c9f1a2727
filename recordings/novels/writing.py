"""What heads write about the closing mark: directly, by which kind of mark they read, and who told them the kind."""

import numpy as np

from attn import Forbid, Trace, decoder
from attn_course import novels
from attn_course.novels import CONFIG, LENGTH

from .quotations import HEADS, name
from .reading import mean

ROWS = 200  # of the held-out text, as on the page
ONE_BACK = np.eye(LENGTH, k=-1, dtype=bool)


# --- direct logit attribution ----------------------------------------------------------------------------------------


def toward_closing(params, tokenizer):
    """Return the direction of the residual stream in which the closing mark's logit grows beside the mean over all
    tokens, where the last norm has taken off the mean and divided by the deviation: array, shape (d_model,)."""
    E = params["embedding"]
    direction = params["norm"]["gain"] * (E[tokenizer.words.index(novels.CLOSING)] - E.mean(axis=0))
    return direction - direction.mean()


def contributions(params, rows, places, tokenizer):
    """Return what each part adds to the closing mark's logit, the last norm as it is in the whole model.

    Of places, bool of shape (n_rows, length), it is an array of shape (n_places, 1 + n_layers * (n_heads + 1)): the
    embedding, and layer by layer each head and the MLP. Without the norm's bias their sum is the logit, less the mean
    over the vocabulary.
    """
    direction = toward_closing(params, tokenizer)

    def parts(part, asked):
        with Trace() as trace:
            decoder(params, CONFIG, part)
        row, place = np.nonzero(asked)
        found = [trace.embedded[0][row, place] @ direction]
        for number, layer in enumerate(trace.layers, start=1):
            toward = params[f"layer {number}"]["attention"]["W_O"] @ direction  # (n_heads, d_v)
            mixtures = (layer.attention.weights @ layer.attention.V)[row, :, place]  # (n_places, n_heads, d_v)
            mlp = layer.after_mlp[row, place] - layer.after_attention[row, place]
            found += [*(mixtures * toward).sum(axis=-1).T, mlp @ direction]
        return np.stack(found, axis=-1) / np.sqrt(trace.layers[-1].after_mlp[row, place].var(axis=-1)[:, None] + 1e-5)

    return novels.in_parts(parts, rows, places)


def inside_less_closed(params, tokenizer, held):
    """Return by name what each part adds to the closing mark's logit, inside quotations less behind closed ones."""
    inside, closed = (
        contributions(params, held.rows[:, :-1], kind, tokenizer).mean(axis=0) for kind in (held.inside, held.closed)
    )
    names = ["embedding"]
    for layer in range(1, CONFIG.n_layers + 1):
        names += [*(name(head) for head in HEADS if head[0] == layer), f"MLP {layer}"]
    return dict(zip(names, map(mean, inside - closed)))


# --- the look one back -----------------------------------------------------------------------------------------------


def equal_marks(held, tokenizer):
    """Return by name where the two kinds of marks stand that are the same token, in the first rows and not at their
    beginnings, where nothing is before them: arrays of bool, shape (ROWS, length)."""
    here = held.rows[:ROWS, :-1] == tokenizer.words.index(novels.CLOSING)
    here &= np.arange(LENGTH) > 0
    return {"opening a paragraph": here & held.opening_marks[:ROWS], "closing": here & held.closing_marks[:ROWS]}


def written_by_values(params, tokenizer, held, layer, head, interventions=()):
    """Return by kind of mark the mean, the least and the most of what a head that attends to it alone writes toward the
    closing mark, as the page measures it."""
    toward = params["norm"]["gain"] * params["embedding"][tokenizer.words.index(novels.CLOSING)]
    toward = (toward - toward.mean()) / np.linalg.norm(toward)  # the last norm takes off the mean of what is written
    of_value = params[f"layer {layer}"]["attention"]["W_O"][head - 1] @ toward

    def written(rows):
        with Trace() as trace:
            decoder(params, CONFIG, rows, interventions=interventions)
        return trace.layers[layer - 1].attention.V[:, head - 1] @ of_value

    found, kinds = novels.in_parts(written, held.rows[:ROWS, :-1]), equal_marks(held, tokenizer)
    return {kind: [mean(part(found[here]), 2) for part in (np.mean, np.min, np.max)] for kind, here in kinds.items()}


def one_back(params, tokenizer, held, layer, head):
    """Return what a head's values write if no token may attend to the one before it, in layers below."""
    below = range(1, layer)
    cuts = {"nothing": []} | {f"one back in layer {number}": [Forbid(ONE_BACK, number)] for number in below}
    cuts["one back in all layers below"] = [Forbid(ONE_BACK, number) for number in below]
    return {
        "written": {cut: written_by_values(params, tokenizer, held, layer, head, made) for cut, made in cuts.items()}
    }
