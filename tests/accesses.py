"""Programs that access memories at places that are written in many ways, and what each execution touches, by NumPy.

An expression has two texts: the kernel's, in which a value is spelled in one of several ways (see `wordings`), and the
plain one, of NumPy arrays of all elements of an access; both are evaluated by Python. Places of one plain text are the
same for a compiler, however the kernel spells them. `registers` says which loads it leaves out.

Axis legend: L work-items of a work-group, P private elements of a work-item.
"""

import ast
import dataclasses
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from registers import Held, Literals, Registers, literal

Names = Mapping[str, Any]
Counters = tuple[tuple[str, int], ...]
"""Of the loops around, by name."""

_NAME = re.compile(r"[a-z]\w*")


LAST = 2
"""What is loaded where a loop ends that asks data."""


def datum(index: Any) -> Any:
    """What data that decide hold at an index: 0 to 3."""
    return index * 7 % 4


@dataclasses.dataclass(frozen=True)
class Value:
    """An integer or a condition of a program.

    Attributes:
      kernel: its text in the kernel.
      plain: its text for NumPy.
      low, high: bounds of an integer.
      reworded: another text for NumPy, by which a kernel of C spells it; the plain one if there is none.
      parts: of a condition the texts of those of which all must hold, if it consists of several.
    """

    kernel: str
    plain: str
    low: int = 0
    high: int = 1
    reworded: str = ""
    parts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Access:
    """A memory operation.

    Attributes:
      label: names it.
      memory: the memory's name; others access it only at the same place, but for constants.
      space: `global`, `local` or `private`.
      dtype: of its elements.
      shape: of the memory.
      op: `load`, `store`, or the name of an atomic method.
      index: a value for each dimension.
      mask: which elements take part; None for all.
      private: P.
      offset: the constant that the last component ends with, where others access the memory.
      volatile: it is carried out each time, and leaves nothing in registers.
      result: the name of what it loads; without one it goes into a sum of all loads.
      value: of a load the name by which stores take what it gives, if any do; of a store that, or a number.
    """

    label: str
    memory: str
    space: str
    dtype: str
    shape: tuple[int, ...]
    op: str
    index: tuple[Value, ...]
    mask: Value | None
    private: int
    offset: int = 0
    volatile: bool = False
    result: str = ""
    value: str = ""

    @property
    def kind(self) -> str:
        """The operation as a report calls it."""
        return self.op if self.op in ("load", "store") else "atomic"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop over a counter.

    Attributes:
      counter: its name.
      how: `fori`, `while`, `doubling`, `unrolled`, `items`, whose bounds each work-item has for itself, or `until`,
        which asks data before each iteration.
      low, high: its bounds, the end excluded; a doubling one goes 1, 2, 4 ... below `high`.
      body: what is done.
      bound: a load that gives `high`, so that data decide it; of `until` that which is asked, until it gives LAST.
    """

    counter: str
    how: str
    low: Value
    high: Value
    body: "tuple[Statement, ...]"
    bound: Access | None = None

    @property
    def never_begins(self) -> bool:
        """True if the ranges of its bounds say that it has no iteration, as `2 < n % 3` is false."""
        return self.low.low >= self.high.high


@dataclasses.dataclass(frozen=True)
class Barrier:
    """A work-group barrier for a memory."""

    memory: str


@dataclasses.dataclass(frozen=True)
class Branch:
    """Two ways, of which a group takes one, or, by `items`, each work-item."""

    items: bool
    condition: Value
    then: "tuple[Statement, ...]"
    otherwise: "tuple[Statement, ...]"


Statement = Access | Loop | Branch | Barrier


@dataclasses.dataclass(frozen=True)
class Program:
    """A kernel and its launch.

    Attributes:
      seed: names it.
      global_size, local_size: of the launch, a number for each dimension.
      ragged: it is launched over a plain range, whose last work-groups are not full; it has no local memory then.
      sub_group_size: that it requires.
      body: what it does.
      is_opencl: it is written in OpenCL C, where a barrier is one for all memories.
    """

    seed: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    ragged: bool
    sub_group_size: int
    body: tuple[Statement, ...]
    is_opencl: bool = False

    @property
    def memories(self) -> dict[str, Access]:
        """An access of each memory."""
        return {a.memory: a for a in self.accesses}

    @property
    def accesses(self) -> list[Access]:
        return list(_accesses(self.body))

    @property
    def loops(self) -> list[Loop]:
        return list(_loops(self.body))

    @property
    def counted(self) -> set[str]:
        """The counters of loops whose bounds are constants once unrolled loops around them are written out."""
        unrolled = {loop.counter for loop in self.loops if loop.how == "unrolled"}
        names = {loop.counter: set(_NAME.findall(f"{loop.low.plain} {loop.high.plain}")) for loop in self.loops}
        return {counter for counter, used in names.items() if used <= unrolled}

    @property
    def groups(self) -> tuple[int, ...]:
        """Work-groups in each dimension."""
        return tuple(-(-n // s) for n, s in zip(self.global_size, self.local_size, strict=True))


def _accesses(body: tuple[Statement, ...]) -> Iterator[Access]:
    for statement in body:
        if isinstance(statement, Access):
            yield statement
        elif isinstance(statement, Loop):
            yield from () if statement.bound is None else (statement.bound,)
            yield from _accesses(statement.body)
        elif isinstance(statement, Branch):
            yield from _accesses(statement.then + statement.otherwise)


def _loops(body: tuple[Statement, ...]) -> Iterator[Loop]:
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
            yield from _loops(statement.body)
        elif isinstance(statement, Branch):
            yield from _loops(statement.then + statement.otherwise)


def changed(body: tuple[Statement, ...]) -> set[str]:
    """The memories that statements store to, or for which they have a barrier."""
    own = {s.memory for s in body if isinstance(s, Barrier)}
    inner = (s.body if isinstance(s, Loop) else s.then + s.otherwise for s in body if isinstance(s, Loop | Branch))
    return own.union({a.memory for a in _accesses(body) if a.op != "load"}, *map(changed, inner))


def _without_empty(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements but for loops of which the ranges of their bounds say that they never begin."""
    found: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = dataclasses.replace(s, body=() if s.never_begins else _without_empty(s.body))
        elif isinstance(s, Branch):
            s = dataclasses.replace(s, then=_without_empty(s.then), otherwise=_without_empty(s.otherwise))
        found.append(s)
    return tuple(found)


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
      turn: the counters of the loops around it that are in its place.
      group: the work-group.
      literals: the conditions that those which take part meet.
      carried_out: it is, and does not load what is in registers.
      is_met: all that are active meet its mask, if it has one.
    """

    element: np.ndarray
    active: np.ndarray
    scalar: bool
    alike: bool
    uniform: bool
    copy: Counters
    turn: tuple[int, ...]
    group: int
    literals: Literals
    carried_out: bool
    is_met: bool


Found = dict[str, list[Execution]]
Written = tuple[str, Counters]
"""A loop as compilers have it, by its counter: one for each iteration of the unrolled loops around it."""


class _State(NamedTuple):
    """Where a work-group is in its program.

    Attributes:
      names: the values of names.
      active: bool `[L]` which work-items are.
      divergent: they need not be all.
      literals: the conditions that those which are active meet.
      counters: of the loops around, by name, so that they can be compared.
      begun: the counters of loops that leave in registers what they have loaded where they begin each time.
      empty: of those loops, and of the iterations of unrolled loops around them, which do not.
      counted: the counters of loops of which constants say how many iterations they have.
      met: the accesses whose masks are taken for none.
      executed: false on ways that the group does not go, which compilers look at all the same.
    """

    names: Names
    active: np.ndarray
    divergent: bool
    literals: Literals
    counters: Mapping[str, int]
    begun: frozenset[str]
    empty: frozenset[Written]
    counted: frozenset[str]
    met: frozenset[str]
    executed: bool = True


def executions(program: Program) -> Found:
    """What each execution of an access touches, by the access's label."""
    known = frozenset(loop.counter for loop in program.loops if loop.how != "items" and loop.bound is None)
    return _executed(program, known, frozenset(_executed(program, known)[1]))[0]


