"""Litmus tests as kernels: each work-item of the test executes its statements, as masked operations of a launch.

Work-items run at their own pace, so that the order in which their statements stand in the kernel tells nothing. A
location, which is called x, y or z, is a memory of one element. Tests whose work-items are on several devices have no
kernel.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

import xeemu as xe
from xeemu.memory_model.litmus import Litmus
from xeemu.memory_model.statements import Statement

DEVICE, LANES = "cpu", 4
NAMES = ("x", "y", "z")
I32 = jnp.int32


def is_expressible(test: Litmus) -> bool:
    """True if all work-items are on one device."""
    return len({position.device for position in test.program.positions}) == 1


def places(test: Litmus) -> list[tuple[int, int]]:
    """For each work-item its group, and its local id there."""
    used: dict[tuple[int, int], int] = {}
    found = []
    for position in test.program.positions:
        unit = position.work_group, position.sub_group
        lane = used[unit] = used.get(unit, -1) + 1
        found.append((position.work_group, position.sub_group * LANES + lane))
    return found


def nd_range(test: Litmus) -> xe.NDRange:
    """Groups of as many full sub-groups as the test has."""
    groups = 1 + max(p.work_group for p in test.program.positions)
    items = LANES * (1 + max(p.sub_group for p in test.program.positions))
    return xe.NDRange(groups * items, items)


def arguments(test: Litmus) -> tuple[np.ndarray, ...]:
    """The locations x, y and z in global memory, and an array that takes the registers."""
    initial = {location.name: location.initial for location in test.program.locations}
    registers = np.zeros(max(len(test.program.registers), 1), np.int32)
    return (*(np.full(1, initial.get(name, 0), np.int32) for name in NAMES), registers)


def segments(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The statements between barriers."""
    found: list[list[Statement]] = [[]]
    for statement in statements:
        if statement.kind == "barrier":
            found.append([])
        else:
            found[-1].append(statement)
    return found


def kernel(test: Litmus) -> xe.Kernel:
    """The test as a kernel; its results are the arguments."""
    program = test.program
    used = [location.name for location in program.locations]
    shared = [location.name for location in program.locations if location.space == "global"]

    @xe.kernel(sub_group_size=LANES)
    def run(wg: Any, x: Any, y: Any, z: Any, out: Any) -> Any:
        memories = {name: memory for name, memory in zip(NAMES, (x, y, z), strict=True) if name in used}
        registers = {name: jnp.zeros(wg.size, I32) for name in program.registers}
        masks = [(wg.group_id() == group) & (wg.local_id() == item) for group, item in places(test)]
        first = wg.local_id() == 0
        for location in program.locations:
            if location.space == "local":
                made = wg.local(1, I32, name=location.name)
                memories[location.name] = wg.barrier(made.at[0].set(location.initial, where=first))
        parts = [segments(statements) for statements in program.work_items]
        for k in range(max(map(len, parts))):
            if k:
                names = list(memories)
                memories = dict(zip(names, _each(wg.barrier(*memories.values()), len(names)), strict=True))
            for part, mask in zip(parts, masks, strict=True):
                for statement in part[k] if k < len(part) else ():
                    _execute(wg, statement, mask, memories, registers)
        for n, name in enumerate(program.registers):
            owner = next(m for m, s in zip(masks, program.work_items, strict=True) if name in [x.register for x in s])
            out = out.at[n].set(registers[name], where=owner)
        return [memories[name] for name in shared] + [out]

    return run


def _each(memories: Any, count: int) -> Sequence[Any]:
    return memories if count > 1 else (memories,)


def _execute(wg: Any, statement: Statement, mask: Any, memories: dict[str, Any], registers: dict[str, Any]) -> None:
    """Executes a statement, by the work-item of the mask if its guard holds."""
    for name, value in statement.guard:
        mask = mask & (registers[name] == value)
    operands = [registers[x] if isinstance(x, str) else x for x in statement.operands]
    if statement.kind == "fence":
        names = [x.name for x in statement.ordered] or list(memories)
        assert statement.ordering is not None
        ordering = {"order": statement.ordering.order, "scope": statement.ordering.scope}
        fenced = _each(wg.fence(*(memories[name] for name in names), **ordering), len(names))
        memories |= dict(zip(names, fenced, strict=True))
        return
    assert statement.location is not None
    name = statement.location.name
    memory, loaded = memories[name], None
    if statement.ordering is None:
        if statement.kind == "load":
            loaded = memory.load(0, where=mask)
        else:
            memory = memory.at[0].set(operands[0], where=mask)
    else:
        at = memory.atomic(order=statement.ordering.order, scope=statement.ordering.scope)[0]
        if statement.kind == "load":
            loaded = at.load(where=mask)
        elif statement.kind == "store":
            memory = at.store(*operands, where=mask)
        else:
            loaded, memory = getattr(at, statement.kind)(*operands, where=mask)
    memories[name] = memory
    if loaded is not None:
        registers[statement.register] = jnp.where(mask, loaded, registers[statement.register])
