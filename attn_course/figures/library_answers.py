"""What attention functions of many libraries answer to the same questions, and what changes between two of them."""

import traitlets

from attn_course.conventions import NO_ANSWER
from attn_course.figures.base import Explorable, check_range


class LibraryAnswers(Explorable):
    """Two functions side by side: which answers change on the way from one to the other, and what mends each.

    Parameters
    ----------
    recording : dict
        That of `recordings.libraries`.
    come, go : str
        The names of the functions from which and to which the reader goes.
    question : str
        The name of the question that is put to all.
    """

    functions = traitlets.List(traitlets.Dict())
    questions = traitlets.Dict()
    come = traitlets.Int()
    go = traitlets.Int()
    question = traitlets.Unicode()

    def __init__(self, recording, come, go, question, **kwargs):
        names = [function["name"] for function in recording["runs"]]
        if unknown := [name for name in (come, go) if name not in names]:
            raise traitlets.TraitError(f"no function is called {unknown[0]!r}, but there are: {', '.join(names)}")
        kept = [{name: run[name] for name in ("name", "pins", "asked", "answers")} for run in recording["runs"]]
        places = {"come": names.index(come), "go": names.index(go)}
        super().__init__(functions=kept, questions=recording["questions"], **places, question=question, **kwargs)

    def check(self, state):
        check_range(state, 0, len(state["functions"]) - 1, "come", "go")
        if state["question"] not in state["questions"]:
            known = ", ".join(state["questions"])
            raise traitlets.TraitError(f"{state['question']!r} is not asked, but there are: {known}")

    @property
    def changes(self):
        """The questions that both answer, and otherwise, or that only the first answers: list of str."""
        come, go = (self.functions[place]["answers"] for place in (self.come, self.go))
        return [name for name in self.questions if not come[name].startswith(NO_ANSWER) and go[name] != come[name]]

    def describe(self):
        come, go = (self.functions[place]["name"] for place in (self.come, self.go))
        return f"From {come} to {go}, {len(self.changes)} answers change: {', '.join(self.changes)}"
