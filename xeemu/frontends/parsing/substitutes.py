"""Substitutes: what OpenCL has instead of clang's own functions."""

import math

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.tree import Expression, SourceLocation
from xeemu.frontends.types import Type

_MATH = (
    "acos asin atan atan2 ceil copysign cos exp exp2 fabs floor fma fmax fmin fmod log log10 log2 pow rint round sin "
    "sqrt tan trunc"
)
_OPENCL_NAMES = {
    **{f"__builtin_{name}{suffix}": name for name in _MATH.split() for suffix in ("", "f")},
    **{f"__builtin_popcount{suffix}": "popcount" for suffix in ("", "l", "ll")},
    **{f"__builtin_clz{suffix}": "clz" for suffix in ("", "l", "ll")},
    **{f"__builtin_ctz{suffix}": "ctz" for suffix in ("", "l", "ll")},
}
_CONSTANTS = {
    **{f"__builtin_{name}{suffix}": math.inf for name in ("inf", "huge_val") for suffix in ("", "f", "l")},
    **{f"__builtin_nan{suffix}": math.nan for suffix in ("", "f", "l")},
    "__builtin_is_constant_evaluated": 0,
}
_WITHOUT_EFFECT = ("__builtin_assume", "__builtin_unreachable", "__builtin_prefetch")


def call(name: str, of: Type, place: SourceLocation, arguments: tuple[Expression, ...]) -> Expression:
    """A call of one of clang's own functions."""
    if name in ("__builtin_expect", "__builtin_expect_with_probability"):
        return arguments[0] if arguments[0].type == of else tree.Cast(of, place, arguments[0])
    if name in _CONSTANTS:
        return tree.Constant(of, place, _CONSTANTS[name])
    if name in _WITHOUT_EFFECT:
        return tree.Cast(types.VOID, place, tree.Constant(types.INT, place, 0))
    known = _OPENCL_NAMES.get(name)
    if known is None:
        hint = "write OpenCL C or SYCL's own function, or the expression, instead"
        raise refusals.at(place, f"{name} is a function of one compiler; {hint}")
    return tree.Call(of, place, known, arguments, None)
