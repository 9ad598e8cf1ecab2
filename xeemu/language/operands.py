"""The operands of a memory operation: their dtypes, and their alignment to the work-group's axes.

An operand is a scalar, which every work-item shares, or an array whose leading axes are the work-group's (of its size
or 1) and whose trailing axes are private to the work-item.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.errors import did_you_mean
from xeemu.language import source

_BITS = frozenset({8, 16, 32, 64})


def sizes(shape: Any, dtype: Any, what: str) -> tuple[int, ...]:
    """`shape` as the elements per dimension of a memory: one to three integers from 0."""
    given = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if 1 <= len(given) <= 3 and all(isinstance(n, int | np.integer) and n >= 0 for n in given):
        return tuple(int(n) for n in given)
    known = "a value that is known only as the kernel runs" if isinstance(shape, jax.Array) else repr(shape)
    if isinstance(shape, type | str | np.dtype):
        known = getattr(shape, "__name__", str(shape))
        if isinstance(dtype, int | Sequence) and not isinstance(dtype, str):
            raise source.kernel_error(
                f"{what} of shape {known} and dtype {dtype}: they are swapped; give the shape first, ({dtype}, dtype)"
            )
    raise source.kernel_error(f"{what} of shape {known}; give one to three integers from 0")


def element_type(dtype: Any, what: str) -> np.dtype:
    """`dtype` as a NumPy dtype that a memory can hold: bool, integer or floating, of 8 to 64 bits."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        hint = did_you_mean(dtype, list(np.sctypeDict)) if isinstance(dtype, str) else ""
        raise source.kernel_error(
            f"{what} has dtype {dtype!r}{hint}, which is none; write such as jnp.float32"
        ) from None
    if _bits(resolved) not in _BITS:
        raise source.kernel_error(
            f"{what} has dtype {resolved}; a memory holds bool, integer or floating elements of 8, 16, 32 or 64 bits"
        )
    return resolved


def _bits(dtype: np.dtype) -> int | None:
    """Width of an element; None if it is neither bool, integer nor floating."""
    if dtype.kind == "b":
        return 8
    if jnp.issubdtype(dtype, jnp.integer):
        return int(jnp.iinfo(dtype).bits)
    return int(jnp.finfo(dtype).bits) if jnp.issubdtype(dtype, jnp.floating) else None


def index(component: Any, position: int, name: str) -> jax.Array:
    """An index component as an integer array of any width."""
    if isinstance(component, slice) or component is None or component is Ellipsis:
        raise source.kernel_error(
            f"{name} is indexed with {component!r} in dimension {position}; an index is an integer per work-item: "
            "write the elements as an array, for example base + jnp.arange(4)"
        )
    return integer(component, f"the index of {name} in dimension {position}", "an index", "use it as where= instead")


def integer(x: Any, what: str, such: str, of_bools: str = "convert it with .astype(jnp.int32)") -> jax.Array:
    """`x` as an integer array of any width.

    Args:
      x: the operand.
      what: what it is in messages, such as "the index of x in dimension 0".
      such: the same shortly, such as "an index".
      of_bools: what to do with bools instead.
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return _python_int(x, what)
    given = array(x, what)
    if not jnp.issubdtype(given.dtype, jnp.integer):
        hint = of_bools if given.dtype == bool else "convert it with .astype(jnp.int32)"
        raise source.kernel_error(f"{what} has dtype {given.dtype}; {such} is an integer: {hint}")
    return given


def value(x: Any, dtype: np.dtype, name: str) -> jax.Array:
    """A value to be stored in a memory of `dtype`, which must hold it without loss.

    Two kinds of arrays pass here and are judged by `conversions` when more is known: weakly typed integers (they come
    from Python scalars), and values of 64 bits which may be so wide only because JAX's 64-bit mode is on.
    """
    if isinstance(x, bool | int | float) and not isinstance(x, np.generic):
        return _python_scalar(x, dtype, name)
    given = array(x, f"the value for {name}")
    if _widens(given.dtype, dtype):
        return given.astype(dtype)
    if may_be_lossless(given, dtype):
        return given
    raise source.kernel_error(lossy(given.dtype, dtype, name))


def may_be_lossless(array: jax.Array, dtype: np.dtype) -> bool:
    """True if only the values or their provenance can tell if `array` fits into `dtype`."""
    integers = jnp.issubdtype(array.dtype, jnp.integer) and jnp.issubdtype(dtype, jnp.integer)
    if integers and array.aval.weak_type:
        return True
    narrow = _NARROW.get(array.dtype)
    return narrow is not None and _widens(narrow, dtype)


def _widens(given: np.dtype, dtype: np.dtype) -> bool:
    """True if `dtype` holds every value of `given`; NumPy calls it safe to convert 64-bit integers to float64."""
    rounds = jnp.issubdtype(given, jnp.integer) and given.itemsize == 8 and jnp.issubdtype(dtype, jnp.floating)
    return given == dtype or (np.can_cast(given, dtype, "safe") and not rounds)


def lossy(given: Any, dtype: Any, name: str) -> str:
    """The message for a value that would lose bits."""
    return (
        f"a value of dtype {given} stored in {name}, which holds {dtype}, could lose bits; "
        f"say that it may: value.astype(jnp.{dtype})"
    )


_NARROW = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
}


def mask(where: Any, name: str) -> jax.Array | None:
    """The mask of an access, or None if every work-item takes part."""
    if where is None or where is True:
        return None
    given = array(where, f"where= of an access to {name}")
    if given.dtype != bool:
        raise source.kernel_error(
            f"where= of an access to {name} has dtype {given.dtype}; a mask is bool: write a comparison, such as x != 0"
        )
    return given


def _in_front(shape: tuple[int, ...], rank: int) -> str:
    """How an operand is written whose axes are each work-item's own."""
    index = ", ".join([*["None"] * rank, *[":"] * len(shape)])
    return (
        f"; where the axes are each work-item's own, the group's go in front: [{index}], of shape {(1,) * rank + shape}"
    )


