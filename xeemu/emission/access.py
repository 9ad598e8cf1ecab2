"""Memory operations over a chunk.

Slices where the addresses form a lattice, whole tiles where those of groups overlap, else gathers and scatters.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import addressing, bins, forwarding, locating, opacity, overlaps, serial, slices
from xeemu.emission.locating import Lanes, Located, columns, places
from xeemu.emission.neighbours import Neighbour
from xeemu.emission.slices import View
from xeemu.emission.values import Buffer, Chunk, Emitted, Shared, Some, Update
from xeemu.knowledge import lattices
from xeemu.language.memory import poison


@dataclasses.dataclass(frozen=True, eq=False)
class Loaded:
    """What a load gives.

    Attributes:
      values: `[G, *shape]`, or `shape` if they do not vary between groups.
      some: those of the elements that the mask leaves in, if that is known before the program runs.
      shared: the values, if groups share them.
    """

    values: jax.Array
    some: Some | None
    shared: Shared | None


def load(
    buffer: Buffer,
    address: Located,
    where: Lanes,
    other: Emitted | None,
    varying: bool,
    gathered: bool,
    view: View | None,
    chunk: Chunk,
    missing: np.ndarray | None = None,
    neighbour: Neighbour | None = None,
    apart: bool = False,
) -> Loaded:
    """Loads by a gather if `gathered`, and `missing` for elements out of bounds, poison if that is None."""
    dtype = buffer.data.dtype
    missing = poison(dtype) if missing is None else missing.astype(dtype)
    read = _gather if gathered else functools.partial(_read, varying=varying, view=view, neighbour=neighbour)
    if not buffer.elements:
        values: jax.Array | Shared = jnp.full((1, where.count), missing)
    elif not where.count:
        values = jnp.zeros((1, 0), dtype)
    else:
        known = forwarding.recalled(buffer, address, where, varying, chunk)
        values = read(buffer, address, where, chunk=chunk, missing=missing) if known is None else known
    return loaded(values, where, other, varying, chunk, apart)


def loaded(
    values: jax.Array | Shared, where: Lanes, other: Emitted | None, varying: bool, chunk: Chunk, apart: bool = False
) -> Loaded:
    """What `load` returns, from the values of the elements that take part, `[G or 1, n or 1]`."""
    some = shared = None
    unmasked = bool(where.count) and where.mask is None
    if isinstance(values, Shared):
        # A GPU's compiler does better with the values written out.
        if chunk.target.keeps_shared and unmasked and where.all and varying and values.own != values.block:
            shared = dataclasses.replace(values, values=values.values.reshape(-1, *where.shape))
        values = values.of_groups(values.values)
    if unmasked and not where.all:
        some = _some(values, where, other, apart, chunk)
    return Loaded(filled(values, where, other, varying, chunk), some, shared)


def _some(values: jax.Array, where: Lanes, other: Emitted | None, apart: bool, chunk: Chunk) -> Some:
    """The values of the elements that take part, and of all others where these are better computed `apart`."""
    rest, (first, last) = None, where.chosen[[0, -1]]
    if apart and other is not None and chunk.target.joins_by_branches and last - first == where.count - 1:
        beside = where.elements.beside
        rest = locating.of_elements(other, beside, chunk).astype(values.dtype)
        rest = jnp.broadcast_to(rest, (rest.shape[0], beside.count))
    return Some(where.chosen, jnp.broadcast_to(values, (values.shape[0], where.count)), rest)


def filled(values: jax.Array, where: Lanes, other: Emitted | None, varying: bool, chunk: Chunk) -> jax.Array:
    """The result of a load from the values of the elements that take part, `[G or 1, n]`."""
    full = _expanded(values, where, other, chunk, values.dtype)
    elements = math.prod(where.shape)
    if varying:
        return jnp.broadcast_to(full, (chunk.count, elements)).reshape(chunk.count, *where.shape)
    return jnp.broadcast_to(full, (1, elements)).reshape(where.shape)


def _read(
    buffer: Buffer,
    address: Located,
    where: Lanes,
    chunk: Chunk,
    missing: np.ndarray,
    varying: bool,
    view: View | None,
    neighbour: Neighbour | None,
) -> jax.Array | Shared:
    part = slices.part(buffer, address, where, varying, chunk)
    if part is not None and address.known.proved:
        return part.shared(buffer.data, view)
    edged = slices.box(buffer, address, where, varying, chunk, missing, neighbour)
    if edged is not None:
        return edged.shared(buffer.data)
    if part is None or not may_fit(buffer, address, part, chunk):
        tiles = overlaps.of_address(buffer, address, where, varying, chunk, missing)
        return tiles.read(buffer.data) if tiles else _gather(buffer, address, where, chunk, missing)
    shape = (chunk.count if varying else 1, where.count)
    return lax.cond(
        part.fits(buffer.held_elements),
        lambda data: part.read(data),
        lambda data: jnp.broadcast_to(_gather(buffer.holding(data), address, where, chunk, missing), shape),
        buffer.data,
    )


def may_fit(buffer: Buffer, address: Located, part: slices.Part, chunk: Chunk) -> bool:
    """Whether the program itself may find that a window is within bounds.

    Only where a branch costs less than a gather.
    """
    flat = buffer.space == "global" and len(buffer.shape) == 1
    return chunk.target.skips_branches and flat and address.known.exact and part.may_fit(buffer.held_elements)


def _gather(buffer: Buffer, address: Located, where: Lanes, chunk: Chunk, missing: np.ndarray) -> jax.Array:
    index, inside = address.find()
    place, data = places(buffer, index, where, chunk), buffer.data.reshape(-1)
    # Whom a mask leaves out may be beyond the end, and a window would move.
    length = _run(buffer, address, chunk) if where.mask is None else 1
    if length > 1 and place.shape[1] == where.count:
        return _runs(data, place[:, ::length], length)
    values = data.at[place].get(mode="promise_in_bounds", wrap_negative_indices=False)
    return values if inside is None else jnp.where(inside, values, missing)


def _run(buffer: Buffer, address: Located, chunk: Chunk) -> int:
    """How many elements at a time are known to follow each other, in all of an access; 1 where that does not help."""
    known = address.known
    if not (chunk.target.gathers_one_by_one and known.proved) or known.form is None or buffer.space == "private":
        return 1
    pattern = known.form.pattern
    return math.gcd(len(pattern), *(np.flatnonzero(np.diff(pattern) != 1) + 1).tolist())


def _runs(data: jax.Array, firsts: jax.Array, length: int) -> jax.Array:
    """`[G or 1, n]`: elements that follow each other, from `[G or 1, n / length]` positions on."""
    windows = lax.GatherDimensionNumbers(offset_dims=(2,), collapsed_slice_dims=(), start_index_map=(0,))
    found = lax.gather(data, firsts[..., None], windows, (length,), mode="promise_in_bounds")
    return found.reshape(len(firsts), -1)


def _expanded(values: jax.Array, where: Lanes, other: Emitted | None, chunk: Chunk, dtype: np.dtype) -> jax.Array:
    """`[G or 1, all elements]`: the loaded values in their places, `other` where the mask leaves elements out."""
    if other is None:
        return values
    everyone = addressing.everyone(where.shape)
    rest = locating.of_elements(other, everyone, chunk).astype(dtype)
    if where.mask is not None:
        inactive = rest if rest.shape[1] == 1 else columns(rest, where.chosen)
        values = jnp.where(where.mask, values, inactive)
    if where.all:
        return values
    chosen = np.zeros(everyone.count, bool)
    chosen[where.chosen] = True
    return jnp.where(chosen, _spread(values, where, everyone.count), rest)


def _spread(values: jax.Array, where: Lanes, count: int) -> jax.Array:
    """`[G or 1, count]`: values in their places, and anything elsewhere."""
    chosen = where.chosen
    steps = set(np.diff(chosen).tolist())
    if len(steps) > 1 or not where.count:
        place = np.maximum(np.cumsum(np.isin(np.arange(count), chosen)) - 1, 0)
        return values[:, place] if where.count else jnp.zeros((1, count), values.dtype)
    gap = steps.pop() - 1 if steps else 0
    fill = [(0, 0, 0), (int(chosen[0]), count - 1 - int(chosen[-1]), gap)]
    return lax.pad(jnp.broadcast_to(values, (values.shape[0], where.count)), values.dtype.type(0), fill)


def store(
    buffer: Buffer, address: Located, value: Emitted, where: Lanes, chunk: Chunk, scattered: bool = False
) -> Buffer:
    """The memory after a plain store, by a scatter if `scattered`; of several stores to one element, some one stays."""
    if not where.count or not buffer.elements:
        return buffer
    if buffer.space != "private" and where.mask is None and address.known.proved and address.known.form is not None:
        address, where = _once_each(address, where)
    values = where.array(value, chunk).astype(buffer.data.dtype)
    after = None if scattered else _written(buffer, address, where, values, chunk)
    if after is None:
        target = _target(buffer, address, where, chunk)
        after = buffer.holding(_scatter(buffer.data, "store", target, values, _always(address, where)))
    return forwarding.remembering(buffer, after, address, where, values, value.shared, chunk)


def _written(buffer: Buffer, address: Located, where: Lanes, values: jax.Array, chunk: Chunk) -> Buffer | None:
    """The memory after a store to a window; None if it does not fill one."""
    if address.known.proved:
        part = slices.part(buffer, address, where, True, chunk)
    else:
        missing = poison(buffer.data.dtype)
        part = slices.box(buffer, address, where, True, chunk, missing) if chunk.target.skips_branches else None
    written = None if part is None else part.written(contents(buffer), values, where.mask)
    if part is None or written is None:
        return None
    return dataclasses.replace(buffer.holding(written), viewed=part.whole and where.mask is None)


def contents(buffer: Buffer) -> jax.Array:
    """What is in a memory that a window is written to.

    XLA may write to an array in place although what it writes comes from elsewhere in the same array, if one of the two
    sees it in another shape (a fault of JAX 0.10.2 on CPUs). A window that is the whole memory is not written to.
    """
    return opacity.apart(buffer.data) if buffer.viewed else buffer.data


def _once_each(address: Located, where: Lanes) -> tuple[Located, Lanes]:
    """Of the elements of a group that share an address the first, where the addresses are no lattice."""
    assert address.known.form is not None
    pattern = address.known.form.pattern
    _, first = np.unique(pattern, return_index=True)
    if len(first) == len(pattern) or lattices.of_pattern(pattern):
        return address, where
    return address.only(np.sort(first)), where.only(np.sort(first))


def _always(address: Located, where: Lanes) -> bool:
    """Whether every element takes part and is within bounds."""
    return address.known.proved and where.mask is None


def _target(buffer: Buffer, address: Located, where: Lanes, chunk: Chunk) -> jax.Array:
    """`[G, n]` positions in the buffer; its end, which scatters drop, for elements that take no part."""
    index, inside = address.find()
    return _chosen(places(buffer, index, where, chunk), inside, where, buffer.data.size, chunk)


def _chosen(places: jax.Array, inside: jax.Array | None, where: Lanes, end: int, chunk: Chunk) -> jax.Array:
    for condition in (inside, where.mask):
        if condition is not None:
            places = jnp.where(condition, places, places.dtype.type(end))
    return jnp.broadcast_to(places, (chunk.count, where.count))


def _scatter(data: jax.Array, op: str, target: jax.Array, values: jax.Array, always: bool) -> jax.Array:
    values = jnp.broadcast_to(values, target.shape).reshape(-1)
    places = data.reshape(-1).at[target.reshape(-1)]
    updates: dict[str, Callable[..., jax.Array]] = {
        "store": places.set,
        "add": places.add,
        "min": places.min,
        "max": places.max,
    }
    updated = updates[op](values, mode="promise_in_bounds" if always else "drop", wrap_negative_indices=False)
    return updated.reshape(data.shape)


def atomic(
    buffer: Buffer, op: str, address: Located, values: Sequence[Emitted], where: Lanes, chunk: Chunk, joined: bool
) -> Buffer:
    """The memory after atomic updates whose old values nobody asked for.

    Args:
      buffer: the memory before.
      op: the operation.
      address, where: the elements.
      values: what to combine them with.
      chunk: the work-groups.
      joined: whether the update may wait for the next one, which is the only other use of the memory.
    """
    if not where.count or not buffer.elements:
        return buffer if joined else carried_out(buffer, chunk)
    arrays = [where.array(v, chunk).astype(buffer.data.dtype) for v in values]
    if not joined and (data := _combined(buffer, op, address, arrays, where, chunk)) is not None:
        return buffer.holding(data)
    any_order = chunk.target.scatters_in_order or not (chunk.deterministic and rounds(buffer, op))
    if op in ("store", "add", "min", "max", "sub") and any_order:
        update = _update(buffer, op, address, arrays[0], where, chunk)
        if chunk.single and (update.own or buffer.space == "local"):
            update = dataclasses.replace(update, few=bins.few(buffer, op, address, values[0], chunk.target.counting))
        waiting = dataclasses.replace(buffer, pending=(*buffer.pending, update), stored=())
        return waiting if joined else carried_out(waiting, chunk)
    _, data = _in_order(buffer, op, _target(buffer, address, where, chunk), arrays, chunk)
    return buffer.holding(data)


def _update(buffer: Buffer, op: str, address: Located, array: jax.Array, where: Lanes, chunk: Chunk) -> Update:
    own = buffer.space == "private" and where.all and where.count == chunk.geometry.items
    target = _rows(buffer, address, where, chunk) if own else _target(buffer, address, where, chunk)
    operand = jnp.broadcast_to(-array if op == "sub" else array, target.shape)
    return Update(target, operand, "add" if op == "sub" else op, _always(address, where), own)


def _rows(buffer: Buffer, address: Located, where: Lanes, chunk: Chunk) -> jax.Array:
    """`[G, n]` for each work-item the number of its element of a private memory; their count where it has no part."""
    index, inside = address.find()
    return _chosen(index, inside, where, buffer.elements, chunk)


def _positions(update: Update, data: jax.Array) -> jax.Array:
    """The target of an update as positions in the flat contents of its memory."""
    if not update.own:
        return update.target
    # With the work-items' numbers as an array, XLA would compute these one by one.
    rows, columns = update.target.reshape(-1), update.target.dtype.type(data.shape[1])
    flat = rows * columns + lax.rem(lax.iota(rows.dtype, rows.size), columns)
    return flat.reshape(update.target.shape)


def _combined(
    buffer: Buffer, op: str, address: Located, arrays: Sequence[jax.Array], where: Lanes, chunk: Chunk
) -> jax.Array | None:
    """The contents after atomic updates in any order, if their addresses form a lattice.

    Private memory is updated where some place is not known (see `accumulation`), and a scatter does that.
    """
    in_order = chunk.deterministic and rounds(buffer, op)
    if buffer.space == "private" or buffer.pending or op not in serial.COMBINE or in_order or not address.known.proved:
        return None
    part = slices.part(buffer, address, where, True, chunk)
    return part.combined(contents(buffer), op, arrays[0], where.mask, chunk.target) if part else None


def carried_out(buffer: Buffer, chunk: Chunk) -> Buffer:
    """A memory after the updates that wait for it, all by one operation.

    They are joined in one scatter unless that takes its elements one after the other anyway.
    """
    figures = chunk.target.counting
    counted = bins.of_updates(buffer.pending, figures)
    data, updates = bins.added(buffer, counted, figures), [u for u in buffer.pending if u not in counted]
    for update in updates if chunk.target.scatters_in_order else _joined(updates, data):
        data = _scatter(data, update.op, _positions(update, data), update.values, update.always)
    return buffer.holding(data)


def _joined(updates: Sequence[Update], data: jax.Array) -> list[Update]:
    if len(updates) < 2:
        return list(updates)
    target = jnp.concatenate([_positions(update, data).reshape(-1) for update in updates])
    values = jnp.concatenate([update.values.reshape(-1) for update in updates])
    return [Update(target, values, updates[0].op, all(update.always for update in updates), own=False)]


def fetch(
    buffer: Buffer, op: str, address: Located, values: Sequence[Emitted], where: Lanes, chunk: Chunk
) -> tuple[jax.Array, Buffer]:
    """`[G, *shape]` old values of atomic updates, and the memory after them."""
    missing = poison(buffer.data.dtype)
    count = math.prod(where.shape)
    if not where.count or not buffer.elements:
        return jnp.full((chunk.count, *where.shape), missing), buffer
    arrays = [where.array(v, chunk).astype(buffer.data.dtype) for v in values]
    old, data = _in_order(buffer, op, _target(buffer, address, where, chunk), arrays, chunk)
    if not where.all:
        old = jnp.full((chunk.count, count), missing).at[:, where.chosen].set(old, unique_indices=True)
    return old.reshape(chunk.count, *where.shape), buffer.holding(data)


def _in_order(
    buffer: Buffer, op: str, target: jax.Array, arrays: Sequence[jax.Array], chunk: Chunk
) -> tuple[jax.Array, jax.Array]:
    """Old values and the memory after atomic operations in the order of the work-items."""
    flat = [jnp.broadcast_to(a, target.shape).reshape(-1) for a in arrays]
    data, addresses = buffer.data.reshape(-1), target.reshape(-1)
    if chunk.deterministic and rounds(buffer, op):
        old, data = serial.in_sequence(data, addresses, -flat[0] if op == "sub" else flat[0])
    else:
        old, data = serial.apply(data, op, addresses, flat)
    return old.reshape(target.shape), data.reshape(buffer.data.shape)


def rounds(buffer: Buffer, op: str) -> bool:
    """Whether the result of an operation depends on the order of the work-items by rounding."""
    return bool(jnp.issubdtype(buffer.data.dtype, jnp.floating)) and op in ("add", "sub")
