"""Census: what follows of a launch's costs from its sizes alone: executions, and what known accesses cost.

An access is known if its index, its mask and the executions of its node are, and if a moderate number of points stands
for all of them. All other accesses are counted as the kernel runs (`counting`); the figures are the same either way.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xeemu.cost import (
    amounts,
    array_registers,
    instructions,
    liveness,
    load_batches,
    repeated_loads,
    requests,
    tallies,
    vector_elements,
)
from xeemu.cost.costs import Meter
from xeemu.cost.counter import Count, Counter, Issued, all_active, has_geometry
from xeemu.cost.load_batches import LoadBatches
from xeemu.cost.repeated_loads import RepeatedLoads
from xeemu.cost.vectors import Vector
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import AccessSite, AccessTree, Key, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.expressions import Expression
from xeemu.knowledge.periodicity import Box
from xeemu.language import source
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.source import Site


class OperationShare(NamedTuple):
    """Which share an operation has of the figures of its place: as it counts, or as much as all others."""

    requests: float = 1.0
    sectors: float = 1.0
    passes: float = 1.0
    l1_passes: float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Census:
    """What is known before a run.

    A call path is named by its facts.

    Attributes:
      tree: the program.
      device: the modelled device.
      in_registers: private memories that are only indexed by constants, also to a compiler that has written out loops,
        so that they need no memory.
      operations: the other memory operations, by their key, without loads that no compiler issues: those that nobody
        uses and those that are repeated; several of a loop that was walked iteration by iteration.
      repeated: these; what a run counts obeys it too.
      vectors: for each of them the vectors that it is made up of.
      counts: for each of them its count, or None where it has to be counted as the kernel runs.
      followers: the loads of elements of vectors that come with one before them, see `vector_elements.of_tree`.
      issued: of those without a count the requests and their lanes, where at least these are known.
      executions: for each call path how often its body is executed, by all groups; None where that depends on data.
      instructions: for each section of each call path (see `instructions.of_sections`) the instructions by class that
        a sub-group executes each time; without those that access memory, which are the requests.
      side_by_side: of the loops that compilers unroll, by their bodies, how many iterations are side by side.
      regions: for each section in divergent code the region that it belongs to.
      active: for each of these how often a sub-group executes it with a lane that is active; None where that depends
        on data.
      lanes: for each of these the lanes that are active in those executions; None where that depends on data.
      shares: the memory operations of the program, those of a place together, each with its `OperationShare`.
      load_batches: which loads are under way together.
      tallies: for each global memory with atomic updates of moderate size, the lanes that update each element.
      untallied: updates that are missing there.
    """

    tree: AccessTree
    device: Device
    in_registers: frozenset[Allocation]
    operations: Mapping[Key, tuple[MemoryOperation, ...]]
    repeated: RepeatedLoads
    vectors: Mapping[Key, Vector]
    counts: Mapping[Key, Count | None]
    followers: Mapping[Key, np.ndarray]
    issued: Mapping[Key, "Issued | None"]
    executions: Mapping[Facts, int | None]
    instructions: Mapping[Key, Mapping[str, float]]
    side_by_side: Mapping[Facts, int]
    regions: Mapping[Key, Key]
    active: Mapping[Key, int | None]
    lanes: Mapping[Key, int | None]
    shares: Sequence[tuple[MemoryOperation, OperationShare]]
    load_batches: LoadBatches
    tallies: Mapping[Allocation, np.ndarray]
    untallied: frozenset[Key]

    @property
    def geometry(self) -> Geometry:
        return self.tree.geometry

    @functools.cached_property
    def access_sites(self) -> tuple[AccessSite, ...]:
        """The memory operations of the source."""
        return tuple(dict.fromkeys(self.access_site(key) for key in self.operations))

    @functools.cached_property
    def meeting(self) -> Mapping[Key, int]:
        """How often work-groups execute loads before a barrier in which one of their work-items takes part.

        By the key of the load; of those that not all sub-groups make, where it is known.
        """
        some = [
            key
            for key, (operation, *_) in self.operations.items()
            if operation.fetches and key in self.load_batches.awaited and self._is_partial(key)
        ]
        counter = Counter(self.tree, self.device, Budget(parts=sum(len(self.operations[key]) for key in some)))
        found = {key: counter.groups(self.operations[key]) for key in some}
        return {key: times for key, times in found.items() if times is not None}

    def _is_partial(self, key: Key) -> bool:
        """True if it is known that not all sub-groups make an access each time."""
        count, executions = self.counts[key], self.executions[key[0]]
        if count is None or executions is None:
            return False
        return 0 < count.named("requests") < executions * requests.sub_groups(self.geometry)

    def parted(self, key: Key) -> Site:
        """Where in the source work-items part before a section in divergent code."""
        facts, number = self.regions[key]
        body = next(node.body for node in self.tree.root.nodes() if node.facts is facts)
        return source.of_op(body.ops[number])

    @functools.cached_property
    def updates(self) -> frozenset[AccessSite]:
        """The places of atomic operations that are more than loads."""
        return frozenset(o.access_site for (o, *_) in self.operations.values() if o.updates)

    def meter(self, key: Key, chosen: np.ndarray) -> Meter:
        """The meter of an access, of the elements chosen."""
        return Meter.of(self.operations[key][0], self.vectors[key], chosen, self.device, self.geometry)

    def access_site(self, key: Key) -> AccessSite:
        """Where in the source an access comes from."""
        return self.operations[key][0].access_site

    @functools.cached_property
    def doubtful(self) -> frozenset[AccessSite]:
        """The places of which compilers may carry out another number of loads or stores."""
        return frozenset(self.access_site(key) for key in self.repeated.doubtful if key in self.operations)

    @functools.cached_property
    def left(self) -> tuple[Key, ...]:
        """The accesses that have to be counted as the kernel runs."""
        return tuple(key for key, count in self.counts.items() if count is None and self.is_measured(key))

    def is_measured(self, key: Key) -> bool:
        """True if the device has the figures by which an access is measured."""
        return has_geometry(self.access_site(key).memory, self.device)

    @functools.cached_property
    def complete(self) -> bool:
        """True if nothing has to be counted as the kernel runs."""
        known = None not in self.executions.values() and None not in self.active.values()
        return known and not self.left and not self.untallied


def take(tree: AccessTree, device: Device, blank: bool = False, compiled: AccessTree | None = None) -> Census:
    """Takes the census of a launch on a device.

    Args:
      tree: the launch.
      device: the modelled device.
      blank: true to leave everything to be counted as the kernel runs.
      compiled: what a compiler sees of the program, which does not know its arguments; None if that is the same.
    """
    in_registers = array_registers.of_tree(compiled or tree, device)
    unused = liveness.unused_loads(tree)
    repeated = repeated_loads.of_tree(tree, unused)
    by_key = _by_key(tree, in_registers, unused, repeated)
    by_facts = _by_facts(tree)
    # Each operation is looked at up to four times, each node once.
    effort = Budget(parts=4 * sum(map(len, by_key.values())) + sum(map(len, by_facts.values())))
    counter = Counter(tree, device, effort)
    executions = {
        facts: None if blank else amounts.total(map(counter.executions, nodes)) for facts, nodes in by_facts.items()
    }
    tallied, untallied = tallies.of_updates(counter, by_key, blank)
    made_up = {key: counter.vector(operations) for key, operations in by_key.items()}
    counts = {key: None if blank else counter.count(operations, made_up[key]) for key, operations in by_key.items()}
    followers = vector_elements.of_tree(tree.root, unused.union(repeated.never), device)
    followers = {key: own for key, own in followers.items() if key in by_key}
    counts |= {
        key: vector_elements.without_request(count, followers[key]) for key in followers if (count := counts[key])
    }
    sections, side_by_side = instructions.of_sections(
        tree.root,
        tree.geometry,
        device,
        unused.union(followers),
        repeated.never,
        {operation.key for operation in tree.root.operations() if operation.access_site.memory in in_registers},
    )
    divergent = {key: parts for key in sections if (parts := _divergent(by_facts[key[0]], key[1]))}
    active = {
        key: None if blank else all_active(counter.active(*part) for part in parts) for key, parts in divergent.items()
    }
    open_ = {key: operations for key, operations in by_key.items() if counts[key] is None}
    issued = {key: None if blank else counter.issued(operations, made_up[key]) for key, operations in open_.items()}
    issued |= {key: vector_elements.issued(known, followers[key]) for key in followers if (known := issued.get(key))}
    return Census(
        tree=tree,
        device=device,
        in_registers=in_registers,
        operations={key: tuple(operations) for key, operations in by_key.items()},
        repeated=repeated,
        vectors=made_up,
        counts=counts,
        followers=followers,
        issued=issued,
        executions=executions,
        instructions=sections,
        side_by_side=side_by_side,
        regions={key: parts[0][1] for key, parts in divergent.items()},
        active={key: found and found.sub_groups for key, found in active.items()},
        lanes={key: found and found.lanes for key, found in active.items()},
        shares=tuple(_shares(by_key, counts)),
        load_batches=load_batches.of_tree(tree.root, in_registers),
        tallies=tallied,
        untallied=untallied,
    )


def count_in(operation: MemoryOperation, boxes: Sequence[Box], taken: Census) -> Count | None:
    """The count of an access in some of its executions; None if what they do is not known, or too many differ."""
    counter = Counter(taken.tree, taken.device, Budget())
    return counter.count([operation.within(boxes)], taken.vectors[operation.key])


def _by_key(
    tree: AccessTree, in_registers: frozenset[Allocation], unused: frozenset[Key], repeated: RepeatedLoads
) -> dict[Key, list[MemoryOperation]]:
    found: dict[Key, list[MemoryOperation]] = {}
    for operation in tree.root.operations():
        if operation.access_site.memory in in_registers or operation.key in unused:
            continue
        if (made := repeated_loads.carried_out(operation, repeated)) is not None:
            found.setdefault(operation.key, []).append(made)
    return found


def _by_facts(tree: AccessTree) -> dict[Facts, list[Node]]:
    found: dict[Facts, list[Node]] = {}
    for node in tree.root.nodes():
        found.setdefault(node.facts, []).append(node)
    return found


def _shares(
    operations: Mapping[Key, Sequence[MemoryOperation]], counts: Mapping[Key, Count | None]
) -> Iterator[tuple[MemoryOperation, OperationShare]]:
    by_place: dict[AccessSite, list[Key]] = {}
    for key, (operation, *_) in operations.items():
        by_place.setdefault(operation.access_site, []).append(key)
    for keys in by_place.values():
        found = [counts[key] for key in keys]
        parts = (
            [OperationShare()]
            if len(keys) == 1
            else map(OperationShare, *(_parts(found, figure) for figure in OperationShare._fields))
        )
        yield from zip((operations[key][0] for key in keys), parts, strict=True)


def _parts(counts: Sequence[Count | None], figure: str) -> list[float]:
    """The share of each of some counts in a figure of all."""
    known = [count.named(figure) for count in counts if count is not None]
    total = sum(known)
    return [n / total for n in known] if len(known) == len(counts) and total else [1 / len(counts)] * len(counts)


def _divergent(nodes: Sequence[Node], section: int) -> list[tuple[Node, Key, Expression]]:
    """The nodes of a call path of which a section is in divergent code, with its region and the region's mask."""
    found = [(node, node.region(section + 1 if section >= 0 else 0)) for node in nodes]
    return [(node, *region) for node, region in found if region is not None]
