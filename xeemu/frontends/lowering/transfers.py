"""Transfers: asynchronous copies that nobody has waited for yet, which no barrier ends.

Where a kernel is checked, what a copy accesses is accessed once more before each barrier that comes up while it is
under way, before it is waited for, and at the end of the kernel: what others do meanwhile meets it, barriers or not.
Copies are followed as far as the same work-items go on in one body; in loops and branches that is up to their end.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Data

COPIES = ("async_work_group_copy", "async_work_group_strided_copy")


@dataclasses.dataclass(eq=False)
class Transfer:
    """A copy under way.

    Attributes:
      memories: the keys of those between which is copied.
      again: accesses once more what it accesses.
      region, live: where in the program it was begun, and by whom.
      fresh: True if no barrier has come since it was accessed.
      awaited: True if somebody has waited for it.
    """

    memories: frozenset[Any]
    again: Callable[[], None]
    region: object
    live: Data | None
    fresh: bool = True
    awaited: bool = False


@functools.lru_cache(maxsize=512)
def of(kernel: Function) -> bool:
    """True if a kernel copies asynchronously."""
    parts = (node for function in effects.functions(kernel) for node in effects.nodes(function.body))
    return any(isinstance(node, Call) and node.name in COPIES for node in parts)


def begin(walk: Walk, memories: frozenset[Any], again: Callable[[], None]) -> None:
    """Notes a copy that has just been made, where the kernel is checked."""
    if walk.checked:
        walk.transfers.append(Transfer(memories, again, walk.region, walk.live))


def before_barrier(walk: Walk) -> None:
    """Has what is under way met by what came since the last barrier."""
    for transfer in walk.transfers:
        _meet(walk, transfer)


def after_barrier(walk: Walk) -> None:
    """What follows is met by what is still under way."""
    for transfer in walk.transfers:
        transfer.fresh = False


def wait(walk: Walk, memories: frozenset[Any] | None) -> None:
    """Ends the copies between memories; None where it is not known which are waited for."""
    for transfer in walk.transfers:
        if memories is None or transfer.memories <= memories:
            _meet(walk, transfer)
            transfer.awaited = True


def _meet(walk: Walk, transfer: Transfer) -> None:
    here = transfer.region is walk.region and transfer.live is walk.live
    if here and not transfer.fresh and not transfer.awaited:
        transfer.again()
        transfer.fresh = True
