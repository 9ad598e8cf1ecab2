"""The static pass over a program: what is known of every value before anything is emitted.

For each value: whether it differs between work-groups, the interval of its values, and its lane form. All fixpoints
over loops are found here, per call path, so that the interpreter emits in one pass.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import floor_division, forms, intervals
from xeemu.knowledge.forms import BaseRule, Form
from xeemu.knowledge.intervals import Interval
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of a value.

    Attributes:
      varying: whether it differs between work-groups; if so it gets a leading axis of groups.
      interval: the values that it takes in any group, work-item and iteration; None if it is not an integer or bool.
      form: its lane form, or None.
      space: for a memory its space, else None. All versions of a memory share one `Known` object.
    """

    varying: bool
    interval: Interval | None = None
    form: Form | None = None
    space: str | None = None

    @property
    def only(self) -> int | None:
        """The number that it always is, if it is known."""
        return self.interval[0] if self.interval is not None and self.interval[0] == self.interval[1] else None

    @property
    def alike(self) -> bool:
        """Whether it is a local memory that all groups fill alike (see `group_invariant_memory`)."""
        return self.space == "local" and not self.varying


@dataclasses.dataclass(eq=False)
class Plan:
    """The analysis of one (sub)program on one call path.

    Attributes:
      values: what is known of each value.
      bases: for a value with a form, how its base comes from the bases of its operation's operands; a value that
        is missing is its own base.
      inner: for each structured operation the plans of its bodies (of `while`: the predicate's, then the body's).
      places: for each `cond`, for each result that is a memory the numbers of the branch operands that it is the next
        version of (several, if branches reach it in different ways), for others None.
      facts: what else was found out about the (sub)program, see `fact`.
      constants: what is known of the arrays that were met so far.
    """

    values: dict[Value, Known] = dataclasses.field(default_factory=dict)
    bases: dict[Value, BaseRule] = dataclasses.field(default_factory=dict)
    inner: dict[int, tuple["Plan", ...]] = dataclasses.field(default_factory=dict)
    places: dict[int, tuple[tuple[int, ...] | None, ...]] = dataclasses.field(default_factory=dict)
    facts: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False)
    constants: dict[Constant, Known] = dataclasses.field(default_factory=dict)

    def value(self, value: Value, dimensions: int) -> Known:
        """What is known of a value, in a launch of so many dimensions."""
        if not isinstance(value, Constant):
            return self.values[value]
        if value.is_literal and not value.shape:
            return _known_number(value.array.item(), value.dtype, dimensions)
        if value not in self.constants:
            self.constants[value] = _known(value.array, dimensions)
        return self.constants[value]

    def adopt(self, number: int, op: Op, other: "Plan") -> None:
        """Takes over what another plan of the same body knows of an operation."""
        self.values |= {v: other.values[v] for v in op.results}
        self.bases |= {v: other.bases[v] for v in op.results if v in other.bases}
        if number in other.inner:
            self.inner[number] = other.inner[number]
        if number in other.places:
            self.places[number] = other.places[number]

    def within(self, number: int, op: Op) -> list[tuple[Region, "Plan"]]:
        """The bodies of an operation, with their plans."""
        return list(zip(op.regions, self.inner.get(number, ()), strict=True))


