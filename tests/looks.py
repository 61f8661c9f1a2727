"""What a figure that moves must show in a given state, worked out by the package: words, numbers, names and shades."""

import itertools
import re
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from attn import Tape, TransformerConfig, causal_mask, scaled_dot_product_attention, softmax
from attn.layers import add, embedding, layer_norm, linear
from attn.tape import differentiable

# What a figure shows. Places in a plane and shades are rounded, so that they can be compared like words.
LOOK = """(root) => {
  const rounded = (number) => Math.round(number * 1e4) / 1e4;
  const text = (node) => node.textContent;
  const list = (within, selector, one) => [...within.querySelectorAll(selector)].map(one);
  const label = (input) => text(input.labels[0].querySelector("span"));
  const shade = (node) => rounded(Number(node.style.getPropertyValue("--attn-w")));
  const number = (node, name) => Number(node.getAttribute(name));
  const inPlane = (x, y) => [(x - 160) / (320 / 6), (160 - y) / (320 / 6)].map(rounded);
  const look = {
    name: root.getAttribute("aria-label"),
    says: list(root, ".attn-detail", text),
    titles: list(root, "legend, caption, .attn-caption", text),
    chosen: list(root, "input:checked", label),
    sliders: list(root, "input[type=range]", (input) => [label(input), Number(input.value),
      input.getAttribute("aria-valuetext"), text(input.labels[0].querySelector("output"))]),
    fields: list(root, "input[type=number], input[type=text]", (input) => [label(input), input.value]),
    refused: list(root, ".attn-problem", text),
    bars: list(root, ".attn-bar", (bar) => {
      const front = bar.previousElementSibling;
      return [text(front.querySelector("span") ?? front), text(bar.nextElementSibling), shade(bar)];
    }),
    tables: list(root, "table", (table) => ({
      columns: list(table, "thead th", text),
      rows: list(table, "tbody th", text),
      cells: [...table.tBodies[0].rows].map((row) => list(row, "td > *", text)),
      shades: [...table.tBodies[0].rows].map((row) => list(row, "td > *", shade)),
      names: list(table, "[aria-label]", (cell) => cell.getAttribute("aria-label")),
      chosen: list(table, ".attn-chosen th", text),
      widths: [...new Set([...table.rows].map((row) => row.cells.length))],
    })),
    told: list(root, ".attn-outcome, .attn-step-title", text),
    taught: list(root, ".attn-step-text", (node) => text(node).split(". ").at(-1)),
    steps: list(root, ".attn-step", (node) => text(node) + (node.ariaCurrent === "step" ? " *" : "")),
    wanted: list(root, ".attn-wanted", (node) => [node.hidden, text(node.querySelector("select").selectedOptions[0])]),
    disabled: list(root, "button:disabled", text),
    others: list(root, ".attn-other", (node) => node.tagName + " " + text(node)),
    minus: list(root, ".attn-minus", (node) => node.textContent),
    answers: list(root, ".attn-answer", (node) =>
      [text(node), node.getAttribute("aria-pressed"), node.classList.contains("attn-right")]),
    explained: list(root, ".attn-why", text),
    plane: list(root, ".attn-plane", (plane) => ({
      name: plane.getAttribute("aria-label"),
      labels: list(plane, "text", text).filter((word) => !/^−?\\d$/.test(word)),
      ticks: list(plane, ".attn-tick", (node) => [text(node), inPlane(number(node, "x"), number(node, "y") - 4)])
        .filter(([word]) => /^−?\\d$/.test(word)).map(([word, [x, y]], i) => [word, i % 2 ? y : x]),
      points: list(plane, "circle", (point) =>
        [...inPlane(number(point, "cx"), number(point, "cy")), rounded(number(point, "r"))]),
      arrows: list(plane, "g", (arrow) => {
        const [shaft, tip] = arrow.children;
        const { e, f, a, b } = tip.transform.baseVal.consolidate().matrix;
        const from = inPlane(number(shaft, "x1"), number(shaft, "y1"));
        const to = inPlane(number(shaft, "x2"), number(shaft, "y2"));
        return [arrow.getAttribute("visibility"), from, to, inPlane(e, f), [a, -b].map(rounded)];
      }),
    })),
    curves: list(root, ".attn-curve", (path) =>
      path.getAttribute("d").slice(1).split(" L").map((at) => at.split(",").map(Number))),
    curveTicks: list(root, ".attn-curves .attn-tick", (node) => [text(node), rounded(number(node, "x"))]),
    curveLabels: list(root, ".attn-curves .attn-plane-label", (node) =>
      [text(node), rounded(number(node, "y")), node.getAttribute("visibility")]),
    cursor: list(root, ".attn-cursor", (line) => [number(line, "x1"), number(line, "x2")].map(rounded)),
  };
  return Object.fromEntries(Object.entries(look).filter(([, value]) => value.length));
}"""


