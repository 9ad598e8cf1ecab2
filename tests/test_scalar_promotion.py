"""Memories that a loop uses at one place are carried as values: with the same bits, and only where that is sound."""

import functools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared, run
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu import kernels
from xeemu.launching import preparation
from xeemu.passes import group_invariant_memory, invariant_addresses


@pytest.fixture(autouse=True)
def a_memory_for_each_group():
    """What all groups fill alike is small, and no loop need carry it as values."""
    with mock.patch.object(group_invariant_memory, "analyse", return_value=None):
        yield


def equations(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for param in eqn.params.values():
            for inner in param if isinstance(param, tuple) else (param,):
                if hasattr(inner, "jaxpr"):
                    yield from equations(inner.jaxpr)


def carried_sizes(ready, arguments):
    """The sizes of what the loops of a launch carry, in order of the outermost first."""
    with jax.enable_x64(ready.program.wide):
        found = list(equations(jax.make_jaxpr(ready.emit)(*arguments).jaxpr))
    loops = [e for e in found if e.primitive.name in ("scan", "while")]
    return [[v.aval.size for v in e.outvars if v.aval.shape] for e in loops]


def assert_promoted(kernel, nd_range, arguments, static, elements, promoted=True):
    """The launch gives the bits of one that carries memories; its loops carry none of so many elements, or such."""
    ready = prepared(kernel, nd_range, arguments, static)
    assert (elements in {size for loop in carried_sizes(ready, arguments) for size in loop}) != promoted
    outputs = run(ready, arguments)
    with mock.patch.object(invariant_addresses, "of_loop", return_value={}):
        again = prepared_again(kernel, nd_range, arguments, static)
    assert again is not ready
    plain = run(again, arguments)
    for got, want in zip(outputs, plain, strict=True):
        np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))
    return outputs


def prepared_again(kernel, nd_range, arguments, static):
    """A launch that is prepared anew, and not kept."""
    preparation._prepared.cache_clear()
    ready = prepared(kernel, nd_range, arguments, static)
    preparation._prepared.cache_clear()
    return ready


GROUPS, ITEMS, TURNS = 6, 8, 5
SPACES = ("local", "private", "global")
ND_RANGE = xe.NDRange(GROUPS * ITEMS, ITEMS)
WORDS = 5 * ITEMS  # of each group's or work-item's memory


