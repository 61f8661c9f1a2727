"""What a run of a transformer has seen, and what is done to it: traces and interventions.

Layers and heads are counted from 1: L4H3 is the third head of layer 4. In NumPy its weights are `weights[2]`.
"""

import contextlib
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from attn.checks import as_array
from attn.tape import differentiable, sum_to

open_trace = ContextVar("open trace", default=None)


# --- traces ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionTrace:
    """What one attention has seen.

    Parameters
    ----------
    Q : array, shape (..., n_heads, n_queries, d_k)
    K : array, shape (..., n_heads, n_keys, d_k)
    V : array, shape (..., n_heads, n_keys, d_k)
        Each as it was compared and mixed: turned, if positions are rotary.
    weights : array, shape (..., n_heads, n_queries, n_keys)
    scale : float
        What dot products were multiplied by.
    bias : array, shape (n_heads, n_queries, n_keys), or None
        What positions added to scores.
    """

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    weights: np.ndarray
    scale: float
    bias: np.ndarray | None = None

    @property
    def scores(self):
        """Scaled, with the bias, before the mask: shape as of the weights."""
        scores = self.Q @ np.swapaxes(self.K, -1, -2) * self.scale
        return scores if self.bias is None else scores + self.bias


@dataclass(frozen=True)
class LayerTrace:
    """What one layer has seen.

    Parameters
    ----------
    attention, cross : AttentionTrace
        `cross` is None where there is no cross-attention.
    after_attention, after_mlp : array, shape (..., n, d_model)
        The residual stream after all attention of the layer, and after its MLP.
    """

    attention: AttentionTrace
    cross: AttentionTrace | None
    after_attention: np.ndarray
    after_mlp: np.ndarray


@dataclass
class Trace:
    """Keeps what every layer that runs inside `with` has seen.

    Attributes
    ----------
    embedded : list of array, shape (..., n, d_model)
        The residual stream that entered layer 1, for each run.
    layers : list of LayerTrace
        In the order in which they ran; layer 1 is `layers[0]`.
    """

    embedded: list = field(default_factory=list)
    layers: list = field(default_factory=list)

    def __enter__(self):
        self._token = open_trace.set(self)
        return self

    def __exit__(self, *_):
        open_trace.reset(self._token)


# --- interventions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forbid:
    """Keep queries from keys: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    edges : list of (query, key), or array of bool, shape (..., n, n)
        The positions that may not attend, or True where a query (row) may not attend to a key (column).
    layer : int, optional
        The layer, from 1 on; default: all.
    head : int, optional
        The head, from 1 on; default: all.
    """

    edges: object
    layer: int | None = None
    head: int | None = None

    def check(self, config):
        """Refuse a layer or a head that the model does not have."""
        if self.layer not in (None, *range(1, config.n_layers + 1)):
            raise ValueError(f"the layer must be from 1 to {config.n_layers}, but is {self.layer!r}")
        if self.head not in (None, *range(1, config.n_heads + 1)):
            raise ValueError(f"the head must be from 1 to {config.n_heads}, but is {self.head!r}")

    def mask(self, n_heads, n):
        """Return where a query may still attend in a text of n tokens: array of bool, shape (..., n_heads, n, n)."""
        heads = np.ones(n_heads, bool) if self.head is None else np.arange(1, n_heads + 1) == self.head
        return ~(heads[:, None, None] & self._forbidden(n)[..., None, :, :])

    def _forbidden(self, n):
        if self.edges is True:
            return np.ones((n, n), bool)
        edges = as_array("edges", self.edges)
        if edges.dtype == bool:
            if edges.shape[-2:] != (n, n):
                raise ValueError(f"forbidden edges of shape {edges.shape} do not fit a text of {n} tokens")
            return edges
        if edges.size and (edges.dtype.kind not in "iu" or edges.shape[1:] != (2,)):
            told = f"but they are {edges.dtype}, of shape {edges.shape}"
            raise ValueError(f"forbidden edges are pairs (query, key), or True and False for each of them, {told}")
        forbidden = np.zeros((n, n), bool)
        for query, key in edges.tolist():
            if not (0 <= query < n and 0 <= key < n):
                raise ValueError(f"the forbidden edge {(query, key)} is not in a text of {n} tokens")
            forbidden[query, key] = True
        return forbidden


