"""Measure models of the package again, and keep what their training alone can tell:

python -m recordings.novels.again 0 1 2 3 4
"""

import sys
import time

from attn.course import novels
from attn.course.recordings import read_recording

from .measure import counted, measure_rounded
from .train import write


def main(numbers):
    start, recording = time.time(), read_recording("novels")
    tokenizer, runs = novels.read_tokenizer(), recording["runs"]["novels"]
    held = novels.held_out(tokenizer)
    known = counted(tokenizer.encode(novels.read_text()), held)
    for number in numbers:
        runs[number].update(measure_rounded(number, runs[number]["quoting"], tokenizer, held, *known))
    write(runs, start - 60 * recording["minutes"])


if __name__ == "__main__":
    main([int(number) for number in sys.argv[1:]])
