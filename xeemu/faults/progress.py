"""Progress: loops that wait for what other work-items write, as spin locks do.

A work-item promises another one of its group only weakly parallel progress: one that has begun need not go on while
the other one waits (SYCL 2020, section 3.8.3.4, forward progress). A loop waits if nothing that its predicate depends
on can change but through values that atomic operations of the loop read at places that stay the same: loads, exchanges
and the like that would write the same again, compare-exchanges that expect the same again. A loop that counts, walks
on, or writes what it has computed gets on by itself.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from xeemu.faults import execution_wording
from xeemu.faults.findings import Finding
from xeemu.ir import control, ops
from xeemu.ir.control import While
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import source
from xeemu.language.dialect import Dialect

_AGAIN = frozenset(("exchange", "or_", "and_", "min", "max", "store"))
"""Atomic operations that leave the same if they are repeated with the same value."""


def findings_of(body: Region, dialect: Dialect) -> Iterator[Finding]:
    """One for each loop of a program that waits, also inner ones."""
    found: dict[Any, Finding] = {}
    for op in body.walk():
        match control.of(op):
            case While() as loop if (reading := _waiting(loop)) is not None:
                name, sites = ops.operation(reading), (source.of_op(op), source.of_op(reading))
                found.setdefault(
                    sites, execution_wording.forward_progress(sites[0], f"atomic {name}", sites[1], dialect)
                )
    yield from found.values()


@dataclasses.dataclass(frozen=True, eq=False)
class _Value:
    """A value of a body with its calls written out; another one in each call."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Step:
    """An operation of a body with its calls written out.

    Attributes:
      op: the operation.
      operands: its operands; None for those that are literals.
      results: its results.
    """

    op: Op
    operands: Sequence[_Value | None]
    results: Sequence[_Value]

    @property
    def is_access(self) -> bool:
        return self.op.name in ops.ACCESSES

    @property
    def index(self) -> Sequence[_Value | None]:
        """Of an access."""
        return self.operands[1 : 1 + self.op.attributes["access"].rank]

    @property
    def values(self) -> Sequence[_Value | None]:
        """What an access that is no plain load writes or compares with."""
        access = self.op.attributes["access"]
        return self.operands[1 + access.rank : len(self.operands) - access.masked]

    @property
    def mask(self) -> Sequence[_Value | None]:
        """Of an access that has one."""
        return self.operands[-1:] if self.op.attributes["access"].masked else ()


@dataclasses.dataclass(frozen=True, eq=False)
class _Flat:
    """A body with its calls written out."""

    inputs: Sequence[_Value]
    steps: Sequence[_Step]
    outputs: Sequence[_Value | None]

    def needed(self, values: Iterable[_Value | None]) -> tuple[set[_Value], list[_Step]]:
        """All that some values are computed from, except through memories; and the accesses among it."""
        wanted, accesses = {v for v in values if v is not None}, []
        for step in reversed(self.steps):
            if wanted.isdisjoint(step.results):
                continue
            if step.is_access:
                accesses.append(step)
            wanted.update(v for v in step.operands[step.is_access :] if v is not None)
        return wanted, accesses

    def memory(self, value: _Value | None) -> _Value | None:
        """The first version of a memory."""
        before: dict[_Value, _Value | None] = {}
        for step in self.steps:
            if step.op.name in ops.UPDATES:
                versions = step.results[-1:] if step.is_access else step.results
                before |= dict(zip(versions, step.operands, strict=False))
        while value in before:
            value = before[value]
        return value


def _flat(body: Region) -> _Flat:
    seen, inputs, steps = [_Value() for _ in body.captures], [_Value() for _ in body.inputs], list[_Step]()
    return _Flat(inputs, steps, _written_out(body, [*seen, *inputs], steps))


def _written_out(body: Region, inputs: Sequence[_Value | None], steps: list[_Step]) -> list[_Value | None]:
    """The results of a body for some inputs; adds its steps."""
    found: dict[Any, _Value | None] = dict(zip(body.all_inputs, inputs, strict=True))

    def of(value: Value) -> _Value | None:
        return None if isinstance(value, Constant) else found.get(value)

    for op in body.ops:
        operands = [of(value) for value in op.used]
        match control.of(op):
            case control.Call(called):
                results: Sequence[_Value | None] = _written_out(called, operands, steps)
            case _:
                results = [_Value() for _ in op.results]
                steps.append(_Step(op, operands, [v for v in results if v is not None]))
        found.update(zip(op.results, results, strict=True))
    return [of(value) for value in body.outputs]


def _waiting(loop: While) -> Op | None:
    """The operation by which a loop waits; None if it does not."""
    test, body = _flat(loop.predicate), _flat(loop.body)
    carried = body.inputs
    changing = {v for v, out in zip(carried, body.outputs, strict=True) if out is not v}
    needed, tested = test.needed(test.outputs)
    if tested:
        return None  # by a plain load or an atomic one of what the loop does not write, which tracing refuses
    left = [k for k, v in enumerate(test.inputs) if v in needed]
    readings: dict[_Step, None] = {}
    seen: set[int] = set()
    while left:
        k = left.pop()
        if k in seen or carried[k] not in changing:
            continue
        seen.add(k)
        used, accesses = body.needed([body.outputs[k]])
        if not accesses and carried[k] in used:
            return None  # it counts
        readings |= dict.fromkeys(accesses)
        left += [n for n, v in enumerate(carried) if v in used]
    steady = _Steady(body, changing)
    return next(iter(readings)).op if readings and all(map(steady.waits, readings)) else None


@dataclasses.dataclass(frozen=True, eq=False)
class _Steady:
    """What stays the same from iteration to iteration of a loop."""

    body: _Flat
    changing: Set[_Value]

    def waits(self, step: _Step) -> bool:
        """True if an access can give another value than before only if somebody else writes."""
        name = ops.operation(step.op)
        if step.op.name != ops.ATOMIC or not self._stays(step.index):
            return False
        if name == "load":
            return all(self._answers(other, step) for other in self._writes(step))
        if name == "compare_exchange":
            return self._stays(step.values[:1])
        return name in _AGAIN and self._stays(step.values)

    def _stays(self, values: Iterable[_Value | None]) -> bool:
        used, accesses = self.body.needed(values)
        return not accesses and self.changing.isdisjoint(used)

    def _writes(self, reading: _Step) -> Iterator[_Step]:
        """The accesses of an iteration that write the memory of another."""
        memory = self.body.memory(reading.operands[0])
        writing = (s for s in self.body.steps if s.is_access and ops.changes(s.op))
        yield from (step for step in writing if self.body.memory(step.operands[0]) is memory)

    def _answers(self, writing: _Step, reading: _Step) -> bool:
        """True if it writes what does not change, and only where something was read, as who passes a turn on does."""
        _, accesses = self.body.needed(writing.mask)
        return reading in accesses and self._stays(writing.values)
