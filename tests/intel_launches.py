"""A launch of a kernel of a public measurement, on shapes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

import xeemu as xe


class Launch(NamedTuple):
    """A launch of a kernel on shapes.

    Attributes:
      work: bytes moved, operations or items, as the publication counts them, from which the time of a rate follows.
      submitted: true if the published time has the overhead of submitting the launch in it, next to which it is not
        small.
    """

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arguments: tuple[Any, ...]
    static: Mapping[str, Any]
    work: float
    submitted: bool = False


# Of a loop whose number of iterations stands in the source IGC carries out so many side by side, or more.
_SIDE_BY_SIDE = 4


def repeated(times: int, step: Callable[[Any, Any], Any], value: Any) -> Any:
    """A loop of the published program whose number of iterations stands there; as `lax.fori_loop` from 0."""

    def steps(k: Any, value: Any) -> Any:
        for j in range(_SIDE_BY_SIDE):
            value = step(_SIDE_BY_SIDE * k + j, value)
        return value

    return lax.fori_loop(0, times // _SIDE_BY_SIDE, steps, value)


def shape(dtype: Any, *sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, np.dtype(dtype))
