"""Vectors: which private elements one instruction accesses."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.cost import census
from xeemu.knowledge import symbolic_execution
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

SIZE = 16


@xe.kernel(sub_group_size=16)
def spread(wg, table, memory, *, index):
    return memory.at[index(wg, table)].set(1)


def vector(index, dtype="float32", kernel=spread):
    """Width and alignment of a store to the places that `index(wg, table)` gives."""
    arguments = np.zeros(64, np.int32), np.zeros(4096, dtype)
    static = kernel.bind_static({"index": index})
    options = Options(None, False, False, "cpu")
    descriptions = tuple(map(ArgumentType.of, arguments))
    prepared = prepare(kernel, xe.NDRange(64, SIZE), xe.device("max1550"), descriptions, static, options)
    facts = symbolic_execution.of_program(prepared.program, prepared.facts, (None, None))
    store = next(o for o in facts.root.operations() if o.access_site.op == "store")
    vector = census.take(facts, xe.device("max1550")).vectors[store.key]
    return vector.width, vector.aligned


FOUR = np.arange(4, dtype=np.int32)


def lid(wg):
    return wg.local_id()[:, None]


def gid(wg):
    return wg.global_id()[:, None]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda wg, table: 4 * lid(wg) + FOUR, (4, True)),
        (lambda wg, table: 8 * lid(wg) + np.arange(8, dtype=np.int32), (4, True)),
        (lambda wg, table: 4 * wg.global_id()[:, None] + FOUR, (4, True)),
        (lambda wg, table: 4 * lid(wg) + FOUR[::-1], (1, True)),
        (lambda wg, table: lid(wg) + 16 * FOUR, (1, True)),
        (lambda wg, table: 3 * lid(wg) + np.arange(3, dtype=np.int32), (1, True)),
        (lambda wg, table: 2 * lid(wg) + np.array([0, 1, 40, 41], np.int32), (2, True)),
        # Alignment that shows only in the addresses.
        (lambda wg, table: 4 * lid(wg) + 1 + FOUR, (4, False)),
        (lambda wg, table: lid(wg) + FOUR, (4, False)),
        (lambda wg, table: (4 * gid(wg) + FOUR) & 31, (4, True)),
        (lambda wg, table: (4 * gid(wg)) ^ FOUR[None], (4, True)),
        # Whose elements show in their places alone.
        (lambda wg, table: (4 * gid(wg) + FOUR) // 1, (4, False)),
        (lambda wg, table: (4 * gid(wg) + FOUR) % 18, (2, False)),
        # From data.
        (lambda wg, table: 4 * table[wg.local_id()][:, None] + FOUR, (4, True)),
        (lambda wg, table: (table[wg.local_id()][:, None] << 2) + FOUR, (4, True)),
        (lambda wg, table: (table[wg.local_id()][:, None] & ~3) + FOUR, (4, True)),
        (lambda wg, table: table[wg.local_id()][:, None] + FOUR, (4, False)),
        (lambda wg, table: 2 * table[wg.local_id()][:, None] + FOUR, (4, False)),
        (lambda wg, table: table[4 * lid(wg) + FOUR], (1, True)),
        (lambda wg, table: table[wg.local_id()], (1, True)),
    ],
)
def test_vectors(index, expected):
    assert vector(index) == expected


@pytest.mark.parametrize(("dtype", "width"), [("float64", 2), ("float32", 4), ("int16", 8), ("uint8", 16)])
def test_a_vector_has_16_bytes_at_most(dtype, width):
    assert vector(lambda wg, table: 16 * lid(wg) + np.arange(16, dtype=np.int32), dtype) == (width, True)


def test_alignment_that_depends_on_data_is_seen_as_the_kernel_runs():
    aligned, shifted = np.full(64, 8, np.int32), np.full(64, 9, np.int32)
    index = lambda wg, table: table[wg.local_id()][:, None] + 32 * wg.local_id()[:, None] + FOUR  # noqa: E731
    assert [stored(table, index).requests for table in (aligned, shifted)] == [4, 16]


def stored(table, index):
    """The site of the store."""
    _, report = xe.profile(spread, xe.NDRange(64, SIZE))(table, np.zeros(4096, np.float32), index=index)
    return next(site for site in report.sites if site.op == "store")


def test_vectors_whose_begin_shows_in_their_addresses_are_counted_alike_before_and_during_the_run():
    shift = np.full(64, 1, np.int32)
    known = lambda wg, table: 4 * lid(wg) + 1 + FOUR  # noqa: E731
    ran = lambda wg, table: 4 * lid(wg) + table[wg.local_id()][:, None] + FOUR  # noqa: E731
    before, after = (stored(shift, index) for index in (known, ran))
    assert before.closed_form
    assert not after.closed_form
    names = ("requests", "lines", "sectors", "bytes_used", "lanes")
    assert [getattr(before, n) for n in names] == [getattr(after, n) for n in names]
    assert before.requests == 4 * 4


@pytest.mark.parametrize(
    ("index", "width"),
    [
        (lambda k, lid, gid: (8 * k + FOUR) ^ (lid >> 6), 4),
        (lambda k, lid, gid: (8 * k + FOUR) ^ (4 * lid), 4),
        (lambda k, lid, gid: (8 * k + FOUR) ^ (4 * jnp.int32([45, 8, 56, 27])[gid % 4] * 33), 4),
        (lambda k, lid, gid: (8 * k + FOUR) | (16 * lid), 4),
        (lambda k, lid, gid: (8 * k + FOUR + 64 * lid) & ~8, 4),
        (lambda k, lid, gid: (8 * k + FOUR) & (lid | 3), 4),
        (lambda k, lid, gid: (8 * k + FOUR) ^ (2 * lid), 2),
        (lambda k, lid, gid: (k + FOUR) ^ (4 * lid), 1),
        (lambda k, lid, gid: (8 * k + FOUR) & (lid | 1), 2),
    ],
)
def test_bits_of_a_counter_leave_neighbours_side_by_side(index, width):
    """In a loop that data end: what lies side by side is known, or each element is stored by itself."""

    @xe.kernel(sub_group_size=16)
    def kernel(wg, count, x):
        lid, gid = wg.local_id()[:, None], wg.global_id()[:, None]
        step = lambda k, x: x.at[index(k, lid, gid)].set(1.0)  # noqa: E731
        return lax.fori_loop(0, count.load((0,)), step, x)

    _, report = xe.profile(kernel, xe.NDRange(64, 64), device="max1550")(np.int32([2]), np.zeros(1 << 13, np.float32))
    store = next(site for site in report.sites if site.op == "store")
    assert store.requests == 2 * 4 * 4 // width


# --- Words that all work-items load ---


@xe.kernel(sub_group_size=32)
def row_sums(wg, table, out, *, words, own=False, local=False, masked=False):
    """Sums of the first words of a row, of one for all work-items or of each one's own."""
    lid, i = wg.local_id(), wg.global_id()
    row = lid[:, None] if own else wg.group_id()
    if local:
        table = wg.barrier(wg.local(table.shape, table.dtype).at[lid, 0].set(1))
    where = (lid >= 0)[:, None] & (table.shape[0] > 0) & (i[:, None] != 3) if masked else None
    return out.at[i].set(table.load((row, jnp.arange(words)[None]), where=where).sum(-1))


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        ({"words": 16}, 2),
        ({"words": 12}, 3),
        ({"words": 16, "local": True}, 2),
        # In vectors of four by 16 work-items, by 32 on an H200.
        ({"words": 16, "own": True}, 8),
        ({"words": 16, "masked": True}, 8),
        ({"words": 16, "dtype": "float16"}, 4),
        ({"words": 16, "device": "h200"}, 4),
    ],
)
def test_a_sub_group_loads_words_that_all_its_work_items_load_a_lane_each(options, requests):
    """And in one pass: eight words lie in eight banks."""
    options = dict(options)
    device, dtype = options.pop("device", "max1550"), np.dtype(options.pop("dtype", "float32"))
    shapes = jax.ShapeDtypeStruct((64, 32), dtype), jax.ShapeDtypeStruct((256,), dtype)
    report = xe.estimate(row_sums, xe.NDRange(256, 64), device=device)(*shapes, **options)
    load = next(site for site in report.sites if site.op == "load")
    assert load.requests == 8 * requests
    assert not options.get("local") or load.passes == load.requests


