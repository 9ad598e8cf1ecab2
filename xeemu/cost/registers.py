"""Registers: the bytes of values that a work-item of a launch keeps at once, and what the register file has for them.

Live values are those of the program, as if every operation made a new one. Those that do not fit are spilled.
"""

import dataclasses
import math

from xeemu.cost import requests
from xeemu.cost.census import Census
from xeemu.cost.counting import Counts
from xeemu.cost.traffic import Spill
from xeemu.devices import grf
from xeemu.devices.occupancy import Occupancy, most_registers, occupancy
from xeemu.errors import Error, NDRangeError
from xeemu.ir.program import Value
from xeemu.knowledge.access_tree import Node
from xeemu.knowledge.analysis import Facts, fact
from xeemu.language import source
from xeemu.language.geometry import Geometry
from xeemu.launching.preparation import Prepared

# Registers for temporaries, in proportion to those for live values: what makes one row of Intel's published spill table
# come out, which leaves the others within 11 %.
_TEMPORARIES = 0.5
_REGISTER_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Registers:
    """Bytes of a work-item of a launch.

    Attributes:
      live: of values that are alive at once, with private memory without a computed index.
      there: that the register file has for it; None if that is not known.
    """

    live: int
    there: int | None

    @property
    def needed(self) -> int:
        """Those of live values and of temporaries, of which a compiler makes fewer where registers are scarce."""
        return math.ceil(self.live * (1 + _TEMPORARIES))

    @property
    def spilled(self) -> int | None:
        """Those that do not fit; None if it is not known what is there."""
        return None if self.there is None else max(0, self.needed - self.there)

    @property
    def free(self) -> int | None:
        """Those that are left; None if it is not known what is there."""
        return None if self.there is None else max(0, self.there - self.needed)


def of_launch(prepared: Prepared, taken: Census) -> Registers:
    """The registers of a launch; on Xe in the mode that the kernel requires, else the small one."""
    private = sum(math.prod(m.shape) * m.dtype.itemsize for m in taken.in_registers)
    return Registers(live_bytes(prepared.facts, taken.geometry) + private, _there(prepared, taken))


def spill(registers: Registers, prepared: Prepared, counts: Counts, taken: Census) -> Spill:
    """What all work-items of a launch spill in all."""
    kept, there = registers.spilled, registers.there
    return Spill(kept, _stored(prepared, counts, taken, registers)) if kept and there else Spill()


