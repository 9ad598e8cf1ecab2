"""OpenCL C's built-in functions of floats against NumPy in higher precision, the standard library and fractions."""

import fractions
import math

import jax
import numpy as np
import pytest
from calling import FLOATS, INF, NAN, apart, both, drawn, extended, random, traced, wide, zeros_agree

from xeemu.frontends import types, values
from xeemu.frontends.builtins import catalogue

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


def test_products_of_exponentials_are_left_alone():
    """Of `exp(a) * exp(b)` XLA would make `exp(a + b)`, which rounds the sum."""
    x = random("products").uniform(20, 40, 500)

    def computed(a, b):
        return [catalogue.find("exp")([values.held(types.DOUBLE, v)], types.DOUBLE).data for v in (a, b)]

    with wide(types.DOUBLE):
        found = jax.jit(lambda a, b: math.prod(computed(a, b)))(x, x * 1e-3)
    assert apart(np.asarray(found), np.exp(extended(x)) * np.exp(extended(x * 1e-3)), types.DOUBLE).max() < 6


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
    found = [np.asarray(results) for results in found]
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
