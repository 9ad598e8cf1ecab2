"""What is proved is right: watching everything finds the same, and what can be proved is."""

import collections

import jax.numpy as jnp
import numpy as np
import programs
import pytest
import schedules
from defects import DEFECTS
from jax import lax
from launches import prepared
from test_kernels import SIZES

import xeemu as xe
from xeemu import kernels
from xeemu.faults import checking, group_conflicts, initialisation, proofs
from xeemu.knowledge import conflicts, symbolic_execution


@pytest.fixture
def nothing_proved(monkeypatch):
    """A check that watches every access and barrier that there is."""
    monkeypatch.setattr(group_conflicts, "keeps_apart", lambda pair, *_: conflicts.reach(*pair) >= conflicts.GROUP)
    monkeypatch.setattr(conflicts, "keeps_to_groups", lambda pair, *_: conflicts.reach(*pair) >= conflicts.DEVICE)
    monkeypatch.setattr(group_conflicts, "all_keep_apart", lambda *_: False)
    monkeypatch.setattr(conflicts, "all_keep_to_groups", lambda *_: False)
    monkeypatch.setattr(initialisation, "_doubtful", lambda memory, uses, *_: filter(initialisation.reads, uses))
    monkeypatch.setattr(proofs, "_is_within_bounds", lambda *_: False)
    monkeypatch.setattr(proofs, "_is_uniform", lambda *_: False)
    checking._checked.cache_clear()
    yield
    checking._checked.cache_clear()


def found(findings):
    rows = [(f.kind, f.severity, f.memory, tuple(sorted(s.line for s in f.sites)), f.count) for f in findings]
    return collections.Counter(rows)


def checked(kernel, nd_range, arguments, static=None, device="max1550"):
    checking._checked.cache_clear()
    return xe.check(kernel, nd_range, device=device)(*arguments, **(static or {}))


def watched_and_proved(request, *launch):
    """The findings of a check, and those of one that proves nothing."""
    _, findings = checked(*launch)
    request.getfixturevalue("nothing_proved")
    _, watched = checked(*launch)
    return found(findings), found(watched)


def some(cases, step):
    """Every so many of the cases; the others are long."""
    return [pytest.param(case, marks=[pytest.mark.long] if n % step else []) for n, case in enumerate(cases)]


@pytest.mark.every(8)
@pytest.mark.parametrize("name", [name for name in SIZES if kernels.EXAMPLES[name].work(SIZES[name][0]) < 10**7])
def test_watching_an_example_finds_the_same(name, request):
    e, size = kernels.EXAMPLES[name], SIZES[name][0]
    findings, watched = watched_and_proved(request, e.kernel, e.nd_range(size), e.inputs(size), e.static)
    assert findings == watched


@pytest.mark.every(27)
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("case", some(DEFECTS, 6), ids=lambda case: case.name)
def test_watching_a_defect_finds_the_same(case, corrected, request):
    kernel = case.corrected if corrected else case.defective
    findings, watched = watched_and_proved(request, kernel, case.nd_range, case.arguments(), case.static, case.device)
    assert findings == watched


@pytest.mark.thorough
@pytest.mark.every(12)
@pytest.mark.parametrize("seed", some(range(400), 20))
def test_watching_a_random_kernel_finds_the_same(seed, request):
    program = schedules.kernel(seed)
    kernel = programs.kernel(program)
    launch = (kernel, program.nd_range, program.arguments, None, schedules.DEVICE)
    findings, watched = watched_and_proved(request, *launch)
    assert findings == watched


# --- What can be proved ---


def proved(kernel, nd_range, *arguments, **static):
    ready = prepared(kernel, nd_range, arguments, static, device="max1550")
    scalars = [None if np.shape(a) else np.asarray(a).item() for a in arguments]
    return proofs.of_tree(symbolic_execution.of_program(ready.program, ready.facts, scalars), ready.program.written)


CLEAN = [name for name in kernels.EXAMPLES if name not in ("table_copy_bad", "table_copy_min", "reduction_racy")]


