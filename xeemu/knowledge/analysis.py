"""The static pass over a program: what is known of every variable before anything is emitted.

For each variable: whether it differs between work-groups, the interval of its values, and its lane form. All fixpoints
over loops are found here, per call path, so that the interpreter emits in one pass.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.knowledge import forms, intervals, quotients
from xeemu.knowledge.forms import BaseRule, Form
from xeemu.knowledge.intervals import Interval
from xeemu.language import jaxprs, primitives
from xeemu.language.geometry import Geometry
from xeemu.language.jaxprs import Body
from xeemu.language.program import Program

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """What is known of a variable.

    Attributes:
      varying: whether it differs between work-groups; if so it gets a leading axis of groups.
      interval: the values that it takes in any group, work-item and iteration; None if it is not an integer or bool.
      form: its lane form, or None.
      space: for a memory its space, else None. All versions of a memory share one `Value` object.
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
        """Whether it is a local memory that all groups fill alike (see `likeness`)."""
        return self.space == "local" and not self.varying


@dataclasses.dataclass(eq=False)
class Plan:
    """The analysis of one (sub)program on one call path.

    Attributes:
      values: what is known of each variable.
      bases: for a variable with a form, how its base comes from the bases of its equation's operands; a variable that
        is missing is its own base.
      inner: for each structured equation the plans of its bodies (of `while`: the predicate's, then the body's).
      places: for each `cond`, for each result that is a memory the numbers of the branch operands that it is the next
        version of (several, if branches reach it in different ways), for others None.
      facts: what else was found out about the (sub)program, see `fact`.
    """

    values: dict[jex_core.Var, Value] = dataclasses.field(default_factory=dict)
    bases: dict[jex_core.Var, BaseRule] = dataclasses.field(default_factory=dict)
    inner: dict[int, tuple["Plan", ...]] = dataclasses.field(default_factory=dict)
    places: dict[int, tuple[tuple[int, ...] | None, ...]] = dataclasses.field(default_factory=dict)
    facts: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False)

    def value(self, atom: jaxprs.Atom, dimensions: int) -> Value:
        return _literal(atom, dimensions) if jaxprs.is_literal(atom) else self.values[atom]

    def adopt(self, number: int, eqn: jex_core.JaxprEqn, other: "Plan") -> None:
        """Takes over what another plan of the same body knows of an equation."""
        self.values |= {v: other.values[v] for v in eqn.outvars}
        self.bases |= {v: other.bases[v] for v in eqn.outvars if v in other.bases}
        if number in other.inner:
            self.inner[number] = other.inner[number]
        if number in other.places:
            self.places[number] = other.places[number]

    def within(self, number: int, eqn: jex_core.JaxprEqn) -> list[tuple[Body, "Plan"]]:
        """The bodies of an equation, with their plans."""
        return list(zip(jaxprs.bodies(eqn), self.inner.get(number, ()), strict=True))


