"""Group conflicts: proofs that the work-items of a group never access one element without a barrier in between."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

from xeemu.knowledge import conflicts, instances
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.conflicts import GROUP, SUB_GROUP, ElementUses, Pair
from xeemu.knowledge.expressions import LoopAxis, TooLarge
from xeemu.knowledge.instances import Clock, Excerpt


@dataclasses.dataclass(frozen=True, eq=False)
class Clocks:
    """For each access to a memory the barriers before it: of work-groups, and of work-groups or sub-groups."""

    group: dict[MemoryOperation, Clock]
    sub_group: dict[MemoryOperation, Clock]


def keeps_apart(pair: Pair, tree: AccessTree, clocks: Clocks) -> bool:
    """True if it is proved that no two work-items of a group access one element by a pair in one epoch."""
    if tree.geometry.items == 1 or conflicts.reach(*pair) >= GROUP or conflicts.far_apart(pair):
        return True
    operations = tuple(dict.fromkeys(pair))

    def meet(excerpt: Excerpt) -> bool:
        across, within = _uses(operations, tree, clocks, excerpt)
        return conflicts.collide(across) or (conflicts.reach(*pair) < SUB_GROUP and conflicts.collide(within))

    return all(map(instances.is_known, pair)) and _never(meet, operations, tree, clocks)


def all_keep_apart(operations: Sequence[MemoryOperation], tree: AccessTree, clocks: Clocks) -> bool:
    """True if all pairs of some accesses to a memory are proved to keep apart at once; pair by pair more may be."""
    writes = [o.changes for o in operations]

    def meet(excerpt: Excerpt) -> bool:
        return any(conflicts.collide(uses, writes) for uses in _uses(operations, tree, clocks, excerpt))

    plain = all(o.access.ordering is None and instances.is_known(o) for o in operations)
    return not operations or (plain and _never(meet, operations, tree, clocks))


def have_one_user(operations: Sequence[MemoryOperation], tree: AccessTree) -> bool:
    """True if it is proved that no two work-items of the launch access one element by any of some accesses."""
    writes = [True] * len(operations)

    def meet(excerpt: Excerpt) -> bool:
        executed = [instances.of_operation(o, tree, excerpt, (), True) for o in operations]
        return conflicts.collide([ElementUses((e.group, e.element), e.item) for e in executed], writes)

    if not all(map(instances.is_known, operations)) or not _never(meet, operations, tree):
        return False
    local = tree.geometry.groups <= 1 or operations[0].access_site.memory.space != "global"
    return local or conflicts.have_own_groups(operations, tree, writes)


def _never(
    meet: Callable[[Excerpt], bool],
    operations: Sequence[MemoryOperation],
    tree: AccessTree,
    clocks: Clocks | None = None,
) -> bool:
    """True if it is proved that some accesses meet nowhere in the launch."""
    paced = functools.partial(_is_paced, operations, clocks) if clocks is not None else lambda loop: False
    try:
        return not any(map(meet, instances.excerpts(operations, tree, paced)))
    except TooLarge:
        return False


def _is_paced(operations: Sequence[MemoryOperation], clocks: Clocks, loop: LoopAxis) -> bool:
    """True if a barrier of the work-group ends each iteration of a loop, for those of some accesses that it holds."""
    return all(clocks.group[o].steps.get(loop) for o in operations if any(loop in box for box in o.node.boxes))


def _uses(
    operations: Sequence[MemoryOperation], tree: AccessTree, clocks: Clocks, excerpt: Excerpt
) -> tuple[list[ElementUses], list[ElementUses]]:
    """Which sub-groups use the elements of a group in one epoch, and which work-items those of a sub-group in one."""
    lanes = tree.geometry.sub_group_size
    executed = [
        instances.of_operation(o, tree, excerpt, (clocks.group[o], clocks.sub_group[o]), True) for o in operations
    ]
    across = [ElementUses((e.group, e.counts[0], e.element), e.item // lanes) for e in executed]
    within = [ElementUses((e.group, e.counts[1], e.element, e.item // lanes), e.item) for e in executed]
    return across, within
