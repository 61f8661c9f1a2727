"""Models of one kind that differ in their seed: one is trained in view, what the others answer was measured once."""

import json
import os
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from attn_course.measured import read_measured

ASKED_ANEW = "ATTN_SIBLINGS"  # names the file into which answers go where all are trained: `make siblings`


class Siblings:
    """Models of one kind, of which only the first is trained here.

    Parameters
    ----------
    kind : str
        The name under which the answers of the others are kept.
    learn : callable
        Trains a model from a seed, and returns it.
    seeds : sequence of int
    steady : bool
        Whether a processor that adds in another order learns as much; where not, the first is compared with nothing.

    Attributes
    ----------
    models : list
        Those that are trained: the first, or all.

    Examples
    --------
    >>> drawn = Siblings("an example", lambda seed: np.random.default_rng(seed).normal(size=3), range(4))
    >>> len(drawn.models)
    1
    >>> drawn.train_all()
    >>> drawn.ask("mean", np.mean).shape
    (4,)
    """

    def __init__(self, kind, learn, seeds, *, steady=True):
        self._kind, self._learn, self._seeds, self._steady = kind, learn, seeds, steady
        self.models = [learn(seeds[0])]
        if ASKED_ANEW in os.environ:
            self.train_all()

    def train_all(self):
        """Train the others as well; from then on each answers for itself."""
        left = self._seeds[len(self.models) :]
        bar = tqdm(left, leave=False, disable="TQDM_DISABLE" in os.environ)  # in a notebook, tqdm does not look there
        self.models += [self._learn(seed) for seed in bar]

    def ask(self, question, answer):
        """Return what `answer` says of each model, the first one first: array of float, shape (n_seeds, ...).

        ValueError says where the others were not asked, or the first answers otherwise than when they were.
        """
        told = np.array([answer(model) for model in self.models], float)
        if ASKED_ANEW in os.environ:
            keep(self._kind, question, told)
        if len(told) == len(self._seeds):
            return told
        answers = read_measured("siblings")["runs"].get(self._kind, {})
        if question not in answers:
            raise ValueError(f"{self._kind}: the others were not asked {question!r}; train_all() trains them here")
        kept = np.array(answers[question])
        alike = not self._steady or np.allclose(kept[0].mean(), told[0].mean(), rtol=0.1, atol=0.05)
        if kept[0].shape != told[0].shape or not alike:
            raise ValueError(
                f"{self._kind}: {question} is {told[0].mean():.3g} here, and was {kept[0].mean():.3g} when the others "
                f"were measured. If that is meant, measure them anew: make siblings"
            )
        return np.concatenate([told, kept[1:]])


def keep(kind, question, answers):
    file = Path(os.environ[ASKED_ANEW])
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known.setdefault(kind, {})[question] = answers.round(4).tolist()
    file.write_text(json.dumps(known), encoding="utf-8")
