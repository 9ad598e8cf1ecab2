"""Random schedules of the oracle, and what they say of launches and of `xe.check`.

A race that shows is one that two schedules disagree on. So where the outcomes differ the checker must have an error,
and where it has none they must agree; the oracle knows nothing of how the checker finds what it finds.
"""

import dataclasses
import itertools
from collections import Counter

import examples
import jax
import numpy as np
import oracle
import programs
import pytest
import schedules
from hypothesis import HealthCheck, assume, given, settings
from programs import INT32, Assign, Atomic, Barrier, Binary, Buffer, Collective, Const, Load, Loop, Program, Store
from schedules import GID, GROUP, LID, READ, SUM

import xeemu as xe

LAW = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def launched(program: Program) -> bytes:
    """The program's arguments after a launch."""
    before = dict(zip(program.names, program.arguments, strict=False))
    launch = xe.launch(programs.kernel(program), program.nd_range, device=schedules.DEVICE)
    return schedules.as_bytes([*(before | launch(*program.arguments)).values(), program.arguments[-1]])


def findings_of(program: Program):
    check = xe.check(programs.kernel(program), program.nd_range, device=schedules.DEVICE)
    return check(*program.arguments)[1]


def errors(findings):
    return [finding for finding in findings if finding.severity == "error"]


# --- What a schedule is ---


def total_of():
    """Each work-item adds 1, and keeps the old value."""

    def body(item, total, old):
        before = yield item.atomic(total, 0, "add", np.int32(1))
        yield item.storing(old, item.global_linear_id(), before)

    return body, xe.NDRange(4, 2), [np.zeros(1, np.int32), np.zeros(4, np.int32)]


def run(body, nd_range, arguments, schedule):
    sizes = (nd_range.global_size, nd_range.local_size, arguments)
    return oracle.run(body, *sizes, sub_group_size=4, poison=schedules.poison, schedule=schedule)


@pytest.mark.parametrize("schedule", [schedules.uniform, schedules.demoting])
def test_a_seed_gives_one_schedule(schedule):
    runs = [schedules.as_bytes(run(*total_of(), schedule(seed))) for seed in (0, 1, 2, 3, 0, 1, 2, 3)]
    assert runs[:4] == runs[4:]
    assert len(set(runs)) > 1


def test_old_values_come_in_every_order_of_the_work_items_of_all_groups():
    body, nd_range, arguments = total_of()
    orders = {schedules.as_bytes([np.int32([4]), np.int32(order)]) for order in itertools.permutations(range(4))}
    assert schedules.outcomes(body, nd_range, arguments, seeds=range(300)) == orders


def test_divergent_barriers_are_refused_under_a_schedule():
    def diverge(item, y):
        if item.local_linear_id() < 2:
            yield item.barrier(y)
        yield item.storing(y, item.local_linear_id(), 1)

    def miss_the_last(item, y):
        yield item.storing(y, item.local_linear_id(), 1)
        if item.local_linear_id() < 2:
            yield item.barrier(y)

    for body in (diverge, miss_the_last):
        with pytest.raises(oracle.Divergence):
            run(body, xe.NDRange(4, 4), [np.zeros(4, np.int32)], schedules.uniform(0))


def test_accesses_that_do_not_wait_for_their_turn_are_refused():
    def rush(item, y):
        item.store(y, 0, 1)
        yield item.barrier(y)

    with pytest.raises(AssertionError, match="yield the accesses"):
        run(rush, xe.NDRange(4, 4), [np.zeros(4, np.int32)], schedules.uniform(0))


# --- Small kernels with a race, and without ---


def minus(x, y):
    return Binary("subtract", x, y)


def times(x, n):
    return Binary("multiply", x, Const(n))


def plus(x, y):
    return Binary("add", x, y)


def lane_xor(n):
    return Binary("bitwise_xor", LID, Const(n))


