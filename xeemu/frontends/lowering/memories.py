"""Memories: loads and stores of C's values through pointers, in memories that hold one kind of number each."""

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import partial_records, registers
from xeemu.frontends.lowering.walk import MemoryLayout, Walk
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Scalar, Type
from xeemu.frontends.values import Data, Number, Pointing, Value
from xeemu.language import given
from xeemu.language.interface import Retrace
from xeemu.language.memory import poison


def element(of: Type, granule: int | None = None) -> Scalar:
    """What a memory of values of a type holds: their numbers if these are alike, else unsigned integers of their sizes.

    Args:
      of: the type.
      granule: bytes of an element, if something smaller has to be accessed; or what `as_integers` gives.
    """
    if granule is not None and granule < 0:
        return types.BY_DTYPE[np.dtype(f"{'' if -granule % 2 else 'u'}int{8 * piece(granule)}")]
    if granule is not None and (not isinstance(of, Scalar) or of.size != granule):
        return types.BY_DTYPE[np.dtype(f"uint{8 * granule}")]
    held = {scalar for _, scalar in types.scalars(of)}
    if not held:
        return types.UCHAR
    if len(held) == 1:
        (only,) = held
        return types.UCHAR if only.is_bool else only
    sizes = {scalar.size for scalar in held}
    offsets = [offset for offset, _ in types.scalars(of)]
    return types.BY_DTYPE[np.dtype(f"uint{8 * math.gcd(*sizes, *offsets, of.size)}")]


def as_integers(of: Scalar) -> int:
    """Among the granules: a memory of integers of a type, whatever is declared, for atomic operations on such."""
    return -(2 * of.size + of.is_signed)


def piece(granule: int) -> int:
    """The bytes of an element."""
    return -granule // 2 if granule < 0 else granule


def allocate(walk: Walk, key: Any, name: str, of: Type, space: str, count: int | None = None) -> None:
    """Makes a local or private memory for a variable.

    Args:
      walk: the walk.
      key: of the memory.
      name: of the variable.
      of: its type.
      space: `"local"` or `"private"`.
      count: bytes, if the type does not say.
    """
    held = element(of, walk.granules.get(key) or None)
    size = (of.size if count is None else count) // held.size
    values.need(held.dtype)
    make = walk.wg.local if space == "local" else walk.wg.private
    walk.memories[key] = make(max(size, 1), held.dtype, name=name)
    walk.layouts[key] = MemoryLayout(name, space, held)


def give(walk: Walk, parameter: Variable, value: Value) -> None:
    """Makes a parameter with its argument; one in a memory is stored."""
    if parameter not in walk.memories:
        walk.declare(parameter, registers.held(walk, parameter, value))
        return
    start = Pointing(types.Pointer(parameter.type, parameter.space), parameter, values.constant(0, types.INT))
    store(walk, start, value, parameter.type)


def units(walk: Walk, key: Any, size_bytes: int) -> int:
    """A number of bytes in elements of a memory."""
    held = walk.layouts[key].element.size
    if size_bytes % held:
        raise Retrace(key, math.gcd(size_bytes, held))
    return size_bytes // held


def moved(walk: Walk, pointer: Pointing, by: Number, size_bytes: int) -> Pointing:
    """A pointer a number of steps further.

    Args:
      walk: the walk.
      pointer: the pointer.
      by: the steps, an integer of any type.
      size_bytes: of a step.
    """
    step = units(walk, pointer.memory, size_bytes)
    wide = types.LONG if by.type.size == 8 else types.INT if by.type.is_signed or by.type.size < 4 else types.UINT
    distance = _product(by, step, wide)
    total = dataclasses.replace(_sum(pointer.offset, distance), given=pointer.offset.given or by.given)
    return Pointing(pointer.type, pointer.memory, total)


def _product(by: Number, step: int, wide: Scalar) -> Number:
    by = values.converted(by, wide)
    if step == 1:
        return by
    product = arithmetic.binary("*", by, values.constant(step, wide), wide)
    assert isinstance(product, Number)
    return product


def _sum(a: Number, b: Number) -> Number:
    if a.known and a.data == 0:
        return b
    if b.known and b.data == 0:
        return a
    common = types.common(a.type, b.type)
    total = arithmetic.binary("+", values.converted(a, common), values.converted(b, common), common)
    assert isinstance(total, Number)
    return total


def further(walk: Walk, pointer: Pointing, size_bytes: int, to: Type) -> Pointing:
    """A pointer to a part of what another one points to, a number of bytes from its beginning."""
    of = dataclasses.replace(pointer.type, pointee=to)
    step = units(walk, pointer.memory, size_bytes)
    return Pointing(of, pointer.memory, _sum(pointer.offset, values.constant(step, pointer.offset.type)))


