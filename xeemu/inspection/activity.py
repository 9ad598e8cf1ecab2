"""Activity: which lanes take part in each line of an inspected work-group.

Axis legend: T accesses of a line by the work-group (times that it carries the line out, of one without accesses), L
work-items, N sub-groups, S lanes.
"""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xeemu.inspection.inspection import Step


@dataclasses.dataclass(frozen=True, eq=False)
class Activity:
    """The lanes of a line over all times that the work-group carries it out; each access to memory counts by itself.

    Attributes:
      file, line, source: the line.
      executions: accesses by sub-groups (of a line without accesses, times that they carry it out), of which one lane
        takes part or more.
      shares: `[L]` of the executions by a work-item's sub-group the part in which it takes part; nan where the
        sub-group never carries the line out.
      efficiency: lanes that take part of the lanes of all executions, 0 to 1. A sub-group that is not full counts as
        many lanes as a full one.
    """

    file: str
    line: int
    source: str
    executions: int
    shares: np.ndarray
    efficiency: float


def by_line(steps: "Iterable[Step]", sub_group_size: int) -> tuple[Activity, ...]:
    """The activity of each line that is carried out, in the order of the source."""
    lines: dict[tuple[str, int, str], list[np.ndarray]] = {}
    for step in steps:
        lines.setdefault((step.file, step.line, step.source), []).extend(_taking_part(step))
    return tuple(_activity(*line, np.stack(lines[line]), sub_group_size) for line in sorted(lines))


def _activity(file: str, line: int, source: str, taken: np.ndarray, lanes: int) -> Activity:
    """Of `[T, L]` who takes part."""
    times, items = taken.shape
    padded = np.zeros((times, -(-items // lanes) * lanes), bool)
    padded[:, :items] = taken
    carried = padded.reshape(times, -1, lanes).any(-1)  # [T, N]
    executions = carried.sum(0).repeat(lanes)[:items]
    with np.errstate(invalid="ignore"):
        shares = np.where(executions, taken.sum(0) / executions, np.nan)
    every = int(carried.sum())
    return Activity(file, line, source, every, shares, float(taken.sum() / (every * lanes)) if every else 0.0)


def _taking_part(step: "Step") -> list[np.ndarray]:
    """For each access of a step, or for the step if it has none, `[L]` who takes part."""
    active = step.active.reshape(-1)
    if not step.accesses:
        return [active]
    masks = (np.ma.getmaskarray(access.values).reshape(len(active), -1) for access in step.accesses)
    return [active & ~mask.all(-1) for mask in masks]
