"""Controls for a function of the reader's own, and what it shows at the start where no kernel runs."""

from functools import wraps
from html import escape

from IPython.display import display
from IPython.utils.capture import capture_output
from ipywidgets import Text, VBox, interactive

HOW = "To change this, run the cell in JupyterLab."


def interact(**controls):
    """Give the function below a control for each argument, and run it again whenever one of them is moved.

    It is `ipywidgets.interact` as a decorator. What the function raises at the start, its cell raises.

    Parameters
    ----------
    **controls : tuple, list, dict, bool, str or widget
        By the name of an argument: `(low, high)` or `(low, high, step)` for a slider, a list for a menu, True or False
        for a box to tick, text for a field, or any widget that has a value. The argument's default is where it starts.

    Returns
    -------
    callable
        A decorator, which returns the function as it was. It prints, or ends with `plt.show()`: a page has the picture.
    """

    def controlled(function):
        @wraps(function)
        def nothing(**values):
            pass

        moved = interactive(nothing, clear_output=False, **controls)  # it would hide what the function raises
        with capture_output(stderr=False) as start:
            function(**moved.kwargs)
        moved.f, moved.clear_output = function, True
        *given, result = moved.children
        for control in given:
            control.style.description_width = "initial"  # room for the whole name
            if isinstance(control, Text):
                control.continuous_update = False  # half a word may mean nothing
        told = [f"{control.description} = {control.value}" for control in given]
        html = f'<p class="attn-live">{escape(", ".join(told))}. {HOW}</p>'
        shown = {"text/plain": start.stdout.rstrip()}
        for output in start.outputs:
            shown |= output.data
        result.outputs = [{"output_type": "display_data", "data": shown, "metadata": {}}]
        show(VBox(given), {"text/plain": "\n".join([*told, HOW]), "text/html": html})
        show(result, shown)
        return function

    return controlled


def show(widget, still):
    """Display a widget, and where no kernel runs what stands still: data by their kind, such as "text/plain"."""
    display({**widget._repr_mimebundle_(), **still}, raw=True)
