"""Frees: what a program frees and uses of its memories, and what of that is wrong."""

import dataclasses
from typing import Any

from xeemu.faults.findings import (
    ERROR,
    INVALID_FREE,
    LEAK,
    NOTE,
    OVERLAPPING_COPY,
    USE_AFTER_FREE,
    Finding,
    Findings,
)
from xeemu.frontends.hosting import words
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import OWN, USM, Address, Memory
from xeemu.frontends.hosting.ordering import CommandAccess
from xeemu.frontends.hosting.words import Words
from xeemu.frontends.tree import SourceLocation
from xeemu.programs import naming

_ONCE = "Free it once, where it was last used."
_LATER = "Free it after its last use."
_WAIT = "Wait before that, by q.wait() or event.wait(): sycl::free does not wait for commands."
_START = "Free the pointer that the allocation gave, and nothing else."


@dataclasses.dataclass(eq=False)
class Frees:
    """What is found while a program runs.

    Attributes:
      machine: that runs it.
      seen: the findings by their kind and lines.
    """

    machine: Machine
    seen: dict[Any, Finding] = dataclasses.field(default_factory=dict)

    def freed(self, address: Address, context: int | None) -> None:
        """Memory is freed: by `sycl::free` of a context, else by `std::free` or `delete`."""
        memory, at = address
        if memory is None:
            if at:
                self._add(INVALID_FREE, "", f"{at:#x} is freed, which no allocation has given", {}, _START)
            return
        name = naming.name_of(self.machine, memory)
        if (wrong := self._wrong(memory, at, context, name or "memory")) is not None:
            self._add(INVALID_FREE, name, wrong[0], _places(memory), wrong[1])
            return
        pending = self.machine.commands.ordering.pending(memory, True)
        if pending is not None and memory.kind in USM:
            self._under_way(memory, name, pending)
        memory.freed = self.machine.place
        if isinstance(memory, Words):
            words.watch(memory, self.machine.on_access)

    def _wrong(self, memory: Memory, at: Any, context: int | None, name: str) -> tuple[str, str] | None:
        """What is wrong with freeing an address, and what to do instead; None if nothing is."""
        if memory.freed is not None:
            return f"{name} is freed a second time", _ONCE
        if memory.made is None:
            return (
                f"{name} is freed, which is a variable",
                "Free what an allocation has given; variables end by themselves.",
            )
        if at:
            return f"a pointer to byte {at} of {name} is freed", _START
        if context is None and memory.kind in USM:
            return f"{name} is freed by std::free or delete, and is USM", "Free it by sycl::free(pointer, queue)."
        if context is not None and memory.kind == OWN:
            return (
                f"{name} is freed by sycl::free, and is the host's own",
                "Free it as it was made: free, delete, or not.",
            )
        if context is not None and context != memory.context:
            return (
                f"{name} is freed in another context than that of its allocation",
                "Give sycl::free the queue, or the context, that was given to the allocation.",
            )
        return None

    def _under_way(self, memory: Memory, name: str, pending: CommandAccess) -> None:
        places = {"used": pending.place, **_places(memory)}
        head = f"{name or 'memory'} is freed while {pending.by} may still use it"
        self._add(USE_AFTER_FREE, name, head, places, _WAIT)

    def used(self, memory: Memory, what: str) -> None:
        """Something uses memory that has been freed."""
        name = naming.name_of(self.machine, memory)
        self._add(USE_AFTER_FREE, name, f"{what} {name or 'memory'}, which has been freed", _places(memory), _LATER)

    def overlapped(self, to: Address, source: Address, size: int) -> None:
        """Bytes are copied whose source and target overlap."""
        assert to[0] is not None
        name = naming.name_of(self.machine, to[0])
        head = f"{size} bytes of {name or 'memory'} are copied from byte {source[1]} on to byte {to[1]}, and overlap"
        advice = "Copy by memmove, on the host, or through other memory: memcpy leaves that undefined."
        self._add(OVERLAPPING_COPY, name, head, {}, advice)

    def _add(self, kind: str, name: str, head: str, places: dict[str, SourceLocation], advice: str) -> None:
        here = self.machine.place
        sites = [naming.site(place) for place in (here, *places.values())]
        key = kind, name, tuple(sites)
        if key in self.seen:
            self.seen[key] = dataclasses.replace(self.seen[key], count=self.seen[key].count + 1)
            return
        lines = [f"  here {sites[0]}", *(f"  {what} {site}" for what, site in zip(places, sites[1:], strict=True))]
        text = "\n".join([f"{ERROR}: {kind}: {head}", *lines, f"  {advice}"])
        self.seen[key] = Finding(kind, ERROR, "global", name, tuple(sites), None, (), (), 1, text)

    def leaks(self) -> Findings:
        """Notes of the USM that has not been freed, one for each line that has allocated some."""
        counts: dict[SourceLocation, list[Memory]] = {}
        for memory in self.machine.heap:
            if memory.kind in USM and memory.freed is None and memory.made is not None:
                counts.setdefault(memory.made, []).append(memory)
        return Findings([_leak(place, some, naming.name_of(self.machine, some[0])) for place, some in counts.items()])


def _leak(place: SourceLocation, some: list[Memory], name: str) -> Finding:
    site, total = naming.site(place), sum(memory.size for memory in some)
    head = f"{NOTE}: {LEAK}: {total} bytes of {name or 'memory'} are never freed"
    text = f"{head}\n  allocated {site}\n  Free it by sycl::free(pointer, queue)."
    return Finding(LEAK, NOTE, "global", name, (site,), None, (), (), len(some), text)


def _places(memory: Memory) -> dict[str, SourceLocation]:
    known = {"freed": memory.freed, "allocated": memory.made}
    return {what: place for what, place in known.items() if place is not None}
