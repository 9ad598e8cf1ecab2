"""Timing: how long a launch would take, from its counts, the device's figures and the work-groups in flight.

Each resource of the device gives one *term* (see `terms`). They overlap, as many work-groups run at once, but not
perfectly: where two of them are near each other, they get in each other's way. The launch takes

    cycles = (sum of cycles_r ** 3 over the resources r) ** (1/3)

which is the largest term where it dominates, and 26 % more than each of two equal ones.

SLM, L1 and barriers add up before the sum of cubes: SLM and L1 are one memory behind one port, and what arrives at a
barrier queues behind the passes of others. Of L2 and DRAM the longer counts: what goes to DRAM goes through the L2, and
the share of DRAM's bandwidth that streams reach is measured through it. What sub-groups wait for arithmetic, and the
issue of the instructions that hides it, are two views of the same cycles, which count once.

Work-groups that start together go through the phases of a program one after the other (see `phases`), so that their
times add up; later waves start apart. A share of 1 / waves of what adding up takes longer is taken to remain. A group's
own phases never overlap: on an Xe core that holds R groups, a share of 1 / R of what adding up what they take of that
core takes longer. Other cores may be in other phases, so that what all of them share overlaps. The longer counts.

Two numbers are xeemu's own, the same for all devices and kernels: the power 3, and the four loads in flight to which
compilers unroll counted loops (in `waiting`). All else is counted, or a figure of the device with its source. The
script `validate` holds the model against a GPU's times.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xeemu.cost import amounts, latency, pipes, terms
from xeemu.cost.latency import Waiting
from xeemu.cost.terms import Term
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device

# A count that need not be there.
_OPTIONAL = ("l1_passes", "dependent_instructions")
_OVERLAP = 3
_PORT = ("SLM", "L1", "barriers")
_PATH = ("L2", "DRAM")
# What an Xe core has of its own, and what is used by groups that were launched.
_OF_CORE = ("issue", "SLM", "L1", "barriers", "latency")
_STARTED = (*_OF_CORE, *_PATH, "atomics")


@dataclasses.dataclass(frozen=True)
class Timing:
    """The predicted time of a launch.

    Attributes:
      terms: one for each resource, in the order of the table in `terms`.
      cycles: of the launch; None if no term with work is known, or if a count is missing that might decide it. A term
        for which the device has no figure is left out, so that this is then a lower bound: `unknown` says of which.
      time_s: the same in seconds, without the overhead of submitting it (`Device.launch_overhead_s`).
      bound: the resource with the largest term.
      unknown: resources that the launch uses and whose term is not known, and what is left out of a term.
      waits: what sub-groups wait for, the longest first; empty if it is not known how often they load.
      overstated: memories of which data decide what is accessed again; it could be less time than nothing, as is taken.
      understated: memories of which data decide where they are stored to or updated; it could be more time than
        everywhere, as is taken.
      l2_held_bytes: as in `Work`.
    """

    terms: tuple[Term, ...]
    cycles: float | None
    time_s: float | None
    bound: str | None
    unknown: tuple[str, ...]
    waits: tuple[Waiting, ...] = ()
    overstated: tuple[str, ...] = ()
    understated: tuple[str, ...] = ()
    l2_held_bytes: float = 0.0

    @property
    def missing(self) -> tuple[str, ...]:
        """What the launch uses and the device has no figure for, so that it is left out of the time."""
        return terms.missing(self.terms)


UNTIMED = Timing((), None, None, None, ())
"""Of a launch without work-groups."""


def predict(work: Work, device: Device, resident_groups: float | None) -> Timing:
    """Predicts the time of a launch.

    Args:
      work: what it does.
      device: the modelled device.
      resident_groups: work-groups that an Xe core holds at a time; None if it is not known.
    """
    found = _used(work, device, resident_groups)
    alone, cycles = found.alone, _cycles(found, work, device, resident_groups)
    return Timing(
        terms=tuple(dataclasses.replace(term, share=amounts.quotient(term.cycles, cycles)) for term in found.terms),
        cycles=cycles,
        time_s=amounts.quotient(cycles, device.clock_hz),
        bound=None if cycles is None else max(alone, key=lambda resource: alone[resource]),
        unknown=tuple(name for term in found.terms for name in term.unknown),
        waits=latency.shared(found.waits or ()),
        overstated=work.reused,
        understated=work.scattered,
        l2_held_bytes=work.l2_held_bytes,
    )


def cycles(work: Work, device: Device, resident_groups: float | None) -> float | None:
    """The cycles of `predict` alone."""
    return _cycles(_used(work, device, resident_groups), work, device, resident_groups)


class _Used(NamedTuple):
    """What a launch takes of each resource.

    Attributes:
      terms: one for each.
      waits: what sub-groups wait for; None if it is not known how often they load.
    """

    terms: tuple[Term, ...]
    waits: tuple[Waiting, ...] | None

    @property
    def alone(self) -> dict[str, float]:
        """The cycles of each resource that it uses."""
        return {term.resource: term.cycles for term in self.terms if term.cycles}


def _used(work: Work, device: Device, resident_groups: float | None) -> _Used:
    waits = latency.waits(work, device)
    return _Used(terms.of_work(work, device, resident_groups, waits), waits)


def _cycles(found: _Used, work: Work, device: Device, resident_groups: float | None) -> float | None:
    alone = found.alone
    if not alone or _is_uncounted(found.terms, work, device, resident_groups):
        return None
    in_flight = terms.in_flight(work, device, resident_groups)
    arithmetic = amounts.quotient(latency.arithmetic(work, device).cycles, in_flight) or 0.0
    cycles = _overlapped(alone, arithmetic)
    if in_flight is None or resident_groups is None:
        return cycles
    together = _in_phases(alone, arithmetic, work.phases, _STARTED) - cycles
    on_a_core = _in_phases(alone, arithmetic, work.phases, _OF_CORE) - cycles
    return cycles + max(0.0, together * in_flight / work.sub_groups, on_a_core / max(1.0, resident_groups))


def _is_uncounted(found: Sequence[Term], work: Work, device: Device, resident_groups: float | None) -> bool:
    """True if a term is not known as something was not counted, which may be any amount; what a device has no figure
    for is missing from all its launches alike."""
    counted = _as_if_counted(work, device)
    if counted is work:
        return False
    known = _used(counted, device, resident_groups).terms
    return any(a.cycles is None and b.cycles is not None for a, b in zip(found, known, strict=True))


def _as_if_counted(work: Work, device: Device) -> Work:
    """The work with some amount for each count that is missing: its terms tell what the device has figures for."""
    without = set(_OPTIONAL)
    without |= set() if device.l2_bytes else {"dram_bytes"}
    without |= {"dram_pages"} if device.dram_pages_per_cycle is None else set()
    some: dict[str, Any] = {"instructions": dict.fromkeys(pipes.CLASSES, 1), "waits": (Wait(requests=1, rounds=1),)}
    missing = {name: some.get(name, 1) for name, n in vars(work).items() if n is None and name not in without}
    if work.waits is not None and any(None in (wait.past_l1, wait.past_l2) for wait in work.waits):
        missing["waits"] = tuple(map(_as_if_known, work.waits))
    return dataclasses.replace(work, **missing) if missing else work


def _as_if_known(wait: Wait) -> Wait:
    shares = {"past_l1": wait.past_l1 or 0.0, "past_l2": wait.past_l2 or 0.0}
    return dataclasses.replace(wait, **shares)  # type: ignore[arg-type]


def _overlapped(alone: Mapping[str, float], arithmetic: float) -> float:
    """The cycles of what overlaps, of what each resource would take alone, and sub-groups wait for arithmetic."""
    port = sum(value for resource, value in alone.items() if resource in _PORT)
    path = max((value for resource, value in alone.items() if resource in _PATH), default=0.0)
    others = (value for resource, value in alone.items() if resource not in (*_PORT, *_PATH))
    resources = [port, path, *others]
    largest = max(resources)
    if not largest:
        return 0.0
    # Divided by the largest first, since the cube of a long launch's cycles need not fit a float's range.
    hidden = min(alone.get("issue", 0.0), arithmetic if "latency" in alone else 0.0)
    cubes = sum((value / largest) ** _OVERLAP for value in resources) - (hidden / largest) ** _OVERLAP
    return largest * cubes ** (1 / _OVERLAP)


def _in_phases(
    alone: Mapping[str, float], arithmetic: float, phases: Sequence[Mapping[str, float]], resources: Sequence[str]
) -> float:
    """The cycles if what phases use of some resources does not overlap with what others use of them."""
    each = [{name: alone[name] * phase.get(name, 0.0) for name in resources if name in alone} for phase in phases]
    cycles = sum(
        _overlapped(works, arithmetic * phase.get("issue", 0.0)) for works, phase in zip(each, phases, strict=True)
    )
    return _overlapped({**{name: alone[name] for name in alone if name not in resources}, "phases": cycles}, 0.0)
