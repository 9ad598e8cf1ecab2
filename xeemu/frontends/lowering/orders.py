"""Orders: memory orders and scopes of OpenCL C 2.0 as SYCL's names."""

from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Expression
from xeemu.frontends.values import Number

# As clang numbers them (`__ATOMIC_*` and `__OPENCL_MEMORY_SCOPE_*`).
_ORDERS = {0: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel", 5: "seq_cst"}
_SCOPES = {0: "work_item", 1: "work_group", 2: "device", 3: "system", 4: "sub_group"}


def order_of(walk: Walk, node: Expression) -> str:
    """The memory order that an argument is."""
    return _named(walk, node, _ORDERS, "a memory order", "memory_order_acquire")


def scope_of(walk: Walk, node: Expression) -> str:
    """The memory scope that an argument is."""
    return _named(walk, node, _SCOPES, "a memory scope", "memory_scope_device")


def _named(walk: Walk, node: Expression, names: dict[int, str], what: str, example: str) -> str:
    value = walk.evaluate(node)
    if not isinstance(value, Number) or not value.known or int(value.python) not in names:
        raise walk.refuse(f"{what} that is not known before the kernel runs; write it down, as {example}", node.place)
    return names[int(value.python)]
