"""Addressing: what is known, before the program runs, of the elements that an access touches and of where they lie.

All work-items and private axes of an access are flattened to `n` elements per group. Where the mask is static, only the
elements it leaves in are touched. Nothing here is traced: an address is the same before its access is emitted and then.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import forms, intervals, strided_patterns
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.forms import Form
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.strided_patterns import ConstantSlice

_INT32_LIMIT = 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class Elements:
    """The elements of an access that its mask leaves in, as far as that is known before the program runs.

    Attributes:
      shape: the work-group's and the private axes.
      chosen: their flat positions, `[n]`.
    """

    shape: tuple[int, ...]
    chosen: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elements) and self.shape == other.shape and np.array_equal(self.chosen, other.chosen)

    def __hash__(self) -> int:
        return hash((self.shape, self.count))

    @property
    def count(self) -> int:
        return len(self.chosen)

    @property
    def all(self) -> bool:
        return self.count == math.prod(self.shape)

    @property
    def in_order(self) -> bool:
        """True if they are all, one after the other."""
        return self.all and self.step == 1

    @property
    def compact_shape(self) -> tuple[int, ...]:
        """That of an array of them alone: of all of them the access's."""
        return self.shape if self.all else (self.count,)

    @property
    def mask(self) -> np.ndarray:
        """Which elements of the shape they are."""
        mask = np.zeros(math.prod(self.shape), bool)
        mask[self.chosen] = True
        return mask.reshape(self.shape)

    @property
    def complement(self) -> "Elements":
        """All other elements."""
        return Elements(self.shape, np.delete(np.arange(math.prod(self.shape)), self.chosen))

    def pattern(self, form: Form) -> np.ndarray:
        """`[n]` static part of an operand's form."""
        aligned = form.pattern if form.pattern.ndim else form.pattern.reshape((1,) * len(self.shape))
        return np.broadcast_to(aligned, self.shape).reshape(-1)[self.chosen]

    def form(self, form: Form) -> Form:
        """An operand's form, with an `[n]` pattern."""
        return dataclasses.replace(form, pattern=self.pattern(form))

    def only(self, kept: np.ndarray) -> "Elements":
        """Some of the elements, by their numbers."""
        return Elements(self.shape, self.chosen[kept])

    def among(self, others: "Elements") -> "Elements":
        """The same by their numbers among others, which have all of them."""
        assert np.isin(self.chosen, others.chosen).all()
        return Elements((others.count,), np.searchsorted(others.chosen, self.chosen))

    @functools.cached_property
    def cut(self) -> ConstantSlice | None:
        """They as a slice of all elements in a row; None if they are none, and have to be looked up."""
        return strided_patterns.cut((math.prod(self.shape),), self.chosen)

    @functools.cached_property
    def step(self) -> int | None:
        """How far each of several lies from the one before, if that is the same everywhere; 1 of a single one."""
        steps = set(np.diff(self.chosen).tolist()) or {1}
        return steps.pop() if self.count and len(steps) == 1 else None


def everyone(shape: tuple[int, ...]) -> Elements:
    """All elements of an access of a shape."""
    return Elements(shape, np.arange(math.prod(shape)))


def active_elements(op: Op, known: Callable[[Value], Known]) -> Elements:
    """The elements of an access that its mask leaves in as far as it is known before the program runs.

    Args:
      op: the access.
      known: gives what is known of a value.
    """
    found, mask = everyone(op.attributes["access"].shape), ops.mask(op)
    form = None if mask is None else known(mask).form
    return found.only(np.flatnonzero(found.pattern(form))) if form is not None and form.constant else found


def is_masked(op: Op, known: Callable[[Value], Known]) -> bool:
    """True if a mask that is known only when the program runs leaves elements of an access out."""
    mask = ops.mask(op)
    form = None if mask is None else known(mask).form
    return mask is not None and (form is None or not form.constant)


@dataclasses.dataclass(frozen=True, eq=False)
class Index:
    """A component of an index, as an operand.

    Attributes:
      known: what the analysis knows of it.
      dtype: the operand's.
    """

    known: Known
    dtype: np.dtype


@dataclasses.dataclass(frozen=True, eq=False)
class AddressComponent:
    """A component of an address.

    Attributes:
      form: its lane form, with an `[n]` pattern.
      interval: the least and the greatest number that it can be, or None.
    """

    form: Form
    interval: Interval | None


