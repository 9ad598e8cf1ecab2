"""Races: between whom an access conflicts with earlier ones, from the stamps that those have left.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.devices.lanes import part
from xeemu.emission import bits
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent
from xeemu.faults import faulty_lanes
from xeemu.faults.stamps import Stamp, StampFormat
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
    """The lanes of an access: all `[G, n]`, or `[k]` of them.

    Attributes:
      place: position in the stamps.
      active: true if it accesses its element.
      element: linear index into the memory.
      group: linear id.
      first, last: the work-items that access it together, linear local ids.
      barriers: that the group has passed.
      epoch, sub_epoch: of the memory.
    """

    place: jax.Array
    active: jax.Array
    element: jax.Array
    group: jax.Array
    first: jax.Array
    last: jax.Array
    barriers: jax.Array
    epoch: jax.Array
    sub_epoch: jax.Array

    @classmethod
    def of(
        cls,
        event: AccessEvent,
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
            active=jnp.broadcast_to(event.active_lanes(items), shape),
            element=jnp.broadcast_to(event.address.index, shape).astype(np.int64),
            group=jnp.broadcast_to(faulty_lanes.linear_ids(chunk)[:, None], shape),
            first=jnp.broadcast_to(jnp.asarray(first), shape),
            last=jnp.broadcast_to(jnp.asarray(last), shape),
            barriers=jnp.broadcast_to(barriers, shape),
            epoch=jnp.broadcast_to(epoch, shape),
            sub_epoch=jnp.broadcast_to(sub_epoch, shape),
        )

    def at(self, lanes: jax.Array) -> "User":
        """The lanes at flat positions `[k]`."""
        each = {field.name: getattr(self, field.name).reshape(-1)[lanes] for field in dataclasses.fields(self)}
        return User(**each)


def ends(event: AccessEvent, items: int) -> tuple[np.ndarray, np.ndarray]:
    """`[n]` the first and the last of the work-items, of so many of a group, that access each element together."""
    if event.lanes.shape:
        each = event.items(items).astype(np.int64)
        return each, each
    return np.zeros(1, np.int64), np.full(1, items - 1)


class _Users(NamedTuple):
    """The last and the first user of each lane's element."""

    last: Stamp
    first: Stamp

    def only(self, low: Any, high: Any, size: int) -> jax.Array:
        """True if all users, and those from `low` to `high`, are one, where `size` work-items count as one."""
        same = (part(self.last.item, size) == part(low, size)) & (part(self.first.item, size) == part(low, size))
        return same & (part(low, size) == part(high, size))


class _Conflicting(NamedTuple):
    """The earlier users of lanes' elements, and which lanes must not meet them: `[...]` as the lanes.

    Attributes:
      seen: the earlier users.
      inner: the same by the epochs of sub-groups.
      group: of each lane; 0 where the memory is a group's own.
      far, across, within: true if one is of another group, of another sub-group, another work-item of the same.
    """

    seen: _Users
    inner: _Users
    group: jax.Array
    far: jax.Array
    across: jax.Array
    within: jax.Array


