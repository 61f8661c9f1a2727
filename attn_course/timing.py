"""The clock of the chapters that compare ways to compute the same."""

from timeit import repeat

from attn.threads import on_one_thread


@on_one_thread
def seconds(function, *arguments, **options):
    """Return how long a call takes on one thread: the fastest of five, as other programs only ever make it slower."""
    return min(repeat(lambda: function(*arguments, **options), number=1, repeat=5))