@xe.kernel
def accumulate(wg, x, out, *, space, index, again=None, where=None, turns=TURNS, how="store", loop="scan"):
    """Updates `m[index]` in a loop, from `m[again]`; then sums up everything in the memory."""
    lid, first = wg.local_linear_id(), wg.group_id() * WORDS if space == "global" else 0
    m = out if space == "global" else _filled(wg, x, space, out.dtype)

    def turn(k, m):
        i = INDICES[index](wg, k, x) + first
        j = i if again is None else INDICES[again](wg, k, x) + first
        mask = None if where is None else MASKS[where](wg, k, x)
        added = (x[lid] + k).astype(m.dtype)
        if how == "atomic":
            return m.atomic[i].add(added)
        added = added[:, None] if index == "two" else added
        if how == "load":
            m = m.at[j].set(added + m.load(i, where=mask, other=k.astype(m.dtype)))
        else:
            m = m.at[i].set(3 * m[j] + added, where=mask)
        return m if space == "global" else wg.barrier(m)

    m = LOOPS[loop](wg, x, turns, turn, m)
    if space == "global":
        return m
    total = jnp.zeros_like(lid, out.dtype)
    for k in range(WORDS // ITEMS):
        total = 5 * total + m[k * ITEMS + lid]
    return out.at[wg.global_linear_id()].set(total)


def _filled(wg, x, space, dtype):
    m, lid = (wg.local if space == "local" else wg.private)(WORDS, dtype, name="m"), wg.local_linear_id()
    count = WORDS // ITEMS if space == "local" else WORDS
    places = jnp.arange(count, dtype=jnp.int32)[None]
    places = places + lid[:, None] * count if space == "local" else places
    return wg.barrier(m.at[places].set((7 * places + x[lid][:, None]).astype(dtype)))


LOOPS = {
    "scan": lambda wg, x, turns, turn, m: lax.fori_loop(0, turns, turn, m),
    "while": lambda wg, x, turns, turn, m: lax.fori_loop(0, x[0] + turns, turn, m),
    "varying": lambda wg, x, turns, turn, m: lax.fori_loop(0, x[wg.group_id()], turn, m),
    "nested": lambda wg, x, turns, turn, m: lax.fori_loop(
        0, 3, lambda a, m: turn(a, lax.fori_loop(0, turns, turn, m)), m
    ),
    "branch": lambda wg, x, turns, turn, m: lax.fori_loop(
        0,
        turns,
        lambda k, m: lax.cond((k + wg.group_id()) % 3 > 0, functools.partial(turn, k), lambda m: m, turn(k, m)),
        m,
    ),
    "call": lambda wg, x, turns, turn, m: lax.fori_loop(0, turns, lambda k, m: jax.jit(turn)(k, m), m),
}

INDICES = {
    "strided": lambda wg, k, x: 5 * wg.local_linear_id() + 2,
    "row": lambda wg, k, x: wg.local_linear_id() + 3 * ITEMS,
    "backwards": lambda wg, k, x: WORDS - 1 - wg.local_linear_id(),
    "two": lambda wg, k, x: 2 * wg.local_linear_id()[:, None] + jnp.arange(2),
    "scalar": lambda wg, k, x: 7,
    "uniform": lambda wg, k, x: jnp.clip(x[0], 0, 9) + wg.local_linear_id(),
    "moving": lambda wg, k, x: wg.local_linear_id() + k,
    "neighbour": lambda wg, k, x: (wg.local_linear_id() + 1) % ITEMS + 3 * ITEMS,
    "pairs": lambda wg, k, x: wg.local_linear_id() // 2,
    "out": lambda wg, k, x: 5 * wg.local_linear_id() + 6,
    "data": lambda wg, k, x: jnp.clip(x[wg.local_linear_id()], 0, WORDS - 1),
    "unknown": lambda wg, k, x: x[wg.local_linear_id()],
}
MASKS = {
    "even": lambda wg, k, x: wg.local_linear_id() % 2 == 0,
    "data": lambda wg, k, x: x[wg.local_linear_id()] > 3,
    "moving": lambda wg, k, x: wg.local_linear_id() > k,
    "groups": lambda wg, k, x: (x[wg.local_linear_id()] + wg.group_id()) % 3 == 0,
}


def arguments_of(space, dtype=np.int32):
    x = np.random.default_rng(1).integers(0, 9, size=ITEMS, dtype=np.int32)
    return x, np.random.default_rng(2).integers(0, 99, size=GROUPS * WORDS).astype(dtype)


def assert_accumulates(promoted, space, index, dtype=np.int32, **static):
    arguments, static = arguments_of(space, dtype), {"space": space, "index": index, **static}
    elements = WORDS * {"local": GROUPS, "private": GROUPS * ITEMS, "global": GROUPS}[space]
    return assert_promoted(accumulate, ND_RANGE, arguments, static, elements, promoted)


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loop", LOOPS)
def test_one_place_is_carried_as_values(space, loop):
    assert_accumulates(True, space, "strided", loop=loop)


@pytest.mark.every(3)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("index", ["row", "backwards", "two"])
def test_of_any_pattern_without_repetitions(space, index):
    assert_accumulates(True, space, index)


@pytest.mark.every(4)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("where", MASKS)
@pytest.mark.parametrize("how", ["store", "load"])
def test_masks_may_differ(space, where, how):
    # The store of one and the load of the other are under no mask: a mask that is known leaves out other elements.
    assert_accumulates(where != "even", space, "strided", where=where, how=how)


@pytest.mark.every(2)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64, np.float64])
def test_of_any_dtype(space, dtype):
    assert_accumulates(True, space, "row", dtype)


@pytest.mark.every(3)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loop", ["scan", "nested", "while"])
def test_a_loop_that_never_runs_changes_nothing(space, loop):
    arguments = arguments_of(space)
    if loop == "while":
        arguments[0][0] = 0
    static = {"space": space, "index": "strided", "turns": 0, "loop": loop}
    ready = prepared(accumulate, ND_RANGE, arguments, static)
    (got,) = run(ready, arguments)
    if space == "global" and loop != "nested":
        np.testing.assert_array_equal(got, arguments[1])
    assert_accumulates(True, space, "strided", turns=0, loop=loop)


