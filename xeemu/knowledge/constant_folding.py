"""Constant folding: operations of a program carried out by NumPy, in the program's dtypes and to XLA's bits.

For integers and bools. Sums wrap, quotients go towards zero, and the results have the dtype that JAX gives them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.ir import ops

Fold = Callable[..., Any]
"""Of an operation's attributes and its operands as arrays, the result; the operands of `ELEMENTWISE` ones broadcast."""


def defined(name: str, values: Sequence[np.ndarray]) -> bool:
    """True if NumPy and XLA agree: division by zero and shifts beyond the width are left to XLA."""
    if not ops.named(name).partial:
        return True
    if name in ("div", "rem"):
        return bool((values[1] != 0).all())
    return bool(((values[1] >= 0) & (values[1] < 8 * values[0].dtype.itemsize)).all())


def iota(params: Mapping[str, Any]) -> np.ndarray:
    """The result of an `iota`, as int64 or wider."""
    shape = [1] * len(params["shape"])
    shape[params["dimension"]] = -1
    return np.broadcast_to(np.arange(params["shape"][params["dimension"]]).reshape(shape), params["shape"])


def _truncated_division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """C's division: towards zero. By zero XLA gives -1, which a point that nobody executes may ask for."""
    quotient = a // np.where(b == 0, b.dtype.type(1), b)
    inexact = quotient * b != a
    quotient = quotient + (inexact & ((a < 0) != (b < 0))).astype(quotient.dtype)
    return np.where(b == 0, ~quotient.dtype.type(0), quotient)


def _logical_shift(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    return (x.view(f"u{x.dtype.itemsize}") >> s.astype(f"u{x.dtype.itemsize}")).view(x.dtype)


def _arithmetic_shift(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    """XLA takes the top bit for a sign in unsigned types too."""
    return (x.view(f"i{x.dtype.itemsize}") >> s.astype(f"i{x.dtype.itemsize}")).view(x.dtype)


def _broadcast_in_dim(params: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for source_axis, axis in enumerate(params["broadcast_dimensions"]):
        shape[axis] = x.shape[source_axis]
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _sliced(params: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    strides = params["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


MOVES: Mapping[str, Fold] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": lambda p, x: x.reshape(p["new_sizes"]),
    "squeeze": lambda p, x: x.squeeze(tuple(p["dimensions"])),
    "expand_dims": lambda p, x: np.expand_dims(x, tuple(p["dimensions"])),
    "transpose": lambda p, x: x.transpose(p["permutation"]),
    "slice": _sliced,
    "rev": lambda p, x: np.flip(x, p["dimensions"]),
    "copy": lambda p, x: x,
}
"""Operations that only move elements of one operand, or repeat them."""

ELEMENTWISE: Mapping[str, Fold] = {
    "add": lambda p, a, b: a + b,
    "sub": lambda p, a, b: a - b,
    "mul": lambda p, a, b: a * b,
    "neg": lambda p, a: -a,
    "abs": lambda p, a: np.abs(a),
    "sign": lambda p, a: np.sign(a),
    "max": lambda p, a, b: np.maximum(a, b),
    "min": lambda p, a, b: np.minimum(a, b),
    "and": lambda p, a, b: a & b,
    "or": lambda p, a, b: a | b,
    "xor": lambda p, a, b: a ^ b,
    "not": lambda p, a: ~a,
    "div": lambda p, a, b: _truncated_division(a, b),
    "rem": lambda p, a, b: a - _truncated_division(a, b) * b,  # by zero the dividend
    "shift_left": lambda p, a, b: a << b,
    "shift_right_arithmetic": lambda p, a, b: _arithmetic_shift(a, b),
    "shift_right_logical": lambda p, a, b: _logical_shift(a, b),
    "eq": lambda p, a, b: a == b,
    "ne": lambda p, a, b: a != b,
    "lt": lambda p, a, b: a < b,
    "le": lambda p, a, b: a <= b,
    "gt": lambda p, a, b: a > b,
    "ge": lambda p, a, b: a >= b,
    "select_n": lambda p, which, *cases: np.choose(which.astype(np.intp), cases),
    "clamp": lambda p, low, x, high: np.minimum(np.maximum(x, low), high),
    "convert_element_type": lambda p, x: x.astype(p["new_dtype"]),
    "integer_pow": lambda p, x: x ** np.asarray(p["y"], x.dtype) if p["y"] >= 0 else 1 // x,
}
"""Operations on elements of the same index."""
