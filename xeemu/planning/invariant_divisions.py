"""Invariant divisions: many integers by one that is known only when the program runs, which may be multiplications."""

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, forms
from xeemu.knowledge.analysis import Facts


def applies(op: Op, facts: Facts) -> bool:
    """True if an operation is such a division: of many numbers by the same for all groups and work-items.

    Args:
      op: the operation.
      facts: what is known of its operands.
    """
    if op.name not in ("div", "rem") or op.results[0].dtype not in (np.int32, np.uint32):
        return False
    shape, (dividend, divisor) = op.results[0].shape, (facts.value(a) for a in op.used)
    if op.operands[0].shape != shape or not (shape or dividend.varying) or divisor.varying:
        return False
    return divisor.form is not None and divisor.form.based and forms.single(divisor.form.pattern) is not None


def divides_index(load: Op, facts: Facts) -> bool:
    """True if the elements of a load are found by such a division.

    XLA's gathers compute addresses element by element, and such a division is some twenty operations (2-core EPYC: a
    table that 4 Mi work-items look up takes 1.9 times as long so, with JAX 0.10.2 and 0.11.2).
    """
    if addressing.is_formed(load, facts):
        return False
    return any(applies(facts.body.ops[number], facts) for number in facts.body.needed(ops.indices(load)))
