"""Counting: loops whose counter is known before they run: its first value, its step, and how often it is asked."""

import dataclasses
import functools
import itertools
import operator

from xeemu.frontends import arithmetic, intervals, types, values
from xeemu.frontends.lowering import effects, headers
from xeemu.frontends.lowering.walk import Binding, Key, Walk
from xeemu.frontends.tree import (
    Assignment,
    Expression,
    Loop,
    Name,
    Step,
    Variable,
)
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Number

_MOST = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class Sequence:
    """The values of a counter that is known throughout.

    Attributes:
      key: the counter.
      values: one for each iteration.
      last: the one after the loop.
      others: what the loop's header does beside stepping the counter.
    """

    key: Key
    values: list[Number]
    last: Number
    others: list[Expression]

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def even(self) -> bool:
        """True if they are an arithmetic progression."""
        numbers = [n.python for n in self.values]
        return len({b - a for a, b in itertools.pairwise(numbers)}) <= 1


@dataclasses.dataclass(frozen=True, eq=False)
class Counter:
    """A counter that goes on by a known step until it passes a bound that does not change.

    Attributes:
      key: the variable.
      first: its value before the loop.
      step: by how much it goes on, not 0.
      op: how it is compared with the bound: it goes on while `counter op bound`.
      bound: the bound.
      most: iterations of the work-item that makes the most, or more; None where that is known only as the loop runs.
      same: True if all work-items make `most`.
      wraps: True if the counter of who has made its iterations may wrap while others go on.
    """

    key: Key
    first: Number
    step: int
    op: str
    bound: Number
    most: int | None
    same: bool
    wraps: bool = False

    @property
    def given(self) -> bool:
        """True if an argument tells how many iterations there are."""
        return self.first.given or self.bound.given


def counter(walk: Walk, node: Loop) -> Counter | None:
    """The counter of a loop, or None if it has none."""
    compared = None if node.after or node.condition is None else headers.comparison(node.condition)
    if compared is None or node.step is None:
        return None
    variable, op, bound_node = compared
    binding = walk.bindings.get(walk.key(variable))
    step = headers.step_of(walk, node, variable)
    if binding is None or step is None or not headers.is_fixed(walk, node, variable, bound_node):
        return None
    first, bound = walk.read(walk.key(variable)), walk.evaluate(bound_node)
    if not isinstance(first, Number) or not isinstance(bound, Number) or not first.type.is_integer:
        return None
    if op == "!=" and not (abs(step) == 1 and _leads(first, bound, step)):
        return None
    op = ("<" if step > 0 else ">") if op == "!=" else op
    if (step > 0) != (op in ("<", "<=")):
        return None
    return _sized(Counter(walk.key(variable), first, step, op, bound, None, False))


@dataclasses.dataclass(frozen=True, eq=False)
class Companion:
    """A variable that a loop's header steps beside the counter, by a known step.

    Attributes:
      key: the variable.
      first: its value before the loop.
      step: by how much it goes on, not 0.
    """

    key: Key
    first: Number
    step: int


def companions(walk: Walk, node: Loop, found: Counter) -> list[Companion]:
    """The variables of a loop's header that go on by known steps beside its counter."""
    stepped = effects.of(node.step).assigned
    made = []
    for variable in sorted(stepped, key=lambda v: v.name):
        binding = walk.bindings.get(walk.key(variable))
        if binding is None or walk.key(variable) == found.key or variable.space != "private":
            continue
        first, step = walk.read(walk.key(variable)), headers.step_of(walk, node, variable)
        if step is not None and isinstance(first, Number) and first.type.is_integer:
            made.append(Companion(walk.key(variable), first, step))
    return made


def _leads(first: Number, bound: Number, step: int) -> bool:
    """True if a counter that ends where it equals its bound is on its way there."""
    if first.interval is None or bound.interval is None:
        return False
    return first.interval[1] <= bound.interval[0] if step > 0 else first.interval[0] >= bound.interval[1]