def written(*body, groups=1):
    """A program of 8 work-items a group, who begin with their id in `SUM`; `SUM` is what they write out."""
    buffers = [Buffer(name, "local", (8,), INT32) for name in ("tile", "other")]
    buffers += [Buffer("data", "shared", (8 * groups,), INT32), Buffer("out", "output", (8 * groups,), INT32)]
    body = (Assign(SUM, plus(GID, Const(1))), *body, Store("out", (GID,), SUM))
    return Program((groups,), (8,), 4, tuple(buffers), (INT32, INT32), uniforms=0, argument=0, seed=0, body=body)


def fill(name):
    return Store(name, (LID,), SUM)


def read(name, index, target=SUM):
    return Load(target, name, (index,))


MIRROR = minus(Const(7), LID)
FIRST = Binary("equal", LID, Const(0))
COUNT = Atomic(None, "tile", (Const(0),), "add", (Const(1),))

# Each with what is wrong and with what is right in its place.
RACES = {
    "no barrier": ([fill("tile"), read("tile", MIRROR)], [fill("tile"), Barrier(("tile",)), read("tile", MIRROR)]),
    "the barrier of another memory": (
        [fill("tile"), fill("other"), Barrier(("other",)), read("tile", MIRROR)],
        [fill("tile"), fill("other"), Barrier(("other", "tile")), read("tile", MIRROR)],
    ),
    "a sub-group's barrier for the group": (
        [fill("tile"), Barrier(("tile",), "sub_group"), read("tile", lane_xor(4))],
        [fill("tile"), Barrier(("tile",), "sub_group"), read("tile", lane_xor(3))],
    ),
    "a fence for a barrier": (
        [fill("tile"), Barrier(("tile",), "fence"), read("tile", MIRROR)],
        [fill("tile"), Barrier(("tile",), "fence"), Barrier(("tile",)), read("tile", MIRROR)],
    ),
    "overwritten before it is read": (
        [
            fill("tile"),
            Barrier(("tile",)),
            read("tile", MIRROR),
            fill("tile"),
            Barrier(("tile",)),
            read("tile", MIRROR),
        ],
        [fill("tile"), Barrier(("tile",)), read("tile", MIRROR), Barrier(("tile",)), fill("tile")],
    ),
    "the next trip of a loop": (
        [Loop("fori", Const(2), (fill("tile"), Barrier(("tile",)), read("tile", MIRROR)))],
        [Loop("fori", Const(2), (fill("tile"), Barrier(("tile",)), read("tile", MIRROR), Barrier(("tile",))))],
    ),
    "two writers": (
        [Store("data", (Const(3),), SUM)],
        [Store("data", (Const(3),), SUM, FIRST)],
    ),
    "a lost update": (
        [read("data", Const(0), READ), Store("data", (Const(0),), plus(READ, SUM))],
        [Atomic(None, "data", (Const(0),), "add", (SUM,))],
    ),
    "a load beside an atomic operation": (
        [Store("tile", (Const(0),), Const(0), FIRST), Barrier(("tile",)), COUNT, read("tile", Const(0))],
        [
            Store("tile", (Const(0),), Const(0), FIRST),
            Barrier(("tile",)),
            COUNT,
            Barrier(("tile",)),
            read("tile", Const(0)),
        ],
    ),
    "a collective for a barrier": (
        [fill("tile"), fill("tile"), read("tile", MIRROR), Collective(SUM, "group", "reduce", "add", SUM)],
        [fill("tile"), Barrier(("tile",)), read("tile", MIRROR), Collective(SUM, "group", "reduce", "add", SUM)],
    ),
}
GROUPS_MEET = {
    "groups that meet": (
        [Store("data", (GID,), SUM), Barrier(("data",)), read("data", minus(Const(15), GID))],
        [Store("data", (GID,), SUM), Barrier(("data",)), read("data", plus(times(GROUP, 8), MIRROR))],
    ),
}
CASES = {name: [written(*body) for body in pair] for name, pair in RACES.items()}
CASES |= {name: [written(*body, groups=2) for body in pair] for name, pair in GROUPS_MEET.items()}
NAMED = pytest.mark.parametrize(("racy", "right"), CASES.values(), ids=CASES)


