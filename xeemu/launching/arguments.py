"""Arguments: what a launch is given, checked and described."""

import dataclasses
import functools
import operator
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import KernelArgumentError
from xeemu.language import source
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching import explicit_axes, unwritten
from xeemu.plurals import counted

DEFAULT_DEVICE = "max1550"


def checked_device(kernel: Any, nd_range: Any, device: str | Device) -> Device:
    """The modelled device of a launch, after the check that a kernel and an nd-range were given."""
    if not isinstance(kernel, Kernel):
        raise KernelArgumentError(
            f"a launch takes a kernel, but got {source.called(kernel)}; decorate the function with @xe.kernel"
        )
    if isinstance(nd_range, int | tuple | list):
        sizes = (
            f"{nd_range[0]}, {nd_range[1]}" if isinstance(nd_range, tuple) and len(nd_range) == 2 else repr(nd_range)
        )
        raise KernelArgumentError(f"a launch takes an xe.NDRange, but got {nd_range!r}; write xe.NDRange({sizes})")
    if not isinstance(nd_range, NDRange):
        raise KernelArgumentError(
            f"a launch takes an xe.NDRange, but got {source.called(nd_range)}; "
            "write xe.NDRange(global_size, local_size)"
        )
    return find_device(device)


def own_range(kernel: Any, nd_range: NDRange | None) -> NDRange:
    """The nd-range of a launch; where none is given, that of a kernel whose source tells it."""
    if nd_range is not None or not isinstance(kernel, Kernel):
        return nd_range  # type: ignore[return-value]  # looked at by `checked_device`
    if kernel.nd_range is None:
        why = (
            "whose host code does not tell its sizes"
            if kernel.interface is not None
            else "which has no sizes of its own"
        )
        raise KernelArgumentError(
            f"a launch takes an xe.NDRange, but got none for kernel {kernel.name}, {why}; write "
            "xe.NDRange(global_size, local_size)"
        )
    return kernel.nd_range


def checked_iterations(max_iterations: Any, optional: bool = True) -> Any:
    """A limit of iterations, after the check that it is one; None as it is, if it may be that.

    Raises:
      KernelArgumentError: it is no whole number from 1 to 2^31-1.
    """
    if optional and max_iterations is None:
        return None
    number = isinstance(max_iterations, int | np.integer) and not isinstance(max_iterations, bool)
    if not (number and 1 <= max_iterations < 2**31):
        raise KernelArgumentError(
            f"max_iterations is {max_iterations!r}; give a number of iterations, from 1 to 2^31-1"
        )
    return int(max_iterations)


class ArgumentType(NamedTuple):
    """Shape and type of an argument, hashable; a tuple, for each launch makes one of each argument."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak: bool

    @classmethod
    def of(cls, x: Any) -> "ArgumentType":
        """The description of an array, a scalar or a `jax.ShapeDtypeStruct`."""
        if isinstance(x, bool | int | float) and not isinstance(x, np.generic):
            return cls((), np.dtype({bool: np.bool_, int: np.int32, float: np.float32}[type(x)]), True)
        return cls(tuple(x.shape), np.dtype(x.dtype), bool(getattr(x, "weak_type", False)))


def platform_of(given: Sequence[Any]) -> str:
    """The platform on which JAX will run a launch with these arguments."""
    # Of no device in particular the name alone is asked for: each launch does.
    return jax.default_backend() if _device_asked_for(given) is None else device_of(given).platform


def device_of(given: Sequence[Any]) -> jax.Device:
    """The device on which JAX will run a launch with these arguments, or one of several."""
    chosen = _device_asked_for(given)
    return chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]


def _device_asked_for(given: Sequence[Any]) -> jax.Device | str | None:
    """The device of an argument that is bound to one, or what `jax.default_device` says; None if nobody asks."""
    for x in given:
        if is_concrete(x.__class__) and x.committed:
            return next(iter(x.devices()))
    chosen: jax.Device | str | None = jax.config.jax_default_device  # type: ignore[attr-defined]
    return chosen


@functools.lru_cache(maxsize=64)
def is_concrete(kind: type) -> bool:
    """True if a class is that of JAX's arrays with contents; cached, for each launch asks it of each argument."""
    return issubclass(kind, jax.Array) and not issubclass(kind, jax.core.Tracer)


ARRAYS = (jax.Array, np.ndarray, np.generic)
SHAPED = (*ARRAYS, jax.ShapeDtypeStruct)
"""What has a shape and a dtype; a launch itself takes no `ShapeDtypeStruct`."""


def checked_arguments(kernel: Kernel, arguments: Sequence[Any], allowed: Any) -> list[Any]:
    """A launch's arguments, of the classes allowed, in the number that the kernel takes."""
    names = kernel.parameters
    every = names if kernel.interface is None else kernel.interface.every or names
    if not len(names) <= len(arguments) <= len(every):
        raise KernelArgumentError(
            f"kernel {kernel.name} takes {counted(len(names), 'argument')} ({', '.join(names)}), but got "
            f"{len(arguments)}"
        )
    if kernel.interface is not None and kernel.interface.bind is not None:
        return list(arguments)  # looked at where they are bound
    return [_argument(kernel, name, x, allowed) for name, x in zip(names, arguments, strict=True)]


