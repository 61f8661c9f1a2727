"""What a chapter calls evidence about training rests on at least five seeds."""

import ast
import re

import nbformat
import pytest

from book import chapters

FEWEST = 5


def rests_on_too_few(cells):
    """Return the cells that train for each of fewer seeds than `FEWEST`, or only once and are no illustration."""
    trainers, found = {"train"}, []
    for cell in cells:
        body = ast.parse(re.sub(r"^%.*", "", cell.source, flags=re.MULTILINE)).body
        functions = [part for part in body if isinstance(part, ast.FunctionDef)]
        trainers |= {part.name for part in functions if "train(" in ast.unparse(part)}
        nodes = [node for part in body if part not in functions for node in ast.walk(part)]
        called = {getattr(node.func, "id", "") for node in nodes if isinstance(node, ast.Call)}
        seeds = [int(number) for number in re.findall(r"for seed in each\(range\((\d+)\)\)", cell.source)]
        tags, shown = cell.metadata.get("tags", []), any(one.output_type == "stream" for one in cell.outputs)
        is_illustration = "one-model" in tags or ("trained" not in tags and not shown)
        if min(seeds, default=FEWEST) < FEWEST or (called & trainers and not seeds and not is_illustration):
            found.append(cell.source)
    return found


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_evidence_rests_on_five_seeds(path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert not rests_on_too_few(cells)
    assert not [cell.source for cell in cells if {"trained", "one-model"} <= set(cell.metadata.get("tags", []))]


@pytest.mark.parametrize(
    ("line", "is_enough"),
    [
        ("runs = [learn(seed) for seed in each(range(5))]", True),
        ("runs = [learn(seed) for seed in each(range(4))]", False),
        ("runs = learn(0)", False),
    ],
)
def test_seeds_are_counted(line, is_enough):
    learn = nbformat.v4.new_code_cell("def learn(seed):\n    return train(seed)")
    cell = nbformat.v4.new_code_cell(line, metadata={"tags": ["trained"]})
    assert rests_on_too_few([learn, cell]) == ([] if is_enough else [line])