@NAMED
def test_a_race_shows_and_its_repair_does_not(racy, right):
    assert len(schedules.outcomes_of(racy)) > 1
    assert schedules.has_race(racy)
    assert schedules.outcomes_of(right) == {schedules.in_order(right)}


@pytest.mark.parametrize("right", [right for _, right in CASES.values()], ids=CASES)
def test_a_launch_gives_what_all_schedules_do(right):
    assert launched(right) == schedules.in_order(right)


@pytest.mark.every(4)
@NAMED
def test_check_tells_a_race_from_its_repair(racy, right):
    assert errors(findings_of(racy))
    assert not errors(findings_of(right))


# --- Random kernels ---


def does_not_tell_orders(program: Program) -> bool:
    """True if the order of atomic operations cannot show: the phases of `programs` mix those that do not commute."""
    arenas = {b.name for b in program.buffers if b.space in ("local", "region")}
    return not any(isinstance(s, Atomic) and s.memory in arenas for s in statements(program.body))


def statements(body):
    for statement in body:
        yield statement
        for block in [getattr(statement, "body", ()), *getattr(statement, "branches", ())]:
            yield from statements(block)


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(30))
@given(programs.programs())
def test_programs_without_races_mean_the_same_under_every_schedule(program):
    assume(program.nd_range.size <= 40 and does_not_tell_orders(program))
    assert schedules.outcomes_of(program, seeds=range(2)) == {schedules.in_order(program)}


RACY = {seed: schedules.has_race(schedules.kernel(seed)) for seed in range(60)}


def test_random_kernels_are_racy_and_not():
    assert min(Counter(RACY.values()).values()) > len(RACY) / 4


@pytest.mark.parametrize("seed", RACY)
def test_two_outcomes_are_a_race_in_the_order_of_the_work_items(seed):
    program = schedules.kernel(seed)
    if not RACY[seed]:
        assert schedules.outcomes_of(program, seeds=range(8)) == {schedules.in_order(program)}


@pytest.mark.parametrize("seed", [seed for seed, racy in RACY.items() if not racy][:12])
def test_a_launch_without_races_gives_the_outcome_of_all_schedules(seed):
    program = schedules.kernel(seed)
    assert launched(program) == schedules.in_order(program)


def assert_judged_rightly(program: Program) -> None:
    """Both ways: no outcome that differs without an error, and none of the errors without a cause."""
    findings = findings_of(program)
    found = errors(findings)
    if not found:
        assert len(schedules.outcomes_of(program, most=2)) == 1, f"no error, but results differ:\n{program}"
    if schedules.has_race(program):
        assert findings, f"a race, but no finding:\n{program}"
    elif any(finding.kind == "data-race" for finding in found):
        raise AssertionError(f"no race, but {found[0]}:\n{program}")


@pytest.mark.thorough
@pytest.mark.every(7)
@pytest.mark.parametrize("seed", range(16))
def test_results_differ_only_where_check_has_an_error(seed):
    assert_judged_rightly(schedules.kernel(seed))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(16, 500))
def test_results_differ_only_where_check_has_an_error_in_many_programs(seed):
    assert_judged_rightly(schedules.kernel(seed))


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(8))
def test_old_values_of_atomic_operations_are_no_race(seed):
    """Here results may differ without a race: nothing but the conflicts is compared."""
    program = schedules.kernel(seed, old_values=True)
    findings, race = findings_of(program), schedules.has_race(program)
    assert findings or not race, program
    assert race or not any(finding.kind == "data-race" for finding in errors(findings)), program


# --- Every barrier of a kernel, present or not ---


@dataclasses.dataclass(frozen=True)
class Barriers:
    """Which barriers of `tiled` are there."""

    filled: bool
    read: bool
    pairs: bool
    whole: bool

    @property
    def suffice(self) -> bool:
        """One of the last two is enough: who reads what is stored between them is in one sub-group with its writer."""
        return self.filled and self.read and (self.pairs or self.whole)


ALL_BARRIERS = [Barriers(*present) for present in itertools.product((False, True), repeat=4)]
TILED, WIDTH, TRIPS = xe.NDRange(16, 8), 8, 2


