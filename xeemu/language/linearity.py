"""The static check that a kernel uses its memories linearly, with the kernel's line for every fault.

Every update (store, atomic, barrier, fence) makes a new version of a memory and ends the old one. A memory keeps its
place in loops and branches, nothing but the language's operations and control flow takes one, and the last version of
an updated global memory leaves the kernel.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.language import jaxprs, primitives, source
from xeemu.language.jaxprs import Body
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
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: Any
    site: Site

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * self.dtype.itemsize


@dataclasses.dataclass(eq=False)
class Version:
    """One version of an allocation.

    Attributes:
      of: the allocation.
      written: the last operation that wrote to it since the (sub)program began, or None.
      ended: the operation that replaced it by the next version, or None.
    """

    of: Allocation
    written: jex_core.JaxprEqn | None = None
    ended: jex_core.JaxprEqn | None = None


Versions = list[Version | None]


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


def check(body: Body, arguments: Sequence[Allocation | None], definition: Site) -> Usage:
    """Checks a whole kernel, whose outputs are all memories.

    Args:
      body: its jaxpr.
      arguments: for each input its allocation, or None for a scalar.
      definition: where the kernel is defined, for faults that have no line of their own.

    Raises:
      KernelError: a memory is forked, swapped, lost or used as an array.
    """
    walk = _Walk()
    outputs = [v for v in walk.body(body, [Version(a) if a else None for a in arguments], nested=False) if v]
    for version in outputs:
        if version.ended:
            _fail_fork(version, f"the kernel returns {version.of.name} as it was before", definition)
    returned = [v.of for v in outputs]
    if twice := next((a for a in returned if returned.count(a) > 1), None):
        raise kernel_error(f"{twice.name} is returned twice; return each memory once", definition)
    return Usage(tuple(returned), tuple(walk.allocations), frozenset(walk.written))


class _Walk:
    """One pass over a jaxpr and all that it contains, per call path."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.written: set[Allocation] = set()

    def body(self, body: Body, inputs: Versions, nested: bool, returns: bool = True) -> Versions:
        """Walks `body`; returns the version behind each output, None for a value.

        Args:
          body: the jaxpr.
          inputs: the version behind each input.
          nested: whether it is inside a loop or branch.
          returns: whether it can return memories; the predicate of a loop cannot.
        """
        versions: dict[Any, Version] = {v: m for v, m in zip(body.invars, inputs, strict=True) if m}
        for eqn in body.eqns:
            operands = [None if jaxprs.is_literal(a) else versions.get(a) for a in eqn.invars]
            results = self._equation(eqn, operands, nested)
            versions |= {v: m for v, m in zip(eqn.outvars, results, strict=True) if m}
        outputs = [None if jaxprs.is_literal(a) else versions.get(a) for a in body.outvars]
        for version in versions.values() if returns else ():
            _check_kept(version, outputs)
        return outputs

    def _equation(self, eqn: jex_core.JaxprEqn, operands: Versions, nested: bool) -> Versions:
        for version in filter(None, operands):
            if version.ended:
                _fail_fork(version, f"{version.of.name} is used as it was before", source.of_equation(eqn))
        if eqn.primitive is primitives.allocate_p:
            return [self._allocate(eqn, nested)]
        if eqn.primitive in primitives.UPDATES:
            return self._update(eqn, operands)
        if eqn.primitive in primitives.LANGUAGE:
            return [None] * len(eqn.outvars)
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                return self._branches((body,), operands, nested, eqn)
            case jaxprs.Cond(branches):
                return self._branches(branches, operands[1:], True, eqn)
            case jaxprs.Scan() as scan:
                return self._scan(scan, operands, eqn)
            case jaxprs.While() as loop:
                return self._while(loop, operands, eqn)
        if taken := next(filter(None, operands), None):
            _fail_array(taken, eqn)
        return [None] * len(eqn.outvars)

    def _allocate(self, eqn: jex_core.JaxprEqn, nested: bool) -> Version:
        site, p = source.of_equation(eqn), eqn.params
        if nested:
            raise kernel_error(
                f"{p['space']} memory {p['name']} is made inside a loop or branch; make it before, outside them",
                site,
            )
        allocation = Allocation(p["name"], p["space"], p["shape"], p["dtype"], site)
        self.allocations.append(allocation)
        return Version(allocation)

    def _update(self, eqn: jex_core.JaxprEqn, operands: Versions) -> Versions:
        """A store, atomic, barrier or fence: the next version of every memory that goes in."""
        writes = ops.of(eqn).writes
        if writes and len(eqn.outvars) == 1 and eqn.params.get("op") == "load":
            return [None]
        memories = list(filter(None, operands))
        nexts: Versions = []
        for version in memories:
            if version.ended:
                raise kernel_error(f"{version.of.name} is given twice to one operation", source.of_equation(eqn))
            version.ended = eqn
            nexts.append(Version(version.of, eqn if writes else version.written))
            if writes:
                self.written.add(version.of)
        return [None] * (len(eqn.outvars) - len(nexts)) + nexts

    def _branches(self, bodies: Sequence[Body], operands: Versions, nested: bool, eqn: jex_core.JaxprEqn) -> Versions:
        """Bodies of which one runs, all beginning with the same versions."""
        entries = [_entered(operands) for _ in bodies]
        outputs = [self.body(b, inside, nested) for b, inside in zip(bodies, entries, strict=True)]
        results: Versions = []
        for versions in outputs:
            _check_alive(versions, "a branch or function", eqn)
        for alternatives in zip(*outputs, strict=True):
            if len({v.of if v else None for v in alternatives}) > 1:
                names = " or ".join(v.of.name if v else "a value" for v in alternatives)
                raise kernel_error(
                    f"a branch's result is {names}, depending on the branch; a memory keeps its place: return the same "
                    "memories in the same order from every branch",
                    source.of_equation(eqn),
                )
            results.append(_merged(alternatives, entries, operands))
        _leave(entries, operands)
        return results

    def _scan(self, scan: jaxprs.Scan, operands: Versions, eqn: jex_core.JaxprEqn) -> Versions:
        first_element = scan.consts + scan.carries
        if taken := next(filter(None, operands[first_element:]), None):
            _fail_array(taken, eqn)
        carried = self._loop(scan.body, operands, scan.consts, scan.carries, eqn)
        return carried + [None] * (len(eqn.outvars) - scan.carries)

    def _while(self, loop: jaxprs.While, operands: Versions, eqn: jex_core.JaxprEqn) -> Versions:
        first_carry = loop.predicate_consts + loop.body_consts
        predicate = operands[: loop.predicate_consts] + operands[first_carry:]
        inside = _entered(predicate)
        self.body(loop.predicate, inside, nested=True, returns=False)
        if updated := next((v for v in filter(None, inside) if v.ended), None):
            raise kernel_error(
                f"{updated.of.name} is updated in a loop's predicate, which cannot return it; update it in the body",
                source.of_equation(updated.ended),
            )
        carries = len(operands) - first_carry
        results = self._loop(loop.body, operands[loop.predicate_consts :], loop.body_consts, carries, eqn)
        for version in filter(None, operands[: loop.predicate_consts]):
            if version.ended:
                what = f"the predicate of a loop uses {version.of.name}, from outside the loop, as it was before"
                _fail_fork(version, what, source.of_equation(eqn))
        return results

    def _loop(self, body: Body, operands: Versions, consts: int, carries: int, eqn: jex_core.JaxprEqn) -> Versions:
        inside = _entered(operands)
        outputs = self.body(body, inside, nested=True)
        if stacked := next(filter(None, outputs[carries:]), None):
            _fail_array(stacked, eqn)
        outputs = outputs[:carries]
        _check_alive(outputs, "the body of a loop", eqn)
        for version in filter(None, inside[:consts]):
            if version.ended:
                name = version.of.name
                raise kernel_error(
                    f"{name} is updated in a loop that does not carry the new version on; assign it, {name} = "
                    f"{name}.at[...].set(...), and make it part of the loop's carry",
                    source.of_equation(version.ended),
                )
        for before, after in zip(inside[consts : consts + carries], outputs, strict=True):
            if (before and before.of) is not (after and after.of):
                raise kernel_error(
                    f"a loop carries {_called(before)} in and {_called(after)} out at one place of its carry; a memory "
                    "keeps its place: for two buffers in turn use one memory with a leading axis of 2",
                    source.of_equation(eqn),
                )
        results = [_merged((v,), [inside], operands) for v in outputs]
        _leave([inside], operands)
        return results


