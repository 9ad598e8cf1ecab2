"""Explanations: why nothing orders two accesses, and what to write instead, in words."""

from collections.abc import Iterable, Sequence

from xeemu.faults import remedies
from xeemu.faults.exploration import Reason
from xeemu.faults.happens_before import level_of
from xeemu.faults.proofs import Spot
from xeemu.faults.races import GROUPS, SUB_GROUPS
from xeemu.faults.remedies import Hop, Remedy
from xeemu.language.dialect import Dialect
from xeemu.language.linearity import Allocation
from xeemu.language.source import Site
from xeemu.stepping.steps import AccessStep, Fence, GroupFunction

Words = tuple[str, str]
"""An explanation, and an advice."""


def same_value(case: int, dialect: Dialect) -> Words:
    """Stores of one value."""
    one = "global" if case == GROUPS else "local"
    return (
        "All store the same value and nobody reads it in between, so that the result is the same; the language calls "
        "it a race nevertheless.",
        f"Let one work-item store, {dialect.one_item.format(scope=one)}, or each its own part.",
    )


def under_way(copy: Site, dialect: Dialect) -> Words:
    """An access to what an asynchronous copy may still read or write."""
    return (
        "The copy goes on until it is waited for, whatever barriers come in between.",
        f"Write {dialect.wait} between, with the event of the copy at line {copy.line}.",
    )


def narrow(name: str, case: int, dialect: Dialect) -> Words:
    """Two atomic operations whose scopes do not hold both work-items."""
    scope = "device" if case == GROUPS else "work_group" if case == SUB_GROUPS else "sub_group"
    return (
        "Both are atomic, but their scope does not hold both work-items.",
        f"Widen it: {dialect.scoped.format(name=name, scope=scope)}.",
    )


def between_groups(name: str, pair: tuple[Spot, Spot], plain: bool, dialect: Dialect) -> Words:
    """Accesses of two work-groups, or of two work-items of a plain range, that no flag has to do with."""
    both = "Make both atomic" if any(spot.ordering is not None for spot in pair) else "Use atomic operations"
    whom = "work-item" if plain else "work-group"
    updates = dialect.updates(name, pair[0].access_site.memory.dtype)
    return (
        f"Nothing orders the {whom}s of a launch.",
        f"{both}, {updates}, give each {whom} elements of its own, or split the launch: what one launch writes, the "
        "next may read.",
    )


def not_followed(name: str) -> Words:
    """Accesses that atomic operations may order, in a launch too large to follow them."""
    return (
        "Atomic operations of this kernel release and acquire, which may order the two; the launch is too large to "
        "follow that.",
        f"Check it with fewer work-groups or iterations; there {name} is an error or nothing.",
    )


def of_reason(memory: Allocation, reason: Reason, case: int, dialect: Dialect) -> Words | None:
    """Accesses that an order of atomic operations was looked for in; None where there is nothing to say of it."""
    if reason.remedy is not None:
        return _of_remedy(memory, reason.remedy, case, dialect)
    if reason.released is not None and reason.read is not None and reason.released.memory is reason.read.memory:
        name, line = reason.released.memory.name, reason.released.site.line
        return (
            f"The earlier one releases {name} at line {line} before this access, and nothing after it, so that whoever "
            f"has seen {name} need not see the access.",
            f"Move the access before line {line}.",
        )
    if reason.read is not None:
        name, line = reason.read.memory.name, reason.read.site.line
        return (
            f"What one of them has read of {name} at line {line} is from before the other had published its access "
            "there, so that nothing orders the two.",
            f"{dialect.dependent.format(line=line)} so that only who has seen the last of the "
            f"writes to {name} makes it.",
        )
    return None


def _of_remedy(memory: Allocation, remedy: Remedy, case: int, dialect: Dialect) -> Words:
    rules, weak = remedy.rules, list(remedies.weak(remedy, memory))
    parts: list[Words] = []
    fences = [hop.step for hop in weak if not isinstance(hop.step, AccessStep)]
    if fences:
        parts.append(_unfenced(memory, fences, dialect))
    accesses = [hop for hop in weak if isinstance(hop.step, AccessStep)]
    if accesses:
        parts.append(_weak_orders(accesses, dialect))
    if rules.scopes and (words := _narrow_scopes(remedy.path, case, dialect)):
        parts.append(words)
    if rules.sequences:
        parts.append(_ended_sequence(remedy.path, dialect))
    if rules.before:
        parts.append(_barrier(memory, remedy.path, remedies.RELEASE, dialect))
    if rules.after:
        parts.append(_barrier(memory, remedy.path, remedies.ACQUIRE, dialect))
    return " ".join(words for words, _ in parts), " ".join(advice for _, advice in parts)


