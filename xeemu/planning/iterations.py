"""Iterations: what the accesses of a loop's body have to know of an iteration that is emitted with others."""

import dataclasses


@dataclasses.dataclass(frozen=True, eq=False)
class Iteration:
    """An iteration of a loop that is emitted together with others of its block.

    Accesses are named by the numbers of their operations in the loop's body.

    Attributes:
      at_once: true if it stands for all iterations of the block, as one operation for all of them, in which a branch
        would take both sides and no loop can be.
      trusted: loads that are known to be within bounds.
      gathered: loads of which it is known that some iteration is not.
      in_line: loads whose windows are read along a line of the memory, as those of the next iterations are.
      deferred: updates that are made later, together with those of the other iterations.
      scattered: updates that join the other iterations' in one scatter.
    """

    at_once: bool
    trusted: frozenset[int] = frozenset()
    gathered: frozenset[int] = frozenset()
    in_line: frozenset[int] = frozenset()
    deferred: frozenset[int] = frozenset()
    scattered: frozenset[int] = frozenset()


ALONE = Iteration(at_once=False)
"""One that is emitted for itself, or no iteration at all."""
