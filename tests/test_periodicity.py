"""Progressions: that a few points of each box stand for all, against an enumeration of every point."""

import collections
import itertools
import math

import examples
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xeemu.ir.program import Op, Value
from xeemu.knowledge import budget, expressions, intervals, periodicity
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.expressions import Grid, LoopAxis, TooLarge
from xeemu.knowledge.growth import Growth
from xeemu.knowledge.periodicity import Progressions, Split

I32 = np.dtype(np.int32)
LANES = 4
ROW, COLUMN = LoopAxis("row", 7), LoopAxis("column", 12)


def of(axis):
    return expressions.of_axis(axis, I32)


def constant(value, dtype=np.int32):
    return expressions.constant(np.asarray(value), dtype)


def apply(op, *operands, dtype=I32, params=None):
    """The expression as `access_tree` makes it of an operation: its interval from those of its operands."""
    shape = np.broadcast_shapes(*(o.shape for o in operands))
    given = tuple(Value(o.shape, o.dtype) for o in operands)
    made = Op(op, given, (Value(shape, np.dtype(dtype)),), params or {})
    bound = intervals.of_op(made, [o.interval for o in operands])
    limits = intervals.of_dtype(dtype)
    exact = intervals.within(bound, limits)
    kept = exact or op in ("and", "or", "xor", "lt", "eq", "select_n", "min", "max", "rem")
    return expressions.apply(op, operands, made.attributes, shape, dtype, bound if exact else limits, kept)


# --- Growths ---


def steps(expression, box):
    return {axis.name: step for axis, step in Progressions(box).of(expression).items()}


BOX = {ROW: range(7), COLUMN: range(12)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (of(COLUMN), {"column": Growth(1, 1)}),
        (apply("add", apply("mul", of(ROW), constant(8)), of(COLUMN)), {"row": Growth(1, 8), "column": Growth(1, 1)}),
        (apply("rem", of(COLUMN), constant(3)), {"column": Growth(3, 0)}),
        (apply("div", of(COLUMN), constant(3)), {"column": Growth(3, 1)}),
        (apply("rem", apply("mul", of(COLUMN), constant(4)), constant(6)), {"column": Growth(3, 0)}),
        (apply("shift_right_arithmetic", of(COLUMN), constant(2)), {"column": Growth(4, 1)}),
        (apply("and", of(COLUMN), constant(3)), {"column": Growth(4, 0)}),
        (apply("xor", of(COLUMN), constant(1)), {"column": Growth(2, 2)}),
        (apply("sub", of(ROW), of(ROW)), {}),
        (apply("mul", of(ROW), of(COLUMN)), {"row": Growth(7, 0), "column": Growth(12, 0)}),
        (apply("lt", of(COLUMN), constant(12), dtype=bool), {}),
        (apply("max", of(COLUMN), constant(-5)), {"column": Growth(1, 1)}),
    ],
)
def test_steps(expression, expected):
    assert steps(expression, BOX) == expected


def test_a_step_can_differ_between_elements():
    step = Progressions(BOX).of(apply("mul", of(COLUMN), constant(np.arange(LANES))))[COLUMN]
    assert step.period == 1
    np.testing.assert_array_equal(step.delta, np.arange(LANES))


def test_an_axis_of_one_index_is_none():
    assert steps(of(COLUMN), {ROW: range(7), COLUMN: range(3, 4)}) == {}


def test_what_overflows_has_no_step():
    far = apply("mul", of(COLUMN), constant(2**30))
    assert not far.exact
    assert steps(far, BOX) == {"column": Growth(12, 0)}


def test_what_depends_on_data_does_not_step():
    with pytest.raises(ValueError, match="depends on data"):
        Progressions(BOX).of(expressions.unknown((), I32))


# --- Splitting ---


def test_a_comparison_cuts_off_what_is_settled():
    long = LoopAxis("group", 10**6)
    lane = constant(np.arange(256))
    i = expressions.add(expressions.scale(expressions.of_axis(long), 256), lane)
    inside = expressions.compare("lt", i, expressions.constant(256 * 1000 + 17, np.int64))
    parts = periodicity.divided([{long: range(10**6)}], lambda p: (p.box[long], not p.of(inside)), points_limit=1)
    assert [part for part, _ in parts] == [range(1000), range(1000, 1001), range(1001, 10**6)]


def test_a_small_box_is_not_split():
    first = expressions.compare("eq", of(COLUMN), constant(0))
    assert steps(first, BOX) == {"column": Growth(12, 0)}
    with pytest.raises(Split) as split:
        Progressions(BOX, points_limit=1).of(first)
    assert [box[COLUMN] for box in split.value.boxes] == [range(1), range(1, 12)]


def test_a_diagonal_is_divided_until_its_parts_are_small():
    rows, columns = LoopAxis("row", 4096), LoopAxis("column", 4096)
    below = expressions.compare("lt", expressions.of_axis(columns), expressions.of_axis(rows))
    counted = periodicity.divided([{rows: range(4096), columns: range(4096)}], lambda p: _true(p, below))
    assert sum(counted) == 4096 * 4095 // 2
    assert len(counted) < 500


def _true(inside, condition):
    grid, weights = inside.representatives({axis: step.period for axis, step in inside.of(condition).items()})
    return int((grid.of(condition) * math.prod(np.ix_(*weights))).sum())


def test_extremes_are_those_of_all_points():
    e = apply("add", apply("mul", of(ROW), constant(-3)), apply("rem", of(COLUMN), constant(5)))
    assert Progressions(BOX).extremes(e) == (-18, 4)