def doubtful(program: Program, found: Found) -> set[str]:
    """The accesses of which it is not said which are left out, though no constants say so: by loops that begin, and
    after accesses whose masks all meet."""
    group = [loop for loop in program.loops if loop.how != "items"]
    known = frozenset(loop.counter for loop in group if loop.low.high < loop.high.low)
    known |= program.counted & {loop.counter for loop in group}
    others = [_executed(program, known, frozenset(_executed(program, known)[1]))[0]]
    if met := frozenset(label for label, made in found.items() if made and all(e.is_met for e in made)):
        others.append(_executed(program, known, frozenset(), met)[0])
    return {
        label
        for label, made in found.items()
        for other in others
        if [e.carried_out for e in made] != [e.carried_out for e in other[label]]
    }


def _executed(
    program: Program, begun: frozenset[str], empty: frozenset[Written] = frozenset(), met: frozenset[str] = frozenset()
) -> tuple[Found, set[Written]]:
    """The executions, if such loops begin each time but for some, and those that do not; such masks are none."""
    found: Found = {access.label: [] for access in program.accesses}
    found_empty = set[Written]()
    for group in np.ndindex(*program.groups):
        names, present = _names(program, group)
        accesses = _accesses(_without_empty(program.body))
        shared = {access.memory for access in accesses if access.op != "load" and access.space != "private"}
        registers = Registers(shared, program.is_opencl)
        counted = frozenset(program.counted)
        state = _State(names, present, False, frozenset(), {}, begun, empty, counted, met)
        _run(program.body, state, registers, found)
        found_empty |= registers.empty
    return found, found_empty


