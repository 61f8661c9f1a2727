"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and one JavaScript file. The JavaScript does the arithmetic, so
that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

import json
from pathlib import Path

import anywidget
import numpy as np
import traitlets

from attn.attention import causal_mask, scaled_dot_product_attention, softmax

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
    lines = ["(() => {", read_source("common.js"), "window.attnExplorables = {", *modules, "};", read_source("mount.js")]
    return "\n".join([*lines, "})();\n"])


def listed(tokens, weights, digits):
    """Return tokens and their weights in words: "cat 0.25, mat 0.50"."""
    return ", ".join(f"{token} {weight:.{digits}f}" for token, weight in zip(tokens, weights))


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

    def state(self):
        """Return what the figure shows, as plain numbers and text by trait name."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(figure=True))}

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        state = json.dumps(self.state(), ensure_ascii=False).replace("<", "\\u003c")
        data["text/html"] = (
            f'<div data-explorable="{self._name}"><script type="application/json">{state}</script>'
            "<p>A figure to move: it is alive in the built book and in JupyterLab.</p></div>"
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
        now = {name: getattr(self, name) for name in ("tokens", "Q", "K", "V", "query")}
        now[proposal.trait.name] = proposal.value
        shapes = {name: np.shape(now[name]) for name in ("tokens", "Q", "K", "V")}
        n, d_k = shapes["Q"]
        if shapes["tokens"] != (n,) or shapes["K"] != (n, d_k) or shapes["V"][0] != n or not 2 <= n <= 8:
            raise traitlets.TraitError(f"2 to 8 words need Q (n, d_k), K (n, d_k) and V (n, d_v), but there are {shapes}")
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
        super().__init__(
            tokens=tokens, scores=scores, temperature=temperature, offset=offset, knobs=knobs, **kwargs
        )

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
        shapes = {name: np.shape(getattr(self, name)) for name in ("tokens", "q", "K", "V")}
        shapes[proposal.trait.name] = np.shape(proposal.value)
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
        now = {"sizes": self.sizes, "scores": self.scores, "chosen": self.chosen, proposal.trait.name: proposal.value}
        n, shape = len(now["sizes"]), np.shape(now["scores"])
        if shape[0] != n or not 2 <= shape[1] <= 8:
            raise traitlets.TraitError(f"each of the sizes needs scores of 2 to 8 keys, but there are {n} sizes and scores of shape {shape}")
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
