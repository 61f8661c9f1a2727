"""A model that has read six novels: the text, its tokens, and the decoder of a million parameters that learned it."""

import json
import lzma
from dataclasses import asdict, dataclass, replace
from importlib.resources import files

import numpy as np

from attn.attention import softmax
from attn.bytepairs import Tokenizer
from attn.interventions import ReplaceValues, Trace
from attn.parameters import TransformerConfig, flat, nested
from attn.transformer import decoder

FOLDER = files("attn_course") / "data" / "novels"
CONFIG = TransformerConfig(
    vocab_size=2048, d_model=128, n_heads=4, n_layers=4, d_ff=512, positions="rotary", activation="relu",
    biases="mlp", unembedding="tied",
)  # fmt: skip
STREAM = replace(CONFIG, unembedding="none")  # where nobody reads the logits
LENGTH = 128  # tokens that the model reads at once in training
SHIPPED = 1  # the model of the book, of the five that were trained
ALIVE = {"novels": SHIPPED, "copying": "copying"}  # the models that a page can run
MARK_VALUES = "mark_values.npz"


def read_text(part="training"):
    """Return Jane Austen's six novels, one paragraph a line: "training", or what is "held out" at the end of each."""
    path = FOLDER / f"{part.replace(' ', '_')}.txt.xz"
    return lzma.decompress(path.read_bytes()).decode()


