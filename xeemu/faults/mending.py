"""Mending: the line after which one barrier orders several pairs of accesses that race."""

from collections.abc import Iterator, Sequence

from xeemu.faults.proofs import Spot
from xeemu.knowledge.access_tree import MemoryOperation, Node
from xeemu.language import source

Pair = tuple[Spot, Spot]
"""Two accesses, the one that came first in front."""


def common_line(root: Node, pairs: Sequence[Pair]) -> int | None:
    """The line after which a barrier of the work-group orders all pairs, in whatever iterations; None if none does.

    Args:
      root: the kernel.
      pairs: the accesses.
    """
    course = _Course(root)
    sites = {first.access_site.site: None for first, _ in pairs}
    for site in reversed(sites):
        ends = course.ends(site.line)
        if ends and all(course.orders(ends, pair) for pair in pairs):
            return site.line
    return None


class _Course:
    """The accesses of a kernel in order, with the places in between."""

    def __init__(self, root: Node):
        self._operations = list(root.operations())
        self._spots = [Spot.of(operation) for operation in self._operations]

    def ends(self, line: int) -> list[int]:
        """The numbers of the accesses behind each of which a line is over; none if not all work-items come there."""
        of_line = [spot.access_site.site.line == line for spot in self._spots]
        nodes = [operation.node for operation in self._operations]
        last = [k for k, own in enumerate(of_line) if own and not self._goes_on(of_line, nodes, k)]
        return [] if any(_is_divergent(self._operations[k]) for k in last) else last

    def _goes_on(self, of_line: Sequence[bool], nodes: Sequence[Node], k: int) -> bool:
        """True if the next access is a further part of the line, not of it begun anew, as in a loop written out."""
        if k + 1 >= len(of_line) or not of_line[k + 1] or nodes[k + 1] is not nodes[k]:
            return False
        before, after = (source.origin_of(self._operations[n].op) for n in (k, k + 1))
        return after is None or not after.begins_anew(before)

    def orders(self, ends: Sequence[int], pair: Pair) -> bool:
        """True if barriers at the ends of a line lie between the accesses of a pair, whenever both are executed."""
        first, second = ([k for k, spot in enumerate(self._spots) if spot == one] for one in pair)
        return all(self._are_apart(ends, i, j) for i in first for j in second)

    def _are_apart(self, ends: Sequence[int], i: int, j: int) -> bool:
        before, after = (list(_around(self._operations[k].node)) for k in (i, j))
        if i < j and not any(i <= k < j and self._operations[k].node in (*before, *after) for k in ends):
            return False
        loop = next((node for node in before if node.kind == "iteration" and node in after), None)
        if loop is None:
            return True
        # From one iteration to the next: behind the first access to the end of the body, or in front of the second one.
        inside = [(k, self._operations[k].node) for k in ends if loop in _around(self._operations[k].node)]
        return any((k >= i and node in before) or (k < j and node in after) for k, node in inside)


def _around(node: Node | None) -> Iterator[Node]:
    """A node and those around it, the innermost first."""
    while node is not None:
        yield node
        node = node.parent


def _is_divergent(operation: MemoryOperation) -> bool:
    """True if not all work-items need come to an access."""
    return operation.node.region(operation.key[1]) is not None
