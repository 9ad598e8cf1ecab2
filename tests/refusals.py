"""Kernels that xeemu refuses while it traces them: each with the first part of the message and the line it names.

The line is the one that ends with `# <-` in the kernel's source.
"""

import dataclasses
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xeemu as xe

MARK = "# <-"


@dataclasses.dataclass
class Refusals:
    """A collection of cases, filled by its decorator.

    Attributes:
      nd_range: of every launch.
      cases: parameters `(function, message, arguments)` for a test.
    """

    nd_range: xe.NDRange
    cases: list[Any] = dataclasses.field(default_factory=list)

    def __call__(self, message: str, *arguments: np.ndarray) -> Callable[[Any], Any]:
        """Registers a kernel whose refusal begins with `message`; by default it takes two int32 arrays of 8."""

        def register(function: Any) -> Any:
            given = arguments or (np.zeros(8, np.int32), np.zeros(8, np.int32))
            self.cases.append(pytest.param(function, message, given, id=function.__name__))
            return function

        return register

    def error(self, function: Any, arguments: Any) -> str:
        """The message of the error that launching the kernel raises."""
        with pytest.raises(xe.Error) as caught:
            xe.launch(xe.kernel(function), self.nd_range)(*arguments)
        assert type(caught.value) is xe.KernelError
        assert caught.value.code == "kernel"
        return str(caught.value)


def site(function: Any, mark: str = MARK) -> str:
    """`file:line: text` of the line of `function` that is marked."""
    lines, first = inspect.getsourcelines(function)
    ((number, text),) = [(n, line.strip()) for n, line in enumerate(lines, first) if line.rstrip().endswith(mark)]
    return f"{os.path.relpath(inspect.getsourcefile(function))}:{number}: {text}"
