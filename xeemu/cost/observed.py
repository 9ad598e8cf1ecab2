"""Observed: an access as the interpreter emits it, measured as the kernel runs.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group, F figures, R places (elements
of a line of global memory, or of the word of a bank) where an access may start.

Where the lanes of a group follow from a lane form and take part together, an execution costs what stands in a table of
R rows, made at trace time; all else is measured lane by lane. The numbers are the same either way.
"""

import dataclasses
import functools
import math
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.cost.costs import Meter
from xeemu.cost.requests import sub_groups
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent
from xeemu.emission.positions import ActiveElements, Located
from xeemu.knowledge.forms import Form
from xeemu.language.linearity import Allocation

# Beyond every index, and such that the sum with one does not overflow.
_FAR = np.int64(2**62)


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredAccess:
    """One access as it is emitted, with what measures it."""

    event: AccessEvent
    meter: Meter
    chunk: EmittedChunk

    @property
    def memory(self) -> Allocation:
        return self.meter.memory

    @property
    def where(self) -> ActiveElements:
        return self.event.lanes

    @property
    def address(self) -> Located:
        return self.event.address

    @property
    def by_form(self) -> bool:
        """True if a table tells what an execution costs."""
        one = self.where.mask is None or self.where.mask.shape[1] == 1
        return self.address.known.form is not None and one and self.event.present is None

    @property
    def lanes(self) -> int:
        """Elements that may be accessed in an execution by all groups."""
        return self.chunk.count * self.where.count

    @property
    def figures_key(self) -> Hashable:
        """What accesses have in common whose figures are the same: how they are measured, and the same address."""
        values = self.event.indices if self.where.mask is None else (self,)
        by_whom = self.where.chosen.tobytes(), *map(id, (self.event.running, self.event.present))
        return self.batch_key, self.memory, by_whom, *map(id, values)

    @property
    def batch_key(self) -> Hashable:
        """What accesses have in common that can be measured together."""
        index = self.address.index
        return self.meter.rule, index.shape[1:], self._index_dtype

    @property
    def everything(self) -> bool:
        """True if all lanes of all groups are known to access their elements."""
        event = self.event
        return all(part is None for part in (self.where.mask, event.running, event.present, event.address.inside))

    # By the form.

    def tabulated(self) -> jax.Array:
        """int64 `[F]` of an execution by all groups; lane by lane if some are not within bounds as a whole."""
        times = self._executions()
        if self.address.known.proved:
            return self._looked_up(times)
        return lax.cond(self._fits(times), lambda: self._looked_up(times), lambda: self._relocated().all_by_lanes())

    def _executions(self) -> jax.Array:
        """int64 `[G]`: whether each group carries out the access."""
        running = jnp.ones(self.chunk.count, bool)
        if self.event.running is not None:
            running = running & self.event.running
        if self.where.mask is not None:
            running = running & self.where.mask[:, 0]
        return running.astype(np.int64)

    def _looked_up(self, times: jax.Array) -> jax.Array:
        """int64 `[F]` of `[G]` executions."""
        table, start = self._table, self._starts()
        if len(table) == 1 or not isinstance(start, jax.Array):
            return jnp.asarray(table[0 if len(table) == 1 else int(start)]) * times.sum()
        if start.ndim == 0:
            return jnp.asarray(table)[start] * times.sum()
        return (jnp.asarray(table)[start] * times[:, None]).sum(0)

    @functools.cached_property
    def _form(self) -> Form:
        """The lane form of the elements, those of private memory interleaved."""
        form = self.address.known.form
        assert form is not None
        if self.memory.space != "private":
            return form
        lanes = self.chunk.geometry.sub_group_size
        pattern = self.meter.interleaved(form.pattern)
        return Form(form.based, tuple(step * lanes for step in form.steps), pattern)

    @functools.cached_property
    def _table(self) -> np.ndarray:
        """int64 `[R, F]`, by where a group starts."""
        form, size = self._form, self.meter.places
        pattern = form.pattern - int(form.pattern.min(initial=0)) // size * size
        starts = np.arange(0, size, 1 if form.based else math.gcd(size, *form.steps))
        table = np.zeros((size, 0), np.int64)
        figures = self.meter.figures(pattern + starts[:, None], np.ones((1, 1), bool), True)
        table = np.zeros((size, figures.shape[1]), np.int64)
        table[starts] = figures
        return table

    def _starts(self) -> Any:
        """`[G]` rows of the table, or a scalar if all groups start at one place."""
        size = np.int64(self.meter.places)
        start: Any = np.int64(0)
        if self.address.base is not None:
            lanes = self.chunk.geometry.sub_group_size if self.memory.space == "private" else 1
            start = self.address.base.astype(np.int64) * np.int64(lanes) % size
        for d, step in enumerate(self._form.steps):
            if step % int(size):
                start = start + self.chunk.group_ids(d).astype(np.int64) % size * np.int64(step % int(size))
        return start % size

    # Bounds of an access by its form.

    def _fits(self, times: jax.Array) -> jax.Array:
        """True if the access is within bounds as a whole for all groups that carry it out int64 `[G]` times."""
        form, inside = self.address.known.form, self.address.inside
        assert inside is not None
        if form is None or not self._is_linear:
            return (inside.all(-1) | (times == 0)).all()
        offset = self._offset(form)
        # The least and greatest offset stay as they are through a loop, so that little is computed in each iteration.
        low = jnp.where(times > 0, offset, _FAR).min() + np.int64(form.pattern.min())
        high = jnp.where(times > 0, offset, -_FAR).max() + np.int64(form.pattern.max())
        base = np.int64(0) if self.address.base is None else self.address.base.astype(np.int64)
        return (low + base >= 0) & (high + base < self.memory.shape[0])

    @property
    def _is_linear(self) -> bool:
        """True if the form alone tells whether an element is within bounds."""
        return self.address.known.form is not None and self.address.known.exact and len(self.memory.shape) == 1

    def _offset(self, form: Form) -> jax.Array:
        """int64 `[G]` part of a form that differs between groups."""
        offset = jnp.zeros(self.chunk.count, np.int64)
        for d, step in enumerate(form.steps):
            if step:
                offset = offset + self.chunk.group_ids(d).astype(np.int64) * np.int64(step)
        return offset

    def _relocated(self) -> "MeasuredAccess":
        """The same access with its address computed anew, from what is small: for a branch that is rarely taken."""
        form = self.address.known.form
        if form is None or not self._is_linear:
            return self
        index = self._offset(form)[:, None] + form.pattern
        index = index if self.address.base is None else index + self.address.base.astype(np.int64)
        inside = (index >= 0) & (index < self.memory.shape[0])
        index = jnp.where(inside, index, np.int64(0)).astype(self.address.known.dtype)
        moved = self.address.at(index, inside)
        return dataclasses.replace(self, event=dataclasses.replace(self.event, address=moved))

    # Lane by lane.

    def all_by_lanes(self) -> jax.Array:
        """int64 `[F]` of an execution by all groups."""
        return self.meter.total(self.placed(), self.active_lanes(), self.chunk.count)

    def placed(self) -> jax.Array:
        """`[G or 1, n or 1]` elements, those of private memory interleaved."""
        placed: jax.Array = self.meter.interleaved(self.elements().astype(self._index_dtype))
        return placed

    def by_lanes(self, groups: jax.Array) -> jax.Array:
        """int64 `[g, F]` of an execution by each of the groups with these numbers in the chunk."""
        index, active = (array if len(array) == 1 else array[groups] for array in (self.placed(), self.active_lanes()))
        figures = self.meter.figures(index, active, False)
        return jnp.broadcast_to(figures, (len(groups), figures.shape[1]))

    def elements(self) -> jax.Array:
        """`[G or 1, n or 1]` elements of the memory."""
        return self.address.index

    def active_lanes(self) -> jax.Array:
        """`[G or 1, n or 1]` true where a lane accesses its element."""
        return self.event.active_lanes(self.chunk.geometry.items)

    @property
    def _index_dtype(self) -> np.dtype:
        """One in which the addresses of elements do not overflow."""
        copies = sub_groups(self.chunk.geometry) * self.chunk.geometry.sub_group_size
        extent = self.memory.nbytes * (copies if self.memory.space == "private" else 1)
        return np.dtype(np.int32 if extent < 2**31 else np.int64)
