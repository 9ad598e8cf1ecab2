"""Images: what a launch gives for them, arrays whose last axis may be the channels."""

from typing import Any

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.frontends import declarations, opaques
from xeemu.frontends.arrays import ArrayType
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Opaque
from xeemu.language import source

DTYPES = tuple(map(np.dtype, ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")))


def form(parameter: Variable, given: Any, kernel: str) -> ArrayType:
    """The form of the argument for an image, checked.

    Raises:
      KernelArgumentError: it is no array of the image's axes, or of elements that no image has.
    """
    of = parameter.type
    assert isinstance(of, Opaque)
    where = f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"
    if of.name not in opaques.AXES:
        raise KernelArgumentError(f"{where} is of a kind that is not modelled; there are {', '.join(opaques.AXES)}")
    wanted = opaques.axes(of)
    shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
    if shape is None or len(shape) not in (len(wanted), len(wanted) + 1):
        got = source.called(given) if shape is None else f"an array of the shape {tuple(shape)}"
        names = ", ".join(wanted)
        raise KernelArgumentError(
            f"{where} takes an array of the shape ({names}) or ({names}, channels), but got {got}"
        )
    if len(shape) > len(wanted) and not 1 <= shape[-1] <= 4:
        raise KernelArgumentError(f"{where} has 1 to 4 channels, but got {shape[-1]}, in the shape {tuple(shape)}")
    if dtype not in DTYPES:
        names = ", ".join(map(str, DTYPES))
        raise KernelArgumentError(f"{where} has pixels of {names}, but got an array of {dtype}; pass its astype")
    return ArrayType(tuple(shape), np.dtype(dtype))


def laid_out(given: Any) -> Any:
    """An argument as the memory of an image, which has its axes."""
    return np.ascontiguousarray(given) if isinstance(given, np.ndarray) else given
