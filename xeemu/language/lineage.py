"""Lineage: which input of a (sub)program each of its results is a later version of."""

from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body


def of_body(body: Body) -> list[Any]:
    """For each result the input or constant that it is, or a later version of; None if it is another value."""
    given = [*body.invars, *(v for v, _ in body.constants)]
    return _results(body, dict(zip(given, given, strict=True)))


def _results(body: Body, known: dict[Any, Any]) -> list[Any]:
    for eqn in body.eqns:
        operands = [None if jaxprs.is_literal(a) else known.get(a) for a in eqn.invars]
        known |= dict(zip(eqn.outvars, of_equation(eqn, operands), strict=True))
    return [None if jaxprs.is_literal(a) else known.get(a) for a in body.outvars]


def of_equation(eqn: jex_core.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """For each result of an equation the operand that it is, or a later version of, or None."""
    count = len(eqn.outvars)
    if eqn.primitive in primitives.UPDATES:
        if eqn.primitive in primitives.ORDERING:
            return list(operands[:count])
        renewed = [] if eqn.params.get("op") == "load" else [operands[0]]
        return [None] * (count - len(renewed)) + renewed
    structure = jaxprs.structure(eqn)
    inner = jaxprs.bodies(eqn)
    if not inner:
        return [None] * count
    # Of branches any will do: they return the same memories.
    number = len(inner) - 1
    given = jaxprs.given(structure, operands, number)
    results = _results(inner[number], dict(zip(inner[number].invars, given, strict=True)))
    if isinstance(structure, jaxprs.Scan):
        results[structure.carries :] = [None] * (count - structure.carries)
    return results
