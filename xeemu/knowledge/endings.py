"""Endings: which loops that test a predicate surely end, whatever the data are.

Such a loop counts by 1 to a bound that it leaves as it is, whatever else it tests beside that, or by a constant to a
constant. Of all others it is not known.
"""

from collections.abc import Iterator

import numpy as np
from jax.extend import core as jex_core

from xeemu.knowledge import analysis
from xeemu.language import jaxprs
from xeemu.language.jaxprs import Atom, Body, While

# By how much a comparison's counter has to change for it to come out False in the end, and the comparison turned round.
_DIRECTIONS = {"lt": 1, "le": 1, "gt": -1, "ge": -1}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}


def surely_ends(loop: While) -> bool:
    """Whether a loop ends for all data; its body may hold loops that do not."""
    return any(_counts(loop, eqn) for eqn in _tests(loop.predicate, loop.predicate.outvars[0]))


def _tests(predicate: Body, result: Atom) -> Iterator[jex_core.JaxprEqn]:
    """The comparisons of which each has to hold for the loop to go on."""
    eqn = _definition(predicate, result)
    if eqn is None:
        return
    if eqn.primitive.name == "and" or (
        eqn.primitive.name == "convert_element_type" and eqn.invars[0].aval.dtype == bool
    ):
        for operand in eqn.invars:
            yield from _tests(predicate, operand)
    elif eqn.primitive.name in _TURNED:
        yield eqn


def _definition(body: Body, result: Atom) -> jex_core.JaxprEqn | None:
    if jaxprs.is_literal(result):
        return None
    return next((eqn for eqn in body.eqns if result in eqn.outvars), None)


def _unconverted(predicate: Body, atom: Atom) -> Atom:
    """What an operand is before JAX makes a weak type a strong one."""
    eqn = _definition(predicate, atom)
    same = (
        eqn is not None and eqn.primitive.name == "convert_element_type" and eqn.invars[0].aval.dtype == atom.aval.dtype
    )
    return eqn.invars[0] if eqn is not None and same else atom


def _counts(loop: While, test: jex_core.JaxprEqn) -> bool:
    """Whether a comparison is of a counter with a bound that it reaches."""
    one, other = (_unconverted(loop.predicate, atom) for atom in test.invars)
    name = test.primitive.name
    return _reaches(loop, name, one, other) or _reaches(loop, _TURNED[name], other, one)


def _reaches(loop: While, name: str, counter: Atom, bound: Atom) -> bool:
    """Whether a counter, compared so, reaches a bound: going by 1 it meets each number, else none may be left out."""
    carries = loop.predicate.invars[loop.predicate_consts :]
    if (
        jaxprs.is_literal(counter)
        or counter not in carries
        or counter.aval.shape
        or counter.aval.dtype.kind not in "iu"
    ):
        return False
    k = carries.index(counter)
    step = analysis.increment(loop.body, loop.body.invars[loop.body_consts + k], loop.body.outvars[k])
    if not step or _DIRECTIONS.get(name, step) * step < 0:
        return False
    if jaxprs.is_literal(bound):
        return (abs(step) == 1 and name == "ne") or _is_met(name, jaxprs.literal(bound), step)
    return abs(step) == 1 and name in ("lt", "gt", "ne") and _is_kept(loop, bound, carries)


def _is_met(name: str, bound: np.ndarray, step: int) -> bool:
    """Whether a counter that goes by constant steps up or down stops at a constant before it would wrap."""
    if name == "ne" or bound.dtype.kind not in "iu":
        return False
    limits = np.iinfo(bound.dtype)
    strict = name in ("lt", "gt")
    end = int(bound) + step - (int(np.sign(step)) if strict else 0)
    return limits.min <= end <= limits.max


def _is_kept(loop: While, bound: Atom, carries: list[Atom]) -> bool:
    """Whether a bound stays as it is: an input of the predicate that the loop does not change."""
    if bound not in carries:
        return bound in loop.predicate.invars
    k = carries.index(bound)
    return loop.body.outvars[k] is loop.body.invars[loop.body_consts + k]