def _names(program: Program, group: tuple[int, ...]) -> tuple[Names, np.ndarray]:
    """What the ids of a group are, integers and `[L, 1]`, and which of its work-items exist, `[L]`."""
    ids = np.indices(program.local_size).reshape(len(program.local_size), -1)
    linear_group = int(np.ravel_multi_index(group, program.groups))
    names: dict[str, Any] = {
        "np": np,
        "is_opencl": program.is_opencl,
        "datum": datum,
        "unrolled": (),
        "group_linear": linear_group,
    }
    present = np.ones(ids.shape[1], bool)
    linear = np.zeros(ids.shape[1], np.int64)
    for d, local in enumerate(ids):
        whole = group[d] * program.local_size[d] + local
        names |= {f"lid{d}": local[:, None], f"gid{d}": whole[:, None], f"group{d}": group[d]}
        present &= whole < program.global_size[d]
        linear = linear * program.global_size[d] + whole
    items = np.arange(ids.shape[1])
    return names | {"local_linear": items[:, None], "global_linear": linear[:, None]}, present


def _run(body: tuple[Statement, ...], state: _State, registers: Registers, found: Found) -> None:
    """Executes statements by the work-items that are active."""
    for statement in body:
        if isinstance(statement, Access):
            _execute(statement, state, registers, found)
        elif isinstance(statement, Barrier):
            registers.meet(statement.memory)
        elif isinstance(statement, Branch):
            _choose(statement, state, registers, found)
        else:
            if statement.bound is not None and statement.how != "until":
                _execute(statement.bound, state, registers, found)
            _loop(statement, state, registers, found)


def _choose(branch: Branch, state: _State, registers: Registers, found: Found) -> None:
    """Goes both ways, though nobody need be there, by masks where it is short."""
    taken = np.broadcast_to(_evaluated(branch.condition, state.names), (len(state.active), 1))[:, 0].astype(bool)
    before, text, ends = registers.copy(), branch.condition.plain, list[Held]()
    by_masks = state.names["is_opencl"] and (branch.items or not _is_long(branch))
    for inner, mask, condition in (
        (branch.then, state.active & taken, text),
        (branch.otherwise, state.active & ~taken, f"not {text}"),
    ):
        is_executed = mask.any() or (branch.items and state.active.any())
        literals = state.literals | {literal(condition, state.counters)}
        divergent, executed = state.divergent or branch.items, state.executed and bool(is_executed)
        way = state._replace(active=mask, divergent=divergent, literals=literals, executed=executed)
        _run(inner, way, registers, found)
        if by_masks:
            before = registers.copy()
        elif branch.items:
            if any(loop.how != "unrolled" for loop in _loops(inner)):
                registers.join(before)
            before = registers.copy()
        else:
            ends.append(registers.copy())
            registers.restore(before)
    if ends:
        registers.restore(ends[0])
        registers.join(ends[1], frozenset({literal(way, state.counters) for way in (text, f"not {text}")}))


def _is_long(branch: Branch) -> bool:
    """True if a way has a loop or a barrier."""
    body = branch.then + branch.otherwise
    return any(isinstance(s, Loop | Barrier) or (isinstance(s, Branch) and _is_long(s)) for s in body)


def _loop(loop: Loop, state: _State, registers: Registers, found: Found) -> None:
    """What is in registers as an iteration begins is what was there before the loop, and is after an iteration."""
    before, written = registers.copy(), (loop.counter, state.names["unrolled"])
    while loop.how != "unrolled" and not loop.never_begins and registers.hold(changed(loop.body)):
        start = registers.copy()
        _repeat(loop, state._replace(executed=False), registers, found, most=1)
        registers.join(start)
        if registers.copy() == start:
            break
    start = registers.copy()
    iterations = _repeat(loop, state, registers, found)
    if not iterations and state.executed:
        registers.empty.add(written)
    if not iterations and loop.counter in state.counted:
        registers.restore(before)
    elif loop.counter not in state.begun or written in state.empty:
        registers.restore(start)


