"""Litmus tests as kernels: each work-item of a test is one of a launch, each location an element of a memory.

A test's work-items come one after the other, or statement by statement in turn; a fence is executed by all work-items,
so that tests with fences are for the first way alone.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xeemu as xe
from xeemu.memory_model.litmus import Litmus
from xeemu.memory_model.statements import Location, Position, Statement

_LANES, _UNSET, _NAMES = 4, -99, ("x", "y", "z")


@dataclasses.dataclass(frozen=True)
class LitmusKernel:
    """A litmus test as a launch.

    Attributes:
      kernel: it takes the memories `x`, `y` and `z` and the values of the registers.
      nd_range: of the launch.
      arguments: of the launch.
      test: the litmus test.
    """

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arguments: tuple[np.ndarray, ...]
    test: Litmus

    def found(self) -> xe.Findings:
        """What `check` finds."""
        return xe.check(self.kernel, self.nd_range, device="cpu")(*self.arguments)[1]

    def outcome(self, key: int | None) -> dict[str, int | None]:
        """The registers' values after a run in lockstep, or under a schedule."""
        launch = xe.launch(self.kernel, self.nd_range, device="cpu", schedule=key)
        *_, values = jax.tree.leaves(launch(*self.arguments))
        read = (None if value == _UNSET else int(value) for value in np.asarray(values))
        return dict(zip(self.test.program.registers, read, strict=False))


def of_test(test: Litmus, in_turn: bool = False) -> LitmusKernel:
    """The kernel of a litmus test with locations x, y and z, all on one device."""
    positions = test.program.positions
    items, sub_groups = 1 + max(p.work_group for p in positions), 1 + max(p.sub_group for p in positions)
    size = sub_groups * _LANES
    ids = _ids(positions, size)
    order = list(_in_turn(test.program.work_items) if in_turn else _one_by_one(test.program.work_items))

    def program(wg, x, y, z, registers):
        return _Run(test, wg, {"x": x, "y": y, "z": z}, registers, ids).run(order)

    initial = {location.name: location.initial for location in test.program.locations}
    arguments = [np.full(1, initial.get(name, 0), np.int32) for name in _NAMES]
    registers = np.full(max(1, len(test.program.registers)), _UNSET, np.int32)
    kernel = xe.kernel(sub_group_size=_LANES)(program)
    return LitmusKernel(kernel, xe.NDRange(items * size, size), (*arguments, registers), test)


def _ids(positions: Sequence[Position], size: int) -> list[int]:
    """The global id of each work-item: they take the lanes of their sub-groups one after the other."""
    taken: dict[tuple[int, int], int] = {}
    ids = []
    for position in positions:
        place = (position.work_group, position.sub_group)
        ids.append(position.work_group * size + position.sub_group * _LANES + taken.setdefault(place, 0))
        taken[place] += 1
    return ids


Step = tuple[int, Statement]


def _one_by_one(programs: Sequence[Sequence[Statement]]) -> Iterator[Step]:
    """Each work-item as far as its next barrier; a barrier when all are there."""
    rest = [list(program) for program in programs]
    while any(rest):
        for item, statements in enumerate(rest):
            while statements and statements[0].kind != "barrier":
                yield item, statements.pop(0)
        meeting = [statements.pop(0) for statements in rest if statements]
        if meeting:
            yield 0, meeting[0]


def _in_turn(programs: Sequence[Sequence[Statement]]) -> Iterator[Step]:
    for n in range(max(map(len, programs))):
        for item, program in enumerate(programs):
            if n < len(program):
                yield item, program[n]


class _Run:
    """A work-group's execution of a test."""

    def __init__(self, test: Litmus, wg: Any, memories: dict[str, Any], registers: Any, ids: Sequence[int]):
        self.test, self.wg, self.memories, self.registers, self.ids = test, wg, memories, registers, ids
        self.values: dict[str, Any] = {}
        for location in test.program.locations:
            if location.space == "local":
                self._allocate(location)

    def run(self, steps: Sequence[Step]) -> Any:
        written = {s.location.name for _, s in steps if s.location and s.writes} | _given(steps, self.test)
        for item, statement in steps:
            if statement.location is None:
                self._meet(statement)
            else:
                self._access(item, statement)
        names = [name for name in written if self.memories[name].space == "global"]
        return {name: self.memories[name] for name in sorted(names)}, self.registers

    def _allocate(self, location: Location) -> None:
        memory = self.wg.local(1, jnp.int32, name=location.name)
        memory = memory.at[0].set(location.initial, where=self.wg.local_id() == 0)
        self.memories[location.name] = self.wg.barrier(memory)

    def _meet(self, statement: Statement) -> None:
        names = [location.name for location in statement.ordered or self.test.program.locations]
        given = [self.memories[name] for name in names]
        if statement.kind == "fence":
            assert statement.ordering is not None
            after = self.wg.fence(*given, order=statement.ordering.order, scope=statement.ordering.scope)
        else:
            after = (self.wg.sub_group if statement.group == "sub_group" else self.wg).barrier(*given)
        self.memories |= zip(names, after if len(names) > 1 else [after], strict=True)

    def _access(self, item: int, statement: Statement) -> None:
        assert statement.location is not None
        name, ordering = statement.location.name, statement.ordering
        memory, active = self.memories[name], self.wg.global_id() == self.ids[item]
        for register, value in statement.guard:
            active = active & (self.values[register] == value)
        operands = [self.values[x] if isinstance(x, str) else x for x in statement.operands]
        place = memory.at[0] if ordering is None else memory.atomic(ordering.order, ordering.scope)[0]
        if statement.kind == "load":
            old = memory.load(0, where=active) if ordering is None else place.load(where=active)
        elif statement.kind == "store":
            self.memories[name] = (place.set if ordering is None else place.store)(*operands, where=active)
            return
        else:
            old, self.memories[name] = getattr(place, statement.kind)(*operands, where=active)
        self._assign(statement.register, old, active)

    def _assign(self, register: str, value: Any, active: Any) -> None:
        before = self.values.get(register, jnp.full(self.wg.size, _UNSET, jnp.int32))
        self.values[register] = jnp.where(active, value, before)
        place = self.test.program.registers.index(register)
        self.registers = self.registers.at[place].set(value, where=active)


def _given(steps: Sequence[Step], test: Litmus) -> set[str]:
    """The locations that barriers and fences are given: they have new versions too."""
    meetings = [statement for _, statement in steps if statement.location is None]
    return {location.name for m in meetings for location in m.ordered or test.program.locations}
