"""Loop plans: how a loop is carried out, from what is known of it before anything of it is emitted."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.devices.target import CPU, GPU
from xeemu.emission import interpreter
from xeemu.ir import control
from xeemu.planning import loop_plans, while_plans
from xeemu.planning.chunk import Chunk
from xeemu.planning.independent_loops import IndependentUpdate
from xeemu.planning.loop_accesses import CountedLoop
from xeemu.planning.loop_plans import Batched, OneByOne, StripMined
from xeemu.planning.reduction_loops import Reduced
from xeemu.planning.scatter_loops import Scattered
from xeemu.planning.storage import Storage
from xeemu.planning.while_plans import BottomTested, TopTested, WhileLoop

ITEMS, GROUPS, TURNS = 16, 2, 256
SIZES = {"local": GROUPS, "private": GROUPS * ITEMS}
"""How many copies there are of a memory."""


@xe.kernel
def kernel(wg, x, out, *, turn, length=TURNS, size=0):
    """A loop over a number of each work-item, or over a local memory of some elements."""
    lid, start = wg.local_id(), wg.group_id() * wg.size

    def body(k, carried):
        return turn(k, carried, x, lid, start)

    if not size:
        return out.at[start + lid].set(lax.fori_loop(0, length, body, (start + lid).astype(x.dtype)))
    local = lax.fori_loop(0, length, body, wg.local(size, x.dtype))
    return out.at[start + lid].set(wg.barrier(local)[lid])


def counted(turn, dtype=jnp.int32, length=TURNS, size=0, elements=4096, target=CPU, groups=GROUPS, masked=False):
    """The loop of the kernel as it is planned, its memories held as whole arrays."""
    arguments = np.zeros(elements, dtype), np.zeros(ITEMS * GROUPS, dtype)
    static = {"turn": turn, "length": length, "size": size}
    ready = prepared(kernel, xe.NDRange(ITEMS * GROUPS, ITEMS), arguments, static)
    ((number, scan),) = (
        (n, found) for n, op in enumerate(ready.program.body.ops) if isinstance(found := control.of(op), control.Scan)
    )
    (facts,) = ready.facts.inner[number]
    chunk = Chunk(ready.program.geometry, groups, target, True, iterations=64, spare_bytes=1 << 30)
    memories = {v: facts.values[v] for v in scan.body.all_inputs if facts.values[v].space}
    storages = {known: storage(known.space, v.shape, v.dtype) for v, known in memories.items()}
    return CountedLoop(scan, facts, chunk, storages, masked=masked)


def storage(space, shape, dtype):
    array = {"global": shape, "local": (GROUPS, *shape), "private": (*shape, GROUPS * ITEMS)}[space]
    return Storage(space, shape, array, dtype, None, True, None)


def planned(turn, **options):
    return loop_plans.of_loop(counted(turn, **options))


def steady(k, value, x, lid, start):
    """A slice that moves on steadily, in an operation whose order counts."""
    return value * 3 + x[lid + k]


def combining(k, value, x, lid, start):
    return value + x[start + lid + 32 * k]


def test_integers_that_are_combined_are_found_together():
    plan = planned(combining, elements=32 * TURNS, target=GPU)
    assert isinstance(plan, Batched)
    assert Reduced("add") in plan.updated.values()
    version = plan.versions.inside
    assert not plan.versions.checks
    assert list(version.blocks) == [version.iterations]
    (window,) = version.blocks[version.iterations].loads.values()
    assert window.elements == version.iterations * ITEMS


def test_floats_are_combined_in_their_order():
    plan = planned(lambda k, value, x, lid, start: value + x[lid + k], dtype=jnp.float32)
    assert isinstance(plan, StripMined)


def test_slices_that_move_steadily_share_a_window():
    plan = planned(steady)
    assert isinstance(plan, StripMined)
    version = plan.versions.inside
    assert list(version.blocks) == [version.iterations]
    assert version.iterations == CPU.strips.most
    block = version.blocks[version.iterations]
    assert len(block.loads) == 1
    assert not block.iteration.in_line
    assert not block.updates
    assert not plan.versions.checks
    assert plan.versions.beyond is version


@pytest.mark.parametrize("step", [2, -1, 0])
def test_the_windows_of_iterations_lie_in_one_rectangle(step):
    plan = planned(lambda k, value, x, lid, start: value * 3 + x[1024 + lid + step * k])
    ((turns, block),) = plan.versions.inside.blocks.items()
    ((number, strip),) = block.strips.items()
    starts = np.arange(turns) * step
    assert strip.before == -starts.min()
    assert strip.offsets == (tuple(starts - starts.min()) if step else None)
    (own,), (around,) = block.loads[number].rectangle.sizes, strip.around.sizes
    assert around == own + np.ptp(starts)


def test_what_is_left_of_the_iterations_is_a_shorter_block():
    version = planned(steady, length=TURNS + 1).versions.inside
    assert sorted(version.blocks) == [1, CPU.strips.most]


def test_slices_that_are_far_apart_are_each_read_for_themselves():
    plan = planned(lambda k, value, x, lid, start: value * 3 + x[lid + k * 64], elements=64 * TURNS)
    for block in plan.versions.inside.blocks.values():
        assert not block.loads
        assert len(block.iteration.in_line) == 1


def test_many_work_items_share_no_window_on_a_cpu():
    loop = counted(steady)
    many = dataclasses.replace(CPU, many_items=1)
    plan = loop_plans.of_loop(dataclasses.replace(loop, chunk=dataclasses.replace(loop.chunk, target=many)))
    assert plan.versions.inside.iterations == CPU.strips.most_of_many
    assert all(not block.loads and block.iteration.in_line for block in plan.versions.inside.blocks.values())


def further(k, value, x, lid, start):
    """A slice that is not within bounds in all iterations."""
    return value * 3 + x[300 + start + lid + k]


def first(version):
    """How the accesses of the iterations of a version's first block are made."""
    return next(iter(version.blocks.values())).iteration