def resident(registers: Registers, prepared: Prepared, taken: Census) -> Occupancy | None:
    """The occupancy of a launch; None if the device has no figures for it."""
    geometry, device, there = taken.geometry, taken.device, registers.there
    used = None if there is None else max(1, math.ceil(min(registers.needed, there) / _REGISTER_BYTES))
    small = grf.thread_bytes(device, None)
    if used and small and prepared.program.kernel.grf_size == grf.LARGE:
        # The mode takes its threads however few registers are in use.
        used = max(used, small // geometry.sub_group_size // _REGISTER_BYTES + 1)
    try:
        return occupancy(
            device,
            geometry.local_range,
            prepared.program.local_bytes,
            registers=used and min(used, _most(taken) or used),
            sub_group_size=geometry.sub_group_size,
            barriers=any(each.get("barrier") for each in taken.instructions.values()),
            groups=max(1, geometry.groups),
        )
    except Error:
        # What the launch's own checks let pass, the calculator may not have figures for.
        return None


def check(registers: Registers, prepared: Prepared, taken: Census) -> None:
    """Checks that an Xe core has the registers for the live values of one work-group.

    Raises:
      NDRangeError: it has not.
    """
    most, live = _most(taken), registers.live
    used = math.ceil(min(live, registers.there or live) / _REGISTER_BYTES)
    if not most or used <= most:
        return
    kernel, size = prepared.program.kernel, taken.geometry.local_range
    raise NDRangeError(
        f"Exceeded the number of registers available on the hardware: kernel {kernel.name} has {live} bytes of values "
        f"alive at once, {used} registers per work-item; for {taken.geometry.items} work-items an Xe core of "
        f"{taken.device.name} has {most} each. Launch smaller work-groups, keep fewer values, or require the size, "
        f"{kernel.dialect.work_group_size(size)}, so that the compiler spills"
        f"\n  at {source.of_function(kernel.function.__code__)}"
    )


def _there(prepared: Prepared, taken: Census) -> int | None:
    """What the register file has for a work-item.

    A compiler that knows the work-group's size, because the kernel requires it, leaves as many as all of them have.
    """
    device, lanes = taken.device, taken.geometry.sub_group_size
    if device.max_registers_per_work_item is None:
        bytes_ = grf.thread_bytes(device, prepared.program.kernel.grf_size)
        return None if bytes_ is None else bytes_ // lanes
    most = _most(taken) if prepared.program.kernel.work_group_size else None
    return _REGISTER_BYTES * (most or device.max_registers_per_work_item)


def _most(taken: Census) -> int | None:
    """The most registers of a work-item that an Xe core has for the work-group."""
    return most_registers(taken.device, taken.geometry.items, taken.geometry.sub_group_size)


def _stored(prepared: Prepared, counts: Counts, taken: Census, registers: Registers) -> float:
    """Bytes that all work-items spill in all: a body spills in each execution what its inner bodies do not spill."""
    geometry = taken.geometry
    items = requests.sub_groups(geometry) * geometry.sub_group_size
    held, there = registers.live - live_bytes(prepared.facts, geometry), registers.there or 0

    def of(node: Node) -> tuple[float, float]:
        """Of one execution of a node, and of all executions of it and of those inside."""
        inner = {step.facts: of(step) for step in node.steps if isinstance(step, Node)}
        needed = (live_bytes(node.facts, geometry) + held) * (1 + _TEMPORARIES)
        own, inside = max(0.0, needed - there), max((once for once, _ in inner.values()), default=0.0)
        times = (counts.executions[node.facts] or 0) * items
        return max(own, inside), max(0.0, own - inside) * times + sum(every for _, every in inner.values())

    return of(taken.tree.root)[1]


# --- Live values ---


@fact
def live_bytes(facts: Facts, geometry: Geometry) -> int:
    """The most bytes of a work-item that are alive at once; constants and what a work-group shares take none."""
    last_use: dict[Value, int] = {a: n for n, op in enumerate(facts.body.ops) for a in op.used}
    last_use |= dict.fromkeys(facts.body.outputs, len(facts.body.ops))
    alive = {v: _bytes(v, facts, geometry) for v in facts.body.all_inputs if v in last_use}
    most = now = sum(alive.values())
    for number, op in enumerate(facts.body.ops):
        used = {value: alive[value] for value in op.used if value in alive}
        inner = max((live_bytes(part, geometry) for part in facts.within(number)), default=0) if op.regions else 0
        # What goes into a loop or branch is alive outside and inside, but there once.
        most = max(most, now + max(0, inner - sum(used.values())))
        # The result of an operation may take the place of an operand that nothing else needs.
        now -= sum(alive.pop(value) for value in used if last_use[value] == number)
        made = {v: _bytes(v, facts, geometry) for v in op.results if v in last_use}
        alive |= made
        now += sum(made.values())
        most = max(most, now)
    return most


def _bytes(value: Value, facts: Facts, geometry: Geometry) -> int:
    known = facts.values[value]
    rank = len(geometry.local_range)
    per_item = value.shape[:rank] == geometry.local_range
    if known.space or not per_item or (known.form is not None and known.form.constant):
        return 0
    # The elements of an address with a lane form lie at fixed distances from the first.
    elements = 1 if known.form is not None else math.prod(value.shape[rank:])
    return int(elements * value.dtype.itemsize)