@pytest.mark.parametrize(
    ("vector", "device", "requests"),
    [
        ("float4", "max1550", 1),
        ("float8", "max1550", 1),
        ("float16", "max1550", 2),
        ("long4", "max1550", 2),
        ("float4", "h200", 1),
        ("float16", "h200", 4),
        ("double2", "h200", 1),
    ],
)
@pytest.mark.parametrize("volatile", ["", "volatile "])
def test_a_vector_of_c_that_all_load_comes_in_as_few_requests_as_can_be(vector, device, requests, volatile):
    """Of eight words where a lane each loads them, else of 16 bytes."""
    kind = vector.rstrip("0123456789")
    source = f"""__attribute__((intel_reqd_sub_group_size(32)))
        kernel void k(global {volatile}const {vector} *restrict x, global {kind} *restrict y) {{
        {vector} v = x[get_group_id(0)]; {kind} t = 0;
        for (int k = 0; k < {vector.removeprefix(kind)}; k++) t += v[k];
        y[get_global_id(0)] = t; }}"""
    dtype = {"float": np.float32, "long": np.int64, "double": np.float64}[kind]
    report = xe.estimate(xe.load(source)["k"], xe.NDRange(64, 32), device=device)(
        np.ones(64, dtype), np.ones(64, dtype)
    )
    assert next(site for site in report.sites if site.op == "load").requests == 2 * requests


