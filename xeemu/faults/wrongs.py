"""Wrongs: operations that are no accesses and went wrong, as findings; one for each line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from xeemu.faults import access_wording, execution_wording
from xeemu.faults.findings import Finding, WorkItem
from xeemu.faults.following import Following, Wrong
from xeemu.faults.ranges import operation
from xeemu.faults.uses import Element, ExampleAccess
from xeemu.ir.program import Op
from xeemu.knowledge.access_tree import Key
from xeemu.language import source
from xeemu.language.dialect import Dialect
from xeemu.language.source import Site

_SIGNS: Mapping[str, str] = {
    "div": "/", "rem": "%", "shift_left": "<<", "shift_right_arithmetic": ">>", "shift_right_logical": ">>",
    "add": "+", "sub": "-", "mul": "*",
}  # fmt: skip


class Naming(Protocol):
    """Who and where, in a launch."""

    def item(self, group: int, item: int) -> WorkItem:
        """The work-item of two linear ids."""

    def use(self, key: Key, element: int, item: WorkItem) -> tuple[ExampleAccess, Element]:
        """What an access does, and to which element of its memory."""

    def callers(self, ops: Iterable[Op]) -> tuple[str, ...]:
        """What is said of the calls that lead to some operations."""


def findings_of(
    following: Following, counts: np.ndarray, examples: np.ndarray, naming: Naming, dialect: Dialect
) -> Iterator[Finding]:
    """The findings of what was followed.

    Args:
      following: what was.
      counts, examples: what the run has left of it, see `Following.zeros`.
      naming: tells who and where.
      dialect: the language of advice.
    """
    seen: dict[Site, tuple[int, Op, Wrong]] = {}
    for op, count, vector in zip(following.paths.sources.values(), counts, examples, strict=True):
        if count:
            site = source.of_op(op)
            before, first, example = seen.get(site, (0, op, Wrong(*vector.tolist())))
            seen[site] = before + int(count), first, example
    for site, (count, op, example) in seen.items():
        item, calls = naming.item(example.group, example.item), naming.callers([op])
        if following.rule.decides:
            yield execution_wording.undefined_arithmetic(
                site, *_undefined(op, example, dialect), item, count, dialect, calls
            )
        else:
            use, element = naming.use(following.accesses[example.access - 1], example.element, item)
            yield access_wording.wrapped_index(site, *_wrapped(op, example, dialect), element, use, count, calls)


def _undefined(op: Op, example: Wrong, dialect: Dialect) -> tuple[str, str]:
    """An operation with its values and why it is undefined; and an expression that is not."""
    name, dtype = operation(op), op.results[0].dtype
    assert name is not None
    sign, (a, b) = _SIGNS[name], _operands(op, example)
    if name.startswith("shift"):
        what = f"a shift of {dtype} by {'less than 0' if b < 0 else 'its width or more'}"
        return f"{a} {sign} {b} is {what}", dialect.shift.format(bits=8 * dtype.itemsize, sign=sign)
    if b == 0:
        remedy = dialect.quotient if name == "div" else dialect.remainder
        return f"{a} {sign} 0 is a {'division' if name == 'div' else 'remainder of a division'} by zero", remedy
    return f"{a} {sign} {b} needs a quotient that {dtype} does not hold", dialect.large


def _wrapped(op: Op, example: Wrong, dialect: Dialect) -> tuple[str, str]:
    """An operation with its values, what it gives and what it should; and what to write instead."""
    name, dtype = str(op.name), op.results[0].dtype
    a, b = _operands(op, example)
    exact = {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "abs": abs(a)}.get(name, a)
    given = int(np.array(exact % 2 ** (8 * dtype.itemsize), np.uint64).astype(f"u{dtype.itemsize}").view(dtype))
    wider = dialect.wider if dtype.itemsize >= 4 else "int32"
    advice = f"Convert the operands to a wider type first ({wider}), or see that they are never so large."
    if name == "convert_element_type":
        return (
            f"{a} as {dtype} is {given}",
            f"Keep the type {op.operands[0].dtype}, or see that it is never so large.",
        )
    what = f"{a} {_SIGNS[name]} {b}" if name in _SIGNS else f"{name}({a})"
    return f"{what} is {given} in {dtype}, and should be {exact}", advice


def _operands(op: Op, example: Wrong) -> list[int]:
    """The operands of an example in their own types; of an operation on one, twice the same."""
    dtypes: list[Any] = [op.operands[0].dtype, op.operands[-1].dtype]
    return [int(np.int64(x).astype(t)) for x, t in zip((example.first, example.second), dtypes, strict=True)]
