"""Intervals are sound: no operation gives a value outside the interval that its rule tells."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from xeemu.knowledge import intervals
from xeemu.language import importing

BINARY = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "rem": lax.rem,
    "max": lax.max,
    "min": lax.min,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "shift_left": lax.shift_left,
    "shift_right_arithmetic": lax.shift_right_arithmetic,
    "shift_right_logical": lax.shift_right_logical,
    "lt": lax.lt,
    "le": lax.le,
    "gt": lax.gt,
    "ge": lax.ge,
    "eq": lax.eq,
    "ne": lax.ne,
}
EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "shift_left": lambda x, y: x << y,
}
UNARY = {
    "neg": lax.neg,
    "abs": lax.abs,
    "sign": lax.sign,
    "not": lax.bitwise_not,
    "square": lambda x: lax.integer_pow(x, 2),
    "cube": lambda x: lax.integer_pow(x, 3),
    "to int8": lambda x: lax.convert_element_type(x, jnp.int8),
    "to uint8": lambda x: lax.convert_element_type(x, jnp.uint8),
    "to int32": lambda x: lax.convert_element_type(x, jnp.int32),
    "to bool": lambda x: lax.convert_element_type(x, jnp.bool_),
}
UNARY_EXACT = {
    "neg": lambda x: -x,
    "abs": abs,
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    **{name: (lambda x: x) for name in ("to int8", "to uint8", "to int32")},
}


def operation(function, *arguments):
    (op,) = importing.imported(jax.make_jaxpr(function)(*arguments)).ops
    return op


def ranges(dtype):
    info = jnp.iinfo(dtype)
    ends = st.one_of(st.integers(info.min, info.max), st.integers(max(info.min, -9), 9))
    return st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))


def values(interval, dtype):
    return np.arange(interval[0], interval[1] + 1).astype(dtype)


def on_everything(function, grid):
    """The results on all points, padded to one size so that JAX compiles once."""
    count = len(grid[0])
    padded = [np.concatenate([g, np.full(256 ** len(grid) - count, g[0], g.dtype)]) for g in grid]
    return np.asarray(function(*padded))[:count].astype(int)


def check(name, op, function, operands, exact):
    """The rule's interval holds every result: those in unbounded integers where the operation can overflow."""
    interval = intervals.of_op(op, operands)
    assert interval is not None or name in MAY_BE_UNKNOWN, "a rule that never tells anything is of no use"
    if interval is None:
        return False
    columns = [values(i, v.dtype) for i, v in zip(operands, op.operands, strict=True)]
    grid = [g.reshape(-1) for g in np.meshgrid(*columns, indexing="ij")]
    if exact is None:
        with np.errstate(all="ignore"):
            results = on_everything(function, grid)
    else:
        results = exact(*[g.astype(int) for g in grid])
    assert interval[0] <= results.min(), (name, operands, interval)
    assert results.max() <= interval[1], (name, operands, interval)
    return True


# Where an operand may be zero, negative or beyond the width, these tell nothing.
MAY_BE_UNKNOWN = frozenset(
    {"div", "rem", "and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"}
)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_rules_are_sound(name, dtype):
    """On all pairs of values of two intervals of an 8-bit type."""
    one = np.ones((), dtype)
    op = operation(BINARY[name], one, one)
    told = []
    function = jax.jit(BINARY[name])

    @settings(max_examples=15)
    @given(ranges(dtype), ranges(dtype))
    def holds(a, b):
        if name == "shift_left" and not intervals.within(b, (0, 7)):
            assert intervals.of_op(op, [a, b]) is None
            return
        told.append(check(name, op, function, [a, b], EXACT.get(name)))

    holds()
    assert any(told)


@pytest.mark.parametrize(
    ("name", "dtype"),
    # JAX drops a conversion to the same dtype, and has no `abs` of unsigned numbers.
    [(n, d) for n in UNARY for d in ("int8", "uint8") if n != f"to {d}" and (n, d) != ("abs", "uint8")],
)
def test_unary_rules_are_sound(name, dtype):
    one = np.ones((), dtype)
    op = operation(UNARY[name], one)

    @settings(max_examples=40)
    @given(ranges(dtype))
    def holds(a):
        check(name, op, UNARY[name], [a], UNARY_EXACT.get(name))

    holds()


