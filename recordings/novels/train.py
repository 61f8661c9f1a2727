"""Train the model that has read six novels, once for each seed, and measure it: `make novels`.

A seed takes about ten minutes. Whoever stops it goes on later where it was: what was reached lies in _build/novels.
"""

import hashlib
import json
import os
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from tqdm import tqdm

from attn import Forbid, Tape, decoder, init_transformer, switch_off
from attn.bytepairs import learn as learn_tokens
from attn.course import novels
from attn.course.novels import CONFIG, FOLDER, LENGTH
from attn.course.recordings import mean_losses, record
from attn.generation import Cache, draw
from attn.threads import on_one_thread
from attn.training import Adam, cross_entropy, schedule

REACHED = Path(__file__).resolve().parents[2] / "_build" / "novels"
SEEDS, STEPS, ROWS, SHIPPED = range(5), 2539, 24, 1
MARKS = (0, 30, 100, 200, 300, 400, 500, 600, 800, 1000, 1300, 1600, 2000, STEPS)  # steps whose parameters are kept
EVERY = 50  # steps between two of which all is kept, to go on from


def write_tokenizer():
    tokenizer = learn_tokens(novels.read_text(), CONFIG.vocab_size)
    what = {"characters": tokenizer.characters, "joins": tokenizer.joins}
    (FOLDER / "tokenizer.json").write_text(json.dumps(what, ensure_ascii=False) + "\n", encoding="utf-8")


def batch(tokens, seed, step):
    """Return the rows of a step, each with the token that comes after it: array of int, shape (ROWS, LENGTH + 1)."""
    starts = np.random.default_rng([seed, step]).integers(len(tokens) - LENGTH, size=ROWS)
    return tokens[starts[:, None] + np.arange(LENGTH + 1)]


def gradients(params, rows):
    with Tape() as tape:
        logits = decoder(params, CONFIG, rows[:, :-1])
    loss, grad = cross_entropy(logits, rows[:, 1:])
    return loss, tape.gradients(params, (logits, grad))


def keep(name, **arrays):
    """Write a file that is either whole or not there."""
    unfinished = REACHED / "unfinished.npz"
    np.savez(unfinished, **arrays)
    os.replace(unfinished, REACHED / f"{name}.npz")


@on_one_thread
def learn_to_read(seed, tokens, n_taken=STEPS):
    """Train one model up to a step, from where it was stopped; keep what it is at each mark, and return its losses."""
    adam, losses, path = Adam(init_transformer(np.random.default_rng(seed), CONFIG)), [], REACHED / f"seed {seed}.npz"
    if path.exists():
        with np.load(path) as state:
            adam.restore(state)
            losses = state["losses"].tolist()
    else:
        keep(f"seed {seed} at 0", **adam.state())
    with tqdm(total=STEPS, initial=len(losses), desc=f"seed {seed}", smoothing=0) as bar:
        while len(losses) < n_taken:
            step = len(losses) + 1
            loss, grads = gradients(adam.params, batch(tokens, seed, step))
            adam.step(grads, 3e-3 * schedule(step, STEPS, 150), clip=1.0)
            losses.append(loss)
            bar.update()
            if step in MARKS:
                keep(f"seed {seed} at {step}", **adam.state())
            if step % EVERY == 0 or step == n_taken:
                keep(f"seed {seed}", losses=losses, **adam.state())
    return losses


def params_at(seed, step):
    """Return the parameters at a mark."""
    adam = Adam(init_transformer(np.random.default_rng(seed), CONFIG))
    with np.load(REACHED / f"seed {seed} at {step}.npz") as state:
        adam.restore(state)
    return adam.params


# --- what is measured -----------------------------------------------------------------------------

HEADS = [(layer, head) for layer in range(1, CONFIG.n_layers + 1) for head in range(CONFIG.n_heads)]
MEN = [
    "Edward", "Henry", "William", "Thomas", "John", "Charles", "Frank",
    "James", "George", "Robert", "Edmund", "Frederick", "Walter",
]  # fmt: skip
WOMEN = [
    "Elizabeth", "Emma", "Fanny", "Anne", "Marianne", "Elinor", "Catherine",
    "Jane", "Harriet", "Lydia", "Isabella", "Charlotte", "Louisa",
]  # fmt: skip
DISTANCES, READS = [(1, 16), (17, 36), (37, 64), (65, 127)], (17, 33, 65)
FAMILIES = [
    "Darcy", "Crawford", "Collins", "Bingley", "Rushworth", "Weston",
    "Elton", "Knightley", "Wickham", "Tilney", "Willoughby", "Elliot",
]  # fmt: skip
THEN_WHO = [
    "{} was very much surprised, and",
    "{} was silent for some time, and then",
    "When {} came into the room,",
    "{} did not answer; but",
    "It was a great comfort to {} that",
    "{} was so much hurt that",
]
NAMED_TWICE = [
    "Mr. {} looked at Elizabeth, and Elizabeth looked at Mr.",
    "She had seen Mr. {} in the morning, and was not surprised to see Mr.",
    '"Mr. {} is come," said she; and soon afterwards Mr.',
]


