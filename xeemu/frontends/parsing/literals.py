"""Literals: numbers and strings of the source."""

import ast

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.bodies import Body
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression
from xeemu.frontends.types import Type


def constant(body: Body, cursor: Cursor) -> Expression:
    """A constant expression by its value; its tokens are taken by who calls."""
    place, of = body.at(cursor), body.type(cursor)
    value = clang.evaluated(cursor)
    if value is None or not isinstance(of, types.Scalar):
        raise refusals.at(place, "clang does not tell this constant's value; write the number")
    return number(of, place, value)


def number(of: Type, place: tree.Place, value: int | float) -> tree.Constant:
    """A number as a type (a scalar one) has it; an integer wraps around."""
    assert isinstance(of, types.Scalar)
    if of.is_float:
        return tree.Constant(of, place, float(value))
    if of.is_bool:
        return tree.Constant(of, place, int(value != 0))
    bits = 8 * of.size
    wrapped = int(value) & ((1 << bits) - 1)
    if of.is_signed and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return tree.Constant(of, place, wrapped)


def literal(body: Body, cursor: Cursor) -> Expression:
    """A number or a character."""
    body.text.next()
    return constant(body, cursor)


def string(body: Body, cursor: Cursor) -> Expression:
    """A string literal, without its quotes, escapes replaced."""
    place, of = body.at(cursor), body.type(cursor)
    token = body.text.next()
    return tree.Text(of, place, unquoted(token if '"' in token else cursor.spelling))  # of `__func__` it is no literal


def unquoted(token: str) -> str:
    """What a string literal holds, each byte one character."""
    quoted = token[token.index('"') :].replace("\\?", "?")
    return str(ast.literal_eval("b" + quoted).decode("latin-1")) if quoted.isascii() else quoted[1:-1]


def zero(of: Type, place: tree.Place) -> Expression:
    """What is in a place that an initializer leaves out."""
    match of:
        case types.Scalar():
            return number(of, place, 0)
        case types.Vector(element):
            return tree.Cast(of, place, number(element, place, 0))
        case types.Pointer():
            return tree.Cast(of, place, number(types.INT, place, 0))
    return tree.Initializer(of, place, ())
