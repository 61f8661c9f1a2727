"""Name that head: one pattern of one head, four answers, and then what it does in many sentences."""

import numpy as np
import traitlets

from attn_course.figures.base import Explorable, check_range
from attn_course.figures.wall import HeadsWall

KINDS = ["first", "before", "again", "none"]  # what a head looks at, as `shares_of` has it, or none of these
LEAST = {"before": 1 / 3, "again": 1 / 3, "first": 1 / 2}  # so much of its weight, on average; the first that fits
A_ROUND = 10  # heads: three, two, two and three of each kind


def shares_of(patterns, tokens):
    """Return what heads give to the first token, the one before, and an earlier time of the same word or what followed.

    Parameters
    ----------
    patterns : array, shape (n_heads, n, n)
    tokens : list of str

    Returns
    -------
    array, shape (n_heads, 3)
        Means over the tokens from the third on at which there is something to look at; NaN where no word comes again.
        The first token counts as that alone.
    """
    n, words = len(tokens), [token.strip().lower() for token in tokens]
    earlier = {i: [j for j in range(1, i) if words[j] == words[i] and words[i][0].isalpha()] for i in range(2, n)}
    again = [
        patterns[:, i, sorted({k for j in places for k in (j, j + 1) if k < i})].sum(axis=-1)
        for i, places in earlier.items()
        if places
    ]
    first, before = patterns[:, 2:, 0], patterns[:, range(2, n), range(1, n - 1)]
    none = np.full(len(patterns), np.nan)
    return np.stack([first.mean(axis=1), before.mean(axis=1), np.mean(again, axis=0) if again else none], axis=1)


def kinds_of(shares):
    """Return the kind of each head by its mean shares: list of str."""
    met = [(kind, shares[:, KINDS.index(kind)] > least) for kind, least in LEAST.items()]
    return [next((kind for kind, heads in met if heads[head]), "none") for head in range(len(shares))]


def cases_of(recording, rng):
    """Draw the heads of all rounds, and a sentence for each: list of dict."""
    walls = [HeadsWall(recording, sentence=i) for i in range(len(recording["runs"]))]
    found = [(wall, shares_of(wall.patterns, wall.record["tokens"])) for wall in walls]
    means = np.nanmean([shares for _, shares in found], axis=0)
    kinds = np.array(kinds_of(means))
    drawn = [rng.permutation(np.flatnonzero(kinds == kind)) for kind in KINDS]
    n_rounds = min(len(heads) for heads in drawn) // 2
    cases = []
    for number in range(n_rounds):
        picked = np.concatenate([heads[2 * number : 2 * number + 2] for heads in drawn])
        more = [drawn[k][2 * n_rounds + number] for k in (0, 3)]  # most heads are of these kinds
        for head in rng.permutation([*picked, *more]):
            wall, own = found[rng.choice([i for i, (_, shares) in enumerate(found) if not np.isnan(shares[0, 2])])]
            size = len(wall.record["weights"]) // wall.n_heads
            cases.append({
                "head": wall.heads[head], "kind": str(kinds[head]), "tokens": wall.record["tokens"],
                "weights": wall.record["weights"][head * size :][:size],
                "here": own[head].round(2).tolist(), "mean": means[head].round(2).tolist(),
            })  # fmt: skip
    return cases


class HeadGame(Explorable):
    """Ten patterns in a row, each of a head and a sentence; the reader says what the head does in other sentences too.

    Parameters
    ----------
    recording : dict
        That of the wall.
    round : int
        Which ten heads are shown.
    said : list of str
        The reader's answers in this round so far, of `KINDS`.
    seen : int
        How many of them have been looked at: the next head is shown when this is as many.
    """

    levels = traitlets.Unicode()
    n_sentences = traitlets.Int()
    cases = traitlets.List(traitlets.Dict())
    round = traitlets.Int(0)
    said = traitlets.List(traitlets.Enum(KINDS))
    seen = traitlets.Int(0)

    def __init__(self, recording, **kwargs):
        cases = cases_of(recording, np.random.default_rng(0))
        told = {"levels": recording["levels"], "n_sentences": len(recording["runs"]), "cases": cases}
        super().__init__(**told, **kwargs)

    def check(self, state):
        check_range(state, 0, len(state["cases"]) // A_ROUND - 1, "round")
        check_range({"answers": len(state["said"])}, 0, A_ROUND, "answers")
        check_range(state, 0, len(state["said"]), "seen")

    @property
    def known(self):
        """How many of the answers are right."""
        kinds = [case["kind"] for case in self.cases[A_ROUND * self.round :]]
        return sum(said == kind for said, kind in zip(self.said, kinds))

    def describe(self):
        return f"Name that head: {self.known} of {len(self.said)} known, round {self.round + 1}"
