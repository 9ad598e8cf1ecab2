"""OpenCL C's built-in functions against NumPy in higher precision, the standard library and exact integers."""

import contextlib
import fractions
import itertools
import math
import zlib

import jax
import numpy as np
import pytest

from xeemu.frontends import types, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.types import Vector
from xeemu.language.workgroup import NeedsWideTypes

FLOATS = (types.HALF, types.FLOAT, types.DOUBLE)
INTEGERS = (types.CHAR, types.UCHAR, types.SHORT, types.USHORT, types.INT, types.UINT, types.LONG, types.ULONG)
INF, NAN = math.inf, math.nan


def random(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


@contextlib.contextmanager
def wide(*used):
    """JAX's 64-bit types, if one of some types needs them."""
    with jax.enable_x64(any(t.size == 8 for t in used)):
        yield


def traced(name, arrays, of, result, narrow=()):
    """What a built-in gives of arrays, compiled; `narrow` are intervals that the arguments are known to have."""

    def computed(*data):
        ranges = narrow or (None,) * len(data)
        arguments = [
            values.held(t, x.astype(np.int32) if r is not None and t.size >= 4 else x, r)
            for x, t, r in zip(data, of, ranges, strict=True)
        ]
        found = catalogue.find(name)(arguments, result)
        intervals.append(found.interval)
        return values.exact(found)

    intervals = []
    with wide(*of, result):
        out = np.broadcast_to(jax.jit(computed)(*arrays), arrays[0].shape)
    if result.is_integer:
        low, high = intervals[0]
        assert low <= out.min()
        assert out.max() <= high
    return out


def known(name, arrays, of, result):
    """The same of numbers that are known before the kernel runs."""
    rows = zip(*arrays, strict=True)
    found = [catalogue.find(name)(list(map(values.constant, row, of)), result) for row in rows]
    assert all(n.known and n.type == result for n in found)
    return np.array([values.exact(n) for n in found])


def both(name, arrays, of, result, few=300):
    """Traced and known results, the latter of the first few."""
    return traced(name, arrays, of, result), known(name, [a[:few] for a in arrays], of, result)


# Integers.


def corners(of):
    low, high = np.iinfo(of.dtype).min, np.iinfo(of.dtype).max
    near = [
        low,
        low + 1,
        low // 2,
        -129,
        -128,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        127,
        128,
        255,
        256,
        high // 2,
        high - 1,
    ]
    return [int(v) for v in dict.fromkeys([*near, high]) if low <= v <= high]


def integers(of, count, *seed):
    """Every combination of corners, and random integers of all magnitudes."""
    grid = list(itertools.product(corners(of), repeat=count))
    some = random(of.name, *seed).permutation(len(grid))[:600]
    info = np.iinfo(of.dtype)
    drawn = random(of.name, count, *seed).integers(info.min, info.max, (400, count), of.dtype, endpoint=True)
    drawn >>= random(*seed).integers(0, info.bits, (400, count), of.dtype)
    rows = np.concatenate([np.array([grid[k] for k in some], of.dtype), drawn])
    return list(rows[random(*seed).permutation(len(rows))].T.copy())


def wrapped(value, of):
    return int(values.constant(value, of).python)


def limited(value, of):
    return min(max(value, int(np.iinfo(of.dtype).min)), int(np.iinfo(of.dtype).max))


def unsigned(value, of):
    return value % 2 ** (8 * of.size)


def rotated(value, amount, of):
    width = 8 * of.size
    text = f"{unsigned(value, of):0{width}b}"
    return int(text[amount % width :] + text[: amount % width], 2)


def high(a, b, of):
    return (a * b) >> (8 * of.size)


def binary(value, of):
    return f"{unsigned(value, of):0{8 * of.size}b}"


# By name: how many operands, and the result from them and their type, wrapped to the result's type.
INTEGER = {
    "abs": (1, lambda a, of: abs(a)),
    "abs_diff": (2, lambda a, b, of: abs(a - b)),
    "add_sat": (2, lambda a, b, of: limited(a + b, of)),
    "bit_reverse": (1, lambda a, of: int(binary(a, of)[::-1], 2)),
    "clamp": (3, lambda a, b, c, of: min(max(a, b), c)),
    "clz": (1, lambda a, of: len(binary(a, of)) - len(binary(a, of).lstrip("0"))),
    "ctz": (1, lambda a, of: len(binary(a, of)) - len(binary(a, of).rstrip("0"))),
    "hadd": (2, lambda a, b, of: (a + b) // 2),
    "mad_hi": (3, lambda a, b, c, of: high(a, b, of) + c),
    "mad_sat": (3, lambda a, b, c, of: limited(a * b + c, of)),
    "max": (2, lambda a, b, of: max(a, b)),
    "min": (2, lambda a, b, of: min(a, b)),
    "mul_hi": (2, lambda a, b, of: high(a, b, of)),
    "popcount": (1, lambda a, of: binary(a, of).count("1")),
    "rhadd": (2, lambda a, b, of: (a + b + 1) // 2),
    "rotate": (2, rotated),
    "sub_sat": (2, lambda a, b, of: limited(a - b, of)),
    "bitselect": (3, lambda a, b, c, of: (a & ~c) | (b & c)),
}


@pytest.mark.parametrize("of", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integer_functions(name, of):
    count, rule = INTEGER[name]
    result = types.unsigned(of) if name in ("abs", "abs_diff") else of
    arrays = integers(of, count, name)
    right = [wrapped(rule(*map(int, row), of), result) for row in zip(*arrays, strict=True)]
    found, constant = both(name, arrays, [of] * count, result)
    assert found.tolist() == right
    assert constant.tolist() == right[: len(constant)]


@pytest.mark.parametrize("of", INTEGERS[4:], ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integers_of_known_ranges(name, of):
    """What is held as int32 because its values fit: the same numbers, without 64-bit types."""
    count, rule = INTEGER[name]
    if name == "bit_reverse" and of.size == 8:
        pytest.skip("needs all bits")
    result = types.unsigned(of) if name in ("abs", "abs_diff") else of
    for span in ((5, 40), (0, 2**31 - 1), *(((-(2**31), 2**31 - 1), (-(2**15), 3)) if of.is_signed else ())):
        drawn = random(name, of.name, span).integers(*span, (64, count), endpoint=True)
        rows = np.concatenate([list(itertools.product(span, repeat=count)), drawn])
        arrays = list(rows.astype(of.dtype).T.copy())
        right = [wrapped(rule(*map(int, row), of), result) for row in rows]
        assert traced(name, arrays, [of] * count, result, [span] * count).tolist() == right, span


def test_ranges_are_kept_without_wide_types():
    """The functions that loops and masks are built of, of 64-bit indices, with 64-bit types off."""

    def computed(x):
        n = values.held(types.LONG, x, (0, 100))
        five = values.constant(5, types.LONG)
        found = {}
        for name, arguments in (("min", [n, five]), ("max", [n, five]), ("clamp", [n, five, five]), ("abs", [n])):
            found[name] = catalogue.find(name)(arguments, types.ULONG if name == "abs" else types.LONG)
        for name in ("clz", "popcount", "ctz"):
            found[name] = catalogue.find(name)([n], types.LONG)
        for name in ("add_sat", "sub_sat", "hadd", "rhadd", "mul_hi", "abs_diff"):
            found[name] = catalogue.find(name)([n, five], types.ULONG if name == "abs_diff" else types.LONG)
        ranges.update({name: n.interval for name, n in found.items()})
        assert all(n.data.dtype == np.int32 for n in found.values())
        return [n.data for n in found.values()]

    ranges = {}
    jax.jit(computed)(np.arange(10, dtype=np.int32))
    assert ranges == {
        "min": (0, 5), "max": (5, 100), "clamp": (5, 5), "abs": (0, 100), "clz": (57, 64), "popcount": (0, 64),
        "ctz": (0, 64), "add_sat": (5, 105), "sub_sat": (-5, 95), "hadd": (2, 52), "rhadd": (3, 53),
        "mul_hi": (0, 0), "abs_diff": (0, 95),
    }  # fmt: skip


@pytest.mark.parametrize("name", INTEGER)
def test_operands_that_are_comparisons(name):
    """What a comparison gave is held as bool."""
    count, rule = INTEGER[name]
    rows = np.array(list(itertools.product([False, True], repeat=count)))
    result = types.UINT if name in ("abs", "abs_diff") else types.INT

    def computed(*masks):
        return values.exact(catalogue.find(name)([values.of_truth(m) for m in masks], result))

    found = np.broadcast_to(jax.jit(computed)(*rows.T.copy()), len(rows))
    assert found.tolist() == [wrapped(rule(*map(int, row), types.INT), result) for row in rows]


@pytest.mark.parametrize(
    ("name", "arguments", "of"),
    [
        ("mul_hi", [types.LONG] * 2, types.LONG), ("rotate", [types.ULONG] * 2, types.ULONG),
        ("upsample", [types.INT, types.UINT], types.LONG), ("convert_double", [types.FLOAT], types.DOUBLE),
        ("convert_ulong_sat", [types.FLOAT], types.ULONG), ("as_long", [Vector(types.INT, 2)], types.LONG),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_results_of_64_bits_ask_for_wide_types(name, arguments, of):
    def given(kind, x):
        if isinstance(kind, Vector):
            return vector(kind.element, [x, x])
        if kind.is_float:
            return values.held(kind, x.astype(np.float32))
        return values.held(kind, x.astype(np.uint32) if kind == types.UINT else x)

    def computed(x):
        return catalogue.find(name)([given(kind, x) for kind in arguments], of).data

    with pytest.raises(NeedsWideTypes):
        jax.jit(computed)(np.arange(3, dtype=np.int32))


@pytest.mark.parametrize("of", [types.INT, types.UINT], ids=str)
def test_products_of_24_bits(of):
    low, high = (-(2**23), 2**23 - 1) if of.is_signed else (0, 2**24 - 1)
    a, b = random(of.name).integers(low, high, (2, 500), endpoint=True).astype(of.dtype)
    (c,) = integers(of, 1)[:1]
    c = np.resize(c, 500)
    rows = [list(map(int, row)) for row in zip(a, b, c, strict=True)]
    for name, arrays, right in (
        ("mul24", [a, b], [wrapped(x * y, of) for x, y, _ in rows]),
        ("mad24", [a, b, c], [wrapped(x * y + z, of) for x, y, z in rows]),
    ):
        found, constant = both(name, arrays, [of] * len(arrays), of)
        assert found.tolist() == right
        assert constant.tolist() == right[: len(constant)]


@pytest.mark.parametrize(("of", "result"), list(zip(INTEGERS[:6], INTEGERS[2:], strict=True)), ids=str)
def test_upsample(of, result):
    low = types.unsigned(of)
    a, b = integers(of, 1)[0], integers(low, 1, "low")[0]
    count = min(len(a), len(b))
    arrays = [a[:count], b[:count]]
    right = [wrapped((int(x) << 8 * of.size) | int(y), result) for x, y in zip(*arrays, strict=True)]
    found, constant = both("upsample", arrays, [of, low], result)
    assert found.tolist() == right
    assert constant.tolist() == right[: len(constant)]


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_bit_fields(of):
    width = 8 * of.size
    spans = np.array([(o, n) for o in range(width + 1) for n in range(width + 1 - o)], np.uint32)
    spans = spans[random(of.name).permutation(len(spans))[:300]]
    base, other = (np.resize(a, len(spans)) for a in integers(of, 2))
    offset, count = spans.T.copy()
    places = [types.UINT, types.UINT]
    for name, arrays, kinds, result in (
        ("bitfield_insert", [base, other, offset, count], [of, of, *places], of),
        ("bitfield_extract_signed", [base, offset, count], [of, *places], types.signed(of)),
        ("bitfield_extract_unsigned", [base, offset, count], [of, *places], types.unsigned(of)),
    ):
        right = []
        for *numbers, o, n in (map(int, row) for row in zip(*arrays, strict=True)):
            mask = (2**n - 1) << o
            if len(numbers) == 2:
                right.append(wrapped((numbers[0] & ~mask) | (numbers[1] << o & mask), result))
            else:
                field = (unsigned(numbers[0], of) & mask) >> o
                negative = result.is_signed and n and field >> (n - 1)
                right.append(field - 2**n if negative else field)
        found, constant = both(name, arrays, kinds, result, 100)
        assert found.tolist() == right, name
        assert constant.tolist() == right[: len(constant)], name


def vector(of, columns):
    """A vector of known or traced numbers from arrays or scalars."""
    items = tuple(values.held(of, c) if not isinstance(c, int | float) else values.constant(c, of) for c in columns)
    return values.Components(Vector(of, len(items)), items)


@pytest.mark.parametrize("signs", ["uu", "ss", "us", "su"])
@pytest.mark.parametrize("saturated", [False, True])
def test_packed_products(signs, saturated):
    a, b = random(signs).integers(0, 2**32, (2, 200), np.uint32)
    a[:2], b[:2] = (0x80808080, 0xFFFFFFFF), (0x80808080, 0xFFFFFFFF)
    result = types.UINT if signs == "uu" else types.INT
    total = np.full(200, np.iinfo(result.dtype).max - 1000, result.dtype)
    name = f"dot{'_acc_sat' if saturated else ''}_4x8packed_{signs}_{result}"
    parts = [
        x.view(f"{'u' if s == 'u' else 'i'}1").reshape(-1, 4).astype(int) for x, s in zip((a, b), signs, strict=True)
    ]
    right = (parts[0] * parts[1]).sum(1)
    arrays, kinds = [a, b], [types.UINT] * 2
    if saturated:
        arrays, kinds = [*arrays, total], [*kinds, result]
        right = [limited(int(x) + int(total[0]), result) for x in right]
    found, constant = both(name, arrays, kinds, result)
    assert found.tolist() == [wrapped(int(x), result) for x in right]
    assert constant.tolist() == found.tolist()


def test_integer_dot_products():
    columns = [[200, 255, 0, 3], [255, 1, 9, 255]]
    a, b = (vector(types.UCHAR, c) for c in columns)
    assert catalogue.find("dot")([a, b], types.UINT).python == 200 * 255 + 255 + 3 * 255
    c = values.constant(2**32 - 5, types.UINT)
    assert catalogue.find("dot_acc_sat")([a, b, c], types.UINT).python == 2**32 - 1


# Floats.


def specials(of):
    info = np.finfo(of.dtype)
    digits = float(2**info.nmant)
    plain = [
        0.0,
        info.smallest_normal,
        info.eps,
        0.25,
        0.5,
        0.75,
        1.0,
        1.0 + info.eps,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.5,
        8.0,
    ]
    plain += [
        100.0,
        digits / 2 - 0.5,
        digits - 1,
        digits,
        2 * digits,
        info.max,
        INF,
        NAN,
        1.0 - info.epsneg,
        10.0,
        1000.0,
    ]
    return np.array([s * v for v in plain for s in (1, -1)], of.dtype)


def uniform_bits(of, shape, *seed):
    """Floats of all magnitudes, without subnormal ones, which XLA flushes."""
    bits = random(of.name, *seed).integers(0, 2 ** (8 * of.size), shape, f"u{of.size}")
    found = bits.view(of.dtype)
    with np.errstate(all="ignore"):
        found = np.where(np.isnan(found), of.dtype.type(NAN), found)  # no signalling ones
        return np.where(np.abs(found) < np.finfo(of.dtype).smallest_normal, of.dtype.type(1.25), found)


def drawn(of, count, *seed):
    """Operands: pairs of special values, floats of all magnitudes, and ones near 1."""
    special = np.array(list(itertools.product(specials(of), repeat=count)), of.dtype)
    special = special[random(*seed).permutation(len(special))[:2000]]
    near = random(of.name, count, *seed, "near").normal(0, 3, (1500, count)).astype(of.dtype)
    rows = np.concatenate([special, uniform_bits(of, (1500, count), *seed), near])
    return list(rows[random(*seed).permutation(len(rows))].T.copy())


def extended(x):
    return np.asarray(x, np.longdouble)


PI = extended("3.14159265358979323846264338327950288")


def by_element(function, of_error=NAN):
    """A function of the standard library on arrays."""

    def computed(*x):
        def one(*row):
            try:
                return function(*map(float, row))
            except (ValueError, OverflowError, ZeroDivisionError):
                return of_error

        return extended([one(*row) for row in zip(*x, strict=True)])

    return computed


def gamma(x):
    if x == 0:
        return math.copysign(INF, x)
    return INF if x > 172 else math.gamma(x)


def quarters(x):
    """A function of a quarter turn's remainder, exact at quarter turns."""
    left = np.fmod(np.abs(x), 2)
    turns = np.rint(2 * left)
    return (left - turns / 2) * PI, np.where(np.isfinite(turns), turns, 0).astype(int) % 4


def sinpi(x):
    r, turns = quarters(x)
    value = np.choose(turns, [np.sin(r), np.cos(r), -np.sin(r), -np.cos(r)])
    return np.where(value == 0, np.copysign(0, x), value * np.copysign(1, x))


def cospi(x):
    r, turns = quarters(x)
    return np.choose(turns, [np.cos(r), -np.sin(r), -np.cos(r), np.sin(r)]) + 0


def tanpi(x):
    r, turns = quarters(x)
    whole = r == 0
    value = np.where(turns % 2 == 1, -1 / np.tan(np.where(whole, 1, r)), np.tan(r))
    edge = np.choose(turns, extended([0.0, INF, -0.0, -INF])[:, None])
    return np.where(whole, edge, value) * np.copysign(1, x)


def powr(x, y):
    undefined = (x < 0) | ((x == 0) & (y == 0)) | (np.isinf(x) & (y == 0)) | ((x == 1) & np.isinf(y))
    return np.where(undefined | np.isnan(x) | np.isnan(y), NAN, np.power(np.abs(x), y))


def by_magnitude(greater):
    def computed(x, y):
        same = (np.abs(x) == np.abs(y)) | np.isnan(x) | np.isnan(y)
        first = np.abs(x) > np.abs(y) if greater else np.abs(x) < np.abs(y)
        return np.where(same, (np.fmax if greater else np.fmin)(x, y), np.where(first, x, y))

    return computed


def smoothstep(low, high, x):
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def exact_fma(a, b, c, of):
    """Of finite numbers by exact fractions, rounded once by hand."""
    if not all(map(math.isfinite, (a, b, c))):
        return c if math.isfinite(a) and math.isfinite(b) else a * b + c
    value = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    if value == 0:
        return a * b + c if 0 in (a, b) else 0.0
    info = np.finfo(of.dtype)
    power = value.numerator.bit_length() - value.denominator.bit_length()
    power -= abs(value) < fractions.Fraction(2) ** power
    unit = fractions.Fraction(2) ** (max(power, int(info.minexp)) - int(info.nmant))
    found = round(value / unit) * unit
    if abs(found) > fractions.Fraction(float(info.max)):
        return INF if value > 0 else -INF
    return float(found)


# By name: operands, OpenCL's limit in units in the last place, and the function in extended precision. A limit of 0 is
# for results that are exact, and of half a unit for those rounded once.
ACCURATE = {
    "acos": (1, 4, np.arccos), "acosh": (1, 4, np.arccosh), "acospi": (1, 5, lambda x: np.arccos(x) / PI),
    "asin": (1, 4, np.arcsin), "asinh": (1, 4, np.arcsinh), "asinpi": (1, 5, lambda x: np.arcsin(x) / PI),
    "atan": (1, 5, np.arctan), "atan2": (2, 6, np.arctan2), "atan2pi": (2, 6, lambda y, x: np.arctan2(y, x) / PI),
    "atanh": (1, 5, np.arctanh), "atanpi": (1, 5, lambda x: np.arctan(x) / PI), "cbrt": (1, 2, np.cbrt),
    "cos": (1, 4, np.cos), "cosh": (1, 4, np.cosh), "cospi": (1, 4, cospi),
    "erf": (1, 16, by_element(math.erf)), "erfc": (1, 16, by_element(math.erfc)),
    "exp": (1, 3, np.exp), "exp10": (1, 3, lambda x: np.power(extended(10), x)), "exp2": (1, 3, np.exp2),
    "expm1": (1, 3, np.expm1), "hypot": (2, 4, np.hypot), "log": (1, 3, np.log), "log10": (1, 3, np.log10),
    "log1p": (1, 2, np.log1p), "log2": (1, 3, np.log2), "pow": (2, 16, np.power), "powr": (2, 16, powr),
    "rsqrt": (1, 2, lambda x: 1 / np.sqrt(x)), "sin": (1, 4, np.sin), "sinh": (1, 4, np.sinh), "sinpi": (1, 4, sinpi),
    "sqrt": (1, 0.51, np.sqrt), "tan": (1, 5, np.tan), "tanh": (1, 5, np.tanh), "tanpi": (1, 6, tanpi),
    "tgamma": (1, 16, by_element(gamma)),
    "degrees": (1, 2, lambda x: x * 180 / PI), "radians": (1, 2, lambda x: x * PI / 180),
    "half_exp": (1, 8192, np.exp), "half_recip": (1, 8192, lambda x: 1 / x), "native_divide": (2, 2.5, np.divide),
    "native_cos": (1, 4, np.cos), "native_log2": (1, 8192, np.log2), "half_sqrt": (1, 8192, np.sqrt),
    "ceil": (1, 0, np.ceil), "copysign": (2, 0, np.copysign), "fabs": (1, 0, np.abs), "floor": (1, 0, np.floor),
    "fdim": (2, 0.51, lambda x, y: np.where(x <= y, 0, np.where(x == y, 0, x - y))),
    "fmax": (2, 0, np.fmax), "fmin": (2, 0, np.fmin), "fmod": (2, 0, np.fmod),
    "remainder": (2, 0, by_element(math.remainder)), "rint": (1, 0, np.rint), "trunc": (1, 0, np.trunc),
    "round": (1, 0, lambda x: np.copysign(np.floor(np.abs(x)) + (np.abs(x) % 1 >= 0.5), x)),
    "maxmag": (2, 0, by_magnitude(True)), "minmag": (2, 0, by_magnitude(False)),
    "logb": (1, 0, lambda x: np.where(x == 0, -INF, np.where(np.isfinite(x), np.frexp(x)[1] - 1.0, np.abs(x)))),
    "sign": (1, 0, lambda x: np.where(np.isnan(x), 0, np.copysign(np.sign(x), x))),
    "step": (2, 0, lambda edge, x: np.where(x < edge, 0, 1)),
}  # fmt: skip


def apart(found, right, of):
    """How far results are from exact ones, in units in the last place; not a number and zeros have to agree.

    Results that are subnormal may be zeros.
    """
    info = np.finfo(of.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(right)
        power = np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1)))
        unit = np.exp2(np.maximum(power, info.minexp) - info.nmant)
        rounded = right.astype(of.dtype)
        same = (rounded == found) | (np.isnan(rounded) & np.isnan(found))
        over = (size > info.max) & (np.abs(found) >= info.max * of.dtype.type(1 - 4 * info.eps))
        under = (size < 2 * info.smallest_normal) & (np.abs(extended(found)) < 2 * info.smallest_normal)
        distance = np.abs(extended(found) - right) / unit
        return np.where(
            same | over | under,
            np.where(np.isfinite(distance), distance, 0) * ~under * ~over,
            np.where(np.isnan(distance), INF, distance),
        )


def zeros_agree(found, right):
    zero = (found == 0) & (right == 0)
    return not np.any(np.signbit(found[zero]) != np.signbit(right[zero]))


# Where the sign of a zero is not defined.
_ANY_ZERO = {"fmax", "fmin", "maxmag", "minmag", "native_divide", "lgamma", "fdim"}


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("name", ACCURATE)
def test_floating_functions(name, of):
    count, limit, function = ACCURATE[name]
    arrays = drawn(of, count, name)
    with np.errstate(all="ignore"):
        right = extended(function(*map(extended, arrays)))
    found, constant = both(name, arrays, [of] * count, of)
    for results, exact in ((found, right), (constant, right[: len(constant)])):
        off = apart(results, exact, of)
        worst = int(np.argmax(off))
        assert off[worst] <= limit, [a[worst] for a in arrays] + [results[worst], exact[worst]]
        assert name in _ANY_ZERO or zeros_agree(results, exact)


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_fused_multiply_add(of):
    a, b, c = drawn(of, 3, "fma")
    a, b = (np.concatenate([x, random(of.name, k).normal(size=3000).astype(of.dtype)]) for k, x in enumerate((a, b)))
    with np.errstate(all="ignore"):
        near = -(a[-3000:] * b[-3000:]) * random(of.name).choice([1, 2, 0.5, 1 + 2 * np.finfo(of.dtype).eps], 3000)
        c = np.concatenate([c, near.astype(of.dtype)])
        right = np.array([exact_fma(*map(float, row), of) for row in zip(a, b, c, strict=True)])
    small = np.abs(right) < 2 * np.finfo(of.dtype).smallest_normal
    for results in both("fma", [a, b, c], [of] * 3, of, 3000):
        exact, usual = right[: len(results)], ~small[: len(results)] | (right[: len(results)] == 0)
        np.testing.assert_array_equal(results[usual], exact[usual].astype(of.dtype))


@pytest.mark.parametrize("of", [types.FLOAT, types.DOUBLE], ids=str)
def test_fused_multiply_add_gives_what_a_product_lacks(of):
    """As in `p = a * b; e = fma(a, b, -p)`, where a product and a sum would give zero."""
    a, b = random("lacks").normal(size=(2, 2000)).astype(of.dtype)

    def computed(a, b):
        p = a * b
        numbers = [values.held(of, v) for v in (a, b, -p)]
        return p, catalogue.find("fma")(numbers, of).data

    with wide(of):
        p, e = jax.jit(jax.vmap(computed))(a, b)
    exact = [
        fractions.Fraction(x) * fractions.Fraction(y) - fractions.Fraction(z)
        for x, y, z in zip(a.tolist(), b.tolist(), p.tolist(), strict=True)
    ]
    assert e.tolist() == list(map(float, exact))
    assert any(e.tolist())


# With integers.


def powers(x, n):
    with np.errstate(all="ignore"):
        return np.power(x, n.astype(np.longdouble))


def roots(x, n):
    with np.errstate(all="ignore"):
        value = np.power(np.abs(x), 1 / n.astype(np.longdouble))
        value = np.where(n % 2 == 1, np.copysign(value, x), value)
        return np.where((n == 0) | ((x < 0) & (n % 2 == 0)), NAN, value)


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("name", "limit", "function"), [("pown", 16, powers), ("rootn", 16, roots), ("ldexp", 0.51, np.ldexp)]
)
def test_functions_of_floats_and_integers(name, limit, function, of):
    x = drawn(of, 1, name)[0]
    n = (
        random(name)
        .choice([0, 1, 2, 3, 4, 5, 7, 10, 33, 100, 151, 1100, 2**24 + 1, 2**31 - 1], len(x))
        .astype(np.int32)
    )
    n *= random(name, 1).choice(np.array([1, -1], np.int32), len(x))
    near = (1 + random(name, 2).normal(size=400) * float(np.finfo(of.dtype).eps) * 50).astype(of.dtype)
    x = np.concatenate([x, near])
    n = np.concatenate([n, random(name, 3).integers(-(2**31), 2**31, 400).astype(np.int32)])
    order = random(name, 4).permutation(len(x))
    x, n = x[order], n[order]
    with np.errstate(all="ignore"):
        right = extended(function(extended(x), n))
    found, constant = both(name, [x, n], [of, types.INT], of)
    for results, exact in ((found, right), (constant, right[: len(constant)])):
        off = apart(results, exact, of)
        worst = int(np.argmax(off))
        assert off[worst] <= limit, [x[worst], n[worst], results[worst], exact[worst]]
        assert zeros_agree(results, exact)


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_exponents_neighbours_and_codes(of):
    x, y = drawn(of, 2, "exponents")
    with np.errstate(all="ignore"):
        power = np.where(x == 0, -(2**31), np.where(np.isfinite(x), np.frexp(x)[1] - 1, 2**31 - 1))
        after = np.where(x == y, y, np.nextafter(x, y))
    for results in both("ilogb", [x], [of], types.INT):
        assert results.tolist() == power[: len(results)].tolist()
    for results in both("nextafter", [x, y], [of, of], of):
        np.testing.assert_array_equal(results, after[: len(results)])
        assert zeros_agree(results, after[: len(results)])
    code = types.unsigned(of)
    for results in both("nan", [np.arange(300, dtype=code.dtype)], [code], of):
        assert np.isnan(results).all()
        assert len(set(results.view(code.dtype).tolist())) == len(results)


def test_subnormal_numbers_by_their_bits():
    """What XLA would take for zeros is taken apart and classified all the same."""
    x = np.array([1, 3, 0x7FFFFF, 0x400000], np.uint32).view(np.float32)
    x = np.concatenate([x, -x])
    exponents = (np.frexp(x)[1] - 1).tolist()
    assert traced("ilogb", [x], [types.FLOAT], types.INT).tolist() == exponents
    assert traced("logb", [x], [types.FLOAT], types.FLOAT).tolist() == exponents
    assert traced("isnormal", [x], [types.FLOAT], types.INT).tolist() == [0] * 8
    up = traced("ldexp", [x, np.full(8, 60, np.int32)], [types.FLOAT, types.INT], types.FLOAT)
    assert up.tolist() == np.ldexp(x, 60).tolist()
    after = traced("nextafter", [x, np.full(8, 1, np.float32)], [types.FLOAT] * 2, types.FLOAT)
    assert after.tolist() == np.nextafter(x, np.float32(1)).tolist()


def units(x):
    with np.errstate(all="ignore"):
        return np.where(np.isinf(x), 0, np.minimum(x - np.floor(x), np.nextafter(x.dtype.type(1), x.dtype.type(0))))


def halves(x):
    return np.where(np.isfinite(x), np.frexp(x)[0], x), np.where(np.isfinite(x), np.frexp(x)[1], 0)


# Of an array, the results and what is stored.
WITH_POINTER = {
    "fract": lambda x: (units(x), np.floor(x)),
    "frexp": halves,
    "modf": np.modf,
    "sincos": lambda x: (np.sin(extended(x)), np.cos(extended(x))),
    "lgamma_r": lambda x: (by_element(math.lgamma, INF)(x), [-1 if v < 0 and math.floor(v) % 2 else 1 for v in x]),
}


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("name", WITH_POINTER)
def test_functions_that_store_a_second_result(name, of):
    x = drawn(of, 1, name)[0]
    if name == "lgamma_r":
        x = random(of.name).uniform(-20, 30, 500).astype(of.dtype)
    function = catalogue.find_with_pointer(name)
    with wide(of):
        found = jax.jit(lambda v: [values.exact(n) for n in function([values.held(of, v)], of)])(x)
    with np.errstate(all="ignore"):
        right = WITH_POINTER[name](x)
    rows = [function([values.constant(v, of)], of) for v in x[:100]]
    for k, exact in enumerate(map(np.asarray, right)):
        for results in (np.asarray(found[k]), np.array([values.exact(row[k]) for row in rows])):
            few = exact[: len(results)]
            if name == "lgamma_r" and k == 0:
                np.testing.assert_allclose(results, few.astype(np.float64), rtol=1e-2, atol=1e-5)
            elif name == "sincos":
                assert apart(results, few, of).max() <= 4
            else:
                np.testing.assert_array_equal(results, few)
                assert zeros_agree(results, few) or name == "fract"


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_remainder_and_quotient(of):
    x, y = drawn(of, 2, "remquo")
    function = catalogue.find_with_pointer("remquo")
    with wide(of):
        found = jax.jit(lambda *v: [values.exact(n) for n in function([values.held(of, a) for a in v], of)])(x, y)
    for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        got = float(found[0][k]), int(found[1][k])
        if k < 200:
            constant = [n.python for n in function([values.constant(a, of), values.constant(b, of)], of)]
            assert constant[1] == got[1]
            assert constant[0] == got[0] or math.isnan(got[0]) or got[0] == 0
        if not math.isfinite(a) or b == 0 or math.isnan(b):
            assert math.isnan(got[0])
            continue
        left = math.remainder(a, b)
        whole = 0 if math.isinf(b) else abs((fractions.Fraction(a) - fractions.Fraction(left)) / fractions.Fraction(b))
        sign = -1 if math.copysign(1, a) != math.copysign(1, b) else 1
        least = np.finfo(of.dtype).smallest_normal
        if abs(b) < 1024 * least:  # differences would be subnormal
            continue
        assert got[0] == left or (got[0] == 0 and abs(left) < least), (a, b)
        assert got[1] == sign * (int(whole) % 128), (a, b)
        assert math.copysign(1, got[0]) == math.copysign(1, left)


def test_mixes_steps_and_limits():
    of = types.FLOAT
    x, y, z = (random(k).uniform(-2, 2, 300).astype(np.float32) for k in range(3))
    low, high = np.minimum(x, y), np.maximum(x, y)
    t = np.clip((z.astype(float) - low) / (high - low), 0, 1)
    for name, arrays, right in (
        ("mix", [x, y, z], x + (y.astype(float) - x) * z),
        ("mad", [x, y, z], x.astype(float) * y + z),
        ("smoothstep", [low, high, z], t * t * (3 - 2 * t)),
        ("clamp", [z, low, high], np.clip(z, low, high)),
        ("max", [x, y], high),
        ("min", [x, y], low),
    ):
        for results in both(name, arrays, [of] * len(arrays), of):
            np.testing.assert_allclose(results, right[: len(results)], rtol=1e-5, atol=1e-6, err_msg=name)


# Relations.

RELATIONS = {
    "isequal": (2, lambda x, y: x == y), "isnotequal": (2, lambda x, y: x != y), "isgreater": (2, lambda x, y: x > y),
    "isgreaterequal": (2, lambda x, y: x >= y), "isless": (2, lambda x, y: x < y),
    "islessequal": (2, lambda x, y: x <= y), "islessgreater": (2, lambda x, y: (x < y) | (x > y)),
    "isordered": (2, lambda x, y: ~(np.isnan(x) | np.isnan(y))),
    "isunordered": (2, lambda x, y: np.isnan(x) | np.isnan(y)),
    "isfinite": (1, np.isfinite), "isinf": (1, np.isinf), "isnan": (1, np.isnan), "signbit": (1, np.signbit),
    "isnormal": (1, lambda x: np.isfinite(x) & (x != 0)),
}  # fmt: skip


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("name", RELATIONS)
def test_relations(name, of):
    """Of numbers 1, of vectors -1 as wide as the operands, where they hold."""
    count, function = RELATIONS[name]
    arrays = drawn(of, count, name)
    right = function(*arrays).astype(int)
    for results in both(name, arrays, [of] * count, types.INT):
        assert results.tolist() == right[: len(results)].tolist()
    mask = Vector(types.signed(of), 2)

    def computed(*data):
        vectors = [vector(of, [x, x]) for x in data]
        return [n.data for n in catalogue.find(name)(vectors, mask).items]

    with wide(of):
        for column in jax.jit(computed)(*arrays):
            assert np.asarray(column).astype(int).tolist() == (-right).tolist()


def leaves(value):
    return [n.python for n in values.leaves(value)]


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_any_all_and_select_look_at_the_highest_bit(of):
    top = int(np.iinfo(of.dtype).min) if of.is_signed else int(np.iinfo(of.dtype).max)
    rows = [[1, 2], [top, 1], [top, top], [0, top]]
    signed = types.signed(of)
    for row in rows:
        a, b = vector(of, [5, 6]), vector(of, [7, 8])
        chosen = catalogue.find("select")([a, b, vector(of, row)], Vector(of, 2))
        assert leaves(chosen) == [7 if row[0] == top else 5, 8 if row[1] == top else 6]
        if of.is_signed:
            assert catalogue.find("any")([vector(signed, row)], types.INT).python == (top in row)
            assert catalogue.find("all")([vector(signed, row)], types.INT).python == (row == [top, top])

    def computed(x, y):
        mask = vector(of, [x, y])
        chosen = catalogue.find("select")([vector(of, [5, 6]), vector(of, [7, 8]), mask], Vector(of, 2))
        tests = [catalogue.find(n)([mask], types.INT) for n in ("any", "all")] if of.is_signed else []
        return [values.exact(n) for n in (*chosen.items, *tests)]

    columns = np.array(rows, of.dtype).T.copy()
    with wide(of):
        found = [np.asarray(c).tolist() for c in jax.jit(computed)(*columns)]
    assert found[:2] == [[5, 7, 7, 5], [6, 6, 8, 8]]
    assert found[2:] == ([[0, 1, 1, 1], [0, 0, 1, 0]] if of.is_signed else [])


def test_select_of_numbers_asks_for_zero():
    a, b = values.constant(5, types.FLOAT), values.constant(7, types.FLOAT)
    assert [
        catalogue.find("select")([a, b, values.constant(c, types.INT)], types.FLOAT).python for c in (0, 1, -1)
    ] == [5, 7, 7]
    mask = np.array([0, 1, 2], np.int32)
    assert traced("select", [mask, mask + 10, mask], [types.INT] * 3, types.INT).tolist() == [0, 11, 12]


def test_masks_of_comparisons_are_any_and_all():
    x = np.array([1, 2, 3], np.float32)

    def computed(x):
        found = catalogue.find("isless")(
            [vector(types.FLOAT, [x, x]), vector(types.FLOAT, [2, 3])], Vector(types.INT, 2)
        )
        return [catalogue.find(n)([found], types.INT).data for n in ("any", "all")]

    assert [np.asarray(c).tolist() for c in jax.jit(computed)(x)] == [[True, True, False], [True, False, False]]


def test_bitselect_of_floats():
    x, y = uniform_bits(types.FLOAT, (2, 50), "bitselect")
    m = random("mask").integers(0, 2**32, 50, np.uint32)
    right = (x.view(np.uint32) & ~m) | (y.view(np.uint32) & m)
    found, constant = both("bitselect", [x, y, m.view(np.float32)], [types.FLOAT] * 3, types.FLOAT)
    assert found.view(np.uint32).tolist() == right.tolist()
    assert constant.view(np.uint32).tolist() == right.tolist()


# Conversions.


def rounded(value, mode):
    """A fraction as an integer."""
    return {"rte": round, "rtz": math.trunc, "rtp": math.ceil, "rtn": math.floor}[mode](value)


def nearest_float(value, of, mode):
    """A fraction as a float in a mode, as a Python float."""
    info = np.finfo(of.dtype)
    if value == 0:
        return 0.0
    power = abs(value.numerator).bit_length() - value.denominator.bit_length()
    power -= abs(value) < fractions.Fraction(2) ** power
    unit = fractions.Fraction(2) ** (max(power, int(info.minexp)) - int(info.nmant))
    found = rounded(value / unit, mode) * unit
    if found == 0:
        return math.copysign(0, value)
    most = fractions.Fraction(float(info.max))
    if abs(found) <= most:
        return float(found)
    inward = mode == "rtz" or (mode == "rtp" and value < 0) or (mode == "rtn" and value > 0)
    return math.copysign(float(info.max) if inward else INF, 1 if value > 0 else -1)


@pytest.mark.parametrize(
    ("source", "mode"),
    [*((s, m) for s in FLOATS for m in ("", "_rte", "_rtz", "_rtp", "_rtn")), *((s, "") for s in INTEGERS)],
    ids=str,
)
def test_conversions_to_integers(source, mode):
    for of in INTEGERS:
        for saturated in (False, True):
            low, high = (fractions.Fraction(int(b)) for b in (np.iinfo(of.dtype).min, np.iinfo(of.dtype).max))
            if source.is_float:
                x = np.concatenate(
                    [drawn(source, 1, of.name)[0][:300], random(of.name).normal(0, 300, 300).astype(source.dtype)]
                )
                halves = (np.arange(-40, 40) / 2).astype(source.dtype)
                with np.errstate(over="ignore"):
                    x = np.concatenate([x, halves, np.array([float(low), float(high)], source.dtype)])
                exact = [
                    rounded(fractions.Fraction(float(v)), mode[1:] or "rtz") if np.isfinite(v) else None for v in x
                ]
                keep = [saturated or (e is not None and low <= e <= high) for e in exact]
                x, exact = x[keep], [e for e, k in zip(exact, keep, strict=True) if k]
                exact = [
                    0 if e is None and np.isnan(v) else INF * v if e is None else e
                    for e, v in zip(exact, x, strict=True)
                ]
            else:
                x = integers(source, 1, of.name)[0]
                exact = x.tolist()
            right = [int(min(max(e, low), high)) if saturated else wrapped(e, of) for e in exact]
            name = f"convert_{of}{'_sat' if saturated else ''}{mode}"
            found, constant = both(name, [x], [source], of, 60)
            assert found.tolist() == right, name
            assert constant.tolist() == right[: len(constant)], name


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS], ids=str)
def test_conversions_to_floats(source, of):
    for mode in ("", "_rte", "_rtz", "_rtp", "_rtn"):
        if source.is_float:
            x = drawn(source, 1, of.name)[0][:600]
            small = random(source.name).normal(0, 1, 300).astype(source.dtype)
            x = np.concatenate([x, small, np.ldexp(small, -16), (small.astype(of.dtype)).astype(source.dtype)])
        else:
            x = integers(source, 1, of.name)[0]
        right = [
            float(v) if not np.isfinite(v) or v == 0 else nearest_float(fractions.Fraction(v), of, mode[1:] or "rte")
            for v in x.tolist()
        ]
        usual = np.array([of.size != 4 or v == 0 or not abs(v) < np.finfo(np.float32).smallest_normal for v in right])
        found, constant = both(f"convert_{of}{mode}", [x], [source], of, 100)
        for results in (found, constant):
            exact = np.array(right[: len(results)], of.dtype)
            np.testing.assert_array_equal(results[usual[: len(results)]], exact[usual[: len(results)]], err_msg=mode)
            assert zeros_agree(results, exact) or of.size == 4


def test_conversions_of_indices_need_no_wide_types():
    n = values.held(types.ULONG, jax.numpy.arange(4), (0, 3))
    assert catalogue.find("convert_float_rtz")([n], types.FLOAT).data.tolist() == [0, 1, 2, 3]
    assert catalogue.find("convert_uchar_sat")([n], types.UCHAR).interval == (0, 3)


@pytest.mark.parametrize(
    ("source", "count", "of"),
    [
        (types.FLOAT, 1, types.UINT), (types.UINT, 1, types.FLOAT), (types.UINT, 1, Vector(types.UCHAR, 4)),
        (types.CHAR, 4, types.INT), (types.USHORT, 8, Vector(types.FLOAT, 4)), (types.INT, 4, Vector(types.HALF, 8)),
        (types.DOUBLE, 1, Vector(types.INT, 2)), (types.UINT, 2, types.LONG), (types.HALF, 2, types.INT),
        (types.FLOAT, 4, Vector(types.INT, 3)), (types.FLOAT, 3, Vector(types.UINT, 4)),
        (types.LONG, 2, Vector(types.SHORT, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_reinterpretation(source, count, of):
    element = of.element if isinstance(of, Vector) else of
    number = of.count if isinstance(of, Vector) else 1
    rows = random(str(of)).integers(0, 256, (50, count * source.size), np.uint8)
    padded = np.pad(rows, [(0, 0), (0, source.size if count == 3 else 0)])
    right = padded.view(element.dtype)[:, :number]
    columns = [c.copy() for c in rows.view(source.dtype).T]
    defined = 3 if count == 3 else number

    def given(columns):
        return vector(source, columns) if count > 1 else values.held(source, columns[0])

    def computed(*columns):
        return [values.exact(n) for n in values.leaves(catalogue.find(f"as_{of}")([given(columns)], of))][:defined]

    with wide(source, element):
        found = [np.asarray(c) for c in jax.jit(computed)(*columns)]
        constant = [values.leaves(catalogue.find(f"as_{of}")([given([c[k] for c in columns])], of)) for k in range(9)]
    assert np.stack(found, 1).tobytes() == np.ascontiguousarray(right[:, :defined]).tobytes()
    got = np.array([[values.exact(n) for n in row[:defined]] for row in constant], element.dtype)
    assert got.tobytes() == np.ascontiguousarray(right[:9, :defined]).tobytes()


# Vectors.


@pytest.mark.parametrize(("count", "of"), [(2, types.UCHAR), (4, types.HALF), (8, types.FLOAT), (16, types.INT)])
def test_shuffles(count, of):
    for number, name in itertools.product((2, 8), ("shuffle", "shuffle2")):
        sources = [vector(of, range(count)), vector(of, range(100, 100 + count))][: 1 + (name == "shuffle2")]
        every = [v for s in sources for v in leaves(s)]
        masks = random(count, number).integers(0, 256, (number, 5), np.uint32)
        right = np.array(every)[masks % len(every)]

        def computed(*columns, sources=sources, name=name, number=number):
            mask = vector(types.UINT, columns)
            return [values.exact(n) for n in catalogue.find(name)([*sources, mask], Vector(of, number)).items]

        found = jax.jit(computed)(*masks)
        np.testing.assert_array_equal(np.stack(found), right)
        fixed = catalogue.find(name)([*sources, vector(types.UINT, masks[:, 0].tolist())], Vector(of, number))
        assert leaves(fixed) == right[:, 0].tolist()
    assert [catalogue.find("vec_step")([vector(of, range(n))], types.INT).python for n in (2, 3, 4)] == [2, 4, 4]


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_geometry(of, count):
    a, b = random(of.name, count).normal(size=(2, count, 200)).astype(of.dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)

    def given(columns):
        return vector(of, columns) if count > 1 else values.held(of, columns[0])

    whole = Vector(of, count) if count > 1 else of
    length = np.sqrt((x**2).sum(0))
    cases = [
        ("dot", 2, of, (x * y).sum(0)), ("distance", 2, of, np.sqrt(((x - y) ** 2).sum(0))), ("length", 1, of, length),
        ("fast_distance", 2, of, np.sqrt(((x - y) ** 2).sum(0))), ("fast_length", 1, of, length),
        ("normalize", 1, whole, x / length), ("fast_normalize", 1, whole, x / length),
    ]  # fmt: skip
    if count >= 3:
        product = np.cross(x[:3].T, y[:3].T).T
        cases.append(("cross", 2, whole, np.concatenate([product, 0 * x[3:]])))
    for name, operands, result, right in cases:

        def computed(*columns, name=name, operands=operands, result=result):
            vectors = [given(columns[:count]), given(columns[count:])]
            return [values.exact(n) for n in values.leaves(catalogue.find(name)(vectors[:operands], result))]

        with wide(of):
            found = np.stack(np.broadcast_arrays(*jax.jit(computed)(*a, *b))).reshape(right.shape)
            constant = computed(*a[:, 0], *b[:, 0])
        tolerance = 8 * float(np.finfo(of.dtype).eps)
        np.testing.assert_allclose(found.astype(float), right, rtol=tolerance, atol=tolerance * 4, err_msg=name)
        assert all(isinstance(c, np.generic) and c.dtype == of.dtype for c in constant)
        np.testing.assert_allclose(
            np.array(constant, float), right.reshape(-1, 200)[:, 0], rtol=tolerance, atol=tolerance * 4
        )


def test_lengths_of_extreme_vectors():
    """No overflow or underflow on the way; infinite components decide alone."""
    rows = np.array([[3e30, 4e30], [3e-30, 4e-30], [0, 0], [-INF, 1], [INF, -INF], [NAN, 1], [3e38, 0]], np.float32)

    def computed(*columns):
        v = vector(types.FLOAT, columns)
        unit = catalogue.find("normalize")([v], Vector(types.FLOAT, 2))
        return [catalogue.find("length")([v], types.FLOAT).data, *(n.data for n in unit.items)]

    found = np.stack(jax.jit(computed)(*rows.T.copy()), 1)
    constant = np.array([computed(*row) for row in rows])
    right = [
        [5e30, 0.6, 0.8],
        [5e-30, 0.6, 0.8],
        [0, 0, 0],
        [INF, -1, 0],
        [INF, 0.5**0.5, -(0.5**0.5)],
        [NAN] * 3,
        [3e38, 1, 0],
    ]
    np.testing.assert_allclose(found, np.array(right), rtol=1e-6)
    np.testing.assert_allclose(constant, np.array(right), rtol=1e-6)


@pytest.mark.parametrize("count", [2, 3, 4, 8, 16])
def test_vectors_are_computed_by_component_and_numbers_repeated(count):
    a = vector(types.FLOAT, [0.5 * k for k in range(count)])
    two = values.constant(2, types.FLOAT)
    of = Vector(types.FLOAT, count)
    assert leaves(catalogue.find("max")([a, two], of)) == [max(2, 0.5 * k) for k in range(count)]
    assert leaves(catalogue.find("step")([two, a], of)) == [float(0.5 * k >= 2) for k in range(count)]
    assert leaves(catalogue.find("ldexp")([a, values.constant(1, types.INT)], of)) == [float(k) for k in range(count)]
    assert leaves(catalogue.find(f"convert_int{count}_rtp")([a], Vector(types.INT, count))) == [
        -(-k // 2) for k in range(count)
    ]
    powers = catalogue.find_with_pointer("frexp")([a], of)
    assert powers[1].type == Vector(types.INT, count)
    assert leaves(powers[1]) == [math.frexp(0.5 * k)[1] for k in range(count)]


def test_names_that_are_not_built_in_are_none():
    for name in (
        "saxpy",
        "convert_float5",
        "convert_float_up",
        "as_bool",
        "vload4",
        "get_global_id",
        "native_acos",
        "half",
    ):
        assert catalogue.find(name) is None
    assert catalogue.find_with_pointer("sin") is None
    assert catalogue.find("fract") is None


def test_every_named_function_is_found():
    assert all(catalogue.find(name) is not None for name in catalogue.NAMES)
    native = ["cos", "divide", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "recip", "rsqrt", "sin", "sqrt"]
    for kind, name in itertools.product(("half", "native"), (*native, "tan")):
        assert catalogue.find(f"{kind}_{name}") is not None
