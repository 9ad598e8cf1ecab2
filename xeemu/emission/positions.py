"""Positions: where in a memory's data the elements of an access lie, in the program that is emitted.

What is known of it before the program runs is its address, see `addressing`.
"""

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import fusion_barriers
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.values import Emitted, materialise
from xeemu.knowledge import forms, strided_patterns, strided_slices
from xeemu.knowledge.addressing import Address, Elements
from xeemu.knowledge.forms import Form
from xeemu.planning.layouts import Masked
from xeemu.planning.references import Reference


@dataclasses.dataclass(frozen=True, eq=False)
class ActiveElements:
    """The elements of an access that take part.

    Attributes:
      elements: those that a mask leaves in as far as it is known before the program runs.
      mask: `[G, n]`, `[n]` or broadcastable: which of them are active, or None if all are.
    """

    elements: Elements
    mask: jax.Array | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The work-group's and the private axes."""
        return self.elements.shape

    @property
    def chosen(self) -> np.ndarray:
        """`[n]` flat positions of the elements."""
        return self.elements.chosen

    @property
    def count(self) -> int:
        return self.elements.count

    @property
    def all(self) -> bool:
        return self.elements.all

    def array(self, operand: Emitted, chunk: EmittedChunk) -> jax.Array:
        """An operand as `[G or 1, n or 1]`."""
        return of_elements(operand, self.elements, chunk)


