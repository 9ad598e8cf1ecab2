"""The lattice Boltzmann step of ProjectPhysX/FluidX3D's benchmark, in the kernel language.

D3Q19 with a single relaxation time in a box of 256**3 cells, a work-item for each, in groups of 64. A cell has 19
distributions, each in an array of its own; a step replaces them in place ("Esoteric-Pull": of each pair of opposite
directions, one is of the cell and one of its neighbour). They are stored as float32, as float16 scaled by 2**15
(FP16S), or as 16 bits with 4 of exponent and 11 of mantissa, which integer operations convert (FP16C); arithmetic is in
float32. 32 lanes would not have the registers for it, so that IGC takes 16.

Cells beyond the box are taken to be stored before and after it, where the published program goes to the other end of
it, which is some 20 of its 363 to 1275 operations for a cell.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from intel_launches import Launch, shape
from jax import lax

import xeemu as xe

SIDE = 256
CELLS = SIDE**3
_BEFORE = SIDE**2 + 2 * SIDE
STORED = CELLS + 2 * _BEFORE
"""Cells of an array of distributions, with those beyond the box, as many before as after it."""

F32, U16, U32 = jnp.float32, jnp.uint16, jnp.uint32

# Pairs of opposite directions follow one another; the first is at rest.
_HALF = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, -1, 0), (1, 0, -1), (0, 1, -1))
_DIRECTIONS = ((0, 0, 0), *(d for x, y, z in _HALF for d in ((x, y, z), (-x, -y, -z))))
_WEIGHTS = tuple((1 / 3, 1 / 18, 1 / 36)[sum(map(abs, direction))] for direction in _DIRECTIONS)
_SCALE = 2.0**15


@xe.kernel(sub_group_size=16)
def stream_collide(wg, cells, flags, *, relaxation):
    """One step; of `cells`, elements from `i * STORED` are the distributions of direction i."""
    n = wg.global_id()
    here = n + _BEFORE
    there = [here + x + y * SIDE + z * SIDE**2 for x, y, z in _DIRECTIONS]
    found = [_unpacked(cells[here])]
    for i in range(1, 19, 2):
        found += [_unpacked(cells[(i + 1) * STORED + here]), _unpacked(cells[i * STORED + there[i]])]
    fluid = jnp.where(flags[n] == 0, F32(relaxation), F32(0))
    made = [f + fluid * (e - f) for f, e in zip(found, _equilibrium(found), strict=True)]
    cells = cells.at[here].set(_packed(made[0], cells.dtype))
    for i in range(1, 19, 2):
        cells = cells.at[i * STORED + there[i]].set(_packed(made[i], cells.dtype))
        cells = cells.at[(i + 1) * STORED + here].set(_packed(made[i + 1], cells.dtype))
    return cells


def _equilibrium(found: list[Any]) -> list[Any]:
    """What the distributions of a cell relax to: of the same density and velocity."""
    density = sum(found[1:], found[0])
    moments = [
        sum(d[axis] * f for d, f in zip(_DIRECTIONS, found, strict=True) if d[axis]) / density for axis in range(3)
    ]
    rest = 1 - 1.5 * sum(u * u for u in moments)
    made = []
    for weight, direction in zip(_WEIGHTS, _DIRECTIONS, strict=True):
        along = 3 * sum((u * d for u, d in zip(moments, direction, strict=True) if d), 0.0)
        made.append(weight * density * (rest + along * (1 + 0.5 * along)))
    return made


# --- How a distribution is stored ---


def _unpacked(stored: Any) -> Any:
    if stored.dtype == jnp.float16:
        return stored.astype(F32) * F32(1 / _SCALE)
    return stored if stored.dtype == F32 else _of_four_and_eleven(stored)


def _packed(value: Any, dtype: Any) -> Any:
    if dtype == jnp.float16:
        return (value * F32(_SCALE)).astype(jnp.float16)
    return value if dtype == F32 else _in_four_and_eleven(value)


def _of_four_and_eleven(stored: Any) -> Any:
    """Of 4 bits of exponent and 11 of mantissa; small numbers have fewer, whose zeros a conversion counts."""
    bits = stored.astype(U32)
    exponent, mantissa = (bits & U32(0x7800)) >> 11, (bits & U32(0x07FF)) << 12
    first = lax.bitcast_convert_type(mantissa.astype(F32), U32) >> 23
    small = (first - U32(37)) << 23 | ((mantissa << (U32(150) - first)) & U32(0x007FF000))
    normal = (exponent + U32(112)) << 23 | mantissa
    made = jnp.where(exponent != 0, normal, jnp.where(mantissa != 0, small, U32(0)))
    return lax.bitcast_convert_type((bits & U32(0x8000)) << 16 | made, F32)


def _in_four_and_eleven(value: Any) -> Any:
    bits = lax.bitcast_convert_type(value, U32) + U32(0x0800)
    exponent, mantissa = (bits & U32(0x7F800000)) >> 23, bits & U32(0x007FFFFF)
    normal = ((exponent - U32(112)) << 11) & U32(0x7800) | mantissa >> 12
    small = (((U32(0x007FF800) + mantissa) >> (U32(124) - exponent)) + U32(1)) >> 1
    made = jnp.where(exponent > 112, normal, jnp.where(exponent > 100, small, U32(0)))
    return ((bits & U32(0x80000000)) >> 16 | made).astype(U16)


def _stepped(dtype: str) -> Launch:
    arguments = (shape(dtype, 19 * STORED), shape("uint8", CELLS))
    return Launch(stream_collide, xe.NDRange(CELLS, 64), arguments, {"relaxation": 1.0}, float(CELLS))


LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    f"lattice in {name}": lambda dtype=dtype: _stepped(dtype)
    for name, dtype in (("FP32", "float32"), ("FP16S", "float16"), ("FP16C", "uint16"))
}
"""The launches by their names in `tests/data/intel-published.csv`."""
