"""Locating: which elements of a memory an access touches, and where they lie.

All work-items and private axes of an access are flattened to `n` elements per group. Where the mask is static, only the
elements it leaves in are touched.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu.emission import opacity
from xeemu.emission.values import Buffer, Chunk, Emitted, materialise
from xeemu.knowledge import forms, intervals, lattices
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.forms import Form
from xeemu.knowledge.intervals import Interval
from xeemu.language import primitives
from xeemu.language.primitives import Access

_INT32_LIMIT = 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class Lanes:
    """The elements of an access that take part.

    Attributes:
      shape: the work-group's and the private axes.
      chosen: their flat positions, `[n]`.
      mask: `[G, n]`, `[n]` or broadcastable: which of them are active, or None if all are.
    """

    shape: tuple[int, ...]
    chosen: np.ndarray
    mask: jax.Array | None

    @property
    def count(self) -> int:
        return len(self.chosen)

    @property
    def all(self) -> bool:
        return self.count == math.prod(self.shape)

    def pattern(self, form: Form) -> np.ndarray:
        """`[n]` static part of an operand's form."""
        aligned = form.pattern if form.pattern.ndim else form.pattern.reshape((1,) * len(self.shape))
        return np.broadcast_to(aligned, self.shape).reshape(-1)[self.chosen]

    def form(self, form: Form) -> Form:
        """An operand's form, with an `[n]` pattern."""
        return dataclasses.replace(form, pattern=self.pattern(form))

    def array(self, operand: Emitted, chunk: Chunk) -> jax.Array:
        """An operand as `[G or 1, n or 1]`."""
        if operand.known.form is not None:
            flat = materialise(self.form(operand.known.form), operand.base, operand.dtype, operand.known.varying, chunk)
            return flat if operand.known.varying else flat[None]
        some = operand.some
        if some is not None and operand.shape == self.shape:
            if np.array_equal(some.chosen, self.chosen):
                return some.values
            if some.others is not None and np.array_equal(some.chosen, self.beside.chosen):
                return some.others
        array = operand.array(chunk)
        array = array if operand.known.varying else array[None]
        if not operand.shape:
            return array.reshape(-1, 1)
        array = jnp.broadcast_to(array, (array.shape[0], *self.shape)).reshape(array.shape[0], -1)
        return array if self.all else columns(array, self.chosen)

    @property
    def beside(self) -> "Lanes":
        """All other elements."""
        return Lanes(self.shape, np.delete(np.arange(math.prod(self.shape)), self.chosen), None)

    def only(self, kept: np.ndarray) -> "Lanes":
        """Some of the elements, by their numbers; there is no mask."""
        assert self.mask is None
        return dataclasses.replace(self, chosen=self.chosen[kept])


def lanes(access: Access, mask: Emitted | None, masks: Sequence[jax.Array | None], chunk: Chunk) -> Lanes:
    """The elements of an access that take part.

    Args:
      access: the operation.
      mask: its `where`.
      masks: further masks, each `[G or 1, L or 1]`: of the control flow, of work-items that do not exist.
      chunk: the work-groups.
    """
    form = mask.known.form if mask is not None else None
    everyone = left_in(access.shape, form)
    dynamic = []
    if mask is not None and not (form is not None and form.constant):
        dynamic.append(everyone.array(mask, chunk))
    private = math.prod(access.shape) // chunk.geometry.items if access.shape else 1
    items = everyone.chosen // private
    dynamic += [m if m.shape[1] == 1 else m[:, items] for m in masks if m is not None]
    combined = None
    for one in dynamic:
        combined = one if combined is None else combined & one
    return dataclasses.replace(everyone, mask=combined)


def left_in(shape: tuple[int, ...], mask: Form | None) -> Lanes:
    """The elements that a mask leaves in as far as it is known before the program runs."""
    everyone = Lanes(shape, np.arange(math.prod(shape)), None)
    if mask is None or not mask.constant:
        return everyone
    return everyone.only(np.flatnonzero(everyone.pattern(mask)))


