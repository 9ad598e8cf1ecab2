"""Collectives: the functions of work-groups and sub-groups by which work-items learn of each other's values."""

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, intervals, types, values
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Number, Value

Builtin = Callable[[Walk, Call, bool], Value]

_COMBINING = re.compile(
    r"(work|sub)_group_(?:non_uniform_)?(reduce|scan_inclusive|scan_exclusive)_(logical_)?(add|mul|min|max|and|or|xor)"
)
_CLUSTERED = re.compile(r"sub_group_clustered_reduce_(logical_)?(add|mul|min|max|and|or|xor)")
_VOTE = re.compile(r"(?:intel_)?(work|sub)_group_(?:non_uniform_)?(all|any)")
_KINDS = {"reduce": "reduce", "scan_inclusive": "inclusive_scan", "scan_exclusive": "exclusive_scan"}


def find(name: str) -> Builtin | None:
    """What carries out a function of a group, or None if it is none."""
    if _COMBINING.fullmatch(name):
        return _combined
    if _CLUSTERED.fullmatch(name):
        return _clustered
    return _vote if _VOTE.fullmatch(name) else _BY_NAME.get(name)


def each(value: Value, call: Callable[[Number], Number]) -> Value:
    """A value of which each number is replaced, as a vector's components are."""
    return composites.rebuilt(value, [call(n) for n in composites.leaves(value)])


def lane(walk: Walk) -> Number:
    """The number of each work-item in its sub-group."""
    return Number(types.INT, walk.wg.sub_group.local_id(), (0, walk.wg.sub_group.size - 1))


def _type(node: Call) -> Scalar:
    assert isinstance(node.type, Scalar)
    return node.type


def _arguments(walk: Walk, node: Call) -> list[Any]:
    return [walk.evaluate(a) for a in node.arguments]


# ---- reductions, scans and votes ----


def _combined(walk: Walk, node: Call, used: bool) -> Value:
    match = _COMBINING.fullmatch(node.name)
    assert match is not None
    of_group, kind, logical, op = match.groups()
    (x,) = _arguments(walk, node)
    group: Any = walk.wg if of_group == "work" else walk.wg.sub_group
    with walk.scope():
        data = getattr(group, _KINDS[kind])(values.truth(x) if logical else values.exact(x), op)
    return values.of_truth(data, _type(node)) if logical else _combination(walk, x, kind, op, data)


def _combination(walk: Walk, x: Number, kind: str, op: str, data: Any) -> Number:
    """The result of a reduction or scan; of integers with what is known of its size."""
    if x.interval is None:
        return values.held(x.type, data)
    low, high = x.interval
    found: intervals.Interval | None = None
    if op == "add":
        found = min(0, low * walk.wg.size), max(0, high * walk.wg.size)
    elif op in ("min", "max") and kind != "scan_exclusive":
        found = low, high
    within = found is not None and intervals.within(found, intervals.of_type(x.type.dtype))
    return values.held(x.type, data, found if within else None)


def _vote(walk: Walk, node: Call, used: bool) -> Value:
    match = _VOTE.fullmatch(node.name)
    assert match is not None
    (x,) = _arguments(walk, node)
    group: Any = walk.wg if match.group(1) == "work" else walk.wg.sub_group
    with walk.scope():
        return values.of_truth(getattr(group, match.group(2))(values.truth(x)), _type(node))


def _all_equal(walk: Walk, node: Call, used: bool) -> Value:
    (x,) = _arguments(walk, node)
    with walk.scope():
        same = values.lifted(np.equal, lax.eq, values.exact(x), _first(walk, x).data)
        return values.of_truth(walk.wg.sub_group.all(same), _type(node))


# ---- within clusters ----


def _clustered(walk: Walk, node: Call, used: bool) -> Value:
    """A reduction of `cluster` consecutive lanes, which OpenCL has as a constant."""
    match = _CLUSTERED.fullmatch(node.name)
    assert match is not None
    x, cluster = _arguments(walk, node)
    count = _cluster(walk, node, cluster)
    with walk.scope():
        data = values.truth(x) if match.group(1) else values.exact(x)
        found = walk.wg.sub_group.reduce(data, match.group(2), chunk=count)
    if match.group(1):
        return values.of_truth(found, _type(node))
    return _combination(walk, x, "reduce", match.group(2), found)


def _cluster(walk: Walk, node: Call, cluster: Number) -> int:
    """The lanes of a cluster; one of more lanes than a sub-group has is the sub-group."""
    if not cluster.known or int(cluster.python) < 1 or int(cluster.python) & (int(cluster.python) - 1):
        raise walk.refuse(f"the cluster of {node.name} is not a power of two that the compiler knows; write one, as 4")
    return min(int(cluster.python), walk.wg.sub_group.size)


# ---- the value of another work-item ----


def _group_broadcast(walk: Walk, node: Call, used: bool) -> Value:
    """The value of the work-item with a local id, of which OpenCL's dimension 0 comes first."""
    x, *ids = _arguments(walk, node)
    item, step = values.constant(0, types.INT), 1
    for d, local in enumerate(ids):
        item = _sum(item, _times(values.converted(local, types.INT), step))
        step *= walk.shape[-1 - d] if d < len(walk.shape) else 1
    return _taken(walk, x, "broadcast", item, walk.wg, walk.wg.size)


