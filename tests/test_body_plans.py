"""Body plans: what of a program is decided before anything of it is emitted, which is all."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.devices.target import CPU
from xeemu.ir import control, ops
from xeemu.kernels import EXAMPLES
from xeemu.planning import body_plans, plan_notes, storage
from xeemu.planning.access_plans import Scatter, Store
from xeemu.planning.body_plans import ChoicePlan, CountedLoopPlan, Observation, WhileLoopPlan
from xeemu.planning.carries import ArrayCarry, ContentsCarry
from xeemu.planning.chunk import Chunk
from xeemu.planning.loop_plans import Batched
from xeemu.planning.memory_plans import Deferred, LoadOfBlock
from xeemu.planning.operation_plans import Movement
from xeemu.planning.subgroup_layouts import NoConversion, Split
from xeemu.planning.while_plans import TopTested
from xeemu.planning.windows import Window

SIZES = {"histogram_slm": (1 << 14,), "tree_reduction": (1 << 12,), "table_copy_min": None}


def planned(ready, arguments, observation=Observation(), written=False):  # noqa: B008
    """The plan of a whole launch as one chunk; of its program as it was written, or as it is carried out."""
    task = ready if written else ready.analysed.task
    program, facts = task.program, task.facts
    chunk = Chunk(program.geometry, program.geometry.groups, CPU, True, iterations=64, spare_bytes=1 << 30)
    arrays = {k: np.asarray(a).reshape(-1) for k, a in enumerate(arguments)}
    return body_plans.of_program(facts, chunk, storage.of_arguments(program, arrays, {}), observation).body


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_each_operation_that_leaves_a_choice_is_planned(name, written):
    example = EXAMPLES[name]
    size = SIZES[name] or example.size
    arguments = example.inputs(size)
    ready = prepared(example.kernel, example.nd_range(size), arguments, example.static)
    for body in plan_notes.bodies(planned(ready, arguments, Observation(watched=written), written)):
        for number, op in enumerate(body.facts.body.ops):
            choice = op.name in (*ops.ACCESSES, ops.ALLOCATE) or op.name not in ops.LANGUAGE
            assert (number in body.operations) == choice, op.name
            assert all(v in body.layouts for v in op.results)


@xe.kernel
def chosen(wg, x, out, *, by):
    """A store by pairs of work-items, in a branch that all groups take or in one that each group takes or leaves."""
    i = wg.global_id()
    taken = {"known": wg.group_range() > 0, "all": x[0] > 0, "each": wg.group_id() > 1}[by]
    return lax.cond(taken, lambda out: out.at[i // 2].set(x[i // 2]), lambda out: out, out)


@pytest.mark.parametrize(("by", "branches", "kind"), [("all", 2, Window), ("each", 2, Scatter), ("known", 1, Window)])
def test_a_branch_is_planned_with_the_mask_that_it_gets(by, branches, kind):
    arguments = np.ones(64, np.int32), np.zeros(64, np.int32)
    plan = planned(prepared(chosen, xe.NDRange(64, 16), arguments, {"by": by}), arguments)
    (choice,) = (each for each in plan.operations.values() if isinstance(each, ChoicePlan))
    assert len(choice.branches) == branches
    stores = [
        p.by
        for body in plan_notes.bodies(plan)
        for n, p in body.operations.items()
        if body.facts.body.ops[n].name == ops.STORE
    ]
    (store,) = stores
    assert isinstance(store, Store)
    assert isinstance(store.by, kind)


@xe.kernel
def filling(wg, x, out):
    """Each iteration writes a part of its own of a local memory, from a part of its own of a global one."""
    lid = wg.local_id()

    def turn(k, memory):
        return memory.atomic[k * 16 + lid].add(x[k * 16 + lid])

    memory = lax.fori_loop(0, 64, turn, wg.local(64 * 16, np.int32).at[lid].set(lid))
    return out.at[wg.global_id()].set(wg.barrier(memory)[lid])


def test_an_iteration_is_planned_for_the_block_that_it_is_of():
    arguments = np.ones(1024, np.int32), np.zeros(32, np.int32)
    plan = planned(prepared(filling, xe.NDRange(32, 16), arguments), arguments)
    (loop,) = (each for each in plan.operations.values() if isinstance(each, CountedLoopPlan))
    assert isinstance(loop.by, Batched)
    for block in loop.by.versions.blocks:
        kinds = [getattr(each, "by", None) for each in loop.bodies[block.iteration].operations.values()]
        assert any(isinstance(kind, LoadOfBlock) for kind in kinds) == bool(block.loads)
        assert any(isinstance(kind, Deferred) for kind in kinds)
    # Where windows lie is found by what their indices need, and by nothing else.
    assert loop.address_plan is not None
    assert not any(
        op.name in ops.UPDATES
        for n, op in enumerate(loop.address_plan.facts.body.ops)
        if n in loop.address_plan.operations
    )


@xe.kernel
def halving(wg, x, out):
    i = wg.global_id()
    end = lax.while_loop(lambda v: v > 1, lambda v: v // 2, x[0])
    return out.at[i].set(x[i] + end)


def test_loops_are_counted_for_whom_has_a_limit():
    arguments = np.ones(32, np.int32), np.zeros(32, np.int32)
    ready = prepared(halving, xe.NDRange(32, 16), arguments)
    facts = ready.analysed.task.facts
    (number,) = (n for n, op in enumerate(facts.body.ops) if isinstance(control.of(op), control.While))
    for limit in (None, 9):
        limits = {} if limit is None else {(facts, number): limit}
        plan = planned(ready, arguments, Observation(limits=limits)).operations[number]
        assert plan.by == TopTested(limit)


def test_plans_are_printed_beside_the_operations():
    x, out = np.ones(64, np.int32), np.zeros(64, np.int32)
    lines = str(xe.trace(chosen, xe.NDRange(64, 16), after="plans")(x, out, by="each")).splitlines()
    notes = [(line.split("#")[0].strip(), line.partition("# ")[2]) for line in lines]
    assert [note for text, note in notes if "local_id" in text] == ["LaneForm"]
    assert [note for text, note in notes if text.startswith("store")] == ["Store(by=Scatter)"]
    assert {note for text, note in notes if text.startswith("if ")} == {"Divergent(skips=True)"}


def test_of_a_loop_the_iterations_of_its_blocks_are_printed():
    arguments = np.ones(1024, np.int32), np.zeros(32, np.int32)
    text = str(xe.trace(filling, xe.NDRange(32, 16), after="plans")(*arguments))
    assert "Batched(versions=Versions(inside=beyond=BlockedLoop(blocking=" in text
    assert "# LoadOfBlock" in text
    assert "# Deferred" in text


@xe.kernel
def stored_twice(wg, x, out, *, masked, first):
    """The whole of a memory, which XLA may take for what is stored there, and some of it again."""
    i = wg.global_id()
    out = out.at[i].set(x[i], where=(x[i] > 0) if masked else None) if first else out
    return wg.barrier(out).atomic[i].add(1)


@pytest.mark.parametrize(
    ("masked", "first", "unaliased"), [(False, True, True), (True, True, False), (False, False, False)]
)
def test_what_may_be_another_array_is_written_unaliased(masked, first, unaliased):
    arguments = np.ones(64, np.int32), np.zeros(64, np.int32)
    static = {"masked": masked, "first": first}
    plan = planned(prepared(stored_twice, xe.NDRange(64, 16), arguments, static), arguments)
    updates = [p.by for n, p in plan.operations.items() if plan.facts.body.ops[n].name == ops.ATOMIC]
    assert [update.unaliased for update in updates] == [unaliased]


def test_a_slice_of_what_a_mask_leaves_in_is_planned():
    example, size = EXAMPLES["tree_reduction"], SIZES["tree_reduction"]
    arguments = example.inputs(size)
    plan = planned(prepared(example.kernel, example.nd_range(size), arguments, example.static), arguments)
    slices = [p for n, p in plan.operations.items() if plan.facts.body.ops[n].name == "slice"]
    assert Movement(uses_chosen_only=True) in slices


@xe.kernel(sub_group_size=8)
def carrying(wg, x, out):
    """A loop that carries a number that groups differ in, what sub-groups have alike, an array, and a memory."""

    def step(k, state):
        count, shared, own, out = state
        return count + 3, wg.sub_group.broadcast(own, 1), own * 2, out.at[wg.global_id() + k * 64].set(shared * own)

    start = wg.group_id() * 2, jnp.ones(16, jnp.float32), x[wg.global_id()], out
    count, shared, own, out = lax.fori_loop(0, x[0].astype(jnp.int32), step, start)
    return out.at[wg.global_id()].set(own + shared + count.astype(jnp.float32))


def test_what_a_loop_carries_is_planned():
    arguments = np.ones(64, np.float32), np.zeros(64, np.float32)
    plan = planned(prepared(carrying, xe.NDRange(64, 16), arguments, {}, device="hd530"), arguments)
    (loop,) = (each for each in plan.operations.values() if isinstance(each, WhileLoopPlan))
    taken, own = Split((2, 8), None, uniform=True), ArrayCarry(None, None, repeated=False)
    assert loop.first[-3:] == (ArrayCarry(taken, None, repeated=True), own, ContentsCarry())
    assert loop.body.carries[-3:] == (ArrayCarry(NoConversion(), None, repeated=False), own, ContentsCarry())
    assert [carry.further for carry in (*loop.first[:2], *loop.body.carries[:2])] == [0, 0, 1, 0]
