"""The verifier: what holds of every program, whichever pass has made it."""

import dataclasses
from collections.abc import Callable, Sequence

from xeemu.ir import ops, table
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind


class InvalidProgram(AssertionError):
    """A program that breaks a rule of the representation: a fault of the pass that has made it."""


def verify(region: Region, place: Callable[[Op], str] = lambda op: "") -> None:
    """Checks a program.

    Every value is given once, and before it is used; every operation is in the table; the regions of an operation take
    and give what it says, and a call sees nothing; a version of a memory is updated once at most on each way through
    the program. It takes 1 to 2 % of the time of a trace.

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
        for value in op.operands:
            if not _is_given(value, inside):
                raise InvalidProgram(f"{self._described(op)} uses a value before it is given")
        for memory in _updated(op):
            if memory in updated:
                name = memory.memory or "a memory"
                raise InvalidProgram(f"{self._described(op)} updates a version of {name} that was updated before")
            updated.add(memory)
        self._check_regions(op)
        # What is called may be called again: its own versions are others each time.
        after = inside & set().union(*(self.region(region, inside, updated) for region in op.regions))
        if op.name in ("scan", "while") and (again := after - updated):
            names = ", ".join(sorted({memory.memory or "a memory" for memory in again}))
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
        elif op.regions and ops.of(op).kind is Kind.CONTROL:
            (called,) = op.regions
            self._alike(op, op.operands, called.inputs)
            self._alike(op, called.outputs, op.results)
            if called.seen:
                raise InvalidProgram(f"{self._described(op)} calls a program that sees values around it")
        elif op.regions:
            raise InvalidProgram(f"{self._described(op)} has regions, which only loops, branches and calls have")

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


def _updated(op: Op) -> Sequence[Value]:
    """The versions of memories of which an operation gives the next ones."""
    if op.name in ops.ACCESSES:
        return op.operands[:1] if ops.changes(op) else ()
    return op.operands[: len(op.results)] if op.name in ops.UPDATES else ()


def _is_given(value: Value, inside: set[Value]) -> bool:
    return value in inside or isinstance(value, Constant)
