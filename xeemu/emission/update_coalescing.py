"""Atomic updates that are carried out together with the next one.

A GPU starts a kernel for each scatter. Where updates of a memory by one commutative operation follow each other, with
old values that nobody asks for and no other use of the memory in between, one scatter does them all. If each begins a
constant further than the one before, as where a loop is written out, one window holds them all, and no scatter is
needed; then there is less to compile, too. So it is with plain stores of components that lie side by side.
"""

import dataclasses
from collections.abc import Container, Mapping

import jax.numpy as jnp
import numpy as np

from xeemu.emission import ordered_atomics
from xeemu.ir import ops
from xeemu.ir.program import Op, Region
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts

# Values of all of them are there at once.
_LONGEST_ROW = 64

COMMUTING = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Operations of which several may be done at once, as which one."""


def of_body(body: Region, deterministic: bool, rows: Container[int] = frozenset()) -> frozenset[int]:
    """The numbers of the updates of a (sub)program that may wait for the next one.

    Args:
      body: the program.
      deterministic: whether sums of floats have to be taken in order.
      rows: the numbers of those that are made otherwise.
    """
    kinds = {n: kind for n, op in enumerate(body.ops) if n not in rows and (kind := operation(op, deterministic))}
    updates = {body.ops[n].operands[0]: kind for n, kind in kinds.items()}
    each = ((n, kind, body.ops[n].results[0]) for n, kind in kinds.items())
    return frozenset(n for n, kind, memory in each if body.uses[memory] == 1 and updates.get(memory) == kind)


@dataclasses.dataclass(frozen=True)
class Row:
    """Updates of a memory by one operation that follow each other.

    Attributes:
      first, last: the numbers of the first and of the last one.
      count: how many they are.
      step: how much further each begins than the one before.
    """

    first: int
    last: int
    count: int
    step: int


def rows(
    body: Region, facts: Facts, deterministic: bool, dimensions: int, alone: Container[int] = frozenset()
) -> Mapping[int, Row]:
    """For the number of each update that is one of such a row, that.

    Args:
      body: the program.
      facts: what is known of its values.
      deterministic: whether sums of floats have to be taken in order.
      dimensions: of the nd-range.
      alone: the numbers of stores that are not made with others.
    """
    each = ((n, op) for n, op in enumerate(body.ops) if n not in alone)
    users = {e.operands[0]: n for n, e in each if _is_one_of_a_row(e, facts, deterministic, dimensions)}
    following = {n: users.get(body.ops[n].results[0]) for n in users.values() if body.uses[body.ops[n].results[0]] == 1}
    found: dict[int, Row] = {}
    for number in users.values():
        if number not in found:
            found |= _row(number, following, body, facts, dimensions)
    return found


def _row(
    number: int, following: Mapping[int, int | None], body: Region, facts: Facts, dimensions: int
) -> Mapping[int, Row]:
    """The row that begins with an update, if there is one."""
    numbers, step = [number], None
    gap = _gap(body.ops[number], facts, dimensions)
    while (after := following.get(numbers[-1])) is not None and len(numbers) < _LONGEST_ROW:
        further = _further(body.ops[numbers[-1]], body.ops[after], facts, dimensions)
        if further is None or step not in (None, further) or (gap is not None and abs(further) >= gap):
            break
        numbers, step = [*numbers, after], further
    return {} if step is None else dict.fromkeys(numbers, Row(number, numbers[-1], len(numbers), step))


def _is_one_of_a_row(op: Op, facts: Facts, deterministic: bool, dimensions: int) -> bool:
    """Whether it updates all elements that it names, so that no order counts if these are others each time."""
    if op.name not in (ops.STORE, ops.ATOMIC) or ops.mask(op) is not None:
        return False
    space = facts.values[op.operands[0]].space
    if op.name == ops.STORE:
        may_be = space == "global"
    elif space == "private":  # it is updated where some place is not known (see `fuse_updates`)
        return False
    else:
        rounds = deterministic and jnp.issubdtype(op.operands[0].dtype, jnp.floating)
        may_be = ops.operation(op) in ("store", *ordered_atomics.COMBINE) and not (op.attributes["fetch"] or rounds)
    return may_be and addressing.foreseen(op, facts, dimensions).proved


def _further(op: Op, after: Op, facts: Facts, dimensions: int) -> int | None:
    """How much further one of two updates begins, if they are alike but for that."""
    if op.name != after.name or ops.operation(op) != ops.operation(after):
        return None
    first, second = (addressing.foreseen(e, facts, dimensions) for e in (op, after))
    form, other = first.form, second.form
    if form is None or other is None or form.based or other.based or form.steps != other.steps:
        return None
    if first.elements.shape != second.elements.shape or not first.elements.count:
        return None
    apart = set((other.pattern - form.pattern).tolist())
    return apart.pop() if len(apart) == 1 else None


def _gap(op: Op, facts: Facts, dimensions: int) -> int | None:
    """How far work-items store from each other; None if that does not count.

    Stores that come between theirs are made with them, while one that leaves no gap is a copy, best made alone.
    """
    if op.name != ops.STORE:
        return None
    form = addressing.foreseen(op, facts, dimensions).form
    return None if form is None or form.pattern.size < 2 else int(np.abs(np.diff(form.pattern)).min())


def operation(op: Op, in_order: bool) -> str | None:
    """The operation by which an operation updates a memory, if several such updates may be done at once.

    Args:
      op: the operation.
      in_order: whether sums of floats have to be taken in order.
    """
    if op.name != ops.ATOMIC or op.attributes["fetch"]:
        return None
    rounds = in_order and jnp.issubdtype(op.operands[0].dtype, jnp.floating)
    kind = COMMUTING.get(ops.operation(op))
    return None if rounds and kind == "add" else kind
