"""Synchronisation: barriers and fences of a work-group or sub-group."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, types, values
from xeemu.frontends.lowering import transfers
from xeemu.frontends.lowering.orders import order_of, scope_of
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Data, Null, Number, Value
from xeemu.language import divergence
from xeemu.language.memory import Memory

Builtin = Callable[[Walk, Call, bool], Value]

_LOCAL, _GLOBAL, _IMAGE = 1, 2, 4
"""CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE and CLK_IMAGE_MEM_FENCE."""

_SPACES = {_LOCAL: "local", _GLOBAL: "global", _IMAGE: "image"}

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
    transfers.before_barrier(walk)
    found = _met(walk, node, walk.wg.barrier)
    transfers.after_barrier(walk)
    return found


def _sub_group_barrier(walk: Walk, node: Call, used: bool) -> Value:
    return _met(walk, node, walk.wg.sub_group.barrier)


def _met(walk: Walk, node: Call, barrier: Callable[..., Any]) -> Value:
    """A barrier; of a scope wider than a work-group it is a fence of that scope before and after as well."""
    scope = scope_of(walk, node.arguments[1]) if len(node.arguments) > 1 else "work_group"
    fence: Callable[..., Any] = lambda *m: walk.wg.fence(*m, order="acq_rel", scope=scope)  # noqa: E731
    wide = scope in ("device", "system")
    flags = _flags(walk, node)
    for order in (fence, barrier, fence) if wide else (barrier,):
        if flags.uniform:
            renew(walk, _ordered(walk, flags), order)
        else:
            _renew_agreed(walk, flags, order)
    return Null(types.VOID)


def _fence(walk: Walk, node: Call, used: bool) -> Value:
    order, scope = _FENCES.get(node.name, "acq_rel"), "work_group"
    if node.name == "atomic_work_item_fence":
        order, scope = order_of(walk, node.arguments[1]), scope_of(walk, node.arguments[2])
    flags = _flags(walk, node)
    if not flags.uniform:
        raise walk.refuse(
            f"the flags of a {node.name} differ between work-items, which OpenCL leaves undefined; write the fences in "
            "the branches of an if"
        )
    if order != "relaxed":
        renew(walk, _ordered(walk, flags), lambda *m: walk.wg.fence(*m, order=order, scope=scope))
    return Null(types.VOID)


def _flags(walk: Walk, node: Call) -> Number:
    flags = walk.evaluate(node.arguments[0])
    assert isinstance(flags, Number)
    return flags


def _ordered(walk: Walk, flags: Number) -> list[Any]:
    """The keys of the memories whose accesses the flags speak of: those that can be written."""
    bits = int(flags.python) if flags.known else _LOCAL | _GLOBAL | _IMAGE
    return [key for bit in _SPACES if bits & bit for key in _of_space(walk, bit)]


def _of_space(walk: Walk, bit: int) -> list[Any]:
    """The keys of the memories of which a flag speaks that can be written."""
    keys = [key for key, layout in walk.layouts.items() if layout.space == _SPACES[bit]]
    return [key for key in keys if bit == _LOCAL or key in walk.written]


def _renew_agreed(walk: Walk, flags: Number, order: Callable[..., Any]) -> None:
    """A barrier whose flags differ between work-items: it orders what all of them name.

    Two work-items are ordered by the fence of the one before the barrier and that of the other one behind it.
    """
    spaces = [(bit, _of_space(walk, bit)) for bit in _SPACES]
    given = [(_is_agreed(walk, flags, bit), keys) for bit, keys in spaces if keys]
    keys = [key for _, some in given for key in some]

    def ordered(left: Sequence[tuple[Data, list[Any]]], chosen: frozenset[Any], given: Sequence[Memory]) -> list[Any]:
        """The memories after the barrier, which orders those chosen, and of what is left what all name."""
        if not left:
            found = dict(zip(keys, given, strict=True))
            after = walk.anew(lambda: order(*(found[key] for key in keys if key in chosen)))
            renewed = (after,) if len(chosen) == 1 else after or ()
            found |= dict(zip((key for key in keys if key in chosen), renewed, strict=True))
            return [found[key] for key in keys]
        (agreed, some), *rest = left
        sides = [lambda m, more=more: ordered(rest, chosen | more, m) for more in (frozenset(some), frozenset())]
        return list(lax.cond(agreed, *sides, given))

    with walk.scope():
        after = ordered(given, frozenset(), [walk.memories[key] for key in keys])
    walk.memories.update(zip(keys, after, strict=True))


def _is_agreed(walk: Walk, flags: Number, bit: int) -> Data:
    """True if all active work-items name a kind of memory."""
    named = arithmetic.binary("&", flags, values.constant(bit, flags.type), flags.type)
    assert isinstance(named, Number)
    missing = values.conjunction(walk.where, values.negation(values.truth(named)))
    assert missing is not None
    return np.bool_(not missing) if isinstance(missing, np.generic) else lax.bitwise_not(divergence.some(missing))


def renew(walk: Walk, keys: list[Any], order: Callable[..., Any]) -> None:
    memories = [walk.memories[key] for key in keys]
    with walk.scope():
        after = order(*memories)
    renewed = (after,) if len(keys) == 1 else after or ()
    walk.memories.update(zip(keys, renewed, strict=True))
