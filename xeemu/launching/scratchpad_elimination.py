"""Scratchpad elimination: a program that loads from the original what it would load from a copy in local memory.

Nothing is left of the copies: neither the memories nor what is stored to them. In local memory each group has a row of
its own, with its neighbours' elements at both ends; in global memory the work-items of all groups lie side by side.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.ir import control, evaluation, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.scratchpad_copies import Copy
from xeemu.language import importing, primitives
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program


@dataclasses.dataclass(frozen=True, eq=False)
class _Bypassed:
    """What a version of a copy stands for.

    Attributes:
      original: the global memory.
      shift: how much further its elements lie there, a scalar.
    """

    original: jax.Array
    shift: jax.Array

    def load(self, op: Op, index: jax.Array, *others: jax.Array) -> Sequence[jax.Array]:
        """What a load from the copy gives."""
        place = lax.convert_element_type(index, self.shift.dtype)
        moved = lax.add(place, lax.broadcast(self.shift, place.shape))
        found: Sequence[jax.Array] = primitives.load_p.bind(self.original, moved, *others, **op.attributes)
        return found


_Item = Any
"""An array or a `_Bypassed`."""


def without(program: Program, plan: Plan, copies: Sequence[Copy]) -> Program:
    """A program without some copies.

    Args:
      program: the program.
      plan: its analysis.
      copies: as `scratchpad_copies.of_program` gives them, of the groups that will be emulated.
    """

    def rewritten(*arguments: jax.Array) -> list[Any]:
        return _Rewriting(program.geometry, copies, arguments).body(program.body, plan, arguments)

    with jax.enable_x64(program.wide):
        body = importing.imported(jax.make_jaxpr(rewritten)(*map(_struct, program.body.inputs)))
    kept = tuple(a for a in program.allocations if all(a is not copy.memory for copy in copies))
    return dataclasses.replace(program, body=body, allocations=kept)


def _struct(value: Value) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(value.shape, value.dtype, weak_type=value.weak_type)


class _Rewriting:
    """One pass over a program, which traces it anew."""

    def __init__(self, geometry: Geometry, copies: Sequence[Copy], arguments: Sequence[jax.Array]):
        self._bypassed = {copy.value: _bypassed(copy, geometry, arguments[copy.original]) for copy in copies}

    def body(self, body: Region, plan: Plan, inputs: Sequence[_Item]) -> list[Any]:
        """The results of a (sub)program."""
        items: dict[Value, _Item] = dict(zip(body.taken, inputs, strict=True))

        def read(value: Value) -> _Item:
            return value.array if isinstance(value, Constant) else items[value]

        for number, op in enumerate(body.ops):
            results = self._op(plan, number, op, list(map(read, op.used)))
            items |= dict(zip(op.results, results, strict=True))
        return list(map(read, body.outputs))

    def _op(self, plan: Plan, number: int, op: Op, operands: list[_Item]) -> Sequence[_Item]:
        left = [self._bypassed.get(plan.values[v]) for v in op.results]
        if left and all(copy is not None for copy in left):
            return left
        given = _arrays(operands)
        # What has no copy among its operands may make one.
        if len(given) == len(operands) and not any(left) and op.apply is not None:
            return evaluation.results(op, given)
        if op.name == ops.LOAD:
            (copy,) = (o for o in operands if isinstance(o, _Bypassed))
            return copy.load(op, *given)
        if op.name in ops.LANGUAGE:
            found = iter(evaluation.results(op, given))
        else:
            found = iter(self._structured(plan, number, op, operands))
        return [next(found) if copy is None else copy for copy in left]

    def _structured(self, plan: Plan, number: int, op: Op, operands: list[_Item]) -> list[Any]:
        """The results of an operation that holds others, but for the copies among them."""
        parts = [self._part(body, inner) for body, inner in plan.within(number, op)]
        match structure := control.of(op):
            case control.Cond():
                *seen, which = operands
                choices = [functools.partial(part, control.given(op, seen, k)) for k, part in enumerate(parts)]
                return lax.switch(which, choices)
            case control.Scan():
                return _scanned(structure, parts[0], operands[: len(op.seen)], operands[len(op.seen) :])
            case control.While():
                carried = operands[len(op.seen) :]
                tested, seen = (control.seen(op, operands, k) for k in (0, 1))
                goes_on = _of_arrays(lambda carries: parts[0]([*tested, *carries])[0], carried)
                turn = _of_arrays(lambda carries: parts[1]([*seen, *carries]), carried)
                return lax.while_loop(lambda given: goes_on(*given), lambda given: turn(*given), _arrays(carried))
        return parts[0](operands)

    def _part(self, body: Region, plan: Plan) -> Callable[[Sequence[_Item]], list[Any]]:
        """A body as a function, without the copies among its results."""
        return lambda inputs: _arrays(self.body(body, plan, inputs))


def _bypassed(copy: Copy, geometry: Geometry, original: jax.Array) -> _Bypassed:
    shift = jnp.asarray(copy.start, geometry.id_type)
    for d, step in enumerate(copy.steps):
        if step:
            (group,) = primitives.group_id_p.bind(dim=d, dtype=geometry.id_type)
            shift = lax.add(shift, lax.mul(group, jnp.asarray(step, geometry.id_type)))
    return _Bypassed(original, shift)


def _scanned(
    scan: control.Scan,
    turn: Callable[[Sequence[_Item]], list[Any]],
    seen: Sequence[_Item],
    operands: Sequence[_Item],
) -> list[Any]:
    carried, rows = operands[: scan.carries], operands[scan.carries :]
    count = len(_arrays(carried))

    def step(carries: list[Any], taken: list[Any]) -> tuple[list[Any], list[Any]]:
        results = _of_arrays(lambda inputs: turn([*seen, *inputs, *taken]), carried)(*carries)
        return results[:count], results[count:]

    carries, stacked = lax.scan(step, _arrays(carried), list(rows), scan.length, scan.reverse)
    return [*carries, *stacked]


def _of_arrays(function: Callable[[Sequence[_Item]], Any], items: Sequence[_Item]) -> Callable[..., Any]:
    """A function of some items as one of the arrays among them."""

    def of_arrays(*given: jax.Array) -> Any:
        arrays = iter(given)
        return function([item if isinstance(item, _Bypassed) else next(arrays) for item in items])

    return of_arrays


def _arrays(items: Sequence[_Item]) -> list[Any]:
    return [item for item in items if not isinstance(item, _Bypassed)]