# --- Vectors of which only some elements take part: `[64, 4]` places of a store, and which of them it is to ---


def line_by_line(table):
    """A mask of four lines, one of them for each work-group."""
    return np.repeat(np.array(table, bool), SIZE, 0)


ROW = 4 * np.arange(64)[:, None] + FOUR
WHOLE = np.ones((64, 4), bool)
ONE_LANE = np.arange(64)[:, None] * 4 + FOUR != 21
CUT = {
    "three of each": (ROW, np.tile([False, True, True, True], (64, 1))),
    "one of each": (ROW, np.tile([True, False, False, False], (64, 1))),
    "one missing": (ROW, ONE_LANE),
    "by group": (ROW, line_by_line([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])),
    "some groups none": (ROW, line_by_line([[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]])),
    "beyond the end": (ROW + 3, WHOLE),
    "beyond the end by a vector": (ROW + 4, WHOLE),
    "before the start": (ROW - 1, WHOLE),
    "before the start by a vector": (ROW - 4, WHOLE),
    "misaligned in some groups": (ROW + np.repeat([0, 1, 2, 4], SIZE)[:, None], WHOLE),
}


@xe.kernel(sub_group_size=16)
def cut_global(wg, places, taken, memory, *, constant):
    i = wg.global_id()
    first, live = (places[i], taken[i[:, None] * 4 + FOUR]) if constant is None else constant(wg)
    return memory.at[first[:, None] + FOUR].set(1, where=live.astype(bool))


@xe.kernel(sub_group_size=16)
def cut_local(wg, places, taken, memory, *, constant):
    i, tile = wg.global_id(), wg.local(256, jnp.float32)
    first, live = (places[i], taken[i[:, None] * 4 + FOUR]) if constant is None else constant(wg)
    tile = tile.at[first[:, None] + FOUR].set(1, where=live.astype(bool))
    return memory


def issued(place, live):
    """Lanes and requests of four work-groups of one sub-group each."""
    live = live & (place >= 0) & (place < 256)
    requests = 0
    for group in range(4):
        on, first = live[group * SIZE :][:SIZE], place[group * SIZE :][:SIZE, 0]
        whole = on.all(1) & (first % 4 == 0)
        requests += int(on.any()) if (whole | ~on.any(1)).all() else int(on.any(0).sum())
    return int(live.sum()), requests


def by_group(wg, table):
    """The rows of a table `[64, ...]` that are the work-group's, as constants."""
    rows = table.reshape(4, SIZE, *table.shape[1:])
    return functools.reduce(lambda chosen, g: jnp.where(wg.group_id() == g, rows[g], chosen), range(1, 4), rows[0])


@pytest.mark.every(2)
@pytest.mark.parametrize("kernel", [cut_global, cut_local], ids=["global", "local"])
@pytest.mark.parametrize(("place", "live"), CUT.values(), ids=CUT)
def test_a_vector_of_which_some_elements_take_no_part_is_accessed_element_by_element(kernel, place, live):
    """Known from constants and group ids, and from data as the kernel runs."""
    arguments = place[:, 0].astype(np.int32), live.reshape(-1).astype(np.int32), np.zeros(256, np.float32)

    def constant(wg):
        """The same places and mask, by work-group."""
        return by_group(wg, place[:, 0].astype(np.int32)), by_group(wg, live.astype(np.int32))

    for way in (constant, None):
        out, report = xe.profile(kernel, xe.NDRange(64, SIZE))(*arguments, constant=way)
        (site,) = [site for site in report.sites if site.op == "store"]
        assert site.closed_form == (way is not None)
        assert (site.lanes, site.requests) == issued(place, live)
        assert kernel is cut_local or out.sum() == site.lanes


