"""Access: memories read and updated over a chunk, each time as a plan says (see `access_plans`)."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import (
    items,
    ordered_atomics,
    placed_windows,
    positions,
    rectangles,
    small_histograms,
)
from xeemu.emission.buffers import Buffer, Update
from xeemu.emission.context import Applied
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import as_value
from xeemu.emission.placed_windows import PlacedWindow
from xeemu.emission.positions import ActiveElements, Touched, buffer_positions, columns
from xeemu.emission.values import Emitted, Groupwise, MaskedElements, shared_once
from xeemu.ir.program import Value
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts
from xeemu.language.memory import poison
from xeemu.planning import layouts
from xeemu.planning.access_plans import (
    Atomic,
    Empty,
    Gather,
    InOrder,
    Load,
    Missing,
    ScatteredUpdate,
    StencilWindow,
    Store,
)
from xeemu.planning.collected_updates import CollectedUpdates
from xeemu.planning.layouts import Layout, Masked, Sharing
from xeemu.planning.periodic_gathers import PeriodicGather
from xeemu.planning.windows import Window


def read(plan: Load, at: Touched, applied: Applied) -> Groupwise:
    """`[own groups or 1, n or 1]` values of the elements that a load touches.

    Args:
      plan: how it is carried out.
      at: the elements.
      applied: the load.
    """
    data = at.buffer.data
    match plan:
        case Missing(value):
            return Groupwise(jnp.full((1, at.where.count), value))
        case PeriodicGather():
            return Groupwise(_periods(plan, at, as_value(applied.read(plan.index.dividend)).base))
        case Window():
            return _placed(plan, at).read(data)
        case StencilWindow():
            return _from_stencil(plan, at, applied.around)
        case Gather():
            sharing = layouts.sharing(applied.layouts[0])
            return Groupwise(_gather(plan, at, sharing), sharing)


def _placed(window: Window, at: Touched) -> PlacedWindow:
    return placed_windows.placed(window, at.buffer, at.address, at.chunk)


def _from_stencil(plan: StencilWindow, at: Touched, around: dict[int, jax.Array]) -> Groupwise:
    """A window as a part of the rectangle around several, which is read with the first of them."""
    placed, neighbour, part = _placed(plan.window, at), plan.neighbour, plan.window.rectangle
    first = tuple(lax.sub(s, s.dtype.type(n)) for s, n in zip(placed.starts, neighbour.offset, strict=True))
    if neighbour.first not in around:
        around[neighbour.first] = rectangles.read(plan.around, at.buffer.data, first)
    last = [f + n for f, n in zip(neighbour.offset, part.sizes, strict=True)]
    return placed.of_rectangle(lax.slice(around[neighbour.first], neighbour.offset, last))


def _periods(plan: PeriodicGather, at: Touched, base: jax.Array | None) -> jax.Array:
    """`[groups, elements]`: some periods of what a remainder looks up, side by side."""
    index, count = plan.index, plan.groups * plan.elements
    number = positions.start(plan.form, base, index.dividend.dtype, at.chunk)
    first = lax.rem(number, number.dtype.type(index.divisor)).astype(np.int32)
    rest = lax.rem(first + np.arange(plan.gathered, dtype=np.int32), np.int32(index.divisor))
    found = rest.dtype.type(index.offset) + rest.dtype.type(index.sign) * rest
    periods = at.buffer.data.reshape(-1).at[found].get(mode="promise_in_bounds", wrap_negative_indices=False)
    # XLA fuses no gather with its copies.
    copies = jnp.broadcast_to(periods, (-(-count // plan.gathered), plan.gathered))
    return copies.reshape(-1)[:count].reshape(plan.groups, plan.elements)


@dataclasses.dataclass(frozen=True, eq=False)
class Loaded:
    """What a load gives of the elements that take part.

    Attributes:
      where: which these are.
      passthrough: what it gives for those left out by its mask, if it has one.
      layout: how its result is laid out.
      varying: true if that differs between groups.
      chunk: the work-groups.
    """

    where: ActiveElements
    passthrough: Emitted | None
    layout: Layout
    varying: bool
    chunk: EmittedChunk

    def value(self, facts: Facts, value: Value, found: Groupwise) -> Emitted:
        """The value of a program, from the `[own groups or 1, n or 1]` elements that take part."""
        sharing = layouts.sharing(self.layout)
        values = found.shared_by(sharing)
        match self.layout:
            case Masked(needs_all=whole, apart=apart):
                array = self._all(values) if whole and not apart else None
                others = self._inactive(values.dtype) if whole and apart else None
                chosen = jnp.broadcast_to(values, (values.shape[0], self.where.count))
                return items.laid_out(facts, value, self.layout, array, MaskedElements(chosen, others))
        array = self._all(values) if sharing is None else values.reshape(-1, *self.where.shape)
        return items.laid_out(facts, value, self.layout, array)

    def _inactive(self, dtype: np.dtype) -> jax.Array:
        """`[G or 1, m]`: the elements that take no part."""
        assert self.passthrough is not None
        beside = self.where.elements.complement
        rest = positions.of_elements(self.passthrough, beside, self.chunk).astype(dtype)
        return jnp.broadcast_to(rest, (rest.shape[0], beside.count))

    def _all(self, values: jax.Array) -> jax.Array:
        """`[G, *shape]`, or `shape` if it does not vary: all elements."""
        full = _expanded(values, self.where, self.passthrough, self.chunk, values.dtype)
        shape, groups = self.where.shape, self.chunk.count if self.varying else 1
        each = jnp.broadcast_to(full, (groups, math.prod(shape)))
        return each.reshape(*[groups] * self.varying, *shape)


def _gather(plan: Gather, at: Touched, sharing: Sharing | None) -> jax.Array:
    index, inside = (at.address.materialised() if plan.materialised else at.address).compute()
    index = shared_once(buffer_positions(at.buffer, index, at.where, at.chunk), sharing)
    data = at.buffer.data.reshape(-1)
    if plan.in_runs:
        return _runs(data, index[:, :: plan.run], plan.run)
    values = data.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)
    return values if inside is None else jnp.where(shared_once(inside, sharing), values, plan.missing)


def _runs(data: jax.Array, firsts: jax.Array, length: int) -> jax.Array:
    """`[G or 1, n]`: elements that follow each other, from `[G or 1, n / length]` positions on."""
    windows = lax.GatherDimensionNumbers(offset_dims=(2,), collapsed_slice_dims=(), start_index_map=(0,))
    found = lax.gather(data, firsts[..., None], windows, (length,), mode="promise_in_bounds")
    return found.reshape(len(firsts), -1)


def _expanded(
    values: jax.Array, where: ActiveElements, passthrough: Emitted | None, chunk: EmittedChunk, dtype: np.dtype
) -> jax.Array:
    """`[G or 1, all elements]`: loaded values at their positions, `passthrough` where the mask leaves elements out."""
    if passthrough is None:
        return values
    everyone = addressing.everyone(where.shape)
    rest = positions.of_elements(passthrough, everyone, chunk).astype(dtype)
    if where.mask is not None:
        inactive = rest if rest.shape[1] == 1 else columns(rest, where.elements)
        values = jnp.where(where.mask, values, inactive)
    if where.all:
        return values
    return jnp.where(where.elements.mask.reshape(-1), _spread(values, where, everyone.count), rest)


def _spread(values: jax.Array, where: ActiveElements, count: int) -> jax.Array:
    """`[G or 1, count]`: values at their positions, and anything elsewhere."""
    chosen, step = where.chosen, where.elements.step
    if not where.count:
        return jnp.zeros((1, count), values.dtype)
    if step is None:
        return values[:, np.maximum(np.cumsum(np.isin(np.arange(count), chosen)) - 1, 0)]
    fill = [(0, 0, 0), (int(chosen[0]), count - 1 - int(chosen[-1]), step - 1)]
    return lax.pad(jnp.broadcast_to(values, (values.shape[0], where.count)), values.dtype.type(0), fill)


def store(plan: Store, at: Touched, value: Emitted) -> Buffer:
    """The memory after a plain store; of several stores to one element, some one stays."""
    buffer, where, chunk = at.buffer, at.where, at.chunk
    if isinstance(plan.by, Empty):
        return buffer
    values = where.array(value, chunk).astype(buffer.data.dtype)
    if isinstance(plan.by, Window):
        return buffer.with_data(_placed(plan.by, at).written(buffer.data, values, where.mask))
    return buffer.with_data(_scatter(buffer.data, "store", _target(at), values, plan.by.always))


def _target(at: Touched) -> jax.Array:
    """`[G, n]` positions in the buffer; its end, which scatters drop, for elements that take no part."""
    index, inside = at.address.compute()
    targets = buffer_positions(at.buffer, index, at.where, at.chunk)
    return _chosen(targets, inside, at.where, at.buffer.data.size, at.chunk)


def _chosen(
    targets: jax.Array, inside: jax.Array | None, where: ActiveElements, end: int, chunk: EmittedChunk
) -> jax.Array:
    for condition in (inside, where.mask):
        if condition is not None:
            targets = jnp.where(condition, targets, targets.dtype.type(end))
    return jnp.broadcast_to(targets, (chunk.count, where.count))


def _scatter(data: jax.Array, op: str, target: jax.Array, values: jax.Array, always: bool) -> jax.Array:
    values = jnp.broadcast_to(values, target.shape).reshape(-1)
    elements = data.reshape(-1).at[target.reshape(-1)]
    updates: dict[str, Callable[..., jax.Array]] = {
        "store": elements.set,
        "add": elements.add,
        "min": elements.min,
        "max": elements.max,
    }
    updated = updates[op](values, mode="promise_in_bounds" if always else "drop", wrap_negative_indices=False)
    return updated.reshape(data.shape)


def atomic(plan: Atomic, at: Touched, op: str, values: Sequence[Emitted]) -> Buffer:
    """The memory after atomic updates whose old values nobody asked for.

    Args:
      plan: how they are carried out.
      at: the elements.
      op: the operation.
      values: what to combine them with.
    """
    buffer, chunk = at.buffer, at.chunk
    if isinstance(plan, Empty):
        return buffer
    arrays = [at.where.array(v, chunk).astype(buffer.data.dtype) for v in values]
    match plan:
        case Window():
            return buffer.with_data(_placed(plan, at).combined(buffer.data, op, arrays[0], at.where.mask))
        case ScatteredUpdate():
            update = _update(plan, at, op, arrays[0])
            if plan.waits:
                return dataclasses.replace(buffer, pending=(*buffer.pending, update))
            return buffer.with_data(_updated(buffer.data, update))
        case InOrder():
            return buffer.with_data(_in_order(plan, at, op, arrays)[1])


def _update(plan: ScatteredUpdate, at: Touched, op: str, array: jax.Array) -> Update:
    target = _rows(at) if plan.private_element else _target(at)
    operand = jnp.broadcast_to(-array if op == "sub" else array, target.shape)
    return Update(target, operand, "add" if op == "sub" else op, plan.always, plan.private_element)


def _rows(at: Touched) -> jax.Array:
    """`[G, n]` for each work-item the number of its element of a private memory; their count where it has no part."""
    index, inside = at.address.compute()
    return _chosen(index, inside, at.where, at.buffer.elements, at.chunk)


def _positions(update: Update, data: jax.Array) -> jax.Array:
    """The target of an update as positions in the flat contents of its memory."""
    if not update.private_element:
        return update.target
    # With the work-items' numbers as an array, XLA would compute these one by one.
    rows, columns = update.target.reshape(-1), update.target.dtype.type(data.shape[1])
    flat = rows * columns + lax.rem(lax.iota(rows.dtype, rows.size), columns)
    return flat.reshape(update.target.shape)


def collected(buffer: Buffer, updates: Sequence[Update], plan: CollectedUpdates) -> jax.Array:
    """The contents of a memory after the updates of a block of iterations, all by one operation."""
    data = buffer.data
    for histogram in plan.histograms:
        data = small_histograms.added(buffer.with_data(data), [updates[k] for k in histogram.updates], histogram)
    for k in plan.alone:
        data = _updated(data, updates[k])
    return _updated(data, _joined([updates[k] for k in plan.joined], data)) if plan.joined else data


def _updated(data: jax.Array, update: Update) -> jax.Array:
    return _scatter(data, update.op, _positions(update, data), update.values, update.always)


def _joined(updates: Sequence[Update], data: jax.Array) -> Update:
    """Several updates as one."""
    target = jnp.concatenate([_positions(update, data).reshape(-1) for update in updates])
    values = jnp.concatenate([update.values.reshape(-1) for update in updates])
    return Update(target, values, updates[0].op, all(update.always for update in updates), private_element=False)


def fetch(plan: Empty | InOrder, at: Touched, op: str, values: Sequence[Emitted]) -> tuple[jax.Array, Buffer]:
    """`[G, *shape]` old values of atomic updates, and the memory after them."""
    buffer, where, chunk = at.buffer, at.where, at.chunk
    missing = poison(buffer.data.dtype)
    if isinstance(plan, Empty):
        return jnp.full((chunk.count, *where.shape), missing), buffer
    arrays = [where.array(v, chunk).astype(buffer.data.dtype) for v in values]
    old, data = _in_order(plan, at, op, arrays)
    if not where.all:
        everyone = jnp.full((chunk.count, math.prod(where.shape)), missing)
        old = everyone.at[:, where.chosen].set(old, unique_indices=True)
    return old.reshape(chunk.count, *where.shape), buffer.with_data(data)


def _in_order(plan: InOrder, at: Touched, op: str, arrays: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Old values and the memory after atomic operations in the order of the work-items."""
    buffer, target = at.buffer, _target(at)
    flat = [jnp.broadcast_to(a, target.shape).reshape(-1) for a in arrays]
    data, addresses = buffer.data.reshape(-1), target.reshape(-1)
    if plan.rounds:
        old, data = ordered_atomics.in_sequence(data, addresses, -flat[0] if op == "sub" else flat[0])
    else:
        old, data = ordered_atomics.apply(data, op, addresses, flat)
    return old.reshape(target.shape), data.reshape(buffer.data.shape)
