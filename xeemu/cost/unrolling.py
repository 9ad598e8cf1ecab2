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


def _iterations(loop: Node) -> int:
    """How many iterations a counted loop has."""
    assert loop.parent is not None
    assert loop.number is not None
    scan = control.of(loop.parent.body.ops[loop.number])
    assert isinstance(scan, control.Scan)
    return scan.length