@pytest.mark.parametrize(
    ("taken", "requests"), [((0, 1, 1, 1), 3), ((1, 0, 0, 0), 1), ((1, 1, 1, 1), 1), ((0, 0, 0, 0), 0)]
)
def test_a_constant_mask_and_one_from_data_cost_the_same(taken, requests):
    whole = np.tile(np.array(taken, bool), (SIZE, 1))

    @xe.kernel(sub_group_size=16)
    def masked(wg, table, memory, *, known):
        where = jnp.asarray(whole) if known else table[4 * lid(wg) + FOUR] > 0
        return memory.at[4 * wg.global_id()[:, None] + FOUR].set(1, where=where)

    for known in (True, False):
        arguments = whole.reshape(-1).astype(np.int32), np.zeros(256, np.float32)
        _, report = xe.profile(masked, xe.NDRange(64, SIZE))(*arguments, known=known)
        (site,) = [site for site in report.sites if site.op == "store"]
        assert (site.requests, site.lanes) == (4 * requests, 64 * sum(taken))


def test_the_requests_of_a_mask_are_known_though_the_places_are_not():
    @xe.kernel(sub_group_size=16)
    def masked(wg, table, memory):
        where = jnp.broadcast_to(jnp.asarray(FOUR) >= wg.group_id(), (SIZE, 4))
        return memory.at[4 * (table[wg.local_id()][:, None] & 7) + FOUR].set(1, where=where)

    report = xe.estimate(masked, xe.NDRange(64, SIZE))(np.zeros(64, np.int32), np.zeros(256, np.float32))
    (site,) = [site for site in report.sites if site.op == "store"]
    assert (site.requests, site.lanes, site.lines) == (1 + 3 + 2 + 1, SIZE * (4 + 3 + 2 + 1), None)


def test_a_local_atomic_operation_on_half_of_each_vector():
    @xe.kernel(sub_group_size=16)
    def half(wg, table, memory):
        tile = wg.local(64, jnp.float32)
        where = jnp.broadcast_to(jnp.asarray(FOUR) >= table[wg.group_id()], (SIZE, 4))
        tile = tile.atomic[4 * lid(wg) + FOUR].add(1, where=where)
        return memory

    _, report = xe.profile(half, xe.NDRange(SIZE, SIZE))(np.full(1, 2, np.int32), np.zeros(1, np.float32))
    (site,) = [site for site in report.sites if site.space == "local"]
    # Words 4 * lane + 2 and + 3: four lanes on each of four banks.
    assert (site.lanes, site.requests, site.passes) == (2 * SIZE, 2, 2 * 4)


@pytest.mark.parametrize("space", ["local", "global"])
def test_an_atomic_operation_on_side_by_side_elements_is_one_for_each(space):
    @xe.kernel(sub_group_size=16)
    def whole(wg, memory):
        updated = wg.local(64, jnp.float32) if space == "local" else memory
        updated = updated.atomic[4 * lid(wg) + FOUR].add(1)
        return memory if space == "local" else updated

    report = xe.estimate(whole, xe.NDRange(SIZE, SIZE))(np.zeros(64, np.float32))
    (site,) = report.sites
    assert (site.lanes, site.requests) == (4 * SIZE, 4)


@pytest.mark.parametrize(("device", "passes"), [("max1550", 64), ("h200", 26)])
def test_where_a_local_vector_begins_matters_up_to_multiples_of_its_size(device, passes):
    """Four groups, or iterations, of which one begins at a multiple: 1 + 3 * 4 requests."""

    @xe.kernel
    def by_group(wg, ends):
        tile = wg.local(256, jnp.float32)
        tile = tile.at[wg.group_id() + 4 * lid(wg) + FOUR].set(1)
        return ends

    @xe.kernel
    def by_iteration(wg, ends):
        def store(k, tile):
            return tile.at[k + 4 * lid(wg) + FOUR].set(1)

        lax.fori_loop(0, ends[0], store, wg.local(256, jnp.float32))
        return ends

    ends = np.full(1, 4, np.int32)
    for kernel, nd_range in ((by_group, xe.NDRange(64, SIZE)), (by_iteration, xe.NDRange(SIZE, SIZE))):
        _, report = xe.profile(kernel, nd_range, device=device)(ends)
        (site,) = [site for site in report.sites if site.op == "store"]
        assert site.closed_form == (kernel is by_group)
        assert (site.requests, site.passes) == (1 + 3 * 4, passes)


