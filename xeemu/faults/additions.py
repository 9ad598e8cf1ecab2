"""Additions: atomic sums of floats whose result depends on the order in which work-items come.

Float addition rounds, so that a sum is another one in another order. Nothing depends on it where one work-item alone
adds to an element, where barriers order those who do, or where all that is added are integers and the sums of their
amounts are integers that the type holds.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import bits
from xeemu.emission.observer import AccessEvent
from xeemu.faults import group_conflicts, races
from xeemu.faults.races import User
from xeemu.faults.stamps import StampFormat, blank
from xeemu.knowledge import conflicts
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

_ADDING = frozenset(("add", "sub"))


class ConcurrentAdditions(NamedTuple):
    """An example of two work-items that add to one element: linear ids of both, the later one's last, and where."""

    earlier_group: Any
    earlier_item: Any
    later_group: Any
    later_item: Any
    element: Any


class Sums(NamedTuple):
    """What was added to a memory.

    Attributes:
      last, first: `[elements]` stamps of who did, see `stamps`.
      amount: `[elements]` the sum of the absolute values, infinite if there was a fraction.
    """

    last: jax.Array
    first: jax.Array
    amount: jax.Array


class State(NamedTuple):
    """What loops and branches carry.

    Attributes:
      found: for each operation an int64 count and an example, see `ConcurrentAdditions`.
      sums: of each memory; of a local one empty between chunks.
    """

    found: list[tuple[jax.Array, jax.Array]]
    sums: list[Sums]


@dataclasses.dataclass(frozen=True, eq=False)
class Additions:
    """The atomic sums of a program that may depend on the order.

    Attributes:
      operations: those that add.
      geometry: the sizes of the launch.
    """

    operations: tuple[MemoryOperation, ...]
    geometry: Geometry

    @functools.cached_property
    def memories(self) -> tuple[Allocation, ...]:
        return tuple(dict.fromkeys(o.access_site.memory for o in self.operations))

    def layout(self, memory: Allocation) -> StampFormat:
        """How the stamps of a memory are put together."""
        return StampFormat(self.geometry.groups if memory.space == "global" else 1, self.geometry.items, False)

    @property
    def most_barriers(self) -> int:
        """Barriers of a group that can be told apart."""
        return min((self.layout(memory).most_barriers for memory in self.memories), default=2**62)

    def zeros(self) -> State:
        """The state before the first chunk."""
        count, example = jnp.zeros((), np.int64), jnp.zeros(len(ConcurrentAdditions._fields), np.int64)
        sizes = [memory.elements if memory.space == "global" else 0 for memory in self.memories]
        return State([(count, example) for _ in self.operations], list(map(_nothing, sizes)))

    def started(self, state: State, groups: int) -> State:
        """The state at the start of a chunk of so many groups."""
        return state._replace(
            sums=[
                sums if memory.space == "global" else _nothing(groups * memory.elements)
                for memory, sums in zip(self.memories, state.sums, strict=True)
            ]
        )

    def closed(self, state: State) -> State:
        """The state between chunks."""
        kept = zip(self.memories, state.sums, strict=True)
        return state._replace(sums=[sums if memory.space == "global" else _nothing(0) for memory, sums in kept])


def of_tree(tree: AccessTree, operations: Sequence[MemoryOperation]) -> Additions | None:
    """The atomic sums of floats that are not proved to have one work-item for each element; None without any."""
    adding: dict[Allocation, list[MemoryOperation]] = {}
    for operation in operations:
        memory = operation.access_site.memory
        if (
            operation.access_site.op == "atomic"
            and operation.name in _ADDING
            and jnp.issubdtype(memory.dtype, jnp.inexact)
        ):
            adding.setdefault(memory, []).append(operation)
    left = [uses for uses in adding.values() if not group_conflicts.have_one_user(uses, tree)]
    # An unrolled loop makes several of a line, and a body that is walked twice several of an operation.
    found = {operation.key: operation for uses in left for operation in uses}
    return Additions(tuple(found.values()), tree.geometry) if found else None


def added(
    additions: Additions, state: State, event: AccessEvent, user: User, values: jax.Array, contents: jax.Array
) -> State:
    """The state after an atomic addition.

    Args:
      additions: those of the program.
      state: before.
      event: the operation.
      user: who adds where.
      values: `[G or 1, n or 1]` what is added.
      contents: `[G, n]` what was there before.
    """
    number = next(n for n, o in enumerate(additions.operations) if o.key == (event.facts, event.number))
    memory = additions.operations[number].access_site.memory
    slot, layout = additions.memories.index(memory), additions.layout(memory)
    shape = user.place.shape
    amount = jnp.broadcast_to(_amount(values) + jnp.where(_amount(contents) < jnp.inf, 0, jnp.inf), shape)
    group = user.group if layout.groups > 1 else jnp.zeros_like(user.group)
    target = jnp.where(user.active, user.place, state.sums[slot].last.size).reshape(-1)
    last = layout.last(group, user.epoch, jnp.asarray(user.last), user.barriers)
    first = layout.first(group, user.epoch, jnp.asarray(user.first), user.barriers)
    old = state.sums[slot]
    new = Sums(
        old.last.at[target].max(last.reshape(-1), mode="drop"),
        old.first.at[target].max(first.reshape(-1), mode="drop"),
        old.amount.at[target].add(amount.reshape(-1), mode="drop"),
    )
    read = [stamp[user.place] for stamp in (new.last, new.first)]
    lanes = additions.geometry.items
    case = races.judged(user, read, layout, conflicts.ITEM, lanes)
    hits = (case >= 0) & (new.amount[user.place] >= _limit(memory.dtype))

    def add(found: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        count, kept = found
        at = bits.first_of(hits)
        met = races.conflicting(user.at(at), [r.reshape(-1)[at] for r in read], layout, lanes, False)
        seen = jnp.stack([met.earlier_group, met.earlier_item, met.later_group, met.later_item, met.element])
        return count + hits.sum(), jnp.where(count == 0, seen, kept)

    found, sums = list(state.found), list(state.sums)
    found[number] = lax.cond(bits.any_of(hits), add, lambda unchanged: unchanged, found[number])
    sums[slot] = new
    return State(found, sums)


def _nothing(size: int) -> Sums:
    return Sums(blank(size), blank(size), jnp.zeros(size, np.float32))


def _amount(values: jax.Array) -> jax.Array:
    """The absolute value of integers; infinite for all others."""
    wide = values.astype(np.float32) if values.dtype.itemsize < 4 else values
    return jnp.where(wide == jnp.round(wide), jnp.abs(wide), jnp.inf).astype(np.float32)


def _limit(dtype: Any) -> float:
    """Up to which a floating type holds all integers."""
    return float(2.0 ** (jnp.finfo(dtype).nmant + 1))