def shown(number, digits=2):
    """Return a number as the figures write it, or nested lists of them."""
    if np.ndim(number):
        return [shown(entry, digits) for entry in number]
    if np.isneginf(number):
        return "−∞"
    text = str(Decimal(float(number)).quantize(Decimal(10) ** -digits, ROUND_HALF_UP))  # as toFixed does
    return (f"{0:.{digits}f}" if float(text) == 0 else text).replace("-", "−")


def rounded(numbers):
    return np.round(np.asarray(numbers, float), 4).tolist()


def listed(numbers, digits=2):
    return f"({', '.join(shown(numbers, digits))})"


def slider(label, value, text=None):
    text = shown(value) if text is None else text
    return [label, round(value, 2), text, text]


def weight_bars(names, weights):
    return [[name, shown(weight, 3), rounded(weight)] for name, weight in zip(names, weights)]


def table(cells, shades=None, *, columns=(), rows=(), names=(), chosen=()):
    shades = np.zeros(np.shape(cells)) if shades is None else shades
    return {
        "columns": list(columns),
        "rows": list(rows),
        "cells": cells,
        "shades": rounded(shades),
        "names": list(names),
        "chosen": list(chosen),
        "widths": [len(cells[0]) + bool(rows)],
    }


def plane(name, labels, points, arrows):
    """A plane with points of a radius, and arrows from one place to another."""
    drawn = []
    for start, end in arrows:
        way = np.subtract(end, start)
        seen = "visible" if np.linalg.norm(way) * 320 / 6 >= 4 else "hidden"
        drawn.append([seen, *map(rounded, [start, end, end, way / np.linalg.norm(way)])])
    ticks = [[shown(i, 0), i] for i in (-2, -1, 1, 2) for _ in "xy"]
    return [{"name": name, "labels": labels, "ticks": ticks, "points": rounded(points), "arrows": drawn}]


WITH_WORDS = {"attention", "softmax", "query_plane", "mask", "heads", "stepper"}  # the reader may give some


def look_of_attention(figure):
    tokens, query, Q, K = figure.tokens, figure.query, np.array(figure.Q), np.array(figure.K)
    scores = Q @ K.T
    seen = np.tri(len(tokens), dtype=bool) | (not figure.causal)
    scaled = np.where(seen, scores / np.sqrt(K.shape[1]), -np.inf)
    told = np.where(seen, shown(figure.weights), "–").tolist()
    names = [
        f"{a} to {b}: {'masked' if told[i][j] == '–' else told[i][j]}"
        for i, a in enumerate(tokens)
        for j, b in enumerate(tokens)
    ]
    steps = [scores[query], scaled[query], figure.weights[query]]
    shades = [0 * steps[2], 0 * steps[2], steps[2]]
    columns = ["key of", "score", f"÷ √{K.shape[1]}", "weight"]
    return {
        "name": "Attention explorer",
        "says": ["Point at a number, or move to it with Tab and the arrow keys, to see its sum written out."],
        "titles": [
            "Query word",
            "A word sees",
            f"Query of “{tokens[query]}”",
            f"“{tokens[query]}” asks every key",
            "The whole pattern: each row sums to 1",
        ],
        "chosen": [tokens[query], "itself and earlier words" if figure.causal else "all words"],
        "sliders": [slider(f"q{'₁₂₃'[d]}", entry) for d, entry in enumerate(Q[query])],
        "fields": [["Your own words (2 to 8; new words get made-up vectors)", " ".join(tokens)]],
        "tables": [
            table(shown(np.transpose(steps)), np.transpose(shades), columns=columns, rows=tokens),
            table(shown([figure.output[query]]), rows=["output"]),
            table(told, figure.weights, columns=tokens, rows=tokens, names=names, chosen=[tokens[query]]),
        ],
    }


def look_of_softmax(figure):
    weights, knobs = figure.weights, []
    says = f"The weights sum to {weights.sum():.3f}."
    if figure.knobs:
        entropy = -sum(weight * np.log(weight) for weight in weights if weight > 0)
        says += f" Entropy: {shown(entropy)} nats; equal weights have {np.log(len(weights)):.2f}."
        knobs = [slider("temperature", figure.temperature), slider("added to every score", figure.offset)]
    return {
        "name": "Softmax explorer",
        "says": [says],
        "sliders": [*map(slider, figure.tokens, figure.scores), *knobs],
        "fields": [["Your own words (2 to 10)", " ".join(figure.tokens)]],
        "bars": weight_bars(figure.tokens, weights),
    }


def look_of_query_plane(figure):
    tokens, asker, weights = figure.tokens, figure.asker, figure.weights
    name = f"The query of {asker} as an arrow among the keys of {', '.join(tokens)}; the sliders move it."
    points = np.column_stack([figure.K, 4 + 12 * np.sqrt(weights)])
    return {
        "name": "Query plane",
        "says": [f"Output: {listed(figure.output, 3)}"],
        "titles": [
            f"Drag the arrow, the query of “{asker}”, or use the sliders.",
            f"How much “{asker}” takes from each word:",
        ],
        "sliders": [slider(label, entry) for label, entry in zip(["q₁", "q₂"], figure.q)],
        "fields": [[f"Other labels for these words ({len(tokens)})", " ".join(tokens)]],
        "bars": weight_bars(tokens, weights),
        "plane": plane(name, tokens, points, [([0, 0], figure.q)]),
    }


