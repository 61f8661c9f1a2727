"""How a model may know where words stand: six ways, a task that needs the order and one that does not: chapter 8.

    .venv/bin/python -m recordings positions

trains five models of each kind on texts of 16 letters, tests them on texts of 16 and of 32, and writes
attn_course/data/measured/positions.json.
"""

from functools import partial

import numpy as np

from attn import Forbid, Tape, decoder, encoder, init_transformer
from attn.training import cross_entropy, train
from attn_course.measured import mean_losses
from recordings import toy

SOURCE = "random letters"
EVERY, SEEDS, STEPS = 100, range(5), 1500
LETTERS, LENGTH = 10, 16
BACK = np.subtract.outer(np.arange(2 * LENGTH), np.arange(2 * LENGTH))  # how far back a key stands from its query
APART = np.abs(BACK)
FAR, MIDDLE = APART >= LENGTH, (APART > 2) & (APART < LENGTH)
# In heads of 16 the first pair has turned three times after 18.8 places, and the second once after 19.9: so far beyond
# two back, on either side, both hands stand nearly as they do two back.
ROUND = np.isin(np.abs(BACK - 2), [18, 19, 20])
REACH = 2 * LENGTH - 1  # the largest distance of a long text
DISTANCES = np.abs(np.arange(-REACH, REACH + 1))  # of the entries of a table that reaches so far
WAYS = {
    "none": {"positions": "none"},
    "learned": {"positions": "learned", "n_positions": 2 * LENGTH},
    "sinusoid": {"positions": "sinusoid"},
    "relative": {"positions": "relative", "max_distance": 8},
    "relative, far": {"positions": "relative", "max_distance": REACH},
    "rotary": {"positions": "rotary"},
}
ALIBI = {  # one slope for each head; the third pair is what Press et al. 2022 give two heads
    "ALiBi, slopes 1 and 1/2": (1, 1 / 2),
    "ALiBi, slopes 2 and 1": (2, 1),
    "ALiBi, slopes 1/16 and 1/256": (1 / 16, 1 / 256),
    "ALiBi, eight slopes": tuple(2.0 ** -np.arange(1, 9)),  # what Press et al. 2022 give eight heads
}
NEVER_ASKED = {"place 10": (9,), "places 8 to 12": (7, 8, 9, 10, 11)}  # counted from 0


def two_back(rng, n_rows, length):
    """Texts of random letters; at each place but the first two, which letter stood two places before?"""
    text = rng.integers(LETTERS, size=(n_rows, length))
    return text, np.roll(text, 2, axis=1), np.broadcast_to(np.arange(length) >= 2, text.shape)


def again(rng, n_rows, length):
    """Texts of random letters; at each place, does this letter stand anywhere else in the text?"""
    text = rng.integers(LETTERS, size=(n_rows, length))
    return text, ((text[:, :, None] == text[:, None, :]).sum(axis=2) > 1).astype(int), np.ones(text.shape, bool)


TASKS, MODELS = {"two back": two_back, "again": again}, {"encoder": encoder, "decoder": decoder}
KINDS = {f"{task}, {way}": (task, way, "encoder", 1) for task in TASKS for way in WAYS}
KINDS |= {f"two back, none, causal, {n} layers": ("two back", "none", "decoder", n) for n in (1, 2, 4)}
KINDS |= {f"two back, {way}, causal": ("two back", way, "decoder", 1) for way in [*list(WAYS)[1:], *list(ALIBI)[:3]]}
KINDS |= {"two back, ALiBi, slopes 1 and 1/2": ("two back", "ALiBi, slopes 1 and 1/2", "encoder", 1)}
KINDS |= {
    f"two back, {way}, {named} never asked": ("two back", way, "encoder", 1, places)
    for named, places in NEVER_ASKED.items()
    for way in ("learned", "sinusoid", "relative", "rotary")
}
HEADS = {f"heads of {d_k}": {"d_k": d_k} for d_k in (4, 8, 12, 24, 32, 64)}  # those of the other models have 16
HEADS |= {f"heads of {d_k}, width 64": {"d_k": d_k, "d_model": 64, "d_ff": 128} for d_k in (16, 32)}
HEADS |= {f"base {base:,}": {"rotary_base": base} for base in (1_000, 500_000)}
KINDS |= {
    f"two back, rotary{mask}, {named}": ("two back", "rotary", model, 1, (), others)
    for mask, model in {"": "encoder", ", causal": "decoder"}.items()
    for named, others in HEADS.items()
}
KINDS |= {
    f"two back, ALiBi, eight slopes, causal, width {width}": (
        "two back", "ALiBi, eight slopes", "decoder", 1, (), {"d_model": width, "n_heads": 8, "d_ff": 2 * width}
    )
    for width in (32, 64)
}  # fmt: skip


def sizes(way, n_layers, **others):
    """Return the config of a way; `others` are other sizes than those of most models."""
    told = WAYS["relative, far" if way in ALIBI else way]
    return toy(vocab_size=LETTERS, n_layers=n_layers, **{"n_heads": 2, "d_ff": 64} | others, **told)


