"""Switches: the labels of a `switch` and what follows each, flattened into cases that fall through."""

import dataclasses
from collections.abc import Callable, Sequence

from xeemu.frontends import refusals, tree
from xeemu.frontends.parsing import clang, expressions
from xeemu.frontends.parsing.bodies import Body
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, SourceLocation, Statement

LABELS = ("CASE_STMT", "DEFAULT_STMT")


@dataclasses.dataclass
class _Case:
    """One case while its statements come."""

    values: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    default: bool = False
    statements: list[Statement] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Cases:
    """The cases of a `switch` so far, each of which falls through to the next.

    Attributes:
      before: what stands before the first label: declarations, which are never executed.
    """

    before: list[Statement] = dataclasses.field(default_factory=list)
    _cases: list[_Case] = dataclasses.field(default_factory=list)

    def label(self, values: tuple[int, int] | None) -> None:
        """A label: the least and greatest of its values, or None of `default`."""
        if not self._cases or self._cases[-1].statements:
            self._cases.append(_Case())
        if values is None:
            self._cases[-1].default = True
        else:
            self._cases[-1].values.append(values)

    def add(self, statement: Statement) -> None:
        (self._cases[-1].statements if self._cases else self.before).append(statement)

    def goes_into(self, block: Cursor) -> bool:
        """True if a block's statements are ones of the switch: there are labels in it, or none came yet."""
        return not self._cases or _has_labels(block)

    def switch(self, place: SourceLocation, chosen: Expression, *before: Statement) -> Statement:
        """The whole, with what its head declares."""
        cases = tuple(tree.Case(tuple(c.values), c.default, tuple(c.statements)) for c in self._cases)
        made = tree.Switch(place, chosen, cases)
        declared = (*before, *_declared(self.before))
        return tree.Block(place, (*declared, made)) if declared else made


def _declared(statements: list[Statement]) -> list[Statement]:
    """Declarations before the first label; the values that they give are never given."""
    for s in statements:
        given = [v for v in s.variables if v.initializer is not None] if isinstance(s, tree.Declaration) else [s]
        if given:
            raise refusals.at(
                s.place, "a statement before the first case is never executed; write it before the switch"
            )
    return statements


def _has_labels(cursor: Cursor) -> bool:
    """True if there are labels in a block itself, or in blocks directly in it."""
    for c in clang.children(cursor):
        if clang.kind(c) in LABELS or (clang.kind(c) == "COMPOUND_STMT" and _has_labels(c)):
            return True
    return False


def values(labels: Sequence[Cursor], place: SourceLocation) -> tuple[int, int]:
    """The least and greatest value of a label."""
    known = [clang.evaluated(label) for label in (labels[0], labels[-1])]
    if known[0] is None or known[1] is None:
        raise refusals.at(place, "clang does not tell this label's value; write the number")
    return int(known[0]), int(known[1])


# ---- of OpenCL C ----


def read(body: Body, cursor: Cursor, statement: Callable[[Body, Cursor], Statement]) -> Statement:
    """A `switch`; `statement` reads the statements in it."""
    place = body.at(cursor)
    value, inner = clang.children(cursor)
    body.text.take("switch")
    body.text.take("(")
    chosen = expressions.read(body, value)
    body.text.take(")")
    cases = Cases()
    _statement(body, inner, cases, statement)
    return cases.switch(place, chosen)


def _statement(body: Body, cursor: Cursor, cases: Cases, statement: Callable[[Body, Cursor], Statement]) -> None:
    """A statement of the switch, with any labels before and in it."""
    kind = clang.kind(cursor)
    if kind in LABELS:
        *labels, inner = clang.children(cursor)
        _label(body, cursor, labels, cases)
        _statement(body, inner, cases, statement)
    elif kind == "COMPOUND_STMT" and cases.goes_into(cursor):
        body.text.take("{")
        for c in clang.children(cursor):
            _statement(body, c, cases, statement)
        body.text.take("}")
    else:
        cases.add(statement(body, cursor))


def _label(body: Body, cursor: Cursor, labels: list[Cursor], cases: Cases) -> None:
    place = body.at(cursor)
    body.text.take("case" if labels else "default")
    for label in labels:
        body.text.skip("...")
        expressions.read(body, label)
    cases.label(values(labels, place) if labels else None)
    body.text.take(":")
