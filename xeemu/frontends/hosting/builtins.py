"""Built-ins: functions that the host has no form of its own for, computed as kernels compute them."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.frontends import tree, types, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.hosting import scalars
from xeemu.frontends.hosting.machine import Machine, store
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Pointer, Scalar, Type, Vector
from xeemu.frontends.values import Value


def find(machine: Machine, node: tree.Call) -> Callable[..., Any] | None:
    """What computes a call of a kernel's built-in function; None if there is none of that name for these types."""
    given = [a.type for a in node.arguments]
    function = catalogue.find(node.name)
    if function is not None and all(isinstance(t, Scalar | Vector) for t in (node.type, *given)):
        return lambda *arguments: _computed(lambda: (function(_lifted(arguments, given), node.type),), arguments)[0]
    stored = catalogue.find_with_pointer(node.name)
    if stored is None or not isinstance(given[-1], Pointer):
        return None
    put = store(given[-1].pointee)

    def carried(*arguments: Any) -> Any:
        *operands, pointer = arguments
        result, beside = _computed(lambda: stored(_lifted(operands, given), node.type), operands, 2)
        memory, at = machine.behind(pointer)
        assert memory is not None
        put(memory, at, beside)
        return result

    return carried


def _computed(compute: Callable[[], Sequence[Value]], arguments: Sequence[Any], count: int = 1) -> tuple[Any, ...]:
    """So many results, as the host has them; not known where an argument is not."""
    if any(a is UNKNOWN or (isinstance(a, tuple) and UNKNOWN in a) for a in arguments):
        return (UNKNOWN,) * count
    with jax.enable_x64(True), np.errstate(all="ignore"):
        return tuple(map(_lowered, compute()))


def _lifted(arguments: Sequence[Any], given: Sequence[Type]) -> list[Value]:
    """Numbers and vectors of the host as known ones of a kernel."""
    found: list[Value] = []
    for x, of in zip(arguments, given, strict=False):
        parts = x if isinstance(of, Vector) else (x,)
        found.append(values.assembled(of, [values.constant(part, scalars.of_type(of)) for part in parts]))
    return found


def _lowered(value: Value) -> Any:
    numbers = tuple(scalars.plain(np.asarray(values.exact(n))[()], n.type) for n in values.leaves(value))
    return numbers if isinstance(value, values.Components) else numbers[0]
