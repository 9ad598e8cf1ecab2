"""The oracle against NumPy and against the text of the language, on programs small enough to check by hand."""

import numpy as np
import oracle
import pytest


def poison(dtype):
    """A poison of the oracle's own tests: NaN, True, or the number 99."""
    return dtype.type({"f": np.nan, "b": True}.get(dtype.kind, 99))


def run(body, global_size, local_size, *arguments, sub_group_size=4, order=None):
    sizes = [(n,) if isinstance(n, int) else n for n in (global_size, local_size)]
    return oracle.run(body, *sizes, arguments, sub_group_size=sub_group_size, poison=poison, order=order)


def ints(*values):
    return np.array(values, np.int32)


def zeros(*shape):
    return np.zeros(shape, np.int32)


def test_a_group_sees_what_it_stored_before_the_barrier():
    def reverse(item, x, y):
        tile = item.local_memory("tile", 4, np.int32)
        lane = item.local_linear_id()
        item.store(tile, lane, item.load(x, item.global_linear_id()))
        yield item.barrier(tile)
        item.store(y, item.global_linear_id(), item.load(tile, 3 - lane))

    x = np.arange(12, dtype=np.int32)
    _, y = run(reverse, 12, 4, x, zeros(12))
    np.testing.assert_array_equal(y, x.reshape(3, 4)[:, ::-1].ravel())


def test_tree_reduction_in_a_loop_with_barriers():
    def total(item, x, y):
        tile = item.local_memory("tile", 8, np.int32)
        lane = item.local_linear_id()
        item.store(tile, lane, item.load(x, item.global_linear_id()))
        for step in (4, 2, 1):
            yield item.barrier(tile)
            if lane < step:
                item.store(tile, lane, item.load(tile, lane) + item.load(tile, lane + step))
        if lane == 0:
            item.store(y, item.group_linear_id(), item.load(tile, 0))

    x = np.arange(16, dtype=np.int32) ** 2
    np.testing.assert_array_equal(run(total, 16, 8, x, zeros(2))[1], x.reshape(2, 8).sum(1))


def test_histogram_by_local_atomics():
    def histogram(item, x, bins):
        own = item.local_memory("own", 4, np.int32)
        lane = item.local_linear_id()
        item.store(own, lane, 0)
        yield item.barrier(own)
        yield item.atomic(own, item.load(x, item.global_linear_id()), "add", np.int32(1))
        yield item.barrier(own)
        yield item.atomic(bins, lane, "add", item.load(own, lane))

    x = ints(0, 1, 1, 3, 3, 3, 0, 3, 1, 1, 1, 1)
    np.testing.assert_array_equal(run(histogram, 12, 4, x, zeros(4))[1], np.bincount(x, minlength=4))


def test_ids_in_three_dimensions():
    def ids(item, y):
        digits = [
            item.group_id(0),
            item.group_id(1),
            item.group_id(2),
            item.local_id(0),
            item.local_id(1),
            item.local_id(2),
        ]
        item.store(y, tuple(item.global_id(d) for d in range(3)), int("".join(map(str, digits))))
        assert item.global_linear_id() == np.ravel_multi_index([item.global_id(d) for d in range(3)], (2, 6, 2))
        yield item.barrier()

    (y,) = run(ids, (2, 6, 2), (1, 3, 2), zeros(2, 6, 2))
    assert y[1, 5, 1] == 110021
    assert y[0, 3, 1] == 10001
    assert len(np.unique(y)) == 24


def test_linear_ids_and_sub_groups():
    def ids(item, y):
        lane = item.local_linear_id()
        values = [item.group_linear_id(), item.sub_group_group_id(), item.sub_group_local_id()]
        for k, value in enumerate(values):
            item.store(y, (item.group_linear_id() * 6 + lane, k), value)
        yield item.barrier()

    (y,) = run(ids, (4, 3), (2, 3), zeros(12, 3))
    np.testing.assert_array_equal(y[:, 0], np.repeat([0, 1], 6))
    np.testing.assert_array_equal(y[:, 1], np.tile([0, 0, 0, 0, 1, 1], 2))
    np.testing.assert_array_equal(y[:, 2], np.tile([0, 1, 2, 3, 0, 1], 2))


def test_out_of_bounds_gives_poison_and_drops_stores_per_dimension():
    def wander(item, x, y, old):
        lane = item.local_linear_id()
        item.store(y, lane, item.load(x, (0, lane - 1)))
        item.store(x, (1, 3), 5)
        item.store(x, (-1, 0), 5)
        yield item.barrier(x)
        got = yield item.atomic(x, (0, lane + 2), "add", np.int32(10))
        item.store(old, lane, got)

    x, y, old = run(wander, 4, 4, ints(1, 2, 3, 4, 5, 6).reshape(2, 3), zeros(4), zeros(4))
    np.testing.assert_array_equal(x, [[1, 2, 13], [4, 5, 6]])
    np.testing.assert_array_equal(y, [99, 1, 2, 3])
    np.testing.assert_array_equal(old, [3, 99, 99, 99])


