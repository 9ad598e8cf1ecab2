"""Assignments: which variable of a Python file gets the value of an expression."""

import ast
import functools
import linecache
from typing import Any

Place = tuple[int | None, ...]
"""First and last line of an expression, first and last column."""


@functools.lru_cache(maxsize=4096)
def expression_at(file: str, place: Place) -> str | None:
    """The variable that gets the expression at a place of a file, else the text of the expression."""
    lines = linecache.getlines(file)
    for statement in statements_of(file):
        if isinstance(statement, ast.Assign):
            name = _receiving(statement.targets[0], statement.value, place)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
            # The sum of `x += y` is computed by the statement as a whole.
            own = isinstance(statement, ast.AugAssign)
            name = _receiving(statement.target, statement if own else statement.value, place)
        else:
            continue
        if name:
            return name
    first, last, column, end = place
    text = [line.encode() for line in lines[(first or 1) - 1 : last]]
    if not text:
        return None
    text[-1] = text[-1][:end]
    text[0] = text[0][column:]
    return " ".join(b"".join(text).decode(errors="replace").split())


def _receiving(target: ast.expr, value: ast.AST | None, place: Place) -> str | None:
    """The name in a target of an assignment that gets the value that is at a place."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        names = (_receiving(t, v, place) for t, v in zip(target.elts, value.elts, strict=True))
        return next((name for name in names if name), None)
    if isinstance(target, ast.Tuple) and target.elts and _gives_old_value(value):
        return _receiving(target.elts[0], value, place)
    if not isinstance(target, ast.Name) or not isinstance(value, ast.expr | ast.stmt):
        return None
    own = value.lineno, value.end_lineno, value.col_offset, value.end_col_offset
    return target.id if own == place else None


def _gives_old_value(value: ast.AST | None) -> bool:
    """True if it is an atomic operation of which the first part is the old value, and the other the memory."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr.startswith("fetch_") or value.func.attr in ("exchange", "compare_exchange")


def given(target: ast.expr, value: ast.expr, call: Place) -> str | None:
    """The name in a target of an assignment that gets the value of a call."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):
            return None
        names = (given(t, v, call) for t, v in zip(target.elts, value.elts, strict=True))
        return next((name for name in names if name), None)
    if not isinstance(target, ast.Name):
        return None
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    places = ((n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) for n in calls)
    return target.id if any(place == call for place in places) else None


def stored(file: str, line: int) -> tuple[str, str, str] | None:
    """What a line `m[i] = x` or `m[i] += x` assigns to, as texts: the memory, the index, the value; None of others."""
    for statement in statements_of(file):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(target, ast.Subscript) and statement.lineno <= line <= (statement.end_lineno or line):
            value: Any = getattr(statement, "value", None)
            if isinstance(statement, ast.AugAssign):
                value = ast.BinOp(target, statement.op, value)
            index = ", ".join(map(ast.unparse, parts_of(target.slice)))
            return ast.unparse(target.value), index, ast.unparse(value)
    return None


def parts_of(index: ast.expr) -> list[ast.expr]:
    """The components of an index, one for each dimension."""
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def statements_of(file: str) -> tuple[ast.stmt, ...]:
    """The statements of a file that hold no others; none if it is no Python."""
    return _simple_statements("".join(linecache.getlines(file)))


@functools.lru_cache(maxsize=16)
def _simple_statements(text: str) -> tuple[ast.stmt, ...]:
    try:
        nodes = ast.walk(ast.parse(text))
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body"))
