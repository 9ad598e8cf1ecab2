"""Arrays: what a launch gives for pointers, as flat memories of the elements that the kernel accesses, and back."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.errors import KernelArgumentError
from xeemu.frontends import declarations
from xeemu.frontends.lowering import kernels
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Opaque, Pointer, Record, Scalar, Vector, Void
from xeemu.language import source

_SHAPED = (jax.Array, np.ndarray, np.void, jax.ShapeDtypeStruct)


@dataclasses.dataclass(frozen=True)
class ArrayType:
    """Shape and dtype of an array as it was given, to which its contents come back."""

    shape: tuple[int, ...]
    dtype: np.dtype


def form(parameter: Variable, given: Any, kernel: str) -> ArrayType:
    """The form of the argument for a pointer to global or constant memory, checked.

    Raises:
      KernelArgumentError: it is no array, or its elements are not those of the parameter. None is a null pointer.
    """
    if given is None:
        return ArrayType((0,), _of_null(parameter))
    if not isinstance(given, _SHAPED) or (not given.shape and given.dtype.names is None):
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} takes an array, but got {_what(given)}; pass np.asarray([...], "
            f"{_wanted(parameter)})"
        )
    found = ArrayType(tuple(given.shape), np.dtype(given.dtype))
    _check(parameter, found, kernel)
    return found


def _of_null(parameter: Variable) -> np.dtype:
    """The dtype of what a null pointer would point to."""
    assert isinstance(parameter.type, Pointer)
    pointee = parameter.type.pointee
    return np.dtype(np.uint8) if isinstance(pointee, Void | Opaque) else np.dtype(kernels.element(pointee))


@functools.lru_cache(maxsize=1024)
def _check(parameter: Variable, found: ArrayType, kernel: str) -> None:
    """Refuses an array whose elements are not those of a parameter; what fits is looked at once."""
    assert isinstance(parameter.type, Pointer)
    match parameter.type.pointee:
        case Record() as record:
            _check_record(parameter, found, record, kernel)
        case Scalar() as scalar:
            _check_scalar(parameter, found, scalar, kernel)
        case Vector() as vector:
            _check_scalar(parameter, found, vector.element, kernel)
            _check_vector(parameter, found, vector, kernel)
        case Void() | Opaque():
            _check_bytes(parameter, found, kernel)


@functools.lru_cache(maxsize=1024)
def natural(parameter: Variable, found: ArrayType) -> np.dtype:
    """The dtype in which an array is given to a kernel that accesses whole elements alone."""
    assert isinstance(parameter.type, Pointer)
    if isinstance(parameter.type.pointee, Void | Opaque):
        return found.dtype
    return np.dtype(kernels.element(parameter.type.pointee))


def finer(parameter: Variable, size: int) -> np.dtype:
    """The dtype in which an array is given to a kernel that accesses it in pieces of `size` bytes."""
    assert isinstance(parameter.type, Pointer)
    return np.dtype(kernels.element(parameter.type.pointee, size))


def flat(given: Any, dtype: np.dtype) -> Any:
    """The same bytes as an array of one dimension and of a dtype; not copied where NumPy or JAX can look at them so."""
    if isinstance(given, jax.ShapeDtypeStruct):
        count = int(np.prod(given.shape, dtype=np.int64)) * given.dtype.itemsize // dtype.itemsize
        return jax.ShapeDtypeStruct((count,), dtype)
    if isinstance(given, jax.Array):
        return _flat_of_jax(given, dtype)
    given = np.asarray(given)
    if not given.dtype.isnative:
        given = given.astype(given.dtype.newbyteorder("="))
    whole = np.ascontiguousarray(given).reshape(-1)
    return whole if whole.dtype == dtype else _whole(whole, dtype).view(dtype)


def _whole(given: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array of one dimension without the bytes at its end that fill no element of a dtype."""
    bytes_ = given.view(np.uint8) if given.dtype.itemsize % dtype.itemsize else given
    return bytes_[: bytes_.nbytes // dtype.itemsize * dtype.itemsize // bytes_.itemsize]


def back(memory: Any, form: ArrayType) -> Any:
    """The contents of a memory in the form in which its argument was given."""
    if isinstance(memory, jax.Array) and form.dtype.names is None:
        whole = _flat_of_jax(memory, form.dtype)
        return whole if whole.shape == form.shape else whole.reshape(form.shape)
    return np.asarray(memory).view(form.dtype).reshape(form.shape)


def _flat_of_jax(given: jax.Array, dtype: np.dtype) -> jax.Array:
    if given.dtype == dtype and given.ndim == 1:
        return given
    with jax.enable_x64(True):  # of 64 bits, elements keep them
        whole = given.reshape(-1)
        return whole if whole.dtype == dtype else _viewed(whole, dtype)


def _viewed(whole: jax.Array, dtype: np.dtype) -> jax.Array:
    """The bits of an array of one dimension in another dtype."""
    if whole.dtype == np.bool_:
        return _viewed(whole.astype(np.uint8), dtype)
    if dtype == np.bool_:
        return _viewed(whole, np.dtype(np.uint8)).astype(np.bool_)
    ratio = dtype.itemsize // whole.dtype.itemsize
    if ratio > 1:
        whole = whole[: whole.size // ratio * ratio].reshape(-1, ratio)
    return lax.bitcast_convert_type(whole, dtype).reshape(-1)


# --- What fits ---


def _check_scalar(parameter: Variable, found: ArrayType, scalar: Scalar, kernel: str) -> None:
    if found.dtype.itemsize != scalar.dtype.itemsize or found.dtype.names is not None:
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} has elements of {scalar.dtype}, but got an array of {found.dtype}; pass "
            f"{parameter.name}.astype(np.{scalar.dtype}), or {parameter.name}.view(np.{scalar.dtype}) for the same "
            "bytes"
        )
    if _is_float(found.dtype) != scalar.is_float or (scalar.is_float and found.dtype != scalar.dtype):
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} has elements of {scalar.dtype}, but got an array of {found.dtype}; pass "
            f"{parameter.name}.view(np.{scalar.dtype}) if its bits are meant, else "
            f"{parameter.name}.astype(np.{scalar.dtype})"
        )


