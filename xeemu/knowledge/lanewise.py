"""Lanewise: which values hold an element for each work-item, and which operations keep those elements apart.

A value of a program is *lanewise* if its leading axes are the work-group's and the element of a work-item was computed
from that work-item's own elements alone. Of any other value every work-item has a copy.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.language import collectives, jaxprs, primitives
from xeemu.language.jaxprs import Body


def keeps_apart(eqn: jex_core.JaxprEqn, lanewise: Sequence[bool], rank: int) -> bool:
    """Whether an ordinary operation on lanewise values gives lanewise values; an unknown one does not.

    Args:
      eqn: the operation.
      lanewise: of each operand.
      rank: axes of the work-group.
    """
    local = next(v.aval.shape[:rank] for v, lanes in zip(eqn.invars, lanewise, strict=True) if lanes)
    if any(v.aval.shape[:rank] != local for v in eqn.outvars):
        return False
    op, p = ops.of(eqn), eqn.params
    shape = eqn.invars[0].aval.shape
    if op.is_elementwise:
        return all(not v.aval.shape or v.aval.shape == eqn.outvars[0].aval.shape for v in eqn.invars)
    if op.is_reduction:
        return min(p["axes"], default=rank) >= rank
    if op.is_scan:
        return p["axis"] >= rank
    match op.name:
        case "broadcast_in_dim":
            return tuple(p["broadcast_dimensions"][:rank]) == tuple(range(rank))
        case "reshape":
            return shape[:rank] == local
        case "dynamic_update_slice":
            return not any(lanewise[2:]) and eqn.invars[1].aval.shape[:rank] == local
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


def results(eqn: jex_core.JaxprEqn, lanewise: Sequence[bool], rank: int) -> list[bool]:
    """Which results of an equation are lanewise, from its operands; a memory is not.

    Args:
      eqn: any equation of a program.
      lanewise: of each operand.
      rank: axes of the work-group.
    """
    if eqn.primitive in primitives.LANGUAGE:
        return _language(eqn)
    match jaxprs.structure(eqn):
        case jaxprs.Call(body):
            return of_body(body, lanewise, rank)
        case jaxprs.Cond(branches):
            return [any(each) for each in zip(*(of_body(b, lanewise[1:], rank) for b in branches), strict=True)]
        case jaxprs.Scan() as scan:
            carried = carries(scan, lanewise, rank)
            return carried + [False] * (len(eqn.outvars) - scan.carries)
        case jaxprs.While() as loop:
            return carries(loop, lanewise, rank)
    return [any(lanewise) and keeps_apart(eqn, lanewise, rank)] * len(eqn.outvars)


def carries(loop: jaxprs.Scan | jaxprs.While, lanewise: Sequence[bool], rank: int) -> list[bool]:
    """Which values that a loop carries are lanewise, in the end and in every iteration."""
    if isinstance(loop, jaxprs.Scan):
        first, count = loop.consts, loop.carries
        consts, known, rest = lanewise[:first], list(lanewise[first : first + count]), lanewise[first + count :]
        # A row of what is scanned is taken from a copy that each work-item has.
        rest = [False] * len(rest)
    else:
        first = loop.predicate_consts + loop.body_consts
        consts, known, rest = lanewise[loop.predicate_consts : first], list(lanewise[first:]), []
    while True:
        after = of_body(loop.body, [*consts, *known, *rest], rank)[: len(known)]
        joined = [a or b for a, b in zip(known, after, strict=True)]
        if joined == known:
            return known
        known = joined


def of_body(body: Body, inputs: Sequence[bool], rank: int) -> list[bool]:
    """Which results of a (sub)program are lanewise."""
    known = dict(zip(body.invars, inputs, strict=True))
    for eqn in body.eqns:
        lanewise = [not jaxprs.is_literal(a) and known.get(a, False) for a in eqn.invars]
        known |= dict(zip(eqn.outvars, results(eqn, lanewise, rank), strict=True))
    return [not jaxprs.is_literal(a) and known.get(a, False) for a in body.outvars]


def _language(eqn: jex_core.JaxprEqn) -> list[bool]:
    if eqn.primitive is primitives.collective_p:
        chosen = eqn.params["collective"]
        return [chosen.level != collectives.GROUP or chosen.kind not in ("reduce", "broadcast")]
    if eqn.primitive is primitives.uniform_p:
        # What steers a group in lockstep, each work-item knows of itself.
        return [False]
    if eqn.primitive is primitives.local_id_p:
        return [True]
    values = [False] * len(eqn.outvars)
    if eqn.primitive in primitives.ACCESSES:
        is_asked = eqn.primitive is primitives.load_p or eqn.params.get("fetch", False)
        return [bool(eqn.params["access"].shape), *values[1:]] if is_asked else values
    # A group's id is one value, a memory none of a work-item, and of a region there is no result.
    if eqn.primitive in (primitives.group_id_p, primitives.allocate_p, primitives.region_p, *primitives.ORDERING):
        return values
    raise ops.unhandled(eqn, "the analysis of what is lanewise")
