"""Races: between whom an access conflicts with earlier ones, from the stamps that those have left.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import Event
from xeemu.faults import faulty_lanes
from xeemu.faults.stamps import Layout, Stamp
from xeemu.knowledge import conflicts

GROUPS, SUB_GROUPS, ITEMS, FENCED_SUB_GROUPS, FENCED_ITEMS, FENCED_GROUPS = range(6)
"""Between whom a conflict is: work-groups, sub-groups, work-items of one; and across a barrier of other memories."""
CASES = 6


class Conflict(NamedTuple):
    """An example of a conflict, or arrays of them: who came earlier, who later, and where.

    Attributes:
      earlier_group, earlier_item, later_group, later_item: linear ids.
      element: linear index into the memory.
      epoch: barriers that the later one's group had passed.
      turned: 1 if the later one is at the first spot of the pair, else 0.
      earlier_epoch: barriers that the earlier one's group had passed; of two groups it says nothing.
    """

    earlier_group: Any
    earlier_item: Any
    later_group: Any
    later_item: Any
    element: Any
    epoch: Any
    turned: Any
    earlier_epoch: Any


@dataclasses.dataclass(frozen=True, eq=False)
class User:
    """The lanes of an access: all `[G, n]`.

    Attributes:
      place: position in the stamps.
      taken: whether it accesses its element.
      element: linear index into the memory.
      group: linear id.
      first, last: the work-items that access it together, linear local ids.
      barriers: that the group has passed.
      epoch, sub_epoch: of the memory.
    """

    place: jax.Array
    taken: jax.Array
    element: jax.Array
    group: jax.Array
    first: Any
    last: Any
    barriers: jax.Array
    epoch: jax.Array
    sub_epoch: jax.Array

    @classmethod
    def of(
        cls,
        event: Event,
        places: jax.Array,
        chunk: EmittedChunk,
        barriers: jax.Array,
        epoch: jax.Array,
        sub_epoch: jax.Array,
    ) -> "User":
        """Who takes part in an access at places in the stamps, in epochs `[G, 1]`, of sub-groups `[G, n or 1]`."""
        items = chunk.geometry.items
        first, last = ends(event, items)
        shape = (chunk.count, event.lanes.count)
        return cls(
            place=jnp.broadcast_to(places, shape).astype(np.int64),
            taken=jnp.broadcast_to(event.taken(items), shape),
            element=jnp.broadcast_to(event.address.index, shape).astype(np.int64),
            group=jnp.broadcast_to(faulty_lanes.linear_ids(chunk)[:, None], shape),
            first=np.broadcast_to(first, shape),
            last=np.broadcast_to(last, shape),
            barriers=jnp.broadcast_to(barriers, shape),
            epoch=jnp.broadcast_to(epoch, shape),
            sub_epoch=jnp.broadcast_to(sub_epoch, shape),
        )


def ends(event: Event, items: int) -> tuple[np.ndarray, np.ndarray]:
    """`[n]` the first and the last of the work-items, of so many of a group, that access each element together."""
    if event.lanes.shape:
        each = event.items(items).astype(np.int64)
        return each, each
    return np.zeros(1, np.int64), np.full(1, items - 1)


class _Seen(NamedTuple):
    """The last and the first user of each lane's element."""

    last: Stamp
    first: Stamp

    def only(self, low: Any, high: Any, divisor: int) -> jax.Array:
        """Whether all users, and those from `low` to `high`, are one, where `divisor` work-items count as one."""
        same = (self.last.item // divisor == low) & (self.first.item // divisor == low)
        return same & jnp.asarray(low == high)


def stamped(layout: Layout, user: User, count: int) -> list[jax.Array]:
    """What lanes leave at their elements, flat: a last and a first stamp; of four, also those by sub-group epochs."""
    group = user.group if layout.groups > 1 else jnp.zeros_like(user.group)
    found = []
    for epoch in (user.epoch, user.sub_epoch)[: count // 2]:
        last = layout.last(group, epoch, jnp.asarray(user.last), user.barriers)
        first = layout.first(group, epoch, jnp.asarray(user.first), user.barriers)
        found += [last.reshape(-1), first.reshape(-1)]
    return found


def judged(
    user: User, read: Sequence[jax.Array], layout: Layout, reach: int | jax.Array, lanes: int, turned: bool | jax.Array
) -> tuple[jax.Array, Conflict]:
    """`[G, n]` the case of each lane's conflict with earlier users, or -1; and the conflicts themselves.

    Args:
      user: the lanes.
      read: `[G, n]` stamps of the earlier users of each lane's element: the last and the first, and those by sub-group
        epochs if such are kept.
      layout: how they are put together.
      reach: within whom two users need no order, see `conflicts.reach`.
      lanes: of a sub-group.
      turned: whether the lanes are at the first spot of their pair.
    """
    seen = _Seen(layout.read_last(read[0]), layout.read_first(read[1]))
    inner = _Seen(layout.read_last(read[2]), layout.read_first(read[3])) if len(read) > 2 else seen
    group = user.group if layout.groups > 1 else jnp.zeros_like(user.group)
    used = seen.last.used & user.taken
    far = used & ((seen.last.group != group) | (seen.first.group != group))
    met = used & ~far & (seen.last.epoch == user.epoch)
    across = met & ~seen.only(user.first // lanes, user.last // lanes, lanes)
    current = user.sub_epoch if len(read) > 2 else user.epoch
    near = used & ~far & ~across & (inner.last.group == group) & (inner.last.epoch == current)
    within = near & inner.last.used & ~inner.only(user.first, user.last, 1)
    earlier, later = _example(seen, inner, user, far, across, group, lanes)
    fenced = (earlier.barriers < user.barriers) if layout.fenced else jnp.zeros_like(far)
    case = jnp.full(used.shape, -1, np.int64)
    ways = (
        (conflicts.SUB_GROUP, within, jnp.where(fenced, FENCED_ITEMS, ITEMS)),
        (conflicts.GROUP, across, jnp.where(fenced, FENCED_SUB_GROUPS, SUB_GROUPS)),
        (conflicts.DEVICE, far, GROUPS),
    )
    for wider, unordered, found in ways:
        if not isinstance(reach, int):
            case = jnp.where(unordered & (reach < wider), found, case)
        elif reach < wider:
            case = jnp.where(unordered, found, case)
    way = jnp.broadcast_to(jnp.asarray(turned).astype(np.int64), user.group.shape)
    home = earlier.group if layout.groups > 1 else user.group
    before = jnp.broadcast_to(earlier.barriers if layout.fenced else user.barriers, user.group.shape)
    return case, Conflict(home, earlier.item, user.group, later, user.element, user.barriers, way, before)


def _example(
    seen: _Seen, inner: _Seen, user: User, far: jax.Array, across: jax.Array, group: jax.Array, lanes: int
) -> tuple[Stamp, jax.Array]:
    """For each lane an earlier user that it conflicts with, and which of its own work-items does."""
    alone = user.first == user.last
    by_group = far & (seen.last.group == group)
    by_sub_group = across & alone & (seen.last.item // lanes == user.first // lanes)
    by_item = ~far & ~across & alone & (inner.last.item == user.first)
    near = [jnp.where(far | across, a, b) for a, b in zip(seen.last, inner.last, strict=True)]
    others = [jnp.where(far | across, a, b) for a, b in zip(seen.first, inner.first, strict=True)]
    turn = by_group | by_sub_group | by_item
    earlier = Stamp(*(jnp.where(turn, b, a) for a, b in zip(near, others, strict=True)))
    divisor = jnp.where(across, lanes, 1)
    other = earlier.item // divisor != user.first // divisor
    later = jnp.where(other | far, user.first, user.last)
    return earlier, later
