"""Lane forms: integers of the form `base + steps . group + pattern[lane]`.

`base` is a scalar that every work-item of a chunk shares, `steps` one static int per dimension of the group id, and
`pattern` a static array of the value's shape. The static part is a `Form`; the base is a traced scalar that the
interpreter adds, or absent where it is 0. A form without base and steps is a constant, and constants fold. Forms are
kept only for values that cannot overflow their dtype.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax import lax

from xeemu.ir.program import Op
from xeemu.knowledge import constant_folding

# Larger constants than this are ordinary arrays: folding them would cost more than it gains.
_LARGEST_PATTERN = 1 << 18

Factors = tuple[int, ...]
"""What the bases of an operation's operands are multiplied with in the base of its result, which is their sum."""


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """The static part of a lane form.

    Attributes:
      based: true if a base, known only when the program runs, is added.
      steps: what each dimension of the group id is multiplied with.
      pattern: int64, the value's shape.
    """

    based: bool
    steps: tuple[int, ...]
    pattern: np.ndarray

    @property
    def constant(self) -> bool:
        return not self.based and not any(self.steps)

    @property
    def uniform(self) -> bool:
        """True if all groups share the value."""
        return not any(self.steps)


def constant(values: Any, dimensions: int) -> Form | None:
    """The form of a known array, if it is an integer or bool one of moderate size."""
    array = np.asarray(values)
    if array.size > _LARGEST_PATTERN or not (array.dtype.kind == "b" or np.issubdtype(array.dtype, np.integer)):
        return None
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**62:
        return None
    return Form(False, (0,) * dimensions, array.astype(np.int64))


def scalar(dimensions: int) -> Form:
    """The form of a uniform scalar that is its own base."""
    return Form(True, (0,) * dimensions, np.zeros((), np.int64))


def same(a: Form | None, b: Form | None) -> bool:
    """True if two forms have the same static part."""
    if a is None or b is None:
        return a is b
    return a.based == b.based and a.steps == b.steps and np.array_equal(a.pattern, b.pattern)


def join(a: Form | None, b: Form | None) -> Form | None:
    """A form that fits both values, by leaving to the base what they differ in."""
    if a is None or b is None or a.steps != b.steps or a.pattern.shape != b.pattern.shape:
        return None
    if same(a, b):
        return a
    pattern = a.pattern - _origin(a)
    return Form(True, a.steps, pattern) if np.array_equal(pattern, b.pattern - _origin(b)) else None


def offset(a: Form, joined: Form) -> int:
    """What the base of a value grows by when its form `a` is replaced by the form `joined`."""
    return _origin(a) - _origin(joined)


def _origin(a: Form) -> int:
    return int(a.pattern.flat[0]) if a.pattern.size else 0


def of_op(op: Op, operands: Sequence[Form | None]) -> tuple[Form, Factors] | None:
    """The form of the exact result of `op`, and the factors of its base; None if it has no form."""
    out = op.results[0]
    if any(o is None for o in operands) or math.prod(out.shape) > _LARGEST_PATTERN:
        return None
    forms = [o for o in operands if o is not None]
    form, factors = _of_forms(op, forms)
    if form is None or factors is None:
        return None
    if form.pattern.shape != out.shape:
        form = dataclasses.replace(form, pattern=np.broadcast_to(form.pattern, out.shape))
    return form, factors


def _of_forms(op: Op, forms: Sequence[Form]) -> tuple[Form | None, Factors | None]:
    """The same, of the forms that all operands have."""
    if forms and all(f.constant for f in forms):
        return _folded(op, forms), (0,) * len(forms)
    if (of := FACTORS.get(op.name)) is not None:
        factors = of(lambda number: single(forms[number].pattern) if forms[number].constant else None)
        return (None, None) if factors is None else (linear(forms, factors), tuple(factors))
    rule = _RULES.get(op.name)
    return rule(op, forms) if rule else None, (1,)


def _folded(op: Op, forms: Sequence[Form]) -> Form | None:
    """A constant result, computed by NumPy in the dtypes of the program."""
    name, out = op.name, op.results[0]
    fold = constant_folding.MOVES.get(name) or constant_folding.ELEMENTWISE.get(name)
    if fold is None:
        return None
    values = [f.pattern.astype(v.dtype) for f, v in zip(forms, op.operands, strict=True)]
    if not constant_folding.defined(name, values):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(fold(op.attributes, *values)).astype(out.dtype)
    return constant(result, len(forms[0].steps))


# --- Sums of multiples ---


def linear(forms: Sequence[Form], factors: Sequence[int]) -> Form:
    """The sum of forms, each times a factor."""
    terms = [(form, factor) for form, factor in zip(forms, factors, strict=True) if factor]
    steps = tuple(sum(factor * form.steps[d] for form, factor in terms) for d in range(len(forms[0].steps)))
    patterns = (form.pattern if factor == 1 else form.pattern * factor for form, factor in terms)
    return Form(any(form.based for form, _ in terms), steps, sum(patterns, np.zeros((), np.int64)))