def mean(numbers, digits=4):
    return round(float(np.mean(numbers)), digits)


def inside_and_outside(P, held):
    """Return how likely a closing mark is, on average, inside quotations and outside them."""
    return [mean(P[held.inside], 5), mean(P[held.outside], 5)]


def times_likelier(P, held):
    """Return inside / outside, and where 95 % of it lies if other rows had been drawn."""
    parts = (P * held.inside, held.inside, P * held.outside, held.outside)
    by_row = np.stack([part.sum(axis=1) for part in parts])
    drawn = by_row[:, np.random.default_rng(0).integers(len(P), size=(1000, len(P)))].sum(axis=-1)
    ratios = [sums[0] / sums[1] / (sums[2] / sums[3]) for sums in (by_row.sum(axis=1), drawn)]
    return [round(float(number), 2) for number in (ratios[0], *np.quantile(ratios[1], [0.025, 0.975]))]


def on_the_mark(weights, held):
    """Return each head's mean weight on the last quotation mark, and on the token before it: lists [layer][head]."""
    row, place = np.nonzero((held.marks > 0) & (held.marks < np.arange(LENGTH)))
    mark = held.marks[row, place]
    return [weights[row, :, :, place, key].mean(axis=0).astype(float).round(4).tolist() for key in (mark, mark - 1)]


def most_on_the_mark(looks):
    """Return the two heads whose weights on the mark, lists [layer][head], are the largest."""
    return tuple(HEADS[place] for place in np.argsort(np.ravel(looks))[:-3:-1])


def edges(weights, held, tokenizer, layer, head):
    """Return which keys are taken from a head, by name: arrays of bool, shape (n_rows, length, length).

    The last quotation mark of the paragraph, all marks so far, and in their place the heaviest key that is no mark.
    """
    row, place = np.nonzero((held.marks >= 0) & (held.marks < np.arange(LENGTH)))
    marks = np.isin(held.rows[:, :-1], [tokenizer.words.index(word) for word in (novels.OPENING, novels.CLOSING)])
    found = {kind: np.zeros((len(marks), LENGTH, LENGTH), bool) for kind in ("last mark", "all marks", "another key")}
    found["last mark"][row, place, held.marks[row, place]] = True
    found["all marks"] |= marks[:, None, :] & np.tri(LENGTH, k=-1, dtype=bool)
    others = np.where(marks[:, None, :], 0, weights[:, layer - 1, head])[row, place]
    found["another key"][row, place, others.argmax(axis=-1)] = True
    return found


def on_the_mark_by_distance(weights, held, layer, head):
    """Return the head's mean weight on the mark of an open quotation, by how many tokens back it stands."""
    row, place = np.nonzero(held.inside)
    mark = held.marks[row, place]
    on, back = weights[row, layer - 1, head, place, mark], place - mark
    return {f"{few} to {many}": mean(on[(few <= back) & (back <= many)]) for few, many in DISTANCES}


def prefix_matching(params, rows):
    """Return the largest mean weight of any head on the token behind the last one that is like the token that asks.

    rows : texts that are told twice, shape (n_rows, 2 n).
    """
    n = rows.shape[1] // 2
    asks = np.arange(n + 4, 2 * n - 1)
    return mean(
        novels.in_parts(partial(novels.looks, params), rows)[:, :, :, asks, asks - n + 1].mean(axis=(0, 3)).max()
    )


def openings(text, tokenizer, n_behind):
    """Return where quotations are opened, with a token before them and `n_behind` behind: array, shape (n, 1); and what
    `quotations` says of the text."""
    marks, inside = novels.quotations(text, tokenizer)
    starts = np.flatnonzero(inside & (marks == np.arange(len(text))))
    return starts[(starts > 0) & (starts + n_behind < len(text)), None], marks, inside


