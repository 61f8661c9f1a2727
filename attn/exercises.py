"""The check behind each exercise of the course."""


def check(answer, is_right, hint):
    """Say whether an exercise is solved; never raise, so that a chapter runs through either way.

    Parameters
    ----------
    answer : object
        The reader's answer, or `...` where there is none yet.
    is_right : callable
        Takes the answer and returns whether it is right; what it raises counts as "not yet".
    hint : str
        What to look at again when it is not.

    Examples
    --------
    >>> check(..., lambda answer: answer == 4, "Count again.")
    Not answered yet: put your answer in place of the dots, then run both cells.
    >>> check(5, lambda answer: answer == 4, "Count again.")
    Not yet. Count again.
    >>> check(4, lambda answer: answer == 4, "Count again.")
    Right.
    """
    if answer is ...:
        print("Not answered yet: put your answer in place of the dots, then run both cells.")
        return
    try:
        right = bool(is_right(answer))
    except Exception as error:  # whatever a reader's answer may cause is part of the lesson
        print(f"Not yet: {type(error).__name__}: {error}. {hint}")
    else:
        print("Right." if right else f"Not yet. {hint}")
