"""Statements: cursors of C++ statements as the tree's."""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import bindings, expressions, heap, initializers, ranges
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address
from xeemu.frontends.parsing import clang, switches, unrolling
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Statement, Variable

_REFUSED = {
    "GOTO_STMT": "goto; write a loop with break and continue, or a flag",
    "LABEL_STMT": "a label for goto; write a loop with break and continue, or a flag",
    "ASM_STMT": "inline assembly; write it in C++",
    "CASE_STMT": "a case label inside of another statement; write each case's statements out",
    "DEFAULT_STMT": "a default label inside of another statement; write each case's statements out",
}


def read(body: Body, cursor: Cursor) -> Statement:
    """A statement."""
    kind = clang.kind(cursor)
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(body, cursor)
    if kind in _REFUSED:
        raise refusals.at(body.at(cursor), _REFUSED[kind])
    place = body.at(cursor)
    return tree.Evaluate(place, expressions.read(body, cursor))


def block(body: Body, cursor: Cursor) -> tree.Block:
    place = body.at(cursor)
    return tree.Block(place, tuple(read(body, c) for c in clang.children(cursor)))


def _declaration(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    found: list[Variable] = []
    for declared in clang.children(cursor):
        if clang.kind(declared) == "VAR_DECL":
            found += variable(body, declared)
        elif bindings.is_binding(declared):
            found += bindings.variables(body, declared)
    return tree.Declaration(place, tuple(found))


def variable(body: Body, cursor: Cursor) -> list[Variable]:
    """A variable of a block with its first value; none where it is a static one or a constant."""
    if cursor.storage_class.name == "STATIC":
        body.outer(cursor)
        return []
    place, of = body.at(cursor), body.type(cursor)
    values: list[Expression | None] = []
    made = Variable(cursor.spelling, of, "private", place, lambda: values[0])
    body.variables[clang.key(cursor)] = made  # its first value may name it
    first = clang.initializer(cursor)
    if heap.is_sized_late(cursor):
        values.append(heap.late(body, cursor, of))
    else:
        values.append(None if first is None else initializers.value(body, first, cursor))
    return [made]


def _if(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    before, (condition, then, *otherwise) = _prepared(body, cursor)
    known = clang.evaluated(condition)
    if known is not None:  # the other side of `if constexpr` may be no C++
        taken = [then] if known else otherwise
        return tree.Block(place, (*before, *(read(body, c) for c in taken)))
    tested = expressions.read(body, condition)
    made = tree.If(place, tested, read(body, then), read(body, otherwise[0]) if otherwise else None)
    return tree.Block(place, (*before, made)) if before else made


def _prepared(body: Body, cursor: Cursor) -> tuple[list[Statement], list[Cursor]]:
    """What is declared in the head of an `if`, `switch` or `while`, and its other parts."""
    before: list[Statement] = []
    parts = clang.children(cursor)
    while clang.kind(parts[0]) in ("DECL_STMT", "VAR_DECL", "NULL_STMT"):
        head = parts.pop(0)
        if clang.kind(head) == "VAR_DECL":
            before.append(tree.Declaration(body.at(head), tuple(variable(body, head))))
        else:
            before.append(read(body, head))
    return before, parts


def _for(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    *head, repeated = clang.children(cursor)
    first, condition, step = _head(cursor, head)
    start = None if first is None else read(body, first)
    tested = None if condition is None else expressions.read(body, condition)
    last = None if step is None else expressions.read(body, step)
    return tree.Loop(place, start, tested, last, read(body, repeated))


def _head(cursor: Cursor, parts: list[Cursor]) -> list[Cursor | None]:
    """The three parts of a `for`, of which some may be missing."""
    if len(parts) == 3:
        return list(parts)
    found: list[Cursor | None] = [None, None, None]
    semicolons = _semicolons(cursor)
    for part in parts:
        start = part.extent.start.offset
        slot = sum(start > s for s in semicolons) if len(semicolons) == 2 else _slot(part)
        found[slot] = part
    return found


def _semicolons(cursor: Cursor) -> list[int]:
    """Where the two semicolons of a `for` are in the file; none if a macro makes it."""
    depth, found = 0, []
    for token in cursor.get_tokens():
        depth += (token.spelling in "([{") - (token.spelling in ")]}")
        if token.spelling == ";" and depth == 1:
            found.append(token.location.offset)
        if token.spelling == ")" and depth == 0:
            break
    return found


def _slot(part: Cursor) -> int:
    """The part of a `for` that a cursor most likely is."""
    if clang.kind(part) == "DECL_STMT":
        return 0
    return 1 if part.type.get_canonical().kind.name == "BOOL" else 2


def _range_for(body: Body, cursor: Cursor) -> Statement:
    return ranges.loop(body, cursor, read)


def _while(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    before, (condition, repeated) = _prepared(body, cursor)
    tested = expressions.read(body, condition)
    inner = read(body, repeated)
    if not before:
        return tree.Loop(place, None, tested, None, inner)
    end = tree.If(place, tree.Unary(types.BOOL, place, "!", tested), tree.Break(place), None)
    return tree.Loop(place, None, None, None, tree.Block(place, (*before, end, inner)))


def _do(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    repeated, condition = clang.children(cursor)
    inner = read(body, repeated)
    return tree.Loop(place, None, expressions.read(body, condition), None, inner, after=True)


def _switch(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    before, (value, inner) = _prepared(body, cursor)
    chosen = expressions.read(body, value)
    cases = switches.Cases()
    _case(body, inner, cases)
    return cases.switch(place, chosen, *before)


def _case(body: Body, cursor: Cursor, cases: switches.Cases) -> None:
    """A statement of a `switch`, with any labels before and in it."""
    kind = clang.kind(cursor)
    if kind in switches.LABELS:
        *labels, inner = clang.children(cursor)
        cases.label(switches.values(labels, body.at(cursor)) if labels else None)
        _case(body, inner, cases)
    elif kind == "COMPOUND_STMT" and cases.goes_into(cursor):
        for c in clang.children(cursor):
            _case(body, c, cases)
    else:
        cases.add(read(body, cursor))


def _return(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    given = clang.children(cursor)
    if not given:
        return tree.Return(place, None)
    value = expressions.read(body, given[0])
    return tree.Return(place, address(value) if body.reference else value)


def _attributed(body: Body, cursor: Cursor) -> Statement:
    """A statement with attributes or a pragma before it."""
    parts = clang.children(cursor)
    if not parts:
        return tree.Block(body.at(cursor), ())
    statement = read(body, parts[-1])
    unroll = unrolling.asked(" ".join(clang.before(cursor, parts[-1]))) if isinstance(statement, tree.Loop) else None
    return dataclasses.replace(statement, unroll=unroll) if isinstance(statement, tree.Loop) else statement


def _try(body: Body, cursor: Cursor) -> Statement:
    """What is tried; exceptions are errors of the whole program."""
    return read(body, clang.children(cursor)[0])


_READERS: dict[str, Callable[[Body, Cursor], Statement]] = {
    "COMPOUND_STMT": block,
    "DECL_STMT": _declaration,
    "IF_STMT": _if,
    "FOR_STMT": _for,
    "CXX_FOR_RANGE_STMT": _range_for,
    "WHILE_STMT": _while,
    "DO_STMT": _do,
    "SWITCH_STMT": _switch,
    "BREAK_STMT": lambda body, cursor: tree.Break(body.at(cursor)),
    "CONTINUE_STMT": lambda body, cursor: tree.Continue(body.at(cursor)),
    "RETURN_STMT": _return,
    "NULL_STMT": lambda body, cursor: tree.Block(body.at(cursor), ()),
    "CXX_TRY_STMT": _try,
    "UNEXPOSED_STMT": _attributed,
}
