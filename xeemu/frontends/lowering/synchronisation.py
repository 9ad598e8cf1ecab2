"""Synchronisation: barriers and fences of a work-group or sub-group."""

from collections.abc import Callable
from typing import Any

from xeemu.frontends import types
from xeemu.frontends.lowering.orders import order_of, scope_of
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Null, Number, Value

Builtin = Callable[[Walk, Call, bool], Value]

_LOCAL, _GLOBAL, _IMAGE = 1, 2, 4
"""CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE and CLK_IMAGE_MEM_FENCE."""

_GROUP_BARRIERS = frozenset({"barrier", "work_group_barrier"})
_FENCES = {"mem_fence": "acq_rel", "read_mem_fence": "acquire", "write_mem_fence": "release"}


def find(name: str) -> Builtin | None:
    """What carries out a barrier or fence, or None if it is none."""
    if name in _GROUP_BARRIERS:
        return _barrier
    if name == "sub_group_barrier":
        return _sub_group_barrier
    return _fence if name in _FENCES or name == "atomic_work_item_fence" else None


def _barrier(walk: Walk, node: Call, used: bool) -> Value:
    return _met(walk, node, walk.wg.barrier)


def _sub_group_barrier(walk: Walk, node: Call, used: bool) -> Value:
    return _met(walk, node, walk.wg.sub_group.barrier)


def _met(walk: Walk, node: Call, barrier: Callable[..., Any]) -> Value:
    """A barrier; of a scope wider than a work-group it is a fence of that scope before and after as well."""
    scope = scope_of(walk, node.arguments[1]) if len(node.arguments) > 1 else "work_group"
    fence: Callable[..., Any] = lambda *m: walk.wg.fence(*m, order="acq_rel", scope=scope)  # noqa: E731
    wide = scope in ("device", "system")
    for order in (fence, barrier, fence) if wide else (barrier,):
        renew(walk, _ordered(walk, node), order)
    return Null(types.VOID)


def _fence(walk: Walk, node: Call, used: bool) -> Value:
    order, scope = _FENCES.get(node.name, "acq_rel"), "work_group"
    if node.name == "atomic_work_item_fence":
        order, scope = order_of(walk, node.arguments[1]), scope_of(walk, node.arguments[2])
    if order != "relaxed":
        renew(walk, _ordered(walk, node), lambda *m: walk.wg.fence(*m, order=order, scope=scope))
    return Null(types.VOID)


def _ordered(walk: Walk, node: Call) -> list[Any]:
    """The keys of the memories whose accesses the flags speak of: those that can be written."""
    flags = walk.evaluate(node.arguments[0])
    assert isinstance(flags, Number)
    if not flags.uniform:
        raise walk.refuse(
            "the flags of a barrier or fence differ between work-items; all of a group come with the same ones"
        )
    bits = int(flags.python) if flags.known else _LOCAL | _GLOBAL | _IMAGE
    spaces = {space for bit, space in ((_LOCAL, "local"), (_GLOBAL, "global"), (_IMAGE, "image")) if bits & bit}
    written = [key for key, layout in walk.layouts.items() if layout.space in spaces]
    return [key for key in written if walk.layouts[key].space == "local" or key in walk.written]


def renew(walk: Walk, keys: list[Any], order: Callable[..., Any]) -> None:
    memories = [walk.memories[key] for key in keys]
    with walk.scope():
        after = order(*memories)
    renewed = (after,) if len(keys) == 1 else after or ()
    walk.memories.update(zip(keys, renewed, strict=True))
