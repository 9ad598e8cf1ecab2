"""Absent values: what is known of a work-group's values, and which elements come from lanes that do not exist."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import constant_folding
from xeemu.language.collectives import Collective

_MOST_ELEMENTS = 1 << 20
"""Of a value whose contents are followed."""


@dataclasses.dataclass(frozen=True, eq=False)
class PartialValue:
    """What is known of a value of one work-group.

    Attributes:
      array: its elements, of integers and bools; None if none of them is known.
      known: which of them are.
      origin: for each element 0, or the number of the algorithm from whose absent lane it comes; None if all are 0.
    """

    array: np.ndarray | None = None
    known: np.ndarray | None = None
    origin: np.ndarray | None = None

    def mapped(self, move: Any) -> "PartialValue":
        """The value whose elements are moved so."""
        return PartialValue(
            *(None if part is None else np.asarray(move(part)) for part in (self.array, self.known, self.origin))
        )


UNKNOWN = PartialValue()
"""A value of which nothing is known, and none of whose elements comes from an absent lane."""


def of_parts(array: np.ndarray | None, known: np.ndarray | None, origin: np.ndarray | None) -> PartialValue:
    """The value, of which it shows if no element comes from an absent lane."""
    return PartialValue(array, known, origin if origin is not None and origin.any() else None)


def constant(array: Any) -> PartialValue:
    """A known array, if it is one of integers or bools that is not too large."""
    array = np.asarray(array)
    if array.dtype.kind not in "biu" or array.size > _MOST_ELEMENTS:
        return UNKNOWN
    return PartialValue(array, np.ones(array.shape, bool))


def argument(like: Any, given: Any) -> PartialValue:
    """An argument of the kernel, known if it is a given scalar."""
    return UNKNOWN if given is None or like.shape else constant(np.asarray(given).astype(like.dtype))


def _origins(values: Sequence[PartialValue]) -> np.ndarray | None:
    """For each element the earliest algorithm that any operand comes from."""
    present = [v.origin for v in values if v.origin is not None]
    return functools.reduce(earliest, present) if present else None


def earliest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two origins for each element the earlier algorithm; 0 only where both are."""
    return np.where((a > 0) & (b > 0), np.minimum(a, b), np.maximum(a, b))


def origin_of(value: PartialValue, shape: Sequence[int]) -> np.ndarray:
    """The origin of each element, of this shape."""
    return np.zeros(shape, np.int64) if value.origin is None else np.broadcast_to(value.origin, shape)


def known_as(value: PartialValue, wanted: Any, shape: Sequence[int]) -> np.ndarray:
    """Which elements are known to be so."""
    if value.array is None or value.known is None:
        return np.zeros(shape, bool)
    return np.broadcast_to(value.known & (value.array == wanted), shape)


def _is_known(value: PartialValue, shape: Sequence[int]) -> np.ndarray:
    return np.zeros(shape, bool) if value.known is None else np.broadcast_to(value.known, shape)


# --- Operations ---


def ordinary(op: Op, operands: Sequence[PartialValue]) -> PartialValue:
    """The result of an operation that is no part of the language."""
    name, out, p = op.name, op.results[0], op.attributes
    if name == "iota":
        return (
            constant(constant_folding.iota(p).astype(out.dtype)) if math.prod(out.shape) <= _MOST_ELEMENTS else UNKNOWN
        )
    if ops.of(op).moves:
        return operands[0].mapped(functools.partial(constant_folding.MOVES[name], p))
    if name == "select_n":
        return _selected(operands, out.shape)
    if ops.of(op).is_elementwise:
        return _elementwise(op, operands)
    if ops.of(op).is_reduction and operands[0].origin is not None:
        return PartialValue(origin=operands[0].origin.max(axis=tuple(p["axes"]), initial=0))
    if ops.of(op).is_scan and operands[0].origin is not None:
        turn = np.flip if p["reverse"] else lambda array, axis: array
        return PartialValue(
            origin=turn(np.maximum.accumulate(turn(operands[0].origin, p["axis"]), p["axis"]), p["axis"])
        )
    return UNKNOWN


def _elementwise(op: Op, operands: Sequence[PartialValue]) -> PartialValue:
    name, out = op.name, op.results[0]
    array = known = None
    if out.dtype.kind in "biu" and ops.of(op).folds and all(o.array is not None for o in operands):
        values = [np.asarray(o.array) for o in operands]
        known = functools.reduce(np.logical_and, [np.asarray(o.known) for o in operands])
        if ops.of(op).partial:
            sane = values[1] != 0 if name in ("div", "rem") else (values[1] >= 0) & (values[1] < 8 * out.dtype.itemsize)
            known, values[1] = known & sane, np.where(sane, values[1], 1).astype(values[1].dtype)
        with np.errstate(all="ignore"):
            array = np.asarray(constant_folding.ELEMENTWISE[name](op.attributes, *values)).astype(out.dtype)
        known = np.broadcast_to(known, out.shape)
    result = PartialValue(array, known, _origins(operands))
    absorbing = _absorbing(name, out.dtype)
    return result if absorbing is None else _absorbed(result, operands, absorbing, out)


