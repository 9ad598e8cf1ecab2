"""Races: launches that nothing orders and that share memory, and the host's accesses before it has waited."""

import dataclasses

from xeemu.faults.findings import DATA_RACE, ERROR, Finding
from xeemu.frontends.hosting import words
from xeemu.frontends.hosting.buffers import BufferedMemory
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import DEVICE, Memory
from xeemu.frontends.hosting.ordering import CommandAccess
from xeemu.frontends.tree import SourceLocation
from xeemu.programs import naming
from xeemu.programs.frees import Frees

_AFTER = (
    "give the second one the event of the first, h.depends_on(event), wait between them, or make the queue in_order"
)
BUFFER, VIEW = "a buffer", "a host accessor"


@dataclasses.dataclass(eq=False)
class Races:
    """What is found while a program runs.

    Attributes:
      machine: that runs it.
      frees: what it frees.
      seen: by the lines and the memory, how often.
      over: True once the program has ended; accesses are not recorded from then on.
    """

    machine: Machine
    frees: Frees
    seen: dict[tuple[SourceLocation, SourceLocation, str], tuple[CommandAccess, CommandAccess, int]] = (
        dataclasses.field(default_factory=dict)
    )
    over: bool = False

    def found(self, first: CommandAccess, second: CommandAccess) -> None:
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
            self.frees.used(memory, "a copy, fill or host task uses" if self.machine.commands.open else "the host uses")
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
        held = queues.buffers.conflict(memory, writes)
        if held is not None:
            self._held(held, memory, writes)
        elif queues.buffers.is_held(memory):
            return
        elif pending is not None:
            self.found(pending, CommandAccess("", "the host", self.machine.place, memory, writes))
        else:
            words.watch(memory, None)

    def _held(self, held: BufferedMemory, memory: Memory, writes: bool) -> None:
        """The host accesses a buffer's memory, which shows what is in the buffer when that has ended."""
        since = held.views[-1][0] if held.late is not None else held.place
        assert since is not None
        first = held.late or held.written or CommandAccess("", BUFFER, since, memory, True)
        by = VIEW if held.late is not None else "the host"
        self.found(first, CommandAccess("", by, self.machine.place, memory, writes, since=since))

    def findings(self) -> list[Finding]:
        return [_finding(first, second, key[2], n) for key, (first, second, n) in self.seen.items()]

    def _name(self, first: CommandAccess, second: CommandAccess) -> str:
        return naming.name_of(self.machine, first.memory) or first.name or second.name


def _finding(first: CommandAccess, second: CommandAccess, name: str, count: int) -> Finding:
    if second.since is not None:
        return _held_by(first, second, second.since, name, count)
    host = second.by == "the host"
    head = f"{first.by} {_does(first)} {name or 'memory'}, and {second.by} {_does(second)} it"
    why = "before it has waited for the command" if host else "and nothing orders the two"
    what = "wait first: event.wait() or q.wait()" if host else _AFTER
    sites = (naming.site(first.place), naming.site(second.place))
    lines = "\n".join(f"  {site}" for site in sites)
    text = f"data race: {head}{' ' if host else ', '}{why}\n{lines}\n  {what}"
    return Finding(DATA_RACE, ERROR, "global", name, sites, None, (), (), count, text)


def _held_by(first: CommandAccess, second: CommandAccess, since: SourceLocation, name: str, count: int) -> Finding:
    """The host's access to memory that a buffer has."""
    what = f"data race: the host {_does(second)} {name or 'memory'}"
    after = "" if first.by == BUFFER else f", after {first.by} has written to it"
    head = f"{what} while the buffer of line {since.line} has it{after}"
    advice = "the buffer writes back where it ends; use sycl::host_accessor, or end the buffer's scope before"
    if second.by == VIEW:
        waits = f"{first.by} has been submitted, which waits for the accessor's end"
        head = f"{what} by the host accessor of line {since.line}, after {waits}"
        advice = "end the host accessor's scope before the kernel is submitted"
    sites = tuple(dict.fromkeys(map(naming.site, (since, first.place, second.place))))
    lines = "\n".join(f"  {site}" for site in sites)
    return Finding(DATA_RACE, ERROR, "global", name, sites, None, (), (), count, f"{head}\n{lines}\n  {advice}")


def _does(access: CommandAccess) -> str:
    return "writes" if access.writes else "reads"