def stamped(layout: StampFormat, user: User, count: int) -> list[jax.Array]:
    """What lanes leave at their elements, flat: a last and a first stamp; of four, also those by sub-group epochs."""
    group = user.group if layout.groups > 1 else jnp.zeros_like(user.group)
    found = []
    for epoch in (user.epoch, user.sub_epoch)[: count // 2]:
        last = layout.last(group, epoch, jnp.asarray(user.last), user.barriers)
        first = layout.first(group, epoch, jnp.asarray(user.first), user.barriers)
        found += [last.reshape(-1), first.reshape(-1)]
    return found


def judged(user: User, read: Sequence[jax.Array], layout: StampFormat, reach: int | jax.Array, lanes: int) -> jax.Array:
    """int8 as the lanes: the case of each lane's conflict with earlier users, or -1.

    Args:
      user: the lanes.
      read: stamps of the earlier users of each lane's element: the last and the first, and those by sub-group epochs if
        such are kept.
      layout: how they are put together.
      reach: within whom two users need no order, see `conflicts.reach`.
      lanes: of a sub-group.
    """
    met = _met(user, read, layout, lanes)
    fenced = _earlier(met, user, lanes).barriers < user.barriers if layout.fenced else None
    case = jnp.full(met.far.shape, -1, np.int8)
    ways = (
        (conflicts.SUB_GROUP, met.within, ITEMS, FENCED_ITEMS),
        (conflicts.GROUP, met.across, SUB_GROUPS, FENCED_SUB_GROUPS),
        (conflicts.DEVICE, met.far, GROUPS, GROUPS),
    )
    for wider, unordered, plain, fenced_case in ways:
        found = np.int8(plain) if fenced is None else jnp.where(fenced, np.int8(fenced_case), np.int8(plain))
        if not isinstance(reach, int):
            case = jnp.where(unordered & (reach < wider), found, case)
        elif reach < wider:
            case = jnp.where(unordered, found, case)
    return case


def conflicting(user: User, read: Sequence[jax.Array], layout: StampFormat, lanes: int, turned: Any) -> Conflict:
    """The conflicts of lanes, of which it is known that they have one.

    Args:
      user, read, layout, lanes: as of `judged`.
      turned: true if the lanes are at the first spot of their pair.
    """
    met = _met(user, read, layout, lanes)
    earlier = _earlier(met, user, lanes)
    other = jnp.where(met.across, part(earlier.item, lanes) != part(user.first, lanes), earlier.item != user.first)
    later = jnp.where(other | met.far, user.first, user.last)
    home = earlier.group if layout.groups > 1 else user.group
    before = earlier.barriers if layout.fenced else user.barriers
    way = jnp.broadcast_to(jnp.asarray(turned).astype(np.int64), user.group.shape)
    return Conflict(home, earlier.item, user.group, later, user.element, user.barriers, way, before)


def _met(user: User, read: Sequence[jax.Array], layout: StampFormat, lanes: int) -> _Conflicting:
    seen = _Users(layout.read_last(read[0]), layout.read_first(read[1]))
    inner = _Users(layout.read_last(read[2]), layout.read_first(read[3])) if len(read) > 2 else seen
    group = user.group if layout.groups > 1 else jnp.zeros_like(user.group)
    used = seen.last.used & user.active
    far = used & ((seen.last.group != group) | (seen.first.group != group))
    met = used & ~far & (seen.last.epoch == user.epoch)
    across = met & ~seen.only(user.first, user.last, lanes)
    current = user.sub_epoch if len(read) > 2 else user.epoch
    near = used & ~far & ~across & (inner.last.group == group) & (inner.last.epoch == current)
    within = near & inner.last.used & ~inner.only(user.first, user.last, 1)
    return _Conflicting(seen, inner, group, far, across, within)


def _earlier(met: _Conflicting, user: User, lanes: int) -> Stamp:
    """For each lane an earlier user that it conflicts with."""
    seen, inner, far, across = met.seen, met.inner, met.far, met.across
    alone = user.first == user.last
    by_group = far & (seen.last.group == met.group)
    by_sub_group = across & alone & (part(seen.last.item, lanes) == part(user.first, lanes))
    by_item = ~far & ~across & alone & (inner.last.item == user.first)
    near = [jnp.where(far | across, a, b) for a, b in zip(seen.last, inner.last, strict=True)]
    others = [jnp.where(far | across, a, b) for a, b in zip(seen.first, inner.first, strict=True)]
    turn = by_group | by_sub_group | by_item
    return Stamp(*(jnp.where(turn, b, a) for a, b in zip(near, others, strict=True)))


class Found(NamedTuple):
    """What was found of a pair: see `WatchList.zeros`.

    Attributes:
      conflicts: int64 `[CASES]`.
      differing: an int64.
      examples: int64 `[CASES, fields of a conflict]`.
    """

    conflicts: jax.Array
    differing: jax.Array
    examples: jax.Array


def added(
    found: Found, case: jax.Array, differs: Callable[[], jax.Array], example: Callable[[jax.Array], Conflict]
) -> Found:
    """What was found of a pair, with the lanes of one more access; of each case the first one is the example.

    Args:
      found: up to it.
      case: of each lane, see `judged`.
      differs: gives which of the lanes store another value.
      example: gives the conflicts of the lanes at flat positions `[k]`.
    """

    def add(found: Found) -> Found:
        counts = jnp.stack([(case == np.int8(c)).sum(dtype=np.int64) for c in range(CASES)])
        new = (found.conflicts == 0) & (counts > 0)
        differing = found.differing + ((case >= 0) & differs()).sum(dtype=np.int64)
        examples = lax.cond(new.any(), first, lambda new: found.examples, new)
        return Found(found.conflicts + counts, differing, examples)

    def first(new: jax.Array) -> jax.Array:
        at = jnp.stack([bits.first_of(case == np.int8(c)) for c in range(CASES)])
        return jnp.where(new[:, None], jnp.stack(example(at), axis=1), found.examples)

    after: Found = lax.cond(bits.any_of(case >= 0), add, lambda found: found, found)
    return after
