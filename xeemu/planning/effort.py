"""Effort: how hard XLA tries to make a computation fast, and by vectors of which width.

Observers make large programs of small kernels, and a check of a few thousand work-items runs for milliseconds: XLA
took hundreds of times longer to compile it. With little effort it compiles four times as fast, and what it makes takes
up to twice as long; with JAX 0.11, which cannot try as little, 1.3 to 2.2 times as fast, and it takes 2 to 10
times as long. What is carried out once, and seen by nobody, need not be fast either.
"""

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op
from xeemu.knowledge import addressing, analysis, work
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program


def is_short(program: Program, groups: int, target: Target) -> bool:
    """True if a program that observers see runs for no longer than it takes to compile.

    Args:
      program: of a launch.
      groups: the number of work-groups that are emulated.
      target: where it will run.
    """
    return is_cheaper_than_compiling(_operations(program, groups), target)


def is_short_once(program: Program, groups: int, target: Target) -> bool:
    """True if a program that nobody sees, and that is carried out once, runs for less than it takes to compile."""
    return _operations(program, groups) <= target.unseen_operations > 0


def is_unshared(program: Program, groups: int, target: Target) -> bool:
    """True if one thread carries a program out sooner than several that wait for each other."""
    return target.threads is not None and _operations(program, groups) <= target.threads.unshared_operations


def is_cheaper_than_compiling(operations: int, target: Target) -> bool:
    """True if so many operations of work-items take no longer than it takes to compile them."""
    return operations <= target.short_operations > 0


def _operations(program: Program, groups: int) -> int:
    """How many operations the work-items of so many groups carry out."""
    return groups * program.geometry.items * work.operations(program.body)


def vector_bits(facts: Facts, target: Target) -> int | None:
    """The width of vectors that a program is compiled for; None for the compiler's own choice.

    Args:
      facts: what is known of it.
      target: where it will run.
    """
    return None if target.vector_bits is None or _looks_up(facts) else target.vector_bits


def _looks_up(facts: Facts) -> bool:
    """True if elements are accessed one by one: sixteen at once took up to twice as long as eight and eight."""
    return any(_is_looked_up(op, inner) for inner in analysis.executed(facts) for op in inner.body.ops)


def _is_looked_up(op: Op, facts: Facts) -> bool:
    """True if only data tell which elements an access has, and they differ among the work-items."""
    if op.name not in ops.ACCESSES or addressing.is_formed(op, facts):
        return False
    deciding = op.results if op.name == ops.LOAD else ops.indices(op)
    return any(facts.values[value].varying for value in deciding if not isinstance(value, Constant))
