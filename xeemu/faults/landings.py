"""Landings: what values an index can have that comes from an operation that has wrapped.

Where some number of data and a small one are added, what wraps is near the least number of the type, and no address
within bounds: most arithmetic on indices that are loaded need not be followed as it runs.
"""

import dataclasses
from collections.abc import Iterator

from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.faults.paths import Graph, Node
from xeemu.faults.ranges import Ranges
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op
from xeemu.knowledge import intervals
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.intervals import Interval

# After so many iterations in which what a loop carries grows, it is taken to grow on alike for all that a check allows.
_PATIENCE = 3


def may_land(source: Key, graph: Graph, ranges: Ranges) -> bool:
    """True if the result of an operation that wraps may become an index within bounds."""
    op, operands = ranges.operations[source]
    given = [o or intervals.of_dtype(v.dtype) for o, v in zip(operands, op.used, strict=True)]
    exact, limits = intervals.of_op(op, given), intervals.of_dtype(op.results[0].dtype)
    assert limits is not None
    parts = [None] if exact is None else list(_wrapped(exact, limits))
    return any(_Landing(graph, ranges).lands((source[0], op.results[0]), part) for part in parts)


def _wrapped(exact: Interval, limits: Interval) -> Iterator[Interval | None]:
    """What becomes of the parts of an interval beyond the limits of a type; None for any value."""
    span = limits[1] - limits[0] + 1
    for beyond, shift in (((limits[1] + 1, exact[1]), -span), ((exact[0], limits[0] - 1), span)):
        if beyond[0] <= beyond[1]:
            moved = (beyond[0] + shift, beyond[1] + shift)
            yield moved if intervals.within(moved, limits) else None


@dataclasses.dataclass(frozen=True)
class _Reached:
    """What a value can be.

    Attributes:
      values: an interval; None for any value.
      visits: how often it has grown.
      most: of what a loop carries the interval in the iteration after the last, once it is known how it grows.
    """

    values: Interval | None
    visits: int = 1
    most: Interval | None = None

    def joined(self, values: Interval | None, carried: bool) -> "_Reached":
        """The same where it can be some more values; `carried` by a loop."""
        both = intervals.join(self.values, values)
        if self.most is not None or both is None or self.values is None:
            return _Reached(None)
        if not carried or self.visits < _PATIENCE:
            return _Reached(both, self.visits + 1)
        less, more = both[0] - self.values[0], both[1] - self.values[1]
        iterations = MAX_ITERATIONS
        last = (both[0] + less * iterations, both[1] + more * iterations)
        return _Reached(last, self.visits + 1, (last[0] + less, last[1] + more))


class _Landing:
    """What each value can be that comes from a wrapped value."""

    def __init__(self, graph: Graph, ranges: Ranges):
        self.graph, self.ranges = graph, ranges
        self._seen: dict[Node, _Reached] = {}

    def lands(self, node: Node, values: Interval | None) -> bool:
        left = [(node, values)]
        while left:
            node, values = left.pop()
            known = self._seen.get(node)
            if known is None:
                known = _Reached(values)
            elif known.values is None or intervals.within(values, known.most or known.values):
                continue
            else:
                known = known.joined(values, self._is_carried(node))
            self._seen[node] = known
            if self._is_index_within(node, known.values):
                return True
            left += [(after, self._passed(node, after, known.values)) for after in self.graph.after.get(node, ())]
        return False

    def _is_carried(self, node: Node) -> bool:
        """True if a loop carries it on: it stands for a result of the body that it is an input of."""
        return any(facts is node[0] for facts, _ in self.graph.stands.get(node, ()))

    def _is_index_within(self, node: Node, values: Interval | None) -> bool:
        """True if it may be within bounds where it is an index."""
        return any(
            values is None or (size > 0 and not intervals.disjoint(values, (0, size - 1)))
            for size in self.graph.indexed.get(node, ())
        )

    def _passed(self, node: Node, after: Node, values: Interval | None) -> Interval | None:
        """What a value can be that is computed from another one; None for any value."""
        if after not in self.graph.made or values is None:
            return values
        key, op = self.graph.made[after]
        traits = ops.of(op)
        same = traits.moves or traits.chooses or traits.name == "convert_element_type"
        passed = values if same else self._computed(key, op, node, values)
        return passed if intervals.within(passed, intervals.of_dtype(op.results[0].dtype)) else None

    def _computed(self, key: Key, op: Op, node: Node, values: Interval) -> Interval | None:
        """The result of a sum or a difference of the value and another one."""
        places = [k for k, a in enumerate(op.operands) if not isinstance(a, Constant) and a is node[1]]
        if op.name not in ("add", "sub") or len(places) != 1 or key not in self.ranges.operations:
            return None
        operands = list(self.ranges.operations[key][1])
        operands[places[0]] = values
        return intervals.of_op(op, operands)
