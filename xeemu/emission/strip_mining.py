"""Strip-mining: loops that only load slices and compute on them, emitted by blocks of iterations.

Slices that start a constant further in each iteration are parts of one window, at constant offsets in it: the compiler
then sees which of them overlap, loads each element once for several iterations, and goes over its accumulators once.
What the iterations store next to each other is stored at once.
"""

from typing import Any

from xeemu.emission import batched_updates, emitted_loops, iteration_blocks
from xeemu.emission.buffers import UpdateOperands
from xeemu.emission.emitted_loops import EmittedLoop
from xeemu.emission.items import as_memory
from xeemu.planning.loop_plans import BlockedLoop, StripMined


def run(loop: EmittedLoop, plan: StripMined) -> list[Any]:
    """What a loop carries in the end."""

    def blocks(version: BlockedLoop, first: list[Any]) -> list[Any]:
        def step(iterations: int, packed: list[Any]) -> list[Any]:
            return _block(loop, version, iterations, packed)

        last: list[Any] = iteration_blocks.run(step, version.blocking, first)
        return last

    return emitted_loops.by_versions(loop, plan.versions, blocks, loop.first())


def _block(loop: EmittedLoop, version: BlockedLoop, iterations: int, packed: list[Any]) -> list[Any]:
    """What is carried after so many iterations, from what is before."""
    block = version.blocks[iterations]
    strips, loads = block.strips, loop.placed(packed, block.loads)
    around = {n: at.window.around(at.buffer.data, strips[n]) for n, at in loads.items()}
    placed = loop.placed(packed, block.updates)
    updates: dict[int, list[UpdateOperands]] = {n: [] for n in placed}
    for number in range(iterations):
        loaded = {n: at.window.of_iteration(number, around[n], strips[n]) for n, at in loads.items()}
        outputs = loop.outputs(packed, block.iteration, loaded)
        for n, each in updates.items():
            each.extend(as_memory(outputs[loop.counted.carry(n)]).pending)
        packed = loop.packed(outputs, block.iteration)
    for n, at in placed.items():
        k = loop.counted.carry(n)
        stores = batched_updates.side_by_side(updates[n], at.window)
        packed[k] = batched_updates.after(packed[k], at.window, "store", stores)
    return packed
