"""What `make bench` runs comes to its end; how fast anything is, no test asks. tests/test_released.py has its model."""

import subprocess
import sys

from book import build

ALONE = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]


def test_the_package_is_timed_beside_pytorch(torch):
    small = "(512 or floor or one_token or 32) and not smollm2"
    command = [*ALONE, "--benchmark-disable", "-k", small, "benchmarks/bench_speed.py"]
    run = subprocess.run(command, cwd=build.ROOT, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stdout
