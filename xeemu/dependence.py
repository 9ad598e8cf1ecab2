"""Which results of a jaxpr can be computed without some of its inputs."""

from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu import jaxprs
from xeemu.jaxprs import Body


def needing(body: Body, unknown: Sequence[bool]) -> list[bool]:
    """For each output whether it depends on an input that is marked unknown.

    What a loop or a branch leaves depends on its predicate; an array counts as a whole.
    """
    marked: dict[Any, bool] = dict(zip(body.invars, unknown, strict=True))
    for eqn in body.eqns:
        operands = [not jaxprs.is_literal(a) and marked.get(a, False) for a in eqn.invars]
        marked |= dict(zip(eqn.outvars, _equation(eqn, operands), strict=True))
    return [not jaxprs.is_literal(a) and marked.get(a, False) for a in body.outvars]


def _equation(eqn: jex_core.JaxprEqn, operands: list[bool]) -> list[bool]:
    match jaxprs.structure(eqn):
        case jaxprs.Call(body):
            return needing(body, operands)
        case jaxprs.Cond(branches):
            results = [needing(b, operands[1:]) for b in branches]
            return [operands[0] or any(alternatives) for alternatives in zip(*results, strict=True)]
        case jaxprs.Scan() as scan:
            return _scan(scan, operands)
        case jaxprs.While() as loop:
            return _while(loop, operands)
    return [any(operands)] * len(eqn.outvars)


def _scan(scan: jaxprs.Scan, operands: list[bool]) -> list[bool]:
    consts, rest = operands[: scan.consts], operands[scan.consts :]
    carried, elements = rest[: scan.carries], rest[scan.carries :]
    while True:
        results = needing(scan.body, [*consts, *carried, *elements])
        after = [a or b for a, b in zip(carried, results, strict=False)]
        if after == carried:
            return carried + results[scan.carries :]
        carried = after


def _while(loop: jaxprs.While, operands: list[bool]) -> list[bool]:
    first, last = loop.predicate_consts, loop.predicate_consts + loop.body_consts
    tested, consts, carried = operands[:first], operands[first:last], operands[last:]
    while True:
        results = needing(loop.body, [*consts, *carried])
        (goes_on,) = needing(loop.predicate, [*tested, *carried])
        after = [a or b or goes_on for a, b in zip(carried, results, strict=True)]
        if after == carried:
            return carried
        carried = after
