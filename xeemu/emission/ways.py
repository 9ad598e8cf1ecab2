"""Ways: how each memory operation of a (sub)program has to be emitted, for the sake of the others beside it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from xeemu.emission import accumulation, dividing, forwarding, guarding, hazards, joining, neighbours
from xeemu.emission.accumulation import Sum
from xeemu.emission.context import Context
from xeemu.emission.hazards import Hazards
from xeemu.emission.items import Item, as_value
from xeemu.emission.joining import Row
from xeemu.emission.neighbours import Neighbour
from xeemu.emission.values import Emitted
from xeemu.ir import ops
from xeemu.ir.program import Region, Value
from xeemu.knowledge.analysis import Plan


@dataclasses.dataclass(frozen=True)
class Way:
    """How a memory operation has to be emitted.

    Attributes:
      forwarded: whether a load may take what was stored (see `forwarding`).
      guarded: whether its mask keeps it within bounds and does nothing else (see `guarding`).
      gathered: whether a load must be a gather (see `hazards`).
      scattered: whether a store must not be a slice (see `hazards`).
      joined: whether an update may wait for the next one (see `joining`).
      row: the updates that are made at once with it, if there are some (see `joining`).
      before: what must be computed before it (see `hazards`).
      settled: whether what a load looks up is computed for itself (see `dividing`).
      update: for a store that updates what is there the operation and what it adds (see `accumulation`).
      entangled: whether an update uses what was loaded from other places of the memory (see `hazards`).
      neighbour: a load as one of several that are read at once, if it is (see `neighbours`).
      apart: whether what a mask leaves out of a load is computed apart (see `hazards`).
    """

    forwarded: bool = False
    guarded: bool = False
    gathered: bool = False
    scattered: bool = False
    joined: bool = False
    row: Row | None = None
    before: Sequence[Item] = ()
    settled: bool = False
    update: tuple[str, Emitted] | None = None
    entangled: bool = False
    neighbour: Neighbour | None = None
    apart: bool = False


@dataclasses.dataclass(frozen=True)
class Ways:
    """The same of all memory operations of a (sub)program, by their numbers; the attributes are those of `Way`."""

    hazards: Hazards
    forwarded: frozenset[int]
    guarded: frozenset[int]
    joined: frozenset[int]
    rows: Mapping[int, Row]
    settled: frozenset[int]
    sums: Mapping[int, Sum]
    neighbours: Mapping[int, Neighbour]

    def of(self, number: int, read: Callable[[Value], Item]) -> Way:
        """That of one of them; `read` gives the item that an operand stands for."""
        before = [read(v) for v in self.hazards.waits.get(number, ())]
        added = self.sums.get(number)
        return Way(
            forwarded=number in self.forwarded,
            guarded=number in self.guarded,
            gathered=number in self.hazards.gathered,
            scattered=number in self.hazards.scattered,
            joined=number in self.joined,
            row=self.rows.get(number),
            before=before,
            settled=number in self.settled,
            update=None if added is None else (added.op, as_value(read(added.added))),
            entangled=number in self.hazards.entangled,
            neighbour=self.neighbours.get(number),
            apart=number in self.hazards.rewritten,
        )


def of_body(body: Region, plan: Plan, context: Context) -> Ways:
    """How the memory operations of a (sub)program have to be emitted."""
    chunk, watches = context.chunk, context.observer.watches
    found = hazards.of_body(body, plan)
    alone = not watches and not context.waiting and context.together is None
    careful = {n for n in found.entangled | found.waits.keys() if body.ops[n].name == ops.STORE}
    rows = joining.rows(body, plan, chunk.deterministic, context.dimensions, careful) if alone else {}
    joined = frozenset() if chunk.target.scatters_in_order else joining.of_body(body, chunk.deterministic, rows)
    guarded = frozenset() if watches else guarding.of_body(body, plan, context.dimensions)
    among = alone and context.block is None
    return Ways(
        hazards=found,
        forwarded=forwarding.of_body(body, plan, chunk.geometry),
        guarded=guarded,
        joined=joined | context.waiting,
        rows=rows,
        settled=dividing.finding(body, plan, context.dimensions) if chunk.many and not watches else frozenset(),
        sums={} if watches else accumulation.of_body(body, plan, chunk.geometry.items, found.scattered),
        neighbours=neighbours.of_body(body, plan, context.dimensions, guarded) if among else {},
    )
