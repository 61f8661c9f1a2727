"""What the kernel of each chapter uses, as rows of the table on the page for teachers; on Linux."""

import resource
from concurrent.futures import ProcessPoolExecutor

from . import chapters, number_of
from .execute import execute


def used(path):
    """Return the megabytes of a chapter's kernel at its peak, and the seconds of its processor."""
    execute(path)
    kernel = resource.getrusage(resource.RUSAGE_CHILDREN)
    return kernel.ru_maxrss // 1000, kernel.ru_utime + kernel.ru_stime


def main():
    with ProcessPoolExecutor(max_workers=1, max_tasks_per_child=1) as pool:  # each chapter in a process of its own
        for path, (megabytes, seconds) in zip(chapters(), pool.map(used, chapters())):
            print(f"| [{number_of(path)}]({path.name}) | {megabytes} MB | {seconds:.0f} s |")


if __name__ == "__main__":
    main()
