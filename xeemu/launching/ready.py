"""Ready: calls of a launch that were found to be right, known again by the descriptions of their arguments."""

import functools
import weakref
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from typing import Any, Generic, TypeVar

import jax

from xeemu.devices.device import Device
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching import garbage, unwritten
from xeemu.launching.arguments import SHAPED, CheckedArguments, is_concrete, platform_of
from xeemu.launching.preparation import Prepared, prepare_alone

_T = TypeVar("_T")

Bound = tuple[tuple[str, Any], ...]
"""The static parameters of a kernel, by name."""


Call = tuple[_T, Sequence[Any], unwritten.Names]
"""What a launch is ready with for a call that was found to be right, its checked arguments, one for each parameter, and
the names of those that were given as shapes, which nobody has written."""


class Ready(Generic[_T]):
    """What a launch is ready with for calls, of which the first of each signature is checked for all.

    Its values are kept, and in the end dropped, by others.

    Args:
      kernel, device: the launch.
      check: checks the arguments of a call.
      prepare: makes a call's value of its arguments, its static parameters, and what else decides on the value.
      fills: true if arrays are made for arguments that are given as shapes.
    """

    def __init__(
        self,
        kernel: Kernel,
        device: Device,
        check: Callable[[Kernel, Sequence[Any]], CheckedArguments],
        prepare: Callable[[CheckedArguments, Bound, Any], _T],
        fills: bool = True,
    ):
        self._kernel, self._reached = kernel, kernel.reached
        # Asked once: each launch looks at what the environment limits.
        self._limited = device if device.local_mem_variable or device.private_mem_variable else None
        self._check, self._prepare, self._fills = check, prepare, fills
        self._values: MutableMapping[Hashable, _T] = weakref.WeakValueDictionary()

    def call(self, arguments: Sequence[Any], static: Mapping[str, Any], how: Hashable = None) -> Call[_T]:
        """The call with these arguments and static parameters, and what else decides on its value."""
        bound = self._kernel.bind_static(static)
        signature = self._signature(arguments, bound, how)
        if signature is not None and (value := self._values.get(signature)) is not None:
            return value, *(unwritten.filled(self._kernel, arguments) if self._fills else (arguments, ()))
        given = self._check(self._kernel, arguments)
        with garbage.unsearched():
            value = self._prepare(given, bound, how)
        if signature is not None and given.unchanged:
            self._values[signature] = value
        return value, given.arguments, given.shapes

    def _signature(self, given: Sequence[Any], bound: Bound, how: Hashable) -> Hashable:
        """What tells a call from those that have to be checked anew; None of one that has to be checked itself."""
        # What the environment limits is checked each time.
        if self._limited is not None and self._limited.in_environment() is not self._limited:
            return None
        try:
            identities = tuple(map(_identity, given))
        except (AttributeError, TypeError):
            return None
        if not bound:
            return identities, platform_of(given), how, self._reached.now()
        # Static values that are equal may differ in type or sign.
        return identities, platform_of(given), how, bound, repr(bound), self._kernel.bindings(bound)


def watched(entry_point: str | None, kernel: Kernel, nd_range: NDRange, device: Device) -> Ready[Prepared]:
    """The calls of a launch that somebody watches.

    Args:
      entry_point: the function of the interface that does, such as `xe.check`; None where shapes alone tell all.
      kernel, nd_range, device: the launch.
    """

    def prepare(given: CheckedArguments, bound: Bound, _how: Any) -> Prepared:
        prepared = prepare_alone(given.kernel, nd_range, device, given.arguments, dict(bound))
        unwritten.check(prepared.program, given.shapes)
        return prepared

    check = CheckedArguments.of_shapes
    if entry_point is not None:
        check = functools.partial(CheckedArguments.outside_jit, entry_point)
    return Ready(kernel, device, check, prepare, fills=entry_point is not None)


def _identity(x: Any) -> Hashable:
    """What tells an argument from others, for a signature.

    Raises:
      AttributeError, TypeError: it has to be checked.
    """
    kind = x.__class__
    if is_concrete(kind):
        if x.is_deleted():
            raise TypeError
        return kind, x.aval  # of which JAX keeps one, whose hash it knows
    if kind is float:
        return float
    if kind is int and -(2**31) <= x < 2**31:
        return int
    if not _is_shaped(kind):
        raise TypeError
    return kind, x.shape, x.dtype, getattr(x, "weak_type", False)


@functools.lru_cache(maxsize=64)
def _is_shaped(kind: type) -> bool:
    """True if a class is one of arrays, of shapes, or of tracers; cached, for each launch asks it of each argument."""
    return issubclass(kind, (*SHAPED, jax.core.Tracer))
