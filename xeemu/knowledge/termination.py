"""Termination: which loops that test a predicate surely end, and how many iterations the others may have.

A loop ends whatever the data are if it counts by 1 to a bound that it leaves as it is, whatever else it tests beside
that, or by a constant to a constant; so does one that each work-item leaves as it counts so. Of all others it is not
known: they are counted, and given up in the end.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.control import While
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import analysis, induction
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.language import source

# Of a loop that ends by itself but for one inside it: it has to look whether that one was given up.
_MOST = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class IterationLimits:
    """After how many iterations the loops of a program are given up.

    Attributes:
      most: iterations of a loop that need not end; None for no limit.
      loops: the loops of the program that test a predicate, in its order.
      numbers: for the key of each, on each of its call paths, its number.
      limits: for the key of each that is counted its limit.
    """

    most: int | None
    loops: tuple[Op, ...] = ()
    numbers: Mapping[Key, int] = dataclasses.field(default_factory=dict)
    limits: Mapping[Key, int] = dataclasses.field(default_factory=dict)

    @property
    def any(self) -> bool:
        """True if some loop is counted."""
        return bool(self.limits)

    def given_up(self, exceeded: Iterable[bool]) -> list[Op]:
        """The loops, of those in the order of `loops`, that were given up."""
        return [op for op, given_up in zip(self.loops, exceeded, strict=True) if given_up]

    def check(self, exceeded: Iterable[bool], hint: str) -> None:
        """Refuses a run in which loops, in the order of `loops`, were given up.

        Raises:
          KernelError: one was; with the hint what to do about it.
        """
        for op in self.given_up(exceeded):
            raise source.kernel_error(f"a loop has not ended after {self.most} iterations; {hint}", source.of_op(op))


NONE = IterationLimits(None)
"""Of a program whose loops nobody counts."""


def limits(programs: Sequence[Facts], most: int | None) -> IterationLimits:
    """The limits of a program's loops.

    Args:
      programs: what is known of the program as it was written, and of what groups carry out of it instead, with the
        same loops.
      most: iterations of a loop that need not end; None for no bound.
    """
    if most is None:
        return NONE
    each = [list(_loops(facts)) for facts in programs]
    numbers = {key: number for loops in each for number, (key, _) in enumerate(loops)}
    found = {key: limit for loops in each for key, op in loops if (limit := _limit(op, most)) is not None}
    return IterationLimits(most, tuple(op for _, op in each[0]), numbers, found)


def _loops(facts: Facts) -> Iterator[tuple[Key, Op]]:
    for inner in analysis.bodies(facts):
        for number, op in enumerate(inner.body.ops):
            if isinstance(control.of(op), While):
                yield (inner, number), op


def _limit(op: Op, most: int) -> int | None:
    """The limit of a loop that is counted."""
    loop = control.of(op)
    assert isinstance(loop, While)
    if not surely_ends(loop):
        return most
    return _MOST if any(map(_may_not_end, op.regions)) else None


def _may_not_end(body: Region) -> bool:
    """True if some loop of a (sub)program need not end."""
    loops = (control.of(op) for op in body.walk())
    return any(isinstance(loop, While) and not surely_ends(loop) for loop in loops)


# By how much a comparison's counter has to change for it to come out False in the end, and the comparison turned round.
_DIRECTIONS = {"lt": 1, "le": 1, "gt": -1, "ge": -1}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}


def surely_ends(loop: While) -> bool:
    """True if a loop ends for all data; its body may hold loops that do not."""
    needed = _needed(loop.predicate, loop.predicate.outputs[0])
    return any(_counts(loop, loop.predicate, value, ()) or _each_exits(loop, value) for value in needed)


def _needed(region: Region, result: Value) -> list[Value]:
    """A bool, and those that have to be True for it to be."""
    found, left = dict[Value, None](), [result]
    while left:
        value = left.pop()
        if value in found:
            continue
        found[value] = None
        op = region.definitions.get(value)
        if op is not None and (
            op.name == "and" or (op.name == "convert_element_type" and op.operands[0].dtype == bool)
        ):
            left += op.used
    return list(found)


def _each_exits(loop: While, value: Value) -> bool:
    """True if a value is that some work-item is still in the loop, which each leaves as it counts."""
    op, inputs = loop.predicate.definitions.get(value), loop.predicate.inputs
    if op is None or op.name != ops.UNIFORM or op.attributes["kind"] != "some" or op.operands[0] not in inputs:
        return False
    k = inputs.index(op.operands[0])
    before, after = loop.body.inputs[k], loop.body.outputs[k]
    needed = _needed(loop.body, after)
    return after in _within(loop.body, before) and any(_counts(loop, loop.body, value, needed) for value in needed)


def _within(body: Region, mask: Value) -> set[Value]:
    """A mask, and those of a loop's body that hold for no other work-items."""
    found = {mask}
    for op in body.ops:
        are = [value in found for value in op.used]
        if (op.name == "and" and any(are)) or (op.name == "or" and all(are)):
            found.update(op.results)
    return found


