"""Scalar replacement: statements in a row that update one element, as updates of a variable that is stored once.

A compiled loop that stores to an array, loads from it and stores again would copy the array each time.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from xeemu.frontends import tree
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Assignment, Evaluate, Expression, Statement, Variable
from xeemu.frontends.types import Scalar


def replaced(node: Any) -> Any:
    """A part of a tree with such statements replaced."""
    if isinstance(node, tree.Block):
        return dataclasses.replace(node, statements=tuple(_statements([replaced(s) for s in node.statements])))
    if isinstance(node, tree.Loop):
        return dataclasses.replace(node, body=replaced(node.body))
    if isinstance(node, tree.If):
        otherwise = None if node.otherwise is None else replaced(node.otherwise)
        return dataclasses.replace(node, then=replaced(node.then), otherwise=otherwise)
    return node


def _statements(statements: Sequence[Statement]) -> list[Statement]:
    found: list[Statement] = []
    at = 0
    while at < len(statements):
        count = _length(statements[at:])
        if count > 1:
            found.append(_one(statements[at : at + count]))
        else:
            found.append(statements[at])
        at += max(count, 1)
    return found


def _length(statements: Sequence[Statement]) -> int:
    """How many statements from the first one on update the element that it updates."""
    first = _update(statements[0])
    if first is None or not isinstance(first.target, tree.Subscript) or not _is_plain(first.target):
        return 0
    count = 0
    for statement in statements:
        update = _update(statement)
        if update is None or not same(update.target, first.target) or not _is_apart(update.value, first.target):
            break
        count += 1
    return count


def _update(statement: Statement) -> Assignment | None:
    found = statement.expression if isinstance(statement, Evaluate) else None
    return found if isinstance(found, Assignment) and isinstance(found.target.type, Scalar) else None


def _is_plain(target: Expression) -> bool:
    """True of an lvalue that is the same whenever it is evaluated, as long as its variables are."""
    kinds = (tree.Subscript, tree.Member, tree.Name, tree.Constant, tree.Cast, tree.Binary, tree.Unary)
    return all(isinstance(part, kinds) for part in effects.nodes(target))


def _is_apart(value: Expression, target: Expression) -> bool:
    """True of a value that reads no memory, and changes nothing that an lvalue depends on."""
    names = {part.variable for part in effects.nodes(target) if isinstance(part, tree.Name)}
    for part in effects.nodes(value):
        if isinstance(part, tree.Subscript) or (isinstance(part, tree.Unary) and part.op == "*"):
            return False
        if isinstance(part, tree.Call) and (part.name != "random" or part.function is not None):
            return False
    return not names & effects.of(value).assigned


def _one(statements: Sequence[Statement]) -> Statement:
    """The updates as those of a variable, which is loaded before and stored after them."""
    updates = [u for u in map(_update, statements) if u is not None]
    target, place = updates[0].target, updates[0].place
    first = updates[0].value if not updates[0].op else target
    kept = Variable("<element>", target.type, "private", place, lambda: first)
    name = tree.Name(target.type, place, kept)
    inner = updates[1:] if not updates[0].op else updates
    steps = [Evaluate(u.place, dataclasses.replace(u, target=name)) for u in inner]
    last = Evaluate(place, Assignment(target.type, place, "", target, name))
    return tree.Block(place, (tree.Declaration(place, (kept,)), *steps, last))


def same(a: Any, b: Any) -> bool:
    """True if two expressions have the same tree."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tree.Name):
        return a.variable is b.variable
    if isinstance(a, tree.Constant):
        return bool(a.value == b.value)
    if getattr(a, "op", "") != getattr(b, "op", "") or getattr(a, "name", "") != getattr(b, "name", ""):
        return False
    pairs = zip(effects.children(a), effects.children(b), strict=False)
    return len(effects.children(a)) == len(effects.children(b)) and all(same(x, y) for x, y in pairs)
