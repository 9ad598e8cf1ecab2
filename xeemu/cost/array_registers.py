"""Array registers: private arrays that compilers keep in registers, as each access is to elements that are known."""

from collections.abc import Iterator, Sequence

import numpy as np

from xeemu.cost import first_iterations, unrolling, vectors
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import AccessTree, Key, MemoryOperation, Node
from xeemu.knowledge.expressions import Expression, Grid, TooLarge
from xeemu.language.linearity import Allocation


def of_tree(tree: AccessTree, device: Device) -> frozenset[Allocation]:
    """The private memories of a program that are in registers, where loops are written out."""
    by_key: dict[Key, list[MemoryOperation]] = {}
    for operation in tree.root.operations():
        if operation.access_site.memory.space == "private":
            by_key.setdefault(operation.key, []).append(operation)
    computed = {made[0].access_site.memory for made in by_key.values() if not _is_fixed(made, tree, device)}
    return frozenset(made[0].access_site.memory for made in by_key.values()) - computed


def _is_fixed(made: Sequence[MemoryOperation], tree: AccessTree, device: Device) -> bool:
    """True of an access at the same elements by all work-items, which are known where loops are written out.

    What is volatile is in memory, and where an argument tells which elements.

    Args:
      made: the access, once for each iteration of loops that were walked one by one.
      tree: the launch.
      device: the modelled device.
    """
    if any(operation.access.volatile or operation.op.given for operation in made):
        return False
    rank, by_iteration = len(tree.geometry.local_range), dict[tuple[int, ...], list[Expression]]()
    for operation in made:
        written_out = [loop for loop in _loops_around(operation.node) if unrolling.is_written_out(loop, device)]
        counters = {axis for loop in written_out for axis in first_iterations.counters(loop)}
        index = operation.linear_index
        if not (index.known and index.axes <= counters and vectors.is_shared(index, rank)):
            return False
        by_iteration.setdefault(tuple(map(_number, written_out)), []).append(index)
    return all(map(_are_equal, by_iteration.values()))


def _loops_around(node: Node) -> Iterator[Node]:
    """The bodies of loops that a node is or stands in."""
    around: Node | None = node
    while around is not None:
        if around.kind == "iteration":
            yield around
        around = around.parent


def _number(iteration: Node) -> int:
    """Which iteration a loop's body is of those that have a node each."""
    assert iteration.parent is not None
    walked = (step for step in iteration.parent.steps if isinstance(step, Node) and step.facts is iteration.facts)
    return next(number for number, step in enumerate(walked) if step is iteration)


def _are_equal(indices: Sequence[Expression]) -> bool:
    """True if some indices are the same for any values of counters, of which there are few."""
    first, *others = indices
    if not others:
        return True
    try:
        elements = _elements(first)
        return all(other.axes == first.axes and np.array_equal(_elements(other), elements) for other in others)
    except TooLarge:
        return False


def _elements(index: Expression) -> np.ndarray:
    """An index of known axes, for all their values in one order."""
    axes = sorted(index.axes, key=id)
    return Grid({axis: np.arange(axis.size) for axis in axes}).of(index)
