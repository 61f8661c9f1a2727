"""Train the models of chapter 16 further, with short texts told twice among the novels, told once, and without.

    .venv/bin/python -m recordings novels.told_twice

takes more than half an hour, and writes attn_course/data/measured/told_twice.json.
"""

import numpy as np

from attn.threads import on_one_thread
from attn.training import Adam
from attn_course import novels
from attn_course.measured import mean_losses
from recordings import gradients

from .learn import model
from .repeats import passage, passage_again, passages, random_again
from .tellings import changes, texts, watch, worth

SOURCE = "Jane Austen's six novels, in the public domain: attn_course/data/novels/README.md; and random tokens"
EVERY, SEEDS, STEPS = 10, range(5), 400
KINDS = {"with texts told twice": (2,), "without": (0,), "told once": (1,)}  # how often
LENGTH, ROWS = 48, 24
RANDOM, PASSAGES = (12, 5, 16), (4, 6, 20)  # how many rows, and after how many tokens they come again, from and to


def batch(rng, tokens, often):
    """Return the rows of a step, with texts that are told so often in a row: array of int, shape (ROWS, LENGTH)."""
    (n_random, *periods), (n_passages, *lengths) = RANDOM, PASSAGES
    rows = []
    if often == 2:
        rows += [random_again(rng, LENGTH, *periods)[0] for _ in range(n_random)]
        rows += [passage_again(rng, tokens, LENGTH, *lengths) for _ in range(n_passages)]
    elif often == 1:
        rows += [random_again(rng, LENGTH, LENGTH, LENGTH)[0] for _ in range(n_random)]
        rows += [passages(rng, tokens, LENGTH, *lengths) for _ in range(n_passages)]
    return np.array(rows + [passage(rng, tokens, LENGTH) for _ in range(ROWS - len(rows))])


@on_one_thread
def learn(seed, often, n_taken=STEPS):
    """Return what happens to one of the five models while it is trained on, and what heads that learn to copy are worth
    then."""
    tokenizer, rng = novels.read_tokenizer(), np.random.default_rng(seed)
    tokens, held = tokenizer.encode(novels.read_text()), novels.held_out(tokenizer)
    told = texts(held)
    adam, losses, seen = Adam(novels.read_model(seed)), [], [watch(novels.read_model(seed), held, told)]
    for step in range(1, n_taken + 1):
        loss, grads = gradients(model, adam.params, batch(rng, tokens, often))
        adam.step(grads, 3e-3 * min(1, step / 30), clip=1.0)
        losses.append(loss)
        if step % EVERY == 0:
            seen.append(watch(adam.params, held, told))
    seen = {key: [one[key] for one in seen] for key in seen[0]}
    learned = {"change": changes(seen, EVERY), "at the end": worth(adam.params, told)} if often == 2 else {}
    return {"loss": mean_losses(losses, EVERY), **seen, **learned}
