"""Device functions: functions of mathematics that the host computes as the device does, by the same built-in functions.

They are those that a program seldom calls on its host: geometry, functions of bits, and those with two results.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.frontends import composites, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.hosting import scalars
from xeemu.frontends.hosting.copies import store
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Pointer, Scalar, Type, Vector
from xeemu.frontends.values import Value

Carried = Callable[..., Any]


def find(machine: Machine, name: str, of: Type, given: Sequence[Type]) -> Carried | None:
    """What computes a call; None where no built-in function has the name, or it is not one of numbers."""
    numbers = [t for t in given if isinstance(t, Scalar | Vector)]
    if not isinstance(of, Scalar | Vector):
        return None
    if len(numbers) == len(given) and (function := catalogue.find(name)) is not None:
        return _computing(lambda *a: _given(function(_values(given, a), of), of))
    if not given or not isinstance(given[-1], Pointer) or len(numbers) != len(given) - 1:
        return None
    with_pointer, to = catalogue.find_with_pointer(name), given[-1].pointee
    if with_pointer is None:
        return None

    def computed(*arguments: Any) -> Any:
        result, stored = with_pointer(_values(numbers, arguments[:-1]), of)
        memory, at = machine.behind(arguments[-1])
        assert memory is not None
        store(to)(memory, at, _given(stored, to))
        return _given(result, of)

    return _computing(computed)


def _computing(computed: Carried) -> Carried:
    def run(*arguments: Any) -> Any:
        if any(a is UNKNOWN or (isinstance(a, tuple) and UNKNOWN in a) for a in arguments):
            return UNKNOWN
        with jax.enable_x64(True):
            return computed(*arguments)

    return run


def _values(given: Sequence[Type], arguments: Sequence[Any]) -> list[Value]:
    return [_value(of, a) for of, a in zip(given, arguments, strict=True)]


def _value(of: Type, given: Any) -> Value:
    """A number or a vector's tuple of the host as a value that is known."""
    if isinstance(of, Vector):
        return composites.assembled(of, [values.constant(x, of.element) for x in given])
    assert isinstance(of, Scalar)
    return values.constant(given, of)


def _given(value: Value, of: Type) -> Any:
    """A value as the host has it."""
    element = of.element if isinstance(of, Vector) else of
    assert isinstance(element, Scalar)
    convert = scalars.converter(element)
    found = tuple(convert(np.asarray(values.exact(n)).item()) for n in composites.leaves(value))
    return found if isinstance(of, Vector) else found[0]
