"""Conversions: of values of the host from one type to another."""

from collections.abc import Callable
from typing import Any

from xeemu.frontends import types
from xeemu.frontends.hosting import scalars
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import NULL
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Pointer, Scalar, Type, Vector


def conversion(machine: Machine, of: Type, to: Type) -> Callable[[Any], Any] | None:
    """What converts a value of one type to another; None where there is nothing to do."""
    if of == to:
        return None
    match of, to:
        case Scalar(), Scalar():
            return scalars.converter(to)
        case Scalar(), Vector(element=element, count=count):
            repeated = scalars.converter(element)
            return lambda x: (repeated(x),) * count
        case Vector(), Vector(element=element):
            compute = scalars.converter(element)
            return lambda x: each(compute, x)
        case Pointer(), Scalar():
            return _number(machine, to)
        case types.Array(), Scalar():
            return _number(machine, to)
        case Scalar(), Pointer():
            address = machine.registry.address
            return lambda x: NULL if x.__class__ is int and x == 0 else address(x)
        case _, Pointer(pointee=pointee) if not isinstance(pointee, types.Void):
            return lambda p: _typed(p, pointee)
    return None


def _number(machine: Machine, to: Scalar) -> Callable[[Any], Any]:
    if to.is_bool:
        truth = machine.truth
        return lambda p: UNKNOWN if (x := truth(p)) is UNKNOWN else int(x)
    number, convert = machine.registry.number, scalars.converter(to)
    return lambda p: UNKNOWN if p is UNKNOWN else convert(number(p))


def _typed(p: Any, pointee: Type) -> Any:
    """A pointer to something; what is allocated is of that type from then on."""
    if p is not UNKNOWN and p[0] is not None and p[0].element is None and p[1] is not UNKNOWN and p[1] == 0:
        p[0].element = pointee
    return p


def each(compute: Callable[[Any], Any], x: Any) -> Any:
    """The components of a vector, each computed by a function."""
    return UNKNOWN if x is UNKNOWN else tuple(map(compute, x))
