"""Symbolic execution: a program carried out with expressions for its values, which gives its access tree."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import budget, expressions, induction, periodicity, symbolic
from xeemu.knowledge.access_tree import AccessSite, AccessTree, Key, MemoryOperation, Node, NodeKind, SyncPoint
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Box
from xeemu.knowledge.symbolic import Item
from xeemu.language import collectives, primitives, separation, source
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

# A loop whose carries follow no simple rule is walked iteration by iteration, if there are no more of them.
_MOST_ITERATIONS = 64
_MOST_WALKS = 4096  # through regions, after which no such loop is begun
_UNITS_OF_OPERATION = 4  # of the budget

Visitor = Callable[[Facts, int, Op, Sequence[Item]], None]
"""Is called with an operation, by the facts of its call path and its number, and its operands."""


def of_program(
    program: Program, facts: Facts, scalars: Sequence[Any] | None = None, visitor: Visitor | None = None
) -> AccessTree:
    """The access tree of a program.

    Args:
      program: the program.
      facts: its analysis.
      scalars: for each argument its value if it is a scalar that is known, else None; None if none is.
      visitor: is called with each operation that is none of the language's own, each time that it is carried out.

    Raises:
      TooLarge: it takes more effort than there was left, if that is limited.
    """
    execution = _Execution(program, visitor)
    given = [None] * len(program.arguments) if scalars is None else scalars
    inputs = [
        memory or symbolic.argument(v, scalar, facts.values[v].interval)
        for memory, scalar, v in zip(program.arguments, given, program.body.inputs, strict=True)
    ]
    box = {axis: range(axis.size) for axis in execution.groups}
    root = Node("kernel", facts, [box] if program.geometry.groups else [], (), True)
    execution.body(root, inputs)
    return AccessTree(root, execution.groups, program.geometry)


class _Execution:
    """One pass over a program, call path by call path."""

    def __init__(self, program: Program, visitor: Visitor | None = None):
        self.geometry, self._visitor = program.geometry, visitor
        self.groups = tuple(LoopAxis(f"group {d}", n) for d, n in enumerate(self.geometry.group_range))
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
        items: dict[Any, Item] = dict(zip(node.body.all_inputs, inputs, strict=True))

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
            case control.Call():
                return self.body(self._inside(node, number, "call"), operands)
            case control.Cond():
                return self._cond(node, number, op, operands)
            case control.Scan() as scan:
                return self._scan(_Loop.of(node, number, operands), scan)
            case control.While() as loop:
                return self._while(_Loop.of(node, number, operands), loop)
        if id(op) in self._reductions:
            node.steps.append(SyncPoint(op, (node.facts, number), node, collectives.GROUP, self._shared, None))
        return [symbolic.operation(node.facts, op, v, operands) for v in op.results]

    def _inside(self, node: Node, number: int, kind: NodeKind, region: int = 0, **changes: Any) -> Node:
        """A new node of an operation's region, with the executions of the node around it but for the changes."""
        known = {"boxes": node.boxes, "conditions": node.conditions, "certain": node.certain, **changes}
        inner = Node(kind, node.facts.inner[number][region], parent=node, number=number, **known)
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
            node.steps.append(SyncPoint(op, key, node, p["collective"].level, self._shared, mask))
        elif op.name in ops.ORDERING:
            mask = values[0] if p.get("masked") else None
            node.steps.append(SyncPoint(op, key, node, p.get("level"), tuple(memories), mask))
        else:
            raise ops.unhandled(op, "the access tree")
        renewed = memories if op.name in ops.ORDERING or ops.changes(op) else []
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

    def _cond(self, node: Node, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        which = operands[-1]
        assert isinstance(which, Expression)
        outputs = []
        for k in range(len(op.regions)):
            inputs = symbolic.is_taken(which, k, len(op.regions))
            inner = self._inside(node, number, "branch", k, **_narrowed(node, node.boxes, inputs))
            outputs.append(self.body(inner, control.region_operands(op, operands, k)))
        return [
            symbolic.joined(node.facts, which, v, list(alternatives))
            for v, alternatives in zip(op.results, zip(*outputs, strict=True), strict=True)
        ]

    def _scan(self, loop: "_Loop", scan: control.Scan) -> Sequence[Item]:
        node, (seen,), carries, arrays = loop.node, loop.captures, loop.carries, loop.inputs[scan.carries :]
        stacked = [symbolic.unknown(node.facts, v) for v in loop.op.results[scan.carries :]]
        if not scan.length:
            return [*carries, *stacked]

        def given(carries: Sequence[Item], counter: Expression) -> list[Item]:
            return [*seen, *carries, *(symbolic.element(x, counter, scan) for x in arrays)]

        if self._is_iterated(loop, scan, given):
            for k in range(scan.length):
                inner = self._inside(node, loop.number, "iteration")
                carries = self.body(inner, given(carries, expressions.constant(k, np.int64)))[: scan.carries]
            return [*carries, *stacked]
        counter, boxes = _counted(node, scan.length)
        inner = self._inside(node, loop.number, "iteration", boxes=boxes)
        self.body(inner, given(loop.after(counter), counter))
        end = loop.after(expressions.constant(scan.length, np.int64))
        return [*symbolic.after_loop(node.facts, loop.op, end), *stacked]

    def _is_iterated(
        self, loop: "_Loop", scan: control.Scan, given: Callable[[Sequence[Item], Expression], list[Item]]
    ) -> bool:
        """True if a short loop carries what is known, but follows from the iteration before by no simple rule."""
        first = expressions.constant(0, np.int64)
        pairs = enumerate(zip(loop.carries, loop.after(first), strict=True))
        hard = [k for k, (a, b) in pairs if symbolic.is_known(a) and not symbolic.is_known(b)]
        if not hard or scan.length > _MOST_ITERATIONS or self._walks > _MOST_WALKS:
            return False
        trial = dataclasses.replace(loop.node, kind="iteration", facts=loop.facts, steps=[], regions={})
        results = self.body(trial, given(loop.carries, first))
        return any(symbolic.is_known(results[k]) for k in hard)

    def _while(self, loop: "_Loop", structure: control.While) -> Sequence[Item]:
        node = loop.node
        trips = self._trips(loop, structure)
        if trips is not None:
            return symbolic.after_loop(node.facts, loop.op, self._repeated(loop, *trips))
        settled = self._tested(loop, structure)
        if settled is not None:
            return settled
        inside = loop.after(None)
        for k, kind in _OF_WHILE:
            self.body(self._inside(node, loop.number, kind, k, certain=False), [*loop.captures[k], *inside])
        return symbolic.after_loop(node.facts, loop.op, inside)

    def _trips(self, loop: "_Loop", structure: control.While) -> tuple[Expression, int] | None:
        """Of a loop that counts up to a known bound: how many iterations there are, and the most in any execution."""
        found = induction.counter(structure)
        if found is None:
            return None
        number, bound = found
        inputs = dict(zip(structure.predicate.all_inputs, [*loop.captures[0], *loop.inputs], strict=True))
        start = loop.inputs[number]
        end = symbolic.constant(bound.array) if isinstance(bound, Constant) else inputs[bound]
        if not (isinstance(start, Expression) and isinstance(end, Expression) and start.known and end.known):
            return None
        zero, difference = expressions.constant(0, np.int64), expressions.add(end, expressions.scale(start, -1))
        interval = (0, max(difference.interval[1], 0)) if difference.interval else None
        trips = expressions.exact("max", difference, zero, interval=interval)
        try:
            ends = periodicity.divided(loop.node.boxes, lambda inside: inside.extremes(trips))
        except TooLarge:
            return None
        return trips, max((high for _, high in ends), default=0)

    def _repeated(self, loop: "_Loop", trips: Expression, most: int) -> Sequence[Item]:
        """The nodes of a loop with a known number of iterations; its predicate is tested once more."""
        for (k, kind), count, comparison in zip(_OF_WHILE, (most + 1, most), ("le", "lt"), strict=True):
            counter, boxes = _counted(loop.node, max(count, 1))
            executed = _narrowed(loop.node, boxes, expressions.compare(comparison, counter, trips))
            inner = self._inside(loop.node, loop.number, kind, k, **executed)
            self.body(inner, [*loop.captures[k], *loop.after(counter)])
        return loop.after(trips)

    def _tested(self, loop: "_Loop", structure: control.While) -> Sequence[Item] | None:
        """A node for each iteration of a short loop whose predicate is known; None of any other."""
        node, carries, steps = loop.node, loop.inputs, len(loop.node.steps)
        executed: dict[str, Any] = {}
        exits: list[tuple[Expression, list[Item]]] = []
        for _ in range(_MOST_ITERATIONS):
            test = self._inside(node, loop.number, "test", 0, **executed)
            (has_next,) = self.body(test, [*loop.captures[0], *carries])
            if not (isinstance(has_next, Expression) and has_next.known) or self._walks > _MOST_WALKS:
                break
            exits.append((has_next, carries))
            executed = _narrowed(test, test.boxes, has_next)
            if not executed["boxes"]:
                if len(exits) == 1:  # each operation has a node, if nobody comes to it
                    self.body(
                        self._inside(node, loop.number, "iteration", 1, **executed), [*loop.captures[1], *carries]
                    )
                return self._after_loop(loop.facts, structure, exits)
            inner = self._inside(node, loop.number, "iteration", 1, **executed)
            carries = self.body(inner, [*loop.captures[1], *carries])
        del node.steps[steps:]
        return None

    def _after_loop(
        self, facts: Facts, loop: control.While, exits: Sequence[tuple[Expression, list[Item]]]
    ) -> list[Item]:
        """What a loop leaves, of the predicate and the carries before each iteration: those where it does not go on."""
        (_, after), *before = reversed(exits)
        for has_next, carries in before:
            after = [
                symbolic.joined(facts, has_next, v, [a, b])
                for v, a, b in zip(loop.body.inputs, carries, after, strict=True)
            ]
        return after


# The regions of a loop that tests a predicate.
_OF_WHILE: tuple[tuple[int, NodeKind], ...] = ((0, "test"), (1, "iteration"))


@dataclasses.dataclass(frozen=True)
class _Loop:
    """A loop on one call path.

    Attributes:
      node: the body that it stands in.
      number: of its operation there.
      captures: what stands for those of each of its regions.
      inputs: what goes into it beside that: the carries, and the arrays of which iterations take elements.
    """

    node: Node
    number: int
    captures: list[list[Item]]
    inputs: list[Item]

    @classmethod
    def of(cls, node: Node, number: int, operands: Sequence[Item]) -> "_Loop":
        """A loop, of what stands for the values that it uses."""
        op = node.body.ops[number]
        seen = [control.region_captures(op, operands, k) for k in range(len(op.regions))]
        return cls(node, number, seen, list(operands[len(op.captures) :]))

    @property
    def op(self) -> Op:
        return self.node.body.ops[self.number]

    @property
    def facts(self) -> Facts:
        """Of one iteration."""
        return self.node.facts.inner[self.number][-1]

    @property
    def carries(self) -> list[Item]:
        return self.inputs[: self.op.attributes.get("carries", len(self.inputs))]

    def after(self, iterations: Expression | None) -> list[Item]:
        """The carries after some iterations, or after any number of them (None)."""
        return symbolic.carried(self.facts, self.carries, iterations)


def _counted(node: Node, count: int) -> tuple[Expression, list[Box]]:
    """The counter of so many iterations, and their boxes."""
    axis = LoopAxis("loop", count)
    return expressions.of_axis(axis), [{**box, axis: range(count)} for box in node.boxes]


def _narrowed(node: Node, boxes: Sequence[Box], condition: Expression) -> dict[str, Any]:
    """The executions of a node inside some boxes for which a condition holds."""
    if not condition.known:
        return {"boxes": boxes, "certain": False}
    try:
        parts = periodicity.divided(boxes, lambda inside: (inside.box, inside.decided(condition)), points_limit=1)
    except TooLarge:
        parts = [(box, None) for box in boxes]
    conditions = (*node.conditions, condition) if any(holds is None for _, holds in parts) else node.conditions
    return {"boxes": [box for box, holds in parts if holds is not False], "conditions": conditions}


def _access(op: Op, key: Key, node: Node, memory: Allocation, operands: Sequence[Expression]) -> MemoryOperation:
    what: primitives.AccessAttributes = op.attributes["access"]
    index, rest = tuple(operands[: what.rank]), list(operands[what.rank :])
    mask = None
    if what.masked:
        # The mask of a load comes before the value for the others, that of an update last.
        mask = rest.pop(0) if not ops.changes(op) else rest.pop()
    access_site = AccessSite(source.of_op(op), ops.access_kind(op), memory)
    return MemoryOperation(op, key, node, access_site, index, mask, tuple(rest))
