"""The processors whose arithmetic this machine can do, and whether a chapter comes out the same on each of them.

OpenBLAS, which makes NumPy's matrix products, and NumPy itself have code of their own for each family of processors.
They add in another order, so results differ in their last digits, and what is chaotic differs in all of them.
"""

import functools
import os
import subprocess
import sys

import numpy as np

from .prose import CLOCK

ARCHITECTURE = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"
FAMILIES = ("SkylakeX", "Zen", "Haswell", "Sandybridge", "Nehalem", "Prescott")  # the newest first
WITH_AVX512, WITH_AVX = FAMILIES[:1], FAMILIES[:4]
FURTHEST = "Sandybridge"  # from the newest: it has no fused multiply-add, and still runs as fast
KINDS = ("text/plain", "text/html")  # pictures are drawn of numbers that other cells print


def environment(family):
    """Return the variables under which OpenBLAS, and NumPy as far as it can, compute as on a processor of this family.

    Sandybridge has AVX and not AVX2, and NumPy has code for neither or for both. Without both, newer processors take a
    hundred times as long for an exponential after a product with AVX.
    """
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    avx512 = [name for name in found if "AVX512" in name or name == "X86_V4"]
    disabled = [] if family in WITH_AVX512 else avx512 if family in WITH_AVX else found
    return {"OPENBLAS_CORETYPE": family, "NPY_DISABLE_CPU_FEATURES": " ".join(disabled)}


@functools.cache
def runnable():
    """Return the families that this machine can imitate; where two run the same code, the older one."""

    def architecture(family):
        variables = {**os.environ, **environment(family)}
        run = subprocess.run([sys.executable, "-c", ARCHITECTURE], env=variables, capture_output=True, encoding="utf-8")
        return run.stdout

    names = {architecture(family): family for family in FAMILIES}
    return [family for said, family in names.items() if said]


def differences(notebook, other):
    """Return, in words, where two executions of a chapter show other text or figures, or answer a guess otherwise."""
    return [
        f"{cell.source}\n--- shows\n{shown(cell)}\n--- and elsewhere\n{shown(run)}"
        for cell, run in zip(notebook.cells, other.cells, strict=True)
        if CLOCK not in cell.metadata.get("tags", []) and shown(cell) != shown(run)
    ]


def shown(cell):
    """Return the text and the numbers that a cell shows: printed, in a figure that moves, or as a guess's answer."""
    outputs = cell.get("outputs", [])
    printed = [output.text for output in outputs if output.output_type == "stream"]
    data = [output.data[kind] for output in outputs for kind in sorted(output.get("data", {})) if kind in KINDS]
    return "\n".join([*printed, *data, *(str(part) for part in sorted(cell.metadata.get("guess", {}).items()))])
