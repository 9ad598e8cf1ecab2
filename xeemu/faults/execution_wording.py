"""Execution wording: faults of how work-items go through a kernel, and of what they compute, as findings in words."""

import dataclasses
from collections.abc import Mapping, Sequence

from xeemu.faults.findings import (
    ABSENT_LANE,
    BARRIER_DIVERGENCE,
    CROSS_ITEM,
    ERROR,
    FORWARD_PROGRESS,
    NOTE,
    SUB_GROUP_SIZE,
    UNDEFINED_ARITHMETIC,
    Finding,
    WorkItem,
)
from xeemu.faults.messages import message
from xeemu.faults.uses import ExampleAccess, indented
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.source import Site
from xeemu.plurals import counted


@dataclasses.dataclass(frozen=True)
class Divergence:
    """A barrier or an algorithm that only a part of its group reaches.

    Attributes:
      what: its name.
      of_group: true if it is of the work-group, false if of a sub-group.
      site: its line.
      reaching, missing: a work-item that reaches it, and one of the same group that does not.
      reached: how many of the group do.
      size: work-items of the group, or lanes of the sub-group.
      calls: what is said of the calls that lead to it, see `uses.called_from`.
    """

    what: str
    of_group: bool
    site: Site
    reaching: WorkItem
    missing: WorkItem
    reached: int
    size: int
    calls: tuple[str, ...] = ()


def barrier_divergence(found: Divergence, count: int, dialect: Dialect = PYTHON) -> Finding:
    """A divergence that was seen so often: once for each time that a part of a group came."""
    group, both = found.reaching.group_id, (found.reaching, found.missing)
    what = found.what if found.of_group else f"{found.what} of sub-groups"
    whose = f"group {found.reaching.shown(group)}"
    whose = whose if found.of_group else f"sub-group {found.reaching.sub_group} of {whose}"
    who = f"{found.reached} of {counted(found.size, 'work-item')} of {whose}"
    head = f"{BARRIER_DIVERGENCE}: {who} reach a {what}"
    shown = [
        f"  {what} {found.site}",
        *indented(found.calls),
        f"    reached by {found.reaching}",
        f"    not by {found.missing}",
    ]
    if not found.of_group:
        explanation = "All work-items of a sub-group come to its barriers, or none does: else the result is undefined."
        advice = f"Let all work-items of the sub-group come to it, and {dialect.masked}."
    elif what == "barrier":
        explanation = "On hardware the others wait for ever, or leave together with those at another barrier."
        advice = f"Let all work-items of the group come to one barrier, and {dialect.masked}."
    else:
        explanation = f"All work-items of a work-group reach its algorithms, or none does ({dialect.convergence})."
        advice = (
            "Call it outside the loop or branch that they take differently, with the operation's neutral element for "
            "those that have no part in it; or take the sub-group's, in which the active lanes take part."
        )
    text = message(ERROR, head, shown, explanation, advice)
    return Finding(BARRIER_DIVERGENCE, ERROR, "", "", (found.site,), None, (group,), both, count, text)


def absent_lane(
    algorithm: ExampleAccess, lanes: tuple[int, int], active: bool, use: ExampleAccess, dialect: Dialect = PYTHON
) -> Finding:
    """A value used that an algorithm takes from a lane that does not exist, or takes no part in it.

    Args:
      algorithm: what it is called, and who asks for such a lane.
      lanes: that lane, and how many there are.
      active: true if all lanes that exist are active.
      use: as what the value is used, such as "index of the load".
    """
    why = "does not exist" if active else "is not active there"
    head = f"{ABSENT_LANE}: {algorithm.what} takes a value from lane {lanes[0]}, which {why}, and it is used"
    there = "lane 0 alone" if lanes[1] == 1 else f"lanes 0 to {lanes[1] - 1}"
    shown = [f"  {algorithm.what} {algorithm.site}", f"    by {algorithm.item}, which has {there}"]
    shown += use.lines
    explanation = f"What such a lane gives is unspecified in {dialect.standard}; here it is the poison value."
    beyond = "below 0" if lanes[0] < 0 else f"not below {dialect.lanes}"
    advice = (
        f"Choose another value where the lane is {beyond}, {dialect.choose}, or mask the use; reductions and scans "
        "leave out by themselves what is absent."
    )
    if not active:
        explanation = (
            "In a loop or branch that work-items take differently, the lanes that are done or took the other side take "
            f"no part; what such a lane gives is unspecified in {dialect.standard}, and here it is the poison value."
        )
        advice = "Call it before the loop or branch, where all lanes are active, or ask an active lane only."
    both = (algorithm, use)
    return Finding(
        ABSENT_LANE,
        ERROR,
        "",
        "",
        tuple(dict.fromkeys(each.site for each in both)),
        None,
        tuple(dict.fromkeys(each.item.group_id for each in both)),
        tuple(dict.fromkeys(each.item for each in both)),
        1,
        message(ERROR, head, shown, explanation, advice),
    )


