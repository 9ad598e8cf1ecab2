"""Which memories a loop may carry as values: those that it accesses at one place only.

A loop that loads and stores the same elements in every iteration, each element on its own, need not go through memory:
it carries the elements, and stores them once when it is over. *One place* means that every access computes its index
in the same way, from what the loop does not change, for the same work-items; barriers and fences in between order
nothing, for no element has two users. Masks may differ: who is masked out keeps his element.
"""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Address
from xeemu.knowledge.analysis import Known, Plan
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language import primitives

_PLAIN = frozenset({"load", "store"})


@dataclasses.dataclass(frozen=True, eq=False)
class PromotedPlace:
    """Where all accesses of a loop to one of its memories lie.

    Attributes:
      access: the first of them.
      chosen: the flat positions of the elements of the access that its static mask leaves in.
      indices: the components of its index.
      values: what is known of them.
      address: of it, as far as it is known before the program runs.
      users: numbers of the operations of the loop's body that do nothing but access it.
      inside: whether the index is computed in the loop's body itself; else it is known before the program runs.
    """

    access: primitives.Access
    chosen: np.ndarray
    indices: tuple[Value, ...]
    values: tuple[Known, ...]
    address: Address
    users: frozenset[int] = frozenset()
    inside: bool = True

    @property
    def known(self) -> bool:
        """Whether nothing has to be computed to have the index."""
        return all(v.form is not None and not v.form.based for v in self.values)


def of_loop(
    body: Region, plans: Sequence[Plan], carries: int, dimensions: int, predicate: Region | None = None
) -> dict[int, PromotedPlace]:
    """The memories that a loop uses at one place each, by their numbers among the carries.

    Args:
      body: the loop's.
      plans: of the predicate, if there is one, and of the body.
      carries: how many there are; what follows them differs from iteration to iteration.
      dimensions: of the launch.
      predicate: of a `while`.
    """
    memories = [k for k in range(carries) if plans[-1].values[body.inputs[k]].space]
    if not memories:
        return {}
    walk = _Walk({k: _Uses() for k in memories}, dimensions)
    carried: list[Any] = [_Root(k) if k in walk.uses else _kept(walk, body, k) for k in range(carries)]
    seen = [walk.numbers.of(("seen", value)) for value in body.seen]
    rest = [None] * (len(body.inputs) - carries)
    walk.body(body, plans[-1], [*seen, *carried, *rest], outermost=True)
    if predicate is not None:
        unknown: list[Any] = [None] * len(predicate.seen)
        walk.body(predicate, plans[0], [*unknown, *carried])
    return {k: place for k, uses in walk.uses.items() if (place := uses.place()) is not None}


@dataclasses.dataclass(frozen=True)
class _Root:
    """A memory of the loop, whatever its version."""

    carry: int


class _Uses:
    """What was seen of the uses of one memory."""

    def __init__(self) -> None:
        self.places: dict[Hashable, PromotedPlace] = {}
        self.users: set[int] = set()
        self.spoilt = False

    def place(self) -> PromotedPlace | None:
        if self.spoilt or len(self.places) != 1:
            return None
        (place,) = self.places.values()
        return dataclasses.replace(place, users=frozenset(self.users)) if place.inside or place.known else None


def _kept(walk: "_Walk", body: Region, k: int) -> int | None:
    """The number of a carry that the loop leaves as it is."""
    return walk.numbers.of(("carry", k)) if body.outputs[k] is body.inputs[k] else None


