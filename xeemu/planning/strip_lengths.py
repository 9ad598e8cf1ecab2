"""Strip lengths: how many iterations of a loop are emitted one after the other, as a strip of it.

A loop that only streams, loading slices and computing on them, gains: the slices of several iterations fuse into one
pass over its accumulators (see `strip_mining`). On a CPU so does one that fills a local memory, where it stores next to
each other what several iterations have computed. A loop with other stores, barriers, gathers or inner loops only grows.
"""

from xeemu.ir import control, ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, analysis, strided_patterns
from xeemu.planning.loop_accesses import CountedLoop


def of_loop(loop: CountedLoop) -> int:
    """How many iterations of a loop to emit at a time."""
    body, figures, chunk = loop.body, loop.chunk.target.strips, loop.chunk
    accesses = any(e.name in (ops.LOAD, ops.STORE) for e in body.ops)
    if not (accesses or any(v.shape for v in body.inputs)) or not 0 < len(body.ops) <= figures.largest_body:
        return 1
    others = [n for n, op in enumerate(body.ops) if not _streams(op, loop)]
    most = figures.most_of_fills if others else figures.most_of_many if chunk.amortises_dispatch else figures.most
    if figures.most_branching < most and any(_branches(n, op, loop) for n, op in enumerate(body.ops)):
        most = figures.most_branching
    if chunk.prefers_short_code:
        most = min(most, figures.most_of_left)
    most = min(most, figures.largest_strip // len(body.ops), max(loop.length, 1))
    iterations = evenly(loop.length, most)
    return iterations if all(_is_filled(n, loop, iterations) for n in others) else 1


def _branches(number: int, op: Op, loop: CountedLoop) -> bool:
    """True if a load finds out in each iteration whether it is within bounds."""
    if op.name != ops.LOAD or number in loop.moves:
        return False
    return loop.facts.values[op.results[0]].varying and analysis.doubted(op, loop.facts) > 0


def _streams(op: Op, loop: CountedLoop) -> bool:
    if op.name == ops.LOAD:
        return _is_slice(op, loop)
    if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
        return True
    return op.name not in ops.LANGUAGE and control.of(op) is None


def _is_slice(op: Op, loop: CountedLoop) -> bool:
    """True if a load reads one uniform element, or a strided pattern of them."""
    if not loop.facts.values[op.results[0]].varying:
        return True
    address = addressing.foreseen(op, loop.facts)
    if address.form is None or not address.elements.count:
        return False
    strided = strided_patterns.of_pattern(address.form.pattern)
    return strided is not None and strided.injective


def _is_filled(number: int, loop: CountedLoop, iterations: int) -> bool:
    """True if a store is the only use of a local memory, of which a block of iterations fills one window."""
    op = loop.body.ops[number]
    if op.name != ops.STORE or loop.facts.values[op.results[0]].space != "local" or number not in loop.moving:
        return False
    used = [v for e in loop.body.ops for v in e.used if v is op.operands[0] or v is op.results[0]]
    if len(used) > 1 or op.operands[0] not in loop.body.inputs:
        return False
    return loop.moving[number].filled(iterations) is not None


def evenly(length: int, most: int) -> int:
    """Iterations of a block, so that none are left if possible, for which the body would be emitted once more."""
    return next((n for n in range(most, most // 2, -1) if length % n == 0), most)
