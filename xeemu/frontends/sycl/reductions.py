"""Reductions: the identities of the operations of SYCL, with which reducers begin."""

import re

import numpy as np

from xeemu.frontends import types
from xeemu.frontends.types import Type

_OPERATION = re.compile(r"\b(plus|multiplies|minimum|maximum|bit_and|bit_or|bit_xor|logical_and|logical_or)\b")


def identity(reduction: Type, of: Type) -> int | float:
    """The identity of a reduction's operation; 0 of one that SYCL does not know, whose host code gives it."""
    found = _OPERATION.search(str(reduction))
    assert isinstance(of, types.Scalar)
    match found and found[1]:
        case "multiplies" | "logical_and":
            return 1
        case "minimum":
            return _limits(of)[1]
        case "maximum":
            return _limits(of)[0]
        case "bit_and":
            return -1 if of.is_signed else _limits(of)[1]
    return 0


def _limits(of: types.Scalar) -> tuple[int | float, int | float]:
    if of.is_float:
        return -np.inf, np.inf
    if of.is_bool:
        return 0, 1
    limits = np.iinfo(of.dtype)
    return int(limits.min), int(limits.max)