def named_head(name):
    """Return the layer and the head of a name such as L4H3.

    Examples
    --------
    >>> named_head("L4H3")
    (4, 3)
    """
    layer, head = name.removeprefix("L").split("H")
    return int(layer), int(head)


def head_names(n_layers, n_heads):
    """Return the names of all heads, layer by layer.

    Examples
    --------
    >>> head_names(2, 2)
    ['L1H1', 'L1H2', 'L2H1', 'L2H2']
    """
    return [f"L{layer}H{head}" for layer in range(1, n_layers + 1) for head in range(1, n_heads + 1)]


def switch_off(layer, head):
    """Return the intervention that lets one head attend to nothing, so that it writes nothing."""
    return Forbid(True, layer, head)


def hold(looks, layer, head):
    """Return the intervention that holds one head to a rule: each query looks at one key alone.

    Parameters
    ----------
    looks : array_like of int, shape (..., n)
        At which position each query looks; a query is free where this is negative.
    layer : int
        The layer, from 1 on.
    head : int
        The head, from 1 on.

    Examples
    --------
    >>> hold([-1, 0, 1], layer=1, head=1).edges.astype(int)
    array([[0, 0, 0],
           [0, 1, 1],
           [1, 0, 1]])
    """
    looks = as_array("looks", looks)
    if looks.ndim == 0 or looks.dtype.kind not in "iu" or looks.max(initial=-1) >= looks.shape[-1]:
        told = f"but they are {looks.dtype}, of shape {looks.shape}, up to {looks.max(initial=-1)}"
        raise ValueError(f"looks are positions in the text, one for each query, {told}")
    looks = looks[..., None]
    return Forbid((looks >= 0) & (looks != np.arange(looks.shape[-2])), layer, head)


@dataclass(frozen=True)
class Replace:
    """Put other vectors into the residual stream: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    place : int or slice
        The positions that are replaced; with a cache, among the tokens of this run.
    stream : array, shape (..., d_model)
        What stands there from now on, such as `trace.layers[2].after_mlp[..., place, :]` of another run.
    layer : int
        The layer, from 1 on; 0 for what enters layer 1.
    after : {"mlp", "attention"}
        After which part of the layer.
    """

    place: int | slice
    stream: np.ndarray
    layer: int
    after: str = "mlp"

    def check(self, config):
        """Refuse a layer that the model does not have, or a place in it that there is not."""
        if self.layer not in range(config.n_layers + 1):
            raise ValueError(f"the layer must be from 0 to {config.n_layers}, but is {self.layer!r}")
        if self.after not in ("mlp", "attention"):
            raise ValueError(f"after must be mlp or attention, but is {self.after!r}")
        if (self.layer, self.after) == (0, "attention"):
            raise ValueError("layer 0 stands for what enters layer 1, and there is no attention before it")


@dataclass(frozen=True)
class _InOneHead:
    place: int | slice | np.ndarray
    values: np.ndarray
    layer: int
    head: int

    def check(self, config):
        """Refuse a layer or a head that the model does not have."""
        if self.layer not in range(1, config.n_layers + 1):
            raise ValueError(f"the layer must be from 1 to {config.n_layers}, but is {self.layer!r}")
        if self.head not in range(1, config.n_heads + 1):
            raise ValueError(f"the head must be from 1 to {config.n_heads}, but is {self.head!r}")


class ReplaceValues(_InOneHead):
    """Let one head mix other values, with the weights that it has: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    place : int, slice, or array of bool, shape (..., n)
        The positions whose values are replaced; with a cache, in the whole text. The cache keeps the model's own
        values: what is given for one run is to be given for those that follow.
    values : array, shape (d_v,) or (..., n, d_v)
        What stands there. The head's mean mixture at all places is mean ablation.
    layer : int
        The layer, from 1 on.
    head : int
        The head, from 1 on.
    """


