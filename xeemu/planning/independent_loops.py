"""Independent loops: loops whose iterations update elements of their own, or all the same ones in any order.

No iteration needs what another one has updated. So all the iterations of a block find together what they update with,
and each memory is updated once for all of them, in one window, see `batched_loops`.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.planning.loop_accesses import CountedLoop, MovingAccess
from xeemu.planning.windows import Window


@dataclasses.dataclass(frozen=True)
class IndependentUpdate:
    """A memory that each iteration updates at an address of its own.

    Attributes:
      number: of the operation that does.
    """

    number: int


def of_carries(loop: CountedLoop) -> Mapping[int, IndependentUpdate]:
    """The updates of memories that a loop carries, by the carries, as far as iterations have nothing to do there."""
    body = loop.body
    found = {k: _update(body, body.inputs[k], body.outputs[k], loop.moves) for k in range(loop.scan.carries)}
    return {k: IndependentUpdate(number) for k, number in found.items() if number is not None}


def _update(body: Region, memory: Value, result: Value, moves: Mapping[int, int]) -> int | None:
    """The number of the only operation that updates a memory of a loop's body, if iterations have nothing to do there.

    Args:
      body: the loop's.
      memory, result: the memory before and after an iteration.
      moves: see `of_loop`.
    """
    users = [n for n, op in enumerate(body.ops) if any(a is memory for a in op.used)]
    updates = [n for n in users if result in body.ops[n].results and _is_spread(body.ops[n], moves.get(n))]
    if len(updates) != 1 or body.uses[result] > 1:
        return None
    index = ops.indices(body.ops[updates[0]])
    others = [body.ops[n] for n in users if n != updates[0]]
    # An iteration may use what it updates before it does so, unless that is what the others update too.
    own = all(e.name == ops.LOAD and _is_same_index(ops.indices(e), index) for e in others)
    return updates[0] if not others or (own and moves[updates[0]]) else None


def _is_same_index(index: Sequence[Value], other: Sequence[Value]) -> bool:
    """True if two indices are surely the same."""
    return len(index) == len(other) and all(a is b for a, b in zip(index, other, strict=True))


def _is_spread(op: Op, move: int | None) -> bool:
    """True if iterations update elements of their own, or the same by an operation whose order does not count."""
    if op.name == ops.STORE:
        return bool(move)
    combines = op.name == ops.ATOMIC and ops.operation(op) in ops.COMBINING
    return combines and not op.attributes["fetch"] and move is not None


def window(access: MovingAccess, iterations: int) -> Window | None:
    """The window in which updates of so many iterations are made; None if there is none, or if their order counts."""
    operation, first, chunk = ops.operation(access.op), access.reference, access.chunk
    if not access.proved:
        return None
    rounds = chunk.deterministic and ops.rounds(first.storage.dtype, operation)
    if operation != "store" and (operation not in ops.COMBINING or rounds):
        return None
    found = access.window(iterations)
    if found is None or not found.dense:
        return None
    if operation != "store":
        return found.combining(first.storage.dtype, chunk.target.reductions)
    return found if access.move and found.writable(first.masked) else None
