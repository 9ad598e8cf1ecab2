"""The parameters of JAX's structured equations: the only module that knows how a jaxpr holds other jaxprs.

JAX 0.10 and 0.11 differ here: `scan` counts its operands or describes them as trees, and a `ClosedJaxpr` became a
`Jaxpr` whose `.jaxpr` is itself. Both have `.jaxpr.eqns` and `.consts`.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.ir.table import Kind

Atom: TypeAlias = jex_core.Var | jex_core.Literal


@dataclasses.dataclass(frozen=True)
class Body:
    """A jaxpr with the constants it closes over."""

    closed: Any

    @property
    def eqns(self) -> list[jex_core.JaxprEqn]:
        return self.closed.jaxpr.eqns

    @property
    def invars(self) -> list[jex_core.Var]:
        return self.closed.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        return self.closed.jaxpr.outvars

    @property
    def constants(self) -> list[tuple[jex_core.Var, Any]]:
        """The constant variables and their arrays."""
        return list(zip(self.closed.jaxpr.constvars, getattr(self.closed, "consts", ()), strict=True))


@dataclasses.dataclass(frozen=True)
class Scan:
    """`lax.scan`, also what `fori_loop` with a known trip count becomes.

    The body takes constants, carries and elements, and gives carries and elements.
    """

    body: Body
    consts: int
    carries: int
    length: int
    reverse: bool


@dataclasses.dataclass(frozen=True)
class While:
    """`lax.while_loop`; the operands are the predicate's constants, the body's constants and the carries."""

    predicate: Body
    predicate_consts: int
    body: Body
    body_consts: int


@dataclasses.dataclass(frozen=True)
class Cond:
    """`lax.cond` or `switch`; operand 0 is the branch's number, the others go to the branch."""

    branches: tuple[Body, ...]


@dataclasses.dataclass(frozen=True)
class Call:
    """A jaxpr that runs once: nested jit, custom derivative rules, checkpoints."""

    body: Body


Structure = Scan | While | Cond | Call
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def structure(eqn: jex_core.JaxprEqn) -> Structure | None:
    """What `eqn` contains, or None if it is a plain operation.

    Raises:
      KernelError: it is an operation of which nothing is known.
    """
    if ops.of(eqn).kind is not Kind.CONTROL:
        return None
    name, params = eqn.primitive.name, eqn.params
    if name == "scan":
        return _scan(params)
    if name == "while":
        return While(
            Body(params["cond_jaxpr"]), params["cond_nconsts"], Body(params["body_jaxpr"]), params["body_nconsts"]
        )
    if name == "cond":
        return Cond(tuple(Body(branch) for branch in params["branches"]))
    return _call(params)


def is_bound_again(eqn: jex_core.JaxprEqn) -> bool:
    """Whether its primitive, bound with its parameters, is the same operation; what takes functions is not."""
    return not isinstance(structure(eqn), Call) or "jaxpr" in eqn.params


def bodies(eqn: jex_core.JaxprEqn) -> tuple[Body, ...]:
    """The bodies that a structured equation holds; none of a plain operation."""
    match structure(eqn):
        case Call(body) | Scan(body=body):
            return (body,)
        case While(predicate=predicate, body=body):
            return (predicate, body)
        case Cond(branches):
            return branches
    return ()


def equations(body: Body) -> Iterator[jex_core.JaxprEqn]:
    """The equations of a (sub)program and of its inner ones."""
    for eqn in body.eqns:
        yield eqn
        for inner in bodies(eqn):
            yield from equations(inner)


def given(structure: Structure | None, operands: Sequence[Atom], number: int) -> Sequence[Atom]:
    """The operands of an equation that go into its body of that number, see `bodies`."""
    match structure:
        case Cond():
            return operands[1:]
        case While(predicate_consts=first, body_consts=consts):
            return [*operands[:first], *operands[first + consts :]] if number == 0 else operands[first:]
    return operands


def carried(structure: Structure | None, inner: Body) -> Sequence[Atom]:
    """The inputs of a loop's body that its first results become."""
    match structure:
        case Scan(consts=consts, carries=carries):
            return inner.invars[consts : consts + carries]
        case While(body_consts=consts):
            return inner.invars[consts:]
    return ()


def needed(body: Body, atoms: Sequence[Atom]) -> list[int]:
    """The numbers of the equations of a body that some of its values are computed by, in order."""
    wanted, found = {a for a in atoms if not is_literal(a)}, []
    for number in range(len(body.eqns) - 1, -1, -1):
        eqn = body.eqns[number]
        if wanted.intersection(eqn.outvars):
            found.append(number)
            wanted.update(a for a in eqn.invars if not is_literal(a))
    return found[::-1]


def bound(eqn: jex_core.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """The results of an equation for other operands, if it is bound again by its parameters (see `is_bound_again`)."""
    if eqn.primitive is lax.bitcast_convert_type_p and eqn.invars[0].aval.ndim > eqn.outvars[0].aval.ndim:
        operands = [_with_bytes_last(operands[0])]
    results = eqn.primitive.bind(*operands, **eqn.params)
    return list(results) if eqn.primitive.multiple_results else [results]


def _with_bytes_last(pieces: Any) -> Any:
    """Pieces of numbers, their axis the last one under `vmap` too, where JAX joins along whichever is the last."""
    # A reshape moves mapped axes to the front.
    return lax.squeeze(lax.reshape(pieces, (*pieces.shape, 1)), (pieces.ndim,))


def literal(atom: jex_core.Literal) -> np.ndarray:
    """The value of a literal, in its own dtype."""
    return np.asarray(atom.val, atom.aval.dtype)


def is_literal(atom: Atom) -> bool:
    return isinstance(atom, jex_core.Literal)


def _scan(params: dict[str, Any]) -> Scan:
    if "ft_in" in params:
        consts, carries, _ = (len(part) for part in params["ft_in"].unpack())
    else:
        consts, carries = params["num_consts"], params["num_carry"]
    return Scan(Body(params["jaxpr"]), consts, carries, params["length"], params["reverse"])


def _call(params: dict[str, Any]) -> Call:
    inner = next(params[key] for key in _CALLED if key in params)
    # `remat2` of JAX 0.10 holds a jaxpr without constants.
    return Call(Body(inner if hasattr(inner, "jaxpr") else jex_core.ClosedJaxpr(inner, ())))
