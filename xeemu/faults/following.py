"""Following: the results of operations that may go wrong, as the kernel runs, up to where they matter.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import bits
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import as_value
from xeemu.emission.observer import AccessEvent, ResultEvent
from xeemu.emission.values import Emitted
from xeemu.faults import marks
from xeemu.faults.marks import Mark
from xeemu.faults.paths import KeptResult, Node, Paths, PropagationRule
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op
from xeemu.knowledge.access_tree import Key


class Marking(PropagationRule, Protocol):
    """A rule that also tells what is marked."""

    exact: bool
    """True if the values that unbounded integers would give are followed as well."""
    inside: bool
    """True if it matters to accesses within bounds only."""

    def mark(
        self,
        op: Op,
        number: int | None,
        values: Sequence[jax.Array],
        operands: Sequence[Mark | None],
        result: jax.Array,
        inside: Mark | None,
    ) -> Mark | None:
        """The mark of an operation's result, see `arithmetic.Undefined`."""


class Wrong(NamedTuple):
    """An example of an operation that went wrong.

    Attributes:
      group: linear id.
      item: linear local id.
      first, second: the operands.
      access: 1 + the number, among those followed, of the access that uses the result; 0 if it is none.
      element: linear index into the memory of that access.
    """

    group: Any
    item: Any
    first: Any
    second: Any
    access: Any
    element: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Following:
    """What is followed by one rule.

    Attributes:
      rule: the rule.
      paths: what of the program.
    """

    rule: Marking
    paths: Paths

    @functools.cached_property
    def sources(self) -> tuple[Key, ...]:
        return tuple(self.paths.sources)

    @functools.cached_property
    def accesses(self) -> tuple[Key, ...]:
        return tuple(self.paths.accesses)

    @functools.cached_property
    def numbers(self) -> Mapping[Key, int]:
        """Of each source."""
        return {key: n for n, key in enumerate(self.sources)}

    def zeros(self) -> tuple[jax.Array, jax.Array]:
        """For each source an int64 count of the times that a wrong result mattered, and an example."""
        count = len(self.sources)
        return jnp.zeros(count, np.int64), jnp.zeros((count, len(Wrong._fields)), np.int64)


