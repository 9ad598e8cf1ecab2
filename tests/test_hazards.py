"""What is stored to a memory may come from other places of it, or from what it was filled with: nothing is mixed up.

XLA writes to arrays in place. On a CPU, JAX 0.10.2 does so although what it writes is computed, as it goes, from other
elements of the same array, where it sees the two in different shapes: a store of a plain array, seen in another shape,
and a loop that looks at what a second store has left were enough.
"""

import examples
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.knowledge import analysis, dataflow
from xeemu.planning import hazards

ITEMS = 16
LID = np.arange(ITEMS)

# Each step is a kind, a distance, how many work-items take part, and a factor.
STEPS = st.tuples(
    st.sampled_from(["moved", "argument", "turned", "summed"]),
    st.integers(-5, 5),
    st.integers(1, ITEMS),
    st.integers(1, 3),
)


def weighted(memory, lid, size):
    """A sum over the whole memory for each work-item."""
    return lax.fori_loop(0, size, lambda k, total: total + memory[k] * (lid + k), jnp.zeros(ITEMS, jnp.int32))


def after_step(wg, memory, x, step, size):
    kind, distance, count, factor = step
    lid = wg.local_id()
    near, far = lid + max(distance, 0), lid + max(-distance, 0)
    match kind:
        case "moved":
            found = memory.load(near, where=(lid < count) & (near < size), other=0)
            memory = wg.barrier(memory).at[far].set(found * factor + 1, where=(lid < count) & (far < size))
        case "argument":
            memory = memory.at[near].set(x * factor + distance, where=(lid < count) & (near < size))
        case "turned":
            found = memory[(lid + distance) % size]
            memory = wg.barrier(memory).at[lid].set(found + x)
        case "summed":
            found = weighted(memory, lid, size)
            memory = wg.barrier(memory).at[lid].set(found, where=lid < count)
    return wg.barrier(memory)


def numpy_step(memory, x, step):
    (kind, distance, count, factor), size = step, len(memory)
    near, far = LID + max(distance, 0), LID + max(-distance, 0)
    match kind:
        case "moved":
            found = np.where((count > LID) & (near < size), memory[np.minimum(near, size - 1)], 0)
            own = (count > LID) & (far < size)
            memory[far[own]] = found[own] * factor + 1
        case "argument":
            own = (count > LID) & (near < size)
            memory[near[own]] = x[own] * factor + distance
        case "turned":
            memory[:ITEMS] = memory[(LID + distance) % size] + x
        case "summed":
            memory[:count] = numpy_weighted(memory)[:count]


def numpy_weighted(memory):
    return (memory * (LID[:, None] + np.arange(len(memory)))).sum(1, dtype=np.int32)


def kernel_of(steps, size, result):
    @xe.kernel
    def kernel(wg, x, p, y):
        lid, i = wg.local_id(), wg.global_id()
        own = x[i]
        memory = wg.local(size, jnp.int32).at[lid].set(own)
        memory = wg.barrier(memory.at[lid + ITEMS].set(2 * own, where=lid + ITEMS < size))
        for step in steps:
            memory = after_step(wg, memory, own, step, size)
        match result:
            case "own":
                return y.at[i].set(memory[lid])
            case "looked up":
                return y.at[i].set(memory[p[i]])
            case "summed":
                return y.at[i].set(weighted(memory, lid, size))

    return kernel


def compare(steps, size, result, groups):
    random = np.random.default_rng(groups)
    x, p = (random.integers(0, n, (groups, ITEMS), np.int32) for n in (9, size))
    expected = []
    for own, places in zip(x, p, strict=True):
        memory = np.concatenate([own, 2 * own[: size - ITEMS]])
        for step in steps:
            numpy_step(memory, own, step)
        expected.append({"own": memory[:ITEMS], "looked up": memory[places], "summed": numpy_weighted(memory)}[result])
    arguments = x.reshape(-1), p.reshape(-1), np.zeros(x.size, np.int32)
    for memory_bytes in None, 1:
        launch = xe.launch(kernel_of(steps, size, result), xe.NDRange(x.size, ITEMS), memory_bytes=memory_bytes)
        np.testing.assert_array_equal(np.reshape(launch(*arguments), x.shape), expected)


SIZES, RESULTS, GROUPS = (
    st.sampled_from([16, 19, 32]),
    st.sampled_from(["own", "looked up", "summed"]),
    st.integers(1, 4),
)


@pytest.mark.thorough
@settings(max_examples=examples.some(15))
@given(st.lists(STEPS, min_size=1, max_size=4), SIZES, RESULTS, GROUPS)
def test_memories_hold_what_was_stored(steps, size, result, groups):
    compare(steps, size, result, groups)


