"""Instructions: what a compiler is taken to make of the operations of a program, by class, for each sub-group.

Modelled, not counted: constants fold, moves of elements between registers and conversions of addresses are free, a
product that only goes into sums is a multiply-add, what is the same for the whole launch is computed once. Everything
else takes an instruction for each element of a work-item, some several.
"""

import collections
import math

import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu import jaxprs, primitives
from xeemu.analysis import Plan
from xeemu.geometry import Geometry
from xeemu.jaxprs import Body

CLASSES = ("f32", "f64", "i32", "special", "shuffle", "memory", "barrier", "control")

_MOVES = frozenset(
    [
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "expand_dims",
        "transpose",
        "slice",
        "rev",
        "copy",
        "iota",
        "concatenate",
        "pad",
        "gather",
        "dynamic_slice",
        "dynamic_update_slice",
        "stop_gradient",
        "optimization_barrier",
        "bitcast_convert_type",
        "split",
    ]
)
_SPECIAL = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sqrt",
        "rsqrt",
        "cbrt",
        "erf",
        "erfc",
        "erf_inv",
        "logistic",
        "pow",
        "lgamma",
        "digamma",
    ]
)
_CROSSING = frozenset(["sort", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
# Instructions for an integer quotient by what is not a constant, which has no instruction of its own.
_DIVISION = 20

Count = tuple[str, int]


def fused(body: Body) -> set[int]:
    """The `id`s of the products of a (sub)program and of its inner ones that multiply-adds take in."""
    uses: dict[jex_core.Var, list[str]] = collections.defaultdict(list)
    for eqn in body.eqns:
        for atom in eqn.invars:
            if not jaxprs.is_literal(atom):
                uses[atom].append(eqn.primitive.name)
    for atom in body.outvars:
        if not jaxprs.is_literal(atom):
            uses[atom].append("result")
    found = {
        id(eqn)
        for eqn in body.eqns
        if eqn.primitive.name == "mul" and uses[eqn.outvars[0]] and set(uses[eqn.outvars[0]]) <= {"add", "sub"}
    }
    for eqn in body.eqns:
        for inner in jaxprs.bodies(eqn):
            found |= fused(inner)
    return found


def of_equation(eqn: jex_core.JaxprEqn, plan: Plan, geometry: Geometry) -> Count | None:
    """Class and number of the instructions that a sub-group executes for a plain operation; None if it is free."""
    if eqn.primitive is primitives.barrier_p:
        return ("barrier", 1) if eqn.params["level"] == "group" else None
    if eqn.primitive is primitives.collective_p:
        return "shuffle", _steps(eqn, geometry) * _elements(eqn.invars[0].aval.shape, geometry)
    name = eqn.primitive.name
    if eqn.primitive in primitives.LANGUAGE or name in _MOVES or not eqn.outvars:
        return None
    known = plan.values.get(eqn.outvars[0])
    if known is not None and not known.varying and known.form is not None:
        return None
    shape = max((a.aval.shape for a in (*eqn.invars, *eqn.outvars)), key=math.prod)
    elements = _elements(shape, geometry)
    if name in _CROSSING or _is_group_reduction(eqn, geometry):
        return "shuffle", max(1, math.ceil(math.log2(geometry.sub_group_size))) * elements
    return _arithmetic(eqn, plan, elements)


def _arithmetic(eqn: jex_core.JaxprEqn, plan: Plan, elements: int) -> Count | None:
    name, dtype = eqn.primitive.name, eqn.outvars[0].aval.dtype
    operand = np.dtype(eqn.invars[0].aval.dtype) if eqn.invars else np.dtype(dtype)
    floating = bool(jnp.issubdtype(operand, jnp.floating))
    if name == "convert_element_type":
        known = plan.values.get(eqn.outvars[0])
        return None if known is not None and known.form is not None else ("i32", elements)
    if name in _SPECIAL or (name == "div" and floating):
        return "special", elements
    if floating:
        return ("f64" if operand.itemsize == 8 else "f32"), elements
    words = 2 if operand.itemsize == 8 else 1
    if name in ("div", "rem"):
        return "i32", words * elements * (2 if jaxprs.is_literal(eqn.invars[1]) else _DIVISION)
    return "i32", words * elements


def _elements(shape: tuple[int, ...], geometry: Geometry) -> int:
    """Elements of a work-item; of what all work-items share, all."""
    rank = len(geometry.local_range)
    return math.prod(shape[rank:]) if shape[:rank] == geometry.local_range else math.prod(shape)


def _steps(eqn: jex_core.JaxprEqn, geometry: Geometry) -> int:
    collective = eqn.params["collective"]
    if collective.kind in ("reduce", "inclusive_scan", "exclusive_scan"):
        return max(1, math.ceil(math.log2(geometry.sub_group_size)))
    return 1


def _is_group_reduction(eqn: jex_core.JaxprEqn, geometry: Geometry) -> bool:
    axes, rank = eqn.params.get("axes", ()), len(geometry.local_range)
    per_item = bool(eqn.invars) and eqn.invars[0].aval.shape[:rank] == geometry.local_range
    return eqn.primitive.name.startswith(("reduce_", "arg")) and per_item and any(axis < rank for axis in axes)