def fact(find: Callable[Concatenate[Body, Plan, P], R]) -> Callable[Concatenate[Body, Plan, P], R]:
    """A function of a (sub)program, its plan and other hashable values that is computed once, and kept in the plan.

    What it gives must not be changed, and the plan must be complete.
    """

    @functools.wraps(find)
    def found(body: Body, plan: Plan, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (find, body, args, tuple(sorted(kwargs.items())))
        if key not in plan.facts:
            plan.facts[key] = find(body, plan, *args, **kwargs)
        result: R = plan.facts[key]
        return result

    return found


def analyse(program: Program, rows: range | None = None, alike: Set[jex_core.Var] = frozenset()) -> Plan:
    """The plan of a whole program.

    Args:
      program: the program.
      rows: the rows of the group range, along its first dimension, that the plan is for; None for all.
      alike: local memories that all groups are taken to fill alike (see `likeness`).
    """
    analysis = _Analysis(program.geometry, range(program.geometry.group_range[0]) if rows is None else rows, alike)
    inputs = [
        Value(False, space="global") if memory else _unknown(v.aval, False, analysis.dimensions)
        for memory, v in zip(program.arguments, program.body.invars, strict=True)
    ]
    return analysis.body(program.body, inputs)


def _literal(atom: jaxprs.Atom, dimensions: int) -> Value:
    array = jaxprs.literal(atom)
    return _known_number(array.item(), array.dtype, dimensions) if not array.shape else _known(array, dimensions)


@functools.lru_cache(maxsize=4096)
def _known_number(number: Any, dtype: np.dtype, dimensions: int) -> Value:
    """The same for a scalar; programs repeat few of them often."""
    return _known(np.asarray(number, dtype), dimensions)


def _known(array: Any, dimensions: int) -> Value:
    values = np.asarray(array)
    return Value(False, intervals.of_array(values), forms.constant(values, dimensions))


def _unknown(aval: Any, varying: bool, dimensions: int) -> Value:
    """A value of which only the dtype is known; a uniform integer scalar is its own base."""
    interval = intervals.of_dtype(aval.dtype)
    return _own_base(Value(varying, interval), aval, dimensions)


def _own_base(value: Value, aval: Any, dimensions: int) -> Value:
    integer = value.interval is not None and aval.dtype != bool
    if value.form is None and integer and not value.varying and aval.shape == ():
        return dataclasses.replace(value, form=forms.scalar(dimensions))
    return value


@dataclasses.dataclass(frozen=True)
class _Analysis:
    geometry: Geometry
    rows: range  # of groups, along the first dimension
    alike: Set[jex_core.Var]  # local memories

    @property
    def dimensions(self) -> int:
        return len(self.geometry.group_range)

    def body(self, body: Body, inputs: Sequence[Value], before: Plan | None = None) -> Plan:
        """The plan of a (sub)program; `before` is one for other inputs, of which holds what does not depend on them."""
        plan = Plan()
        plan.values |= dict(zip(body.invars, inputs, strict=True))
        for v, array in body.constants:
            plan.values[v] = before.values[v] if before else _known(array, self.dimensions)
        for number, eqn in enumerate(body.eqns):
            operands = [plan.value(a, self.dimensions) for a in eqn.invars]
            if before is not None and self._is_same(operands, before, eqn):
                plan.adopt(number, eqn, before)
            else:
                results = self._equation(plan, number, eqn, operands)
                plan.values |= dict(zip(eqn.outvars, results, strict=True))
        return plan

    def _is_same(self, operands: Sequence[Value], before: Plan, eqn: jex_core.JaxprEqn) -> bool:
        """Whether an equation had the very same operands in another plan."""
        return all(o is before.value(a, self.dimensions) for o, a in zip(operands, eqn.invars, strict=True))

    def outputs(self, body: Body, plan: Plan) -> list[Value]:
        return [plan.value(a, self.dimensions) for a in body.outvars]

    def _equation(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, operands: list[Value]) -> list[Value]:
        if eqn.primitive in primitives.LANGUAGE:
            return self._language(plan, eqn, operands)
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                plan.inner[number] = (inner := self.body(body, operands),)
                division = quotients.division(body, [o.interval for o in operands])
                outputs = self.outputs(body, inner)
                if division is not None:
                    interval = inner.values[division.outvars[0]].interval
                    return [dataclasses.replace(outputs[0], interval=interval)]
                return outputs
            case jaxprs.Cond(branches):
                return self._cond(plan, number, branches, operands)
            case jaxprs.Scan() as scan:
                return self._scan(plan, number, scan, operands)
            case jaxprs.While() as loop:
                return self._while(plan, number, loop, operands)
        return self._operation(plan, eqn, operands)

    def _operation(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Value]) -> list[Value]:
        varying = any(o.varying for o in operands)
        if len(eqn.outvars) != 1:
            return [_unknown(v.aval, varying, self.dimensions) for v in eqn.outvars]
        aval = eqn.outvars[0].aval
        dtype_interval = intervals.of_dtype(aval.dtype) if hasattr(aval, "dtype") else None
        if dtype_interval is None:
            return [Value(varying)]
        exact = intervals.of_equation(eqn, [o.interval for o in operands])
        fits = intervals.within(exact, dtype_interval)
        form, rule = self._form(eqn, operands, fits)
        if form is not None and form.constant:
            exact, fits = intervals.of_array(form.pattern), True
        elif form is None and fits and exact is not None and exact[0] == exact[1]:
            form, rule = forms.constant(np.full(aval.shape, exact[0]), self.dimensions), None
        if form is not None and rule is not None:
            plan.bases[eqn.outvars[0]] = rule
        value = Value(varying, exact if fits else dtype_interval, form)
        return [_own_base(value, aval, self.dimensions)]

    def _form(self, eqn: jex_core.JaxprEqn, operands: list[Value], fits: bool) -> tuple[Form | None, BaseRule | None]:
        if eqn.primitive.name == "iota":
            return forms.iota(eqn, self.dimensions), None
        result = forms.of_equation(eqn, [o.form for o in operands])
        # What is computed from constants alone was folded in the dtype, and cannot be beyond it.
        folded = all(o.form is not None and o.form.constant for o in operands)
        return result if result is not None and (fits or folded) else (None, None)

    def _language(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Value]) -> list[Value]:
        p, dimensions = eqn.params, self.dimensions
        if eqn.primitive is primitives.local_id_p:
            return [_known(local_id(self.geometry.local_range, p["dim"]), dimensions)]
        if eqn.primitive is primitives.group_id_p:
            return [self._group_id(p["dim"])]
        if eqn.primitive is primitives.allocate_p:
            return [Value(eqn.outvars[0] not in self.alike, space=p["space"])]
        if eqn.primitive is primitives.collective_p:
            return [_unknown(eqn.outvars[0].aval, any(o.varying for o in operands), dimensions)]
        if eqn.primitive is primitives.uniform_p:
            return [self._uniform(plan, eqn, operands)]
        if eqn.primitive is primitives.region_p:
            return []
        if eqn.primitive in primitives.ORDERING:
            return [o for o in operands if o.space]
        if eqn.primitive in primitives.ACCESSES:
            return self._access(eqn, operands)
        raise ops.unhandled(eqn, "the analysis")

    def _access(self, eqn: jex_core.JaxprEqn, operands: list[Value]) -> list[Value]:
        memory, p = operands[0], eqn.params
        # A load from what groups share by an index that they share gives each of them the same.
        loaded = _unknown(eqn.outvars[0].aval, any(o.varying for o in operands), self.dimensions)
        if eqn.primitive is primitives.load_p:
            return [loaded]
        if eqn.primitive is primitives.store_p:
            return [memory]
        values = [dataclasses.replace(loaded, varying=True, form=None)] if p["fetch"] else []
        return [loaded] if p["op"] == "load" else [*values, memory]

    def _uniform(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Value]) -> Value:
        """What a group has alike of its work-items' values; their greatest one keeps a form."""
        x, aval = operands[0], eqn.outvars[0].aval
        sizes = zip(self.geometry.global_range, self.geometry.local_range, strict=True)
        partial = any(n % size for n, size in sizes)
        if eqn.params["kind"] == "pick" or partial or x.form is None or not x.form.pattern.size:
            varying = partial or any(o.varying for o in operands)
            return _own_base(Value(varying, x.interval), aval, self.dimensions)
        form = dataclasses.replace(x.form, pattern=x.form.pattern.max())
        plan.bases[eqn.outvars[0]] = lambda bases: bases[0]
        interval = intervals.of_array(form.pattern) if form.constant else x.interval
        return _own_base(Value(x.varying, interval, form), aval, self.dimensions)

    def _group_id(self, dim: int | None) -> Value:
        counts = self.geometry.group_range
        steps = group_strides(counts) if dim is None else tuple(int(d == dim) for d in range(len(counts)))
        row = math.prod(counts[1:]) if dim is None else 1
        ids = range(counts[dim]) if dim else range(self.rows.start * row, self.rows.stop * row)
        if len(ids) <= 1:
            return _known(np.full((), ids.start, np.int64), len(counts))
        return Value(True, (ids.start, ids.stop - 1), Form(False, steps, np.zeros((), np.int64)))

    def _cond(self, plan: Plan, number: int, branches: Sequence[Body], operands: list[Value]) -> list[Value]:
        chosen, *rest = operands
        plan.inner[number] = tuple(self.body(b, rest) for b in branches)
        outputs = [self.outputs(b, p) for b, p in zip(branches, plan.inner[number], strict=True)]
        plan.places[number] = tuple(
            tuple(k for k, operand in enumerate(rest) if operand is v) if v.space else None for v in outputs[0]
        )
        return [self._chosen(alternatives, chosen.varying) for alternatives in zip(*outputs, strict=True)]

    def _chosen(self, alternatives: Sequence[Value], varying: bool) -> Value:
        first = alternatives[0]
        if first.space:
            return first
        joined = first
        for other in alternatives[1:]:
            joined = self._join(joined, other)
        return dataclasses.replace(joined, varying=True, form=None) if varying else joined

    def _join(self, a: Value, b: Value) -> Value:
        if a.space:
            return a
        varying = a.varying or b.varying
        return Value(varying, intervals.join(a.interval, b.interval), forms.join(a.form, b.form))

    def _scan(self, plan: Plan, number: int, scan: jaxprs.Scan, operands: list[Value]) -> list[Value]:
        consts, carries = operands[: scan.consts], operands[scan.consts : scan.consts + scan.carries]
        elements = [
            self._element(x, v.aval)
            for x, v in zip(
                operands[scan.consts + scan.carries :], scan.body.invars[scan.consts + scan.carries :], strict=True
            )
        ]
        trips = (0, max(scan.length - 1, 0))
        inner, carried = self._loop(scan.body, consts, carries, elements, trips)
        plan.inner[number] = (inner,)
        stacked = self.outputs(scan.body, inner)[scan.carries :]
        counted = self._counters(scan.body, scan.consts, carries, (scan.length, scan.length))
        return _counted(carried, counted) + [Value(v.varying, v.interval) for v in stacked]

    def _element(self, x: Value, aval: Any) -> Value:
        return _own_base(Value(x.varying, x.interval), aval, self.dimensions)

    def _while(self, plan: Plan, number: int, loop: jaxprs.While, operands: list[Value]) -> list[Value]:
        first, last = loop.predicate_consts, loop.predicate_consts + loop.body_consts
        predicate_consts, consts, carries = operands[:first], operands[first:last], operands[last:]
        trips = self._trips(loop, predicate_consts, carries)
        inner, carried = self._loop(loop.body, consts, carries, [], trips)
        if trips:
            # The predicate, and what follows the loop, also see the counter after the last iteration.
            counted = self._counters(loop.body, len(consts), carries, (trips[0], trips[1] + 1))
            carried = _counted(carried, counted)
        predicate = self.body(loop.predicate, predicate_consts + carried)
        if self.outputs(loop.predicate, predicate)[0].varying:
            inner, carried = self._varying_loop(loop, consts, carried)
            predicate = self.body(loop.predicate, predicate_consts + carried)
        plan.inner[number] = (predicate, inner)
        return carried

    def _varying_loop(self, loop: jaxprs.While, consts: list[Value], carries: list[Value]) -> tuple[Plan, list[Value]]:
        """A loop that some groups leave earlier: whatever it changes differs between groups."""
        inputs = loop.body.invars[loop.body_consts :]
        changed = [v is not out for v, out in zip(inputs, loop.body.outvars, strict=True)]
        varying = [
            Value(True, intervals.of_dtype(v.aval.dtype)) if now and not c.space else c
            for c, now, v in zip(carries, changed, inputs, strict=True)
        ]
        return self._loop(loop.body, consts, varying, [], None)

    def _loop(
        self,
        body: Body,
        consts: list[Value],
        carries: list[Value],
        elements: list[Value],
        trips: Interval | None,
    ) -> tuple[Plan, list[Value]]:
        """The plan of a loop's body and what is known of its carries at the start of every iteration and at the end."""
        counters = self._counters(body, len(consts), carries, trips) if trips else {}
        entry = _counted(carries, counters)
        # Each round settles a carry at least, or tells the next one of a change; each is told three times at most.
        plan: Plan | None = None
        for attempt in range(_PATIENCE + 3 * len(carries) + 2):
            plan = self.body(body, [*consts, *entry, *elements], plan)
            after = self.outputs(body, plan)[: len(carries)]
            joined = [self._join(a, b) for a, b in zip(entry, after, strict=True)]
            joined = _counted(joined, counters)
            if all(_settled(a, b) for a, b in zip(entry, joined, strict=True)):
                return plan, entry
            avals = [v.aval for v in body.invars[len(consts) : len(consts) + len(carries)]]
            if attempt >= _PATIENCE:
                joined = [_widened(a, b, aval, attempt) for a, b, aval in zip(entry, joined, avals, strict=True)]
            rebased = [self._rebased(v, aval) for v, aval in zip(joined, avals, strict=True)]
            entry = [a if _settled(a, b) else b for a, b in zip(entry, rebased, strict=True)]
        raise AssertionError("widened intervals and lost forms settle")

    def _rebased(self, value: Value, aval: Any) -> Value:
        return value if value.space else _own_base(value, aval, self.dimensions)

    def _counters(self, body: Body, consts: int, carries: Sequence[Value], trips: Interval) -> dict[int, Interval]:
        """The intervals of the carries that grow by a constant in each iteration, over the given iterations."""
        found = {}
        for k, (start, var) in enumerate(zip(carries, body.invars[consts:], strict=False)):
            step = increment(body, var, body.outvars[k])
            limits = intervals.of_dtype(var.aval.dtype) if start.interval and not start.space else None
            if step is None or limits is None or start.interval is None:
                continue
            ends = [x + step * t for x in start.interval for t in trips]
            if intervals.within((min(ends), max(ends)), limits):
                found[k] = (min(ends), max(ends))
        return found

    def _trips(self, loop: jaxprs.While, consts: Sequence[Value], carries: Sequence[Value]) -> Interval | None:
        """The numbers of the first and the last iteration of a loop that counts up to a bound."""
        found = counter(loop)
        if found is None:
            return None
        k, bound = found
        known = dict(zip(loop.predicate.invars, [*consts, *carries], strict=True))
        limit = _literal(bound, self.dimensions).interval if jaxprs.is_literal(bound) else known[bound].interval
        start = carries[k].interval
        return (0, max(limit[1] - 1 - start[0], 0)) if limit and start else None


