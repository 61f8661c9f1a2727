"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and one JavaScript file. The JavaScript does the arithmetic, so
that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

import json
from dataclasses import fields
from pathlib import Path

import anywidget
import numpy as np
import traitlets

from attn.attention import causal_mask, scaled_dot_product_attention, softmax
from attn.heads import multi_head_attention
from attn.parameters import TransformerConfig, count_parameters

FOLDER = Path(__file__).parent


def read_source(name):
    """Return the text of a JavaScript or CSS file of the explorables."""
    return (FOLDER / name).read_text(encoding="utf-8")


def module(name):
    """Return the ES module of one explorable, as a widget loads it."""
    return read_source("common.js") + read_source(f"{name}.js")


def book_script():
    """Return all explorables as one classic script for pages that have no kernel.

    A page opened from a file cannot load ES modules, so each module becomes a function whose
    exports are collected in `window.attnExplorables`, and `mount.js` brings the page's to life.
    """
    modules = []
    for path in sorted(FOLDER.glob("*_*.js")):
        body, exports = read_source(path.name).split("export default ")
        modules.append(f"{json.dumps(path.stem)}: (() => {{\n{body}return {exports}}})(),")
    lines = [
        "(() => {",
        read_source("common.js"),
        "window.attnExplorables = {",
        *modules,
        "};",
        read_source("mount.js"),
    ]
    return "\n".join([*lines, "})();\n"])


def listed(tokens, weights, digits):
    """Return tokens and their weights in words: "cat 0.25, mat 0.50"."""
    return ", ".join(f"{token} {weight:.{digits}f}" for token, weight in zip(tokens, weights))


def _check_place(name, place, size):
    if not 0 <= place < size:
        raise traitlets.TraitError(f"{name} must be from 0 to {size - 1}, but is {place}")


class Numbers(traitlets.TraitType):
    """A trait that takes a vector or matrix of finite numbers and keeps it as nested lists."""

    def __init__(self, ndim, **kwargs):
        super().__init__(**kwargs)
        self.ndim = ndim

    def validate(self, obj, value):
        array = np.asarray(value, dtype=float)
        if array.ndim != self.ndim or array.size == 0 or not np.isfinite(array).all():
            shape = f"shape {array.shape}" if np.isfinite(array).all() else "NaN or infinity in it"
            raise traitlets.TraitError(f"{self.name} needs {self.ndim} axes of finite numbers, but has {shape}")
        return array.tolist()


