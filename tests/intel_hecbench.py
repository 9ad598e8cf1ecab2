"""Programs of zjin-lcf/HeCBench whose times on a P630 stand in its results, in the kernel language.

Each is one kernel, or two in turn, that the program launches over and over; sizes are those that its Makefile gives.
"""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from intel_launches import Launch, shape
from jax import lax

import xeemu as xe

F32, F64, U32 = jnp.float32, jnp.float64, jnp.uint32


# --- Stencils ---


@xe.kernel
def heat(wg, u, out, *, n, r, r2):
    """Five points in doubles, nothing past the edges."""
    at = wg.global_id()
    i, j = at % n, at // n
    sides = ((i < n - 1, at + 1), (i > 0, at - 1), (j < n - 1, at + n), (j > 0, at - n))
    total = r2 * u[at]
    for inside, beside in sides:
        total = total + r * jnp.where(inside, u.load(beside, where=inside), 0.0)
    return out.at[at].set(total)


@xe.kernel
def heat2d(wg, before, after, *, width, height):
    """Five points in single precision, the edges joined."""
    at = wg.global_id()
    x, y = at % width, at // width
    right, left = y * width + (x + 1) % width, y * width + (width + x - 1) % width
    below, above = (y + 1) % height * width + x, (height + y - 1) % height * width + x
    around = before[right] + before[left] + before[below] + before[above]
    return after.at[at].set(F32(0.96) * before[at] + F32(0.0096) * around)


@xe.kernel
def iso2dfd(wg, following, before, speed):
    """A wave equation: five points, an old value and a speed, only inside."""
    row, column = wg.global_id(0), wg.global_id(1)
    rows, columns = before.shape
    inside = (column >= 1) & (column < columns - 1) & (row >= 1) & (row < rows - 1)

    def point(of, i, j):
        return of.load((i, j), where=inside)

    here = point(before, row, column)
    value = point(before, row, column + 1) - 2 * here + point(before, row, column - 1)
    value = value + point(before, row + 1, column) - 2 * here + point(before, row - 1, column)
    made = 2 * here - point(following, row, column) + value * F32(1e-8) * point(speed, row, column)
    return following.at[row, column].set(made, where=inside)


@xe.kernel
def hotspot3d(wg, power, heat, out):
    """Seven points, each work-item a column of layers."""
    j, i = wg.global_id(0), wg.global_id(1)
    layers, rows, columns = heat.shape
    west, east = jnp.maximum(i - 1, 0), jnp.minimum(i + 1, columns - 1)
    north, south = jnp.maximum(j - 1, 0), jnp.minimum(j + 1, rows - 1)
    below = here = heat[0, j, i]
    above = heat[1, j, i]

    def layer(k, out, below, here, above):
        flat = F32(0.2) * heat[k, j, west] + F32(0.2) * heat[k, j, east]
        flat = flat + F32(0.1) * heat[k, south, i] + F32(0.1) * heat[k, north, i]
        column = F32(0.1) * below + F32(0.1) * above + F32(0.3) * here
        return out.at[k, j, i].set(flat + column + F32(0.01) * power[k, j, i] + F32(8))

    out = layer(0, out, below, here, above)

    def step(k, state):
        out, here, above = state
        below, here, above = here, above, heat[k + 1, j, i]
        return layer(k, out, below, here, above), here, above

    out, here, above = lax.fori_loop(1, layers - 1, step, (out, here, above))
    return layer(layers - 1, out, here, above, above)


@xe.kernel
def maxpool3d(wg, image, out):
    """The largest of two by two points, of each of many images."""
    z, y, x = wg.global_id(0), wg.global_id(1), wg.global_id(2)
    largest = jnp.zeros(x.shape, F32)
    for row in range(2):
        for column in range(2):
            largest = jnp.maximum(largest, image[z, 2 * y + row, 2 * x + column])
    return out.at[z, y, x].set(largest)


# --- Convolutions by rows and by columns, through local memory ---

_RADIUS, _STEPS = 8, 8


def _convolved(coefficients, tile, first):
    return sum(coefficients[_RADIUS - j] * tile(first + j) for j in range(-_RADIUS, _RADIUS + 1))


