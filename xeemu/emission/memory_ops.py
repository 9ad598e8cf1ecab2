"""Memory operations: allocations, barriers and accesses, each as it stands in a program, with its masks and loop.

What is left of an access then, the elements of a memory that it touches, `access` loads, stores or updates.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from xeemu.emission import access, fusion_barriers, positions
from xeemu.emission.buffers import Buffer, UpdateOperands
from xeemu.emission.context import Applied, Context
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_memory, as_value, named
from xeemu.emission.observer import AccessEvent
from xeemu.emission.positions import ActiveElements, Located, Touched
from xeemu.emission.values import Emitted
from xeemu.ir import ops
from xeemu.ir.program import Value
from xeemu.language import primitives
from xeemu.language.memory import poison
from xeemu.planning.access_plans import Store
from xeemu.planning.memory_plans import Deferred, Fetch, LoadOfBlock, LoadPlan, UpdatePlan
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage


def allocated(storage: Storage) -> Buffer:
    """A memory in which nothing was written yet."""
    return Buffer(jnp.full(storage.array, poison(storage.dtype)), storage)


def accessed(applied: Applied, plan: LoadPlan | UpdatePlan, context: Context) -> list[Item]:
    """The results of a load, a store or an atomic operation.

    Args:
      applied: the operation.
      plan: how it is carried out.
      context: in which it is.
    """
    what: primitives.AccessAttributes = applied.op.attributes["access"]
    buffer, values = as_memory(applied.operands[0]), [as_value(o) for o in applied.operands[1:]]
    viewed = buffer if what.view is None else buffer.viewed(what.view)
    touching = _Access(applied, plan.reference, context, viewed, values[: what.rank], values[what.rank :])
    results = touching.loaded(plan) if isinstance(plan, LoadPlan) else touching.updated(plan)
    if what.view is None:
        return results
    return [_as_before(r, buffer) if isinstance(r, Buffer) else r for r in results]


def _as_before(after: Buffer, before: Buffer) -> Buffer:
    """A memory after an access that saw it in another shape."""
    storage = before.storage.with_array(after.storage.array)
    return dataclasses.replace(after, storage=storage, origin=before.origin)


@dataclasses.dataclass(frozen=True, eq=False)
class _Access:
    """An access that is about to be emitted.

    Attributes:
      applied: the operation.
      reference: all that is known of it before the program runs, but for masks of the control flow.
      context: in which it is.
      buffer: the memory before it.
      indices: the components of its index.
      values: its other operands.
    """

    applied: Applied
    reference: Reference
    context: Context
    buffer: Buffer
    indices: list[Emitted]
    values: list[Emitted]

    @property
    def access(self) -> primitives.AccessAttributes:
        """What the operation says of it."""
        what: primitives.AccessAttributes = self.applied.op.attributes["access"]
        return what

    def loaded(self, plan: LoadPlan) -> list[Item]:
        """The value that a load gives."""
        mask, passthrough = (*self.values, None)[:2] if self.access.masked and not self.access.bounded else (None, None)
        applied, chunk = self.applied, self.context.chunk
        # A load by work-items that do not run harms nobody.
        where = positions.lanes(self.reference, mask, [], chunk)
        address = self._event(where, self.values, chunk).address
        if not applied.op.results:  # of a hint there is nothing but what an observer is told
            return []
        if isinstance(plan.by, LoadOfBlock):
            found = self.context.loaded[applied.number]
        else:
            address = address.trusted() if plan.trusted else address
            found = access.read(plan.by, Touched(self.buffer, address, where, chunk), applied)
        loaded = access.Loaded(where, passthrough, applied.layouts[0], self.reference.varying, chunk)
        return [loaded.value(applied.facts, applied.op.results[0], found)]

    def updated(self, plan: UpdatePlan) -> list[Item]:
        """The memory after an access that is no load, perhaps after the old value."""
        applied, active, present = self.applied, self.applied.active, self.context.present
        values = self.values[:-1] if self.access.masked else self.values
        mask = self.values[-1] if self.access.masked else None
        chunk = self.context.chunk.storing(applied.facts.values[applied.op.operands[0]])
        masks: list[jax.Array | None] = [None if active is None else active[:, None], present]
        where = positions.lanes(self.reference, mask, masks, chunk)
        event = self._event(where, values, chunk)
        at = Touched(self.buffer, self._ordered_address(event.address, plan.waits, chunk), where, chunk)
        operation = ops.operation(applied.op)
        match plan.by:
            case Deferred():
                return [self._deferred(values[0], where, chunk)]
            case Store() as store:
                return [self._stored(store, event, at, values[0])]
            case Fetch(by):
                old, after = access.fetch(by, at, operation, values)
                return [*named(applied.facts, applied.op.results[:1], [old]), after]
            case atomic:
                return [access.atomic(atomic, at, operation, values)]

    def _deferred(self, value: Emitted, where: ActiveElements, chunk: EmittedChunk) -> Buffer:
        """The memory before an update that is made later, with others."""
        operands = UpdateOperands(where.array(value, chunk).astype(self.buffer.data.dtype), where.mask)
        return dataclasses.replace(self.buffer, pending=(*self.buffer.pending, operands))

    def _event(self, where: ActiveElements, values: list[Emitted], chunk: EmittedChunk) -> AccessEvent:
        """It as the observer sees it, with its address; tells the observer."""
        facts, number, active = self.applied.facts, self.applied.number, self.applied.active
        address = positions.locate(self.reference.address, self.buffer, self.indices, chunk)
        if self.context.observer.watches:
            address = address.computed_once()
        operands = tuple(self.indices), tuple(values)
        event = AccessEvent(
            facts, number, self.buffer, address, where, active, self.context.present, *operands, self.access.unset
        )
        self.context.observer.on_access(event, chunk)
        return event

    def _ordered_address(self, address: Located, waits: Sequence[Value], chunk: EmittedChunk) -> Located:
        """Its address, known only when what has to come before it is computed."""
        for item in map(self.applied.read, waits):
            done = item.data if isinstance(item, Buffer) else item.array(chunk)
            address = address.shifted(fusion_barriers.opaque_zero(done, address.known.dtype))
        return address

    def _stored(self, plan: Store, event: AccessEvent, at: Touched, value: Emitted) -> Buffer:
        """The memory after a store."""
        after = access.store(plan, at, value)
        if self.applied.op.name == ops.STORE:
            self.context.observer.on_stored(event, after, at.chunk)
        return after
