"""Aspects: what a kernel's operations ask of a device that not every device has (SYCL 2020, section 4.6.4.3)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from xeemu.devices.device import Device, devices
from xeemu.errors import KernelNotSupportedError
from xeemu.language import jaxprs, primitives, source
from xeemu.language.jaxprs import Body
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
    for eqn in jaxprs.equations(program.body):
        if eqn.primitive is not primitives.atomic_p:
            continue
        held = eqn.invars[0].aval.dtype
        if held.itemsize == 8:
            raise _lacks(
                program,
                f"an atomic {eqn.params['op']} of {held} elements, which have 64 bits",
                device,
                "atomic64",
                "a memory of 32 bits",
                source.of_equation(eqn),
            )


def _check_type(program: Program, device: Device, aspect: str) -> None:
    dtypes, instead = _TYPES[aspect]
    inputs = zip(program.body.invars, program.kernel.parameters, strict=True)
    # A Python scalar has the width of the mode that the kernel is traced in, and converts to whatever it meets.
    names = {v: name for v, name in inputs if str(v.aval.dtype) in dtypes and not v.aval.weak_type}
    makes = _has_half if aspect == "fp16" else _makes_double if program.kernel.interface is None else _has_double
    found = _first_use(program.body, names, makes)
    if found is not None:
        raise _lacks(program, _described(*found, dtypes), device, aspect, instead, source.of_equation(found[0]))
    for v, name in names.items():
        site = source.of_function(program.kernel.function.__code__)
        raise _lacks(program, f"the argument {name} is {v.aval.dtype}", device, aspect, instead, site)


def _first_use(
    body: Body, names: Mapping[Any, str], makes: Callable[[jex_core.JaxprEqn], bool]
) -> tuple[jex_core.JaxprEqn, str | None] | None:
    """The first operation that uses one of the named values, or makes one of their type, with the name."""
    for eqn in body.eqns:
        structure = jaxprs.structure(eqn)
        for number, inner in enumerate(jaxprs.bodies(eqn)):
            given = zip(inner.invars, jaxprs.given(structure, eqn.invars, number), strict=True)
            within = {v: names[a] for v, a in given if not jaxprs.is_literal(a) and a in names}
            if found := _first_use(inner, within, makes):
                return found
        used = [names[a] for a in eqn.invars if not jaxprs.is_literal(a) and a in names]
        if used or makes(eqn):
            return eqn, used[0] if used else None
    return None


def _makes_double(eqn: jex_core.JaxprEqn) -> bool:
    """Whether the user has asked for a double, rather than JAX's 64-bit mode.

    With it on, JAX widens sums, quotients and defaults, and the literals of Python and NumPy, which convert back where
    they are stored. In a jaxpr, `jnp.zeros(n, jnp.float64)` is one of the defaults.
    """
    if not any(_is(v, _TYPES["fp64"][0]) for v in eqn.outvars):
        return False
    if eqn.primitive.name == "convert_element_type":
        return source.asks_for_dtype(eqn)
    return eqn.primitive is primitives.allocate_p or eqn.primitive.name == "bitcast_convert_type"


def _has_double(eqn: jex_core.JaxprEqn) -> bool:
    """The same of a kernel of another language, whose types are all the user's."""
    return any(_is(v, _TYPES["fp64"][0]) for v in [*eqn.invars, *eqn.outvars])


def _has_half(eqn: jex_core.JaxprEqn) -> bool:
    return any(_is(v, _TYPES["fp16"][0]) for v in [*eqn.invars, *eqn.outvars])


def _is(value: Any, dtypes: tuple[str, ...]) -> bool:
    return str(getattr(value.aval, "dtype", "")) in dtypes


def _described(eqn: jex_core.JaxprEqn, name: str | None, dtypes: tuple[str, ...]) -> str:
    dtype = next(np.dtype(v.aval.dtype) for v in [*eqn.outvars, *eqn.invars] if _is(v, dtypes))
    if eqn.primitive in primitives.ACCESSES:
        atomic = "an atomic" if eqn.primitive is primitives.atomic_p else "a"
        return f"{atomic} {primitives.operation(eqn)} of {dtype} elements{f' of {name}' if name else ''}"
    if eqn.primitive is primitives.allocate_p:
        return f"{eqn.params['space']} memory {eqn.params['name']} of {dtype} elements"
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