def _argument(kernel: Kernel, name: str, x: Any, allowed: Any) -> Any:
    where = f"argument {name} of kernel {kernel.name}"
    if isinstance(x, allowed) and _is_number(x.dtype):
        _check_readable(where, x)
        return x
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, int) and not isinstance(x, np.generic) and not -(2**31) <= x < 2**31:
        raise KernelArgumentError(f"{where} is {x}, beyond 32 bits; pass np.int64({x}) or np.uint64({x})")
    if isinstance(x, int | float) and not isinstance(x, np.generic):
        return x
    if isinstance(x, list) and x and all(isinstance(n, bool | int | float) for n in x):
        raise KernelArgumentError(
            f"{where} is a list of numbers; pass np.asarray({name}) for an array of them, or tuple({name}) for so many "
            "scalars"
        )
    if not isinstance(x, allowed):
        raise KernelArgumentError(
            f"{where} is {source.called(x)}; pass an array (np.asarray(...)) or a scalar; a static parameter is "
            "keyword-only in the kernel and goes by name"
        )
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        drawn = f"pass its seed, and write jax.random.key({name}) in the kernel"
        raise KernelArgumentError(f"{where} is a key of jax.random; {drawn}")
    raise KernelArgumentError(f"{where} has dtype {x.dtype}; it holds bool, integers or floats of 8 to 64 bits")


def _check_readable(where: str, x: Any) -> None:
    """Refuses arrays of which the elements are not simply there: deleted, masked, or in another byte order."""
    if isinstance(x, np.ma.MaskedArray):
        raise KernelArgumentError(f"{where} is a masked array; pass its elements, .filled(value), and its mask")
    if not x.dtype.isnative:
        native = x.dtype.newbyteorder("=")
        raise KernelArgumentError(
            f"{where} has dtype {x.dtype.str}, in another byte order than this machine's; pass .astype(np.{native})"
        )
    if is_concrete(x.__class__) and x.is_deleted():
        raise KernelArgumentError(
            f"{where} is deleted: its memory was given to the result of a call with donate=True, or freed; pass that "
            "result, or a copy that was made before"
        )


@functools.lru_cache(maxsize=64)
def _is_number(dtype: Any) -> bool:
    """True if a memory may hold such elements; cached, for each launch asks it of each argument."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating)
    return any(jnp.issubdtype(dtype, kind) for kind in kinds) and dtype.itemsize <= 8


def scalars(values: Sequence[Any]) -> tuple[Hashable, ...]:
    """For each argument its value if it is an integer or a bool that is known, on which addresses may depend, else
    None."""
    return tuple(map(_scalar, values))


def _scalar(x: Any) -> Hashable:
    if getattr(x, "shape", ()) or isinstance(x, jax.ShapeDtypeStruct | jax.core.Tracer):
        return None
    value = np.asarray(x)
    return value.item() if value.dtype.kind in "biu" else None


def outside_jit(entry_point: str, values: Sequence[Any]) -> None:
    """Checks that the arguments of a function whose results are plain values are known.

    Raises:
      KernelArgumentError: one of them is traced.
    """
    if any(isinstance(a, jax.core.Tracer) for a in values):
        raise KernelArgumentError(
            f"{entry_point} gives plain values, so it cannot be part of a jit, a vmap or another transformation of "
            "JAX; call it outside"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class CheckedArguments:
    """What a call is given, checked.

    Attributes:
      kernel: what is launched, with a parameter for each leaf of a pytree.
      arguments: one for each parameter.
      shapes: the names of those that were given as shapes, which nobody has written.
      unchanged: false if an argument is another array, in the same memory: so is that of an equal call.
    """

    kernel: Kernel
    arguments: list[Any]
    shapes: unwritten.Names
    unchanged: bool = True

    @classmethod
    def of(cls, kernel: Kernel, arguments: Sequence[Any]) -> "CheckedArguments":
        """The arguments of a call, arrays and scalars, pytrees of them, and shapes.

        Raises:
          KernelArgumentError: they are not what the kernel takes.
        """
        taken, leaves = kernel.with_leaves(arguments)
        leaves, names = unwritten.filled(taken, leaves)
        checked = checked_arguments(taken, leaves, ARRAYS)
        plain = explicit_axes.automatic(checked)
        return cls(taken, plain, names, all(map(operator.is_, plain, checked)))

    @classmethod
    def of_shapes(cls, kernel: Kernel, arguments: Sequence[Any]) -> "CheckedArguments":
        """The arguments for somebody to whom shapes and scalars tell all: shapes are left as they are."""
        taken, leaves = kernel.with_leaves(arguments)
        return cls(taken, checked_arguments(taken, leaves, SHAPED), ())

    @classmethod
    def outside_jit(cls, entry_point: str, kernel: Kernel, arguments: Sequence[Any]) -> "CheckedArguments":
        """The arguments of a function whose results are plain values, so that all of them have to be known."""
        checked = cls.of(kernel, arguments)
        outside_jit(entry_point, checked.arguments)
        return checked