def _sized(found: Counter) -> Counter | None:
    """A counter with the most iterations, or None if it may wrap."""
    a, b = found.first.interval, found.bound.interval
    if a is None or b is None:
        return None
    least, most = sorted((_count(found, a[0], b), _count(found, a[1], b)))
    ends, of_type = _hull(found, most), intervals.of_type(found.first.type.dtype)
    # Of a bound that data decide, or the work-item, the most is far from what most work-items make.
    if found.bound.known and a != of_type and most <= _MOST and intervals.within(ends, of_type):
        return dataclasses.replace(found, most=most, same=least == most)
    # The counter stops at its bound before it wraps, as it goes on one by one.
    inside = intervals.within(ends, of_type)
    wraps = (not inside and (abs(found.step) != 1 or found.op in ("<=", ">="))) or not _is_wide(found)
    uniform = found.first.uniform and found.bound.uniform
    return None if wraps else dataclasses.replace(found, same=uniform, wraps=not inside)


def _is_wide(found: Counter) -> bool:
    """True if a counter can hold all that its bound can be, and 32 bits hold their distance."""
    a, b = found.first.interval, found.bound.interval
    assert a is not None
    assert b is not None
    of_type = intervals.of_type(found.first.type.dtype)
    distance = b[1] - a[0] if found.step > 0 else a[1] - b[0]
    return intervals.within(b, of_type) and distance <= _MOST