class Trail:
    """The marks of the values of a chunk, as they are emitted.

    Attributes:
      following: what is followed.
      chunk: the groups.
    """

    def __init__(self, following: Following, chunk: EmittedChunk):
        self.following, self.chunk = following, chunk
        self._marks: dict[Node, Mark] = {}

    @property
    def paths(self) -> Paths:
        return self.following.paths

    def start(self, found: tuple[jax.Array, jax.Array]) -> "State":
        """What is carried when nothing of the chunk was marked yet."""
        count, exact = self.chunk.count, self.following.rule.exact
        return State(found, [marks.blank((count, *v.shape), v.dtype, exact) for _, v in self.paths.kept])

    def on_result(self, told: ResultEvent, state: "State") -> "State":
        """A result of an operation is known."""
        self._renew(told, state)
        for v, item in zip(told.op.results, told.results, strict=True):
            node = (told.facts, v)
            if isinstance(item, Buffer) or node not in self.paths.nodes:
                continue
            mark = self._of(node, self._array(item), state)
            if mark is not None and node in self.paths.decisive:
                state = self._decided(mark, told, state)
            if mark is not None and node in self.paths.kept:
                state = self._keep(self.paths.kept.index(node), mark, state)
        return state

    def on_access(self, event: AccessEvent, op: Op, items: int, state: "State") -> "State":
        """An access uses what may be marked."""
        key = (event.facts, event.number)
        mask = ops.mask(op)
        for number in self.paths.accesses.get(key, ()):
            mark = self._of_operand(event, number, op, state)
            if mark is not None:
                shape = (self.chunk.count, event.lanes.count)
                place = jnp.broadcast_to(event.address.index, shape)
                item = jnp.asarray(event.items(items)) if event.lanes.shape else jnp.zeros(1, np.int64)
                access = self.following.accesses.index(key) + 1
                taken = self._taken(event, items, op.operands[number] is mask)
                state = self._add(_columns(event, mark), taken, item, access, place, state)
        return state

    def _taken(self, event: AccessEvent, items: int, is_mask: bool) -> jax.Array:
        """`[G or 1, n or 1]` the lanes of an access to which an operand matters: a mask to all that come to it."""
        if is_mask:
            return event.executing(items)
        return event.active_lanes(items) if self.following.rule.inside else event.active(items)

    # Marks.

    def _renew(self, told: ResultEvent, state: "State") -> None:
        """Computes the mark of the result of an ordinary operation, or of one that may go wrong."""
        key = (told.facts, told.number)
        number = self.following.numbers.get(key)
        node = (told.facts, told.op.results[0])
        if node not in self.paths.nodes or (told.op.regions and number is None):
            return
        result = self._array(as_value(told.results[0]))
        self._marks.pop(node, None)
        inside = self._of(node, result, state)
        values = [self._array(as_value(o)) for o in told.operands]
        operands = [
            None if isinstance(a, Constant) else self._of((told.facts, a), value, state)
            for a, value in zip(told.op.operands, values, strict=True)
        ]
        result = jnp.broadcast_to(result, (max(a.shape[0] for a in [*values, result]), *result.shape[1:]))
        if ops.of(told.op).is_elementwise or number is not None:
            values = [_beside(value, result) for value in values]
            operands = [o and marks.each(lambda a: _beside(a, result), o) for o in operands]
        mark = self.following.rule.mark(told.op, number, values, operands, result, inside)
        if mark is not None:
            self._marks[node] = mark

    def _of(self, node: Node, value: jax.Array | None, state: "State") -> Mark | None:
        """The mark of a value, which has to be known where it may stand for several."""
        if node not in self.paths.nodes:
            return None
        if (mark := self._marks.get(node)) is not None:
            return mark
        stands = self.paths.stands.get(node, ())
        if len(stands) == 1 and not isinstance(stands[0], KeptResult):
            return self._of(stands[0], value, state)
        if value is None:
            return None
        found = [state.kept[s.number] if isinstance(s, KeptResult) else self._of(s, value, state) for s in stands]
        matching = [marks.matching(value, mark) for mark in found if mark is not None]
        return functools.reduce(lambda a, b: marks.chosen(a.marked, a, b), matching) if matching else None

    def _of_operand(self, event: AccessEvent, number: int, op: Op, state: "State") -> Mark | None:
        """The mark of an operand of an access."""
        operands = [*event.indices, *event.values]
        # A mask that is known only as a part of the lanes has no value here.
        value = self._array(operands[number - 1]) if number <= len(operands) else None
        return self._of((event.facts, op.operands[number]), value, state)

    def _array(self, item: Emitted) -> jax.Array:
        """`[G or 1, ...]`"""
        array = item.array(self.chunk)
        return array if item.known.varying else array[None]

    # What is found.

    def _keep(self, number: int, mark: Mark, state: "State") -> "State":
        old = state.kept[number]
        new = marks.full(mark, old.value.shape)
        kept = list(state.kept)
        kept[number] = jax.tree.map(lambda a, b: b.astype(a.dtype), old, new)
        return state._replace(kept=kept)

    def _decided(self, mark: Mark, told: ResultEvent, state: "State") -> "State":
        """What matters as soon as it is computed."""
        shape = (self.chunk.count, max(int(np.prod(mark.value.shape[1:])), 1))
        running = jnp.ones(1, bool) if told.running is None else told.running
        local = self.chunk.geometry.local_range
        by_item = mark.value.shape[1 : 1 + len(local)] == local
        item = np.arange(shape[1]) // (shape[1] // self.chunk.geometry.items) if by_item else np.zeros(1, np.int64)
        rows = mark.value.shape
        flat = [jnp.broadcast_to(a, rows).reshape(rows[0], -1) for a in mark[1:4]]
        return self._add(flat, running[:, None], jnp.asarray(item), 0, jnp.zeros(shape, np.int64), state)

    def _add(
        self,
        mark: Sequence[jax.Array],
        taken: jax.Array,
        item: jax.Array,
        access: int,
        element: jax.Array,
        state: "State",
    ) -> "State":
        """Counts the elements at fault by their origin, and keeps the first one of each as an example.

        Args:
          mark: `[G or 1, n or 1]` origin and operands of each.
          taken: which matter.
          item: whose they are.
          access: see `Wrong`.
          element: `[G, n]`, see `Wrong`.
          state: before.
        """
        origins, first_operand, second_operand = mark
        hits = jnp.broadcast_to(taken & (origins != marks.NOBODY), element.shape)
        sources = len(self.following.sources)

        def add(found: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            counts, examples = found
            origin = jnp.where(hits, origins - 1, sources).reshape(-1)
            more = jnp.zeros(sources, np.int64).at[origin].add(1, mode="drop")
            first = jnp.full(sources, origin.size).at[origin].min(jnp.arange(origin.size), mode="drop")
            at = jnp.minimum(first, origin.size - 1)
            groups = self.chunk.linear_ids()[:, None]
            parts = [groups, item, first_operand, second_operand, jnp.asarray(access), element]
            flat = [jnp.broadcast_to(part, element.shape).reshape(-1) for part in parts]
            seen = jnp.stack([part[at].astype(np.int64) for part in flat], axis=1)
            new = (counts == 0) & (more > 0)
            return counts + more, jnp.where(new[:, None], seen, examples)

        return state._replace(found=lax.cond(bits.any_of(hits), add, lambda found: found, state.found))


class State(NamedTuple):
    """What loops and branches carry of a trail.

    Attributes:
      found: see `Following.zeros`.
      kept: the marks of what bodies have left.
    """

    found: tuple[jax.Array, jax.Array]
    kept: list[Mark]


def _beside(array: jax.Array, result: jax.Array) -> jax.Array:
    """The array of an operand, `[G or 1, ...]`, where it is a scalar with an axis for each of the result."""
    return array.reshape(-1, *[1] * (result.ndim - 1)) if array.ndim == 1 else array


def _columns(event: AccessEvent, mark: Mark) -> list[jax.Array]:
    """Origin and operands of the elements of an access: `[G or 1, n or 1]`."""
    lanes, rows = event.lanes, mark.value.shape

    def of(array: jax.Array) -> jax.Array:
        whole = jnp.broadcast_to(array, rows)
        if len(rows) == 1:
            return whole[:, None]
        whole = jnp.broadcast_to(whole, (rows[0], *lanes.shape)).reshape(rows[0], -1)
        return whole if lanes.all else whole[:, lanes.chosen]

    return list(map(of, mark[1:4]))