class Explorable(anywidget.AnyWidget):
    """Base class: a widget that also shows itself as HTML where no kernel runs."""

    _css = read_source("explorables.css")
    _without_script = "A figure to move: it is alive in the built book and in JupyterLab."

    def state(self):
        """Return what the figure shows, as plain numbers and text by trait name."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(figure=True))}

    def _proposed(self, proposal):
        """Return the state as it would be with a proposed value, for a check of several traits together."""
        return {**self.state(), proposal.trait.name: proposal.value}

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        state = json.dumps(self.state(), ensure_ascii=False).replace("<", "\\u003c")
        data["text/html"] = (
            f'<div data-explorable="{self._name}"><script type="application/json">{state}</script>'
            f"<p>{self._without_script}</p></div>"
        )
        data["text/plain"] = self.describe()
        return data, metadata


class AttentionExplorer(Explorable):
    """One head of attention on a short sentence, followed step by step for one word.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    Q, K : array_like, shape (n, d_k)
    V : array_like, shape (n, d_v)
        One row a token.
    query : int
        The position of the word whose steps are shown.
    causal : bool
        Whether a word sees only itself and earlier words.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other, also when a trait is set later; the old value stays.
        Traits that must change together are set inside `with explorer.hold_trait_notifications():`.
    """

    _name = "attention_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    Q = Numbers(2).tag(sync=True, figure=True)
    K = Numbers(2).tag(sync=True, figure=True)
    V = Numbers(2).tag(sync=True, figure=True)
    query = traitlets.Int(0).tag(sync=True, figure=True)
    causal = traitlets.Bool(False).tag(sync=True, figure=True)

    def __init__(self, tokens, Q, K, V, *, query=0, causal=False, **kwargs):
        super().__init__(tokens=tokens, Q=Q, K=K, V=V, query=query, causal=causal, **kwargs)

    @traitlets.validate("tokens", "Q", "K", "V", "query")
    def _check(self, proposal):
        now = self._proposed(proposal)
        shapes = {name: np.shape(now[name]) for name in ("tokens", "Q", "K", "V")}
        n, d_k = shapes["Q"]
        if shapes["tokens"] != (n,) or shapes["K"] != (n, d_k) or shapes["V"][0] != n or not 2 <= n <= 8:
            raise traitlets.TraitError(
                f"2 to 8 words need Q (n, d_k), K (n, d_k) and V (n, d_v), but there are {shapes}"
            )
        if not 0 <= now["query"] < n:
            raise traitlets.TraitError(f"query must be a position from 0 to {n - 1}, but is {now['query']}")
        return proposal.value

    @property
    def weights(self):
        """The pattern as it stands: array, shape (n, n)."""
        return self._attend()[1]

    @property
    def output(self):
        """The output of every word as it stands: array, shape (n, d_v)."""
        return self._attend()[0]

    def _attend(self):
        mask = causal_mask(len(self.tokens)) if self.causal else None
        return scaled_dot_product_attention(self.Q, self.K, self.V, mask)

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Attention explorer: {self.tokens[self.query]!r} attends to {listed(self.tokens, self.weights[self.query], 2)}"


class SoftmaxExplorer(Explorable):
    """One score for each word, and the weights that softmax makes of the scores.

    Parameters
    ----------
    tokens : list of str, 2 to 10 of them
    scores : array_like, shape (n,)
    temperature : float
        What the scores are divided by; above zero.
    offset : float
        What is added to every score.
    knobs : bool
        Whether the reader can move temperature and offset.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other, or the temperature is not above zero.
    """

    _name = "softmax_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    scores = Numbers(1).tag(sync=True, figure=True)
    temperature = traitlets.Float(1.0).tag(sync=True, figure=True)
    offset = traitlets.Float(0.0).tag(sync=True, figure=True)
    knobs = traitlets.Bool(False).tag(sync=True, figure=True)

    def __init__(self, tokens, scores, *, temperature=1.0, offset=0.0, knobs=False, **kwargs):
        super().__init__(tokens=tokens, scores=scores, temperature=temperature, offset=offset, knobs=knobs, **kwargs)

    @traitlets.validate("tokens", "scores")
    def _check_sizes(self, proposal):
        sizes = {"tokens": len(self.tokens), "scores": len(self.scores), proposal.trait.name: len(proposal.value)}
        if sizes["tokens"] != sizes["scores"] or not 2 <= sizes["tokens"] <= 10:
            raise traitlets.TraitError(f"each of 2 to 10 words needs one score, but there are {sizes}")
        return proposal.value

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal):
        if not proposal.value > 0:
            raise traitlets.TraitError(f"temperature must be above zero, but is {proposal.value}")
        return proposal.value

    @property
    def weights(self):
        """The distribution as it stands: array, shape (n,)."""
        return softmax((np.array(self.scores) + self.offset) / self.temperature)

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Softmax explorer: {listed(self.tokens, self.weights, 3)}"


class QueryPlane(Explorable):
    """One query as an arrow in the plane, the keys as points, and the mixture that comes out.

    Parameters
    ----------
    tokens : list of str
        The words whose keys are shown.
    asker : str
        The word that asks.
    q : array_like, shape (2,)
    K : array_like, shape (n, 2)
    V : array_like, shape (n, d_v)

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "query_plane"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    asker = traitlets.Unicode().tag(sync=True, figure=True)
    q = Numbers(1).tag(sync=True, figure=True)
    K = Numbers(2).tag(sync=True, figure=True)
    V = Numbers(2).tag(sync=True, figure=True)

    def __init__(self, tokens, asker, q, K, V, **kwargs):
        super().__init__(tokens=tokens, asker=asker, q=q, K=K, V=V, **kwargs)

    @traitlets.validate("tokens", "q", "K", "V")
    def _check(self, proposal):
        now = self._proposed(proposal)
        shapes = {name: np.shape(now[name]) for name in ("tokens", "q", "K", "V")}
        n = shapes["tokens"][0]
        if shapes["q"] != (2,) or shapes["K"] != (n, 2) or shapes["V"][0] != n:
            raise traitlets.TraitError(f"a plane needs q (2,), K (n, 2) and V (n, d_v) for n words, but has {shapes}")
        return proposal.value

    @property
    def weights(self):
        """The weights of the asker as they stand: array, shape (n,)."""
        return self._attend()[1][0]

    @property
    def output(self):
        """The output of the asker as it stands: array, shape (d_v,)."""
        return self._attend()[0][0]

    def _attend(self):
        return scaled_dot_product_attention([self.q], self.K, self.V)

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Query plane: {self.asker!r} attends to {listed(self.tokens, self.weights, 3)}"


