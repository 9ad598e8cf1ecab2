"""The verifier: what holds of every program, whichever pass has made it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from xeemu.ir import control, ops, table
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind

_OF_MEMORIES = (Kind.ALLOCATION, Kind.ACCESS, Kind.ORDER)
_REGIONS = {"scan": 1, "while": 2}
"""How many regions loops have; a branch has one for each choice, a call one."""


class InvalidProgram(AssertionError):
    """A program that breaks a rule of the representation: a fault of the pass that has made it."""


def verify(region: Region, location: Callable[[Op], str] = lambda op: "") -> None:
    """Checks a program.

    Every value is given once, and before it is used; every operation is in the table; the regions of an operation take
    and give what it says, and a call sees nothing. What an access is given and gives is what its row and its attributes
    say, a barrier gives the next versions of its memories, and no other operation takes a memory but a loop, a branch
    or a call, where each keeps its position. A version of a memory that was updated is used nowhere behind that. The
    types of JAX's own operations are not looked at. It takes 2 to 4 % of the time of a trace and its passes.

    Args:
      region: the program, whose inputs with axes are memories.
      location: the line of the source that an operation comes from.

    Raises:
      InvalidProgram: one of these does not hold; the message names the operation with its line.
    """
    _Verifier(location).region(region, [_Version(v) if v.shape else None for v in region.inputs], {}, set())


@dataclasses.dataclass(eq=False)
class _Version:
    """A version of a memory; `memory` is the value that its first version is."""

    memory: Value


_Versions = Sequence[_Version | None]
"""Of some values which versions of memories they are; None of a value that is no memory."""
_VersionOf = dict[Value, _Version | None]
"""The same by value, of all that are given so far."""


@dataclasses.dataclass(frozen=True)
class _Verifier:
    """Checks regions; `location` gives the line of an operation."""

    location: Callable[[Op], str]

    def region(self, region: Region, inputs: _Versions, around: _VersionOf, updated: set[_Version]) -> _Versions:
        """Checks a region; gives what its outputs are.

        Args:
          region: the region.
          inputs: what these are.
          around: the values around it.
          updated: the versions updated before it, to which it adds those that it updates.
        """
        versions = dict(around)
        for value, version in zip(region.inputs, inputs, strict=True):
            self._define(value, version, versions, None)
        for op in region.ops:
            self._op(op, versions, updated)
        if not all(_is_defined(value, versions) for value in region.outputs):
            raise InvalidProgram("what a region gives uses a value before it is given")
        outputs = [versions.get(value) for value in region.outputs]
        if old := next((v for v in outputs if v in updated), None):
            raise InvalidProgram(f"a region gives a version of {_name(old)} that was updated before")
        return outputs

    def _op(self, op: Op, versions: _VersionOf, updated: set[_Version]) -> None:
        traits = table.OPS.get(op.name)
        if traits is None:
            self._fail(op, "is not in the table of operations")
        try:
            operands = [None if isinstance(value, Constant) else versions[value] for value in op.operands]
        except KeyError:
            self._fail(op, "uses a value before it is given")
        if not updated.isdisjoint(operands):
            old = next(version for version in operands if version in updated)
            self._fail(
                op, f"{'updates' if traits.updates else 'uses'} a version of {_name(old)} that was updated before"
            )
        if traits.kind is Kind.CONTROL:
            results = self._control(op, operands, versions, updated)
        elif op.regions:
            self._fail(op, "has regions, which only loops, branches and calls have")
        elif traits.kind in _OF_MEMORIES:
            results = self._of_memories(op, traits.kind, operands, updated)
        elif any(operands):
            self._fail(op, "takes a memory")
        else:
            results = (None,) * len(op.results)
        for value, version in zip(op.results, results, strict=True):
            self._define(value, version, versions, op)

    # --- Operations of memories ---

    def _of_memories(self, op: Op, kind: Kind, operands: _Versions, updated: set[_Version]) -> _Versions:
        """What the results of an allocation, an access or a barrier are."""
        if kind is Kind.ALLOCATION:
            return list(map(_Version, op.results))
        if kind is Kind.ACCESS:
            self._access(op)
        count = 1 if kind is Kind.ACCESS else len(op.operands) - op.attributes["masked"]
        memories = [version for version in operands[:count] if version]
        if len(set(memories)) < count or any(operands[count:]):
            self._fail(op, f"takes no {count} memories, each once, before all else")
        if kind is Kind.ACCESS and not ops.changes(op):
            return [None] * len(op.results)
        values = len(op.results) - count
        if kind is Kind.ORDER and values:
            self._fail(op, f"gives {len(op.results)} results of {count} memories")
        self._check_types(op, op.operands[:count], op.results[values:])
        updated.update(memories)
        return [None] * values + [_Version(version.memory) for version in memories]

    def _access(self, op: Op) -> None:
        """That an access has the operands and results that its attributes say, of the types that these have."""
        access, changes = op.attributes["access"], ops.changes(op)
        count = len(op.operands) - 1 - access.rank - access.masked
        # What changes nothing has no values, but what those get that its mask leaves out.
        if len(op.results) < changes or (count < changes if changes else not 0 <= count <= access.masked):
            self._fail(op, f"has {len(op.operands)} operands and {len(op.results)} results")
        memory, mask = op.operands[0], ops.mask(op)
        if any(value.dtype.kind not in "iu" for value in ops.indices(op)):
            self._fail(op, "has an index that is no integer")
        if len(ops.viewed_shape(op)) != access.rank:
            self._fail(op, f"has an index of {access.rank} components for {ops.viewed_shape(op)}")
        if mask is not None and mask.dtype != bool:
            self._fail(op, f"has a mask of {mask.dtype}")
        values = op.operands[1 + access.rank : 1 + access.rank + count] if changes else ()
        for value in (*values, *ops.value_results(op)):
            if value.dtype != memory.dtype and not _is_converted(value, memory):
                self._fail(op, f"has a value of {value.dtype} in a memory of {memory.dtype}")
        for value in ops.value_results(op):
            if value.shape != access.shape:
                self._fail(op, f"gives {value.shape} where it has {access.shape}")

    # --- Loops, branches and calls ---

    def _control(self, op: Op, operands: _Versions, versions: _VersionOf, updated: set[_Version]) -> _Versions:
        """What the results of an operation with regions are."""
        if len(op.regions) < 1 or (op.name != "cond" and len(op.regions) != _REGIONS.get(op.name, 1)):
            self._fail(op, f"has {len(op.regions)} regions")
        match control.of(op):
            case control.Cond(branches):
                return self._branches(op, branches, versions, updated)
            case control.Scan() as scan:
                self._check_scan(op, scan)
                return self._loop(op, scan.body, scan.carries, operands, versions, updated)
            case control.While(predicate, body):
                self._check_while(op, predicate, body)
                if self._updates(predicate, list(map(_carried, operands)), versions, updated):
                    self._fail(op, "updates a memory in its predicate")
                return self._loop(op, body, len(op.operands), operands, versions, updated)
        (called,) = op.regions
        self._check_types(op, op.operands, called.inputs)
        self._check_types(op, called.outputs, op.results)
        if called.captures:
            self._fail(op, "calls a program that captures values")
        return self.region(called, operands, versions, updated)

    def _branches(self, op: Op, branches: Sequence[Region], versions: _VersionOf, updated: set[_Version]) -> _Versions:
        (number,) = op.operands if len(op.operands) == 1 else (None,)
        if number is None or number.shape or number.dtype.kind not in "iub" or any(b.inputs for b in branches):
            self._fail(op, "does not choose among branches that take nothing by an integer")
        outputs, before = [], set(updated)
        for branch in branches:
            self._check_types(op, branch.outputs, op.results)
            inner = set(before)
            outputs.append(self.region(branch, (), versions, inner))
            updated |= inner
        return [self._merged(op, alternatives) for alternatives in zip(*outputs, strict=True)]

    def _merged(self, op: Op, alternatives: _Versions) -> _Version | None:
        """What a value is that is one of some."""
        first = alternatives[0]
        if len({version and version.memory for version in alternatives}) > 1:
            self._fail(op, "gives another memory, depending on the branch")
        if first is None or alternatives.count(first) == len(alternatives):
            return first
        return _Version(first.memory)

    def _loop(
        self,
        op: Op,
        body: Region,
        carries: int,
        operands: _Versions,
        versions: _VersionOf,
        updated: set[_Version],
    ) -> _Versions:
        """What a loop gives: of what it carries either the version that it was given, or a new one."""
        carried = [*map(_carried, operands[:carries]), *[None] * (len(body.inputs) - carries)]
        inner = set(updated)
        outputs = self.region(body, carried, versions, inner)
        if outside := {v for v in versions.values() if v} & (inner - updated):
            names = ", ".join(sorted(map(_name, outside)))
            self._fail(op, f"updates in each iteration a version of {names} from outside")
        if any(outputs[carries:]) or any(operands[carries:]):
            self._fail(op, "takes or gives a memory by elements")
        results = list[_Version | None]()
        for before, first, last in zip(operands, carried, outputs[:carries], strict=False):
            if (first and first.memory) is not (last and last.memory):
                self._fail(op, "carries another memory on than it was given")
            results.append(before if last is first else last and _Version(last.memory))
            if before and first in inner:
                updated.add(before)
        return [*results, *outputs[carries:]]

    def _updates(
        self, region: Region, inputs: _Versions, versions: _VersionOf, updated: set[_Version]
    ) -> set[_Version]:
        """The versions that a region updates."""
        inner = set(updated)
        self.region(region, inputs, versions, inner)
        return inner - updated

    def _check_scan(self, op: Op, scan: control.Scan) -> None:
        """That a counted loop's body takes and gives as many values, of the same types, as it says."""
        body, carries = scan.body, scan.carries
        if len(body.inputs) != len(op.operands) or len(body.outputs) != len(op.results):
            self._fail(
                op,
                f"has {len(op.operands)} operands and {len(op.results)} results, and a body "
                f"of {len(body.inputs)} and {len(body.outputs)}",
            )
        if scan.length < 0 or not 0 <= carries <= min(len(op.operands), len(op.results)):
            self._fail(op, f"has {carries} carries and {scan.length} iterations")
        for values in (body.inputs, body.outputs, op.results):
            self._check_types(op, op.operands[:carries], values[:carries])
        arrays = (*op.operands[carries:], *op.results[carries:])
        for array, element in zip(arrays, (*body.inputs[carries:], *body.outputs[carries:]), strict=True):
            if (array.shape, array.dtype) != ((scan.length, *element.shape), element.dtype):
                self._fail(op, f"has elements of {element.shape} {element.dtype} in {array.shape} {array.dtype}")

    def _check_while(self, op: Op, predicate: Region, body: Region) -> None:
        for values in (predicate.inputs, body.inputs, body.outputs, op.results):
            self._check_types(op, op.operands, values)
        if [(value.shape, value.dtype) for value in predicate.outputs] != [((), np.dtype(bool))]:
            self._fail(op, "has a predicate that gives no bool")

    def _check_types(self, op: Op, operands: Sequence[Value], expected: Sequence[Value]) -> None:
        types = [[(value.shape, value.dtype, value.memory) for value in values] for values in (operands, expected)]
        if types[0] != types[1]:
            self._fail(op, f"hands on {types[0]} where {types[1]} are taken")

    def _define(self, value: Value, version: _Version | None, versions: _VersionOf, op: Op | None) -> None:
        if _is_defined(value, versions):
            what = self._described(op) if op else "an input"
            raise InvalidProgram(f"a value is given twice, by {what} again")
        versions[value] = version

    def _fail(self, op: Op, what: str) -> NoReturn:
        raise InvalidProgram(f"{self._described(op)} {what}")

    def _described(self, op: Op) -> str:
        return f"{op.name} {self.location(op)}".rstrip()


def _carried(version: _Version | None) -> _Version | None:
    """What a carry is in a loop's body, where it is another version in each iteration."""
    return version and _Version(version.memory)


def _name(version: Any) -> str:
    return version.memory.memory or version.memory.name or "a memory"


def _is_defined(value: Value, versions: _VersionOf) -> bool:
    return value in versions or isinstance(value, Constant)


def _is_converted(value: Value, memory: Value) -> bool:
    """True if a value of another dtype than the memory's is converted later, or refused (`knowledge.conversions`)."""
    return value.dtype.itemsize == 8 or (value.dtype.kind in "iu" and memory.dtype.kind in "iu")
