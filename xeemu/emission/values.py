"""The values of an emitted program: arrays over a chunk of work-groups, and lane forms."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.chunk import Chunk
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form, wrapped


@dataclasses.dataclass(frozen=True, eq=False)
class Emitted:
    """A value of the program as emitted for a chunk.

    Attributes:
      known: the static analysis of it.
      shape: its shape for one work-group.
      dtype: its dtype.
      base: the base of its lane form; None if it has none.
      computed: the array, if it was not left as a lane form or as `shared`.
      some: those elements that came from a load of them only; the compiler drops `computed` if nothing uses others.
      shared: the value, if groups share it; the compiler drops `computed` if nothing uses that.
      split: the division that gave it, if that was one of a number that is not negative by a known one; of the same
        groups, so that what is cut to some of them has none.
      lanes: of a sub-group, if `computed` is held by sub-groups (see `subgroups`): `[G, sub-groups, lanes, *private]`,
        or 1 in place of the lanes if all of a sub-group's are alike.
    """

    known: Known
    shape: tuple[int, ...]
    dtype: np.dtype
    base: Any = None
    computed: jax.Array | None = None
    some: "Some | None" = None
    shared: "Shared | None" = None
    split: "Split | None" = None
    lanes: int | None = None

    def array(self, chunk: Chunk) -> jax.Array:
        """`[G, *shape]` if it varies between groups, else `shape`."""
        if self.computed is not None:
            if self.some is not None and (everywhere := self.some.everywhere) is not None:
                groups = chunk.count if self.known.varying else 1
                whole = jnp.broadcast_to(everywhere, (groups, everywhere.shape[1]))
                return whole.reshape(*[groups] * self.known.varying, *self.shape)
            return self.computed if self.lanes is None else self._of_items(self.computed, self.lanes)
        if self.shared is not None:
            return self.shared.of_groups(self.shared.values)
        assert self.known.form is not None
        return materialise(self.known.form, self.base, self.dtype, self.known.varying, chunk)

    def _of_items(self, held: jax.Array, lanes: int) -> jax.Array:
        """What is held by sub-groups, with an element for each work-item."""
        groups, rows = held.shape[: self.known.varying], held.shape[self.known.varying]
        full = jnp.broadcast_to(held, (*groups, rows, lanes, *held.shape[len(groups) + 2 :]))
        return full.reshape(*groups, *self.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The division of a number.

    Attributes:
      of: the number.
      divisor: what it is divided by.
      remains: whether the remainder is meant, else the quotient.
      offset, sign: the value is `offset + sign * remainder`; a quotient is the value itself.
    """

    of: Emitted
    divisor: int
    remains: bool
    offset: int = 0
    sign: int = 1

    @property
    def what(self) -> tuple[int, bool, int, int]:
        """All but the number."""
        return self.divisor, self.remains, self.offset, self.sign


@dataclasses.dataclass(frozen=True, eq=False)
class Some:
    """Some elements of a value.

    Attributes:
      chosen: `[n]` their flat positions.
      values: `[G or 1, n]`
      others: `[G or 1, m]` the values of all others, where it is faster to compute them apart: on a CPU, if the chosen
        elements follow each other. XLA takes a branch for each element of what is put together before it computes.
    """

    chosen: np.ndarray
    values: jax.Array
    others: jax.Array | None = None

    @property
    def everywhere(self) -> jax.Array | None:
        """`[G or 1, n + m]` all elements in their places, if the others are known."""
        if self.others is None:
            return None
        groups, first = max(self.values.shape[0], self.others.shape[0]), int(self.chosen[0])
        parts = [self.others[:, :first], self.values, self.others[:, first:]]
        each = [jnp.broadcast_to(part, (groups, part.shape[1])) for part in parts if part.shape[1]]
        return jnp.concatenate(each, axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Shared:
    """A value that groups of a chunk share along some dimensions, as they do rows and columns of tiles.

    Compilers do not see through the single axis of groups that it has elsewhere.

    Attributes:
      block: the groups along each dimension.
      own: the same, but 1 along those in which they share it.
      values: `[own groups, *shape]`
    """

    block: tuple[int, ...]
    own: tuple[int, ...]
    values: jax.Array

    def of_groups(self, values: jax.Array) -> jax.Array:
        """`[G, ...]` from `[own groups, ...]` values."""
        rest = values.shape[1:]
        return jnp.broadcast_to(values.reshape(*self.own, *rest), (*self.block, *rest)).reshape(-1, *rest)


def materialise(form: Form, base: Any, dtype: Any, varying: bool, chunk: Chunk) -> jax.Array:
    """A lane form as an array."""
    pattern = jnp.asarray(form.pattern.astype(dtype))
    if base is not None:
        pattern = pattern + base.astype(dtype)
    if not varying:
        return pattern
    groups = jnp.zeros(chunk.count, dtype)
    for d, step in enumerate(form.steps):
        if step:
            groups = groups + chunk.group_ids(d).astype(dtype) * wrapped(step, dtype)
    return groups.reshape(-1, *(1,) * form.pattern.ndim) + pattern
