"""A language model that has read six novels, alive."""

import base64
import functools
import json

import numpy as np
import traitlets

from attn.attention import softmax
from attn.course import novels
from attn.figures.base import Explorable, Number, Words, listed
from attn.interventions import switch_off
from attn.transformer import decoder

PARTS = 8
HEADS = [f"{layer + 1}.{head}" for layer, head in np.ndindex(novels.CONFIG.n_layers, novels.CONFIG.n_heads)]


@functools.cache
def _model():
    return novels.read_model(), novels.read_tokenizer()


_for_a_page = functools.cache(novels.for_a_page)


def model_scripts():
    """Yield the names and texts of the scripts that hold the model, as a page opened from a file can load no other."""
    about, numbers = _for_a_page()
    size = -(-len(numbers) // PARTS)
    for part in range(PARTS):
        start = f"window.attnNovels = {{about: {json.dumps(about)}, count: {PARTS}, parts: []}};" if part == 0 else ""
        text = base64.b64encode(numbers[part * size : (part + 1) * size]).decode()
        yield f"novels-{part}.js", f'{start}window.attnNovels.parts.push("{text}");\n'


class NovelReader(Explorable):
    """The model of `attn.course.novels`, which reads the reader's text, shows where its heads look, and writes on.

    Parameters
    ----------
    texts : list of str
        What the reader can choose from; the first is read at first.
    tokens : list of int
        What is read now.
    token : int
        Which of them asks; default: the last.
    head : str
        Whose weights are shown on the text: "4.2" is head 2 of layer 4.
    off : list of str
        The heads that write nothing.
    temperature : float
        What logits are divided by.
    """

    _name = "novel_reader"
    _builds_on = ("machine.js", "bytepairs.js")

    texts = Words("n_texts")
    tokens = traitlets.List(traitlets.Int())
    token = traitlets.Int(0)
    head = traitlets.Unicode("4.2")
    off = traitlets.List(traitlets.Unicode())
    temperature = Number(1.0)
    megabytes = Number(0.0)

    def __init__(self, texts, **kwargs):
        tokens = kwargs.setdefault("tokens", _model()[1].encode(texts[0]).tolist())
        kwargs.setdefault("token", len(tokens) - 1)
        super().__init__(list(texts), megabytes=round(len(_for_a_page()[1]) / 1e6, 1), **kwargs)
        self.on_msg(self._answer)

    def check(self, state):
        tokens = state["tokens"]
        if not 0 < len(tokens) <= novels.LENGTH:
            raise traitlets.TraitError(f"the figure reads 1 to {novels.LENGTH} tokens, but has {len(tokens)}")
        if not 0 <= min(tokens) <= max(tokens) < novels.CONFIG.vocab_size:
            told = f"but reach from {min(tokens)} to {max(tokens)}"
            raise traitlets.TraitError(f"tokens are from 0 to {novels.CONFIG.vocab_size - 1}, {told}")
        if not 0 <= state["token"] < len(tokens):
            raise traitlets.TraitError(f"token must be from 0 to {len(tokens) - 1}, but is {state['token']}")
        unknown = [head for head in (state["head"], *state["off"]) if head not in HEADS]
        if unknown:
            raise traitlets.TraitError(f"heads are {HEADS[0]} to {HEADS[-1]}, but there is {', '.join(unknown)}")
        if not 0.1 <= state["temperature"] <= 2:
            raise traitlets.TraitError(f"temperature must be from 0.1 to 2, but is {state['temperature']}")

    def _answer(self, _widget, content, _buffers):
        if content == {"wanted": "model"}:
            about, numbers = _for_a_page()
            self.send(about, buffers=[numbers])

    @property
    def text(self):
        """What is read now, as text."""
        return _model()[1].decode(self.tokens)

    def describe(self):
        params, tokenizer = _model()
        off = [switch_off(*map(int, head.split("."))) for head in self.off]
        logits = decoder(params, novels.CONFIG, self.tokens, interventions=off)[self.token]
        shares = softmax(np.asarray(logits, float) / self.temperature)
        likeliest = np.argsort(-shares)[:4]
        following = listed([f'"{tokenizer.words[token]}"' for token in likeliest], shares[likeliest], 2)
        heads = f", heads {', '.join(self.off)} off" if self.off else ""
        return f"Novel reader{heads}: {self.text!r}, and next: {following}"