@pytest.mark.parametrize(("elements", "target", "checked"), [(500, CPU, 1), (500, GPU, 0), (TURNS, CPU, 0)])
def test_bounds_are_looked_at_once_where_a_loop_may_stay_within_them(elements, target, checked):
    """Not on a GPU, where it would stop to look, nor where the last iteration is beyond in any case."""
    plan = planned(further, elements=elements, target=target)
    versions = plan.versions
    assert isinstance(plan, StripMined)
    assert len(versions.checks) == checked
    for check in versions.checks.values():
        assert (check.elements, check.travel) == (elements, TURNS - 1)
        assert first(versions.inside).trusted
        assert first(versions.beyond).gathered
        assert versions.beyond.iterations == 1
    if elements == TURNS:
        assert versions.inside is versions.beyond
        assert first(versions.inside).gathered


def filling(k, memory, x, lid, start):
    return memory.at[k * ITEMS + lid].set(x[start + lid + k] * 3)


def test_stores_next_to_each_other_are_one():
    turns = CPU.strips.most_of_fills
    plan = planned(filling, size=TURNS * ITEMS)
    assert isinstance(plan, StripMined)
    (window,) = plan.versions.inside.blocks[turns].updates.values()
    assert window.elements == turns * ITEMS


def test_updates_of_elements_of_their_own_are_one():
    plan = planned(lambda k, m, x, lid, start: m.atomic[k * ITEMS + lid].add(x[lid]), size=TURNS * ITEMS)
    assert isinstance(plan, Batched)
    ((carry, update),) = plan.updated.items()
    assert isinstance(update, IndependentUpdate)
    assert plan.growth.keys().isdisjoint({carry})
    assert all(block.updates.keys() == {update.number} for block in plan.versions.inside.blocks.values())


def test_updates_at_places_that_depend_on_data_are_one_scatter():
    plan = planned(lambda k, m, x, lid, start: m.atomic[x[lid + k] & 3].add(1), size=4)
    assert isinstance(plan, Batched)
    (update,) = plan.updated.values()
    assert isinstance(update, Scattered)
    assert len(update.numbers) == 1
    assert plan.versions.inside.iterations == 64


