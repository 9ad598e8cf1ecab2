"""Memory plans: how each memory operation of a (sub)program is carried out, with its masks and its loop."""

import dataclasses
from collections.abc import Collection, Mapping

from xeemu.ir import ops
from xeemu.ir.program import Value
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning import access_plans, hazards, invariant_divisions, iterations
from xeemu.planning.access_plans import Atomic, Empty, Gather, InOrder, Load, ScatteredUpdate, Store
from xeemu.planning.chunk import Chunk
from xeemu.planning.hazards import Hazards
from xeemu.planning.iterations import Iteration
from xeemu.planning.periodic_gathers import Remainder
from xeemu.planning.references import Reference
from xeemu.planning.stencil_loads import StencilLoad
from xeemu.planning.storage import Storage
from xeemu.planning.windows import Window


@dataclasses.dataclass(frozen=True)
class LoadOfBlock:
    """A load of what a window holds that was read for all iterations of its block (see `IterationBlock.loads`)."""


@dataclasses.dataclass(frozen=True)
class Deferred:
    """An update that is made with those of the other iterations of its block (see `IterationBlock.updates`)."""


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
      trusted: true if the program has found, before the loop, that it is within bounds.
    """

    reference: Reference
    by: Load | LoadOfBlock
    trusted: bool


Update = Store | Atomic | Fetch | Deferred


@dataclasses.dataclass(frozen=True, eq=False)
class UpdatePlan:
    """How a store, or an atomic operation that is no load, is carried out.

    Attributes:
      reference: its elements, but for masks of the control flow.
      by: how they are updated.
      waits: values that are computed before (see `hazards`).
      overwrites: true if it stores to all of the memory, so that XLA may take what it stores for the memory.
    """

    reference: Reference
    by: Update
    waits: tuple[Value, ...]
    overwrites: bool

    @property
    def leaves(self) -> bool:
        """True if the memory's array stays as it is: nothing is updated, or later."""
        match self.by:
            case Deferred() | Empty() | Store(by=Empty()) | Fetch(by=Empty()) | ScatteredUpdate(waits=True):
                return True
        return False


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryOperations:
    """The memory operations of a (sub)program, with all that decides on how they are carried out.

    Attributes:
      facts: what is known of it.
      chunk: the work-groups.
      storages: how memories are stored.
      masked: true if masks of the control flow or of the global range leave work-items out.
      hazards: between them.
      neighbours: by number the loads that are read at once with others.
      remainders: by number the loads by one index that is a remainder (see `periodic_gathers`).
      iteration: the one of a loop's block that it is.
      loaded: the numbers of loads of which a window holds what all iterations of a block load.
      settles: true if what loads look up may be computed before.
    """

    facts: Facts
    chunk: Chunk
    storages: Mapping[Known, Storage]
    masked: bool
    hazards: Hazards = hazards.NONE
    neighbours: Mapping[int, StencilLoad] = dataclasses.field(default_factory=dict)
    remainders: Mapping[int, Remainder] = dataclasses.field(default_factory=dict)
    iteration: Iteration = iterations.ALONE
    loaded: Collection[int] = ()
    settles: bool = False

    def access(self, number: int, overwritten: Collection[Value] = ()) -> LoadPlan | UpdatePlan:
        """How an access is carried out, by its number; `overwritten` are the memories that an update overwrites."""
        op = self.facts.body.ops[number]
        storage = self.storages[self.facts.values[op.operands[0]]]
        reference = Reference.of_op(op, storage, self.facts)
        if not ops.changes(op):
            return LoadPlan(reference, self._load(number, reference), number in self.iteration.trusted)
        # XLA leaves axes of length 1 out, and what is looked up it sees laid flat: in two shapes either way.
        shapes = 1 in storage.array or storage.space == "local"
        aliased = op.operands[0] in overwritten or (shapes and number in self.hazards.entangled)
        by, waits = self._update(number, reference), self.hazards.waits.get(number, ())
        overwrites = isinstance(by, Store) and by.overwrites and not (reference.masked or self.masked)
        return UpdatePlan(reference, _unaliased(by) if aliased else by, waits, overwrites)

    def _load(self, number: int, reference: Reference) -> Load | LoadOfBlock:
        if number in self.loaded:
            return LoadOfBlock()
        op, what = self.facts.body.ops[number], self.facts.body.ops[number].attributes["access"]
        passthrough = ops.passthrough(op) if what.bounded else None
        reference, iteration = self._constrained(reference, number), self.iteration
        # Iterations that are emitted at once would take both branches.
        doubted = iteration.at_once and not reference.address.proved
        gathered = number in self.hazards.gathered or number in iteration.gathered or doubted
        missing, in_line = None if passthrough is None else passthrough.array, number in iteration.in_line
        neighbour, remainder = self.neighbours.get(number), self.remainders.get(number)
        plan = access_plans.of_load(reference, self.chunk, missing, gathered, in_line, neighbour, remainder)
        if not isinstance(plan, Gather):
            return plan
        return dataclasses.replace(
            plan, materialised=self._settles and invariant_divisions.divides_index(op, self.facts)
        )

    @property
    def _settles(self) -> bool:
        """True if addresses that are found by division are computed before they are looked up."""
        return self.settles and self.chunk.amortises_dispatch and self.chunk.target.divides_slowly

    def _update(self, number: int, reference: Reference) -> Update:
        op, iteration = self.facts.body.ops[number], self.iteration
        if number in iteration.deferred:
            return Deferred()
        chunk = self.chunk.storing(self.facts.values[op.operands[0]])
        reference = self._constrained(dataclasses.replace(reference, masked=reference.masked or self.masked), number)
        operation = ops.operation(op)
        if operation == "store":
            return access_plans.of_store(reference, chunk, number in self.hazards.scattered)
        if op.name != ops.ATOMIC:
            raise ops.unhandled(op, "the choice of plans of accesses")
        if op.attributes["fetch"]:
            return Fetch(access_plans.of_fetch(reference, chunk, operation))
        added = self.facts.value(op.operands[1 + op.attributes["access"].rank]).only
        return access_plans.of_atomic(reference, chunk, operation, added, number in iteration.scattered)

    def _constrained(self, reference: Reference, number: int) -> Reference:
        """A reference of that number as others leave it.

        Where an update lies that waits for loads is known only when they are; a loop may have found what is in bounds.
        """
        address = reference.address.based() if number in self.hazards.waits else reference.address
        address = address.trusted() if number in self.iteration.trusted else address
        return dataclasses.replace(reference, address=address)


def _unaliased(by: Update) -> Update:
    """How an update is carried out of a memory that XLA may take for another array."""
    match by:
        case Store(by=Window() as window):
            return dataclasses.replace(by, by=dataclasses.replace(window, unaliased=True))
        case Window():
            return dataclasses.replace(by, unaliased=True)
    return by
