"""Pending hits: loads that ask for what is on its way to the L1, as those that move on by less than a sector do.

What is new to such a load is on its way to the L1 while the loads of the next iterations, which are under way with it,
ask for it too. Where it is all that they ask for, these are looked up again when it is there, one after the other, as
in the miss status holding registers of GPGPU-Sim. No counter tells; the times do. On an H200 a naive product of
matrices takes 1.33 cycles a request, of which the banks have one; convolutions in local memory, which load their taps
so, 1.12 to 1.08 a pass, the fewer the larger the work-group and the fewer of their requests are looked up again.

Where it is a part of what they ask for, they are served twice: what is there, and what comes later. The counter of the
passes of the L1 tells: of a convolution of 257 elements in global memory 26 to 2 requests in a hundred, the fewer the
larger the work-group.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from xeemu.cost import footprint, requests, strides
from xeemu.cost.caches import Misses
from xeemu.cost.census import Census
from xeemu.cost.sites import SiteReport
from xeemu.cost.unrolling import UNROLLED
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation
from xeemu.knowledge.expressions import LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Box
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation


class PendingHits(NamedTuple):
    """Requests of loads that ask for what is on its way to the L1.

    Attributes:
      served_twice: when what is there comes, and when the rest does.
      looked_up_twice: but served once.
    """

    served_twice: float
    looked_up_twice: float


def of_launch(
    sites: Mapping[AccessSite, SiteReport], taken: Census, missed: Mapping[Allocation, Misses]
) -> PendingHits:
    """The requests of a launch that ask for what is on its way, as far as that is known.

    Args:
      sites: what its memory operations cost.
      taken: the census that they are from.
      missed: what of the loads of each memory misses.
    """
    served = looked_up = 0.0
    for operation, share in taken.shares:
        site, misses = sites[operation.access_site], missed.get(operation.access_site.memory)
        if operation.name != "load" or operation.access_site.memory.space != "global" or misses is None:
            continue
        requests_, sectors = share.requests * (site.requests or 0), share.requests * (site.sectors or 0)
        found = _of_operation(operation, sectors / requests_, misses.past_l1 * sectors, taken) if requests_ else None
        if found is not None:
            served += min(requests_, found.served_twice)
            looked_up += min(requests_, found.looked_up_twice)
    return PendingHits(served, looked_up)


def _of_operation(operation: MemoryOperation, each: float, missing: float, taken: Census) -> PendingHits | None:
    """Those of one operation, each of whose requests asks for so many sectors, and all of them for so many that the L1
    has not; None if it is no window or that is not known."""
    size = taken.device.sector_bytes or taken.device.line_bytes
    loops = list(_loops(operation))
    if size is None or not loops or not operation.node.certain or not operation.linear_index.known:
        return None
    try:
        steps = {_step(operation, box, axis) for box, axis in loops}
        step = steps.pop()
        if steps or not 0 < step < size:
            return None
        under_way = min(size / step, min(UNROLLED, taken.side_by_side.get(operation.node.facts, 1)))
        if each == 1 or not _is_window(operation, *loops[0], size, taken.geometry):
            return PendingHits(0.0, missing / each * (under_way - 1))
    except TooLarge:
        return None
    whole = footprint.of_memory([operation], taken, None, size)
    first = footprint.of_memory([_at_first(operation)], taken, None, size)
    if whole is None or first is None:
        return None
    later = taken.geometry.groups * max(0.0, whole.group - first.group) / size
    return PendingHits(min(later, missing) * under_way, 0.0)


def _step(operation: MemoryOperation, box: Box, axis: LoopAxis) -> int:
    """Bytes from one iteration of a loop to the next."""
    index = operation.linear_index
    if axis not in index.axes:
        return 0
    return abs(strides.step(index, _middle(box), axis, box[axis][1])) * operation.access_site.memory.dtype.itemsize


def _is_window(operation: MemoryOperation, box: Box, axis: LoopAxis, size: int, geometry: Geometry) -> bool:
    """True if what is new to a request in an iteration is a part of what it asks for."""
    before: list[set[int]] = []
    for number in box[axis][: size + 1]:
        asked = _sectors(operation, {**_middle(box), axis: number}, size, geometry)
        if any(0 < len(now - then) < len(now) for now, then in zip(asked, before, strict=False)):
            return True
        before = asked
    return False


def _sectors(
    operation: MemoryOperation, place: Mapping[LoopAxis, int], size: int, geometry: Geometry
) -> list[set[int]]:
    """What each sub-group of a work-group asks for at one point of all axes, of one element of each work-item."""
    shape = operation.access.shape
    elements = np.broadcast_to(strides.elements(operation.linear_index, place), shape or (1,))
    each = (
        elements.reshape(min(geometry.items, elements.size), -1)[:, 0]
        * operation.access_site.memory.dtype.itemsize
        // size
    )
    lanes = geometry.sub_group_size
    return [set(each[k * lanes : (k + 1) * lanes].tolist()) for k in range(requests.sub_groups(geometry))]


def _middle(box: Box) -> Mapping[LoopAxis, int]:
    """A group in the middle of the launch, in the first iteration of the innermost loop."""
    *outer, (axis, indices) = box.items()
    return {**{each: among[len(among) // 2] for each, among in outer}, axis: indices[0]}


def _loops(operation: MemoryOperation) -> Iterator[tuple[Box, LoopAxis]]:
    """The boxes in which an operation is executed again and again, each with the axis of the innermost loop."""
    if operation.node.kind == "iteration":
        for box in operation.node.boxes:
            innermost = next(reversed(list(box)), None)
            if innermost is not None and len(box[innermost]) > 1:
                yield box, innermost


def _at_first(operation: MemoryOperation) -> MemoryOperation:
    """An operation in the first iteration of its innermost loop alone."""
    boxes = [{**box, axis: box[axis][:1]} for box, axis in _loops(operation)]
    return operation.within(boxes)
