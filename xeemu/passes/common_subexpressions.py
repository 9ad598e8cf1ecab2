"""Common subexpressions: what is computed twice in one way is computed once."""

from collections.abc import Mapping

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses


def common_subexpressions(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which an operation goes whose operands and attributes an earlier one has, there or around it.

    A load depends on its memory as it is then: between two that are equal nothing is written.
    """
    search = _Search()
    search.region(program.body, {})
    return eliminate_dead_code.replaced(
        program, search.again, lambda rewriter, op, earlier: rewriter.values(earlier.results)
    )


class _Search:
    """Goes through a program and finds what is computed again; `again` has for an operation the earlier one."""

    def __init__(self) -> None:
        self.again: dict[Op, Op] = {}
        self._numbers, self._found = Numbers(), dict[Value, int]()

    def region(self, region: Region, around: Mapping[int, Op]) -> None:
        """Goes through a region; `around` has by the number of their first result the operations that it sees."""
        known = dict(around)
        for op in region.ops:
            if not _is_pure(op):
                for inner in op.regions:
                    self.region(inner, known)
                continue
            numbers = self._numbers.results(op, list(map(self._of, op.operands)))
            self._found |= zip(op.results, numbers, strict=True)
            if (earlier := known.setdefault(numbers[0], op)) is not op:
                self.again[op] = earlier

    def _of(self, value: Value) -> int:
        if isinstance(value, Constant):
            return self._numbers.constant(value)
        return self._found[value] if value in self._found else self._numbers.of(value)


def _is_pure(op: Op) -> bool:
    """True if it does nothing but give results, which its operands and attributes decide on."""
    if op.regions or op.has_effects or not op.results or op.name == ops.ALLOCATE:
        return False
    return op.name == ops.LOAD or not (ops.of(op).updates or ops.of(op).reads)
