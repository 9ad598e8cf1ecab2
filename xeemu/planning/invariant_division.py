"""Division of many integers by one that is known only when the program runs, by multiplication.

CPUs have no division of vectors. With `m = (2^32 - 1) // d`, which is at least `2^32 / d - 1`, `x m / 2^32` is more
than `x / d - 1`, so that the upper half of the product is the quotient or 1 less.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.ir import ops
from xeemu.ir.program import Op, Region
from xeemu.knowledge import addressing, forms
from xeemu.knowledge.analysis import Facts

_HALF = np.uint32(16)
_LOW = np.uint32(0xFFFF)
_ALL = np.uint32(0xFFFFFFFF)


def applies(op: Op, facts: Facts) -> bool:
    """Whether an operation is such a division: of many numbers by the same for all groups and work-items.

    Args:
      op: the operation.
      facts: what is known of its operands.
    """
    if op.name not in ("div", "rem") or op.results[0].dtype not in (np.int32, np.uint32):
        return False
    shape, (many, divisor) = op.results[0].shape, (facts.value(a) for a in op.used)
    if op.operands[0].shape != shape or not (shape or many.varying) or divisor.varying:
        return False
    return divisor.form is not None and divisor.form.based and forms.single(divisor.form.pattern) is not None


def finding(body: Region, facts: Facts) -> frozenset[int]:
    """The numbers of the loads of a (sub)program whose elements are found by such a division."""
    loads = (n for n, op in enumerate(body.ops) if op.name == ops.LOAD)
    return frozenset(n for n in loads if _is_found(body.ops[n], body, facts))


def _is_found(load: Op, body: Region, facts: Facts) -> bool:
    if addressing.is_formed(load, facts):
        return False
    return any(applies(body.ops[number], facts) for number in body.needed(ops.indices(load)))


def divided(name: str, dividend: jax.Array, divisor: jax.Array) -> jax.Array:
    """What `lax.div` or `lax.rem` give, also for the divisor 0.

    Args:
      name: `"div"` or `"rem"`.
      dividend: int32 or uint32.
      divisor: a scalar of the same dtype.
    """
    if dividend.dtype == np.uint32:
        return _unsigned(name, dividend, divisor)
    size = _unsigned(name, _magnitude(dividend), _magnitude(divisor)).astype(np.int32)
    negative = dividend < 0 if name == "rem" else (dividend < 0) ^ (divisor < 0)
    signed = jnp.where(negative, -size, size)
    return signed if name == "rem" else jnp.where(divisor == 0, np.int32(-1), signed)


def _magnitude(value: jax.Array) -> jax.Array:
    return jnp.abs(value).astype(np.uint32)


def _unsigned(name: str, dividend: jax.Array, divisor: jax.Array) -> jax.Array:
    quotient = _high(dividend, lax.div(_ALL, divisor))
    rest = dividend - quotient * divisor
    more = rest >= divisor
    if name == "rem":
        return jnp.where(more, rest - divisor, rest)
    return jnp.where(divisor == 0, _ALL, jnp.where(more, quotient + np.uint32(1), quotient))


def _high(a: jax.Array, b: jax.Array) -> jax.Array:
    """The upper half of the 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    first = a_high * b_low + (a_low * b_low >> _HALF)
    second = a_low * b_high + (first & _LOW)
    return a_high * b_high + (first >> _HALF) + (second >> _HALF)
