"""Effort: how hard XLA tries to make a computation fast, where somebody sees every access.

Observers make large programs of small kernels, and a check of a few thousand work-items runs for milliseconds: XLA
took hundreds of times longer to compile it. With less effort it compiles four times as fast, and what it makes takes
up to twice as long. What is carried out once, and seen by nobody, need not be fast either.
"""

import functools
from collections.abc import Mapping
from typing import Any

from xeemu.devices.target import Target
from xeemu.emission import compiling
from xeemu.ir import control
from xeemu.ir.program import Region
from xeemu.language.program import Program

# Without LLVM's optimisations, without emitters that are compilers themselves, and all in one piece.
_LITTLE = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# Iterations of a loop whose number nobody knows.
_USUAL_ITERATIONS = 64
# An operation that nobody sees is done in less than a part of the time (2-core EPYC: a histogram of 2^22.7 operations
# takes 0.2 s with little effort, most of it to compile, and 1.0 s without; one of 2^28.7 takes 0.9 s and 1.2 s).
_UNSEEN = 8


def options(program: Program, groups: int, target: Target) -> Mapping[str, Any]:
    """XLA's options for a program that observers see.

    Args:
      program: of a launch.
      groups: the number of work-groups that are emulated.
      target: where it will run.
    """
    return _LITTLE if is_short(program, groups, target) and _takes_little() else {}


def once(program: Program, groups: int, target: Target) -> Mapping[str, Any]:
    """The same for a program that nobody sees, and that is carried out once."""
    return little(groups * program.geometry.items * _operations(program.body) // _UNSEEN, target)


def little(operations: int, target: Target) -> Mapping[str, Any]:
    """Options for a computation of so many operations of work-items; none where it takes long."""
    return _LITTLE if operations <= target.short_operations > 0 and _takes_little() else {}


def is_short(program: Program, groups: int, target: Target) -> bool:
    """Whether a program that observers see runs for no longer than it takes to compile; see `options`."""
    return groups * program.geometry.items * _operations(program.body) <= target.short_operations > 0


def _operations(body: Region) -> int:
    """How many operations a work-item carries out, of branches all."""
    return sum(_repeated(op) * sum(map(_operations, op.regions)) or 1 for op in body.ops)


def _repeated(op: Any) -> int:
    match control.of(op):
        case control.Scan(length=length):
            return length
        case control.While():
            return _USUAL_ITERATIONS
    return 1


@functools.cache
def _takes_little() -> bool:
    return compiling.takes(_LITTLE)
