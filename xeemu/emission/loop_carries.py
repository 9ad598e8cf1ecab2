"""Loop carries: what goes from one iteration to the next, elements of memories as values where that can be."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from xeemu.emission import packing, promoted, scalar_promotion, subgroups
from xeemu.emission.context import Emitter
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.promoted import Promoted
from xeemu.emission.scalar_promotion import PromotedPlace
from xeemu.emission.values import Buffer, Chunk, Emitted
from xeemu.ir.program import Constant, Region
from xeemu.knowledge.analysis import Known, Plan


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What a loop carries.

    Attributes:
      outside: the items before the loop.
      items: the same, with elements in place of memories where that can be.
      known: what is known of them in every iteration.
      places: by number the memories that may be values.
    """

    outside: Sequence[Item]
    items: Sequence[Item]
    known: Sequence[Known]
    places: dict[int, PromotedPlace]

    def first(self, chunk: Chunk) -> list[Any]:
        """What is carried into the first iteration."""
        return self.packed(self.items, chunk)

    def packed(self, items: Sequence[Item], chunk: Chunk) -> list[Any]:
        """What is carried of the items after an iteration."""
        return packing.packed(items, self.items, self.known, chunk)

    def inside(self, packed: Sequence[Any]) -> list[Item]:
        """The items before an iteration, from what is carried into it."""
        return packing.unpacked(packed, self.items, self.known)

    def after(self, packed: Sequence[Any], known: Sequence[Known], chunk: Chunk) -> list[Item]:
        """The items after the loop, of which that much is known; what was taken out of memories is back in them."""
        return [
            promoted.given_back(item, chunk)
            if isinstance(item, Promoted) and not isinstance(before, Promoted)
            else item
            for item, before in zip(packing.unpacked(packed, self.items, known), self.outside, strict=True)
        ]

    @property
    def users(self) -> frozenset[int]:
        """The numbers of the operations of the loop's body that only use memories that it carries as values."""
        users: dict[bool, set[int]] = {True: set(), False: set()}
        for k, item in enumerate(self.items):
            if isinstance(item, Buffer) and k in self.places:
                users[isinstance(item, Promoted)] |= self.places[k].users
        return frozenset(users[True] - users[False])


def of_loop(
    emitter: Emitter,
    body: Region,
    plans: Sequence[Plan],
    seen: Sequence[Item],
    carries: Sequence[Item],
    predicate: Region | None = None,
) -> Carried:
    """What a loop carries; takes elements out of memories.

    Args:
      emitter: emits what that needs.
      body: the loop's, whose inputs are carries, and what differs from iteration to iteration.
      plans: of the predicate, if there is one, and of the body.
      seen: what the body sees of what is around the loop.
      carries: the items before the loop.
      predicate: of a `while`.
    """
    context = emitter.context
    known = [plans[-1].values[v] for v in body.inputs[: len(carries)]]
    # None where somebody has to see every access.
    memories = not context.observer.watches and any(
        isinstance(c, Buffer) and not isinstance(c, Promoted) for c in carries
    )
    dimensions = context.dimensions
    places = scalar_promotion.of_loop(body, plans, len(carries), dimensions, predicate) if memories else {}
    by_lanes = subgroups.of_loop(body, len(carries), context.chunk.geometry)
    carries = [
        _by_sub_groups(item, by_lanes[k], context.chunk) if k in by_lanes and known[k].form is None else item
        for k, item in enumerate(carries)
    ]
    before = Carried(carries, carries, known, places)
    if not places:
        return before
    inputs = [*seen, *before.inside(before.first(context.chunk))]
    items = list(carries)
    for k, place in places.items():
        if not isinstance(buffer := as_memory(carries[k]), Promoted):
            indices = _indices(emitter, place, body, plans[-1], inputs)
            items[k] = promoted.taken(buffer, place, indices, context.storing(known[k])) or buffer
    return dataclasses.replace(before, items=items)


def _by_sub_groups(item: Item, lanes: int, chunk: Chunk) -> Item:
    """A value as it is held by sub-groups; a memory as it is."""
    if isinstance(item, Buffer):
        return item
    return dataclasses.replace(item, computed=subgroups.full(item, lanes, chunk), lanes=lanes, some=None, shared=None)


def _indices(emitter: Emitter, place: PromotedPlace, body: Region, plan: Plan, inputs: Sequence[Item]) -> list[Emitted]:
    """The index of a place from what is there before the loop."""
    if place.known:
        arrays = [a.array if isinstance(a, Constant) else a for a in place.indices]
        return [Emitted(v, a.shape, a.dtype) for v, a in zip(place.values, arrays, strict=True)]
    return [as_value(item) for item in emitter.needed(body, plan, inputs, place.indices)]
