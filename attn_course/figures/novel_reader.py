"""A language model that has read six novels, alive."""

import base64
import functools
import json

import numpy as np
import traitlets

from attn.attention import softmax
from attn.interventions import Forbid, head_names, named_head, switch_off
from attn.transformer import decoder
from attn_course import novels
from attn_course.figures.base import Explorable, Number, Words, check_heads, check_range, listed

PARTS = 8
DONE = {"off": "off", "itself": "looking only at themselves", "exchanged": "with marks exchanged"}
HEADS = head_names(novels.CONFIG.n_layers, novels.CONFIG.n_heads)


@functools.cache
def _model(name):
    return novels.read_model(novels.ALIVE[name])


_tokenizer = functools.cache(novels.read_tokenizer)
_for_a_page = functools.cache(novels.for_a_page)


def model_scripts():
    """Yield the names and texts of the scripts that hold a model, as a page opened from a file can load no other."""
    for name in novels.ALIVE:
        about, numbers = _for_a_page(name)
        text = base64.b64encode(numbers).decode()
        size = -(-len(text) // PARTS)
        for part in range(PARTS):
            start = f"(window.attnNovels ??= {{}}).{name} = {{about: {json.dumps(about)}, count: {PARTS}, parts: []}};"
            push = f'window.attnNovels.{name}.parts.push("{text[part * size : (part + 1) * size]}");\n'
            yield f"{name}-{part}.js", push if part else start + push


def visible(word):
    """Return a token so that its spaces and ends of lines are seen, as the figure writes it."""
    return word.replace(" ", "·").replace("\n", "¶")


def first_read(n):
    """Return which token is the first that is read of a text of n: of a long one, no more than the last 128 are."""
    stride = novels.LENGTH // 4
    return max(0, -(-(n - novels.LENGTH) // stride) * stride)


class NovelReader(Explorable):
    """A model of `attn_course.novels`, which reads the reader's text, shows where its heads look, and writes on.

    Parameters
    ----------
    texts : list of str
        What the reader can choose from; the first is read at first.
    tokens : list of int
        What is read now; of a long text, no more than the last 128.
    token : int
        Which of them asks; default: the last.
    head : str
        Whose weights are shown on the text: "L4H3" is the third head of layer 4.
    off, itself, exchanged : list of str
        The heads that write nothing, those that look only at the token itself, and those in which opening quotation
        marks have the values of closing ones, and the reverse.
    temperature : float
        What logits are divided by.
    model : {"novels", "copying"}
        The book's model, or the one that also learned to copy.
    colour : {"weights", "surprise"}
        What colours the text: the weights of the head, or how surprising each token was.
    target : int
        The token to whose logit heads and MLPs are said to add; default: the likeliest, -1.
    """

    texts = Words("n_texts")
    tokens = traitlets.List(traitlets.Int())
    token = traitlets.Int(0)
    head = traitlets.Unicode("L4H3")
    off = traitlets.List(traitlets.Unicode())
    itself = traitlets.List(traitlets.Unicode())
    exchanged = traitlets.List(traitlets.Unicode())
    temperature = Number(1.0)
    model = traitlets.Enum([*novels.ALIVE], "novels")
    colour = traitlets.Enum(["weights", "surprise"], "weights")
    target = traitlets.Int(-1)
    megabytes = Number(0.0)

    def __init__(self, texts, **kwargs):
        tokens = kwargs.setdefault("tokens", _tokenizer().encode(texts[0]).tolist())
        kwargs.setdefault("token", len(tokens) - 1)
        size = len(_for_a_page(kwargs.get("model", "novels"))[1])
        super().__init__(list(texts), megabytes=round(size / 1e6, 1), **kwargs)
        self.on_msg(self._answer)

    def check(self, state):
        tokens, size = state["tokens"], novels.CONFIG.vocab_size
        if not tokens:
            raise traitlets.TraitError("the figure reads at least 1 token, but has 0")
        if not 0 <= min(tokens) <= max(tokens) < size:
            raise traitlets.TraitError(
                f"tokens are from 0 to {size - 1}, but reach from {min(tokens)} to {max(tokens)}"
            )
        check_range(state, first_read(len(tokens)), len(tokens) - 1, "token")
        done = [head for what in DONE for head in state[what]]
        check_heads((state["head"], *done), HEADS)
        if twice := sorted({head for head in done if done.count(head) > 1}):
            raise traitlets.TraitError(f"one thing is done to a head, but {', '.join(twice)} is named twice")
        check_range(state, 0.1, 2, "temperature")
        check_range(state, -1, size - 1, "target")

    def _answer(self, _widget, content, _buffers):
        if content.get("wanted") in novels.ALIVE:
            about, numbers = _for_a_page(content["wanted"])
            self.send(about, buffers=[numbers])

    @property
    def text(self):
        """What stands there now, as text."""
        return _tokenizer().decode(self.tokens)

    def interventions(self):
        """Return what is done to the heads, as `decoder` takes it."""
        tokens = np.array(self.tokens[first_read(len(self.tokens)) :])
        places = {what: [named_head(head) for head in getattr(self, what)] for what in DONE}
        others = ~np.eye(len(tokens), dtype=bool)
        return [
            *(switch_off(*head) for head in places["off"]),
            *(Forbid(others, *head) for head in places["itself"]),
            *(one for head in places["exchanged"] for one in novels.exchanged(tokens, *head, self.model)),
        ]

    def describe(self):
        params, tokenizer = _model(self.model), _tokenizer()
        start = first_read(len(self.tokens))
        logits = decoder(params, novels.CONFIG, self.tokens[start:], interventions=self.interventions())
        shares = softmax(np.asarray(logits[self.token - start], float) / self.temperature)
        likeliest = np.argsort(-shares)[:4]
        following = listed([f"“{visible(tokenizer.words[token])}”" for token in likeliest], shares[likeliest], 2)
        done = "".join(
            f", heads {', '.join(getattr(self, what))} {told}" for what, told in DONE.items() if getattr(self, what)
        )
        return f"Novel reader{done}: {self.text!r}, and next: {following}"
