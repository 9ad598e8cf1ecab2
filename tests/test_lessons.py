"""The lessons: notebooks whose cells run one after the other, with their own checks of what they say."""

import ast
import json
import linecache
from pathlib import Path

import pytest

LESSONS = sorted((Path(__file__).parents[1] / "kernels" / "lessons").glob("*.ipynb"))


def cells(path, kind):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def run(path):
    """Runs the cells of a notebook in one namespace; what each shows, the value of its last expression."""
    names, shown = {"__name__": "__main__"}, []
    for number, text in enumerate(cells(path, "code")):
        file = f"<{path.stem} cell {number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        tree = ast.parse(text)
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), names)
        shown.append(eval(compile(last, file, "eval"), names) if last is not None else None)
    return shown


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_and_shows_something(path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    shown = run(path)
    assert any(value is not None for value in shown)
    for value in shown:
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_()
    pyplot.close("all")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_a_table_of_words_an_exercise_and_its_solution(path):
    text = "\n".join(cells(path, "markdown"))
    assert "| here | SYCL" in text
    assert "CUDA" in text
    assert 0 < text.index("**Exercise.**") < text.index("**Solution.**")


def test_notebooks_hold_no_outputs():
    notebooks = [json.loads(path.read_text()) for path in LESSONS]
    assert [cell["outputs"] for n in notebooks for cell in n["cells"] if cell.get("outputs")] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_cells_of_a_solution_are_folded(path):
    listed = json.loads(path.read_text())["cells"]
    start = next(k for k, cell in enumerate(listed) if "".join(cell["source"]).startswith("**Solution.**"))
    rest = listed[start + 1 :]
    after = next((k for k, cell in enumerate(rest) if cell["cell_type"] != "code"), len(rest))
    assert after
    assert all(cell["metadata"]["jupyter"]["source_hidden"] for cell in rest[:after])