def without_places(batch, places):
    """Return a batch of a task in which nothing is asked at some places."""
    text, answers, asked = batch
    return text, answers, asked & ~np.isin(np.arange(text.shape[1]), places)


def table_of(params):
    """Return the relative biases of layer 1: array, shape (n_heads, 2 * max_distance + 1)."""
    return params["layer 1"]["attention"]["relative"]


def untrained(rng, config, way):
    """Return random parameters; the biases of ALiBi fall with the distance."""
    params = init_transformer(rng, config, dtype=np.float64)
    if way in ALIBI:
        table_of(params)[:] = -np.outer(ALIBI[way], DISTANCES)
    return params


def gradients(model, config, params, text, answers, asked, *, fixed=False):
    """Return the loss and its gradients; `fixed`: the relative biases get none."""
    with Tape() as tape:
        logits = model(params, config, text)
    loss, grad = cross_entropy(logits, answers, asked)
    grads = tape.gradients(params, (logits, grad))
    if fixed:
        table_of(grads)[:] = 0
    return loss, grads


def hits(model, config, task, length, params, *, wrongly=False, interventions=()):
    """Return which answers are right on texts not seen, and where something is asked: arrays of bool, shape (200, n).

    `wrongly`: the model reads the letters of each text in another order than the one that is asked about.
    """
    rng = np.random.default_rng(10**6)
    text, answers, asked = task(rng, 200, length)
    if wrongly:
        order = np.argsort(rng.random(text.shape), axis=1)
        text, answers, asked = (np.take_along_axis(part, order, axis=1) for part in (text, answers, asked))
    return model(params, config, text, interventions=interventions).argmax(axis=-1) == answers, asked


def share_right(model, config, task, length, params, **options):
    right, asked = hits(model, config, task, length, params, **options)
    return round(float(right[asked].mean()), 4)


def with_far_biases(params, number):
    """Return the parameters with one number in place of all biases for distances that training does not have."""
    layer, table = params["layer 1"], np.where(DISTANCES >= LENGTH, number, table_of(params))
    return {**params, "layer 1": {**layer, "attention": {**layer["attention"], "relative": table}}}


def far_biases(right, params):
    """Return the mean of the biases trained for middle distances, and the shares right in long texts with several
    numbers in place of those that were not trained. They begin at 0, and behind a mask half of the rest stays there."""
    middle = table_of(params)[:, (DISTANCES > 2) & (DISTANCES < LENGTH)]
    shares = {str(number): right(2 * LENGTH, with_far_biases(params, number)) for number in (-8, -2, 0, 1, 2)}
    return {"middle biases": round(float(middle[middle != 0].mean()), 2), "long, far biases": shares}


def learn(seed, task, way, model, n_layers, unasked=(), others=(), n_taken=None):
    """Return the losses and the shares right at both lengths. At the end, the share by place in long texts; the share
    if the letters are read in a wrong order; and the shares in long texts if no token may look further than in
    training, or at a middle distance. For "two back" with a long table, also what its far biases do; with rotary
    positions, the shares if no token may look where two hands have come round, or at none of the other far places.

    `unasked`: the places at which training asks nothing; if there are any, also the share by place in short texts.
    `others`: as for `sizes`.
    """
    config = sizes(way, n_layers, **dict(others))
    rng, task, model = np.random.default_rng(seed), TASKS[task], MODELS[model]
    params = untrained(rng, config, way)
    data = (without_places(task(rng, 32, LENGTH), unasked) for _ in range(STEPS))
    right = partial(share_right, model, config, task)
    run = train(
        params, partial(gradients, model, config, fixed=way in ALIBI), data, STEPS,
        learning_rate=5e-3, warm_up=50,
        probe=lambda params: [right(length, params) for length in (LENGTH, 2 * LENGTH)],
        probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    short, long = np.transpose(run.probes).tolist()

    def by_place(length):
        return hits(model, config, task, length, run.params)[0].mean(axis=0).round(2).tolist()

    found = {
        "loss": mean_losses(run.losses, EVERY),
        "short": short,
        "long": long,
        "by place": by_place(2 * LENGTH),
        "wrongly": right(LENGTH, run.params, wrongly=True),
        "long, none far": right(2 * LENGTH, run.params, interventions=[Forbid(FAR)]),
        "long, none middling": right(2 * LENGTH, run.params, interventions=[Forbid(MIDDLE)]),
    }
    if way == "relative, far" and task is two_back:
        found |= far_biases(right, run.params)
    if way == "rotary" and task is two_back:
        found["long, none come round"] = right(2 * LENGTH, run.params, interventions=[Forbid(ROUND)])
        found["long, only come round"] = right(2 * LENGTH, run.params, interventions=[Forbid(FAR & ~ROUND)])
    if unasked:
        found["short, by place"] = by_place(LENGTH)
    return found
