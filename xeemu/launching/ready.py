"""Ready: calls of a launch that were found to be right, known again by the descriptions of their arguments."""

import functools
import weakref
from collections.abc import Hashable, MutableMapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np

from xeemu.devices.device import Device
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching import unwritten
from xeemu.launching.arguments import SHAPED, Given, is_concrete, platform_of
from xeemu.launching.preparation import Prepared, prepare_alone

_T = TypeVar("_T")

Bound = tuple[tuple[str, Any], ...]
"""The static parameters of a kernel, by name."""


class Ready(Generic[_T]):
    """What a launch is ready with for calls, of which the first of each signature was checked for all.

    Its values are kept, and in the end dropped, by others.
    """

    def __init__(self, kernel: Kernel, device: Device):
        self._kernel, self._device, self._reached = kernel, device, kernel.reached
        self._values: MutableMapping[Hashable, _T] = weakref.WeakValueDictionary()

    def signature(self, given: Sequence[Any], bound: Bound, how: Hashable = None) -> Hashable:
        """What tells a call from those that have to be checked anew; None of one that has to be checked itself.

        Args:
          given: its arguments.
          bound: its static parameters.
          how: what else decides on the value.
        """
        # What the environment limits is checked each time.
        if self._device.in_environment() is not self._device:
            return None
        try:
            identities = tuple(map(_identity, given))
        except (AttributeError, TypeError):
            return None
        if not bound:
            return identities, platform_of(given), how, self._reached.now()
        # Static values that are equal may differ in type or sign.
        return identities, platform_of(given), how, bound, repr(bound), self._kernel.bindings(bound)

    def get(self, signature: Hashable) -> _T | None:
        """The value for calls of a signature; None if there is none yet."""
        return None if signature is None else self._values.get(signature)

    def keep(self, signature: Hashable, value: _T) -> None:
        """Takes the value for all calls of a signature; a call without one is forgotten."""
        if signature is not None:
            self._values[signature] = value


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


class Watched(NamedTuple):
    """A call of a launch that somebody watches.

    Attributes:
      prepared: the launch.
      arguments: one for each of its parameters, checked.
      shapes: the names of those that were given as shapes, which nobody has written.
    """

    prepared: Prepared
    arguments: Sequence[Any]
    shapes: unwritten.Names

    @property
    def masks(self) -> dict[str, np.ndarray]:
        """For each array that nobody has written a bool of each of its bytes."""
        return unwritten.masks(self.arguments, self.shapes, self.prepared.program.kernel.parameters)


class WatchedCalls:
    """The calls of a launch that somebody watches, which is prepared once for those of one signature.

    Args:
      what: who watches it, by the name of the interface; None of somebody to whom shapes alone tell all.
      kernel, nd_range, device: the launch.
    """

    def __init__(self, what: str | None, kernel: Kernel, nd_range: NDRange, device: Device):
        self._what, self._kernel, self._nd_range, self._device = what, kernel, nd_range, device
        self._ready: Ready[Prepared] = Ready(kernel, device)

    def of(self, arguments: Sequence[Any], static: dict[str, Any]) -> Watched:
        """The call with these arguments and static parameters."""
        bound = self._kernel.bind_static(static)
        signature = self._ready.signature(arguments, bound)
        prepared = self._ready.get(signature)
        if prepared is not None:
            filled = (arguments, ()) if self._what is None else unwritten.filled(self._kernel, arguments)
            return Watched(prepared, *filled)
        given = self._checked(arguments)
        prepared = prepare_alone(given.kernel, self._nd_range, self._device, given.arguments, static)
        unwritten.check(prepared.program, given.shapes)
        self._ready.keep(signature if given.are_as_given else None, prepared)
        return Watched(prepared, given.arguments, given.shapes)

    def _checked(self, arguments: Sequence[Any]) -> Given:
        if self._what is None:
            return Given.of_shapes(self._kernel, arguments)
        return Given.outside_jit(self._what, self._kernel, arguments)