def _repeat(loop: Loop, state: _State, registers: Registers, found: Found, most: int = sys.maxsize) -> int:
    """Executes a loop, so many iterations at most, and if 1 one that it need not have; gives how many it has."""
    low = _evaluated(loop.low, state.names)
    high = None if loop.how == "until" else _evaluated(loop.high, state.names)

    def goes_on(counter: int) -> bool:
        if loop.bound is None or loop.how != "until":
            return counter < int(high)
        asked = {**state.names, loop.counter: counter}
        counters = {**state.counters, loop.counter: counter}
        _execute(loop.bound, state._replace(names=asked, counters=counters), registers, found)
        return bool(_evaluated(loop.high, asked) != LAST)

    def iterate(counter: Any, number: int, state: _State) -> None:
        counters = {**state.counters, loop.counter: number}
        inner = state._replace(names={**state.names, loop.counter: counter}, counters=counters)
        _run(loop.body, inner, registers, found)
        if loop.how != "unrolled":
            registers.forget(loop.counter)

    turn = 0
    if loop.how == "items":
        ends = np.broadcast_to(high, (len(state.active), 1))
        # Who is in an iteration was in all before it.
        inside = state._replace(divergent=True, literals=state.literals | {literal(f"in {loop.counter}", {})})
        while turn < most and (most == 1 or (state.active & (low + turn < ends)[:, 0]).any()):
            iterate(low + turn, turn, inside._replace(active=state.active & (low + turn < ends)[:, 0]))
            turn += 1
        return turn
    counter = int(low)
    while turn < most and (goes_on(counter) or most == 1):
        names = {**state.names}
        if loop.how == "unrolled":
            names["unrolled"] = (*names["unrolled"], (loop.counter, counter))
        iterate(counter, counter, state._replace(names=names))
        turn, counter = turn + 1, counter * 2 if loop.how == "doubling" else counter + 1
    return turn


def _execute(access: Access, state: _State, registers: Registers, found: Found) -> None:
    made = _execution(access, state, registers)
    if state.executed:
        found[access.label].append(made)


def _execution(access: Access, state: _State, registers: Registers) -> Execution:
    shape = (len(state.active), access.private)
    names = {**state.names, "own": np.arange(access.private)[None]}
    element, inside = np.zeros(shape, np.int64), np.ones(shape, bool)
    components = [eval(_folded(value.plain, names["unrolled"]), names) for value in access.index]
    for component, size in zip(components, access.shape, strict=True):
        element = element * size + component
        inside &= (component >= 0) & (component < size)
    literals, mask = state.literals, np.ones(shape, bool)
    if access.mask is not None:
        mask = np.broadcast_to(_evaluated(access.mask, names), shape)
    if access.mask is not None and access.label not in state.met:
        literals |= {literal(text, state.counters) for text in access.mask.parts or (access.mask.plain,)}
    # A vector of C has one index, while private elements of Python have one each.
    vector = state.names["is_opencl"] and access.private > 1
    uniform = not any(map(np.ndim, components)) or (vector and all(np.size(c) == access.private for c in components))
    scalar = uniform and not state.divergent and access.mask is None
    return Execution(
        element,
        inside & mask & state.active[:, None],
        scalar and access.op == "load" and access.space != "private",
        not state.divergent and all(np.ndim(component) < 2 or len(component) == 1 for component in components),
        uniform,
        state.names["unrolled"],
        tuple(number for name, number in sorted(state.counters.items()) if name in _named(access)),
        state.names["group_linear"],
        literals,
        registers.access(access.op, _place(access, state), element, literals, access.volatile, access.value),
        access.mask is not None and bool(mask[state.active].all()),
    )


@functools.lru_cache(maxsize=1024)
def _named(access: Access) -> frozenset[str]:
    """The names in an access's place."""
    return frozenset(name for value in access.index for name in _NAME.findall(value.plain))


def _place(access: Access, state: _State) -> tuple[str, tuple[Any, ...], int]:
    """The memory, what stands before the constant of a place, and that constant."""
    *outer, last = (value.plain for value in access.index)
    base = last.removesuffix(f" + {access.offset})")
    texts = tuple(literal(text, state.counters) for text in (*outer, base))
    return access.memory, (texts, access.private), access.offset


def _evaluated(value: Value, names: Names) -> Any:
    return eval(value.plain, dict(names))


@functools.lru_cache(maxsize=4096)
def _folded(text: str, unrolled: Counters) -> str:
    """A text without remainders of divisions by what is 1 where unrolled loops are written out, as these are 0."""
    return ast.unparse(_Remainders(dict(unrolled)).visit(ast.parse(text, mode="eval")))


class _Remainders(ast.NodeTransformer):
    """Replaces remainders of divisions by 1.

    Args:
      known: the numbers that are known, by name.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        names = {name.id for name in ast.walk(node.right) if isinstance(name, ast.Name)}
        if not isinstance(node.op, ast.Mod) or not names <= self._known.keys():
            return node
        return ast.Constant(0) if eval(ast.unparse(node.right), dict(self._known)) == 1 else node
