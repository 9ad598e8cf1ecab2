"""What the lanes of a request have in common: which are first with a key, how many share it, who came before.

Axis legend: `...` any leading axes, R hardware requests of one sub-group instruction, S lanes of one of them.

A function works on NumPy arrays and, traced or not, on JAX arrays. What is said of each lane compares it with all
others, one column at a time: S elementwise operations on the whole array, which XLA fuses into one loop. What is only
counted is so on lanes in order: a sorting network is a few elementwise operations more, and serves all that is counted.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any
"""A NumPy array or a JAX array."""


def namespace(*arrays: Array) -> ModuleType:
    """`jax.numpy` if one of the arrays belongs to JAX, else `numpy`."""
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def requests(addresses: Array, active: Array, lanes: int | None) -> tuple[Array, Array]:
    """Addresses and active mask as the hardware splits them.

    Args:
      addresses: integers `[..., lanes of a sub-group]`.
      active: booleans that broadcast against `addresses`.
      lanes: lanes of one request; `None`: a sub-group is one request.

    Returns:
      Both as `[..., R, S]`; missing lanes of the last request are not active.
    """
    xp = namespace(addresses, active)
    addresses, active = xp.broadcast_arrays(xp.asarray(addresses), xp.asarray(active, dtype=bool))
    size = addresses.shape[-1]
    step = min(lanes or size, size)
    if missing := -size % step:
        padding = [(0, 0)] * (addresses.ndim - 1) + [(0, missing)]
        addresses, active = xp.pad(addresses, padding), xp.pad(active, padding)
    return split(addresses, step), split(active, step)


def split(array: Array, lanes: int) -> Array:
    """`[..., n * lanes]` as `[..., n, lanes]`."""
    return array.reshape(*array.shape[:-1], -1, lanes)


def first(active: Array, *keys: Array) -> Array:
    """Marks the active lanes `[..., S]` which no earlier active lane equals in all keys `[..., S]`, each at least 0."""
    xp = namespace(active, *keys)
    lane = xp.arange(active.shape[-1], dtype=np.int32)
    # An inactive lane gets a key of its own: ~lane is negative, or near the top of an unsigned type.
    head, *others = (xp.where(active, key, ~lane.astype(key.dtype)) for key in keys)
    earliest = xp.zeros(head.shape, dtype=np.int32)
    for j in reversed(range(active.shape[-1])):
        same = head == head[..., j : j + 1]
        for key in others:
            same = same & (key == key[..., j : j + 1])
        earliest = xp.where(same, np.int32(j), earliest)
    return active & (earliest == lane)


def sharing(active: Array, key: Array, keys: int) -> Array:
    """For each active lane, the active lanes that have its key; 0 for the others.

    Args:
      active: booleans `[..., S]`.
      key: integers `[..., S]` from 0 to `keys` - 1.
      keys: the bound; a small one lets more lanes be compared at once.

    Returns:
      `[..., S]`, uint8 where the bounds allow: reduce before you convert.
    """
    key, xp = _narrow(active, key, keys), namespace(active, key)
    count = xp.zeros_like(key)
    for j in range(key.shape[-1]):
        count = count + (key == key[..., j : j + 1]).astype(key.dtype)
    # Not `active`: XLA would then compute it a second time here.
    return xp.where(key < keys, count, xp.zeros_like(count))


def rank(active: Array, key: Array) -> Array:
    """For each active lane, the earlier active lanes that have its key (at least 0): int32 `[..., S]`."""
    xp = namespace(active, key)
    lane = xp.arange(key.shape[-1], dtype=np.int32)
    key = xp.where(active, key, ~lane.astype(key.dtype))
    count = xp.zeros(key.shape, dtype=np.uint8)
    for j in range(key.shape[-1] - 1):
        count = count + ((key == key[..., j : j + 1]) & (lane > j)).astype(np.uint8)
    return count.astype(np.int32)


def part(key: Array, size: int) -> Array:
    """In which piece of so many numbers keys are, which are at least 0: a division in JAX is a dozen operations."""
    return key // key.dtype.type(size) if size & (size - 1) else key >> key.dtype.type(size.bit_length() - 1)


def place(key: Array, size: int) -> Array:
    """Where in a piece of so many numbers keys are, which are at least 0."""
    return key % key.dtype.type(size) if size & (size - 1) else key & key.dtype.type(size - 1)


def different(active: Array, key: Array, *sizes: int) -> list[Array]:
    """In how many different pieces of so many numbers keys of active lanes lie: for each size int32 `[...]`.

    Args:
      active: booleans `[..., S]`.
      key: integers `[..., S]`, at least 0 and below half of what their type holds if it has no sign.
      sizes: of the pieces.
    """
    keys = _keys(active, key)
    counts = _pieces_of_array(keys, sizes) if isinstance(keys, np.ndarray) else _pieces(keys, sizes)
    return [count.astype(np.int32).reshape(key.shape[:-1]) for count in counts]


def turns(active: Array, key: Array, *sizes: int) -> list[Array]:
    """The active lanes that share the most wanted key of a piece, added up over the pieces; else as `different`."""
    keys = _keys(active, key)
    found = _turns_of_array(keys, sizes) if isinstance(keys, np.ndarray) else _turns(keys, sizes)
    return [lanes.reshape(key.shape[:-1]) for lanes in found]


def most_in_one(active: Array, key: Array, size: int, alike: bool) -> Array:
    """The most active lanes whose keys lie in one piece of so many numbers: int32 `[...]`.

    Args:
      active, key: as of `different`.
      size: of the pieces.
      alike: true if lanes with one key count as one.
    """
    keys = _keys(active, key)
    found = _most_of_array(keys, size, alike) if isinstance(keys, np.ndarray) else _most(keys, size, alike)
    return found.reshape(key.shape[:-1])


def _keys(active: Array, key: Array) -> Array:
    """Keys `[n, S]`: what is not active is -1, comes first in order, and lies in a piece of its own."""
    signed = key.astype(f"i{key.dtype.itemsize}")
    return namespace(active, key).where(active, signed, signed.dtype.type(-1)).reshape(-1, key.shape[-1])


def _turns_of_array(keys: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """What `turns` gives of keys `[n, S]`, -1 where a lane is not active: `[n]` each."""
    ordered = np.sort(keys, axis=1)
    run = _runs(ordered, _begins(ordered)).reshape(-1)
    found = []
    for size in sizes:
        begins = np.flatnonzero(_begins(part(ordered, size)))
        most = np.maximum.reduceat(run, begins) if len(begins) else run
        rows = np.searchsorted(begins, np.arange(len(keys)) * keys.shape[1])
        found.append(np.add.reduceat(most, rows, dtype=np.int32) if len(rows) else most)
    return found


def _most_of_array(keys: np.ndarray, size: int, alike: bool) -> np.ndarray:
    """What `most_in_one` gives of keys `[n, S]`, -1 where a lane is not active: `[n]`."""
    ordered = np.sort(keys, axis=1)
    counted = _begins(ordered) if alike else None
    most: np.ndarray = _runs(ordered, _begins(part(ordered, size)), counted).max(1, initial=0)
    return most


def _begins(ordered: np.ndarray) -> np.ndarray:
    """Which of numbers `[n, S]` in order differ from the one before, or have none."""
    begins = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=begins[:, 1:])
    return begins


def _runs(ordered: np.ndarray, begins: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """How many keys `[n, S]` of the run that each lies in come no later than it, if marked; 0 of those below 0.

    Args:
      ordered: the keys, in order.
      begins: marks where runs begin.
      counted: marks those that count, the first of each run among them; None for all.
    """
    if counted is None:
        number = np.broadcast_to(np.arange(ordered.shape[1], dtype=np.int32), ordered.shape)
    else:
        number = counted.cumsum(1, dtype=np.int32)
    first = np.maximum.accumulate(np.where(begins, number, np.int32(0)), axis=1)
    return np.where(ordered >= 0, number - first + np.int32(1), np.int32(0))


# Hundreds of operations, which are traced once for all accesses of as many lanes.
@functools.partial(jax.jit, static_argnums=1)
def _turns(keys: jax.Array, sizes: Sequence[int]) -> list[jax.Array]:
    """The same in JAX: `[n, 1]` each."""
    first, *others = _ordered(keys)
    run = (first >= 0).astype(np.int32)
    most, total = [run for _ in sizes], [run for _ in sizes]
    for before, after in itertools.pairwise((first, *others)):
        run = jnp.where(before == after, run + np.int32(1), np.int32(1)) * (after >= 0).astype(np.int32)
        for n, size in enumerate(sizes):
            here = jnp.where(part(before, size) == part(after, size), most[n], np.int32(0))
            most[n] = jnp.maximum(here, run)
            total[n] = total[n] + (most[n] - here)
    return total


@functools.partial(jax.jit, static_argnums=(1, 2))
def _most(keys: jax.Array, size: int, alike: bool) -> jax.Array:
    """The same of `most_in_one`: `[n, 1]`."""
    first, *others = _ordered(keys)
    run = most = (first >= 0).astype(np.int32)
    for before, after in itertools.pairwise((first, *others)):
        longer = run + ((before != after).astype(np.int32) if alike else np.int32(1))
        run = jnp.where(part(before, size) == part(after, size), longer, np.int32(1)) * (after >= 0).astype(np.int32)
        most = jnp.maximum(most, run)
    return most


def _pieces_of_array(keys: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """How many pieces keys `[n, S]` lie in, -1 where a lane is not active, for each size."""
    ordered = np.sort(keys, axis=1)
    each = [ordered // size for size in sizes]
    return [(pieces[:, 0] >= 0).astype(np.int32) + (np.diff(pieces) != 0).sum(1) for pieces in each]


@functools.partial(jax.jit, static_argnums=1)
def _pieces(keys: jax.Array, sizes: tuple[int, ...]) -> list[jax.Array]:
    """The same in JAX, all counts in one number: XLA would put the keys in order for each count anew.

    These are hundreds of operations: those of `lax` are traced in a third of the time of those of `jnp`, and once for
    all accesses of as many lanes, as this is a function of its own.
    """
    bits = keys.shape[1].bit_length()
    most = np.int32 if len(sizes) * bits < 32 else np.int64
    first, *others = _ordered(keys)
    none, *ones = (lax.full_like(first, one, most) for one in (0, *(1 << (n * bits) for n in range(len(sizes)))))
    counts = lax.select(lax.ge(first, lax.full_like(first, 0)), functools.reduce(lax.add, ones), none)
    for before, after in itertools.pairwise((first, *others)):
        for size, one in zip(sizes, ones, strict=True):
            counts = lax.add(counts, lax.select(_are_apart(before, after, size), one, none))
    mask = most((1 << bits) - 1)
    return [counts >> most(n * bits) & mask for n in range(len(sizes))]


def _are_apart(before: jax.Array, after: jax.Array, size: int) -> jax.Array:
    """True if keys are in different pieces of `size` numbers; -1 is in none."""
    if size & (size - 1):
        return before // size != after // size
    # -1 differs from all others by the highest bit.
    differing = lax.convert_element_type(lax.bitwise_xor(before, after), f"u{before.dtype.itemsize}")
    return lax.ge(differing, lax.full_like(differing, size))


def _ordered(keys: jax.Array) -> Sequence[jax.Array]:
    """The columns `[n, 1]` of keys `[n, S]`, each row of them put in order, from the least up.

    Not `[n]`: XLA moves such shapes about, and computes anew what it finds in two.
    """
    columns = [lax.slice_in_dim(keys, j, j + 1, axis=1) for j in range(keys.shape[1])]
    for low, high in _network(len(columns)):
        a, b = columns[low], columns[high]
        columns[low], columns[high] = lax.min(a, b), lax.max(a, b)
    return columns


@functools.lru_cache(maxsize=64)
def _network(size: int) -> tuple[tuple[int, int], ...]:
    """Pairs of places that in this order are put in order, so that in the end all are (K. E. Batcher, 1968)."""
    exchanges = []
    run = 1
    while run < size:
        step = run
        while step:
            for start in range(step % run, size - step, 2 * step):
                for low in range(start, min(start + step, size - step)):
                    if low // (2 * run) == (low + step) // (2 * run):
                        exchanges.append((low, low + step))
            step //= 2
        run *= 2
    return tuple(exchanges)


def repeat(times: int, step: Callable[[Array, Array], Array], state: Array) -> Array:
    """`state = step(i, state)` for i from 0 to `times` - 1; for JAX one loop, which compiles once."""
    if isinstance(state, jax.Array):
        return jax.lax.fori_loop(np.int32(0), np.int32(times), step, state)
    for i in range(times):
        state = step(np.int32(i), state)
    return state


def _narrow(active: Array, key: Array, keys: int) -> Array:
    """The keys in the narrowest type that also holds one of its own for each inactive lane."""
    xp = namespace(active, key)
    dtype = np.uint8 if keys + key.shape[-1] <= 256 else np.int32
    own = keys + xp.arange(key.shape[-1], dtype=np.int32)
    return xp.where(active, key.astype(own.dtype), own).astype(dtype)
