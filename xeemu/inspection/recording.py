"""Recording: the turns of one work-group put together to the steps of an inspection, one for each line."""

import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.inspection.inspection import Access, Step
from xeemu.language import collectives, source
from xeemu.language.linearity import Allocation
from xeemu.language.source import Origin, Site
from xeemu.plurals import counted
from xeemu.stepping import steps
from xeemu.stepping.alone import Alone
from xeemu.stepping.steps import Code, Fence, GroupFunction, Operation, Register, Straight

_MOST_BYTES = 1 << 30


@dataclasses.dataclass
class _Line:
    """A line that is being carried out.

    Attributes:
      site: the line.
      origins: how far it has come, as far as that is told.
      place: of the last step of the program that was carried out.
      active: `[L]` by whom.
      values, accesses, ordering: as in `inspection.Step`.
      changed: `[elements in all copies]` of memories, who has been stored to.
    """

    site: Site
    origins: list[Origin]
    place: int
    active: np.ndarray
    values: dict[str, np.ma.MaskedArray] = dataclasses.field(default_factory=dict)
    accesses: list[Access] = dataclasses.field(default_factory=list)
    ordering: str = ""
    changed: dict[Allocation, np.ndarray] = dataclasses.field(default_factory=dict)

    def goes_on(self, site: Site, place: int, origins: Sequence[Origin], members: np.ndarray) -> bool:
        """True if a step of some work-items is a further part of the line, not of its next turn."""
        is_further = site == self.site and place > self.place and not _is_back(origins, self.origins)
        return is_further and bool((self.active == members).all())


class Recorder:
    """Makes steps of what it is told; call it as `alone.Seen` has it, then `finish`.

    Args:
      most_steps: more than these are refused.
    """

    def __init__(self, most_steps: int):
        self._most = most_steps
        self.steps: list[Step] = []
        self._line: _Line | None = None
        self._turns: collections.Counter[Site] = collections.Counter()
        self._names: dict[Allocation, str] = {}
        self._written: dict[Allocation, np.ndarray] = {}
        self._memories: dict[str, np.ma.MaskedArray] = {}
        self._shown: dict[int, list[tuple[str, Register]]] = {}
        self._bytes = 0

    def __call__(self, launch: Alone, place: int, members: np.ndarray) -> None:
        """Some work-items, `[L]`, have carried out a step."""
        step = launch.code.steps[place]
        site = _site(step)
        if not self._shown:
            self._begin(launch)
        if site is None or not members.any():
            return
        line, origins = self._line, _origins(step)
        if line is None or not line.goes_on(site, place, origins, members):
            self.finish(launch)
            line = self._line = _Line(site, origins, place, members.copy())
        line.place, line.origins = place, origins or line.origins
        for name, register in self._shown.get(place, ()):
            self._keep(line, name, _of_register(launch, register, _given(launch, step, members)))
        if isinstance(step, steps.AccessStep):
            self._access(launch, line, step, members)
        elif isinstance(step, GroupFunction | Fence) and (isinstance(step, Fence) or step.exchange is None):
            line.ordering = _ordering(step)

    def finish(self, launch: Alone) -> None:
        """The line is done: what is in the memories now is what it has left."""
        if self._line is None:
            return
        line, self._line = self._line, None
        if not (line.values or line.accesses or line.ordering):
            return
        self._turns[line.site] += 1
        changed = {}
        for memory, mask in line.changed.items():
            self._memories = self._memories | {self._names[memory]: self._contents(launch, memory)}
            changed[self._names[memory]] = mask.reshape(_shape(launch, memory))
        shape = launch.geometry.local_range
        self.steps.append(
            Step(
                len(self.steps),
                line.site.file,
                line.site.line,
                line.site.source,
                self._turns[line.site],
                line.active.reshape(shape),
                line.values,
                tuple(line.accesses),
                line.ordering,
                self._memories,
                changed,
            )
        )
        self._check(line.site)

    def _begin(self, launch: Alone) -> None:
        self._shown = {-1: [], **_shown(launch.code)}
        self._names = _names(launch.memories)
        for memory in launch.memories:
            if memory.space != "global":
                self._written[memory] = np.zeros(launch.memories[memory].cells.shape, bool)
                self._memories[self._names[memory]] = self._contents(launch, memory)

    def _keep(self, line: _Line, name: str, value: np.ma.MaskedArray) -> None:
        line.values[name] = value
        self._bytes += value.nbytes

    def _contents(self, launch: Alone, memory: Allocation) -> np.ma.MaskedArray:
        cells = launch.memories[memory].cells.copy()
        self._bytes += cells.nbytes
        return np.ma.array(cells, mask=~self._written[memory]).reshape(_shape(launch, memory))

    def _access(self, launch: Alone, line: _Line, step: steps.AccessStep, members: np.ndarray) -> None:
        element, inside, active = launch.touched(step, members[None])
        shape = step.access.shape
        private = shape[len(launch.geometry.local_range) :]
        operand = step.result if step.op == "load" else step.values[-1] if step.values else step.result
        values = element if operand is None else launch.elements(operand, shape)[0][members]
        elements = _spread(launch, element, active & inside, members, private)
        given = _spread(launch, values, active & (not step.is_hint), members, private)
        memory = step.memory
        line.accesses.append(Access(step.op, self._names[memory], memory.space, memory.shape, elements, given))
        self._bytes += elements.nbytes + given.nbytes
        if step.op != "load" and not step.is_hint and memory.space != "global":
            group, item = np.nonzero(members[None])
            positions = launch.memories[memory].positions(element, group, item, launch.geometry.items)
            stored = np.zeros(self._written[memory].shape, bool)
            stored[positions[active & inside]] = True
            self._written[memory] |= stored
            line.changed[memory] = line.changed.get(memory, False) | stored

    def _check(self, site: Site) -> None:
        if len(self.steps) > self._most:
            raise source.kernel_error(
                f"the work-group has made {counted(self._most, 'step')}, and goes on; inspect a smaller problem, or "
                f"allow more with xe.inspect(..., most_steps={10 * self._most})",
                site,
            )
        if self._bytes > _MOST_BYTES:
            raise source.kernel_error(
                f"what the work-group has held in {counted(len(self.steps), 'step')} is more than {_MOST_BYTES >> 20} "
                "MiB, and it goes on; inspect a smaller problem",
                site,
            )


