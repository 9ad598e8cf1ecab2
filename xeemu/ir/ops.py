"""What is known of the operations of a program; one that is not in the table is an error, which names it."""

from collections.abc import Mapping
from typing import get_args

import numpy as np

from xeemu.errors import KernelError
from xeemu.ir import table
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.table import AccessKind, Kind, Traits

LOCAL_ID, GROUP_ID, ALLOCATE = "xe_local_id", "xe_group_id", "xe_allocate"
LOAD, STORE, ATOMIC = "xe_load", "xe_store", "xe_atomic"
BARRIER, FENCE, COLLECTIVE = "xe_barrier", "xe_fence", "xe_collective"
UNIFORM, REGION = "xe_uniform", "xe_region"

LANGUAGE = frozenset(name for name, traits in table.OPS.items() if traits.is_of_language)
"""The operations of the kernel language; all others are JAX's."""

UPDATES = frozenset(name for name in LANGUAGE if table.OPS[name].updates)
"""What turns a memory into its next version; the operands that are memories come first."""

ACCESSES = frozenset(name for name in LANGUAGE if table.OPS[name].kind is Kind.ACCESS)
ORDERING = frozenset(name for name in LANGUAGE if table.OPS[name].kind is Kind.ORDER)


def of(op: Op) -> Traits:
    """What is known of an operation.

    Raises:
      KernelError: it is not in the table.
    """
    traits = table.OPS.get(op.name)  # all that goes through a program asks for each of its operations
    return named(op.name) if traits is None else traits


def named(name: str) -> Traits:
    """The same by its name."""
    try:
        return table.OPS[name]
    except KeyError:
        raise KernelError(
            f"the operation {name} is not in xeemu's table of operations (xeemu/ir/table.py), so that nobody knows "
            "what it does; write the kernel with other operations of jax.numpy and jax.lax"
        ) from None


def is_known(op: Op) -> bool:
    """True if an operation is in the table."""
    return op.name in table.OPS


def unhandled(op: Op, who: str) -> NotImplementedError:
    """The error of a consumer that has no rule for an operation of the table.

    Args:
      op: the operation.
      who: the consumer, such as "the schedule".
    """
    return without_rule(op.name, who)


def without_rule(name: str, who: str) -> NotImplementedError:
    """The error of a consumer that has no rule for an operation of that name."""
    return NotImplementedError(f"{who} has no rule for the operation {name} (xeemu/ir/table.py)")


def unconverted(value: Value, definitions: Mapping[Value, Op]) -> Value:
    """What a value is before JAX makes a weak type of its dtype a strong one; `definitions` as `Region.definitions`."""
    op = definitions.get(value)
    to_strong_type = op is not None and op.name == "convert_element_type" and op.operands[0].dtype == value.dtype
    return op.operands[0] if op is not None and to_strong_type else value


# --- Accesses ---

COMMUTING = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Atomic operations of which many may be done at once, as which one."""
COMBINING = frozenset({"add", "sub", "min", "max", "and", "or", "xor"})
"""Atomic operations that combine a value with what is there."""


_ACCESS_KINDS: Mapping[str, AccessKind] = {f"xe_{kind}": kind for kind in get_args(AccessKind)}


def access_kind(op: Op) -> AccessKind:
    """Which kind of access an operation is.

    Raises:
      NotImplementedError: it is none, or of a kind that has no name in `table.AccessKind`.
    """
    if op.name not in _ACCESS_KINDS:
        raise unhandled(op, "the list of kinds of access (ops.access_kind)")
    return _ACCESS_KINDS[op.name]


def of_access(kind: AccessKind) -> Traits:
    """What is known of a kind of access."""
    return named(f"xe_{kind}")


def operation(op: Op) -> str:
    """What an access does: its kind, such as `"load"` or `"store"`, or the name of the atomic operation."""
    kind = access_kind(op)
    return str(op.attributes["op"]) if kind == "atomic" else kind


def changes(op: Op) -> bool:
    """True if an access gives a memory's next version, its last result: a store, or an atomic that is no load."""
    return of(op).writes and op.attributes.get("op") != "load"


def value_results(op: Op) -> tuple[Value, ...]:
    """The results of an access that are no memory: what a load gives, or an atomic operation that fetches."""
    return tuple(op.results[:-1] if changes(op) else op.results)


def indices(op: Op) -> list[Value]:
    """The operands of an access that are its index, a component each."""
    return list(op.operands[1 : 1 + op.attributes["access"].rank])


def commuting(op: Op) -> str | None:
    """By which operation an access updates a memory, if many such updates may be done at once and in any order."""
    return COMMUTING.get(operation(op)) if op.name == ATOMIC and not op.attributes["fetch"] else None


def rounds(dtype: np.dtype, operation: str) -> bool:
    """True if the result of atomic updates of elements depends on the order of the work-items by rounding."""
    return dtype.kind not in "iub" and operation in ("add", "sub")


def viewed_shape(op: Op) -> tuple[int, ...]:
    """The shape in which an access sees its memory, of which its index is."""
    view: tuple[int, ...] | None = op.attributes["access"].view
    return tuple(op.operands[0].shape) if view is None else view


def passthrough(op: Op) -> Constant | None:
    """What a masked load gives to the work-items that take no part, its `other`, if that is a constant."""
    last = op.operands[-1]
    return last if op.name == LOAD and op.attributes["access"].masked and isinstance(last, Constant) else None


def mask(op: Op) -> Value | None:
    """The operand of an access that is its `where`, or None."""
    if not op.attributes["access"].masked:
        return None
    # That of an update comes last; after that of a load stands what the others get.
    return op.operands[-1 if changes(op) else 1 + op.attributes["access"].rank]
