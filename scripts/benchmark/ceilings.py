"""The examples in JAX as one would write them by hand for the same algorithm: what an emulation can hope to reach.

Every program does the work of the kernel's algorithm: local memory is filled before it is used, what is updated in a
loop is updated in a loop, each work-item's own bins are counted apart. It knows what the kernel's author knows, such as
that a row is contiguous or that all atomics meet in one word; and no library routine does the work instead. Working
sets stay near a core's cache, as far as that is faster. Where two ways are natural, there are both.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.kernels import Example

Call = Callable[[], Any]
Ceiling = Callable[[Example, tuple[int, ...], Sequence[np.ndarray]], Call]
"""From an example, its size and its inputs, a function that computes what the example gives."""


def _resident(program: Callable, *arrays: np.ndarray) -> Call:
    """A compiled program on arrays that lie on JAX's device."""
    compiled, on_device = jax.jit(program), jax.device_put(arrays)
    return lambda: compiled(*on_device)


# --- Bank conflicts ---


def slm_bank(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """The words of a group's work-items are a column of its local memory seen as rows of `stride` words."""
    stride, iterations = example.static["stride"], example.static["iterations"]
    items = 32

    def group(ids):
        def accumulate(m, slm):
            column = lax.slice(slm, (0, 0), (items, 1))
            return lax.dynamic_update_slice(slm, column + (ids * m)[:, None], (0, 0))

        slm = jnp.zeros((32 * 64 // stride, stride), jnp.int32)
        return lax.fori_loop(0, iterations, accumulate, slm)[:items, 0]

    def consecutive(ids):
        def accumulate(m, slm):
            return lax.dynamic_update_slice(slm, slm[:items] + ids * m, (0,))

        return lax.fori_loop(0, iterations, accumulate, jnp.zeros(32 * 64, jnp.int32))[:items]

    def program(data):
        ids = jnp.arange(data.size, dtype=jnp.int32).reshape(-1, items)
        return lax.map(consecutive if stride == 1 else group, ids).reshape(-1)

    return _resident(program, *inputs)


# --- Convolution ---


def convolve(data: jax.Array, taps: jax.Array) -> jax.Array:
    """Shifted slices times taps, block by block so that a block stays in cache."""
    block, at_once = 16384, 64
    half = taps.size // 2
    padded = jnp.pad(data, half)

    def block_from(start):
        x = lax.dynamic_slice(padded, (start,), (block + 2 * half,))

        def add_taps(k, total):
            y = lax.dynamic_slice(x, (k * at_once,), (block + at_once - 1,))
            t = lax.dynamic_slice(taps, (k * at_once,), (at_once,))
            for j in range(at_once):
                total += y[j : j + block] * t[j]
            return total

        total = lax.fori_loop(0, taps.size // at_once, add_taps, jnp.zeros(block, data.dtype))
        for j in range(taps.size // at_once * at_once, taps.size):
            total += x[j : j + block] * taps[j]
        return total

    return lax.map(block_from, jnp.arange(0, data.size, block)).reshape(-1)


def convolution(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    return _resident(convolve, *inputs[:2])


# --- Histograms ---


def _fields(example: Example, words: np.ndarray) -> np.ndarray:
    """The words as what is counted of them: bytes, or 16 bits for 1024 bins."""
    return words.view(np.uint8 if example.static["num_bins"] == 256 else np.uint16)


def _counted(program: Callable, fields: np.ndarray, hist: np.ndarray) -> Call:
    """Counts of 32 bits, added to the 64-bit bins as they are fetched."""
    call = _resident(program, fields)
    return lambda: hist + np.asarray(call())


def histogram_private(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """One scatter into the bins of some sub-groups' work-items at a time."""
    sub_groups, lanes, block, bins = 16, 16, 256, example.static["num_bins"]
    items = (np.arange(sub_groups)[:, None, None, None] * lanes + np.arange(lanes)[:, None]).astype(np.int32)

    def program(fields):
        def count(x):
            place = items * bins + (x & 0x1F).astype(jnp.int32)
            counts = jnp.zeros(sub_groups * lanes * bins, jnp.uint32)
            counts = counts.at[place.reshape(-1)].add(1, mode="promise_in_bounds")
            return counts.reshape(-1, bins).sum(axis=0)

        return lax.map(count, fields.reshape(-1, sub_groups, block, lanes, 8)).sum(axis=0)

    return _counted(program, _fields(example, inputs[0]), inputs[1])


def histogram_registers(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Every byte is compared with all bins: the 16 lanes' 16 registers of a sub-group are a vector of 256 counts."""
    at_once, bins = 8, np.arange(256, dtype=np.uint8)

    def program(fields):
        words = fields.reshape(-1, at_once)

        def count(k, counts):
            word = lax.dynamic_index_in_dim(words, k, keepdims=False)
            return counts + (word[:, None] == bins).astype(jnp.uint32).sum(axis=0)

        return lax.fori_loop(0, words.shape[0], count, jnp.zeros(256, jnp.uint32))

    return _counted(program, _fields(example, inputs[0]), inputs[1])


def histogram_slm(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray], at_once: int) -> Call:
    """A scatter into the bins of some groups at a time."""
    bins = example.static["num_bins"]
    groups = size[0] // (256 * 64)

    def program(fields):
        def count(x):
            place = (x & (bins - 1)).astype(jnp.int32) + lax.broadcasted_iota(jnp.int32, x.shape, 0) * bins
            counts = jnp.zeros(at_once * bins, jnp.uint32)
            return counts.at[place.reshape(-1)].add(1, mode="promise_in_bounds").reshape(at_once, bins)

        return lax.map(count, fields.reshape(groups // at_once, at_once, -1)).reshape(-1, bins).sum(axis=0)

    return _counted(program, _fields(example, inputs[0]), inputs[1])


# --- Tables ---


def _table_copy(copy: Callable, example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Fills the local memories of some groups with `copy(table, groups)`, then lets their work-items use them."""
    entries, groups, items = size
    at_once = min(groups, 64)

    def program(table):
        def use(first):
            slm = lax.optimization_barrier(copy(table, at_once))
            if items == entries:
                return slm[:, ::-1]
            if entries % items == 0 and at_once % (entries // items) == 0:
                parts = slm[:, ::-1].reshape(-1, entries // items, entries // items, items)
                return jnp.stack([parts[:, k, k] for k in range(entries // items)], axis=1).reshape(at_once, items)
            return _entries_from_the_end(slm, first, items, entries)

        return lax.map(use, jnp.arange(0, groups * items, at_once * items)).reshape(-1)

    return _resident(program, inputs[0])


def _entries_from_the_end(slm: jax.Array, first: jax.Array, items: int, entries: Any) -> jax.Array:
    ids = first + jnp.arange(slm.shape[0] * items).reshape(-1, items)
    return jnp.take_along_axis(slm, entries - 1 - ids % entries, axis=1, mode="promise_in_bounds")


def table_copy_bad(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Entry by entry: what all work-items store is the same."""

    def copy(table, groups):
        def copy_entry(index, slm):
            entry = lax.dynamic_index_in_dim(table, index)
            return lax.dynamic_update_slice(slm, jnp.broadcast_to(entry, (1, groups)), (index, 0))

        return lax.fori_loop(0, table.size, copy_entry, jnp.zeros((table.size, groups), table.dtype)).T

    return _table_copy(copy, example, size, inputs)


def table_copy_shared(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """As many entries at a time as a group has work-items."""
    items = size[2]

    def copy(table, groups):
        rows = jnp.broadcast_to(table, (groups, table.size))
        parts = [rows[:, k : k + items] for k in range(0, table.size, items)]
        return jnp.concatenate(parts, axis=1)

    return _table_copy(copy, example, size, inputs)


def table_copy_loop(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """The same with a loop of a length that is known when it runs, and room for 1024 entries."""
    (_, groups, items), capacity = size, 1024
    at_once = min(groups, 64)

    def program(table, entries):
        padded = jnp.pad(table, (0, capacity - table.size))

        def use(first):
            def copy(step, slm):
                part = lax.dynamic_slice(padded, (step * items,), (items,))
                live = step * items + jnp.arange(items) < entries
                old = lax.dynamic_slice(slm, (0, step * items), (at_once, items))
                return lax.dynamic_update_slice(slm, jnp.where(live, part, old), (0, step * items))

            steps = (entries + items - 1) // items
            slm = lax.fori_loop(0, steps, copy, jnp.zeros((at_once, capacity), table.dtype))
            return _entries_from_the_end(slm, first, items, entries)

        return lax.map(use, jnp.arange(0, groups * items, at_once * items)).reshape(-1)

    return _resident(program, *inputs[:2])


# --- Reductions ---


def tree_reduction(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Every step of the tree over all groups; all launches are one program."""
    group, growing = 128, example.name == "tree_reduction"

    def sums_of_groups(data):
        groups = -(-data.size // (2 * group))
        partial = jnp.pad(data, (0, groups * 2 * group - data.size)).reshape(groups, group, 2).sum(axis=2)
        while partial.shape[1] > 1:
            half = partial.shape[1] // 2
            pairs = partial.reshape(groups, half, 2) if growing else partial.reshape(groups, 2, half)
            partial = pairs.sum(axis=2 if growing else 1)
        return partial[:, 0]

    def program(data):
        while data.size > 1:
            data = sums_of_groups(data)
        return data

    return _resident(program, inputs[0])


def reduction_serial(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    def program(data, total):
        return lax.scan(lambda total, x: (total + x, None), total, data, unroll=8)[0]

    return _resident(program, *inputs)


def reduction_racy(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Every work-item stores to the one word."""

    def store(total, place, data):
        return total.at[place].set(total[0] + data, mode="promise_in_bounds")

    return _resident(lambda data, total: _in_blocks(store, data, total), *inputs)


def reduction_by_scatter(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    def add(total, place, data):
        return total.at[place].add(data, mode="promise_in_bounds")

    return _resident(lambda data, total: _in_blocks(add, data, total), *inputs)


def _in_blocks(update: Callable, data: jax.Array, word: Any) -> Any:
    """The word after `update(word, place, block)` for one block of the data after the other."""
    block = min(data.size, 2**16)
    place = jnp.zeros(block, jnp.int32)
    return lax.scan(lambda word, part: (update(word, place, part), None), word, data.reshape(-1, block))[0]


def reduction_at_once(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    return _resident(lambda data, total: total + data.sum(), *inputs)


def atomics_lab_by_scatter(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    def update(words, place, data):
        least, greatest = words
        least = least.at[place].min(data, mode="promise_in_bounds")
        return least, greatest.at[place].max(data, mode="promise_in_bounds")

    return _with_middle(_resident(lambda data, *words: _in_blocks(update, data, words), *inputs))


def atomics_lab_at_once(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    def program(data, minimum, maximum):
        return jnp.minimum(minimum, data.min()), jnp.maximum(maximum, data.max())

    return _with_middle(_resident(program, *inputs))


def _with_middle(call: Call) -> Call:
    def outputs():
        least, greatest = call()
        return least, greatest, (np.asarray(least, np.float64) + np.asarray(greatest, np.float64)) / 2

    return outputs


# --- Products ---


def products(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """Columns of a times rows of b, of some pairs at once."""
    n, at_once = 16, 256

    def multiply(pairs):
        a, b = pairs
        total = jnp.zeros_like(a)
        for k in range(n):
            total += a[:, :, k, None] * b[:, k, None, :]
        return total

    def program(a, b):
        blocks = (-1, min(at_once, a.size // n**2), n, n)
        return lax.map(multiply, (a.reshape(blocks), b.reshape(blocks))).reshape(-1)

    return _resident(program, *inputs[:2])


def matmul_tiled(example: Example, size: tuple[int, ...], inputs: Sequence[np.ndarray]) -> Call:
    """A row of tiles of the result at a time, along the depth tile by tile."""
    (n, m, depth), tile = size, 16
    tiles, rows = -(-depth // tile), -(-n // tile)

    def program(a, b):
        a = jnp.pad(a, ((0, rows * tile - n), (0, tiles * tile - depth))).reshape(rows, tile, -1)
        b = jnp.pad(b, ((0, tiles * tile - depth), (0, 0)))

        def row_of_tiles(a):
            def add_tile(t, total):
                a_tile = lax.dynamic_slice(a, (0, t * tile), (tile, tile))
                b_tiles = lax.dynamic_slice(b, (t * tile, 0), (tile, m))

                def add(k, total):
                    column, row = lax.dynamic_slice_in_dim(a_tile, k, 1, 1), lax.dynamic_slice_in_dim(b_tiles, k, 1, 0)
                    return total + column * row

                return lax.fori_loop(0, tile, add, total, unroll=4)

            return lax.fori_loop(0, tiles, add_tile, jnp.zeros((tile, m), a.dtype))

        return lax.map(row_of_tiles, a).reshape(-1, m)[:n]

    return _resident(program, *inputs[:2])


def _histograms(*at_once: int) -> dict[str, Ceiling]:
    def ceiling(groups: int) -> Ceiling:
        return lambda example, size, inputs: histogram_slm(example, size, inputs, groups)

    return {f"groups by {groups}": ceiling(groups) for groups in at_once}


_ADDITION = {"reduction": reduction_at_once, "scatter": reduction_by_scatter}

CEILINGS: Mapping[str, Mapping[str, Ceiling]] = {
    "slm_bank_16": {"slices": slm_bank},
    "slm_bank_1": {"slices": slm_bank},
    "convolution_global": {"shifted slices": convolution},
    "convolution_slm": {"shifted slices": convolution},
    "histogram_private": {"scatter": histogram_private},
    "histogram_registers": {"comparisons": histogram_registers},
    "histogram_slm": _histograms(1, 4),
    "histogram_slm_1024": _histograms(1, 4),
    "table_copy_bad": {"entry by entry": table_copy_bad},
    "table_copy_good": {"rows": table_copy_shared},
    "table_copy_best": {"rows": table_copy_shared},
    "table_copy_min": {"rows": table_copy_shared},
    "table_copy_unrolled": {"rows": table_copy_shared},
    "table_copy_loop": {"rows": table_copy_loop},
    "tree_reduction": {"steps": tree_reduction},
    "tree_reduction_sequential": {"steps": tree_reduction},
    "matmul_naive": {"rows": products},
    "matmul_local": {"rows": products},
    "matmul_tiled": {"tiles": matmul_tiled},
    "reduction_serial": {"loop": reduction_serial},
    "reduction_racy": {"scatter": reduction_racy},
    "reduction_atomics_buffer": _ADDITION,
    "reduction_atomics_usm": _ADDITION,
    "atomics_lab": {"reduction": atomics_lab_at_once, "scatter": atomics_lab_by_scatter},
}
"""Of each example, the ways to write it."""