class ScalingExplorer(Explorable):
    """One query's scores for vectors of more and more entries, their softmax, and its Jacobian.

    Parameters
    ----------
    sizes : array_like of int, shape (n_sizes,)
        The numbers of entries d_k to choose from.
    scores : array_like, shape (n_sizes, n_keys)
        The unscaled scores for each d_k, of at most 8 keys.
    chosen : int
        Which of the sizes is shown.
    scaled : bool
        Whether the scores are divided by the square root of d_k.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "scaling_explorer"
    _esm = module(_name)

    sizes = traitlets.List(traitlets.Int(min=1)).tag(sync=True, figure=True)
    scores = Numbers(2).tag(sync=True, figure=True)
    chosen = traitlets.Int(0).tag(sync=True, figure=True)
    scaled = traitlets.Bool(False).tag(sync=True, figure=True)

    def __init__(self, sizes, scores, *, chosen=0, scaled=False, **kwargs):
        super().__init__(sizes=[int(size) for size in sizes], scores=scores, chosen=chosen, scaled=scaled, **kwargs)

    @traitlets.validate("sizes", "scores", "chosen")
    def _check(self, proposal):
        now = self._proposed(proposal)
        n, shape = len(now["sizes"]), np.shape(now["scores"])
        if shape[0] != n or not 2 <= shape[1] <= 8:
            raise traitlets.TraitError(
                f"each of the sizes needs scores of 2 to 8 keys, but there are {n} sizes and scores of shape {shape}"
            )
        if not 0 <= now["chosen"] < n:
            raise traitlets.TraitError(f"chosen must be a position from 0 to {n - 1}, but is {now['chosen']}")
        return proposal.value

    @property
    def weights(self):
        """The weights as they stand: array, shape (n_keys,)."""
        scores = np.array(self.scores[self.chosen])
        return softmax(scores / np.sqrt(self.sizes[self.chosen]) if self.scaled else scores)

    @property
    def jacobian(self):
        """How each weight answers to each score: array, shape (n_keys, n_keys)."""
        weights = self.weights
        return np.diag(weights) - np.outer(weights, weights)

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Scaling explorer: d_k {self.sizes[self.chosen]}, largest weight {self.weights.max():.3f}, trace {np.trace(self.jacobian):.3f}"


class MaskExplorer(Explorable):
    """The scores of a short sentence under a mask, and the weights that are left of them.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    scores : array_like, shape (n, n)
        Scaled scores; row i belongs to the word that asks.
    mask : array_like of bool, shape (n, n)
        True where the word of the row may see the word of the column; all True unless given.
    after : bool
        Whether a hidden word loses its weight after softmax, instead of its score before it.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "mask_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    scores = Numbers(2).tag(sync=True, figure=True)
    mask = traitlets.List(traitlets.List(traitlets.Bool())).tag(sync=True, figure=True)
    after = traitlets.Bool(False).tag(sync=True, figure=True)

    def __init__(self, tokens, scores, mask=None, *, after=False, **kwargs):
        mask = np.ones(np.shape(scores), bool) if mask is None else np.asarray(mask, bool)
        super().__init__(tokens=tokens, scores=scores, mask=mask.tolist(), after=after, **kwargs)

    @traitlets.validate("tokens", "scores", "mask")
    def _check(self, proposal):
        now = self._proposed(proposal)
        n = len(now["tokens"])
        shapes = {name: np.shape(now[name]) for name in ("scores", "mask")}
        if set(shapes.values()) != {(n, n)} or not 2 <= n <= 8:
            raise traitlets.TraitError(
                f"2 to 8 words need scores and mask (n, n), but there are {n} words and {shapes}"
            )
        return proposal.value

    @property
    def weights(self):
        """The pattern as it stands: array, shape (n, n)."""
        scores, mask = np.array(self.scores), np.array(self.mask)
        return softmax(scores) * mask if self.after else softmax(np.where(mask, scores, -np.inf))

    def describe(self):
        """Return one line that says what the figure shows."""
        hidden = np.size(self.mask) - np.sum(self.mask)
        return f"Mask explorer: {hidden} of {np.size(self.mask)} pairs hidden; {self.tokens[-1]!r} attends to {listed(self.tokens, self.weights[-1], 2)}"