@pytest.mark.parametrize("name", ["and", "or", "xor", "not", "eq", "ne", "lt"])
def test_rules_of_bools_are_sound(name):
    function = {**BINARY, **UNARY}[name]
    count = 1 if name == "not" else 2
    op = operation(function, *[np.ones((), bool)] * count)
    for operands in itertools.product([(0, 0), (1, 1), (0, 1)], repeat=count):
        interval = intervals.of_op(op, list(operands))
        for point in itertools.product(*(range(lo, hi + 1) for lo, hi in operands)):
            result = int(function(*[np.bool_(p) for p in point]))
            assert interval is None or interval[0] <= result <= interval[1], (operands, point)


@settings(max_examples=60)
@given(ranges("int8"), ranges("int8"), ranges("int8"), ranges("uint8"))
def test_select_and_clamp_are_sound(a, b, c, which):
    byte = np.ones((), np.int8)
    clamp = operation(lax.clamp, byte, byte, byte)
    low, high = intervals.of_op(clamp, [a, b, c])
    ends = [
        min(max(x, lo), hi) for lo, x, hi in itertools.product({*a, sum(a) // 2}, {*b, sum(b) // 2}, {*c, sum(c) // 2})
    ]
    assert low <= min(ends)
    assert max(ends) <= high
    select = operation(lax.select_n, np.ones((), bool), byte, byte)
    chosen = (which[0] % 2, max(which[0] % 2, which[1] % 2))
    interval = intervals.of_op(select, [chosen, a, b])
    cases = [(a, b)[k] for k in range(chosen[0], chosen[1] + 1)]
    assert all(intervals.within(case, interval) for case in cases)


def test_rules_of_whole_arrays_are_sound():
    """Reductions, positions and what only moves elements."""
    x = np.random.default_rng(0).integers(-5, 9, (3, 4)).astype(np.int8)
    functions = [
        lambda x: lax.reduce_sum(x, (0,)),
        lambda x: lax.reduce_sum(x, (0, 1)),
        lambda x: lax.reduce_max(x, (1,)),
        lambda x: lax.reduce_min(x, (0,)),
        lambda x: lax.cummax(x, 1),
        lambda x: lax.argmax(x, 1, np.int32),
        lambda x: lax.argmin(x, 0, np.int32),
        lambda x: lax.rev(x, (0,)),
        lambda x: lax.slice(x, (0, 1), (2, 3)),
        lambda x: lax.concatenate([x, x], 0),
        lambda x: lax.pad(x, np.int8(-100), [(1, 0, 0), (0, 2, 1)]),
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
    ]
    for function in functions:
        op = importing.imported(jax.make_jaxpr(function)(x)).ops[-1]
        operands = [intervals.of_array(x)] + [(-100, -100)] * (op.name == "pad")
        operands += [operands[0]] * (len(op.operands) - len(operands))
        low, high = intervals.of_op(op, operands)
        result = np.asarray(function(x)).astype(int)
        assert low <= result.min(), op
        assert result.max() <= high, op


def test_a_division_of_mixed_signs_rounds_to_zero():
    byte = np.ones((), np.int8)
    assert intervals.of_op(operation(lax.div, byte, byte), [(-7, 7), (2, 2)]) == (-3, 3)
    assert intervals.of_op(operation(lax.rem, byte, byte), [(-7, 9), (4, 4)]) == (-3, 3)
    assert intervals.of_op(operation(lax.div, byte, byte), [(1, 2), (-1, 1)]) is None


def test_join_and_within():
    assert intervals.join((1, 2), (-3, 0)) == (-3, 2)
    assert intervals.join((1, 2), None) is None
    assert intervals.within((1, 2), (1, 2))
    assert not intervals.within((0, 2), (1, 2))
    assert not intervals.within(None, (1, 2))
    assert intervals.of_dtype(np.uint64) == (0, 2**64 - 1)
    assert intervals.of_dtype(bool) == (0, 1)
    assert intervals.of_dtype(np.float32) is None
    assert intervals.of_array(np.array([2**63, 1], np.uint64)) == (1, 2**63)
    assert intervals.of_array(np.zeros(0, np.int8)) == (-128, 127)


def test_a_remainder_of_negative_numbers_has_an_interval():
    from xeemu.knowledge.intervals import _rem

    for a in range(-9, 9):
        for b in range(1, 5):
            low, high = _rem((a, a), (b, b))
            remainder = int(np.fmod(a, b))
            assert low <= remainder <= high
