"""Relations between the events of many executions at once: the algebra in which a memory model is written.

`a | b`, `a & b`, `a - b` are union, intersection and difference, `a @ b` is the sequence "first a, then b". A set of
events is an int, bit k for event k.
"""

from collections.abc import Iterable, Iterator

import numpy as np

MOST_EVENTS = 32  # as many as a row has bits


class Relation:
    """A binary relation on the same events in each of a batch of executions.

    Attributes:
      rows: `[..., N]` uint32, bit j of row i saying that event i is related to event j. Leading axes are executions
        and broadcast: a relation that all executions share has none.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: np.ndarray):
        self.rows = rows

    @staticmethod
    def of(pairs: Iterable[tuple[int, int]], size: int) -> "Relation":
        """The relation of these pairs of events, in all executions."""
        rows = np.zeros(size, np.uint32)
        for i, j in pairs:
            rows[i] |= np.uint32(1 << j)
        return Relation(rows)

    @staticmethod
    def identity(size: int) -> "Relation":
        """Each event related to itself."""
        return Relation.of(((i, i) for i in range(size)), size)

    @property
    def size(self) -> int:
        """Number of events."""
        return self.rows.shape[-1]

    def __or__(self, other: "Relation") -> "Relation":
        return Relation(self.rows | other.rows)

    def __and__(self, other: "Relation") -> "Relation":
        return Relation(self.rows & other.rows)

    def __sub__(self, other: "Relation") -> "Relation":
        return Relation(self.rows & ~other.rows)

    def __matmul__(self, other: "Relation") -> "Relation":
        rows = np.zeros(np.broadcast_shapes(self.rows.shape, other.rows.shape), np.uint32)
        for k in range(self.size):
            reach = self.rows >> k & 1
            if reach.any():
                rows |= -reach & other.rows[..., k : k + 1]
        return Relation(rows)

    def __getitem__(self, execution: int) -> "Relation":
        """The relation in one execution of the batch."""
        return Relation(self.rows if self.rows.ndim == 1 else self.rows[execution].copy())

    def between(self, first: int, second: int) -> "Relation":
        """The pairs whose first event is in the one set and whose second is in the other."""
        chosen = -(np.uint32(first) >> np.arange(self.size, dtype=np.uint32) & 1) & np.uint32(second)
        return Relation(self.rows & chosen)

    def maybe(self) -> "Relation":
        """The relation or nothing at all: its union with the identity."""
        return self | Relation.identity(self.size)

    def inverse(self) -> "Relation":
        """The pairs turned round."""
        rows, events = np.zeros_like(self.rows), np.arange(self.size, dtype=np.uint32)
        for k in range(self.size):
            rows |= (self.rows[..., k : k + 1] >> events & 1) << np.uint32(k)
        return Relation(rows)

    def closure(self) -> "Relation":
        """The least transitive relation that holds it (Warshall's algorithm)."""
        rows = self.rows.copy()
        for k in range(self.size):
            rows |= -(rows >> k & 1) & rows[..., k : k + 1]
        return Relation(rows)

    def irreflexive(self) -> np.ndarray:
        """`[...]` bool: true if no event is related to itself."""
        diagonal = self.rows >> np.arange(self.size, dtype=np.uint32) & 1
        return np.asarray(~diagonal.any(-1))

    def acyclic(self) -> np.ndarray:
        """`[...]` bool: true if no event comes back to itself."""
        return self.closure().irreflexive()

    def empty(self) -> np.ndarray:
        """`[...]` bool: true if no events are related."""
        return np.asarray(~self.rows.any(-1))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The pairs, of a relation in one execution."""
        return ((i, j) for i, row in enumerate(self.rows.tolist()) for j in range(self.size) if row >> j & 1)