def test_a_bank_map_shows_single_elements_where_vectors_are_taken_apart():
    @xe.kernel(sub_group_size=16)
    def store(wg, memory, *, first):
        tile = wg.local(256, jnp.float32)
        tile = tile.at[first + 4 * lid(wg) + FOUR].set(1)
        return memory

    for first, width in ((0, 16), (1, 4)):
        report = xe.estimate(store, xe.NDRange(SIZE, SIZE))(np.zeros(1, np.float32), first=first)
        assert report.sites[0].bank_map.width_bytes == width
        assert len(report.sites[0].bank_map.addresses) == 16 // width


# --- One address written in many ways: as a sum of terms in any order, each broadcast early or late ---


@xe.kernel(sub_group_size=16)
def looped(wg, table, memory, *, index):
    return lax.fori_loop(0, 3, lambda j, memory: memory.at[index(wg, j)].set(1), memory)


def everywhere(values):
    return jnp.broadcast_to(values, (SIZE, 4))


ITEMS = {
    "expanded": lambda wg, n: n * wg.local_id()[:, None],
    "multiplied later": lambda wg, n: wg.local_id()[:, None] * n,
    "added up": lambda wg, n: sum((wg.local_id()[:, None] for _ in range(n)), jnp.zeros((SIZE, 1), jnp.int32)),
    "reshaped": lambda wg, n: (n * wg.local_id()).reshape(SIZE, 1),
    "repeated": lambda wg, n: jnp.repeat(n * wg.local_id(), 4).reshape(SIZE, 4),
    "transposed": lambda wg, n: jnp.broadcast_to(n * wg.local_id(), (4, SIZE)).T,
    "a constant": lambda wg, n: n * np.arange(SIZE, dtype=np.int32)[:, None],
}
TURNS = {
    "a scalar": lambda j, n: n * j,
    "expanded": lambda j, n: (n * j)[None, None],
    "with elements": lambda j, n: (n * j + jnp.zeros(4, jnp.int32))[None],
    "broadcast": lambda j, n: everywhere(n * j),
}
ELEMENTS = {
    "a row": lambda n: n * jnp.arange(4)[None],
    "a row of one's own": lambda n: (n * FOUR)[None],
    "in two parts": lambda n: FOUR[None] + (n - 1) * FOUR[None],
    "for each work-item": lambda n: everywhere(n * FOUR),
    "rank 1, added to a scalar": lambda n: (jnp.int32(5) + n * FOUR)[None] - 5,
    "turned twice": lambda n: (n * FOUR[::-1])[::-1][None],
}


@given(
    st.permutations(range(4)),
    st.tuples(*(st.sampled_from(sorted(ways)) for ways in (ITEMS, TURNS, ELEMENTS))),
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 2), st.integers(0, 4)),
)
def test_the_vectors_of_an_address_do_not_depend_on_how_it_is_written(order, ways, factors):
    a, b, c, first = factors

    def index(wg, j):
        terms = [ITEMS[ways[0]](wg, a), TURNS[ways[1]](j, b), ELEMENTS[ways[2]](c), jnp.int32(first)]
        return everywhere(sum((terms[k] for k in order), jnp.int32(0)))

    width = 4 if c == 1 else 1
    assert vector(index, kernel=looped) == (width, math.gcd(a, b, first) % width == 0)


@pytest.mark.parametrize("written", ["or", "add"])
def test_a_disjunction_of_bits_that_are_free_is_a_sum(written):
    join = jnp.bitwise_or if written == "or" else jnp.add
    assert vector(lambda wg, table: join(4 * lid(wg), FOUR[None])) == (4, True)
    assert vector(lambda wg, table: join(2 * table[wg.local_id()][:, None], FOUR[None]))[0] == (
        1 if written == "or" else 4
    )


def test_a_run_counts_a_vector_that_all_work_items_load_once():
    """Of a loop of which data say how often it is repeated, as an estimate does of one with as many iterations."""
    source = """kernel void k(global const float *x, global const int *n, global float *y) {
        float a = 0; for (int k = 0; k < END; k++) { float4 v = vload4(k, x); a += v.x + v.y + v.z + v.w; }
        y[get_global_id(0)] = a; }"""
    given = np.zeros(64, np.float32), np.full(1, 3, np.int32), np.zeros(64, np.float32)
    sites = [
        xe.profile(xe.load(source.replace("END", end))["k"], xe.NDRange(64, 32), device="max1550")(*given)[1].sites
        for end in ("3", "n[0]")
    ]
    known, run = (next((s.requests, s.lanes, s.lines, s.sectors) for s in made if s.memory == "x") for made in sites)
    assert known == run