# After so many rounds a loop's intervals are widened to the dtype's, and after one more its forms are given up.
_PATIENCE = 3


def _counted(carries: Sequence[Value], counters: dict[int, Interval]) -> list[Value]:
    return [dataclasses.replace(c, interval=counters[k]) if k in counters else c for k, c in enumerate(carries)]


def _settled(a: Value, b: Value) -> bool:
    return a.varying == b.varying and a.interval == b.interval and forms.same(a.form, b.form)


def _widened(a: Value, b: Value, aval: Any, attempt: int) -> Value:
    if b.space:
        return b
    interval = b.interval if a.interval == b.interval else intervals.of_dtype(aval.dtype)
    keep = attempt == _PATIENCE or forms.same(a.form, b.form)
    return Value(b.varying, interval, b.form if keep else None)


def counter(loop: jaxprs.While) -> tuple[int, jaxprs.Atom] | None:
    """Of a loop that counts a carry by 1 up to a bound, as `fori_loop` with traced bounds does: both, in its predicate.

    Returns:
      The carry's number, and the bound: a literal, or an input of the predicate that the loop leaves as it is.
    """
    eqns, carry_vars = loop.predicate.eqns, loop.predicate.invars[loop.predicate_consts :]
    if len(eqns) != 1 or eqns[0].primitive.name != "lt" or loop.predicate.outvars[0] is not eqns[0].outvars[0]:
        return None
    counted, bound = eqns[0].invars
    if jaxprs.is_literal(counted) or counted not in carry_vars:
        return None
    k = carry_vars.index(counted)
    if increment(loop.body, loop.body.invars[loop.body_consts + k], loop.body.outvars[k]) != 1:
        return None
    return (k, bound) if jaxprs.is_literal(bound) or _kept(loop, bound, carry_vars) else None