def test_memories_begin_poisoned_in_every_group_and_masks_spare():
    def peek(item, ints_, floats):
        i = item.group_linear_id()
        tile = item.local_memory("tile", 1, np.int32)
        own = item.private_memory("own", 2, np.float32)
        item.store(ints_, (i, 0), item.load(tile, 0))
        item.store(tile, 0, 7)
        item.store(ints_, (i, 1), item.load(tile, 0))
        item.store(ints_, (i, 2), item.load(tile, 0, where=False, other=8))
        item.store(ints_, (i, 0), 0, where=False)
        item.store(own, 1, 0.5)
        item.store(floats, (i, 0), item.load(own, 0))
        item.store(floats, (i, 1), item.load(own, 1))
        yield item.barrier()

    got, floats = run(peek, 2, 1, zeros(2, 3), np.zeros((2, 2), np.float32))
    np.testing.assert_array_equal(got, [[99, 7, 8]] * 2)
    np.testing.assert_array_equal(floats, np.float32([[np.nan, 0.5]] * 2))


@pytest.mark.parametrize(
    ("op", "left", "olds"),
    [
        ("add", 15, [5, 6, 8, 11]),
        ("sub", -5, [5, 4, 2, -1]),
        ("min", 1, [5, 1, 1, 1]),
        ("max", 5, [5, 5, 5, 5]),
        ("and", 0, [5, 1, 0, 0]),
        ("or", 7, [5, 5, 7, 7]),
        ("xor", 1, [5, 4, 6, 5]),
        ("exchange", 4, [5, 1, 2, 3]),
        ("store", 4, [5, 1, 2, 3]),
        ("load", 5, [5, 5, 5, 5]),
    ],
)
def test_atomics_run_in_the_order_of_the_work_items(op, left, olds):
    def update(item, total, old):
        lane = item.local_linear_id()
        operands = () if op == "load" else (np.int32(lane + 1),)
        item.store(old, lane, (yield item.atomic(total, 0, op, *operands)))

    total, old = run(update, 4, 4, ints(5), zeros(4))
    assert total[0] == left
    np.testing.assert_array_equal(old, olds)


def test_masked_atomics_take_no_part():
    def update(item, total, old):
        lane = item.local_linear_id()
        item.store(old, lane, (yield item.atomic(total, 0, "add", np.int32(1), where=lane % 2 == 1)))

    total, old = run(update, 4, 4, ints(5), zeros(4))
    assert total[0] == 7
    np.testing.assert_array_equal(old, [99, 5, 99, 6])


def test_compare_exchange_lets_mismatches_fail_first():
    def update(item, total, expected, desired, old):
        lane = item.local_linear_id()
        pair = item.load(expected, lane), item.load(desired, lane)
        item.store(old, lane, (yield item.atomic(total, 0, "compare_exchange", *pair)))

    # Lane 1 mismatches; lane 0 stores the value that is there; lane 2 wins; lane 3 comes too late.
    total, *_, old = run(update, 4, 4, ints(5), ints(5, 8, 5, 5), ints(5, 9, 8, 7), zeros(4))
    assert total[0] == 8
    np.testing.assert_array_equal(old, [5, 5, 5, 8])


def test_arithmetic_wraps_in_the_memory_s_type():
    def update(item, total):
        yield item.atomic(total, 0, "add", np.uint8(200))

    assert run(update, 4, 4, np.zeros(1, np.uint8))[0][0] == 800 % 256


GROUP_RESULTS = {
    ("reduce", "add"): [15] * 6,
    ("reduce", "max"): [5] * 6,
    ("inclusive_scan", "add"): [0, 1, 3, 6, 10, 15],
    ("exclusive_scan", "add"): [0, 0, 1, 3, 6, 10],
    ("exclusive_scan", "mul"): [1, 0, 0, 0, 0, 0],
    ("broadcast", 4): [4] * 6,
}
SUB_GROUP_RESULTS = {
    ("reduce", "add"): [6] * 4 + [9] * 2,
    ("inclusive_scan", "xor"): [0, 1, 3, 0, 4, 1],
    ("exclusive_scan", "max"): [-(2**31), 0, 1, 2, -(2**31), 4],
    ("broadcast", 1): [1] * 4 + [5] * 2,
    ("broadcast", 2): [2] * 4 + [99] * 2,
    ("shift_left", 1): [1, 2, 3, 99, 5, 99],
    ("shift_right", 1): [99, 0, 1, 2, 99, 4],
    ("rotate", 1): [1, 2, 3, 0, 5, 99],
    ("rotate", -1): [3, 0, 1, 2, 99, 4],
    ("permute_xor", 1): [1, 0, 3, 2, 5, 4],
    ("permute_xor", 2): [2, 3, 0, 1, 99, 99],
    ("select", 0): [0] * 4 + [4] * 2,
}
CHUNK_RESULTS = {1: [0, 1, 2, 3, 4, 5], 2: [1, 1, 5, 5, 9, 9], 4: [6] * 4 + [9] * 2}
ROTATED = {1: [0, 1, 2, 3, 4, 5], 2: [1, 0, 3, 2, 5, 4], 4: [3, 0, 1, 2, 99, 4]}
CASES = [(False, case) for case in GROUP_RESULTS.items()] + [(True, case) for case in SUB_GROUP_RESULTS.items()]


