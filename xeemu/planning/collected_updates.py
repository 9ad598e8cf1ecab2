"""Collected updates: how the updates of a memory are made that the iterations of a block leave, all at once.

Each is a scatter, or all of them are one. Additions to one of few elements are counted, by comparing all choices with
each of these (see `emission/small_histograms.py`).
"""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from xeemu.planning import iteration_blocks, strip_lengths
from xeemu.planning.access_plans import FewElements, ScatteredUpdate
from xeemu.planning.chunk import Chunk
from xeemu.planning.iteration_blocks import Blocking
from xeemu.planning.iterations import Iteration
from xeemu.planning.loop_plans import Batched, LoopPlan
from xeemu.planning.memory_plans import UpdatePlan
from xeemu.planning.scatter_loops import Scattered

# What a count of eight bits holds.
_COUNTED = 255


@dataclasses.dataclass(frozen=True)
class Histogram:
    """Updates that add one number to few elements, counted together.

    Attributes:
      few: the number and the elements.
      updates: which, by their positions among those that an iteration leaves.
      parts: of equal length, into which the iterations of each are cut; a step compares one iteration of each part.
      blocking: of the steps: after each block of them their counts, of eight bits until then, are added up.
    """

    few: FewElements
    updates: tuple[int, ...]
    parts: int
    blocking: Blocking


@dataclasses.dataclass(frozen=True)
class CollectedUpdates:
    """How the updates of a memory are made that the iterations of a block leave.

    Attributes:
      histograms: those that are counted.
      alone: those that are a scatter each, by their positions among those that an iteration leaves.
      joined: those that are one scatter; none if that would be a single one.
    """

    histograms: tuple[Histogram, ...]
    alone: tuple[int, ...]
    joined: tuple[int, ...]


def of_loop(
    plan: LoopPlan, bodies: Mapping[Iteration | None, Mapping[int, Any]], chunk: Chunk
) -> Mapping[int, Mapping[int, CollectedUpdates]]:
    """Those of a loop that scatters, by the iterations of a block and the number of the carry; none of another loop.

    Args:
      plan: of the loop.
      bodies: the plans of the operations of each kind of iteration, by their numbers.
      chunk: the work-groups.
    """
    if not isinstance(plan, Batched):
        return {}
    scattered = {k: update.numbers for k, update in plan.updated.items() if isinstance(update, Scattered)}
    each = {n: bodies[block.iteration] for n, block in plan.versions.inside.blocks.items()}
    return {
        n: {k: _of_memory([operations[m] for m in numbers], n, chunk) for k, numbers in scattered.items()}
        for n, operations in each.items()
    }


def _of_memory(plans: Sequence[UpdatePlan], iterations: int, chunk: Chunk) -> CollectedUpdates:
    """Those of one memory that so many iterations leave; an update of no element leaves nothing."""
    left = [(plan.by, plan.reference.elements.count) for plan in plans if isinstance(plan.by, ScatteredUpdate)]
    counted = collections.defaultdict[tuple[FewElements, int], list[int]](list)
    for k, (by, elements) in enumerate(left):
        if by.few_elements is not None:
            counted[by.few_elements, elements].append(k)
    most = chunk.target.counting.compared_at_once
    batches = ((few, each[k : k + most]) for (few, _), each in counted.items() for k in range(0, len(each), most))
    histograms = tuple(_histogram(few, tuple(batch), iterations, most) for few, batch in batches)
    others = tuple(k for k, (by, _) in enumerate(left) if by.few_elements is None)
    # A scatter that takes its elements one after the other is as fast for each update.
    joins = len(others) > 1 and not chunk.target.scatters_in_order
    return CollectedUpdates(histograms, () if joins else others, others if joins else ())


def _histogram(few: FewElements, updates: tuple[int, ...], iterations: int, most: int) -> Histogram:
    """The histogram of some updates of so many iterations, of which a step compares `most` rows if it can."""
    parts = next(n for n in range(max(1, most // len(updates)), 0, -1) if iterations % n == 0)
    rows = iterations // parts
    steps = strip_lengths.evenly(rows, _COUNTED // (parts * len(updates)))
    return Histogram(few, updates, parts, iteration_blocks.of_length(rows, steps))
