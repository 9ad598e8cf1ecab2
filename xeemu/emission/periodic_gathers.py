"""Periodic gathers: look-ups by a remainder, which work-items side by side make one element after the other.

What some periods look up is found once, and copied side by side. A gather takes each element for itself, and divides.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import fusion_barriers, positions
from xeemu.emission.chunk import Chunk
from xeemu.emission.references import Reference
from xeemu.emission.values import Split
from xeemu.knowledge.forms import Form


@dataclasses.dataclass(frozen=True, eq=False)
class PeriodicGather:
    """The places of elements that lie side by side, those of one group after the other's.

    Attributes:
      form, dtype: of the number of which they are remainders, with an `[n]` pattern.
      divisor: of the remainder.
      offset, sign: the place is `offset + sign * remainder`.
      groups: how many there are.
      elements: of a group.
      found: elements of the periods that are found: whole periods, and whole vectors.
    """

    form: Form
    dtype: np.dtype
    divisor: int
    offset: int
    sign: int
    groups: int
    elements: int
    found: int

    def first(self, base: jax.Array | None, chunk: Chunk) -> jax.Array:
        """The remainder that the first place follows from, of a number whose form has a base or none."""
        number = positions.start(self.form, base, self.dtype, chunk)
        return lax.rem(number, number.dtype.type(self.divisor)).astype(np.int32)

    def read(self, data: jax.Array, first: jax.Array) -> jax.Array:
        """`[groups, elements]` of a memory."""
        rest = lax.rem(first + np.arange(self.found, dtype=np.int32), np.int32(self.divisor))
        places = rest.dtype.type(self.offset) + rest.dtype.type(self.sign) * rest
        periods = data.reshape(-1).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
        count = self.groups * self.elements
        copies = jnp.broadcast_to(fusion_barriers.settled(periods), (-(-count // self.found), self.found))
        return copies.reshape(-1)[:count].reshape(self.groups, self.elements)


def of_reference(reference: Reference, split: Split | None, chunk: Chunk) -> PeriodicGather | None:
    """The places of a load by one index that is a remainder, if they are such and it is worth while.

    Args:
      reference: the elements.
      split: the division that gave the index, if one did.
      chunk: the work-groups.
    """
    storage, figures = reference.storage, chunk.target.cycles
    if figures is None or chunk.cores > figures.most_cores or split is None or not split.remains:
        return None
    if storage.space != "global" or storage.unit is not None or not reference.address.proved:
        return None
    if not split.divisor & (split.divisor - 1):  # by a power of two is no division, and found as fast
        return None
    form = _number(reference, split, chunk)
    both = math.lcm(split.divisor, figures.vector)
    found, elements = both * -(-figures.fewest // both), reference.elements.count
    if form is None or figures.copies * found > chunk.count * elements:
        return None
    return PeriodicGather(form, split.of.dtype, split.divisor, split.offset, split.sign, chunk.count, elements, found)


def _number(reference: Reference, split: Split, chunk: Chunk) -> Form | None:
    """The form of the number that is divided, if it is one more from each element to the next, over all groups."""
    elements, known = reference.elements, split.of.known.form
    if known is None or not elements.all or not elements.count or split.of.shape != elements.shape:
        return None
    form = elements.form(known)
    if (np.diff(form.pattern) != 1).any() or (chunk.count > 1 and chunk.linear_step(form) != elements.count):
        return None
    return form