def field(walk: Walk, pointer: Pointing, of: types.Field) -> Pointing:
    """A pointer to a field of a record; each access to a volatile one is carried out."""
    part = further(walk, pointer, of.offset, of.type)
    volatile = pointer.type.volatile or of.volatile
    return dataclasses.replace(part, type=dataclasses.replace(part.type, volatile=volatile))


def _pointer_in(walk: Walk, pointer: Pointing, what: str) -> Exception:
    """An error of a pointer in a memory."""
    name = walk.layouts[pointer.memory].name
    return walk.refuse(f"a pointer is {what} {name}, and xeemu holds none in memories; keep an index there")


def load(walk: Walk, pointer: Pointing, of: Type) -> Value:
    """The value of a type that a pointer points to."""
    if isinstance(of, types.Pointer):
        raise _pointer_in(walk, pointer, "loaded from")
    held = walk.layouts[pointer.memory].element
    if isinstance(of, types.Vector) and of.element.size == held.size:
        raw = _raw(walk, pointer, of.count)
        return composites.assembled(of, [_as(held, x, of.element) for x in raw])
    if isinstance(of, types.Record) and partial_records.are_noted(walk, pointer.memory):
        each = [_copied(walk, further(walk, pointer, offset, part), part) for offset, part in types.scalars(of)]
        return composites.assembled(of, each)
    if not isinstance(of, Scalar):
        parts = [(further(walk, pointer, offset, part), part) for offset, part in _accessed(of)]
        numbers = [n for place, part in parts for n in composites.leaves(load(walk, place, part))]
        return composites.assembled(of, numbers)
    if of.size < held.size:
        raise Retrace(pointer.memory, of.size)
    if of.size == held.size:
        return _as(held, _raw(walk, pointer, 1)[0], of)
    return _joined(held, _raw(walk, pointer, of.size // held.size), of)


def _copied(walk: Walk, pointer: Pointing, of: Scalar) -> Number:
    """A number of a record that is copied, of which it is known where it has none; nobody reads it there."""
    with walk.scope():
        valued = partial_records.valued(walk, pointer.memory, values.index(pointer.offset))
    found: list[Value] = []
    walk.under(valued, lambda: found.append(load(walk, pointer, of)))
    (number,) = found
    assert isinstance(number, Number)
    return dataclasses.replace(number, unset=values.negation(valued))


def _accessed(of: Type) -> list[tuple[int, Type]]:
    """The numbers and vectors that a value is accessed as, each with its offset."""
    match of:
        case types.Vector(element, count):
            return [(i * element.size, element) for i in range(count)]
        case types.Record(fields=fields, union=False):
            inner = [(f.offset, f.type) for f in fields]
        case types.Array(element, count):
            inner = [(i * element.size, element) for i in range(count)]
        case _:
            return list(types.scalars(of))
    return [
        (offset + further_on, part)
        for offset, each in inner
        for further_on, part in ([(0, each)] if isinstance(each, types.Vector) else _accessed(each))
    ]


def _as(held: Scalar, data: jax.Array, of: Scalar) -> Number:
    """What was loaded from a memory, as a number of a type of the same size."""
    if of.is_bool:
        return values.of_truth(values.truth(values.held(held, data)), of)
    return values.bits(values.held(held, data), of)


def _joined(held: Scalar, parts: Sequence[jax.Array], of: Scalar) -> Number:
    """A number from the smaller ones that its bytes are held as, the lowest first."""
    values.need(of.dtype)
    narrow = [values.exact(values.bits(values.held(held, p), types.unsigned(held))) for p in parts]
    return values.held(of, lax.bitcast_convert_type(jnp.stack(values.alike(*narrow), -1), of.dtype))


def _raw(walk: Walk, pointer: Pointing, count: int) -> list[jax.Array]:
    """`count` elements that follow each other."""
    memory, index, volatile = walk.memories[pointer.memory], values.index(pointer.offset), pointer.type.volatile
    if count == 1:
        with walk.scope(), _told(walk, pointer):
            return [memory._load(index, volatile=volatile)]
    if not index.ndim and walk.where is None and memory.space != "private":
        return memory._load_vector(jnp.asarray(index), count, volatile)
    with walk.scope(), _told(walk, pointer):
        found = memory._load(values.consecutive(index, count, walk.shape), volatile=volatile)
    return [found[..., k] for k in range(count)]


def _told(walk: Walk, pointer: Pointing) -> contextlib.AbstractContextManager[Any]:
    """A context: where of a private array an argument tells the place of an access, that is noted with it."""
    return given.scope(pointer.offset.given and walk.layouts[pointer.memory].space == "private")


def store(walk: Walk, pointer: Pointing, value: Value, of: Type) -> None:
    """Stores a value of a type where a pointer points to."""
    if isinstance(of, types.Pointer) and walk.layouts[pointer.memory].space == "private":
        return  # It is refused where it is loaded, if that is ever done.
    if isinstance(of, types.Pointer) or len(composites.leaves(value)) > len(types.scalars(of)):
        raise _pointer_in(walk, pointer, "stored to")
    layout = walk.layouts[pointer.memory]
    if layout.space == "constant":
        raise walk.refuse(f"{layout.name} is constant, and is stored to; make it a __global pointer")
    held = layout.element
    if isinstance(of, types.Vector) and of.element.size == held.size:
        _write(walk, pointer, [_bits(n, held) for n in composites.leaves(value)])
    elif not isinstance(of, Scalar):
        leaves = iter(composites.parts(of, value))
        for offset, part in _accessed(of):
            numbers = [next(leaves) for _ in types.scalars(part)]
            _store_part(walk, further(walk, pointer, offset, part), part, numbers)
    elif of.size < held.size:
        raise Retrace(pointer.memory, of.size)
    else:
        number = arithmetic.converted(value, of)
        assert isinstance(number, Number)
        _write(walk, pointer, [_bits(number, held)] if of.size == held.size else _parts(number, held))


def _store_part(walk: Walk, pointer: Pointing, of: Type, numbers: Sequence[Number | None]) -> None:
    """Stores numbers of a record that is copied, some of which may have no value."""
    known = [n for n in numbers if n is not None and n.unset is None]
    if len(known) == len(numbers):
        store(walk, pointer, composites.assembled(of, known), of)
        return
    for (offset, part), number in zip(types.scalars(of), numbers, strict=True):
        _store_partial(walk, further(walk, pointer, offset, part), part, number)


def _store_partial(walk: Walk, pointer: Pointing, of: Scalar, number: Number | None) -> None:
    def leave() -> None:
        unset(walk, pointer.memory, pointer.offset, units(walk, pointer.memory, of.size))

    if number is None:
        leave()
    elif number.unset is None:
        store(walk, pointer, number, of)
    else:
        plain = dataclasses.replace(number, unset=None)
        walk.under(values.negation(number.unset), lambda: store(walk, pointer, plain, of))
        walk.under(number.unset, leave)


def begin(walk: Walk, key: Any) -> None:
    """Begins the life of a variable in a memory, where a kernel is checked: what it held before is no value of its."""
    (count,) = walk.memories[key].shape
    unset(walk, key, values.constant(0, types.INT), count)


def unset(walk: Walk, key: Any, start: Number, count: int) -> None:
    """Leaves consecutive elements of a memory without a value."""
    memory, index = walk.memories[key], values.index(start)
    each = index if count == 1 else values.consecutive(index, count, walk.shape)
    with walk.scope():
        walk.memories[key] = memory._store(each, poison(memory.dtype), None, unset=walk.checked)
        partial_records.note(walk, key, each, False)


def _bits(n: Number, held: Scalar) -> Data:
    if n.type.is_bool:
        return values.exact(values.converted(n, held))
    return values.exact(values.bits(n, held))


def _parts(n: Number, held: Scalar) -> list[Data]:
    """The bytes of a number as smaller ones, the lowest first."""
    whole, small = values.exact(n), types.unsigned(held)
    if isinstance(whole, np.generic):  # of 64 bits it needs no such types
        pieces: Any = np.asarray(whole)[None].view(small.dtype)
    else:
        pieces = lax.bitcast_convert_type(whole, small.dtype)
    numbers = [values.held(small, pieces[..., k]) for k in range(n.type.size // held.size)]
    return [values.exact(values.bits(p, held)) for p in numbers]


def _write(walk: Walk, pointer: Pointing, data: Sequence[Data]) -> None:
    memory, index, volatile = walk.memories[pointer.memory], values.index(pointer.offset), pointer.type.volatile
    with walk.scope(), _told(walk, pointer):
        if len(data) == 1:
            walk.memories[pointer.memory] = memory._store(index, data[0], volatile=volatile)
            partial_records.note(walk, pointer.memory, index, True)
            return
        columns = [d if d.ndim else lax.broadcast(d, walk.shape) for d in map(jnp.asarray, data)]
        rows = jnp.stack(columns, -1)
        each = values.consecutive(index, len(data), walk.shape)
        walk.memories[pointer.memory] = memory._store(each, rows, volatile=volatile)
        partial_records.note(walk, pointer.memory, each, True)
