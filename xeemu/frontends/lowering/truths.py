"""Truths: where values count as true: numbers that are not 0, and pointers that are not null."""

from xeemu.frontends import composites, values
from xeemu.frontends.lowering import nulls
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.values import Data, Either, Null, Number, Pointing, Value


def of(walk: Walk, value: Value) -> Data:
    """Where a value counts as true."""
    match value:
        case Number():
            return values.truth(value)
        case Null():
            nulls.check_given(walk, value, "tested")
            return values.np.bool_(False)
        case Pointing():
            return values.np.bool_(not nulls.is_null(walk, value))
        case Either(condition=condition, then=a, otherwise=b):
            return composites.select(condition, of(walk, a), of(walk, b))
    return values.np.bool_(True)
