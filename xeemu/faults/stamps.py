"""Stamps: who used an element last, where and when, in one int64, so that a scatter of maxima keeps the latest.

Of every element two stamps are kept: one is greatest for the last work-item, the other for the first. If both name one
work-item, no other has used the element in that epoch.

A stamp holds, from its high bits down: the work-group (global memory only), the epoch, the work-item, and how many
barriers of any memory the group has passed (only where there are some that do not order the memory).
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_BITS = 63
NOBODY = np.int64(-1)


class Stamp(NamedTuple):
    """A stamp taken apart; int64 arrays of one shape, meaningless where `used` does not hold.

    Attributes:
      used: true if anybody has used the element.
      group: linear id; 0 in local memory.
      epoch: the epoch of the memory.
      item: linear local id.
      barriers: that the group had passed; 0 if that is not kept.
    """

    used: jax.Array
    group: jax.Array
    epoch: jax.Array
    item: jax.Array
    barriers: jax.Array


@dataclasses.dataclass(frozen=True)
class StampFormat:
    """How stamps of a memory are put together.

    Attributes:
      groups: of the launch if it matters which group uses an element, else 1.
      items: of a group.
      fenced: true if the barriers passed are kept beside the epoch.
    """

    groups: int
    items: int
    fenced: bool

    @property
    def _group_bits(self) -> int:
        return (self.groups - 1).bit_length()

    @property
    def _item_bits(self) -> int:
        return (self.items - 1).bit_length()

    @property
    def _barrier_bits(self) -> int:
        return (_BITS - self._group_bits - self._item_bits) // 2 if self.fenced else 0

    @property
    def _epoch_bits(self) -> int:
        return _BITS - self._group_bits - self._item_bits - self._barrier_bits

    @property
    def most_barriers(self) -> int:
        """Barriers of a group that can be told apart."""
        return int(2 ** min(self._epoch_bits, self._barrier_bits if self.fenced else _BITS) - 1)

    def last(self, group: jax.Array, epoch: jax.Array, item: jax.Array, barriers: jax.Array) -> jax.Array:
        """Stamps of which the greatest is that of the last group, epoch and work-item."""
        return self._packed(group, epoch, item, barriers)

    def first(self, group: jax.Array, epoch: jax.Array, item: jax.Array, barriers: jax.Array) -> jax.Array:
        """Stamps of which the greatest is that of the first group, its last epoch, and the first work-item."""
        return self._packed(_mask(self._group_bits) - group, epoch, _mask(self._item_bits) - item, barriers)

    def _packed(self, group: jax.Array, epoch: jax.Array, item: jax.Array, barriers: jax.Array) -> jax.Array:
        packed = (group << self._epoch_bits) | epoch
        packed = (packed << self._item_bits) | item
        return (packed << self._barrier_bits) | barriers if self.fenced else packed

    def read_last(self, stamp: jax.Array) -> Stamp:
        """What a stamp of `last` says."""
        fields = []
        rest = stamp
        for bits in (self._barrier_bits, self._item_bits, self._epoch_bits, self._group_bits):
            fields.append(rest & _mask(bits))
            rest = rest >> bits
        barriers, item, epoch, group = fields
        return Stamp(stamp != NOBODY, group, epoch, item, barriers)

    def read_first(self, stamp: jax.Array) -> Stamp:
        """What a stamp of `first` says."""
        read = self.read_last(stamp)
        group, item = _mask(self._group_bits) - read.group, _mask(self._item_bits) - read.item
        return read._replace(group=group, item=item)


def _mask(bits: int) -> np.int64:
    return np.int64((1 << bits) - 1)


def blank(elements: int) -> jax.Array:
    """`[elements]` stamps of elements that nobody has used."""
    return jnp.full(elements, NOBODY)
