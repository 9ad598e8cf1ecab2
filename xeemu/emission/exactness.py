"""Exactness: each operation on floats rounded for itself, as IEEE 754 and the languages have it.

XLA takes floats for real numbers in some places: it multiplies by the reciprocal of a divisor that is alike for many
elements, by that of a root, and makes `a / (b / c)` a product; it joins constants, as in `(x + 12582912) - 12582912`,
which rounds to an integer, and in `(x * 1e30) * 1e30`, which need not overflow. So the result of such an operation is
rounded to the precision that it has, across which XLA joins nothing. A divisor also goes through a choice that XLA
cannot see through, nor carry out before it repeats the divisor; so does a number that is added and may be 0, as XLA
takes `x + 0` for `x`, where `x` may be -0. LLVM sees through both, as it knows what the last bit of a number can be, so
that they cost nothing. A choice by a bool that the program knows to be false would: a fourth of the time of a loop with
three of them (2-core EPYC, `bodies` of `scripts/bench --common`), as the bool is an operand of what XLA makes of it.
A number that depends on the launch's arguments needs none of that in a sum or a product: XLA joins constants alone.
What remains: a product and a sum may be rounded once, as OpenCL's FP_CONTRACT and SYCL allow; a product of a float with
a bool as a float is a choice between it and 0, which NaN and infinities do not survive; and a root times itself is its
operand. The operands of these all differ, and neither they nor the results are looked at.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.ir import evaluation
from xeemu.ir.program import Op
from xeemu.planning.operation_plans import Exact


def bound(op: Op, operands: Sequence[jax.Array], plan: Exact) -> list[jax.Array]:
    """The result of such an operation."""
    if op.name == "integer_pow":
        return [_rounded(_reciprocal(operands[0], -op.attributes["y"]))]
    if plan.hidden is not None:
        shape = jnp.broadcast_shapes(*map(jnp.shape, operands))
        operands = [jnp.broadcast_to(o, shape) for o in operands]
        operands[plan.hidden] = _hidden(operands[plan.hidden], operands[1 - plan.hidden], operands[plan.selector])
    (result,) = evaluation.results(op, operands)
    return [_rounded(result)]


def _reciprocal(array: jax.Array, power: int) -> jax.Array:
    """1 divided by a power of an array."""
    one, divisor = jnp.ones_like(array), lax.integer_pow(array, power)
    return lax.div(one, _hidden(divisor, one, divisor))


def _rounded(array: jax.Array) -> jax.Array:
    """An array rounded to the precision that it has, or that of the type that XLA computes in, where that is wider."""
    info = max((jnp.finfo(dtype) for dtype in (array.dtype, np.float32)), key=lambda info: info.bits)
    return lax.reduce_precision(array, info.nexp, info.nmant)


def _hidden(array: jax.Array, other: jax.Array, asked: jax.Array) -> jax.Array:
    """An array that XLA takes for a choice between it and another one, by numbers that it does not know."""
    bits = lax.bitcast_convert_type(asked, np.dtype(f"u{asked.dtype.itemsize}"))
    one = jnp.ones_like(bits)
    return lax.select(lax.bitwise_and(bits, one) > one, other, array)
