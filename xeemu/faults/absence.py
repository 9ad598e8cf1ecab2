"""Absence: the values that sub-group algorithms take from lanes that do not exist, followed to where they are used.

What a shift, a permutation or a selection gives a lane whose source lies beyond the sub-group, is absent in the last,
partial one, or is not active in divergent code, is unspecified in SYCL. Where such a value is masked out or replaced
nobody minds. It is a fault where it is stored, or decides what is accessed or done. The program is carried out by
NumPy for the first and the last work-group, as far as ids, counters and scalars tell; what depends on data is taken
to be harmless: a mask or a choice that it decides, and the lane that it names.
"""

import contextlib
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import constant_folding
from xeemu.language import collectives, primitives, source
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program

_EXCHANGES = frozenset({"broadcast", "select", "shift_left", "shift_right", "permute_xor"})
# Iterations of a loop that are carried out, operations of a group, and elements of a value whose contents are followed.
_MOST_ITERATIONS = 64
_MOST_OPERATIONS = 20_000
_MOST_ELEMENTS = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class Absent:
    """An algorithm with a lane that gets what an absent one would give.

    Attributes:
      op: the algorithm.
      items: `[n]` linear local ids of such work-items.
      sources: `[n]` the lanes that they ask for.
      lanes: `[n]` how many their sub-groups have; for an algorithm of the group, the group.
      inactive: `[n]` whether there is such a lane, which is not active.
    """

    op: Op
    items: np.ndarray
    sources: np.ndarray
    lanes: np.ndarray
    inactive: np.ndarray

    def nearest(self, item: int) -> int:
        """The number of the one that is nearest to a work-item."""
        return int(np.argmin(np.abs(self.items - item)))


@dataclasses.dataclass(frozen=True, eq=False)
class Use:
    """A use of such a value.

    Attributes:
      absent: where it comes from.
      op: what uses it.
      part: `"value"`, `"index"`, `"mask"` or `"predicate"`.
      group: linear id of the work-group.
      item: linear local id of the first work-item that does.
    """

    absent: Absent
    op: Op
    part: str
    group: int
    item: int


def uses(program: Program, scalars: Sequence[Any]) -> list[Use]:
    """Where values of absent lanes are used, once for each line of an algorithm.

    Args:
      program: the kernel.
      scalars: for each argument its value if it is a scalar that is known, else None.
    """
    if not any(_may_be_absent(op, program.geometry) for op in program.body.walk()):
        return []
    found: dict[source.Site, Use] = {}
    for group in sorted({0, program.geometry.groups - 1}) if program.geometry.groups else ():
        run = _Run(program.geometry, group)
        inputs = [_argument(v, given) for v, given in zip(program.body.inputs, scalars, strict=True)]
        with contextlib.suppress(_TooLong):
            run.body(program.body, inputs)
        for use in run.uses:
            found.setdefault(source.of_op(use.absent.op), use)
    return list(found.values())


def _may_be_absent(op: Op, geometry: Geometry) -> bool:
    """Whether some lane that an operation may ask for does not exist."""
    if op.name != ops.COLLECTIVE or op.attributes["collective"].kind not in _EXCHANGES:
        return False
    if op.attributes["collective"].masked:
        return True
    lane = op.operands[1]
    if op.attributes["collective"].kind in ("broadcast", "select") and isinstance(lane, Constant):
        whole = geometry.items if op.attributes["collective"].level == collectives.GROUP else geometry.sub_group_size
        return not 0 <= int(lane.array) < whole - (-geometry.items % whole)
    return True


class _TooLong(Exception):
    """The program takes more effort than it is worth."""


# --- Values ---


@dataclasses.dataclass(frozen=True, eq=False)
class _Value:
    """What is known of a value of one work-group.

    Attributes:
      array: its elements, of integers and bools; None if none of them is known.
      known: which of them are.
      origin: for each element 0, or the number of the algorithm from whose absent lane it comes; None if all are 0.
    """

    array: np.ndarray | None = None
    known: np.ndarray | None = None
    origin: np.ndarray | None = None

    def mapped(self, move: Any) -> "_Value":
        """The value whose elements are moved so."""
        return _Value(
            *(None if part is None else np.asarray(move(part)) for part in (self.array, self.known, self.origin))
        )


