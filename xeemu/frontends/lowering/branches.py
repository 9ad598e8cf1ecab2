"""Branches: an `if` that a whole work-group takes or leaves, as JAX's, so that groups are spared what they do not do.

Where little would be spared, an `if` is carried out under a mask, whether its condition is one for the group or not.
"""

import numpy as np
from jax import lax

from xeemu.frontends import types
from xeemu.frontends.lowering import carrying, effects
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Break, Call, Continue, If, Loop, Return, Statement, Switch
from xeemu.frontends.values import Data


def is_worthwhile(walk: Walk, node: If, condition: Data) -> bool:
    """True if an `if` is one of the group: of a side that loops or synchronises, and that nobody jumps out of."""
    if condition.ndim or isinstance(condition, np.generic):
        return False
    sides = [side for side in (node.then, node.otherwise) if side is not None]
    if not any(map(_is_long, sides)) or any(map(_jumps, sides)):
        return False
    # A pointer that has got another memory on one side alone is two pointers.
    return not any(isinstance(v.type, types.Pointer) for side in sides for v in effects.of(side).assigned)


def _is_long(node: Statement) -> bool:
    return effects.of(node).synchronises or any(
        isinstance(part, Loop)
        or (isinstance(part, Call) and part.function is not None and _is_long(part.function.body))
        for part in effects.nodes(node)
    )


def _jumps(node: object, loop: bool = False, switch: bool = False) -> bool:
    """True if somebody may leave a statement by a jump; `loop` and `switch` tell what is around, within it."""
    match node:
        case Return():
            return True
        case Break():
            return not loop and not switch
        case Continue():
            return not loop
    inner = loop or isinstance(node, Loop), switch or isinstance(node, Switch)
    return any(_jumps(child, *inner) for child in effects.children(node))


def execute(walk: Walk, node: If, condition: Data) -> None:
    """Carries out an `if` whose condition is one for the group."""
    sides = (node.then, node.otherwise)

    def once(k: Data) -> None:
        side = sides[int(k)]
        if side is not None:
            walk.execute(side)

    def run(body: carrying.Run, init: carrying.Carry) -> carrying.Carry:
        then, otherwise = (lambda carry, k=k: body(np.int32(k), carry) for k in range(2))
        return lax.cond(condition, then, otherwise, init)

    changed = effects.of(node.then)
    carrying.carried(walk, node, changed if node.otherwise is None else changed | effects.of(node.otherwise), once, run)
