"""Values: what stands for a program's value as it is emitted: an array over a chunk's work-groups, or a lane form."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form, wrapped
from xeemu.planning import layouts
from xeemu.planning.layouts import BySubgroup, LaneForm, Layout, Masked, Sharing


@dataclasses.dataclass(frozen=True, eq=False)
class Emitted:
    """A value of the program as emitted for a chunk.

    Attributes:
      known: the static analysis of it.
      shape: its shape for one work-group.
      dtype: its dtype.
      layout: how its elements lie in the arrays that follow.
      base: the base of its lane form; None if it has none.
      computed: the array that the layout says there is; None for a lane form, and for some elements alone.
      masked_elements: some elements for themselves, and perhaps the others, if the layout has such.
    """

    known: Known
    shape: tuple[int, ...]
    dtype: np.dtype
    layout: Layout
    base: Any = None
    computed: jax.Array | None = None
    masked_elements: "MaskedElements | None" = None

    def array(self, chunk: EmittedChunk) -> jax.Array:
        """`[G, *shape]` if it varies between groups, else `shape`."""
        match self.layout:
            case LaneForm():
                assert self.known.form is not None
                return materialise(self.known.form, self.base, self.dtype, self.known.varying, chunk)
            case Masked(elements, apart=True):
                assert self.masked_elements is not None
                return self._by_item(self.masked_elements.joined(elements), chunk)
            case BySubgroup(lanes):
                return self._of_lanes(lanes)
        return of_groups(self.laid_out, layouts.sharing(self.layout))

    @property
    def laid_out(self) -> jax.Array:
        """The array that its layout says there is."""
        assert self.computed is not None
        return self.computed

    def _by_item(self, flat: jax.Array, chunk: EmittedChunk) -> jax.Array:
        groups = [chunk.count] * self.known.varying
        whole = jnp.broadcast_to(flat, (*(groups or [1]), flat.shape[1]))
        return whole.reshape(*groups, *self.shape)

    def _of_lanes(self, lanes: int) -> jax.Array:
        """What is laid out by sub-groups, with an element for each work-item."""
        array = self.laid_out
        groups, rows = array.shape[: self.known.varying], array.shape[self.known.varying]
        full = jnp.broadcast_to(array, (*groups, rows, lanes, *array.shape[len(groups) + 2 :]))
        return full.reshape(*groups, *self.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class MaskedElements:
    """The elements of a value that a mask has left in, for themselves.

    Attributes:
      chosen: `[G or 1, n]`
      inactive: `[G or 1, m]` all others, where the layout has these apart and they are needed.
    """

    chosen: jax.Array
    inactive: jax.Array | None = None

    def joined(self, elements: Elements) -> jax.Array:
        """`[G or 1, n + m]` all elements in their order, of which some lie side by side."""
        assert self.inactive is not None
        groups, first = max(self.chosen.shape[0], self.inactive.shape[0]), int(elements.chosen[0])
        parts = [self.inactive[:, :first], self.chosen, self.inactive[:, first:]]
        each = [jnp.broadcast_to(part, (groups, part.shape[1])) for part in parts if part.shape[1]]
        return jnp.concatenate(each, axis=1)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["values"], meta_fields=["sharing"])
@dataclasses.dataclass(frozen=True, eq=False)
class Groupwise:
    """Elements for all groups of a chunk.

    Attributes:
      values: `[own groups, ...]`, or `[1, ...]` if all groups have them alike.
      sharing: which groups share them; None if each has its own.
    """

    values: jax.Array
    sharing: Sharing | None = None

    def shared_by(self, sharing: Sharing | None) -> jax.Array:
        """The same as other groups share them."""
        return self.values if sharing == self.sharing else shared_once(of_groups(self.values, self.sharing), sharing)


def of_groups(values: jax.Array, sharing: Sharing | None) -> jax.Array:
    """`[G, ...]` from `[own groups, ...]` values; the same if no groups share any."""
    if sharing is None:
        return values
    rest = values.shape[1:]
    # Of one axis of elements compilers copy whole vectors, of several one short row after the other.
    flat = values.reshape(*sharing.own, math.prod(rest))
    return jnp.broadcast_to(flat, (*sharing.block, math.prod(rest))).reshape(-1, *rest)


def shared_once(values: jax.Array, sharing: Sharing | None) -> jax.Array:
    """`[own groups, ...]` from `[G or 1, ...]` values that groups share so; the same if none do."""
    if sharing is None:
        return values
    rest = values.shape[1:]
    if values.shape[0] == 1:
        return jnp.broadcast_to(values, (math.prod(sharing.own), *rest))
    first = values.reshape(*sharing.block, math.prod(rest))[tuple(slice(n) for n in sharing.own)]
    return first.reshape(-1, *rest)


def materialise(form: Form, base: Any, dtype: Any, varying: bool, chunk: EmittedChunk) -> jax.Array:
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


def lifted(
    function: Callable[..., list[jax.Array]], operands: Sequence[Emitted], chunk: EmittedChunk
) -> list[jax.Array]:
    """What a function of a single group's operands gives for all groups."""
    arrays = [o.array(chunk) for o in operands]
    axes = [0 if o.known.varying else None for o in operands]
    if all(axis is None for axis in axes):
        return function(*arrays)
    return jax.vmap(function, in_axes=axes)(*arrays)
