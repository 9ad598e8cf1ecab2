"""Statements: cursors of C++ statements as the tree's."""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import bindings, calls, copies, heap, initializers, ranges
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang, switches, unrolling
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Statement, Variable

_REFUSED = {
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
    return tree.Evaluate(place, body.read(cursor))


def block(body: Body, cursor: Cursor) -> tree.Block:
    place = body.at(cursor)
    parts = clang.children(cursor)
    for declared in (d for c in parts if clang.kind(c) == "DECL_STMT" for d in clang.children(c)):
        if clang.kind(declared) == "VAR_DECL" and declared.storage_class.name != "STATIC":
            body.scopes[clang.key(declared)] = cursor
    return tree.Block(place, tuple(s for c in parts for s in _labelled(body, c)))


def _labelled(body: Body, cursor: Cursor) -> list[Statement]:
    """A statement of a block behind its labels."""
    before: list[Statement] = []
    while clang.kind(cursor) == "LABEL_STMT":
        before.append(tree.Label(body.at(cursor), cursor.spelling))
        (cursor,) = clang.children(cursor)
    return [*before, read(body, cursor)]


def _goto(body: Body, cursor: Cursor) -> Statement:
    label = next(c for c in cursor.get_children() if c.kind.name == "LABEL_REF")
    return tree.Goto(body.at(cursor), label.spelling)


def _declaration(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    found: list[Variable] = []
    first: list[Statement] = []
    for declared in clang.children(cursor):
        if clang.kind(declared) == "VAR_DECL" and declared.storage_class.name == "STATIC":
            first += _static(body, declared)
        elif clang.kind(declared) == "VAR_DECL":
            found += variable(body, declared)
        elif bindings.is_binding(declared):
            found += bindings.variables(body, declared)
    made = tree.Declaration(place, tuple(found))
    return tree.Block(place, (*first, made)) if first else made


def _static(body: Body, cursor: Cursor) -> list[Statement]:
    """A static variable; one at whose end something is done begins where it is declared, others when they are used."""
    made = body.outer(cursor)
    if made is None or not calls.ends(body, made.type):
        return []
    return [tree.Evaluate(body.at(cursor), address(tree.Name(made.type, body.place, made)))]


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
    tested = body.read(condition)
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
    tested = None if condition is None else body.read(condition)
    last = None if step is None else body.read(step)
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
    tested = body.read(condition)
    inner = read(body, repeated)
    if not before:
        return tree.Loop(place, None, tested, None, inner)
    end = tree.If(place, tree.Unary(types.BOOL, place, "!", tested), tree.Break(place), None)
    return tree.Loop(place, None, None, None, tree.Block(place, (*before, end, inner)))


def _do(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    repeated, condition = clang.children(cursor)
    inner = read(body, repeated)
    return tree.Loop(place, None, body.read(condition), None, inner, after=True)


def _switch(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    before, (value, inner) = _prepared(body, cursor)
    chosen = body.read(value)
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
    elided = None if body.reference else _elided(body, given[0])
    value = body.read(given[0] if elided is None else elided)
    return tree.Return(place, address(value) if body.reference else value)


def _elided(body: Body, cursor: Cursor) -> Cursor | None:
    """The variable that a function returns itself, without a copy: the one that each return in its block names."""
    name = _returned(cursor)
    if name is None or (scope := body.scopes.get(clang.key(name.referenced))) is None:
        return None
    others = clang.parts(scope, frozenset(("RETURN_STMT",)), frozenset(("LAMBDA_EXPR",)))
    named = [_returned(c) for r in others for c in clang.children(r)[:1]]
    same = all(n is not None and clang.key(n.referenced) == clang.key(name.referenced) for n in named)
    return name if same else None


def _returned(cursor: Cursor) -> Cursor | None:
    """The variable of which a returned object is a copy of the same class."""
    of = cursor.type.get_canonical()
    while clang.kind(cursor) in ("CALL_EXPR", "UNEXPOSED_EXPR") and len(parts := clang.children(cursor)) == 1:
        callee = cursor.referenced
        if clang.kind(cursor) == "CALL_EXPR" and (callee is None or clang.kind(callee) != "CONSTRUCTOR"):
            return None
        cursor = parts[0]
    same = cursor.type.get_canonical() == of and of.kind.name == "RECORD"
    return cursor if same and clang.kind(cursor) == "DECL_REF_EXPR" else None


def _attributed(body: Body, cursor: Cursor) -> Statement:
    """A statement with attributes or a pragma before it."""
    parts = clang.children(cursor)
    if not parts:
        return tree.Block(body.at(cursor), ())
    statement = read(body, parts[-1])
    unroll = unrolling.asked(" ".join(clang.before(cursor, parts[-1]))) if isinstance(statement, tree.Loop) else None
    return dataclasses.replace(statement, unroll=unroll) if isinstance(statement, tree.Loop) else statement


def tried(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    first, *handlers = clang.children(cursor)
    return tree.Try(place, block(body, first), tuple(_handler(body, c) for c in handlers))


def _handler(body: Body, cursor: Cursor) -> tree.Handler:
    parts = clang.children(cursor)
    inner = parts[-1]
    if len(parts) == 1:
        return tree.Handler(None, None, block(body, inner))
    declared = parts[0]
    variable = body.declare(declared)
    if is_reference(declared.type) and isinstance(variable.type, types.Pointer):
        return tree.Handler(variable, variable.type.pointee, block(body, inner))
    place, of = body.place, variable.type
    caught = Variable("<caught>", types.Pointer(of, "generic"), "private", place)
    name = tree.Name(caught.type, place, caught)
    value = copies.copied(body, tree.Unary(of, place, "*", name), declared.type)
    own = dataclasses.replace(variable, read=lambda: value)
    body.variables[clang.key(declared)] = own
    return tree.Handler(caught, of, tree.Block(place, (tree.Declaration(place, (own,)), block(body, inner))))


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
    "GOTO_STMT": _goto,
    "LABEL_STMT": lambda body, cursor: tree.Block(body.at(cursor), tuple(_labelled(body, cursor))),
    "NULL_STMT": lambda body, cursor: tree.Block(body.at(cursor), ()),
    "CXX_TRY_STMT": tried,
    "UNEXPOSED_STMT": _attributed,
}
