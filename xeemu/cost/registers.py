"""Registers: the bytes of values that a work-item of a program keeps at once, as if every operation made a new one."""

import math
from typing import Any

from xeemu.ir.program import Constant, Region, Value
from xeemu.knowledge.analysis import Facts
from xeemu.language.geometry import Geometry


def live_bytes(body: Region, facts: Facts, geometry: Geometry) -> int:
    """The most bytes of a work-item that are alive at once; constants and what a work-group shares take none."""
    last_use = {a: n for n, op in enumerate(body.ops) for a in op.used if not isinstance(a, Constant)}
    last_use |= {a: len(body.ops) for a in body.outputs if not isinstance(a, Constant)}
    alive: dict[Any, int] = {v: _bytes(v, facts, geometry) for v in body.taken if v in last_use}
    most = sum(alive.values())
    for number, op in enumerate(body.ops):
        pairs = facts.within(number, op)
        inner = max((live_bytes(b, p, geometry) for b, p in pairs), default=0)
        given = sum(_bytes(a, facts, geometry) for a in {v for v in op.used if not isinstance(v, Constant)})
        # What goes into a loop or branch is alive outside and inside, but there once.
        most = max(most, sum(alive.values()) + max(0, inner - given))
        alive |= {v: _bytes(v, facts, geometry) for v in op.results}
        # The result of an operation may take the place of an operand that nothing else needs.
        alive = {v: size for v, size in alive.items() if last_use.get(v, -1) > number}
        most = max(most, sum(alive.values()))
    return most


def _bytes(value: Value, facts: Facts, geometry: Geometry) -> int:
    known = facts.values[value]
    rank = len(geometry.local_range)
    per_item = value.shape[:rank] == geometry.local_range
    if known.space or not per_item or (known.form is not None and known.form.constant):
        return 0
    # The elements of an address with a lane form lie at fixed distances from the first.
    elements = 1 if known.form is not None else math.prod(value.shape[rank:])
    return int(elements * value.dtype.itemsize)
