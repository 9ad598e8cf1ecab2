"""Rows of work-groups have places of a memory for themselves, or it is not claimed that they have."""

import jax
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.knowledge import symbolic_execution
from xeemu.launching import row_ownership

ITEMS, GROUPS = 16, 6
N = ITEMS * GROUPS
LINE, SQUARE = xe.NDRange(N, ITEMS), xe.NDRange((12, 16), (4, 8))


def places(kernel, nd_range, *shapes):
    """What is found of the last of the memories, of such shapes."""
    arrays = [jax.ShapeDtypeStruct(shape, np.int32) for shape in shapes]
    program = launches.prepared(kernel, nd_range, arrays).program
    facts = symbolic_execution.of_program(program, launches.prepared(kernel, nd_range, arrays).facts)
    memory = program.arguments[-1]
    return row_ownership.rows_per_group_row(
        memory, [o for o in facts.root.operations() if o.access_site.memory is memory], facts
    )


@xe.kernel
def own(wg, x):
    i = wg.global_id()
    return x.at[i].set(x[i] + 1)


@xe.kernel
def side_by_side(wg, x):
    i = wg.global_id()
    return x.at[2 * i].set(1).at[2 * i + 1].set(2)


@xe.kernel
def row_of_group(wg, x):
    return x.at[wg.group_id(), wg.local_id()].set(1)


@xe.kernel
def one_for_a_group(wg, x):
    return x.at[wg.group_id()].set(1, where=wg.local_id() == 3)


@xe.kernel
def in_a_loop(wg, x):
    def step(k, x):
        return x.at[(wg.group_id() * 5 + k) * wg.size + wg.local_id()].set(k)

    return lax.fori_loop(0, 5, step, x)


@xe.kernel
def updated(wg, x):
    _old, x = x.atomic[wg.group_id() * 4 + wg.local_id() // 4].fetch_add(1)
    return x


@xe.kernel
def matrix(wg, x):
    return x.at[wg.global_id(0), wg.global_id(1)].set(1)


@xe.kernel
def laid_flat(wg, x):
    return x.at[wg.global_id(0) * 16 + wg.global_id(1)].set(1)


@pytest.mark.parametrize(
    ("kernel", "nd_range", "shape", "found"),
    [
        (own, LINE, (N,), ITEMS),
        (own, LINE, (N - 3,), ITEMS),
        (side_by_side, LINE, (2 * N,), 2 * ITEMS),
        (row_of_group, LINE, (GROUPS, ITEMS), 1),
        (row_of_group, LINE, (GROUPS, ITEMS + 3), 1),
        (one_for_a_group, LINE, (GROUPS,), 1),
        (in_a_loop, LINE, (5 * N,), 5 * ITEMS),
        (updated, LINE, (4 * GROUPS,), 4),
        (matrix, SQUARE, (12, 16), 4),
        (matrix, SQUARE, (11, 13), 4),
        (laid_flat, SQUARE, (12 * 16,), 64),
    ],
)
def test_rows_have_places_of_their_own(kernel, nd_range, shape, found):
    assert places(kernel, nd_range, shape) == found


@xe.kernel
def neighbours(wg, x):
    i = wg.global_id()
    return x.at[i].set(x[i + 1])


@xe.kernel
def masked_neighbours(wg, x):
    """Whom the mask leaves out is not looked at."""
    i, lid = wg.global_id(), wg.local_id()
    return x.at[i].set(x.load(i + 1, where=lid < wg.size - 1))


@xe.kernel
def backwards(wg, x):
    return x.at[x.shape[0] - 1 - wg.global_id()].set(1)


@xe.kernel
def transposed(wg, x):
    return x.at[wg.global_id(1), wg.global_id(0)].set(1)


@xe.kernel
def all_in_one(wg, x):
    return x.atomic[0].add(1)


@xe.kernel
def where_data_tell(wg, y, x):
    return x.at[y[wg.global_id()]].set(1)


@xe.kernel
def round_and_round(wg, x):
    return x.at[wg.group_id() % 3 * ITEMS + wg.local_id()].set(1)


@xe.kernel
def two_distances(wg, x):
    i, first = wg.global_id(), wg.group_id()
    return x.at[i].set(1).at[2 * ITEMS * first].set(2)


@xe.kernel
def never(wg, x):
    i = wg.global_id()
    return lax.cond(wg.group_id() > GROUPS, lambda x: x.at[i].set(1), lambda x: x, x.at[i].set(2))


@pytest.mark.parametrize(
    ("kernel", "nd_range", "shapes"),
    [
        (neighbours, LINE, [(N,)]),
        (masked_neighbours, LINE, [(N,)]),
        (backwards, LINE, [(N,)]),
        (transposed, SQUARE, [(16, 12)]),
        (all_in_one, LINE, [(1,)]),
        (where_data_tell, LINE, [(N,), (N,)]),
        (round_and_round, LINE, [(N,)]),
        (two_distances, LINE, [(2 * N,)]),
        (never, LINE, [(N,)]),
        (own, LINE, [(N + 1,)]),  # one that nobody has
        (own, LINE, [(N - ITEMS,)]),  # a row that has none
    ],
)
def test_or_it_is_not_claimed(kernel, nd_range, shapes):
    assert places(kernel, nd_range, *shapes) is None
