"""Literals: numbers and strings of the source."""

import re

from xeemu.frontends import refusals, texts, tree, types
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


def number(of: Type, place: tree.SourceLocation, value: int | float) -> tree.Constant:
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
    """What a string literal holds, each byte of its UTF-8 one character."""
    begun = token.index('"')
    quoted = token[begun + 1 : token.rindex('"')]
    if token[:begun].endswith("R"):  # R"delimiter(as it stands)delimiter"
        return texts.letters(quoted[quoted.index("(") + 1 : quoted.rindex(")")])
    return _ESCAPE.sub(_unescaped, texts.letters(quoted))


_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|\r?\n|(.))")
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


def _unescaped(found: re.Match[str]) -> str:
    """What an escape stands for: a byte, or the bytes of a character."""
    octal, digits, short, long, letter = found.groups()
    if octal or digits:
        return chr((int(octal, 8) if octal else int(digits, 16)) & 0xFF)
    if short or long:
        return texts.letters(chr(int(short or long, 16)))
    return _SHORT.get(letter, letter) if letter else ""


def zero(of: Type, place: tree.SourceLocation) -> Expression:
    """What is in a place that an initializer leaves out."""
    match of:
        case types.Scalar():
            return number(of, place, 0)
        case types.Vector(element):
            return tree.Cast(of, place, number(element, place, 0))
        case types.Pointer():
            return tree.Cast(of, place, number(types.INT, place, 0))
    return tree.Initializer(of, place, ())
