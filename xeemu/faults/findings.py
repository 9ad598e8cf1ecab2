"""Findings: what is wrong with a kernel, as values."""

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xeemu.faults import page
from xeemu.language import public
from xeemu.language.source import Site

DATA_RACE, UNINITIALIZED_READ, OUT_OF_BOUNDS = "data-race", "uninitialized-read", "out-of-bounds"
BARRIER_DIVERGENCE, WRONG_FENCE, CROSS_ITEM = "barrier-divergence", "wrong-fence", "cross-item"
UNDEFINED_ARITHMETIC, WRAPPED_INDEX, ORDER_DEPENDENT = "undefined-arithmetic", "wrapped-index", "order-dependent"
FORWARD_PROGRESS, SUB_GROUP_SIZE = "forward-progress", "sub-group-size"
ABSENT_LANE, MISALIGNED_BLOCK = "absent-lane", "misaligned-block"
INVALID_FREE, USE_AFTER_FREE, OVERLAPPING_COPY, LEAK = "invalid-free", "use-after-free", "overlapping-copy", "leak"
KINDS = (
    DATA_RACE,
    UNINITIALIZED_READ,
    OUT_OF_BOUNDS,
    BARRIER_DIVERGENCE,
    WRONG_FENCE,
    CROSS_ITEM,
    UNDEFINED_ARITHMETIC,
    WRAPPED_INDEX,
    ORDER_DEPENDENT,
    FORWARD_PROGRESS,
    SUB_GROUP_SIZE,
    ABSENT_LANE,
    MISALIGNED_BLOCK,
    INVALID_FREE,
    USE_AFTER_FREE,
    OVERLAPPING_COPY,
    LEAK,
)
MEANT = frozenset((ORDER_DEPENDENT, FORWARD_PROGRESS))
"""Kinds of notes that right kernels have too: what they tell is mostly meant."""
ERROR, NOTE = "error", "note"


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
        ids = map(self.shown, (self.global_id, self.local_id, self.group_id))
        return "work-item {}: local {} of group {}".format(*ids) + f", sub-group {self.sub_group}"

    def shown(self, ids: tuple[int, ...]) -> str:
        """Ids as messages have them."""
        return _index(ids)


class ReversedWorkItem(WorkItem):
    """One of a kernel whose language counts dimensions from the contiguous one on; its ids are in SYCL's order."""

    def __str__(self) -> str:
        return super().__str__() + (", dimension 0 first" if len(self.global_id) > 1 else "")

    def shown(self, ids: tuple[int, ...]) -> str:
        return _index(ids[::-1])


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
      uses: what each of two accesses that conflict is: `"load"`, `"store"`, `"atomic add"` and so on; else empty.
      epochs: of such a pair the barriers that the work-group had passed before each; None where barriers do not order
        the two, as those of two work-groups.
      others: of two accesses that a barrier would order, the lines of the other pairs that it would order as well.
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
    uses: tuple[str, ...] = ()
    epochs: tuple[int, int] | None = None
    others: tuple[tuple[Site, ...], ...] = ()

    @property
    def lines(self) -> tuple[Site, ...]:
        """All lines that it is about, each once: those of the example first."""
        return tuple(dict.fromkeys([*self.sites, *(site for pair in self.others for site in pair)]))

    def __str__(self) -> str:
        head, *rest = self.text.splitlines()
        often = "" if self.count == 1 else f" ({self.count} times)"
        return "\n".join([head + often, *rest])

    def _repr_html_(self) -> str:
        return page.fragment_of_one(self)


@public.members
class Findings(tuple[Finding, ...]):
    """The findings of a check: errors first, those of a kind together, by their lines.

    Attributes:
      proved: the lines of the accesses and barriers whose safety follows from the program, for every input.
      watched: those that were watched as they ran, so that the findings hold for these arguments.
    """

    proved: tuple[Site, ...]
    watched: tuple[Site, ...]

    def __new__(
        cls, findings: Iterable[Finding] = (), proved: Iterable[Site] = (), watched: Iterable[Site] = ()
    ) -> "Findings":
        self = super().__new__(cls, sorted(findings, key=_order))
        self.proved, self.watched = tuple(proved), tuple(watched)
        return self

    def and_also(self, more: Iterable[Finding]) -> "Findings":
        """These findings and more."""
        return Findings([*self, *more], self.proved, self.watched)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are no mere notes."""
        return tuple(finding for finding in self if finding.severity == ERROR)

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings of which a right kernel has none: all but notes of what is mostly meant (see `MEANT`)."""
        return tuple(finding for finding in self if finding.kind not in MEANT)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "findings": [{**dataclasses.asdict(finding), "text": str(finding)} for finding in self],
            "proved": [dataclasses.asdict(site) for site in self.proved],
            "watched": [dataclasses.asdict(site) for site in self.watched],
        }

    def to_html(self, path: str | os.PathLike[str] | None = None, title: str = "Findings") -> str:
        """The same as one page of HTML that needs nothing else; written into a file too, if one is given."""
        made = page.of_findings(self, title)
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "no findings"

    __repr__ = __str__  # what a prompt shows


def _order(finding: Finding) -> tuple[bool, int, list[tuple[str, int]]]:
    """What findings are sorted by; those that are alike in it stay in the order of the program."""
    lines = [(site.file, site.line) for site in finding.sites]
    return finding.severity != ERROR, KINDS.index(finding.kind), lines


def _index(ids: tuple[int, ...]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"({', '.join(map(str, ids))})"
