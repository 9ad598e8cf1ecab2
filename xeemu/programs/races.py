"""Races: launches that nothing orders and that share memory, and the host's accesses before it has waited."""

import dataclasses

from xeemu.faults.findings import DATA_RACE, ERROR, Finding
from xeemu.frontends.hosting import words
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import DEVICE, Memory
from xeemu.frontends.hosting.ordering import Access
from xeemu.frontends.tree import Place
from xeemu.programs import naming
from xeemu.programs.lifetimes import Lifetimes

_AFTER = (
    "give the second one the event of the first, h.depends_on(event), wait between them, or make the queue in_order"
)


@dataclasses.dataclass(eq=False)
class Races:
    """What is found while a program runs.

    Attributes:
      machine: that runs it.
      lifetimes: of its memories.
      seen: by the lines and the memory, how often.
      over: whether the program has ended, so that nobody accesses anything.
    """

    machine: Machine
    lifetimes: Lifetimes
    seen: dict[tuple[Place, Place, str], tuple[Access, Access, int]] = dataclasses.field(default_factory=dict)
    over: bool = False

    def found(self, first: Access, second: Access) -> None:
        """Two accesses conflict that nothing orders."""
        key = first.place, second.place, self._name(first, second)
        count = self.seen[key][2] if key in self.seen else 0
        self.seen[key] = first, second, count + 1

    def touched(self, memory: Memory, writes: bool) -> None:
        """The host's code, or a command that copies or fills, accesses memory.

        Errors: `xe.KernelError` for memory that the host cannot access.
        """
        if self.over:
            return
        if memory.freed is not None:
            self.lifetimes.used(memory, "a copy or fill uses" if self.machine.commands.open else "the host uses")
            return
        queues = self.machine.commands
        pending = queues.touch(memory, writes)
        if queues.open:
            return
        if memory.kind == DEVICE:
            name = naming.name_of(self.machine, memory)
            raise self.machine.refuse(
                f"the host accesses {name or 'memory'} of malloc_device, which only kernels can (SYCL 2020, 4.8.2); "
                "copy it by q.memcpy(...).wait(), or allocate it by malloc_shared"
            )
        if pending is not None:
            self.found(pending, Access("", "the host", self.machine.place, memory, writes))
        else:
            words.watch(memory, None)

    def findings(self) -> list[Finding]:
        return [_finding(first, second, key[2], n) for key, (first, second, n) in self.seen.items()]

    def _name(self, first: Access, second: Access) -> str:
        return naming.name_of(self.machine, first.memory) or first.name or second.name


def _finding(first: Access, second: Access, name: str, count: int) -> Finding:
    host = second.by == "the host"
    head = f"{first.by} {_does(first)} {name or 'memory'}, and {second.by} {_does(second)} it"
    why = "before it has waited for the command" if host else "and nothing orders the two"
    what = "wait first: event.wait() or q.wait()" if host else _AFTER
    sites = (naming.site(first.place), naming.site(second.place))
    lines = "\n".join(f"  {site}" for site in sites)
    text = f"data race: {head}{' ' if host else ', '}{why}\n{lines}\n  {what}"
    return Finding(DATA_RACE, ERROR, "global", name, sites, None, (), (), count, text)


def _does(access: Access) -> str:
    return "writes" if access.writes else "reads"
