"""Invariant divisions: many integers by one that is known only when the program runs, which may be multiplications."""

import numpy as np

from xeemu.ir.program import Op
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Facts


def applies(op: Op, facts: Facts) -> bool:
    """Whether an operation is such a division: of many numbers by the same for all groups and work-items.

    Args:
      op: the operation.
      facts: what is known of its operands.
    """
    if op.name not in ("div", "rem") or op.results[0].dtype not in (np.int32, np.uint32):
        return False
    shape, (many, divisor) = op.results[0].shape, (facts.value(a) for a in op.used)
    if op.operands[0].shape != shape or not (shape or many.varying) or divisor.varying:
        return False
    return divisor.form is not None and divisor.form.based and forms.single(divisor.form.pattern) is not None