@pytest.mark.parametrize("name", CLEAN)
def test_an_example_is_proved_at_its_full_size(name):
    e = kernels.EXAMPLES[name]
    assert proved(e.kernel, e.nd_range(e.size), *e.inputs(e.size), **e.static).complete


@xe.kernel
def transpose(wg, x, out, *, pitch=17):
    tile = wg.local((16, pitch), jnp.float32)
    r, c = wg.local_id(0), wg.local_id(1)
    tile = tile.at[r, c].set(x[wg.group_id(0) * 16 + r, wg.group_id(1) * 16 + c])
    tile = wg.barrier(tile)
    return out.at[wg.group_id(1) * 16 + r, wg.group_id(0) * 16 + c].set(tile[c, r])


@pytest.mark.parametrize("n", [64, 4096])
def test_a_transpose_is_proved(n):
    array = np.zeros((n, n), np.float32)
    assert proved(transpose, xe.NDRange((n, n), (16, 16)), array, array).complete


@xe.kernel
def tiled(wg, x, out, *, tiles=8, second=True):
    lid, group = wg.local_id(), wg.group_id()
    tile = wg.local(wg.size, jnp.int32)
    total = jnp.zeros(wg.local_range(), jnp.int32) if False else lid * 0

    def step(k, carry):
        tile, total = carry
        tile = tile.at[lid].set(x[(group + k) * wg.size + lid])
        tile = wg.barrier(tile)
        total = total + tile[wg.size - 1 - lid]
        return (wg.barrier(tile) if second else tile), total

    tile, total = lax.fori_loop(0, tiles, step, (tile, total))
    return out.at[wg.global_id()].set(total)


@pytest.mark.parametrize("tiles", [8, 100_000])
def test_a_loop_of_tiles_is_proved_however_long(tiles):
    x = np.zeros(1024, np.int32)
    launch = (tiled, xe.NDRange(1024, 64), x, x)
    assert not proved(*launch, tiles=tiles).races
    (pair,) = proved(*launch, tiles=tiles, second=False).races
    assert sorted(spot.access_site.op for spot in pair) == ["load", "store"]


@xe.kernel
def two_buffers(wg, x, *, turns=6):
    lid = wg.local_id()
    tile = wg.local((2, wg.size), jnp.int32)
    tile = tile.at[0, lid].set(x[wg.global_id()])
    tile = wg.barrier(tile)

    def step(k, tile):
        tile = tile.at[(k + 1) % 2, lid].set(tile[k % 2, wg.size - 1 - lid])
        return wg.barrier(tile)

    tile = lax.fori_loop(0, turns, step, tile)
    return x.at[wg.global_id()].set(tile[turns % 2, lid])


@pytest.mark.parametrize("turns", [6, 100_001])
def test_two_buffers_in_turn_are_proved(turns):
    assert proved(two_buffers, xe.NDRange(256, 64), np.zeros(256, np.int32), turns=turns).complete


@xe.kernel
def gathered(wg, x, index, out):
    return out.at[wg.global_id()].set(x[index[wg.global_id()]])


def test_what_data_decides_is_left_to_be_watched():
    left = proved(gathered, xe.NDRange(64, 16), np.zeros(64), np.zeros(64, np.int32), np.zeros(64))
    assert not left.races
    assert [(left.access_site(key).op, left.access_site(key).memory.name) for key in left.bounds] == [("load", "x")]
    assert [place.memory.name for place in left.watched] == ["x"]


@xe.kernel
def strided(wg, x, *, step=1, width=1):
    i = wg.global_id() * step
    for k in range(width):
        x = x.at[i + k].set(1)
    return x


@pytest.mark.parametrize(("step", "width", "apart"), [(1, 1, True), (4, 4, True), (3, 4, False), (0, 1, False)])
@pytest.mark.parametrize("items", [256, 2**24])
def test_groups_keep_apart_where_their_elements_do(items, step, width, apart):
    x = np.zeros(items * step + width, np.int8)
    assert bool(proved(strided, xe.NDRange(items, 64), x, step=step, width=width).races) != apart


