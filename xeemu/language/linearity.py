"""The static check that a kernel uses its memories linearly, with the kernel's line for every fault.

Every update (store, atomic, barrier, fence) makes a new version of a memory and ends the old one. A memory keeps its
place in loops and branches, nothing but the language's operations and control flow takes one, and the last version of
an updated global memory leaves the kernel.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region
from xeemu.language import source
from xeemu.language.source import Site, kernel_error


@dataclasses.dataclass(frozen=True, eq=False)
class Allocation:
    """A memory over its whole life; two of them are the same only if they are one object.

    Attributes:
      name: what the kernel calls it.
      space: `"global"`, `"local"` or `"private"`.
      shape: elements per dimension (of one work-item, for private memory).
      dtype: the elements' type.
      site: where it comes from.
      may_alias: true if it may be the same as others of which that holds, for all that a compiler knows, as behind
        pointers of C without `restrict`.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: Any
    site: Site
    may_alias: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * self.dtype.itemsize


def may_be_same(one: Allocation, other: Allocation) -> bool:
    """True if a compiler has to take two memories for one: pointers to different types are to different objects, but
    that integers may differ in sign, and bytes are of any object (C11, 6.5)."""
    if one is other or not (one.may_alias and other.may_alias):
        return one is other
    sizes, integers = {one.dtype.itemsize, other.dtype.itemsize}, one.dtype.kind in "iu" and other.dtype.kind in "iu"
    return one.dtype == other.dtype or 1 in sizes or (integers and len(sizes) == 1)


@dataclasses.dataclass(eq=False)
class MemoryVersion:
    """One version of an allocation.

    Attributes:
      of: the allocation.
      written: the last operation that wrote to it since the (sub)program began, or None.
      replaced_by: the operation that replaced it by the next version, or None.
    """

    of: Allocation
    written: Op | None = None
    replaced_by: Op | None = None


Versions = list[MemoryVersion | None]


@dataclasses.dataclass(frozen=True)
class Usage:
    """What the check found out.

    Attributes:
      outputs: the allocation of each result.
      allocations: the local and private memories, in the order in which the kernel makes them.
      written: the memories that the kernel stores to or updates atomically.
    """

    outputs: tuple[Allocation, ...]
    allocations: tuple[Allocation, ...]
    written: frozenset[Allocation]


def check(body: Region, arguments: Sequence[Allocation | None], definition: Site) -> Usage:
    """Checks a whole kernel, whose outputs are all memories.

    Args:
      body: its operations.
      arguments: for each input its allocation, or None for a scalar.
      definition: where the kernel is defined, for faults that have no line of their own.

    Raises:
      KernelError: a memory is forked, swapped, lost or used as an array.
    """
    linearity = _Linearity()
    outputs = [v for v in linearity.body(body, [MemoryVersion(a) if a else None for a in arguments], nested=False) if v]
    for version in outputs:
        if version.replaced_by:
            _fail_fork(version, f"the kernel returns {version.of.name} as it was before", definition)
    returned = [v.of for v in outputs]
    if twice := next((a for a in returned if returned.count(a) > 1), None):
        raise kernel_error(f"{twice.name} is returned twice; return each memory once", definition)
    return Usage(tuple(returned), tuple(linearity.allocations), frozenset(linearity.written))


