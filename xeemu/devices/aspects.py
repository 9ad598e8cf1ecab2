"""Aspects: what a kernel's operations ask of a device that not every device has (SYCL 2020, section 4.6.4.3)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.devices.lookup import devices
from xeemu.errors import KernelNotSupportedError
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region
from xeemu.ir.table import Kind
from xeemu.language import source, user_calls
from xeemu.language.program import Program

# The types whose use asks for an aspect, and what to write instead.
_TYPES = {
    "fp64": (("float64", "complex128"), "float32"),
    "fp16": (("float16",), "float32 or bfloat16"),
}


def check(program: Program, device: Device) -> None:
    """Checks a kernel's operations against a device; what is not known of the device is permitted.

    Raises:
      KernelNotSupportedError: the kernel performs atomic operations on 64 bits, or computes or stores numbers of double
        or half precision, and the device lacks `atomic64`, `fp64` or `fp16`.
    """
    if device.atomic64 is False:
        _check_atomics(program, device)
    for aspect in _TYPES:
        if getattr(device, aspect) is False:
            _check_type(program, device, aspect)


def _check_atomics(program: Program, device: Device) -> None:
    for op in program.body.walk():
        if op.name != ops.ATOMIC:
            continue
        held = op.operands[0].dtype
        if held.itemsize == 8:
            raise _lacks(
                program,
                f"an atomic {op.attributes['op']} of {held} elements, which have 64 bits",
                device,
                "atomic64",
                "a memory of 32 bits",
                source.of_op(op),
            )


def _check_type(program: Program, device: Device, aspect: str) -> None:
    dtypes, instead = _TYPES[aspect]
    inputs = zip(program.body.inputs, program.kernel.parameters, strict=True)
    # A Python scalar has the width of the mode that the kernel is traced in, and converts to whatever it meets.
    names = {v: name for v, name in inputs if str(v.dtype) in dtypes and not v.weak_type}
    makes = _has_half if aspect == "fp16" else _makes_double if program.kernel.interface is None else _has_double
    found = _first_use(program.body, names, makes)
    if found is not None:
        raise _lacks(program, _described(*found, dtypes), device, aspect, instead, source.of_op(found[0]))
    for v, name in names.items():
        site = source.of_function(program.kernel.function.__code__)
        raise _lacks(program, f"the argument {name} is {v.dtype}", device, aspect, instead, site)


def _first_use(body: Region, names: Mapping[Any, str], makes: Callable[[Op], bool]) -> tuple[Op, str | None] | None:
    """The first operation that uses one of the named values, or makes one of their type, with the name."""
    for op in body.ops:
        for number, inner in enumerate(op.regions if ops.of(op).kind is Kind.CONTROL else ()):
            given = zip(inner.all_inputs, control.region_operands(op, op.used, number), strict=True)
            within = {v: names[a] for v, a in given if not isinstance(a, Constant) and a in names}
            if found := _first_use(inner, within, makes):
                return found
        used = [names[a] for a in op.used if not isinstance(a, Constant) and a in names]
        if used or makes(op):
            return op, used[0] if used else None
    return None


def _makes_double(op: Op) -> bool:
    """True if the user has asked for a double, rather than JAX's 64-bit mode.

    With it on, JAX widens sums, quotients and defaults, and the literals of Python and NumPy, which convert back where
    they are stored. In a program, `jnp.zeros(n, jnp.float64)` is one of the defaults.
    """
    if not any(_is(v, _TYPES["fp64"][0]) for v in op.results):
        return False
    if op.name == "convert_element_type":
        return user_calls.asks_for_dtype(op)
    return op.name == ops.ALLOCATE or op.name == "bitcast_convert_type"


def _has_double(op: Op) -> bool:
    """True if an operation of a kernel of another language, whose types are all the user's, is of doubles."""
    return any(_is(v, _TYPES["fp64"][0]) for v in [*op.operands, *op.results])


def _has_half(op: Op) -> bool:
    return any(_is(v, _TYPES["fp16"][0]) for v in [*op.operands, *op.results])


def _is(value: Any, dtypes: tuple[str, ...]) -> bool:
    return str(getattr(value, "dtype", "")) in dtypes


def _described(op: Op, name: str | None, dtypes: tuple[str, ...]) -> str:
    dtype = next(np.dtype(v.dtype) for v in [*op.results, *op.operands] if _is(v, dtypes))
    if op.name in ops.ACCESSES:
        atomic = "an atomic" if op.name == ops.ATOMIC else "a"
        return f"{atomic} {ops.operation(op)} of {dtype} elements{f' of {name}' if name else ''}"
    if op.name == ops.ALLOCATE:
        return f"{op.attributes['space']} memory {op.attributes['name']} of {dtype} elements"
    return f"the argument {name} is {dtype}" if name else f"a value of {dtype}"


def _lacks(
    program: Program, what: str, device: Device, aspect: str, instead: str, site: source.Site
) -> KernelNotSupportedError:
    dialect = program.kernel.dialect
    others = ", ".join(other.name for other in devices() if getattr(other, aspect) and other.name != device.name)
    return KernelNotSupportedError(
        f"{what}; {device.name} lacks {dialect.aspect(aspect)}. Use {dialect.types(instead)}, or launch on a device "
        f"that has it: {others}\n  at {site}"
    )