def look_of_scaling(figure):
    weights, jacobian, size = figure.weights, figure.jacobian, figure.sizes[figure.chosen]
    trace = np.trace(jacobian)
    answer = "answer to the scores" if trace > 0.5 else "answer weakly to the scores"
    answer = answer if trace > 0.05 else "hardly answer to the scores"
    return {
        "name": "Scaling explorer",
        "says": [
            f"Largest weight {weights.max():.3f}. Trace of the Jacobian {trace:.3f}: the weights {answer}.",
        ],
        "titles": ["Scores", "Weights", "Jacobian: what a score (column) does to a weight (row)"],
        "chosen": ["divided by √d_k" if figure.scaled else "as they are"],
        "sliders": [slider("d_k", figure.chosen, str(size))],
        "bars": weight_bars([f"key {j + 1}" for j in range(len(weights))], weights),
        "tables": [table(shown(jacobian), np.minimum(1, 4 * np.abs(jacobian)))],
    }


def look_of_mask(figure):
    tokens, mask, weights = figure.tokens, np.array(figure.mask), figure.weights
    i, j = np.indices(mask.shape)
    masks = {
        "all words": i == i,
        "itself and earlier words": j <= i,
        "itself and the word before": (j == i) | (j == i - 1),
        "all but itself": j != i,
    }
    told = np.where(mask, shown(weights), "–").tolist()
    names = [
        f"{a} to {b}: {told[i][j] if mask[i][j] else 'hidden'}"
        for i, a in enumerate(tokens)
        for j, b in enumerate(tokens)
    ]
    sums = weights.sum(axis=1)
    return {
        "name": "Mask explorer",
        "says": ["Point at a cell, or move to it with Tab and the arrow keys."],
        "titles": [
            "A word may see",
            "Hidden by",
            "Weights; press a cell to hide or show a word (column) to a word (row)",
        ],
        "chosen": [label for label, same in masks.items() if np.array_equal(mask, same)][:1]
        + ["zero after softmax" if figure.after else "−∞ before softmax"],
        "fields": [["Your own words (2 to 8; new pairs get made-up scores)", " ".join(tokens)]],
        "tables": [
            table(
                [[*row, shown(total)] for row, total in zip(told, sums)],
                np.column_stack([weights, np.zeros(len(tokens))]),
                columns=[*tokens, "sum"],
                rows=tokens,
                names=names,
            )
        ],
    }


def look_of_update_plane(figure):
    tokens, asker, weights = figure.tokens, figure.asker, figure.weights
    name = f"The word {asker} moved by the values of {', '.join(tokens)}; the sliders set their scores."
    way = np.cumsum([figure.E, *(weights[:, None] * figure.V)], axis=0)
    moved, delta = figure.moved, figure.moved - figure.E
    spots = [[*spot, 7] for spot in figure.spots.values()]
    return {
        "name": "Update plane",
        "says": [f"{listed(figure.E)} + ΔE {listed(delta)} = {listed(moved)}"],
        "titles": [f"Score of each word for “{asker}”, and its weight:"],
        "sliders": [slider(token, score, shown(score, 1)) for token, score in zip(tokens, figure.scores)],
        "bars": weight_bars(tokens, weights),
        "plane": plane(name, [*figure.axes, *figure.spots], [*spots, [*moved, 4]], itertools.pairwise(way)),
    }


def look_of_heads(figure):
    tokens, head, query, axes = figure.tokens, figure.head, figure.query, figure.axes
    weights, updates = figure.weights, figure.updates
    written = np.flatnonzero(np.any(figure.W_O, axis=(0, 1)))
    total = updates.sum(axis=0)[query]
    added = np.vstack([updates[:, query], total])[:, written]
    row = weights[head, query]
    told = [f"{axes[d]} {shown(total[d])}" for d in written if abs(total[d]) >= 0.005]
    return {
        "name": "Heads explorer",
        "says": [
            f"In the head “{figure.heads[head]}”, “{tokens[query]}” looks most at “{tokens[row.argmax()]}” "
            f"({row.max():.2f}). All heads together add {', '.join(told) or 'nothing'}."
        ],
        "titles": [
            "Head",
            "Word",
            f"Pattern of the head “{figure.heads[head]}”",
            f"What each head adds to “{tokens[query]}”",
        ],
        "chosen": [figure.heads[head], tokens[query]],
        "fields": [
            [f"Your own words (2 to 8; these mean something here: {', '.join(figure.known)})", " ".join(tokens)]
        ],
        "tables": [
            table(shown(weights[head]), weights[head], columns=tokens, rows=tokens, chosen=[tokens[query]]),
            table(
                shown(added),
                np.minimum(1, np.abs(added)),
                columns=[axes[d] for d in written],
                rows=[*figure.heads, "ΔE"],
                chosen=[figure.heads[head]],
            ),
        ],
    }


