"""Writing: steps one after the other, with the registers that they use (see `steps`)."""

from collections.abc import Sequence
from typing import Any

from xeemu.stepping.steps import Operand, Operation, Register, Step, Straight


class Writer:
    """Writes steps.

    Attributes:
      by_line: true if straight code is of one line of the source each, for somebody who watches what lines compute.
      steps: those that are written.
      registers: all that were asked for.
      starts: of those that hold something known from the start, what that is.
      scopes: if `by_line`, for the number of each step that is not for all work-items the mask of those it is for.
      scope: that mask, of the next steps.
      operations: straight code that is not yet a step.
    """

    def __init__(self, by_line: bool):
        self.by_line = by_line
        self.steps: list[Step] = []
        self.registers: list[Register] = []
        self.starts: list[tuple[Register, str, int | None]] = []
        self.scopes: dict[int, Register] = {}
        self.scope: Register | None = None
        self.operations: list[Operation] = []
        self._starts: dict[tuple[str, int | None], Register] = {}

    def register(self, like: Any, lanes: bool) -> Register:
        """A new register for something of a shape and dtype, which each work-item has for itself or not."""
        made = Register(len(self.registers), lanes, tuple(like.shape), like.dtype)
        self.registers.append(made)
        return made

    def given(self, like: Any, lanes: bool, what: str, number: int | None) -> Register:
        """The register that holds something known from the start."""
        if (what, number) not in self._starts:
            self._starts[what, number] = self.register(like, lanes)
            self.starts.append((self._starts[what, number], what, number))
        return self._starts[what, number]

    def close(self, moves: Sequence[tuple[Register, Operand]] = ()) -> None:
        """Ends straight code."""
        if self.operations or moves:
            self._append(Straight(tuple(self.operations), tuple(moves)))
        self.operations = []

    def append(self, step: Step) -> int:
        """Adds a step and gives its place."""
        self.close()
        self._append(step)
        return len(self.steps) - 1

    def _append(self, step: Step) -> None:
        if self.scope is not None:
            self.scopes[len(self.steps)] = self.scope
        self.steps.append(step)

    def here(self) -> int:
        """The number of the next step."""
        self.close()
        return len(self.steps)

    def enter(self, mask: Register | None) -> None:
        """What follows is for the work-items of a mask; None for all."""
        if mask is not self.scope:
            self.close()
            self.scope = mask

    def compute(self, operation: Operation) -> None:
        """Adds an operation to the straight code, or begins it anew where it has another line."""
        if self.by_line and self.operations:
            before, origin = self.operations[-1].origin, operation.origin
            if origin.begins_anew(before) if origin is not None else before is not None:
                self.close()
        self.operations.append(operation)
