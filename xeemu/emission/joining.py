"""Atomic updates that are carried out together with the next one.

A GPU starts a kernel for each scatter. Where updates of a memory by one commutative operation follow each other, with
old values that nobody asks for and no other use of the memory in between, one scatter does them all.
"""

import collections

import jax.numpy as jnp
from jax.extend import core as jex_core

from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

COMMUTING = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Operations of which several may be done at once, as which one."""


def of_body(body: Body, deterministic: bool) -> frozenset[int]:
    """The numbers of the updates of a (sub)program that may wait for the next one.

    Args:
      body: the program.
      deterministic: whether sums of floats have to be taken in order.
    """
    uses = collections.Counter(
        atom for operands in (*(e.invars for e in body.eqns), body.outvars) for atom in operands if _is_variable(atom)
    )
    updates = {e.invars[0]: e for e in body.eqns if operation(e, deterministic)}
    return frozenset(
        number
        for number, eqn in enumerate(body.eqns)
        if (op := operation(eqn, deterministic))
        and uses[eqn.outvars[0]] == 1
        and eqn.outvars[0] in updates
        and operation(updates[eqn.outvars[0]], deterministic) == op
    )


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


def _is_variable(atom: jaxprs.Atom) -> bool:
    return not jaxprs.is_literal(atom)
