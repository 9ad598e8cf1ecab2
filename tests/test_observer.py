"""Observers: what they override is what emission tells them, by the same names."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import xeemu
from xeemu.emission.observer import Observer

ROOT = Path(xeemu.__file__).parent
TOLD = {
    name: list(inspect.signature(method).parameters)
    for name, method in inspect.getmembers(Observer, inspect.isfunction)
}
CLASSES = [
    (f"{path.relative_to(ROOT)}: {node.name}", node)
    for path in sorted(ROOT.rglob("*.py"))
    if "(Observer" in (text := path.read_text())
    for node in ast.walk(ast.parse(text))
    if isinstance(node, ast.ClassDef) and "Observer" in map(ast.unparse, node.bases)
]


@pytest.mark.parametrize(("where", "node"), CLASSES, ids=[where for where, _ in CLASSES])
def test_an_observer_overrides_what_it_is_told_and_nothing_else(where, node):
    """A method of another name would never be called, and what it was to see not be seen."""
    methods = {f.name: [a.arg for a in f.args.args] for f in node.body if isinstance(f, ast.FunctionDef)}
    for name, parameters in methods.items():
        if name.startswith("on_"):
            told = ", ".join(sorted(each for each in TOLD if each.startswith("on_")))
            assert name in TOLD, f"{where} has {name}, of which emission tells nobody; an observer is told {told}"
        if name in TOLD and not name.startswith("__"):
            assert parameters == TOLD[name], f"{where}.{name} takes other parameters than Observer.{name}"


def test_emission_tells_all_that_an_observer_may_override():
    text = "".join(path.read_text() for path in (ROOT / "emission").glob("*.py"))
    told = set(re.findall(r"observer\.(on_\w+)\(", text))
    assert told == {name for name in TOLD if name.startswith("on_")}
