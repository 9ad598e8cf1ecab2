"""Demanded words: the 32-bit words of each value of a program that something needs, by which integers cost."""

from collections.abc import Iterator, Set
from typing import Any

import jax.numpy as jnp

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import intervals
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts


def needed(facts: Facts, unused: Set[Key] = frozenset()) -> dict[Any, int]:
    """How many 32-bit words of each value of a body are needed; of what leaves it or goes into a loop, all.

    What is not there is not needed. The high word of what is known to fit the low one is no work.

    Args:
      facts: what is known of it.
      unused: loads that are not made.
    """
    found: dict[Any, int] = {}

    def need(value: Value, words: int) -> None:
        if not isinstance(value, Constant):
            narrow = intervals.within(facts.values[value].interval, (-(2**31), 2**32 - 1))
            found[value] = max(found.get(value, 0), min(words, 1 if narrow else of_dtype(value.dtype)))

    for value in facts.body.outputs:
        need(value, 2)
    for number in range(len(facts.body.ops) - 1, -1, -1):
        op = facts.body.ops[number]
        result = max([found.get(v, 0) for v in op.results], default=0)
        if (facts, number) not in unused and (result or _has_effects(op)):
            for value, words in _operand_words(op, facts, result):
                need(value, words)
            for value in op.captures:
                need(value, 2)
    return found


def _operand_words(op: Op, facts: Facts, result: int) -> Iterator[tuple[Value, int]]:
    """The operands that an operation needs, and how many words of each if `result` words of its result are needed."""
    name, operands = op.name, list(op.operands)
    chosen = constant(operands[0], facts) if name == "select_n" else None
    if chosen is not None:
        operands = [operands[1 + min(max(chosen, 0), len(operands) - 2)]]
    for value in operands:
        if ops.of(op).low_word or chosen is not None:
            yield value, result
        elif name == "convert_element_type":
            yield value, of_dtype(op.results[0].dtype)
        elif name == "and" and any(_is_low(a, facts) for a in operands):
            yield value, 1
        else:
            yield value, 2


def of_dtype(dtype: Any) -> int:
    return 2 if dtype.itemsize == 8 and jnp.issubdtype(dtype, jnp.integer) else 1


def _is_low(value: Value, facts: Facts) -> bool:
    """True if a constant mask keeps bits of the low word alone."""
    mask = constant(value, facts)
    return mask is not None and 0 <= mask < 2**32


def constant(value: Value, facts: Facts) -> int | None:
    """The integer that a value always is; None if there is no such one."""
    interval = intervals.of_array(value.array) if isinstance(value, Constant) else facts.values[value].interval
    return interval[0] if interval is not None and interval[0] == interval[1] else None


def _has_effects(op: Op) -> bool:
    return op.name in ops.LANGUAGE or control.of(op) is not None
