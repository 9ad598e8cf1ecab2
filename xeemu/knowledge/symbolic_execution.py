"""Symbolic execution: a program carried out with expressions for its values, which gives its access tree."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import budget, expressions, induction, periodicity, symbolic
from xeemu.knowledge.access_tree import AccessKind, AccessSite, AccessTree, Frame, Key, Kind, Meeting, Operation
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.expressions import Axis, Expression, TooLarge
from xeemu.knowledge.periodicity import Box
from xeemu.knowledge.symbolic import Item
from xeemu.language import collectives, primitives, separation, source
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

# A loop whose carries follow no simple rule is walked iteration by iteration, if there are no more of them.
_MOST_ITERATIONS = 64
_MOST_WALKS = 4096
_UNITS_OF_OPERATION = 4

Visitor = Callable[[Plan, int, Op, Sequence[Item]], None]
"""Is called with an operation, by its plan and number, and its operands."""


def of_program(program: Program, plan: Plan, scalars: Sequence[Any], visitor: Visitor | None = None) -> AccessTree:
    """The access tree of a program.

    Args:
      program: the program.
      plan: its analysis.
      scalars: for each argument its value if it is a scalar that is known, else None.
      visitor: is called with each operation that is none of the language's own, each time that it is carried out.

    Raises:
      TooLarge: it takes more effort than there was left, if that is limited.
    """
    execution = _Execution(program, visitor)
    inputs = [
        memory or symbolic.argument(v, given, plan.values[v].interval)
        for memory, given, v in zip(program.arguments, scalars, program.body.inputs, strict=True)
    ]
    box = {axis: range(axis.size) for axis in execution.groups}
    root = Frame("kernel", program.body, plan, [box] if program.geometry.groups else [], (), True)
    execution.body(root, inputs)
    return AccessTree(root, execution.groups, program.geometry)


class _Execution:
    """One pass over a program, call path by call path."""

    def __init__(self, program: Program, visitor: Visitor | None = None):
        self.geometry, self._visitor = program.geometry, visitor
        self.groups = tuple(Axis(f"group {d}", n) for d, n in enumerate(self.geometry.group_range))
        self._made: dict[Key, Allocation] = {}
        self._next = iter(program.allocations)
        # What group algorithms order (SYCL 2020, section 4.17.3); JAX's own reductions over all work-items are some.
        memories = (*program.arguments, *program.allocations)
        self._shared = tuple(m for m in memories if m is not None and m.space != "private")
        self._reductions = separation.group_reductions(program.body, program.geometry)
        self._walks = 0

    def body(self, frame: Frame, inputs: Sequence[Item]) -> list[Item]:
        """Adds the steps of a frame; gives the items behind its results."""
        self._walks += 1
        budget.spend(_UNITS_OF_OPERATION * len(frame.body.ops))
        items: dict[Any, Item] = dict(zip(frame.body.taken, inputs, strict=True))

        def read(value: Value) -> Item:
            return symbolic.constant(np.asarray(value.array)) if isinstance(value, Constant) else items[value]

        for number, op in enumerate(frame.body.ops):
            results = self._op(frame, number, op, [read(a) for a in op.used])
            items |= dict(zip(op.results, results, strict=True))
        return [read(a) for a in frame.body.outputs]

    def _op(self, frame: Frame, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        if op.name in ops.LANGUAGE:
            return self._language(frame, number, op, operands)
        if self._visitor is not None:
            self._visitor(frame.plan, number, op, operands)
        match control.of(op):
            case control.Call(body):
                inner = self._inside(frame, number, "call", body, frame.plan.inner[number][0])
                return self.body(inner, operands)
            case control.Cond(branches):
                return self._cond(frame, number, op, branches, operands)
            case control.Scan() as scan:
                return self._scan(frame, number, op, scan, operands)
            case control.While() as loop:
                return self._while(frame, number, op, loop, operands)
        if id(op) in self._reductions:
            frame.steps.append(Meeting(op, (frame.plan, number), frame, collectives.GROUP, self._shared, None))
        return [symbolic.operation(frame.plan, op, v, operands) for v in op.results]

    def _inside(self, frame: Frame, number: int, kind: Kind, body: Region, plan: Plan, **changes: Any) -> Frame:
        """A new frame of an operation, with the executions of the frame around it but for the changes."""
        known = {"boxes": frame.boxes, "conditions": frame.conditions, "certain": frame.certain, **changes}
        inner = Frame(kind, body, plan, parent=frame, number=number, **known)
        frame.steps.append(inner)
        return inner

    # The language's own operations.

    def _language(self, frame: Frame, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        p, key = op.attributes, (frame.plan, number)
        if op.name == ops.LOCAL_ID:
            ids = self.geometry.local_ids(p["dim"])
            return [expressions.constant(ids, op.results[0].dtype)]
        if op.name == ops.GROUP_ID:
            return [symbolic.group_id(self.geometry, self.groups, p["dim"], op.results[0].dtype)]
        if op.name == ops.ALLOCATE:
            return [self._allocation(key)]
        if op.name == ops.REGION:
            (frame.regions[number],) = (o for o in operands if isinstance(o, Expression))
            return []
        if op.name == ops.UNIFORM:
            return [symbolic.uniform(self.geometry, self.groups, frame.plan, op, operands)]
        memories = [o for o in operands if isinstance(o, Allocation)]
        values = [o for o in operands if isinstance(o, Expression)]
        if op.name in ops.ACCESSES:
            frame.steps.append(_access(op, key, frame, memories[0], values))
        elif op.name == ops.COLLECTIVE:
            mask = values[-1] if p["collective"].masked else None
            frame.steps.append(Meeting(op, key, frame, p["collective"].level, self._shared, mask))
        elif op.name in ops.ORDERING:
            mask = values[0] if p.get("masked") else None
            frame.steps.append(Meeting(op, key, frame, p.get("level"), tuple(memories), mask))
        else:
            raise ops.unhandled(op, "the access tree")
        renewed = memories if op.name in ops.UPDATES and p.get("op") != "load" else []
        return [
            *(symbolic.unknown(frame.plan, v) for v in op.results[: len(op.results) - len(renewed)]),
            *renewed,
        ]

    def _allocation(self, key: Key) -> Allocation:
        """Allocations are made once, outside loops, in the order in which the check of linearity found them."""
        if key not in self._made:
            self._made[key] = next(self._next)
        return self._made[key]

    # Control flow.

    def _cond(
        self, frame: Frame, number: int, op: Op, branches: Sequence[Region], operands: Sequence[Item]
    ) -> Sequence[Item]:
        which = operands[-1]
        assert isinstance(which, Expression)
        outputs = []
        for k, (branch, plan) in enumerate(zip(branches, frame.plan.inner[number], strict=True)):
            taken = symbolic.is_taken(which, k, len(branches))
            inner = self._inside(frame, number, "branch", branch, plan, **_narrowed(frame, frame.boxes, taken))
            outputs.append(self.body(inner, control.given(op, operands, k)))
        return [
            symbolic.joined(frame.plan, which, v, list(alternatives))
            for v, alternatives in zip(op.results, zip(*outputs, strict=True), strict=True)
        ]

    def _scan(self, frame: Frame, number: int, op: Op, scan: control.Scan, operands: Sequence[Item]) -> Sequence[Item]:
        (plan,) = frame.plan.inner[number]
        seen, rest = list(operands[: len(op.seen)]), operands[len(op.seen) :]
        carries, elements = list(rest[: scan.carries]), rest[scan.carries :]
        stacked = [symbolic.unknown(frame.plan, v) for v in op.results[scan.carries :]]
        if not scan.length:
            return [*carries, *stacked]
        if self._is_iterated(frame, scan, plan, seen, carries, elements):
            return [*self._iterations(frame, number, scan, plan, seen, carries, elements), *stacked]
        axis = Axis("loop", scan.length)
        counter = expressions.of_axis(axis)
        inside = symbolic.carried(plan, scan.body, carries, counter)
        taken = [symbolic.element(x, counter, scan) for x in elements]
        boxes = [{**box, axis: range(scan.length)} for box in frame.boxes]
        self.body(
            self._inside(frame, number, "iteration", scan.body, plan, boxes=boxes, counted=True),
            [*seen, *inside, *taken],
        )
        end = expressions.constant(scan.length, np.int64)
        after = symbolic.carried(plan, scan.body, carries, end)
        return [*symbolic.known_after(frame.plan, op, after), *stacked]

    def _is_iterated(
        self,
        frame: Frame,
        scan: control.Scan,
        plan: Plan,
        seen: Sequence[Item],
        carries: Sequence[Item],
        elements: Sequence[Item],
    ) -> bool:
        """Whether a short loop carries what is known, but follows from the iteration before by no simple rule."""
        first = expressions.constant(0, np.int64)
        simple = symbolic.carried(plan, scan.body, carries, first)
        hard = [
            k
            for k, (a, b) in enumerate(zip(carries, simple, strict=True))
            if symbolic.is_known(a) and not symbolic.is_known(b)
        ]
        if not hard or scan.length > _MOST_ITERATIONS or self._walks > _MOST_WALKS:
            return False
        trial = dataclasses.replace(frame, kind="iteration", body=scan.body, plan=plan, steps=[], regions={})
        results = self.body(trial, [*seen, *carries, *(symbolic.element(x, first, scan) for x in elements)])
        return any(symbolic.is_known(results[k]) for k in hard)

    def _iterations(
        self,
        frame: Frame,
        number: int,
        scan: control.Scan,
        plan: Plan,
        seen: Sequence[Item],
        carries: Sequence[Item],
        elements: Sequence[Item],
    ) -> Sequence[Item]:
        """A frame for each iteration."""
        for k in range(scan.length):
            counter = expressions.constant(k, np.int64)
            inner = self._inside(frame, number, "iteration", scan.body, plan, counted=True)
            carries = self.body(inner, [*seen, *carries, *(symbolic.element(x, counter, scan) for x in elements)])
            carries = carries[: scan.carries]
        return carries

    def _while(
        self, frame: Frame, number: int, op: Op, loop: control.While, operands: Sequence[Item]
    ) -> Sequence[Item]:
        tested, seen = (control.seen(op, operands, k) for k in (0, 1))
        given = _Given(tested, seen, list(operands[len(op.seen) :]))
        trips = self._trips(frame, loop, given)
        if trips is not None:
            return symbolic.known_after(frame.plan, op, self._counted(frame, number, loop, given, *trips))
        settled = self._tested(frame, number, loop, given)
        if settled is not None:
            return settled
        predicate, plan = frame.plan.inner[number]
        inside = symbolic.carried(plan, loop.body, given.carries, None)
        test = self._inside(frame, number, "test", loop.predicate, predicate, certain=False)
        self.body(test, [*given.tested, *inside])
        iteration = self._inside(frame, number, "iteration", loop.body, plan, certain=False)
        self.body(iteration, [*given.seen, *inside])
        return symbolic.known_after(frame.plan, op, inside)

    def _trips(self, frame: Frame, loop: control.While, given: "_Given") -> tuple[Expression, int] | None:
        """Of a loop that counts up to a known bound: how many iterations there are, and the most in any execution."""
        found = induction.counter(loop)
        if found is None:
            return None
        number, bound = found
        seen = dict(zip(loop.predicate.taken, [*given.tested, *given.carries], strict=True))
        start = given.carries[number]
        end = symbolic.constant(bound.array) if isinstance(bound, Constant) else seen[bound]
        if not (isinstance(start, Expression) and isinstance(end, Expression) and start.known and end.known):
            return None
        zero, difference = expressions.constant(0, np.int64), expressions.add(end, expressions.scale(start, -1))
        interval = (0, max(difference.interval[1], 0)) if difference.interval else None
        trips = expressions.apply("max", (difference, zero), {}, (), np.int64, interval, True)
        try:
            ends = periodicity.divided(frame.boxes, lambda inside: inside.extremes(trips))
        except TooLarge:
            return None
        return trips, max((high for _, high in ends), default=0)

    def _counted(
        self, frame: Frame, number: int, loop: control.While, given: "_Given", trips: Expression, most: int
    ) -> Sequence[Item]:
        """The frames of a loop with a known number of iterations; its predicate is tested once more."""
        predicate, plan = frame.plan.inner[number]
        axis = Axis("test", most + 1)
        counter = expressions.of_axis(axis)
        inside = symbolic.carried(plan, loop.body, given.carries, counter)
        boxes = [{**box, axis: range(axis.size)} for box in frame.boxes]
        executed = _narrowed(frame, boxes, expressions.compare("le", counter, trips))
        self.body(self._inside(frame, number, "test", loop.predicate, predicate, **executed), [*given.tested, *inside])
        if most:
            axis = Axis("loop", most)
            counter = expressions.of_axis(axis)
            inside = symbolic.carried(plan, loop.body, given.carries, counter)
            boxes = [{**box, axis: range(axis.size)} for box in frame.boxes]
            executed = _narrowed(frame, boxes, expressions.compare("lt", counter, trips))
            self.body(self._inside(frame, number, "iteration", loop.body, plan, **executed), [*given.seen, *inside])
        return symbolic.carried(plan, loop.body, given.carries, trips)

    def _tested(self, frame: Frame, number: int, loop: control.While, given: "_Given") -> Sequence[Item] | None:
        """A frame for each iteration of a short loop whose predicate is known; None of any other."""
        predicate, plan = frame.plan.inner[number]
        carries, steps = given.carries, len(frame.steps)
        executed: dict[str, Any] = {}
        left: list[tuple[Expression, list[Item]]] = []
        for _ in range(_MOST_ITERATIONS):
            test = self._inside(frame, number, "test", loop.predicate, predicate, **executed)
            (goes_on,) = self.body(test, [*given.tested, *carries])
            if not (isinstance(goes_on, Expression) and goes_on.known) or self._walks > _MOST_WALKS:
                break
            left.append((goes_on, carries))
            executed = _narrowed(test, test.boxes, goes_on)
            if not executed["boxes"]:
                return self._left(plan, loop, left)
            inner = self._inside(frame, number, "iteration", loop.body, plan, **executed)
            carries = self.body(inner, [*given.seen, *carries])
        del frame.steps[steps:]
        return None

    def _left(self, plan: Plan, loop: control.While, left: Sequence[tuple[Expression, list[Item]]]) -> list[Item]:
        """What a loop leaves, of the predicate and the carries before each iteration: those where it does not go on."""
        (_, after), *before = reversed(left)
        for goes_on, carries in before:
            after = [
                symbolic.joined(plan, goes_on, v, [a, b])
                for v, a, b in zip(loop.body.inputs, carries, after, strict=True)
            ]
        return after


@dataclasses.dataclass(frozen=True)
class _Given:
    """What goes into a `while` loop: what its predicate sees, what its body sees, and the carries of both."""

    tested: list[Item]
    seen: list[Item]
    carries: list[Item]


def _narrowed(frame: Frame, boxes: Sequence[Box], condition: Expression) -> dict[str, Any]:
    """The executions of a frame inside some boxes for which a condition holds."""
    if not condition.known:
        return {"boxes": boxes, "certain": False}
    try:
        parts = periodicity.divided(boxes, lambda inside: (inside.box, inside.decided(condition)), few=1)
    except TooLarge:
        parts = [(box, None) for box in boxes]
    conditions = (*frame.conditions, condition) if any(holds is None for _, holds in parts) else frame.conditions
    return {"boxes": [box for box, holds in parts if holds is not False], "conditions": conditions}


def _access(op: Op, key: Key, frame: Frame, memory: Allocation, operands: Sequence[Expression]) -> Operation:
    what: primitives.Access = op.attributes["access"]
    index, rest = tuple(operands[: what.rank]), list(operands[what.rank :])
    mask = None
    if what.masked:
        # The mask of a load comes before the value for the others, that of an update last.
        mask = rest.pop(0) if ops.operation(op) == "load" else rest.pop()
    place = AccessSite(source.of_op(op), _kind(op), memory)
    return Operation(op, key, frame, place, index, mask, tuple(rest))


def _kind(op: Op) -> AccessKind:
    if op.name == ops.ATOMIC:
        return "atomic"
    return "load" if op.name == ops.LOAD else "store"
