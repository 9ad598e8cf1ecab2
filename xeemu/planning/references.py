"""References: all that is known of an access before the program runs, by which its plan is made."""

import dataclasses

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Address, Elements
from xeemu.knowledge.analysis import Facts
from xeemu.planning.storage import Storage


@dataclasses.dataclass(frozen=True, eq=False)
class Reference:
    """A reference of the program to elements of a memory.

    Attributes:
      storage: how the memory is stored.
      address: where the elements lie in it.
      masked: true if a mask that is known only when the program runs leaves elements out.
      varying: true if groups have values of their own.
    """

    storage: Storage
    address: Address
    masked: bool
    varying: bool

    @property
    def elements(self) -> Elements:
        """Those that a mask leaves in, as far as it is known."""
        return self.address.elements

    @classmethod
    def of_op(cls, op: Op, storage: Storage, facts: Facts) -> "Reference":
        """That of an access of the program as it is analysed, of which all groups execute it."""
        view, masked = op.attributes["access"].view, addressing.is_masked(op, facts.value)
        varying = ops.changes(op) or any(facts.values[given].varying for given in ops.value_results(op))
        storage = storage if view is None else storage.viewed(view)
        return cls(storage, addressing.foreseen(op, facts, storage.copies), masked, varying)

    @property
    def always(self) -> bool:
        """True if every element surely takes part and is within bounds."""
        return self.address.proved and not self.masked

    @property
    def is_empty(self) -> bool:
        """True if nothing is accessed: there are no elements in the memory, or none are left in."""
        return not self.elements.count or not self.storage.elements
