"""Memory operations over a chunk: addresses from lane forms or arrays, then slices, gathers and scatters.

All work-items and private axes of an access are flattened to `n` elements per group. Where the mask is static, only the
elements it leaves in are touched.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu import forms, intervals, serial
from xeemu.forms import Form
from xeemu.memory import poison
from xeemu.primitives import Access
from xeemu.values import Buffer, Chunk, Emitted, Update, materialise

_INT32_LIMIT = 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class Lanes:
    """The elements of an access that take part.

    Attributes:
      shape: the work-group's and the private axes.
      chosen: their flat positions, `[n]`.
      mask: `[G, n]`, `[n]` or broadcastable: which of them are active, or None if all are.
    """

    shape: tuple[int, ...]
    chosen: np.ndarray
    mask: jax.Array | None

    @property
    def count(self) -> int:
        return len(self.chosen)

    @property
    def all(self) -> bool:
        return self.count == math.prod(self.shape)

    def pattern(self, form: Form) -> np.ndarray:
        """`[n]` static part of an operand's form."""
        aligned = form.pattern if form.pattern.ndim else form.pattern.reshape((1,) * len(self.shape))
        return np.broadcast_to(aligned, self.shape).reshape(-1)[self.chosen]

    def array(self, operand: Emitted, chunk: Chunk) -> jax.Array:
        """An operand as `[G or 1, n or 1]`."""
        if operand.known.form is not None:
            form = dataclasses.replace(operand.known.form, pattern=self.pattern(operand.known.form))
            flat = materialise(form, operand.base, operand.dtype, operand.known.varying, chunk)
            return flat if operand.known.varying else flat[None]
        array = operand.array(chunk)
        array = array if operand.known.varying else array[None]
        if not operand.shape:
            return array.reshape(-1, 1)
        array = jnp.broadcast_to(array, (array.shape[0], *self.shape)).reshape(array.shape[0], -1)
        return array if self.all else array[:, self.chosen]


def lanes(access: Access, mask: Emitted | None, masks: Sequence[jax.Array | None], chunk: Chunk) -> Lanes:
    """The elements of an access that take part.

    Args:
      access: the operation.
      mask: its `where`.
      masks: further masks, each `[G or 1, L or 1]`: of the control flow, of work-items that do not exist.
      chunk: the work-groups.
    """
    everyone = Lanes(access.shape, np.arange(math.prod(access.shape)), None)
    dynamic = []
    if mask is not None and mask.known.form is not None and mask.known.form.constant:
        everyone = dataclasses.replace(everyone, chosen=np.flatnonzero(everyone.pattern(mask.known.form)))
    elif mask is not None:
        dynamic.append(everyone.array(mask, chunk))
    private = math.prod(access.shape) // chunk.geometry.items if access.shape else 1
    items = everyone.chosen // private
    dynamic += [m if m.shape[1] == 1 else m[:, items] for m in masks if m is not None]
    combined = None
    for one in dynamic:
        combined = one if combined is None else combined & one
    return dataclasses.replace(everyone, mask=combined)


@dataclasses.dataclass(frozen=True, eq=False)
class Address:
    """Where the elements of an access lie in a memory.

    Attributes:
      index: `[G or 1, n]` or `[G or 1, 1]` linear element index; within bounds wherever `inside` holds.
      inside: `[G or 1, n or 1]` whether the index is within bounds, or None if it is proved to be.
      form: the lane form of the linear index with an `[n]` pattern, or None.
      base: the form's base, or None.
      exact: whether every index component fits the dtype of the address; else the form is right modulo its width only.
    """

    index: jax.Array
    inside: jax.Array | None
    form: Form | None
    base: jax.Array | None
    exact: bool

    def shifted(self, zero: jax.Array) -> "Address":
        """The same address, known only when `zero` is."""
        base = zero if self.base is None else self.base + zero
        form = None if self.form is None else dataclasses.replace(self.form, based=True)
        return dataclasses.replace(self, index=self.index + zero, form=form, base=base)


def locate(buffer: Buffer, indices: Sequence[Emitted], where: Lanes, chunk: Chunk) -> Address:
    """The address of an access from its index components."""
    dtype = np.dtype(np.int32 if _extent(buffer, chunk) < _INT32_LIMIT else np.int64)
    strides = [math.prod(buffer.shape[d + 1 :]) for d in range(len(buffer.shape))]
    form, base = _linear_form(indices, strides, where, dtype, len(chunk.geometry.group_range))
    inside, index = None, jnp.zeros((1, 1), dtype)
    for component, stride, size in zip(indices, strides, buffer.shape, strict=True):
        array = where.array(component, chunk)
        if not _proved(component, where, size):
            within = _in_range(array, size)
            inside = within if inside is None else inside & within
            array = jnp.where(within, array, array.dtype.type(0))
        index = index + array.astype(dtype) * dtype.type(stride)
    exact = all(intervals.within(i.known.interval, intervals.of_dtype(dtype)) for i in indices)
    return Address(index, inside, form, base, exact)


