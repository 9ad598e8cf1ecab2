"""Dataflow: the pass over a program that finds what is known of every value before anything is emitted.

All fixpoints over loops are found here, per call path, so that the interpreter emits in one pass.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence, Set

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import analysis, floor_division, forms, induction, intervals
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.forms import Factors, Form
from xeemu.knowledge.intervals import Interval
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program

# After so many rounds a loop's intervals are widened to the dtype's, and after one more its forms are given up.
_PATIENCE = 3


def analyse(program: Program, rows: range | None = None, invariant: Set[Value] = frozenset()) -> Facts:
    """The facts of a whole program.

    Args:
      program: the program.
      rows: the rows of the group range, along its first dimension, that they are for; None for all.
      invariant: local memories that all groups are taken to fill alike (see `group_invariant_memory`).
    """
    dataflow = _Dataflow(program.geometry, range(program.geometry.group_range[0]) if rows is None else rows, invariant)
    inputs = [
        Known(False, space="global") if memory else _unknown(v, False, dataflow.dimensions)
        for memory, v in zip(program.arguments, program.body.inputs, strict=True)
    ]
    return dataflow.body(program.body, inputs)


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
class _Dataflow:
    geometry: Geometry
    rows: range  # of groups, along the first dimension
    invariant: Set[Value]  # local memories that all groups are taken to fill alike

    @property
    def dimensions(self) -> int:
        return len(self.geometry.group_range)

    def body(self, body: Region, inputs: Sequence[Known], before: Facts | None = None) -> Facts:
        """The facts of a (sub)program; `before` are those for other inputs, of which most may hold for these too."""
        given = dict(zip(body.all_inputs, inputs, strict=True))
        if before is None:
            facts = Facts(body, self.geometry, given)
            for number, op in enumerate(body.ops):
                facts.values.update(self._results(facts, number, op))
            return facts
        facts = before.copy()
        changed = {v for v, known in given.items() if facts.values[v] is not known}
        facts.values |= given
        for number, op in enumerate(body.ops):
            if not changed.isdisjoint(op.used):
                facts.forget(number, op)
                # What has not changed is not looked for again in all that follows from it, such as what is loaded.
                made = {v: known for v, known in self._results(facts, number, op) if not _same(facts.values[v], known)}
                changed.update(made)
                facts.values |= made
        return facts

    def _results(self, facts: Facts, number: int, op: Op) -> Iterator[tuple[Value, Known]]:
        """The results of an operation, each with what is known of it."""
        return zip(op.results, self._op(facts, number, op, [facts.value(a) for a in op.used]), strict=True)

    def outputs(self, facts: Facts) -> list[Known]:
        return [facts.value(a) for a in facts.body.outputs]

    def _op(self, facts: Facts, number: int, op: Op, operands: list[Known]) -> list[Known]:
        if op.name in ops.LANGUAGE:
            return self._language(facts, op, operands)
        match control.of(op):
            case control.Call(called):
                facts.inner[number] = (inner := self.body(called, operands),)
                outputs = self.outputs(inner)
                return [self._rounded_down(facts, op, outputs[0])] if len(outputs) == 1 else outputs
            case control.Cond():
                return self._cond(facts, number, op, operands)
            case control.Scan() as scan:
                return self._scan(facts, number, op, scan, operands)
            case control.While() as loop:
                return self._while(facts, number, op, loop, operands)
        results = self._operation(facts, op, operands)
        return [self._rounded_down(facts, op, results[0])] if op.name == "select_n" else results

    def _rounded_down(self, facts: Facts, op: Op, result: Known) -> Known:
        """What a choice gives, of which more is known where it rounds down a quotient that needs no rounding."""
        division = floor_division.natural(op.results[0], facts.body.definitions, lambda v: facts.value(v).interval)
        if division is None:
            return result
        return dataclasses.replace(result, interval=facts.values[division.results[0]].interval)

    def _operation(self, facts: Facts, op: Op, operands: list[Known]) -> list[Known]:
        varying = any(o.varying for o in operands)
        if len(op.results) != 1:
            return [_unknown(v, varying, self.dimensions) for v in op.results]
        out = op.results[0]
        dtype_interval = intervals.of_dtype(out.dtype) if hasattr(out, "dtype") else None
        if dtype_interval is None:
            return [Known(varying)]
        exact = intervals.of_op(op, [o.interval for o in operands])
        fits = intervals.within(exact, dtype_interval)
        form, factors = self._form(op, operands, fits)
        if form is not None and form.constant:
            exact, fits = intervals.of_array(form.pattern), True
        elif form is None and fits and exact is not None and exact[0] == exact[1]:
            form, factors = forms.constant(np.full(out.shape, exact[0]), self.dimensions), None
        if form is not None and factors is not None:
            facts.factors[out] = factors
        value = Known(varying, exact if fits else dtype_interval, form)
        return [_own_base(value, out, self.dimensions)]

    def _form(self, op: Op, operands: list[Known], fits: bool) -> tuple[Form | None, Factors | None]:
        if op.name == "iota":
            return forms.iota(op, self.dimensions), None
        result = forms.of_op(op, [o.form for o in operands])
        # What is computed from constants alone was folded in the dtype, and cannot be beyond it.
        if result is not None and (fits or all(o.form is not None and o.form.constant for o in operands)):
            return result
        return None, None

    def _language(self, facts: Facts, op: Op, operands: list[Known]) -> list[Known]:
        p, dimensions = op.attributes, self.dimensions
        if op.name == ops.LOCAL_ID:
            return [analysis.of_array(self.geometry.local_ids(p["dim"]), dimensions)]
        if op.name == ops.GROUP_ID:
            return [self._group_id(p["dim"])]
        if op.name == ops.ALLOCATE:
            return [Known(op.results[0] not in self.invariant, space=p["space"])]
        if op.name == ops.COLLECTIVE:
            return [_unknown(op.results[0], any(o.varying for o in operands), dimensions)]
        if op.name == ops.UNIFORM:
            return [self._uniform(facts, op, operands)]
        if op.name == ops.REGION:
            return []
        if op.name in ops.ORDERING:
            return [o for o in operands if o.space]
        if op.name in ops.ACCESSES:
            return self._access(op, operands)
        raise ops.unhandled(op, "the analysis")

    def _access(self, op: Op, operands: list[Known]) -> list[Known]:
        changes = ops.changes(op)
        # A load from what groups share by an index that they share gives each of them the same.
        varying = changes or any(o.varying for o in operands)
        values = [_unknown(value, varying, self.dimensions) for value in ops.value_results(op)]
        return [*values, operands[0]] if changes else values

    def _uniform(self, facts: Facts, op: Op, operands: list[Known]) -> Known:
        """What a group has alike of its work-items' values; their greatest one keeps a form."""
        x, out = operands[0], op.results[0]
        sizes = zip(self.geometry.global_range, self.geometry.local_range, strict=True)
        partial = any(n % size for n, size in sizes)
        if op.attributes["kind"] == "pick" or partial or x.form is None or not x.form.pattern.size:
            varying = partial or any(o.varying for o in operands)
            return _own_base(Known(varying, x.interval), out, self.dimensions)
        form = dataclasses.replace(x.form, pattern=x.form.pattern.max())
        facts.factors[out] = (1,)
        interval = intervals.of_array(form.pattern) if form.constant else x.interval
        return _own_base(Known(x.varying, interval, form), out, self.dimensions)

    def _group_id(self, dim: int | None) -> Known:
        counts = self.geometry.group_range
        steps = self.geometry.group_strides if dim is None else tuple(int(d == dim) for d in range(len(counts)))
        row = math.prod(counts[1:]) if dim is None else 1
        ids = range(counts[dim]) if dim else range(self.rows.start * row, self.rows.stop * row)
        if len(ids) <= 1:
            return analysis.of_array(np.full((), ids.start, np.int64), len(counts))
        return Known(True, (ids.start, ids.stop - 1), Form(False, steps, np.zeros((), np.int64)))

    def _cond(self, facts: Facts, number: int, op: Op, operands: list[Known]) -> list[Known]:
        *captures, chosen = operands
        facts.inner[number] = tuple(
            self.body(branch, control.region_operands(op, operands, k)) for k, branch in enumerate(op.regions)
        )
        outputs = list(map(self.outputs, facts.inner[number]))
        facts.previous_versions[number] = tuple(
            tuple(k for k, known in enumerate(captures) if known is v) if v.space else None for v in outputs[0]
        )
        joined = [functools.reduce(_joined, alternatives) for alternatives in zip(*outputs, strict=True)]
        return [
            dataclasses.replace(v, varying=True, form=None) if chosen.varying and not v.space else v for v in joined
        ]

    def _scan(self, facts: Facts, number: int, op: Op, scan: control.Scan, operands: list[Known]) -> list[Known]:
        captures, given = operands[: len(op.captures)], operands[len(op.captures) :]
        carries, rows = given[: scan.carries], given[scan.carries :]
        elements = [
            _own_base(Known(x.varying, x.interval), v, self.dimensions)
            for x, v in zip(rows, scan.body.inputs[scan.carries :], strict=True)
        ]
        trips = (0, max(scan.length - 1, 0))
        inner, carried = self._loop(scan.body, captures, carries, elements, trips)
        facts.inner[number] = (inner,)
        stacked = self.outputs(inner)[scan.carries :]
        counted = self._counters(scan.body, carries, (scan.length, scan.length))
        return _counted(carried, counted) + [Known(v.varying, v.interval) for v in stacked]

    def _while(self, facts: Facts, number: int, op: Op, loop: control.While, operands: list[Known]) -> list[Known]:
        carries = operands[len(op.captures) :]
        tested, captures = (control.region_captures(op, operands, k) for k in (0, 1))
        trips = self._trips(loop, tested, carries)
        inner, carried = self._loop(loop.body, captures, carries, [], trips)
        if trips:
            # The predicate, and what follows the loop, also see the counter after the last iteration.
            counted = self._counters(loop.body, carries, (trips[0], trips[1] + 1))
            carried = _counted(carried, counted)
        predicate = self.body(loop.predicate, [*tested, *carried])
        if self.outputs(predicate)[0].varying:
            inner, carried = self._varying_loop(loop, captures, carried)
            predicate = self.body(loop.predicate, [*tested, *carried])
        facts.inner[number] = (predicate, inner)
        return carried

    def _varying_loop(
        self, loop: control.While, captures: list[Known], carries: list[Known]
    ) -> tuple[Facts, list[Known]]:
        """A loop that some groups leave earlier: whatever it changes differs between groups."""
        inputs = loop.body.inputs
        changed = [v is not out for v, out in zip(inputs, loop.body.outputs, strict=True)]
        varying = [
            Known(True, intervals.of_dtype(v.dtype)) if now and not c.space else c
            for c, now, v in zip(carries, changed, inputs, strict=True)
        ]
        return self._loop(loop.body, captures, varying, [], None)

    def _loop(
        self,
        body: Region,
        captures: list[Known],
        carries: list[Known],
        elements: list[Known],
        trips: Interval | None,
    ) -> tuple[Facts, list[Known]]:
        """The facts of a loop's body, and what is known of its carries as each iteration starts and at the end."""
        counters = self._counters(body, carries, trips) if trips else {}
        entry = _counted(carries, counters)
        # Each round settles a carry at least, or tells the next one of a change; each is told three times at most.
        facts: Facts | None = None
        for attempt in range(_PATIENCE + 3 * len(carries) + 2):
            facts = self.body(body, [*captures, *entry, *elements], facts)
            after = self.outputs(facts)[: len(carries)]
            joined = _counted(list(map(_joined, entry, after)), counters)
            if all(_settled(a, b) for a, b in zip(entry, joined, strict=True)):
                return facts, entry
            inputs = body.inputs[: len(carries)]
            if attempt >= _PATIENCE:
                joined = [_widened(a, b, out, attempt) for a, b, out in zip(entry, joined, inputs, strict=True)]
            rebased = [_own_base(v, out, self.dimensions) for v, out in zip(joined, inputs, strict=True)]
            entry = [a if _settled(a, b) else b for a, b in zip(entry, rebased, strict=True)]
        raise AssertionError("widened intervals and lost forms settle")

    def _counters(self, body: Region, carries: Sequence[Known], trips: Interval) -> dict[int, Interval]:
        """The intervals of the carries that grow by a constant in each iteration, over the given iterations."""
        found = {}
        for k, (start, var) in enumerate(zip(carries, body.inputs, strict=False)):
            step = induction.increment(body, var, body.outputs[k])
            if step is None or start.interval is None:
                continue
            ends = [x + step * t for x in start.interval for t in trips]
            if intervals.within((min(ends), max(ends)), intervals.of_dtype(var.dtype)):
                found[k] = (min(ends), max(ends))
        return found

    def _trips(self, loop: control.While, tested: Sequence[Known], carries: Sequence[Known]) -> Interval | None:
        """The numbers of the first and the last iteration of a loop that counts up to a bound."""
        found = induction.counter(loop)
        if found is None:
            return None
        k, bound = found
        known = dict(zip(loop.predicate.all_inputs, [*tested, *carries], strict=True))
        limit = intervals.of_array(bound.array) if isinstance(bound, Constant) else known[bound].interval
        start = carries[k].interval
        return (0, max(limit[1] - 1 - start[0], 0)) if limit and start else None


def _joined(a: Known, b: Known) -> Known:
    """What is known of a value that is one of two; of versions of one memory the memory."""
    if a.space:
        return a
    return Known(a.varying or b.varying, intervals.join(a.interval, b.interval), forms.join(a.form, b.form))


def _counted(carries: Sequence[Known], counters: dict[int, Interval]) -> list[Known]:
    return [dataclasses.replace(c, interval=counters[k]) if k in counters else c for k, c in enumerate(carries)]


def _same(a: Known, b: Known) -> bool:
    """True if as much is known of two values, or if they are versions of one memory."""
    return a is b or (not b.space and _settled(a, b))


def _settled(a: Known, b: Known) -> bool:
    return a.varying == b.varying and a.interval == b.interval and forms.same(a.form, b.form)


def _widened(a: Known, b: Known, like: Value, attempt: int) -> Known:
    if b.space:
        return b
    interval = b.interval if a.interval == b.interval else intervals.of_dtype(like.dtype)
    keep = attempt == _PATIENCE or forms.same(a.form, b.form)
    return Known(b.varying, interval, b.form if keep else None)
