"""Plans: what a program's host code tells of the launches of its kernels, as far as it can be followed."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from xeemu.errors import Error
from xeemu.frontends import types
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.types import Type
from xeemu.language.local import Local
from xeemu.language.ndrange import NDRange

Sizes = tuple[int, ...]
Extent = tuple[np.dtype, int]
"""An array of which the elements' dtype and number are known."""


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The first launch of a kernel.

    Attributes:
      global_size, local_size: in SYCL's order; None where they are not known, the latter also of a plain range.
      known: by the path of a leaf a number, a vector's tuple, a struct's bytes, an `xe.Local`, an `Extent`,
        or the text `nullptr`.
      sizes: the global and local sizes of all its launches, each pair once.
    """

    global_size: tuple[int, ...] | None = None
    local_size: tuple[int, ...] | None = None
    known: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    sizes: tuple[tuple[Sizes | None, Sizes | None], ...] = ()

    def nd_ranges(self, plain: bool) -> tuple[NDRange, ...]:
        """The sizes of all launches that are known, in the order in which they come first."""
        each = (
            dataclasses.replace(self, global_size=whole, local_size=part).nd_range(plain) for whole, part in self.sizes
        )
        return tuple(dict.fromkeys(found for found in each if found is not None))

    def nd_range(self, plain: bool) -> NDRange | None:
        """The launch's sizes, of a plain range without a local one; None where they are not known."""
        if self.global_size is None or (self.local_size is None and not plain):
            return None
        return NDRange(self.global_size, None if plain else self.local_size)

    def value(self, path: str, of: Type | None = None) -> Any:
        """A number that is known, the tuple of a vector's, or the bytes, or the fields, of a struct of a type."""
        found = self.known.get(path)
        if found is not None:
            return None if isinstance(found, Local | str) or self.extent(path) is not None else found
        match of:
            case types.Record(fields=fields, union=False):
                parts = {f.name: self.value(f"{path}.{f.name}", f.type) for f in fields}
                return None if None in parts.values() else parts
            case types.Array(element=element, count=count):
                items = tuple(self.value(f"{path}[{k}]", element) for k in range(count))
                return None if None in items else items
        return None

    def local(self, path: str) -> Local | None:
        """The size of a local memory that is known."""
        found = self.known.get(path)
        return found if isinstance(found, Local) else None

    def is_null(self, path: str) -> bool:
        """True if a pointer is known to be null."""
        return isinstance(self.known.get(path), str)

    def extent(self, path: str) -> Extent | None:
        """The elements of an array that are known, if there are any."""
        found = self.known.get(path)
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], np.dtype) and found[1]:
            return found[0], int(found[1])
        return None


UNKNOWN = Plan()


def plans(instances: Instances) -> dict[int, Plan]:
    """The first launch of each kernel that the host code reaches, by the hash of its `kernel_body`."""
    # Imported where it is needed, for most kernels that are loaded are of OpenCL C.
    from xeemu.frontends.sycl import host

    found: dict[int, Plan] = {}
    try:
        planned = host.dry(instances)
    except Error:
        return {}  # what it says is said by a run of the program
    for one in planned:
        made = found.setdefault(one.entry, Plan(one.global_size, one.local_size, one.captures))
        sizes = one.global_size, one.local_size
        if sizes not in made.sizes:
            found[one.entry] = dataclasses.replace(made, sizes=(*made.sizes, sizes))
    return found
