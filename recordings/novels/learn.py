"""Training one model that reads six novels: whoever stops it goes on later from what lies in _build/novels."""

import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

from attn import decoder, init_transformer
from attn.threads import on_one_thread
from attn.training import Adam, schedule
from attn_course.novels import CONFIG, LENGTH
from recordings import gradients

REACHED = Path(__file__).resolve().parents[2] / "_build" / "novels"
STEPS, ROWS = 2539, 24
MARKS = (0, 30, 100, 200, 300, 400, 500, 600, 800, 1000, 1300, 1600, 2000, STEPS)  # steps whose parameters are kept
EVERY = 50  # steps between two of which all is kept, to go on from


def batch(tokens, seed, step):
    """Return the rows of a step, each with the token that comes after it: array of int, shape (ROWS, LENGTH + 1)."""
    starts = np.random.default_rng([seed, step]).integers(len(tokens) - LENGTH, size=ROWS)
    return tokens[starts[:, None] + np.arange(LENGTH + 1)]


def model(params, tokens):
    return decoder(params, CONFIG, tokens)


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
            loss, grads = gradients(model, adam.params, batch(tokens, seed, step))
            adam.step(grads, 3e-3 * schedule(step, STEPS, 150), clip=1.0)
            losses.append(loss)
            bar.update()
            if step in MARKS:
                keep(f"seed {seed} at {step}", **adam.state())
            if step % EVERY == 0 or step == n_taken:
                keep(f"seed {seed}", losses=losses, **adam.state())
    return losses


def keep(name, **arrays):
    """Write a file that is either whole or not there."""
    unfinished = REACHED / "unfinished.npz"
    np.savez(unfinished, **arrays)
    os.replace(unfinished, REACHED / f"{name}.npz")


def params_at(seed, step):
    """Return the parameters at a mark."""
    adam = Adam(init_transformer(np.random.default_rng(seed), CONFIG))
    with np.load(REACHED / f"seed {seed} at {step}.npz") as state:
        adam.restore(state)
    return adam.params