@xe.kernel
def convolved_rows(wg, source, coefficients, out):
    y, x = wg.local_id(0), wg.local_id(1)
    width = source.shape[1]
    base, row = (wg.group_id(1) * _STEPS - 1) * 16 + x, wg.global_id(0)
    tile = wg.local((4, (_STEPS + 2) * 16), F32)
    for i in range(1, _STEPS + 1):
        tile = tile.at[y, x + i * 16].set(source[row, base + i * 16])
    for i in (0, _STEPS + 1):
        column = base + i * 16
        inside = (column >= 0) & (column < width)
        tile = tile.at[y, x + i * 16].set(jnp.where(inside, source.load((row, column), where=inside), F32(0)))
    tile = wg.barrier(tile)
    for i in range(1, _STEPS + 1):
        total = _convolved(coefficients, lambda at: tile[y, at], x + i * 16)
        out = out.at[row, base + i * 16].set(total)
    return out


@xe.kernel
def convolved_columns(wg, source, coefficients, out):
    y, x = wg.local_id(0), wg.local_id(1)
    height = source.shape[0]
    base, column = (wg.group_id(0) * _STEPS - 1) * 8 + y, wg.global_id(1)
    tile = wg.local((16, (_STEPS + 2) * 8 + 1), F32)
    for i in range(1, _STEPS + 1):
        tile = tile.at[x, y + i * 8].set(source[base + i * 8, column])
    for i in (0, _STEPS + 1):
        row = base + i * 8
        inside = (row >= 0) & (row < height)
        tile = tile.at[x, y + i * 8].set(jnp.where(inside, source.load((row, column), where=inside), F32(0)))
    tile = wg.barrier(tile)
    for i in range(1, _STEPS + 1):
        total = _convolved(coefficients, lambda at: tile[x, at], y + i * 8)
        out = out.at[base + i * 8, column].set(total)
    return out


# --- Few work-items, long loops ---

_FIELDS = 16


@xe.kernel
def added_apart(wg, source, total, *, times):
    """Sixteen arrays, each added to its sum again and again; the compiler cannot tell the two apart."""
    i = wg.global_id()

    def once(_, total):
        for field in range(_FIELDS):
            total = total.at[field, i].set(total[field, i] + source[field, i])
        return total

    return lax.fori_loop(0, times, once, total)


@xe.kernel
def added_interleaved(wg, source, total, *, times):
    """The same with the sixteen of a work-item side by side."""
    i = wg.global_id()

    def once(_, total):
        for field in range(_FIELDS):
            total = total.at[i, field].set(total[i, field] + source[i, field])
        return total

    return lax.fori_loop(0, times, once, total)


@xe.kernel
def softmax(wg, source, out):
    """Each work-item a row."""
    i = wg.global_id()
    rows, size = source.shape
    taken = i < rows

    def number(j):
        return source.load((i, j), where=taken)

    largest = lax.fori_loop(0, size, lambda j, most: jnp.maximum(most, number(j)), number(0))
    total = lax.fori_loop(0, size, lambda j, sum_: sum_ + jnp.exp(number(j) - largest), jnp.zeros(wg.size, F32))

    def step(j, out):
        return out.at[i, j].set(jnp.exp(number(j) - largest) / total, where=taken)

    return lax.fori_loop(0, size, step, out)


@xe.kernel
def lombscargle(wg, x, y, frequencies, power):
    """A sine and a cosine of a thousand points for each frequency."""
    i = wg.global_id()
    taken = i < frequencies.shape[0]
    frequency = frequencies.load(i, where=taken)
    zero = jnp.zeros(wg.size, F32)

    def step(j, sums):
        xc, xs, cc, ss, cs = sums
        c, s, value = jnp.cos(frequency * x[j]), jnp.sin(frequency * x[j]), y[j]
        return xc + value * c, xs + value * s, cc + c * c, ss + s * s, cs + c * s

    xc, xs, cc, ss, cs = lax.fori_loop(0, x.shape[0], step, (zero,) * 5)
    tau = jnp.arctan2(2 * cs, cc - ss) / (2 * frequency)
    c, s = jnp.cos(frequency * tau), jnp.sin(frequency * tau)
    first = (c * xc + s * xs) ** 2 / (c * c * cc + 2 * c * s * cs + s * s * ss)
    second = (c * xs - s * xc) ** 2 / (c * c * ss - 2 * c * s * cs + s * s * cc)
    return power.at[i].set(F32(0.5) * (first + second) * F32(4 / 3), where=taken)


