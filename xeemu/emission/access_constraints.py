"""Access constraints: what the other operations of a (sub)program demand of how each memory operation is emitted."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from xeemu.emission import (
    hazards,
    invariant_division,
    periodic_gathers,
    stencil_loads,
    update_coalescing,
)
from xeemu.emission.context import Context
from xeemu.emission.hazards import Hazards
from xeemu.emission.items import Item, as_value
from xeemu.emission.periodic_gathers import Remainder
from xeemu.emission.stencil_loads import StencilLoad
from xeemu.emission.update_coalescing import Row
from xeemu.emission.values import Emitted
from xeemu.ir import ops
from xeemu.ir.program import Region, Value
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True)
class AccessConstraints:
    """How a memory operation has to be emitted.

    Attributes:
      gathered: whether a load must be a gather (see `hazards`).
      scattered: whether a store must not be a slice (see `hazards`).
      joined: whether an update may wait for the next one (see `update_coalescing`).
      row: the updates that are made at once with it, if there are some (see `update_coalescing`).
      before: what must be computed before it (see `hazards`).
      settled: whether what a load looks up is computed for itself (see `invariant_division`).
      entangled: whether an update uses what was loaded from other places of the memory (see `hazards`).
      neighbour: a load as one of several that are read at once, if it is (see `stencil_loads`).
      remainder: that of a load's only index, if it is one, with the dividend (see `periodic_gathers`).
    """

    gathered: bool = False
    scattered: bool = False
    joined: bool = False
    row: Row | None = None
    before: Sequence[Item] = ()
    settled: bool = False
    entangled: bool = False
    neighbour: StencilLoad | None = None
    remainder: tuple[Remainder, Emitted] | None = None


@dataclasses.dataclass(frozen=True)
class BodyConstraints:
    """Those of all memory operations of a (sub)program, by their numbers; attributes as in `AccessConstraints`."""

    hazards: Hazards
    joined: frozenset[int]
    rows: Mapping[int, Row]
    settled: frozenset[int]
    neighbours: Mapping[int, StencilLoad]
    remainders: Mapping[int, Remainder]

    def of(self, number: int, read: Callable[[Value], Item]) -> AccessConstraints:
        """That of one of them; `read` gives the item that an operand stands for."""
        before = [read(v) for v in self.hazards.waits.get(number, ())]
        remainder = self.remainders.get(number)
        return AccessConstraints(
            gathered=number in self.hazards.gathered,
            scattered=number in self.hazards.scattered,
            joined=number in self.joined,
            row=self.rows.get(number),
            before=before,
            settled=number in self.settled,
            entangled=number in self.hazards.entangled,
            neighbour=self.neighbours.get(number),
            remainder=None if remainder is None else (remainder, as_value(read(remainder.dividend))),
        )


def of_body(body: Region, facts: Facts, context: Context) -> BodyConstraints:
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
    return BodyConstraints(
        hazards=found,
        joined=joined if iteration is None else joined | iteration.scattered,
        rows=rows,
        settled=invariant_division.finding(body, facts, context.dimensions)
        if chunk.many and not watches
        else frozenset(),
        neighbours=stencil_loads.of_body(body, facts, context.dimensions) if unwatched else {},
        remainders=periodic_gathers.of_body(body, facts, context.dimensions) if unwatched else {},
    )
