"""Loading: OpenCL C as it stands, as kernels."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xeemu.frontends.collection import Kernels


def load(path_or_text: str | os.PathLike[str], options: str | Sequence[str] = "", std: str | None = None) -> "Kernels":
    """The kernels of OpenCL C source.

    Args:
      path_or_text: the path of a file, or the source itself.
      options: for the compiler, as for `clBuildProgram`, such as `"-DN=4 -I include"`.
      std: the version of the language, such as `"CL2.0"`; None for that of the compiler.

    Returns:
      A mapping from names to kernels for all transformations. They take their arguments by position, in the order of
      the parameters: arrays for pointers to global and constant memory, numbers for scalars, tuples or arrays for
      vectors, NumPy records, bytes or dicts for structs, and `xe.Local(bytes)` for pointers to local memory. The arrays
      that a kernel may have changed come back in the order of the parameters, as a tuple, or one by itself.

    Raises:
      KernelArgumentError: there is no such file, or libclang, which reads the source, is not installed.
      KernelError: the source is wrong, or holds what is not supported.
    """
    # Imported where they are needed, for most who import xeemu have no source of C.
    from xeemu.frontends import collection
    from xeemu.frontends.parsing import programs

    program = programs.program(path_or_text, options, std)
    return collection.Kernels(program, (options if isinstance(options, str) else " ".join(options), str(std)))
