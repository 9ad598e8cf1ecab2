"""Kernel warnings: what a kernel does here though no hardware does it as it is written, told once, as a warning."""

import functools
import re
import warnings
from collections.abc import Iterator

from xeemu.errors import KernelWarning
from xeemu.ir import naming, ops
from xeemu.ir.program import Constant, Op
from xeemu.language import separation, source
from xeemu.language.collectives import GROUP
from xeemu.language.dialect import PYTHON
from xeemu.language.program import Program
from xeemu.language.source import Site
from xeemu.launching.options import MOST_KEPT


@functools.lru_cache(maxsize=MOST_KEPT)
def of_launch(program: Program) -> None:
    """Warns of operations of `jnp` that mix work-items, barriers of no memory, and indices out of bounds; once."""
    if program.kernel.dialect is PYTHON:
        for site, text in (*_mixing(program), *_barriers(program), *_beyond(program)):
            _warn(f"{text}\n  at {site}", site.file, site.line)


def _mixing(program: Program) -> Iterator[tuple[Site, str]]:
    for mixing in separation.of_program(program.body, program.geometry):
        if not mixing.collective:
            yield (
                mixing.site,
                f"kernel {program.kernel.name} mixes work-items by {mixing.operation}, which runs here but has no "
                "counterpart on hardware, where a work-item has the values of others by local memory and a barrier, or "
                "by a group algorithm such as wg.reduce and wg.sub_group.shift_left; write one of these"
                f"{_shadowing(program, mixing.site)}",
            )


def _shadowing(program: Program, site: Site) -> str:
    """What is said of a line that indexes an array by the name of a parameter, which then is no memory any more."""
    named = (p for p in program.kernel.parameters if re.search(rf"(?<![\w.]){re.escape(p)}\[", site.source))
    name = next(named, None)
    if name is None:
        return ""
    return f". If {name}[...] is to load from memory: {name} has been assigned something else; choose another name"


def _barriers(program: Program) -> Iterator[tuple[Site, str]]:
    for op in program.body.walk():
        barrier = op.name == ops.BARRIER and op.attributes["level"] == GROUP
        if barrier and len(op.operands) == int(op.attributes["masked"]):
            yield (
                source.of_op(op),
                f"kernel {program.kernel.name} has a barrier of no memories, which orders no accesses; give it those "
                f"that it orders, and take what it gives: {_names(program)}",
            )


def _beyond(program: Program) -> Iterator[tuple[Site, str]]:
    """Constant indices that are out of bounds, of what is always executed."""
    for op, memory in _accesses(program):
        for d, (index, size) in enumerate(zip(ops.indices(op), ops.seen_shape(op), strict=True)):
            if size and isinstance(index, Constant) and not index.ndim and not 0 <= int(index.array) < size:
                effect = "gives the poison value" if not ops.changes(op) else "does nothing"
                yield (
                    source.of_op(op),
                    f"kernel {program.kernel.name} has the index {int(index.array)} of {memory} in dimension {d}, "
                    f"where 0 to {size - 1} are valid: such {_access(op)} {effect}. A negative index does not count "
                    f"from the end; the last is {size - 1}",
                )


def _accesses(program: Program) -> Iterator[tuple[Op, str]]:
    """The accesses without a mask, outside loops and branches, each with the name of its memory."""
    names = naming.memories(program.body, dict(zip(program.body.inputs, program.kernel.parameters, strict=True)))
    for op in program.body.ops:
        if op.name in ops.ACCESSES and not op.attributes["access"].masked:
            yield op, names[op.operands[0]]


def _access(op: Op) -> str:
    return "an atomic operation" if op.name == ops.ATOMIC else f"a {ops.operation(op)}"


def _names(program: Program) -> str:
    names = ", ".join(memory.name for memory in program.allocations if memory.space == "local") or "x"
    return f"{names} = wg.barrier({names})"


@functools.lru_cache(maxsize=1024)
def _warn(text: str, file: str, line: int) -> None:
    """Warns of a line of the user's; cached, so that it is done once."""
    warnings.warn_explicit(text, KernelWarning, file, line)