def base(bases: Sequence[Any], factors: Sequence[int]) -> Any:
    """The base of such a sum from those of the forms, modulo its width; None if it has none, as some of them."""
    # lax takes a third of the time that the operators of arrays do, and every address is made of such sums.
    terms = [
        base if factor == 1 else lax.mul(base, wrapped(factor, base.dtype))
        for base, factor in zip(bases, factors, strict=False)
        if base is not None and factor
    ]
    return functools.reduce(lax.add, terms) if terms else None


def wrapped(value: int, dtype: Any) -> Any:
    """A Python int in a dtype, modulo its width, as bases and their arithmetic are."""
    dtype = np.dtype(dtype)
    return np.asarray(value & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").astype(dtype)[()]


def converted(form: Form, base: Any, dtype: Any) -> Any:
    """A form's base in another dtype that holds all of the form's values, or None if it has none.

    A base is right modulo its own width only. Before it is widened the pattern's first element is moved to it, see
    `widened`: then it is a value of its own, of the first lane of the first group, and exact.
    """
    if base is None or base.dtype == np.dtype(dtype):
        return base
    if base.dtype.itemsize >= np.dtype(dtype).itemsize:
        return base.astype(dtype)
    return lax.add(base, wrapped(_origin(form), base.dtype)).astype(dtype)


def widened(form: Form, own: np.dtype, dtype: np.dtype) -> Form:
    """A form of a value of a dtype once its base, if it has one, is `converted` to another one."""
    if not form.based or own.itemsize >= dtype.itemsize:
        return form
    return dataclasses.replace(form, pattern=form.pattern - _origin(form))


Given = Callable[[int], Any]
"""Gives the value of an operand, by its number, if that is known, else None."""


def _of_product(operands: Given) -> Sequence[Any] | None:
    if (factor := operands(1)) is not None:
        return (factor, 0)
    return None if (factor := operands(0)) is None else (0, factor)


def _of_shift(operands: Given) -> Sequence[Any] | None:
    shift = operands(1)
    return None if shift is None or np.any((shift < 0) | (shift >= 63)) else (1 << shift, 0)


FACTORS: Mapping[str, Callable[[Given], Sequence[Any] | None]] = {
    "add": lambda _: (1, 1),
    "sub": lambda _: (1, -1),
    "neg": lambda _: (-1,),
    "mul": _of_product,
    "shift_left": _of_shift,
}
"""Of what gives a sum of multiples of its operands the factors; None if they are not known."""


# --- Other operations, whose results have no base or that of the first operand ---


def _rem(_: Op, forms: Sequence[Form]) -> Form | None:
    """What groups add is a multiple of the divisor."""
    divisor = _divisor(forms)
    return None if divisor is None else Form(False, (0,) * len(forms[0].steps), forms[0].pattern % divisor)


def _div(_: Op, forms: Sequence[Form]) -> Form | None:
    divisor, a = _divisor(forms), forms[0]
    return None if divisor is None else Form(False, tuple(s // divisor for s in a.steps), a.pattern // divisor)


def _divisor(forms: Sequence[Form]) -> int | None:
    """The second operand, if it divides whatever groups add to the first, which is known and never negative."""
    a, b = forms
    divisor = single(b.pattern) if b.constant else None
    if divisor is None or divisor <= 0 or a.based or (a.pattern < 0).any():
        return None
    return divisor if all(s >= 0 and s % divisor == 0 for s in a.steps) else None


def single(pattern: np.ndarray) -> int | None:
    """The value of a pattern that is the same everywhere."""
    first = pattern.flat[0] if pattern.size else 0
    return int(first) if (pattern == first).all() else None


def _moved(op: Op, forms: Sequence[Form]) -> Form:
    pattern = constant_folding.MOVES[op.name](op.attributes, forms[0].pattern)
    return dataclasses.replace(forms[0], pattern=pattern)


def _converted(op: Op, forms: Sequence[Form]) -> Form | None:
    dtype, form = op.results[0].dtype, forms[0]
    return None if dtype.kind == "b" else widened(form, op.operands[0].dtype, dtype)


def iota(op: Op, dimensions: int) -> Form | None:
    """The form of an `iota`, which has no operands."""
    if math.prod(op.attributes["shape"]) > _LARGEST_PATTERN:
        return None
    return constant(constant_folding.iota(op.attributes).astype(op.results[0].dtype), dimensions)


_RULES: dict[str, Callable[[Op, Sequence[Form]], Form | None]] = {
    **dict.fromkeys(constant_folding.MOVES, _moved),
    "rem": _rem,
    "div": _div,
    "convert_element_type": _converted,
}
