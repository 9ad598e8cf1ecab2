"""Recurrences: loops whose iterations need what an iteration before has computed, so that no others can do them.

What only adds up, or is stored without having been loaded, is no recurrence: the parts can be put together later.
"""

import functools
from collections.abc import Mapping, Sequence

from xeemu.ir import control, ops
from xeemu.ir.control import While
from xeemu.ir.program import Op, Region, Value

# Operations whose order does not matter, so that parts of a long chain can be computed apart.
_ASSOCIATIVE: Mapping[str, str] = {
    **{name: name for name in ("add", "mul", "max", "min", "and", "or", "xor")},
    "sub": "add",  # of what is taken away
}

Needs = Mapping[Value, frozenset[int]]
"""The carries of a loop that each value of its body is computed from."""


@functools.lru_cache(maxsize=256)
def is_recurrent(loop: Op) -> bool:
    """True if an iteration of a loop needs what the one before has computed. Of loops inside it, it is taken that all
    that they give needs all that they are given."""
    structure, body = control.of(loop), loop.regions[-1]
    carried = control.carried(structure, body)
    needs = _needs(body, carried)
    gives = {op.results[k]: op for op in body.ops for k in range(len(op.results))}
    edges = [
        _step(out, into, k, needs, gives) for k, (into, out) in enumerate(zip(carried, body.outputs, strict=False))
    ]
    if isinstance(structure, While):
        predicate = structure.predicate
        of_inputs = _needs(predicate, predicate.inputs)
        counters = {k for k, found in enumerate(edges) if not found}
        tested = frozenset().union(*(_of(v, of_inputs) for v in predicate.outputs)) - counters
        edges = [found | tested for found in edges]
    return any(k in _closure(k, edges) for k in range(len(edges)))


def _needs(body: Region, carried: Sequence[Value]) -> Needs:
    needs: dict[Value, frozenset[int]] = {value: frozenset((k,)) for k, value in enumerate(carried)}
    for op in body.ops:
        every = frozenset().union(*(_of(value, needs) for value in op.used))
        for value in op.results:
            before = _before(op, value)
            needs[value] = every if before is None else _of(before, needs) | _given(op, needs)
    return needs


def _of(value: Value, needs: Needs) -> frozenset[int]:
    return needs.get(value, frozenset())


def _before(op: Op, result: Value) -> Value | None:
    """The version of a memory that an operation of the language makes the next one of; None of other results."""
    if op.name in ops.ORDERING:
        return op.operands[op.results.index(result)]
    changed = op.name in ops.ACCESSES and ops.changes(op) and result is op.results[-1]
    return op.operands[0] if changed else None


def _given(op: Op, needs: Needs) -> frozenset[int]:
    """What is computed from the values that an access puts into a memory, and where; nothing at a barrier."""
    if op.name not in ops.ACCESSES:
        return frozenset()
    return frozenset().union(*(_of(value, needs) for value in op.operands[1:]))


def _step(
    out: Value, into: Value, carry: int, needs: Needs, gives: Mapping[Value, Op], kind: str = ""
) -> frozenset[int]:
    """The carries that the next value of one is computed from, but for its own value that parts are added to.

    Args:
      out, into: its next value, or a part of that, and its value.
      carry: its number.
      needs: what the values of the body are computed from.
      gives: the operations that they come from.
      kind: of the operation that puts the parts together; empty where there was none yet.
    """
    op = gives.get(out)
    if out is into or op is None:
        return frozenset() if out is into else _of(out, needs)
    before = _before(op, out)
    if before is not None:
        return _given(op, needs) | _step(before, into, carry, needs, gives)
    chained = [value for value in op.operands if carry in _of(value, needs)]
    how = _ASSOCIATIVE.get(op.name)
    if how is None or kind not in ("", how) or len(chained) != 1 or (op.name == "sub" and chained[0] is op.operands[1]):
        return _of(out, needs)
    others = (_of(value, needs) for value in op.operands if value is not chained[0])
    return frozenset().union(*others, _step(chained[0], into, carry, needs, gives, how))


def _closure(start: int, edges: Sequence[frozenset[int]]) -> set[int]:
    """All that a carry is computed from, over any number of iterations."""
    found: set[int] = set()
    new = set(edges[start])
    while new:
        found |= new
        new = set().union(*(edges[k] for k in new if k < len(edges))) - found
    return found
