"""Loading: the kernels of a file of OpenCL C by name."""

import importlib.util
import linecache
import os
from collections.abc import Iterator, Mapping
from typing import Any

from xeemu.errors import Error, NoSuchKernelError, did_you_mean
from xeemu.frontends import binding, declarations
from xeemu.frontends.tree import Function, Program
from xeemu.language.dialect import OPENCL_C
from xeemu.language.kernel import Kernel


class Kernels(Mapping[str, Kernel]):
    """The kernels of a file, each an `xe.Kernel`, by name and in the file's order.

    Attributes:
      file: its path, or the made-up name of a text.
    """

    def __init__(self, program: Program, identity: tuple[str, ...] = ()):
        self.file = program.file
        self._functions = {function.name: function for function in program.kernels}
        self._kernels = {
            function.name: binding.kernel(program, function, OPENCL_C, identity) for function in program.kernels
        }

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            names = list(self._kernels)
            its = f"its kernels are {', '.join(names)}" if names else "it has no kernels"
            raise NoSuchKernelError(f"{self.file} has no kernel {name!r}{did_you_mean(str(name), names)}; {its}")
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        heads = [_described(function) for function in self._functions.values()]
        return "\n".join([f"{self.file}: {len(heads)} kernel{'s' * (len(heads) != 1)}", *(f"  {h}" for h in heads)])


def _described(function: Function) -> str:
    """A kernel's declaration, with what it requires and its other attributes."""
    required = []
    if function.work_group_size is not None:
        required.append(f"work-group size {'x'.join(map(str, function.work_group_size))} (OpenCL's order)")
    if function.sub_group_size is not None:
        required.append(f"sub-group size {function.sub_group_size}")
    sizes = f"\n    requires {', '.join(required)}" if required else ""
    others = [a for a in function.attributes if "reqd_work_group_size" not in a and "reqd_sub_group_size" not in a]
    attributes = f"\n    attributes {', '.join(others)}" if others else ""
    return f"kernel {declarations.kernel(function)}, line {function.place.line}{sizes}{attributes}"


def load(path_or_text: str | os.PathLike[str], options: str = "", std: str | None = None) -> Kernels:
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
      Error: libclang, which reads the source, is not installed.
      KernelError: the source is wrong, or holds what is not supported.
    """
    if importlib.util.find_spec("clang") is None:
        raise Error("OpenCL C is read by libclang, which is not installed; install it by pip install 'xeemu[opencl]'")
    from xeemu.frontends import reading

    program: Any = reading.program(path_or_text, options, std)
    return Kernels(program, (options, str(std), *_texts(program)))


def _texts(program: Program) -> list[str]:
    """The contents of the files of which a program is made, as far as its functions are in them."""
    files = dict.fromkeys([program.file, *(function.place.file for function in program.functions.values())])
    return [_text(file) for file in files]


def _text(file: str) -> str:
    return "".join(linecache.getlines(file))