_BLANK = _Value()


def _value(array: np.ndarray | None, known: np.ndarray | None, origin: np.ndarray | None) -> _Value:
    """The value, of which it shows if no element comes from an absent lane."""
    return _Value(array, known, origin if origin is not None and origin.any() else None)


def _constant(array: Any) -> _Value:
    array = np.asarray(array)
    if array.dtype.kind not in "biu" or array.size > _MOST_ELEMENTS:
        return _BLANK
    return _Value(array, np.ones(array.shape, bool))


def _argument(like: Any, given: Any) -> _Value:
    return _BLANK if given is None or like.shape else _constant(np.asarray(given).astype(like.dtype))


def _origins(values: Sequence[_Value]) -> np.ndarray | None:
    """For each element the earliest algorithm that any operand comes from."""
    present = [v.origin for v in values if v.origin is not None]
    return functools.reduce(_earliest, present) if present else None


def _earliest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((a > 0) & (b > 0), np.minimum(a, b), np.maximum(a, b))


def _origin_of(value: _Value, shape: Sequence[int]) -> np.ndarray:
    return np.zeros(shape, np.int64) if value.origin is None else np.broadcast_to(value.origin, shape)


def _known_as(value: _Value, wanted: Any, shape: Sequence[int]) -> np.ndarray:
    """Which elements are known to be so."""
    if value.array is None or value.known is None:
        return np.zeros(shape, bool)
    return np.broadcast_to(value.known & (value.array == wanted), shape)


def _is_known(value: _Value, shape: Sequence[int]) -> np.ndarray:
    return np.zeros(shape, bool) if value.known is None else np.broadcast_to(value.known, shape)


# --- Operations ---


def _ordinary(op: Op, operands: Sequence[_Value]) -> _Value:
    """The result of an operation that is no part of the language."""
    name, out, p = op.name, op.results[0], op.attributes
    if name == "iota":
        return (
            _constant(constant_folding.iota(p).astype(out.dtype)) if math.prod(out.shape) <= _MOST_ELEMENTS else _BLANK
        )
    if ops.of(op).moves:
        return operands[0].mapped(functools.partial(constant_folding.MOVES[name], p))
    if name == "select_n":
        return _selected(operands, out.shape)
    if ops.of(op).is_elementwise:
        return _elementwise(op, operands)
    if ops.of(op).is_reduction and operands[0].origin is not None:
        return _Value(origin=operands[0].origin.max(axis=tuple(p["axes"]), initial=0))
    if ops.of(op).is_scan and operands[0].origin is not None:
        turn = np.flip if p["reverse"] else lambda array, axis: array
        return _Value(origin=turn(np.maximum.accumulate(turn(operands[0].origin, p["axis"]), p["axis"]), p["axis"]))
    return _BLANK


def _elementwise(op: Op, operands: Sequence[_Value]) -> _Value:
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
    result = _Value(array, known, _origins(operands))
    absorbing = _absorbing(name, out.dtype)
    return result if absorbing is None else _absorbed(result, operands, absorbing, out)


def _absorbing(name: str, dtype: np.dtype) -> Any:
    """The operand that alone decides the result, whatever the other is; None if there is no such one."""
    if dtype.kind == "b" and name in ("and", "or"):
        return name == "or"
    return 0 if dtype.kind in "iu" and name in ("and", "mul") else None


def _absorbed(result: _Value, operands: Sequence[_Value], absorbing: Any, like: Any) -> _Value:
    """A result that is known where one operand is the absorbing one."""
    decided = functools.reduce(np.logical_or, [_known_as(o, absorbing, like.shape) for o in operands])
    array = np.zeros(like.shape, like.dtype) if result.array is None else result.array
    known = _is_known(result, like.shape) | decided
    origin = _origin_of(result, like.shape)
    # Data may be what excludes the lane.
    open_ = [~_is_known(o, like.shape) & (_origin_of(o, like.shape) == 0) for o in operands]
    harmless = decided | functools.reduce(np.logical_or, open_) if like.dtype.kind == "b" else decided
    return _value(np.where(decided, absorbing, array).astype(like.dtype), known, np.where(harmless, 0, origin))