def _extent(buffer: Buffer, chunk: Chunk) -> int:
    copies = {"global": 1, "local": chunk.count, "private": chunk.count * chunk.geometry.items}[buffer.space]
    return buffer.elements * copies


def _linear_form(
    indices: Sequence[Emitted], strides: Sequence[int], where: Lanes, dtype: np.dtype, dimensions: int
) -> tuple[Form | None, jax.Array | None]:
    pattern, base = np.zeros(where.count, np.int64), None
    steps = (0,) * dimensions
    for component, stride in zip(indices, strides, strict=True):
        if component.known.form is None:
            return None, None
        form, own = forms.converted(component.known.form, component.base, dtype)
        pattern = pattern + where.pattern(form) * stride
        steps = tuple(a + b * stride for a, b in zip(steps, form.steps, strict=True))
        if own is not None:
            scaled = own * forms.wrapped(stride, dtype)
            base = scaled if base is None else base + scaled
    return Form(base is not None, steps, pattern), base


def _proved(component: Emitted, where: Lanes, size: int) -> bool:
    form = component.known.form
    if form is not None and form.constant:
        return intervals.within(intervals.of_array(where.pattern(form)), (0, size - 1)) if where.count else True
    return intervals.within(component.known.interval, (0, size - 1))


def _in_range(index: jax.Array, size: int) -> jax.Array:
    """`0 <= index < size` by one unsigned comparison, in a width in which neither wraps."""
    if index.dtype.itemsize < 4:
        index = index.astype(np.int32)
    unsigned = np.dtype(f"u{index.dtype.itemsize}")
    limit = min(size, int(jnp.iinfo(unsigned).max))
    return index.astype(unsigned) < unsigned.type(limit)


def load(
    buffer: Buffer,
    address: Address,
    where: Lanes,
    other: Emitted | None,
    varying: bool,
    gathered: bool,
    view: "View | None",
    chunk: Chunk,
) -> jax.Array:
    """`[G, *shape]` loaded values, or `shape` if they do not vary between groups; by a gather if `gathered`."""
    dtype = buffer.data.dtype
    read = _gather if gathered else functools.partial(_read, varying=varying, view=view)
    if not buffer.elements:
        values = jnp.full((1, where.count), poison(dtype))
    elif not where.count:
        values = jnp.zeros((1, 0), dtype)
    else:
        values = read(buffer, address, where, chunk=chunk)
    return filled(values, where, other, varying, chunk)