def _names(memories: Iterable[Allocation]) -> dict[Allocation, str]:
    """A name of its own for each memory: from the second of a name on, the name with a number."""
    counts: collections.Counter[str] = collections.Counter()
    found = {}
    for memory in memories:
        counts[memory.name] += 1
        found[memory] = memory.name if counts[memory.name] == 1 else f"{memory.name} {counts[memory.name]}"
    return found


def _is_back(after: Sequence[Origin], before: Sequence[Origin]) -> bool:
    """True if what comes after begins the line anew."""
    return bool(after and before) and after[0].begins_anew(before[-1])


def _origins(step: Any) -> list[Origin]:
    """Where the operations of a step come from, in their order, as far as that is told."""
    straight = step.exchange if isinstance(step, GroupFunction) else step
    if isinstance(straight, Straight):
        return [o.origin for o in straight.operations if o.origin is not None]
    return [step.origin] if isinstance(step, steps.AccessStep) and step.origin is not None else []


def _site(step: Any) -> Site | None:
    """The line of a step; None of one that stands for none, as the end of a loop's body does."""
    if isinstance(step, steps.AccessStep | GroupFunction | Fence):
        return step.site
    return next((origin.site for origin in _origins(step)), None)


def _ordering(step: GroupFunction | Fence) -> str:
    if isinstance(step, Fence):
        return "fence"
    return "barrier" if step.level == collectives.GROUP else "sub-group barrier"


def _shape(launch: Alone, memory: Allocation) -> tuple[int, ...]:
    return (*launch.geometry.local_range, *memory.shape) if memory.space == "private" else memory.shape


def _spread(
    launch: Alone, rows: np.ndarray, mask: np.ndarray, members: np.ndarray, private: tuple[int, ...]
) -> np.ma.MaskedArray:
    """Of rows of some work-items `[k, n]` an array of the work-group's shape and private axes, masked elsewhere."""
    items = launch.geometry.items
    whole = np.ma.masked_all((items, rows.shape[1]), rows.dtype)
    whole[members] = np.ma.array(rows, mask=~np.broadcast_to(mask, rows.shape))
    return whole.reshape(*launch.geometry.local_range, *private)


