"""Composites: values of C part by part, taken apart into numbers, put together again, and chosen by a mask."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import intervals, types
from xeemu.frontends.values import (
    ArrayValue,
    Components,
    Data,
    Either,
    Fields,
    Null,
    Number,
    Pointing,
    RegisterAddress,
    Value,
    alike,
    converted,
    exact,
    index,
    zero,
)


def leaves(value: Value) -> list[Number]:
    """The numbers that a value consists of, in order; of a pointer its offset."""
    match value:
        case Number():
            return [value]
        case Components(items=items) | ArrayValue(items=items):
            return [n for item in items for n in leaves(item)]
        case Fields(items=fields):
            return [n for item in fields.values() for n in leaves(item)]
        case Pointing(offset=offset):
            return [offset]
        case RegisterAddress(path=path):
            return [step for step in path if isinstance(step, Number)]
    return []


def parts(of: types.Type, value: Value) -> list[Number | None]:
    """The numbers of a value of a type, in the order of `types.scalars`; None for each without a value."""
    match value, of:
        case Null(), _:
            return [None] * len(types.scalars(of))
        case Fields(items=fields), types.Record(union=False):
            return [n for f in of.fields for n in parts(f.type, fields[f.name])]
        case ArrayValue(items=items), types.Array(element=element):
            return [n for item in items for n in parts(element, item)]
    return [*leaves(value)]


def steady(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """A path without the numbers of elements."""
    return tuple(None if isinstance(step, Number) else step for step in path)


def rebuilt(value: Value, numbers: Sequence[Number]) -> Value:
    """A value like another one from as many numbers."""
    return _rebuilt(value, iter(numbers))


def _rebuilt(value: Value, numbers: Any) -> Value:
    match value:
        case Number():
            return next(numbers)
        case Components(type=of, items=items):
            return Components(of, tuple(next(numbers) for _ in items))
        case ArrayValue(type=of, items=items):
            return ArrayValue(of, tuple(_rebuilt(item, numbers) for item in items))
        case Fields(type=of, items=fields):
            return Fields(of, {name: _rebuilt(item, numbers) for name, item in fields.items()})
        case Pointing():
            return dataclasses.replace(value, offset=next(numbers))
        case RegisterAddress(path=path):
            steps = tuple(next(numbers) if isinstance(step, Number) else step for step in path)
            return dataclasses.replace(value, path=steps)
    return value


def assembled(of: types.Type, numbers: Sequence[Number]) -> Value:
    """A value of a type from the numbers of `types.scalars(of)`."""
    return _rebuilt(zero(of), iter(numbers))


def selected(mask: Data, new: Value, old: Value) -> Value:
    """`new` where a mask holds, else `old`; of pointers into two memories both are kept."""
    if isinstance(mask, np.generic):
        return new if mask else old
    if new is old:
        return new
    match new, old:
        case Number(), Number():
            return _selected(mask, new, old)
        case Components(type=of, items=xs), Components(items=ys):
            return Components(of, tuple(_selected(mask, a, b) for a, b in zip(xs, ys, strict=True)))
        case ArrayValue(type=of, items=xs), ArrayValue(items=ys):
            return ArrayValue(of, tuple(selected(mask, a, b) for a, b in zip(xs, ys, strict=True)))
        case Fields(type=of, items=fields), Fields(items=others):
            return Fields(of, {name: selected(mask, a, others[name]) for name, a in fields.items()})
        case Pointing(), Pointing() if new.memory == old.memory:
            return dataclasses.replace(new, offset=_selected(mask, *_offsets(new.offset, old.offset)))
        case RegisterAddress(), RegisterAddress() if (new.variable, steady(new.path)) == (
            old.variable,
            steady(old.path),
        ):
            return rebuilt(new, [_selected(mask, a, b) for a, b in zip(leaves(new), leaves(old), strict=True)])
        case _, Null() if not _is_null_pointer(old):
            return new
        case Null(), _ if not _is_null_pointer(new):
            return old
        case Null(), Null():
            return new
    return Either(new.type, mask, new, old)  # type: ignore[arg-type]


def _is_null_pointer(value: Null) -> bool:
    return value.given and isinstance(value.type, types.Pointer)


def _offsets(new: Number, old: Number) -> tuple[Number, Number]:
    """Two offsets in one memory as numbers of one type: what was added to a pointer may have been of another one.

    In elements they are below 2^31 unless they have 64 bits, and may be below 0.
    """
    fits = all(n.interval and intervals.fits_int32(n.interval) and n.type.size >= 4 for n in (new, old))
    if new.type == old.type or fits:
        return new, old
    wide = types.LONG if max(new.type.size, old.type.size) == 8 else types.INT
    return converted(new, wide), converted(old, wide)


def _selected(mask: Data, new: Number, old: Number) -> Number:
    if new is old:
        return new
    if new.known and old.known and new.data == old.data and new.data.dtype == old.data.dtype and not new.type.is_float:
        return new
    a, b = new.data, old.data
    interval = intervals.joined(new.interval, old.interval) if new.interval and old.interval else None
    if a.dtype != b.dtype:
        a, b = (
            (index(new), index(old))
            if intervals.fits_int32(interval) and new.type.size >= 4
            else (exact(new), exact(old))
        )
    return Number(new.type, select(mask, a, b), interval)


def select(mask: Data, a: Data, b: Data) -> jax.Array:
    """`a` where a mask holds, else `b`; both of one dtype."""
    if mask.ndim == 0 and a.ndim == b.ndim:
        return lax.select(jnp.asarray(mask), jnp.asarray(a), jnp.asarray(b))
    return lax.select(*alike(mask, a, b))