def test_gathers_and_places_that_depend_on_what_is_carried_go_one_by_one():
    plan = planned(lambda k, value, x, lid, start: value * 3 + x[value & 3])
    assert plan == OneByOne(1)


def test_a_loop_that_is_watched_goes_one_by_one():
    assert loop_plans.of_loop(dataclasses.replace(counted(steady), watched=True)) == OneByOne(CPU.watched_iterations)


@pytest.fixture
def emissions(monkeypatch):
    """How often each (sub)program is emitted."""
    found = collections.Counter()
    emit = interpreter._Interpreter.body

    def body(self, plan, *given):
        found[plan.facts.body] += 1
        return emit(self, plan, *given)

    monkeypatch.setattr(interpreter._Interpreter, "body", body)
    return found


@pytest.mark.parametrize(
    ("turn", "options", "most"),
    [
        (steady, {}, CPU.strips.most),
        (steady, {"length": TURNS + 3}, CPU.strips.most + 3),
        (further, {"elements": 500}, CPU.strips.most + 1),
        (combining, {"elements": 32 * TURNS}, 1),
        (lambda k, m, x, lid, start: m.atomic[k * ITEMS + lid].add(x[lid]), {"size": TURNS * ITEMS}, 1),
        (lambda k, m, x, lid, start: m.atomic[x[lid + k] & 3].add(1), {"size": 4}, 2),
        (lambda k, value, x, lid, start: value * 3 + x[value & 3], {}, 1),
    ],
)
def test_a_body_is_emitted_for_its_uses_alone(emissions, turn, options, most):
    """An iteration of a block, a block of each size, and a version are uses of it; to look at it is none."""
    arguments = np.zeros((options := dict(options)).pop("elements", 4096), np.int32), np.zeros(ITEMS * GROUPS, np.int32)
    prepare = on_a_gpu if turn is combining else prepared
    ready = prepare(kernel, xe.NDRange(ITEMS * GROUPS, ITEMS), arguments, {"turn": turn, **options})
    jax.make_jaxpr(ready.emit)(*arguments)
    assert max(emissions.values()) <= most


@pytest.mark.parametrize(
    ("left_by", "watched", "limit", "plan"),
    [
        ("all", False, None, TopTested(None)),
        ("all", False, 9, TopTested(9)),
        ("all", True, None, BottomTested(False, None)),
        ("each", False, None, BottomTested(True, None)),
        ("each", False, 9, BottomTested(True, 9)),
        ("each", True, 9, BottomTested(True, 9, interruptible=True)),
        ("inner loops", False, None, TopTested(None)),
        ("inner loops", False, 9, BottomTested(False, 9, interruptible=True)),
    ],
)
def test_a_loop_that_tests_a_predicate(left_by, watched, limit, plan):
    ready = prepared(leaving, xe.NDRange(32, 16), (np.zeros(32, np.int32), np.int32(0)), {"left_by": left_by})
    ((number, loop),) = (
        (n, found) for n, op in enumerate(ready.program.body.ops) if isinstance(found := control.of(op), control.While)
    )
    predicate, _ = ready.facts.inner[number]
    known = WhileLoop(loop, predicate, watched, limit, CPU.strips)
    assert while_plans.of_loop(known) == plan
    looks_seldom = dataclasses.replace(known, strips=dataclasses.replace(CPU.strips, untested=4))
    several = 4 if left_by == "each" and not watched else 1
    assert getattr(while_plans.of_loop(looks_seldom), "iterations", 1) == several


@xe.kernel
def leaving(wg, out, least, *, left_by):
    """A loop that all groups leave together, or each by its id; or whose predicate is found by a loop."""

    def goes_on(k):
        if left_by == "each":
            return k < wg.group_id()
        return (lax.while_loop(lambda n: n < least, lambda n: n + 1, k) if left_by == "inner loops" else k) < least

    return out.at[wg.global_id()].set(lax.while_loop(goes_on, lambda k: k + 1, jnp.int32(0)))
