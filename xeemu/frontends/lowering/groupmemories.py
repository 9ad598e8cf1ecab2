"""Group memories: local memories that calls make, each one of its own, as SYCL's `group_local_memory` does."""

from collections.abc import Callable

from xeemu.frontends import types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects, memories
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Pointing, Value

_NAME = "group_memory"


def find(name: str) -> Callable[[Walk, Call, bool], Value] | None:
    return _pointer if name == _NAME else None


def _pointer(walk: Walk, node: Call, _used: bool) -> Value:
    assert isinstance(node.type, types.Pointer)
    return Pointing(types.Pointer(node.type.pointee, "local"), node, values.constant(0, types.INT))


def allocate(walk: Walk, kernel: Function) -> None:
    """Makes the memories of a kernel and of all that it calls."""
    for function in effects.functions(kernel):
        for node in effects.nodes(function.body):
            if isinstance(node, Call) and node.function is None and node.name == _NAME:
                _make(walk, node)


def _make(walk: Walk, node: Call) -> None:
    of = node.type
    assert isinstance(of, types.Pointer)
    walk.at(node.place, lambda: memories.allocate(walk, node, "group_local_memory", of.pointee, "local"))
