"""Mathematics: OpenCL C's mathematical functions by name."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import types, values
from xeemu.frontends.builtins import (
    common,
    exponentials,
    floats,
    gamma,
    gaussian,
    geometry,
    logarithms,
    multiplyadd,
    powers,
    representation,
    rounding,
    trigonometry,
)
from xeemu.frontends.builtins.components import Elemental, composite
from xeemu.frontends.builtins.floats import Known, Traced, in_float, in_own
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def _times(function: Traced, factor: float) -> Traced:
    return composite(lambda *x: function(*x) * factor)


@composite
def _positive_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    return lax.select(lax.bitwise_or(x > y, nan), x - y, floats.full(x, 0))


def _known_positive_difference(x: Any, y: Any) -> Any:
    return x - y if x > y or np.isnan(x) or np.isnan(y) else type(x)(0)


def _scalar(function: Callable[[float], float]) -> Known:
    return lambda x: np.float64(function(float(x)))


PI = math.pi
_HALF_TURNS = {f: _scalar(trigonometry.in_half_turns(f)) for f in (math.sin, math.cos, math.tan)}

_PLAIN: Mapping[str, tuple[Known, Traced]] = {
    "acos": (np.arccos, lax.acos),
    "acosh": (np.arccosh, logarithms.acosh),
    "acospi": (lambda x: np.arccos(x) / PI, _times(lax.acos, 1 / PI)),
    "asin": (np.arcsin, lax.asin),
    "asinh": (np.arcsinh, lax.asinh),
    "asinpi": (lambda x: np.arcsin(x) / PI, _times(lax.asin, 1 / PI)),
    "atan": (np.arctan, lax.atan),
    "atan2": (np.arctan2, lax.atan2),
    "atan2pi": (lambda y, x: np.arctan2(y, x) / PI, _times(lax.atan2, 1 / PI)),
    "atanh": (np.arctanh, logarithms.atanh),
    "atanpi": (lambda x: np.arctan(x) / PI, _times(lax.atan, 1 / PI)),
    "cbrt": (powers.known_cube_root, powers.cube_root),
    "cos": (np.cos, lax.cos),
    "cosh": (np.cosh, exponentials.cosh),
    "cospi": (_HALF_TURNS[math.cos], trigonometry.cospi),
    "divide": (np.divide, lax.div),
    "erf": (_scalar(math.erf), lax.erf),
    "erfc": (_scalar(math.erfc), gaussian.complementary_error),
    "exp": (np.exp, exponentials.exp),
    "exp10": (lambda x: np.power(np.float64(10), x), exponentials.exp10),
    "exp2": (np.exp2, exponentials.exp2),
    "expm1": (np.expm1, exponentials.expm1),
    "hypot": (np.hypot, geometry.root_of_squares),
    "lgamma": (gamma.known_logarithm, lax.lgamma),
    "log": (np.log, lax.log),
    "log10": (np.log10, logarithms.log10),
    "log1p": (np.log1p, logarithms.log1p),
    "log2": (np.log2, logarithms.log2),
    "logb": (representation.known_float_exponent, representation.float_exponent),
    "pow": (powers.known_power, powers.power),
    "powr": (powers.known_power_of_positive, powers.power_of_positive),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lax.rsqrt),
    "sin": (np.sin, lax.sin),
    "sinh": (np.sinh, exponentials.sinh),
    "sinpi": (_HALF_TURNS[math.sin], trigonometry.sinpi),
    "sqrt": (np.sqrt, lax.sqrt),
    "tan": (np.tan, lax.tan),
    "tanh": (np.tanh, exponentials.tanh),
    "tanpi": (_HALF_TURNS[math.tan], trigonometry.tanpi),
    "tgamma": (gamma.known_gamma, gamma.gamma),
}

_EXACT: Mapping[str, tuple[Known, Traced]] = {
    "ceil": (np.ceil, lax.ceil),
    "copysign": (np.copysign, representation.copied_sign),
    "fabs": (np.abs, lax.abs),
    "fdim": (_known_positive_difference, _positive_difference),
    "floor": (np.floor, lax.floor),
    "fma": (multiplyadd.known, multiplyadd.fused),
    "fmod": (np.fmod, lax.rem),
    "nextafter": (representation.known_next_after, representation.next_after),
    "remainder": (rounding.known_remainder, rounding.remainder),
    "rint": (np.rint, rounding.to_even),
    "round": (rounding.known_away, rounding.away),
    "trunc": (np.trunc, rounding.towards_zero),
}

_RECIPROCAL = in_own(lambda x: 1 / x, composite(lambda x: 1 / x))


def _approximate(function: Traced) -> Traced:
    """A function of XLA, as good as it is: who models a device sees that no better one is asked for."""
    return functools.partial(function, accuracy=lax.AccuracyMode.DEFAULT)


# What `native_` and `half_` functions are.
_NATIVE: Mapping[str, Traced] = {
    "cos": _approximate(lax.cos),
    "divide": lax.div,
    "exp": _approximate(lax.exp),
    "exp10": composite(lambda x: _approximate(lax.exp)(x * math.log(10))),
    "exp2": lax.exp2,
    "log": _approximate(lax.log),
    "log10": _times(_approximate(lax.log), 1 / math.log(10)),
    "log2": _times(_approximate(lax.log), 1 / math.log(2)),
    "powr": lax.pow,
    "rsqrt": lax.rsqrt,
    "sin": _approximate(lax.sin),
    "sqrt": _approximate(lax.sqrt),
    "tan": _approximate(lax.tan),
}

FUNCTIONS: Mapping[str, Elemental] = {
    **{name: in_float(*pair) for name, pair in _PLAIN.items() if name != "divide"},
    **{name: in_own(*pair) for name, pair in _EXACT.items()},
    **{f"{kind}_{name}": in_float(_PLAIN[name][0], f) for kind in ("native", "half") for name, f in _NATIVE.items()},
    "native_recip": _RECIPROCAL,
    "half_recip": _RECIPROCAL,
    "fmax": common.greater,
    "fmin": common.lesser,
    "ilogb": representation.exponent,
    "ldexp": representation.scaled,
    "mad": common.multiply_added,
    "maxmag": common.greater_magnitude,
    "minmag": common.lesser_magnitude,
    "nan": representation.not_a_number,
    "pown": powers.whole_power,
    "rootn": powers.root,
}


def _sine_and_cosine(numbers: Sequence[Number], of: Scalar) -> tuple[Number, Number]:
    return FUNCTIONS["sin"](numbers, of), FUNCTIONS["cos"](numbers, of)


def _logarithm_and_sign(numbers: Sequence[Number], of: Scalar) -> tuple[Number, Number]:
    sign = values.lifted(gamma.known_sign, gamma.sign, floats.widened(values.exact(numbers[0])))
    return FUNCTIONS["lgamma"](numbers, of), Number(types.INT, sign, (-1, 1))


WITH_POINTER: Mapping[str, Callable[[Sequence[Number], Scalar], tuple[Number, Number]]] = {
    "fract": rounding.above_floor,
    "frexp": representation.parts,
    "lgamma_r": _logarithm_and_sign,
    "modf": rounding.split,
    "remquo": rounding.quotient,
    "sincos": _sine_and_cosine,
}
