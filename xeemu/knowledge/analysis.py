"""Analysis: what is known of every value of a program before anything is emitted, and what that leaves open.

For each value: true if it differs between work-groups, the interval of its values, and its lane form.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import forms, intervals
from xeemu.knowledge.forms import Factors, Form
from xeemu.knowledge.intervals import Interval
from xeemu.language.geometry import Geometry

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of a value.

    Attributes:
      varying: true if it differs between work-groups; if so it gets a leading axis of groups.
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
        """True if it is a local memory that all groups fill alike (see `group_invariant_memory`)."""
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
    """What is known of one (sub)program on one call path.

    Attributes:
      body: the (sub)program.
      geometry: the sizes of the launch.
      values: what is known of each value.
      factors: for a value with a form, of which multiples of the bases of its operation's operands its base is the sum;
        a value that is missing is its own base.
      inner: for each structured operation the facts of its bodies (of `while`: the predicate's, then the body's).
      previous_versions: for each `cond`, for each result that is a memory the numbers of the branch operands that it is
        the next version of (several, if branches reach it in different ways), for others None.
      derived: what else was found out about the (sub)program, see `fact`.
      constants: what is known of the arrays that were met so far.
    """

    body: Region
    geometry: Geometry
    values: dict[Value, Known] = dataclasses.field(default_factory=dict)
    factors: dict[Value, Factors] = dataclasses.field(default_factory=dict)
    inner: dict[int, tuple["Facts", ...]] = dataclasses.field(default_factory=dict)
    previous_versions: dict[int, tuple[tuple[int, ...] | None, ...]] = dataclasses.field(default_factory=dict)
    derived: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False)
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

    def copy(self) -> "Facts":
        """What is known of each value and operation, to be changed, without what else was found out."""
        return Facts(
            self.body,
            self.geometry,
            dict(self.values),
            dict(self.factors),
            dict(self.inner),
            dict(self.previous_versions),
            constants=dict(self.constants),
        )

    def forget(self, number: int, op: Op) -> None:
        """Leaves out what is known of an operation, but for its results."""
        for known in (self.inner, self.previous_versions):
            known.pop(number, None)
        for value in op.results:
            self.factors.pop(value, None)

    def within(self, number: int) -> tuple["Facts", ...]:
        """Those of the bodies of an operation."""
        return self.inner.get(number, ())

    def executed_within(self, number: int) -> tuple["Facts", ...]:
        """The same, of branches only that of the one that all groups take, if that is known."""
        inner, op = self.within(number), self.body.ops[number]
        if not isinstance(control.of(op), control.Cond):
            return inner
        only = self.value(op.operands[0]).only
        return inner if only is None else (inner[min(max(only, 0), len(inner) - 1)],)


def fact(find: Callable[Concatenate[Facts, P], R]) -> Callable[Concatenate[Facts, P], R]:
    """A function of facts and other hashable values that is computed once, and kept with them.

    What it gives must not be changed, and the facts must be complete.
    """

    @functools.wraps(find)
    def once(facts: Facts, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (find, args, tuple(sorted(kwargs.items())))
        if key not in facts.derived:
            facts.derived[key] = find(facts, *args, **kwargs)
        result: R = facts.derived[key]
        return result

    return once


def bodies(facts: Facts, within: Callable[[Facts, int], tuple[Facts, ...]] = Facts.within) -> Iterator[Facts]:
    """The facts of a (sub)program and of its inner ones: those that `within` gives of the bodies of an operation."""
    yield facts
    for number in range(len(facts.body.ops)):
        for inner in within(facts, number):
            yield from bodies(inner, within)


def executed(facts: Facts) -> Iterator[Facts]:
    """The same, but for branches that no group takes."""
    return bodies(facts, Facts.executed_within)


def undecided(facts: Facts) -> int:
    """How much is left to find out when a (sub)program and its inner ones run.

    Components of indices that are not proved to be within bounds, and branches that only some groups may take.
    """
    accesses = ((op, inner) for inner in bodies(facts) for op in inner.body.ops if op.name in ops.ACCESSES)
    return branches(facts) + sum(doubted(op, inner) for op, inner in accesses)


def branches(facts: Facts) -> int:
    """The number of branches of a (sub)program and its inner ones that only some groups may take."""
    found = 0
    for inner in bodies(facts):
        for op in inner.body.ops:
            chosen = inner.value(op.operands[0]) if isinstance(control.of(op), control.Cond) else None
            if chosen is not None and chosen.varying and chosen.only is None:
                found += len(op.regions)
    return found


def doubted(op: Op, facts: Facts) -> int:
    """How many components of an access's index are not proved to be within bounds."""
    each = zip(ops.indices(op), ops.viewed_shape(op), strict=True)
    return sum(not intervals.within(facts.value(a).interval, (0, n - 1)) for a, n in each)
