"""The verifier: what holds of every program, whichever pass has made it."""

from collections.abc import Sequence

from xeemu.ir import ops, table
from xeemu.ir.program import Constant, Op, Region, Value


class InvalidProgram(AssertionError):
    """A program that breaks a rule of the representation: a fault of the pass that has made it."""


def verify(region: Region) -> None:
    """Checks a program.

    Every value is given once, and before it is used; every operation is in the table; the regions of an operation take
    and give what it says; a version of a memory is updated once at most on each way through the program.

    Raises:
      InvalidProgram: one of these does not hold; the message names the operation with its line.
    """
    _region(region, set(), set())


def _region(region: Region, seen: set[Value], before: set[Value]) -> set[Value]:
    """Checks a region; gives the versions of memories that were updated on some way to its end, of those `before`."""
    inside, updated = set(seen), set(before)
    for value in region.inputs:
        _given(value, inside, "an input")
    for op in region.ops:
        _op(op, inside, updated)
    for value in region.outputs:
        _used(value, inside, "what a region gives")
    return updated


def _op(op: Op, inside: set[Value], updated: set[Value]) -> None:
    if op.name not in table.OPS:
        raise InvalidProgram(f"{_described(op)} is not in the table of operations")
    traits = ops.named(op.name)
    for value in op.operands:
        _used(value, inside, _described(op))
    for memory in op.operands if traits.updates else ():
        if memory.memory and any(result.memory == memory.memory for result in op.results):
            if memory in updated:
                raise InvalidProgram(f"{_described(op)} updates a version of {memory.memory} that was updated before")
            updated.add(memory)
    _check_regions(op)
    after = set().union(*(_region(region, inside, updated) for region in op.regions))
    if op.name in ("scan", "while") and (again := (after - updated) & inside):
        names = ", ".join(sorted({memory.memory for memory in again}))
        raise InvalidProgram(f"{_described(op)} updates in each turn a version of {names} from outside")
    updated |= after
    for value in op.results:
        _given(value, inside, _described(op))


def _check_regions(op: Op) -> None:
    """That an operation's regions take and give as many values, of the same types, as it says."""
    if op.name == "scan":
        (body,) = op.regions
        carries = op.attributes["carries"]
        if len(body.inputs) != len(op.operands) or len(body.outputs) != len(op.results):
            raise InvalidProgram(
                f"{_described(op)} has {len(op.operands)} operands and {len(op.results)} results, and a body of "
                f"{len(body.inputs)} and {len(body.outputs)}"
            )
        _alike(op, op.operands[:carries], body.inputs[:carries])
        _alike(op, body.inputs[:carries], body.outputs[:carries])
        _alike(op, body.outputs[:carries], op.results[:carries])
    elif op.name == "while":
        predicate, body = op.regions
        for values in (predicate.inputs, body.inputs, body.outputs, op.results):
            _alike(op, op.operands, values)
    elif op.name == "cond":
        for branch in op.regions:
            _alike(op, branch.outputs, op.results)
    elif op.regions:
        raise InvalidProgram(f"{_described(op)} has regions, which only loops and branches have")


def _alike(op: Op, given: Sequence[Value], taken: Sequence[Value]) -> None:
    types = [[(value.shape, value.dtype, value.memory) for value in values] for values in (given, taken)]
    if types[0] != types[1]:
        raise InvalidProgram(f"{_described(op)} hands on {types[0]} where {types[1]} are taken")


def _given(value: Value, inside: set[Value], what: str) -> None:
    if value in inside or isinstance(value, Constant):
        raise InvalidProgram(f"a value is given twice, by {what} again")
    inside.add(value)


def _used(value: Value, inside: set[Value], what: str) -> None:
    if value not in inside and not isinstance(value, Constant):
        raise InvalidProgram(f"{what} uses a value before it is given")


def _described(op: Op) -> str:
    return f"{op.name} {op.place}".rstrip()
