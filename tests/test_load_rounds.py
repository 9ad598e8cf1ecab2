"""How often sub-groups wait for loads, by hand for kernels of one sub-group in each of four groups."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

GROUPS, SIZE = 4, 32
X = jax.ShapeDtypeStruct((GROUPS * SIZE * 16,), np.dtype(np.float32))
OUT = jax.ShapeDtypeStruct((GROUPS * SIZE,), np.dtype(np.float32))
STEP = GROUPS * SIZE


@xe.kernel(sub_group_size=32)
def straight(wg, x, out, *, loads):
    i = wg.global_id()
    return out.at[i].set(sum(x[i + k * STEP] for k in range(loads)))


@xe.kernel(sub_group_size=32)
def looped(wg, x, out, *, loads):
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.fori_loop(0, loads, lambda k, t: t + x[i + k * STEP], zeros))


@xe.kernel(sub_group_size=32)
def awaited(wg, x, out, *, loads):
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    _, t = lax.while_loop(
        lambda c: c[0] < loads, lambda c: (c[0] + 1, c[1] + x[i + c[0] * STEP]), (jnp.int32(0), zeros)
    )
    return out.at[i].set(t)


@xe.kernel(sub_group_size=32)
def ended_by_data(wg, x, out, *, loads):
    """A loop that ends where what it has loaded is enough."""
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    _, t = lax.while_loop(
        lambda c: jnp.max(c[1]) < loads, lambda c: (c[0] + 1, c[1] + x[i + c[0] * STEP]), (jnp.int32(0), zeros)
    )
    return out.at[i].set(t)


@xe.kernel(sub_group_size=32)
def met(wg, x, out, *, loads):
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.float32)

    def step(k, tile):
        return wg.barrier(tile.at[lid].set(x[i + 2 * k * STEP] + x[i + (2 * k + 1) * STEP]))

    tile = lax.fori_loop(0, loads // 2, step, tile)
    return out.at[i].set(tile[lid])


@xe.kernel(sub_group_size=32)
def divided(wg, x, out, *, loads):
    """`//` is a call of several operations, also of a choice between two results."""
    i = wg.global_id()
    total = jnp.zeros(wg.size, jnp.float32)
    for k in range(loads):
        total += x[(i + k) // 3 + (i - k) % 5]
    return out.at[i].set(total)


@xe.kernel(sub_group_size=32)
def computed(wg, x, out, *, loads):
    """Places that nothing tells before the run, but no data either."""
    i = wg.global_id()
    return out.at[i].set(sum(x[jnp.sqrt((i + k * STEP).astype(jnp.float32)).astype(jnp.int32)] for k in range(loads)))


@xe.kernel(sub_group_size=32)
def branched(wg, x, out, *, loads):
    """A branch between two loads in which nothing is accessed."""
    i, group = wg.global_id(), wg.group_id()
    total = jnp.zeros(wg.size, jnp.float32)
    for k in range(loads):
        step = lax.cond(group == k, lambda: jnp.int32(STEP), lambda: jnp.int32(0))
        total += x[i + step]
    return out.at[i].set(total)


@xe.kernel(sub_group_size=32)
def chained(wg, x, out, *, loads):
    i = wg.global_id()
    for _ in range(loads - 1):
        i = x[i].astype(jnp.int32)
    return out.at[wg.global_id()].set(x[i])


@xe.kernel(sub_group_size=32)
def masked(wg, x, out, *, loads):
    """Loads by masks that are loaded themselves."""
    i = wg.global_id()
    value = x[i]
    for k in range(1, loads):
        value = x.load(i + k * STEP, where=value > 0)
    return out.at[i].set(value)


@xe.kernel(sub_group_size=32)
def chased(wg, x, out, *, loads):
    """A loop of loads, each at the place that the one before gives."""
    last = lax.fori_loop(0, loads, lambda k, i: x[i].astype(jnp.int32), wg.global_id())
    return out.at[wg.global_id()].set(last.astype(jnp.float32))


@xe.kernel(sub_group_size=32)
def halved(wg, x, out, *, loads):
    """A search, whose place depends on all that was loaded before, by way of a choice."""

    def step(k, low):
        middle = low + (x.shape[0] >> (k + 1))
        return jnp.where(x[middle] < 0.5, middle, low)

    low = lax.fori_loop(0, loads, step, jnp.zeros(wg.size, jnp.int32))
    return out.at[wg.global_id()].set(low.astype(jnp.float32))


@xe.kernel(sub_group_size=32)
def looked_up(wg, x, out, *, loads):
    """Places that are loaded an iteration before, though none of them depends on another."""
    i = wg.global_id()

    def step(k, carry):
        at, total = carry
        return x[i + k * STEP].astype(jnp.int32), total + x[at]

    return out.at[i].set(lax.fori_loop(0, loads, step, (i, jnp.zeros(wg.size, jnp.float32)))[1])


@xe.kernel(sub_group_size=32)
def parted(wg, x, out, *, loads):
    """The first group makes all loads, the others one."""
    i, first = wg.global_id(), wg.group_id() == 0
    others = [x.load(i + k * STEP, where=jnp.broadcast_to(first, (wg.size,))) for k in range(1, loads)]
    return out.at[i].set(x[i] + sum(others))


@xe.kernel(sub_group_size=32)
def met_once(wg, x, out, *, loads):
    """The first group loads before a barrier, the others load nothing."""
    i, lid, first = wg.global_id(), wg.local_id(), jnp.broadcast_to(wg.group_id() == 0, (wg.size,))
    total = sum(x.load(i + k * STEP, where=first) for k in range(loads))
    tile = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(total))
    return out.at[i].set(tile[lid])


def of_estimate(kernel, nd_range, device, loads):
    return xe.estimate(kernel, nd_range, device=device)(X, OUT, loads=loads)


def of_profile(kernel, nd_range, device, loads):
    x, out = np.ones(X.shape, X.dtype), np.zeros(OUT.shape, OUT.dtype)
    return xe.profile(kernel, nd_range, device=device)(x, out, loads=loads)[1]


def waited(kernel, loads, of=of_estimate, **figures):
    """The cycles that one sub-group waits for global memory, in latencies of an L2 hit."""
    barriers = "barrier_latency_cycles", "barrier_cycles_per_sub_group", "barrier_arrival_cycles"
    arithmetic = "alu_latency_cycles", "fp64_latency_cycles", "special_latency_cycles", "shuffle_latency_cycles"
    bare = dict.fromkeys((*arithmetic, *barriers), 1e-9)
    device = xe.device("h200")
    device = dataclasses.replace(device, **bare, l1_latency_cycles=100, l2_latency_cycles=100, slm_latency_cycles=1e-9)
    device = dataclasses.replace(device, **figures)
    report = of(kernel, xe.NDRange(GROUPS * SIZE, SIZE), device, loads)
    latency = next(term for term in report.terms if term.resource == "latency")
    return latency.work / GROUPS / 100


@pytest.mark.parametrize(
    ("kernel", "loads", "rounds"),
    [
        pytest.param(straight, 1, 1, id="one"),
        pytest.param(straight, 3, 1, id="together"),
        pytest.param(straight, 8, 2, id="no more than four"),
        pytest.param(looped, 16, 4, id="unrolled by four"),
        pytest.param(awaited, 16, 4, id="a while, unrolled by four"),
        pytest.param(met, 16, 8, id="two between barriers"),
        pytest.param(met_once, 3, 1 / GROUPS, id="in one of the groups"),
        pytest.param(divided, 4, 1, id="at places that calls compute"),
        pytest.param(branched, 4, 1, id="between branches without accesses"),
        pytest.param(parted, 4, 1, id="all of which one group makes"),
    ],
)
def test_a_sub_group_waits_for_the_loads_that_are_under_way_together(kernel, loads, rounds):
    assert waited(kernel, loads) == pytest.approx(rounds, rel=1e-6)


@xe.kernel(sub_group_size=32)
def growing(wg, x, out, *, loads):
    """As many loads as the outer counter says, which doubles; none in its first iteration."""
    i = wg.global_id()

    def doubled(state):
        k, total = state
        return k * 2, lax.fori_loop(1, k, lambda j, t: t + x[i + j * STEP], total)

    start = jnp.int32(1), jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.while_loop(lambda state: state[0] < loads, doubled, start)[1])


def test_a_loop_that_is_empty_at_first_is_waited_for():
    """For one and three loads, in loops whose number of iterations is not constant."""
    assert waited(growing, 8) == pytest.approx(4, rel=1e-6)


def test_each_iteration_of_a_loop_that_is_not_unrolled_waits():
    assert [waited(looped, n, longest_unrolled_loop=12) for n in (12, 16)] == pytest.approx([3, 16], rel=1e-6)


def test_intels_compiler_unrolls_short_loops_alone():
    each = [(xe.device(name).longest_unrolled_loop, name) for name in ("hd530", "a770", "max1550", "b580", "h200")]
    assert each == [(40, "hd530"), (40, "a770"), (40, "max1550"), (40, "b580"), (None, "h200")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "loads", "rounds"),
    [
        pytest.param(computed, 4, 1, id="at places that are computed of ids"),
        pytest.param(chained, 3, 3, id="each at a place that the one before gives"),
        pytest.param(masked, 3, 3, id="each by a mask that the one before gives"),
        pytest.param(chased, 16, 16, id="each at a place that the iteration before gives"),
        pytest.param(halved, 8, 8, id="each at a place that iterations before have chosen"),
        pytest.param(looked_up, 16, 8, id="at places that are loaded ahead"),
        pytest.param(ended_by_data, 16, 16, id="each by who has asked if it is enough"),
    ],
)
def test_only_what_was_loaded_is_waited_for_before_a_load(kernel, loads, rounds):
    assert waited(kernel, loads, of_profile) == pytest.approx(rounds, rel=1e-6)


@xe.kernel(sub_group_size=32)
def copied_alone(wg, x, out, *, first, last):
    """The first and the last sub-group copy something each, while the others wait at the barrier."""
    lid = wg.local_id()
    tile = wg.local(wg.size, jnp.float32)
    for alone, loads in ((lid == 0, first), (lid == wg.size - 1, last)):
        copy = lambda tile, n=loads: lax.fori_loop(0, n, lambda k, t: t.at[k].set(x[k]), tile)  # noqa: E731
        tile = wg.cond(alone, copy, lambda tile: tile, tile)
    return out.at[wg.global_id()].set(wg.barrier(tile)[lid])


def test_all_sub_groups_wait_for_the_longest_of_the_loops_before_a_barrier():
    """The other one is waited for by the sub-group that goes through it."""
    launch = xe.estimate(copied_alone, xe.NDRange(GROUPS * 256, 256), device="h200")
    shapes = X, jax.ShapeDtypeStruct((GROUPS * 256,), np.dtype(np.float32))
    for first, last in ((64, 32), (32, 64)):
        waits = launch(*shapes, first=first, last=last).waits
        assert sum(each.times for each in waits if each.site and each.site.memory == "x") == GROUPS * (8 * 16 + 8)


@xe.kernel(sub_group_size=32)
def fields(wg, x, out, *, loads):
    """The first few elements of four that each work-item has side by side: only the first load of a line misses."""
    i = wg.global_id()
    return out.at[i].set(sum(x[4 * i + k] for k in range(loads)))


@xe.kernel(sub_group_size=32)
def rows(wg, x, out, *, loads):
    """The same in a loop, whose iterations after the first few hit the L1."""
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.fori_loop(0, loads, lambda k, t: t + x[8 * i + k], zeros))


@pytest.mark.parametrize("kernel", [fields, rows])
def test_a_sub_group_that_misses_once_waits_for_that_once(kernel):
    device = dataclasses.replace(xe.device("h200"), alu_latency_cycles=1e-9, l1_latency_cycles=10)
    for loads in (1, 2, 4):
        report = xe.estimate(kernel, xe.NDRange(GROUPS * SIZE, SIZE), device=device)(X, OUT, loads=loads)
        latency = next(term for term in report.terms if term.resource == "latency")
        assert 0 <= latency.work / GROUPS - device.l2_latency_cycles <= 20  # passes of the L1


@xe.kernel(sub_group_size=32)
def anywhere(wg, x, out, *, loads, turns):
    """Loads of `(scale, offset, least work-item)` each, in turns of a loop."""
    i = wg.global_id()

    def step(k, total):
        for scale, offset, first in loads:
            total += x.load(scale * i + offset + k, where=i >= first)
        return total

    return out.at[i].set(lax.fori_loop(0, turns, step, jnp.zeros(wg.size, jnp.float32)))


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_with_a_load_more_a_launch_never_takes_less_time(seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice([0, 1, 4, 8], 6), rng.integers(0, 40, 6), rng.choice([0, 0, 96], 6)
    loads = [tuple(map(int, each)) for each in zip(*drawn, strict=True)]
    turns = int(rng.choice([1, 3, 9]))
    for device in ("h200", "max1550"):
        run = xe.estimate(anywhere, xe.NDRange(GROUPS * SIZE, SIZE), device=device)
        cycles = [run(X, OUT, loads=tuple(loads[:n]), turns=turns).cycles for n in range(1, len(loads) + 1)]
        assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(cycles)), cycles
