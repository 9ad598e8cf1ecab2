"""Docstrings and pages name parameters, fields, functions and classes that there are."""

import ast
import collections
import functools
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "xeemu"
ROOMS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
ENGINE = [PACKAGE, *(PACKAGE / room for room in ("ir", "knowledge", "passes", "planning", "emission", "launching"))]
SECTION = re.compile(r"^(?:Args|Attributes):\n((?: +.*\n?)+)", re.MULTILINE)
DEFINITION = ast.ClassDef | ast.FunctionDef


def definitions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, DEFINITION) and ast.get_docstring(node)]


def described(docstring):
    """The names that stand before a colon in the sections of a docstring."""
    for section in SECTION.findall(docstring):
        for names in re.findall(r"^  (\S.*?):", section, re.MULTILINE):
            yield from (name.strip("* ") for name in names.split(","))


def parameters(function):
    given = function.args
    stars = [a for a in (given.vararg, given.kwarg) if a]
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *stars)}


def members(cls):
    """The names of a class: its fields, its methods and what these set, and the parameters of its instances."""
    found = set()
    for node in ast.walk(cls):
        match node:
            case ast.FunctionDef(name="__init__"):
                found |= parameters(node)
            case ast.FunctionDef(name=name) | ast.Attribute(value=ast.Name("self"), attr=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


@functools.cache
def names_of_modules_and_classes():
    """What modules and classes of the engine define, by their names; those of classes also as variables have them."""
    found = collections.defaultdict(set)
    for path in (path for room in ENGINE for path in room.glob("*.py")):
        tree = ast.parse(path.read_text())
        found[path.stem] |= members(tree) | {c.name for c in ast.walk(tree) if isinstance(c, ast.ClassDef)}
        for cls in (c for c in tree.body if isinstance(c, ast.ClassDef)):
            found[cls.name] |= members(cls)
            found[cls.name.lower()] |= members(cls)
    return found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_docstrings_describe_parameters_and_fields_that_there_are(room):
    for path in room.glob("*.py"):
        for node in definitions(ast.parse(path.read_text())):
            known = parameters(node) if isinstance(node, ast.FunctionDef) else members(node)
            unknown = set(described(ast.get_docstring(node))) - known
            assert not unknown, f"{path}:{node.lineno}: {node.name} has no {', '.join(unknown)}"


@pytest.mark.parametrize("room", ENGINE, ids=lambda room: room.name)
def test_pages_and_docstrings_of_the_engine_name_what_there_is(room):
    known = names_of_modules_and_classes()
    for path in (*room.glob("*.py"), room / "README.md"):
        for code in re.findall(r"`([^`\n]+)`", path.read_text()):
            for owner, name in re.findall(r"(?<![\w.])(\w+)\.([A-Za-z_]\w*)", code):
                assert owner not in known or name in known[owner] | {"py", "md"}, f"{path}: {owner} has no {name}"
