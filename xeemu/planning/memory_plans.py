"""Memory plans: how each memory operation of a (sub)program is carried out, with its masks and its loop."""

import dataclasses
from collections.abc import Collection, Mapping

from xeemu.ir import ops
from xeemu.ir.program import Value
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning import access_plans
from xeemu.planning.access_constraints import AccessConstraints
from xeemu.planning.access_plans import Atomic, Empty, InOrder, Load, Store
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage


@dataclasses.dataclass(frozen=True)
class LoadOfBlock:
    """A load of what a window holds that was read for all iterations of its block (see `Block.loads`)."""


@dataclasses.dataclass(frozen=True)
class Deferred:
    """An update that is left to be made with those of the other iterations of its block (see `Block.updates`)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fetch:
    """An atomic operation that gives the old value.

    Attributes:
      by: how it is carried out.
    """

    by: Empty | InOrder


@dataclasses.dataclass(frozen=True, eq=False)
class LoadPlan:
    """How a load is carried out.

    Attributes:
      reference: its elements.
      by: how they are read.
      trusted: whether the program has found, before the loop, that it is within bounds.
    """

    reference: Reference
    by: Load | LoadOfBlock
    trusted: bool


@dataclasses.dataclass(frozen=True, eq=False)
class UpdatePlan:
    """How a store, or an atomic operation that is no load, is carried out.

    Attributes:
      reference: its elements, but for masks of the control flow.
      by: how they are updated.
      waits: values that are computed before (see `hazards`).
      viewed: whether XLA may take the memory for another array, in another shape (see `Buffer.viewed`).
    """

    reference: Reference
    by: Store | Atomic | Fetch | Deferred
    waits: tuple[Value, ...]
    viewed: bool


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryOperations:
    """The memory operations of a (sub)program, with all that decides on how they are carried out.

    Attributes:
      facts: what is known of it.
      chunk: the work-groups.
      storages: how memories are held.
      constraints: what operations demand of each other.
      masked: whether masks of the control flow or of the global range leave work-items out.
      loaded: the numbers of loads of which a window holds what all iterations of a block load.
    """

    facts: Facts
    chunk: Chunk
    storages: Mapping[Known, Storage]
    constraints: AccessConstraints
    masked: bool
    loaded: Collection[int] = ()

    def access(self, number: int) -> LoadPlan | UpdatePlan:
        """How an access is carried out, by its number."""
        op, constraints = self.facts.body.ops[number], self.constraints
        storage = self.storages[self.facts.values[op.operands[0]]]
        reference = Reference.of_op(op, storage, self.facts)
        if not ops.changes(op):
            return LoadPlan(reference, self._load(number, reference), number in constraints.iteration.trusted)
        # XLA leaves axes of length 1 out, and what is looked up it sees laid flat: in two shapes either way.
        shapes = 1 in storage.array or storage.space == "local"
        viewed = number in constraints.hazards.entangled and shapes
        return UpdatePlan(reference, self._update(number, reference), constraints.hazards.waits.get(number, ()), viewed)

    def _load(self, number: int, reference: Reference) -> Load | LoadOfBlock:
        if number in self.loaded:
            return LoadOfBlock()
        op, what = self.facts.body.ops[number], self.facts.body.ops[number].attributes["access"]
        other = ops.other(op) if what.bounded else None
        reference = self.constraints.on(reference, number)
        constraint = self.constraints.of_load(number, reference.address.proved)
        return access_plans.of_load(reference, self.chunk, None if other is None else other.array, constraint)

    def _update(self, number: int, reference: Reference) -> Store | Atomic | Fetch | Deferred:
        op, iteration = self.facts.body.ops[number], self.constraints.iteration
        if number in iteration.deferred:
            return Deferred()
        chunk = self.chunk.storing(self.facts.values[op.operands[0]])
        reference = self.constraints.on(reference, number, self.masked)
        operation = ops.operation(op)
        if operation == "store":
            return access_plans.of_store(reference, chunk)
        if op.name != ops.ATOMIC:
            raise ops.unhandled(op, "the choice of plans of accesses")
        if op.attributes["fetch"]:
            return Fetch(access_plans.of_fetch(reference, chunk, operation))
        added = self.facts.value(op.operands[1 + op.attributes["access"].rank]).only
        return access_plans.of_atomic(reference, chunk, operation, added, number in iteration.scattered)
