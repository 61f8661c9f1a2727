"""Go on with the models of `told_twice`, with few texts told twice among long rows: do the heads that copy stay?

    .venv/bin/python -m recordings.novels.few_repeats

takes ten minutes behind `told_twice`, and writes attn/data/recordings/few_repeats.json.
"""

import numpy as np

from attn import init_transformer
from attn.course import novels
from attn.course.novels import CONFIG
from attn.threads import on_one_thread
from attn.training import Adam, schedule

from . import told_twice
from .copying import named_again, repeated
from .learn import REACHED, gradients
from .reading import mean, read_twice
from .repeats import passage, passage_again, random_again
from .tellings import texts, watch

EVERY, STEPS = 100, 400
LENGTH, ROWS = novels.LENGTH + 1, 12
KINDS = {kind: told_twice.KINDS[kind] for kind in ("with texts told twice", "without")}
RANDOM, PASSAGES = (5, 40), (10, 63)  # after how many tokens one row of each comes again, from and to


def batch(rng, tokens, often):
    """Return the rows of a step: array of int, shape (ROWS, LENGTH)."""
    rows = []
    if often == 2:
        rows += [random_again(rng, LENGTH, *RANDOM)[0], passage_again(rng, tokens, LENGTH, *PASSAGES)]
    return np.array(rows + [passage(rng, tokens, LENGTH) for _ in range(ROWS - len(rows))])


def begin(seed, often, tokens):
    """Return what the model has reached in the first phase, and the generator that drew its rows, as it was then."""
    path = REACHED / f"{told_twice.reached_by(seed, often)}.npz"
    if not path.exists():
        told_twice.learn(seed, often)
    adam, rng = Adam(init_transformer(np.random.default_rng(0), CONFIG)), np.random.default_rng(seed)
    with np.load(path) as state:
        adam.restore(state)
    for _ in range(told_twice.STEPS):
        told_twice.batch(rng, tokens, often)
    return adam.params, rng


@on_one_thread
def learn(seed, often):
    """Return what becomes of one model, and what it does with names and with what comes twice."""
    tokenizer = novels.read_tokenizer()
    tokens, held = tokenizer.encode(novels.read_text()), novels.held_out(tokenizer)
    params, rng = begin(seed, often, tokens)
    told, adam = texts(held), Adam(params)
    seen = [watch(params, held, told)]
    for step in range(1, STEPS + 1):
        _, grads = gradients(adam.params, batch(rng, tokens, often))
        adam.step(grads, 2.5e-3 * schedule(step, STEPS, 10), clip=1.0)
        if step % EVERY == 0:
            seen.append(watch(adam.params, held, told))
    lost = {"model": novels.losses(adam.params, held.rows)}
    return {
        "seed": seed,
        **{key: [one[key] for one in seen] for key in seen[0]},
        "at the end": told_twice.worth(adam.params, told),
        "held out, all": mean(lost["model"]),
        "told: once, again, behind others": read_twice(adam.params, held.rows.ravel()),
        "stood in the row": repeated(lost, held.rows, tokenizer, np.bincount(tokens, minlength=CONFIG.vocab_size)),
        "named again, beside others": named_again(adam.params, tokenizer),
    }


if __name__ == "__main__":
    told_twice.measure_all("few_repeats", learn, KINDS, every=EVERY)