@pytest.mark.every(2)
@pytest.mark.parametrize("space", ["local", "private"])
@pytest.mark.parametrize("loop", ["scan", "while", "varying", "branch"])
def test_an_index_computed_before_the_loop(space, loop):
    assert_accumulates(True, space, "uniform", loop=loop)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("space", "static"),
    [
        *((space, {"index": "moving"}) for space in SPACES),
        *((space, {"index": "row", "again": "neighbour"}) for space in SPACES),
        *((space, {"index": "strided", "how": "atomic"}) for space in ("local", "global")),
        *((space, {"index": "out"}) for space in SPACES),
        *((space, {"index": "data"}) for space in ("local", "global")),
        *((space, {"index": "unknown"}) for space in SPACES),
        *((space, {"index": "pairs"}) for space in ("local", "global")),
        *((space, {"index": "scalar"}) for space in ("local", "global")),
        ("local", {"index": "row", "again": "neighbour", "loop": "nested"}),
        ("local", {"index": "row", "again": "neighbour", "loop": "call"}),
        ("local", {"index": "moving", "loop": "branch"}),
    ],
)
def test_other_uses_keep_a_memory_as_it_is(space, static):
    assert_accumulates(False, space, **static)


@pytest.mark.thorough
@pytest.mark.parametrize("index", ["pairs", "scalar", "data"])
def test_work_items_share_no_private_element(index):
    assert_accumulates(True, "private", index)


def test_groups_that_share_an_element_of_global_memory_go_through_it():
    @xe.kernel
    def shared(wg, out):
        lid = wg.local_linear_id()
        return lax.fori_loop(0, 3, lambda k, out: out.at[lid].set(out[lid] + k), out)

    out = np.zeros(2 * ITEMS, np.int32)
    assert_promoted(shared, xe.NDRange(4 * ITEMS, ITEMS), (out,), {}, out.size, promoted=False)
    # One group has nobody to share with.
    assert_promoted(shared, xe.NDRange(ITEMS, ITEMS), (out,), {}, out.size)


@pytest.mark.thorough
def test_elements_of_groups_in_two_dimensions():
    @xe.kernel
    def products(wg, a, b, c):
        i, j, n = wg.global_id(0), wg.global_id(1), wg.global_range(1)
        return lax.fori_loop(0, n, lambda k, c: c.at[i, j].set(c[i, j] + a[i, k] * b[k, j]), c)

    a, b = np.random.default_rng(0).integers(-9, 9, size=(2, 12, 12), dtype=np.int32)
    c = np.ones((12, 13), np.int32)
    (got,) = assert_promoted(products, xe.NDRange((12, 12), (4, 6)), (a, b, c), {}, c.size)
    np.testing.assert_array_equal(got[:, :12], 1 + a @ b)
    np.testing.assert_array_equal(got[:, 12], 1)


def test_one_work_item_may_use_scalars_and_arrays():
    e = kernels.EXAMPLES["reduction_serial"]
    inputs = e.inputs((1000,))
    (got,) = assert_promoted(e.kernel, e.nd_range((1000,)), inputs, {}, 1000)
    np.testing.assert_array_equal(got, e.reference(*inputs))


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize(
    "lanes", [[0], [5], [1, 4, 7], [2, 3, 4], [0, 3, 4]], ids=lambda lanes: "-".join(map(str, lanes))
)
def test_some_work_items_of_a_group_may_do_it_all(lanes):
    chosen = np.isin(np.arange(ITEMS), lanes)

    @xe.kernel
    def serial(wg, x, out):
        lid, total = wg.local_linear_id(), wg.local(3 * ITEMS, jnp.int32)
        total = total.at[2 * lid + 1].set(lid, where=chosen)

        def add(k, total):
            old = total.load(2 * lid + 1, where=chosen, other=k)
            total = total.at[2 * lid + 1].set(3 * old + x[k] * (wg.group_id() + 1), where=chosen)
            return wg.barrier(total)

        total = lax.fori_loop(0, x.shape[0], add, total)
        return out.at[wg.global_linear_id()].set(total.load(2 * lid + 1, where=chosen, other=-1))

    x, out = np.arange(20, dtype=np.int32), np.zeros(4 * ITEMS, np.int32)
    (got,) = assert_promoted(serial, xe.NDRange(4 * ITEMS, ITEMS), (x, out), {}, 4 * 3 * ITEMS)
    want = np.tile(np.arange(ITEMS, dtype=np.int32), (4, 1))
    for one in x:
        want = 3 * want + one * np.arange(1, 5, dtype=np.int32)[:, None]
    np.testing.assert_array_equal(got.reshape(4, ITEMS), np.where(chosen, want, -1))


