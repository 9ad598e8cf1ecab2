"""Divisions: into how many parts what a sub-group executes could be divided, so that others take a share.

The iterations of a loop that is no recurrence can be divided, and operations of one line that the kernel's own loops
have written out: those that follow the id of the group. What fills a table, or stands beside such loops, each group
executes as a whole; so it does what fills its local memory for later, or reads what was filled before.
"""

import collections
import dataclasses
from collections.abc import Mapping

from xeemu.cost import recurrences
from xeemu.cost.census import Census
from xeemu.cost.sites import SiteReport
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True, eq=False)
class Divisions:
    """Into how many parts the executions of a sub-group could be divided.

    Attributes:
      bodies: by call path, at least 1.
      accesses: for each place the share of its requests that each of its operations makes, and in how many
        parts these could be made.
    """

    bodies: Mapping[Facts, float]
    accesses: Mapping[AccessSite, tuple[tuple[float, float], ...]]

    @property
    def has_loops(self) -> bool:
        """True if there are loops whose iterations could be divided; else they are operations of one line."""
        return any(parts > 1 for parts in self.bodies.values())

    @property
    def most(self) -> float:
        """The most parts of anything."""
        every = (parts for each in self.accesses.values() for _, parts in each)
        return max((1.0, *self.bodies.values(), *every))

    def of_body(self, facts: Facts, groups: float) -> float:
        """How many times as often the body of a call path is executed in all, if as many times the groups share it."""
        return groups / min(groups, self.bodies[facts])

    def of_access_site(self, place: AccessSite, groups: float) -> float:
        """How many times as many requests a place makes in all, if as many times the groups share it."""
        return sum(share * groups / min(groups, parts) for share, parts in self.accesses[place])


def of_launch(
    sites: Mapping[AccessSite, SiteReport], taken: Census, executions: Mapping[Facts, int | None]
) -> Divisions:
    """The divisions of a launch.

    Args:
      sites: what its memory operations cost.
      taken: its census.
      executions: of each call path, by all groups; None where that is not known.
    """
    bodies: dict[Facts, float] = {}
    _divide(taken.tree.root, 1.0, _Sizes(taken, executions), bodies)
    accesses: dict[AccessSite, list[tuple[float, float]]] = {place: [] for place in sites}
    alike = _alike(taken)
    for operation, share in taken.shares:
        facts = operation.node.facts
        accesses[operation.access_site].append(
            (share.requests, bodies[facts] * alike.get((facts, operation.access_site), 1))
        )
    return Divisions(bodies, {place: tuple(each) for place, each in accesses.items()})


@dataclasses.dataclass(frozen=True, eq=False)
class _Sizes:
    """How often the loops of a launch go round."""

    taken: Census
    executions: Mapping[Facts, int | None]

    def iterations(self, inner: Node, node: Node) -> float:
        """Iterations of a loop that others could take, 1 of what is none."""
        if inner.kind not in ("iteration", "test") or inner.number is None or not self._is_shared(inner):
            return 1.0
        around, inside = self.executions[node.facts], self.executions[inner.facts]
        if not around or not inside or recurrences.is_recurrent(node.body.ops[inner.number]):
            return 1.0
        if _is_of_the_group(inner, self.taken):
            return 1.0
        return max(1.0, inside / around)

    def _is_shared(self, loop: Node) -> bool:
        """True if each work-group goes through a loop for a part of global memory, or without any."""
        accesses = [o for o in loop.operations() if o.access_site.memory.space == "global"]
        return not accesses or any(_follows_group(o, self.taken) for o in accesses)


def _is_of_the_group(loop: Node, taken: Census) -> bool:
    """True if a loop stores to local memory that others load from, or loads what others have stored there."""
    inside = {id(operation) for operation in loop.operations()}
    others = [o for o in taken.tree.root.operations() if id(o) not in inside and o.access_site.memory.space == "local"]
    loaded = {o.access_site.memory for o in others if not o.changes}
    stored = {o.access_site.memory for o in others if o.changes}
    return any(o.access_site.memory in (loaded if o.changes else stored) for o in loop.operations() if not o.updates)


def _copies(operation: MemoryOperation) -> bool:
    """True if what is loaded goes into local memory, or what is stored comes from there, by operations that are written
    out in the same body as this one."""
    node, is_load = operation.node, not operation.changes
    own = [o for o in node.steps if isinstance(o, MemoryOperation) and o.access_site.memory.space == "local"]
    times = collections.Counter(o.access_site for o in own)
    local = {id(o.op) for o in own if times[o.access_site] > 1 and o.changes == is_load}
    found = set(operation.op.results if is_load else operation.op.used[1:])
    for op in node.body.ops if is_load else reversed(node.body.ops):
        met, further = (op.used, op.results) if is_load else (op.results, op.used)
        if found & set(met):
            if id(op) in local:
                return True
            found |= set(further)
    return False


def _follows_group(operation: MemoryOperation, taken: Census) -> bool:
    """True if the groups access elements of global memory each of its own, as far as is known. Where there is one
    group, what it loads and stores is taken to be so, and what it adds to is not."""
    index = operation.linear_index
    if operation.access_site.memory.space != "global":
        return False
    if taken.geometry.groups == 1:
        return not operation.updates
    return not index.known or any(axis in index.axes for axis in taken.tree.groups)


def _divide(node: Node, parts: float, sizes: _Sizes, found: dict[Facts, float]) -> None:
    found[node.facts] = max(parts, found.get(node.facts, 1.0))
    for step in node.steps:
        if isinstance(step, Node):
            _divide(step, parts * sizes.iterations(step, node), sizes, found)


def _alike(taken: Census) -> Mapping[tuple[Facts, AccessSite], int]:
    """How many operations a body has in one place that follow the group's id; without those of addresses that depend
    on data, which may need one another."""
    found: dict[tuple[Facts, AccessSite], int] = collections.defaultdict(int)
    for operation, *_ in taken.operations.values():
        if operation.linear_index.known and _follows_group(operation, taken) and not _copies(operation):
            found[operation.node.facts, operation.access_site] += 1
    return found
