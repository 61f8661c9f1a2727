"""Weights recorded while matrices were trained."""

from traitlets import TraitError

from attn.figures.base import Explorable, Place, Shaped, Words, listed


class TrainingExplorer(Explorable):
    """Weights recorded while matrices were trained, as arcs that are looked through step by step.

    Parameters
    ----------
    tokens : list of str
        The words whose weights were recorded.
    steps : list of int
        The steps at which they were, from 0 on, rising.
    losses : array_like, shape (n_steps,)
    runs : dict of array_like, shape (n_steps, n_tokens)
        The weights by what they show.
    askers : list of int
        For each run, the token whose weights these are.
    moment : int
        Which of the steps is shown.
    """

    tokens = Words("n")
    steps = Shaped("n_steps", int)
    losses = Shaped("n_steps")
    runs = Words("n_runs")
    weights = Shaped("n_runs n_steps n")
    askers = Shaped("n_runs", int)
    moment = Place("n_steps")

    def __init__(self, tokens, steps, losses, runs, askers, **kwargs):
        super().__init__(tokens, steps, losses, list(runs), list(runs.values()), askers, **kwargs)

    def check(self, state):
        if not all(0 <= asker < len(state["tokens"]) for asker in state["askers"]):
            raise TraitError(f"askers must be tokens, but is {state['askers']}")

    def describe(self):
        run, weights = self.runs[0], self.weights[0][self.moment]
        return f"Training explorer: {run}, step {self.steps[self.moment]}: {listed(self.tokens, weights, 2)}"