def filled(values: jax.Array, where: Lanes, other: Emitted | None, varying: bool, chunk: Chunk) -> jax.Array:
    """The result of a load from the values of the elements that take part, `[G or 1, n]`."""
    full = _expanded(values, where, other, chunk, values.dtype)
    elements = math.prod(where.shape)
    if varying:
        return jnp.broadcast_to(full, (chunk.count, elements)).reshape(chunk.count, *where.shape)
    return jnp.broadcast_to(full, (1, elements)).reshape(where.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A load in one of several iterations of a loop, in each of which it starts `move` elements further.

    Attributes:
      move: may be negative.
      turn, turns: which of how many iterations it is.
      windows: under `number` the window with the slices of all iterations, once the first one has been emitted.
      number: of the load.
    """

    move: int
    turn: int
    turns: int
    windows: dict[int, jax.Array]
    number: int

    @property
    def reach(self) -> int:
        """How far apart the first and the last slice start."""
        return abs(self.move) * (self.turns - 1)

    def cut(self, data: jax.Array, starts: Sequence[jax.Array], sizes: Sequence[int], axis: int) -> jax.Array:
        """This iteration's slice, `sizes` from `starts`, which moves along an axis."""
        if not self.turn:
            back = self.reach if self.move < 0 else 0
            first, longer = list(starts), list(sizes)
            first[axis] = first[axis] - first[axis].dtype.type(back)
            longer[axis] += self.reach
            self.windows[self.number] = lax.dynamic_slice(data, first, longer)
        place = self.move * self.turn + (self.reach if self.move < 0 else 0)
        return lax.slice_in_dim(self.windows[self.number], place, place + sizes[axis], axis=axis)


# A window this many times as long as one slice would be more than the compiler keeps at hand.
_LONGEST_WINDOW = 2
_SHORT_WINDOW = 512


def _cut(data: jax.Array, starts: Sequence[jax.Array], sizes: Sequence[int], axis: int, view: View | None) -> jax.Array:
    """A slice of a buffer, along an axis on which further iterations of a loop may go on."""
    long = view is not None and view.reach > max(_LONGEST_WINDOW * sizes[axis], _SHORT_WINDOW)
    if view is None or long:
        return lax.dynamic_slice(data, starts, sizes)
    return view.cut(data, starts, sizes, axis)


def _read(buffer: Buffer, address: Address, where: Lanes, chunk: Chunk, varying: bool, view: View | None) -> jax.Array:
    if address.inside is None:
        sliced = _slice(buffer, address, where, varying, chunk, view)
        return _gather(buffer, address, where, chunk) if sliced is None else sliced
    window = _checked_window(buffer, address, where.count, varying, chunk)
    if window is not None:
        start, fits = window
        rows = chunk.count if varying else 1
        return lax.cond(
            fits,
            lambda data: lax.dynamic_slice(data, (start,), (rows * where.count,)).reshape(rows, where.count),
            lambda data: jnp.broadcast_to(_gather(buffer.holding(data), address, where, chunk), (rows, where.count)),
            buffer.data,
        )
    return _gather(buffer, address, where, chunk)


def _gather(buffer: Buffer, address: Address, where: Lanes, chunk: Chunk) -> jax.Array:
    found = buffer.data.reshape(-1).at[places(buffer, address.index, where, chunk)]
    values = found.get(mode="promise_in_bounds", wrap_negative_indices=False)
    return values if address.inside is None else jnp.where(address.inside, values, poison(values.dtype))


def places(buffer: Buffer, index: jax.Array, where: Lanes, chunk: Chunk) -> jax.Array:
    """`[G or 1, n]` position in the buffer of a linear index into the memory of a group or work-item."""
    if buffer.space == "global":
        return index
    groups = np.arange(chunk.count, dtype=index.dtype)[:, None]
    if buffer.space == "local":
        return index + groups * index.dtype.type(buffer.elements)
    items = chunk.geometry.items
    item = (where.chosen // (math.prod(where.shape) // items)).astype(index.dtype)
    return index * index.dtype.type(chunk.count * items) + (groups * index.dtype.type(items) + item)


def _slice(
    buffer: Buffer, address: Address, where: Lanes, varying: bool, chunk: Chunk, view: View | None = None
) -> jax.Array | None:
    """The loaded values as a slice of the buffer, if they are one; the address is proved to be within bounds."""
    form, n = address.form, where.count
    if form is None:
        return None
    start = _start(address, chunk)
    if buffer.space == "global":
        step = chunk.linear_step(form)
        if not _consecutive(form.pattern) or (varying and step != n):
            return None
        rows = chunk.count if varying else 1
        return _cut(buffer.data, (start,), (rows * n,), 0, view).reshape(rows, n)
    if not form.uniform:
        return None
    zero = start.dtype.type(0)
    if buffer.space == "local":
        if not _consecutive(form.pattern):
            return None
        return _cut(buffer.data, (zero, start), (chunk.count, n), 1, view)
    one_each = where.all and len(where.shape) == len(chunk.geometry.local_range)
    if not one_each or (form.pattern != form.pattern[0]).any():
        return None
    return lax.dynamic_slice(buffer.data, (start, zero), (1, chunk.count * n)).reshape(chunk.count, n)


def _start(address: Address, chunk: Chunk) -> jax.Array:
    """The linear index of the first element of the first group of the chunk."""
    assert address.form is not None
    dtype = address.index.dtype
    start = jnp.asarray(forms.wrapped(int(address.form.pattern[0]), dtype))
    if address.base is not None:
        start = start + address.base
    step = chunk.linear_step(address.form)
    return start + jnp.asarray(chunk.first).astype(dtype) * forms.wrapped(step, dtype) if step else start


def _checked_window(
    buffer: Buffer, address: Address, n: int, varying: bool, chunk: Chunk
) -> tuple[jax.Array, jax.Array] | None:
    """Start of a contiguous window that the program itself must find to be within bounds, and whether it is.

    Only on a CPU, where a branch costs less than a gather.
    """
    form = address.form
    if not chunk.on_cpu or form is None or not address.exact or buffer.space != "global" or len(buffer.shape) != 1:
        return None
    if not _consecutive(form.pattern) or chunk.linear_step(form) != (n if varying else 0):
        return None
    start = _start(address, chunk)
    last = buffer.elements - (chunk.count if varying else 1) * n
    return (start, (start >= 0) & (start <= last)) if last >= 0 else None


def _consecutive(pattern: np.ndarray) -> bool:
    return bool((np.diff(pattern) == 1).all())


def _expanded(values: jax.Array, where: Lanes, other: Emitted | None, chunk: Chunk, dtype: np.dtype) -> jax.Array:
    """`[G or 1, all elements]`: the loaded values in their places, `other` where the mask leaves elements out."""
    if other is None:
        return values
    everyone = dataclasses.replace(where, chosen=np.arange(math.prod(where.shape)))
    rest = everyone.array(other, chunk).astype(dtype)
    if where.mask is not None:
        inactive = rest if rest.shape[1] == 1 else rest[:, where.chosen]
        values = jnp.where(where.mask, values, inactive)
    if where.all:
        return values
    chosen = np.zeros(everyone.count, bool)
    chosen[where.chosen] = True
    place = np.maximum(np.cumsum(chosen) - 1, 0)
    spread = values[:, place] if where.count else jnp.zeros((1, everyone.count), dtype)
    return jnp.where(chosen, spread, rest)


def store(buffer: Buffer, address: Address, value: Emitted, where: Lanes, chunk: Chunk) -> Buffer:
    """The memory after a plain store; of several stores to one element, some one stays."""
    if not where.count or not buffer.elements:
        return buffer
    values = where.array(value, chunk).astype(buffer.data.dtype)
    if address.inside is None:
        stored = _store_slice(buffer, address, values, where, chunk)
        if stored is not None:
            return stored
    target = _target(buffer, address, where, chunk)
    return buffer.holding(_scatter(buffer.data, "store", target, values, _always(address, where)))


def _store_slice(buffer: Buffer, address: Address, values: jax.Array, where: Lanes, chunk: Chunk) -> Buffer | None:
    """A store to consecutive elements as the update of a slice; masked-out ones are written back as they were."""
    if address.form is None:
        return None
    old = _slice(buffer, address, where, True, chunk)
    if old is None:
        return None
    new = jnp.broadcast_to(values, old.shape)
    if where.mask is not None:
        new = jnp.where(where.mask, new, old)
    start = _start(address, chunk)
    zero = start.dtype.type(0)
    if buffer.space == "global":
        return buffer.holding(lax.dynamic_update_slice(buffer.data, new.reshape(-1), (start,)))
    if buffer.space == "local":
        return buffer.holding(lax.dynamic_update_slice(buffer.data, new, (zero, start)))
    return buffer.holding(lax.dynamic_update_slice(buffer.data, new.reshape(1, -1), (start, zero)))


def _always(address: Address, where: Lanes) -> bool:
    """Whether every element takes part and is within bounds."""
    return address.inside is None and where.mask is None


def _target(buffer: Buffer, address: Address, where: Lanes, chunk: Chunk) -> jax.Array:
    """`[G, n]` positions in the buffer; its end, which scatters drop, for elements that take no part."""
    place = places(buffer, address.index, where, chunk)
    for condition in (address.inside, where.mask):
        if condition is not None:
            place = jnp.where(condition, place, place.dtype.type(buffer.data.size))
    return jnp.broadcast_to(place, (chunk.count, where.count))


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
    buffer: Buffer, op: str, address: Address, values: Sequence[Emitted], where: Lanes, chunk: Chunk, joined: bool
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
        return buffer if joined else _carried_out(buffer, op)
    arrays = [where.array(v, chunk).astype(buffer.data.dtype) for v in values]
    target = _target(buffer, address, where, chunk)
    # On a CPU a scatter is sequential.
    any_order = chunk.on_cpu or not (chunk.deterministic and _rounds(buffer, op))
    if op in ("store", "add", "min", "max", "sub") and any_order:
        operand = jnp.broadcast_to(-arrays[0] if op == "sub" else arrays[0], target.shape)
        update = Update(target, operand, _always(address, where))
        waiting = dataclasses.replace(buffer, pending=(*buffer.pending, update))
        return waiting if joined else _carried_out(waiting, op)
    _, data = _in_order(buffer, op, target, arrays, chunk)
    return buffer.holding(data)


def _carried_out(buffer: Buffer, op: str) -> Buffer:
    """A memory after the updates that wait for it, all by one operation."""
    updates = buffer.pending
    if not updates:
        return buffer
    target, values = (
        jnp.concatenate(arrays, axis=1) if len(updates) > 1 else arrays[0]
        for arrays in zip(*((update.target, update.values) for update in updates), strict=True)
    )
    always = all(update.always for update in updates)
    return buffer.holding(_scatter(buffer.data, "add" if op == "sub" else op, target, values, always))


def fetch(
    buffer: Buffer, op: str, address: Address, values: Sequence[Emitted], where: Lanes, chunk: Chunk
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
    if chunk.deterministic and _rounds(buffer, op):
        old, data = serial.in_sequence(data, addresses, -flat[0] if op == "sub" else flat[0])
    else:
        old, data = serial.apply(data, op, addresses, flat)
    return old.reshape(target.shape), data.reshape(buffer.data.shape)


def _rounds(buffer: Buffer, op: str) -> bool:
    """Whether the result of an operation depends on the order of the work-items by rounding."""
    return bool(jnp.issubdtype(buffer.data.dtype, jnp.floating)) and op in ("add", "sub")
