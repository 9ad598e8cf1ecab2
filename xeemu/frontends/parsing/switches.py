"""Switches: the labels of a `switch` and what follows each, flattened into cases that fall through."""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import refusals, tree
from xeemu.frontends.parsing import clang, expressions
from xeemu.frontends.parsing.bodies import Body
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Place, Statement

_LABELS = ("CASE_STMT", "DEFAULT_STMT")


@dataclasses.dataclass
class _Case:
    """One case while its statements come."""

    values: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    default: bool = False
    statements: list[Statement] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Switch:
    """The cases so far.

    Attributes:
      before: what stands before the first label: declarations, which are never executed.
    """

    statement: Callable[[Body, Cursor], Statement]
    cases: list[_Case] = dataclasses.field(default_factory=list)
    before: list[Statement] = dataclasses.field(default_factory=list)


def read(body: Body, cursor: Cursor, statement: Callable[[Body, Cursor], Statement]) -> Statement:
    """A `switch`; `statement` reads the statements in it."""
    place = body.at(cursor)
    value, inner = clang.children(cursor)
    body.text.take("switch")
    body.text.take("(")
    chosen = expressions.read(body, value)
    body.text.take(")")
    found = _Switch(statement)
    _statement(body, inner, found)
    cases = tuple(tree.Case(tuple(c.values), c.default, tuple(c.statements)) for c in found.cases)
    switch = tree.Switch(place, chosen, cases)
    return tree.Block(place, (*_declared(found.before), switch)) if found.before else switch


def _declared(statements: list[Statement]) -> list[Statement]:
    """Declarations before the first label; the values that they give are never given."""
    for s in statements:
        given = [v for v in s.variables if v.initializer is not None] if isinstance(s, tree.Declaration) else [s]
        if given:
            raise refusals.at(
                s.place, "a statement before the first case is never executed; write it before the switch"
            )
    return statements


def _statement(body: Body, cursor: Cursor, switch: _Switch) -> None:
    """A statement of the switch, with any labels before and in it."""
    kind = clang.kind(cursor)
    if kind in _LABELS:
        _labelled(body, cursor, switch)
    elif kind == "COMPOUND_STMT" and (_has_labels(cursor) or not switch.cases):
        body.text.take("{")
        for c in clang.children(cursor):
            _statement(body, c, switch)
        body.text.take("}")
    else:
        place = switch.cases[-1].statements if switch.cases else switch.before
        place.append(switch.statement(body, cursor))


def _labelled(body: Body, cursor: Cursor, switch: _Switch) -> None:
    *labels, inner = clang.children(cursor)
    if not switch.cases or switch.cases[-1].statements:
        switch.cases.append(_Case())
    case = switch.cases[-1]
    body.text.take("case" if labels else "default")
    if labels:
        case.values.append(_values(body, labels, body.at(cursor)))
    else:
        case.default = True
    body.text.take(":")
    _statement(body, inner, switch)


def _values(body: Body, labels: list[Cursor], place: Place) -> tuple[int, int]:
    values = []
    for label in labels:
        body.text.skip("...")
        expressions.read(body, label)
        value = clang.evaluated(label)
        if value is None:
            raise refusals.at(place, "clang does not tell this label's value; write the number")
        values.append(int(value))
    return values[0], values[-1]


def _has_labels(cursor: Cursor) -> bool:
    """Whether there are labels in a block itself, or in blocks directly in it."""
    for c in clang.children(cursor):
        if clang.kind(c) in _LABELS or (clang.kind(c) == "COMPOUND_STMT" and _has_labels(c)):
            return True
    return False
