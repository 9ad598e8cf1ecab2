"""Built-in functions called as the front ends call them, and numbers to call them with."""

import contextlib
import itertools
import math
import zlib

import jax
import numpy as np

from xeemu.frontends import composites, types, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.types import Vector

FLOATS = (types.HALF, types.FLOAT, types.DOUBLE)
INTEGERS = (types.CHAR, types.UCHAR, types.SHORT, types.USHORT, types.INT, types.UINT, types.LONG, types.ULONG)
INF, NAN = math.inf, math.nan


def random(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


@contextlib.contextmanager
def wide(*used):
    """JAX's 64-bit types, if one of some types needs them."""
    with jax.enable_x64(any(t.size == 8 for t in used)):
        yield


def traced(name, arrays, of, result, narrow=()):
    """What a built-in gives of arrays, compiled; `narrow` are intervals that the arguments are known to have."""

    def computed(*data):
        ranges = narrow or (None,) * len(data)
        arguments = [
            values.held(t, x.astype(np.int32) if r is not None and t.size >= 4 else x, r)
            for x, t, r in zip(data, of, ranges, strict=True)
        ]
        found = catalogue.find(name)(arguments, result)
        intervals.append(found.interval)
        return values.exact(found)

    intervals = []
    with wide(*of, result):
        out = np.broadcast_to(jax.jit(computed)(*arrays), arrays[0].shape)
    if result.is_integer:
        low, high = intervals[0]
        assert low <= out.min()
        assert out.max() <= high
    return out


def known(name, arrays, of, result):
    """The results for numbers that are known before the kernel runs."""
    rows = zip(*arrays, strict=True)
    found = [catalogue.find(name)(list(map(values.constant, row, of)), result) for row in rows]
    assert all(n.known and n.type == result for n in found)
    return np.array([values.exact(n) for n in found])


def both(name, arrays, of, result, few=300):
    """Traced and known results, the latter of the first few."""
    return traced(name, arrays, of, result), known(name, [a[:few] for a in arrays], of, result)


def corners(of):
    low, high = np.iinfo(of.dtype).min, np.iinfo(of.dtype).max
    near = [
        low,
        low + 1,
        low // 2,
        -129,
        -128,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        127,
        128,
        255,
        256,
        high // 2,
        high - 1,
    ]
    return [int(v) for v in dict.fromkeys([*near, high]) if low <= v <= high]


def integers(of, count, *seed):
    """Every combination of corners, and random integers of all magnitudes."""
    grid = list(itertools.product(corners(of), repeat=count))
    some = random(of.name, *seed).permutation(len(grid))[:600]
    info = np.iinfo(of.dtype)
    drawn = random(of.name, count, *seed).integers(info.min, info.max, (400, count), of.dtype, endpoint=True)
    drawn >>= random(*seed).integers(0, info.bits, (400, count), of.dtype)
    rows = np.concatenate([np.array([grid[k] for k in some], of.dtype), drawn])
    return list(rows[random(*seed).permutation(len(rows))].T.copy())


def wrapped(value, of):
    return int(values.constant(value, of).python)


def limited(value, of):
    return min(max(value, int(np.iinfo(of.dtype).min)), int(np.iinfo(of.dtype).max))


def unsigned(value, of):
    return value % 2 ** (8 * of.size)


def vector(of, columns):
    """A vector of known or traced numbers from arrays or scalars."""
    items = tuple(values.held(of, c) if not isinstance(c, int | float) else values.constant(c, of) for c in columns)
    return values.Components(Vector(of, len(items)), items)


def specials(of):
    info = np.finfo(of.dtype)
    digits = float(2**info.nmant)
    plain = [
        0.0,
        info.smallest_normal,
        info.eps,
        0.25,
        0.5,
        0.75,
        1.0,
        1.0 + info.eps,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.5,
        8.0,
    ]
    plain += [
        100.0,
        digits / 2 - 0.5,
        digits - 1,
        digits,
        2 * digits,
        info.max,
        INF,
        NAN,
        1.0 - info.epsneg,
        10.0,
        1000.0,
    ]
    return np.array([s * v for v in plain for s in (1, -1)], of.dtype)


def uniform_bits(of, shape, *seed):
    """Floats of all magnitudes, without subnormal ones, which XLA flushes."""
    bits = random(of.name, *seed).integers(0, 2 ** (8 * of.size), shape, f"u{of.size}")
    found = bits.view(of.dtype)
    with np.errstate(all="ignore"):
        found = np.where(np.isnan(found), of.dtype.type(NAN), found)  # no signalling ones
        return np.where(np.abs(found) < np.finfo(of.dtype).smallest_normal, of.dtype.type(1.25), found)


def drawn(of, count, *seed):
    """Operands: pairs of special values, floats of all magnitudes, and ones near 1."""
    special = np.array(list(itertools.product(specials(of), repeat=count)), of.dtype)
    special = special[random(*seed).permutation(len(special))[:2000]]
    near = random(of.name, count, *seed, "near").normal(0, 3, (1500, count)).astype(of.dtype)
    rows = np.concatenate([special, uniform_bits(of, (1500, count), *seed), near])
    return list(rows[random(*seed).permutation(len(rows))].T.copy())


def extended(x):
    return np.asarray(x, np.longdouble)


def apart(found, right, of):
    """How far results are from exact ones, in units in the last place; not a number and zeros have to agree.

    Results that are subnormal may be zeros.
    """
    info = np.finfo(of.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(right)
        power = np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1)))
        unit = np.exp2(np.maximum(power, info.minexp) - info.nmant)
        rounded = right.astype(of.dtype)
        same = (rounded == found) | (np.isnan(rounded) & np.isnan(found))
        over = (size > info.max) & (np.abs(found) >= info.max * of.dtype.type(1 - 4 * info.eps))
        under = (size < 2 * info.smallest_normal) & (np.abs(extended(found)) < 2 * info.smallest_normal)
        distance = np.abs(extended(found) - right) / unit
        return np.where(
            same | over | under,
            np.where(np.isfinite(distance), distance, 0) * ~under * ~over,
            np.where(np.isnan(distance), INF, distance),
        )


def zeros_agree(found, right):
    zero = (found == 0) & (right == 0)
    return not np.any(np.signbit(found[zero]) != np.signbit(right[zero]))


def leaves(value):
    return [n.python for n in composites.leaves(value)]
