"""Findings: what is wrong with a kernel, as values; the only place where faults are put into words."""

import dataclasses
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from xeemu.language.source import Site

DATA_RACE, UNINITIALIZED_READ, OUT_OF_BOUNDS = "data-race", "uninitialized-read", "out-of-bounds"
BARRIER_DIVERGENCE, WRONG_FENCE, CROSS_ITEM = "barrier-divergence", "wrong-fence", "cross-item"
KINDS = (DATA_RACE, UNINITIALIZED_READ, OUT_OF_BOUNDS, BARRIER_DIVERGENCE, WRONG_FENCE, CROSS_ITEM)
ERROR, NOTE = "error", "note"

MORE = (
    "\n  So many pairs of lines race for {0} that the others were not looked at: more may follow once these are mended."
)

_WIDTH = 100


@dataclasses.dataclass(frozen=True)
class WorkItem:
    """One work-item of a launch.

    Attributes:
      global_id, local_id: in each dimension.
      group_id: of its work-group, in each dimension.
      sub_group: of its work-group, in which it is.
    """

    global_id: tuple[int, ...]
    local_id: tuple[int, ...]
    group_id: tuple[int, ...]
    sub_group: int

    def __str__(self) -> str:
        return (
            f"work-item {_index(self.global_id)}: local {_index(self.local_id)} of group {_index(self.group_id)}, "
            f"sub-group {self.sub_group}"
        )


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault of a kernel, in all its executions; `str(finding)` is the message.

    Attributes:
      kind: one of `KINDS`.
      severity: `"error"`, or `"note"` for what may be meant.
      space: `"global"`, `"local"` or `"private"`; empty if no memory is concerned.
      memory: the name that it has in the kernel; empty if none is concerned.
      sites: the lines of the one or two operations.
      address: index into the memory of the example; None if no memory is concerned.
      groups: ids of the work-groups of the example, each once.
      work_items: those of the example: of a conflict both.
      count: how often it was seen; of a note that holds for the kernel as such, 1.
      text: the message without the count.
    """

    kind: str
    severity: str
    space: str
    memory: str
    sites: tuple[Site, ...]
    address: tuple[int, ...] | None
    groups: tuple[tuple[int, ...], ...]
    work_items: tuple[WorkItem, ...]
    count: int
    text: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        head, *rest = self.text.splitlines()
        often = (
            "" if self.count == 1 else f" ({self.count} work-groups)" if self._by_group else f" ({self.count} times)"
        )
        return "\n".join([head + often, *rest])

    @property
    def _by_group(self) -> bool:
        return self.kind == BARRIER_DIVERGENCE


class Findings(tuple[Finding, ...]):
    """The findings of a check, errors first.

    Attributes:
      proved: the lines of the accesses and barriers whose safety follows from the program, for every input.
      watched: those that were watched as they ran, so that the findings hold for these arguments.
    """

    proved: tuple[Site, ...]
    watched: tuple[Site, ...]

    def __new__(
        cls, findings: Iterable[Finding] = (), proved: Iterable[Site] = (), watched: Iterable[Site] = ()
    ) -> "Findings":
        self = super().__new__(cls, sorted(findings, key=lambda f: f.severity != ERROR))
        self.proved, self.watched = tuple(proved), tuple(watched)
        return self

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are no mere notes."""
        return tuple(finding for finding in self if finding.severity == ERROR)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "findings": [{**dataclasses.asdict(finding), "text": str(finding)} for finding in self],
            "proved": [dataclasses.asdict(site) for site in self.proved],
            "watched": [dataclasses.asdict(site) for site in self.watched],
        }

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "no findings"


# --- Wording ---


@dataclasses.dataclass(frozen=True)
class Use:
    """An access of an example.

    Attributes:
      what: `"load"`, `"store"`, or `"atomic add"` and so on, with a scope where it matters.
      site: its line.
      item: who executes it.
    """

    what: str
    site: Site
    item: WorkItem


@dataclasses.dataclass(frozen=True)
class Element:
    """An element of a memory: what it belongs to, and its index."""

    space: str
    memory: str
    address: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.space} memory {self.memory}[{', '.join(map(str, self.address))}]"


