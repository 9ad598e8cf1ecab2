"""Loop accesses: which accesses of a loop move by a constant in each iteration, and the windows of several iterations.

All of it is known before anything of the loop is emitted.
"""

import dataclasses
import functools
import operator
from collections.abc import Mapping
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import induction
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.strided_patterns import StridedAxis
from xeemu.planning import hazards, strided_windows
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage
from xeemu.planning.windows import Window


@dataclasses.dataclass(frozen=True, eq=False)
class CountedLoop:
    """A counted loop, with all that decides on how it is carried out.

    Attributes:
      scan: what the operation says.
      facts: the analysis of its body.
      chunk: the work-groups.
      storages: how the memories are stored that the body takes, by what is known of them.
      masked: true if masks of the control flow or of the global range leave work-items out.
      watched: true if somebody sees every access, or how many iterations loops in it have.
    """

    scan: control.Scan
    facts: Facts
    chunk: Chunk
    storages: Mapping[Known, Storage]
    masked: bool = False
    watched: bool = False

    @property
    def body(self) -> Region:
        """One iteration of it."""
        return self.scan.body

    @property
    def length(self) -> int:
        """Iterations."""
        return self.scan.length

    @property
    def stacks(self) -> bool:
        """True if iterations take or give something beside what they carry."""
        return not self.scan.carries == len(self.body.inputs) == len(self.body.outputs)

    def carry(self, number: int) -> int:
        """The number of the carry that an update leaves."""
        memory = self.body.ops[number].results[0]
        return next(k for k, out in enumerate(self.body.outputs) if out is memory)

    @functools.cached_property
    def growth(self) -> Mapping[int, int]:
        """For the number of each carry that grows by a constant that; see `induction`."""
        return induction.of_loop(self.scan, self.facts)

    @functools.cached_property
    def moves(self) -> Mapping[int, int]:
        """For the number of an access how much further it starts in each iteration."""
        return moves(self.facts)

    @functools.cached_property
    def moving(self) -> Mapping[int, "MovingAccess"]:
        """By number the accesses that move steadily, or not at all, to memories that there are before the loop."""
        memories = {n: self.facts.values[self.body.ops[n].operands[0]] for n in self.moves}
        return {n: self._moving(n, memory) for n, memory in memories.items() if memory in self.storages}

    def _moving(self, number: int, memory: Known) -> "MovingAccess":
        op, storage, move = self.body.ops[number], self.storages[memory], self.moves[number]
        reference = Reference.of_op(op, storage, self.facts)
        if not ops.of(op).writes:
            return MovingAccess(op, reference, move, self.chunk)
        # What has to be computed before an update is added to its address.
        waits = number in hazards.of_body(self.facts).waits
        address = reference.address.based() if waits else reference.address
        reference = dataclasses.replace(reference, address=address, masked=reference.masked or self.masked)
        return MovingAccess(op, reference, move, self.chunk.storing(memory))


@dataclasses.dataclass(frozen=True, eq=False)
class MovingAccess:
    """An access by one index that grows by a constant from one iteration of a loop to the next.

    Attributes:
      op: the operation.
      reference: to its elements in the first iteration.
      move: how much further it begins in each iteration.
      chunk: the work-groups that take part.
    """

    op: Op
    reference: Reference
    move: int
    chunk: Chunk

    @functools.cached_property
    def first(self) -> Window | None:
        """The window of the first iteration."""
        return strided_windows.of_reference(self.reference, self.chunk)

    @property
    def proved(self) -> bool:
        """True if it is known to be within bounds."""
        return self.reference.address.proved

    @property
    def checkable(self) -> bool:
        """True if the program itself may find, once for all iterations, that it is within bounds."""
        may = strided_windows.may_be_checked
        return self.first is not None and may(self.reference, self.first, self.chunk)

    def trusted(self) -> "MovingAccess":
        """The same where somebody has looked and found it to be within bounds."""
        address = self.reference.address.trusted()
        return dataclasses.replace(self, reference=dataclasses.replace(self.reference, address=address))

    def along(self, iterations: int) -> StridedAxis:
        """So many iterations, as an axis of addresses."""
        return StridedAxis(iterations, self.move)

    def window(self, iterations: int) -> Window | None:
        """The window of so many iterations."""
        if self.reference.is_empty:
            return None
        return strided_windows.of_reference(self.reference, self.chunk, self.along(iterations))

    def filled(self, iterations: int) -> Window | None:
        """The window that the stores of so many iterations fill, if they do."""
        window = self.window(iterations) if self.move and self.proved else None
        return window if window is not None and window.writable(self.reference.masked) else None


def moves(facts: Facts) -> dict[int, int]:
    """For the number of each access by one index how much that grows from one iteration of a loop to the next.

    Args:
      facts: what is known of the loop's body, whose inputs are carries.
    """
    growth: dict[Any, int] = dict.fromkeys(facts.body.captures, 0)
    for v, out in zip(facts.body.inputs, facts.body.outputs, strict=False):
        step = 0 if out is v else induction.increment(facts.body, v, out)
        if step is not None and (not step or out in facts.factors):
            growth[v] = step
    found: dict[int, int] = {}
    for number, op in enumerate(facts.body.ops):
        if op.name in ops.ACCESSES:
            step = _growth(op.operands[1], growth)
            if step is not None and op.attributes["access"].rank == op.operands[0].ndim == 1:
                found[number] = step
        elif (step := _result(op, growth, facts)) is not None:
            growth |= dict.fromkeys(op.results, step)
    return found


def _result(op: Op, growth: Mapping[Any, int], facts: Facts) -> int | None:
    """How much the results of an operation grow in each iteration; None if that is not known."""
    if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
        return 0
    steps = [step for a in op.used if (step := _growth(a, growth)) is not None]
    if op.name in ops.LANGUAGE or len(steps) < len(op.used):
        return None
    if not any(steps):
        return 0
    # A base that comes from other bases is that of an exact result, which neither wraps nor rounds.
    factors = facts.factors.get(op.results[0])
    return None if factors is None else sum(map(operator.mul, factors, steps))


def _growth(value: Value, growth: Mapping[Any, int]) -> int | None:
    return 0 if isinstance(value, Constant) else growth.get(value)