def _entered(operands: Versions) -> Versions:
    """What a sub-program sees of the versions that go into it: alive, and not yet written by it."""
    clones = {id(v): Version(v.of) for v in operands if v}
    return [clones[id(v)] if v else None for v in operands]


def _leave(entries: Sequence[Versions], operands: Versions) -> None:
    """Ends the versions that some sub-program ended."""
    for inside in entries:
        for outer, inner in zip(operands, inside, strict=True):
            if outer and inner and inner.ended:
                outer.ended = inner.ended


def _merged(alternatives: Sequence[Version | None], entries: Sequence[Versions], operands: Versions) -> Version | None:
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
    return Version(first.of, written or before)


def _check_kept(version: Version, outputs: Versions) -> None:
    """The last version of a global memory that was written must go out; local memory dies with its group anyway."""
    if version.of.space == "global" and version.written and not version.ended and version not in outputs:
        name = version.of.name
        raise kernel_error(
            f"an update of global memory {name} is lost: its last version is not returned; assign it, "
            f"{name} = {name}.at[...].set(...), and end the kernel, loop body or branch with it, such as return {name}",
            source.of_equation(version.written),
        )


def _check_alive(outputs: Versions, where: str, eqn: jex_core.JaxprEqn) -> None:
    """What a sub-program returns must be the last version of a memory, or a value."""
    for version in filter(None, outputs):
        if version.ended:
            _fail_fork(version, f"{where} returns {version.of.name} as it was before", source.of_equation(eqn))


def _called(version: Version | None) -> str:
    return version.of.name if version else "a value"


def _fail_fork(version: Version, what: str, site: Site) -> None:
    name = version.of.name
    assert version.ended is not None
    ended = source.of_equation(version.ended)
    raise kernel_error(
        f"{what} the update at {ended}\na memory is linear, and an update gives a new version: assign it, "
        f"{name} = {name}.at[...].set(...) or {name} = wg.barrier({name}), and use only that",
        site,
    )


def _fail_array(version: Version, eqn: jex_core.JaxprEqn) -> None:
    name = version.of.name
    raise kernel_error(
        f"{version.of.space} memory {name} is used as an array by {eqn.primitive.name}; load its elements by index, "
        f"such as {name}[i]",
        source.of_equation(eqn),
    )
