"""Analysis: what is known of every value of a program before anything is emitted, and what that leaves open.

For each value: whether it differs between work-groups, the interval of its values, and its lane form.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import forms, intervals
from xeemu.knowledge.forms import BaseRule, Form
from xeemu.knowledge.intervals import Interval
from xeemu.language.geometry import Geometry

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of a value.

    Attributes:
      varying: whether it differs between work-groups; if so it gets a leading axis of groups.
      interval: the values that it takes in any group, work-item and iteration; None if it is not an integer or bool.
      form: its lane form, or None.
      space: for a memory its space, else None. All versions of a memory share one `Known` object.
    """

    varying: bool
    interval: Interval | None = None
    form: Form | None = None
    space: str | None = None

    @property
    def only(self) -> int | None:
        """The number that it always is, if it is known."""
        return self.interval[0] if self.interval is not None and self.interval[0] == self.interval[1] else None

    @property
    def group_invariant(self) -> bool:
        """Whether it is a local memory that all groups fill alike (see `group_invariant_memory`)."""
        return self.space == "local" and not self.varying


@functools.lru_cache(maxsize=4096)
def of_number(number: Any, dtype: np.dtype, dimensions: int) -> Known:
    """What is known of a number; programs repeat few of them often."""
    return of_array(np.asarray(number, dtype), dimensions)


def of_array(array: Any, dimensions: int) -> Known:
    """What is known of an array whose elements are known."""
    values = np.asarray(array)
    return Known(False, intervals.of_array(values), forms.constant(values, dimensions))


@dataclasses.dataclass(eq=False)
class Facts:
    """The analysis of one (sub)program on one call path.

    Attributes:
      geometry: the sizes of the launch.
      values: what is known of each value.
      bases: for a value with a form, how its base comes from the bases of its operation's operands; a value that
        is missing is its own base.
      inner: for each structured operation the facts of its bodies (of `while`: the predicate's, then the body's).
      places: for each `cond`, for each result that is a memory the numbers of the branch operands that it is the next
        version of (several, if branches reach it in different ways), for others None.
      found: what else was found out about the (sub)program, see `fact`.
      constants: what is known of the arrays that were met so far.
    """

    geometry: Geometry
    values: dict[Value, Known] = dataclasses.field(default_factory=dict)
    bases: dict[Value, BaseRule] = dataclasses.field(default_factory=dict)
    inner: dict[int, tuple["Facts", ...]] = dataclasses.field(default_factory=dict)
    places: dict[int, tuple[tuple[int, ...] | None, ...]] = dataclasses.field(default_factory=dict)
    found: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False)
    constants: dict[Constant, Known] = dataclasses.field(default_factory=dict)

    @property
    def dimensions(self) -> int:
        """Of the nd-range."""
        return len(self.geometry.group_range)

    def value(self, value: Value) -> Known:
        """What is known of a value, or of a constant."""
        if not isinstance(value, Constant):
            return self.values[value]
        if value.is_literal and not value.shape:
            return of_number(value.array.item(), value.dtype, self.dimensions)
        if value not in self.constants:
            self.constants[value] = of_array(value.array, self.dimensions)
        return self.constants[value]

    def adopt(self, number: int, op: Op, other: "Facts") -> None:
        """Takes over what another analysis of the same body knows of an operation."""
        self.values |= {v: other.values[v] for v in op.results}
        self.bases |= {v: other.bases[v] for v in op.results if v in other.bases}
        if number in other.inner:
            self.inner[number] = other.inner[number]
        if number in other.places:
            self.places[number] = other.places[number]

    def within(self, number: int, op: Op) -> list[tuple[Region, "Facts"]]:
        """The bodies of an operation, with their facts."""
        return list(zip(op.regions, self.inner.get(number, ()), strict=True))

    def carried_out(self, number: int, op: Op) -> list[tuple[Region, "Facts"]]:
        """The same, of branches only the one that all groups take, if that is known."""
        inner = self.within(number, op)
        if not isinstance(control.of(op), control.Cond):
            return inner
        only = self.value(op.operands[0]).only
        return inner if only is None else [inner[min(max(only, 0), len(inner) - 1)]]


def fact(find: Callable[Concatenate[Region, Facts, P], R]) -> Callable[Concatenate[Region, Facts, P], R]:
    """A function of a (sub)program, its facts and other hashable values that is computed once, and kept with them.

    What it gives must not be changed, and the facts must be complete.
    """

    @functools.wraps(find)
    def once(body: Region, facts: Facts, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (find, body, args, tuple(sorted(kwargs.items())))
        if key not in facts.found:
            facts.found[key] = find(body, facts, *args, **kwargs)
        result: R = facts.found[key]
        return result

    return once


def bodies(body: Region, facts: Facts) -> Iterator[tuple[Region, Facts]]:
    """A (sub)program and its inner ones, with their facts."""
    yield body, facts
    for number, op in enumerate(body.ops):
        for inner, inner_facts in facts.within(number, op):
            yield from bodies(inner, inner_facts)


def executed(body: Region, facts: Facts) -> Iterator[tuple[Region, Facts]]:
    """The same, but for branches that no group takes."""
    yield body, facts
    for number, op in enumerate(body.ops):
        for part in facts.carried_out(number, op):
            yield from executed(*part)


def undecided(body: Region, facts: Facts) -> int:
    """How much is left to find out when a (sub)program and its inner ones run.

    Components of indices that are not proved to be within bounds, and branches that only some groups may take.
    """
    accesses = ((op, known) for inner, known in bodies(body, facts) for op in inner.ops if op.name in ops.ACCESSES)
    return branches(body, facts) + sum(doubted(op, known) for op, known in accesses)


def branches(body: Region, facts: Facts) -> int:
    """The number of branches of a (sub)program and its inner ones that only some groups may take."""
    found = 0
    for inner, known in bodies(body, facts):
        for op in inner.ops:
            chosen = known.value(op.operands[0]) if isinstance(control.of(op), control.Cond) else None
            if chosen is not None and chosen.varying and chosen.only is None:
                found += len(op.regions)
    return found


def doubted(op: Op, facts: Facts) -> int:
    """How many components of an access's index are not proved to be within bounds."""
    each = zip(ops.indices(op), ops.seen_shape(op), strict=True)
    return sum(not intervals.within(facts.value(a).interval, (0, n - 1)) for a, n in each)
