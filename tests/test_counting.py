"""What the counting observer counts, against a second, obvious count and against itself by another way."""

import collections
import math
import re

import examples
import jax
import jax.numpy as jnp
import numpy as np
import programs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu import kernels
from xeemu.cost import census, costing, costs, counting, sampling
from xeemu.cost.batch import Batch
from xeemu.cost.ledger import Ledger, condensed, subtractable, totals
from xeemu.devices.lanes import _network
from xeemu.knowledge import symbolic_execution
from xeemu.launching import apart
from xeemu.launching.arguments import ArgumentType, scalars
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare, prepare_alone

# --- A scalar count of requests, passes and lines: 16 lanes at a time, 16 banks of 4 bytes, lines of 64 bytes ---


class Tally:
    """Counts by (space, op, memory), one work-group's access after the other."""

    def __init__(self, lanes):
        self.lanes, self.counts = lanes, collections.defaultdict(collections.Counter)

    def access(self, space, op, memory, index, width=4):
        """`index`: for each work-item the element, or None."""
        for start in range(0, len(index), self.lanes):
            lanes = index[start : start + self.lanes]
            for first in range(0, len(lanes), 16):
                self._request(space, op, memory, [i * width for i in lanes[first : first + 16] if i is not None], width)

    def scalar(self, space, memory, items, index, width=4):
        """A load by a scalar index: one lane of each sub-group."""
        for _ in range(math.ceil(items / self.lanes)):
            self._request(space, "load", memory, [index * width], width)

    def _request(self, space, op, memory, addresses, width):
        if not addresses:
            return
        count = self.counts[space, op, memory]
        count["requests"] += 1
        if space == "local":
            words = [a // 4 for a in addresses]
            turns = set(words) if op == "load" else words
            count["passes"] += max(collections.Counter(w % 16 for w in turns).values())
            count["ideal_passes"] += 1
        elif op == "atomic":
            by_word = collections.Counter(addresses)
            by_line = collections.defaultdict(int)
            for address, lanes in by_word.items():
                by_line[address // 64] = max(by_line[address // 64], lanes)
            count["sectors"] += sum(by_line.values())
        else:
            count["lines"] += len({a // 64 for a in addresses})
            count["bytes_used"] += width * len(set(addresses))


def assert_counted(report, tally):
    """Every figure that the tally has is the report's, summed over the sites of one operation and memory."""
    found = collections.defaultdict(collections.Counter)
    for site in report.sites:
        names = tally.counts[site.space, site.op, site.memory]
        found[site.space, site.op, site.memory].update({name: getattr(site, name) for name in names})
    assert found == tally.counts


def profiled(name, size, device="max1550", **static):
    example = kernels.example(name)
    launch = xe.profile(example.kernel, example.nd_range(size), device=device)
    return launch(*example.inputs(size), **{**example.static, **static})[1]


# --- The kernels of the texts ---


@pytest.mark.parametrize("stride", [1, 2, 3, 8, 16, 17, 64])
def test_slm_bank_against_a_scalar_count(stride):
    tally, iterations = Tally(32), 5
    lane = [j * stride for j in range(32)]
    for group in range(2):
        tally.access("local", "store", "slm", lane)
        for _ in range(iterations):
            tally.access("local", "load", "slm", lane)
            tally.access("local", "store", "slm", lane)
        tally.access("local", "load", "slm", lane)
        tally.access("global", "store", "data", [group * 32 + j for j in range(32)])
    assert_counted(profiled("slm_bank_16", (64,), stride=stride, iterations=iterations), tally)


def test_stride_16_gives_a_16th_of_the_bandwidth_and_stride_1_all_of_it():
    slow, fast = (profiled("slm_bank_16", (32,), stride=stride, iterations=9).slm for stride in (16, 1))
    assert fast.passes == fast.ideal_passes
    assert slow.passes == 16 * fast.passes


@pytest.mark.thorough
def test_convolution_slm_against_a_scalar_count():
    n, m, size = 1024, 33, 256
    tally, half = Tally(32), m // 2
    for group in range(n // size):
        items = range(group * size, (group + 1) * size)
        tally.access("global", "load", "data", list(items))
        tally.access("local", "store", "cache", [lid + half for lid in range(size)])
        for j in range(half):
            first, last = [None] * size, [None] * size
            first[0], last[-1] = j, size + half + j
            if group > 0:
                tally.access("global", "load", "data", [items[0] - half + j] + [None] * (size - 1))
            tally.access("local", "store", "cache", first)
            if group < n // size - 1:
                tally.access("global", "load", "data", [None] * (size - 1) + [items[-1] + 1 + j])
            tally.access("local", "store", "cache", last)
        for j in range(m):
            tally.access("local", "load", "cache", [lid + j for lid in range(size)])
            tally.scalar("global", "taps", size, j)
        tally.access("global", "store", "out", list(items))
    assert_counted(profiled("convolution_slm", (n, m)), tally)


def test_table_copies_against_a_scalar_count():
    entries, groups, size = 100, 3, 64
    for name in ("table_copy_bad", "table_copy_good", "table_copy_loop"):
        tally = Tally(32)
        for group in range(groups):
            if name == "table_copy_bad":
                for index in range(entries):
                    tally.scalar("global", "table", size, index)
                    tally.access("local", "store", "slm_table", [index] * size)
            else:
                for step in range(0, entries, size):
                    index = [i if i < entries else None for i in range(step, step + size)]
                    tally.access("global", "load", "table", index)
                    tally.access("local", "store", "slm_table", index)
            items = range(group * size, (group + 1) * size)
            tally.access("local", "load", "slm_table", [entries - 1 - i % entries for i in items])
            tally.access("global", "store", "out", list(items))
        assert_counted(profiled(name, (entries, groups, size)), tally)


def test_matmul_local_against_a_scalar_count():
    n = 16
    tally = Tally(32)
    rows = [(x, y) for x in range(n) for y in range(n)]
    for memory in ("a", "b"):
        tally.access("global", "load", memory, [x * n + y for x, y in rows])
        tally.access("local", "store", f"{memory}_local", [x * n + y for x, y in rows])
    for k in range(n):
        tally.access("local", "load", "a_local", [x * n + k for x, _ in rows])
        tally.access("local", "load", "b_local", [k * n + y for _, y in rows])
    tally.access("global", "store", "c", [x * n + y for x, y in rows])
    assert_counted(profiled("matmul_local", (n,)), tally)


def test_tree_reduction_against_a_scalar_count():
    elements, size = 600, 128
    tally = Tally(32)
    for group in range(math.ceil(elements / (2 * size))):
        first = [2 * i if 2 * i < elements else None for i in range(group * size, (group + 1) * size)]
        lids = list(range(size))
        tally.access("local", "store", "partial", lids)
        tally.access("global", "load", "data", first)
        tally.access("global", "load", "data", [None if i is None else i + 1 for i in first])
        tally.access("local", "store", "partial", [None if i is None else i // 2 % size for i in first])
        stride = 1
        while stride < size:
            live = [2 * stride * lid if 2 * stride * lid < size else None for lid in lids]
            tally.access("local", "load", "partial", live)
            tally.access("local", "load", "partial", [None if i is None else i + stride for i in live])
            tally.access("local", "store", "partial", live)
            stride *= 2
        tally.access("local", "load", "partial", [0] + [None] * (size - 1))
        tally.access("global", "store", "sums", [group] + [None] * (size - 1))
    assert_counted(profiled("tree_reduction", (elements,)), tally)


def test_histogram_slm_against_a_scalar_count():
    groups, size, block, bins = 3, 64, 4, 256
    data = np.random.default_rng(1).integers(2**63, size=groups * size * block, dtype=np.uint64)
    kernel = kernels.example("histogram_slm").kernel
    _, report = xe.profile(kernel, xe.NDRange(groups * size, size))(data, np.zeros(bins, np.uint64), block=block)
    tally = Tally(32)
    for group in range(groups):
        own = [[k * size + lid for lid in range(size)] for k in range(bins // size)]
        for index in own:
            tally.access("local", "atomic", "bins", index)
            tally.access("local", "atomic", "bins", index)
            tally.access("global", "atomic", "hist", index, width=8)
        for k in range(block):
            base = group * size * block
            words = [base + lane // 32 * 32 * block + 32 * k + lane % 32 for lane in range(size)]
            tally.access("global", "load", "data", words, width=8)
            for shift in range(0, 64, 8):
                tally.access("local", "atomic", "bins", [int(data[w]) >> shift & 255 for w in words])
    assert_counted(report, tally)
    assert report.atomics.global_operations == groups * bins
    assert report.atomics.contention == groups


# --- One access, known at trace time and known only as the kernel runs ---


@xe.kernel(sub_group_size=32)
def closed(wg, table, memory, *, index):
    i = jnp.asarray(np.array(index), jnp.int32).reshape(wg.size)
    tile = wg.local(memory.shape[0], memory.dtype)
    tile = tile.at[i].set(memory[i])
    tile = tile.at[i].set(tile[i])
    return memory.at[i].set(tile[i])


@xe.kernel(sub_group_size=32)
def counted(wg, table, memory, *, index):
    i = table[wg.local_id()]
    tile = wg.local(memory.shape[0], memory.dtype)
    tile = tile.at[i].set(memory[i])
    tile = tile.at[i].set(tile[i])
    return memory.at[i].set(tile[i])


@pytest.mark.every(4)
@pytest.mark.thorough
@pytest.mark.parametrize("device", ["max1550", "h200"])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_closed_form_is_what_is_counted_from_data(device, dtype):
    rng = np.random.default_rng(3)
    lanes = np.arange(64, dtype=np.int32)
    for index in (lanes, 16 * lanes % 256, rng.integers(256, size=64)):
        arguments = index.astype(np.int32), np.zeros(256, dtype)
        reports = []
        for kernel in (closed, counted):
            launch = xe.profile(kernel, xe.NDRange(256, 64), device=device)
            reports.append(launch(*arguments, index=tuple(map(int, index)))[1])
        known, ran = ([site for site in r.sites if site.memory != "table"] for r in reports)
        assert all(site.closed_form for site in known)
        assert not any(site.closed_form for site in ran)
        names = ("memory", "op", "requests", "passes", "ideal_passes", "lines", "sectors", "bytes_moved")
        assert [[getattr(s, n) for n in names] for s in known] == [[getattr(s, n) for n in names] for s in ran]
        outside = [[s.bytes_used for s in sites if s.space == "global"] for sites in (known, ran)]
        assert outside[0] == outside[1]


@xe.kernel(sub_group_size=16)
def vectors(wg, memory, *, width):
    i = wg.local_id()[:, None] * width + jnp.arange(width)
    tile = wg.local(wg.size * width, jnp.float32)
    tile = wg.barrier(tile.at[i].set(memory[i]))
    return memory.at[i].set(tile[i])


def test_private_axes_that_lie_side_by_side_are_one_access():
    for width, requests, bytes_ in ((1, 1, 4), (2, 1, 8), (4, 1, 16), (8, 2, 16), (3, 3, 4)):
        _, report = xe.profile(vectors, xe.NDRange(16, 16))(np.zeros(16 * width, np.float32), width=width)
        assert [site.requests for site in report.sites] == [requests] * 4, width
        assert report.global_.bytes_used == 2 * 16 * 4 * width
        assert report.slm.ideal_passes == 2 * requests * bytes_ // 4


# --- Loops and branches whose course is known only as the program runs ---


@xe.kernel(sub_group_size=16)
def uneven(wg, times, out):
    tile = wg.local(64, jnp.int32)
    i = wg.local_id()

    def add(carry):
        k, tile = carry
        tile = lax.fori_loop(0, 3, lambda _, tile: tile.at[i].set(k), tile)
        return k + 1, wg.barrier(tile)

    _, tile = lax.while_loop(lambda carry: carry[0] < times[wg.group_id()], add, (0, tile))
    tile = lax.cond(wg.group_id() == 1, lambda tile: tile.at[16 * (i % 4)].set(1), lambda tile: tile, tile)
    return out.at[wg.global_id()].set(tile[i])


def test_a_loop_is_counted_as_often_as_each_group_runs_it():
    times = np.array([0, 5, 2, 9], np.int32)
    _, report = xe.profile(uneven, xe.NDRange(64, 16), device="max1550")(times[:4], np.zeros(64, np.int32))
    in_loop, in_branch = [site for site in report.sites if site.op == "store" and site.space == "local"]
    assert in_loop.requests == in_loop.passes == 3 * times.sum()
    assert (in_branch.requests, in_branch.passes) == (1, 16)
    assert report.barriers == times.sum()
    assert report.instructions["barrier"] == times.sum()
    known = xe.estimate(uneven, xe.NDRange(64, 16))(times, np.zeros(64, np.int32))
    assert next(site for site in known.sites if site.line == in_branch.line).passes == 16
    assert next(site for site in known.sites if site.line == in_loop.line).passes is None


@xe.kernel(sub_group_size=16)
def counted_loop(wg, end, data, out):
    total = lax.fori_loop(0, end, lambda k, t: t + data[k + wg.local_id()], jnp.zeros(wg.size, jnp.int32))
    return out.at[wg.global_id()].set(total)


def test_a_loop_with_a_traced_end_takes_the_lines_of_each_start():
    arguments = np.int32(9), np.zeros(64, np.int32), np.zeros(32, np.int32)
    _, report = xe.profile(counted_loop, xe.NDRange(32, 16))(*arguments)
    load = next(site for site in report.sites if site.op == "load")
    assert (load.requests, load.lines) == (2 * 9, 2 * (1 + 8 * 2))
    assert xe.estimate(counted_loop, xe.NDRange(32, 16))(*arguments).to_dict() == report.to_dict()


@xe.kernel(sub_group_size=16)
def spinning(wg, flags, out):
    k = lax.while_loop(lambda k: flags[k] == 0, lambda k: k + 1, jnp.int32(0))
    return out.at[wg.global_id()].set(k)


def test_an_access_in_a_predicate_is_counted_as_often_as_it_is_tested():
    flags = np.array([0, 0, 1], np.int32)
    out, report = xe.profile(spinning, xe.NDRange(48, 16))(flags, np.zeros(48, np.int32))
    assert (out == 2).all()
    (load,) = [site for site in report.sites if site.memory == "flags"]
    assert load.requests == 3 * 3
    assert report.instructions["memory"] == 3 * 3 + 3
    assert xe.estimate(spinning, xe.NDRange(48, 16))(flags, np.zeros(48, np.int32)).instructions is None


@xe.kernel(sub_group_size=16)
def searching(wg, flags, out):
    first = 4 * wg.group_id()
    k = lax.while_loop(lambda k: flags[first + k] == 0, lambda k: k + 1, jnp.int32(0))
    return out.at[wg.global_id()].set(k)


def test_a_predicate_that_groups_leave_at_different_times():
    flags = np.array([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1], np.int32)
    out, report = xe.profile(searching, xe.NDRange(48, 16))(flags, np.zeros(48, np.int32))
    assert out[::16].tolist() == [2, 0, 3]
    (load,) = [site for site in report.sites if site.memory == "flags"]
    assert load.requests == 3 + 1 + 4


# --- What is known before the run is what the run counts ---


def _counts(kernel, nd_range, arguments, static, device="max1550", memory_bytes=None, blank=False, sample=None):
    """All counts of a launch: with `blank`, all of them counted as the kernel runs."""
    options, device = Options(memory_bytes, False, False, "cpu"), xe.device(device)
    bound = kernel.bind_static(static)
    prepared = prepare(kernel, nd_range, device, tuple(map(ArgumentType.of, arguments)), bound, options).watched_alone
    tree = symbolic_execution.of_program(prepared.program, prepared.facts, scalars(arguments))
    drawn = sample and sampling.draw(prepared.program.geometry.groups, prepared.cut.chunk, sample)
    taken = census.take(tree, device, blank)
    ledger = Ledger(taken, drawn, subtractable(taken, prepared.program, drawn))
    _, state = costing.Counted(prepared, ledger).run(arguments)
    counts = counting.counts(ledger, state and condensed(ledger, state))
    return prepared.cut.chunk, ledger.census, counts, {**taken.tallies, **(totals(ledger, state) if state else {})}


def assert_alike(known, ran):
    """The same figures, but for those that a run does not count lane by lane."""
    (_, before, tallies), (_, after, others) = known, ran
    for place, figures in before.figures.items():
        ours, theirs = dict(figures), dict(after.figures[place])
        for each in (ours, theirs):
            del each["bytes_used" if place.memory.space == "local" else "l1_passes"]
        assert ours == theirs, place
    assert before.executions == after.executions
    assert before.most_updates == after.most_updates
    for memory, tally in tallies.items():
        np.testing.assert_array_equal(tally, others[memory])


SIZES = {
    "convolution_global": (1024, 33),
    "convolution_slm": (1024, 33),
    "histogram_private": (64 * 256,),
    "histogram_registers": (64 * 256,),
    "histogram_slm": (64 * 256 * 3,),
    "histogram_slm_1024": (64 * 256 * 3,),
    "tree_reduction": (600,),
    "tree_reduction_sequential": (600,),
    "matmul_tiled": (20, 40, 35),
}


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("name", "device"),
    [
        *((name, "max1550") for name in kernels.EXAMPLES),
        *((name, "h200") for name in ("slm_bank_16", "histogram_slm", "tree_reduction", "matmul_tiled")),
    ],
)
def test_what_is_known_is_what_a_run_counts(name, device):
    example = kernels.example(name)
    size, static = SIZES.get(name, example.size), dict(example.static)
    if "iterations" in static:
        static["iterations"] = 10
    arguments = example.kernel, example.nd_range(size), example.inputs(size), static, device
    assert_alike(*(_counts(*arguments, blank=blank)[1:] for blank in (False, True)))


@xe.kernel(sub_group_size=16)
def doubling(wg, data, out):
    tile = wg.local(wg.size, jnp.int32)
    lid = wg.local_id()
    tile = wg.barrier(tile.at[lid].set(data[wg.global_id()]))

    def level(_, carry):
        stride, tile = carry
        index = 2 * stride * lid
        live = index < wg.size
        tile = tile.at[index].set(tile.load(index, where=live) + tile.load(index + stride, where=live), where=live)
        return 2 * stride, wg.barrier(tile)

    _, tile = lax.fori_loop(0, 6, level, (jnp.int32(1), tile))
    return out.at[wg.group_id()].set(tile.load(0, where=lid == 0), where=lid == 0)


@xe.kernel(sub_group_size=16)
def halving(wg, data, out):
    tile = wg.local(wg.size, jnp.int32)
    lid = wg.local_id()
    tile = wg.barrier(tile.at[lid].set(data[wg.global_id()]))

    def level(carry):
        stride, tile = carry
        live = lid < stride
        tile = tile.at[lid].set(tile.load(lid, where=live) + tile.load(lid + stride, where=live), where=live)
        return stride // 2, wg.barrier(tile)

    _, tile = lax.while_loop(lambda carry: carry[0] > 0, level, (jnp.int32(wg.size // 2), tile))
    return out.at[wg.group_id()].set(tile.load(0, where=lid == 0), where=lid == 0)


@xe.kernel(sub_group_size=16)
def triangle(wg, data, out):
    """Each group loops as often as its number says, inside a loop over steps."""
    lid, group = wg.local_id(), wg.group_id()

    def row(k, t):
        return lax.fori_loop(0, group, lambda j, t: t + data[(16 * j + lid + k) % 200], t)

    total = lax.fori_loop(0, 3, row, jnp.zeros(wg.size, jnp.int32))
    return out.at[wg.global_id()].set(total)


@xe.kernel(sub_group_size=16)
def scanned(wg, data, out):
    lid = wg.local_id()
    places = jnp.asarray(np.array([3, 0, 7, 1], np.int32))

    def forward(t, place):
        return t + data[64 * place + lid], None

    def backward(t, k):
        return t + data[16 * k + lid], None

    t, _ = lax.scan(forward, jnp.zeros(wg.size, jnp.int32), places)
    t, _ = lax.scan(backward, t, jnp.arange(5), reverse=True)
    return out.at[wg.global_id()].set(t)


@xe.kernel(sub_group_size=16)
def choosing(wg, data, out):
    lid, group = wg.local_id(), wg.group_id()

    def rarely(out):
        return lax.fori_loop(0, 4, lambda k, out: out.at[wg.global_id()].set(k, where=lid < 4 * k), out)

    def by_data(out):
        return lax.cond(data[group] > 0, rarely, lambda out: out.at[wg.global_id()].set(9), out)

    out = lax.cond(group % 3 == 1, rarely, lambda out: out, out)
    out = lax.cond((group == 0) | (group == 5), by_data, lambda out: out.at[wg.global_id()].set(1), out)
    return lax.switch(group % 4, [rarely, by_data, lambda out: out], out)


@xe.kernel(sub_group_size=16)
def bounded(wg, data, out):
    """Partly out of bounds on both sides, and with a mask."""
    i = wg.global_id()
    x = data[i - 20] + data[3 * i] + data.load(i + 40, where=i % 5 < 3)
    return out.at[jnp.minimum(i, 150)].set(x)


@xe.kernel(sub_group_size=16)
def unknown_loop(wg, data, out):
    """A loop of a length that data tell, with accesses of every kind inside."""
    tile = wg.local(64, jnp.int32)
    own = wg.private(8, jnp.int32)
    lid = wg.local_id()
    tile = wg.barrier(tile.at[4 * (lid % 16)].set(0))
    own = own.at[0].set(0)

    def step(k, carry):
        tile, own = carry
        tile = tile.at[(4 * lid) % 64].set(data[(16 * k + lid) % 128])
        own = own.at[k % 8].set(tile[lid])
        return wg.barrier(tile), own

    times = jnp.abs(data[wg.group_id()]) % 5
    tile, own = lax.fori_loop(0, times, step, (tile, own))
    return out.at[wg.global_id()].set(own[data[lid] % 8] + tile[lid])


@xe.kernel
def plane(wg, data, out):
    """A plain range that no group divides, in two dimensions."""
    i, j = wg.global_id(0), wg.global_id(1)
    return out.at[i * 67 + j].set(data.load(j * 5 + i, where=(i + j) % 2 == 0))


@xe.kernel(sub_group_size=16)
def called_twice(wg, data, out):
    @jax.jit
    def read(memory, i):
        return memory[i] + memory[2 * i]

    i = wg.global_id()
    return out.at[i].set(read(data, i % 60) + read(out, i % 30))


@xe.kernel(sub_group_size=16)
def vectored(wg, data, out):
    """Vectors that masks and bounds cut through, some of which begin between two multiples of their size."""
    four, lid, group = jnp.arange(4), wg.local_id()[:, None], wg.group_id()
    tile = wg.local(130, jnp.int32)
    tile = tile.at[4 * lid + four].set(1)
    tile = wg.barrier(tile.at[group + 4 * lid + four].set(2))
    tile = tile.atomic[4 * lid + four].add(1, where=jnp.broadcast_to(four >= group, (wg.size, 4)))
    some = data.load(4 * lid + group - 1 + four, where=(lid < 20) | (four % 2 == 0))
    return out.at[4 * wg.global_id()[:, None] + four].set(some, where=(lid + four) % 5 > 0)


@xe.kernel(sub_group_size=16)
def nested(wg, data, out):
    """Loops whose ends depend on the group and on each other's counters."""
    group, lid = wg.group_id(), wg.local_id()
    tile = wg.local(40, jnp.int32)

    def outer(k, carry):
        def inner(j, carry):
            out, tile = carry
            tile = tile.at[(lid + 2 * j) % 40].set(k, where=lid % 3 != j % 2)
            return out.atomic[(lid * k + j) % 100].add(data[group * j + lid], where=(lid + j) % 3 == k % 3), tile

        return lax.fori_loop(k // 2, k + group % 4, inner, carry)

    return lax.fori_loop(0, group + 2, outer, (out, tile))[0]


WORDS = np.random.default_rng(2).integers(-50, 50, 384).astype(np.int32)
ODD = {
    doubling: xe.NDRange(384, 64),
    halving: xe.NDRange(384, 64),
    triangle: xe.NDRange(96, 16),
    scanned: xe.NDRange(96, 16),
    choosing: xe.NDRange(384, 32),
    bounded: xe.NDRange(192, 32),
    unknown_loop: xe.NDRange(384, 64),
    plane: xe.NDRange((5, 67)),
    called_twice: xe.NDRange(96, 32),
    vectored: xe.NDRange(160, 32),
    nested: xe.NDRange(288, 24),
}


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize("kernel", ODD, ids=lambda kernel: kernel.name)
def test_what_is_known_of_an_odd_kernel_is_what_a_run_counts(kernel):
    arguments = kernel, ODD[kernel], (WORDS, np.zeros(384, np.int32)), {}
    known, blank = (_counts(*arguments, blank=blank)[1:] for blank in (False, True))
    assert_alike(known, blank)
    left = {known[0].access_site(key).memory.name for key in known[0].left}
    assert left == {"unknown_loop": {"data", "tile", "own"}, "choosing": {"out"}}.get(kernel.name, set())


RANDOM = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
PROGRAMS = st.one_of(programs.programs(), programs.programs(plain=True))


@pytest.mark.thorough
@settings(RANDOM, max_examples=examples.some(6))
@given(PROGRAMS)
def test_what_is_known_of_a_random_program_is_what_a_run_counts(program):
    assert_known_as_counted(program)


@pytest.mark.long
@settings(RANDOM, max_examples=60)
@given(PROGRAMS)
def test_what_is_known_of_many_random_programs_is_what_a_run_counts(program):
    assert_known_as_counted(program)


def assert_known_as_counted(program):
    arguments = programs.kernel(program), program.nd_range, program.arguments, {}, programs.DEVICE
    assert_alike(*(_counts(*arguments, blank=blank)[1:] for blank in (False, True)))


# --- Sums ---


@pytest.mark.parametrize(
    ("shape", "lanes", "elements"), [((500, 8, 2), 32, 1), ((4096, 8, 2), 32, 4), ((3, 1, 1), 1, 1)]
)
@pytest.mark.parametrize("rows", [1, 3])
def test_figures_that_are_added_up_in_one_number_do_not_run_over(shape, lanes, elements, rows):
    most = [elements * most for most in (1, 64 * lanes, 64, 16 * lanes, lanes, lanes, lanes, 16 * lanes)]
    figures = [np.full((rows * shape[0], *shape[1:]), n, np.int32) for n in most]
    with jax.enable_x64(True):
        given = list(map(jnp.asarray, figures))
        totals = jax.jit(lambda given: costs._totals(given, most, given[0], rows))(given)
    np.testing.assert_array_equal(totals, [[n * math.prod(shape) for n in most]] * rows)


@xe.kernel(sub_group_size=32)
def looked_up(wg, data, where, out):
    return out.at[wg.global_id()].set(data[where[wg.global_id()]])


@xe.kernel(sub_group_size=32)
def looked_up_locally(wg, data, where, out):
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[wg.local_id()].set(data[wg.global_id()]))
    return out.at[wg.global_id()].set(tile[where[wg.global_id()]])


@xe.kernel(sub_group_size=32)
def added_up(wg, data, where, out):
    return out.atomic[where[wg.global_id()]].add(data[wg.global_id()])


@xe.kernel(sub_group_size=32)
def bins_of_its_own(wg, data, where, out):
    bins = wg.private(32, jnp.int32)
    for k in range(32):
        bins = bins.at[k].set(0)

    def count(k, bins):
        word = where[wg.global_id()] + k
        for _ in range(4):
            bins = bins.at[word & 31].set(bins[word & 31] + 1)
            word = word >> 5
        return bins

    bins = lax.fori_loop(0, 3, count, bins)
    return out.at[wg.global_id()].set(bins[data[wg.global_id()] & 31])


@xe.kernel(sub_group_size=32)
def bins_in_a_loop(wg, data, where, out):
    """The same, of which no address is looked up by what was counted."""
    bins = wg.private(32, jnp.int32)
    bins = lax.fori_loop(0, 32, lambda k, bins: bins.at[k].set(0), bins)

    def count(k, bins):
        word = data[wg.global_id() ^ k]
        for _ in range(4):
            bins = bins.at[word & 31].set(bins[word & 31] + 1)
            word = word >> 5
        return bins

    bins = lax.fori_loop(0, 64, count, bins)
    return lax.fori_loop(0, 32, lambda k, out: out.atomic[k].add(bins[k]), out)


MEASURED = pytest.mark.parametrize(
    "kernel", [looked_up, looked_up_locally, added_up, bins_of_its_own], ids=lambda kernel: kernel.name
)


@pytest.mark.thorough
@MEASURED
def test_lanes_are_put_in_order_once_for_all_figures_of_a_body(kernel):
    # A bank's greatest number, or a line's, is a maximum more for each of 16 lanes but one.
    bodies = 2 if kernel is bins_of_its_own else 1
    exchanges = len(re.findall(r" (?:minimum|maximum)\(", _compiled(_counted(kernel))))
    assert bodies * len(_network(16)) < exchanges <= bodies * (2 * len(_network(16)) + 15)


@pytest.mark.thorough
def test_what_passes_make_much_shorter_is_launched_and_counted_without_what_no_address_needs(monkeypatch):
    counted = _counted(bins_in_a_loop)
    assert not counted._watched.outputs
    assert "scatter" not in _compiled(counted)
    arguments = tuple(np.random.default_rng(5).integers(0, 2048, 2048, dtype=np.int32) for _ in range(3))
    found = _counts(bins_in_a_loop, xe.NDRange(2048, 128), arguments, {})[2]
    outputs, _ = xe.profile(bins_in_a_loop, xe.NDRange(2048, 128))(*arguments)
    np.testing.assert_array_equal(outputs, xe.launch(bins_in_a_loop, xe.NDRange(2048, 128))(*arguments))
    monkeypatch.setattr(apart, "of_observer", lambda *_: None)
    assert "scatter" in _compiled(_counted(bins_in_a_loop))
    assert found.figures == _counts(bins_in_a_loop, xe.NDRange(2048, 128), arguments, {})[2].figures


@xe.kernel(sub_group_size=32)
def chased(wg, data, where, out):
    """Of which addresses are the most."""
    return out.at[wg.global_id()].set(data[where[where[where[wg.global_id()]]]])


@xe.kernel(sub_group_size=32)
def compacted(wg, data, where, out):
    """Of which a scan over the group is the most, and addresses need it."""
    kept = where[wg.global_id()] > 1000
    place = wg.exclusive_scan(kept.astype(jnp.int32), "add")
    return out.at[wg.group_id(0) * wg.size + place].set(data[wg.global_id()], where=kept)


@pytest.mark.parametrize(
    ("kernel", "beside"),
    [(looked_up, True), (looked_up_locally, True), (added_up, True), (chased, False), (compacted, False)],
    ids=lambda case: getattr(case, "name", None),
)
def test_counts_are_taken_beside_a_launch_where_that_takes_less(kernel, beside):
    assert _counted(kernel)._watched.outputs != beside


def _counted(kernel):
    arguments, device = (np.zeros(2048, np.int32),) * 3, xe.device("max1550")
    prepared = prepare_alone(kernel, xe.NDRange(2048, 128), device, arguments, {})
    tree = symbolic_execution.of_program(prepared.program, prepared.facts, scalars(arguments))
    return costing.Counted(prepared, Ledger(census.take(tree, device), None))


def _compiled(counted):
    """The program that counts, as XLA has made it."""
    with jax.enable_x64(True):
        return counted._watched._function.function.lower(*(np.zeros(2048, np.int32),) * 3).compile().as_text()


@pytest.mark.thorough
@MEASURED
def test_accesses_that_are_measured_together_have_the_figures_of_each(kernel, monkeypatch):
    random = np.random.default_rng(4)
    arguments = tuple(random.integers(0, 2048, 2048, dtype=np.int32) for _ in range(3))
    together = _counts(kernel, xe.NDRange(2048, 128), arguments, {}, blank=True)[2]
    monkeypatch.setattr(Batch, "takes", lambda waiting, observed: False)
    apart = _counts(kernel, xe.NDRange(2048, 128), arguments, {}, blank=True)[2]
    assert together.figures == apart.figures


# --- Chunks ---


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "size", "some_bytes", "blank"),
    [("convolution_slm", (2048, 33), 12000, False), ("histogram_slm", (64 * 256 * 5,), 6000, True)],
)
def test_chunks_change_no_count(name, size, some_bytes, blank):
    example = kernels.example(name)
    arguments = example.kernel, example.nd_range(size), example.inputs(size), dict(example.static)
    (many, *whole), (one, *cut), (some, *last) = (
        _counts(*arguments, memory_bytes=b, blank=blank) for b in (None, 1, some_bytes)
    )
    assert one == 1 < some < many
    figures = [
        sorted((place.site.line, place.op, list(f.values())) for place, f in counts.figures.items())
        for _, counts, _ in (whole, cut, last)
    ]
    assert figures[0] == figures[1] == figures[2]


# --- Updates that add one ---


@xe.kernel
def counted_ones(wg, where, first, second, third):
    """All of one, but that another amount is added to the second, and that the third is stored to."""
    i = wg.global_id()
    first = first.atomic[where[i]].add(1).atomic[where[i] // 2].add(1, where=where[i] > 5)
    return first, second.atomic[where[i]].add(1).atomic[0].add(2), third.at[i].set(7).atomic[where[i]].add(1)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32])
def test_ones_that_are_added_are_counted_by_what_they_add_up_to(dtype):
    where = np.random.default_rng(8).integers(0, 40, 64, dtype=np.int32)
    # One of them is out of bounds: it adds nothing.
    where[9] = 100
    first = np.arange(64).astype(dtype)
    first[5] = np.finfo(dtype).max if dtype is np.float32 else np.iinfo(dtype).max
    with jax.enable_x64(True):
        ledger, tallies = _ones(where, first)
    assert {memory.name for memory in ledger.subtracted} == (set() if dtype is np.float32 else {"first"})
    expected = np.bincount(where, minlength=101)[:64] + np.bincount(where[where > 5] // 2, minlength=64)
    np.testing.assert_array_equal(tallies["first"], expected)
    np.testing.assert_array_equal(tallies["third"], np.bincount(where, minlength=101)[:64])


def _ones(where, memory):
    arguments = (where, memory, np.zeros(64, np.int32), np.zeros(64, np.int32))
    device = xe.device("max1550")
    prepared = prepare_alone(counted_ones, xe.NDRange(64, 16), device, arguments, {})
    taken = census.take(symbolic_execution.of_program(prepared.program, prepared.facts, scalars(arguments)), device)
    ledger = Ledger(taken, None, subtractable(taken, prepared.program, None))
    _, state = costing.Counted(prepared, ledger).run(arguments)
    return ledger, {memory.name: tally for memory, tally in totals(ledger, state).items()}
