"""Which token comes next? Questions for functions that draw tokens by their logits.

    .venv/bin/python -m recordings.libraries.next_token [ADAPTER ...]

A function takes a row of logits and a number of texts, and draws a token for each, shape (n,); what is not given it
chooses itself. Options: `temperature`, `top_k`, `top_p`; `penalty`, for tokens of the list `prompt`; `score`, for two
arrays, the tokens and what the library says beside them.
"""

import functools
import sys

import numpy as np

from attn_course.conventions import answer, offered
from attn_course.conventions import question as enter

QUESTIONS = {}
P, EQUAL = [0.4, 0.3, 0.2, 0.06, 0.04], [1 / 4] * 4  # equal ones are exact also where logits are rounded
question = functools.partial(enter, questions=QUESTIONS)


def ask(draw, names=()):
    """Ask a function all questions, or those that are named: dict of str, as in `conventions.ask`."""
    return {name: answer(QUESTIONS[name][0], offered(draw)) for name in names or QUESTIONS}


def _drawn(run, P, n=400, **options):
    """Return which tokens are drawn in n texts."""
    tokens = np.unique(np.asarray(run(np.log(P).astype(np.float32), n, **options)))
    return " ".join(map(str, tokens)) if len(tokens) < len(P) else "all"


@question
def nothing_given(run):
    """Nothing is given, and 100 tokens are nearly alike: how many are drawn?
    Give temperature, top-k and top-p on both sides."""
    told = _drawn(run, np.exp(-np.arange(100) / 1000), 3000)
    return told if told == "all" else str(len(told.split()))


@question
def temperature_and_top_p(run):
    """.4 .3 .2 .06 .04, a temperature of 1/2 and a top-p of 1/2: which tokens are drawn, 0 (temperature first) or 0 1?
    Cut the logits yourself, in the other side's order."""
    return _drawn(run, P, temperature=0.5, top_p=0.5)


@question
def top_k_and_top_p(run):
    """.4 .3 .2 .06 .04, a top-k of 3 and a top-p of 3/4: which tokens are drawn, 0 1 (p of what top-k leaves) or 0 1 2?
    Give p times the sum of what top-k leaves, or p divided by it."""
    return _drawn(run, P, top_k=3, top_p=0.75)


@question
def top_p_that_equal_tokens_meet(run):
    """Four equal tokens and a top-p of 1/2, which two of them have exactly: which are drawn?
    Make no two logits equal: add a little that falls, or rises, from token to token."""
    return _drawn(run, EQUAL, top_p=0.5)


@question
def top_k_that_cuts_between_equal_tokens(run):
    """Four equal tokens and a top-k of 2: which are drawn?
    Make no two logits equal: add a little that falls, or rises, from token to token."""
    return _drawn(run, EQUAL, top_k=2)


@question
def top_p_of_zero(run):
    """.4 .3 .2 .06 .04 and a top-p of 0: which tokens are drawn?
    Leave top-p out for all tokens, or give a top-k of 1 for the likeliest."""
    return _drawn(run, P, top_p=0.0)


@question
def top_k_above_the_vocabulary(run):
    """.4 .3 .2 .06 .04 and a top-k of 9: which tokens are drawn?
    Give min(k, vocab_size), or leave it out."""
    return _drawn(run, P, top_k=9)


@question
def temperature_of_zero(run):
    """.4 .3 .2 .06 .04 and a temperature of 0: which tokens are drawn?
    Give a top-k of 1, or take the argmax."""
    return _drawn(run, P, temperature=0.0)


@question
def penalty_for_words_of_the_prompt(run):
    """Token 0 is the likeliest and stands in the prompt, 1 place back or 30: does a repetition penalty hold it back?
    Write the penalty yourself, for the tokens that it shall count."""
    near, far = (_drawn(run, [0.5, 0.4, 0.1], top_k=1, penalty=1.6, prompt=[2, 0] + [2] * more) for more in (0, 29))
    return {"11": "yes", "10": "1 place back", "00": "no"}.get(near + far, f"{near} and {far}")


@question
def score_beside_a_token(run):
    """.4 .3 .2 .06 .04, a temperature of 1/2 and a top-k of 2: what stands beside token 0?
    Compute it from the logits: log-softmax, before or after dividing and cutting."""
    tokens, scores = run(np.log(P).astype(np.float32), 50, temperature=0.5, top_k=2, score=True)
    score = np.asarray(scores, float)[np.asarray(tokens) == 0][0]
    known = {"ln .4, before both": np.log(0.4), "ln .64, after both": np.log(0.64), "2 ln .4": 2 * np.log(0.4)}
    return next((name for name, one in known.items() if np.isclose(score, one, atol=1e-3)), f"{score:.3g}")


if __name__ == "__main__":
    from recordings.libraries.__main__ import adapters_in, record

    record("library_next_token", __file__, sys.modules[__name__], adapters_in("adapters_next_token"))