def increment(body: Body, var: jex_core.Var, result: jaxprs.Atom) -> int | None:
    """The constant that `body` adds to `var` to make `result`."""
    eqn = next((e for e in body.eqns if result in e.outvars), None) if not jaxprs.is_literal(result) else None
    if eqn is None or eqn.primitive.name not in ("add", "sub"):
        return None
    a, b = eqn.invars
    if b is var and eqn.primitive.name == "add":
        a, b = b, a
    if a is not var or not jaxprs.is_literal(b) or jaxprs.literal(b).ndim:
        return None
    value = jaxprs.literal(b)
    return (int(value) if eqn.primitive.name == "add" else -int(value)) if value.dtype.kind in "iu" else None


def _kept(loop: jaxprs.While, bound: jaxprs.Atom, carry_vars: Sequence[jex_core.Var]) -> bool:
    """Whether the loop leaves `bound` as it is."""
    if bound not in carry_vars:
        return True
    k = carry_vars.index(bound)
    return loop.body.outvars[k] is loop.body.invars[loop.body_consts + k]


def local_id(local_range: tuple[int, ...], dim: int | None) -> np.ndarray:
    """`local_range` array of the ids in a dimension, or of the linear ids."""
    if dim is None:
        return np.arange(np.prod(local_range)).reshape(local_range)
    return np.indices(local_range)[dim]


