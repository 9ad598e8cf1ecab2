"""Ordering: which commands of a program come before others, and what they may not share if nobody orders them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import SourceLocation

_WINDOW = 256
"""The last commands that are compared with a new one; those before are taken to be over."""


@dataclasses.dataclass(eq=False)
class CommandAccess:
    """What a command, or the host, does with a memory.

    Attributes:
      name: by which the kernel knows the memory, empty elsewhere.
      by: the kernel's name, or what it is.
      place: in the user's file.
      memory: the memory.
      writes: True if it is changed.
      at: where what is accessed begins, in bytes.
      since: of the host's, where the buffer begins that has the memory.
      contents: of what a kernel writes the bytes before and after it, None where they are not at hand.
    """

    name: str
    by: str
    place: SourceLocation
    memory: Memory
    writes: bool
    at: int = 0
    contents: tuple[Any, Any] | None = None
    since: SourceLocation | None = None

    def changed(self) -> np.ndarray | None:
        """Which bytes have been changed; None where that is not known."""
        if self.contents is None:
            return None
        before, after = (np.asarray(c).reshape(-1).view(np.uint8) for c in self.contents)
        return before != after if before.size == after.size else None


@dataclasses.dataclass(frozen=True, eq=False)
class BlockingAccessor:
    """A host accessor for whose end a command waits.

    Attributes:
      memory: the buffer's.
      writes: True if the command writes to it.
      place: where the host accessor begins.
    """

    memory: Memory
    writes: bool
    place: SourceLocation


@dataclasses.dataclass(frozen=True, eq=False)
class Discard:
    """Some bytes of a memory whose contents are of no use to an accessor that is made at a place."""

    memory: Memory
    at: int
    size: int
    place: SourceLocation

    def apply(self) -> None:
        """From now on nobody has written these bytes."""
        self.memory.fill(self.at, UNKNOWN, self.size)
        self.memory.discarded = self.place


@dataclasses.dataclass(eq=False)
class Command:
    """What is submitted to a queue at once.

    Attributes:
      number: its event's.
      queue: its queue's.
      place: where it is submitted.
      before: the commands that come before it, by number.
      uses: the memories of its accessors, and those made for it, each with true if it is changed.
      launched: the kernels that it has launched, each with its `time_s`.
      accesses: what it does with memories.
      blocked: the host accessor for whose end it waits.
      discards: what is of no use to some of its accessors.
      needed: the memories whose contents its other accessors need.
    """

    number: int
    queue: Any
    place: SourceLocation
    before: set[int] = dataclasses.field(default_factory=set)
    uses: list[tuple[Memory, bool]] = dataclasses.field(default_factory=list)
    launched: list[Any] = dataclasses.field(default_factory=list)
    accesses: list[CommandAccess] = dataclasses.field(default_factory=list)
    blocked: BlockingAccessor | None = None
    discards: list[Discard] = dataclasses.field(default_factory=list)
    needed: set[Memory] = dataclasses.field(default_factory=set)


@dataclasses.dataclass(eq=False)
class CommandOrder:
    """The commands of a program.

    Attributes:
      found: called with two accesses that conflict and that nothing orders.
      commands: those that have been submitted; command n has the event n + 1.
      done: those for which the host has waited.
    """

    found: Callable[[CommandAccess, CommandAccess], None]
    commands: list[Command] = dataclasses.field(default_factory=list)
    done: set[int] = dataclasses.field(default_factory=set)

    def close(self, command: Command, in_order: bool) -> None:
        """A command is put together: it is ordered after others, and compared with the rest."""
        command.number = len(self.commands) + 1
        before = set(self.done)
        for number in command.before:
            if 0 < number <= len(self.commands):
                before |= {number, *self.commands[number - 1].before}
        for other in self.commands[-_WINDOW:]:
            same_queue = in_order and other.queue == command.queue
            if other.number not in before and (same_queue or _share(other, command)):
                before |= {other.number, *other.before}
        command.before = {n for n in before if n >= command.number - _WINDOW}
        for other in self.commands[-_WINDOW:]:
            if other.number not in before:
                self._compare(other, command)
        self.commands.append(command)

    def _compare(self, first: Command, second: Command) -> None:
        for a in first.accesses:
            for b in second.accesses:
                if a.memory is b.memory and _conflict(a, b):
                    self.found(a, b)

    def wait(self, numbers: set[int]) -> None:
        for number in numbers:
            if 0 < number <= len(self.commands):
                self.done |= {number, *self.commands[number - 1].before}

    def of_queue(self, queue: Any) -> set[int]:
        return {c.number for c in self.commands if c.queue == queue}

    def using(self, memory: Memory) -> set[int]:
        return {c.number for c in self.commands if any(m is memory for m, _ in c.uses)}

    def pending(self, memory: Memory, writes: bool) -> CommandAccess | None:
        """An access of a command for which the host has not waited, and that conflicts with one of the host's."""
        for command in self.commands[-_WINDOW:]:
            if command.number not in self.done:
                for access in command.accesses:
                    if access.memory is memory and (writes or access.writes):
                        return access
        return None


def _share(a: Command, b: Command) -> bool:
    """True if two commands have accessors to one buffer, and one changes it."""
    return any(m is n and (v or w) for m, v in a.uses for n, w in b.uses)


def _conflict(a: CommandAccess, b: CommandAccess) -> bool:
    """True if two accesses may touch the same bytes, and one changes them."""
    if not (a.writes or b.writes):
        return False
    first, second = (x.changed() if x.writes else None for x in (a, b))
    if first is not None and second is not None:
        return bool(first.size == second.size and (first & second).any())
    changed, other = (first, b) if first is not None else (second, a)
    if changed is None or a.at == b.at:
        return True
    return bool(changed[other.at :].any()) and other.at > min(a.at, b.at)
