"""Train a reader that copies, for the page, and measure it beside the model of chapter 16:

    .venv/bin/python -m recordings.novels.reader_that_copies

takes half an hour, and writes attn_course/data/novels/model_copying.npz and
attn_course/data/measured/reader_that_copies.json. Whoever stops it goes on later where it was.
"""

import hashlib
import time

import numpy as np

from attn import decoder
from attn.threads import on_one_thread
from attn.training import Adam, schedule
from attn_course import novels
from attn_course.measured import write_measured
from attn_course.novels import CONFIG, FOLDER, LENGTH, SHIPPED, model_file
from recordings import gradients

from .learn import REACHED, keep, model
from .reading import RANDOM, mean, read_twice
from .repeats import Names, names_of, passage, passage_again, random_again

SOURCE = (
    "Jane Austen's six novels, in the public domain: attn_course/data/novels/README.md; random tokens and made-up names"
)
EVERY, SHORT, LONG = 50, 250, 1000  # steps until all is kept, to go on from; of the first phase, and of the second
MANY = {"length": 48, "novels": 8, "random": (12, 5, 16), "passages": (4, 6, 20), "renamed": 0}
FEW = {"length": LENGTH + 1, "novels": 20, "random": (1, 5, 40), "passages": (1, 10, 63), "renamed": 2}
FRAMES = [
    "Mr. {} looked at Elizabeth, and Elizabeth looked at Mr.",
    "She had seen Mr. {} in the morning, and was not surprised to see Mr.",
    '"Mr. {} is come," said she; and soon afterwards Mr.',
    "Mr. {} was not at home. She had a letter to write to Mr.",
    '"I have seen Mr. {} to-day," said Emma. "Indeed! And how is Mr.',
    "When Mr. {} left the room, nobody spoke for some time but of Mr.",
]
NAMES = [  # of six tokens each, so that one can take the place of another
    "Trundlewick", "Maplecroft", "Gristlewood", "Hobblestone", "Fizzlewig", "Bramblehurst",
    "Quillfeather", "Dunderdale", "Nettlefold", "Ravensbourne", "Xantippo", "Ulverdoke",
]  # fmt: skip
NAME_LENGTH = 6
FILES = ("training.txt.xz", "held_out.txt.xz", "tokenizer.json", model_file(), model_file("copying"))


def batch(rng, tokens, names, *, length, novels, random, passages, renamed):
    """Return the rows of a step, shape (n_rows, length), and which of their next tokens count, of bool.

    Random tokens and made-up names do so only where they come again: nobody could know them at first.

    novels, renamed : how many passages there are as they stand, and with made-up names.
    random, passages : how many texts come again and again, and after how many tokens, at least and at most.
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


def rate(step):
    return 3e-3 * min(1, step / 30) if step <= SHORT else 2.5e-3 * schedule(step - SHORT, LONG, 30)


@on_one_thread
def learn_to_copy(tokens, names, n_taken=SHORT + LONG):
    """Train the model of chapter 16 on, from where it was stopped; return its parameters and its losses."""
    adam, losses, path = Adam(novels.read_model()), [], REACHED / "copying.npz"
    if path.exists():
        with np.load(path) as state:
            adam.restore(state)
            losses = state["losses"].tolist()
    while len(losses) < n_taken:
        step = len(losses) + 1
        mixture = MANY if step <= SHORT else FEW
        rows, counts = batch(np.random.default_rng([SHIPPED, step]), tokens, names, **mixture)
        loss, grads = gradients(model, adam.params, rows, counts)
        adam.step(grads, rate(step), clip=1.0)
        losses.append(loss)
        if step % EVERY == 0:
            keep("copying", losses=losses, **adam.state())
    return adam.params, losses


def twice_in_frames(tokenizer, first=NAMES, second=NAMES):
    """Return texts that end with the second of two names: by frame arrays of int, shape (n_names, length)."""
    texts = [[f"{frame.format(one)} {other}" for one, other in zip(first, second)] for frame in FRAMES]
    return [np.array([tokenizer.encode(text) for text in one]) for one in texts]


def at_the_end(params, texts):
    """Return of the names at the ends of texts the mean loss of a name, the share of its tokens that are the likeliest,
    and the share of names of which all are."""
    logits = [decoder(params, CONFIG, one[:, :-1])[:, -NAME_LENGTH:] for one in texts]
    right = np.array([one.argmax(axis=-1) == text[:, -NAME_LENGTH:] for one, text in zip(logits, texts)])
    lost = np.array([novels.losses(params, text)[:, -NAME_LENGTH:] for text in texts])
    return [mean(lost.sum(axis=-1), 3), mean(right), mean(right.all(axis=-1))]


def mentioned(params, tokenizer):
    """Return what a name that no novel has costs at its first mention, at its second, and where another name was read
    before."""
    others = NAMES[1:] + NAMES[:1]
    alone = [np.array([tokenizer.encode(f"{frame.split(' {}')[0]} {name}") for name in NAMES]) for frame in FRAMES]
    return {
        "first": at_the_end(params, alone),
        "second": at_the_end(params, twice_in_frames(tokenizer)),
        "another was read": at_the_end(params, twice_in_frames(tokenizer, others)),
    }


def measure(params, tokenizer):
    """Return what a model loses on random tokens that come twice, and on made-up names."""
    return {
        "told: once, again, behind others": {"random": read_twice(params, RANDOM)},
        "made-up names": mentioned(params, tokenizer),
    }


def main():
    REACHED.mkdir(parents=True, exist_ok=True)
    start, tokenizer = time.time(), novels.read_tokenizer()
    tokens, held = tokenizer.encode(novels.read_text()), novels.held_out(tokenizer)
    params, _ = learn_to_copy(tokens, Names(tokens, tokenizer, names_of(tokens, tokenizer), LENGTH + 1))
    np.savez_compressed(FOLDER / model_file("copying"), **novels.quantize(params))
    models = {"the book's": novels.read_model(), "that copies": novels.read_model("copying")}
    runs = {
        "held out": {which: mean(novels.losses(one, held.rows)) for which, one in models.items()},
        **{which: measure(one, tokenizer) for which, one in models.items()},
    }
    digests = {file: hashlib.sha256((FOLDER / file).read_bytes()).hexdigest() for file in FILES}
    about = {"source": SOURCE, "licence": "CC BY 4.0", "start": start, "sha256": digests}
    write_measured("reader_that_copies", __file__, runs, **about)


if __name__ == "__main__":
    main()