def with_and_without_the_mark(params, tokenizer, text, interventions=()):
    """Return how likely a closing mark is behind the first ends of quotations, and then without the opening mark."""
    starts, marks, inside = openings(text, tokenizer, LENGTH // 2)
    places = starts + np.arange(-1, LENGTH // 2)  # from the token before the mark on
    ends = np.isin(text[places], [tokenizer.words.index(word) for word in novels.ENDS])
    counts = ends & inside[places] & (marks[places] == starts)
    both = [(places, counts), [np.delete(part, 1, axis=1) for part in (places, counts)]]
    return [mean(novels.closing(params, text[at], tokenizer, interventions)[here]) for at, here in both]


def closes(params, tokenizer, text, interventions=(), n_read=10, n_new=60):
    """Return how often the model, which writes on from the beginnings of quotations, closes them as its next mark.

    A quotation that has neither a mark nor a paragraph's end in `n_new` tokens counts as not closed.
    """
    tells = [tokenizer.words.index(word) for word in (novels.CLOSING, novels.OPENING, "\n")]
    places = openings(text, tokenizer, n_read)[0] + np.arange(-1, n_read + 1)
    new = text[places[~np.isin(text[places[:, 2:]], tells).any(axis=1)]]
    rng, cache, first = np.random.default_rng(0), Cache(), np.full(len(new), -1)
    for _ in range(n_new):
        logits = decoder(params, CONFIG, new, cache=cache, interventions=interventions)[:, -1]
        new = draw(logits, rng)[:, None]
        first = np.where((first < 0) & np.isin(new[:, 0], tells), new[:, 0], first)
    return mean(first == tells[0])


def told_twice(params, text):
    """Return the loss of random tokens and of the novels, told first, again, and behind another text; and how much any
    head looks for what came next the first time."""
    rng, found = np.random.default_rng(0), {}
    texts = {"random": rng.integers(80, CONFIG.vocab_size, (60, 50)), "novels": text[:3000].reshape(60, 50)}
    for name, once in texts.items():
        twice = np.concatenate([once, once], axis=1)
        again = novels.losses(params, twice)
        other = novels.losses(params, np.concatenate([np.roll(once, 1, axis=0), once], axis=1))
        found[name] = [mean(again[:, 4:49]), mean(again[:, 54:]), mean(other[:, 54:]), prefix_matching(params, twice)]
    return found


def remembers(params, held):
    """Return what the loss of each row's last 20 tokens is, if it begins a number of tokens before them."""
    lost = {before: novels.losses(params, held.rows[:, -21 - before :]) for before in (0, 2, 4, 8, 16, 32, 64, 108)}
    return {before: mean(one[:, -20:]) for before, one in lost.items()}


def after(params, tokenizer, frames, name):
    """Return the logits behind each frame in which a name stands: array, shape (n_frames, vocab_size)."""
    return np.stack([decoder(params, CONFIG, tokenizer.encode(frame.format(name)))[-1] for frame in frames])


def favours(params, tokenizer, names, wanted, other):
    """Return by name how much likelier one word is than another behind it, in nats, averaged over the frames."""
    first, second = (tokenizer.words.index(word) for word in (wanted, other))
    logits = [after(params, tokenizer, THEN_WHO, name) for name in names]
    return [mean(one[:, first] - one[:, second], 3) for one in logits]


def named_again(params, tokenizer):
    """Return how many of the families are, where they were named before, the likeliest of all of them to be named."""
    tokens = [tokenizer.words.index(f" {name}") for name in FAMILIES]
    chosen = [after(params, tokenizer, NAMED_TWICE, name)[:, tokens].argmax(axis=1) for name in FAMILIES]
    return mean(np.array(chosen) == np.arange(len(FAMILIES))[:, None])


def measure_at_marks(seed, tokenizer, held):
    """Return by name what a model does at each of its marks; a head's weights are lists [layer][head]."""
    found = {"held out": [], "closing": [], "on the mark": [], "before the mark": []}
    for step in MARKS:
        params = params_at(seed, step)
        looks = on_the_mark(novels.in_parts(partial(novels.looks, params), held.rows[:, :-1]), held)
        P = novels.closing(params, held.rows[:, :-1], tokenizer)
        found["held out"].append(mean(novels.losses(params, held.rows)))
        found["closing"].append(inside_and_outside(P, held))
        found["on the mark"].append(looks[0])
        found["before the mark"].append(looks[1])
    return found


def measure_off(params, tokenizer, held, *heads):
    """Return what it costs that heads are off, and what becomes of the closing marks."""
    off = [switch_off(*head) for head in heads]
    P = novels.closing(params, held.rows[:, :-1], tokenizer, off)
    loss = mean(novels.losses(params, held.rows, off))
    return {"loss": loss, "closing": inside_and_outside(P, held), "ratio": times_likelier(P, held)}


def name(*heads):
    return " and ".join(f"{layer}.{head}" for layer, head in heads)


def control_pairs(quoting, n_pairs=10):
    """Return pairs of other heads, of the layers behind the first, drawn at random."""
    others = [head for head in HEADS if head not in quoting and head[0] > 1]
    drawn = np.random.default_rng(0).permutation(list(combinations(range(len(others)), 2)))[:n_pairs]
    return [(others[i], others[j]) for i, j in drawn]


def measure_heads(params, tokenizer, held, quoting):
    """Return the same for each head, for the two that quote, and for pairs of others, by their names."""
    sets = [(), *((head,) for head in HEADS), quoting, *control_pairs(quoting)]
    return {name(*heads): measure_off(params, tokenizer, held, *heads) for heads in sets}


def measure_edges(params, tokenizer, held, quoting):
    """Return what becomes of closing marks if two heads may not look at quotation marks, or at other keys instead; and
    how much weight that takes from the first of them, at ends inside quotations."""
    weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
    forbidden = [edges(weights, held, tokenizer, *head) for head in quoting]
    (layer, head), found = quoting[0], {}

    def closing(rows, *keys):
        return novels.closing(params, rows, tokenizer, [Forbid(one, *where) for one, where in zip(keys, quoting)])

    for kind in forbidden[0]:
        P = novels.in_parts(closing, held.rows[:, :-1], *(keys[kind] for keys in forbidden))
        taken = (weights[:, layer - 1, head] * forbidden[0][kind]).sum(axis=-1)[held.inside]
        found[kind] = [*inside_and_outside(P, held), mean(taken)]
    return found


def closing_behind(params, tokenizer, held):
    """Return how likely closing marks are, late in a row, if the model reads all before them, or a few tokens only."""
    P, late = novels.closing(params, held.rows[:, :-1], tokenizer), np.arange(LENGTH) >= READS[-1] - 1
    found = {"all": [mean(P[kind & late], 5) for kind in (held.inside, held.outside)]}
    for n_read in READS:
        found[n_read] = []
        for kind in (held.inside, held.outside):
            row, place = np.nonzero(kind & late)
            text = held.rows[row[:, None], place[:, None] + np.arange(1 - n_read, 1)]
            found[n_read].append(mean(novels.closing(params, text, tokenizer)[:, -1], 5))
    return found


def learn(seed, tokens, tokenizer, held):
    """Train one model, unless that was done before, and measure it at its marks and at its end."""
    losses = learn_to_read(seed, tokens)
    found = {"seed": seed, "loss": mean_losses(losses[: STEPS // EVERY * EVERY], EVERY)}
    found |= measure_at_marks(seed, tokenizer, held)
    params, text = params_at(seed, STEPS), held.rows.ravel()
    quoting = most_on_the_mark(found["on the mark"][-1])
    found |= {"quoting": [name(head) for head in quoting], "off": measure_heads(params, tokenizer, held, quoting)}
    weights, half = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1]), len(held.rows) // 2
    for part in (slice(half), slice(half, None)):
        less = replace(held, **{name: array[part] for name, array in vars(held).items()})
        heads = most_on_the_mark(on_the_mark(weights[part], less)[0])
        found.setdefault("quoting, by half", []).append([name(head) for head in heads])
    found["by distance"] = on_the_mark_by_distance(weights, held, *quoting[0])
    found["forbidden"] = measure_edges(params, tokenizer, held, quoting)
    found["closing, reading few"] = closing_behind(params, tokenizer, held)
    off = [switch_off(*head) for head in quoting]
    found["with the mark, without"] = with_and_without_the_mark(params, tokenizer, text)
    found["with the mark, without: both off"] = with_and_without_the_mark(params, tokenizer, text, off)
    found["closes: all on, both off"] = [closes(params, tokenizer, text, no) for no in ([], off)]
    pairs = [[switch_off(*head) for head in pair] for pair in control_pairs(quoting)]
    found["closes: other pairs off"] = [closes(params, tokenizer, text, pair) for pair in pairs]
    found["told: once, again, behind others"] = told_twice(params, text)
    found["last 20 tokens behind"] = remembers(params, held)
    for who, people in {"women": WOMEN, "men": MEN}.items():
        found[f"she, not he: {who}"] = favours(params, tokenizer, people, " she", " he")
    found["named again"] = named_again(params, tokenizer)
    return found


def write_model(seed):
    np.savez_compressed(FOLDER / "model.npz", **novels.rounded(params_at(seed, STEPS)))


def main():
    REACHED.mkdir(parents=True, exist_ok=True)
    write_tokenizer()
    tokenizer = novels.read_tokenizer()
    tokens = tokenizer.encode(novels.read_text())
    for seed in SEEDS:
        learn_to_read(seed, tokens)
    write_model(SHIPPED)
    files = ("training.txt.xz", "held_out.txt.xz", "tokenizer.json", "model.npz")
    digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in files}
    given = {"novels": (tokens, tokenizer, novels.held_out(tokenizer))}
    source = "Jane Austen's six novels, in the public domain: attn/data/novels/README.md"
    record(__file__, source, learn, given, seeds=SEEDS, every=EVERY, marks=MARKS, shipped=SHIPPED, sha256=digests)


if __name__ == "__main__":
    main()
