"""References: what decides on how a memory operation is carried out, all of it known before the program runs."""

import dataclasses

from xeemu.emission.storage import Storage
from xeemu.knowledge.addressing import Address, Elements


@dataclasses.dataclass(frozen=True, eq=False)
class Reference:
    """A reference of the program to elements of a memory.

    Attributes:
      storage: how the memory is held.
      address: where the elements lie in it.
      masked: whether a mask that is known only when the program runs leaves elements out.
      varying: whether groups have values of their own.
    """

    storage: Storage
    address: Address
    masked: bool
    varying: bool

    @property
    def elements(self) -> Elements:
        """Those that a mask leaves in, as far as it is known."""
        return self.address.elements

    @property
    def is_empty(self) -> bool:
        """Whether nothing is accessed: there are no elements in the memory, or none are left in."""
        return not self.elements.count or not self.storage.elements
