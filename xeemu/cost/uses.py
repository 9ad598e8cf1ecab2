"""Uses: which operations of a body use each of its values."""

import collections
from collections.abc import Mapping, Sequence

from xeemu.ir.program import Constant, Op, Region, Value

Uses = Mapping[Value, list[Op | None]]
"""The operations that use each value, None for the body's own results."""


def of_body(body: Region, carried_out: Sequence[Op]) -> Uses:
    """The uses in a body by those of its operations that are carried out."""
    uses: dict[Value, list[Op | None]] = collections.defaultdict(list)
    for op in (*carried_out, None):
        for value in body.outputs if op is None else op.used:
            if not isinstance(value, Constant):
                uses[value].append(op)
    return uses
