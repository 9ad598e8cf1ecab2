"""Iteration blocks: how the iterations of a loop are cut into blocks."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Blocking:
    """Iterations of a loop by blocks.

    Attributes:
      size: iterations of a block.
      looped: full blocks that a loop goes over; 0 if there is one at most, which is emitted as it is.
      unrolled: of these so many are emitted one after the other.
      tail: iterations of each block that comes after them.
    """

    size: int
    looped: int
    unrolled: int
    tail: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Iterations of each block that is emitted."""
        return (self.size, *self.tail) if self.looped else self.tail


def of_length(length: int, size: int, unrolled: int = 1) -> Blocking:
    """The blocks of so many iterations; what is left at the end is a shorter one."""
    full, rest = divmod(length, size)
    looped = full if full > 1 else 0
    tail = tuple(n for n in (size if full == 1 else 0, rest) if n)
    return Blocking(size, looped, min(unrolled, looped), tail)