@pytest.mark.parametrize(("sub_group", "case"), CASES)
def test_collectives_over_six_work_items_in_sub_groups_of_four(sub_group, case):
    (kind, how), expected = case
    named = {"op": how} if isinstance(how, str) else {"argument": how}

    def collect(item, y):
        over = item.over_sub_group if sub_group else item.over_group
        item.store(y, item.local_linear_id(), (yield over(kind, item.local_linear_id(), **named)))

    np.testing.assert_array_equal(run(collect, 6, 6, zeros(6))[0], expected)


@pytest.mark.parametrize(("chunk", "expected"), CHUNK_RESULTS.items())
def test_a_reduction_in_chunks_over_six_work_items_in_sub_groups_of_four(chunk, expected):
    def collect(item, y):
        lane = item.local_linear_id()
        item.store(y, lane, (yield item.over_sub_group("reduce", lane, "add", chunk=chunk)))

    np.testing.assert_array_equal(run(collect, 6, 6, zeros(6))[0], expected)


@pytest.mark.parametrize(("chunk", "expected"), ROTATED.items())
def test_a_rotation_by_three_in_chunks_over_six_work_items_in_sub_groups_of_four(chunk, expected):
    def collect(item, y):
        lane = item.local_linear_id()
        item.store(y, lane, (yield item.over_sub_group("rotate", lane, argument=3, chunk=chunk)))

    np.testing.assert_array_equal(run(collect, 6, 6, zeros(6))[0], expected)


def test_votes():
    def vote(item, y):
        lane = item.local_linear_id()
        for k, kind in enumerate(("any", "all", "none")):
            item.store(y, (lane, k), (yield item.over_sub_group(kind, lane > 3)))

    (y,) = run(vote, 6, 6, np.zeros((6, 3), bool))
    np.testing.assert_array_equal(y, [[False, False, True]] * 4 + [[True, True, False]] * 2)


def test_groups_may_run_in_any_order():
    def ids(item, y):
        item.store(y, item.global_linear_id(), item.group_linear_id())
        yield item.barrier(y)

    np.testing.assert_array_equal(run(ids, 9, 3, zeros(9))[0], run(ids, 9, 3, zeros(9), order=[2, 0, 1])[0])


def exchange_neighbours(barrier):
    def body(item, y):
        tile = item.local_memory("tile", 4, np.int32)
        lane = item.local_linear_id()
        item.store(tile, lane, lane)
        yield item.barrier(*[tile] * barrier)
        item.store(y, item.global_linear_id(), item.load(tile, lane ^ 1))

    return body


def all_store_one(item, y):
    item.store(y, 0, 1)
    yield item.barrier(y)


def store_then_add(item, y):
    item.store(y, item.local_linear_id(), 1)
    yield item.atomic(y, 0, "add", np.int32(1))


@pytest.mark.parametrize("body", [exchange_neighbours(False), all_store_one, store_then_add])
def test_races_are_refused(body):
    with pytest.raises(oracle.Race):
        run(body, 4, 4, zeros(4))


def test_a_barrier_orders_its_own_group_only():
    run(exchange_neighbours(True), 4, 4, zeros(4))

    def across(item, y):
        item.store(y, item.global_linear_id(), 1)
        yield item.barrier(y)
        item.load(y, 7 - item.global_linear_id())

    with pytest.raises(oracle.Race):
        run(across, 8, 4, zeros(8))


def test_divergent_barriers_are_refused():
    def diverge(item, y):
        if item.local_linear_id() < 2:
            yield item.barrier(y)

    with pytest.raises(oracle.Divergence, match="'barrier': 2, 'end': 2"):
        run(diverge, 4, 4, zeros(4))


@pytest.mark.parametrize(
    ("final", "olds", "serial"),
    [(6, [0, 1, 3], True), (6, [0, 3, 1], False), (5, [0, 1, 3], False), (6, [0, 1, 1], False)],
)
def test_serial_orders_of_an_addition(final, olds, serial):
    operands = [1, 2, 3]
    changes = [(old, old + x) for old, x in zip(olds, operands, strict=True)]
    assert oracle.serial_order_exists(0, final, changes) == serial


def test_serial_orders_are_connected():
    assert oracle.serial_order_exists(0, 0, [(0, 1), (1, 0), (0, 0)])
    assert not oracle.serial_order_exists(0, 0, [(1, 2), (2, 1)])
    assert oracle.serial_order_exists(3, 3, [])
