"""Latency: what sub-groups wait for, and for how long.

A sub-group waits for arithmetic (each instruction for the one before), at barriers and fences, and for what it loads:
once for the requests that are under way together (see `waiting`), so long as it takes from where their bytes come.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from xeemu.cost import amounts
from xeemu.cost.sites import SiteReport
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device

Cause = Literal["arithmetic", "load", "spill", "exchange", "barriers", "fences"]

# Instructions that wait in another way, or not at all.
_NOT_ARITHMETIC = ("memory", "barrier", "fence")
# A dependent local load takes 23.4, 25.4, 29.4, 37.4 ... cycles with 1, 2, 4, 8 passes, a load of global memory that
# hits the L1 as many more (measured on an H200).
_WAIT_PER_PASS = 2


@dataclasses.dataclass(frozen=True)
class Waiting:
    """What the sub-groups of a launch wait for at one place.

    Attributes:
      cause: `load` for atomic operations that give the old value too; `spill` for values that are loaded into registers
        again, `exchange` for loads of group algorithms.
      site: of a load, the operation.
      times: that sub-groups wait, all of them together.
      cycles_each: how long each time; None if it is not known.
      share: of the cycles that sub-groups wait; None if these are not known.
    """

    cause: Cause
    site: SiteReport | None
    times: float | None
    cycles_each: float | None
    share: float | None = None

    @property
    def cycles(self) -> float | None:
        """What all sub-groups together wait."""
        return amounts.product(self.times, self.cycles_each)


def waits(work: Work, device: Device) -> tuple[Waiting, ...] | None:
    """What sub-groups wait for, the longest first; None if it is not known how often they load."""
    if work.waits is None:
        return None
    loads = (Waiting(_cause(wait), wait.site, wait.rounds, _of_load(wait, device)) for wait in work.waits)
    fences = Waiting("fences", None, (work.instructions or {}).get("fence", 0.0), device.fence_latency_cycles or 0.0)
    found = [each for each in (arithmetic(work, device), *loads, _at_barriers(work, device), fences) if each.times != 0]
    return tuple(sorted(found, key=lambda each: -(each.cycles or 0.0)))


def shared(waits: Sequence[Waiting]) -> tuple[Waiting, ...]:
    """The same, each with its share."""
    total = amounts.total(each.cycles for each in waits)
    return tuple(dataclasses.replace(each, share=amounts.quotient(each.cycles, total)) for each in waits)


def _cause(wait: Wait) -> Cause:
    if wait.site is not None:
        return "load"
    return "exchange" if wait.is_local else "spill"


def arithmetic(work: Work, device: Device) -> Waiting:
    """What sub-groups wait for arithmetic."""
    counts = work.instructions
    times = None if counts is None else float(sum(n for name, n in counts.items() if name not in _NOT_ARITHMETIC))
    if times is not None and work.dependent_instructions is not None:
        times = work.dependent_instructions
    return Waiting("arithmetic", None, times, device.alu_latency_cycles)


def is_farther(work: Work, device: Device) -> bool:
    """True if loads come from DRAM, whose latency is not known; they are taken to wait for the L2."""
    return device.dram_latency_cycles is None and any(wait.past_l1 and wait.past_l2 for wait in work.waits or ())


def _of_load(wait: Wait, device: Device) -> float | None:
    later = _WAIT_PER_PASS * (wait.passes - 1)
    if wait.is_local:
        return amounts.total((device.slm_latency_cycles, later))
    l1, l2, dram = device.l1_latency_cycles, device.l2_latency_cycles, device.dram_latency_cycles
    if wait.past_l1 is None or wait.past_l2 is None or l1 is None or l2 is None:
        return None
    return l1 + wait.past_l1 * (l2 - l1 + wait.past_l2 * ((dram or l2) - l2)) + later


def _at_barriers(work: Work, device: Device) -> Waiting:
    """At a barrier sub-groups wait for its latency, and until those of the work-group have arrived one by one."""
    per_group = work.sub_groups / work.groups
    late = (device.barrier_cycles_per_sub_group or 0.0) * per_group
    times = amounts.product(work.barriers, per_group)
    return Waiting("barriers", None, times, amounts.total((device.barrier_latency_cycles, late)))
