"""Functions: those of a program of C, and the program, the same for OpenCL C and SYCL C++."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

from xeemu.frontends.tree import Block, SourceLocation, Variable
from xeemu.frontends.types import Type


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    """A function of the program.

    Attributes:
      name: of the source.
      parameters: in order.
      result: its type.
      place: where it is defined.
      kernel: True if it is one.
      work_group_size: required, in OpenCL's order (dimension 0 first), or None.
      sub_group_size: required, or None.
      attributes: the kernel's attributes as the source spells them.
      read: reads the body; a function that nobody calls is never read.
    """

    name: str
    parameters: tuple[Variable, ...]
    result: Type
    place: SourceLocation
    kernel: bool
    work_group_size: tuple[int, int, int] | None = None
    sub_group_size: int | None = None
    attributes: tuple[str, ...] = ()
    read: Callable[[], Block] = dataclasses.field(default=lambda: Block(SourceLocation("", 0, 0), ()), repr=False)

    @functools.cached_property
    def body(self) -> Block:
        return self.read()


@dataclasses.dataclass(frozen=True, eq=False)
class TranslationUnit:
    """A file: its functions that have a body, by name, and its program-scope variables.

    Attributes:
      file: its path, or a made-up name for a text.
      functions: by name.
      kernels: the functions that are kernels, in the file's order.
      globals: variables of program scope.
    """

    file: str
    functions: Mapping[str, Function]
    kernels: Sequence[Function]
    globals: Sequence[Variable]
