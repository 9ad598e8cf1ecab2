"""Interface: how a kernel that is written in another language is called, and what it says of itself."""

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from xeemu.language.dialect import Dialect
from xeemu.language.ndrange import NDRange

if TYPE_CHECKING:
    from xeemu.language.kernel import Kernel


class Retrace(Exception):
    """Raised while a kernel is traced that has to be traced again, with a memory in other elements.

    Attributes:
      key: the memory; of an argument its parameter's name.
      size: bytes of the pieces in which it is accessed.
    """

    def __init__(self, key: Hashable, size: int):
        super().__init__(key, size)
        self.key, self.size = key, size


class Extent(NamedTuple):
    """A declared array within a memory, whose bounds a check holds by a memory of its own.

    Attributes:
      name: what the source calls it.
      space: of the memory in which it lies.
    """

    name: str
    space: str


class BoundCall(NamedTuple):
    """A call of a kernel in the form that is traced.

    Attributes:
      kernel: takes arrays and scalars by position and known values by keyword.
      nd_range: of the launch; of a kernel that requires a work-group size never a plain range.
      arrays: for its positional parameters.
      static: for its keywords.
      results: makes of what it returns what the call gives.
      again: the same call in another form, of the `Retrace` that asked for it.
    """

    kernel: "Kernel"
    nd_range: NDRange
    arrays: Sequence[Any]
    static: Mapping[str, Any]
    results: Callable[[Any], Any]
    again: Callable[[Retrace], "BoundCall"]


@dataclasses.dataclass(frozen=True, eq=False)
class Interface:
    """What a kernel says of itself that Python cannot tell of its function.

    Attributes:
      name: of the kernel.
      parameters: names of what a launch takes by position.
      dialect: the language that it is written in.
      declaration: as the language writes it.
      static: names of what is taken by keyword, with defaults; `inspect.Parameter.empty` where there is none.
      summary: a line on what it does; may be empty.
      lines: its source lines, each with its number.
      identity: texts that tell it from other kernels in every process.
      written: names of the parameters whose arrays come back from a launch, in order.
      printing: makes the same kernel with another result: its own, and what its work-items have printed, of which each
        keeps so many words; None where they print nothing.
      shapes: declared dimensions of memories by name, of those that are flat for xeemu.
      checking: makes the same kernel for a check, with memories for the bounds of declared arrays within others.
      extents: those arrays, by the names of such memories.
      bind: makes the form that is traced of a launch's nd-range, arguments and keywords; None where that is this one.
      every: names of all that may be given by position, `parameters` among them; empty where that is all.
      combined: names of the memories to which the language's runtime adds what work-items give, as `sycl::reduction`.
      may_alias: names of the parameters behind which the same memory may be, as pointers of C without `restrict`.
      pointee_bytes: for the name of each pointer the size of what its index counts, such as a vector.
    """

    name: str
    parameters: tuple[str, ...]
    dialect: Dialect
    declaration: str
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    summary: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    identity: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    printing: "Callable[[Kernel, int], Kernel] | None" = None
    shapes: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    checking: "Callable[[Kernel], Kernel] | None" = None
    extents: Mapping[str, Extent] = dataclasses.field(default_factory=dict)
    bind: "Callable[[Kernel, NDRange, Sequence[Any], Mapping[str, Any]], BoundCall] | None" = None
    every: tuple[str, ...] = ()
    combined: tuple[str, ...] = ()
    may_alias: tuple[str, ...] = ()
    pointee_bytes: Mapping[str, int] = dataclasses.field(default_factory=dict)


def of_signature(signature: inspect.Signature) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The positional parameters of a function of the kernel language after its work-group, and its static ones."""
    parameters = signature.parameters.values()
    positional = [p.name for p in parameters if p.kind != inspect.Parameter.KEYWORD_ONLY]
    return tuple(positional[1:]), {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY}