def test_what_the_others_get_where_some_work_items_load():
    chosen = np.isin(np.arange(ITEMS), [1, 2, 6])

    @xe.kernel
    def kernel(wg, x, out):
        lid, own = wg.local_linear_id(), wg.local(3 * ITEMS, jnp.int32)
        own = own.at[3 * lid].set(x[lid], where=chosen)

        def turn(k, both):
            own, total = both
            total = total + own.load(3 * lid, where=chosen, other=k)
            return own.at[3 * lid].set(total, where=chosen), total

        own, total = lax.fori_loop(0, 3, turn, (own, jnp.zeros(ITEMS, jnp.int32)))
        return out.at[wg.global_linear_id()].set(total)

    x, out = np.arange(1, ITEMS + 1, dtype=np.int32), np.zeros(2 * ITEMS, np.int32)
    (got,) = assert_promoted(kernel, xe.NDRange(2 * ITEMS, ITEMS), (x, out), {}, 2 * 3 * ITEMS)
    np.testing.assert_array_equal(got, np.tile(np.where(chosen, 4 * x, 3), 2))


@pytest.mark.thorough
def test_two_memories_of_which_one_is_carried_as_values():
    @xe.kernel
    def both(wg, x, out):
        lid = wg.local_linear_id()
        own, shared = wg.local(3 * ITEMS, jnp.int32), wg.local(2 * ITEMS, jnp.int32)
        own, shared = wg.barrier(own.at[2 * lid].set(x[lid]), shared.at[lid].set(x[lid]))

        def turn(k, both):
            own, shared = both
            own = own.at[2 * lid].set(own[2 * lid] + shared[(lid + k) % ITEMS])
            own, shared = wg.barrier(own, shared)
            return wg.barrier(own, shared.at[lid].set(own[2 * lid] ^ k))

        own, shared = lax.fori_loop(0, TURNS, turn, (own, shared))
        return out.at[wg.global_linear_id()].set(3 * own[2 * lid] + shared[lid])

    x = np.arange(ITEMS, dtype=np.int32)
    arguments, nd_range = (x, np.zeros(GROUPS * ITEMS, np.int32)), xe.NDRange(GROUPS * ITEMS, ITEMS)
    assert_promoted(both, nd_range, arguments, {}, GROUPS * 3 * ITEMS)
    assert_promoted(both, nd_range, arguments, {}, GROUPS * 2 * ITEMS, promoted=False)


def test_a_place_in_an_inner_loop_may_depend_on_what_an_outer_one_carries_as_a_value():
    @xe.kernel
    def kernel(wg, x, out):
        i, lid = wg.global_id(), wg.local_id()
        where, own = wg.local(ITEMS, jnp.int32).at[lid].set(x[i]), wg.private(4, jnp.int32)
        for n in range(4):
            own = own.at[n].set(0)

        def turn(k, both):
            where, own = both
            place = where[lid]
            own = lax.fori_loop(0, 3, lambda j, own: own.at[place & 3].set(own[place & 3] + j + k), own)
            return where.at[lid].set(place + k), own

        where, own = lax.fori_loop(0, TURNS, turn, (where, own))
        return out.at[i].set(where[lid] + own[0] + 10 * own[1] + 100 * own[2] + 1000 * own[3])

    x = np.arange(GROUPS * ITEMS, dtype=np.int32)
    want, place = 0, x
    for k in range(TURNS):
        want, place = want + (3 + 3 * k) * 10 ** (place & 3), place + k
    (got,) = run(prepared(kernel, ND_RANGE, (x, np.zeros_like(x)), {}), (x, np.zeros_like(x)))
    np.testing.assert_array_equal(got, want + place)