def _given(launch: Alone, step: Any, members: np.ndarray) -> np.ndarray:
    """`[L]` of those who carry out a step who get a result: an atomic operation gives none where it is masked out."""
    if not isinstance(step, steps.AccessStep) or step.op == "load" or step.where is None:
        return members
    _, _, active = launch.touched(step, members[None])
    taking = members.copy()
    taking[members] = np.broadcast_to(active, (int(members.sum()), *active.shape[1:])).reshape(members.sum(), -1).any(1)
    return taking


def _of_register(launch: Alone, register: Register, members: np.ndarray) -> np.ma.MaskedArray:
    """What each work-item holds of a register; of a value of the work-group's shape its own element."""
    local, items = launch.geometry.local_range, launch.geometry.items
    held = launch.value_of(register)[0]
    if not register.lanewise and register.shape[: len(local)] == local:
        held = held.reshape(items, items, -1)[np.arange(items), np.arange(items)]
        held = held.reshape(items, *register.shape[len(local) :])
    mask = np.broadcast_to(~members.reshape(items, *[1] * (held.ndim - 1)), held.shape)
    return np.ma.array(held, mask=mask, copy=True).reshape(*local, *held.shape[1:])


def _shown(code: Code) -> Mapping[int, list[tuple[str, Register]]]:
    """For each place the registers whose values a line has computed for others, each with its name."""
    stretches = _stretches(code)
    readers = _readers(code, stretches)
    found: dict[int, list[tuple[str, Register]]] = collections.defaultdict(list)
    for place, step in enumerate(code.steps):
        site = _site(step)
        for name, register, targets in _results(step):
            elsewhere = readers[register.number] - {stretches[place]}
            if isinstance(register.dtype, np.dtype) and elsewhere:
                # What only goes on into the next turn of a loop is found there.
                found[place].append((name or _assigned(site), targets.get(register.number, register)))
    return found


def _stretches(code: Code) -> list[int]:
    """For each place a number, the same for what follows each other on one line and for the same work-items."""
    found = [0]
    for place, (before, after) in enumerate(itertools.pairwise(code.steps), 1):
        back = _is_back(_origins(after), _origins(before))
        same = _site(before) == _site(after) and code.scopes.get(place - 1) is code.scopes.get(place)
        found.append(found[-1] + (back or not same))
    return found


def _assigned(site: Site | None) -> str:
    """The variable that a line of C assigns to, if it is one."""
    found = _ASSIGNMENT.findall(site.source) if site is not None else []
    return str(found[0]) if len(found) == 1 else "result"


_ASSIGNMENT = re.compile(r"(\w+)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


def _results(step: Any) -> list[tuple[str | None, Register, Mapping[int, Register]]]:
    """What a step computes: its name, its register, and the registers that those are moved to at once."""
    straight = step.exchange if isinstance(step, GroupFunction) else step
    if isinstance(straight, Straight):
        moved = {o.number: target for target, o in straight.moves if isinstance(o, Register)}
        told = [(o.origin.name, o.results) for o in straight.operations if o.origin is not None]
        return [(name, register, moved) for name, results in told for register in results]
    if isinstance(step, steps.AccessStep) and step.result is not None:
        return [(step.origin.name if step.origin else None, step.result, {})]
    return []


_ELSEWHERE = -1


def _readers(code: Code, stretches: Sequence[int]) -> Mapping[int, set[int]]:
    """For each register the stretches that read it; what loops and branches read is read elsewhere."""
    found: dict[int, set[int]] = collections.defaultdict(set)
    for place, step in enumerate(code.steps):
        here, away = _reads(step)
        for operands, reader in (here, stretches[place]), ([*away, code.scopes.get(place)], _ELSEWHERE):
            for register in (o for o in operands if isinstance(o, Register)):
                found[register.number].add(reader)
    return found


def _reads(step: Any) -> tuple[list[Any], list[Any]]:
    """The operands that a step reads, and those that it does for a loop or a branch."""
    if isinstance(step, GroupFunction):
        return [*(_operands(step.exchange.operations) if step.exchange else ()), step.where, step.active], []
    if isinstance(step, Straight):
        return _operands(step.operations), [o for _, o in step.moves]
    if isinstance(step, steps.AccessStep):
        return [*step.index, *step.values, step.where], []
    return (
        ([step.where], []) if isinstance(step, Fence) else ([], [step.number] if isinstance(step, steps.Branch) else [])
    )


def _operands(operations: tuple[Operation, ...]) -> list[Any]:
    return [operand for operation in operations for operand in operation.operands]
