"""Functions: those of mathematics on the host, of numbers and vectors."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.frontends.hosting import scalars
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type, Vector

Computed = Callable[..., Any]


def find(name: str, of: Type, given: Sequence[Type]) -> Computed | None:
    """What computes a function; None where it is not known."""
    base = name.removeprefix("native_").removeprefix("half_").removeprefix("__builtin_")
    computed = _FLOATS.get(base)
    element = of.element if isinstance(of, Vector) else of
    if computed is None or not isinstance(element, Scalar):
        return None
    one = _of_type(computed, element)
    return _by_component(one, of.count) if isinstance(of, Vector) else one


def _of_type(computed: Computed, of: Scalar) -> Computed:
    convert = scalars.converter(of)

    def one(*arguments: Any) -> Any:
        if any(a is UNKNOWN for a in arguments):
            return UNKNOWN
        try:
            return convert(computed(*arguments))
        except (ValueError, OverflowError, ZeroDivisionError):
            return convert(math.nan if of.is_float else 0)

    return one


def _by_component(one: Computed, count: int) -> Computed:
    def each(*arguments: Any) -> Any:
        if any(a is UNKNOWN for a in arguments):
            return UNKNOWN
        rows = [a if isinstance(a, tuple) else (a,) * count for a in arguments]
        return tuple(map(one, *rows))

    return each


def _round(x: Any) -> Any:
    """Halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + x.__class__(0.5)), x)


def _max(a: Any, b: Any) -> Any:
    return b if a < b else a


def _min(a: Any, b: Any) -> Any:
    return b if b < a else a


_FLOATS: Mapping[str, Computed] = {
    **{name: getattr(np, name) for name in (
        "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "log", "log10", "log1p", "log2", "rint",
        "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "copysign", "fmod", "hypot", "nextafter",
    )},
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "powr": np.power, "fmax": np.fmax, "fmin": np.fmin,
    "erf": math.erf, "erfc": math.erfc, "tgamma": math.gamma, "lgamma": math.lgamma, "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x), "recip": lambda x: 1 / x, "divide": lambda a, b: a / b,
    "fma": lambda a, b, c: float(a) * float(b) + float(c) if not isinstance(a, float) else a * b + c,
    "mad": lambda a, b, c: a * b + c, "fdim": lambda a, b: _max(a - b, a.__class__(0)),
    "remainder": lambda a, b: math.remainder(a, b), "ldexp": lambda x, e: np.ldexp(x, e),
    "max": _max, "min": _min, "abs": abs, "clamp": lambda x, low, high: _min(_max(x, low), high),
    "isnan": lambda x: x != x, "isinf": lambda x: abs(x) == math.inf, "isfinite": lambda x: bool(np.isfinite(x)),
    "signbit": lambda x: bool(np.signbit(x)), "popcount": lambda x: bin(x & ((1 << 64) - 1)).count("1"),
    "mul24": lambda a, b: a * b, "mad24": lambda a, b, c: a * b + c,
}  # fmt: skip
"""What computes them, in the type of the arguments."""
