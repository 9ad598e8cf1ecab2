"""Collected updates: which of a block's updates are counted together, which are a scatter, and in which steps."""

import numpy as np
import pytest
from launches import prepared
from test_small_histograms import GROUPS, counting

import xeemu as xe
from xeemu.devices.target import CPU, GPU
from xeemu.emission import iteration_blocks as emission
from xeemu.planning import body_plans, iteration_blocks, storage
from xeemu.planning.body_plans import CountedLoopPlan, Observation
from xeemu.planning.chunk import Chunk

ITEMS, SIZE = 16, 16


def collected(added, turns=64, target=CPU, single=True, space="local"):
    """How what the iterations of each block leave is made, by their number."""
    arguments = np.zeros(GROUPS * turns * ITEMS, np.int32), np.zeros(SIZE, np.int32)
    static = {"turns": turns, "space": space, "size": SIZE, "added": added}
    ready = prepared(counting, xe.NDRange(GROUPS * ITEMS, ITEMS), arguments, static)
    program, facts = ready.analysed.task.program, ready.analysed.task.facts
    chunk = Chunk(program.geometry, GROUPS, target, True, iterations=64, single=single, spare_bytes=1 << 30)
    arrays = {k: a.reshape(-1) for k, a in enumerate(arguments)}
    plan = body_plans.of_program(facts, chunk, storage.of_arguments(program, arrays, {}), Observation()).body
    loops = [each for each in plan.operations.values() if isinstance(each, CountedLoopPlan)]
    ((by_blocks),) = (loop.collected for loop in loops if any(loop.collected.values()))
    return {iterations: by_carry for iterations, each in by_blocks.items() for by_carry in each.values()}


def test_updates_that_add_one_number_are_counted_together_so_many_at_once():
    histograms = collected((3, 1, -2, 1))[64].histograms
    assert [(each.few.number, each.updates) for each in histograms] == [(3, (0,)), (1, (1, 3)), (-2, (2,))]
    histograms = collected((1,) * 9)[64].histograms
    assert [each.updates for each in histograms] == [tuple(range(8)), (8,)]
    assert [each.parts for each in histograms] == [1, 8]


@pytest.mark.parametrize("turns", [16, 33, 64, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_a_step_s_counts_fit_eight_bits_until_they_are_added_up(count, turns):
    for iterations, plan in collected((1,) * count, turns).items():
        for histogram in plan.histograms:
            assert iterations % histogram.parts == 0
            assert max(histogram.blocking.sizes) * histogram.parts * len(histogram.updates) <= 255


@pytest.mark.parametrize(
    ("count", "target", "alone", "joined"),
    [(1, CPU, (0,), ()), (2, CPU, (0, 1), ()), (1, GPU, (0,), ()), (2, GPU, (), (0, 1))],
)
def test_other_updates_are_one_scatter_where_that_is_faster(count, target, alone, joined):
    (plan,) = collected((1,) * count, target=target, single=False).values()
    assert (plan.histograms, plan.alone, plan.joined) == ((), alone, joined)


@pytest.mark.parametrize("unrolled", [1, 3])
@pytest.mark.parametrize(("length", "size"), [(0, 4), (3, 4), (4, 4), (5, 4), (8, 4), (11, 4), (12, 1)])
def test_blocks_have_all_iterations_in_their_order(length, size, unrolled):
    blocking = iteration_blocks.of_length(length, size, unrolled)
    assert blocking.looped != 1
    assert emission.run(lambda iterations, state: state + iterations, blocking, 0) == length
    assert sum(blocking.tail) == length - blocking.looped * size
    assert set(blocking.sizes) <= {size, length % size}
