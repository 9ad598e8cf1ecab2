"""Dead code elimination: operations go whose results nobody uses."""

import dataclasses

from xeemu.devices.target import Target
from xeemu.ir.program import Op, Region
from xeemu.language.program import Program
from xeemu.passes.facts import Facts


def eliminate_dead_code(program: Program, facts: Facts, target: Target) -> Program:
    """A program without them, and without the marks of who is active, which only observers ask for.

    An update of a memory is dead if nobody uses its next version. A loop that tests a predicate stays, because it may
    go on for ever, which a launch tells.
    """
    return dataclasses.replace(program, body=_live(program.body))


def _live(region: Region) -> Region:
    needed, kept = set(region.outputs), list[Op]()
    for op in reversed(region.ops):
        if needed.isdisjoint(op.results) and not _acts(op):
            continue
        live = _with_live_regions(op)
        kept.append(live)
        needed.update(live.used)
    ops = tuple(reversed(kept))
    return region if ops == region.ops else dataclasses.replace(region, ops=ops)


def _with_live_regions(op: Op) -> Op:
    regions = tuple(map(_live, op.regions))
    return op if regions == op.regions else dataclasses.replace(op, regions=regions, apply=None)


def _acts(op: Op) -> bool:
    """Whether an operation does more than give its results."""
    inner = (other for region in op.regions for other in region.walk())
    return any(other.has_effects or other.name == "while" for other in (op, *inner))
