"""Stores to private memory that add to what was loaded from the same place: each is one update in place.

Between the load and the store nobody changes the element, which belongs to one work-item; so one scatter that adds does
what a gather, an addition and a scatter do. Of integers only: a sum of floats may be rounded in another way.
"""

import collections
import dataclasses
import math
from typing import Any

from jax.extend import core as jex_core

from xeemu.knowledge import numbering
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Atom, Body

_COMMUTATIVE = frozenset({"add", "min", "max"})


@dataclasses.dataclass(frozen=True)
class Sum:
    """A store that updates what is there.

    Attributes:
      op: by which operation.
      added: what it combines with what is there.
      load: the number of the load of what is there, whose result nothing else uses.
    """

    op: str
    added: Atom
    load: int


def of_body(body: Body, plan: Plan, items: int, scattered: frozenset[int]) -> dict[int, Sum]:
    """For the number of each such store of a (sub)program what it does.

    Args:
      body: the program.
      plan: its analysis.
      items: work-items of a group.
      scattered: the numbers of stores that are no slices.
    """
    stores = [(n, body.eqns[n]) for n in sorted(scattered) if _one_each(body.eqns[n], items)]
    if not stores:
        return {}
    made = {v: e for e in body.eqns for v in e.outvars}
    uses = collections.Counter(
        a for operands in (*(e.invars for e in body.eqns), body.outvars) for a in operands if not jaxprs.is_literal(a)
    )
    numbers = numbering.of_body(body)
    places = {v: n for n, e in enumerate(body.eqns) for v in e.outvars}
    found = {}
    for number, store in stores:
        value = store.invars[1 + store.params["access"].rank]
        if jaxprs.is_literal(value) or uses[value] > 1 or value not in made:
            continue
        for load, added in _parts(made[value], made):
            if uses[load.outvars[0]] == 1 and _same_place(load, store, numbers):
                found[number] = Sum(made[value].primitive.name, added, places[load.outvars[0]])
    return found


def _one_each(store: jex_core.JaxprEqn, items: int) -> bool:
    """Whether each work-item stores one integer."""
    return store.invars[0].aval.dtype.kind in "iu" and math.prod(store.params["access"].shape) == items


def _parts(operation: jex_core.JaxprEqn, made: dict[Any, jex_core.JaxprEqn]) -> list[tuple[jex_core.JaxprEqn, Atom]]:
    """Of a sum with something loaded the load and the other operand."""
    if operation.primitive.name not in (*_COMMUTATIVE, "sub"):
        return []
    a, b = operation.invars
    pairs = [(a, b), (b, a)] if operation.primitive.name in _COMMUTATIVE else [(a, b)]
    loads = [(made.get(x), y) for x, y in pairs if not jaxprs.is_literal(x)]
    return [(load, y) for load, y in loads if load is not None and load.primitive is primitives.load_p]


def _same_place(load: jex_core.JaxprEqn, store: jex_core.JaxprEqn, numbers: dict[Any, int]) -> bool:
    """Whether what is stored to is what was loaded, of the same version of the memory."""
    one, other = load.params["access"], store.params["access"]
    value = store.invars[1 + other.rank].aval
    masks = primitives.mask(load), primitives.mask(store)

    def equal(a: Atom, b: Atom) -> bool:
        return numbers[numbering.key(a)] == numbers[numbering.key(b)]

    return (
        load.invars[0] is store.invars[0]
        and one.shape == other.shape == value.shape
        and value.dtype == store.invars[0].aval.dtype
        and all(map(equal, primitives.indices(load), primitives.indices(store)))
        and (masks[0] is None or (masks[1] is not None and equal(masks[0], masks[1])))
    )
