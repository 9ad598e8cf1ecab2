"""Load batches: which loads of a program are under way together.

They stand in one *stretch* of it: between barriers, loops, and branches that access memory. A call is part of the
stretch that it stands in, as a compiler writes it out. A load whose address or mask is computed from what loads of its
stretch give waits for these, and is in a batch of its own with others that wait for as many, one after the other. In a
loop it waits for the iteration before where that has loaded what it is computed from, as the next element of a list.
No load passes a store to memory that may be the same for all that the compiler knows: it waits for what is stored.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.access_tree import Key, MemoryOperation, Node, SyncPoint
from xeemu.knowledge.analysis import Facts
from xeemu.language import collectives
from xeemu.language.linearity import Allocation, may_be_same

T = TypeVar("T")


class LoadBatch(NamedTuple):
    """Loads that are under way together, or in unrolled iterations one after the other.

    Attributes:
      node: the body that they stand in, of no call.
      before: barriers, loops and branches of that body before them: which of its stretches they stand in.
      depth: loads of the same stretch that their addresses wait for, one after the other.
      is_local: true if they are of local memory.
      in_turn: true if their addresses wait for what an iteration before has loaded.
    """

    node: Node
    before: int
    depth: int
    is_local: bool
    in_turn: bool = False


class Awaited(NamedTuple):
    """Where other sub-groups of the work-group wait until an operation is done: at a barrier that comes after it.

    Attributes:
      node: the body with the barrier.
      barriers: of that body, before the operation; of a loop's body, a barrier before it may be the one.
      inner: the loop or branch of that body which the operation stands in; None where it stands in the body itself.
    """

    node: Node
    barriers: int
    inner: Node | None


@dataclasses.dataclass(frozen=True)
class LoadBatches:
    """Where the operations of a program stand; of a body that was walked several times, those of the first.

    Attributes:
      of: the batch of each operation, by its key.
      awaited: operations after which a barrier comes, and where, by their keys.
    """

    of: Mapping[Key, LoadBatch]
    awaited: Mapping[Key, Awaited]


def of_tree(root: Node, in_registers: Set[Allocation]) -> LoadBatches:
    """The load batches of a program.

    Args:
      root: the kernel.
      in_registers: private memories that are none, so that what is loaded from them is not waited for.
    """
    batching = _Batching(in_registers)
    batching.straight(root)
    return LoadBatches(_by_key(batching.batches), _by_key(batching.awaited()))


def _by_key(found: Mapping[MemoryOperation, T]) -> Mapping[Key, T]:
    """What was found of operations, by their keys: of several with one that of the first."""
    return {operation.key: each for operation, each in reversed([*found.items()])}


def waits(step: "MemoryOperation | SyncPoint | Node") -> bool:
    """True if the sub-groups of a work-group wait for one another at a step."""
    return isinstance(step, SyncPoint) and step.level == collectives.GROUP


class _Depth(NamedTuple):
    """What a value waits for.

    Attributes:
      before: the stretch that it was computed in.
      loads: of that stretch, one after the other.
      carries: of the loop whose body it is in, those that it is computed from.
      through_loads: those of them that addresses of loads are computed from, which it is computed from.
    """

    before: int = -1
    loads: int = 0
    carries: frozenset[int] = frozenset()
    through_loads: frozenset[int] = frozenset()


@dataclasses.dataclass
class _Stretch:
    """How far a body that is no call's was walked.

    Attributes:
      node: the body.
      before: barriers, loops and branches so far.
      barriers: those of them that are barriers.
      operations: the operations so far, each with the barriers before it.
      around: the stretch that the body stands in; None of the kernel's own.
      at: barriers of that stretch before it.
      needs: of loads in a loop, the carries that their addresses are computed from.
      stored: memories to which other pointers may point, each with what the latest store to it waits for.
    """

    node: Node
    before: int = 0
    barriers: int = 0
    operations: list[tuple[MemoryOperation, int]] = dataclasses.field(default_factory=list)
    around: "_Stretch | None" = None
    at: int = 0
    needs: dict[MemoryOperation, frozenset[int]] = dataclasses.field(default_factory=dict)
    stored: dict[Allocation, _Depth] = dataclasses.field(default_factory=dict)

    def meets_after(self, barriers: int) -> bool:
        """True if there is a barrier after so many of them; of a loop's body, in the next iteration."""
        return self.barriers > (0 if self.node.kind == "iteration" else barriers)