def apart(memory: Allocation, dialect: Dialect) -> str:
    """What to write where work-items of several sub-groups race in a loop or branch that they take differently."""
    return (
        "Not all work-items come there, so that no barrier of the group can order them: end the loop or branch after "
        f"the first of the two, write {dialect.barrier([memory.name], [memory.space])} where all of them come, and "
        f"begin another one; or use atomic operations, {dialect.updates(memory.name, memory.dtype)}."
    )


def _unfenced(memory: Allocation, steps: Sequence[Fence | GroupFunction], dialect: Dialect) -> Words:
    step = steps[0]
    what, written = ("barrier", dialect.barrier) if isinstance(step, GroupFunction) else ("fence", dialect.fence)
    given = [m.name for m in step.memories]
    call = written([*given, memory.name], [*(m.space for m in step.memories), memory.space])
    orders = f"it orders {', '.join(given)}" if given else "it is given no memory"
    lacks = dialect.unordered.format(memory=memory.name)
    return (
        f"The {what} at line {step.site.line} lies between, but {lacks}: {orders}.",
        f"Give it the memory as well: {call}.",
    )


def _weak_orders(hops: Sequence[Hop], dialect: Dialect) -> Words:
    """Atomic operations by which the later one has seen the earlier one, in orders that publish nothing."""
    needed: dict[AccessStep, set[str]] = {}
    for hop in hops:
        assert isinstance(hop.step, AccessStep)
        needed.setdefault(hop.step, set()).add(hop.kind)
    told, advice = [], []
    for step, kinds in needed.items():
        assert step.access.ordering is not None
        both = len(kinds) > 1 or step.access.ordering.order != "relaxed"
        order = "acq_rel" if both else min(kinds)
        does = " and ".join({"release": "publishes", "acquire": "takes over"}[kind] for kind in sorted(kinds))
        told.append(
            f"{step.memory.name} at line {step.site.line} is {step.access.ordering.order}, which {does} nothing"
        )
        advice.append(f"{dialect.ordered.format(name=step.memory.name, order=order)} at line {step.site.line}")
    return (
        f"The later one has seen what the earlier one wrote afterwards, but {_listed(told)}: other accesses may arrive "
        "in another order.",
        f"Write {_listed(advice)}.",
    )


def _narrow_scopes(way: Iterable[Hop], case: int, dialect: Dialect) -> Words | None:
    needed = "device" if case == GROUPS else "work_group"
    found: dict[str, None] = {}
    for hop in way:
        step = hop.step
        if isinstance(step, GroupFunction):
            continue
        ordering = step.access.ordering if isinstance(step, AccessStep) else step.ordering
        if ordering is not None and level_of(ordering.scope) < level_of(needed):
            name = step.memory.name if isinstance(step, AccessStep) else ""
            what = (dialect.scoped if name else dialect.fenced).format(name=name, scope=needed)
            found[f"{what} at line {step.site.line}"] = None
    if not found:
        return None
    return (
        "They synchronise by operations whose scope does not hold both work-items.",
        f"Widen it: {_listed(list(found))}.",
    )


def _ended_sequence(way: Sequence[Hop], dialect: Dialect) -> Words:
    """A store by a third work-item, between a release and the acquire that reads it."""
    step = next(hop.step for hop in reversed(way) if hop.kind == remedies.RELEASE)
    assert isinstance(step, AccessStep)
    name, line = step.memory.name, step.site.line
    return (
        f"The acquire has read what another work-item stored to {name}, and a store by another ends what the release "
        f"at line {line} had published.",
        f"Let others change {name} by an atomic update, such as {dialect.fetch_add}, which keeps the release.",
    )


def _barrier(memory: Allocation, way: Sequence[Hop], kind: str, dialect: Dialect) -> Words:
    """The barrier that is missing on the way before a release, or after an acquire."""
    hops = [hop for hop in way if hop.kind == kind]
    hop = hops[0] if kind == remedies.RELEASE else hops[-1]
    assert isinstance(hop.step, AccessStep)
    name, line = hop.step.memory.name, hop.step.site.line
    barrier = dialect.barrier([memory.name], [memory.space])
    if kind == remedies.RELEASE:
        return (
            f"{name} at line {line} publishes what its own work-item did, and no barrier before it lets the others of "
            "the group come first.",
            f"Write {barrier} before line {line}.",
        )
    return (
        f"{name} at line {line} is acquired by one work-item, for itself alone; the others of its group need a barrier "
        "to follow.",
        f"Write {barrier} after line {line}.",
    )


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(parts))
