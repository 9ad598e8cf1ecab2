"""Ways to fill a table in local memory, from "Applying Shared Local Memory" (Intel, OpenCL, 2019 Update 4).

The text's kernels end when the table is filled, and it names no launch. So that there is a result, each work-item here
then writes an entry, as a rule one that another work-item has copied, to `out` at its global id. A size is (table
entries, work-groups, work-items of a group). OpenCL's dimension 0 is the contiguous one, SYCL's last.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import SEED, Example, Inputs, Size

_BEST_WIDTH = 16


@xe.kernel
def table_copy_bad(wg: xe.WorkGroup, table: xe.Memory, out: xe.Memory) -> xe.Memory:
    """Every work-item copies the whole table."""
    size = table.shape[0]
    slm_table = wg.local(size, jnp.int32)
    slm_table = lax.fori_loop(0, size, lambda index, slm: slm.at[index].set(table[index]), slm_table)
    slm_table = wg.barrier(slm_table)
    return _use(wg, slm_table, size, out)


@xe.kernel
def table_copy_good(wg: xe.WorkGroup, table: xe.Memory, out: xe.Memory) -> xe.Memory:
    """The work-items share the table: each starts at its id and steps by the size of the group."""
    size = table.shape[0]
    lidx, size_x = wg.local_id(), wg.local_range()
    slm_table = wg.local(size, jnp.int32)

    def copy(step, slm_table):
        index = lidx + step * size_x
        live = index < size
        return slm_table.at[index].set(table.load(index, where=live), where=live)

    slm_table = wg.barrier(lax.fori_loop(0, -(-size // size_x), copy, slm_table))
    return _use(wg, slm_table, size, out)


@xe.kernel
def table_copy_best(wg: xe.WorkGroup, table: xe.Memory, out: xe.Memory) -> xe.Memory:
    """One entry for each work-item of a two-dimensional group as large as the table."""
    lidx, lidy = wg.local_id(1), wg.local_id(0)
    slm_table = wg.local(table.shape[0], jnp.int32)
    index = lidx + lidy * wg.local_range(1)
    slm_table = slm_table.at[index].set(table[index])
    slm_table = wg.barrier(slm_table)
    return _use(wg, slm_table, table.shape[0], out)


@xe.kernel
def table_copy_min(wg: xe.WorkGroup, table: xe.Memory, out: xe.Memory) -> xe.Memory:
    """A table smaller than the group: `min` sends the surplus work-items to the last entry."""
    size = table.shape[0]
    slm_table = wg.local(size, jnp.int32)
    index = jnp.minimum(wg.local_id(), size - 1)
    slm_table = slm_table.at[index].set(table[index])
    slm_table = wg.barrier(slm_table)
    return _use(wg, slm_table, size, out)


@xe.kernel
def table_copy_unrolled(wg: xe.WorkGroup, table: xe.Memory, out: xe.Memory) -> xe.Memory:
    """A table larger than the group, a multiple of its size: a line of code for each fixed offset."""
    size, lid = table.shape[0], wg.local_id()
    slm_table = wg.local(size, jnp.int32)
    for offset in range(0, size, wg.size):
        slm_table = slm_table.at[lid + offset].set(table[lid + offset])
    slm_table = wg.barrier(slm_table)
    return _use(wg, slm_table, size, out)


@xe.kernel
def table_copy_loop(
    wg: xe.WorkGroup, table: xe.Memory, size: jax.Array, out: xe.Memory, *, capacity: int = 1024
) -> xe.Memory:
    """A table of a `size` that the kernel learns when it runs: a real loop, up to `capacity` entries."""
    lid = wg.local_id()
    slm_table = wg.local(capacity, jnp.int32)

    def copy(step, slm_table):
        index = lid + step * wg.size
        live = index < size
        return slm_table.at[index].set(table.load(index, where=live), where=live)

    slm_table = wg.barrier(lax.fori_loop(0, (size + wg.size - 1) // wg.size, copy, slm_table))
    return _use(wg, slm_table, size, out)


def _use(wg: xe.WorkGroup, slm_table: xe.Memory, size: int | jax.Array, out: xe.Memory) -> xe.Memory:
    """Each work-item writes the entry as far from the table's end as its id is from the beginning, going round."""
    i = wg.global_linear_id()
    return out.at[i].set(slm_table[size - 1 - i % size])


def _inputs(size: Size) -> Inputs:
    entries, groups, group_size = size
    table = np.random.default_rng(SEED).integers(2**31, size=entries, dtype=np.int32)
    return table, np.zeros(groups * group_size, np.int32)


def _loop_inputs(size: Size) -> Inputs:
    table, out = _inputs(size)
    return table, np.asarray(table.size, np.int32), out


def _reference(table: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    return np.resize(table[::-1], rest[-1].shape)


def _nd_range(size: Size) -> xe.NDRange:
    _, groups, group_size = size
    return xe.NDRange(groups * group_size, group_size)


def _best_nd_range(size: Size) -> xe.NDRange:
    """Groups 16 wide, stacked along the dimension which is not contiguous."""
    _, groups, group_size = size
    rows = group_size // _BEST_WIDTH
    return xe.NDRange((groups * rows, _BEST_WIDTH), (rows, _BEST_WIDTH))


def _example(
    kernel: xe.Kernel,
    how: str,
    entries: int = 256,
    nd_range: Callable[[Size], xe.NDRange] = _nd_range,
    inputs: Callable[[Size], Inputs] = _inputs,
) -> Example:
    return Example(
        name=kernel.name,
        summary=f"A table copied to local memory, {how} (Intel, OpenCL, Applying Shared Local Memory)",
        kernel=kernel,
        size=(entries, 64, 256),
        size_names=("entries", "work-groups", "work-items of a group"),
        nd_range=nd_range,
        inputs=inputs,
        reference=_reference,
        work=lambda size: size[0] * size[1],
        unit="entries",
    )


EXAMPLES = (
    _example(table_copy_bad, "all of it by every work-item"),
    _example(table_copy_good, "shared among the work-items by a loop"),
    _example(table_copy_best, "an entry for each work-item", nd_range=_best_nd_range),
    _example(table_copy_min, "smaller than the group", entries=100),
    _example(table_copy_unrolled, "larger than the group", entries=1024),
    _example(table_copy_loop, "of a size not known in advance", entries=1000, inputs=_loop_inputs),
)
