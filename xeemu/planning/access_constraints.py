"""Access constraints: what the other operations of a (sub)program demand of how each memory operation is emitted."""

import dataclasses
from collections.abc import Mapping

from xeemu.ir.program import Region
from xeemu.knowledge.analysis import Facts
from xeemu.planning import divisions, hazards, periodic_gathers, stencil_loads
from xeemu.planning.chunk import Chunk
from xeemu.planning.hazards import Hazards
from xeemu.planning.periodic_gathers import Remainder
from xeemu.planning.stencil_loads import StencilLoad


@dataclasses.dataclass(frozen=True)
class AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted, which are named by their numbers.

    Attributes:
      hazards: between them.
      settled: loads of which what they look up is computed for itself (see `invariant_division`).
      neighbours: loads as one of several that are read at once (see `stencil_loads`).
      remainders: for a load by one index that is a remainder, that (see `periodic_gathers`).
    """

    hazards: Hazards = hazards.NONE
    settled: frozenset[int] = frozenset()
    neighbours: Mapping[int, StencilLoad] = dataclasses.field(default_factory=dict)
    remainders: Mapping[int, Remainder] = dataclasses.field(default_factory=dict)


def of_body(body: Region, facts: Facts, chunk: Chunk, watched: bool, in_loop: bool) -> AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted.

    Args:
      body: the program.
      facts: its analysis.
      chunk: the work-groups.
      watched: whether somebody sees every access.
      in_loop: whether it is an iteration of a loop that is emitted together with others.
    """
    alone = not (watched or in_loop)
    return AccessConstraints(
        hazards=hazards.of_body(body, facts),
        settled=divisions.finding(body, facts) if chunk.many and not watched else frozenset(),
        neighbours=stencil_loads.of_body(body, facts) if alone else {},
        remainders=periodic_gathers.of_body(body, facts) if alone else {},
    )
