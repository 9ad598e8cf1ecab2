"""Induction variables: carries of a loop that grow by a constant from iteration to iteration, some iterations on."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from xeemu.ir import control
from xeemu.ir.program import Constant, Region, Value
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Facts


def of_loop(scan: control.Scan, facts: Facts) -> dict[int, int]:
    """For the number of each carry that grows how much it does; 0 for those that stay as they are.

    Args:
      scan: the loop, which has no elements.
      facts: the analysis of its body.
    """
    found: dict[int, int] = {}
    for k, (v, out) in enumerate(zip(scan.body.inputs, scan.body.outputs, strict=True)):
        step = 0 if out is v else None if facts.values[v].space else increment(scan.body, v, out)
        if step is not None:
            found[k] = step
    return found


def advanced(growth: Mapping[int, int], carries: list[Any], iterations: Any) -> list[Any]:
    """The carries that grow, some iterations further; the others as they are."""
    return [
        p + jnp.asarray(iterations, p.dtype) * forms.wrapped(growth[k], p.dtype) if growth.get(k) else p
        for k, p in enumerate(carries)
    ]


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
    return (k, bound) if isinstance(bound, Constant) or keeps(loop, bound) else None


def iterations(around: Facts, number: int) -> int | None:
    """How many iterations a loop has each time that it is carried out; None if no constants of the program tell.

    Args:
      around: the analysis of the body that it stands in, to which arguments are not known.
      number: of its operation there.
    """
    op = around.body.ops[number]
    structure = None if op.given else control.of(op)
    if isinstance(structure, control.Scan):
        return structure.length
    if not isinstance(structure, control.While) or (found := counter(structure)) is None:
        return None
    k, bound = found
    given = dict(zip(structure.predicate.all_inputs, control.region_operands(op, op.used, 0), strict=True))
    first = around.value(op.operands[k]).only
    end = around.value(bound if isinstance(bound, Constant) else given[bound]).only
    return None if first is None or end is None else max(0, end - first)


def increment(body: Region, var: Value, result: Value) -> int | None:
    """The constant that `body` adds to `var` to make `result`."""
    op = body.definitions.get(result)
    if op is None or op.name not in ("add", "sub"):
        return None
    a, b = op.operands
    if b is var and op.name == "add":
        a, b = b, a
    if a is not var or not isinstance(b, Constant) or b.array.ndim:
        return None
    value = b.array
    return (int(value) if op.name == "add" else -int(value)) if value.dtype.kind in "iu" else None


def keeps(loop: control.While, bound: Value) -> bool:
    """True if a loop leaves a value of its predicate as it is: what that sees, or a carry that does not change."""
    carried = loop.predicate.inputs
    if bound not in carried:
        return bound in loop.predicate.captures
    k = carried.index(bound)
    return loop.body.outputs[k] is loop.body.inputs[k]
