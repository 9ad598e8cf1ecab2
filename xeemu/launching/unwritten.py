"""Unwritten: arguments that are given as shapes, for which a launch makes arrays that nobody has written yet."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.language.kernel import Kernel
from xeemu.language.memory import poison
from xeemu.language.program import Program
from xeemu.launching import capacity

Names = tuple[str, ...]


def filled(kernel: Kernel, arguments: Sequence[Any]) -> tuple[Sequence[Any], Names]:
    """The arguments with arrays of the poison value for those that are shapes, and the names of these.

    Args:
      kernel: what is launched; of one of another language it is known which arrays it writes.
      arguments: arrays, scalars, and `jax.ShapeDtypeStruct`s.

    Raises:
      KernelArgumentError: a scalar, or an array that the kernel does not write, is given as a shape.
      MemoryAllocationError: there is not enough memory for the arrays.
    """
    if jax.ShapeDtypeStruct not in map(type, arguments):
        return arguments, ()
    parameters = kernel.parameters if kernel.interface is None else kernel.interface.every or kernel.parameters
    shaped = {k: x for k, x in enumerate(arguments) if isinstance(x, jax.ShapeDtypeStruct)}
    names = tuple(parameters[k] if k < len(parameters) else str(k) for k in shaped)
    for name, shape in zip(names, shaped.values(), strict=True):
        if not shape.shape:
            raise KernelArgumentError(
                f"argument {name} of kernel {kernel.name} is the shape of a scalar; give its value"
            )
    if kernel.interface is not None:
        _check(kernel, names, kernel.interface.written)
    traced = any(isinstance(x, jax.core.Tracer) for x in arguments)
    if not traced:
        size_bytes = sum(math.prod(shape.shape) * shape.dtype.itemsize for shape in shaped.values())
        host = jax.local_devices(backend="cpu")[0]
        capacity.check(capacity.Need(size_bytes, 0, 0), host, "Launch a part of the work at a time")
    arrays = {k: _array(shape, traced) for k, shape in shaped.items()}
    return [arrays.get(k, x) for k, x in enumerate(arguments)], names


def check(program: Program, names: Names) -> None:
    """Checks that a kernel writes what was given as a shape.

    Raises:
      KernelArgumentError: it reads it alone.
    """
    if names:
        _check(program.kernel, names, [memory.name for memory in program.arguments if memory in program.written])


def _check(kernel: Kernel, names: Names, written: Sequence[str | None]) -> None:
    for name in names:
        if name not in written:
            raise KernelArgumentError(
                f"argument {name} of kernel {kernel.name} is a jax.ShapeDtypeStruct, but the kernel writes nothing to "
                "it; a shape will do for a result alone: give an array"
            )


def masks(arguments: Sequence[Any], names: Names, parameters: Sequence[str]) -> dict[str, np.ndarray]:
    """For each of the names a bool of each byte of its array: nobody has written it."""
    sizes = {name: x.size * x.dtype.itemsize for name, x in zip(parameters, arguments, strict=False) if name in names}
    return {name: np.ones(size, np.bool_) for name, size in sizes.items()}


def _array(shape: jax.ShapeDtypeStruct, traced: bool) -> Any:
    """An array of the poison value: a part of what is traced, or of NumPy."""
    if not traced:
        return np.full(shape.shape, poison(shape.dtype), shape.dtype)
    with jax.enable_x64(True):
        return jnp.full(shape.shape, poison(shape.dtype), shape.dtype)