class _Walk:
    """Numbers what a loop computes, so that equal numbers are equal values in all iterations; None for what changes."""

    def __init__(self, uses: dict[int, _Uses], dimensions: int) -> None:
        self.uses, self.dimensions, self.numbers = uses, dimensions, Numbers()

    def body(self, body: Region, plan: Plan, given: Sequence[Any], outermost: bool = False) -> list[Any]:
        """Follows a (sub)program; a memory of the loop among its values is a `_Root`."""
        found: dict[Any, Any] = dict(zip(body.taken, given, strict=True))
        for number, op in enumerate(body.ops):
            operands = [self._of(a, found) for a in op.used]
            results = self._op(plan, number, op, operands, outermost)
            found |= dict(zip(op.results, results, strict=True))
        return [self._of(a, found) for a in body.outputs]

    def _of(self, value: Value, found: dict[Any, Any]) -> Any:
        return self.numbers.constant(value) if isinstance(value, Constant) else found[value]

    def _op(self, plan: Plan, number: int, op: Op, operands: list[Any], outermost: bool) -> list[Any]:
        if op.name in ops.ACCESSES:
            return self._access(plan, number, op, operands, outermost)
        if op.name in ops.ORDERING:
            roots = [o for o in operands if isinstance(o, _Root)]
            if outermost and len(roots) == len(op.results):
                self._used(number, roots)
            return operands[: len(op.results)]
        structure = control.of(op)
        if structure is not None:
            return self._structure(plan, number, op, structure, operands)
        return self._operation(op, operands)

    def _operation(self, op: Op, operands: list[Any]) -> list[Any]:
        """The results of an operation on what the loop does not change, loads from such memories among them."""
        if op.name == ops.ALLOCATE or op.has_effects or any(not isinstance(o, int) for o in operands):
            return [None] * len(op.results)
        return list(self.numbers.results(op, operands))

    def _used(self, number: int, roots: Sequence[_Root]) -> None:
        for root in roots:
            self.uses[root.carry].users.add(number)

    def _access(self, plan: Plan, number: int, op: Op, operands: list[Any], outermost: bool) -> list[Any]:
        memory, operation = operands[0], ops.operation(op)
        if op.name == ops.LOAD and not isinstance(memory, _Root):
            return self._operation(op, operands)
        results = [] if operation == "load" else [memory if isinstance(memory, _Root) else None]
        values = [None] * (len(op.results) - len(results))
        if isinstance(memory, _Root):
            uses = self.uses[memory.carry]
            seen = (
                self._place(plan, op, operands, outermost)
                if operation in _PLAIN and not op.attributes.get("fetch")
                else None
            )
            if seen is None:
                uses.spoilt = True
            else:
                key, place = seen
                if outermost or key not in uses.places:
                    uses.places[key] = place
            if outermost:
                self._used(number, [memory])
        return [*values, *results]

    def _place(
        self, plan: Plan, op: Op, operands: Sequence[Any], outermost: bool
    ) -> tuple[Hashable, PromotedPlace] | None:
        """The place of an access, and what it has in common with others at the same place; None if it moves."""
        access: primitives.Access = op.attributes["access"]
        indices = ops.indices(op)
        values = tuple(plan.value(a, self.dimensions) for a in indices)
        address = addressing.foreseen(op, plan, self.dimensions)
        form, chosen = address.form, address.elements.chosen
        place = PromotedPlace(access, chosen, tuple(indices), values, address, inside=outermost)
        lanes = (access.shape, chosen.tobytes())
        if form is not None and place.known:
            private = plan.values[op.operands[0]].space == "private"
            return ("known", form.steps, form.pattern.tobytes(), lanes if private else None), place
        numbers = tuple(operands[1 : 1 + access.rank])
        return None if None in numbers else (("computed", numbers, lanes), place)

    def _structure(
        self, plan: Plan, number: int, op: Op, structure: control.Structure, operands: list[Any]
    ) -> list[Any]:
        """Follows the bodies of control flow; of their results only memories, and what runs once, keep a number."""
        results: list[Any] = [None] * len(op.results)
        for b, (inner, inner_plan) in enumerate(zip(op.regions, plan.inner[number], strict=True)):
            given = _entering(structure, inner, control.given(op, operands, b))
            outputs = self.body(inner, inner_plan, given)
            if len(outputs) == len(results) and not (isinstance(structure, control.While) and b == 0):
                once = isinstance(structure, control.Call)
                results = [o if once or isinstance(o, _Root) else r for o, r in zip(outputs, results, strict=True)]
        return results


def _entering(structure: control.Structure, inner: Region, given: Sequence[Any]) -> list[Any]:
    """What is known inside of the operands of a body: what a loop carries is another value in each iteration."""
    if not isinstance(structure, control.Scan | control.While):
        return list(given)
    return [g if k < len(inner.seen) or isinstance(g, _Root) else None for k, g in enumerate(given)]