def of_elements(operand: Emitted, elements: Elements, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, n or 1]`: an operand for some of an access's elements."""
    if operand.known.form is not None:
        form = elements.form(operand.known.form)
        flat = materialise(form, operand.base, operand.dtype, operand.known.varying, chunk)
        return flat if operand.known.varying else flat[None]
    layout, parts = operand.layout, operand.masked_elements
    if isinstance(layout, Masked) and parts is not None and operand.shape == elements.shape:
        if elements == layout.elements:
            return parts.chosen
        if parts.inactive is not None and elements == layout.elements.complement:
            return parts.inactive
        if not layout.needs_all:
            return columns(parts.chosen, elements.among(layout.elements))
    array = operand.array(chunk)
    array = array if operand.known.varying else array[None]
    if not operand.shape:
        return array.reshape(-1, 1)
    array = jnp.broadcast_to(array, (array.shape[0], *elements.shape)).reshape(array.shape[0], -1)
    return array if elements.all else columns(array, elements)


def lanes(
    reference: Reference, mask: Emitted | None, masks: Sequence[jax.Array | None], chunk: EmittedChunk
) -> ActiveElements:
    """The elements of an access that take part.

    Args:
      reference: what is known of them.
      mask: its `where`.
      masks: further masks, each `[G or 1, L or 1]`: of the control flow, of work-items that do not exist.
      chunk: the work-groups.
    """
    elements = reference.elements
    dynamic = [of_elements(mask, elements, chunk)] if mask is not None and reference.masked else []
    private = math.prod(elements.shape) // chunk.geometry.items if elements.shape else 1
    items = elements.chosen // private
    dynamic += [m if m.shape[1] == 1 else m[:, items] for m in masks if m is not None]
    return ActiveElements(elements, functools.reduce(operator.and_, dynamic) if dynamic else None)


Found = tuple[jax.Array, jax.Array | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Located:
    """Where the elements of an access lie in a memory, in the program that is emitted.

    Attributes:
      known: what is known of it before the program runs.
      base: of the form of its linear index, or None.
      bases: of the form of each component of the address, or None.
      compute: gives `index` and `inside`, anew each time, as most accesses need neither; and what is made before a
        branch is made for all.
    """

    known: Address
    base: jax.Array | None
    bases: tuple[jax.Array | None, ...]
    compute: Callable[[], Found]

    @property
    def index(self) -> jax.Array:
        """`[G or 1, n]` or `[G or 1, 1]` linear element index; within bounds wherever `inside` holds."""
        return self.compute()[0]

    @property
    def inside(self) -> jax.Array | None:
        """`[G or 1, n or 1]` true where the index is within bounds, or None if it is proved to be."""
        return None if self.known.proved else self.compute()[1]

    def computed_once(self) -> "Located":
        """The same, found once for several who ask."""
        return self.at(*self.compute())

    def materialised(self) -> "Located":
        """The same, computed before anything uses it: XLA's gathers compute addresses element by element."""
        index, inside = self.compute()
        if inside is None:
            return self.at(fusion_barriers.materialised(index), None)
        found = fusion_barriers.materialised(jnp.where(inside, index, index.dtype.type(-1)))
        return self.at(jnp.maximum(found, found.dtype.type(0)), found >= found.dtype.type(0))

    def trusted(self) -> "Located":
        """The same where somebody has looked and found it to be within bounds."""
        return dataclasses.replace(self, known=self.known.trusted(), compute=lambda: (self.compute()[0], None))

    def at(self, index: jax.Array, inside: jax.Array | None) -> "Located":
        """The same with an index that was found otherwise."""
        return dataclasses.replace(self, compute=lambda: (index, inside))

    def shifted(self, zero: jax.Array) -> "Located":
        """The same, known only when `zero` is."""

        def find() -> Found:
            index, inside = self.compute()
            return index + zero, inside

        base, *bases = (zero if b is None else lax.add(b, zero) for b in (self.base, *self.bases))
        return Located(self.known.based(), base, tuple(bases), find)


@dataclasses.dataclass(frozen=True, eq=False)
class Touched:
    """The elements of a memory that an access touches, in the program that is emitted.

    Attributes:
      buffer: the memory before the access.
      address: where they lie in it.
      where: which of them take part.
      chunk: the work-groups.
    """

    buffer: Buffer
    address: Located
    where: ActiveElements
    chunk: EmittedChunk


def locate(known: Address, buffer: Buffer, indices: Sequence[Emitted], chunk: EmittedChunk) -> Located:
    """Where an access lies, from what is known of that and the components of its index."""
    found = _bases(indices, known) if known.components else ()
    base = forms.base(found, strided_patterns.strides(buffer.shape))
    return Located(known, base, found, functools.partial(_index_and_bounds, known, indices, chunk))


def _index_and_bounds(known: Address, indices: Sequence[Emitted], chunk: EmittedChunk) -> Found:
    """The linear index, and whether it is within bounds where that is not proved."""
    inside, index, dtype = None, jnp.zeros((1, 1), known.dtype), known.dtype
    each = zip(indices, known.safe, strided_patterns.strides(known.shape), known.shape, strict=True)
    for component, safe, stride, size in each:
        array = of_elements(component, known.elements, chunk)
        if not safe:
            within = _in_range(array, size)
            inside = within if inside is None else inside & within
            array = jnp.where(within, array, array.dtype.type(0))
        index = index + array.astype(dtype) * dtype.type(stride)
    return index, inside


def _bases(indices: Sequence[Emitted], known: Address) -> tuple[jax.Array | None, ...]:
    """The bases of the components of an address."""
    each = ((i.known.form, i.base) for i in indices)
    return tuple(forms.converted(form, base, known.dtype) for form, base in each if form is not None)


def _in_range(index: jax.Array, size: int) -> jax.Array:
    """`0 <= index < size` by one unsigned comparison, in a width in which neither wraps."""
    if index.dtype.itemsize < 4:
        index = index.astype(np.int32)
    unsigned = np.dtype(f"u{index.dtype.itemsize}")
    limit = min(size, int(jnp.iinfo(unsigned).max))
    return index.astype(unsigned) < unsigned.type(limit)


def start(form: Form, base: jax.Array | None, dtype: np.dtype, chunk: EmittedChunk, further: int = 0) -> jax.Array:
    """What a form with an `[n]` pattern is for the first element of the first group of the chunk, and so much more."""
    known = forms.wrapped(int(form.pattern[0]) + further, dtype)
    terms = [] if base is None else [base]
    step = chunk.linear_step(form)
    if step is None:
        terms += [_multiple(chunk.first_id(d), step, dtype) for d, step in enumerate(form.steps) if step]
    elif step:
        terms.append(_multiple(jnp.asarray(chunk.first), step, dtype))
    if not terms:
        return jnp.asarray(known)
    return functools.reduce(lax.add, terms if known == 0 else [*terms, known])


def _multiple(number: jax.Array, times: int, dtype: np.dtype) -> jax.Array:
    converted = number.astype(dtype)
    return converted if times == 1 else lax.mul(converted, forms.wrapped(times, dtype))


def starts(buffer: Buffer, address: Located, further: Sequence[int], chunk: EmittedChunk) -> tuple[jax.Array, ...]:
    """Where along each dimension of a buffer the first element of the first group lies, and so much further."""
    first, *others = (
        start(c.form, base, address.known.dtype, chunk, more)
        for c, base, more in zip(address.known.components, address.bases, further, strict=True)
    )
    if buffer.origin is not None:
        first = lax.sub(first, buffer.origin.astype(first.dtype))
    return first, *others


def buffer_positions(buffer: Buffer, index: jax.Array, where: ActiveElements, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, n]` position in the buffer of a linear index into the memory of a group or work-item."""
    if buffer.space == "global":
        return index if buffer.origin is None else index - buffer.origin_element(index.dtype)
    groups = np.arange(chunk.count, dtype=index.dtype)[:, None]
    if buffer.space == "local":
        return index + groups * index.dtype.type(buffer.elements)
    items = chunk.geometry.items
    item = (where.chosen // (math.prod(where.shape) // items)).astype(index.dtype)
    return index * index.dtype.type(chunk.count * items) + (groups * index.dtype.type(items) + item)


def columns(array: jax.Array, elements: Elements) -> jax.Array:
    """`[G or 1, n]`: some elements of `[G or 1, all elements]` rows."""
    if elements.cut is None:
        return array[:, elements.chosen]
    return strided_slices.sliced(array, elements.cut, 1, (elements.count,))
