"""Contents: what the memories of a launch hold before it, and what it has changed in them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.programs import launches, transfers
from xeemu.programs.launches import Pointed

_SURE_BYTES = 4
"""The size of numbers that no kernel takes to be poison by chance."""


@dataclasses.dataclass(frozen=True, eq=False)
class LaunchContents:
    """The memories of a launch before it.

    Attributes:
      values: of the kernel's parameters.
      arguments: for the launch; what nobody has written is poison.
      unset: by the names of parameters which bytes nobody has written, of those of which there are any.
    """

    values: Sequence[Any]
    arguments: Sequence[Any]
    unset: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, values: Sequence[Any]) -> "LaunchContents":
        unset = {}
        for one in values:
            if isinstance(one, Pointed) and one.memory is not None:
                mask = transfers.unset(one.memory, one.element)
                if mask is not None:
                    unset[one.variable.name] = mask
        return cls(values, launches.arrays(values), unset)

    def take(self, written: Sequence[str], changed: Any, again: Callable[[Sequence[Any]], Any]) -> None:
        """Puts what a launch has changed into the memories.

        What is still poison has not been written; of small numbers, which may be so by chance, a second launch over
        other poison tells.

        Args:
          written: the names of the parameters whose arrays the launch gives.
          changed: what it gives.
          again: launches with other arguments.
        """
        pairs = self._changed(written, changed)
        left = {one.variable.name: self._left(one, self.arguments, data) for one, data in pairs}
        if any(_is_unsure(one, left[one.variable.name]) for one, _ in pairs):
            other = self._other()
            for one, data in self._changed(written, again(other)):
                mask = left[one.variable.name]
                left[one.variable.name] = None if mask is None else transfers.both(mask, self._left(one, other, data))
        for one, data in pairs:
            assert one.memory is not None
            transfers.put(one.memory, one.element, data, left[one.variable.name])

    def changed(self, written: Sequence[str], changed: Any) -> dict[str, np.ndarray]:
        """The contents after a launch by the names of the parameters whose arrays it gives."""
        return {one.variable.name: data for one, data in self._changed(written, changed)}

    def _changed(self, written: Sequence[str], changed: Any) -> list[tuple[Pointed, np.ndarray]]:
        pointed = [v for v in self.values if isinstance(v, Pointed) and v.variable.name in written]
        given = changed if isinstance(changed, tuple) else (changed,)
        pairs = list(zip(pointed, given, strict=False))
        return [(one, np.asarray(data)) for one, data in pairs if one.memory is not None]

    def _left(self, one: Pointed, before: Sequence[Any], data: np.ndarray) -> np.ndarray | None:
        """Which bytes of a memory nobody has written after a launch; None if all have been."""
        mask = self.unset.get(one.variable.name)
        if mask is None:
            return None
        number = next(k for k, value in enumerate(self.values) if value is one)
        return transfers.remaining(mask, one.element, before[number], data)

    def _other(self) -> list[Any]:
        """The arguments with other poison."""
        found = list(self.arguments)
        for k, one in enumerate(self.values):
            mask = self.unset.get(one.variable.name) if isinstance(one, Pointed) else None
            if mask is not None:
                found[k] = transfers.other(self.arguments[k], mask)
        return found


def _is_unsure(one: Pointed, left: np.ndarray | None) -> bool:
    return left is not None and transfers.smallest(one.element) < _SURE_BYTES
