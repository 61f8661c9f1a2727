"""Make attn_course/figures/engines/smollm2.wasm of its source in C: `make kernel`, or `python -m book.kernel PATH`."""

import subprocess
import sys

from attn_course.figures import FOLDER

EXPORTS = ("pack", "q4_1", "q8_0", "scores", "mix", "__heap_base")


def make_kernel(path):
    """Compile smollm2.c with the compiler of the package ziglang."""
    target = ["-target", "wasm32-freestanding", "-msimd128", "-O3", "-s", "-nostdlib"]
    linked = ["--no-entry", "--import-memory", *(f"--export={name}" for name in EXPORTS)]
    command = [sys.executable, "-m", "ziglang", "cc", *target, *(f"-Wl,{option}" for option in linked)]
    subprocess.run([*command, str(FOLDER / "engines" / "smollm2.c"), "-o", str(path)], check=True)


if __name__ == "__main__":
    make_kernel(sys.argv[1])
