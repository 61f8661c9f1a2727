"""What is measured of a model that has read six novels: at each of its marks, and at its end."""

from functools import partial

from attn import switch_off
from attn.course import novels

from .learn import MARKS, STEPS, params_at
from .quotations import (
    closes,
    inside_and_outside,
    measure_context,
    measure_edges,
    measure_heads,
    most_on_the_mark,
    name,
    on_the_mark,
    on_the_mark_by_distance,
    other_pairs,
    quoting_by_half,
    with_and_without_the_mark,
)
from .reading import MEN, WOMEN, loss_by_context, mean, named_again, read_twice, she_not_he


def measure(seed, tokenizer, held):
    """Measure one model that was trained to the end."""
    params, text = params_at(seed, STEPS), held.rows.ravel()
    found = measure_at_marks(seed, tokenizer, held)
    weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
    quoting = most_on_the_mark(found["on the mark"][-1])
    both_off = [switch_off(*head) for head in quoting]
    others_off = [[switch_off(*head) for head in pair] for pair in other_pairs(quoting)]
    return found | {
        "quoting": [name(head) for head in quoting],
        "off": measure_heads(params, tokenizer, held, quoting),
        "quoting, by half": quoting_by_half(weights, held),
        "by distance": on_the_mark_by_distance(weights, held, *quoting[0]),
        "forbidden": measure_edges(params, tokenizer, held, quoting),
        "closing, reading few": measure_context(params, tokenizer, held),
        "with the mark, without": with_and_without_the_mark(params, tokenizer, text),
        "with the mark, without: both off": with_and_without_the_mark(params, tokenizer, text, both_off),
        "closes: all on, both off": [closes(params, tokenizer, text, off) for off in ([], both_off)],
        "closes: other pairs off": [closes(params, tokenizer, text, pair) for pair in others_off],
        "told: once, again, behind others": read_twice(params, text),
        "last 20 tokens behind": loss_by_context(params, held),
        "she, not he: women": she_not_he(params, tokenizer, WOMEN),
        "she, not he: men": she_not_he(params, tokenizer, MEN),
        "named again": named_again(params, tokenizer),
    }


def measure_at_marks(seed, tokenizer, held):
    """Return by name what a model does at each of its marks; a head's weights are lists [layer][head]."""
    found = {"held out": [], "closing": [], "on the mark": [], "before the mark": []}
    for step in MARKS:
        params = params_at(seed, step)
        weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
        on_it, before_it = on_the_mark(weights, held)
        P = novels.closing(params, held.rows[:, :-1], tokenizer)
        found["held out"].append(mean(novels.losses(params, held.rows)))
        found["closing"].append(inside_and_outside(P, held))
        found["on the mark"].append(on_it)
        found["before the mark"].append(before_it)
    return found