def conflict(
    kind: str,
    severity: str,
    element: Element,
    uses: tuple[Use, Use],
    count: int,
    who: str,
    epoch: int | None,
    explanation: str,
    advice: str,
) -> Finding:
    """Two accesses to one element that nothing orders.

    Args:
      kind: `DATA_RACE` or `WRONG_FENCE`.
      severity: of it.
      element: the example's.
      uses: both accesses of the example.
      count: how often it was seen.
      who: between whom: "work-groups", "sub-groups of a work-group", "work-items of one sub-group".
      epoch: barriers that the group of the second had passed; None if barriers do not order the two anyway.
      explanation: why nothing orders them.
      advice: what to write instead.
    """
    when = "" if epoch is None else f", {_barriers(epoch)}"
    head = f"{kind} between {who} on {element}{when}"
    shown = [line for use in uses for line in (f"  {use.what} {use.site}", f"    by {use.item}")]
    return Finding(
        kind,
        severity,
        element.space,
        element.memory,
        tuple(use.site for use in uses),
        element.address,
        tuple(dict.fromkeys(use.item.group_id for use in uses)),
        tuple(use.item for use in uses),
        count,
        _message(severity, head, shown, explanation, advice),
    )


def out_of_bounds(element: Element, shape: tuple[int, ...], use: Use, count: int) -> Finding:
    """An access beyond its memory."""
    valid = " and ".join(f"0 to {n - 1}" if n else "none" for n in shape)
    effect = "gives the poison value" if use.what.endswith("load") else "does nothing"
    explanation = f"Valid is {valid}; such a {use.what} {effect} here, and is undefined on hardware."
    dimension = next(d for d, (i, n) in enumerate(zip(element.address, shape, strict=True)) if not 0 <= i < n)
    component = "the index" if len(shape) == 1 else f"component {dimension} of the index"
    where = f"where=(i >= 0) & (i < {shape[dimension]})"
    advice = f"Mask the access, {where} for {component} i, or make {element.memory} larger."
    return _single(OUT_OF_BOUNDS, element, use, count, f"{OUT_OF_BOUNDS} {use.what} of {element}", explanation, advice)


def uninitialized_read(element: Element, use: Use, count: int, written: str) -> Finding:
    """A read of what nobody has written; `written` tells what of the memory was."""
    head = f"{UNINITIALIZED_READ}: {use.what} of {element}, which nothing was stored to before"
    remedy = f"{element.memory} = {element.memory}.at[...].set(0)"
    advice = f"Store to every element before it is read, as by {remedy}"
    advice += ", with a barrier in between." if element.space == "local" else "."
    return _single(UNINITIALIZED_READ, element, use, count, head, written, advice)


def barrier_divergence(
    site: Site, group: tuple[int, ...], reaching: WorkItem, missing: WorkItem, reached: int, size: int, count: int
) -> Finding:
    """A barrier that only a part of a work-group reaches."""
    head = f"{BARRIER_DIVERGENCE}: {reached} of {size} work-items of group {_index(group)} reach a barrier"
    shown = [f"  barrier {site}", f"    reached by {reaching}", f"    not by {missing}"]
    explanation = "On hardware the others wait for ever, or leave together with those at another barrier."
    advice = "Let all work-items of the group come to one barrier, and mask the accesses around it with where= instead."
    text = _message(ERROR, head, shown, explanation, advice)
    return Finding(BARRIER_DIVERGENCE, ERROR, "", "", (site,), None, (group,), (reaching, missing), count, text)


def cross_item(site: Site, operation: str) -> Finding:
    """An operation that mixes work-items and is no group algorithm."""
    head = f"{CROSS_ITEM}: {operation} mixes the values of work-items"
    explanation = "A work-item has no access to another's registers, so this has no counterpart on hardware."
    advice = (
        "Use a group algorithm (wg.reduce, wg.inclusive_scan, wg.broadcast), a sub-group's (shift_left, permute_xor, "
        "select), or local memory with a barrier."
    )
    text = _message(NOTE, head, [f"  {site}"], explanation, advice)
    return Finding(CROSS_ITEM, NOTE, "", "", (site,), None, (), (), 1, text)


def _single(kind: str, element: Element, use: Use, count: int, head: str, explanation: str, advice: str) -> Finding:
    shown = [f"  {use.what} {use.site}", f"    by {use.item}"]
    return Finding(
        kind,
        ERROR,
        element.space,
        element.memory,
        (use.site,),
        element.address,
        (use.item.group_id,),
        (use.item,),
        count,
        _message(ERROR, head, shown, explanation, advice),
    )


def _message(severity: str, head: str, shown: Sequence[str], explanation: str, advice: str) -> str:
    return "\n".join([f"{severity}: {head}", *shown, *_wrapped(explanation), *_wrapped(advice)])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _index(ids: tuple[int, ...]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"({', '.join(map(str, ids))})"


def _barriers(epoch: int) -> str:
    if not epoch:
        return "before any barrier"
    return "after 1 barrier" if epoch == 1 else f"after {epoch} barriers"