def look_of_parameters(figure):
    sizes = ["d_model", "n_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff"]
    options = {
        "biases": figure.biases,
        "layer norms": figure.norms,
        "table of positions": figure.positions,
        "unembedding tied to the embedding": figure.tied,
    }
    same = [name for name, preset in figure.presets.items() if all(preset[s] == getattr(figure, s) for s in sizes)]
    counts = {
        name: figure.counts[name]
        for name in ["attention", "mlp", "embedding", "unembedding", "positions", "norms", "biases"]
    }
    total = figure.counts["total"]
    return {
        "name": "Parameter counter",
        "says": [
            f"{total:,} parameters; {100 * counts['attention'] / total:.2f} % of them are in the attention matrices."
        ],
        "titles": ["Model", "Counted"],
        "chosen": [*same[:1], *(label for label, counted in options.items() if counted)],
        "fields": [[size, str(getattr(figure, size))] for size in sizes],
        "refused": [""],
        "bars": [[name, f"{count:,}", rounded(count / total)] for name, count in counts.items()],
    }


def look_of_cost(figure):
    costs, n_heads = figure.costs, figure.presets[figure.chosen]["n_heads"]
    divisors = [number for number in range(1, n_heads + 1) if n_heads % number == 0]
    memory = {"parameters": "parameters", "patterns of a layer": "patterns", "keys and values": "cache"}
    bars = []
    for label, name in memory.items():
        power = int(np.log2(costs[name]) // 10)
        tenths = np.floor(10 * costs[name] / 1024**power + 0.5)  # JavaScript rounds a half up
        told = f"{tenths / 10:.1f} {['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power]}"
        bars.append([label, told, rounded(np.clip((np.log2(costs[name]) - 20) / 30, 0, 1))])
    return {
        "name": "Cost explorer",
        "says": [
            f"{figure.n_tokens:,} tokens: the keys and values take {costs['cache'] / costs['parameters']:.2f} times "
            "the memory of the parameters."
        ],
        "titles": [
            "Model",
            "Memory at two bytes a number; a third of a bar is a factor of a thousand",
            "Share of the last token's work that depends on how many came before",
        ],
        "chosen": [figure.chosen],
        "sliders": [
            slider("tokens", int(np.log2(figure.n_tokens)), f"{figure.n_tokens:,}"),
            slider("key heads", divisors.index(figure.key_heads), str(figure.key_heads)),
        ],
        "bars": [*bars, ["pairs of tokens", shown(costs["share"], 3), rounded(costs["share"])]],
    }


def look_of_training(figure):
    tokens, steps, weights = figure.tokens, np.array(figure.steps), np.array(figure.weights[figure.run])
    now = weights[figure.moment]
    places = 340 * np.log1p(steps) / np.log1p(steps[-1])
    heights = 150 * (1 - weights[-1])
    order = np.argsort(heights, kind="stable")
    for above, below in itertools.pairwise(order):
        heights[below] = max(heights[below], heights[above] + 13)
    ticks = [[str(step), rounded(340 * np.log1p(step) / np.log1p(steps[-1]))] for step in (1, 10, 100, 1000)]
    return {
        "name": "Training explorer",
        "says": [
            f"Step {steps[figure.moment]}, trained: {figure.runs[figure.run]}. "
            f"Loss {figure.losses[figure.run][figure.moment]:#.2g}; most weight on “{tokens[now.argmax()]}”."
        ],
        "titles": ["Trained"],
        "chosen": [figure.runs[figure.run]],
        "sliders": [slider("step", figure.moment, str(steps[figure.moment]))],
        "bars": weight_bars(tokens, now),
        "curves": [
            np.round(np.stack([places, 150 * (1 - weights[:, j])], axis=1), 1).tolist() for j in range(len(tokens))
        ],
        "curveTicks": [["1", 4], *(tick for tick in ticks if int(tick[0]) <= steps[-1])],
        "curveLabels": [
            [token, rounded(height + 4), "hidden" if height > 166 else "visible"]
            for token, height in zip(tokens, heights)
        ],
        "cursor": [[rounded(places[figure.moment])] * 2],
    }


def look_of_gauge(figure):
    names = ["cosines of keys", "cosines of queries", "scores"]
    still = type(figure)(figure.tokens, figure.Q, figure.K).maps
    moved = np.abs(figure.maps - still).max(axis=(1, 2))
    one = figure.maps[figure.shown]
    return {
        "name": "Gauge explorer",
        "says": [f"Largest change so far: {', '.join(f'{name} {shown(most)}' for name, most in zip(names, moved))}."],
        "titles": ["Show", names[figure.shown]],
        "chosen": [names[figure.shown]],
        "sliders": [slider("stretch", figure.power, f"× {shown(2**figure.power)}")],
        "tables": [table(shown(one), np.abs(one) / np.abs(one).max(), columns=figure.tokens, rows=figure.tokens)],
    }


def look_of_self_check(figure):
    answers, explained, right = [], [], 0
    for question, chosen in zip(figure.questions, figure.chosen):
        for j, answer in enumerate(question["answers"]):
            answers.append([answer["text"], str(j == chosen).lower(), j == chosen == question["right"]])
        word = "Right." if chosen == question["right"] else "Not that one."
        explained.append("" if chosen < 0 else f"{word} {question['answers'][chosen]['why']}")
        right += chosen == question["right"]
    asked = [f"{i}. {question['ask']}" for i, question in enumerate(figure.questions, 1)]
    return {
        "name": "Questions",
        "titles": [*asked, f"{right} of {len(asked)} right"],
        "answers": answers,
        "explained": explained,
    }


def look_of_rotary(figure):
    query, key = figure.turned
    apart = abs(figure.query_at - figure.key_at)
    places = {"query stands at": figure.query_at, "key stands at": figure.key_at}
    places["both, together"] = min(places.values())
    pairs = [figure.query, query, figure.key, key]
    return {
        "name": "Rotary explorer",
        "says": [
            f"Turned: query {listed(query)}, key {listed(key)}. They stand {apart} apart; the angle between them has "
            f"changed by {shown(apart * figure.turn)}. Score {shown(figure.score)}."
        ],
        "sliders": [
            *(slider(label, place, str(place)) for label, place in places.items()),
            slider("angle a position", figure.turn),
        ],
        "plane": plane(
            "A query and a key, each turned by its position; the numbers are below.",
            *([], [], [([0, 0], pair) for pair in pairs]),
        ),
    }


def nodes_of_stepper(figure):
    """Return each array of the run by its name, with its gradient where the loss at the last word reaches it."""
    config, words = TransformerConfig(**figure.config), figure.words
    params = _as_arrays(figure.params)
    tokens = np.array([words.index(word) for word in figure.tokens])
    n, nodes = len(tokens), {}
    given = {name: params[name] for name in ("embedding", "positions")}
    given |= {f"norm / {name}": params["norm"][name] for name in ("gain", "bias")}
    given |= {f"unembedding / {name}": params["unembedding"][name] for name in "Wb"}
    with Tape() as tape:
        nodes["embeddings"] = embedding(tokens, params["embedding"])
        nodes["positions of the tokens"] = embedding(np.arange(n), params["positions"])
        X = nodes["stream"] = add(nodes["embeddings"], nodes["positions of the tokens"])
        for number in range(1, config.n_layers + 1):
            layer, here = params[f"layer {number}"], f"layer {number}"
            a, m = layer["attention"], layer["mlp"]
            given |= {
                f"{here} / {part} / norm / {name}": layer[part]["norm"][name]
                for part in layer
                for name in ("gain", "bias")
            }
            given |= {f"{here} / mlp / {name}": m[name] for name in ("W_1", "b_1", "W_2", "b_2")}
            N = nodes[f"{here}: normalised"] = layer_norm(X, **a["norm"], epsilon=config.epsilon)
            for h in range(config.n_heads):
                own = f"{here}, head {h + 1}: "
                W = {letter: a[f"W_{letter}"][h] for letter in "QKVO"}
                given |= {f"{here} / attention / W_{letter} / {h}": matrix for letter, matrix in W.items()}
                for letter in "QKV":
                    nodes[own + letter] = linear(N, W[letter])
                Q, K, V = (nodes[own + letter] for letter in "QKV")
                nodes[own + "mixtures"], nodes[own + "weights"] = scaled_dot_product_attention(Q, K, V, causal_mask(n))
                nodes[own + "scores"] = np.asarray(Q) @ np.asarray(K).T / np.sqrt(config.d_k)
                nodes[own + "masked scores"] = np.where(causal_mask(n), nodes[own + "scores"], -np.inf)
                nodes[own + "update"] = linear(nodes[own + "mixtures"], W["O"])
            for h in range(config.n_heads):
                X = add(X, nodes[f"{here}, head {h + 1}: update"])
            nodes[f"{here}: stream after attention"] = X
            N = nodes[f"{here}: normalised for the MLP"] = layer_norm(X, **m["norm"], epsilon=config.epsilon)
            wide = nodes[f"{here}: widened"] = linear(N, m["W_1"], m["b_1"])
            hidden = nodes[f"{here}: hidden"] = _relu(wide)
            nodes[f"{here}: update of the MLP"] = linear(hidden, m["W_2"], m["b_2"])
            X = nodes[f"{here}: stream"] = add(X, nodes[f"{here}: update of the MLP"])
        nodes["normalised"] = layer_norm(X, **params["norm"], epsilon=config.epsilon)
        nodes["logits"] = linear(nodes["normalised"], **params["unembedding"])
    nodes["probabilities"] = softmax(nodes["logits"])
    grad = np.zeros_like(nodes["logits"])
    grad[-1] = nodes["probabilities"][-1] - (np.arange(len(words)) == figure.wanted)
    by_hand = ("scores", "weights", "logits", "probabilities")
    known = {name: array for name, array in nodes.items() if not name.endswith(by_hand)}
    grads = tape.gradients({**given, **known}, (nodes["logits"], grad))
    grads["logits"] = grad
    for name in [name for name in nodes if name.endswith(": weights")]:
        own, P = name.removesuffix("weights"), nodes[name]
        G = grads[name] = grads[own + "mixtures"] @ nodes[own + "V"].T
        grads[own + "scores"] = grads[own + "masked scores"] = P * (G - np.sum(P * G, axis=1, keepdims=True))
    return {name: (array, grads.get(name)) for name, array in {**given, **nodes}.items()}


@differentiable
def _relu(X):
    return np.maximum(X, 0), lambda grad: (grad * (X > 0),)


def _as_arrays(part):
    return {name: _as_arrays(inner) for name, inner in part.items()} if isinstance(part, dict) else np.array(part)


WORDS, ENTRIES, OF_HEAD, KEYS, UNITS, VOCABULARY, ALONE = (
    "words",
    "d_model",
    "d_k",
    "words asked",
    "d_ff",
    "vocabulary",
    "1",
)


def steps_of_stepper(figure):
    """Return of each step its box, chapter, title, and the names of its arrays with what their axes are called."""
    n_layers = figure.config["n_layers"]
    rows = (WORDS, ENTRIES)

    def norm(into, path, out):
        return [(into, *rows), (f"{path} / gain", ALONE, ENTRIES), (f"{path} / bias", ALONE, ENTRIES), (out, *rows)]

    steps = [
        ("embedding", 1, "Embedding", [("embedding", VOCABULARY, ENTRIES), ("embeddings", *rows)]),
        ("+ position", 8, "Positions", [(name, *rows) for name in ("embeddings", "positions of the tokens", "stream")]),
    ]
    stream, h = "stream", figure.head
    for number in range(1, n_layers + 1):
        here, own = f"layer {number}", f"layer {number}, head {h + 1}: "
        normal, attended = f"{here}: normalised", f"{here}: stream after attention"

        def matrix(letter, *axes):
            return (f"{here} / attention / W_{letter} / {h}", *axes)  # noqa: B023

        def part(name, *axes):
            return (f"{here} / mlp / {name}", *axes)  # noqa: B023

        q, k, v = (
            (f"The {name} of head {h + 1}", [(normal, *rows), matrix(L, ENTRIES, OF_HEAD), (own + L, WORDS, OF_HEAD)])
            for name, L in zip(["queries", "keys", "values"], "QKV")
        )
        scores, masked, weights = ((own + name, WORDS, KEYS) for name in ("scores", "masked scores", "weights"))
        mixtures, before = (own + "mixtures", WORDS, OF_HEAD), f"{here}: normalised for the MLP"
        updates = [(f"{here}, head {i + 1}: update", *rows) for i in range(figure.config["n_heads"])]
        wide, hidden = ((f"{here}: {name}", WORDS, UNITS) for name in ("widened", "hidden"))
        written, end = (f"{here}: update of the MLP", *rows), (f"{here}: stream", *rows)
        steps += [
            ("norm", 9, "Normalise", norm(stream, f"{here} / attention / norm", normal)),
            ("q", 2, *q),
            ("k", 2, *k),
            ("scores", 4, "Scores", [(own + "Q", WORDS, OF_HEAD), (own + "K", KEYS, OF_HEAD), scores]),
            ("mask", 5, "Mask", [scores, masked]),
            ("softmax", 3, "Weights", [masked, weights]),
            ("v", 6, *v),
            ("mix", 6, "Mixtures", [weights, (own + "V", KEYS, OF_HEAD), mixtures]),
            ("W_O", 7, "What the head writes", [mixtures, matrix("O", OF_HEAD, ENTRIES), updates[h]]),
            ("+ add", 6, "Add", [(stream, *rows), *updates, (attended, *rows)]),
            ("norm", 9, "Normalise again", norm(attended, f"{here} / mlp / norm", before)),
            ("widen", 9, "Widen", [(before, *rows), part("W_1", ENTRIES, UNITS), part("b_1", ALONE, UNITS), wide]),
            ("ReLU", 9, "ReLU", [wide, hidden]),
            ("narrow", 9, "Narrow", [hidden, part("W_2", UNITS, ENTRIES), part("b_2", ALONE, ENTRIES), written]),
            ("+ add", 9, "Add again", [(attended, *rows), written, end]),
        ]  # fmt: skip
        stream = f"{here}: stream"
    unembedding = ("unembedding / W", ENTRIES, VOCABULARY), ("unembedding / b", ALONE, VOCABULARY)
    logits, shares = ("logits", WORDS, VOCABULARY), ("probabilities", WORDS, VOCABULARY)
    return [
        *steps,
        ("norm", 9, "Normalise a last time", norm(stream, "norm", "normalised")),
        ("unembed", 9, "Logits", [("normalised", *rows), *unembedding, logits]),
        ("softmax", 9, "Probabilities", [logits, shares]),
    ]  # fmt: skip


def arrays_of_stepper(figure):
    """Return name, axes, numbers and whether it is a gradient, of each array on show."""
    nodes, shows = nodes_of_stepper(figure), steps_of_stepper(figure)[figure.step][3]
    values = [(name, axes, np.atleast_2d(nodes[name][0]), False) for name, *axes in shows]
    grads = [(name, axes, np.atleast_2d(nodes[name][1]), True) for name, *axes in shows if nodes[name][1] is not None]
    return values + grads if figure.backward else values


def look_of_stepper(figure):
    steps, tokens, titles, tables, others, minus = steps_of_stepper(figure), figure.tokens, [], [], [], []
    names = {WORDS: tokens, KEYS: tokens, VOCABULARY: figure.words, ALONE: [""]}
    for name, axes, array, is_grad in arrays_of_stepper(figure):
        turned = array.shape[1] > 8
        cells, (down, across) = (array.T, axes[::-1]) if turned else (array, axes)
        finite = np.where(np.isfinite(cells), np.abs(cells), 0)
        columns, rows = (
            names.get(axis, [str(i + 1) for i in range(size)])[:size]
            for axis, size in ((across, cells.shape[1]), (down, cells.shape[0]))
        )
        tables.append(table(shown(cells), finite / (finite.max() or 1), columns=columns, rows=rows))
        short = re.sub(r"^layer \d+(, head \d+)?: ", "", name)
        short = [part for part in short.split(" / ") if not part.isdigit()][-1]
        titles.append(f"{'Gradient: ' if is_grad else ''}{short} ({down} × {across})")
        texts = np.array(shown(cells))
        for i in range(len(tokens)):
            if i != figure.token and down == WORDS:
                others.append(f"TR {rows[i]}{''.join(texts[i])}")
        if across == WORDS:
            lines = [columns, *texts]
            others += [
                f"{'TD' if y else 'TH'} {line[i]}"
                for y, line in enumerate(lines)
                for i in range(len(tokens))
                if i != figure.token
            ]
        minus += [shown(number) for number in cells.ravel() if number < 0]
    probabilities = figure.probabilities[-1]
    best = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])[:2]
    loss = shown(-np.log(probabilities[figure.wanted]))
    loss = f". Were “{figure.words[figure.wanted]}” right, the loss would be {loss}"
    told = f"{' '.join(tokens)} … {', '.join(f'{figure.words[i]} {shown(probabilities[i], 3)}' for i in best)}"
    _, chapter, title, _ = steps[figure.step]
    known = f"of the {len(figure.words)} the model knows: {' '.join(figure.words)}"
    knows = f"Your own words (1 to {figure.config['n_positions']} {known})"
    ends = [len(steps) - 1, 0] if figure.backward else [0, len(steps) - 1]
    sentence = [one for one in figure.sentences if one == " ".join(tokens)]
    return {
        "name": "One sentence, all the way",
        "says": ["Touch a number, or move to it with Tab and the arrow keys: it shows the sum that made it."],
        "titles": ["Sentence", "Way", "Head", "Word that is followed", *titles],
        "chosen": [
            *sentence,
            "backward: the error" if figure.backward else "forward: the prediction",
            str(figure.head + 1),
            tokens[figure.token],
        ],
        "fields": [[knows, " ".join(tokens)]],
        "told": [
            f"{told}{loss if figure.backward else ''}.",
            f"Step {figure.step + 1} of {len(steps)}: {title}",
        ],
        "taught": [f"Chapter {chapter}."],
        "steps": [f"{name} *" if i == figure.step else name for i, (name, *_) in enumerate(steps)],
        "wanted": [[not figure.backward, figure.words[figure.wanted]]],
        "disabled": [name for name, end in zip(["← Previous step", "Next step →"], ends) if figure.step == end],
        "tables": tables,
        "others": others,
        "minus": minus,
    }


