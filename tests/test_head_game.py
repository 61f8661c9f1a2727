"""Name that head: what a pattern gives to the first token, the one before and a word again, and what that is called."""

import numpy as np
from numpy.testing import assert_allclose

from attn_course.figures import HeadGame
from attn_course.figures.head_game import A_ROUND, KINDS, kinds_of, shares_of
from attn_course.measured import read_measured

TOKENS = [" A", " cat", " saw", " a", " cat", "."]  # the first token counts as that alone; one word comes again
first, before, again, after = np.zeros((4, 6, 6))
first[:, 0] = 1
before[range(1, 6), range(5)] = 1
again[:] = first
again[4] = np.eye(6)[1]  # the same word
after[:] = first
after[4] = np.eye(6)[2]  # what followed it


def test_each_pattern_is_called_by_what_it_does_where_there_is_something_of_the_kind():
    shares = shares_of(np.array([first, before, again, after, np.tri(6) / 6]), TOKENS)
    assert_allclose(shares[:4], [[1, 0, 0], [0, 1, 0], [0.75, 0, 1], [0.75, 0, 1]])
    assert kinds_of(shares) == ["first", "before", "again", "again", "none"]
    assert np.isnan(shares_of(np.array([first]), [" The", " cat", " sat"] + ["."] * 3)[:, 2]).all(), (
        "no word comes again"
    )


def test_every_round_has_ten_heads_of_all_kinds_and_no_head_comes_twice():
    cases = HeadGame(read_measured("smollm2_wall")).cases
    assert len({case["head"] for case in cases}) == len(cases) >= 3 * A_ROUND
    for start in range(0, len(cases), A_ROUND):
        kinds = [case["kind"] for case in cases[start : start + A_ROUND]]
        assert [kinds.count(kind) for kind in KINDS] == [3, 2, 2, 3]
    for case in cases:
        n = len(case["tokens"])
        assert len(case["weights"]) == n * (n + 1) // 2
