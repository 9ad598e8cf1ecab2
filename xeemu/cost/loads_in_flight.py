"""Loads in flight: where sub-groups wait for few loads at a time, and what would have more of them under way."""

from collections.abc import Iterator, Sequence

from xeemu.cost.advice import Advice, Evidence
from xeemu.cost.latency import Waiting
from xeemu.cost.trials import WhatIf
from xeemu.cost.unrolling import UNROLLED
from xeemu.devices.device import Device

KIND = "loads one by one"

# The share of the latency from which a line is worth a word, and how often each sub-group waits there at least: what it
# waits for once, others hide.
_SHARE = 0.1
_OFTEN = 2


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do where each load waits for the one before it; of the loads of one line in one piece of advice."""
    lines: dict[tuple[str, int], list[Waiting]] = {}
    for wait in evidence.waits:
        if wait.site is not None and _is_alone(wait, evidence):
            lines.setdefault((wait.site.file, wait.site.line), []).append(wait)
    yield from (_of_line(waits, evidence.device) for waits in lines.values())


def _is_alone(wait: Waiting, evidence: Evidence) -> bool:
    """True if sub-groups wait long and often for a load with few others under way."""
    if wait.site is None or wait.site.space == "local" or (wait.share or 0.0) < _SHARE:
        return False
    in_flight, sub_groups = _in_flight(wait), evidence.groups * evidence.sub_groups
    return in_flight is not None and in_flight <= UNROLLED / 2 and (wait.times or 0.0) >= _OFTEN * sub_groups


def _of_line(waits: Sequence[Waiting], device: Device) -> Advice:
    sites = tuple(wait.site for wait in waits if wait.site is not None)
    each = [f"{wait.cycles_each:.0f} cycles" for wait in waits]
    if len(waits) > 1:
        each = [f"{cycles} for {site.memory}" for cycles, site in zip(each, sites, strict=True)]
    share, loads = sum(wait.share or 0.0 for wait in waits), max(_in_flight(wait) or 0.0 for wait in waits)
    # A compiler that unrolls only short loops whole leaves the others to the kernel.
    where = "in a loop with a constant number of iterations and without a barrier"
    if device.longest_unrolled_loop is not None:
        where = "in one iteration and without a barrier in between"
    text = (
        f"Sub-groups wait {' and '.join(each)} here each time, {100 * share:.0f} % of all that they wait, with "
        f"{loads:.3g} loads under way. Load what {UNROLLED} iterations need before the first of it is used, {where}, "
        "or as several elements of a work-item at once."
    )
    return Advice(KIND, sites, text, WhatIf(overlapped=sites), minor=True)


def _in_flight(wait: Waiting) -> float | None:
    """Loads that a sub-group has under way at a time; None if it is not known."""
    if wait.site is None or not wait.site.requests or not wait.times or wait.cycles_each is None:
        return None
    # At a barrier those wait too that load nothing.
    return max(1.0, wait.site.requests / wait.times)
