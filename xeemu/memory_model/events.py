"""Events: what happens once in an execution of a small program."""

import dataclasses

from xeemu.memory_model.statements import Location, Statement


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happens once in an execution: an access, a fence, one side of a barrier, or an initial value.

    Attributes:
      item: number of the work-item; None for an initial value.
      index: number of the statement in the work-item, or of the location.
      statement: what is executed; of a compare_exchange that fails, the load that it is. None for an initial value.
      location: that is accessed; None for a fence.
      reads, writes: true if it does.
      side: of a barrier, `"arrive"` or `"leave"`; else empty.
    """

    item: int | None
    index: int
    statement: Statement | None
    location: Location | None
    reads: bool
    writes: bool
    side: str = ""

    @property
    def order(self) -> str:
        """Its memory order; empty if it is a plain access."""
        ordering = self.statement.ordering if self.statement else None
        return ordering.order if ordering else ""

    def __str__(self) -> str:
        if self.statement is None:
            assert self.location is not None
            return f"{self.location.name} is {self.location.initial} at first"
        return f"{self.statement}{f': {self.side}' if self.side else ''}"
