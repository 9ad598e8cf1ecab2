"""Importing: what JAX has traced, a jaxpr, as a program of the intermediate representation.

Nobody else knows what a jaxpr is like. JAX 0.10 and 0.11 differ here: `scan` counts its operands or describes them as
trees, and a `ClosedJaxpr` became a `Jaxpr` whose `.jaxpr` is itself.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops, table
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.language import divergence, given

Found: TypeAlias = dict[Any, Value]
"""The values of the variables of a jaxpr."""

_Values = tuple[Value, ...]
_Regions = tuple[Region, ...]

_STRUCTURED = ("scan", "while", "cond")
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def imported(closed: Any) -> Region:
    """What `jax.make_jaxpr` gives, as a program; arrays that it has taken from around it are constants."""
    return _Importer().region(closed)


def opened(closed: Any) -> Region:
    """What `jax.make_jaxpr` gives, as a program whose first inputs are the arrays that it has taken from around it."""
    taken = {v: _value(v) for v in closed.jaxpr.constvars}
    return _Importer().region(closed, taken=taken)


def taken(closed: Any) -> list[Any]:
    """The arrays that it has taken from around it."""
    return list(getattr(closed, "consts", ()))


@dataclasses.dataclass(frozen=True, eq=False)
class _Importer:
    """Imports jaxprs; one that several equations call is imported once.

    Attributes:
      regions: the programs of the jaxprs so far, by `id`.
    """

    regions: dict[int, Region] = dataclasses.field(default_factory=dict)

    def region(self, closed: Any, seen: Sequence[Value] = (), taken: Found | None = None) -> Region:
        """A jaxpr.

        Args:
          closed: the jaxpr.
          seen: the values that its first variables stand for.
          taken: inputs in place of the arrays that it has taken from around it.
        """
        jaxpr, found, made = closed.jaxpr, dict(taken or {}), list[Op]()
        if taken is None:
            for variable, array in zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True):
                found[variable] = self._constant(array, made)
        found |= dict(zip(jaxpr.invars, seen, strict=False))
        inputs = {v: _input(v) for v in jaxpr.invars[len(seen) :]}
        found |= inputs
        made += [self._op(eqn, found) for eqn in jaxpr.eqns]
        outputs = tuple(_operand(a, found) for a in jaxpr.outvars)
        return Region((*(taken or {}).values(), *inputs.values()), tuple(made), outputs)

    def _constant(self, array: Any, made: list[Op]) -> Value:
        """An array from around a jaxpr; a key of `jax.random` is made of its data first, by operations among `made`."""
        if not jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            return _constant(array)
        data = jax.random.key_data(array)
        wrap = functools.partial(jax.random.wrap_key_data, impl=jax.random.key_impl(array))
        key = self.region(jax.make_jaxpr(wrap)(data), [_constant(data)])
        made.extend(key.ops)
        return key.outputs[0]

    def _op(self, eqn: jex_core.JaxprEqn, found: Found) -> Op:
        name, results = eqn.primitive.name, tuple(map(_value, eqn.outvars))
        taken = tuple(_operand(a, found) for a in eqn.invars)
        operands, attributes, regions = self._structure(name, eqn.params, taken)
        found |= dict(zip(eqn.outvars, results, strict=True))
        apply = _applying(eqn.primitive, eqn.params)
        if name in _STRUCTURED and apply is not None:
            seen = dict.fromkeys(value for region in regions for value in region.captures)
            apply = _of_used(apply, taken, (*seen, *operands))
        names, traceback = eqn.source_info.name_stack, eqn.source_info.traceback
        merges, is_given, has_effects = divergence.is_merge(names), given.is_given(names), bool(eqn.effects)
        return Op(name, operands, results, attributes, regions, apply, traceback, merges, has_effects, is_given)

    def _structure(
        self, name: str, params: dict[str, Any], operands: _Values
    ) -> tuple[_Values, dict[str, Any], _Regions]:
        """The operands of an operation, what is known of it beside them, and its regions."""
        if not _is_control(name):
            return operands, params, ()
        if name == "scan":
            consts, carries = _counts(params)
            attributes = {"carries": carries, "length": params["length"], "reverse": params["reverse"]}
            return operands[consts:], attributes, (self.region(params["jaxpr"], operands[:consts]),)
        if name == "while":
            first, last = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            predicate = self.region(params["cond_jaxpr"], operands[:first])
            return operands[last:], {}, (predicate, self.region(params["body_jaxpr"], operands[first:last]))
        if name == "cond":
            return operands[:1], {}, tuple(self.region(branch, operands[1:]) for branch in params["branches"])
        called = next((params[key] for key in _CALLED if key in params), None)
        if called is None:
            raise ops.without_rule(name, "the importer")
        return operands, {"name": params.get("name", "")}, (self._called(called),)

    def _called(self, jaxpr: Any) -> Region:
        if id(jaxpr) not in self.regions:
            # `remat2` of JAX 0.10 holds a jaxpr without constants.
            self.regions[id(jaxpr)] = self.region(jaxpr if hasattr(jaxpr, "jaxpr") else jex_core.ClosedJaxpr(jaxpr, ()))
        return self.regions[id(jaxpr)]


def _is_control(name: str) -> bool:
    return name in table.OPS and table.OPS[name].kind is Kind.CONTROL


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
    is_traced = isinstance(array, jax.core.Tracer)  # around the kernel, by JAX
    return Constant(tuple(array.shape), array.dtype, array=array if is_traced else np.asarray(array), is_literal=False)


def _applying(primitive: jex_core.Primitive, params: dict[str, Any]) -> Callable[..., Any] | None:
    """A function of the operands of an operation that gives its results; of one that takes functions there is none."""
    if _is_control(primitive.name) and primitive.name not in _STRUCTURED and "jaxpr" not in params:
        return None
    return functools.partial(_bound, primitive, params)


def _bound(primitive: jex_core.Primitive, params: dict[str, Any], *operands: Any) -> Any:
    """The results of an operation: bound anew, a primitive is the same one, in whatever transformation of JAX."""
    results = primitive.bind(*operands, **params)
    return results if primitive.multiple_results else [results]


def _of_used(apply: Callable[..., Any], given: _Values, used: _Values) -> Callable[..., Any] | None:
    """A function of what JAX gives to a loop or branch as one of what it uses, see `Op.used`."""
    places = {value: place for place, value in enumerate(used)}
    if not all(isinstance(value, Constant) or value in places for value in given):
        return None  # it is given something that it does not use
    return lambda *items: apply(*(v.array if isinstance(v, Constant) else items[places[v]] for v in given))
