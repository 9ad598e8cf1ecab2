"""Varying: numbers that differ from launch to launch of a kernel, as those of the rounds of a sort.

A number on which a loop or an index hangs is compiled into a kernel. One that has had several values is left open
instead: the kernel is then compiled once more, for all values.
"""

import dataclasses
from collections.abc import Hashable, Mapping
from typing import Any

_MOST_VALUES = 2
"""Of a number that is compiled into a kernel."""


@dataclasses.dataclass(eq=False)
class Varying:
    """What is known of the launches of a program.

    Attributes:
      values: by kernel, of each parameter that is a number those that it has had.
      refused: kernels whose numbers have to be known.
    """

    values: dict[Hashable, dict[str, set[Any]]] = dataclasses.field(default_factory=dict)
    refused: set[Hashable] = dataclasses.field(default_factory=set)

    def of(self, kernel: Hashable, numbers: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of a kernel whose numbers are left open in a launch.

        Args:
          kernel: with its nd-range and shapes, as what it is compiled.
          numbers: that are compiled into it, by the names of parameters; they are noted.
        """
        seen = self.values.setdefault(kernel, {})
        for name, number in numbers.items():
            seen.setdefault(name, set()).add(number)
        if kernel in self.refused:
            return frozenset()
        return frozenset(name for name, values in seen.items() if len(values) > _MOST_VALUES)
