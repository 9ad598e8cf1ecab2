"""Integers: constant expressions in attributes and pragmas, which newer clangs print as they are written."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def integers(text: str, names: Mapping[str, int]) -> list[int]:
    """The values of expressions between commas; none if one of them is more than arithmetic on numbers and names."""
    python = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text).replace("/", "//")
    try:
        return [_value(item, names) for item in _items(ast.parse(f"[{python}]", mode="eval").body)]
    except (SyntaxError, KeyError, ValueError):
        return []


def _items(tree: ast.expr) -> list[ast.expr]:
    return tree.elts if isinstance(tree, ast.List) else [tree]


def _value(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left, op, right):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
    raise ValueError(ast.dump(tree))
