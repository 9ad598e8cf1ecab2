"""Work-items: the functions that ask for ids and sizes. OpenCL's dimension 0 is xeemu's last one."""

from collections.abc import Callable

import jax
import numpy as np

from xeemu.frontends import composites, values
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number, Value

Builtin = Callable[[Walk, Call, bool], Value]


def find(name: str) -> Builtin | None:
    """What a work-item function gives, or None if it is none."""
    if name in _BY_DIMENSION:
        return _of_dimension
    return _of_group if name in _OF_GROUP else None


def _of_dimension(walk: Walk, node: Call, used: bool) -> Value:
    asked = walk.evaluate(node.arguments[0])
    assert isinstance(asked, Number)
    if not asked.known:
        return _of_unknown(walk, node, asked)
    return _in_dimension(walk, node.name, int(asked.python), _type(node))


def _of_unknown(walk: Walk, node: Call, asked: Number) -> Value:
    """A dimension that is known only as the kernel runs: chosen among all."""
    found: Value = _in_dimension(walk, node.name, 3, _type(node))
    index = values.index(asked)
    for d in range(3):
        of_this = values.lifted(np.equal, jax.lax.eq, index, index.dtype.type(d))
        found = composites.selected(of_this, _in_dimension(walk, node.name, d, _type(node)), found)
    return found


def _type(node: Call) -> Scalar:
    assert isinstance(node.type, Scalar)
    return node.type


def _in_dimension(walk: Walk, name: str, asked: int, of: Scalar) -> Number:
    dimensions = len(walk.shape)
    if asked < 0:  # by a header of SYCL, which counts from the other end
        raise walk.refuse(
            f"dimension {dimensions - 1 - asked} is asked for, and the launch has {dimensions}, counted from 0; write "
            f"{'0' if dimensions == 1 else f'0 to {dimensions - 1}'}"
        )
    if not 0 <= asked < dimensions:
        return values.constant(0 if name.endswith(("_id", "_offset")) else 1, of)
    return _BY_DIMENSION[name](walk, dimensions - 1 - asked, of)


def ranged(data: jax.Array, count: int, of: Scalar) -> Number:
    """An id below a count."""
    if count == 1:
        return values.constant(0, of)
    return values.Number(of, data, (0, count - 1))


_BY_DIMENSION: dict[str, Callable[[Walk, int, Scalar], Number]] = {
    "get_global_id": lambda walk, d, of: ranged(walk.wg.global_id(d), walk.wg.global_range(d), of),
    "get_local_id": lambda walk, d, of: ranged(walk.wg.local_id(d), walk.wg.local_range(d), of),
    "get_group_id": lambda walk, d, of: ranged(walk.wg.group_id(d), walk.wg.group_range(d), of),
    "get_global_size": lambda walk, d, of: values.constant(walk.wg.global_range(d), of),
    "get_local_size": lambda walk, d, of: values.constant(walk.wg.local_range(d), of),
    "get_enqueued_local_size": lambda walk, d, of: values.constant(walk.wg.local_range(d), of),
    "get_num_groups": lambda walk, d, of: values.constant(walk.wg.group_range(d), of),
    "get_global_offset": lambda walk, d, of: values.constant(0, of),
}


def _of_group(walk: Walk, node: Call, used: bool) -> Value:
    return _OF_GROUP[node.name](walk, _type(node))


def _total(walk: Walk) -> int:
    count = 1
    for d in range(len(walk.shape)):
        count *= walk.wg.global_range(d)
    return count


def _sub_groups(walk: Walk) -> int:
    return -(-walk.wg.size // walk.wg.sub_group.size)


def _sub_group_size(walk: Walk, of: Scalar) -> Number:
    """The lanes of a work-item's sub-group: fewer in a partial one."""
    size = walk.wg.sub_group.size
    if walk.wg.size % size == 0:
        return values.constant(size, of)
    return Number(of, walk.wg.sub_group.local_range(), (1, size))


_OF_GROUP: dict[str, Callable[[Walk, Scalar], Number]] = {
    "get_work_dim": lambda walk, of: values.constant(len(walk.shape), of),
    "get_global_linear_id": lambda walk, of: ranged(walk.wg.global_linear_id(), _total(walk), of),
    "get_local_linear_id": lambda walk, of: ranged(walk.wg.local_linear_id(), walk.wg.size, of),
    "get_sub_group_size": _sub_group_size,
    "get_max_sub_group_size": lambda walk, of: values.constant(walk.wg.sub_group.size, of),
    "get_num_sub_groups": lambda walk, of: values.constant(_sub_groups(walk), of),
    "get_enqueued_num_sub_groups": lambda walk, of: values.constant(_sub_groups(walk), of),
    "get_sub_group_id": lambda walk, of: ranged(walk.wg.sub_group.group_id(), _sub_groups(walk), of),
    "get_sub_group_local_id": lambda walk, of: ranged(walk.wg.sub_group.local_id(), walk.wg.sub_group.size, of),
}