class UpdatePlane(Explorable):
    """A word in the plane, moved by the weighted sum of the values it attends to.

    Parameters
    ----------
    tokens : list of str
        The words it attends to.
    asker : str
        The word that moves.
    E : array_like, shape (2,)
        Where it starts.
    V : array_like, shape (n, 2)
    scores : array_like, shape (n,)
        Scaled scores.
    axes : list of two str
        What the entries stand for.
    spots : dict of array_like, shape (2,)
        Named places to aim for.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "update_plane"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    asker = traitlets.Unicode().tag(sync=True, figure=True)
    E = Numbers(1).tag(sync=True, figure=True)
    V = Numbers(2).tag(sync=True, figure=True)
    scores = Numbers(1).tag(sync=True, figure=True)
    axes = traitlets.List(traitlets.Unicode(), minlen=2, maxlen=2).tag(sync=True, figure=True)
    places = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    spots = Numbers(2).tag(sync=True, figure=True)

    def __init__(self, tokens, asker, E, V, scores, *, axes, spots, **kwargs):
        places, spots = list(spots), list(spots.values())
        super().__init__(
            tokens=tokens, asker=asker, E=E, V=V, scores=scores, axes=axes, places=places, spots=spots, **kwargs
        )

    @traitlets.validate("tokens", "E", "V", "scores", "places", "spots")
    def _check(self, proposal):
        now = self._proposed(proposal)
        shapes = {name: np.shape(now[name]) for name in ("tokens", "E", "V", "scores", "places", "spots")}
        n, n_spots = shapes["tokens"][0], shapes["places"][0]
        wanted = {"tokens": (n,), "E": (2,), "V": (n, 2), "scores": (n,), "places": (n_spots,), "spots": (n_spots, 2)}
        if shapes != wanted:
            raise traitlets.TraitError(
                f"a plane needs E (2,), V (n, 2) and n scores for n words, and two numbers a spot, but has {shapes}"
            )
        return proposal.value

    @property
    def weights(self):
        """The weights as they stand: array, shape (n,)."""
        return softmax(self.scores)

    @property
    def moved(self):
        """Where the word goes: array, shape (2,)."""
        return np.array(self.E) + self.weights @ np.array(self.V)

    def describe(self):
        """Return one line that says what the figure shows."""
        x, y = self.moved
        return f"Update plane: {self.asker!r} moves to ({x:.2f}, {y:.2f}), attending to {listed(self.tokens, self.weights, 2)}"


class HeadsExplorer(Explorable):
    """Several heads on one short sentence: the pattern of each, and what each adds to a word.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    known : dict of array_like, shape (d_model,)
        The embedding of each word that has one; other words have only zeros.
    W_Q, W_K : array_like, shape (n_heads, d_model, d_k)
    W_V : array_like, shape (n_heads, d_model, d_v)
    W_O : array_like, shape (n_heads, d_v, d_model)
    heads, axes : list of str
        Names of the heads, and of the entries of an embedding.
    head, query : int
        The head and the word that are shown.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "heads_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    known = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    features = Numbers(2).tag(sync=True, figure=True)
    W_Q = Numbers(3).tag(sync=True, figure=True)
    W_K = Numbers(3).tag(sync=True, figure=True)
    W_V = Numbers(3).tag(sync=True, figure=True)
    W_O = Numbers(3).tag(sync=True, figure=True)
    heads = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    axes = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    head = traitlets.Int(0).tag(sync=True, figure=True)
    query = traitlets.Int(0).tag(sync=True, figure=True)

    def __init__(self, tokens, known, W_Q, W_K, W_V, W_O, *, heads, axes, head=0, query=0, **kwargs):
        super().__init__(
            tokens=tokens,
            known=list(known),
            features=list(known.values()),
            W_Q=W_Q,
            W_K=W_K,
            W_V=W_V,
            W_O=W_O,
            heads=heads,
            axes=axes,
            head=head,
            query=query,
            **kwargs,
        )

    @traitlets.validate("tokens", "known", "features", "W_Q", "W_K", "W_V", "W_O", "heads", "axes", "head", "query")
    def _check(self, proposal):
        now = self._proposed(proposal)
        shapes = {
            name: np.shape(now[name]) for name in ("features", "W_Q", "W_K", "W_V", "W_O", "heads", "axes", "known")
        }
        (n_heads, d_model, d_k), d_v = shapes["W_Q"], shapes["W_V"][2]
        wanted = {
            "features": (len(now["known"]), d_model),
            "W_Q": (n_heads, d_model, d_k),
            "W_K": (n_heads, d_model, d_k),
            "W_V": (n_heads, d_model, d_v),
            "W_O": (n_heads, d_v, d_model),
            "heads": (n_heads,),
            "axes": (d_model,),
            "known": (len(now["known"]),),
        }
        if shapes != wanted:
            raise traitlets.TraitError(f"the sizes of the heads do not fit each other: {shapes}")
        if not 2 <= len(now["tokens"]) <= 8:
            raise traitlets.TraitError(f"this figure takes 2 to 8 words, but there are {len(now['tokens'])}")
        for name, size in {"head": n_heads, "query": len(now["tokens"])}.items():
            _check_place(name, now[name], size)
        return proposal.value

    @property
    def weights(self):
        """The pattern of each head: array, shape (n_heads, n, n)."""
        return self._attend(slice(None))[1]

    @property
    def updates(self):
        """What each head adds to each word: array, shape (n_heads, n, d_model)."""
        return np.array([self._attend(slice(h, h + 1))[0] for h in range(len(self.heads))])

    def _attend(self, heads):
        nothing = np.zeros(len(self.axes))
        X = np.array([dict(zip(self.known, self.features)).get(token, nothing) for token in self.tokens])
        return multi_head_attention(X, *(np.array(W)[heads] for W in (self.W_Q, self.W_K, self.W_V, self.W_O)))

    def describe(self):
        """Return one line that says what the figure shows."""
        weights = self.weights[self.head, self.query]
        return f"Heads explorer: in the head {self.heads[self.head]!r}, {self.tokens[self.query]!r} attends to {listed(self.tokens, weights, 2)}"


