"""Uses: the accesses of an example of a finding, with who makes them, and the elements that they touch, in words."""

import dataclasses
from collections.abc import Iterable, Sequence

from xeemu.faults.findings import WorkItem
from xeemu.language.source import Site

_MOST_CALLS = 3


@dataclasses.dataclass(frozen=True)
class ExampleAccess:
    """An access of an example.

    Attributes:
      what: `"load"`, `"store"`, or `"atomic add"` and so on, with a scope where it matters.
      site: its line.
      item: who executes it.
      calls: what is said of the lines that called the function in which it is, the innermost first.
    """

    what: str
    site: Site
    item: WorkItem
    calls: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What is shown of it."""
        return [f"  {self.what} {self.site}", *indented(self.calls), f"    by {self.item}"]


def called_from(chains: Sequence[Sequence[Site]]) -> tuple[str, ...]:
    """What is said of the calls that lead to a line, the innermost first; of several ways one, and others' first."""
    if not chains:
        return ()
    others = [f"or from {chain[0]}" for chain in chains[1:_MOST_CALLS]]
    more = len(chains) - _MOST_CALLS
    return (
        *(f"called from {site}" for site in chains[0]),
        *others,
        *([f"or by {more} other calls"] if more > 0 else []),
    )


@dataclasses.dataclass(frozen=True)
class Element:
    """An element of a memory: what it belongs to, and its index; none of what is a variable to its language."""

    space: str
    memory: str
    address: tuple[int, ...]

    def __str__(self) -> str:
        if not self.address:
            return f"{self.space} memory {self.memory}"
        return f"{self.space} memory {self.memory}[{', '.join(map(str, self.address))}]"


def indented(lines: Iterable[str]) -> list[str]:
    """Lines as they stand under the line that they tell of."""
    return [f"    {line}" for line in lines]