class _Batching:
    """Goes through the bodies of a program in order, each call path once."""

    def __init__(self, in_registers: Set[Allocation]) -> None:
        self.in_registers = in_registers
        self.batches: dict[MemoryOperation, LoadBatch] = {}
        self._stretches: list[_Stretch] = []
        self._walked: set[Facts] = set()

    def straight(self, node: Node, around: _Stretch | None = None) -> None:
        """A body that is no call's."""
        stretch = _Stretch(node, around=around, at=around.barriers if around else 0)
        self._stretches.append(stretch)
        carried = _carried(node)
        given = {value: _Depth(carries=frozenset((k,))) for k, value in enumerate(carried)}
        # What an iteration stores where others may load is as a carry for these.
        changed = dict.fromkeys(
            o.access_site.memory for o in node.operations() if o.changes and o.access_site.memory.may_alias
        )
        if node.kind == "iteration":
            stretch.stored = {m: _Depth(carries=frozenset((k,))) for k, m in enumerate(changed, len(carried))}
        gives = self._body(node, stretch, given)[: len(carried)]
        gives += stretch.stored.values()
        chased = _chased(gives)
        for operation, needs in stretch.needs.items():
            if needs & chased:
                self.batches[operation] = self.batches[operation]._replace(in_turn=True)

    def awaited(self) -> dict[MemoryOperation, Awaited]:
        """Of the operations that were met, those after which a barrier comes."""
        found = {o: _awaited(stretch, before) for stretch in self._stretches for o, before in stretch.operations}
        return {operation: each for operation, each in found.items() if each is not None}

    def _body(self, node: Node, stretch: _Stretch, inputs: Mapping[Value, _Depth]) -> list[_Depth]:
        """A body, or a call's as part of one; gives what its results wait for."""
        self._walked.add(node.facts)
        steps: dict[int, list[MemoryOperation | SyncPoint | Node]] = {}
        for step in node.steps:
            steps.setdefault(_number(step), []).append(step)
        depths = dict(inputs)
        for number, op in enumerate(node.body.ops):
            found = self._op(op, steps.get(number, ()), stretch, depths)
            depths |= dict(zip(op.results, found, strict=True))
        return [_depth(value, depths) for value in node.body.outputs]

    def _op(
        self,
        op: Op,
        steps: Sequence[MemoryOperation | SyncPoint | Node],
        stretch: _Stretch,
        depths: Mapping[Value, _Depth],
    ) -> Iterable[_Depth]:
        """What the results of an operation wait for, whose steps are these."""
        (step, *_) = steps or (None,)
        if isinstance(step, MemoryOperation):
            return self._access(op, step, stretch, depths)
        if isinstance(step, Node) and step.kind == "call":
            given = control.region_operands(op, [_depth(value, depths) for value in op.used], 0)
            return self._body(step, stretch, dict(zip(step.body.all_inputs, given, strict=True)))
        for inner in steps:
            # An iteration after the first may do what that one does not, as go through a loop that is empty there.
            if isinstance(inner, Node) and any(node.facts not in self._walked for node in inner.nodes()):
                self.straight(inner, stretch)
        if any(map(_ends, steps)):
            stretch.before += 1
            stretch.barriers += any(map(waits, steps))
        return [_computed(op.used, stretch, depths)] * len(op.results)

    def _access(
        self, op: Op, operation: MemoryOperation, stretch: _Stretch, depths: Mapping[Value, _Depth]
    ) -> Iterable[_Depth]:
        memory = operation.access_site.memory
        is_private = memory.space == "private"
        # What is stored is waited for by who stores it; of private memory, also by who loads it.
        place = [*ops.indices(op), *([] if (mask := ops.mask(op)) is None else [mask])]
        at = _computed([*op.operands[:1], *place] if is_private else place, stretch, depths)
        if operation.changes and memory.may_alias:
            stretch.stored[memory] = _computed(op.used, stretch, depths)
        else:
            stored = [
                depth for other, depth in stretch.stored.items() if other is not memory and may_be_same(other, memory)
            ]
            at = _latest([at, *stored], stretch)
        self.batches[operation] = LoadBatch(stretch.node, stretch.before, at.loads, memory.space == "local")
        stretch.operations.append((operation, stretch.barriers))
        stretch.needs[operation] = at.carries
        if operation.fetches:
            found = at if memory in self.in_registers else at._replace(loads=at.loads + 1, through_loads=at.carries)
        else:
            found = _computed(op.used if is_private else (), stretch, depths)
        return [found] * len(op.results)


