"""Stores to private memory that add to what was loaded from the same place: each is one update in place.

Between the load and the store nobody changes the element, which belongs to one work-item; so one scatter that adds does
what a gather, an addition and a scatter do. Of integers only: a sum of floats may be rounded in another way.
"""

import collections
import dataclasses
import math
from typing import Any

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import value_numbering
from xeemu.knowledge.analysis import Facts, fact

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
    added: Value
    load: int


@fact
def of_body(body: Region, facts: Facts, items: int, scattered: frozenset[int]) -> dict[int, Sum]:
    """For the number of each such store of a (sub)program what it does.

    Args:
      body: the program.
      facts: its analysis.
      items: work-items of a group.
      scattered: the numbers of stores that are no slices.
    """
    stores = [(n, body.ops[n]) for n in sorted(scattered) if _one_each(body.ops[n], items)]
    if not stores:
        return {}
    made = {v: e for e in body.ops for v in e.results}
    uses = collections.Counter(
        a for operands in (*(e.used for e in body.ops), body.outputs) for a in operands if not isinstance(a, Constant)
    )
    numbers = value_numbering.of_body(body)
    places = {v: n for n, e in enumerate(body.ops) for v in e.results}
    found = {}
    for number, store in stores:
        value = store.operands[1 + store.attributes["access"].rank]
        if isinstance(value, Constant) or uses[value] > 1 or value not in made:
            continue
        for load, added in _parts(made[value], made):
            if uses[load.results[0]] == 1 and _same_place(load, store, numbers):
                found[number] = Sum(made[value].name, added, places[load.results[0]])
    return found


def _one_each(store: Op, items: int) -> bool:
    """Whether each work-item stores one integer."""
    return store.operands[0].dtype.kind in "iu" and math.prod(store.attributes["access"].shape) == items


def _parts(operation: Op, made: dict[Any, Op]) -> list[tuple[Op, Value]]:
    """Of a sum with something loaded the load and the other operand."""
    if operation.name not in (*_COMMUTATIVE, "sub"):
        return []
    a, b = operation.operands
    pairs = [(a, b), (b, a)] if operation.name in _COMMUTATIVE else [(a, b)]
    loads = [(made.get(x), y) for x, y in pairs if not isinstance(x, Constant)]
    return [(load, y) for load, y in loads if load is not None and load.name == ops.LOAD]


def _same_place(load: Op, store: Op, numbers: dict[Any, int]) -> bool:
    """Whether what is stored to is what was loaded, of the same version of the memory."""
    one, other = load.attributes["access"], store.attributes["access"]
    value = store.operands[1 + other.rank]
    masks = ops.mask(load), ops.mask(store)

    def equal(a: Value, b: Value) -> bool:
        return numbers[a] == numbers[b]

    return (
        load.operands[0] is store.operands[0]
        and one.shape == other.shape == value.shape
        and one.view == other.view
        and value.dtype == store.operands[0].dtype
        and all(map(equal, ops.indices(load), ops.indices(store)))
        and (masks[0] is None or (masks[1] is not None and equal(masks[0], masks[1])))
    )