class ParameterCounter(Explorable):
    """The sizes of a transformer, and how many numbers each of its parts has to learn.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one to start with.
    biases, norms, positions, tied : bool
        As for `count_parameters`.

    Raises
    ------
    KeyError
        If there is no such model.
    traitlets.TraitError
        If a size is set to something other than an integer from 1 to 1,000,000.
    """

    _name = "parameter_counter"
    _esm = module(_name)

    presets = traitlets.Dict().tag(sync=True, figure=True)
    d_model = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    n_heads = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    d_k = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    n_layers = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    vocab_size = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    n_positions = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    d_ff = traitlets.Int(1, min=1, max=1_000_000).tag(sync=True, figure=True)
    biases = traitlets.Bool(True).tag(sync=True, figure=True)
    norms = traitlets.Bool(True).tag(sync=True, figure=True)
    positions = traitlets.Bool(True).tag(sync=True, figure=True)
    tied = traitlets.Bool(True).tag(sync=True, figure=True)

    def __init__(self, presets, chosen, **kwargs):
        presets = {name: vars(config) for name, config in presets.items()}
        super().__init__(presets=presets, **presets[chosen], **kwargs)

    @property
    def config(self):
        """The sizes as they stand: a TransformerConfig."""
        return TransformerConfig(**{field.name: getattr(self, field.name) for field in fields(TransformerConfig)})

    @property
    def counts(self):
        """The parameters of each part as they stand: dict of int."""
        return count_parameters(
            self.config, biases=self.biases, norms=self.norms, positions=self.positions, tied=self.tied
        )

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Parameter counter: {self.counts['total']:,} parameters"