def _count(found: Counter, first: int, bound: intervals.Interval) -> int:
    """The most iterations from a first value on."""
    distance = bound[1] - first if found.step > 0 else first - bound[0]
    inclusive = found.op in ("<=", ">=")
    return max(0, -(-(distance + inclusive) // abs(found.step)))


def _hull(found: Counter, most: int) -> intervals.Interval:
    """All values of a counter, the one after the last iteration too."""
    a = found.first.interval
    assert a is not None
    return intervals.joined(a, (a[0] + found.step * most, a[1] + found.step * most) if most else a)


def bound(binding: Binding, found: Counter, k: Data) -> Binding:
    """The counter's variable in iteration `k`."""
    of = found.first.type
    assert found.first.interval is not None
    value = _after(found, _steps(found, k))
    if found.most is not None:
        hull = _hull(found, max(found.most - 1, 0))
        return holding(binding, Number(of, value.data, hull))
    return holding(binding, dataclasses.replace(value, interval=_reach(found)))


def anywhere(inside: Binding) -> Binding:
    """The counter's variable for the loop's condition, which those ask too who are past their bound."""
    n = inside.value
    assert isinstance(n, Number)
    return holding(inside, Number(n.type, n.data, intervals.of_type(n.data.dtype)))


def _reach(found: Counter) -> intervals.Interval:
    """What a counter can be within its bound."""
    a, b = found.first.interval, found.bound.interval
    assert a is not None
    assert b is not None
    strict = found.op in ("<", ">")
    return (a[0], max(a[0], b[1] - strict)) if found.step > 0 else (min(a[1], b[0] + strict), a[1])


def _after(found: Counter | Companion, steps: Number) -> Number:
    """The counter, or a companion, some steps after its first value."""
    of, first = found.first.type, found.first
    if isinstance(found, Companion) or found.most is None or not _is_narrow(found, found.most):
        distance = arithmetic.binary("*", values.converted(steps, of), values.constant(found.step, of), of)
        value = arithmetic.binary("+", first, distance, of)
    else:
        by = arithmetic.binary("*", steps, values.constant(found.step, types.INT), types.INT)
        narrow = Number(types.INT, values.index(first), first.interval)
        value = arithmetic.binary("+", narrow, by, types.INT)
    assert isinstance(value, Number)
    return Number(of, value.data, value.interval)


def _is_narrow(found: Counter, most: int) -> bool:
    """True if a counter of at most so many iterations can be computed in 32 bits."""
    return intervals.fits_int32(_hull(found, most)) and found.first.type.size >= 4


def beside(binding: Binding, one: Companion, found: Counter, k: Data) -> Binding:
    """A companion's variable in iteration `k` of a counter's loop."""
    return holding(binding, _after(one, _steps(found, k)))


def _steps(found: Counter, k: Data) -> Number:
    return Number(types.INT, k, (0, max(found.most - 1, 0) if found.most is not None else _MOST))


def holding(binding: Binding, value: Number) -> Binding:
    return dataclasses.replace(binding, value=value)


def advanced(binding: Binding, found: Counter | Companion) -> Binding:
    """The variable of a counter or companion one step further, for what the loop's step does after it."""
    of = found.first.type
    assert isinstance(binding.value, Number)
    value = arithmetic.binary("+", binding.value, values.constant(found.step, of), of)
    assert isinstance(value, Number)
    return holding(binding, value)


def trips(found: Counter) -> Number:
    """The iterations of each work-item."""
    wide = types.LONG if max(found.first.type.size, found.bound.type.size) == 8 else types.INT
    a, b = (_signed(n, wide) for n in (found.first, found.bound))
    x, y = (b, a) if found.step > 0 else (a, b)
    distance = arithmetic.binary("-", x, y, wide)
    extra = abs(found.step) - 1 + (found.op in ("<=", ">="))
    rounded = arithmetic.binary("+", distance, values.constant(extra, wide), wide)
    count = arithmetic.binary("/", rounded, values.constant(abs(found.step), wide), wide)
    least = arithmetic.binary("max", count, values.constant(0, wide), wide)
    assert isinstance(least, Number)
    most = found.most if found.most is not None else _MOST
    return Number(wide, least.data, (0, most))


def _signed(n: Number, wide: Scalar) -> Number:
    return values.converted(n, wide)


def last(found: Counter, of: Counter | Companion) -> Number:
    """The value of a counter, or of a companion of it, after the counter's loop."""
    iterations = values.constant(found.most, types.INT) if found.same and found.most is not None else trips(found)
    return dataclasses.replace(_after(of, iterations), given=found.given)


# ---- counters that are known throughout ----


def sequence(walk: Walk, node: Loop, most: int) -> Sequence | None:
    """The iterations of a loop whose counter is known before it runs, if there are at most so many."""
    if node.after or node.condition is None or node.step is None:
        return None
    asked = {n.variable for n in effects.nodes(node.condition) if isinstance(n, Name)}
    stepped = asked & effects.of(node.step).assigned
    if len(stepped) != 1:
        return None
    (variable,) = stepped
    own = headers.stepping(node, variable)
    others = [part for part in headers.steps(node.step) if part not in own]
    parts = [n for part in (node.condition, *own) for n in effects.nodes(part)]
    names = {n.variable for n in parts if isinstance(n, Name)}
    changed = functools.reduce(operator.or_, map(effects.of, others), effects.of(node.body))
    if names & changed.assigned or variable in changed.stored or any(_is_unknown(n) for n in parts):
        return None
    if not all(_is_known(walk, name) for name in names | {variable}):
        return None
    found = _simulated(walk, node, own, walk.key(variable), most)
    return None if found is None else Sequence(walk.key(variable), found[:-1], found[-1], others)


def _is_unknown(node: object) -> bool:
    if isinstance(node, Assignment | Step):
        return not isinstance(node.target if isinstance(node, Assignment) else node.operand, Name)
    return headers.is_impure(node)


def _is_known(walk: Walk, variable: Variable) -> bool:
    binding = walk.bindings.get(walk.key(variable))
    return binding is not None and isinstance(binding.value, Number) and binding.value.known


def _simulated(walk: Walk, node: Loop, own: list[Expression], key: Key, most: int) -> list[Number] | None:
    """The counter's values, with the one after the loop; None if they are not known, or more than `most`.

    The walk is left as it was.
    """
    before, live, region = walk.bindings[key], walk.live, walk.region
    assert node.condition is not None
    walk.live = None
    found: list[Number] = []
    try:
        while len(found) <= most:
            test, value = walk.evaluate(node.condition), walk.read(key)
            if not isinstance(test, Number) or not isinstance(value, Number) or not (test.known and value.known):
                return None
            found.append(dataclasses.replace(value, given=value.given or test.given))
            if not test.data:
                return found
            for part in own:
                walk.evaluate(part, False)
    finally:
        walk.bindings[key], walk.live, walk.region = before, live, region
    return None