def _counts(loop: While, region: Region, value: Value, needed: Sequence[Value]) -> bool:
    """True if a value is a comparison of a counter with a bound that it reaches.

    Args:
      loop: the loop.
      region: its predicate, which compares what an iteration begins with, or its body, what it ends with.
      value: of the region.
      needed: values of the body that are True for each work-item which goes on.
    """
    test = region.definitions.get(value)
    if test is None or test.name not in _TURNED:
        return False
    one, other = (ops.unconverted(operand, region.definitions) for operand in test.operands)
    sides = ((test.name, one, other), (_TURNED[test.name], other, one))
    return any(
        _is_reached(loop, region, name, bound, _step(loop, region, counter, needed), needed)
        for name, counter, bound in sides
    )


def _step(loop: While, region: Region, counter: Value, needed: Sequence[Value]) -> int:
    """By how much a carry grows in each iteration, for work-items that go on; 0 if that is not known."""
    carries = loop.predicate.inputs if region is loop.predicate else region.outputs
    if isinstance(counter, Constant) or counter not in carries or counter.dtype.kind not in "iu":
        return 0
    k = carries.index(counter)
    before, after = loop.body.inputs[k], loop.body.outputs[k]
    op = loop.body.definitions.get(after)
    if op is not None and op.name == "select_n" and op.operands[0] in needed and op.operands[1] is before:
        after = op.operands[2]
    return induction.increment(loop.body, before, after) or 0


def _is_reached(loop: While, region: Region, name: str, bound: Value, step: int, needed: Sequence[Value]) -> bool:
    """True if what counts by a step, compared so, reaches a bound: by 1 it meets each number, else none may be left
    out."""
    if not step or _DIRECTIONS.get(name, step) * step < 0:
        return False
    if isinstance(bound, Constant):
        return (abs(step) == 1 and name == "ne") or (not bound.array.ndim and _reaches_bound(name, bound.array, step))
    return abs(step) == 1 and name in ("lt", "gt", "ne") and bound in _invariant(loop, region, needed)


def _invariant(loop: While, region: Region, needed: Sequence[Value]) -> set[Value]:
    """The values of a loop's predicate or body that are the same in each iteration, for work-items that go on."""
    carried = zip(region.inputs, loop.body.inputs, loop.body.outputs, strict=True)
    invariant = {*region.captures, *needed, *(value for value, before, after in carried if after is before)}
    for op in region.ops:
        if _is_function(op) and all(isinstance(value, Constant) or value in invariant for value in op.used):
            invariant.update(op.results)
    return invariant


def _is_function(op: Op) -> bool:
    """True if an operation gives the same for the same operands, of which a memory is one as it is."""
    if op.name == ops.LOAD:
        access = op.attributes["access"]
        return access.ordering is None and not access.volatile
    return ops.of(op).kind in (Kind.ELEMENTWISE, Kind.MOVEMENT)


def _reaches_bound(name: str, bound: np.ndarray, step: int) -> bool:
    """True if a counter that goes by constant steps up or down stops at a constant before it would wrap."""
    if name == "ne" or bound.dtype.kind not in "iu":
        return False
    limits = np.iinfo(bound.dtype)
    strict = name in ("lt", "gt")
    end = int(bound) + step - (int(np.sign(step)) if strict else 0)
    return limits.min <= end <= limits.max