class CostExplorer(Explorable):
    """What a text of n tokens asks of a model: memory, and the share of work that grows with n.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one that is shown.
    n_tokens : int
        A power of two from 128 to 1,048,576.
    key_heads : int, optional
        How many heads of keys and values a layer keeps; as many as there are heads unless given.

    Raises
    ------
    traitlets.TraitError
        If there is no such model, `n_tokens` is no such power of two, or `key_heads` does not divide the number of heads.
    """

    _name = "cost_explorer"
    _esm = module(_name)

    presets = traitlets.Dict().tag(sync=True, figure=True)
    chosen = traitlets.Unicode().tag(sync=True, figure=True)
    n_tokens = traitlets.Int().tag(sync=True, figure=True)
    key_heads = traitlets.Int().tag(sync=True, figure=True)

    def __init__(self, presets, chosen, *, n_tokens=2048, key_heads=None, **kwargs):
        presets = {
            name: {**vars(config), "parameters": count_parameters(config)["total"]} for name, config in presets.items()
        }
        key_heads = presets.get(chosen, {"n_heads": 1})["n_heads"] if key_heads is None else key_heads
        super().__init__(presets=presets, chosen=chosen, n_tokens=n_tokens, key_heads=key_heads, **kwargs)

    @traitlets.validate("chosen", "key_heads", "n_tokens")
    def _check(self, proposal):
        now = self._proposed(proposal)
        if now["chosen"] not in self.presets:
            raise traitlets.TraitError(f"chosen must be one of {', '.join(self.presets)}, but is {now['chosen']!r}")
        n_heads = self.presets[now["chosen"]]["n_heads"]
        if now["key_heads"] < 1 or n_heads % now["key_heads"]:
            raise traitlets.TraitError(
                f"key_heads must divide the {n_heads} heads of {now['chosen']!r}, but is {now['key_heads']}"
            )
        if now["n_tokens"] not in [2**power for power in range(7, 21)]:
            raise traitlets.TraitError(
                f"n_tokens must be a power of two from 128 to 1,048,576, but is {now['n_tokens']}"
            )
        return proposal.value

    @property
    def costs(self):
        """Bytes of `parameters`, of one layer's `patterns` and of the `cache`, and the `share` of work: dict."""
        sizes = self.presets[self.chosen]
        pairs = 4 * self.n_tokens * sizes["n_heads"] * sizes["d_k"]
        matrices = 2 * sizes["d_model"] * (2 * (sizes["n_heads"] + self.key_heads) * sizes["d_k"] + 2 * sizes["d_ff"])
        saved = 2 * sizes["n_layers"] * (sizes["n_heads"] - self.key_heads) * sizes["d_k"] * (sizes["d_model"] + 1)
        return {
            "parameters": 2 * (sizes["parameters"] - saved),
            "patterns": 2 * sizes["n_heads"] * self.n_tokens**2,
            "cache": 4 * sizes["n_layers"] * self.key_heads * sizes["d_k"] * self.n_tokens,
            "share": pairs / (pairs + matrices),
        }

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Cost explorer: {self.n_tokens:,} tokens in {self.chosen!r} keep {self.costs['cache'] / 2**30:.2f} GiB of keys and values"


