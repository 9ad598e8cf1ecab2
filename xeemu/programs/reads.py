"""Reads: of memory that nobody has written, by the host, and by kernels as `xe.check` finds them."""

import dataclasses
from collections.abc import Mapping

from xeemu.faults.findings import ERROR, UNINITIALIZED_READ, Finding, Findings
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Type
from xeemu.programs import naming

_WRITE = "Write it first: on the host, by a copy or a fill, or in a kernel for which the host has waited."
_OR_MADE = ", or a kernel only with what it made of such memory"
_KEEP = "Or leave out no_init: an accessor with it, or of a mode that discards, does not keep what was there."


@dataclasses.dataclass(eq=False)
class Reads:
    """What the host has read of memory that nobody has written.

    Attributes:
      machine: that runs the program.
      seen: by the line and the memory the offset of the first such value, in bytes, and how many there were.
    """

    machine: Machine
    seen: dict[tuple[SourceLocation, Memory], tuple[int, int]] = dataclasses.field(default_factory=dict)

    def missed(self, memory: Memory, at: int, of: Type) -> None:
        """The host reads a value that nobody has written."""
        self.count(memory, at, 1)

    def count(self, memory: Memory, at: int, count: int) -> None:
        """The host reads values that nobody has written, the first of them at an offset in bytes."""
        first, before = self.seen.get((self.machine.place, memory), (at, 0))
        self.seen[self.machine.place, memory] = first, before + count

    def findings(self) -> list[Finding]:
        return [self._finding(place, memory, *seen) for (place, memory), seen in self.seen.items()]

    def _finding(self, place: SourceLocation, memory: Memory, at: int, count: int) -> Finding:
        name, address, part = naming.part(self.machine, memory, at)
        origins = naming.origins(memory)
        sites = [naming.site(place), *map(naming.site, origins.values())]
        lines = [f"  {what} {site}" for what, site in zip(("read", *origins), sites, strict=True)]
        unset = "which nobody has written" + (_OR_MADE if memory.changed else "")
        head = f"{ERROR}: {UNINITIALIZED_READ}: the host reads {name or 'memory'}{part}, {unset}"
        text = "\n".join([head, *lines, f"  {_WRITE}", *_keep(origins)])
        return Finding(UNINITIALIZED_READ, ERROR, "global", name, tuple(sites), address, (), (), count, text)


def located(found: Findings, origins: Mapping[str, Mapping[str, SourceLocation]]) -> Findings:
    """Findings of a launch in which uninitialised reads tell the origins of the memory, by parameters."""
    made = [_located(f, origins) for f in found]
    return Findings(made, found.proved, found.watched)


def _located(finding: Finding, origins: Mapping[str, Mapping[str, SourceLocation]]) -> Finding:
    places = origins.get(finding.memory)
    if finding.kind != UNINITIALIZED_READ or finding.space != "global" or not places:
        return finding
    sites = tuple(map(naming.site, places.values()))
    lines = finding.text.splitlines()
    end = max((k for k, line in enumerate(lines) if line.startswith("    ")), default=0) + 1
    more = (f"  {what} {site}" for what, site in zip(places, sites, strict=True))
    text = "\n".join([*lines[:end], *more, *lines[end:], *_keep(places)])
    return dataclasses.replace(finding, sites=(*finding.sites, *sites), text=text)


def _keep(origins: Mapping[str, SourceLocation]) -> list[str]:
    """What else to do where contents have been discarded."""
    return [f"  {_KEEP}"] if "discarded" in origins else []
