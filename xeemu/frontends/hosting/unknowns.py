"""Unknowns: a value that is not known before the program runs; what is computed with it is not known either."""

from typing import Any, ClassVar


class Unknown:
    """There is one, `UNKNOWN`."""

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # NumPy's numbers leave operations with it to it
    __hash__ = object.__hash__

    def _self(self, *_: Any) -> "Unknown":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _self
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = _self
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _self
    __neg__ = __pos__ = __invert__ = __abs__ = _self

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
