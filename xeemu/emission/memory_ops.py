"""Memory operations: allocations, barriers and accesses, each as it stands in a program, with its masks and loop.

What is left of an access then, the elements of a memory that it touches, `access` loads, stores or updates.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import access, fusion_barriers, positions
from xeemu.emission.buffers import Buffer, Made
from xeemu.emission.context import Applied, Context
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_memory, as_value, named
from xeemu.emission.observer import Event, Passage
from xeemu.emission.positions import Lanes, Located, Touched
from xeemu.emission.values import Emitted, Groupwise
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge.analysis import Facts
from xeemu.language import primitives
from xeemu.language.memory import poison
from xeemu.planning import access_plans
from xeemu.planning.access_constraints import AccessConstraints
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage


def allocated(op: Op, facts: Facts, chunk: EmittedChunk) -> Buffer:
    """A memory in which nothing was written yet."""
    storage = Storage.of_allocation(op, facts, chunk)
    return Buffer(jnp.full(storage.array, poison(storage.dtype)), storage)


def after_barrier(applied: Applied, context: Context) -> list[Item]:
    """The memories that a barrier orders, after it."""
    mask = as_value(applied.operands[-1]) if applied.op.attributes["masked"] else None
    context.observer.on_barrier(Passage(applied.facts, applied.number, mask, applied.active), context.chunk)
    settled = access_plans.settled_at(applied.op, applied.facts, context.chunk.target)
    each = [(v, o) for v, o in zip(applied.op.operands, applied.operands, strict=True) if isinstance(o, Buffer)]
    return [o.holding(fusion_barriers.settled(o.data)) if v in settled else o for v, o in each]


def accessed(applied: Applied, constraints: AccessConstraints, context: Context) -> list[Item]:
    """The results of a load, a store or an atomic operation.

    Args:
      applied: the operation.
      constraints: on the operations of its body.
      context: in which it is.
    """
    what: primitives.Access = applied.op.attributes["access"]
    buffer, values = as_memory(applied.operands[0]), [as_value(o) for o in applied.operands[1:]]
    # XLA leaves axes of length 1 out, and what is looked up it sees laid flat: in two shapes either way.
    entangled = applied.number in constraints.hazards.entangled
    if entangled and (1 in buffer.data.shape or buffer.space == "local"):
        buffer = dataclasses.replace(buffer, viewed=True)
    seen = buffer if what.view is None else buffer.seen(what.view)
    reference = Reference.of_op(applied.op, buffer.storage, applied.facts)
    emitted = _Access(applied, constraints, context, reference, seen, values[: what.rank], values[what.rank :])
    results = emitted.results()
    if what.view is None:
        return results
    return [_as_before(r, buffer) if isinstance(r, Buffer) else r for r in results]


def _as_before(after: Buffer, before: Buffer) -> Buffer:
    """A memory after an access that saw it in another shape."""
    storage = before.storage.held_as(after.storage.array)
    return dataclasses.replace(after, storage=storage, origin=before.origin)


@dataclasses.dataclass(frozen=True, eq=False)
class _Access:
    """An access that is about to be emitted.

    Attributes:
      applied: the operation.
      constraints: on the operations of its body.
      context: in which it is.
      reference: all that is known of it before the program runs, but for masks of the control flow.
      buffer: the memory before it.
      indices: the components of its index.
      values: its other operands.
    """

    applied: Applied
    constraints: AccessConstraints
    context: Context
    reference: Reference
    buffer: Buffer
    indices: list[Emitted]
    values: list[Emitted]

    @property
    def what(self) -> primitives.Access:
        """What the operation says of it."""
        what: primitives.Access = self.applied.op.attributes["access"]
        return what

    def results(self) -> list[Item]:
        """What it gives."""
        return self._loaded() if ops.operation(self.applied.op) == "load" else self._updated()

    def _loaded(self) -> list[Item]:
        """The value that a load gives."""
        mask, other = self.values if self.what.masked and not self.what.bounded else (None, None)
        chunk = self.context.chunk
        # A load by work-items that do not run harms nobody.
        where = positions.lanes(self.reference, mask, [], chunk)
        address = self._in_turn(self._event(where, self.values, chunk).address, chunk)
        loaded = access.Loaded(where, other, self.applied.layouts[0], self.reference.varying, chunk)
        return [loaded.value(self.applied.facts, self.applied.op.results[0], self._found(address, loaded))]

    def _found(self, address: Located, loaded: access.Loaded) -> Groupwise:
        """`[own groups or 1, n or 1]`: the elements that a load finds at its address."""
        number, chunk = self.applied.number, self.context.chunk
        if number in self.context.loaded:
            return self.context.loaded[number]
        address = address.trusted() if number in self.constraints.iteration.trusted else address
        reference = self.constraints.on(self.reference, number)
        constraint = self.constraints.of_load(number, reference.address.proved)
        plan = access_plans.of_load(reference, chunk, self._constant, constraint)
        return access.read(plan, Touched(self.buffer, address, loaded.where, chunk), self.applied)

    @property
    def _constant(self) -> np.ndarray | None:
        """What a load reads out of bounds, if the operation says so."""
        other = ops.other(self.applied.op) if self.what.bounded else None
        return None if other is None else other.array

    def _updated(self) -> list[Item]:
        """The memory after an access that is no load, perhaps after the old value."""
        applied, active, present = self.applied, self.applied.active, self.context.present
        values = self.values[:-1] if self.what.masked else self.values
        mask = self.values[-1] if self.what.masked else None
        chunk = self.context.chunk.storing(applied.facts.values[applied.op.operands[0]])
        masks: list[jax.Array | None] = [None if active is None else active[:, None], present]
        where = positions.lanes(self.reference, mask, masks, chunk)
        event = self._event(where, values, chunk)
        address = self._in_turn(event.address, chunk)
        if applied.number in self.constraints.iteration.deferred:
            return [self._deferred(values[0], where, chunk)]
        if ops.operation(applied.op) == "store":
            return [self._stored(event, address, values[0], where, chunk)]
        return self._combined(address, values, where, chunk)

    @property
    def _updating(self) -> Reference:
        """What is known of an update, with the masks of the control flow."""
        masked = self.applied.active is not None or self.context.present is not None
        return self.constraints.on(self.reference, self.applied.number, masked)

    def _deferred(self, value: Emitted, where: Lanes, chunk: EmittedChunk) -> Buffer:
        """The memory before an update that is made later, with others."""
        made = Made(where.array(value, chunk).astype(self.buffer.data.dtype), where.mask)
        return dataclasses.replace(self.buffer, left=(*self.buffer.left, made))

    def _added(self, operation: str, values: list[Emitted], at: Touched) -> Buffer:
        """The memory after an atomic update whose old value nobody asks for."""
        waits = self.applied.number in self.constraints.iteration.scattered
        plan = access_plans.of_atomic(self._updating, at.chunk, operation, values[0].known.only, waits)
        return access.atomic(plan, at, operation, values)

    def _event(self, where: Lanes, values: list[Emitted], chunk: EmittedChunk) -> Event:
        """It as the observer sees it, with its address; tells the observer."""
        facts, number, active = self.applied.facts, self.applied.number, self.applied.active
        address = positions.locate(self.reference.address, self.buffer, self.indices, chunk)
        if self.context.observer.watches:
            address = address.found()
        operands = tuple(self.indices), tuple(values)
        event = Event(facts, number, self.buffer, address, where, active, self.context.present, *operands)
        self.context.observer.on_access(event, chunk)
        return event

    def _in_turn(self, address: Located, chunk: EmittedChunk) -> Located:
        """Its address, known only when what has to come before it is computed."""
        for item in map(self.applied.read, self.constraints.hazards.waits.get(self.applied.number, ())):
            done = item.data if isinstance(item, Buffer) else item.array(chunk)
            address = address.shifted(fusion_barriers.opaque_zero(done, address.known.dtype))
        return address

    def _stored(self, event: Event, address: Located, value: Emitted, where: Lanes, chunk: EmittedChunk) -> Buffer:
        """The memory after a store."""
        at = Touched(self.buffer, address, where, chunk)
        scattered = self.applied.number in self.constraints.hazards.scattered
        after = access.store(access_plans.of_store(self._updating, chunk, scattered), at, value)
        if self.applied.op.name == ops.STORE:
            self.context.observer.on_stored(event, after, chunk)
        return after

    def _combined(self, address: Located, values: list[Emitted], where: Lanes, chunk: EmittedChunk) -> list[Item]:
        """The memory after an atomic operation, and the old value if it is asked for."""
        op, operation = self.applied.op, ops.operation(self.applied.op)
        at = Touched(self.buffer, address, where, chunk)
        if not op.attributes["fetch"]:
            return [self._added(operation, values, at)]
        old, after = access.fetch(access_plans.of_fetch(self._updating, chunk, operation), at, operation, values)
        return [*named(self.applied.facts, op.results[:1], [old]), after]