def test_the_predicate_may_load_at_the_same_place():
    @xe.kernel
    def until(wg, x, out):
        lid = wg.local_linear_id()
        m = wg.local(3 * ITEMS, jnp.int32)
        m = wg.barrier(m.at[3 * lid].set(x[wg.global_linear_id()]))
        m = lax.while_loop(lambda m: wg.any(m[3 * lid] < 1000), lambda m: m.at[3 * lid].set(2 * m[3 * lid] + 1), m)
        return out.at[wg.global_linear_id()].set(m[3 * lid])

    x = np.arange(GROUPS * ITEMS, dtype=np.int32) ** 2
    (got,) = assert_promoted(until, ND_RANGE, (x, np.zeros_like(x)), {}, GROUPS * 3 * ITEMS)
    for group, start in zip(got.reshape(GROUPS, ITEMS), x.reshape(GROUPS, ITEMS), strict=True):
        want = start.astype(np.int64)
        while (want < 1000).any():
            want = 2 * want + 1
        np.testing.assert_array_equal(group, want)


def test_the_predicate_may_load_elsewhere_and_then_nothing_is_carried_as_values():
    @xe.kernel
    def until(wg, x, out):
        lid = wg.local_linear_id()
        m = wg.local(3 * ITEMS, jnp.int32)
        m = wg.barrier(m.at[3 * lid].set(x[wg.global_linear_id()]))
        m = lax.while_loop(lambda m: m[0] < 1000, lambda m: m.at[3 * lid].set(2 * m[3 * lid] + 1), m)
        return out.at[wg.global_linear_id()].set(m[3 * lid])

    x = np.arange(GROUPS * ITEMS, dtype=np.int32)
    assert_promoted(until, ND_RANGE, (x, np.zeros_like(x)), {}, GROUPS * 3 * ITEMS, promoted=False)


def test_large_memories_are_not_copied_for_a_loop_of_values():
    @xe.kernel
    def sums(wg, x, out):
        i = wg.global_linear_id()
        return lax.fori_loop(0, x.shape[0], lambda k, out: out.at[i].set(out[i] + x[k]), out)

    nd_range, arguments = xe.NDRange(2**16, 64), (np.arange(100, dtype=np.int32), np.zeros(2**16, np.int32))
    ready = prepared(sums, nd_range, arguments, memory_bytes=2**12)
    assert ready.cut.full > 1
    text = ready.compiled.lower(*arguments).compile().as_text()
    # The result is no argument of the caller's: one copy, before the loop over chunks.
    assert sum("copy(" in line and "s32[65536]" in line for line in text.splitlines()) <= 1
    np.testing.assert_array_equal(run(ready, arguments)[0], np.full(2**16, 4950))


def test_the_rest_of_a_plain_range():
    @xe.kernel
    def sums(wg, x, out):
        i = wg.global_linear_id()
        return lax.fori_loop(0, 7, lambda k, out: out.at[i].set(out[i] + x[k]), out)

    x, out = np.arange(9, dtype=np.int32), np.arange(700, dtype=np.int32)
    (got,) = assert_promoted(sums, xe.NDRange(700), (x, np.arange(2048, dtype=np.int32)), {}, 2048)
    np.testing.assert_array_equal(got[:700], out + 21)
    np.testing.assert_array_equal(got[700:], np.arange(700, 2048))


@pytest.mark.parametrize("stride", [1, 16])
def test_who_watches_sees_every_access(stride):
    e = kernels.slm_bank.example(stride, 20)
    inputs = e.inputs(e.size)
    nd_range = e.nd_range(e.size)
    _, findings = xe.check(e.kernel, nd_range)(*inputs, **e.static)
    assert not findings
    got, report = xe.profile(e.kernel, nd_range)(*inputs, **e.static)
    np.testing.assert_array_equal(got, e.reference(*inputs))
    assert sum(site.requests for site in report.sites if site.space == "local") == 2 * (2 + 2 * 20)


@pytest.mark.every(3)
@pytest.mark.thorough
@pytest.mark.parametrize("loop", ["scan", "varying", "branch"])
@pytest.mark.parametrize("space", SPACES)
def test_as_emitted_for_a_gpu_and_as_watched(space, loop):
    arguments, static = arguments_of(space), {"space": space, "index": "strided", "loop": loop}
    watched, _ = xe.profile(accumulate, ND_RANGE, device="h200")(*arguments, **static)
    np.testing.assert_array_equal(xe.launch(accumulate, ND_RANGE)(*arguments, **static), watched)
    np.testing.assert_array_equal(run(on_a_gpu(accumulate, ND_RANGE, arguments, static), arguments)[0], watched)