class _Linearity:
    """One pass over a program and all that it contains, per call path."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.written: set[Allocation] = set()

    def body(self, body: Region, inputs: Versions, nested: bool, returns: bool = True) -> Versions:
        """Walks `body`; returns the version behind each output, None for a value.

        Args:
          body: the (sub)program.
          inputs: the version behind each input.
          nested: true if it is inside a loop or branch.
          returns: true if it can return memories; the predicate of a loop cannot.
        """
        versions: dict[Any, MemoryVersion] = {v: m for v, m in zip(body.all_inputs, inputs, strict=True) if m}
        for op in body.ops:
            operands = [None if isinstance(a, Constant) else versions.get(a) for a in op.used]
            results = self._op(op, operands, nested)
            versions |= {v: m for v, m in zip(op.results, results, strict=True) if m}
        outputs = [None if isinstance(a, Constant) else versions.get(a) for a in body.outputs]
        for version in versions.values() if returns else ():
            _check_kept(version, outputs)
        return outputs

    def _op(self, op: Op, operands: Versions, nested: bool) -> Versions:
        for version in filter(None, operands):
            if version.replaced_by:
                _fail_fork(version, f"{version.of.name} is used as it was before", source.of_op(op))
        if op.name == ops.ALLOCATE:
            return [self._allocate(op, nested)]
        if op.name in ops.UPDATES:
            return self._update(op, operands)
        if op.name in ops.LANGUAGE:
            return [None] * len(op.results)
        match control.of(op):
            case control.Call(body):
                return self._branches((body,), operands, nested, op)
            case control.Cond(branches):
                return self._branches(branches, operands, True, op)
            case control.Scan() as scan:
                return self._scan(scan, operands, op)
            case control.While() as loop:
                return self._while(loop, operands, op)
        if taken := next(filter(None, operands), None):
            _fail_array(taken, op)
        return [None] * len(op.results)

    def _allocate(self, op: Op, nested: bool) -> MemoryVersion:
        site, p = source.of_op(op), op.attributes
        if nested:
            raise kernel_error(
                f"{p['space']} memory {p['name']} is made inside a loop or branch; make it before, outside them",
                site,
            )
        allocation = Allocation(p["name"], p["space"], p["shape"], p["dtype"], site)
        self.allocations.append(allocation)
        return MemoryVersion(allocation)

    def _update(self, op: Op, operands: Versions) -> Versions:
        """A store, atomic, barrier or fence: the next version of every memory that goes in."""
        writes = ops.of(op).writes
        if writes and not ops.changes(op):
            return [None] * len(op.results)
        memories = list(filter(None, operands))
        nexts: Versions = []
        for version in memories:
            if version.replaced_by:
                raise kernel_error(f"{version.of.name} is given twice to one operation", source.of_op(op))
            version.replaced_by = op
            nexts.append(MemoryVersion(version.of, op if writes else version.written))
            if writes:
                self.written.add(version.of)
        return [None] * (len(op.results) - len(nexts)) + nexts

    def _branches(self, bodies: Sequence[Region], operands: Versions, nested: bool, op: Op) -> Versions:
        """Bodies of which one runs, all beginning with the same versions."""
        entries = [_entered(operands) for _ in bodies]
        given = [control.region_operands(op, inside, k) for k, inside in enumerate(entries)]
        outputs = [self.body(b, inside, nested) for b, inside in zip(bodies, given, strict=True)]
        results: Versions = []
        for versions in outputs:
            _check_alive(versions, "a branch or function", op)
        for alternatives in zip(*outputs, strict=True):
            if len({v.of if v else None for v in alternatives}) > 1:
                names = " or ".join(v.of.name if v else "a value" for v in alternatives)
                raise kernel_error(
                    f"a branch's result is {names}, depending on the branch; a memory keeps its place: return the same "
                    "memories in the same order from every branch",
                    source.of_op(op),
                )
            results.append(_merged(alternatives, entries, operands))
        _leave(entries, operands)
        return results

    def _scan(self, scan: control.Scan, operands: Versions, op: Op) -> Versions:
        first_element = len(op.captures) + scan.carries
        if taken := next(filter(None, operands[first_element:]), None):
            _fail_array(taken, op)
        carried = self._loop(scan.body, operands, len(op.captures), scan.carries, op)
        return carried + [None] * (len(op.results) - scan.carries)

    def _while(self, loop: control.While, operands: Versions, op: Op) -> Versions:
        inside = _entered(control.region_operands(op, operands, 0))
        self.body(loop.predicate, inside, nested=True, returns=False)
        for version in filter(None, inside):
            if version.replaced_by:
                name = version.of.name
                raise kernel_error(
                    f"{name} is updated in a loop's predicate, which cannot return it; update it in the body",
                    source.of_op(version.replaced_by),
                )
        given = control.region_operands(op, operands, 1)
        results = self._loop(loop.body, given, len(loop.body.captures), len(op.operands), op)
        for version in filter(None, control.region_captures(op, operands, 0)):
            if version.replaced_by:
                what = f"the predicate of a loop uses {version.of.name}, from outside the loop, as it was before"
                _fail_fork(version, what, source.of_op(op))
        return results

    def _loop(self, body: Region, operands: Versions, seen: int, carries: int, op: Op) -> Versions:
        inside = _entered(operands)
        outputs = self.body(body, inside, nested=True)
        if stacked := next(filter(None, outputs[carries:]), None):
            _fail_array(stacked, op)
        outputs = outputs[:carries]
        _check_alive(outputs, "the body of a loop", op)
        for version in filter(None, inside[:seen]):
            if version.replaced_by:
                name = version.of.name
                raise kernel_error(
                    f"{name} is updated in a loop that does not carry the new version on; assign it, {name} = "
                    f"{name}.at[...].set(...), and make it part of the loop's carry",
                    source.of_op(version.replaced_by),
                )
        for before, after in zip(inside[seen : seen + carries], outputs, strict=True):
            if (before and before.of) is not (after and after.of):
                raise kernel_error(
                    f"a loop carries {_called(before)} in and {_called(after)} out at one place of its carry; a memory "
                    "keeps its place: for two buffers in turn use one memory with a leading axis of 2",
                    source.of_op(op),
                )
        results = [_merged((v,), [inside], operands) for v in outputs]
        _leave([inside], operands)
        return results


def _entered(operands: Versions) -> Versions:
    """What a sub-program sees of the versions that go into it: alive, and not yet written by it."""
    clones = {id(v): MemoryVersion(v.of) for v in operands if v}
    return [clones[id(v)] if v else None for v in operands]


def _leave(entries: Sequence[Versions], operands: Versions) -> None:
    """Ends the versions that some sub-program ended."""
    for inside in entries:
        for outer, inner in zip(operands, inside, strict=True):
            if outer and inner and inner.replaced_by:
                outer.replaced_by = inner.replaced_by


def _merged(
    alternatives: Sequence[MemoryVersion | None], entries: Sequence[Versions], operands: Versions
) -> MemoryVersion | None:
    """The version after a sub-program: the one that went in if nothing updated it, else a new one."""
    first = alternatives[0]
    if first is None:
        return None
    positions = [inside.index(v) if v in inside else None for v, inside in zip(alternatives, entries, strict=True)]
    place = positions[0]
    if place is not None and positions.count(place) == len(positions):
        return operands[place]
    written = next((v.written for v in alternatives if v and v.written), None)
    before = next((v.written for v in operands if v and v.of is first.of and v.written), None)
    return MemoryVersion(first.of, written or before)


def _check_kept(version: MemoryVersion, outputs: Versions) -> None:
    """The last version of a global memory that was written must go out; local memory dies with its group anyway."""
    if version.of.space == "global" and version.written and not version.replaced_by and version not in outputs:
        name = version.of.name
        raise kernel_error(
            f"an update of global memory {name} is lost: its last version is not returned; assign it, "
            f"{name} = {name}.at[...].set(...), and end the kernel, loop body or branch with it, such as return {name}",
            source.of_op(version.written),
        )


def _check_alive(outputs: Versions, where: str, op: Op) -> None:
    """What a sub-program returns must be the last version of a memory, or a value."""
    for version in filter(None, outputs):
        if version.replaced_by:
            _fail_fork(version, f"{where} returns {version.of.name} as it was before", source.of_op(op))


def _called(version: MemoryVersion | None) -> str:
    return version.of.name if version else "a value"


def _fail_fork(version: MemoryVersion, what: str, site: Site) -> None:
    name = version.of.name
    assert version.replaced_by is not None
    ended = source.of_op(version.replaced_by)
    raise kernel_error(
        f"{what} the update at {ended}\na memory is linear, and an update gives a new version: assign it, "
        f"{name} = {name}.at[...].set(...) or {name} = wg.barrier({name}), and use only that",
        site,
    )


def _fail_array(version: MemoryVersion, op: Op) -> None:
    name = version.of.name
    raise kernel_error(
        f"{version.of.space} memory {name} is used as an array by {op.name}; load its elements by index, "
        f"such as {name}[i]",
        source.of_op(op),
    )