class ReplaceMixtures(_InOneHead):
    """Let one head hand over other mixtures than its own: an intervention for `encoder` and `decoder`.

    Parameters
    ----------
    place : int, slice, or array of bool, shape (..., n)
        The positions that ask, whose mixtures are replaced; with a cache, among the tokens of this run.
    values : array, shape (d_v,) or (..., n, d_v)
        What the head hands over there, before it is multiplied by W_O, such as `weights @ V` of another run's trace.
    layer : int
        The layer, from 1 on.
    head : int
        The head, from 1 on.
    """


KINDS = (Forbid, Replace, ReplaceValues, ReplaceMixtures)


def check_interventions(interventions, config):
    """Return the interventions as a tuple, or say which does not fit the config."""
    if isinstance(interventions, KINDS):
        raise TypeError(f"interventions come in a list, but this is a single {type(interventions).__name__}")
    interventions = tuple(interventions)
    for one in interventions:
        if not isinstance(one, KINDS):
            names = ", ".join(kind.__name__ for kind in KINDS)
            raise TypeError(f"an intervention is one of {names}, but this is {one!r}")
        one.check(config)
    return interventions


def forbid_edges(mask, interventions, layer, shape):
    """Return a layer's mask without the edges that are forbidden there; `shape` is (n_heads, n_queries, n_keys)."""
    n_heads, n_queries, n_keys = shape
    for one in interventions:
        if isinstance(one, Forbid) and one.layer in (None, layer):
            allowed = one.mask(n_heads, n_keys)[..., n_keys - n_queries :, :]
            mask = allowed if mask is None else mask & allowed
    return mask


def replace_rows(X, interventions, layer, after="mlp"):
    """Return the residual stream X with what is put into it after a part of a layer."""
    for one in interventions:
        if isinstance(one, Replace) and (one.layer, one.after) == (layer, after):
            X = _put(X, one.place, one.stream)
    return X


def replace_values(V, interventions, layer, kind=ReplaceValues):
    """Return values or mixtures of all heads, shape (..., n_heads, n, d_v), with those that are put in their places."""
    for one in interventions:
        if isinstance(one, kind) and one.layer == layer:
            V = _put_values(V, one.place, one.values, one.head - 1)
    return V


@differentiable
def _put(X, place, stream):
    """Replace rows of X: what stood there gets no gradient, and what stands there now gets it."""
    if X.size:
        _places(place, X.shape[-2])
    replaced = X.copy()
    replaced[..., place, :] = stream

    def backward(grad):
        grad_X = grad.copy()
        grad_X[..., place, :] = 0
        return grad_X, None, sum_to(grad[..., place, :], np.shape(stream))

    return replaced, backward


@differentiable
def _put_values(V, place, values, head):
    """Replace values of one head: what stood there gets no gradient, and what stands there now gets it."""
    here = _places(place, V.shape[-2])[..., None]
    replaced = V.copy()
    replaced[..., head, :, :] = np.where(here, values, V[..., head, :, :])

    def backward(grad):
        grad_V = grad.copy()
        grad_V[..., head, :, :] = np.where(here, 0, grad[..., head, :, :])
        return grad_V, None, sum_to(np.where(here, grad[..., head, :, :], 0), np.shape(values)), None

    return replaced, backward


def _places(place, n):
    """Return the positions of a text of n tokens as an array of bool, shape (..., n)."""
    if isinstance(place, np.ndarray):
        if place.dtype != bool or place.shape[-1] != n:
            raise ValueError(f"places are True or False for {n} tokens, but are {place.dtype}, of shape {place.shape}")
        return place
    here = np.zeros(n, bool)
    with contextlib.suppress(IndexError):
        here[place] = True
    if not here.any():
        raise ValueError(f"there is nothing to replace at {place} in a text of {n} tokens")
    return here
