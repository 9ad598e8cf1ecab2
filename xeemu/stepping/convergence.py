"""Convergence: the errors of work-items that come to a barrier or group algorithm, and others of their group do not."""

import numpy as np

from xeemu.errors import KernelError
from xeemu.language import collectives, source
from xeemu.plurals import counted
from xeemu.stepping.steps import Code, GroupFunction


def waiting(code: Code, awaited: np.ndarray, under_way: np.ndarray, present: np.ndarray) -> KernelError:
    """Of a launch in which nobody can go on: some wait where others of their group will never come.

    Args:
      code: the program.
      awaited: `[groups, items]` where in the code work-items wait.
      under_way: `[groups, items]` those that have not ended.
      present: `[groups, items]` which work-items there are.
    """
    group = int(np.flatnonzero(under_way.any(axis=1))[0])
    item = int(np.flatnonzero(under_way[group])[0])
    step_number = int(awaited[group, item])
    there = under_way[group] & (awaited[group] == step_number)
    step = code.steps[step_number]
    assert isinstance(step, GroupFunction)
    return source.kernel_error(
        f"under this schedule {int(there.sum())} work-items of group {group} wait for ever, work-item {item} among "
        f"them: the other {int(present[group].sum() - there.sum())} have ended or wait elsewhere. All work-items of a "
        "group or sub-group reach a barrier or group algorithm, or none does",
        step.site,
    )


def parted(step: GroupFunction, active: np.ndarray, members: np.ndarray, rows: np.ndarray) -> KernelError | None:
    """Of sub-groups that come to a step in lockstep; None unless a part of one is active and the step is a barrier.

    Args:
      step: the step.
      active: `[groups, items]` the work-items that come to it themselves.
      members: `[groups, items]` those of the sub-groups.
      rows: `[items]` which sub-group of their group work-items are in.
    """
    if step.level == collectives.GROUP or step.exchange is not None:
        return None
    for group, item in np.argwhere(members & ~active):
        inside = members[group] & (rows == rows[item])
        if (arrived := active[group] & inside).any():
            return source.kernel_error(
                f"{int(arrived.sum())} of {counted(int(inside.sum()), 'work-item')} of sub-group {rows[item]} of group "
                f"{group} reach a barrier of sub-groups, work-item {np.flatnonzero(arrived)[0]} among them, and "
                f"work-item {item} does not. All work-items of a sub-group come to its barriers, or none does",
                step.site,
            )
    return None
