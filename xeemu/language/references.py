"""References: what a function refers to by the names in its code, and which files are those of libraries."""

import dis
import functools
import importlib.util
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_PYTHON = sysconfig.get_path("stdlib") + os.sep
_MOST_KEPT = 1024
_IMPORT = dis.opmap["IMPORT_NAME"]
_OF_GLOBALS = {op for op in dis.opmap if op == "LOAD_NAME" or (op[:4] == "LOAD" and op.endswith(("GLOBAL", "GLOBALS")))}


@functools.lru_cache(maxsize=_MOST_KEPT)
def names(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a function and those inside it, each once."""
    return tuple(dict.fromkeys(name for part in _parts(code) for name in part.co_names))


@functools.lru_cache(maxsize=_MOST_KEPT)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Those of globals alone; what Python itself has, as `range`, is among them."""
    instructions = (step for part in _parts(code) for step in dis.get_instructions(part))
    return tuple(dict.fromkeys(step.argval for step in instructions if step.opname in _OF_GLOBALS))


@functools.lru_cache(maxsize=_MOST_KEPT)
def imported(code: types.CodeType, package: str) -> tuple[str, ...]:
    """The modules that a function of a package, and those inside it, import as they run."""
    found = []
    for part in _parts(code):
        if _IMPORT not in part.co_code[::2]:
            continue
        steps = [step for step in dis.get_instructions(part) if step.opname != "EXTENDED_ARG"]
        for k, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                level = steps[k - 2].argval if package else 0  # how many packages up, before the names that it takes
                found.append(importlib.util.resolve_name("." * level + step.argval, package))
    return tuple(dict.fromkeys(found))


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)


def enclosed(function: types.FunctionType) -> list[tuple[str, types.CellType]]:
    """The names that a function closes over, each with the cell of its value; one that has none yet is left out."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return [(name, cell) for name, cell in cells if cell != types.CellType()]


def is_of_library(kind: type) -> bool:
    """True if a class is Python's, an installed package's or xeemu's."""
    module = sys.modules.get(kind.__module__)
    known = module is not None and kind.__module__ != "__main__"
    return known and is_library(getattr(module, "__file__", None))


@functools.lru_cache(maxsize=_MOST_KEPT)
def is_library(file: str | None) -> bool:
    """True if a file is Python's, an installed package's or xeemu's; so is what has no file."""
    if file is None or file.startswith(_PYTHON):
        return True
    path = Path(file)
    return path.is_relative_to(_PACKAGE) or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
