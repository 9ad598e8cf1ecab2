"""Scalars: C's arithmetic on the host, one number at a time.

Integers and bools are Python's `int`, doubles Python's `float`, floats and halves NumPy's scalars.
"""

import math
import operator
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xeemu.frontends import types
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type

Unary: TypeAlias = Callable[[Any], Any]
Operation: TypeAlias = Callable[[Any, Any], Any]

COMPARISONS: dict[str, Operation] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_PLAIN: dict[str, Operation] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def wrapper(of: Scalar) -> Unary:
    """What makes an exact integer one of a type."""
    if of.is_bool:
        return lambda x: UNKNOWN if x is UNKNOWN else int(x != 0)
    bits = 8 * of.size
    mask, low, high = (1 << bits) - 1, -(1 << (bits - 1)) if of.is_signed else 0, 1 << (bits - of.is_signed)

    def wrapped(x: Any) -> Any:
        if x is UNKNOWN or low <= x < high:
            return x
        x &= mask
        return x - (1 << bits) if x >= high else x

    return wrapped


def converter(of: Scalar) -> Unary:
    """C's conversion of a number to a type."""
    if of.is_float:
        to: Callable[[Any], Any] = float if of.size == 8 else of.dtype.type
        return lambda x: x if x is UNKNOWN else to(x)
    if of.is_bool:
        return lambda x: x if x is UNKNOWN else int(x != 0)
    wrapped = wrapper(of)
    return lambda x: wrapped(x if x.__class__ is int else _whole(x))


def wraps(of: Type) -> bool:
    """True if a type is that of integers of 64 bits without a sign."""
    return isinstance(of, Scalar) and of.size == 8 and of.is_integer and not of.is_signed


def distance(of: Type) -> Unary:
    """What makes a number of elements between two places of one that `i - n` may have wrapped, which leads back."""
    if not wraps(of):
        return lambda x: x
    return lambda x: x - (1 << 64) if x is not UNKNOWN and x >> 63 else x


def _whole(x: Any) -> Any:
    """A number without its fraction; what is none is undefined in C, and here the least of 64 bits."""
    if x is UNKNOWN:
        return x
    return int(x) if math.isfinite(x) else -(1 << 63)


def binary(op: str, of: Scalar) -> Operation:
    """An operator on two numbers of a type; a comparison gives 0 or 1."""
    if op in COMPARISONS:
        return _comparison(COMPARISONS[op])
    if op in ("<<", ">>"):
        return _shift(op, of)
    if of.is_float:
        return _divided if op == "/" else _PLAIN[op]
    exact = _quotient if op == "/" else _remainder if op == "%" else _PLAIN[op]
    if op in ("&", "|", "^", "%"):
        return exact
    wrapped = wrapper(of)
    return lambda a, b: wrapped(exact(a, b))


def _comparison(compare: Operation) -> Operation:
    return lambda a, b: UNKNOWN if a is UNKNOWN or b is UNKNOWN else int(compare(a, b))


def _shift(op: str, of: Scalar) -> Operation:
    wrapped, shift, mask = wrapper(of), operator.lshift if op == "<<" else operator.rshift, 8 * of.size - 1
    return lambda a, b: UNKNOWN if b is UNKNOWN else wrapped(shift(a, b & mask))


def _divided(a: Any, b: Any) -> Any:
    if b.__class__ is float and b == 0 and a.__class__ is float:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _quotient(a: Any, b: Any) -> Any:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: Any, b: Any) -> Any:
    return UNKNOWN if a is UNKNOWN or b is UNKNOWN else a - b * _quotient(a, b)


def unary(op: str, of: Scalar) -> Unary:
    """`+ - ~ !` of a number of a type."""
    if op == "!":
        return lambda x: x if x is UNKNOWN else int(x == 0)
    if op == "+":
        return lambda x: x
    exact: Unary = operator.neg if op == "-" else operator.invert
    if of.is_float:
        return exact
    wrapped = wrapper(of)
    return lambda x: wrapped(exact(x))


def bits(x: Any, of: Scalar) -> bytes:
    """The bytes of a number, of its own type where it is a float."""
    if x.__class__ is float:
        return struct.pack("<d", x)
    if isinstance(x, np.floating):
        return bytes(x.tobytes())
    return int(x).to_bytes(max(of.size, (int(x).bit_length() + 8) // 8), "little", signed=x < 0)


def of_bits(data: bytes, of: Scalar) -> Any:
    """The number that the first bytes are."""
    if len(data) < of.size:
        return UNKNOWN
    return plain(np.frombuffer(data[: of.size], of.dtype)[0], of)


def plain(x: Any, of: Scalar) -> Any:
    """NumPy's scalar of a type as it is kept here."""
    return x if of.is_float and of.size < 8 else float(x) if of.is_float else int(x)


def of_type(of: types.Type) -> Scalar:
    """The numbers' type of a number or vector."""
    return of.element if isinstance(of, types.Vector) else of  # type: ignore[return-value]
