"""Lanewise: which values hold an element for each work-item, and which operations keep those elements apart.

A value of a program is *lanewise* if its leading axes are the work-group's and the element of a work-item was computed
from that work-item's own elements alone. Of any other value every work-item has a copy.
"""

import operator
from collections.abc import Sequence
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region
from xeemu.language import collectives


def keeps_apart(op: Op, lanewise: Sequence[bool], rank: int) -> bool:
    """True if an ordinary operation on lanewise values gives lanewise values; an unknown one does not.

    Args:
      op: the operation.
      lanewise: of each value that it uses, see `Op.used`.
      rank: axes of the work-group.
    """
    local = next(v.shape[:rank] for v, lanes in zip(op.operands, lanewise, strict=True) if lanes)
    if any(v.shape[:rank] != local for v in op.results):
        return False
    traits, p = ops.of(op), op.attributes
    if traits.is_elementwise:
        return all(not v.shape or v.shape == op.results[0].shape for v in op.used)
    if traits.is_reduction:
        return min(p["axes"], default=rank) >= rank
    if traits.is_scan:
        return p["axis"] >= rank
    return _movement_keeps_apart(op, lanewise, rank)


def _movement_keeps_apart(op: Op, lanewise: Sequence[bool], rank: int) -> bool:
    """So of what puts elements in other places, whose results have the work-group's axes."""
    p, shape, local = op.attributes, op.operands[0].shape, op.results[0].shape[:rank]
    match op.name:
        case "broadcast_in_dim":
            return tuple(p["broadcast_dimensions"][:rank]) == tuple(range(rank))
        case "reshape":
            return shape[:rank] == local
        case "dynamic_update_slice":
            return not any(lanewise[2:]) and op.operands[1].shape[:rank] == local
        case "squeeze":
            return min(p["dimensions"], default=rank) >= rank
        case "transpose":
            return tuple(p["permutation"][:rank]) == tuple(range(rank))
        case "sort" | "concatenate":
            return p["dimension"] >= rank
        case "rev":
            return min(p["dimensions"], default=rank) >= rank
        case "slice":
            return shape[:rank] == local and (p["strides"] is None or set(p["strides"][:rank]) <= {1})
        case "dynamic_slice":
            return not any(lanewise[1:]) and tuple(p["slice_sizes"][:rank]) == shape[:rank]
        case "pad":
            return not lanewise[1] and all(padding == (0, 0, 0) for padding in p["padding_config"][:rank])
        case "dot_general":
            return _product_keeps_apart(p["dimension_numbers"], list(lanewise), rank)
        case "gather":
            return _gather_keeps_apart(p["dimension_numbers"], p["slice_sizes"], shape, lanewise, rank)
        case "scatter" | "scatter-add" | "scatter-mul" | "scatter-min" | "scatter-max":
            return _scatter_keeps_apart(p["dimension_numbers"], lanewise, rank)
    return False


def _product_keeps_apart(numbers: Any, lanewise: list[bool], rank: int) -> bool:
    """The result's axes are those of a batch, then what is left of the first operand, then of the second."""
    (contracted, _), (first, second) = numbers
    axes = tuple(range(rank))
    if tuple(first[:rank]) == axes == tuple(second[:rank]):
        return True
    return lanewise == [True, False] and not first and min(contracted, default=rank) >= rank


def _gather_keeps_apart(
    numbers: Any, sizes: Sequence[int], shape: tuple[int, ...], lanewise: Sequence[bool], rank: int
) -> bool:
    """Elements chosen within each work-item, by indices of its own or by the same ones for all."""
    axes = tuple(range(rank))
    batched = tuple(numbers.operand_batching_dims[:rank]) == axes == tuple(numbers.start_indices_batching_dims[:rank])
    if batched and min(numbers.offset_dims, default=rank) >= rank:
        return True
    whole = tuple(sizes[:rank]) == shape[:rank] and tuple(numbers.offset_dims[:rank]) == axes
    inner = (*numbers.collapsed_slice_dims, *numbers.start_index_map, *numbers.operand_batching_dims)
    return not lanewise[1] and whole and min(inner, default=rank) >= rank


def _scatter_keeps_apart(numbers: Any, lanewise: Sequence[bool], rank: int) -> bool:
    """Elements replaced within each work-item, at the same places for all."""
    whole = tuple(numbers.update_window_dims[:rank]) == tuple(range(rank))
    inner = (*numbers.inserted_window_dims, *numbers.scatter_dims_to_operand_dims, *numbers.operand_batching_dims)
    return not lanewise[1] and whole and min(inner, default=rank) >= rank


def results(op: Op, lanewise: Sequence[bool], rank: int) -> list[bool]:
    """Which results of an operation are lanewise, from its operands; a memory is not.

    Args:
      op: any operation of a program.
      lanewise: of each value that it uses, see `Op.used`.
      rank: axes of the work-group.
    """
    if op.name in ops.LANGUAGE:
        return _language(op)
    if control.of(op) is None:
        return [any(lanewise) and keeps_apart(op, lanewise, rank)] * len(op.results)
    carries = op.attributes.get("carries", len(op.results))
    return [one and k < carries for k, one in enumerate(structured(op, lanewise, rank))]


def structured(op: Op, lanewise: Sequence[bool], rank: int) -> list[bool]:
    """What regions give, a loop as each iteration does: the carries, then a row of what is stacked."""
    # A row of what is scanned is taken from a copy that each work-item has.
    carries = op.attributes.get("carries", len(op.operands))
    used = [one and k < len(op.captures) + carries for k, one in enumerate(lanewise)]
    return control.propagated(op, used, lambda k, taken: of_body(op.regions[k], taken, rank), operator.or_)


def of_body(body: Region, inputs: Sequence[bool], rank: int) -> list[bool]:
    """Which results of a (sub)program are lanewise."""
    known = dict(zip(body.all_inputs, inputs, strict=True))
    for op in body.ops:
        lanewise = [not isinstance(a, Constant) and known.get(a, False) for a in op.used]
        known |= dict(zip(op.results, results(op, lanewise, rank), strict=True))
    return [not isinstance(a, Constant) and known.get(a, False) for a in body.outputs]


def _language(op: Op) -> list[bool]:
    if op.name == ops.COLLECTIVE:
        chosen = op.attributes["collective"]
        return [chosen.level != collectives.GROUP or chosen.kind not in ("reduce", "broadcast")]
    if op.name == ops.UNIFORM:
        # What steers a group in lockstep, each work-item knows of itself.
        return [False]
    if op.name == ops.LOCAL_ID:
        return [True]
    values = [False] * len(op.results)
    if op.name in ops.ACCESSES:
        asked = len(ops.value_results(op))
        return [bool(op.attributes["access"].shape)] * asked + values[asked:]
    # A group's id is one value, a memory none of a work-item, and of a region there is no result.
    if op.name in (ops.GROUP_ID, ops.ALLOCATE, ops.REGION, *ops.ORDERING):
        return values
    raise ops.unhandled(op, "the analysis of what is lanewise")
