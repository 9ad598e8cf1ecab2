"""Statements: cursors of statements as the tree's."""

from collections.abc import Callable

from xeemu.frontends import refusals, tree
from xeemu.frontends.parsing import clang, expressions, switches
from xeemu.frontends.parsing.bodies import Body, refuse_depth
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.unrolling import factor
from xeemu.frontends.tree import Statement

_REFUSED = {
    "GOTO_STMT": "goto; write a loop with break and continue, or a flag",
    "INDIRECT_GOTO_STMT": "goto; write a loop with break and continue, or a flag",
    "LABEL_STMT": "a label for goto; write a loop with break and continue, or a flag",
    "ASM_STMT": "inline assembly; write it in OpenCL C",
    "MS_ASM_STMT": "inline assembly; write it in OpenCL C",
    "CASE_STMT": "a case label inside of another statement; write each case's statements out",
    "DEFAULT_STMT": "a default label inside of another statement; write each case's statements out",
}


def read(body: Body, cursor: Cursor) -> Statement:
    """A statement; the printed text stands at its first token and is left behind its last."""
    refuse_depth(body, cursor)
    kind = clang.kind(cursor)
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(body, cursor)
    if kind in _REFUSED:
        raise refusals.at(body.at(cursor), _REFUSED[kind])
    place = body.at(cursor)
    value = expressions.read(body, cursor)
    body.text.skip(";")
    return tree.Evaluate(place, value)


def _block(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    body.text.take("{")
    statements = tuple(read(body, c) for c in clang.children(cursor))
    body.text.take("}")
    return tree.Block(place, statements)


def _declaration(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    variables = tuple(body.declare(body, c) for c in clang.children(cursor) if clang.kind(c) == "VAR_DECL")
    body.text.until(";")
    body.text.take(";")
    return tree.Declaration(place, variables)


def _if(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    condition, then, *otherwise = clang.children(cursor)
    body.text.take("if")
    body.text.take("(")
    tested = expressions.read(body, condition)
    body.text.take(")")
    taken = read(body, then)
    if not otherwise:
        return tree.If(place, tested, taken, None)
    body.text.take("else")
    return tree.If(place, tested, taken, read(body, otherwise[0]))


def _for(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    parts = iter(clang.children(cursor))
    text = body.text
    text.take("for")
    text.take("(")
    first = None if text.skip(";") else read(body, next(parts))
    condition = None if text.peek() == ";" else expressions.read(body, next(parts))
    text.take(";")
    step = None if text.peek() == ")" else expressions.read(body, next(parts))
    text.take(")")
    return tree.Loop(place, first, condition, step, read(body, next(parts)))


def _while(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    condition, repeated = clang.children(cursor)
    body.text.take("while")
    body.text.take("(")
    tested = expressions.read(body, condition)
    body.text.take(")")
    return tree.Loop(place, None, tested, None, read(body, repeated))


def _do(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    repeated, condition = clang.children(cursor)
    body.text.take("do")
    inner = read(body, repeated)
    body.text.take("while")
    body.text.take("(")
    tested = expressions.read(body, condition)
    body.text.take(")")
    body.text.skip(";")
    return tree.Loop(place, None, tested, None, inner, after=True)


def _switch(body: Body, cursor: Cursor) -> Statement:
    return switches.read(body, cursor, read)


def _break(body: Body, cursor: Cursor) -> Statement:
    body.text.take("break")
    body.text.skip(";")
    return tree.Break(body.at(cursor))


def _continue(body: Body, cursor: Cursor) -> Statement:
    body.text.take("continue")
    body.text.skip(";")
    return tree.Continue(body.at(cursor))


def _return(body: Body, cursor: Cursor) -> Statement:
    place = body.at(cursor)
    body.text.take("return")
    value = [expressions.read(body, c) for c in clang.children(cursor)]
    body.text.skip(";")
    return tree.Return(place, value[0] if value else None)


def _empty(body: Body, cursor: Cursor) -> Statement:
    body.text.skip(";")
    return tree.Block(body.at(cursor), ())


def _attributed(body: Body, cursor: Cursor) -> Statement:
    """A statement with attributes before it."""
    unroll = factor(body.text)
    (inner,) = clang.children(cursor)
    statement = read(body, inner)
    if isinstance(statement, tree.Loop) and unroll is not None:
        s = statement
        return tree.Loop(s.place, s.first, s.condition, s.step, s.body, s.after, unroll)
    return statement


_READERS: dict[str, Callable[[Body, Cursor], Statement]] = {
    "COMPOUND_STMT": _block,
    "DECL_STMT": _declaration,
    "IF_STMT": _if,
    "FOR_STMT": _for,
    "WHILE_STMT": _while,
    "DO_STMT": _do,
    "SWITCH_STMT": _switch,
    "BREAK_STMT": _break,
    "CONTINUE_STMT": _continue,
    "RETURN_STMT": _return,
    "NULL_STMT": _empty,
    "UNEXPOSED_STMT": _attributed,
}
