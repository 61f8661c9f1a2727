"""What a chapter says about training rests on at least five seeds, or on a recording of as many."""

import ast

import nbformat
import pytest

from attn.course.recordings import read_recording
from book import build

CHAPTERS = sorted((build.ROOT / "chapters").glob("[01][0-9]*.ipynb"))
FEWEST = 5


def statements(cell):
    return ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))).body


def stored(statement):
    """Return the names that a statement gives a value or a part of one, except inside a function."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    nodes = list(ast.walk(statement))
    inner = {id(node) for part in nodes if isinstance(part, ast.comprehension | ast.Lambda) for node in ast.walk(part)}
    given = [node for node in nodes if isinstance(node, ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Store)]
    places = [node.value if isinstance(node, ast.Subscript) else node for node in given if id(node) not in inner]
    return {place.id for place in places if isinstance(place, ast.Name)}


def loaded(statement):
    """Return the names that a statement needs from elsewhere."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loops = [part for part in ast.walk(statement) if isinstance(part, ast.comprehension | ast.For)]
    own = {node.id for loop in loops for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    if isinstance(statement, ast.FunctionDef):
        own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        own |= {argument.arg for argument in ast.walk(statement) if isinstance(argument, ast.arg)}
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - own


def made_by(names, makers):
    return list(dict.fromkeys(made for name in names for made in makers.get(name, [])))


def behind(cells):
    """Yield each code cell with all statements of the chapter that its own ones rest on, itself included, and with
    those that made each result it uses, by name."""
    makers, functions = {}, set()  # name: the statements that made it
    for cell in cells:
        evidence, results = [], {}
        for statement in statements(cell):
            used, target = loaded(statement), getattr(statement, "targets", [None])[0]
            results |= {name: made for name, made in makers.items() if name.partition("[")[0] in used - functions}
            mine = [*made_by(used, makers), statement]
            anew = isinstance(statement, ast.FunctionDef) or isinstance(target, ast.Name | ast.Tuple)
            makers |= {name: mine if anew else [*makers.get(name, []), *mine] for name in stored(statement)}
            if isinstance(target, ast.Subscript):  # a place of a dict stands for itself
                makers[ast.unparse(target)] = [*made_by(loaded(statement.value), makers), statement]
            if isinstance(statement, ast.FunctionDef):
                functions.add(statement.name)
            evidence += mine
        yield cell, evidence, results


def calls(evidence, function):
    return [node for part in evidence for node in ast.walk(part)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function]  # fmt: skip


def seeds(evidence):
    """Return how many seeds the loops `for seed in range(...)`, or `in each(range(...))`, run through."""
    found = set()
    for part in evidence:
        for node in ast.walk(part):
            if not isinstance(node, ast.comprehension | ast.For) or getattr(node.target, "id", "") != "seed":
                continue
            for call in calls([node.iter], "range"):
                found |= set(range(*map(ast.literal_eval, call.args)))
    return len(found)


def fewest_recorded(name):
    return min(len({run["seed"] for run in runs}) for runs in read_recording(name)["runs"].values())


def rests_on_enough(evidence):
    recordings = [call.args[0].value for call in calls(evidence, "read_recording")]
    return (bool(recordings) and min(map(fewest_recorded, recordings)) >= FEWEST) or seeds(evidence) >= FEWEST


def is_of_training(evidence):
    return bool(calls(evidence, "train") or calls(evidence, "read_recording"))


def is_shown(cell):
    folded = {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))
    return not folded and any(output.output_type == "stream" for output in cell.get("outputs", []))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_what_is_printed_of_training_says_what_it_rests_on(path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    for cell, evidence, results in behind(cells):
        tags = {"trained", "one-model"} & set(cell.metadata.get("tags", []))
        trains = is_of_training(evidence)
        if is_shown(cell) and trains:
            assert len(tags) == 1, f"is this evidence (trained) or an illustration (one-model)?\n{cell.source}"
        if "trained" in tags:
            assert trains and all(map(rests_on_enough, [evidence, *filter(is_of_training, results.values())])), (
                f"this rests on fewer than {FEWEST} seeds:\n{cell.source}"
            )


@pytest.mark.parametrize(
    ("lines", "enough"),
    [
        ("runs = [train(seed) for seed in range(5)]", True),
        ("runs = [train(seed) for seed in range(3)]; runs += [train(seed) for seed in range(3, 5)]", True),
        ("runs = [train(seed) for seed in each(range(5))]", True),
        ("runs = [train(seed) for seed in each(range(4))]", False),
        ("runs = [train(seed) for seed in range(5)]; runs = train(0)", False),
        ("others = [train(seed) for seed in range(5)]; runs = train(0)", False),
        ("def learn(seed): return train(seed)\nruns = [learn(seed) for seed in range(5)]", True),
        ('runs = read_recording("the_root")', True),
    ],
)
def test_seeds_are_counted_where_results_come_from(lines, enough):
    cells = [nbformat.v4.new_code_cell(line) for line in (lines, "print(runs)")]
    _, evidence, results = list(behind(cells))[-1]
    assert rests_on_enough(evidence) == enough == rests_on_enough(results["runs"])
    assert is_of_training(evidence)


def test_each_of_two_groups_is_counted_by_itself():
    lines = ["a = [train(seed) for seed in range(5)]", "b = [train(seed) for seed in range(3, 6)]", "print(a, b)"]
    _, evidence, results = list(behind([nbformat.v4.new_code_cell(line) for line in lines]))[-1]
    assert rests_on_enough(evidence) and rests_on_enough(results["a"]) and not rests_on_enough(results["b"])
