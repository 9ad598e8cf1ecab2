"""Exactness: each operation on floats rounded for itself, as IEEE 754 and the languages have it.

XLA takes floats for real numbers in some places: it multiplies by the reciprocal of a divisor that is alike for many
elements, by that of a root, and makes `a / (b / c)` a product; it joins constants, as in `(x + 12582912) - 12582912`,
which rounds to an integer, and in `(x * 1e30) * 1e30`, which need not overflow. So a divisor, a quotient and a constant
go through a choice that XLA cannot see through. LLVM can, so that it costs nothing, and it does not do such things.
What remains: a product and a sum may be rounded once, as OpenCL's FP_CONTRACT and SYCL allow; a product of a float with
a bool as a float is a choice between it and 0, which NaN and infinities do not survive; and a root times itself is its
operand. The operands of these both differ, and go through no choice, as that would cost time.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu.language import jaxprs


def applies(eqn: jex_core.JaxprEqn, alike: Sequence[bool]) -> bool:
    """Whether XLA might carry out an equation in another way.

    Args:
      eqn: the equation.
      alike: of each operand, whether it is alike for all groups.
    """
    name = eqn.primitive.name
    if name not in ("div", "add", "sub", "mul") or not jnp.issubdtype(eqn.outvars[0].aval.dtype, jnp.floating):
        return False
    return name == "div" or any(alike)


def bound(eqn: jex_core.JaxprEqn, operands: Sequence[jax.Array], alike: Sequence[bool]) -> list[jax.Array]:
    """The result of such an equation, of operands as `applies` has them."""
    shape = jnp.broadcast_shapes(*map(jnp.shape, operands))
    first, second = (jnp.broadcast_to(o, shape) for o in operands)
    if eqn.primitive.name == "div":
        (quotient,) = jaxprs.bound(eqn, [first, _hidden(second, first)])
        return [_hidden(quotient, first)]
    if jaxprs.is_literal(eqn.invars[0]) or not alike[1]:
        return jaxprs.bound(eqn, [_hidden(first, second), second])
    return jaxprs.bound(eqn, [first, _hidden(second, first)])


def _hidden(array: jax.Array, other: jax.Array) -> jax.Array:
    """An array that XLA takes for a choice between it and another one, which must not be alike for all elements."""
    return jnp.where(lax.optimization_barrier(np.bool_(False)), other, array)
