"""Rooms: no circles of imports, decisions made without JAX, emission without decisions, short files and functions."""

import ast
import pathlib
import re
import statistics

import pages
import pytest

ROOMS = sorted(path.parent for path in (pages.ROOT / "xeemu").glob("*/__init__.py") if path.parent.name != "kernels")


def imported(path: pathlib.Path, room: str) -> set[str]:
    """The modules of its room that a file imports; those for the types of annotations do not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    names = {node.module for node in froms} | {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    return {name for name in names if name.startswith(f"xeemu.{room}.")}


def reached(start: str, uses: dict[str, set[str]]) -> set[str]:
    """What a module imports, and what that imports, and so on."""
    found: set[str] = set()
    left = [start]
    while left:
        new = (uses[left.pop()] & uses.keys()) - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_modules_of_a_room_import_one_another_in_no_circle(room):
    files = {".".join(path.relative_to(pages.ROOT).with_suffix("").parts): path for path in room.rglob("*.py")}
    uses = {name: imported(path, room.name) - {name} for name, path in files.items()}
    from_here = {name: reached(name, uses) for name in uses}
    circles = {
        frozenset(other for other in found if name in from_here[other])
        for name, found in from_here.items()
        if name in found
    }
    shown = sorted(" ".join(sorted(name.rpartition(".")[2] for name in circle)) for circle in circles)
    assert not shown


@pytest.mark.parametrize("path", sorted((pages.ROOT / "xeemu" / "planning").glob("*.py")), ids=lambda path: path.stem)
def test_what_decides_emits_nothing(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in names if name.split(".")[0] == "jax" or name.startswith("xeemu.emission")]


@pytest.mark.parametrize("path", sorted((pages.ROOT / "xeemu" / "emission").glob("*.py")), ids=lambda path: path.stem)
def test_what_emits_asks_no_host(path):
    assert "devices.target" not in path.read_text()
    assert not re.search(r"chunk\.target\b", path.read_text())


@pytest.mark.parametrize("path", sorted((pages.ROOT / "xeemu" / "emission").glob("*.py")), ids=lambda path: path.stem)
def test_what_emits_makes_no_plan(path):
    """What makes a plan in `planning`, or finds what a plan is made from, begins with `of_`."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names = {(node.module, alias.name) for node in froms for alias in node.names if "xeemu.planning" in node.module}
    modules = {name for module, name in names if module == "xeemu.planning"}
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    used = [ast.unparse(f) for f in called if isinstance(f, ast.Attribute) and ast.unparse(f.value) in modules]
    assert not [name for name in (*used, *(name for _, name in names)) if name.rpartition(".")[2].startswith("of_")]


_MAY_COMPARE_SIZES = {
    "emitted_chunks": "what is divided by 1 stays as it is",
    "positions": "an index of a narrow dtype is widened",
    "transpose_sinking": "rewrites what was emitted, of which there is no plan before",
}


@pytest.mark.parametrize("path", sorted((pages.ROOT / "xeemu" / "emission").glob("*.py")), ids=lambda path: path.stem)
def test_what_emits_chooses_by_no_size(path):
    """What a size or a number decides is decided in `planning`, and a value of the plan."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    tests += [test for node in nodes if isinstance(node, ast.comprehension) for test in node.ifs]
    within = [node for test in tests for node in ast.walk(test)]
    ordered = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    compared = [n for n in within if isinstance(n, ast.Compare) and any(isinstance(op, ordered) for op in n.ops)]
    compared += [n for n in within if isinstance(n, ast.Call) and ast.unparse(n.func) in ("min", "max", "divmod")]
    compared += [n for n in within if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod | ast.FloorDiv)]
    assert bool(compared) == (path.stem in _MAY_COMPARE_SIZES), list(map(ast.unparse, compared))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_functions_are_short(room):
    trees = [ast.parse(path.read_text()) for path in room.rglob("*.py")]
    every = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert statistics.median(node.end_lineno - node.lineno + 1 for node in every) <= 8


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in (pages.ROOT / "xeemu").rglob("*.py")}
    assert not [f"{path.name}: {length}" for path, length in lengths.items() if length > 400]
