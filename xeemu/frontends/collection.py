"""Collection: the kernels of a file by name."""

import linecache
from collections.abc import Iterator, Mapping

from xeemu.errors import NoSuchKernelError, did_you_mean
from xeemu.frontends import binding, declarations
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.tree import Variable
from xeemu.language.dialect import OPENCL_C
from xeemu.language.kernel import Kernel
from xeemu.plurals import counted


class Kernels(Mapping[str, Kernel]):
    """The kernels of a file, each an `xe.Kernel`, by name and in the file's order.

    Attributes:
      file: its path, or the made-up name of a text.
    """

    def __init__(self, program: TranslationUnit, identity: tuple[str, ...] = ()):
        """The kernels of a program; `identity` tells how it was read."""
        self.file = program.file
        self._program, self._identity = program, (*identity, *_texts(program))
        self._functions = {function.name: function for function in program.kernels}
        self._made: dict[str, Kernel] = {}  # those that were asked for: a kernel that nobody uses is not read

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._functions:
            names = list(self._functions)
            its = f"its kernels are {', '.join(names)}" if names else "it has no kernels"
            raise NoSuchKernelError(f"{self.file} has no kernel {name!r}{did_you_mean(str(name), names)}; {its}")
        if name not in self._made:
            self._made[name] = binding.kernel(self._program, self._functions[name], OPENCL_C, self._identity)
        return self._made[name]

    def parameters(self, name: str) -> tuple[Variable, ...]:
        """The parameters of a kernel, as its source declares them."""
        return self._functions[name].parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        heads = [_described(function) for function in self._functions.values()]
        return "\n".join([f"{self.file}: {counted(len(heads), 'kernel')}", *(f"  {h}" for h in heads)])


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


def _texts(program: TranslationUnit) -> list[str]:
    """The contents of the files of which a program is made, as far as its functions are in them."""
    files = dict.fromkeys([program.file, *(function.place.file for function in program.functions.values())])
    return ["".join(linecache.getlines(file)) for file in files]
