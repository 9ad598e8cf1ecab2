"""Calling: a kernel of another language called with its own kinds of arguments, by any of the transformations."""

from collections.abc import Callable
from typing import Any

from xeemu.language.interface import Retrace
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching import unwritten

Transform = Callable[[Kernel, NDRange], Callable[..., Any]]
"""The transformation of a kernel that takes arrays and scalars by position, over an nd-range."""


def is_bound(kernel: Kernel) -> bool:
    """True if a call of the kernel has to be brought into the form that is traced."""
    return kernel.interface is not None and kernel.interface.bind is not None


def function(
    kernel: Kernel,
    nd_range: NDRange,
    transform: Transform,
    outputs: Callable[[Any, Callable[[Any], Any]], Any],
    fill: bool = False,
) -> Callable[..., Any]:
    """A transformation of such a kernel as a function of its own arguments.

    Args:
      kernel: the kernel.
      nd_range: the launch.
      transform: what is done with the kernel in the form that is traced.
      outputs: applies the function that it is given to the kernel's results in what the transformation gives.
      fill: true if arrays that nobody has written are made for results that are given as shapes.
    """
    bind = kernel.interface.bind if kernel.interface is not None else None
    assert bind is not None

    def call(*arguments: Any, **static: Any) -> Any:
        given = unwritten.filled(kernel, arguments)[0] if fill else arguments
        bound = bind(kernel, nd_range, given, static)
        while True:
            try:
                result = transform(bound.kernel, bound.nd_range)(*bound.arrays, **bound.static)
            except Retrace as learnt:
                bound = bound.again(learnt)
            else:
                return outputs(result, bound.results)

    return call


def whole(given: Any, results: Callable[[Any], Any]) -> Any:
    """Of a transformation that gives the kernel's results."""
    return results(given)


def first(given: tuple[Any, Any], results: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Of one that gives them, and something else."""
    return results(given[0]), given[1]


def none(given: Any, results: Callable[[Any], Any]) -> Any:
    """Of one that gives none of them."""
    return given