def _awaited(stretch: _Stretch, barriers: int) -> Awaited | None:
    """The nearest body in which a barrier comes after what stands behind so many barriers of a stretch."""
    place: _Stretch | None = stretch
    inner: Node | None = None
    while place is not None:
        if place.meets_after(barriers):
            return Awaited(place.node, barriers, inner)
        barriers, inner = place.at, place.node
        place = place.around
    return None


def _number(step: MemoryOperation | SyncPoint | Node) -> int:
    """The number of the operation in its body that a step comes from."""
    if not isinstance(step, Node):
        return step.key[1]
    assert step.number is not None
    return step.number


def _ends(step: MemoryOperation | SyncPoint | Node) -> bool:
    """True if a stretch ends at a step: at a barrier, a loop, and a branch in which something is accessed or meets."""
    if not isinstance(step, Node):
        return waits(step)
    inner = (each for node in step.nodes() for each in node.steps)
    return step.kind != "branch" or any(not isinstance(each, Node) or each.kind != "branch" for each in inner)


def _carried(node: Node) -> Sequence[Value]:
    """What the body of a loop takes from the iteration before."""
    if node.kind != "iteration" or node.parent is None or node.number is None:
        return ()
    return control.carried(control.of(node.parent.body.ops[node.number]), node.body)


def _chased(gives: Sequence[_Depth]) -> frozenset[int]:
    """The carries of a loop that are computed from what it has loaded at addresses which are computed from them.

    Args:
      gives: what their next values wait for.
    """
    reached = [_reached(k, gives) for k in range(len(gives))]
    chased = {k for k, give in enumerate(gives) if any(k in reached[inner] for inner in give.through_loads)}
    return frozenset(k for k, found in enumerate(reached) if found & chased)


def _reached(carry: int, gives: Sequence[_Depth]) -> set[int]:
    """A carry and all that it is computed from, over any number of iterations."""
    found, new = set[int](), {carry}
    while new:
        found |= new
        new = set().union(*(gives[k].carries for k in new)) - found
    return found


def _depth(value: Value, depths: Mapping[Value, _Depth]) -> _Depth:
    return _Depth() if isinstance(value, Constant) else depths.get(value, _Depth())


def _computed(values: Iterable[Value], stretch: _Stretch, depths: Mapping[Value, _Depth]) -> _Depth:
    """What waits for some values."""
    return _latest([depths[value] for value in values if value in depths], stretch)


def _latest(found: Sequence[_Depth], stretch: _Stretch) -> _Depth:
    """What waits for all that some wait for: of the loads of a stretch, since those of one before have been waited
    for."""
    if len(found) == 1 and found[0].before == stretch.before:
        return found[0]
    return _Depth(
        before=stretch.before,
        loads=max([each.loads for each in found if each.before == stretch.before], default=0),
        carries=frozenset().union(*[each.carries for each in found]),
        through_loads=frozenset().union(*[each.through_loads for each in found]),
    )