@xe.kernel(sub_group_size=4)
def tiled(wg, x, y, *, barriers):
    """Adds up tiles, each read in reverse, and exchanges the sums of neighbours."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(WIDTH, np.int32, name="tile")
    total = np.zeros(WIDTH, np.int32)
    for trip in range(TRIPS):
        tile = tile.at[lid].set(x[trip, gid])
        tile = wg.barrier(tile) if barriers.filled else tile
        total = total * np.int32(3) + tile[WIDTH - 1 - lid]
        tile = wg.barrier(tile) if barriers.read else tile
    tile = tile.at[lid].set(total)
    tile = wg.sub_group.barrier(tile) if barriers.pairs else tile
    tile = wg.barrier(tile) if barriers.whole else tile
    return y.at[gid].set(total + np.int32(10) * tile[lid ^ 1])


def tiled_item(item, x, y, *, barriers):
    """One work-item of `tiled`."""
    lid, gid = item.local_linear_id(), item.global_linear_id()
    tile = item.local_memory("tile", WIDTH, np.int32)
    total = np.int32(0)
    for trip in range(TRIPS):
        yield item.storing(tile, lid, (yield item.loading(x, (trip, gid))))
        if barriers.filled:
            yield item.barrier(tile)
        total = total * np.int32(3) + (yield item.loading(tile, WIDTH - 1 - lid))
        if barriers.read:
            yield item.barrier(tile)
    yield item.storing(tile, lid, total)
    if barriers.pairs:
        yield item.sub_group_barrier(tile)
    if barriers.whole:
        yield item.barrier(tile)
    yield item.storing(y, gid, total + np.int32(10) * (yield item.loading(tile, lid ^ 1)))


def tiled_arguments():
    x = np.random.default_rng(0).integers(0, 100, (TRIPS, TILED.size)).astype(np.int32)
    return x, np.zeros(TILED.size, np.int32)


def tiled_reference():
    """The result with NumPy."""
    x, _ = tiled_arguments()
    totals = np.zeros((2, WIDTH), np.int32)
    for row in x.reshape(TRIPS, 2, WIDTH):
        totals = totals * 3 + row[:, ::-1]
    return schedules.as_bytes([x, totals.ravel() + 10 * totals[:, np.arange(WIDTH) ^ 1].ravel()])


@pytest.mark.every(2)
@pytest.mark.parametrize("barriers", ALL_BARRIERS, ids=str)
def test_results_differ_where_a_barrier_that_is_needed_is_not_there(barriers):
    outcomes = schedules.outcomes(tiled_item, TILED, tiled_arguments(), barriers=barriers)
    assert (outcomes == {tiled_reference()}) == barriers.suffice
    if barriers.suffice:
        x, y = tiled_arguments()
        y = xe.launch(tiled, TILED, device=schedules.DEVICE)(x, y, barriers=barriers)
        assert schedules.as_bytes([x, y]) == tiled_reference()


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize("barriers", ALL_BARRIERS, ids=str)
def test_check_has_an_error_exactly_where_results_differ(barriers):
    outcomes = schedules.outcomes(tiled_item, TILED, tiled_arguments(), barriers=barriers)
    _, findings = xe.check(tiled, TILED, device=schedules.DEVICE)(*tiled_arguments(), barriers=barriers)
    assert bool(errors(findings)) == (outcomes != {tiled_reference()}), findings


PIECES = """
struct inner { int n; int data[8]; };
struct outer { int w; struct inner b; char c; };
__kernel void pieces(__global int* out) {
  __local struct outer a;
  int l = get_local_id(0);
  a.w = 3; a.b.n = 4; a.c = 5;
  a.b.data[l] = get_global_id(0);
  out[get_global_id(0)] = a.b.data[l] + a.w + a.b.n + a.c;
}"""


@pytest.mark.thorough
def test_numbers_that_memories_hold_in_bytes_are_put_together_under_a_schedule():
    got = xe.launch(xe.load(PIECES)["pieces"], xe.NDRange(16, 8), schedule=jax.random.key(1))(np.zeros(16, np.int32))
    np.testing.assert_array_equal(got, np.arange(16) + 12)
