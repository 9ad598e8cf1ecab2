"""A launch of a kernel of a public measurement, on shapes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

import xeemu as xe


class Launch(NamedTuple):
    """A launch of a kernel on shapes.

    Attributes:
      work: bytes moved, operations or items, as the publication counts them, from which the time of a rate follows.
      submitted: whether the published time has the overhead of submitting the launch in it, next to which it is not
        small.
    """

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arguments: tuple[Any, ...]
    static: Mapping[str, Any]
    work: float
    submitted: bool = False


def shape(dtype: Any, *sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, np.dtype(dtype))
