"""Train a reader that copies, for the page, and measure it beside the model of chapter 16:

    .venv/bin/python -m recordings.novels.reader_that_copies

takes twenty minutes, and writes attn/data/novels/model_copying.npz and attn/data/recordings/reader_that_copies.json.
Whoever stops it goes on later where it was.
"""

import hashlib
import json
import time

import numpy as np

from attn import Tape, decoder
from attn.course import novels
from attn.course.novels import CONFIG, FOLDER, LENGTH, SHIPPED, model_file
from attn.course.recordings import mean_losses, write_recording
from attn.threads import on_one_thread
from attn.training import Adam, cross_entropy, schedule

from . import made_up_names, places, reading
from .copying import named_again, repeated
from .learn import REACHED, keep
from .quotations import most_on_the_mark, name, on_the_mark
from .repeats import Names, names_of, passage, passage_again, random_again
from .tellings import exchanged, heads_of, named, other_sets, texts, watch, without_heads

SOURCE = "Jane Austen's six novels, in the public domain: attn/data/novels/README.md; random tokens and made-up names"
EVERY, SHORT, LONG = 50, 250, 1000  # steps between two measurements; of the first phase, and of the second
MANY = {"length": 48, "novels": 8, "random": (12, 5, 16), "passages": (4, 6, 20), "renamed": 0}
FEW = {"length": LENGTH + 1, "novels": 20, "random": (1, 5, 40), "passages": (1, 10, 63), "renamed": 2}
FILES = ("training.txt.xz", "held_out.txt.xz", "tokenizer.json", model_file(), model_file("copying"))


def batch(rng, tokens, names, *, length, novels, random, passages, renamed):
    """Return the rows of a step, and which of their next tokens count.

    Random tokens and made-up names do so only where they come again: nobody could know them at first.

    Parameters
    ----------
    rng : numpy Generator
    tokens : array of int, shape (n,)
    names : Names
    length : int
    novels, renamed : int
        How many passages there are as they stand, and with made-up names.
    random, passages : tuple of int
        How many texts come again and again, and after how many tokens, at least and at most.

    Returns
    -------
    rows : array of int, shape (n_rows, length)
    counts : array of bool, shape (n_rows, length - 1)
    """
    (n_random, *periods), (n_passages, *lengths) = random, passages
    as_it_stands, place = np.ones(length - 1, bool), np.arange(length - 1)
    pairs = [(passage(rng, tokens, length), as_it_stands) for _ in range(novels)]
    for _ in range(n_random):
        row, period = random_again(rng, length, *periods)
        pairs.append((row, place >= period))
    pairs += [(passage_again(rng, tokens, length, *lengths), as_it_stands) for _ in range(n_passages)]
    for _ in range(renamed):
        row, mentions = names.renamed(rng)
        pairs.append((row, mentions[1:] != 1))
    rows, counts = zip(*pairs)
    return np.array(rows), np.array(counts)


def gradients(params, rows, counts):
    with Tape() as tape:
        logits = decoder(params, CONFIG, rows[:, :-1])
    loss, grad = cross_entropy(logits, rows[:, 1:], counts)
    return loss, tape.gradients(params, (logits, grad))


def rate(step):
    return 3e-3 * min(1, step / 30) if step <= SHORT else 2.5e-3 * schedule(step - SHORT, LONG, 30)


@on_one_thread
def learn_to_copy(tokens, names, look, n_taken=SHORT + LONG):
    """Train the model of chapter 16 on, from where it was stopped; return its parameters, its losses, and what was seen
    before the first step and after each `EVERY`."""
    adam, losses, path = Adam(novels.read_model()), [], REACHED / "copying.npz"
    if path.exists():
        with np.load(path) as state:
            adam.restore(state)
            losses, seen = state["losses"].tolist(), json.loads(str(state["seen"]))
    else:
        seen = [look(adam.params)]
    while len(losses) < n_taken:
        step = len(losses) + 1
        mixture = MANY if step <= SHORT else FEW
        loss, grads = gradients(adam.params, *batch(np.random.default_rng([SHIPPED, step]), tokens, names, **mixture))
        adam.step(grads, rate(step), clip=1.0)
        losses.append(loss)
        if step % EVERY == 0:
            seen.append(look(adam.params))
            keep("copying", losses=losses, seen=json.dumps(seen), **adam.state())
    return adam.params, losses, {key: [one[key] for one in seen] for key in seen[0]}


def measure(params, tokenizer, held, told, often, names, heads):
    """Return what a model does with what comes again: with nothing changed, without heads, and with other values."""
    one_back, copying = heads
    others = other_sets([*one_back, *copying], len(copying))
    marks = on_the_mark(novels.in_parts(lambda rows: novels.looks(params, rows), held.rows[:, :-1]), held)[0]
    return {
        "told: once, again, behind others": reading.read_twice(params, held.rows.ravel()),
        "heads off": without_heads(params, told, one_back, copying),
        "values of another": exchanged(params, told, one_back, copying),
        "named again, beside others": named_again(params, tokenizer),
        "made-up names": made_up_names.mentioned(params, tokenizer, often),
        "made-up names, heads off": made_up_names.without_heads(params, tokenizer, copying, others),
        "made-up names, values of another": {
            "none": made_up_names.given_another(params, tokenizer, []),
            "copying": made_up_names.given_another(params, tokenizer, copying),
            "others": [made_up_names.given_another(params, tokenizer, heads) for heads in others],
        },
        "made-up words told twice": made_up_names.words_told_twice(params, tokenizer),
        "made-up names in passages": made_up_names.in_passages(params, names),
        "quoting": [name(head) for head in most_on_the_mark(marks)],
        "quotations": places.measure(params, tokenizer, held),
    }


def main():
    REACHED.mkdir(parents=True, exist_ok=True)
    start, tokenizer = time.time(), novels.read_tokenizer()
    tokens, held = tokenizer.encode(novels.read_text()), novels.held_out(tokenizer)
    told, often = texts(held), np.bincount(tokens, minlength=CONFIG.vocab_size)
    names, new_names = (
        Names(text, tokenizer, names_of(tokens, tokenizer), LENGTH + 1) for text in (tokens, held.rows.ravel())
    )
    params, losses, seen = learn_to_copy(tokens, names, lambda params: watch(params, held, told))
    np.savez_compressed(FOLDER / model_file("copying"), **novels.quantize(params))
    models = {"the book's": novels.read_model(), "that copies": novels.read_model("copying")}
    heads = heads_of(models["that copies"], told)
    lost = {which: novels.losses(one, held.rows) for which, one in models.items()}
    runs = {
        "learning": {"loss": mean_losses(losses, EVERY), **seen},
        "heads one back": named(heads[0]),
        "heads that copy": named(heads[1]),
        "held out": {which: reading.mean(one) for which, one in lost.items()},
        "stood in the row": repeated(
            lost | {"difference": lost["that copies"] - lost["the book's"]}, held.rows, tokenizer, often
        ),
        **{which: measure(one, tokenizer, held, told, often, new_names, heads) for which, one in models.items()},
    }
    digests = {file: hashlib.sha256((FOLDER / file).read_bytes()).hexdigest() for file in FILES}
    about = {"source": SOURCE, "licence": "CC BY 4.0", "start": start, "sha256": digests, "every": EVERY}
    write_recording("reader_that_copies", __file__, runs, **about)


if __name__ == "__main__":
    main()
