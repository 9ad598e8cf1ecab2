"""Importing: what JAX has traced, a jaxpr, as a program of the intermediate representation.

Nobody else knows what a jaxpr is like. JAX 0.10 and 0.11 differ here: `scan` counts its operands or describes them as
trees, and a `ClosedJaxpr` became a `Jaxpr` whose `.jaxpr` is itself.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops, table
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.language import divergence

Found: TypeAlias = dict[Any, Value]
"""The values of the variables of a jaxpr."""

_STRUCTURED = ("scan", "while", "cond")
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def imported(closed: Any) -> Region:
    """What `jax.make_jaxpr` gives, as a program; arrays that it has taken from around it are constants."""
    return _Importer().region(closed, {})


def opened(closed: Any) -> Region:
    """The same with the arrays that it has taken from around it as inputs, before the others."""
    taken = {v: _value(v) for v in closed.jaxpr.constvars}
    return _Importer().region(closed, taken)


def taken(closed: Any) -> list[Any]:
    """The arrays that it has taken from around it."""
    return list(getattr(closed, "consts", ()))


@dataclasses.dataclass(frozen=True, eq=False)
class _Importer:
    """Imports jaxprs; one that several equations hold is imported once.

    Attributes:
      regions: the programs of the jaxprs so far, by `id`.
    """

    regions: dict[int, Region] = dataclasses.field(default_factory=dict)

    def region(self, closed: Any, given: Found) -> Region:
        """A jaxpr, of which some variables are given as inputs before its own."""
        jaxpr = closed.jaxpr
        found = dict(given)
        for v, array in zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True):
            if v not in given:
                found[v] = _constant(array)
        found |= {v: _input(v) for v in jaxpr.invars}
        inputs = (*given.values(), *(found[v] for v in jaxpr.invars))
        made = tuple(self._op(eqn, found) for eqn in jaxpr.eqns)
        return Region(inputs, made, tuple(_operand(a, found) for a in jaxpr.outvars))

    def _op(self, eqn: jex_core.JaxprEqn, found: Found) -> Op:
        name, results = eqn.primitive.name, tuple(map(_value, eqn.outvars))
        attributes, regions = self._structure(name, eqn.params)
        operands = tuple(_operand(a, found) for a in eqn.invars)
        found |= dict(zip(eqn.outvars, results, strict=True))
        return Op(
            name,
            operands,
            results,
            attributes,
            regions,
            _applying(eqn.primitive, eqn.params),
            eqn.source_info.traceback,
            divergence.is_merge(eqn.source_info.name_stack),
            bool(eqn.effects),
        )

    def _structure(self, name: str, params: dict[str, Any]) -> tuple[dict[str, Any], tuple[Region, ...]]:
        """What is known of an operation beside its operands, and its regions."""
        if not _is_control(name):
            return params, ()
        if name == "scan":
            consts, carries = _counts(params)
            attributes = {"consts": consts, "carries": carries, "length": params["length"]}
            return {**attributes, "reverse": params["reverse"]}, self._held(params["jaxpr"])
        if name == "while":
            attributes = {"predicate_consts": params["cond_nconsts"], "body_consts": params["body_nconsts"]}
            return attributes, self._held(params["cond_jaxpr"], params["body_jaxpr"])
        if name == "cond":
            return {}, self._held(*params["branches"])
        called = next(params[key] for key in _CALLED if key in params)
        return {"name": params.get("name", "")}, self._held(called)

    def _held(self, *jaxprs: Any) -> tuple[Region, ...]:
        for each in jaxprs:
            if id(each) not in self.regions:
                # `remat2` of JAX 0.10 holds a jaxpr without constants.
                closed = each if hasattr(each, "jaxpr") else jex_core.ClosedJaxpr(each, ())
                self.regions[id(each)] = self.region(closed, {})
        return tuple(self.regions[id(each)] for each in jaxprs)


def _is_control(name: str) -> bool:
    return name in table.OPS and ops.named(name).kind is Kind.CONTROL


def _counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many of the operands of a `scan` are constants, and how many carries."""
    if "ft_in" in params:
        consts, carries, _ = (len(part) for part in params["ft_in"].unpack())
        return consts, carries
    return params["num_consts"], params["num_carry"]


def _value(v: jex_core.Var) -> Value:
    aval = v.aval
    try:
        return Value(aval.shape, aval.dtype)
    except AttributeError:  # a token, of which there are no elements
        return Value((), None)


def _input(v: jex_core.Var) -> Value:
    return dataclasses.replace(_value(v), weak_type=bool(getattr(v.aval, "weak_type", False)))


def _operand(atom: jex_core.Var | jex_core.Literal, found: Found) -> Value:
    if not isinstance(atom, jex_core.Literal):
        return found[atom]
    array = np.asarray(atom.val, atom.aval.dtype)
    return Constant(array.shape, array.dtype, array=array, is_literal=True)


def _constant(array: Any) -> Constant:
    # Keys of `jax.random`, and what is traced around it, are no arrays of NumPy.
    is_plain = isinstance(array.dtype, np.dtype) and not isinstance(array, jax.core.Tracer)
    return Constant(tuple(array.shape), array.dtype, array=np.asarray(array) if is_plain else array, is_literal=False)


def _applying(primitive: jex_core.Primitive, params: dict[str, Any]) -> Callable[..., Any] | None:
    """A function of the operands of an operation that gives its results; of one that takes functions there is none."""
    if _is_control(primitive.name) and primitive.name not in _STRUCTURED and "jaxpr" not in params:
        return None
    # A primitive that is bound anew is the same operation, in whatever transformation of JAX.
    bound = functools.partial(primitive.bind, **params)
    return bound if primitive.multiple_results else lambda *operands: [bound(*operands)]
