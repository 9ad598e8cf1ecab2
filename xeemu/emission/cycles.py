"""Cycles: look-ups by a remainder, which work-items side by side make one element after the other, round and round.

What some rounds look up is found once, and copied side by side. A gather takes each element for itself, and divides.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import locating, opacity
from xeemu.emission.locating import Lanes
from xeemu.emission.values import Chunk, Emitted


@dataclasses.dataclass(frozen=True, eq=False)
class Cycle:
    """The places of elements that lie side by side, those of one group after the other's.

    Attributes:
      first: the remainder that the first place follows from.
      divisor: of the remainder.
      offset, sign: the place is `offset + sign * remainder`.
      groups: how many there are.
      elements: of a group.
      found: elements of the rounds that are found: whole rounds, and whole vectors.
    """

    first: jax.Array
    divisor: int
    offset: int
    sign: int
    groups: int
    elements: int
    found: int

    def read(self, data: jax.Array) -> jax.Array:
        """`[groups, elements]` of a memory."""
        rest = lax.rem(self.first + np.arange(self.found, dtype=np.int32), np.int32(self.divisor))
        places = rest.dtype.type(self.offset) + rest.dtype.type(self.sign) * rest
        rounds = data.reshape(-1).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
        count = self.groups * self.elements
        copies = jnp.broadcast_to(opacity.settled(rounds), (-(-count // self.found), self.found))
        return copies.reshape(-1)[:count].reshape(self.groups, self.elements)


def of_index(index: Emitted, where: Lanes, chunk: Chunk) -> Cycle | None:
    """The places of an access by one index, if they are such and it is worth while.

    Args:
      index: within bounds.
      where: the elements of the access.
      chunk: the work-groups.
    """
    split, figures = index.split, chunk.target.cycles
    if (
        figures is None
        or chunk.cores > figures.most_cores
        or split is None
        or not split.remains
        or not where.all
        or split.of.shape != where.shape
    ):
        return None
    if not split.divisor & (split.divisor - 1):  # by a power of two is no division, and found as fast
        return None
    form = None if split.of.known.form is None else where.elements.form(split.of.known.form)
    if form is None or not where.count or (np.diff(form.pattern) != 1).any():
        return None
    if chunk.count > 1 and chunk.linear_step(form) != where.count:
        return None
    number = locating.start(form, split.of.base, split.of.dtype, chunk)
    first = lax.rem(number, number.dtype.type(split.divisor)).astype(np.int32)
    both = math.lcm(split.divisor, figures.vector)
    found = both * -(-figures.fewest // both)
    if figures.copies * found > chunk.count * where.count:
        return None
    return Cycle(first, split.divisor, split.offset, split.sign, chunk.count, where.count, found)