def cross_item(site: Site, operation: str, dialect: Dialect = PYTHON) -> Finding:
    """An operation that mixes work-items and is no group algorithm."""
    head = f"{CROSS_ITEM}: {operation} mixes the values of work-items"
    explanation = "A work-item has no access to another's registers, so this has no counterpart on hardware."
    advice = f"Use {dialect.algorithms}, or local memory with a barrier."
    text = message(NOTE, head, [f"  {site}"], explanation, advice)
    return Finding(CROSS_ITEM, NOTE, "", "", (site,), None, (), (), 1, text)


def forward_progress(loop: Site, operation: str, site: Site, dialect: Dialect = PYTHON) -> Finding:
    """A loop that waits, by an operation at a site, for what other work-items write."""
    head = f"{FORWARD_PROGRESS}: a loop waits for what other work-items write"
    advice = (
        "Let a barrier order the work-items, let one of them do the work of its group, or use an atomic operation that "
        f"does it at once, as {dialect.fetch_add} does."
    )
    text = message(NOTE, head, [f"  loop {loop}", f"  waits by {operation} {site}"], dialect.progress, advice)
    return Finding(FORWARD_PROGRESS, NOTE, "", "", tuple(dict.fromkeys((loop, site))), None, (), (), 1, text)


def sub_group_size(
    sites: tuple[Site, ...],
    memory: str,
    right: Sequence[int],
    faults: Mapping[int, str],
    device: str,
    dialect: Dialect = PYTHON,
    differ: bool = False,
) -> Finding:
    """A kernel that requires no sub-group size, and is right at some that a device offers, or gives another result.

    Args:
      sites: the lines of what is wrong, or one that uses sub-groups.
      memory: the name of the memory concerned, if one is.
      right: the sizes at which it is.
      faults: what is wrong at others.
      device: its name.
      dialect: the language of advice.
      differ: true if nothing is wrong at others but that results are not the same.
    """
    is_right = f"is right at {' and '.join(map(str, right))} only"
    what = "gives another result at another sub-group size, and requires none"
    head = f"{SUB_GROUP_SIZE}: the kernel {what if differ else f'{is_right}, and requires no sub-group size'}"
    shown = [*(f"  {site}" for site in sites), *(f"    at {size}: {fault}" for size, fault in faults.items())]
    offered = ", ".join(map(str, sorted([*right, *faults])))
    explanation = f"Device {device} offers {offered}, of which the compiler chooses one if none is required."
    required = dialect.sub_group_size.format(size=right[-1])
    advice = f"{required}; or write it for any, with {dialect.any_size}."
    advice = f"If one result is meant, require it: {advice}" if differ else f"Require it: {advice}"
    text = message(NOTE, head, shown, explanation, advice)
    return Finding(SUB_GROUP_SIZE, NOTE, "", memory, sites, None, (), (), 1, text)


def undefined_arithmetic(
    site: Site,
    operation: str,
    remedy: str,
    item: WorkItem,
    count: int,
    dialect: Dialect = PYTHON,
    calls: tuple[str, ...] = (),
) -> Finding:
    """An integer operation that C++ leaves undefined, whose result is used.

    Args:
      site: its line.
      operation: itself with its values.
      remedy: an expression that is defined.
      item: who executes it in the example.
      count: how often the result was used.
      dialect: the language of advice.
      calls: what is said of the calls that lead to it, see `uses.called_from`.
    """
    head = f"{UNDEFINED_ARITHMETIC}: {operation}"
    explanation = (
        f"{dialect.arithmetic} leaves that undefined, and devices differ in what it gives; the result is used."
    )
    advice = f"Give it operands for which it is defined, or select its result away for others, as by {remedy}."
    text = message(NOTE, head, [f"  {site}", *indented(calls), f"    by {item}"], explanation, advice)
    return Finding(UNDEFINED_ARITHMETIC, NOTE, "", "", (site,), None, (item.group_id,), (item,), count, text)
