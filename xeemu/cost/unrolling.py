"""Unrolling: of which loops compilers carry out several iterations side by side, and of how many.

They do so with loops without barriers whose number of iterations is known as they begin, however they are written:
those that constants or arguments end, and those that each work-item leaves when a counter has reached a number of its
own. Loops that all of them go through up to a number that is computed are taken to be left as they are. Intel's unrolls
those alone whose number of iterations stands in the source, and these as a whole where they are short (IGC, GenTTI
`getUnrollingPreferences`); that of others is taken to come with the arguments, so that each iteration waits for its own
loads.
"""

from collections.abc import Set

import numpy as np

from xeemu.cost.uses import Uses
from xeemu.devices.device import Device
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.access_tree import Node, SyncPoint

UNROLLED = 4
"""Iterations side by side, and loads that are under way at a time, where the device has no figures."""

WRITTEN_OUT = 64
"""Iterations of a loop that is straight code in the end, at most, where the device has no figure: LLVM's threshold is
300 instructions (LoopUnrollPass), of which one with an access takes some five. On an H100 arrays are in registers that
loops of 8 iterations go through, and in memory those of 126 (`scripts/yardstick/times-h100.csv`, fft and sweep)."""

_COMPARISONS = ("lt", "le", "gt", "ge", "ne")
_STEPS = ("add", "sub")
_FOLDED = (*_STEPS, "mul", "shift_left")
# What gives a number that steps through a loop, or does not change in it, of others that do so or do not.
_REGULAR = ("add", "sub", "mul", "broadcast_in_dim", "convert_element_type", "reshape", "squeeze", "expand_dims")


def may_be(loop: Node, device: Device) -> bool:
    """True if a loop, by its body, is unrolled if it has no barrier."""
    if device.longest_unrolled_loop is None:
        return loop.counted or _is_stepped(loop)
    return loop.iterations is not None and loop.iterations <= device.longest_unrolled_loop


def is_written_out(loop: Node, device: Device) -> bool:
    """True of a loop, by its body, of which compilers make straight code, so that its counters are constants.

    The tree is one to which no arguments are known.
    """
    most = WRITTEN_OUT if device.longest_unrolled_loop is None else device.longest_unrolled_loop
    iterations = loop.walked if loop.iterations is None else loop.iterations
    return iterations is not None and iterations <= most


def side_by_side(instructions: float, device: Device) -> int:
    """How many iterations of an unrolled loop are side by side, by the instructions of one."""
    if device.unrolled_loops is None:
        return UNROLLED
    return max((number for most, number in device.unrolled_loops if instructions <= most), default=1)


def loop_of(loop: Node) -> control.Structure | None:
    """The loop that a body is of."""
    return None if loop.parent is None or loop.number is None else control.of(loop.parent.body.ops[loop.number])


def is_parted(node: Node) -> bool:
    """True if a node is the body of a loop that work-items leave apart, so that operations of it tell which go on."""
    return node.kind == "iteration" and bool(node.regions) and isinstance(loop_of(node), control.While)


def synchronises(loop: Node) -> bool:
    """True if work-items meet in a loop."""
    steps = (step for inner in loop.nodes() for step in inner.steps)
    return any(isinstance(step, SyncPoint) and step.op.name in ops.LANGUAGE for step in steps)


def test_of(loop: Node) -> Node:
    """What tells if a loop goes on that is not counted, by its body."""
    assert loop.parent is not None
    steps = (step for step in loop.parent.steps if isinstance(step, Node) and step.number == loop.number)
    return next(step for step in steps if step.kind == "test")


def counting(loop: Node) -> Set[int]:
    """The `id`s of the operations of an unrolled loop that step its counters, and tell of them who goes on.

    In a loop that all work-items go through as often, who does what of an iteration is asked in each.
    """
    regular, made = _regular(loop.body), loop.body.definitions
    masks = (op.operands[0] for op in loop.body.ops if op.name == ops.REGION and op.operands)
    told = map(made.get, masks) if is_parted(loop) else ()
    stepped = (made.get(out) for out in loop.body.outputs if out in regular)
    return {id(op) for op in (*told, *stepped) if op is not None and (op.name in _STEPS or _compares(op, regular))}


def folded(loop: Node, uses: Uses) -> Set[int]:
    """The `id`s of operations that step numbers of an unrolled loop, or scale them, by constants.

    Where nothing else uses what they give, compilers make one step of those of several iterations.

    Args:
      loop: its body.
      uses: the operations of it that are carried out.
    """
    found = set[int]()
    for value, out in zip(loop.body.inputs, loop.body.outputs, strict=False):
        steps = _steps(value, out, loop.body) if np.dtype(value.dtype).kind in "iu" else []
        inside = {None, *steps}
        if all(user in inside for each in (value, *(op.results[0] for op in steps)) for user in uses.of[each]):
            found |= {id(op) for op in steps}
    return found


def _steps(value: Value, out: Value, body: Region) -> list[Op]:
    """The operations that make the next value of a carry of it and of constants; none if it takes others."""
    found: list[Op] = []
    while out is not value:
        op = body.definitions.get(out)
        if op is None or not (op.merges or op.name in _FOLDED):
            return []
        varied = [v for v in op.operands if not isinstance(v, Constant)]
        if op.merges:  # those that have left the loop keep what they have
            varied = [v for v in varied[1:] if v is not value]
        if len(varied) != 1:
            return []
        found.append(op)
        out = varied[0]
    return found


def _is_stepped(loop: Node) -> bool:
    """True if work-items leave a loop apart, each when a counter has reached a number."""
    structure = loop_of(loop)
    if not is_parted(loop) or not isinstance(structure, control.While):
        return False
    regular, compared = _regular(loop.body), structure.predicate
    places = dict(zip(compared.inputs, loop.body.inputs, strict=True))
    given = {value for value, inner in places.items() if inner in regular} | {*compared.captures}
    masks = (op.operands[0] for op in loop.body.ops if op.name == ops.REGION and op.operands)
    left = {loop.body.definitions.get(mask) for mask in masks if not isinstance(mask, Constant)}
    ends = [op for op in compared.ops if op.results[0] in compared.outputs]
    return len(ends) == 1 and _compares(ends[0], given) and all(op and _compares(op, regular) for op in left)


def _compares(op: Op, regular: Set[Value]) -> bool:
    return op.name in _COMPARISONS and all(isinstance(v, Constant) or v in regular for v in op.operands)


def _regular(body: Region) -> Set[Value]:
    """The values of a loop's body that do not change from one iteration to the next, or by a step."""
    made = body.definitions
    fixed = {*body.captures} | {v for v, out in zip(body.inputs, body.outputs, strict=False) if v is out}
    regular = fixed | {
        value
        for value, out in zip(body.inputs, body.outputs, strict=False)
        if (op := made.get(out)) is not None and op.name in _STEPS and op.operands[0] is value
        if np.dtype(value.dtype).kind in "iu" and (isinstance(op.operands[1], Constant) or op.operands[1] in fixed)
    }
    for op in body.ops:
        if op.name in _REGULAR and all(isinstance(v, Constant) or v in regular for v in op.operands):
            regular |= {*op.results}
    return regular
