"""Questions with answers to choose from."""

from traitlets import Dict, Int, List, TraitError

from attn_course.figures.base import Explorable


class SelfCheck(Explorable):
    """Questions with answers to choose from; each choice is explained at once.

    Parameters
    ----------
    questions : list of (str, str, dict of str to str)
        What is asked, the right answer, and for every answer why it is right or wrong.
    chosen : list of int
        The answer chosen last for each question, -1 for none.

    Examples
    --------
    >>> SelfCheck([("How much is 1 + 1?", "2", {"2": "One and one more.", "11": "That joins the digits."})]).describe()
    'Questions: How much is 1 + 1?'
    """

    _without_script = "To answer, run this cell in JupyterLab, or open the built book with JavaScript."

    questions = List(Dict())
    chosen = List(Int())

    def __init__(self, questions, *, chosen=None, **kwargs):
        items = []
        for ask, right, answers in questions:
            if right not in answers or len(answers) < 2:
                raise TraitError(
                    f"{ask!r} needs its right answer {right!r} among at least 2, but there are {list(answers)}"
                )
            if unexplained := [answer for answer, why in answers.items() if not why.strip()]:
                raise TraitError(f"{ask!r} does not explain {unexplained}")
            options = [{"text": text, "why": why} for text, why in answers.items()]
            items.append({"ask": ask, "right": list(answers).index(right), "answers": options})
        super().__init__(questions=items, chosen=[-1] * len(items) if chosen is None else chosen, **kwargs)

    def describe(self):
        return "Questions: " + " ".join(question["ask"] for question in self.questions)
