"""Values: what expressions of C stand for while a kernel is traced.

A number is one for the whole work-group (shape `()`), or one for each work-item (shape `local_range`); where it is
known before the kernel runs, it is a NumPy scalar. An integer of 32 or 64 bits whose interval lies within int32 is held
as int32, whatever its type: `size_t` and `long` indices cost nothing then, and JAX's 64-bit types stay off. What a
comparison gives is held as bool, whatever its type.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import intervals, types
from xeemu.frontends.intervals import Interval
from xeemu.frontends.types import Scalar
from xeemu.language.workgroup import NeedsWideTypes

Data: TypeAlias = jax.Array | np.generic


@dataclasses.dataclass(frozen=True, eq=False)
class Number:
    """A number of C.

    Attributes:
      type: its type.
      data: its value: of the type's dtype, int32, or bool (see above).
      interval: of an integer over the launch; of a known one the number itself.
      unset: of a part of a record that was copied, where it had no value; None for nowhere.
      given: True if an argument of the launch tells it, though it may be known before the kernel runs.
    """

    type: Scalar
    data: Data
    interval: Interval | None = None
    unset: Data | None = None
    given: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.data, np.generic) and not self.type.is_float:
            object.__setattr__(self, "interval", (int(self.data),) * 2)

    @property
    def known(self) -> bool:
        """True if its value is known before the kernel runs."""
        return isinstance(self.data, np.generic)

    @property
    def uniform(self) -> bool:
        """True if it is one for the whole work-group."""
        return self.data.ndim == 0

    @property
    def python(self) -> int | float | bool:
        """Its value, if it is known."""
        return self.data.item()


@dataclasses.dataclass(frozen=True, eq=False)
class Components:
    """A vector: a number for each component."""

    type: types.Vector
    items: tuple[Number, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Fields:
    """A record in registers: a value for each field."""

    type: types.Record
    items: Mapping[str, "Value"]


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayValue:
    """An array as a value, as one that is a field of a record or of a constant."""

    type: types.Array
    items: tuple["Value", ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Pointing:
    """A pointer into a memory.

    Attributes:
      type: the pointer's.
      memory: the memory's key.
      offset: from its beginning, counted in the memory's elements.
    """

    type: types.Pointer
    memory: Any
    offset: Number


@dataclasses.dataclass(frozen=True, eq=False)
class RegisterAddress:
    """A pointer to a variable in registers, or a part of it.

    Attributes:
      type: the pointer's.
      variable: its key.
      path: names of fields, numbers of elements (each a `Number`) and tuples of components.
    """

    type: types.Pointer
    variable: Any
    path: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Either:
    """A pointer that is one of two, by work-item."""

    type: types.Pointer
    condition: Data
    then: "Value"
    otherwise: "Value"


@dataclasses.dataclass(frozen=True, eq=False)
class Null:
    """A null pointer, and what has no value: an event, a pointer that nothing was assigned to.

    Attributes:
      type: its type.
      given: True if a pointer is null, as opposed to one without a value.
    """

    type: types.Type
    given: bool = True


@dataclasses.dataclass(frozen=True, eq=False)
class Handle:
    """An image, a sampler, a text: what only built-in functions look at."""

    type: types.Type
    what: Any


Value: TypeAlias = Number | Components | Fields | ArrayValue | Pointing | RegisterAddress | Either | Null | Handle


def constant(value: Any, of: Scalar) -> Number:
    """A known number, wrapped to its type."""
    if of.is_float:
        with np.errstate(all="ignore"):
            return Number(of, of.dtype.type(value))
    if of.is_bool:
        return Number(of, np.bool_(bool(value)), (int(bool(value)),) * 2)
    low, high = intervals.of_type(of.dtype)
    wrapped = (int(value) - low) % (high - low + 1) + low
    narrow = of.size >= 4 and intervals.fits_int32((wrapped, wrapped))
    return Number(of, np.int32(wrapped) if narrow else of.dtype.type(wrapped), (wrapped, wrapped))


def zero(of: types.Type) -> Value:
    """A value of zeros."""
    match of:
        case Scalar():
            return constant(0, of)
        case types.Vector(element, count):
            return Components(of, (constant(0, element),) * count)
        case types.Array(element, count):
            return ArrayValue(of, (zero(element),) * count)
        case types.Record(fields=fields, union=union):
            # Of a union the largest member, as `types.scalars` has it.
            held_fields = [max(fields, key=lambda f: f.type.size)] if union and fields else fields
            return Fields(of, {f.name: zero(f.type) for f in held_fields})
    return Null(of)


def held(of: Scalar, data: Data, interval: Interval | None = None) -> Number:
    """A number from data of its type's dtype, bool or int32; an integer without an interval has its type's."""
    if of.is_float:
        return Number(of, data)
    if data.dtype == np.bool_:
        return Number(of, data, interval or (0, 1))
    return Number(of, data, interval or intervals.of_type(of.dtype if data.dtype == of.dtype else data.dtype))


def need(dtype: np.dtype) -> None:
    """Has the kernel traced with 64-bit types if a dtype needs them and they are off."""
    if dtype.itemsize == 8 and not jax.config.read("jax_enable_x64"):
        raise NeedsWideTypes


def cast(data: Data, dtype: np.dtype) -> Data:
    """Data in another dtype, by the value; known data stay known."""
    if data.dtype == dtype:
        return data
    if isinstance(data, np.generic):
        with np.errstate(all="ignore"):
            return dtype.type(np.asarray(data).astype(dtype)[()])
    need(dtype)
    return lax.convert_element_type(data, dtype)


def exact(n: Number) -> Data:
    """The data of a number in its type's own dtype."""
    if n.data.dtype == n.type.dtype:
        if not n.known:
            need(n.type.dtype)
        return n.data
    return cast(n.data, n.type.dtype)


