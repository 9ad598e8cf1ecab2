"""Unrolling: of which loops compilers carry out several iterations side by side.

They do so with counted loops without barriers. Intel's unrolls those alone whose number of iterations stands in the
source, and these as a whole where they are short (IGC, GenTTI `getUnrollingPreferences`); that of others is taken to
come with the arguments, so that each iteration waits for its own loads.
"""

from xeemu.devices.device import Device
from xeemu.ir import control
from xeemu.knowledge.access_tree import Node

UNROLLED = 4
"""Iterations side by side, and loads that are under way at a time."""


def may_be(loop: Node, device: Device) -> bool:
    """Whether a loop, by its body, is unrolled if it has no barrier."""
    if loop.kind != "iteration" or not loop.counted:
        return False
    return device.longest_unrolled_loop is None or _iterations(loop) <= device.longest_unrolled_loop


def is_parted(node: Node) -> bool:
    """Whether a node is the body of a loop that work-items leave apart, so that operations of it tell which go on."""
    if node.kind != "iteration" or not node.regions or node.parent is None or node.number is None:
        return False
    return isinstance(control.of(node.parent.body.ops[node.number]), control.While)


def test_of(loop: Node) -> Node:
    """What tells if a loop goes on that is not counted, by its body."""
    assert loop.parent is not None
    steps = (step for step in loop.parent.steps if isinstance(step, Node) and step.number == loop.number)
    return next(step for step in steps if step.kind == "test")


def _iterations(loop: Node) -> int:
    """How many iterations a counted loop has."""
    assert loop.parent is not None
    assert loop.number is not None
    scan = control.of(loop.parent.body.ops[loop.number])
    assert isinstance(scan, control.Scan)
    return scan.length
