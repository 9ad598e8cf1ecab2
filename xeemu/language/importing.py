"""Importing: a traced kernel, which JAX gives as a jaxpr, as a program of the intermediate representation.

Calls are written out where they stand, and what a loop is given and never changes is seen from around it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import divergence, jaxprs, primitives
from xeemu.language.jaxprs import Atom, Body

Place = Callable[[jex_core.JaxprEqn], str]
"""The line that an equation comes from, as text."""


def imported(body: Body, inputs: Sequence[Value], place: Place) -> Region:
    """A traced program.

    Args:
      body: the jaxpr.
      inputs: what it is given: memories and scalars, with their names.
      place: gives the line of an equation.
    """
    importer = _Importer(place)
    found = dict(zip(body.invars, inputs, strict=True))
    made = tuple(importer.ops(body, found))
    return Region(tuple(inputs), made, tuple(importer.value(a, found) for a in body.outvars))


@dataclasses.dataclass(frozen=True)
class _Importer:
    """Imports equations; `found` maps the variables that are seen where they stand to their values."""

    place: Place

    def value(self, atom: Atom, found: Mapping[Any, Value]) -> Value:
        return _constant(jaxprs.literal(atom), True) if jaxprs.is_literal(atom) else found[atom]

    def ops(self, body: Body, found: dict[Any, Value]) -> Iterator[Op]:
        """The operations of a body, whose results are then found too."""
        found |= {v: _constant(array, False) for v, array in body.constants}
        for eqn in body.eqns:
            yield from self._equation(eqn, found)

    def _equation(self, eqn: jex_core.JaxprEqn, found: dict[Any, Value]) -> Iterator[Op]:
        operands = [self.value(a, found) for a in eqn.invars]
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                yield from self._call(eqn, body, operands, found)
                return
            case jaxprs.Scan() as scan:
                op = self._scan(eqn, scan, operands, found)
            case jaxprs.While() as loop:
                op = self._while(eqn, loop, operands, found)
            case jaxprs.Cond(branches):
                op = self._cond(eqn, branches, operands, found)
            case None:
                results = _results(eqn, operands)
                op = Op(eqn.primitive.name, tuple(operands), results, _attributes(eqn), (), self.place(eqn))
        found |= dict(zip(eqn.outvars, op.results, strict=True))
        yield op

    def _call(self, eqn: jex_core.JaxprEqn, body: Body, operands: list[Value], found: dict[Any, Value]) -> Iterator[Op]:
        inner = dict(zip(body.invars, operands, strict=True))
        yield from self.ops(body, inner)
        found |= {v: self.value(a, inner) for v, a in zip(eqn.outvars, body.outvars, strict=True)}

    def _scan(self, eqn: jex_core.JaxprEqn, scan: jaxprs.Scan, operands: list[Value], found: dict[Any, Value]) -> Op:
        seen = dict(zip(scan.body.invars[: scan.consts], operands[: scan.consts], strict=True))
        given = operands[scan.consts :]
        region = self._region(scan.body, scan.body.invars[scan.consts :], given[: scan.carries], seen)
        results = _named(eqn.outvars, region.outputs[: scan.carries])
        attributes = {"length": scan.length, "reverse": scan.reverse, "carries": scan.carries}
        return Op("scan", tuple(given), results, attributes, (region,), self.place(eqn))

    def _while(self, eqn: jex_core.JaxprEqn, loop: jaxprs.While, operands: list[Value], found: dict[Any, Value]) -> Op:
        first, last = loop.predicate_consts, loop.predicate_consts + loop.body_consts
        carries = operands[last:]
        tested = dict(zip(loop.predicate.invars[:first], operands[:first], strict=True))
        seen = dict(zip(loop.body.invars[: loop.body_consts], operands[first:last], strict=True))
        predicate = self._region(loop.predicate, loop.predicate.invars[first:], carries, tested)
        body = self._region(loop.body, loop.body.invars[loop.body_consts :], carries, seen)
        results = _named(eqn.outvars, carries)
        return Op("while", tuple(carries), results, {}, (predicate, body), self.place(eqn))

    def _cond(
        self, eqn: jex_core.JaxprEqn, branches: Sequence[Body], operands: list[Value], found: dict[Any, Value]
    ) -> Op:
        regions = []
        for branch in branches:
            inner = dict(zip(branch.invars, operands[1:], strict=True))
            made = tuple(self.ops(branch, inner))
            regions.append(Region((), made, tuple(self.value(a, inner) for a in branch.outvars)))
        results = _named(eqn.outvars, regions[0].outputs)
        return Op("cond", (operands[0],), results, {}, tuple(regions), self.place(eqn))

    def _region(
        self, body: Body, taken: Sequence[jex_core.Var], carries: Sequence[Value], seen: dict[Any, Value]
    ) -> Region:
        """The body of a loop, which takes carries and elements and sees what is around it."""
        names = [carry.memory for carry in carries] + [""] * (len(taken) - len(carries))
        inputs = tuple(_value(v, name) for v, name in zip(taken, names, strict=True))
        inner = seen | dict(zip(taken, inputs, strict=True))
        made = tuple(self.ops(body, inner))
        return Region(inputs, made, tuple(self.value(a, inner) for a in body.outvars))


def _constant(array: Any, is_literal: bool) -> Constant:
    values = np.asarray(array) if isinstance(array.dtype, np.dtype) else array  # a key of `jax.random`
    return Constant(values.shape, values.dtype, array=values, is_literal=is_literal)


def _value(v: jex_core.Var, memory: str = "") -> Value:
    return Value(tuple(v.aval.shape), v.aval.dtype, memory)


def _named(variables: Sequence[jex_core.Var], like: Sequence[Value]) -> tuple[Value, ...]:
    """The results of a loop or branch: versions of the memories that go through it, and other values."""
    names = [value.memory for value in like] + [""] * (len(variables) - len(like))
    return tuple(_value(v, name) for v, name in zip(variables, names, strict=True))


def _results(eqn: jex_core.JaxprEqn, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The results of a plain operation; an update gives the next version of the memory that it is given."""
    if eqn.primitive is primitives.allocate_p:
        return (_value(eqn.outvars[0], eqn.params["name"]),)
    updated = ops.of(eqn).updates and not (eqn.primitive is primitives.atomic_p and eqn.params["op"] == "load")
    if not updated:
        return tuple(map(_value, eqn.outvars))
    values = len(eqn.outvars) - 1 if eqn.primitive in primitives.ACCESSES else 0
    names = [""] * values + [operand.memory for operand in operands[: len(eqn.outvars) - values]]
    return tuple(map(_value, eqn.outvars, names))


def _attributes(eqn: jex_core.JaxprEqn) -> dict[str, Any]:
    """What is known of an operation beside its operands."""
    merging = {"merges": True} if divergence.is_merge(eqn) else {}
    access = eqn.params.get("access")
    if access is None:
        return {**eqn.params, **merging}
    static = {field.name: getattr(access, field.name) for field in dataclasses.fields(access)}
    return {**eqn.params, **static, **merging}
