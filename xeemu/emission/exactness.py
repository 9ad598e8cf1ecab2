"""Exactness: each operation on floats rounded for itself, as IEEE 754 and the languages have it.

XLA takes floats for real numbers in some places: it multiplies by the reciprocal of a divisor that is alike for many
elements, by that of a root, and makes `a / (b / c)` a product; it joins constants, as in `(x + 12582912) - 12582912`,
which rounds to an integer, and in `(x * 1e30) * 1e30`, which need not overflow. So a divisor, a quotient, as of a power
below 0, and a constant go through a choice that XLA cannot see through. LLVM can, so that it costs nothing, and it does
not do such things. All choices of a program ask the same bool: one for each would be an operand of each loop and kernel
that XLA makes.
A number that depends on the launch's arguments needs none of that in a sum or a product: XLA joins constants alone.
What remains: a product and a sum may be rounded once, as OpenCL's FP_CONTRACT and SYCL allow; a product of a float with
a bool as a float is a choice between it and 0, which NaN and infinities do not survive; and a root times itself is its
operand. The operands of these both differ, and go through no choice, as that would cost time.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.ir import evaluation
from xeemu.ir.program import Op


def never() -> jax.Array:
    """False, which XLA does not know."""
    return lax.optimization_barrier(np.bool_(False))


def bound(op: Op, operands: Sequence[jax.Array], hidden: int, never: jax.Array) -> list[jax.Array]:
    """The result of such an operation, see `operation_plans.Exact`; `never` is what `never()` gave."""
    if op.name == "integer_pow":
        return [_reciprocal(operands[0], -op.attributes["y"], never)]
    shape = jnp.broadcast_shapes(*map(jnp.shape, operands))
    first, second = (jnp.broadcast_to(o, shape) for o in operands)
    if op.name == "div":
        (quotient,) = evaluation.results(op, [first, _hidden(second, first, never)])
        return [_hidden(quotient, first, never)]
    if hidden == 0:
        return evaluation.results(op, [_hidden(first, second, never), second])
    return evaluation.results(op, [first, _hidden(second, first, never)])


def _reciprocal(array: jax.Array, power: int, never: jax.Array) -> jax.Array:
    """1 divided by a power of an array, the power and the quotient hidden."""
    one = jnp.ones_like(array)
    return _hidden(lax.div(one, _hidden(lax.integer_pow(array, power), one, never)), array, never)


def _hidden(array: jax.Array, other: jax.Array, never: jax.Array) -> jax.Array:
    """An array that XLA takes for a choice between it and another one, which must not be alike for all elements."""
    return lax.select(never, other, array)
