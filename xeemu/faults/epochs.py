"""Epochs: how many barriers lie before each access of a program, and which accesses may meet between two barriers.

An epoch of a memory lasts from one barrier that orders it to the next. Only barriers that every execution of the kernel
passes are counted; those in branches and in loops of unknown length end an epoch for what follows on the same path.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation, Node, SyncPoint
from xeemu.knowledge.conflicts import Pair
from xeemu.knowledge.expressions import LoopAxis
from xeemu.knowledge.instances import Clock
from xeemu.language.collectives import GROUP
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

Step = MemoryOperation | SyncPoint | Node
Live = Mapping[Allocation, frozenset[MemoryOperation]]


def times(tree: AccessTree) -> dict[MemoryOperation, Clock]:
    """The position of each access in the order in which the kernel executes them."""
    return _clocks(tree.root, lambda step: isinstance(step, MemoryOperation), lambda node: True)


def epochs(tree: AccessTree, memory: Allocation, sub_groups: bool) -> dict[MemoryOperation, Clock]:
    """How many barriers that order a memory lie before each access, of those that are always passed.

    Args:
      tree: the program.
      memory: the memory.
      sub_groups: true if the barriers of sub-groups count as well as those of work-groups.
    """

    def ticks(step: Step) -> bool:
        return isinstance(step, SyncPoint) and orders(step, memory, sub_groups) and is_passed_by_all(step)

    return _clocks(tree.root, ticks, _is_always_executed)


def is_barrier(step: SyncPoint) -> bool:
    return step.op.name == ops.BARRIER


def synchronises(step: SyncPoint) -> bool:
    """True if it is a barrier or a group algorithm: a synchronisation point (SYCL 2020, section 4.17.3), no fence."""
    return step.level is not None


def is_of_group(step: SyncPoint) -> bool:
    """True if it is a synchronisation point of the work-group, not of a sub-group."""
    return step.level == GROUP


def requires_all(step: SyncPoint) -> bool:
    """True if all work-items of its group are to come to it: a barrier, or an algorithm of the work-group.

    Of an algorithm of a sub-group the active lanes take part.
    """
    return is_of_group(step) or (synchronises(step) and is_barrier(step))


def participants(step: SyncPoint, geometry: Geometry) -> int:
    """Work-items that come to a synchronisation point together: those of a full group of its level."""
    return geometry.items if is_of_group(step) else geometry.sub_group_size


def orders(step: SyncPoint, memory: Allocation, sub_groups: bool) -> bool:
    """True if a step is a synchronisation point that orders the accesses to a memory."""
    return memory in step.memories and (is_of_group(step) or (sub_groups and synchronises(step)))


def is_of_some_lanes(sync_point: SyncPoint) -> bool:
    """True if lanes of a sub-group meet of which not all may be active."""
    return synchronises(sync_point) and not is_of_group(sync_point) and not is_passed_by_all(sync_point)


def is_passed_by_all(sync_point: SyncPoint) -> bool:
    """True if all work-items of a group pass a barrier whenever the group comes to it."""
    return sync_point.mask is None or (sync_point.mask.constant and bool(sync_point.mask.array.all()))


def own_axes(node: Node) -> tuple[LoopAxis, ...]:
    """The axes of a node that the node around it has not."""
    outer = node.parent.boxes[0] if node.parent and node.parent.boxes else {}
    return tuple(axis for axis in node.boxes[0] if axis not in outer) if node.boxes else ()


def is_loop(node: Node) -> bool:
    """True if a node may be executed several times for one execution of the node around it."""
    return node.kind == "iteration" and (bool(own_axes(node)) or not (node.certain or node.counted))


def _is_always_executed(node: Node) -> bool:
    """True if each execution of the node around it executes a node, at all indices of its own axes."""
    outer = node.parent
    if outer is None:
        return True
    if not node.certain or node.conditions != outer.conditions or len(node.boxes) != len(outer.boxes):
        return False
    own = {axis: range(axis.size) for axis in own_axes(node)}
    return all({**around, **own} == dict(box) for around, box in zip(outer.boxes, node.boxes, strict=True))


# --- Clocks ---


def _clocks(root: Node, ticks: Callable[[Step], bool], counts: Callable[[Node], bool]) -> dict[MemoryOperation, Clock]:
    """The ticks before each operation, in nodes that count.

    Of a loop whose iterations tick differently often, every iteration counts like the longest.
    """
    found: dict[MemoryOperation, Clock] = {}

    @functools.cache
    def length(node: Node) -> int:
        """Ticks of one execution of a node's body."""
        total = 0
        for part in _parts(node.steps):
            if isinstance(part, tuple):
                total += sum(_turns(f) * length(f) for f in part) if all(map(counts, part)) else 0
            else:
                total += ticks(part)
        return total

    def visit(node: Node, offset: int, steps: Mapping[LoopAxis, int], counting: bool) -> None:
        for part in _parts(node.steps):
            if not isinstance(part, tuple):
                if isinstance(part, MemoryOperation):
                    found[part] = Clock(offset, steps)
                offset += counting and ticks(part)
                continue
            counted = counting and all(map(counts, part))
            turn, start = sum(map(length, part)) if counted else 0, offset
            for inner in part:
                visit(inner, start, {**steps, **dict.fromkeys(own_axes(inner) if turn else (), turn)}, counted)
                start += length(inner) if counted else 0
            offset += sum(_turns(f) * length(f) for f in part) if counted else 0

    visit(root, 0, {}, True)
    return found