def foreseen(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> tuple[Lanes, Form | None]:
    """What the analysis knows of an access that has not been emitted.

    Returns:
      The elements that its mask leaves in.
      Their linear index, less its base; None if some component has no lane form.
    """
    mask = primitives.mask(eqn)
    where = left_in(eqn.params["access"].shape, None if mask is None else plan.value(mask, dimensions).form)
    found = [plan.value(a, dimensions).form for a in primitives.indices(eqn)]
    known = [form for form in found if form is not None]
    whole = len(known) == len(found)
    return where, linear([where.form(f) for f in known], eqn.invars[0].aval.shape) if whole else None


def linear(components: Sequence[Form], shape: Sequence[int]) -> Form:
    """The linear index of some elements of a memory, `[n]`, from the components of its index.

    Its base is the sum of theirs, each times its stride.
    """
    pattern, steps = np.zeros_like(components[0].pattern), np.zeros(len(components[0].steps), np.int64)
    for form, stride in zip(components, lattices.strides(shape), strict=True):
        pattern = pattern + form.pattern * stride
        steps = steps + np.asarray(form.steps, np.int64) * stride
    return Form(any(form.based for form in components), tuple(steps.tolist()), pattern)


@dataclasses.dataclass(frozen=True, eq=False)
class Component:
    """One component of an index.

    Attributes:
      form: its lane form, with an `[n]` pattern.
      base: the form's base, or None.
      interval: the least and the greatest number that it can be, or None.
    """

    form: Form
    base: jax.Array | None
    interval: Interval | None

    def shifted(self, zero: jax.Array) -> "Component":
        """The same, known only when `zero` is."""
        base = zero if self.base is None else lax.add(self.base, zero)
        return dataclasses.replace(self, form=dataclasses.replace(self.form, based=True), base=base)

    def only(self, kept: np.ndarray) -> "Component":
        """That of some of the elements, by their numbers."""
        return dataclasses.replace(self, form=dataclasses.replace(self.form, pattern=self.form.pattern[kept]))


Found = tuple[jax.Array, jax.Array | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Address:
    """Where the elements of an access lie in a memory.

    Attributes:
      dtype: of the index.
      proved: whether the index is proved to be within bounds.
      form: the lane form of the linear index with an `[n]` pattern, or None.
      base: the form's base, or None.
      components: of the index, if each has a form; else none.
      interval: the least and the greatest linear index that are within bounds, or None.
      exact: whether every index component fits the dtype; else the form is right modulo its width only.
      find: gives `index` and `inside`, anew each time, as most accesses need neither; and what is made before a branch
        is made for all.
    """

    dtype: np.dtype
    proved: bool
    form: Form | None
    base: jax.Array | None
    components: tuple[Component, ...]
    interval: Interval | None
    exact: bool
    find: Callable[[], Found]

    @property
    def index(self) -> jax.Array:
        """`[G or 1, n]` or `[G or 1, 1]` linear element index; within bounds wherever `inside` holds."""
        return self.find()[0]

    @property
    def inside(self) -> jax.Array | None:
        """`[G or 1, n or 1]` whether the index is within bounds, or None if it is proved to be."""
        return None if self.proved else self.find()[1]

    def found(self) -> "Address":
        """The same, found once for several who ask."""
        return self.at(*self.find())

    def settled(self) -> "Address":
        """The same, computed for itself: along with a look-up XLA's gathers compute it element by element."""
        index, inside = self.find()
        if inside is None:
            return self.at(opacity.settled(index), None)
        found = opacity.settled(jnp.where(inside, index, index.dtype.type(-1)))
        return self.at(jnp.maximum(found, found.dtype.type(0)), found >= found.dtype.type(0))

    def trusted(self) -> "Address":
        """The same where somebody has looked and found it to be within bounds."""
        return dataclasses.replace(self, proved=True, find=lambda: (self.find()[0], None))

    def at(self, index: jax.Array, inside: jax.Array | None) -> "Address":
        """The same with an index that was found otherwise."""
        return dataclasses.replace(self, find=lambda: (index, inside))

    def shifted(self, zero: jax.Array) -> "Address":
        """The same address, known only when `zero` is."""

        def find() -> Found:
            index, inside = self.find()
            return index + zero, inside

        base = zero if self.base is None else lax.add(self.base, zero)
        form = None if self.form is None else dataclasses.replace(self.form, based=True)
        components = tuple(c.shifted(zero) for c in self.components)
        return dataclasses.replace(self, form=form, base=base, components=components, find=find)

    def only(self, kept: np.ndarray) -> "Address":
        """That of some of the elements, by their numbers; all are within bounds."""
        assert self.form is not None
        assert self.proved

        def find() -> Found:
            index = self.index
            return (index if index.shape[1] == 1 else columns(index, kept)), None

        form = dataclasses.replace(self.form, pattern=self.form.pattern[kept])
        return dataclasses.replace(self, form=form, components=tuple(c.only(kept) for c in self.components), find=find)


def locate(buffer: Buffer, indices: Sequence[Emitted], where: Lanes, chunk: Chunk) -> Address:
    """The address of an access from its index components."""
    dtype = np.dtype(np.int32 if _extent(buffer, chunk) < _INT32_LIMIT else np.int64)
    components = _components(indices, where, dtype)
    form, base = _linear_form(components, buffer.shape) if components else (None, None)
    proved = [_proved(component, where, size) for component, size in zip(indices, buffer.shape, strict=True)]
    exact = all(intervals.within(i.known.interval, intervals.of_dtype(dtype)) for i in indices)
    find = functools.partial(_find, buffer.shape, indices, proved, where, dtype, chunk)
    return Address(dtype, all(proved), form, base, components, _interval(buffer.shape, indices), exact, find)


def _interval(shape: Sequence[int], indices: Sequence[Emitted]) -> Interval | None:
    least = most = 0
    for component, stride, size in zip(indices, lattices.strides(shape), shape, strict=True):
        if component.known.interval is None:
            return None
        low, high = max(component.known.interval[0], 0), min(component.known.interval[1], size - 1)
        if low > high:
            return None
        least, most = least + low * stride, most + high * stride
    return least, most


def _find(
    shape: Sequence[int],
    indices: Sequence[Emitted],
    proved: Sequence[bool],
    where: Lanes,
    dtype: np.dtype,
    chunk: Chunk,
) -> Found:
    """The linear index of a memory of a shape, and whether it is within bounds where that is not proved."""
    inside, index = None, jnp.zeros((1, 1), dtype)
    for component, safe, stride, size in zip(indices, proved, lattices.strides(shape), shape, strict=True):
        array = where.array(component, chunk)
        if not safe:
            within = _in_range(array, size)
            inside = within if inside is None else inside & within
            array = jnp.where(within, array, array.dtype.type(0))
        index = index + array.astype(dtype) * dtype.type(stride)
    return index, inside


def _extent(buffer: Buffer, chunk: Chunk) -> int:
    copies = {"global": 1, "local": chunk.count, "private": chunk.count * chunk.geometry.items}[buffer.space]
    return buffer.elements * copies


def _components(indices: Sequence[Emitted], where: Lanes, dtype: np.dtype) -> tuple[Component, ...]:
    """The components of an index in the dtype of its address; none if some has no form."""
    found = []
    for index in indices:
        if index.known.form is None:
            return ()
        form, base = forms.converted(index.known.form, index.base, dtype)
        found.append(Component(where.form(form), base, index.known.interval))
    return tuple(found)


def _linear_form(components: Sequence[Component], shape: Sequence[int]) -> tuple[Form, jax.Array | None]:
    bases = [
        c.base if n == 1 else lax.mul(c.base, forms.wrapped(n, c.base.dtype))
        for c, n in zip(components, lattices.strides(shape), strict=True)
        if c.base is not None
    ]
    form = linear([c.form for c in components], shape)
    return dataclasses.replace(form, based=bool(bases)), functools.reduce(lax.add, bases) if bases else None


def _proved(component: Emitted, where: Lanes, size: int) -> bool:
    form = component.known.form
    if form is not None and form.constant:
        return intervals.within(intervals.of_array(where.pattern(form)), (0, size - 1)) if where.count else True
    return intervals.within(component.known.interval, (0, size - 1))


def _in_range(index: jax.Array, size: int) -> jax.Array:
    """`0 <= index < size` by one unsigned comparison, in a width in which neither wraps."""
    if index.dtype.itemsize < 4:
        index = index.astype(np.int32)
    unsigned = np.dtype(f"u{index.dtype.itemsize}")
    limit = min(size, int(jnp.iinfo(unsigned).max))
    return index.astype(unsigned) < unsigned.type(limit)


def start(form: Form, base: jax.Array | None, dtype: np.dtype, chunk: Chunk, further: int = 0) -> jax.Array:
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


def places(buffer: Buffer, index: jax.Array, where: Lanes, chunk: Chunk) -> jax.Array:
    """`[G or 1, n]` position in the buffer of a linear index into the memory of a group or work-item."""
    if buffer.space == "global":
        return index if buffer.origin is None else index - buffer.origin_element(index.dtype)
    groups = np.arange(chunk.count, dtype=index.dtype)[:, None]
    if buffer.space == "local":
        return index + groups * index.dtype.type(buffer.elements)
    items = chunk.geometry.items
    item = (where.chosen // (math.prod(where.shape) // items)).astype(index.dtype)
    return index * index.dtype.type(chunk.count * items) + (groups * index.dtype.type(items) + item)


def columns(array: jax.Array, chosen: np.ndarray) -> jax.Array:
    """`[G or 1, n]`: some elements of a `[G or 1, *shape]` array, by their flat positions in its rows."""
    found = sliced(array, chosen)
    return array.reshape(array.shape[0], -1)[:, chosen] if found is None else found


def sliced(array: jax.Array, chosen: np.ndarray) -> jax.Array | None:
    """The same, if they are a slice of the array or of its rows laid flat; else None."""
    if not is_sliced(array.shape[1:], chosen):
        return None
    box = _box(array, _places_in(array.shape[1:], chosen))
    lattice = lattices.of_pattern(chosen)
    if box is not None or lattice is None:
        return box
    first = int(chosen[0]) + lattice.least
    line = array.reshape(array.shape[0], -1)[:, first : first + lattice.span]
    return lattices.elements(line, lattice).reshape(-1, len(chosen))


def is_sliced(shape: Sequence[int], chosen: np.ndarray) -> bool:
    """Whether elements of an array of a shape, by their flat positions, are a slice of it or of what is laid flat."""
    if not len(chosen):
        return False
    components = lattices.of_places(_places_in(shape, chosen))
    lattice = lattices.of_pattern(chosen)
    return bool(components and lattices.of_box(components)) or (lattice is not None and lattice.apart)


def _places_in(shape: Sequence[int], chosen: np.ndarray) -> np.ndarray:
    return np.stack(np.unravel_index(chosen, tuple(shape)), axis=1)


def _box(array: jax.Array, places: np.ndarray) -> jax.Array | None:
    """`[G or 1, n]`: what a `[G or 1, *shape]` array has at some places, `[n, dimensions]`; None if they are no box."""
    components = lattices.of_places(places)
    lattice = lattices.of_box(components) if components else None
    if components is None or lattice is None:
        return None
    first = [int(place) + component.least for place, component in zip(places[0], components, strict=True)]
    last = [place + component.span for place, component in zip(first, components, strict=True)]
    window = lax.slice(array, [0, *first], [array.shape[0], *last]).reshape(-1, *lattice.extents)
    return lattices.arranged(window, lattice).reshape(-1, len(places))
