"""Access tree: the memory operations and barriers of a program in order, with what is known of where and how often.

A walk over the program gives a tree of *frames*: a frame is a body of the program on one call path, with the executions
that it has: boxes of group ids and loop counters, and conditions on them. What depends on data appears as unknown
expressions and as frames that are not certain.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import analysis, budget, constant_folding, expressions, intervals, periodicity, presence, tables
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.expressions import Axis, Expression, TooLarge
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.periodicity import Box
from xeemu.language import collectives, primitives, separation, source
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

AccessKind = Literal["load", "store", "atomic"]
Key = tuple[Plan, int]
"""An operation on one call path: the path's analysis, and the operation's number."""

# A loop whose carries follow no simple rule is walked iteration by iteration, if there are no more of them.
_MOST_ITERATIONS = 64
_MOST_WALKS = 4096
_UNITS_OF_OPERATION = 4


@dataclasses.dataclass(frozen=True)
class Place:
    """One memory operation of the source; an unrolled loop makes several operations of it."""

    site: source.Site
    op: AccessKind
    memory: Allocation


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """A memory operation on one call path.

    Attributes:
      op: its operation.
      key: names it.
      frame: the body that it belongs to.
      place: where it comes from.
      index: a component for each dimension of the memory.
      mask: its `where`, or None.
      values: what it stores or combines with the memory.
    """

    op: Op
    key: Key
    frame: "Frame"
    place: Place
    index: tuple[Expression, ...]
    mask: Expression | None
    values: tuple[Expression, ...]

    @property
    def access(self) -> primitives.Access:
        access: primitives.Access = self.op.attributes["access"]
        return access

    @functools.cached_property
    def linear_index(self) -> Expression:
        """The number of the element that is accessed, in row-major order; proofs ask for it often."""
        total = expressions.constant(0, np.int64)
        for d, component in enumerate(self.index):
            total = expressions.add(total, expressions.scale(component, math.prod(self.place.memory.shape[d + 1 :])))
        return total

    @property
    def name(self) -> str:
        """`"load"`, `"store"`, or the name of the atomic operation."""
        return ops.operation(self.op)

    @property
    def fetches(self) -> bool:
        """Whether a sub-group waits for its value."""
        return self.name == "load" or bool(self.op.attributes.get("fetch"))

    @property
    def updates(self) -> bool:
        """Whether it is an atomic operation that is more than a load."""
        return self.place.op == "atomic" and self.name != "load"

    @property
    def adds_one(self) -> bool:
        """Whether it is an atomic addition of the constant 1, also to a compiler, whose old value is not used."""
        if self.name != "add" or self.fetches:
            return False
        added = self.frame.plan.value(self.op.operands[1 + self.access.rank], len(self.place.memory.shape)).form
        return added is not None and added.constant and bool((added.pattern == 1).all())


@dataclasses.dataclass(frozen=True, eq=False)
class Meeting:
    """A barrier, a fence or a group algorithm.

    Attributes:
      op: its operation.
      key: names it.
      frame: the body that it belongs to.
      level: of which work-items, `collectives.GROUP` or `SUB_GROUP`; None for a fence, at which nobody waits.
      memories: those whose accesses it orders.
      mask: which work-items reach it, or None for all.
    """

    op: Op
    key: Key
    frame: "Frame"
    level: str | None
    memories: tuple[Allocation, ...]
    mask: Expression | None


Kind = Literal["kernel", "call", "branch", "iteration", "test"]


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """A body of the program on one call path.

    Attributes:
      kind: the kernel itself, a function that it calls, a branch, a loop's body, or a loop's predicate.
      body: its program.
      plan: its analysis, which names the call path.
      boxes: the executions, apart from the conditions; if it is not certain, all that there can be.
      conditions: bool scalars that hold in every execution.
      certain: whether boxes and conditions tell the executions exactly.
      parent: the frame around it.
      number: of the operation in the parent's body that it comes from.
      counted: of an iteration, whether it is of a loop with a constant number of iterations.
      steps: what it does, in order.
      regions: by the number of an operation from which on not all work-items need be active, the mask of those that
        are.
    """

    kind: Kind
    body: Region
    plan: Plan
    boxes: Sequence[Box]
    conditions: tuple[Expression, ...]
    certain: bool
    parent: "Frame | None" = None
    number: int | None = None
    counted: bool = False
    steps: list["Operation | Meeting | Frame"] = dataclasses.field(default_factory=list)
    regions: dict[int, Expression] = dataclasses.field(default_factory=dict)

    def region(self, number: int) -> tuple[Key, Expression] | None:
        """The region that an operation stands in, by its key, and its mask; None if all work-items are active there."""
        begun = max((n for n in self.regions if n < number), default=None)
        if begun is None:
            return None if self.parent is None or self.number is None else self.parent.region(self.number)
        mask = self.regions[begun]
        return None if mask.constant and mask.array.all() else ((self.plan, begun), mask)

    def frames(self) -> Iterator["Frame"]:
        """This frame and all inside it."""
        yield self
        for step in self.steps:
            if isinstance(step, Frame):
                yield from step.frames()

    def operations(self) -> Iterator[Operation]:
        """The memory operations of this frame and of all inside it."""
        for step in self.steps:
            if isinstance(step, Operation):
                yield step
            elif isinstance(step, Frame):
                yield from step.operations()


@dataclasses.dataclass(frozen=True, eq=False)
class AccessTree:
    """The frames of a program, and the axes of the group's id.

    Attributes:
      root: the kernel.
      groups: an axis for each dimension of the group id.
      geometry: the sizes of the launch.
    """

    root: Frame
    groups: tuple[Axis, ...]
    geometry: Geometry

    @functools.cached_property
    def loops(self) -> Mapping[Key, Op]:
        """The loops that test a predicate and are executed, by their key."""
        return {
            (f.parent.plan, f.number): f.parent.body.ops[f.number]
            for f in self.root.frames()
            if f.kind == "test" and f.parent is not None and f.number is not None and f.boxes
        }

    def meetings(self) -> list[Meeting]:
        """The barriers, fences and group algorithms that are executed."""
        return [s for f in self.root.frames() if f.boxes for s in f.steps if isinstance(s, Meeting)]

    def check_ended(self, exceeded: Iterable[bool], limit: int, hint: str) -> None:
        """Refuses a run in which loops, in the order of `loops`, were given up.

        Raises:
          KernelError: one was; with the hint what to do about it.
        """
        for op, given_up in zip(self.loops.values(), exceeded, strict=True):
            if given_up:
                raise source.kernel_error(f"a loop has not ended after {limit} iterations; {hint}", source.of_op(op))


Look = Callable[[Plan, int, Op, Sequence["Expression | Allocation"]], None]
"""Is told of an operation, by its plan and number, and of its operands."""


def of_program(program: Program, plan: Plan, scalars: Sequence[Any], look: Look | None = None) -> AccessTree:
    """The schedule of a program.

    Args:
      program: the program.
      plan: its analysis.
      scalars: for each argument its value if it is a scalar that is known, else None.
      look: is told of each operation that is none of the language's own, each time that the walk comes by it.

    Raises:
      TooLarge: it takes more effort than there was left, if that is limited.
    """
    walk = _Walk(program, look)
    inputs = [
        memory or _argument(v, given, plan.values[v].interval)
        for memory, given, v in zip(program.arguments, scalars, program.body.inputs, strict=True)
    ]
    box = {axis: range(axis.size) for axis in walk.groups}
    root = Frame("kernel", program.body, plan, [box] if program.geometry.groups else [], (), True)
    walk.body(root, inputs)
    return AccessTree(root, walk.groups, program.geometry)


def _argument(like: Value, given: Any, interval: Interval | None) -> Expression:
    if given is None or not _is_integral(like.dtype):
        return expressions.unknown(like.shape, like.dtype, interval)
    return expressions.constant(given, like.dtype)


def _is_integral(dtype: Any) -> bool:
    return intervals.of_dtype(dtype) is not None


Item = Expression | Allocation


class _Walk:
    """One pass over a program, call path by call path."""

    def __init__(self, program: Program, look: Look | None = None):
        self.geometry, self._look = program.geometry, look
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
            return _constant(np.asarray(value.array)) if isinstance(value, Constant) else items[value]

        for number, op in enumerate(frame.body.ops):
            results = self._op(frame, number, op, [read(a) for a in op.used])
            items |= dict(zip(op.results, results, strict=True))
        return [read(a) for a in frame.body.outputs]

    def _op(self, frame: Frame, number: int, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        if op.name in ops.LANGUAGE:
            return self._language(frame, number, op, operands)
        if self._look is not None:
            self._look(frame.plan, number, op, operands)
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
        return [_operation(frame.plan, op, v, operands) for v in op.results]

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
            ids = analysis.local_id(self.geometry.local_range, p["dim"])
            return [expressions.constant(ids, op.results[0].dtype)]
        if op.name == ops.GROUP_ID:
            return [self._group_id(p["dim"], op.results[0].dtype)]
        if op.name == ops.ALLOCATE:
            return [self._allocation(key)]
        if op.name == ops.REGION:
            (frame.regions[number],) = (o for o in operands if isinstance(o, Expression))
            return []
        if op.name == ops.UNIFORM:
            return [self._uniform(frame.plan, op, operands)]
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
            raise ops.unhandled(op, "the schedule")
        renewed = memories if op.name in ops.UPDATES and p.get("op") != "load" else []
        return [*(_unknown(frame.plan, v) for v in op.results[: len(op.results) - len(renewed)]), *renewed]

    def _uniform(self, plan: Plan, op: Op, operands: Sequence[Item]) -> Expression:
        """Some or the greatest of work-items' values: of halves of the array element by element, until one is left."""
        (x, *_), (v,) = operands, op.results
        count, dtype, interval = math.prod(self.geometry.local_range), v.dtype, plan.values[v].interval
        if op.attributes["kind"] == "pick" or not isinstance(x, Expression) or not x.known:
            return _unknown(plan, v)
        present = presence.of_groups(self.geometry, self.groups)
        if not present.constant:
            low = 0 if np.dtype(dtype).kind == "b" else np.iinfo(dtype).min
            least = expressions.constant(np.full(x.shape, low), dtype)
            x = expressions.apply("select_n", (present, least, x), {}, x.shape, dtype, None, True)
        x = expressions.apply("reshape", (x,), {"new_sizes": (count,)}, (count,), dtype, x.interval, True)
        combine = "or" if np.dtype(dtype).kind == "b" else "max"
        while count > 1:
            half = -(-count // 2)
            parts = [_part(x, first, half) for first in (0, count - half)]
            x, count = expressions.apply(combine, parts, {}, (half,), dtype, x.interval, True), half
        return expressions.apply("reshape", (x,), {"new_sizes": ()}, (), dtype, interval, True)

    def _group_id(self, dim: int | None, dtype: Any) -> Expression:
        counts = self.geometry.group_range
        strides = analysis.group_strides(counts)
        if dim is not None:
            strides = tuple(int(d == dim) for d in range(len(counts)))
        total = expressions.constant(0, np.int64)
        for axis, stride in zip(self.groups, strides, strict=True):
            if stride:
                total = expressions.add(total, expressions.scale(expressions.of_axis(axis), stride))
        return _converted(total, dtype)

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
            taken = self._is_taken(which, k, len(branches))
            inner = self._inside(frame, number, "branch", branch, plan, **_narrowed(frame, frame.boxes, taken))
            outputs.append(self.body(inner, control.given(op, operands, k)))
        return [
            self._joined(frame.plan, which, v, list(alternatives))
            for v, alternatives in zip(op.results, zip(*outputs, strict=True), strict=True)
        ]

    def _is_taken(self, which: Expression, k: int, count: int) -> Expression:
        """Whether branch `k` is taken; numbers beyond the ends take the branches there."""
        op = "eq" if 0 < k < count - 1 else "le" if k == 0 else "ge"
        return expressions.compare(op, which, expressions.constant(k, np.int64))

    def _joined(self, plan: Plan, which: Expression, v: Value, alternatives: Sequence[Item]) -> Item:
        first = alternatives[0]
        if isinstance(first, Allocation) or all(a is first for a in alternatives):
            return first
        cases = [a for a in alternatives if isinstance(a, Expression)]
        if not all(c.known for c in (which, *cases)) or not intervals.within(which.interval, (0, len(cases) - 1)):
            return _unknown(plan, v)
        return expressions.apply("select_n", (which, *cases), {}, v.shape, v.dtype, plan.values[v].interval, True)

    def _scan(self, frame: Frame, number: int, op: Op, scan: control.Scan, operands: Sequence[Item]) -> Sequence[Item]:
        (plan,) = frame.plan.inner[number]
        seen, rest = list(operands[: len(op.seen)]), operands[len(op.seen) :]
        carries, elements = list(rest[: scan.carries]), rest[scan.carries :]
        stacked = [_unknown(frame.plan, v) for v in op.results[scan.carries :]]
        if not scan.length:
            return [*carries, *stacked]
        if self._is_iterated(frame, scan, plan, seen, carries, elements):
            return [*self._iterations(frame, number, scan, plan, seen, carries, elements), *stacked]
        axis = Axis("loop", scan.length)
        counter = expressions.of_axis(axis)
        inside = _carried(plan, scan.body, carries, counter)
        taken = [_element(x, counter, scan) for x in elements]
        boxes = [{**box, axis: range(scan.length)} for box in frame.boxes]
        self.body(
            self._inside(frame, number, "iteration", scan.body, plan, boxes=boxes, counted=True),
            [*seen, *inside, *taken],
        )
        end = expressions.constant(scan.length, np.int64)
        after = _carried(plan, scan.body, carries, end)
        return [*_known_after(frame.plan, op, after), *stacked]

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
        simple = _carried(plan, scan.body, carries, first)
        hard = [k for k, (a, b) in enumerate(zip(carries, simple, strict=True)) if _is_known(a) and not _is_known(b)]
        if not hard or scan.length > _MOST_ITERATIONS or self._walks > _MOST_WALKS:
            return False
        trial = dataclasses.replace(frame, kind="iteration", body=scan.body, plan=plan, steps=[], regions={})
        results = self.body(trial, [*seen, *carries, *(_element(x, first, scan) for x in elements)])
        return any(_is_known(results[k]) for k in hard)

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
            carries = self.body(inner, [*seen, *carries, *(_element(x, counter, scan) for x in elements)])
            carries = carries[: scan.carries]
        return carries

    def _while(
        self, frame: Frame, number: int, op: Op, loop: control.While, operands: Sequence[Item]
    ) -> Sequence[Item]:
        tested, seen = (control.seen(op, operands, k) for k in (0, 1))
        given = _Given(tested, seen, list(operands[len(op.seen) :]))
        trips = self._trips(frame, loop, given)
        if trips is not None:
            return _known_after(frame.plan, op, self._counted(frame, number, loop, given, *trips))
        settled = self._tested(frame, number, loop, given)
        if settled is not None:
            return settled
        predicate, plan = frame.plan.inner[number]
        inside = _carried(plan, loop.body, given.carries, None)
        test = self._inside(frame, number, "test", loop.predicate, predicate, certain=False)
        self.body(test, [*given.tested, *inside])
        iteration = self._inside(frame, number, "iteration", loop.body, plan, certain=False)
        self.body(iteration, [*given.seen, *inside])
        return _known_after(frame.plan, op, inside)

    def _trips(self, frame: Frame, loop: control.While, given: "_Given") -> tuple[Expression, int] | None:
        """Of a loop that counts up to a known bound: how many iterations there are, and the most in any execution."""
        found = analysis.counter(loop)
        if found is None:
            return None
        number, bound = found
        seen = dict(zip(loop.predicate.taken, [*given.tested, *given.carries], strict=True))
        start = given.carries[number]
        end = _constant(bound.array) if isinstance(bound, Constant) else seen[bound]
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
        inside = _carried(plan, loop.body, given.carries, counter)
        boxes = [{**box, axis: range(axis.size)} for box in frame.boxes]
        executed = _narrowed(frame, boxes, expressions.compare("le", counter, trips))
        self.body(self._inside(frame, number, "test", loop.predicate, predicate, **executed), [*given.tested, *inside])
        if most:
            axis = Axis("loop", most)
            counter = expressions.of_axis(axis)
            inside = _carried(plan, loop.body, given.carries, counter)
            boxes = [{**box, axis: range(axis.size)} for box in frame.boxes]
            executed = _narrowed(frame, boxes, expressions.compare("lt", counter, trips))
            self.body(self._inside(frame, number, "iteration", loop.body, plan, **executed), [*given.seen, *inside])
        return _carried(plan, loop.body, given.carries, trips)

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
                self._joined(plan, goes_on, v, [a, b]) for v, a, b in zip(loop.body.inputs, carries, after, strict=True)
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


def _carried(plan: Plan, body: Region, carries: Sequence[Item], iterations: Expression | None) -> list[Item]:
    """The carries of a loop after some iterations, or after any number of them (None)."""
    inputs = body.inputs[: len(carries)]
    return [
        start if isinstance(start, Allocation) or out is v else _grown(plan, body, v, out, start, iterations)
        for start, v, out in zip(carries, inputs, body.outputs, strict=False)
    ]


def _grown(
    plan: Plan, body: Region, v: Value, out: Value, start: Expression, iterations: Expression | None
) -> Expression:
    step = analysis.increment(body, v, out)
    if step is None or iterations is None:
        return _unknown(plan, v)
    return _converted(expressions.add(start, expressions.scale(iterations, step)), v.dtype)


def _known_after(plan: Plan, op: Op, items: Sequence[Item]) -> list[Item]:
    """What a loop leaves: where nothing is known of a value, at least its interval after the loop."""
    unknown = [isinstance(item, Expression) and item.op == expressions.UNKNOWN for item in items]
    return [_unknown(plan, v) if u else item for u, item, v in zip(unknown, items, op.results, strict=False)]


def _element(array: Item, counter: Expression, scan: control.Scan) -> Expression:
    """What a loop takes of an array in an iteration."""
    assert isinstance(array, Expression)
    if scan.reverse:
        counter = expressions.add(expressions.constant(scan.length - 1, np.int64), expressions.scale(counter, -1))
    return expressions.element(array, counter)


def _is_known(item: Item) -> bool:
    return isinstance(item, Expression) and item.known


def _constant(array: np.ndarray) -> Expression:
    if _is_integral(array.dtype) and array.size <= _LARGEST_CONSTANT:
        return expressions.constant(array)
    return expressions.unknown(
        array.shape, array.dtype, intervals.of_array(array) if _is_integral(array.dtype) else None
    )


def _unknown(plan: Plan, v: Value) -> Expression:
    return expressions.unknown(v.shape, v.dtype, plan.values[v].interval)


def _converted(value: Expression, dtype: Any) -> Expression:
    exact = intervals.within(value.interval, intervals.of_dtype(dtype))
    interval = value.interval if exact else intervals.of_dtype(dtype)
    params = {"new_dtype": np.dtype(dtype)}
    return expressions.apply("convert_element_type", (value,), params, value.shape, dtype, interval, exact)


# --- Plain operations ---


def _operation(plan: Plan, op: Op, v: Value, operands: Sequence[Item]) -> Expression:
    name = op.name
    values = [o for o in operands if isinstance(o, Expression)]
    if len(values) < len(operands) or not _is_integral(v.dtype) or len(op.results) > 1:
        return _unknown(plan, v)
    interval = plan.values[v].interval
    if name == "iota":
        return _constant(constant_folding.iota(op.attributes).astype(v.dtype))
    if (found := tables.looked_up(op, v, values)) is not None:
        return found
    if name == "clamp":
        low, x, high = values
        least = expressions.apply("max", (x, low), {}, v.shape, v.dtype, None, True)
        return expressions.apply("min", (least, high), {}, v.shape, v.dtype, interval, True)
    bound = intervals.of_op(op, [o.interval for o in values])
    fits = intervals.within(bound, intervals.of_dtype(v.dtype))
    exact = ops.of(op).fits or fits
    # The launch's scalars and the loops' counters are known here, and not to the analysis.
    if fits and intervals.within(bound, interval):
        interval = bound
    return expressions.apply(name, values, op.attributes, v.shape, v.dtype, interval, exact)


def _part(x: Expression, first: int, count: int) -> Expression:
    params = {"start_indices": (first,), "limit_indices": (first + count,), "strides": None}
    return expressions.apply("slice", (x,), params, (count,), x.dtype, x.interval, True)


_LARGEST_CONSTANT = 1 << 20


def _access(op: Op, key: Key, frame: Frame, memory: Allocation, operands: Sequence[Expression]) -> Operation:
    what: primitives.Access = op.attributes["access"]
    index, rest = tuple(operands[: what.rank]), list(operands[what.rank :])
    mask = None
    if what.masked:
        # The mask of a load comes before the value for the others, that of an update last.
        mask = rest.pop(0) if ops.operation(op) == "load" else rest.pop()
    place = Place(source.of_op(op), _kind(op), memory)
    return Operation(op, key, frame, place, index, mask, tuple(rest))


def _kind(op: Op) -> AccessKind:
    if op.name == ops.ATOMIC:
        return "atomic"
    return "load" if op.name == ops.LOAD else "store"