def _check_vector(parameter: Variable, found: ArrayType, vector: Vector, kernel: str) -> None:
    if vector.count == 3 and len(found.shape) > 1 and found.shape[-1] == 3:
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} has elements of {vector.size} bytes, for a {vector} takes the room of 4 "
            f"{vector.element}s, but got an array of the shape {found.shape}; pad its last dimension to 4, as by "
            f"np.pad({parameter.name}, ((0, 0), (0, 1)))"
        )


def _check_record(parameter: Variable, found: ArrayType, record: Record, kernel: str) -> None:
    total = int(np.prod(found.shape, dtype=np.int64)) * found.dtype.itemsize
    if found.dtype.names is not None and found.dtype.itemsize != record.size:
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} has elements of {record.size} bytes, but the records of the array have "
            f"{found.dtype.itemsize}; {_layout(record)}"
        )
    if total % record.size:
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} has elements of {record.size} bytes, of which the {total} bytes of the array "
            f"are no multiple; {_layout(record)}"
        )


def _check_bytes(parameter: Variable, found: ArrayType, kernel: str) -> None:
    if found.dtype.names is not None:
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} does not tell what it points to, and records have no elements of one type; "
            f"pass {parameter.name}.view(np.uint8) or another dtype"
        )


def _is_float(dtype: np.dtype) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating)) if dtype.names is None else False


def _layout(record: Record) -> str:
    """How NumPy lays out a record as C does."""
    names = [f.name for f in record.fields]
    return f"give np.dtype(..., align=True) the fields {', '.join(names)}, at the offsets {_offsets(record)}"


def _offsets(record: Record) -> str:
    return ", ".join(str(f.offset) for f in record.fields)


def _wanted(parameter: Variable) -> str:
    """The dtype to give, as NumPy calls it."""
    assert isinstance(parameter.type, Pointer)
    pointee = parameter.type.pointee
    scalar = pointee.element if isinstance(pointee, Vector) else pointee
    return f"np.{scalar.dtype}" if isinstance(scalar, Scalar) else "dtype"


def _where(parameter: Variable, kernel: str) -> str:
    return f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"


def _what(given: Any) -> str:
    if isinstance(given, (*_SHAPED, np.generic, int, float)):
        return f"the number {given}" if not isinstance(given, jax.core.Tracer | jax.ShapeDtypeStruct) else "a scalar"
    return "None" if given is None else source.called(given)
