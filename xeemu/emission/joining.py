"""Atomic updates that are carried out together with the next one.

A GPU starts a kernel for each scatter. Where updates of a memory by one commutative operation follow each other, with
old values that nobody asks for and no other use of the memory in between, one scatter does them all. If each begins a
constant further than the one before, as where a loop is written out, one window holds them all, and no scatter is
needed; then there is less to compile, too. So it is with plain stores of components that lie side by side.
"""

import collections
import dataclasses
from collections.abc import Container, Mapping

import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu.emission import addressing, serial
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

# Values of all of them are there at once.
_LONGEST_ROW = 64

COMMUTING = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Operations of which several may be done at once, as which one."""


def of_body(body: Body, deterministic: bool, rows: Container[int] = frozenset()) -> frozenset[int]:
    """The numbers of the updates of a (sub)program that may wait for the next one.

    Args:
      body: the program.
      deterministic: whether sums of floats have to be taken in order.
      rows: the numbers of those that are made otherwise.
    """
    uses = _uses(body)
    ops = {n: op for n, e in enumerate(body.eqns) if n not in rows and (op := operation(e, deterministic))}
    updates = {body.eqns[n].invars[0]: op for n, op in ops.items()}
    each = ((n, op, body.eqns[n].outvars[0]) for n, op in ops.items())
    return frozenset(n for n, op, memory in each if uses[memory] == 1 and updates.get(memory) == op)


@dataclasses.dataclass(frozen=True)
class Row:
    """Updates of a memory by one operation that follow each other.

    Attributes:
      last: the number of the last one.
      step: how much further each begins than the one before.
    """

    last: int
    step: int


def rows(
    body: Body, plan: Plan, deterministic: bool, dimensions: int, alone: Container[int] = frozenset()
) -> Mapping[int, Row]:
    """For the number of each update that is one of such a row, that.

    Args:
      body: the program.
      plan: what is known of its values.
      deterministic: whether sums of floats have to be taken in order.
      dimensions: of the nd-range.
      alone: the numbers of stores that are not made with others.
    """
    uses = _uses(body)
    each = ((n, eqn) for n, eqn in enumerate(body.eqns) if n not in alone)
    users = {e.invars[0]: n for n, e in each if _is_one_of_a_row(e, plan, deterministic)}
    following = {n: users.get(m) for n in users.values() if uses[m := body.eqns[n].outvars[0]] == 1}
    found: dict[int, Row] = {}
    for number in users.values():
        if number not in found:
            found |= _row(number, following, body, plan, dimensions)
    return found


def _row(
    number: int, following: Mapping[int, int | None], body: Body, plan: Plan, dimensions: int
) -> Mapping[int, Row]:
    """The row that begins with an update, if there is one."""
    numbers, step = [number], None
    gap = _gap(body.eqns[number], plan, dimensions)
    while (after := following.get(numbers[-1])) is not None and len(numbers) < _LONGEST_ROW:
        further = _further(body.eqns[numbers[-1]], body.eqns[after], plan, dimensions)
        if further is None or step not in (None, further) or (gap is not None and abs(further) >= gap):
            break
        numbers, step = [*numbers, after], further
    return {} if step is None else dict.fromkeys(numbers, Row(numbers[-1], step))


def _is_one_of_a_row(eqn: jex_core.JaxprEqn, plan: Plan, deterministic: bool) -> bool:
    """Whether an equation updates all elements that it names, so that no order counts if these are others each time."""
    if eqn.primitive not in primitives.ACCESSES or primitives.mask(eqn) is not None:
        return False
    if eqn.primitive is primitives.store_p:
        return plan.values[eqn.invars[0]].space == "global"
    if eqn.primitive is not primitives.atomic_p or eqn.params["fetch"]:
        return False
    rounds = deterministic and jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating)
    return primitives.operation(eqn) in ("store", *serial.COMBINE) and not rounds


def _further(eqn: jex_core.JaxprEqn, after: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> int | None:
    """How much further one of two updates begins, if they are alike but for that."""
    if eqn.primitive is not after.primitive or primitives.operation(eqn) != primitives.operation(after):
        return None
    first, second = (addressing.foreseen(e, plan, dimensions) for e in (eqn, after))
    form, other = first.form, second.form
    if form is None or other is None or form.based or other.based or form.steps != other.steps:
        return None
    if first.elements.shape != second.elements.shape or not first.elements.count:
        return None
    apart = set((other.pattern - form.pattern).tolist())
    return apart.pop() if len(apart) == 1 else None


def _gap(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> int | None:
    """How far work-items store from each other; None if that does not count.

    Stores that come between theirs are made with them, while one that leaves no gap is a copy, best made alone.
    """
    if eqn.primitive is not primitives.store_p:
        return None
    form = addressing.foreseen(eqn, plan, dimensions).form
    return None if form is None or form.pattern.size < 2 else int(np.abs(np.diff(form.pattern)).min())


def _uses(body: Body) -> "collections.Counter[jaxprs.Atom]":
    """How often each value is used."""
    operands = (atom for operands in (*(e.invars for e in body.eqns), body.outvars) for atom in operands)
    return collections.Counter(atom for atom in operands if not jaxprs.is_literal(atom))


def operation(eqn: jex_core.JaxprEqn, in_order: bool) -> str | None:
    """The operation by which an equation updates a memory, if several such updates may be done at once.

    Args:
      eqn: the equation.
      in_order: whether sums of floats have to be taken in order.
    """
    if eqn.primitive is not primitives.atomic_p or eqn.params["fetch"]:
        return None
    rounds = in_order and jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating)
    op = COMMUTING.get(primitives.operation(eqn))
    return None if rounds and op == "add" else op
