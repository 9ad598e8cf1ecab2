"""What operations of JAX's give, by JAX."""

import functools
from collections.abc import Sequence
from typing import Any

from jax import lax

from xeemu.ir import control
from xeemu.ir.program import Constant, Op, Region, Value


def results(op: Op, items: Sequence[Any]) -> list[Any]:
    """The results of an operation.

    Args:
      op: the operation.
      items: what stands for the values that it uses, see `Op.used`: arrays, or what JAX traces them as.
    """
    if op.apply is None:
        return _structured(op, items)
    if op.name == "bitcast_convert_type" and op.operands[0].ndim > op.results[0].ndim:
        items = [_with_bytes_last(items[0])]
    return list(op.apply(*items))


def of_region(region: Region, items: Sequence[Any]) -> list[Any]:
    """The results of a (sub)program, from what stands for what it takes, see `Region.all_inputs`."""
    found: dict[Value, Any] = dict(zip(region.all_inputs, items, strict=True))

    def read(value: Value) -> Any:
        return value.array if isinstance(value, Constant) else found[value]

    for op in region.ops:
        found |= dict(zip(op.results, results(op, list(map(read, op.used))), strict=True))
    return list(map(read, region.outputs))


def _structured(op: Op, items: Sequence[Any]) -> list[Any]:
    """The results of a loop, a branch or a call."""
    count = len(op.captures)
    captures, operands = items[:count], list(items[count:])

    def carried_out(number: int, *inputs: Any) -> list[Any]:
        return of_region(op.regions[number], control.region_operands(op, [*captures, *inputs], number))

    match control.of(op):
        case control.Scan(carries=carries, length=length, reverse=reverse):

            def step(before: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
                after = carried_out(0, *before, *elements)
                return after[:carries], after[carries:]

            last, stacked = lax.scan(step, operands[:carries], operands[carries:], length, reverse)
            return [*last, *stacked]
        case control.While():
            return list(lax.while_loop(lambda c: carried_out(0, *c)[0], lambda c: carried_out(1, *c), operands))
        case control.Cond(branches):
            choices = [functools.partial(carried_out, k) for k in range(len(branches))]
            return list(lax.switch(operands[0], choices))
    return carried_out(0, *operands)


def _with_bytes_last(pieces: Any) -> Any:
    """Pieces of numbers, their axis the last one under `vmap` too, where JAX joins along whichever is the last."""
    # A reshape moves mapped axes to the front.
    return lax.squeeze(lax.reshape(pieces, (*pieces.shape, 1)), (pieces.ndim,))