def test_each_part_of_an_effort_has_its_own_and_what_others_have_left():
    effort = Budget(80, parts=4)
    with effort.portion():
        budget.spend(5)  # Of 10, and 40 for all.
    with pytest.raises(TooLarge), effort.portion():
        spent_one_by_one(10 + 45 + 1)
    for _ in range(2):
        with pytest.raises(TooLarge), effort.portion():
            spent_one_by_one(10 + 1)
        with effort.portion():
            spent_one_by_one(10)
    budget.spend(10**9)  # Outside nothing is limited.


def spent_one_by_one(units):
    for _ in range(units):
        budget.spend(1)


def test_a_division_that_takes_too_much_effort_is_given_up_always_at_the_same_place():
    long, wide = LoopAxis("long", 10**5), LoopAxis("wide", 10**5)
    condition = expressions.compare("lt", of(long), of(wide))

    def looked_at(units):
        boxes = []
        with pytest.raises(TooLarge), Budget(units).portion():
            periodicity.divided(
                [{long: range(long.size), wide: range(wide.size)}],
                lambda inside: boxes.append(inside.box) if inside.decided(condition) is None else None,
            )
        return boxes

    assert looked_at(20000) == looked_at(20000) != []
    assert len(looked_at(20000)) > len(looked_at(10000))


def test_too_many_boxes_are_given_up():
    with pytest.raises(TooLarge):
        periodicity.divided([BOX], _always_split)


def _always_split(inside):
    raise Split([inside.box, inside.box])


# --- Random expressions against every point ---

_LANE = np.arange(LANES)
LEAVES = st.sampled_from(
    [of(ROW), of(COLUMN), constant(_LANE), constant(3 * _LANE[::-1]), constant(0), constant(5), constant(-2)]
)
POSITIVE = st.sampled_from([constant(k) for k in (1, 2, 3, 4, 6, 8)])
SHIFTS = st.sampled_from([constant(k) for k in (0, 1, 2, 3)])


def extended(inner):
    both = st.tuples(inner, inner)
    return st.one_of(
        st.builds(lambda op, ab: apply(op, *ab), st.sampled_from(["add", "sub", "mul", "min", "max"]), both),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["div", "rem"]), inner, POSITIVE),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["and", "or", "xor"]), inner, POSITIVE),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(_SHIFTS), inner, SHIFTS),
        st.builds(lambda op, a: apply(op, a), st.sampled_from(["neg", "abs", "sign"]), inner),
        st.builds(lambda c, ab: apply("select_n", c, *ab), comparisons(inner), both),
    )


_SHIFTS = ["shift_left", "shift_right_arithmetic"]


def comparisons(inner):
    op = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])
    return st.builds(lambda op, a, b: apply(op, a, b, dtype=bool), op, inner, inner)


INTEGERS = st.recursive(LEAVES, extended, max_leaves=6)
RANGES = st.builds(
    lambda a, b, c, d: {ROW: range(min(a, b), max(a, b) + 1), COLUMN: range(min(c, d), max(c, d) + 1)},
    *(st.integers(0, 6), st.integers(0, 6), st.integers(0, 11), st.integers(0, 11)),
)


def lanes(grid, expression, lead):
    """`[*lead, LANES]` values, those of a scalar for every lane."""
    values = grid.of(expression)
    return np.broadcast_to(values if expression.shape else values[..., None], (*lead, LANES))


def everywhere(box, *wanted):
    """How often each combination of values occurs over all points of a box."""
    seen = collections.Counter()
    for row, column in itertools.product(box[ROW], box[COLUMN]):
        grid = Grid({ROW: np.array([row]), COLUMN: np.array([column])})
        seen[tuple(tuple(lanes(grid, e, (1, 1)).ravel().tolist()) for e in wanted)] += 1
    return seen


def reduced(seen, modulus):
    """The same with the first value up to multiples of a modulus, counted from its least element."""
    result = collections.Counter()
    for (index, mask), times in seen.items():
        low = min(index) // modulus * modulus
        result[tuple(i - low for i in index), mask] += times
    return result


@pytest.mark.thorough
@settings(max_examples=examples.some(300))
@given(INTEGERS, comparisons(INTEGERS), RANGES, st.sampled_from([1, 4, 16]), st.sampled_from([1, 20, 10**6]))
def test_representatives_stand_for_every_point(index, mask, box, modulus, few):
    def examine(inside):
        seen, moving = collections.Counter(), inside.of(index)
        periods = {axis: step.repeats(modulus) or len(inside.box[axis]) for axis, step in moving.items()}
        for axis, step in inside.of(mask).items():
            periods[axis] = math.lcm(periods.get(axis, 1), step.period)
        grid, weights = inside.representatives(periods)
        values = [lanes(grid, e, map(len, weights)).reshape(-1, LANES) for e in (index, mask)]
        times = math.prod(np.ix_(*weights)).ravel()
        for i, m, count in zip(*values, times, strict=True):
            seen[tuple(i.tolist()), tuple(m.tolist())] += int(count)
        return seen

    counted = sum(periodicity.divided([box], examine, few), collections.Counter())
    assert reduced(counted, modulus) == reduced(everywhere(box, index, mask), modulus)


@settings(max_examples=examples.some(150))
@given(INTEGERS, RANGES)
def test_steps_hold_between_all_points(expression, box):
    def examine(inside):
        for axis, step in inside.of(expression).items():
            grid = Grid({a: np.array(r) for a, r in inside.box.items()})
            values = lanes(grid, expression, map(len, inside.box.values())).astype(np.int64)
            number = list(inside.box).index(axis)
            later, earlier = (
                np.take(values, range(*r), number)
                for r in ((step.period, values.shape[number]), (0, max(0, values.shape[number] - step.period)))
            )
            assert (later - earlier == step.delta).all()

    periodicity.divided([box], examine)