def _times(a: Number, b: int) -> Number:
    product = arithmetic.binary("*", a, values.constant(b, types.INT), types.INT)
    assert isinstance(product, Number)
    return product


def _sum(a: Number, b: Number) -> Number:
    total = arithmetic.binary("+", a, b, types.INT)
    assert isinstance(total, Number)
    return total


def _taken(walk: Walk, x: Value, kind: str, which: Number, group: Any = None, lanes: int = 0) -> Value:
    """What the language's exchange of some kind gives of a value; `which` is the lane, distance or mask."""
    group = walk.wg.sub_group if group is None else group
    present = which.known and kind == "broadcast" and 0 <= int(which.python) < lanes
    with walk.scope():
        return each(x, lambda n: _exchanged(n, getattr(group, kind), values.index(which), present))


def _exchanged(n: Number, exchange: Callable[..., Any], which: Data, present: bool) -> Number:
    # What an absent lane would give is no value of the interval.
    return values.held(n.type, exchange(values.exact(n), which), n.interval if present else None)


def _exchange(kind: str) -> Builtin:
    def builtin(walk: Walk, node: Call, used: bool) -> Value:
        x, which = _arguments(walk, node)
        return _taken(walk, x, kind, which, lanes=walk.wg.sub_group.size if _all_there(walk) else 1)

    return builtin


def _all_there(walk: Walk) -> bool:
    """True if all lanes of all sub-groups exist and are active."""
    return walk.wg.size % walk.wg.sub_group.size == 0 and walk.where is None


def _broadcast_first(walk: Walk, node: Call, used: bool) -> Value:
    (x,) = _arguments(walk, node)
    with walk.scope():
        return each(x, lambda n: _first(walk, n))


def _first(walk: Walk, n: Number) -> Number:
    """The value of the first active lane."""
    group, first = walk.wg.sub_group, np.int32(0)
    if walk.where is not None:
        return values.held(n.type, group.broadcast(values.exact(n), group.reduce(group.local_id(), "min")), n.interval)
    return values.held(n.type, group.broadcast(values.exact(n), first), n.interval)


def _elect(walk: Walk, node: Call, used: bool) -> Value:
    with walk.scope():
        group = walk.wg.sub_group
        mine = group.local_id()
        first = mine.dtype.type(0) if walk.where is None else group.reduce(mine, "min")
        return values.of_truth(lax.eq(*values.alike(mine, first)), _type(node))


def _rotate(walk: Walk, node: Call, used: bool) -> Value:
    """The value of the lane `delta` above, around the end of the sub-group or of a cluster."""
    x, delta, *cluster = _arguments(walk, node)
    count = _cluster(walk, node, cluster[0]) if cluster else walk.wg.sub_group.size
    rotate = functools.partial(walk.wg.sub_group.rotate, chunk=count)
    with walk.scope():
        return each(x, lambda n: _exchanged(n, rotate, values.index(delta), _all_there(walk)))


def _around(walk: Walk, steps: Number, count: int) -> Number:
    """The lane some steps above within its `count` lanes, which are a power of two."""
    mine = lane(walk)
    inside = arithmetic.binary("&", _sum(mine, steps), values.constant(count - 1, types.INT), types.INT)
    base = arithmetic.binary("&", mine, values.constant(-count, types.INT), types.INT)
    found = arithmetic.binary("|", base, inside, types.INT)
    assert isinstance(found, Number)
    return found


def _shuffle_of_two(walk: Walk, node: Call, used: bool) -> Value:
    """Intel's shuffles along two values, the lanes of which follow each other."""
    first, second, delta = _arguments(walk, node)
    size, down = walk.wg.sub_group.size, node.name.endswith("_down")
    steps = values.converted(delta, types.INT)
    apart = _sum(lane(walk), steps if down else arithmetic.negated(steps))
    which = _around(walk, steps if down else arithmetic.negated(steps), size)
    mine, other = (first, second) if down else (second, first)
    near = _taken(walk, mine, "select", which)
    pairs = zip(composites.leaves(first), composites.leaves(second), strict=True)
    if all(a.data is b.data for a, b in pairs):
        return near
    bound = arithmetic.binary("<" if down else ">=", apart, values.constant(size if down else 0, types.INT), types.INT)
    assert isinstance(bound, Number)
    return composites.selected(values.truth(bound), near, _taken(walk, other, "select", which))


_BY_NAME: dict[str, Builtin] = {
    "work_group_broadcast": _group_broadcast,
    "sub_group_broadcast": _exchange("broadcast"),
    "sub_group_non_uniform_broadcast": _exchange("broadcast"),
    "sub_group_broadcast_first": _broadcast_first,
    "sub_group_non_uniform_all_equal": _all_equal,
    "sub_group_elect": _elect,
    "sub_group_shuffle": _exchange("select"),
    "sub_group_shuffle_xor": _exchange("permute_xor"),
    "sub_group_shuffle_up": _exchange("shift_right"),
    "sub_group_shuffle_down": _exchange("shift_left"),
    "intel_sub_group_shuffle": _exchange("select"),
    "intel_sub_group_shuffle_xor": _exchange("permute_xor"),
    "intel_sub_group_shuffle_up": _shuffle_of_two,
    "intel_sub_group_shuffle_down": _shuffle_of_two,
    "sub_group_rotate": _rotate,
    "sub_group_clustered_rotate": _rotate,
}