def fact(find: Callable[Concatenate[Region, Plan, P], R]) -> Callable[Concatenate[Region, Plan, P], R]:
    """A function of a (sub)program, its plan and other hashable values that is computed once, and kept in the plan.

    What it gives must not be changed, and the plan must be complete.
    """

    @functools.wraps(find)
    def found(body: Region, plan: Plan, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (find, body, args, tuple(sorted(kwargs.items())))
        if key not in plan.facts:
            plan.facts[key] = find(body, plan, *args, **kwargs)
        result: R = plan.facts[key]
        return result

    return found


def analyse(program: Program, rows: range | None = None, alike: Set[Value] = frozenset()) -> Plan:
    """The plan of a whole program.

    Args:
      program: the program.
      rows: the rows of the group range, along its first dimension, that the plan is for; None for all.
      alike: local memories that all groups are taken to fill alike (see `group_invariant_memory`).
    """
    analysis = _Analysis(program.geometry, range(program.geometry.group_range[0]) if rows is None else rows, alike)
    inputs = [
        Known(False, space="global") if memory else _unknown(v, False, analysis.dimensions)
        for memory, v in zip(program.arguments, program.body.inputs, strict=True)
    ]
    return analysis.body(program.body, inputs)


@functools.lru_cache(maxsize=4096)
def _known_number(number: Any, dtype: np.dtype, dimensions: int) -> Known:
    """What is known of a number; programs repeat few of them often."""
    return _known(np.asarray(number, dtype), dimensions)


def _known(array: Any, dimensions: int) -> Known:
    values = np.asarray(array)
    return Known(False, intervals.of_array(values), forms.constant(values, dimensions))


def _unknown(like: Value, varying: bool, dimensions: int) -> Known:
    """A value of which only the dtype is known; a uniform integer scalar is its own base."""
    interval = intervals.of_dtype(like.dtype)
    return _own_base(Known(varying, interval), like, dimensions)


def _own_base(value: Known, like: Value, dimensions: int) -> Known:
    integer = value.interval is not None and like.dtype != bool
    if value.form is None and integer and not value.varying and like.shape == ():
        return dataclasses.replace(value, form=forms.scalar(dimensions))
    return value


@dataclasses.dataclass(frozen=True)
class _Analysis:
    geometry: Geometry
    rows: range  # of groups, along the first dimension
    alike: Set[Value]  # local memories

    @property
    def dimensions(self) -> int:
        return len(self.geometry.group_range)

    def body(self, body: Region, inputs: Sequence[Known], before: Plan | None = None) -> Plan:
        """The plan of a (sub)program; `before` is one for other inputs, of which holds what does not depend on them."""
        plan = Plan()
        plan.values |= dict(zip(body.taken, inputs, strict=True))
        if before is not None:
            plan.constants |= before.constants
        for number, op in enumerate(body.ops):
            operands = [plan.value(a, self.dimensions) for a in op.used]
            if before is not None and self._is_same(operands, before, op):
                plan.adopt(number, op, before)
            else:
                results = self._op(plan, number, op, operands, body)
                plan.values |= dict(zip(op.results, results, strict=True))
        return plan

    def _is_same(self, operands: Sequence[Known], before: Plan, op: Op) -> bool:
        """Whether an operation had the very same operands in another plan."""
        return all(o is before.value(a, self.dimensions) for o, a in zip(operands, op.used, strict=True))

    def outputs(self, body: Region, plan: Plan) -> list[Known]:
        return [plan.value(a, self.dimensions) for a in body.outputs]

    def _op(self, plan: Plan, number: int, op: Op, operands: list[Known], body: Region) -> list[Known]:
        if op.name in ops.LANGUAGE:
            return self._language(plan, op, operands)
        match control.of(op):
            case control.Call(called):
                plan.inner[number] = (inner := self.body(called, operands),)
                outputs = self.outputs(called, inner)
                return [self._rounded_down(plan, body, op, outputs[0])] if len(outputs) == 1 else outputs
            case control.Cond():
                return self._cond(plan, number, op, operands)
            case control.Scan() as scan:
                return self._scan(plan, number, op, scan, operands)
            case control.While() as loop:
                return self._while(plan, number, op, loop, operands)
        results = self._operation(plan, op, operands)
        return [self._rounded_down(plan, body, op, results[0])] if op.name == "select_n" else results

    def _rounded_down(self, plan: Plan, body: Region, op: Op, result: Known) -> Known:
        """What a choice gives, of which more is known where it rounds down a quotient that needs no rounding."""
        division = floor_division.natural(op.results[0], body.made, lambda v: plan.value(v, self.dimensions).interval)
        if division is None:
            return result
        return dataclasses.replace(result, interval=plan.values[division.results[0]].interval)

    def _operation(self, plan: Plan, op: Op, operands: list[Known]) -> list[Known]:
        varying = any(o.varying for o in operands)
        if len(op.results) != 1:
            return [_unknown(v, varying, self.dimensions) for v in op.results]
        out = op.results[0]
        dtype_interval = intervals.of_dtype(out.dtype) if hasattr(out, "dtype") else None
        if dtype_interval is None:
            return [Known(varying)]
        exact = intervals.of_op(op, [o.interval for o in operands])
        fits = intervals.within(exact, dtype_interval)
        form, rule = self._form(op, operands, fits)
        if form is not None and form.constant:
            exact, fits = intervals.of_array(form.pattern), True
        elif form is None and fits and exact is not None and exact[0] == exact[1]:
            form, rule = forms.constant(np.full(out.shape, exact[0]), self.dimensions), None
        if form is not None and rule is not None:
            plan.bases[op.results[0]] = rule
        value = Known(varying, exact if fits else dtype_interval, form)
        return [_own_base(value, out, self.dimensions)]

    def _form(self, op: Op, operands: list[Known], fits: bool) -> tuple[Form | None, BaseRule | None]:
        if op.name == "iota":
            return forms.iota(op, self.dimensions), None
        result = forms.of_op(op, [o.form for o in operands])
        # What is computed from constants alone was folded in the dtype, and cannot be beyond it.
        folded = all(o.form is not None and o.form.constant for o in operands)
        return result if result is not None and (fits or folded) else (None, None)

    def _language(self, plan: Plan, op: Op, operands: list[Known]) -> list[Known]:
        p, dimensions = op.attributes, self.dimensions
        if op.name == ops.LOCAL_ID:
            return [_known(local_id(self.geometry.local_range, p["dim"]), dimensions)]
        if op.name == ops.GROUP_ID:
            return [self._group_id(p["dim"])]
        if op.name == ops.ALLOCATE:
            return [Known(op.results[0] not in self.alike, space=p["space"])]
        if op.name == ops.COLLECTIVE:
            return [_unknown(op.results[0], any(o.varying for o in operands), dimensions)]
        if op.name == ops.UNIFORM:
            return [self._uniform(plan, op, operands)]
        if op.name == ops.REGION:
            return []
        if op.name in ops.ORDERING:
            return [o for o in operands if o.space]
        if op.name in ops.ACCESSES:
            return self._access(op, operands)
        raise ops.unhandled(op, "the analysis")

    def _access(self, op: Op, operands: list[Known]) -> list[Known]:
        memory, p = operands[0], op.attributes
        # A load from what groups share by an index that they share gives each of them the same.
        loaded = _unknown(op.results[0], any(o.varying for o in operands), self.dimensions)
        if op.name == ops.LOAD:
            return [loaded]
        if op.name == ops.STORE:
            return [memory]
        values = [dataclasses.replace(loaded, varying=True, form=None)] if p["fetch"] else []
        return [loaded] if p["op"] == "load" else [*values, memory]

    def _uniform(self, plan: Plan, op: Op, operands: list[Known]) -> Known:
        """What a group has alike of its work-items' values; their greatest one keeps a form."""
        x, out = operands[0], op.results[0]
        sizes = zip(self.geometry.global_range, self.geometry.local_range, strict=True)
        partial = any(n % size for n, size in sizes)
        if op.attributes["kind"] == "pick" or partial or x.form is None or not x.form.pattern.size:
            varying = partial or any(o.varying for o in operands)
            return _own_base(Known(varying, x.interval), out, self.dimensions)
        form = dataclasses.replace(x.form, pattern=x.form.pattern.max())
        plan.bases[op.results[0]] = lambda bases: bases[0]
        interval = intervals.of_array(form.pattern) if form.constant else x.interval
        return _own_base(Known(x.varying, interval, form), out, self.dimensions)

    def _group_id(self, dim: int | None) -> Known:
        counts = self.geometry.group_range
        steps = group_strides(counts) if dim is None else tuple(int(d == dim) for d in range(len(counts)))
        row = math.prod(counts[1:]) if dim is None else 1
        ids = range(counts[dim]) if dim else range(self.rows.start * row, self.rows.stop * row)
        if len(ids) <= 1:
            return _known(np.full((), ids.start, np.int64), len(counts))
        return Known(True, (ids.start, ids.stop - 1), Form(False, steps, np.zeros((), np.int64)))

    def _cond(self, plan: Plan, number: int, op: Op, operands: list[Known]) -> list[Known]:
        *seen, chosen = operands
        plan.inner[number] = tuple(
            self.body(branch, control.given(op, operands, k)) for k, branch in enumerate(op.regions)
        )
        outputs = [self.outputs(b, p) for b, p in zip(op.regions, plan.inner[number], strict=True)]
        plan.places[number] = tuple(
            tuple(k for k, known in enumerate(seen) if known is v) if v.space else None for v in outputs[0]
        )
        return [self._chosen(alternatives, chosen.varying) for alternatives in zip(*outputs, strict=True)]

    def _chosen(self, alternatives: Sequence[Known], varying: bool) -> Known:
        first = alternatives[0]
        if first.space:
            return first
        joined = first
        for other in alternatives[1:]:
            joined = self._join(joined, other)
        return dataclasses.replace(joined, varying=True, form=None) if varying else joined

    def _join(self, a: Known, b: Known) -> Known:
        if a.space:
            return a
        varying = a.varying or b.varying
        return Known(varying, intervals.join(a.interval, b.interval), forms.join(a.form, b.form))

    def _scan(self, plan: Plan, number: int, op: Op, scan: control.Scan, operands: list[Known]) -> list[Known]:
        seen, given = operands[: len(op.seen)], operands[len(op.seen) :]
        carries, rows = given[: scan.carries], given[scan.carries :]
        elements = [self._element(x, v) for x, v in zip(rows, scan.body.inputs[scan.carries :], strict=True)]
        trips = (0, max(scan.length - 1, 0))
        inner, carried = self._loop(scan.body, seen, carries, elements, trips)
        plan.inner[number] = (inner,)
        stacked = self.outputs(scan.body, inner)[scan.carries :]
        counted = self._counters(scan.body, carries, (scan.length, scan.length))
        return _counted(carried, counted) + [Known(v.varying, v.interval) for v in stacked]

    def _element(self, x: Known, like: Value) -> Known:
        return _own_base(Known(x.varying, x.interval), like, self.dimensions)

    def _while(self, plan: Plan, number: int, op: Op, loop: control.While, operands: list[Known]) -> list[Known]:
        carries = operands[len(op.seen) :]
        tested, seen = (control.seen(op, operands, k) for k in (0, 1))
        trips = self._trips(loop, tested, carries)
        inner, carried = self._loop(loop.body, seen, carries, [], trips)
        if trips:
            # The predicate, and what follows the loop, also see the counter after the last iteration.
            counted = self._counters(loop.body, carries, (trips[0], trips[1] + 1))
            carried = _counted(carried, counted)
        predicate = self.body(loop.predicate, [*tested, *carried])
        if self.outputs(loop.predicate, predicate)[0].varying:
            inner, carried = self._varying_loop(loop, seen, carried)
            predicate = self.body(loop.predicate, [*tested, *carried])
        plan.inner[number] = (predicate, inner)
        return carried

    def _varying_loop(self, loop: control.While, seen: list[Known], carries: list[Known]) -> tuple[Plan, list[Known]]:
        """A loop that some groups leave earlier: whatever it changes differs between groups."""
        inputs = loop.body.inputs
        changed = [v is not out for v, out in zip(inputs, loop.body.outputs, strict=True)]
        varying = [
            Known(True, intervals.of_dtype(v.dtype)) if now and not c.space else c
            for c, now, v in zip(carries, changed, inputs, strict=True)
        ]
        return self._loop(loop.body, seen, varying, [], None)

    def _loop(
        self,
        body: Region,
        seen: list[Known],
        carries: list[Known],
        elements: list[Known],
        trips: Interval | None,
    ) -> tuple[Plan, list[Known]]:
        """The plan of a loop's body and what is known of its carries at the start of every iteration and at the end."""
        counters = self._counters(body, carries, trips) if trips else {}
        entry = _counted(carries, counters)
        # Each round settles a carry at least, or tells the next one of a change; each is told three times at most.
        plan: Plan | None = None
        for attempt in range(_PATIENCE + 3 * len(carries) + 2):
            plan = self.body(body, [*seen, *entry, *elements], plan)
            after = self.outputs(body, plan)[: len(carries)]
            joined = [self._join(a, b) for a, b in zip(entry, after, strict=True)]
            joined = _counted(joined, counters)
            if all(_settled(a, b) for a, b in zip(entry, joined, strict=True)):
                return plan, entry
            inputs = body.inputs[: len(carries)]
            if attempt >= _PATIENCE:
                joined = [_widened(a, b, out, attempt) for a, b, out in zip(entry, joined, inputs, strict=True)]
            rebased = [self._rebased(v, out) for v, out in zip(joined, inputs, strict=True)]
            entry = [a if _settled(a, b) else b for a, b in zip(entry, rebased, strict=True)]
        raise AssertionError("widened intervals and lost forms settle")

    def _rebased(self, value: Known, like: Value) -> Known:
        return value if value.space else _own_base(value, like, self.dimensions)

    def _counters(self, body: Region, carries: Sequence[Known], trips: Interval) -> dict[int, Interval]:
        """The intervals of the carries that grow by a constant in each iteration, over the given iterations."""
        found = {}
        for k, (start, var) in enumerate(zip(carries, body.inputs, strict=False)):
            step = increment(body, var, body.outputs[k])
            limits = intervals.of_dtype(var.dtype) if start.interval and not start.space else None
            if step is None or limits is None or start.interval is None:
                continue
            ends = [x + step * t for x in start.interval for t in trips]
            if intervals.within((min(ends), max(ends)), limits):
                found[k] = (min(ends), max(ends))
        return found

    def _trips(self, loop: control.While, tested: Sequence[Known], carries: Sequence[Known]) -> Interval | None:
        """The numbers of the first and the last iteration of a loop that counts up to a bound."""
        found = counter(loop)
        if found is None:
            return None
        k, bound = found
        known = dict(zip(loop.predicate.taken, [*tested, *carries], strict=True))
        limit = intervals.of_array(bound.array) if isinstance(bound, Constant) else known[bound].interval
        start = carries[k].interval
        return (0, max(limit[1] - 1 - start[0], 0)) if limit and start else None


# After so many rounds a loop's intervals are widened to the dtype's, and after one more its forms are given up.
_PATIENCE = 3


def _counted(carries: Sequence[Known], counters: dict[int, Interval]) -> list[Known]:
    return [dataclasses.replace(c, interval=counters[k]) if k in counters else c for k, c in enumerate(carries)]


def _settled(a: Known, b: Known) -> bool:
    return a.varying == b.varying and a.interval == b.interval and forms.same(a.form, b.form)


def _widened(a: Known, b: Known, like: Value, attempt: int) -> Known:
    if b.space:
        return b
    interval = b.interval if a.interval == b.interval else intervals.of_dtype(like.dtype)
    keep = attempt == _PATIENCE or forms.same(a.form, b.form)
    return Known(b.varying, interval, b.form if keep else None)


def counter(loop: control.While) -> tuple[int, Value] | None:
    """Of a loop that counts a carry by 1 up to a bound, as `fori_loop` with traced bounds does: both, in its predicate.

    Returns:
      The carry's number, and the bound: a literal, or an input of the predicate that the loop leaves as it is.
    """
    tested, carried = loop.predicate.ops, loop.predicate.inputs
    if len(tested) != 1 or tested[0].name != "lt" or loop.predicate.outputs[0] is not tested[0].results[0]:
        return None
    counted, bound = tested[0].operands
    if isinstance(counted, Constant) or counted not in carried:
        return None
    k = carried.index(counted)
    if increment(loop.body, loop.body.inputs[k], loop.body.outputs[k]) != 1:
        return None
    return (k, bound) if isinstance(bound, Constant) or _kept(loop, bound, carried) else None


def increment(body: Region, var: Value, result: Value) -> int | None:
    """The constant that `body` adds to `var` to make `result`."""
    op = next((e for e in body.ops if result in e.results), None) if not isinstance(result, Constant) else None
    if op is None or op.name not in ("add", "sub"):
        return None
    a, b = op.operands
    if b is var and op.name == "add":
        a, b = b, a
    if a is not var or not isinstance(b, Constant) or b.array.ndim:
        return None
    value = b.array
    return (int(value) if op.name == "add" else -int(value)) if value.dtype.kind in "iu" else None


def _kept(loop: control.While, bound: Value, carried: Sequence[Value]) -> bool:
    """Whether the loop leaves `bound` as it is."""
    if bound not in carried:
        return True
    k = carried.index(bound)
    return loop.body.outputs[k] is loop.body.inputs[k]


def local_id(local_range: tuple[int, ...], dim: int | None) -> np.ndarray:
    """`local_range` array of the ids in a dimension, or of the linear ids."""
    if dim is None:
        return np.arange(np.prod(local_range)).reshape(local_range)
    return np.indices(local_range)[dim]


def group_strides(group_range: tuple[int, ...]) -> tuple[int, ...]:
    """What a step in each dimension of the group id adds to the linear group id."""
    return tuple(int(np.prod(group_range[d + 1 :], dtype=np.int64)) for d in range(len(group_range)))


def bodies(body: Region, plan: Plan) -> Iterator[tuple[Region, Plan]]:
    """A (sub)program and its inner ones, with their plans."""
    yield body, plan
    for number, op in enumerate(body.ops):
        for inner, inner_plan in plan.within(number, op):
            yield from bodies(inner, inner_plan)


def executed(body: Region, plan: Plan, dimensions: int) -> Iterator[tuple[Region, Plan]]:
    """The same, but for branches that no group takes."""
    yield body, plan
    for number, op in enumerate(body.ops):
        inner, cond = plan.within(number, op), isinstance(control.of(op), control.Cond)
        only = plan.value(op.operands[0], dimensions).only if cond else None
        for part in inner if only is None else [inner[min(max(only, 0), len(inner) - 1)]]:
            yield from executed(*part, dimensions)


def undecided(body: Region, plan: Plan, dimensions: int) -> int:
    """How much is left to find out when a (sub)program and its inner ones run.

    Components of indices that are not proved to be within bounds, and branches that only some groups may take.
    """
    accesses = (op for op in body.ops if op.name in ops.ACCESSES)
    found = branches(body, plan, dimensions, inner=False) + sum(doubted(op, plan, dimensions) for op in accesses)
    return found + _of_inner(undecided, body, plan, dimensions)


def branches(body: Region, plan: Plan, dimensions: int, inner: bool = True) -> int:
    """The number of branches of a (sub)program, and of its inner ones, that only some groups may take."""
    found = 0
    for op in body.ops:
        structure = control.of(op)
        chosen = plan.value(op.operands[0], dimensions) if isinstance(structure, control.Cond) else None
        if isinstance(structure, control.Cond) and chosen is not None and chosen.varying and chosen.only is None:
            found += len(structure.branches)
    return found + (_of_inner(branches, body, plan, dimensions) if inner else 0)


def _of_inner(count: Callable[[Region, Plan, int], int], body: Region, plan: Plan, dimensions: int) -> int:
    parts = (part for number, op in enumerate(body.ops) for part in plan.within(number, op))
    return sum(count(inner, inner_plan, dimensions) for inner, inner_plan in parts)


def doubted(op: Op, plan: Plan, dimensions: int) -> int:
    """How many components of an access's index are not proved to be within bounds."""
    each = zip(ops.indices(op), op.operands[0].shape, strict=True)
    return sum(not intervals.within(plan.value(a, dimensions).interval, (0, n - 1)) for a, n in each)
