"""The clock of the chapters that compare ways to compute the same."""

from time import perf_counter

from attn.threads import on_one_thread


@on_one_thread
def seconds(function, *arguments, repeats=5, **options):
    """Return how long a call takes at best, on one thread, as other programs only ever make it slower.

    Parameters
    ----------
    function : callable
        Called with the arguments and options.
    repeats : int

    Returns
    -------
    float
    """
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function(*arguments, **options)
        times.append(perf_counter() - start)
    return min(times)
