"""Buffers: the host's memories that buffers have, and the host accessors by which the host accesses them."""

import dataclasses
from typing import Any

from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.hosting.ordering import CommandAccess
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import SourceLocation


@dataclasses.dataclass(eq=False)
class BufferedMemory:
    """A memory that buffers, or host accessors, have.

    Attributes:
      place: where the first buffer begins; None of memory that is a buffer's own.
      buffers: how many there are.
      views: the host accessors that there are: where each begins, and true of one that may write.
      written: what a command has written to it since the buffer began.
      late: what a command does with it that waits for the end of a host accessor.
    """

    place: SourceLocation | None = None
    buffers: int = 0
    views: list[tuple[SourceLocation, bool]] = dataclasses.field(default_factory=list)
    written: CommandAccess | None = None
    late: CommandAccess | None = None


@dataclasses.dataclass(eq=False)
class Buffers:
    """The memories of buffers and host accessors."""

    known: dict[Memory, BufferedMemory] = dataclasses.field(default_factory=dict)

    def begin(self, memory: Memory, place: SourceLocation) -> BufferedMemory:
        """One more buffer has a memory."""
        held = self.known.setdefault(memory, BufferedMemory())
        held.place = held.place or place
        held.buffers += 1
        return held

    def end(self, memory: Memory) -> bool:
        """A buffer ends; True if it was the last one that had the memory."""
        held = self.known.get(memory)
        if held is None or held.buffers == 0:
            return False
        held.buffers -= 1
        if held.buffers == 0:
            held.place = held.written = None
        return held.buffers == 0

    def view(self, memory: Memory, place: SourceLocation, writes: bool) -> None:
        """A host accessor begins."""
        self.known.setdefault(memory, BufferedMemory()).views.append((place, writes))

    def end_view(self, memory: Memory, writes: bool) -> None:
        held = self.known.get(memory)
        for k in reversed(range(len(held.views) if held is not None else 0)):
            assert held is not None
            if held.views[k][1] == writes:
                del held.views[k]
                held.late = held.late if held.views else None
                return

    def viewed(self, memory: Memory, writes: bool) -> SourceLocation | None:
        """Where the host accessor begins for whose end a command has to wait; None if it need not."""
        held = self.known.get(memory)
        return next((place for place, other in held.views if writes or other), None) if held is not None else None

    def used(self, access: CommandAccess, blocked: bool) -> None:
        """A command accesses a memory, or, if it is blocked, will do so when host accessors have ended."""
        held = self.known.get(access.memory)
        if held is not None and held.buffers and access.writes:
            held.written = access
        if held is not None and held.views and blocked:
            held.late = access

    def conflict(self, memory: Memory, writes: bool) -> BufferedMemory | None:
        """The memory, if a buffer has it and no host accessor does, or a command waits, and the access is not right."""
        held = self.known.get(memory)
        if held is not None and held.late is not None:
            return held if writes or held.late.writes else None
        if held is None or not held.buffers or held.views:
            return None
        return held if writes or held.written is not None else None

    def is_held(self, memory: Memory) -> bool:
        held = self.known.get(memory)
        return held is not None and bool(held.buffers)


def known(pointer: Any) -> Memory | None:
    """The memory that a pointer points to, if that is known."""
    return None if pointer is UNKNOWN else pointer[0]
