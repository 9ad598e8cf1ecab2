"""Numbers: what a launch gives for parameters that are no pointers, as values of C's types."""

import math
import operator
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.frontends import declarations
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Array, Record, Scalar, Type, Vector
from xeemu.language import source


def is_known(given: Any) -> bool:
    """True if an argument's value is known, rather than its shape alone."""
    return not isinstance(given, jax.core.Tracer | jax.ShapeDtypeStruct)


def scalar(parameter: Variable, given: Any, kernel: str) -> Any:
    """An argument for a number: a NumPy scalar of its type; of one that is not known an array or shape of that type.

    Raises:
      KernelArgumentError: it is no number, or the type does not hold it.
    """
    assert isinstance(parameter.type, Scalar)
    where = f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"
    if np.shape(given) if hasattr(given, "shape") else not isinstance(given, int | float):
        example = "1.5" if parameter.type.is_float else "16"
        raise KernelArgumentError(f"{where} takes a number, but got {_what(given)}; pass one such as {example}")
    if is_known(given):
        return _converted(parameter.type, np.asarray(given)[()] if hasattr(given, "dtype") else given, where)
    if parameter.type.is_float != bool(jnp.issubdtype(given.dtype, jnp.floating)) and not parameter.type.is_float:
        raise KernelArgumentError(f"{where} takes an integer, but got a scalar of {given.dtype}; pass its astype")
    if isinstance(given, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct((), parameter.type.dtype)
    with jax.enable_x64(parameter.type.size == 8):
        return given.astype(parameter.type.dtype)


def vector(parameter: Variable, given: Any, kernel: str) -> tuple[Any, ...]:
    """An argument for a vector: its components as NumPy scalars."""
    of = parameter.type
    assert isinstance(of, Vector)
    where = f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"
    components = _components(given)
    if components is None or len(components) != of.count:
        got = _what(given) if components is None else f"{len(components)}"
        raise KernelArgumentError(
            f"{where} takes {of.count} numbers, but got {got}; pass a tuple or an array of {of.count}"
        )
    return tuple(_converted(of.element, x, where) for x in components)


def record(parameter: Variable, given: Any, kernel: str) -> bytes:
    """An argument for a struct: its bytes."""
    of = parameter.type
    assert isinstance(of, Record)
    where = f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"
    if isinstance(given, Mapping):
        return _of_fields(of, given, where)
    if isinstance(given, np.ndarray | np.generic) and is_known(given):
        given = np.ascontiguousarray(given).tobytes()
    if not isinstance(given, bytes | bytearray):
        raise KernelArgumentError(
            f"{where} takes a struct, but got {_what(given)}; pass a NumPy record, {of.size} bytes, or a dict of its "
            f"fields {', '.join(f.name for f in of.fields)}"
        )
    if len(given) != of.size:
        offsets = ", ".join(f"{f.name} at {f.offset}" for f in of.fields)
        raise KernelArgumentError(f"{where} has {of.size} bytes, but got {len(given)}; its fields are {offsets}")
    return bytes(given)


def _of_fields(of: Record, given: Mapping[str, Any], where: str) -> bytes:
    """The bytes of a record of which a dict gives the fields; of a union one."""
    names = [f.name for f in of.fields]
    if unknown := [name for name in given if name not in names]:
        raise KernelArgumentError(
            f"{where} has no field {unknown[0]!r}{did_you_mean(str(unknown[0]), names)}; its fields are "
            f"{', '.join(names)}"
        )
    missing = [name for name in names if name not in given]
    if missing and not of.union:
        raise KernelArgumentError(f"{where} has the field {missing[0]} as well; give it in the dict")
    content = bytearray(of.size)
    for name, value in given.items():
        field = of.field(name)
        data = _bytes(field.type, value, f"field {name} of {where}")
        content[field.offset : field.offset + len(data)] = data
    return bytes(content)


def _bytes(of: Type, given: Any, where: str) -> bytes:
    """The bytes of a value of a field."""
    match of:
        case Scalar():
            return bytes(np.asarray(_converted(of, given, where), of.dtype).tobytes())
        case Record():
            return _of_fields(of, given, where) if isinstance(given, Mapping) else bytes(given)
        case Vector(element, count) | Array(element, count):
            items = _components(given) if not isinstance(element, Record | Array) else list(given)
            if items is None or len(items) != count:
                raise KernelArgumentError(f"{where} takes {count} values, but got {_what(given)}")
            return b"".join(_bytes(element, item, where) for item in items)
    raise KernelArgumentError(
        f"{where} is of type {of}, which has no value outside the kernel; give the struct's bytes"
    )


def _components(given: Any) -> list[Any] | None:
    """The numbers of a sequence or array of one dimension; None if it is none, or not known."""
    if isinstance(given, tuple | list):
        return list(given)
    if isinstance(given, np.ndarray | jax.Array) and is_known(given) and given.ndim == 1:
        return list(np.asarray(given))
    return None


def _converted(of: Scalar, given: Any, where: str) -> Any:
    """A number as a NumPy scalar of a type."""
    if of.is_float:
        return _float(of, given, where)
    try:
        number = operator.index(given.item() if isinstance(given, np.bool_) else given)
    except TypeError:
        raise KernelArgumentError(
            f"{where} takes an integer, but got {given!r}; pass int({given!r}) if that is meant"
        ) from None
    if of.is_bool:
        return np.bool_(number)
    limits = np.iinfo(of.dtype)
    if not limits.min <= number <= limits.max:
        wrapped = (number - int(limits.min)) % 2**limits.bits + int(limits.min)
        raise KernelArgumentError(
            f"{where} is {number}, beyond {of}, {limits.min} to {limits.max}; pass {wrapped} if it is to wrap"
        )
    return of.dtype.type(number)


def _float(of: Scalar, given: Any, where: str) -> Any:
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        raise KernelArgumentError(f"{where} takes a number, but got {_what(given)}") from None
    with np.errstate(over="ignore"):
        converted = of.dtype.type(given)
    if math.isfinite(number) and not np.isfinite(converted):
        raise KernelArgumentError(
            f"{where} is {number}, but the largest {of} is {np.finfo(of.dtype).max}; pass np.inf if that is meant"
        )
    return converted


def _what(given: Any) -> str:
    if given is None:
        return "None"
    if hasattr(given, "shape") and given.shape:
        return f"an array of the shape {tuple(given.shape)}"
    return repr(given) if isinstance(given, int | float | str) else source.called(given)