@xe.kernel
def thomas(wg, lower, diagonal, upper, right):
    """A tridiagonal system for each work-item, in doubles, its rows far apart."""
    i = wg.global_id()
    last = diagonal.shape[0] - 1
    upper = upper.at[0, i].set(upper[0, i] / diagonal[0, i])
    right = right.at[0, i].set(right[0, i] / diagonal[0, i])

    def eliminated(upper, right, k):
        pivot = diagonal[k, i] - lower[k, i] * upper[k - 1, i]
        return (right[k, i] - lower[k, i] * right[k - 1, i]) / pivot

    def forward(k, state):
        upper, right = state
        upper = upper.at[k, i].set(upper[k, i] / (diagonal[k, i] - lower[k, i] * upper[k - 1, i]))
        return upper, right.at[k, i].set(eliminated(upper, right, k))

    upper, right = lax.fori_loop(1, last, forward, (upper, right))
    right = right.at[last, i].set(eliminated(upper, right, last))

    def backward(k, right):
        row = last - 1 - k
        return right.at[row, i].set(right[row, i] - upper[row, i] * right[row + 1, i])

    return upper, lax.fori_loop(0, last, backward, right)


def _heat() -> Launch:
    square = shape(F64, 4096**2)
    return Launch(heat, xe.NDRange(4096**2, 256), (square, square), {"n": 4096, "r": 8e-4, "r2": 0.9968}, 0.0)


def _heat2d() -> Launch:
    sizes = {"width": 4096, "height": 8192}
    return Launch(heat2d, xe.NDRange(4096 * 8192, 256), (shape(F32, 4096 * 8192),) * 2, sizes, 0.0)


def _of_image(kernel: xe.Kernel, nd_range: xe.NDRange) -> Launch:
    image = shape(F32, 3072, 3072)
    return Launch(kernel, nd_range, (image, shape(F32, 2 * _RADIUS + 1), image), {}, 0.0)


def _added(kernel: xe.Kernel, *sizes: int) -> Launch:
    return Launch(kernel, xe.NDRange(4096, 256), (shape(U32, *sizes),) * 2, {"times": 4096}, 0.0)


def _plain(kernel: xe.Kernel, nd_range: xe.NDRange, *arguments: object) -> Launch:
    return Launch(kernel, nd_range, arguments, {}, 0.0)


LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    "heat": _heat,
    "heat2d": _heat2d,
    "iso2dfd": lambda: _plain(iso2dfd, xe.NDRange((2048, 2048), (16, 16)), *(shape(F32, 2048, 2048),) * 3),
    "hotspot3D": lambda: _plain(hotspot3d, xe.NDRange((512, 512), (4, 64)), *(shape(F32, 8, 512, 512),) * 3),
    "maxpool3d": lambda: _plain(
        maxpool3d,
        xe.NDRange((96, 1024, 1024), (1, 16, 16)),
        shape(F32, 96, 2048, 2048),
        shape(F32, 96, 1024, 1024),
    ),
    "convolved rows": lambda: _of_image(convolved_rows, xe.NDRange((3072, 3072 // _STEPS), (4, 16))),
    "convolved columns": lambda: _of_image(convolved_columns, xe.NDRange((3072 // _STEPS, 3072), (8, 16))),
    "added apart": lambda: _added(added_apart, _FIELDS, 4096),
    "added interleaved": lambda: _added(added_interleaved, 4096, _FIELDS),
    "softmax": lambda: _plain(softmax, xe.NDRange(10240, 256), *(shape(F32, 10000, 784),) * 2),
    "lombscargle": lambda: _plain(
        lombscargle,
        xe.NDRange(100096, 256),
        *(shape(F32, size) for size in (1000, 1000, 100_000, 100_000)),
    ),
    "thomas": lambda: _plain(thomas, xe.NDRange(16384, 64), *(shape(np.float64, 1024, 16384),) * 4),
}
"""The launches by their names in `tests/data/intel-published.csv`."""
