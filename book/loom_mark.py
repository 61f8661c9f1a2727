"""The loom in small: three words on their way through a transformer, from left to right.

`loom_mark` lights what a chapter explains of it; `loom_run` lights all of it once, in four seconds.
"""

THREADS = (10, 27, 44)  # of three words, the last of which looks at all of them
SECONDS = 4
INK = {  # of attn_course/figures/figures.css, which the pages have
    "q": "var(--attn-query)",
    "k": "var(--attn-key)",
    "v": "var(--attn-value)",
    "w": "rgb(var(--attn-weight))",
    "e": "var(--attn-violet)",
    "p": "var(--attn-slate)",
}


def _boxes(places, ink="p"):
    """Draw filled boxes, each (x, y, width, height)."""
    d = "".join(f"M{x} {y}h{width}v{height}h-{width}z" for x, y, width, height in places)
    return f'<path d="{d}" fill="var(--{ink})"/>'


def _line(d, ink="p", width=None, more=""):
    wide = f' stroke-width="{width}"' if width else ""
    return f'<path d="{d}" stroke="var(--{ink})"{wide}{more}/>'


def _ribbons(x, widths, more=""):
    """Draw what the last word gets from each: ribbons as wide as weights."""
    end = THREADS[-1]
    lines = [f"M{x} {y}C{x + 20} {y} {x + 14} {end} {x + 34} {end}" for y in THREADS]
    return "".join(_line(d, "w", width, more) for d, width in zip(lines, widths))


def _on_threads(mark):
    """Draw the same at each thread: `mark` is what follows M, with a place for y."""
    return "".join(mark.format(y=y, up=y - 4) for y in THREADS)


FIRST, _, LAST = THREADS
SHAPES = {  # from left to right, as they run
    "words": _line(_on_threads("M4 {y}H246"), width=1),
    "embedding": _boxes([(x, y - 4, 5, 8) for y in THREADS for x in (8, 15, 22)]),
    "positions": _line("".join(f"M{36 + 4 * i} {y - 4}v8" for k, y in enumerate(THREADS) for i in range(k + 1))),
    "query": _boxes([(58, y - 4, 6, 8) for y in THREADS], "q"),
    "key": _boxes([(66, y - 4, 6, 8) for y in THREADS], "k"),
    "scores": _line(_on_threads("M88 {y}h.1"), "w", 7, ' stroke-linecap="round"'),
    "scale": _line(f"M94 {FIRST}L100 {LAST + 6}L106 {FIRST}z", width=2),
    "mask": _line(f"M112 {LAST}C134 {LAST} 130 {FIRST} 152 {FIRST}", more=' stroke-dasharray="3"')
    + _line("M126 21l12 12m0-12l-12 12", width=3),
    "weights": _ribbons(110, (6, 3, 1)),
    "second head": _ribbons(126, (1, 2, 4), ' stroke-dasharray="4 3"'),
    "value": _boxes([*((74, y - 4, 6, 8) for y in THREADS), (162, LAST - 4, 10, 8)], "v"),
    "update": _line(_on_threads("M175 {y}h8M179 {up}v8"), width=2),
    "mlp": _line(_on_threads("M190 {y}l8-5h12l8 5l-8 5h-12zM224 {y}h8M228 {up}v8"), width=2),
    "layers": _line("M50 2H236V52H50zM54 0H240V50"),
    "next": _boxes([(254, y - 4, width, 8) for y, width in zip(THREADS, (58, 20, 8))], "w"),
    "error": _line("M312 55H14l5-3m-5 3l5 2", "e", 2),
}
ATTENTION = ("query", "key", "scores", "scale", "mask", "weights", "second head", "value", "update")
LEARNED = ("embedding", "positions", "query", "key", "value", "mlp", "next")
WHOLE = ("all of it", tuple(SHAPES))
PARTS = {  # by the name of a chapter: what it explains, and the shapes that show it
    "why_words_need_context": ("words become vectors", ("words", "embedding")),
    "queries_keys_values": ("queries, keys and values", ("query", "key", "value")),
    "scores_softmax_pattern": ("scores become weights", ("scores", "weights")),
    "scaling": ("scores are scaled", ("scores", "scale")),
    "masking": ("later words are hidden", ("mask",)),
    "values_and_update": ("values are mixed and added", ("value", "weights", "update")),
    "many_heads": ("several heads", ("weights", "second head")),
    "where_a_word_stands": ("where a word stands", ("positions",)),
    "one_layer": ("a whole layer", (*ATTENTION, "mlp")),
    "counting_gpt3": ("all that is learned", LEARNED),
    "what_it_costs": ("what grows with the text", ("scores", "weights", "second head")),
    "how_a_model_learns": ("what every step moves", (*LEARNED, "error")),
    "learning_to_attend": ("the error on its way back", ("error",)),
    "key_and_query_space": ("queries and keys", ("query", "key")),
    "heads_and_layers": ("layer upon layer", ("layers", "second head", "weights")),
    "a_model_that_reads": ("the next word", ("words", "next")),
    "what_a_head_is_for": ("one head and its value", ("second head", "value")),
    "a_model_in_use": WHOLE,
    "todays_models": ("what has changed since", ("positions", "query", "key", "value", "mlp", "next")),
}


def loom_mark(chapter):
    """Return the loom as SVG, with the part lit that the chapter of this name explains, or all of it."""
    told, lit = PARTS.get(chapter, WHOLE)
    faint = "".join(shape for name, shape in SHAPES.items() if name not in lit)
    bright = "".join(SHAPES[name] for name in lit)
    return _svg(f"The loom: {told}", f'<g opacity=".2">{faint}</g>{bright}')


def loom_run():
    """Return the loom as SVG that lights up once from left to right, and at once for who asked for no motion."""
    shapes = [name for name in SHAPES if name not in ("layers", "mask")]
    each = SECONDS * 1000 // (len(shapes) + 1)
    style = (
        f".r g{{animation:l {2 * each}ms calc(var(--i)*{each}ms) both}}@keyframes l{{from{{opacity:.12}}}}"
        "@media (prefers-reduced-motion:reduce){.r g{animation:none}}"
    )
    groups = [f'<g style="--i:{i}">{SHAPES[name]}</g>' for i, name in enumerate(shapes)]
    return _svg("The loom: word after word", f'<style>{style}</style><g class="r">{"".join(groups)}</g>')


def _svg(title, inner):
    inks = ";".join(f"--{name}:{ink}" for name, ink in INK.items())
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="attn-loom-mark" viewBox="0 0 320 58" width="320" height="58"'
        f' fill="none" stroke-width="1.5" style="{inks}" role="img"><title>{title}</title>{inner}</svg>'
    )
