"""Loops, branches and calls: what each kind of operation with regions says of them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.table import Kind


@dataclasses.dataclass(frozen=True)
class Scan:
    """`lax.scan`, also what `fori_loop` with a known trip count becomes.

    The body takes constants, carries and elements, and gives carries and elements.
    """

    body: Region
    consts: int
    carries: int
    length: int
    reverse: bool


@dataclasses.dataclass(frozen=True)
class While:
    """`lax.while_loop`; the operands are the predicate's constants, the body's constants and the carries."""

    predicate: Region
    predicate_consts: int
    body: Region
    body_consts: int


@dataclasses.dataclass(frozen=True)
class Cond:
    """`lax.cond` or `switch`; operand 0 is the branch's number, the others go to the branch."""

    branches: tuple[Region, ...]


@dataclasses.dataclass(frozen=True)
class Call:
    """A program that runs once: nested jit, custom derivative rules, checkpoints."""

    body: Region


Structure = Scan | While | Cond | Call


def of(op: Op) -> Structure | None:
    """What an operation carries out, or None if it has no regions.

    Raises:
      KernelError: it is an operation of which nothing is known.
    """
    if ops.of(op).kind is not Kind.CONTROL:
        return None
    a = op.attributes
    if op.name == "scan":
        return Scan(op.regions[0], a["consts"], a["carries"], a["length"], a["reverse"])
    if op.name == "while":
        return While(op.regions[0], a["predicate_consts"], op.regions[1], a["body_consts"])
    return Cond(op.regions) if op.name == "cond" else Call(op.regions[0])


def given(structure: Structure | None, operands: Sequence[Any], number: int) -> Sequence[Any]:
    """What goes into the region of that number of what goes into the operation."""
    match structure:
        case Cond():
            return operands[1:]
        case While(predicate_consts=first, body_consts=consts):
            return [*operands[:first], *operands[first + consts :]] if number == 0 else operands[first:]
    return operands


def carried(structure: Structure | None, inner: Region) -> Sequence[Value]:
    """The inputs of a loop's body that its first results become."""
    match structure:
        case Scan(consts=consts, carries=carries):
            return inner.inputs[consts : consts + carries]
        case While(body_consts=consts):
            return inner.inputs[consts:]
    return ()
