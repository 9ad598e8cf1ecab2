"""Absence: the values that sub-group algorithms take from lanes that do not exist, followed to where they are used.

What a shift, a permutation or a selection gives a lane whose source lies beyond the sub-group, is absent in the last,
partial one, or is not active in divergent code, is unspecified in SYCL. Where such a value is masked out or replaced
nobody minds. It is a fault where it is stored, or decides what is accessed or done. The program is carried out by
NumPy for the first and the last work-group, as far as ids, counters and scalars tell; what depends on data is taken
to be harmless: a mask or a choice that it decides, and the lane that it names.
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.faults import absent_values
from xeemu.faults.absent_values import UNKNOWN, PartialValue
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import collectives, primitives, source
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program

# Iterations of a loop that are carried out, and operations of a group.
_MOST_ITERATIONS = 64
_MOST_OPERATIONS = 20_000


@dataclasses.dataclass(frozen=True, eq=False)
class Absent:
    """An algorithm with a lane that gets what an absent one would give.

    Attributes:
      op: the algorithm.
      items: `[n]` linear local ids of such work-items.
      sources: `[n]` the lanes that they ask for.
      lanes: `[n]` how many their sub-groups have; for an algorithm of the group, the group.
      inactive: `[n]` true where there is such a lane, which is not active.
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
class AbsentValueUse:
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


def uses(program: Program, scalars: Sequence[Any]) -> list[AbsentValueUse]:
    """Where values of absent lanes are used, once for each line of an algorithm.

    Args:
      program: the kernel.
      scalars: for each argument its value if it is a scalar that is known, else None.
    """
    if not any(_may_be_absent(op, program.geometry) for op in program.body.walk()):
        return []
    found: dict[source.Site, AbsentValueUse] = {}
    for group in sorted({0, program.geometry.groups - 1}) if program.geometry.groups else ():
        run = _Run(program.geometry, group)
        inputs = [absent_values.argument(v, given) for v, given in zip(program.body.inputs, scalars, strict=True)]
        with contextlib.suppress(_TooLong):
            run.body(program.body, inputs)
        for use in run.uses:
            found.setdefault(source.of_op(use.absent.op), use)
    return list(found.values())


def _may_be_absent(op: Op, geometry: Geometry) -> bool:
    """True if some lane that an operation may ask for does not exist."""
    if op.name != ops.COLLECTIVE or not op.attributes["collective"].exchanges:
        return False
    if op.attributes["collective"].masked:
        return True
    lane = op.operands[1]
    if op.attributes["collective"].kind in ("broadcast", "select") and isinstance(lane, Constant):
        whole = op.attributes["collective"].lanes
        return not 0 <= int(lane.array) < whole - (-geometry.items % whole)
    return True


class _TooLong(Exception):
    """The program takes more effort than it is worth."""


# --- The walk ---


