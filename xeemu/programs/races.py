"""Races: launches that nothing orders and that share memory, and the host's accesses before it has waited."""

import dataclasses
import linecache

from xeemu.faults.findings import DATA_RACE, ERROR, Finding, Findings
from xeemu.frontends.hosting import memories
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import DEVICE, Memory
from xeemu.frontends.hosting.ordering import Access
from xeemu.frontends.tree import Place
from xeemu.language.source import Site
from xeemu.programs import naming

_AFTER = (
    "give the second one the event of the first, h.depends_on(event), wait between them, or make the queue in_order"
)


@dataclasses.dataclass(eq=False)
class Races:
    """What is found while a program runs.

    Attributes:
      machine: that runs it.
      seen: by the lines and the memory, how often.
      over: whether the program has ended, so that nobody accesses anything.
    """

    machine: Machine
    seen: dict[tuple[Place, Place, str], tuple[Access, Access, int]] = dataclasses.field(default_factory=dict)
    over: bool = False

    def found(self, first: Access, second: Access) -> None:
        """Two accesses conflict that nothing orders."""
        key = first.place, second.place, self._name(first, second)
        count = self.seen[key][2] if key in self.seen else 0
        self.seen[key] = first, second, count + 1

    def touched(self, memory: Memory, writes: bool) -> None:
        """The host's code, or a command that copies or fills, accesses memory.

        Errors: `xe.KernelError` for memory that the host cannot access, or that has been freed.
        """
        if self.over:
            return
        if memory.freed:
            name = self._name_of(memory) or "memory"
            raise self.machine.refuse(f"{name} is accessed here, but has been freed; free it after its last use")
        queues = self.machine.commands
        pending = queues.touch(memory, writes)
        if queues.open:
            return
        if memory.kind == DEVICE:
            name = self._name_of(memory)
            raise self.machine.refuse(
                f"the host accesses {name or 'memory'} of malloc_device, which only kernels can (SYCL 2020, 4.8.2); "
                "copy it by q.memcpy(...).wait(), or allocate it by malloc_shared"
            )
        if pending is not None:
            self.found(pending, Access("", "the host", self.machine.place, memory, writes))
        else:
            memories.watch(memory, None)

    def findings(self) -> Findings:
        return Findings([_finding(first, second, key[2], n) for key, (first, second, n) in self.seen.items()])

    def _name(self, first: Access, second: Access) -> str:
        return self._name_of(first.memory) or first.name or second.name

    def _name_of(self, memory: Memory) -> str:
        return next((n for n, (m, _, _) in naming.memories(self.machine).items() if m is memory), "")


def _finding(first: Access, second: Access, name: str, count: int) -> Finding:
    host = second.by == "the host"
    head = f"{first.by} {_does(first)} {name or 'memory'}, and {second.by} {_does(second)} it"
    why = "before it has waited for the command" if host else "and nothing orders the two"
    what = "wait first: event.wait() or q.wait()" if host else _AFTER
    sites = (_site(first.place), _site(second.place))
    lines = "\n".join(f"  {site}" for site in sites)
    text = f"data race: {head}{' ' if host else ', '}{why}\n{lines}\n  {what}"
    return Finding(DATA_RACE, ERROR, "global", name, sites, None, (), (), count, text)


def _does(access: Access) -> str:
    return "writes" if access.writes else "reads"


def _site(place: Place) -> Site:
    return Site(place.file, place.line, linecache.getline(place.file, place.line).strip())
