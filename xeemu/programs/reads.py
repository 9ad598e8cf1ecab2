"""Reads: of memory that nobody has written, by the host, and by kernels as `xe.check` finds them."""

import dataclasses
from collections.abc import Mapping

from xeemu.faults.findings import ERROR, UNINITIALIZED_READ, Finding, Findings
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.tree import Place
from xeemu.frontends.types import Type
from xeemu.programs import naming

_WRITE = "Write it first: on the host, by a copy or a fill, or in a kernel for which the host has waited."


@dataclasses.dataclass(eq=False)
class Reads:
    """What the host has read of memory that nobody has written.

    Attributes:
      machine: that runs the program.
      seen: by the line and the memory the offset of the first such value, in bytes, and how many there were.
    """

    machine: Machine
    seen: dict[tuple[Place, Memory], tuple[int, int]] = dataclasses.field(default_factory=dict)

    def missed(self, memory: Memory, at: int, of: Type) -> None:
        """The host reads a value that nobody has written."""
        self.count(memory, at, 1)

    def count(self, memory: Memory, at: int, count: int) -> None:
        """The host reads values that nobody has written, the first of them at an offset in bytes."""
        first, before = self.seen.get((self.machine.place, memory), (at, 0))
        self.seen[self.machine.place, memory] = first, before + count

    def findings(self) -> list[Finding]:
        return [self._finding(place, memory, *seen) for (place, memory), seen in self.seen.items()]

    def _finding(self, place: Place, memory: Memory, at: int, count: int) -> Finding:
        name, address, part = naming.part(self.machine, memory, at)
        sites = [naming.site(place), *([naming.site(memory.made)] if memory.made is not None else [])]
        lines = [f"  read {sites[0]}", *(f"  allocated {site}" for site in sites[1:])]
        head = f"{ERROR}: {UNINITIALIZED_READ}: the host reads {name or 'memory'}{part}, which nobody has written"
        text = "\n".join([head, *lines, f"  {_WRITE}"])
        return Finding(UNINITIALIZED_READ, ERROR, "global", name, tuple(sites), address, (), (), count, text)


def located(found: Findings, origins: Mapping[str, Place]) -> Findings:
    """Findings of a launch in which uninitialised reads tell where the memory has been allocated, by parameters."""
    made = [_located(f, origins) for f in found]
    return Findings(made, found.proved, found.watched)


def _located(finding: Finding, origins: Mapping[str, Place]) -> Finding:
    place = origins.get(finding.memory)
    if finding.kind != UNINITIALIZED_READ or finding.space != "global" or place is None:
        return finding
    site = naming.site(place)
    lines = finding.text.splitlines()
    end = max((k for k, line in enumerate(lines) if line.startswith("    ")), default=0) + 1
    text = "\n".join([*lines[:end], f"  allocated {site}", *lines[end:]])
    return dataclasses.replace(finding, sites=(*finding.sites, site), text=text)
