"""A released language model, alive: SmolLM2 reads the reader's own text."""

import base64
import copy
import functools
import json

import numpy as np
import traitlets

from attn.attention import softmax
from attn.generation import Cache
from attn.interventions import Forbid, ReplaceMixtures, Trace, named_head, switch_off
from attn.transformer import decoder
from attn_course.figures.base import Explorable, check_heads
from attn_course.figures.joined import FOLDER, joined
from attn_course.figures.novel_reader import first_read
from attn_course.smollm2 import HEADS, QUESTION, model_file, read_smollm2

PART = 3 * 2**20  # bytes of the model's file in a script, at most and nearly; Chromium holds on to smaller scripts
WINDOW, BEST = 32, 8  # as in smollm2.js
DONE = ("off", "itself", "exchanged")
_model = functools.cache(read_smollm2)


def smollm2_scripts(shorten):
    """Yield the names and texts of the scripts that run the model in a page, and where it is installed, of those that
    hold it; a page opened from a file can load no other. `shorten` drops comments."""
    file = model_file()
    size = file.stat().st_size if file else 0
    source = shorten(joined(FOLDER / "engines/smollm2.js"))
    wasm = base64.b64encode((FOLDER / "engines" / "smollm2.wasm").read_bytes()).decode()
    parts = -(-size // PART)
    brought = {"source": source, "wasm": wasm, "size": size, "parts": parts}
    yield "smollm2.js", f"window.attnSmollm2 = {json.dumps(brought)};\n"
    content = file.read_bytes() if file else b""
    for number in range(parts):
        part = base64.b64encode(content[size * number // parts : size * (number + 1) // parts]).decode()
        yield f"smollm2/{number}.js", f"window.attnSmollm2.part = () => {{/*{part}*/}};\n"


class SmolLM2Reader(Explorable):
    """SmolLM2, which reads the reader's text, shows where its 270 heads look, and writes on.

    Parameters
    ----------
    texts : list of (str, str)
        What the reader can choose from, each with a second text, from which heads hand over; the first is read first.
    text, other : str
        What is read now, and the second text.
    question : bool
        Whether the text is put as a question to the assistant.
    written : list of int
        The tokens that the model has written behind the text.
    token : int
        Which token asks; -1 for the last.
    head : str
        "L24H5" is the fifth head of layer 24.
    look : {"see", "rest", "work", "exchange"}
    work : {"one back", "same word", "after the same word"}
    colour : {"surprise", "weights"}
        What colours the text.
    off, itself, exchanged : list of str
        The heads that write nothing, those that look only at the token itself, and those that hand over, at the last
        token, what they mix at the last token of the second text.
    forbidden : list of (str, int, int)
        A head, the token that asks and the one at which it may not look.
    """

    texts = traitlets.List(traitlets.List(traitlets.Unicode(), minlen=2, maxlen=2), minlen=1)
    text = traitlets.Unicode()
    other = traitlets.Unicode()
    question = traitlets.Bool(False)
    written = traitlets.List(traitlets.Int())
    token = traitlets.Int(-1)
    head = traitlets.Unicode("L24H5")
    look = traitlets.Enum(["see", "rest", "work", "exchange"], "see")
    work = traitlets.Enum(["one back", "same word", "after the same word"], "one back")
    colour = traitlets.Enum(["surprise", "weights"], "surprise")
    off = traitlets.List(traitlets.Unicode())
    itself = traitlets.List(traitlets.Unicode())
    exchanged = traitlets.List(traitlets.Unicode())
    forbidden = traitlets.List(traitlets.List())

    def __init__(self, texts, **kwargs):
        texts = [list(pair) for pair in texts]
        super().__init__(texts=texts, **{"text": texts[0][0], "other": texts[0][-1], **kwargs})
        self.on_msg(self._hear)

    def check(self, state):
        done = [*(head for what in DONE for head in state[what]), *(head for head, *_ in state["forbidden"])]
        check_heads((state["head"], *done), HEADS)

    def describe(self):
        return f"SmolLM2 reads {self.text!r}"

    def _hear(self, _widget, content, _buffers):
        if "ask" in content:
            try:
                said, arrays = answer(*_model(), **content["ask"])
            except (FileNotFoundError, ValueError) as error:
                said, arrays = {"problem": f"{error}."}, []
            self.send({"number": content["number"], **said}, buffers=[np.float32(array).tobytes() for array in arrays])


def interventions(done, tokens, mixtures):
    """Return what is done to heads, as `decoder` takes it; `mixtures` are those of the second text, layer by layer."""
    others = ~np.eye(len(tokens), dtype=bool)
    places = {what: [named_head(head) for head in done[what]] for what in DONE}
    return [
        *(switch_off(*place) for place in places["off"]),
        *(Forbid(others, *place) for place in places["itself"]),
        *(Forbid([(query, key)], *named_head(head)) for head, query, key in done["forbidden"]),
        *(
            ReplaceMixtures(len(tokens) - 1, mixtures[layer - 1, head - 1], layer, head)
            for layer, head in places["exchanged"]
        ),
    ]


def answer(params, config, tokenizer, *, text, question, written, done, other, token, each, light):
    """Return what a page is told of a text, as smollm2.js has it, and two arrays: the weights of all heads among the
    tokens that are shown, row by row, and those that the asking token gives."""

    def tokens_of(one):
        return [int(number) for number in tokenizer.encode(QUESTION.format(one) if question else one)]

    def read(tokens, steps=()):
        with Trace() as trace:
            logits = decoder(params, config, np.array(tokens), interventions=steps)
        return logits.astype(float), trace

    def said(one):
        return tokenizer.decode([one])

    whole, theirs = [*tokens_of(text), *written], tokens_of(other)
    tokens, theirs = (part[first_read(len(part)) :] for part in (whole, theirs))
    hands = bool(done["exchanged"]) or each
    if not tokens:
        raise ValueError("There is no token to read")
    if hands and not theirs:
        raise ValueError("Type the second text, from which heads hand over")
    mixtures, there = None, None
    if hands:
        logits, trace = read(theirs)
        there = softmax(logits[-1])
        mixtures = np.stack([(layer.attention.weights @ layer.attention.V)[:, -1] for layer in trace.layers])
    plain, trace = read(tokens)
    is_plain = not any(done.values())
    was = softmax(plain[-1])
    now, trace = (plain, trace) if is_plain else read(tokens, interventions(done, tokens, mixtures))
    shares = softmax(now)
    weights = np.concatenate([layer.attention.weights for layer in trace.layers])
    n, shown = len(tokens), min(len(tokens), WINDOW)
    rows, columns = np.tril_indices(shown)
    likeliest = np.argsort(-shares[-1], kind="stable")[:BEST]
    found = None
    if each:
        two = [int(was.argmax()), int(there.argmax())]
        before = Cache()  # the tokens before the last are read once for all heads
        if tokens[:-1]:
            decoder(params, config, np.array(tokens[:-1]), last=True, cache=before)

        def with_exchange(head):
            layer, number = named_head(head)
            given = ReplaceMixtures(0, mixtures[layer - 1, number - 1], layer, number)
            return decoder(params, config, np.array(tokens[-1:]), cache=copy.deepcopy(before), interventions=[given])

        by_head = [softmax(with_exchange(head)[-1].astype(float))[two].tolist() for head in HEADS]
        found = {
            "answers": [said(one) for one in two],
            "here": was[two].tolist(),
            "there": there[two].tolist(),
            "found": by_head,
        }
    about = {
        "tokens": tokens,
        "gone": len(whole) - n,
        "words": [said(one) for one in tokens],
        "lost": [*(-np.log(shares[np.arange(n - 1), tokens[1:]])).tolist(), None],
        "shown": shown,
        "isPlain": is_plain,
        "best": [[int(one), said(int(one)), float(shares[-1, one]), float(was[one])] for one in likeliest],
        "each": found,
    }
    if light:
        return about, [[], []]
    return about, [weights[:, n - shown :, n - shown :][:, rows, columns], weights[:, min(token, n - 1)]]