def read_tokenizer():
    """Return the tokenizer that was learned from the training text."""
    return Tokenizer(**json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8")))


def rows_of(tokens, length=LENGTH + 1):
    """Return tokens as rows that follow each other, shape (n_rows, length); what is left at the end is no row."""
    return tokens[: len(tokens) // length * length].reshape(-1, length)


# --- the model, a byte a number -------------------------------------------------------------------


def quantize(params):
    """Round parameters to a byte a number: each row of a matrix to whole numbers from -127 to 127 and one scale.

    Parameters
    ----------
    params : nested dict of arrays

    Returns
    -------
    dict of arrays
        By path, such as "layer 1/mlp/W_1": vectors as they are (float32), matrices as int8, and under the path with
        "/scale" after it what each row is to be multiplied by, shape (..., 1).
    """
    rounded = {}
    for path, part in flat(params):
        name = "/".join(path)
        if part.ndim == 1:
            rounded[name] = part.astype(np.float32)
        else:
            scale = np.maximum(np.abs(part).max(axis=-1, keepdims=True), 1e-9).astype(np.float32) / 127
            rounded[name], rounded[f"{name}/scale"] = np.round(part / scale).astype(np.int8), scale
    return rounded


def dequantize(rounded):
    """Return nested parameters, float32, of what `quantize` made."""
    arrays = {path: array for path, array in rounded.items() if not path.endswith("/scale")}
    scales = {path: rounded.get(f"{path}/scale", np.float32(1)) for path in arrays}
    return nested((path.split("/"), array * scales[path]) for path, array in arrays.items())


def model_file(number=SHIPPED):
    """Return the name of the file of one of the five models, or of "copying", which was trained on from the book's."""
    return "model.npz" if number == SHIPPED else f"model_{number}.npz"


def read_model(number=SHIPPED):
    """Return the parameters of a model as they were rounded for it: 0 to 4, of which 1 is the book's, or "copying"."""
    with np.load(FOLDER / model_file(number)) as flat:
        return dequantize(dict(flat))


# --- what it is measured on -----------------------------------------------------------------------

OPENING, CLOSING = ' "', '"'  # a closing mark follows a word at once; at a paragraph's beginning it is an opening one
ENDS = ",.!?;"


def quotations(tokens, tokenizer):
    """Find the quotation marks that matter at each place of a text.

    Parameters
    ----------
    tokens : array of int, shape (n,)
    tokenizer : Tokenizer

    Returns
    -------
    marks : array of int, shape (n,)
        Where the last mark of the paragraph so far stands; -1 where there is none yet.
    inside : array of bool, shape (n,)
        Whether a quotation is open there.
    """
    marks, inside, mark, is_open = [], [], -1, False
    words, starts = [tokenizer.words[token] for token in tokens], True
    for place, word in enumerate(words):
        if word == "\n":
            mark, is_open = -1, False
        elif word in (OPENING, CLOSING):
            mark, is_open = place, word == OPENING or starts
        starts = word == "\n"
        marks.append(mark)
        inside.append(is_open)
    return np.array(marks), np.array(inside)


@dataclass(frozen=True)
class HeldOut:
    """What the model has not read, in rows that follow each other.

    Parameters
    ----------
    rows : array of int, shape (n_rows, 129)
        The model reads 128 tokens, and each place is asked for the next one.
    marks : array of int, shape (n_rows, 128)
        Where in its row the last quotation mark of the paragraph stands; negative where there is none in the row.
    inside, closed, narration : array of bool, shape (n_rows, 128)
        Ends of a clause, which are the places of `ENDS`: those in a quotation whose mark stands in the row, those in
        none but behind one of the same paragraph that was closed in the row, and those with no mark of their
        paragraph in the row and no quotation open.
    opening_marks, closing_marks : array of bool, shape (n_rows, 128)
        The quotation marks themselves: those that open a quotation, and those that close one.
    """

    rows: np.ndarray
    marks: np.ndarray
    inside: np.ndarray
    closed: np.ndarray
    narration: np.ndarray
    opening_marks: np.ndarray
    closing_marks: np.ndarray

    @property
    def outside(self):
        """Ends of a clause in no quotation, of both kinds: array of bool, shape (n_rows, 128)."""
        return self.closed | self.narration


def held_out(tokenizer):
    """Return the text that is held out, with its quotations."""
    tokens = tokenizer.encode(read_text("held out"))
    rows = rows_of(tokens)
    marks, is_open = (rows_of(part)[:, :-1] for part in quotations(tokens, tokenizer))
    marks = np.where(marks < 0, -1, marks - (LENGTH + 1) * np.arange(len(rows))[:, None])
    in_row, at_mark = marks >= 0, marks == np.arange(LENGTH)
    ends = np.isin(rows[:, :-1], [tokenizer.words.index(word) for word in ENDS])
    places = (ends & is_open & in_row, ends & ~is_open & in_row, ends & ~is_open & ~in_row)
    return HeldOut(rows, marks, *places, at_mark & is_open, at_mark & ~is_open)


def in_parts(function, *arrays):
    """Return what a function makes of arrays with many rows, of which it is given two dozen at a time."""
    n_parts = -(-len(arrays[0]) // 24)
    return np.concatenate([function(*parts) for parts in zip(*(np.array_split(array, n_parts) for array in arrays))])


def losses(params, rows, interventions=()):
    """Return in nats how surprising each next token of rows is: from shape (n_rows, length) to (n_rows, length - 1)."""

    def lost(part):
        P = softmax(decoder(params, CONFIG, part[:, :-1], interventions=interventions))
        return -np.log(np.take_along_axis(P, part[:, 1:, None], axis=-1))[..., 0]

    return in_parts(lost, rows)


def closing(params, rows, tokenizer, places, interventions=()):
    """Return how likely a closing mark is after each of the places, True in `places`: array of its shape (n_rows,
    length), NaN elsewhere."""
    mark = tokenizer.words.index(CLOSING)

    def likely(part, asked):
        X = decoder(params, STREAM, part, interventions=interventions)
        found = np.full(asked.shape, np.nan)
        found[asked] = softmax(X[asked] @ params["embedding"].T)[:, mark]
        return found

    return in_parts(likely, rows, places)


def looks(params, rows):
    """Return the weights of all heads: array, shape (n_rows, n_layers, n_heads, length, length)."""
    with Trace() as trace:
        decoder(params, STREAM, rows)
    return np.stack([layer.attention.weights for layer in trace.layers], axis=1)


def looks_from(params, rows, asking, interventions=()):
    """Return the weights of all heads at chosen places, True in `asking`, shape (n_rows, length), row after row.

    Returns
    -------
    array, shape (n_places, n_layers, n_heads, length)
        Where all rows ask, this takes half a megabyte a row.
    """

    def weights(part, asks):
        with Trace() as trace:
            decoder(params, STREAM, part, interventions=interventions)
        row, place = np.nonzero(asks)
        return np.stack([layer.attention.weights[row, :, place] for layer in trace.layers], axis=1)

    return in_parts(weights, rows, asking)


# --- for a page without Python --------------------------------------------------------------------


def read_mark_values(name):
    """Return the mean values of opening marks and of closing ones in a model of `ALIVE`, from held-out text.

    Returns
    -------
    array, shape (2, n_layers, n_heads, d_v)
        `recordings.novels.exchange` has measured it.
    """
    with np.load(FOLDER / MARK_VALUES) as values:
        return values[name]


def exchanged(tokens, layer, head, name="novels"):
    """Return the interventions that give one head the mean values of closing marks at opening ones, and the reverse.

    Parameters
    ----------
    tokens : array of int, shape (n,)
    layer, head : int
        From 1 on.
    name : str
        The model, one of `ALIVE`.
    """
    marks, inside = quotations(tokens, read_tokenizer())
    here, values = marks == np.arange(len(tokens)), read_mark_values(name)[:, layer - 1, head - 1]
    return [ReplaceValues(here & is_open, value, layer, head) for is_open, value in zip((~inside, inside), values)]


def for_a_page(name="novels"):
    """Return what a page needs to run a model.

    Parameters
    ----------
    name : str
        One of `ALIVE`.

    Returns
    -------
    about : dict
        The config, the tokenizer, how many tokens it reads at most, the mean values of quotation marks, and the name
        and shape of each array.
    numbers : bytes
        The arrays in this order, as `quantize` made them: the scales of a matrix, float32, stand in front of it.
    """
    with np.load(FOLDER / model_file(ALIVE[name])) as flat:
        arrays = {path: array for path, array in flat.items() if not path.endswith("/scale")}
        parts = [flat[f"{path}/scale"].tobytes() if array.ndim > 1 else b"" for path, array in arrays.items()]
    tokenizer = read_tokenizer()
    about = {
        "name": name,
        "config": asdict(CONFIG),
        "arrays": [[path, array.shape] for path, array in arrays.items()],
        "characters": tokenizer.characters,
        "joins": tokenizer.joins,
        "most_tokens": LENGTH,
        "marks": np.round(read_mark_values(name).astype(float), 4).tolist(),
    }
    return about, b"".join(scale + array.tobytes() for scale, array in zip(parts, arrays.values()))
