"""Vector elements: loads of elements of a vector by all work-items, of which a request brings as many as it can."""

from collections.abc import Mapping

import numpy as np

from xeemu.cost.costs import FIGURES
from xeemu.cost.counter import Count, Issued
from xeemu.cost.requests import WIDEST_BYTES
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import Key, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation

_WORD_BYTES, _PAIR_BYTES = 4, 8


def of_tree(root: Node, left_out: frozenset[Key], device: Device) -> Mapping[Key, np.ndarray]:
    """The loads of elements that come with one before them, each with `[F]` 1 for the figures that are its own, else 0.

    Args:
      root: the program.
      left_out: loads that are not carried out.
      device: the modelled device.
    """
    found, loaded = dict[Key, np.ndarray](), dict[tuple[Facts, Allocation], set[int]]()
    for operation in root.operations():
        requests = loaded.setdefault((operation.key[0], operation.access_site.memory), set())
        request = (
            operation.access.further * operation.access_site.memory.dtype.itemsize // _most_bytes(operation, device)
        )
        if not operation.access.further:
            requests.clear()
        elif request in requests and operation.key not in left_out:
            found[operation.key] = _own(operation, device)
        if operation.key not in left_out:
            requests.add(request)
    return found


def _most_bytes(operation: MemoryOperation, device: Device) -> int:
    """What a request brings at most: a vector for a lane, or words for a sub-group of which all take part."""
    by_all = operation.mask is None and operation.node.region(operation.key[1]) is None
    if by_all and operation.access_site.memory.dtype.itemsize == _WORD_BYTES and device.shared_load_words is not None:
        return _WORD_BYTES * device.shared_load_words
    return WIDEST_BYTES


def _own(operation: MemoryOperation, device: Device) -> np.ndarray:
    """Which figures are an element's own: none of the request, which is the first one's.

    A pass of the L1 brings each lane a word. One of local memory brings two where lanes in pairs share it, and all of
    a sub-group that loads them a lane each.
    """
    kept = {"lanes", "bytes_used", "l1_passes"}
    itemsize = operation.access_site.memory.dtype.itemsize
    together_bytes = _PAIR_BYTES if device.slm_wide_accesses == "lane_groups" else _WORD_BYTES
    by_lanes = itemsize == _WORD_BYTES and device.shared_load_words is not None
    if not by_lanes and operation.access.further * itemsize % together_bytes == 0:
        kept |= {"passes", "ideal_passes"}
    return np.array([name in kept for name in FIGURES], np.int64)


def without_request(count: Count, own: np.ndarray) -> Count:
    """What an element costs of what it would cost alone."""
    return Count(count.figures * own, count.worst)


def issued(found: Issued, own: np.ndarray) -> Issued:
    """The same of what is issued."""
    return Issued(found.requests * int(own[FIGURES.index("requests")]), found.lanes)