def align(
    named: list[tuple[str, jax.Array]], local_range: tuple[int, ...], memory: str
) -> tuple[list[jax.Array], tuple[int, ...]]:
    """Brings the operands of one access to one rank.

    Args:
      named: what each operand is called in a message, and the array itself.
      local_range: the work-group's axes.
      memory: the name of the memory that is accessed.

    Returns:
      The operands, each a scalar or of rank `len(local_range) + len(private)` with axes of full size or 1; and the
      private axes.
    """
    rank = len(local_range)
    for what, array in named:
        leading = array.shape[:rank]
        fits = len(leading) == rank and all(n in (1, m) for n, m in zip(leading, local_range, strict=True))
        if array.ndim and not fits:
            raise source.kernel_error(
                f"{what} of an access to {memory} has shape {array.shape}, which does not begin with the work-group's "
                f"shape {local_range}; give one element per work-item, or a scalar{_in_front(array.shape, rank)}"
            )
    private = _private_axes([(what, a.shape[rank:]) for what, a in named if a.ndim], memory)
    full = rank + len(private)
    return [lax.expand_dims(a, range(a.ndim, full)) if a.ndim else a for _, a in named], private


def _private_axes(shapes: list[tuple[str, tuple[int, ...]]], memory: str) -> tuple[int, ...]:
    longest = max((len(shape) for _, shape in shapes), default=0)
    padded = [shape + (1,) * (longest - len(shape)) for _, shape in shapes]
    try:
        return np.broadcast_shapes(*padded)
    except ValueError:
        listed = ", ".join(f"{what} {shape}" for what, shape in shapes)
        raise source.kernel_error(
            f"the private axes of an access to {memory} do not fit each other: {listed}; make them equal or 1"
        ) from None


def array(x: Any, what: str) -> jax.Array:
    """`x` as a JAX array: a NumPy constant is not cut to 32 bits silently, and only arrays and numbers pass."""
    if isinstance(x, np.ndarray | np.generic):
        return _constant(np.asarray(x), what)
    if not isinstance(x, (jax.Array, bool, int, float)) and not hasattr(x, "__jax_array__"):
        raise source.kernel_error(f"{what} is {source.called(x)}; give an array of the work-group's shape or a scalar")
    return jnp.asarray(x)


def _constant(x: np.ndarray, what: str) -> jax.Array:
    """A NumPy constant, which JAX would cut to 32 bits silently where its 64-bit mode is off."""
    narrow = _NARROW.get(x.dtype)
    if narrow is None or jax.config.read("jax_enable_x64"):
        return jnp.asarray(x)
    cut = x.astype(narrow)
    if np.issubdtype(x.dtype, np.integer) and not np.array_equal(cut, x):
        raise source.kernel_error(
            f"{what} is a NumPy constant of {x.dtype} with values beyond {narrow}, in a kernel without 64-bit memories"
        )
    return jnp.asarray(cut)


def _python_int(x: int, what: str) -> jax.Array:
    dtype = np.int32 if -(2**31) <= x < 2**31 else np.int64
    if dtype == np.int64 and not jax.config.read("jax_enable_x64"):
        raise source.kernel_error(f"{what} is {x}, which does not fit 32 bits")
    return jnp.asarray(x, dtype)


def _python_scalar(x: bool | int | float, dtype: np.dtype, name: str) -> jax.Array:
    if jnp.issubdtype(dtype, jnp.bool_):
        fits = not isinstance(x, float) and x in (0, 1)
    elif jnp.issubdtype(dtype, jnp.integer):
        fits = not isinstance(x, float) and jnp.iinfo(dtype).min <= x <= jnp.iinfo(dtype).max
    else:
        fits = _fits_float(x, dtype)
    if not fits:
        raise source.kernel_error(
            f"the value {x!r} does not fit {name}, which holds {dtype}; write it in that type, "
            f"for example np.asarray({x!r}).astype(jnp.{dtype})"
        )
    return jnp.asarray(np.asarray(x).astype(dtype)) if math.isfinite(x) else jnp.asarray(x, dtype)


def _fits_float(x: int | float, dtype: np.dtype) -> bool:
    """True if a finite number stays finite, and an integer exact."""
    if not isinstance(x, int) and not math.isfinite(x):
        return True
    try:
        with np.errstate(over="ignore"):
            stored = float(np.asarray(float(x)).astype(dtype))
    except OverflowError:
        return False
    return math.isfinite(stored) and (isinstance(x, float) or int(stored) == x)


def truth(x: Any) -> jax.Array:
    """Where an operand is not zero, as bool."""
    array = jnp.asarray(x)
    return array if array.dtype == bool else array != np.zeros((), array.dtype)