HEAD_BARS = {
    "previous token": "to the token before",
    "same word": "to the same word elsewhere",
    "the noun that fits": "difference of differences",
    "rests on the first": "to the first, [CLS]",
}


def look_of_head_guess(figure):
    head, place, tokens = figure.head, figure.heads.index(figure.head), figure.tokens[figure.text].split()
    weights, guess, kind = figure.pattern, figure.guesses.get(head), figure.classes[place]
    row = weights[figure.token]
    best = [f"“{tokens[j]}” {shown(row[j])}" for j in np.argsort(-row, kind="stable")[:3] if row[j] > 0]
    case = [f" (case {i + 1} of {len(figure.cases)})" for i, one in enumerate(figure.cases) if one["head"] == head]
    tally = f"{figure.agreeing} of {len(figure.guesses)} guesses agree with the measure"
    names = [f"Head {one}, your guess: {figure.guesses[one]}" if one in figure.guesses else f"Head {one}"
             for one in figure.heads]  # fmt: skip
    layers = [str(layer) for layer in range(1, 7)]
    large = table(
        np.full(weights.shape, "").tolist() if len(tokens) > 12 else shown(weights), weights,
        columns=["is asked →\nasks ↓", *tokens], rows=tokens, chosen=[tokens[figure.token]],
        names=[f"{a} asks {b}: {shown(w)}" for a, line in zip(tokens, weights) for b, w in zip(tokens, line)],
    )  # fmt: skip
    tables = [table([[""] * 12] * 6, columns=map(str, range(12)), rows=layers, names=names), large]
    titles = [
        "All heads on this sentence, a row for each layer: choose one",
        f"Head {head}, large",
        f"What does head {head} do?{''.join(case)}",
        tally if figure.guesses else "No guess yet",
    ]
    bars = []
    if guess:
        for name, numbers in figure.measures.items():
            if name != "the noun that fits" or name in (guess, kind):
                bars.append([HEAD_BARS[name], shown(numbers[place]), rounded(max(0, numbers[place]))])
        over_pairs = "; the difference of differences over pairs" if "the noun that fits" in (guess, kind) else ""
        changes = [figure.here[figure.text][place], figure.change[place]]
        cells = [[shown(one, 3), *map(str, ranks)] for one, ranks in zip(changes, figure.ranks)]
        columns = ["change", "rank in its layer, of 12", "rank of all 72"]
        tables.append(table(cells, columns=columns, rows=["this sentence", "the 50 sentences"]))
        titles += [
            f"Head {head} over 50 sentences{over_pairs}",
            "Switched off: how much the tokens change in the last layer (rank 1: most)",
            f"Head {head} on the other sentences: choose one to see it large",
        ]
    return {
        "name": "Head guess",
        "says": [f"Head {head}: “{tokens[figure.token]}” asks, and gives most to {', '.join(best)}."],
        "titles": titles,
        "bars": bars,
        "tables": tables,
        "wanted": [[False, figure.texts[figure.text]]],
        "answers": [[one, "true" if one == guess else "false", one == guess == kind] for one in figure.kinds],
        "explained": [figure.verdict],
    }


