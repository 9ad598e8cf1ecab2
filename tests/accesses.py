"""Programs that access memories at places that are written in many ways, and what each execution touches, by NumPy.

An expression has two texts: the kernel's, in which a value is spelled in one of several ways (see `wordings`), and the
plain one, of NumPy arrays of all elements of an access; both are evaluated by Python.

Axis legend: L work-items of a work-group, P private elements of a work-item.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Names = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Value:
    """An integer or a condition of a program.

    Attributes:
      kernel: its text in the kernel.
      plain: its text for NumPy.
      low, high: bounds of an integer.
    """

    kernel: str
    plain: str
    low: int = 0
    high: int = 1


@dataclasses.dataclass(frozen=True)
class Access:
    """A memory operation on a memory of its own.

    Attributes:
      memory: the memory's name.
      space: `global`, `local` or `private`.
      dtype: of its elements.
      shape: of the memory.
      op: `load`, `store`, or the name of an atomic method.
      index: a value for each dimension.
      mask: which elements take part; None for all.
      private: P.
    """

    memory: str
    space: str
    dtype: str
    shape: tuple[int, ...]
    op: str
    index: tuple[Value, ...]
    mask: Value | None
    private: int

    @property
    def kind(self) -> str:
        """The operation as a report calls it."""
        return self.op if self.op in ("load", "store") else "atomic"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop over a counter.

    Attributes:
      counter: its name.
      how: `fori`, `while`, `doubling`, `unrolled`, or `items`, whose bounds each work-item has for itself.
      low, high: its bounds, the end excluded; a doubling one goes 1, 2, 4 ... below `high`.
      body: what is done.
    """

    counter: str
    how: str
    low: Value
    high: Value
    body: "tuple[Statement, ...]"


@dataclasses.dataclass(frozen=True)
class Branch:
    """Two ways, of which a group takes one, or, by `items`, each work-item."""

    items: bool
    condition: Value
    then: "tuple[Statement, ...]"
    otherwise: "tuple[Statement, ...]"


Statement = Access | Loop | Branch


@dataclasses.dataclass(frozen=True)
class Program:
    """A kernel and its launch.

    Attributes:
      seed: names it.
      global_size, local_size: of the launch, a number for each dimension.
      ragged: it is launched over a plain range, whose last work-groups are not full; it has no local memory then.
      sub_group_size: that it requires.
      body: what it does.
    """

    seed: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    ragged: bool
    sub_group_size: int
    body: tuple[Statement, ...]

    @property
    def accesses(self) -> list[Access]:
        return list(_accesses(self.body))

    @property
    def groups(self) -> tuple[int, ...]:
        """Work-groups in each dimension."""
        return tuple(-(-n // s) for n, s in zip(self.global_size, self.local_size, strict=True))


def _accesses(body: tuple[Statement, ...]) -> Iterator[Access]:
    for statement in body:
        if isinstance(statement, Access):
            yield statement
        else:
            inner = statement.body if isinstance(statement, Loop) else statement.then + statement.otherwise
            yield from _accesses(inner)


@dataclasses.dataclass(frozen=True, eq=False)
class Execution:
    """One execution of an access by a work-group.

    Attributes:
      element: int64 `[L, P]` row-major number of the element, also where none takes part.
      active: bool `[L, P]` which elements take part.
      scalar: it is a load whose index is one for all, and that all work-items carry out.
      alike: it is at a place that no id of a work-item is in, and all work-items carry it out.
      uniform: its index is one number for all work-items.
      copy: the counters of the unrolled loops around it, each of whose iterations has an instruction of its own.
    """

    element: np.ndarray
    active: np.ndarray
    scalar: bool
    alike: bool
    uniform: bool
    copy: tuple[int, ...]


Found = dict[str, list[Execution]]


def executions(program: Program) -> Found:
    """What each execution of an access touches, by the access's memory."""
    found: Found = {access.memory: [] for access in program.accesses}
    for group in np.ndindex(*program.groups):
        names, present = _names(program, group)
        _run(program.body, names, present, False, found)
    return found


def _names(program: Program, group: tuple[int, ...]) -> tuple[Names, np.ndarray]:
    """What the ids of a group are, integers and `[L, 1]`, and which of its work-items exist, `[L]`."""
    ids = np.indices(program.local_size).reshape(len(program.local_size), -1)
    names: dict[str, Any] = {"np": np, "unrolled": (), "group_linear": int(np.ravel_multi_index(group, program.groups))}
    present = np.ones(ids.shape[1], bool)
    linear = np.zeros(ids.shape[1], np.int64)
    for d, local in enumerate(ids):
        whole = group[d] * program.local_size[d] + local
        names |= {f"lid{d}": local[:, None], f"gid{d}": whole[:, None], f"group{d}": group[d]}
        present &= whole < program.global_size[d]
        linear = linear * program.global_size[d] + whole
    items = np.arange(ids.shape[1])
    return names | {"local_linear": items[:, None], "global_linear": linear[:, None]}, present


def _run(body: tuple[Statement, ...], names: Names, active: np.ndarray, divergent: bool, found: Found) -> None:
    """Executes statements by the work-items `[L]` that are active."""
    for statement in body:
        if isinstance(statement, Access):
            found[statement.memory].append(_execution(statement, names, active, divergent))
        elif isinstance(statement, Branch):
            taken = np.broadcast_to(_evaluated(statement.condition, names), (len(active), 1))[:, 0].astype(bool)
            for inner, mask in ((statement.then, active & taken), (statement.otherwise, active & ~taken)):
                if mask.any() or (statement.items and active.any()):
                    _run(inner, names, mask, divergent or statement.items, found)
        else:
            _repeat(statement, names, active, divergent, found)


def _repeat(loop: Loop, names: Names, active: np.ndarray, divergent: bool, found: Found) -> None:
    low, high = _evaluated(loop.low, names), _evaluated(loop.high, names)
    if loop.how == "items":
        turn, ends = 0, np.broadcast_to(high, (len(active), 1))
        while (mask := active & (low + turn < ends)[:, 0]).any():
            _run(loop.body, {**names, loop.counter: low + turn}, mask, True, found)
            turn += 1
        return
    counter = int(low)
    while counter < int(high):
        inner = {**names, loop.counter: counter}
        if loop.how == "unrolled":
            inner["unrolled"] = (*names["unrolled"], counter)
        _run(loop.body, inner, active, divergent, found)
        counter = counter * 2 if loop.how == "doubling" else counter + 1


def _execution(access: Access, names: Names, active: np.ndarray, divergent: bool) -> Execution:
    shape = (len(active), access.private)
    names = {**names, "own": np.arange(access.private)[None]}
    element, inside = np.zeros(shape, np.int64), np.ones(shape, bool)
    components = [_evaluated(value, names) for value in access.index]
    for component, size in zip(components, access.shape, strict=True):
        element = element * size + component
        inside &= (component >= 0) & (component < size)
    if access.mask is not None:
        inside &= np.broadcast_to(_evaluated(access.mask, names), shape)
    uniform = not any(map(np.ndim, components))
    scalar = uniform and not divergent and access.mask is None
    return Execution(
        element,
        inside & active[:, None],
        scalar and access.op == "load" and access.space != "private",
        not divergent and all(np.ndim(component) < 2 or len(component) == 1 for component in components),
        uniform,
        names["unrolled"],
    )


def _evaluated(value: Value, names: Names) -> Any:
    return eval(value.plain, dict(names))
