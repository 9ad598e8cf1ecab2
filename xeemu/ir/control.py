"""Loops, branches and calls: what each kind of operation with regions says of them."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xeemu.ir import ops, table
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.table import Kind

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Scan:
    """`lax.scan`, also what `fori_loop` with a known trip count becomes.

    The operands are the carries and what the elements are taken from; the body takes and gives carries and elements.
    """

    body: Region
    carries: int
    length: int
    reverse: bool


@dataclasses.dataclass(frozen=True)
class While:
    """`lax.while_loop`; the operands are the carries, which predicate and body take."""

    predicate: Region
    body: Region


@dataclasses.dataclass(frozen=True)
class Cond:
    """`lax.cond` or `switch`; the operand is the branch's number, and the branches take nothing."""

    branches: tuple[Region, ...]


@dataclasses.dataclass(frozen=True)
class Call:
    """A program that runs once, and sees nothing: nested jit, custom derivative rules, checkpoints."""

    body: Region


Structure = Scan | While | Cond | Call


def of(op: Op) -> Structure | None:
    """What an operation carries out, or None if it has no regions.

    Raises:
      KernelError: it is an operation of which nothing is known.
    """
    traits = table.OPS.get(op.name) or ops.named(op.name)  # all that goes through a program asks for each operation
    if traits.kind is not Kind.CONTROL:
        return None
    a = op.attributes
    if op.name == "scan":
        return Scan(op.regions[0], a["carries"], a["length"], a["reverse"])
    if op.name == "while":
        return While(*op.regions)
    return Cond(op.regions) if op.name == "cond" else Call(op.regions[0])


def region_operands(op: Op, items: Sequence[Any], number: int) -> list[Any]:
    """What a region of an operation takes, see `Region.all_inputs`.

    Args:
      op: the operation.
      items: what stands for the values that it uses, see `Op.used`.
      number: of the region.
    """
    return [*region_captures(op, items, number), *(() if op.name == "cond" else items[len(op.captures) :])]


def region_captures(op: Op, items: Sequence[Any], number: int) -> list[Any]:
    """Of what is told of all captures of an operation, what is told of those of a region."""
    found = dict(zip(op.captures, items, strict=False))
    return [found[value] for value in op.regions[number].captures]


def carried(structure: Structure | None, inner: Region) -> Sequence[Value]:
    """The inputs of a loop's body that its first results become."""
    match structure:
        case Scan(carries=carries):
            return inner.inputs[:carries]
        case While():
            return inner.inputs
    return ()


def propagated(
    op: Op, used: Sequence[T], body: Callable[[int, Sequence[T]], Sequence[T]], join: Callable[[T, T], T]
) -> list[T]:
    """What is known of the results of an operation with regions, of what is known of the values that it uses.

    Args:
      op: the operation.
      used: what is known of these, see `Op.used`.
      body: gives for the number of a region, with what is known of the values that it takes, that of its outputs.
      join: of a value that is one of two, as branches and iterations give it, of which no more is known each time.
    """
    match of(op):
        case Cond(branches):
            each = [body(k, region_operands(op, used, k)) for k in range(len(branches))]
            return [functools.reduce(join, alternatives) for alternatives in zip(*each, strict=True)]
        case Scan(carries=carries):
            return _looped(op, used, carries, lambda used: body(0, region_operands(op, used, 0)), join)
        case While():
            after = _looped(op, used, len(op.operands), lambda used: body(1, region_operands(op, used, 1)), join)
            body(0, [*region_captures(op, used, 0), *after])
            return after
    return list(body(0, region_operands(op, used, 0)))


def _looped(
    op: Op, used: Sequence[T], carries: int, after: Callable[[Sequence[T]], Sequence[T]], join: Callable[[T, T], T]
) -> list[T]:
    """What is known of the results of a loop: of what it carries, what holds both before and after each iteration."""
    first, last = len(op.captures), len(op.captures) + carries
    while True:
        outputs = after(used)
        carried = [join(a, b) for a, b in zip(used[first:last], outputs, strict=False)]
        if carried == list(used[first:last]):
            return [*carried, *outputs[carries:]]
        used = [*used[:first], *carried, *used[last:]]