@pytest.mark.long
@settings(max_examples=600)
@given(st.lists(STEPS, min_size=1, max_size=5), SIZES, RESULTS, GROUPS)
def test_memories_hold_what_was_stored_at_length(steps, size, result, groups):
    compare(steps, size, result, groups)


@pytest.mark.every(3)
@pytest.mark.thorough
@pytest.mark.parametrize("groups", [1, 2, 64])
@pytest.mark.parametrize(
    "steps",
    [
        [("argument", 1, 8, 1)],  # of an argument that is the memory's contents, in another shape
        [("moved", 0, 15, 3), ("summed", 0, 4, 1), ("argument", 4, 4, 2)],  # of other elements, in a chunk of one group
        [("moved", -1, 15, 1), ("moved", 3, 9, 2)],
    ],
)
def test_what_was_mixed_up(steps, groups):
    for result in "own", "looked up", "summed":
        compare(steps, ITEMS, result, groups)


@xe.kernel
def several(wg, x):
    lid, i = wg.local_id(), wg.global_id()
    memory = wg.local(wg.size + 1, jnp.int32).at[lid].set(x[i])  # 0: nothing of the memory
    memory = memory.at[lid].set(memory[lid] + 1)  # 1: of the same place
    memory = memory.at[lid + 1].set(memory[lid] + 1)  # 2
    total = lax.fori_loop(0, 3, lambda k, t: t + memory[k], jnp.int32(0))
    memory = wg.barrier(memory).at[lid].set(total + lid)  # 3
    old, memory = memory.atomic[lid].fetch_add(1)  # 4
    memory = memory.atomic[lid + 1].add(old)  # 5
    return x.at[i].set(memory[lid])  # 6: of another memory


def test_updates_with_what_lies_elsewhere_are_found():
    ready = prepared(several, xe.NDRange(64, ITEMS), [np.zeros(64, np.int32)])
    body = ready.program.body
    updates = [n for n, op in enumerate(body.ops) if op.name in ("xe_store", "xe_atomic")]
    assert [updates.index(n) for n in sorted(hazards.of_body(ready.facts).entangled)] == [2, 3, 5]


def test_facts_of_a_program_are_found_once_for_each_plan():
    ready, asked = prepared(several, xe.NDRange(64, ITEMS), [np.zeros(64, np.int32)]), []

    @analysis.fact
    def count(facts, number):
        asked.append(number)
        return number + len(facts.body.ops)

    body, other = ready.program.body, dataflow.analyse(ready.program)
    found = [count(facts, number) for facts in (ready.facts, other) for number in (1, 2, 1)]
    assert found == [number + len(body.ops) for number in (1, 2, 1, 1, 2, 1)]
    assert asked == [1, 2, 1, 2]


@xe.kernel(sub_group_size=8)
def shifted(wg, x, out):
    """Work-items of the first ones store what they have looked up next to them in the same memory."""
    lid = wg.local_linear_id()
    i, places = wg.group_linear_id() * 16 + lid, jnp.asarray(PLACES)
    memory = wg.barrier(wg.local((16,), jnp.int32).at[lid].set(x[i]))
    first = memory.load(lid, where=lid < 12, other=3) * 3 - 3
    memory = wg.barrier(memory).at[places].set(jnp.full(16, 3, jnp.int32) + first * 0, where=lid < 12)
    memory = wg.barrier(memory)
    found = memory.load(jnp.asarray(np.roll(np.arange(16), 1)), where=lid < 6, other=7)
    memory = wg.barrier(wg.barrier(memory).at[lid].set((found ^ 7) & 1023, where=lid < 6))
    return out.at[i].set(memory[lid] + first)


PLACES = np.array([12, 14, 3, 5, 4, 15, 15, 4, 6, 10, 2, 6, 13, 0, 14, 2])


def test_what_is_looked_up_is_what_was_there_before_the_store():
    x = np.random.default_rng(27).integers(-50, 50, 48).astype(np.int32)
    found = np.asarray(xe.launch(shifted, xe.NDRange(48, 16), device="hd530")(x, np.zeros_like(x))).reshape(3, 16)
    after, lid = x.reshape(3, 16).copy(), np.arange(16)
    after[:, PLACES[:12]] = 3
    after[:, :6] = (np.roll(after, 1, axis=1)[:, :6] ^ 7) & 1023
    np.testing.assert_array_equal(found, after + np.where(lid < 12, x.reshape(3, 16), 3) * 3 - 3)
