"""How many threads a matrix product may run on.

Threads that share a small product wait for each other longer than they work, above all where others are busy.
"""

import functools

from threadpoolctl import ThreadpoolController

ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # the environment of a program whose products all run on one thread


def on_one_thread(function):
    """Return the function as one whose matrix products each run on one thread."""

    @functools.wraps(function)
    def run(*inputs, **options):
        if all(library.num_threads == 1 for library in _libraries().lib_controllers):  # as inside another such function
            return function(*inputs, **options)
        with _libraries().limit(limits=1):
            return function(*inputs, **options)

    return run


@functools.cache
def _libraries():
    return ThreadpoolController().select(user_api="blas")  # NumPy has loaded by now what makes its products
