"""Where barriers divide a program, and which accesses may meet between two of them."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.faults import epochs
from xeemu.knowledge import symbolic_execution


def of_kernel(kernel, *arguments, **static):
    ready = prepared(kernel, xe.NDRange(64, 32), arguments, static, device="max1550")
    scalars = [None if np.shape(a) else np.asarray(a).item() for a in arguments]
    return symbolic_execution.of_program(ready.program, ready.facts, scalars)


def text(operation):
    site = operation.access_site
    return f"{operation.name} {site.memory.name} {site.site.line - first_line(operation)}"


def first_line(operation):
    node = operation.node
    while node.parent is not None:
        node = node.parent
    return min(o.access_site.site.line for o in node.operations())


def pairs(tree, memory="tile"):
    return {tuple(map(text, pair)) for pair in epochs.meeting_pairs(tree) if pair[0].access_site.memory.name == memory}


def counts(tree, memory="tile", sub_groups=False):
    """For each access to a memory its count of barriers, and what the loops around it add."""
    (found,) = {o.access_site.memory for o in tree.root.operations() if o.access_site.memory.name == memory}
    clocks = epochs.epochs(tree, found, sub_groups)
    return [(c.offset, tuple(c.steps.values())) for o, c in clocks.items() if o.access_site.memory is found]


@xe.kernel
def straight(wg, x, *, mask=None):
    lid = wg.local_id()
    tile = wg.local(32, jnp.int32)
    tile = tile.at[lid].set(1)
    tile = wg.barrier(tile, where=None if mask is None else (lid < 99 if mask else lid < 16))
    y = tile[lid]
    tile = wg.sub_group.barrier(tile)
    tile = tile.at[lid].set(y)
    x = wg.barrier(x)
    return x.at[lid].set(tile[lid])


X = np.zeros(64, np.int32)


@pytest.mark.parametrize("mask", [None, True])
def test_barriers_divide_a_straight_program(mask):
    tree = of_kernel(straight, X, mask=mask)
    assert counts(tree) == [(0, ()), (1, ()), (1, ()), (1, ())]
    assert counts(tree, sub_groups=True) == [(0, ()), (1, ()), (2, ()), (2, ())]
    alone = {("store tile 0",) * 2, ("load tile 2",) * 2, ("store tile 4",) * 2, ("load tile 6",) * 2}
    later = {("load tile 2", "store tile 4"), ("load tile 2", "load tile 6"), ("store tile 4", "load tile 6")}
    assert pairs(tree) == alone | later


def test_a_barrier_for_some_work_items_divides_nothing():
    tree = of_kernel(straight, X, mask=False)
    assert counts(tree) == [(0, ())] * 4
    assert ("store tile 0", "load tile 6") in pairs(tree)


@xe.kernel
def looped(wg, x, trips, *, inner=3, second=True):
    lid = wg.local_id()
    tile = wg.local(32, jnp.int32)

    def turn(k, tile):
        tile = tile.at[lid].set(k)
        tile = lax.fori_loop(0, inner, lambda j, tile: wg.barrier(tile.at[lid].set(j)), tile)
        tile = tile.at[lid].set(2)
        return wg.barrier(tile) if second else tile

    tile = lax.fori_loop(0, trips if trips is not None else 5, turn, tile)
    return x.at[lid].set(tile[lid])


@xe.kernel
def five_turns(wg, x, *, second=True):
    return looped.function(wg, x, 5, second=second)


def test_loops_add_their_barriers():
    tree = of_kernel(five_turns, X)
    assert counts(tree) == [(0, (4,)), (0, (4, 1)), (3, (4,)), (20, ())]
    # One barrier at its end orders each turn of a loop with the next.
    assert ("store tile 0", "store tile 1") in pairs(tree)
    assert ("store tile 0", "store tile 2") not in pairs(tree)
    assert ("store tile 2", "store tile 0") not in pairs(tree)


def test_a_loop_without_a_barrier_at_its_end_meets_its_own_head():
    assert ("store tile 2", "store tile 0") in pairs(of_kernel(five_turns, X, second=False))


def test_a_loop_that_data_ends_counts_no_barriers():
    @xe.kernel
    def data_ends(wg, x):
        return looped.function(wg, x, x[0])

    assert all(offset == 0 and not any(steps) for offset, steps in counts(of_kernel(data_ends, X)))


@xe.kernel
def branched(wg, x, *, both=False):
    lid = wg.local_id()
    tile = wg.local(32, jnp.int32)
    tile = tile.at[lid].set(1)
    tile = lax.cond(x[0] > 0, wg.barrier, wg.barrier if both else lambda tile: tile, tile)
    return x.at[lid + 1].set(tile[31 - lid])


def test_a_barrier_in_one_branch_divides_only_what_takes_it():
    assert ("store tile 0", "load tile 2") in pairs(of_kernel(branched, X))
    assert ("store tile 0", "load tile 2") not in pairs(of_kernel(branched, X, both=True))


def test_time_goes_on_from_access_to_access():
    tree = of_kernel(five_turns, X)
    operations = [o for o in tree.root.operations() if o.access_site.memory.name == "tile"]
    clocks = epochs.times(tree)
    assert [clocks[o].offset for o in operations] == [0, 1, 4, 25]
    assert [list(clocks[o].steps.values()) for o in operations] == [[5], [5, 1], [5], []]


def test_pairs_come_in_the_order_of_the_program():
    @xe.kernel
    def unrolled(wg, x):
        lid = wg.local_id()
        tile = wg.local(32, jnp.int32)
        for k in range(20):
            tile = tile.at[(lid + k) % 32].set(x[lid] + tile[(lid + 3 * k) % 32])
        return x.at[lid].set(tile[lid])

    tree = of_kernel(unrolled, np.zeros(64, np.int32))
    number = {operation: n for n, operation in enumerate(tree.root.operations())}
    found = [tuple(number[o] for o in pair) for pair in epochs.meeting_pairs(tree)]
    assert found == sorted(found)
