"""How long a training takes while two other programs are at work, if no variable limits the threads."""

import os
import subprocess
import sys

TRAINING = """
import time
from recordings.learning_to_attend import learn
start = time.perf_counter()
learn(0, 2, 64, 2000, n_taken=100)
print(time.perf_counter() - start)
"""
THREADS = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}


def seconds(**variables):
    environment = {name: value for name, value in os.environ.items() if name not in THREADS} | variables
    command = [sys.executable, "-c", TRAINING]
    return float(subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True).stdout)


def test_training_beside_two_busy_programs(report):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        ratio = min(seconds() for _ in range(3)) / min(seconds(OMP_NUM_THREADS="1") for _ in range(3))
    finally:
        for other in others:
            other.kill()
            other.wait()
    report(f"training beside two busy programs: {ratio:.2f} times as long as with one thread (to reach: 1.33)")
