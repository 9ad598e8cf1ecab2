"""How values are held, as it is decided before anything is emitted."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.ir import ops
from xeemu.language import importing
from xeemu.planning import layout_assignment
from xeemu.planning.layout_assignment import Setting
from xeemu.planning.layouts import BY_ITEM, ByItem, BySubgroup, Masked, Sharing
from xeemu.planning.operation_plans import Elementwise, Movement
from xeemu.planning.subgroup_layouts import NoConversion, Split

LANES, ITEMS, GROUPS = 8, 32, 4
UNIFORM, BY_LANE = BySubgroup(LANES, uniform=True), BySubgroup(LANES, uniform=False)


def launched(function, **options):
    """What is prepared of a kernel that stores what a function `(group, x, lane)` gives, and its arguments."""

    @xe.kernel(sub_group_size=LANES)
    def kernel(wg, x, out):
        i = wg.group_linear_id() * wg.size + wg.local_linear_id()
        found = function(wg, x[i], wg.sub_group.local_id())
        return out.at[i].set(found.reshape(ITEMS, -1).sum(axis=-1).astype(out.dtype))

    x = np.linspace(1, 2, GROUPS * ITEMS, dtype=np.float32)
    return prepared(kernel, xe.NDRange(x.size, ITEMS), (x, np.zeros_like(x)), device="hd530"), (x, np.zeros_like(x))


def assigned(ready, **setting):
    """The layouts of the program that a launch carries out."""
    task = ready.analysed.task
    given = (BY_ITEM,) * len(task.program.body.inputs)
    found = layout_assignment.of_body(task.facts, given, Setting(task.program.geometry, **setting))
    return task.program.body, found


def layouts(function, name):
    """Those of the results of the operations of a name."""
    body, found = assigned(launched(function)[0])
    return [found.of(v) for op in body.ops if op.name == name for v in op.results]


@pytest.mark.parametrize("function", ["exp", "sqrt", "sin", "negative", "floor"])
def test_any_function_of_what_a_sub_group_shares_is_computed_once_for_it(function):
    apply, name = getattr(jnp, function), {"negative": "neg"}.get(function, function)
    shared = lambda wg, x, lane: apply(wg.sub_group.broadcast(x, 1)) * x  # noqa: E731
    assert layouts(shared, name) == [UNIFORM]
    assert layouts(shared, "mul")[-1] == ByItem(mixed=LANES)


def test_with_elements_of_their_own_work_items_hold_by_lane_what_it_is_combined_with():
    columns = jnp.arange(3, dtype=jnp.float32)
    mixed = lambda wg, x, lane: (wg.sub_group.broadcast(x, 1) * x)[:, None] * columns  # noqa: E731
    assert layouts(mixed, "mul")[-2:] == [ByItem(mixed=LANES), BY_LANE]
    assert layouts(mixed, "broadcast_in_dim")[0] == BY_LANE


def test_how_operands_become_ones_that_are_held_by_sub_group_is_planned():
    columns = jnp.arange(3, dtype=jnp.float32)
    mixed = lambda wg, x, lane: (wg.sub_group.broadcast(x, 1) * x)[:, None] * columns * 2.0  # noqa: E731
    body, found = assigned(launched(mixed)[0])
    plans = [found.plans[n] for n, op in enumerate(body.ops) if op.name == "mul"]
    readings = [plan.conversions for plan in plans if isinstance(plan, Elementwise)]
    assert readings == [(), (NoConversion(), Split((1, 1, 3), None, uniform=False)), (NoConversion(), None)]
    (widened,) = [plan for plan in found.plans.values() if isinstance(plan, Movement) and plan.conversion is not None]
    assert widened.conversion == Split((ITEMS // LANES, LANES), None, uniform=False)
    check(mixed, lambda x: np.repeat(x.reshape(-1, LANES)[:, 1], LANES) * x * 6)


def test_a_function_that_takes_long_is_computed_by_item_of_what_lanes_do_not_share():
    columns = jnp.arange(3, dtype=jnp.float32)
    long = lambda wg, x, lane: jnp.exp((wg.sub_group.broadcast(x, 1) * x)[:, None] * columns)  # noqa: E731
    assert layouts(long, "exp") == [BY_ITEM]


@pytest.mark.parametrize(
    ("step", "shape", "expected"),
    [
        (lambda s, k, a: a + s.broadcast(a, k), (ITEMS,), UNIFORM),
        (lambda s, k, a: a + s.broadcast(a, k) * s.local_id().astype(a.dtype), (ITEMS,), BY_ITEM),
        (lambda s, k, a: a + s.broadcast(a, k), (ITEMS, 3), UNIFORM),
        (lambda s, k, a: a + s.broadcast(a, k) * s.local_id().astype(a.dtype)[:, None], (ITEMS, 3), BY_LANE),
    ],
)
def test_what_a_loop_carries_is_held_as_what_it_is_combined_with(step, shape, expected):
    def summed(wg, x, lane):
        return lax.fori_loop(0, 3, functools.partial(step, wg.sub_group), jnp.ones(shape, jnp.float32))

    assert layouts(summed, "scan")[-1] == expected


def test_what_both_branches_share_leaves_them_so():
    def chosen(wg, x, lane):
        share = functools.partial(wg.sub_group.broadcast, x)
        return lax.cond(wg.reduce(x, "add") > 0, lambda: share(1) * 2, lambda: share(2))

    assert layouts(chosen, "cond") == [UNIFORM]
    check(chosen, lambda x: np.repeat(x.reshape(-1, LANES)[:, 1] * 2, LANES))


def check(function, expected):
    """That a launch gives what is expected of the values of a group."""
    ready, (x, out) = launched(function)
    (result,) = ready.compiled(x, out)
    np.testing.assert_allclose(result.reshape(GROUPS, ITEMS), [expected(row) for row in x.reshape(GROUPS, ITEMS)])


# --- Masked loads ---


def half(wg, memory, x):
    """The elements of a memory that the first half of the work-items load, and their mask."""
    item = wg.local_linear_id()
    return memory.load(item, where=item < ITEMS // 2, other=0.0), item < ITEMS // 2


def masked(use):
    """A kernel's function that stores the double of what half of the work-items load, and does more with it."""

    def function(wg, x, lane):
        item = wg.local_linear_id()
        memory = wg.barrier(wg.local((ITEMS,), jnp.float32).at[item].set(x))
        loaded, mask = half(wg, memory, x)
        return use(wg, memory, jnp.sqrt(loaded), item, mask)

    return function


