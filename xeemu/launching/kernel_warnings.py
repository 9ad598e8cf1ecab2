"""Kernel warnings: what a kernel does here though no hardware does it as it is written, told once, as a warning."""

import functools
import re
import warnings
from collections.abc import Iterator

from xeemu.errors import KernelWarning
from xeemu.ir import naming, ops
from xeemu.ir.program import Constant
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
            names = ", ".join(memory.name for memory in program.allocations if memory.space == "local") or "x"
            yield (
                source.of_op(op),
                f"kernel {program.kernel.name} has a barrier of no memories, which orders no accesses; give it those "
                f"that it orders, and take what it gives: {names} = wg.barrier({names})",
            )


def _beyond(program: Program) -> Iterator[tuple[Site, str]]:
    """Constant indices that are out of bounds, of what is always executed."""
    names = naming.memories(program.body, dict(zip(program.body.inputs, program.kernel.parameters, strict=True)))
    for op in program.body.ops:
        if op.name not in ops.ACCESSES or op.attributes["access"].masked:
            continue  # a mask may leave it out, as loops and branches may what is in them
        memory = names[op.operands[0]]
        for d, (index, size) in enumerate(zip(ops.indices(op), ops.viewed_shape(op), strict=True)):
            if size and isinstance(index, Constant) and not index.ndim and not 0 <= int(index.array) < size:
                access = "an atomic operation" if op.name == ops.ATOMIC else f"a {ops.operation(op)}"
                effect = "gives the poison value" if not ops.changes(op) else "does nothing"
                yield (
                    source.of_op(op),
                    f"kernel {program.kernel.name} has the index {int(index.array)} of {memory} in dimension {d}, "
                    f"where 0 to {size - 1} are valid: such {access} {effect}. A negative index does not count "
                    f"from the end; the last is {size - 1}",
                )


@functools.lru_cache(maxsize=1024)
def _warn(text: str, file: str, line: int) -> None:
    """Warns of a line of the user's; cached, so that it is done once."""
    warnings.warn_explicit(text, KernelWarning, file, line)
