"""A whole small transformer, step by step and back."""

from dataclasses import asdict

import numpy as np
import traitlets

from attn.attention import softmax
from attn.parameters import TransformerConfig, flat, nested, shapes
from attn.transformer import decoder
from attn_course.figures.base import Explorable, Place, Words, check_finite, check_range, listed

FITS = {
    "positions": "learned",
    "norm": "pre",
    "norm_type": "layer",
    "activation": "relu",
    "biases": "mlp",
    "unembedding": "separate",
}
FIRST, A_LAYER, LAST = 2, 15, 3  # steps before the first layer, in each, and after the last


class SentenceStepper(Explorable):
    """One sentence on its way through a small decoder, from words to the next word, and the backward pass.

    Parameters
    ----------
    params : nested dict of arrays
        As from `init_transformer`; the figure shows and uses three decimals of each.
    config : TransformerConfig
        With an MLP and the choices `FITS`.
    words : list of str
        The word of each token.
    sentences : list of str
        What the reader can choose from.
    tokens : list of str
        The words of the present sentence; default: those of the first one.
    token : int
        Which of them is followed; default: the last.
    step, head : int
        From 0 on.
    backward : bool
        Whether gradients are shown.
    wanted : int
        Which of `words` would have been the right next one, for the gradients.
    changes : list of (str, int, int, float)
        Numbers that are set, whatever comes to stand there: the name of an array, as "layer 1, head 1: Q" or
        "layer 1 / attention / W_Q / 0", a row, a column, and the number.
    plays : bool
        Whether it runs once by itself, as large as a title, and shows no numbers.
    """

    params = traitlets.Dict()
    config = traitlets.Dict()
    words = Words("n_words")
    sentences = Words("n_sentences")
    tokens = Words("n")
    token = Place("n")
    step = traitlets.Int(0)
    head = traitlets.Int(0)
    backward = traitlets.Bool(False)
    wanted = Place("n_words")
    changes = traitlets.List()
    plays = traitlets.Bool(False)

    def __init__(self, params, config, words, sentences, **kwargs):
        tokens = kwargs.setdefault("tokens", sentences[0].split())
        kwargs.setdefault("token", len(tokens) - 1)
        rounded = _each(lambda part: np.round(np.asarray(part, float), 3).tolist(), params)
        super().__init__(rounded, asdict(config), list(words), sentences, **kwargs)

    def check(self, state):
        config = TransformerConfig(**state["config"])
        for name, choice in FITS.items():
            if getattr(config, name) != choice:
                raise traitlets.TraitError(f"the figure needs {name} {choice!r}, but has {getattr(config, name)!r}")
        if config.d_ff == 0 or config.n_key_heads != config.n_heads:
            told = f"d_ff is {config.d_ff}, of {config.n_heads} heads {config.n_key_heads} have keys"
            raise traitlets.TraitError(f"the figure needs an MLP and keys for each head, but {told}")
        _check_like(state["params"], shapes(config))
        if len(state["words"]) != config.vocab_size:
            raise traitlets.TraitError(
                f"the model has {config.vocab_size} tokens, but there are {len(state['words'])} words"
            )
        for tokens in [state["tokens"], *(sentence.split() for sentence in state["sentences"])]:
            if unknown := [word for word in tokens if word not in state["words"]]:
                raise traitlets.TraitError(f"the model does not know {', '.join(unknown)}")
            if len(tokens) > config.n_positions:
                told = f"{' '.join(tokens)!r} has {len(tokens)}"
                raise traitlets.TraitError(f"the model reads at most {config.n_positions} words, but {told}")
        check_range(state, 0, FIRST + A_LAYER * config.n_layers + LAST - 1, "step")
        check_range(state, 0, config.n_heads - 1, "head")
        known = sizes_of(config, len(state["tokens"]))
        for one in state["changes"]:
            if not _is_change(one, known):
                told = "the name of an array, a row and a column of it, and a finite number"
                raise traitlets.TraitError(f"a change is {told}, but {one!r} is not")

    @property
    def probabilities(self):
        """Of the next word after each word of the sentence, without `changes`: array, shape (n, n_words)."""
        return softmax(decoder(_each(np.array, self.params), TransformerConfig(**self.config), self._encoded()))

    def _encoded(self):
        return np.array([self.words.index(word) for word in self.tokens])

    def describe(self):
        likely = self.probabilities[-1]
        best = np.argsort(-likely)[:2]
        told = listed([self.words[i] for i in best], likely[best], 3)
        changed = f", before {len(self.changes)} of its numbers were changed" if self.changes else ""
        return f"One sentence, all the way: {' '.join(self.tokens)!r} goes on with {told}{changed}"


def sizes_of(config, n):
    """Return by name the rows and columns of each array that the figure shows of n words, but for the probabilities."""
    rows = dict.fromkeys(["embeddings", "positions of the tokens", "stream", "normalised"], config.d_model)
    rows["logits"] = config.vocab_size
    for layer in range(1, config.n_layers + 1):
        parts = ["normalised", "stream after attention", "normalised for the MLP", "update of the MLP", "stream"]
        rows |= {f"layer {layer}: {name}": config.d_model for name in parts}
        rows |= {f"layer {layer}: {name}": config.d_ff for name in ("widened", "hidden")}
        for head in range(1, config.n_heads + 1):
            rows |= {f"layer {layer}, head {head}: {name}": config.d_k for name in ("Q", "K", "V", "mixtures")}
            rows |= {f"layer {layer}, head {head}: {name}": n for name in ("scores", "masked scores", "weights")}
            rows[f"layer {layer}, head {head}: update"] = config.d_model
    return {name: (n, columns) for name, columns in rows.items()} | dict(_matrices(config))


def _is_change(one, known):
    """Return whether this is a number that is set at a place which there is."""
    try:
        name, row, column, number = one
        rows, columns = known[name]
        return row in range(rows) and column in range(columns) and bool(np.isfinite(number))
    except (KeyError, TypeError, ValueError):
        return False


def _matrices(config):
    """Yield name and shape of each matrix of the parameters, heads apart; a vector is one row."""
    for path, shape in flat(shapes(config)):
        if len(shape) == 3:
            yield from ((" / ".join([*path, str(head)]), shape[1:]) for head in range(shape[0]))
        else:
            yield " / ".join(path), (1,) * (2 - len(shape)) + tuple(shape)


def _each(change, params):
    """Return nested dicts with each entry changed."""
    return nested((path, change(part)) for path, part in flat(params))


def _check_like(params, expected):
    """Refuse parameters of other names or shapes than expected, or with NaN in them."""
    params, expected = ({" / ".join(path): part for path, part in flat(whole)} for whole in (params, expected))
    if unlike := set(params) ^ set(expected):
        raise traitlets.TraitError(f"the params differ from those of the config in {min(unlike)}")
    for name, part in params.items():
        check_finite(name, np.array(part))
        if np.shape(part) != expected[name]:
            raise traitlets.TraitError(f"{name} needs shape {expected[name]}, but has {np.shape(part)}")