def _selected(operands: Sequence[_Value], shape: tuple[int, ...]) -> _Value:
    which, *cases = operands
    origins = np.stack([_origin_of(case, shape) for case in cases])
    decided = _is_known(which, shape)
    chosen = np.broadcast_to(0 if which.array is None else which.array, shape).astype(np.intp)
    chosen = np.where(decided, chosen, 0)[None]
    origin = np.take_along_axis(origins, chosen, 0)[0]
    # Which one it is depends on data: it may be the other.
    origin = np.where(decided, origin, np.where((origins > 0).all(0), origins[0], 0))
    origin = _earliest(origin, _origin_of(which, shape))
    dtype = next((case.array.dtype for case in cases if case.array is not None), None)
    if dtype is None:
        return _value(None, None, origin)
    arrays = np.stack([np.zeros(shape, dtype) if c.array is None else np.broadcast_to(c.array, shape) for c in cases])
    knowns = np.stack([_is_known(case, shape) for case in cases])
    known = decided & np.take_along_axis(knowns, chosen, 0)[0]
    return _value(np.take_along_axis(arrays, chosen, 0)[0], known, origin)


# --- The walk ---


class _Run:
    """One work-group, as far as it is known what it does.

    Attributes:
      uses: what was found.
    """

    def __init__(self, geometry: Geometry, group: int):
        self.geometry, self.group = geometry, group
        self.uses: list[Use] = []
        self._absent: list[Absent] = []
        self._operations = 0

    def body(self, body: Region, inputs: Sequence[_Value]) -> list[_Value]:
        values: dict[Any, _Value] = dict(zip(body.taken, inputs, strict=True))

        def read(value: Value) -> _Value:
            return _constant(value.array) if isinstance(value, Constant) else values[value]

        for op in body.ops:
            self._operations += 1
            if self._operations > _MOST_OPERATIONS:
                raise _TooLong
            results = self._op(op, [read(a) for a in op.used])
            values |= dict(zip(op.results, results, strict=True))
        return [read(a) for a in body.outputs]

    def _op(self, op: Op, operands: Sequence[_Value]) -> Sequence[_Value]:
        match control.of(op):
            case control.Call(body):
                return self.body(body, operands)
            case control.Cond(branches):
                return self._cond(op, branches, operands)
            case control.Scan() as scan:
                return self._scan(op, scan, operands)
            case control.While() as loop:
                return self._while(op, loop, operands)
        if op.name in ops.LANGUAGE:
            return self._language(op, operands)
        if len(op.results) != 1:
            return [_BLANK] * len(op.results)
        return [_ordinary(op, operands)]

    def _language(self, op: Op, operands: Sequence[_Value]) -> Sequence[_Value]:
        p = op.attributes
        if op.name == ops.LOCAL_ID:
            ids = self.geometry.local_ids(p["dim"])
            return [_constant(ids.astype(op.results[0].dtype))]
        if op.name == ops.GROUP_ID:
            place = np.unravel_index(self.group, self.geometry.group_range)
            number = self.group if p["dim"] is None else place[p["dim"]]
            return [_constant(np.asarray(number, op.results[0].dtype))]
        if op.name == ops.UNIFORM:
            return [_uniform(op, operands[0])]
        if op.name == ops.COLLECTIVE:
            return [self._collective(op, operands)]
        if op.name in ops.ACCESSES:
            self._access(op, operands)
        elif op.name in ops.ORDERING:
            if op.name == ops.BARRIER and p["masked"]:
                self._use(op, "mask", operands[-1], True)
        elif op.name not in (ops.ALLOCATE, ops.REGION):
            raise ops.unhandled(op, "the search for absent lanes")
        return [_BLANK] * len(op.results)

    def _access(self, op: Op, operands: Sequence[_Value]) -> None:
        """Notes what an access uses, by lanes that are known to take part."""
        access: primitives.Access = op.attributes["access"]
        given = list(operands[1:])
        active: Any = True
        is_load = ops.operation(op) == "load"
        if access.masked:
            mask = given.pop(access.rank if is_load else -1)
            self._use(op, "mask", mask, True)
            active = _known_as(mask, True, np.shape(mask.array) if mask.array is not None else ())
        for index in given[: access.rank]:
            self._use(op, "index", index, active)
        for value in [] if is_load else given[access.rank :]:
            self._use(op, "value", value, active)

    def _use(self, op: Op, part: str, value: _Value, active: Any) -> None:
        if value.origin is None:
            return
        used = np.where(active, value.origin, 0)
        for number in np.unique(used[used > 0]).tolist():
            place = int(np.argmax(used.reshape(-1) == number))
            item = min(place // max(used.size // self.geometry.items, 1), self.geometry.items - 1)
            self.uses.append(Use(self._absent[number - 1], op, part, self.group, item))

    # Algorithms.

    def _collective(self, op: Op, operands: Sequence[_Value]) -> _Value:
        chosen: Collective = op.attributes["collective"]
        shape = op.operands[0].shape
        rows = (self.geometry.items, *shape[len(self.geometry.local_range) :])
        x = operands[0].mapped(lambda part: np.broadcast_to(part, shape).reshape(rows))
        lanes = self.geometry.items if chosen.level == collectives.GROUP else chosen.sub_group_size
        mask = operands[-1] if chosen.masked else _constant(np.bool_(True))
        arguments = operands[1 : len(operands) - chosen.masked]
        # Reductions leave out what is not active.
        if x.origin is not None and not arguments and mask.array is not None:
            out = _known_as(mask, False, self.geometry.local_range).reshape(-1)
            x = _value(x.array, x.known, np.where(out[(slice(None), *(None,) * (len(rows) - 1))], 0, x.origin))
        result = self._exchanged(op, x, arguments[0], mask, lanes, rows) if arguments else _combined(chosen, x, lanes)
        one = chosen.level == collectives.GROUP and chosen.kind in ("reduce", "broadcast")
        return result.mapped(lambda part: part[0] if one else part.reshape(shape))

    def _exchanged(self, op: Op, x: _Value, lane: _Value, mask: _Value, lanes: int, shape: tuple[int, ...]) -> _Value:
        """What lanes get of each other, `shape`, which begins with the work-items."""
        items, kind = shape[0], op.attributes["collective"].kind
        each = (slice(None), *(None,) * (len(shape) - 1))
        named = np.broadcast_to(np.zeros(1, np.int64) if lane.origin is None else lane.origin.reshape(-1), items)
        if lane.array is None or lane.known is None:
            return _value(None, None, np.broadcast_to(named[each], shape))
        asked, known = (np.broadcast_to(part.reshape(-1), items) for part in (lane.array, lane.known))
        # Far beyond every lane there is none either.
        asked = np.clip(asked, max(-2 * items, np.iinfo(asked.dtype).min), 2 * items).astype(np.int64)
        own, first = np.arange(items) % lanes, np.arange(items) // lanes * lanes
        wanted = {"shift_left": own + asked, "shift_right": own - asked, "permute_xor": own ^ asked}.get(kind, asked)
        there = np.minimum(lanes, items - first)
        absent = known & ((wanted < 0) | (wanted >= there))
        place = np.where(known & ~absent, first + wanted, 0)
        on, off = (_known_as(mask, b, self.geometry.local_range).reshape(-1) for b in (True, False))
        inactive = known & ~absent & off[place]
        # Of lanes that are not active themselves nobody sees what they get.
        absent = (absent | inactive) & on
        present = known & ~absent
        place = np.where(present, place, 0)
        origin = np.where(present[each], _origin_of(x, shape)[place], 0)
        if absent.any():
            parts = (np.flatnonzero(absent), wanted[absent], there[absent], inactive[absent])
            self._absent.append(Absent(op, *parts))
            origin = np.where(absent[each], len(self._absent), origin)
        moved = x.mapped(lambda part: np.broadcast_to(part, shape)[place])
        certain = None if moved.known is None else moved.known & present[each]
        return _value(moved.array, certain, _earliest(origin, np.broadcast_to(named[each], shape)))

    # Control flow.

    def _cond(self, op: Op, branches: Sequence[Region], operands: Sequence[_Value]) -> Sequence[_Value]:
        which = operands[-1]
        self._use(op, "predicate", which, True)
        if which.array is not None and which.known is not None and which.known.all():
            k = min(max(int(which.array), 0), len(branches) - 1)
            return self.body(branches[k], control.given(op, operands, k))
        outputs = [self.body(branch, control.given(op, operands, k)) for k, branch in enumerate(branches)]
        return [_joined(values, v.shape) for values, v in zip(zip(*outputs, strict=True), op.results, strict=True)]

    def _scan(self, op: Op, scan: control.Scan, operands: Sequence[_Value]) -> Sequence[_Value]:
        seen, first = operands[: len(op.seen)], len(op.seen) + scan.carries
        carries, stacked = list(operands[len(op.seen) : first]), len(scan.body.outputs) - scan.carries
        if scan.length > _MOST_ITERATIONS:
            rows = [_BLANK] * (len(operands) - first)
            self.body(scan.body, [*seen, *[_BLANK] * scan.carries, *rows])
            return [_BLANK] * len(scan.body.outputs)
        for k in range(scan.length):
            number = scan.length - 1 - k if scan.reverse else k
            rows = [o.mapped(lambda part, n=number: part[n]) for o in operands[first:]]
            carries = self.body(scan.body, [*seen, *carries, *rows])[: scan.carries]
        return [*carries, *[_BLANK] * stacked]

    def _while(self, op: Op, loop: control.While, operands: Sequence[_Value]) -> Sequence[_Value]:
        tested, seen = (control.seen(op, operands, k) for k in (0, 1))
        carries = list(operands[len(op.seen) :])
        for _ in range(_MOST_ITERATIONS):
            (goes_on,) = self.body(loop.predicate, [*tested, *carries])
            self._use(op, "predicate", goes_on, True)
            if goes_on.array is None or goes_on.known is None or not goes_on.known.all():
                break
            if not goes_on.array.all():
                return carries
            carries = self.body(loop.body, [*seen, *carries])
        self.body(loop.body, [*seen, *[_BLANK] * len(carries)])
        return [_BLANK] * len(carries)


def _uniform(op: Op, x: _Value) -> _Value:
    """Some or the greatest of the work-items' values, if they are known."""
    if op.attributes["kind"] == "pick" or x.array is None or x.known is None or not x.known.all():
        return _BLANK
    return _constant(x.array.max())


def _combined(chosen: Collective, x: _Value, lanes: int) -> _Value:
    """What lanes get that combine all of theirs, `[items, *private]`."""
    if x.origin is None:
        return _BLANK
    origins = [x.origin[first : first + lanes] for first in range(0, len(x.origin), lanes)]
    if chosen.kind == "reduce" and chosen.op in ("and", "or") and x.array is not None and x.array.dtype.kind == "b":
        decided = _known_as(x, chosen.op == "or", x.origin.shape)
        rows = [decided[first : first + lanes].any(0) for first in range(0, len(decided), lanes)]
        origins = [np.where(row, 0, origin) for row, origin in zip(rows, origins, strict=True)]
    return _value(None, None, np.concatenate([_of_row(chosen.kind, origin) for origin in origins]))


def _of_row(kind: str, origin: np.ndarray) -> np.ndarray:
    if kind == "inclusive_scan":
        return np.asarray(np.maximum.accumulate(origin))
    if kind == "exclusive_scan":
        before = np.maximum.accumulate(origin)[:-1]
        return np.concatenate([np.zeros_like(origin[:1]), before])
    return np.broadcast_to(origin.max(0, keepdims=True), origin.shape)


def _joined(values: Sequence[_Value], shape: tuple[int, ...]) -> _Value:
    """What comes out of one of several branches, nobody knows which."""
    origins = np.stack([_origin_of(v, shape) for v in values])
    return _value(None, None, np.where((origins > 0).all(0), origins[0], 0))
