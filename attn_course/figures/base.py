"""What the figures that move have in common: a widget, and traits whose axes have names."""

import json
import reprlib
from html import escape

import anywidget
import numpy as np
import traitlets

from attn_course.digits import significant
from attn_course.figures.joined import FOLDER, joined, read_source

DTYPES = {float: "numbers", bool: "True and False"}


def listed(tokens, weights, digits):
    """Return tokens and their weights in words: "cat 0.25, mat 0.50"."""
    return ", ".join(f"{token} {weight:.{digits}f}" for token, weight in zip(tokens, weights))


def check_finite(name, numbers):
    """Refuse NaN and infinity, which no page can read as JSON."""
    if not np.isfinite(numbers).all():
        found = "NaN" if np.isnan(numbers).any() else "infinity"
        raise traitlets.TraitError(f"{name} needs finite numbers, but has {found} in it")


def check_shape(trait, shape):
    """Refuse a shape that has other axes than the trait, and an empty one."""
    fixed = [int(axis) if axis.isdigit() else size for axis, size in zip(trait.axes, shape)]
    if len(shape) != len(trait.axes) or list(shape) != fixed or 0 in shape:
        raise traitlets.TraitError(f"{trait.name} needs the axes ({', '.join(trait.axes)}), but has shape {shape}")


def check_heads(heads, known):
    """Refuse names of heads that are not among those of a model."""
    if unknown := [head for head in heads if head not in known]:
        raise traitlets.TraitError(f"heads are {known[0]} to {known[-1]}, but there is {', '.join(unknown)}")


def check_range(state, least, most, *names):
    """Refuse numbers of a state that are not from the least to the most."""
    for name in names:
        if not least <= state[name] <= most:
            raise traitlets.TraitError(f"{name} must be from {least} to {most}, but is {state[name]}")


def check_axes(traits, state):
    """Refuse sizes that differ along an axis of the same name, and positions that are not on their axis."""
    found = {}  # by axis and size, the names of the traits: {"n": {5: ["tokens", "Q"]}}
    for name, trait in traits.items():
        rows = list(state[name].values()) if isinstance(trait, Named) else state[name]
        for axis, size in zip(getattr(trait, "axes", []), np.shape(rows)):
            found.setdefault(axis, {}).setdefault(size, []).append(name)
    for axis, sizes in found.items():
        if len(sizes) > 1:
            told = ", but ".join(f"size {size} in {', '.join(dict.fromkeys(names))}" for size, names in sizes.items())
            raise traitlets.TraitError(f"the axis {axis} has {told}")
    for name, trait in traits.items():
        if isinstance(trait, Place):
            (size,), place = found[trait.axis], state[name]
            if not 0 <= place < size:
                told = f"on the axis {trait.axis}, from 0 to {size - 1}, but is {place}"
                raise traitlets.TraitError(f"{name} must be a position {told}")


class Words(traitlets.List):
    """A list of words along a named axis."""

    def __init__(self, axis):
        super().__init__(traitlets.Unicode())
        self.axes = [axis]

    def validate(self, obj, value):
        words = super().validate(obj, value)
        check_shape(self, (len(words),))
        return words


class Shaped(traitlets.TraitType):
    """An array of numbers or booleans with named axes, as "n d_k", kept as nested lists.

    An axis named by a number has that size. One that is optional is None until it is given.
    """

    def __init__(self, axes, dtype=float, optional=False):
        super().__init__(**({"default_value": None, "allow_none": True} if optional else {}))
        self.axes, self.dtype = axes.split(), dtype

    def validate(self, obj, value):
        try:
            array = np.asarray(value)
        except ValueError as error:  # NumPy's word on rows of different lengths
            raise traitlets.TraitError(f"{self.name} needs the axes ({', '.join(self.axes)}): {error}") from error
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise traitlets.TraitError(f"{self.name} needs {DTYPES[self.dtype]}, but is {reprlib.repr(value)}")
        check_finite(self.name, array)
        check_shape(self, array.shape)
        return significant(array.astype(self.dtype))


class Named(Shaped):
    """Rows of an array by name, as a dict; the first axis runs over the names."""

    def validate(self, obj, value):
        if not isinstance(value, dict):
            raise traitlets.TraitError(f"{self.name} needs a dict of names and rows, but is {value!r}")
        return dict(zip(value, super().validate(obj, list(value.values()))))


class Place(traitlets.Int):
    """A position along a named axis; default: the first."""

    def __init__(self, axis):
        super().__init__(0)
        self.axis = axis


class Number(traitlets.Float):
    """A finite number."""

    def validate(self, obj, value):
        number = super().validate(obj, value)
        check_finite(self.name, number)
        return significant(number)


class Explorable(anywidget.AnyWidget):
    """Base class: a widget that also shows itself as HTML where no kernel runs.

    The `_name` of a figure is that of its module and of its JavaScript. Its traits are what it shows, in the order of
    its positional arguments. They are checked together, after each change or at the end of a `with
    figure.hold_trait_notifications():`; a change that does not fit is taken back.
    """

    _css = read_source("figures.css")
    _brings = ()  # what a page of the book brings only when the reader asks
    _on_request = ()  # traits that a page of the book brings only when the reader asks
    shown = traitlets.List(traitlets.Unicode()).tag(sync=True)  # the names of its traits, for its JavaScript
    _without_script = "To move this figure, run its cell in JupyterLab, or open the built book with JavaScript."

    def __init_subclass__(cls, **kwargs):
        """Send all traits of a figure to its page, and have them checked together."""
        if Explorable in cls.__bases__:  # a figure, and not the class that anywidget derives from it for each instance
            cls._name = cls.__module__.rpartition(".")[2]
            traits = {name: value for name, value in vars(cls).items() if isinstance(value, traitlets.TraitType)}
            for trait in traits.values():
                trait.tag(sync=True)
            cls._shown = list(traits)
            cls._esm = "".join([*cls._brings, joined(FOLDER / f"{cls._name}.js")])
            cls._fits = traitlets.validate(*traits)(Explorable._check_together)
        super().__init_subclass__(**kwargs)

    def __init__(self, *values, **named):
        if len(values) > len(self._shown):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._shown)}, but {len(values)} values are given")
        super().__init__(**dict(zip(self._shown, values)), **named)

    @traitlets.default("shown")
    def _names(self):
        return self._shown

    def _check_together(self, proposal):
        state = {**self.state(), proposal.trait.name: proposal.value}
        check_axes({name: self.traits()[name] for name in self._shown}, state)
        self.check(state)
        return proposal.value

    def check(self, state):
        """Refuse a state that does not fit for a reason of the figure's own, with a `TraitError`."""

    def state(self):
        """Return what the figure shows, as plain numbers and text by trait name."""
        return {name: getattr(self, name) for name in self._shown}

    def describe(self):
        """Return one line that says what the figure shows."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        shown = {name: None if name in self._on_request else value for name, value in self.state().items()}
        state = json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c")
        data["text/html"] = (
            f'<div data-explorable="{self._name}"><script type="application/json">{state}</script>'
            f"<p>{escape(self.describe(), quote=False)}</p><p>{self._without_script}</p></div>"
        )
        data["text/plain"] = self.describe()
        return data, metadata