class _Run:
    """One work-group, as far as it is known what it does.

    Attributes:
      uses: what was found.
    """

    def __init__(self, geometry: Geometry, group: int):
        self.geometry, self.group = geometry, group
        self.uses: list[AbsentValueUse] = []
        self._absent: list[Absent] = []
        self._operations = 0

    def body(self, body: Region, inputs: Sequence[PartialValue]) -> list[PartialValue]:
        values: dict[Any, PartialValue] = dict(zip(body.all_inputs, inputs, strict=True))

        def read(value: Value) -> PartialValue:
            return absent_values.constant(value.array) if isinstance(value, Constant) else values[value]

        for op in body.ops:
            self._operations += 1
            if self._operations > _MOST_OPERATIONS:
                raise _TooLong
            results = self._op(op, [read(a) for a in op.used])
            values |= dict(zip(op.results, results, strict=True))
        return [read(a) for a in body.outputs]

    def _op(self, op: Op, operands: Sequence[PartialValue]) -> Sequence[PartialValue]:
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
            return [UNKNOWN] * len(op.results)
        return [absent_values.ordinary(op, operands)]

    def _language(self, op: Op, operands: Sequence[PartialValue]) -> Sequence[PartialValue]:
        p = op.attributes
        if op.name == ops.LOCAL_ID:
            ids = self.geometry.local_ids(p["dim"])
            return [absent_values.constant(ids.astype(op.results[0].dtype))]
        if op.name == ops.GROUP_ID:
            place = np.unravel_index(self.group, self.geometry.group_range)
            number = self.group if p["dim"] is None else place[p["dim"]]
            return [absent_values.constant(np.asarray(number, op.results[0].dtype))]
        if op.name == ops.UNIFORM:
            return [absent_values.uniform(op, operands[0])]
        if op.name == ops.COLLECTIVE:
            return [self._collective(op, operands)]
        if op.name in ops.ACCESSES:
            self._access(op, operands)
        elif op.name in ops.ORDERING:
            if op.name == ops.BARRIER and p["masked"]:
                self._use(op, "mask", operands[-1], True)
        elif op.name not in (ops.ALLOCATE, ops.REGION):
            raise ops.unhandled(op, "the search for absent lanes")
        return [UNKNOWN] * len(op.results)

    def _access(self, op: Op, operands: Sequence[PartialValue]) -> None:
        """Notes what an access uses, by lanes that are known to take part."""
        access: primitives.AccessAttributes = op.attributes["access"]
        given = list(operands[1:])
        active: Any = True
        is_load = not ops.changes(op)
        if access.masked:
            mask = given.pop(access.rank if is_load else -1)
            self._use(op, "mask", mask, True)
            active = absent_values.known_as(mask, True, np.shape(mask.array) if mask.array is not None else ())
        for index in given[: access.rank]:
            self._use(op, "index", index, active)
        for value in [] if is_load else given[access.rank :]:
            self._use(op, "value", value, active)

    def _use(self, op: Op, part: str, value: PartialValue, active: Any) -> None:
        if value.origin is None:
            return
        used = np.where(active, value.origin, 0)
        for number in np.unique(used[used > 0]).tolist():
            place = int(np.argmax(used.reshape(-1) == number))
            item = min(place // max(used.size // self.geometry.items, 1), self.geometry.items - 1)
            self.uses.append(AbsentValueUse(self._absent[number - 1], op, part, self.group, item))

    # Algorithms.

    def _collective(self, op: Op, operands: Sequence[PartialValue]) -> PartialValue:
        chosen: Collective = op.attributes["collective"]
        shape = op.operands[0].shape
        rows = (self.geometry.items, *shape[len(self.geometry.local_range) :])
        x = operands[0].mapped(lambda part: np.broadcast_to(part, shape).reshape(rows))
        mask = operands[-1] if chosen.masked else absent_values.constant(np.bool_(True))
        arguments = operands[1 : len(operands) - chosen.masked]
        # Reductions leave out what is not active.
        if x.origin is not None and not arguments and mask.array is not None:
            out = absent_values.known_as(mask, False, self.geometry.local_range).reshape(-1)
            x = absent_values.of_parts(
                x.array, x.known, np.where(out[(slice(None), *(None,) * (len(rows) - 1))], 0, x.origin)
            )
        result = self._exchanged(op, x, arguments[0], mask, rows) if arguments else absent_values.combined(chosen, x)
        one = chosen.level == collectives.GROUP and chosen.kind in ("reduce", "broadcast")
        return result.mapped(lambda part: part[0] if one else part.reshape(shape))

    def _exchanged(
        self, op: Op, x: PartialValue, lane: PartialValue, mask: PartialValue, shape: tuple[int, ...]
    ) -> PartialValue:
        """What lanes get of each other, `shape`, which begins with the work-items."""
        chosen: Collective = op.attributes["collective"]
        items, lanes = shape[0], chosen.lanes
        each = (slice(None), *(None,) * (len(shape) - 1))
        named = np.broadcast_to(np.zeros(1, np.int64) if lane.origin is None else lane.origin.reshape(-1), items)
        if lane.array is None or lane.known is None:
            return absent_values.of_parts(None, None, np.broadcast_to(named[each], shape))
        asked, known = (np.broadcast_to(part.reshape(-1), items) for part in (lane.array, lane.known))
        own, first = np.arange(items) % lanes, np.arange(items) // lanes * lanes
        wanted = chosen.source_lane(own, chosen.narrowed(asked))
        there = np.minimum(lanes, items - first)
        absent = known & ((wanted < 0) | (wanted >= there))
        place = np.where(known & ~absent, first + wanted, 0)
        on, off = (absent_values.known_as(mask, b, self.geometry.local_range).reshape(-1) for b in (True, False))
        inactive = known & ~absent & off[place]
        # Of lanes that are not active themselves nobody sees what they get.
        absent = (absent | inactive) & on
        present = known & ~absent
        place = np.where(present, place, 0)
        origin = np.where(present[each], absent_values.origin_of(x, shape)[place], 0)
        if absent.any():
            before, counts = self._of_group(chosen)
            parts = (np.flatnonzero(absent), (first - before + wanted)[absent], counts[absent], inactive[absent])
            self._absent.append(Absent(op, *parts))
            origin = np.where(absent[each], len(self._absent), origin)
        moved = x.mapped(lambda part: np.broadcast_to(part, shape)[place])
        certain = None if moved.known is None else moved.known & present[each]
        return absent_values.of_parts(
            moved.array, certain, absent_values.earliest(origin, np.broadcast_to(named[each], shape))
        )

    def _of_group(self, chosen: Collective) -> tuple[np.ndarray, np.ndarray]:
        """For each work-item the first one of its sub-group, or group, and how many these are."""
        items = self.geometry.items
        whole = items if chosen.level == collectives.GROUP else self.geometry.sub_group_size
        before = np.arange(items) // whole * whole
        return before, np.minimum(whole, items - before)

    # Control flow.

    def _cond(self, op: Op, branches: Sequence[Region], operands: Sequence[PartialValue]) -> Sequence[PartialValue]:
        which = operands[-1]
        self._use(op, "predicate", which, True)
        if which.array is not None and which.known is not None and which.known.all():
            k = min(max(int(which.array), 0), len(branches) - 1)
            return self.body(branches[k], control.region_operands(op, operands, k))
        outputs = [self.body(branch, control.region_operands(op, operands, k)) for k, branch in enumerate(branches)]
        return [
            absent_values.joined(values, v.shape)
            for values, v in zip(zip(*outputs, strict=True), op.results, strict=True)
        ]

    def _scan(self, op: Op, scan: control.Scan, operands: Sequence[PartialValue]) -> Sequence[PartialValue]:
        seen, first = operands[: len(op.captures)], len(op.captures) + scan.carries
        carries, stacked = list(operands[len(op.captures) : first]), len(scan.body.outputs) - scan.carries
        if scan.length > _MOST_ITERATIONS:
            rows = [UNKNOWN] * (len(operands) - first)
            self.body(scan.body, [*seen, *[UNKNOWN] * scan.carries, *rows])
            return [UNKNOWN] * len(scan.body.outputs)
        for k in range(scan.length):
            number = scan.length - 1 - k if scan.reverse else k
            rows = [o.mapped(lambda part, n=number: part[n]) for o in operands[first:]]
            carries = self.body(scan.body, [*seen, *carries, *rows])[: scan.carries]
        return [*carries, *[UNKNOWN] * stacked]

    def _while(self, op: Op, loop: control.While, operands: Sequence[PartialValue]) -> Sequence[PartialValue]:
        tested, seen = (control.region_captures(op, operands, k) for k in (0, 1))
        carries = list(operands[len(op.captures) :])
        for _ in range(_MOST_ITERATIONS):
            (goes_on,) = self.body(loop.predicate, [*tested, *carries])
            self._use(op, "predicate", goes_on, True)
            if goes_on.array is None or goes_on.known is None or not goes_on.known.all():
                break
            if not goes_on.array.all():
                return carries
            carries = self.body(loop.body, [*seen, *carries])
        self.body(loop.body, [*seen, *[UNKNOWN] * len(carries)])
        return [UNKNOWN] * len(carries)
