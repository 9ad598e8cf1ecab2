"""Gaussian: the complementary error function, where XLA's is not as exact as OpenCL C demands."""

import jax
import numpy as np
from jax import lax

from xeemu.frontends.builtins import exponentials, floats
from xeemu.frontends.builtins.components import composite

# Of 1/x^2, the highest power first: quotients of polynomials whose exponentials are erfc(x) x exp(x^2 + 9/16), up to
# 1/0.35 and above (Sun Microsystems, fdlibm, s_erf.c, 1993).
_MIDDLE = (
    (
        -9.81432934416914548592, -8.12874355063065934246e1, -1.84605092906711035994e2, -1.62396669462573470355e2,
        -6.23753324503260060396e1, -1.05586262253232909814e1, -6.93858572707181764372e-1, -9.86494403484714822705e-3,
    ),
    (
        -6.04244152148580987438e-2, 6.57024977031928170135, 1.08635005541779435134e2, 4.29008140027567833386e2,
        6.45387271733267880336e2, 4.34565877475229228821e2, 1.37657754143519042600e2, 1.96512716674392571292e1, 1.0,
    ),
)  # fmt: skip
_HIGH = (
    (
        -4.83519191608651397019e2, -1.02509513161107724954e3, -6.37566443368389627722e2, -1.60636384855821916062e2,
        -1.77579549177547519889e1, -7.99283237680523006574e-1, -9.86494292470009928597e-3,
    ),
    (
        -2.24409524465858183362e1, 4.74528541206955367215e2, 2.55305040643316442583e3, 3.19985821950859553908e3,
        1.53672958608443695994e3, 3.25792512996573918826e2, 3.03380607434824582924e1, 1.0,
    ),
)  # fmt: skip
_LOW, _LIMIT, _MOST = 1.25, 1 / 0.35, 30.0


@composite
def complementary_error(x: jax.Array) -> jax.Array:
    """`erfc`: above 1.25 an exponential whose argument is held in two parts."""
    a = lax.clamp(np.asarray(_LOW, x.dtype), x, np.asarray(_MOST, x.dtype))
    inverse = 1 / (a * a)
    middle, high = (floats.polynomial(p, inverse) / floats.polynomial(q, inverse) for p, q in (_MIDDLE, _HIGH))
    rest = lax.select(a < _LIMIT, middle, high)
    digits = lax.full_like(floats.bits(a), -1 << (floats.format_of(x.dtype).mantissa // 2 + 2))
    coarse = floats.from_bits(lax.bitwise_and(floats.bits(a), digits), x.dtype)
    powers = exponentials.exp(-(coarse * coarse) - 0.5625), exponentials.exp((coarse - a) * (coarse + a) + rest)
    return lax.select(x > _LOW, powers[0] * powers[1] / a, lax.erfc(x))