def index(n: Number) -> Data:
    """The data of an integer as an index: int32 where that holds it."""
    if n.data.dtype == np.int32:
        return n.data
    return cast(n.data, np.dtype(np.int32)) if intervals.fits_int32(n.interval) else exact(n)


def truth(n: Number) -> Data:
    """Where a number is not zero, as bool."""
    if n.data.dtype == np.bool_:
        return n.data
    if n.interval is not None and not n.interval[0] <= 0 <= n.interval[1]:
        return np.bool_(True)
    if isinstance(n.data, np.generic):
        return np.bool_(n.data != 0)
    return lax.ne(n.data, lax.full_like(n.data, 0))


def of_truth(data: Data, of: Scalar = types.INT) -> Number:
    """What a comparison gives, as a number of a type."""
    return Number(of, data, (int(data),) * 2 if isinstance(data, np.generic) else (0, 1))


def alike(*data: Data) -> list[jax.Array]:
    """Data as traced arrays of one shape: that of the work-group if one of them has it."""
    shape = max((d.shape for d in data), key=len)
    arrays = [jnp.asarray(d) for d in data]
    return [a if a.shape == shape else lax.broadcast(a, shape) for a in arrays]


def lifted(known: Callable[..., Any], traced: Callable[..., jax.Array], *data: Data) -> Data:
    """An elementwise operation: NumPy's where all data are known, else JAX's on arrays of one shape."""
    if all(isinstance(d, np.generic) for d in data):
        with np.errstate(all="ignore"):
            return np.asarray(known(*data))[()]  # type: ignore[return-value]
    return traced(*alike(*data))


def elementwise(known: Callable[..., Any], traced: Callable[..., jax.Array], *data: Data) -> Data:
    """As `lifted`, for an operation of lax's that takes scalars beside arrays: what is known stays a literal."""
    if all(isinstance(d, np.generic) for d in data):
        return lifted(known, traced, *data)
    shape = max((d.shape for d in data), key=len)
    return traced(*[d if isinstance(d, np.generic) or d.shape == shape else lax.broadcast(d, shape) for d in data])


def conjunction(a: Data | None, b: Data | None) -> Data | None:
    """Both of two masks; None is the mask of all."""
    if a is None or b is None:
        return b if a is None else a
    for p, q in ((a, b), (b, a)):
        if isinstance(p, np.generic):
            return q if p else p
    return lax.bitwise_and(*alike(a, b))


def disjunction(a: Data, b: Data) -> Data:
    """One of two masks."""
    for p, q in ((a, b), (b, a)):
        if isinstance(p, np.generic):
            return p if p else q
    return lax.bitwise_or(*alike(a, b))


def negation(a: Data) -> Data:
    """The complement of a mask."""
    return np.bool_(not a) if isinstance(a, np.generic) else lax.bitwise_not(a)


def converted(n: Number, to: Scalar) -> Number:
    """C's conversion of a number to another type."""
    if n.type == to:
        return n
    if to.is_bool:
        return of_truth(truth(n), to)
    if n.known and not (n.type.is_float and not to.is_float):
        return constant(n.data, to)
    if to.is_float:
        return Number(to, cast(n.data, to.dtype))
    if n.type.is_float:
        return _truncated(n, to)
    return _resized(n, to)


def _truncated(n: Number, to: Scalar) -> Number:
    """A float as an integer, towards zero; what does not fit is undefined."""
    if n.known:
        value = float(n.data)
        return constant(int(value) if np.isfinite(value) else 0, to)
    if to.size < 4:
        return _resized(held(types.INT, cast(n.data, np.dtype(np.int32))), to)
    return held(to, cast(n.data, to.dtype))


def _resized(n: Number, to: Scalar) -> Number:
    """An integer as one of another type, modulo its width."""
    interval = n.interval or intervals.of_type(n.data.dtype)
    if intervals.within(interval, intervals.of_type(to.dtype)):
        if to.size >= 4 and (n.data.dtype == np.bool_ or n.data.dtype == np.int32):
            return Number(to, n.data, interval)
        if to.size >= 4 and intervals.fits_int32(interval):
            return Number(to, cast(n.data, np.dtype(np.int32)), interval)
        return Number(to, cast(n.data, to.dtype), interval)
    if to.size == 8:
        return held(to, cast(exact(n), to.dtype))
    return held(to, cast(n.data, to.dtype))


def bits(n: Number, to: Scalar) -> Number:
    """The bits of a number as another type of the same size."""
    if n.type == to:
        return n
    data = exact(n)
    if isinstance(data, np.generic):
        return held(to, data.view(to.dtype)) if to.is_float else constant(int(data.view(to.dtype)), to)
    return held(to, lax.bitcast_convert_type(data, to.dtype))


def consecutive(first: Data, count: int, shape: tuple[int, ...]) -> jax.Array:
    """`[*shape, count]` indices that follow each other from a first one, for each work-item along a private axis."""
    axes = tuple(range(len(shape))) if first.ndim else ()
    rows = lax.broadcast_in_dim(jnp.asarray(first), (*shape, count), axes)
    return lax.add(rows, lax.broadcast(np.arange(count, dtype=first.dtype), shape))