def _turns(node: Node) -> int:
    return int(np.prod([axis.size for axis in own_axes(node)], dtype=np.int64))


def _parts(steps: Sequence[Step]) -> Iterator[MemoryOperation | SyncPoint | tuple[Node, ...]]:
    """Steps in order; the test and the body of a loop, which alternate, together."""
    executed = [s for s in steps if not isinstance(s, Node) or s.boxes]
    waiting: Node | None = None
    for step, after in itertools.zip_longest(executed, executed[1:]):
        if not isinstance(step, Node):
            yield step
        elif waiting is not None:
            yield (waiting, step)
            waiting = None
        elif step.kind == "test" and isinstance(after, Node) and after.number == step.number and is_loop(after):
            waiting = step
        else:
            yield (step,)


# --- Accesses that may meet ---


def meeting_pairs(tree: AccessTree) -> list[Pair]:
    """The pairs of accesses to one memory that a group may execute without a work-group barrier between that orders it.

    Each pair is in the order of the program, and so are the pairs by their accesses; an access by several work-items is
    a pair with itself.
    """
    walk = _Reaching()
    walk.node(tree.root, {})
    number = {operation: n for n, operation in enumerate(tree.root.operations())}
    return sorted(walk.pairs, key=lambda pair: (number[pair[0]], number[pair[1]]))


class _Reaching:
    """Which accesses reach each other: dataflow over the nodes of a program."""

    def __init__(self) -> None:
        self.pairs: dict[Pair, None] = {}

    def node(self, node: Node, live: Live) -> Live:
        """The accesses since the last barrier after a node, from those before it."""
        for number, steps in itertools.groupby(node.steps, _number):
            inner = list(steps)
            if number is None:
                live = functools.reduce(self._step, inner, live)
            else:
                live = self._structure([f for f in inner if isinstance(f, Node) and f.boxes], live)
        return live

    def _step(self, live: Live, step: Step) -> Live:
        if isinstance(step, SyncPoint):
            passed = is_of_group(step) and is_passed_by_all(step)
            return {m: ops for m, ops in live.items() if not (passed and m in step.memories)}
        assert isinstance(step, MemoryOperation)
        memory = step.access_site.memory
        before = live.get(memory, frozenset())
        for other in before:
            if (step, other) not in self.pairs:
                self.pairs[other, step] = None
        if (step, step) not in self.pairs:
            self.pairs[step, step] = None
        return {**live, memory: before | {step}}

    def _structure(self, nodes: Sequence[Node], live: Live) -> Live:
        """The nodes of one operation: branches, or a function, or the tests and iterations of a loop."""
        if nodes and nodes[0].kind == "branch":
            return _union([self.node(f, live) for f in nodes])
        test: Node | None = None
        for node, after in itertools.zip_longest(nodes, nodes[1:]):
            if is_loop(node):
                live, test = self._loop(test, node, live), None
            elif node.kind == "test" and after is not None and is_loop(after):
                test = node
            else:
                live = self.node(node, live)
        return live

    def _loop(self, test: Node | None, node: Node, live: Live) -> Live:
        """A loop, whose predicate is tested before each iteration and once more in the end."""

        def tested(live: Live) -> Live:
            return self.node(test, live) if test is not None else live

        before = tested(live)
        once = _union([before, tested(self.node(node, before))])
        after = tested(self.node(node, once))
        return after if _is_always_executed(node) else _union([once, after])


def _number(step: Step) -> int | None:
    return step.number if isinstance(step, Node) else None


def _union(alternatives: Sequence[Live]) -> Live:
    memories = dict.fromkeys(m for live in alternatives for m in live)
    return {m: frozenset().union(*(live.get(m, frozenset()) for live in alternatives)) for m in memories}