def _absorbing(name: str, dtype: np.dtype) -> Any:
    """The operand that alone decides the result, whatever the other is; None if there is no such one."""
    if dtype.kind == "b" and name in ("and", "or"):
        return name == "or"
    return 0 if dtype.kind in "iu" and name in ("and", "mul") else None


def _absorbed(result: PartialValue, operands: Sequence[PartialValue], absorbing: Any, like: Any) -> PartialValue:
    """A result that is known where one operand is the absorbing one."""
    decided = functools.reduce(np.logical_or, [known_as(o, absorbing, like.shape) for o in operands])
    array = np.zeros(like.shape, like.dtype) if result.array is None else result.array
    known = _is_known(result, like.shape) | decided
    origin = origin_of(result, like.shape)
    # Data may be what excludes the lane.
    open_ = [~_is_known(o, like.shape) & (origin_of(o, like.shape) == 0) for o in operands]
    harmless = decided | functools.reduce(np.logical_or, open_) if like.dtype.kind == "b" else decided
    return of_parts(np.where(decided, absorbing, array).astype(like.dtype), known, np.where(harmless, 0, origin))


def _selected(operands: Sequence[PartialValue], shape: tuple[int, ...]) -> PartialValue:
    which, *cases = operands
    origins = np.stack([origin_of(case, shape) for case in cases])
    decided = _is_known(which, shape)
    chosen = np.broadcast_to(0 if which.array is None else which.array, shape).astype(np.intp)
    chosen = np.where(decided, chosen, 0)[None]
    origin = np.take_along_axis(origins, chosen, 0)[0]
    # Which one it is depends on data: it may be the other.
    origin = np.where(decided, origin, np.where((origins > 0).all(0), origins[0], 0))
    origin = earliest(origin, origin_of(which, shape))
    dtype = next((case.array.dtype for case in cases if case.array is not None), None)
    if dtype is None:
        return of_parts(None, None, origin)
    arrays = np.stack([np.zeros(shape, dtype) if c.array is None else np.broadcast_to(c.array, shape) for c in cases])
    knowns = np.stack([_is_known(case, shape) for case in cases])
    known = decided & np.take_along_axis(knowns, chosen, 0)[0]
    return of_parts(np.take_along_axis(arrays, chosen, 0)[0], known, origin)


def uniform(op: Op, x: PartialValue) -> PartialValue:
    """Some or the greatest of the work-items' values, if they are known."""
    if op.attributes["kind"] == "pick" or x.array is None or x.known is None or not x.known.all():
        return UNKNOWN
    return constant(x.array.max())


def combined(chosen: Collective, x: PartialValue) -> PartialValue:
    """What lanes get that combine all of theirs, `[items, *private]`."""
    if x.origin is None:
        return UNKNOWN
    lanes = chosen.lanes
    origins = [x.origin[first : first + lanes] for first in range(0, len(x.origin), lanes)]
    if chosen.kind == "reduce" and chosen.op in ("and", "or") and x.array is not None and x.array.dtype.kind == "b":
        decided = known_as(x, chosen.op == "or", x.origin.shape)
        rows = [decided[first : first + lanes].any(0) for first in range(0, len(decided), lanes)]
        origins = [np.where(row, 0, origin) for row, origin in zip(rows, origins, strict=True)]
    return of_parts(None, None, np.concatenate([_of_row(chosen.kind, origin) for origin in origins]))


def _of_row(kind: str, origin: np.ndarray) -> np.ndarray:
    if kind == "inclusive_scan":
        return np.asarray(np.maximum.accumulate(origin))
    if kind == "exclusive_scan":
        before = np.maximum.accumulate(origin)[:-1]
        return np.concatenate([np.zeros_like(origin[:1]), before])
    return np.broadcast_to(origin.max(0, keepdims=True), origin.shape)


def joined(values: Sequence[PartialValue], shape: tuple[int, ...]) -> PartialValue:
    """What comes out of one of several branches, nobody knows which."""
    origins = np.stack([origin_of(v, shape) for v in values])
    return of_parts(None, None, np.where((origins > 0).all(0), origins[0], 0))
