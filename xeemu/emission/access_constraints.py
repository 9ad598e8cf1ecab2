"""Access constraints: what the other operations of a (sub)program demand of how each memory operation is emitted."""

import dataclasses
from collections.abc import Mapping

from xeemu.emission import (
    hazards,
    invariant_division,
    periodic_gathers,
    stencil_loads,
    update_coalescing,
)
from xeemu.emission.context import Context
from xeemu.emission.hazards import Hazards
from xeemu.emission.periodic_gathers import Remainder
from xeemu.emission.stencil_loads import StencilLoad
from xeemu.emission.update_coalescing import Row
from xeemu.ir import ops
from xeemu.ir.program import Region
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True)
class AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted, which are named by their numbers.

    Attributes:
      hazards: between them.
      joined: updates that may wait for the next one (see `update_coalescing`).
      rows: for an update the updates that are made at once with it (see `update_coalescing`).
      settled: loads of which what they look up is computed for itself (see `invariant_division`).
      neighbours: loads as one of several that are read at once (see `stencil_loads`).
      remainders: for a load by one index that is a remainder, that (see `periodic_gathers`).
    """

    hazards: Hazards = hazards.NONE
    joined: frozenset[int] = frozenset()
    rows: Mapping[int, Row] = dataclasses.field(default_factory=dict)
    settled: frozenset[int] = frozenset()
    neighbours: Mapping[int, StencilLoad] = dataclasses.field(default_factory=dict)
    remainders: Mapping[int, Remainder] = dataclasses.field(default_factory=dict)


def of_body(body: Region, facts: Facts, context: Context) -> AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted."""
    chunk, watches = context.chunk, context.observer.watches
    found = hazards.of_body(body, facts)
    iteration = context.iteration
    at_once = iteration is not None and iteration.at_once
    alone, unwatched = not watches and not at_once, not watches and iteration is None
    careful = {n for n in found.entangled | found.waits.keys() if body.ops[n].name == ops.STORE}
    rows = update_coalescing.rows(body, facts, chunk.deterministic, context.dimensions, careful) if alone else {}
    joined = (
        frozenset() if chunk.target.scatters_in_order else update_coalescing.of_body(body, chunk.deterministic, rows)
    )
    return AccessConstraints(
        hazards=found,
        joined=joined if iteration is None else joined | iteration.scattered,
        rows=rows,
        settled=invariant_division.finding(body, facts, context.dimensions)
        if chunk.many and not watches
        else frozenset(),
        neighbours=stencil_loads.of_body(body, facts, context.dimensions) if unwatched else {},
        remainders=periodic_gathers.of_body(body, facts, context.dimensions) if unwatched else {},
    )
