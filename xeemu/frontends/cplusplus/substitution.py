"""Substitution: a call of a function that is one expression, as that expression with the arguments in it.

What stands in our headers vanishes so: `accessor[i]` is a load from its memory, on the line of the user's file.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from xeemu.frontends import callees, refusals, tree, types
from xeemu.frontends.cplusplus.bodies import NOWHERE
from xeemu.frontends.cplusplus.lvalues import address, converted, dereferenced, is_simple, member, subscript, temporary
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import substitutes
from xeemu.frontends.tree import Expression, SourceLocation, Statement, Variable

_KEPT = ("launch", "launch_task", "kernel_body", "task_body")
"""Functions of our headers of which a call stays one: the host's code says there what it submits."""

_MOST_NODES = 64
_PARTS: dict[type, tuple[str, ...]] = {
    tree.Unary: ("operand",),
    tree.Cast: ("operand",),
    tree.Step: ("operand",),
    tree.Binary: ("left", "right"),
    tree.Assignment: ("target", "value"),
    tree.Choice: ("condition", "then", "otherwise"),
    tree.Subscript: ("base", "index"),
    tree.Member: ("base",),
    tree.Swizzle: ("base",),
}


def called(
    name: str, of: types.Type, place: SourceLocation, arguments: list[Expression], function: Function | None
) -> Expression:
    """A call; one of a function of our headers that is one expression is that expression."""
    if function is None and name.startswith("__builtin_"):
        return substitutes.call(name, of, place, tuple(arguments))
    if function is not None and function.place == NOWHERE and name not in _KEPT:
        expanded = _expanded(name, function, arguments, place)
        if expanded is not None:
            return expanded
    return tree.Call(of, place, name, tuple(arguments), function)


def _expanded(name: str, function: Function, arguments: list[Expression], place: SourceLocation) -> Expression | None:
    try:
        return expanded(function, arguments, place)
    except refusals.Unplaced as error:
        raise refusals.at(place, f"{name}: {error}") from None


def expanded(function: Function, arguments: list[Expression], place: SourceLocation) -> Expression | None:
    """The expression that a call stands for; None where the call has to stay one."""
    value = _single(function)
    if value is None:
        return None
    uses = _uses(value)
    if uses is None or sum(uses.values()) > _MOST_NODES:
        return None
    given: dict[Variable, Expression] = {}
    pairs = list(zip(function.parameters, arguments, strict=True))
    writes = _writes(value)
    others = [p for p, a in pairs if not is_simple(a) or (writes and _may_change(p, a))]
    if len(others) > 1 or any(uses.get(p, 0) != 1 for p in others) or (others and _may_skip(value)):
        return None
    for parameter, argument in pairs:
        given[parameter] = converted(argument, parameter.type)
    made = _Copy(given, place).of(value)
    return converted(made, function.result)


def _single(function: Function) -> Expression | None:
    """The value of a function whose body is one return statement."""
    statements = list(_flat(function.body))
    if len(statements) == 1 and isinstance(statements[0], tree.Return):
        return statements[0].value
    if len(statements) == 1 and isinstance(statements[0], tree.Evaluate) and isinstance(function.result, types.Void):
        return statements[0].expression
    return None


def _flat(statement: Statement) -> Iterator[Statement]:
    """Statements without the blocks around them."""
    if isinstance(statement, tree.Block):
        for inner in statement.statements:
            yield from _flat(inner)
    else:
        yield statement


def _uses(value: Expression) -> dict[Variable, int] | None:
    """How often each variable occurs; None if there is something in it that cannot be copied."""
    found: dict[Variable, int] = {}
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.Name):
            found[node.variable] = found.get(node.variable, 0) + 1
        elif isinstance(node, tree.Call):
            pending += node.arguments
        elif isinstance(node, tree.Initializer):
            pending += node.items
        elif type(node) in _PARTS:
            pending += [getattr(node, part) for part in _PARTS[type(node)]]
        elif not isinstance(node, tree.Constant | tree.Text | tree.Callee):
            return None
    return found


def _writes(node: Expression) -> bool:
    """True if an expression may change an object."""
    match node:
        case tree.Assignment() | tree.Step():
            return True
        case tree.Call(function=function, arguments=parts):
            return function is not None or any(map(_writes, parts))
        case tree.Initializer(items=parts):
            return any(map(_writes, parts))
    return any(_writes(getattr(node, part)) for part in _PARTS.get(type(node), ()))


def _may_change(parameter: Variable, argument: Expression) -> bool:
    """True if an argument is the address of a temporary object, or a value that may not be the same any more."""
    if isinstance(parameter.type, types.Pointer):
        return isinstance(argument, tree.Unary) and temporary(argument.operand) is not None
    return not isinstance(argument, tree.Constant)


def names(value: Expression) -> frozenset[Variable] | None:
    """The variables in an expression; None if there is something in it that cannot be copied."""
    uses = _uses(value)
    return None if uses is None else frozenset(uses)


def _may_skip(node: Expression) -> bool:
    """True if a part of an expression may not be evaluated, or is an update, before or after which another part is."""
    match node:
        case tree.Choice() | tree.Binary(op="&&") | tree.Binary(op="||") | tree.Assignment() | tree.Step():
            return True
        case tree.Call(arguments=parts) | tree.Initializer(items=parts):
            return any(map(_may_skip, parts))
    return any(_may_skip(getattr(node, part)) for part in _PARTS.get(type(node), ()))


@dataclasses.dataclass(frozen=True)
class _Copy:
    """Copies an expression with arguments for parameters, at the place of a call."""

    given: Mapping[Variable, Expression]
    place: SourceLocation

    def of(self, node: Expression) -> Expression:
        match node:
            case tree.Name(variable=variable):
                return self.given.get(variable) or dataclasses.replace(node, place=self._at(node))
            case tree.Call():
                return _direct(node, self._at(node), tuple(map(self.of, node.arguments)))
            case tree.Initializer():
                return dataclasses.replace(node, place=self._at(node), items=tuple(map(self.of, node.items)))
            case tree.Constant() | tree.Text() | tree.Callee():
                return dataclasses.replace(node, place=self._at(node))
            case tree.Unary(op="*"):
                return dereferenced(self.of(node.operand))
            case tree.Unary(op="&", type=types.Pointer() as to):
                return address(self.of(node.operand), to)
            case tree.Member(base=base, arrow=False, name=name):
                return member(node.type, self._at(node), self.of(base), name)
            case tree.Subscript(base=base, index=index):
                return subscript(node.type, self._at(node), self.of(base), self.of(index))
        parts: dict[str, Any] = {part: self.of(getattr(node, part)) for part in _PARTS[type(node)]}
        return dataclasses.replace(node, place=self._at(node), **parts)

    def _at(self, node: Expression) -> SourceLocation:
        return self.place if node.place == NOWHERE else node.place


def _direct(node: tree.Call, place: SourceLocation, arguments: tuple[Expression, ...]) -> Expression:
    """A call with other arguments; one through a pointer to a function that is known is one of that function."""
    if node.name == callees.POINTED and isinstance(arguments[0], tree.Callee):
        callee = arguments[0]
        return tree.Call(node.type, place, callee.name, arguments[1:], callee.read())
    return dataclasses.replace(node, place=place, arguments=arguments)
