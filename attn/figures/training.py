"""Weights recorded while matrices were trained."""

from traitlets import Int, List, TraitError

from attn.figures.base import Explorable, Place, Shaped, Words, listed


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
    askers : list of int, optional
        For each run, whose weights these are. Then all runs are shown at once, as arcs from these tokens.
    """

    _name = "training"

    tokens = Words("n")
    steps = Shaped("n_steps", int)
    runs = Words("n_runs")
    weights = Shaped("n_runs n_steps n")
    losses = Shaped("n_runs n_steps")
    run = Place("n_runs")
    moment = Place("n_steps")
    askers = List(Int())

    def __init__(self, tokens, steps, runs, **kwargs):
        weights, losses = zip(*runs.values())
        super().__init__(tokens, steps, list(runs), weights, losses, **kwargs)

    def check(self, state):
        askers, runs, tokens = state["askers"], state["runs"], state["tokens"]
        if askers and (len(askers) != len(runs) or not all(0 <= asker < len(tokens) for asker in askers)):
            raise TraitError(f"askers must be a token for each of the runs, but is {askers}")

    def describe(self):
        weights = listed(self.tokens, self.weights[self.run][self.moment], 2)
        return f"Training explorer: {self.runs[self.run]}, step {self.steps[self.moment]}: {weights}"
