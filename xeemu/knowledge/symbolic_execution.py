"""Symbolic execution: a program carried out with expressions for its values, which gives its access tree."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import budget, expressions, induction, periodicity, symbolic
from xeemu.knowledge.access_tree import AccessKind, AccessSite, AccessTree, Key, Kind, Meeting, Node, Operation
from xeemu.knowledge.analysis import Facts
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

Visitor = Callable[[Facts, int, Op, Sequence[Item]], None]
"""Is called with an operation, by the facts of its call path and its number, and its operands."""


def of_program(program: Program, facts: Facts, scalars: Sequence[Any], visitor: Visitor | None = None) -> AccessTree:
    """The access tree of a program.

    Args:
      program: the program.
      facts: its analysis.
      scalars: for each argument its value if it is a scalar that is known, else None.
      visitor: is called with each operation that is none of the language's own, each time that it is carried out.

    Raises:
      TooLarge: it takes more effort than there was left, if that is limited.
    """
    execution = _Execution(program, visitor)
    inputs = [
        memory or symbolic.argument(v, given, facts.values[v].interval)
        for memory, given, v in zip(program.arguments, scalars, program.body.inputs, strict=True)
    ]
    box = {axis: range(axis.size) for axis in execution.groups}
    root = Node("kernel", program.body, facts, [box] if program.geometry.groups else [], (), True)
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

    def body(self, node: Node, inputs: Sequence[Item]) -> list[Item]:
        """Adds the steps of a node; gives the items behind its results."""
        self._walks += 1
        budget.spend(_UNITS_OF_OPERATION * len(node.body.ops))
        items: dict[Any, Item] = dict(zip(node.body.taken, inputs, strict=True))

        def read(value: Value) -> Item:
            return symbolic.constant(np.asarray(value.array)) if isinstance(value, Constant) else items[value]

        for number, op in enumerate(node.body.ops):
            results = self._op(node, number, op, [read(a) for a in op.used])
            items |= dict(zip(op.results, results, strict=True))
        return [read(a) for a in node.body.outputs]

    def _op(self, node: Node, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        if op.name in ops.LANGUAGE:
            return self._language(node, number, op, operands)
        if self._visitor is not None:
            self._visitor(node.facts, number, op, operands)
        match control.of(op):
            case control.Call(body):
                inner = self._inside(node, number, "call", body, node.facts.inner[number][0])
                return self.body(inner, operands)
            case control.Cond(branches):
                return self._cond(node, number, op, branches, operands)
            case control.Scan() as scan:
                return self._scan(node, number, op, scan, operands)
            case control.While() as loop:
                return self._while(node, number, op, loop, operands)
        if id(op) in self._reductions:
            node.steps.append(Meeting(op, (node.facts, number), node, collectives.GROUP, self._shared, None))
        return [symbolic.operation(node.facts, op, v, operands) for v in op.results]

    def _inside(self, node: Node, number: int, kind: Kind, body: Region, facts: Facts, **changes: Any) -> Node:
        """A new node of an operation, with the executions of the node around it but for the changes."""
        known = {"boxes": node.boxes, "conditions": node.conditions, "certain": node.certain, **changes}
        inner = Node(kind, body, facts, parent=node, number=number, **known)
        node.steps.append(inner)
        return inner

    # The language's own operations.

    def _language(self, node: Node, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        p, key = op.attributes, (node.facts, number)
        if op.name == ops.LOCAL_ID:
            ids = self.geometry.local_ids(p["dim"])
            return [expressions.constant(ids, op.results[0].dtype)]
        if op.name == ops.GROUP_ID:
            return [symbolic.group_id(self.geometry, self.groups, p["dim"], op.results[0].dtype)]
        if op.name == ops.ALLOCATE:
            return [self._allocation(key)]
        if op.name == ops.REGION:
            (node.regions[number],) = (o for o in operands if isinstance(o, Expression))
            return []
        if op.name == ops.UNIFORM:
            return [symbolic.uniform(self.geometry, self.groups, node.facts, op, operands)]
        memories = [o for o in operands if isinstance(o, Allocation)]
        values = [o for o in operands if isinstance(o, Expression)]
        if op.name in ops.ACCESSES:
            node.steps.append(_access(op, key, node, memories[0], values))
        elif op.name == ops.COLLECTIVE:
            mask = values[-1] if p["collective"].masked else None
            node.steps.append(Meeting(op, key, node, p["collective"].level, self._shared, mask))
        elif op.name in ops.ORDERING:
            mask = values[0] if p.get("masked") else None
            node.steps.append(Meeting(op, key, node, p.get("level"), tuple(memories), mask))
        else:
            raise ops.unhandled(op, "the access tree")
        renewed = memories if op.name in ops.UPDATES and p.get("op") != "load" else []
        return [
            *(symbolic.unknown(node.facts, v) for v in op.results[: len(op.results) - len(renewed)]),
            *renewed,
        ]

    def _allocation(self, key: Key) -> Allocation:
        """Allocations are made once, outside loops, in the order in which the check of linearity found them."""
        if key not in self._made:
            self._made[key] = next(self._next)
        return self._made[key]

    # Control flow.

    def _cond(
        self, node: Node, number: int, op: Op, branches: Sequence[Region], operands: Sequence[Item]
    ) -> Sequence[Item]:
        which = operands[-1]
        assert isinstance(which, Expression)
        outputs = []
        for k, (branch, facts) in enumerate(zip(branches, node.facts.inner[number], strict=True)):
            taken = symbolic.is_taken(which, k, len(branches))
            inner = self._inside(node, number, "branch", branch, facts, **_narrowed(node, node.boxes, taken))
            outputs.append(self.body(inner, control.given(op, operands, k)))
        return [
            symbolic.joined(node.facts, which, v, list(alternatives))
            for v, alternatives in zip(op.results, zip(*outputs, strict=True), strict=True)
        ]

    def _scan(self, node: Node, number: int, op: Op, scan: control.Scan, operands: Sequence[Item]) -> Sequence[Item]:
        (facts,) = node.facts.inner[number]
        seen, rest = list(operands[: len(op.seen)]), operands[len(op.seen) :]
        carries, elements = list(rest[: scan.carries]), rest[scan.carries :]
        stacked = [symbolic.unknown(node.facts, v) for v in op.results[scan.carries :]]
        if not scan.length:
            return [*carries, *stacked]
        if self._is_iterated(node, scan, facts, seen, carries, elements):
            return [*self._iterations(node, number, scan, facts, seen, carries, elements), *stacked]
        axis = Axis("loop", scan.length)
        counter = expressions.of_axis(axis)
        inside = symbolic.carried(facts, scan.body, carries, counter)
        taken = [symbolic.element(x, counter, scan) for x in elements]
        boxes = [{**box, axis: range(scan.length)} for box in node.boxes]
        self.body(
            self._inside(node, number, "iteration", scan.body, facts, boxes=boxes, counted=True),
            [*seen, *inside, *taken],
        )
        end = expressions.constant(scan.length, np.int64)
        after = symbolic.carried(facts, scan.body, carries, end)
        return [*symbolic.known_after(node.facts, op, after), *stacked]

    def _is_iterated(
        self,
        node: Node,
        scan: control.Scan,
        facts: Facts,
        seen: Sequence[Item],
        carries: Sequence[Item],
        elements: Sequence[Item],
    ) -> bool:
        """Whether a short loop carries what is known, but follows from the iteration before by no simple rule."""
        first = expressions.constant(0, np.int64)
        simple = symbolic.carried(facts, scan.body, carries, first)
        hard = [
            k
            for k, (a, b) in enumerate(zip(carries, simple, strict=True))
            if symbolic.is_known(a) and not symbolic.is_known(b)
        ]
        if not hard or scan.length > _MOST_ITERATIONS or self._walks > _MOST_WALKS:
            return False
        trial = dataclasses.replace(node, kind="iteration", body=scan.body, facts=facts, steps=[], regions={})
        results = self.body(trial, [*seen, *carries, *(symbolic.element(x, first, scan) for x in elements)])
        return any(symbolic.is_known(results[k]) for k in hard)

    def _iterations(
        self,
        node: Node,
        number: int,
        scan: control.Scan,
        facts: Facts,
        seen: Sequence[Item],
        carries: Sequence[Item],
        elements: Sequence[Item],
    ) -> Sequence[Item]:
        """A node for each iteration."""
        for k in range(scan.length):
            counter = expressions.constant(k, np.int64)
            inner = self._inside(node, number, "iteration", scan.body, facts, counted=True)
            carries = self.body(inner, [*seen, *carries, *(symbolic.element(x, counter, scan) for x in elements)])
            carries = carries[: scan.carries]
        return carries

    def _while(self, node: Node, number: int, op: Op, loop: control.While, operands: Sequence[Item]) -> Sequence[Item]:
        tested, seen = (control.seen(op, operands, k) for k in (0, 1))
        given = _Given(tested, seen, list(operands[len(op.seen) :]))
        trips = self._trips(node, loop, given)
        if trips is not None:
            return symbolic.known_after(node.facts, op, self._counted(node, number, loop, given, *trips))
        settled = self._tested(node, number, loop, given)
        if settled is not None:
            return settled
        predicate, facts = node.facts.inner[number]
        inside = symbolic.carried(facts, loop.body, given.carries, None)
        test = self._inside(node, number, "test", loop.predicate, predicate, certain=False)
        self.body(test, [*given.tested, *inside])
        iteration = self._inside(node, number, "iteration", loop.body, facts, certain=False)
        self.body(iteration, [*given.seen, *inside])
        return symbolic.known_after(node.facts, op, inside)

    def _trips(self, node: Node, loop: control.While, given: "_Given") -> tuple[Expression, int] | None:
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
            ends = periodicity.divided(node.boxes, lambda inside: inside.extremes(trips))
        except TooLarge:
            return None
        return trips, max((high for _, high in ends), default=0)

    def _counted(
        self, node: Node, number: int, loop: control.While, given: "_Given", trips: Expression, most: int
    ) -> Sequence[Item]:
        """The nodes of a loop with a known number of iterations; its predicate is tested once more."""
        predicate, facts = node.facts.inner[number]
        axis = Axis("test", most + 1)
        counter = expressions.of_axis(axis)
        inside = symbolic.carried(facts, loop.body, given.carries, counter)
        boxes = [{**box, axis: range(axis.size)} for box in node.boxes]
        executed = _narrowed(node, boxes, expressions.compare("le", counter, trips))
        self.body(self._inside(node, number, "test", loop.predicate, predicate, **executed), [*given.tested, *inside])
        if most:
            axis = Axis("loop", most)
            counter = expressions.of_axis(axis)
            inside = symbolic.carried(facts, loop.body, given.carries, counter)
            boxes = [{**box, axis: range(axis.size)} for box in node.boxes]
            executed = _narrowed(node, boxes, expressions.compare("lt", counter, trips))
            self.body(self._inside(node, number, "iteration", loop.body, facts, **executed), [*given.seen, *inside])
        return symbolic.carried(facts, loop.body, given.carries, trips)

    def _tested(self, node: Node, number: int, loop: control.While, given: "_Given") -> Sequence[Item] | None:
        """A node for each iteration of a short loop whose predicate is known; None of any other."""
        predicate, facts = node.facts.inner[number]
        carries, steps = given.carries, len(node.steps)
        executed: dict[str, Any] = {}
        left: list[tuple[Expression, list[Item]]] = []
        for _ in range(_MOST_ITERATIONS):
            test = self._inside(node, number, "test", loop.predicate, predicate, **executed)
            (goes_on,) = self.body(test, [*given.tested, *carries])
            if not (isinstance(goes_on, Expression) and goes_on.known) or self._walks > _MOST_WALKS:
                break
            left.append((goes_on, carries))
            executed = _narrowed(test, test.boxes, goes_on)
            if not executed["boxes"]:
                return self._left(facts, loop, left)
            inner = self._inside(node, number, "iteration", loop.body, facts, **executed)
            carries = self.body(inner, [*given.seen, *carries])
        del node.steps[steps:]
        return None

    def _left(self, facts: Facts, loop: control.While, left: Sequence[tuple[Expression, list[Item]]]) -> list[Item]:
        """What a loop leaves, of the predicate and the carries before each iteration: those where it does not go on."""
        (_, after), *before = reversed(left)
        for goes_on, carries in before:
            after = [
                symbolic.joined(facts, goes_on, v, [a, b])
                for v, a, b in zip(loop.body.inputs, carries, after, strict=True)
            ]
        return after


@dataclasses.dataclass(frozen=True)
class _Given:
    """What goes into a `while` loop: what its predicate sees, what its body sees, and the carries of both."""

    tested: list[Item]
    seen: list[Item]
    carries: list[Item]


def _narrowed(node: Node, boxes: Sequence[Box], condition: Expression) -> dict[str, Any]:
    """The executions of a node inside some boxes for which a condition holds."""
    if not condition.known:
        return {"boxes": boxes, "certain": False}
    try:
        parts = periodicity.divided(boxes, lambda inside: (inside.box, inside.decided(condition)), few=1)
    except TooLarge:
        parts = [(box, None) for box in boxes]
    conditions = (*node.conditions, condition) if any(holds is None for _, holds in parts) else node.conditions
    return {"boxes": [box for box, holds in parts if holds is not False], "conditions": conditions}


def _access(op: Op, key: Key, node: Node, memory: Allocation, operands: Sequence[Expression]) -> Operation:
    what: primitives.Access = op.attributes["access"]
    index, rest = tuple(operands[: what.rank]), list(operands[what.rank :])
    mask = None
    if what.masked:
        # The mask of a load comes before the value for the others, that of an update last.
        mask = rest.pop(0) if ops.operation(op) == "load" else rest.pop()
    place = AccessSite(source.of_op(op), _kind(op), memory)
    return Operation(op, key, node, place, index, mask, tuple(rest))


def _kind(op: Op) -> AccessKind:
    if op.name == ops.ATOMIC:
        return "atomic"
    return "load" if op.name == ops.LOAD else "store"
