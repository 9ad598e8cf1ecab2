"""Counting: loops whose counter is known before they run: its first value, its step, and how often it is asked."""

import dataclasses
import functools
import itertools
import operator

from xeemu.frontends import arithmetic, intervals, types, values
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import Binding, Key, Walk
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Call,
    Cast,
    Expression,
    Loop,
    Name,
    Step,
    Subscript,
    Unary,
    Variable,
)
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Number

_MOST = 2**31 - 1
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


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
        """Whether they are an arithmetic progression."""
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
      same: whether all work-items make `most`.
      wraps: whether the counter of who has made its iterations may wrap while others go on.
    """

    key: Key
    first: Number
    step: int
    op: str
    bound: Number
    most: int | None
    same: bool
    wraps: bool = False


def counter(walk: Walk, node: Loop) -> Counter | None:
    """The counter of a loop, or None if it has none."""
    compared = None if node.after or node.condition is None else _comparison(node.condition)
    if compared is None or node.step is None:
        return None
    variable, op, bound_node = compared
    binding = walk.bindings.get(walk.key(variable))
    step = _step(walk, node, variable)
    if binding is None or step is None or not _is_fixed(walk, node, variable, bound_node):
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


def _leads(first: Number, bound: Number, step: int) -> bool:
    """Whether a counter that ends where it equals its bound is on its way there."""
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
    """Whether a counter can hold all that its bound can be, and 32 bits hold their distance."""
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
    last = (found.most or 1) - 1 if found.most is not None else None
    steps = Number(types.INT, k, (0, last if last is not None else _MOST))
    value = _after(found, steps)
    if last is not None:
        hull = _hull(found, last)
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


def _after(found: Counter, steps: Number) -> Number:
    """The counter some steps after its first value."""
    of, first = found.first.type, found.first
    if found.most is None or not intervals.fits_int32(_hull(found, found.most)) or of.size < 4:
        distance = arithmetic.binary("*", values.converted(steps, of), values.constant(found.step, of), of)
        value = arithmetic.binary("+", first, distance, of)
    else:
        by = arithmetic.binary("*", steps, values.constant(found.step, types.INT), types.INT)
        narrow = Number(types.INT, values.index(first), first.interval)
        value = arithmetic.binary("+", narrow, by, types.INT)
    assert isinstance(value, Number)
    return Number(of, value.data, value.interval)


def holding(binding: Binding, value: Number) -> Binding:
    return dataclasses.replace(binding, value=value)


def advanced(binding: Binding, found: Counter) -> Binding:
    """The counter's variable one step further, for what the loop's step does after it."""
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


def last(walk: Walk, found: Counter, first: Number) -> Number:
    """The counter's value after the loop."""
    if found.same and found.most is not None:
        return _after(found, values.constant(found.most, types.INT))
    return _after(found, trips(found))


# ---- what a loop's header says ----


def _comparison(node: Expression) -> tuple[Variable, str, Expression] | None:
    """The counter, how it is compared, and the bound."""
    if not isinstance(node, Binary) or node.op not in _MIRRORED:
        return None
    left, right = _bare(node.left), _bare(node.right)
    if isinstance(left, Name) and _is_counter(node.left, left):
        return left.variable, node.op, node.right
    if isinstance(right, Name) and _is_counter(node.right, right):
        return right.variable, _MIRRORED[node.op], node.left
    return None


def _bare(node: Expression) -> Expression:
    while isinstance(node, Cast) and isinstance(node.type, Scalar) and node.type.is_integer:
        node = node.operand
    return node


def _is_counter(node: Expression, bare: Name) -> bool:
    """Whether a side of a comparison is a variable, converted only to where it keeps its values."""
    if not isinstance(bare.type, Scalar) or not bare.type.is_integer or bare.variable.space != "private":
        return False
    assert isinstance(node.type, Scalar)
    return node.type.size >= bare.type.size


def steps(node: Expression | None) -> list[Expression]:
    """The parts of a loop's step, as in `i++, p += 4`, in order."""
    if isinstance(node, Binary) and node.op == ",":
        return [*steps(node.left), *steps(node.right)]
    return [] if node is None else [node]


def stepping(node: Loop, variable: Variable) -> list[Expression]:
    """The parts of a loop's step that assign a variable."""
    return [part for part in steps(node.step) if variable in effects.of(part).assigned]


def _step(walk: Walk, node: Loop, variable: Variable) -> int | None:
    """By how much the counter goes on, if that is known."""
    parts = stepping(node, variable)
    match parts[0] if len(parts) == 1 else None:
        case Step(op=op, operand=Name(variable=stepped)) if stepped is variable:
            return 1 if op == "++" else -1
        case Assignment(op=op, target=Name(variable=stepped), value=by) if stepped is variable and op in ("+", "-"):
            return _known(walk, node, variable, by, -1 if op == "-" else 1)
        case Assignment(op="", target=Name(variable=stepped), value=value) if stepped is variable:
            return _known_sum(walk, node, variable, value)
    return None


def _known_sum(walk: Walk, node: Loop, variable: Variable, value: Expression) -> int | None:
    sum_of = _bare(value)
    if not isinstance(sum_of, Binary) or sum_of.op not in ("+", "-"):
        return None
    left, right = _bare(sum_of.left), _bare(sum_of.right)
    if isinstance(left, Name) and left.variable is variable:
        return _known(walk, node, variable, sum_of.right, -1 if sum_of.op == "-" else 1)
    if isinstance(right, Name) and right.variable is variable and sum_of.op == "+":
        return _known(walk, node, variable, sum_of.left, 1)
    return None


def _known(walk: Walk, node: Loop, variable: Variable, by: Expression, sign: int) -> int | None:
    if not _is_fixed(walk, node, variable, by):
        return None
    value = walk.evaluate(by)
    if not isinstance(value, Number) or not value.known or not value.type.is_integer:
        return None
    step = int(value.python)
    # An unsigned step back is written as a huge one.
    low, high = intervals.of_type(value.type.dtype)
    step = step - (high - low + 1) if not value.type.is_signed and step > high // 2 else step
    return sign * step or None


def _is_fixed(walk: Walk, node: Loop, variable: Variable, part: Expression) -> bool:
    """Whether a part of a loop's header stays what it is, and the counter is changed by the header alone."""
    assert node.step is not None
    changed = effects.of(node.body)
    names = {n.variable for n in effects.nodes(part) if isinstance(n, Name)}
    touched = changed.assigned | effects.of(node.step).assigned
    if variable in changed.assigned or variable in changed.stored or variable in names or names & touched:
        return False
    return not any(map(_is_impure, effects.nodes(part)))


_PURE = ("get_", "min", "max", "mul24", "mad24", "abs", "clamp", "convert_")


def _is_impure(node: object) -> bool:
    """Whether it reads memory or does something."""
    if isinstance(node, Call):
        return node.function is not None or not node.name.startswith(_PURE)
    return (
        isinstance(node, Subscript | Assignment | Step)
        or (isinstance(node, Unary) and node.op == "*")
        or (type(node).__name__ == "Member")
    )


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
    own = stepping(node, variable)
    others = [part for part in steps(node.step) if part not in own]
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
    return _is_impure(node)


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
            found.append(value)
            if not test.data:
                return found
            for part in own:
                walk.evaluate(part, False)
    finally:
        walk.bindings[key], walk.live, walk.region = before, live, region
    return None