def test_groups_that_all_do_the_same_are_proved_by_some_of_them(monkeypatch):
    monkeypatch.setattr(conflicts.instances, "everywhere", lambda tree: pytest.fail("goes through all groups"))
    x = np.zeros(1024, np.int8)
    assert not proved(strided, xe.NDRange(256, 64), x, step=4, width=4).races


@xe.kernel
def columns(wg, x, *, width=512):
    i, j = wg.global_id(0), wg.global_id(1)
    return x.at[i * width + j].set(1)


@pytest.mark.parametrize(("shape", "width", "apart"), [((2048, 2048), 2048, True), ((2048, 2048), 2047, False)])
def test_groups_keep_apart_in_two_dimensions(shape, width, apart):
    x = np.zeros(shape[0] * shape[1], np.int8)
    assert bool(proved(columns, xe.NDRange(shape, (16, 16)), x, width=width).races) != apart


# --- What must not be proved: each of these once was ---


@xe.kernel
def after_a_counted_loop(wg, x, n):
    lid = wg.local_id()
    tile = wg.local(64, jnp.int32)
    tile = lax.fori_loop(0, n, lambda k, tile: wg.barrier(tile).at[lid].set(k), tile)
    return x.at[wg.global_id()].set(tile[63 - lid])


@xe.kernel
def body_and_next_predicate(wg, x):
    lid = wg.local_id()
    limit = wg.local(1, jnp.int32)
    limit = wg.barrier(limit.at[0].set(0, where=lid == 0))

    def body(carry):
        limit, k = carry
        limit = wg.barrier(limit)
        return limit.at[0].set(k + 1, where=lid == 0), k + 1

    lax.while_loop(lambda carry: carry[0][0] < 5, body, (limit, jnp.int32(0)))
    return x.at[wg.global_id()].set(lid)


@xe.kernel
def periods_of_different_lengths(wg, x):
    lid, g = wg.local_id(), wg.group_id()
    x = x.at[(g // 3) * 16 + g % 3].set(1, where=lid == 0)
    x = wg.barrier(x)
    return x.at[(g // 4) * 16 + g % 4].set(2, where=lid == 0)


@xe.kernel
def written_further_on_by_each_group(wg, index, out):
    lid, g = wg.local_id(), wg.group_id()
    tile = wg.local(71, jnp.int32)
    tile = wg.barrier(tile.at[lid + g].set(1))
    return out.at[wg.global_id()].set(tile[index[wg.global_id()] & 63])


@xe.kernel
def of_no_element(wg, x, empty):
    return x.at[wg.global_id()].set(empty[wg.local_id()])


@pytest.mark.parametrize(
    ("kernel", "nd_range", "arguments", "kind", "count"),
    [
        (after_a_counted_loop, xe.NDRange(128, 64), (np.zeros(128, np.int32), np.int32(5)), "data-race", 128),
        (body_and_next_predicate, xe.NDRange(128, 64), (np.zeros(128, np.int32),), "data-race", None),
        (periods_of_different_lengths, xe.NDRange(80, 16), (np.zeros(64, np.int32),), "data-race", None),
        (periods_of_different_lengths, xe.NDRange(2**22, 16), (np.zeros(2**21, np.int8),), "data-race", None),
        pytest.param(
            *(periods_of_different_lengths, xe.NDRange(2**26, 16), (np.zeros(2**25, np.int8),), "data-race", None),
            marks=pytest.mark.thorough,
        ),
        (
            written_further_on_by_each_group,
            xe.NDRange(512, 64),
            (np.zeros(512, np.int32), np.zeros(512, np.int32)),
            "uninitialized-read",
            448,
        ),
        (of_no_element, xe.NDRange(16, 8), (np.zeros(16, np.int32), np.zeros(0, np.int32)), "out-of-bounds", 16),
    ],
)
def test_a_defect_is_not_proved_away(kernel, nd_range, arguments, kind, count):
    if nd_range.size > 2**20:
        assert proved(kernel, nd_range, *arguments).races
        return
    _, findings = checked(kernel, nd_range, arguments)
    (finding,) = findings
    assert (finding.kind, finding.severity) == (kind, "error")
    assert count is None or finding.count == count
