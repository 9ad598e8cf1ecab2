"""Predication: accesses that sub-groups issue though none of their lanes takes part.

A mask on an access, the `where=` of the language, is a predicate: the instruction is issued all the same, and a device
may have its local memory pass for it. Where work-items part, at a branch, sub-groups without an active lane go on.
"""

import math
from collections.abc import Mapping, Sequence

from xeemu.cost import requests
from xeemu.cost.census import Census
from xeemu.cost.counting import Counts
from xeemu.cost.instructions import START
from xeemu.cost.sites import SiteReport
from xeemu.knowledge.access_tree import AccessSite, Key, MemoryOperation


def of_launch(sites: Mapping[AccessSite, SiteReport], counts: Counts, taken: Census) -> Mapping[AccessSite, float]:
    """Accesses of sub-groups no lane of which takes part, by place; of those places of which that is known.

    Args:
      sites: what the memory operations cost.
      counts: what was counted.
      taken: the census that they are from.
    """
    by_place: dict[AccessSite, list[Key]] = {}
    for key, (operation, *_) in taken.operations.items():
        by_place.setdefault(operation.access_site, []).append(key)
    found = {
        place: _of_access_site(keys, sites[place], counts, taken) for place, keys in by_place.items() if place in sites
    }
    return {place: number for place, number in found.items() if number}


def _of_access_site(keys: Sequence[Key], site: SiteReport, counts: Counts, taken: Census) -> float:
    operations = [taken.operations[key][0] for key in keys]
    if site.requests is None or not any(_is_masked(operation) for operation in operations):
        return 0.0
    issued = 0.0
    for operation in operations:
        times = _times(operation, counts, taken)
        if times is None:
            return 0.0
        issued += times * _each_time(operation, taken)
    return max(0.0, issued - site.requests)


def _is_masked(operation: MemoryOperation) -> bool:
    mask = operation.mask
    return mask is not None and not (mask.constant and bool(mask.array.all()))


def _times(operation: MemoryOperation, counts: Counts, taken: Census) -> int | None:
    """How often sub-groups execute what an access stands in, with an active lane."""
    node, (facts, number) = operation.node, operation.key
    section = max((begun for begun in node.regions if begun < number), default=START)
    executions = counts.executions[facts]
    times = None if executions is None else executions * requests.sub_groups(taken.geometry)
    return counts.active.get((facts, section), times)


def _each_time(operation: MemoryOperation, taken: Census) -> int:
    """Requests of a sub-group all of whose lanes take part."""
    geometry, shape = taken.geometry, operation.access.shape
    if not shape:
        return 1
    lanes = min(geometry.sub_group_size, geometry.items)
    elements = math.prod(shape) // geometry.items
    parts = math.ceil(lanes / (taken.device.request_lanes or lanes))
    return parts * math.ceil(elements / taken.vectors[operation.key].width)
