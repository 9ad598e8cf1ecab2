"""Sizes: whether a kernel that requires no sub-group size is right at each that its device offers.

Which one it is compiled for is the compiler's choice then. At each of the others it is checked as well, and what it
gives is compared.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import Error
from xeemu.faults import execution_wording
from xeemu.faults.findings import ORDER_DEPENDENT, Finding, Findings
from xeemu.ir import ops
from xeemu.ir.program import Op, Region
from xeemu.language import source
from xeemu.language.collectives import SUB_GROUP
from xeemu.language.interface import Retrace
from xeemu.language.program import Program
from xeemu.language.source import Site
from xeemu.launching.options import MOST_WATCHED

Check = Callable[[int], tuple[Any, Findings]]
"""The outputs and the findings of the kernel when it requires a sub-group size; None for outputs that are the same."""

Faults = Mapping[int, Finding | str]
"""By size what is wrong there: an error or a sentence."""


class _Difference(str):
    """That a result is another one, as it may be meant to be where each sub-group gives a part of it."""


_ROUNDING = 2.0**10
"""By so many units in the last place of the largest element sums in another order may differ."""


def others(program: Program, device: Device, found: Findings) -> list[int]:
    """The sizes at which a kernel is checked, too, after the check at the default one has found so much."""
    here, items = program.geometry.sub_group_size, program.geometry.items
    if program.kernel.sub_group_size is not None or found.errors or not _asks(program):
        return []
    # Where only a size leaves a sub-group partial, lanes are absent, which is a matter of its own.
    return [n for n in device.sub_group_sizes if n != here and (not items % n or items % here)]


def faults(sizes: Sequence[int], outputs: Any, found: Findings, check: Check) -> Faults:
    """What is wrong with a kernel at other sizes.

    Args:
      sizes: the others.
      outputs, found: what the check at the default size gave.
      check: checks it at another one.
    """
    each = {size: _fault(size, outputs, found, check) for size in sizes}
    return {size: fault for size, fault in each.items() if fault is not None}


def noted(program: Program, device: Device, sizes: Sequence[int], found: Findings, faults: Faults) -> Findings:
    """The findings of a check at the default size, and perhaps a note that the kernel is right at some sizes only."""
    if not faults:
        return found
    right = sorted(size for size in (program.geometry.sub_group_size, *sizes) if size not in faults)
    errors = [fault for fault in faults.values() if isinstance(fault, Finding)]
    sites, memory = (errors[0].sites, errors[0].memory) if errors else ((_site(program),), "")
    texts = {size: _head(fault) if isinstance(fault, Finding) else fault for size, fault in faults.items()}
    differ = all(isinstance(fault, _Difference) for fault in faults.values())
    note = execution_wording.sub_group_size(sites, memory, right, texts, device.name, program.kernel.dialect, differ)
    return Findings([*found, note], found.proved, found.watched)


@functools.lru_cache(maxsize=MOST_WATCHED)
def _asks(program: Program) -> bool:
    """True if a kernel uses its sub-groups."""
    return program.sub_groups or next(_uses(program), None) is not None


def _uses(program: Program) -> Iterator[Op]:
    """The operations of a program that are a sub-group's."""
    return (op for op in program.body.walk() if _is_sub_groups(op))


def _is_sub_groups(op: Op) -> bool:
    if op.name == ops.COLLECTIVE:
        return bool(op.attributes["collective"].level == SUB_GROUP)
    if op.name == ops.BARRIER:
        return bool(op.attributes["level"] == SUB_GROUP)
    return op.name in ops.ACCESSES and bool(op.attributes["access"].block)


def _site(program: Program) -> Site:
    first = next(_uses(program), None)
    return source.of_function(program.kernel.function.__code__) if first is None else source.of_op(first)


def _head(error: Finding) -> str:
    """The first line of an error's message."""
    return str(error).partition("\n")[0].removeprefix("error: ")


def _fault(size: int, outputs: Any, found: Findings, check: Check) -> Finding | str | None:
    """What is wrong at a size, an error or a sentence; None if nothing is."""
    try:
        others, findings_there = check(size)
    except Retrace:
        raise
    except Error as error:
        return str(error).partition("\n")[0]
    except Exception as error:  # what the kernel's own lines raise, such as an assertion of the size
        return f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0]
    if findings_there.errors:
        return findings_there.errors[0]
    ordered = all(f.kind != ORDER_DEPENDENT for f in (*found, *findings_there))
    return None if others is None else _difference(outputs, others, ordered)


def is_ordered(program: Program) -> bool:
    """True if it uses old values of atomic operations, which differ with the order of work-items."""
    return _is_ordered(program.body)


def _is_ordered(region: Region) -> bool:
    return any(_tells_order(op, region) or any(map(_is_ordered, op.regions)) for op in region.ops)


def _tells_order(op: Op, region: Region) -> bool:
    """True of an atomic operation whose old value is used, or that leaves another one in each order."""
    if op.name != ops.ATOMIC or not op.attributes["fetch"] or not ops.changes(op):
        return False
    return region.uses[op.results[0]] > 0 or ops.operation(op) not in ops.COMBINING


def _difference(here: Any, there: Any, ordered: bool) -> str | None:
    """Where two results differ by more than rounding; floats only where their order is certain."""
    for number, (a, b) in enumerate(zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True)):
        differs = _differs(np.asarray(a), np.asarray(b), ordered)
        if differs.any():
            at = np.unravel_index(np.argmax(differs), differs.shape)
            element = f"element [{', '.join(map(str, at))}] of result {number}"
            return _Difference(f"another result, {np.asarray(b)[at]} for {np.asarray(a)[at]} in {element}")
    return None


def _differs(a: np.ndarray, b: np.ndarray, ordered: bool) -> np.ndarray:
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return a != b
    if not ordered:
        return np.zeros(a.shape, bool)
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(x[np.isfinite(x)])
    allowed = _ROUNDING * float(jnp.finfo(a.dtype).eps) * float(finite.max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = (np.abs(x - y) <= allowed) | (x == y) | (np.isnan(x) & np.isnan(y))
    return ~near
