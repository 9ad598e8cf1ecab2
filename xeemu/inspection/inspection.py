"""Inspection: the steps of one work-group, each with what its work-items hold and what is in its memories after it."""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.inspection import page, text
from xeemu.inspection.activity import Activity, by_line
from xeemu.language import public
from xeemu.plurals import counted


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """What the work-items of a step did to a memory. Arrays are of the work-group's shape, then private axes.

    Attributes:
      op: `"load"`, `"store"`, or the name of the atomic operation, such as `"add"`.
      memory: its name; of several memories of one name, from the second on, with a number, as `tile 2`.
      space: `"global"`, `"local"` or `"private"`.
      shape: of the memory; of private memory that of one work-item.
      elements: the linear element of each; masked where a work-item took no part, or was out of bounds.
      values: what was loaded, stored, or given to the atomic operation; masked where a work-item took no part.
    """

    op: str
    memory: str
    space: str
    shape: tuple[int, ...]
    elements: np.ma.MaskedArray
    values: np.ma.MaskedArray


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """One line, as some work-items of a work-group carried it out together.

    Attributes:
      number: of the step, from 0.
      file, line, source: the line.
      turn: how often the work-group has come to the line by then, from 1.
      active: bool of the work-group's shape, who carried it out.
      values: by name what the line has computed for later lines: arrays of the work-group's shape, then private axes,
        masked for work-items that are not active. The name is that of a variable, or what the line computes it from.
      accesses: to memory, in their order.
      ordering: `"barrier"`, `"sub-group barrier"` or `"fence"` if the line is one, else empty.
      memories: by name the local memories afterwards, and the private ones, with the work-group's shape first; masked
        where nobody has stored anything.
      changed: for those that the step has stored to where it has, as bools.
    """

    number: int
    file: str
    line: int
    source: str
    turn: int
    active: np.ndarray
    values: Mapping[str, np.ma.MaskedArray]
    accesses: tuple[Access, ...]
    ordering: str
    memories: Mapping[str, np.ma.MaskedArray]
    changed: Mapping[str, np.ndarray]

    def __str__(self) -> str:
        return text.of_step(self)


@public.members
@dataclasses.dataclass(frozen=True, eq=False)
class Inspection:
    """What one work-group of a launch did, as `xe.inspect` gives it.

    Attributes:
      kernel: its name.
      global_size, local_size: of the launch, in work-items per dimension.
      group: the work-group's id per dimension.
      sub_group_size: lanes of a sub-group.
      steps: in order.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    group: tuple[int, ...]
    sub_group_size: int
    steps: tuple[Step, ...]

    def at(self, line: int) -> tuple[Step, ...]:
        """The steps of a line of the source, the first first; none if the work-group never came there."""
        return tuple(step for step in self.steps if step.line == line)

    @property
    def activity(self) -> tuple[Activity, ...]:
        """Of each line that is carried out, in the order of the source, which lanes take part."""
        return by_line(self.steps, self.sub_group_size)

    def to_text(self, *, items: Iterable[int | Sequence[int]] | None = None, lines: Iterable[int] | None = None) -> str:
        """The steps as a table with a column for each work-item.

        Args:
          items: the work-items to tell of, by their linear local ids or their local ids per dimension; by default all,
            of which the first ones are shown.
          lines: the lines of the source to tell of; by default all.

        Raises:
          KernelArgumentError: there is no such work-item, or the work-group never came to such a line.
        """
        chosen = None if items is None else [self._linear(item) for item in items]
        wanted = None if lines is None else set(lines)
        if wanted is not None and (strange := wanted - {step.line for step in self.steps}):
            came = ", ".join(map(str, sorted({step.line for step in self.steps})))
            raise KernelArgumentError(
                f"the work-group has no step at line {min(strange)}; it came to {f'lines {came}' if came else 'none'}"
            )
        return text.of_inspection(self, chosen, wanted)

    def _linear(self, item: int | Sequence[int]) -> int:
        ids = (item,) if isinstance(item, int) else tuple(item)
        limits = (math.prod(self.local_size),) if len(ids) == 1 else self.local_size
        if len(ids) != len(limits) or not all(0 <= n < most for n, most in zip(ids, limits, strict=True)):
            several = f", or a tuple below {self.local_size}" if len(self.local_size) > 1 else ""
            raise KernelArgumentError(
                f"there is no work-item {text.id_of(ids)} in the work-group; give a number from 0 to "
                f"{math.prod(self.local_size) - 1}{several}"
            )
        return int(np.ravel_multi_index(ids, limits))

    def __str__(self) -> str:
        return text.of_inspection(self)

    def __repr__(self) -> str:
        return f"<Inspection of {self.kernel}, work-group {text.id_of(self.group)}: {counted(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page with a slider over the steps, which needs nothing else; written into a file too, if one is given.

        Raises:
          KernelArgumentError: Jinja is not installed: `pip install jinja2`.
          OSError: the file cannot be written.
        """
        made = page.of_inspection(self)
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made