def group_strides(group_range: tuple[int, ...]) -> tuple[int, ...]:
    """What a step in each dimension of the group id adds to the linear group id."""
    return tuple(int(np.prod(group_range[d + 1 :], dtype=np.int64)) for d in range(len(group_range)))


def bodies(body: Body, plan: Plan) -> Iterator[tuple[Body, Plan]]:
    """A (sub)program and its inner ones, with their plans."""
    yield body, plan
    for number, eqn in enumerate(body.eqns):
        for inner, inner_plan in plan.within(number, eqn):
            yield from bodies(inner, inner_plan)


def executed(body: Body, plan: Plan, dimensions: int) -> Iterator[tuple[Body, Plan]]:
    """The same, but for branches that no group takes."""
    yield body, plan
    for number, eqn in enumerate(body.eqns):
        inner, cond = plan.within(number, eqn), isinstance(jaxprs.structure(eqn), jaxprs.Cond)
        only = plan.value(eqn.invars[0], dimensions).only if cond else None
        for part in inner if only is None else [inner[min(max(only, 0), len(inner) - 1)]]:
            yield from executed(*part, dimensions)


def undecided(body: Body, plan: Plan, dimensions: int) -> int:
    """How much is left to find out when a (sub)program and its inner ones run.

    Components of indices that are not proved to be within bounds, and branches that only some groups may take.
    """
    accesses = (eqn for eqn in body.eqns if eqn.primitive in primitives.ACCESSES)
    found = branches(body, plan, dimensions, inner=False) + sum(doubted(eqn, plan, dimensions) for eqn in accesses)
    return found + _of_inner(undecided, body, plan, dimensions)


def branches(body: Body, plan: Plan, dimensions: int, inner: bool = True) -> int:
    """The number of branches of a (sub)program, and of its inner ones, that only some groups may take."""
    found = 0
    for eqn in body.eqns:
        structure = jaxprs.structure(eqn)
        chosen = plan.value(eqn.invars[0], dimensions) if isinstance(structure, jaxprs.Cond) else None
        if isinstance(structure, jaxprs.Cond) and chosen is not None and chosen.varying and chosen.only is None:
            found += len(structure.branches)
    return found + (_of_inner(branches, body, plan, dimensions) if inner else 0)


def _of_inner(count: Callable[[Body, Plan, int], int], body: Body, plan: Plan, dimensions: int) -> int:
    parts = (part for number, eqn in enumerate(body.eqns) for part in plan.within(number, eqn))
    return sum(count(inner, inner_plan, dimensions) for inner, inner_plan in parts)


def doubted(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> int:
    """How many components of an access's index are not proved to be within bounds."""
    each = zip(primitives.indices(eqn), eqn.invars[0].aval.shape, strict=True)
    return sum(not intervals.within(plan.value(a, dimensions).interval, (0, n - 1)) for a, n in each)
