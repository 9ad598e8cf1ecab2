"""Spaces: the address space that a reference of SYCL C++ is declared with, against that of what it refers to."""

from collections.abc import Callable

from xeemu.frontends import types
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Null, Number, Pointing, Value

_NAME = "refers_to"
# As our headers number `access::address_space`.
_SPACES = {1: "global", 3: "local"}


def find(name: str) -> Callable[[Walk, Call, bool], Value] | None:
    return _checked if name == _NAME else None


def _checked(walk: Walk, node: Call, _used: bool) -> Value:
    """Refuses a reference to memory of another space; what is chosen as the kernel runs is not looked at."""
    pointer, number = (walk.evaluate(a) for a in node.arguments)
    assert isinstance(number, Number)
    declared = _SPACES.get(int(number.python))
    if declared is not None and isinstance(pointer, Pointing) and pointer.memory in walk.layouts:
        layout = walk.layouts[pointer.memory]
        if layout.space != declared:
            raise walk.refuse(
                f"an atomic_ref of access::address_space::{declared}_space refers to {layout.name}, which is "
                f"{layout.space} memory (SYCL 2020, 4.15.3: undefined); write access::address_space::"
                f"{_right(layout.space)}"
            )
    return Null(types.VOID)


def _right(space: str) -> str:
    return "local_space" if space == "local" else "global_space"
