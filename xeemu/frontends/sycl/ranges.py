"""Ranges: over what a kernel of SYCL is launched."""

import dataclasses
import re

from xeemu.frontends.cplusplus.submissions import Submission
from xeemu.frontends.sycl.plans import Plan
from xeemu.language.ndrange import NDRange

_MOST = 3
"""So many other sizes of a kernel's launches are listed."""


@dataclasses.dataclass(frozen=True)
class Range:
    """A kind of launch.

    Attributes:
      kind: `"nd_range"`, `"range"` (whose work-groups the runtime chooses) or `"single_task"`.
      dimensions: 1 to 3.
    """

    kind: str
    dimensions: int

    def __str__(self) -> str:
        return self.kind if self.kind == "single_task" else f"{self.kind}<{self.dimensions}>"

    def described(self, plan: Plan) -> str:
        """The kind of launch with its sizes, as far as they are known."""
        known = self.launch(plan)
        if known is None or self.kind == "single_task":
            return str(self)
        others = [told(one) for one in self.launches(plan)[1:]]
        more = f"; later {'; '.join(others[:_MOST])}{'; ...' if len(others) > _MOST else ''}" if others else ""
        return f"{self}, {told(known)}{more}"

    def launches(self, plan: Plan) -> tuple[NDRange, ...]:
        """The different sizes of all launches that are known."""
        return () if self.kind == "single_task" else plan.nd_ranges(plain=self.kind == "range")

    def launch(self, plan: Plan) -> NDRange | None:
        """The sizes of a launch; None where they are not known."""
        if self.kind == "single_task":
            return NDRange(1, 1)
        return plan.nd_range(plain=self.kind == "range")


def told(nd_range: NDRange) -> str:
    """The sizes of a launch."""
    local = "" if nd_range.local_size is None else f", local {_sizes(nd_range.local_size)}"
    return f"global {_sizes(nd_range.global_size)}{local}"


def _sizes(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def of(submission: Submission) -> Range:
    """The kind of launch of a kernel, from the item that it takes."""
    if submission.cursor.spelling == "task_body":
        return Range("single_task", 1)
    spelling = str(submission.cursor.get_template_argument_type(1).get_canonical().spelling)
    found = re.search(r"\b(nd_item|item|id|h_item|group)<(\d?)", spelling)
    if found is None:
        return Range("single_task", 1)
    return Range("nd_range" if found[1] == "nd_item" else "range", int(found[2] or 1))  # clang leaves defaults out
