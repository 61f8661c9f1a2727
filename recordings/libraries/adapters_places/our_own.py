"""The package of this book."""

from attn.positions import rotary, sinusoid

PINS = ["attention-worked-out @ file://{repository}", "numpy==2.4.6"]
FUNCTIONS = {
    "attn rotary": lambda X, *, start=0, longer=1: rotary(X, start=start, step=longer),
    "attn sinusoid": lambda X, *, start=0: sinusoid(*X.shape[2:], start=start),
}