def look_of_novel_reader(figure):
    return {"name": "Novel reader"}  # before its model is there


def look_of(figure):
    """Return what `LOOK` must find in the figure's page."""
    look = {"refused": [""] if figure._name in WITH_WORDS else [], **globals()[f"look_of_{figure._name}"](figure)}
    return {part: found for part, found in look.items() if found}


def factor(number):
    text = shown(number)
    return f"({text})" if text.startswith("−") else text


def sum_of(one, other):
    return " + ".join(f"{factor(a)} × {factor(b)}" for a, b in zip(one, other))


def meanings_of_attention(figure):
    """What each number of the attention explorer means, in the order of its cells: steps, output, pattern."""
    tokens, Q, K, V, weights = figure.tokens, *map(np.array, (figure.Q, figure.K, figure.V)), figure.weights
    scores, n, d_k = Q @ K.T, len(tokens), K.shape[1]

    def scaled(i, j):
        if figure.causal and j > i:
            return f"“{tokens[j]}” comes after “{tokens[i]}”: its score becomes −∞, so its weight is 0."
        return f"{shown(scores[i, j])} ÷ √{d_k} = {shown(scores[i, j] / np.sqrt(d_k))}"

    def weight(i, j):
        if figure.causal and j > i:
            return scaled(i, j)
        powers = [f"e^{factor(score / np.sqrt(d_k))}" for score in scores[i, : i + 1 if figure.causal else n]]
        return f"weight({tokens[i]} → {tokens[j]}) = {powers[j]} ÷ ({' + '.join(powers)}) = {shown(weights[i, j])}"

    query, steps = figure.query, []
    for j in range(n):
        score = f"score({tokens[query]}, {tokens[j]}) = {sum_of(Q[query], K[j])} = {shown(scores[query, j])}"
        steps += [score, scaled(query, j), weight(query, j)]
    output = [
        f"output{'₁₂'[d]} = {sum_of(weights[query], V[:, d])} = {shown(figure.output[query, d])}"
        for d in range(V.shape[1])
    ]
    return [*steps, *output, *(weight(i, j) for i in range(n) for j in range(n))]


def meanings_of_mask(figure):
    """What each number of the mask explorer means."""
    told = []
    for i, word in enumerate(figure.tokens):
        for j, other in enumerate(figure.tokens):
            if figure.mask[i][j]:
                numbers = f"score {shown(figure.scores[i][j])}, weight {shown(figure.weights[i, j])}"
                told.append(f"“{word}” may see “{other}”: {numbers}. Press to hide it.")
            else:
                told.append(f"“{other}” is hidden from “{word}”. Press to show it.")
    return told
