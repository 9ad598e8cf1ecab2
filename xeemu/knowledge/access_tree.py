"""Access tree: the memory operations and barriers of a program in order, with what is known of where and how often.

Symbolic execution makes it. It consists of *nodes*: a node is a body of the program on one call path, with the
executions that it has: boxes of group ids and loop counters, and conditions on them. What depends on data appears as
unknown expressions and as nodes that are not certain.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Op, Region
from xeemu.ir.table import AccessKind, Traits
from xeemu.knowledge import expressions, induction
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.expressions import Expression, LoopAxis
from xeemu.knowledge.periodicity import Box
from xeemu.language import primitives, source
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

Key = tuple[Facts, int]
"""An operation on one call path: the path's analysis, and the operation's number."""


@dataclasses.dataclass(frozen=True)
class AccessSite:
    """One memory operation of the source; an unrolled loop makes several operations of it."""

    site: source.Site
    op: AccessKind
    memory: Allocation


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryOperation:
    """A memory operation on one call path.

    Attributes:
      op: its operation.
      key: names it.
      node: the body that it belongs to.
      access_site: where it comes from.
      index: a component for each dimension of the memory.
      mask: its `where`, or None.
      values: what it stores or combines with the memory.
    """

    op: Op
    key: Key
    node: "Node"
    access_site: AccessSite
    index: tuple[Expression, ...]
    mask: Expression | None
    values: tuple[Expression, ...]

    @property
    def access(self) -> primitives.AccessAttributes:
        access: primitives.AccessAttributes = self.op.attributes["access"]
        return access

    @functools.cached_property
    def linear_index(self) -> Expression:
        """The number of the element that is accessed, in row-major order; proofs ask for it often."""
        total = expressions.constant(0, np.int64)
        for d, component in enumerate(self.index):
            total = expressions.add(
                total, expressions.scale(component, math.prod(self.access_site.memory.shape[d + 1 :]))
            )
        return total

    def within(self, boxes: Sequence[Box]) -> "MemoryOperation":
        """The same in some of its executions, all others left out."""
        part = dataclasses.replace(self, node=dataclasses.replace(self.node, boxes=boxes))
        vars(part)["linear_index"] = self.linear_index
        return part

    @property
    def name(self) -> str:
        """`"load"`, `"store"`, or the name of the atomic operation."""
        return ops.operation(self.op)

    @property
    def fetches(self) -> bool:
        """True if a sub-group waits for its value."""
        return bool(ops.value_results(self.op))

    @property
    def traits(self) -> Traits:
        """What is known of its kind."""
        return ops.of(self.op)

    @property
    def changes(self) -> bool:
        """True if it changes the memory: a store, or an atomic operation that is more than a load."""
        return ops.changes(self.op)

    @property
    def is_hint(self) -> bool:
        """True if it neither gives a value nor changes the memory, as a prefetch."""
        return not (self.changes or self.fetches)

    @property
    def updates(self) -> bool:
        """True if it is an atomic operation that is more than a load."""
        return self.access_site.op == "atomic" and self.changes

    @property
    def adds_one(self) -> bool:
        """True if it is an atomic addition of the constant 1, also to a compiler, whose old value is not used."""
        if self.name != "add" or self.fetches:
            return False
        added = self.node.facts.value(self.op.operands[1 + self.access.rank]).form
        return added is not None and added.constant and bool((added.pattern == 1).all())


@dataclasses.dataclass(frozen=True, eq=False)
class SyncPoint:
    """A barrier, a fence or a group algorithm.

    Attributes:
      op: its operation.
      key: names it.
      node: the body that it belongs to.
      level: of which work-items, `collectives.GROUP` or `SUB_GROUP`; None for a fence, at which nobody waits.
      memories: those whose accesses it orders.
      mask: which work-items reach it, or None for all.
    """

    op: Op
    key: Key
    node: "Node"
    level: str | None
    memories: tuple[Allocation, ...]
    mask: Expression | None


NodeKind = Literal["kernel", "call", "branch", "iteration", "test"]


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """A body of the program on one call path.

    Attributes:
      kind: the kernel itself, a function that it calls, a branch, a loop's body, or a loop's predicate.
      facts: what is known of it, which names the call path.
      boxes: the executions, apart from the conditions; if it is not certain, all that there can be.
      conditions: bool scalars that hold in every execution.
      certain: true if boxes and conditions tell the executions exactly.
      parent: the node around it.
      number: of the operation in the parent's body that it comes from.
      steps: what it does, in order.
      regions: by the number of an operation from which on not all work-items need be active, the mask of those that
        are.
    """

    kind: NodeKind
    facts: Facts
    boxes: Sequence[Box]
    conditions: tuple[Expression, ...]
    certain: bool
    parent: "Node | None" = None
    number: int | None = None
    steps: list["MemoryOperation | SyncPoint | Node"] = dataclasses.field(default_factory=list)
    regions: dict[int, Expression] = dataclasses.field(default_factory=dict)

    @property
    def body(self) -> Region:
        """Its operations."""
        return self.facts.body

    @functools.cached_property
    def iterations(self) -> int | None:
        """Of a loop's body how many iterations the loop has each time, where constants of the program tell.

        That is what a compiler knows, to which an argument is no constant. None if it is not known, and of others.
        """
        if self.kind != "iteration" or self.parent is None or self.number is None:
            return None
        return induction.iterations(self.parent.facts, self.number)

    @property
    def counted(self) -> bool:
        """True of an iteration of a loop that has as many in each execution of the node around it."""
        if self.kind != "iteration" or self.parent is None or self.number is None:
            return False
        return self.parent.body.ops[self.number].name == "scan" or self.iterations is not None

    @property
    def walked(self) -> int | None:
        """Of a loop that was walked iteration by iteration how many there are, if so many are carried out each time."""
        assert self.parent is not None
        steps = [step for step in self.parent.steps if isinstance(step, Node) and step.number == self.number]
        same = all(step.boxes == self.parent.boxes and step.conditions == self.parent.conditions for step in steps)
        iterations = sum(step.kind == "iteration" for step in steps)
        return iterations if same and iterations < len(steps) - iterations else None

    def region(self, number: int) -> tuple[Key, Expression] | None:
        """The region that an operation stands in, by its key, and its mask; None if all work-items are active there."""
        begun = max((n for n in self.regions if n < number), default=None)
        if begun is None:
            return None if self.parent is None or self.number is None else self.parent.region(self.number)
        mask = self.regions[begun]
        return None if mask.constant and mask.array.all() else ((self.facts, begun), mask)

    def nodes(self) -> Iterator["Node"]:
        """This node and all inside it."""
        yield self
        for step in self.steps:
            if isinstance(step, Node):
                yield from step.nodes()

    def operations(self) -> Iterator[MemoryOperation]:
        """The memory operations of this node and of all inside it."""
        for step in self.steps:
            if isinstance(step, MemoryOperation):
                yield step
            elif isinstance(step, Node):
                yield from step.operations()


@dataclasses.dataclass(frozen=True, eq=False)
class AccessTree:
    """The nodes of a program, and the axes of the group's id.

    Attributes:
      root: the kernel.
      groups: an axis for each dimension of the group id.
      geometry: the sizes of the launch.
    """

    root: Node
    groups: tuple[LoopAxis, ...]
    geometry: Geometry

    def sync_points(self) -> list[SyncPoint]:
        """The barriers, fences and group algorithms that are executed."""
        return [s for f in self.root.nodes() if f.boxes for s in f.steps if isinstance(s, SyncPoint)]
