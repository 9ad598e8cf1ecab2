"""Copyable: what a kernel may capture, which is what can be copied to a device byte by byte (SYCL 2020, 3.13.1)."""

import re

from xeemu.errors import KernelError
from xeemu.frontends import refusals, types
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Type

_CONTAINERS = re.compile(
    r"^std::(vector|basic_string|deque|list|map|set|unordered_map|unordered_set|shared_ptr|unique_ptr|function)\b"
)
_HOSTS = re.compile(r"^sycl::(buffer|host_accessor|queue|handler|event|context|device|platform)\b")


def check(name: str, of: Type, place: SourceLocation) -> None:
    """Refuses a capture that is, or has in it, what the host alone has; at the kernel's place."""
    for inner in _classes(of):
        if _CONTAINERS.match(inner.name):
            raise _refused(name, of, inner, place, "whose contents are in the host's memory", _DATA)
        if found := _HOSTS.match(inner.name):
            advice = "an accessor of it" if found[1] == "buffer" else "what the kernel needs of it"
            raise _refused(name, of, inner, place, "which the host alone can use", f"capture {advice}")


_DATA = "capture a pointer to memory of sycl::malloc_shared or malloc_device, or an accessor of a sycl::buffer"


def _refused(name: str, of: Type, inner: types.Record, place: SourceLocation, why: str, advice: str) -> KernelError:
    has = "" if of == inner else f" in which there is a {inner.name},"
    called = of.name if isinstance(of, types.Record) else str(of)
    return refusals.at(
        place, f"the kernel captures {name}, a {called},{has} {why} (SYCL 2020, 3.13.1: device copyable); {advice}"
    )


def _classes(of: Type) -> list[types.Record]:
    """The classes of which a value is, and has objects in it; not those of which it has pointers to objects."""
    match of:
        case types.Array(element=element):
            return _classes(element)
        case types.Record(fields=fields):
            return [of, *(inner for f in fields for inner in _classes(f.type))]
    return []
