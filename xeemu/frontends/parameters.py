"""Parameters: what a launch gives for each parameter of a kernel of C, checked and converted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.frontends import arrays, declarations, images, numbers, opaques, samplers
from xeemu.frontends.arrays import ArrayType
from xeemu.frontends.functions import Function
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Opaque, Pointer, Record, Scalar, Vector
from xeemu.language.dialect import OPENCL_C, Dialect
from xeemu.language.local import Local
from xeemu.plurals import counted


def check_number(function: Function, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuses a call that does not give each parameter of a kernel an argument, by position."""
    if not keywords and len(arguments) == len(function.parameters):
        return
    texts = [declarations.parameter(p) for p in function.parameters]
    if keywords:
        raise KernelArgumentError(
            f"kernel {function.name} takes its arguments by position, in the order of its parameters, but got "
            f"{', '.join(keywords)} by keyword; its parameters are ({', '.join(texts)})"
        )
    if len(arguments) != len(texts):
        rest = texts[len(arguments) :]
        missing = f"; `{rest[0]}` and what follows is missing" if rest else ""
        local = any(text.startswith("local") for text in rest)
        note = "; pointers to local memory take xe.Local(bytes)" if local else ""
        raise KernelArgumentError(
            f"kernel {function.name} takes {counted(len(texts), 'argument')} ({', '.join(texts)}), but got "
            f"{len(arguments)}{missing}{note}"
        )


def value(parameter: Variable, given: Any, kernel: str, dialect: Dialect) -> Any:
    """The value of an argument that is no array.

    Args:
      parameter: that it is for.
      given: by the launch.
      kernel: its name.
      dialect: of advice.
    """
    if isinstance(given, Local) and not _is_local(parameter):
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} is no pointer to local memory, but got {given!r}; pass a value of its type"
        )
    match parameter.type:
        case Pointer():
            return _local(parameter, given, kernel, dialect)
        case Scalar():
            return numbers.scalar(parameter, given, kernel)
        case Vector():
            return numbers.vector(parameter, given, kernel)
        case Record():
            return numbers.record(parameter, given, kernel)
        case Opaque() if opaques.is_sampler(parameter.type):
            return samplers.given(given, _where(parameter, kernel))
    raise KernelArgumentError(
        f"{_where(parameter, kernel)} is of type {parameter.type}, which a launch cannot give; let the kernel read a "
        "global array instead"
    )


def _local(parameter: Variable, given: Any, kernel: str, dialect: Dialect) -> Local:
    if not isinstance(given, Local):
        size = given if isinstance(given, int) else getattr(given, "nbytes", "bytes")
        raise KernelArgumentError(
            f"{_where(parameter, kernel)} points to local memory, of which each work-group has its own; pass "
            f"xe.Local({size}), its number of bytes"
        )
    if not given.bytes and dialect == OPENCL_C:
        raise KernelArgumentError(
            f"{given!r} for {_where(parameter, kernel)}; OpenCL gives a pointer to local memory some bytes, such as "
            "xe.Local(4 * 64) for 64 floats"
        )
    return given


def _where(parameter: Variable, kernel: str) -> str:
    return f"parameter `{declarations.parameter(parameter)}` of kernel {kernel}"


def is_array(parameter: Variable) -> bool:
    """True if a launch gives an array for a parameter: a pointer to global or constant memory, or an image."""
    if isinstance(parameter.type, Pointer):
        return parameter.type.space != "local"
    return opaques.is_image(parameter.type)


def form(parameter: Variable, given: Any, kernel: str) -> ArrayType:
    """What is remembered of an argument that is an array, to give results back as it is."""
    return (images if opaques.is_image(parameter.type) else arrays).form(parameter, given, kernel)


def _is_local(parameter: Variable) -> bool:
    return isinstance(parameter.type, Pointer) and parameter.type.space == "local"


def restored(parameter: Variable, value: Any) -> Any:
    """A known value as the lowering takes it."""
    return np.array(value, value[0].dtype) if isinstance(value, tuple) else value