@dataclasses.dataclass(frozen=True, eq=False)
class Address:
    """Where the elements of an access lie in a memory, but for what is known only when the program runs.

    Attributes:
      shape: of the memory.
      elements: of the access.
      dtype: of the index.
      safe: of each component of the index, true if it is proved to be within bounds.
      form: the lane form of the linear index with an `[n]` pattern, or None.
      components: of the index, if each has a form; else none.
      interval: the least and the greatest linear index that are within bounds, or None.
      exact: true if every index component fits the dtype; else the form is right modulo its width only.
    """

    shape: tuple[int, ...]
    elements: Elements
    dtype: np.dtype
    safe: tuple[bool, ...]
    form: Form | None
    components: tuple[AddressComponent, ...]
    interval: Interval | None
    exact: bool

    @property
    def proved(self) -> bool:
        """True if the index is proved to be within bounds."""
        return all(self.safe)

    def trusted(self) -> "Address":
        """The same where somebody has looked and found it to be within bounds."""
        return dataclasses.replace(self, safe=(True,) * len(self.safe))

    def based(self) -> "Address":
        """The same with something added to each component and to the linear index when the program runs."""
        form = None if self.form is None else dataclasses.replace(self.form, based=True)
        components = (dataclasses.replace(c, form=dataclasses.replace(c.form, based=True)) for c in self.components)
        return dataclasses.replace(self, form=form, components=tuple(components))


def of_index(shape: tuple[int, ...], copies: int, indices: Sequence[Index], elements: Elements) -> Address:
    """The address of an access.

    Args:
      shape: of the memory.
      copies: of the memory, that lie in one array.
      indices: the components of the index.
      elements: of the access.
    """
    dtype = np.dtype(np.int32 if math.prod(shape) * copies < _INT32_LIMIT else np.int64)
    components = _components(indices, elements, dtype)
    form = _linear(components, shape) if components else None
    safe = tuple(_is_safe(i.known, elements, size) for i, size in zip(indices, shape, strict=True))
    exact = all(intervals.within(i.known.interval, intervals.of_dtype(dtype)) for i in indices)
    return Address(shape, elements, dtype, safe, form, components, _interval(shape, indices), exact)


def foreseen(op: Op, facts: Facts, copies: int = 1) -> Address:
    """The address of an access, as its operation and the analysis have it.

    Args:
      op: the access.
      facts: what is known of its operands.
      copies: of the memory, that lie in one array.
    """
    indices = [Index(facts.value(a), a.dtype) for a in ops.indices(op)]
    return of_index(ops.viewed_shape(op), copies, indices, active_elements(op, facts.value))


def is_formed(op: Op, facts: Facts) -> bool:
    """True if the addresses of an access are known but for where they begin; else its elements are looked up."""
    return all(isinstance(a, Constant) or facts.values[a].form is not None for a in ops.indices(op))


def _components(indices: Sequence[Index], elements: Elements, dtype: np.dtype) -> tuple[AddressComponent, ...]:
    """The components of an address in a dtype; none if some has no form."""
    found = []
    for index in indices:
        if index.known.form is None:
            return ()
        form = forms.widened(index.known.form, index.dtype, dtype)
        found.append(AddressComponent(elements.form(form), index.known.interval))
    return tuple(found)


def _linear(components: Sequence[AddressComponent], shape: Sequence[int]) -> Form:
    """The linear index of some elements of a memory, `[n]`; its base is the sum of theirs, each times its stride."""
    each = [component.form for component in components]
    linear = forms.linear(each, strided_patterns.strides(shape))
    return dataclasses.replace(linear, based=any(form.based for form in each))


def _is_safe(known: Known, elements: Elements, size: int) -> bool:
    """True if a component is proved to be within the bounds of a dimension."""
    if known.form is not None and known.form.constant:
        pattern = elements.pattern(known.form)
        return intervals.within(intervals.of_array(pattern), (0, size - 1)) if elements.count else True
    return intervals.within(known.interval, (0, size - 1))


def _interval(shape: Sequence[int], indices: Sequence[Index]) -> Interval | None:
    least = most = 0
    for index, stride, size in zip(indices, strided_patterns.strides(shape), shape, strict=True):
        if index.known.interval is None:
            return None
        low, high = max(index.known.interval[0], 0), min(index.known.interval[1], size - 1)
        if low > high:
            return None
        least, most = least + low * stride, most + high * stride
    return least, most
