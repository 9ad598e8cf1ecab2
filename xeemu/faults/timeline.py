"""Timeline: two accesses that conflict, each by its work-item, and the barriers that they stand before and after."""

import dataclasses
from typing import TYPE_CHECKING

from xeemu.language.places import short_place
from xeemu.language.source import Site

if TYPE_CHECKING:
    from xeemu.faults.findings import Finding, WorkItem


@dataclasses.dataclass(frozen=True)
class TimelineAccess:
    """One of the two accesses, in words.

    Attributes:
      item: who executes it.
      place: where that is in its work-group.
      group: its work-group.
      what: `"load"`, `"store"`, `"atomic add"` and so on.
      line: file and number of the line.
      source: the line.
    """

    item: str
    place: str
    group: str
    what: str
    line: str
    source: str

    @property
    def writes(self) -> bool:
        """True if it changes the element."""
        return not self.what.removeprefix("atomic ").startswith("load")


@dataclasses.dataclass(frozen=True)
class Timeline:
    """When two accesses come that nothing orders, as far as barriers tell.

    Attributes:
      element: that both access, with its memory.
      accesses: the one that was seen earlier, and the other.
      passed: the barriers that the work-group has passed before both, as text; empty if barriers do not order them.
      between: the barriers that it passes between the two, which are of other memories; empty if there is none.
      why: what the picture says of the two.
    """

    element: str
    accesses: tuple[TimelineAccess, TimelineAccess]
    passed: str
    between: str
    why: str

    @property
    def is_of_one_group(self) -> bool:
        """True if both accesses are by one work-group."""
        return self.accesses[0].group == self.accesses[1].group


def of_finding(finding: "Finding") -> Timeline | None:
    """The timeline of the example of a finding; None of one that is no conflict of two work-items."""
    items = finding.work_items
    if not len(items) == len(finding.uses) == len(finding.sites) == 2 or finding.address is None:
        return None
    index = ", ".join(map(str, finding.address))
    first, second = map(_access, items, finding.uses, finding.sites)
    before, after = finding.epochs or (0, 0)
    between = _barriers(before + 1, after) + f" of other memories than {finding.memory}" if after > before else ""
    is_one_group = len(finding.groups) == 1
    if not is_one_group:
        why, passed = "Nothing orders the two work-groups.", ""
    elif finding.epochs is None:
        why, passed = "Nothing orders the two.", ""
    else:
        passed = _barriers(1, before) if before else "start of the kernel"
        why = "No barrier of this memory stands between the two."
    return Timeline(f"{finding.space} memory {finding.memory}[{index}]", (first, second), passed, between, why)


def _access(item: "WorkItem", what: str, site: Site) -> TimelineAccess:
    return TimelineAccess(
        f"work-item {item.shown(item.global_id)}",
        f"local {item.shown(item.local_id)}, sub-group {item.sub_group}",
        f"work-group {item.shown(item.group_id)}",
        what,
        short_place(site.file, site.line),
        site.source,
    )


def _barriers(first: int, last: int) -> str:
    return f"barrier {first}" if first == last else f"barriers {first} to {last}"