class TrainingExplorer(Explorable):
    """Weights recorded while matrices were trained, to be looked through step by step.

    Parameters
    ----------
    tokens : list of str
        The words whose weights were recorded.
    steps : list of int
        The steps at which they were, from 0 on, rising.
    runs : dict of (weights, losses)
        By what was trained: arrays of shape (n_steps, n_tokens) and (n_steps,).
    run, moment : int
        Which run is shown, and which of the steps.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "training_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    steps = traitlets.List(traitlets.Int(min=0)).tag(sync=True, figure=True)
    runs = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    weights = Numbers(3).tag(sync=True, figure=True)
    losses = Numbers(2).tag(sync=True, figure=True)
    run = traitlets.Int(0).tag(sync=True, figure=True)
    moment = traitlets.Int(0).tag(sync=True, figure=True)

    def __init__(self, tokens, steps, runs, *, run=0, moment=0, **kwargs):
        weights, losses = zip(*runs.values())
        super().__init__(
            tokens=tokens,
            steps=list(steps),
            runs=list(runs),
            weights=weights,
            losses=losses,
            run=run,
            moment=moment,
            **kwargs,
        )

    @traitlets.validate("tokens", "steps", "runs", "weights", "losses", "run", "moment")
    def _check(self, proposal):
        now = self._proposed(proposal)
        n_runs, n_steps, n = (len(now[name]) for name in ("runs", "steps", "tokens"))
        shapes = {name: np.shape(now[name]) for name in ("weights", "losses")}
        if shapes != {"weights": (n_runs, n_steps, n), "losses": (n_runs, n_steps)}:
            raise traitlets.TraitError(f"{n_runs} runs of {n_steps} steps on {n} words do not fit {shapes}")
        for name, size in {"run": n_runs, "moment": n_steps}.items():
            _check_place(name, now[name], size)
        return proposal.value

    def describe(self):
        """Return one line that says what the figure shows."""
        weights = self.weights[self.run][self.moment]
        return f"Training explorer: {self.runs[self.run]}, step {self.steps[self.moment]}: {listed(self.tokens, weights, 2)}"


class GaugeExplorer(Explorable):
    """Queries stretched and keys shrunk along their first entry: cosines move, scores do not.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    Q, K : array_like, shape (n, d_k)
    power : float
        The first entry of each query is multiplied by 2 ** power, that of each key divided by it.
    shown : int
        0 for the cosines of keys, 1 for those of queries, 2 for the scores.

    Raises
    ------
    traitlets.TraitError
        If the sizes do not fit each other.
    """

    _name = "gauge_explorer"
    _esm = module(_name)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True, figure=True)
    Q = Numbers(2).tag(sync=True, figure=True)
    K = Numbers(2).tag(sync=True, figure=True)
    power = traitlets.Float(0.0, min=-4, max=4).tag(sync=True, figure=True)
    shown = traitlets.Int(0, min=0, max=2).tag(sync=True, figure=True)

    def __init__(self, tokens, Q, K, *, power=0.0, shown=0, **kwargs):
        super().__init__(tokens=tokens, Q=Q, K=K, power=power, shown=shown, **kwargs)

    @traitlets.validate("tokens", "Q", "K")
    def _check(self, proposal):
        now = self._proposed(proposal)
        shapes = {name: np.shape(now[name]) for name in ("tokens", "Q", "K")}
        if shapes["Q"] != shapes["K"] or shapes["tokens"] != shapes["Q"][:1] or not 2 <= shapes["tokens"][0] <= 8:
            raise traitlets.TraitError(f"2 to 8 words need Q and K (n, d_k), but there are {shapes}")
        return proposal.value

    @property
    def maps(self):
        """Cosines of keys, cosines of queries, scores: array, shape (3, n, n)."""
        factors = np.ones(np.shape(self.Q)[1])
        factors[0] = 2.0**self.power
        Q, K = np.array(self.Q) * factors, np.array(self.K) / factors
        units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (K, Q)]
        return np.array([*(rows @ rows.T for rows in units), Q @ K.T / np.sqrt(len(factors))])

    def describe(self):
        """Return one line that says what the figure shows."""
        return f"Gauge explorer: stretched by {2.0**self.power:.2f}, cosine of the first two keys {self.maps[0, 0, 1]:.2f}, their score {self.maps[2, 0, 1]:.2f}"


class SelfCheck(Explorable):
    """Questions with answers to choose from; each choice is explained at once.

    Parameters
    ----------
    questions : list of (str, str, dict of str to str)
        What is asked, the right answer, and for every answer why it is right or wrong.
    chosen : list of int
        The answer chosen last for each question, -1 for none.

    Raises
    ------
    traitlets.TraitError
        If a right answer is not among the answers, or an explanation is missing.

    Examples
    --------
    >>> SelfCheck([("How much is 1 + 1?", "2", {"2": "One and one more.", "11": "That joins the digits."})]).describe()
    'Questions: How much is 1 + 1?'
    """

    _name = "self_check"
    _esm = module(_name)
    _without_script = "Questions to answer: they are alive in the built book and in JupyterLab."

    questions = traitlets.List(traitlets.Dict()).tag(sync=True, figure=True)
    chosen = traitlets.List(traitlets.Int()).tag(sync=True, figure=True)

    def __init__(self, questions, *, chosen=None, **kwargs):
        items = []
        for ask, right, answers in questions:
            if right not in answers or len(answers) < 2:
                raise traitlets.TraitError(
                    f"{ask!r} needs its right answer {right!r} among at least 2, but there are {list(answers)}"
                )
            if unexplained := [answer for answer, why in answers.items() if not why.strip()]:
                raise traitlets.TraitError(f"{ask!r} does not explain {unexplained}")
            options = [{"text": text, "why": why} for text, why in answers.items()]
            items.append({"ask": ask, "right": list(answers).index(right), "answers": options})
        super().__init__(questions=items, chosen=[-1] * len(items) if chosen is None else chosen, **kwargs)

    @traitlets.validate("chosen")
    def _check(self, proposal):
        sizes = [len(question["answers"]) for question in self.questions]
        if len(proposal.value) != len(sizes) or not all(-1 <= i < size for i, size in zip(proposal.value, sizes)):
            raise traitlets.TraitError(
                f"chosen needs one answer, or -1, for each question of {sizes} answers, but is {proposal.value}"
            )
        return proposal.value

    def describe(self):
        """Return one line that says what is asked."""
        return "Questions: " + " ".join(question["ask"] for question in self.questions)