def stored(wg, memory, value, item, mask):
    return wg.barrier(memory.at[item].set(value, where=mask))[item]


def test_of_what_is_stored_with_the_same_mask_nothing_else_is_computed():
    (found,) = layouts(masked(stored), "sqrt")
    assert isinstance(found, Masked)
    assert (found.elements.count, found.needs_all) == (ITEMS // 2, False)
    check(masked(stored), lambda x: np.where(np.arange(ITEMS) < ITEMS // 2, np.sqrt(x), x))


def test_what_is_also_needed_whole_is_held_whole_too():
    both = masked(lambda wg, memory, value, item, mask: stored(wg, memory, value, item, mask) + wg.reduce(value, "max"))
    (found,) = layouts(both, "sqrt")
    assert isinstance(found, Masked)
    assert found.needs_all


def test_what_nobody_takes_for_itself_is_by_item():
    assert layouts(masked(lambda wg, memory, value, item, mask: value + 1), "sqrt") == [BY_ITEM]


def test_who_sees_every_access_may_ask_for_any_element():
    body, found = assigned(launched(masked(stored))[0], watched=True)
    (root,) = (found.of(op.results[0]) for op in body.ops if op.name == "sqrt")
    assert root.needs_all


def test_no_array_of_all_elements_is_emitted_where_some_are_stored():
    ready, arguments = launched(masked(stored))
    program = importing.imported(jax.make_jaxpr(ready.emit)(*arguments))
    roots = {v.shape for op in program.walk() if op.name == "sqrt" for v in op.results}
    assert roots == {(GROUPS, ITEMS // 2)}


def test_a_loop_that_swaps_what_sub_groups_of_two_sizes_share_settles():
    def swapped(wg, x, lane):
        s = wg.sub_group

        def step(k, ab):
            a, b = ab
            return b + s.reduce(b, "add", chunk=4), a + s.broadcast(a, k)

        a, b = lax.fori_loop(0, 3, step, (jnp.ones((ITEMS, 2)) * x[:, None], jnp.zeros((ITEMS, 2))))
        return a + b

    def expected(x):
        a, b = np.repeat(x[:, None], 2, 1), np.zeros((ITEMS, 2), np.float32)
        for k in range(3):
            of_four = np.repeat(b.reshape(-1, 4, 2).sum(axis=1), 4, 0)
            shared = np.repeat(a.reshape(-1, LANES, 2)[:, k], LANES, 0)
            a, b = b + of_four, a + shared
        return (a + b).sum(axis=-1)

    assert len(layouts(swapped, "scan")) >= 2
    check(swapped, expected)


def test_every_value_has_a_layout():
    body, found = assigned(launched(masked(stored))[0])
    assert all(v in found.layouts for op in body.ops if op.name not in ops.ORDERING for v in op.results)


def test_some_of_the_elements_are_stored_where_they_share_addresses():
    """Of those that do one is stored, which needs no array of all elements either."""
    places = np.tile([0, 2, 3, 2, 1, 7, 3, 5], ITEMS // 8)

    def stored_once(wg, memory, value, item, mask):
        once = memory.at[jnp.asarray(places)].set(jnp.broadcast_to(value * 0 + 2, value.shape), where=mask)
        return wg.barrier(once)[item]

    (found,) = layouts(masked(stored_once), "sqrt")
    assert isinstance(found, Masked)
    assert not found.needs_all
    check(masked(stored_once), lambda x: np.where(np.isin(np.arange(ITEMS), places), 2, x))


# --- What groups share ---

ROWS, COLUMNS, TILE = 6, 5, 4


@xe.kernel
def of_tiles(wg, a, b, out):
    """Products of a tile of a row and one of a column of tiles, of which the groups have each row or column alike."""
    row, column = wg.local_id(0), wg.local_id(1)
    a_tile, b_tile = a[row + TILE * wg.group_id(0), column], b[row, column + TILE * wg.group_id(1)]
    doubled = jnp.flip(a_tile, 1) * 2
    return out.at[wg.global_id(0), wg.global_id(1)].set(doubled - jnp.exp(b_tile) * a_tile)


def of_tiles_launched():
    rng = np.random.default_rng(0)
    a, b = rng.random((ROWS * TILE, TILE), np.float32), rng.random((TILE, COLUMNS * TILE), np.float32)
    arguments = a, b, np.zeros((ROWS * TILE, COLUMNS * TILE), np.float32)
    return prepared(of_tiles, xe.NDRange(arguments[2].shape, (TILE, TILE)), arguments), arguments


def test_what_groups_share_is_held_once_and_so_is_what_is_made_of_it_alone():
    body, found = assigned(of_tiles_launched()[0], block=(ROWS, COLUMNS))
    by_row, by_column = Sharing((ROWS, COLUMNS), (ROWS, 1)), Sharing((ROWS, COLUMNS), (1, COLUMNS))
    of = {op.name: found.of(op.results[0]) for op in body.ops if op.results}
    assert [found.of(op.results[0]).shared for op in body.ops if op.name == ops.LOAD] == [by_row, by_column]
    assert (of["rev"].shared, of["exp"].shared, of["sub"]) == (by_row, by_column, BY_ITEM)


def test_what_groups_share_is_emitted_once():
    ready, (a, b, out) = of_tiles_launched()
    program = importing.imported(jax.make_jaxpr(ready.emit)(a, b, out))
    assert {v.shape for op in program.walk() if op.name == "exp" for v in op.results} == {(COLUMNS, TILE, TILE)}
    rows, columns = a.reshape(ROWS, 1, TILE, TILE), b.reshape(TILE, COLUMNS, TILE).swapaxes(0, 1)
    expected = (2 * rows[..., ::-1] - np.exp(columns) * rows).swapaxes(1, 2).reshape(out.shape)
    (result,) = ready.compiled(a, b, out)
    np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((True, True), None),
        ((True, False), Sharing((6, 5), (6, 1))),
        ((False, False), Sharing((30,), (1,))),
        ((), None),
    ],
)
def test_dimensions_along_which_nothing_changes_are_one(changes, expected):
    assert Sharing.of((6, 5)[: len(changes)], changes) == expected


def test_who_shares_what_a_mask_leaves_out_has_an_array_of_their_own():
    body, found = assigned(launched(masked(stored))[0], block=(GROUPS,))
    assert not [v for op in body.ops for v in op.results if isinstance(x := found.of(v), ByItem) and x.shared]


@pytest.mark.parametrize(
    ("reduced", "dtype", "apart"), [(False, "float32", True), (True, "float32", False), (True, "int32", True)]
)
def test_what_is_loaded_under_a_mask_is_apart_unless_it_is_a_float_that_is_reduced(reduced, dtype, apart):
    def stored_again(wg, x, lane):
        lid = wg.local_linear_id()
        tile = wg.barrier(wg.local(wg.size, dtype).at[lid].set(x.astype(dtype)))
        found = tile.load(lid - 3, where=lid >= 3, other=2)
        tile = wg.barrier(wg.barrier(tile).at[lid].set(found * found))
        return tile[lid * 7 % wg.size] - tile[lid * 5 % wg.size] + (wg.reduce(found, "max") if reduced else 0)

    body, found = assigned(launched(stored_again)[0], apart=True)
    squares = [found.of(v) for op in body.ops if op.name == "mul" for v in op.results]
    assert any(isinstance(layout, Masked) and layout.apart for layout in squares) == apart
