"""The verifier: what holds of every program, whichever pass has made it."""

import dataclasses
from collections.abc import Callable, Sequence

from xeemu.ir import ops, table
from xeemu.ir.program import Constant, Op, Region, Value


class InvalidProgram(AssertionError):
    """A program that breaks a rule of the representation: a fault of the pass that has made it."""


def verify(region: Region, place: Callable[[Op], str] = lambda op: "") -> None:
    """Checks a program, in which regions see the values around them.

    Every value is given once, and before it is used; every operation is in the table; the regions of an operation take
    and give what it says; a version of a memory is updated once at most on each way through the program.

    Args:
      region: the program.
      place: the line of the source that an operation comes from.

    Raises:
      InvalidProgram: one of these does not hold; the message names the operation with its line.
    """
    _Verifier(place).region(region, set(), set())


@dataclasses.dataclass(frozen=True)
class _Verifier:
    """Checks regions; `place` gives the line of an operation."""

    place: Callable[[Op], str]

    def region(self, region: Region, seen: set[Value], before: set[Value]) -> set[Value]:
        """Checks a region; gives the versions of memories updated on some way to its end, of those `before`."""
        inside, updated = set(seen), set(before)
        for value in region.inputs:
            self._give(value, inside, None)
        for op in region.ops:
            self._op(op, inside, updated)
        for value in region.outputs:
            if not _is_given(value, inside):
                raise InvalidProgram("what a region gives uses a value before it is given")
        return updated

    def _op(self, op: Op, inside: set[Value], updated: set[Value]) -> None:
        if op.name not in table.OPS:
            raise InvalidProgram(f"{self._described(op)} is not in the table of operations")
        traits = ops.named(op.name)
        for value in op.operands:
            if not _is_given(value, inside):
                raise InvalidProgram(f"{self._described(op)} uses a value before it is given")
        for memory in op.operands if traits.updates else ():
            if memory.memory and any(result.memory == memory.memory for result in op.results):
                if memory in updated:
                    described = self._described(op)
                    raise InvalidProgram(f"{described} updates a version of {memory.memory} that was updated before")
                updated.add(memory)
        self._check_regions(op)
        after = set().union(*(self.region(region, inside, updated) for region in op.regions))
        if op.name in ("scan", "while") and (again := (after - updated) & inside):
            names = ", ".join(sorted({memory.memory for memory in again}))
            raise InvalidProgram(f"{self._described(op)} updates in each turn a version of {names} from outside")
        updated |= after
        for value in op.results:
            self._give(value, inside, op)

    def _check_regions(self, op: Op) -> None:
        """That an operation's regions take and give as many values, of the same types, as it says."""
        if op.name == "scan":
            (body,) = op.regions
            carries = op.attributes["carries"]
            if len(body.inputs) != len(op.operands) or len(body.outputs) != len(op.results):
                raise InvalidProgram(
                    f"{self._described(op)} has {len(op.operands)} operands and {len(op.results)} results, and a body "
                    f"of {len(body.inputs)} and {len(body.outputs)}"
                )
            self._alike(op, op.operands[:carries], body.inputs[:carries])
            self._alike(op, body.inputs[:carries], body.outputs[:carries])
            self._alike(op, body.outputs[:carries], op.results[:carries])
        elif op.name == "while":
            predicate, body = op.regions
            for values in (predicate.inputs, body.inputs, body.outputs, op.results):
                self._alike(op, op.operands, values)
        elif op.name == "cond":
            for branch in op.regions:
                self._alike(op, branch.outputs, op.results)
        elif op.regions:
            raise InvalidProgram(f"{self._described(op)} has regions, which only loops and branches have")

    def _alike(self, op: Op, given: Sequence[Value], taken: Sequence[Value]) -> None:
        types = [[(value.shape, value.dtype, value.memory) for value in values] for values in (given, taken)]
        if types[0] != types[1]:
            raise InvalidProgram(f"{self._described(op)} hands on {types[0]} where {types[1]} are taken")

    def _give(self, value: Value, inside: set[Value], op: Op | None) -> None:
        if _is_given(value, inside):
            what = self._described(op) if op else "an input"
            raise InvalidProgram(f"a value is given twice, by {what} again")
        inside.add(value)

    def _described(self, op: Op) -> str:
        return f"{op.name} {self.place(op)}".rstrip()


def _is_given(value: Value, inside: set[Value]) -> bool:
    return value in inside or isinstance(value, Constant)
