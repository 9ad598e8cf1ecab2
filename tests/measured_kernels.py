"""The kernels of `tests/data/kernels_h200.csv` in the kernel language, for sub-groups of 32 work-items.

Each follows the CUDA source that was measured: the same loops, indices and conditions, as they were compiled where that
shows in the counters (a store that was dropped, loads that were merged). Left out are stores that never happen: they
kept the compiler from dropping a result. `case(row)` is the launch of a row of the table.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import measured
import numpy as np
from jax import lax

import xeemu as xe

kernel = xe.kernel(sub_group_size=32)
Params = Mapping[str, str]
I32, U32, U64, F32 = jnp.int32, jnp.uint32, jnp.uint64, jnp.float32


class Case(NamedTuple):
    """A launch; arguments whose contents decide nothing are shapes."""

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arguments: tuple[Any, ...]
    static: dict[str, Any]


def shape(dtype: Any, *sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, np.dtype(dtype))


def rows() -> list[dict[str, str]]:
    """The rows of the table with a kernel in them; the empty one is the overhead of a launch."""
    return [row for row in measured.rows("kernels_h200.csv") if row["kernel"] != "empty"]


def parameters(row: Mapping[str, str]) -> dict[str, str]:
    return dict(pair.split("=") for pair in row["params"].split(";"))


def case(row: Mapping[str, str]) -> Case:
    """The launch of a row."""
    return _CASES[row["kernel"]](parameters(row), int(row["wg"]), int(row["grid"]))


# --- Banks ---


@kernel
def slm_bank(wg, data, *, stride, iterations, words):
    i, j = wg.global_id(), wg.local_id()
    slm = wg.local(words, I32)
    slm = slm.at[j * stride].set(0)
    slm = wg.barrier(slm)

    def accumulate(m, slm):
        slm = slm.at[j * stride].set(slm[j * stride] + i * m)
        return wg.barrier(slm)

    slm = lax.fori_loop(0, iterations, accumulate, slm)
    return data.at[i].set(slm[j * stride])


def _slm_bank(p: Params, wg: int, grid: int) -> Case:
    static = {"stride": int(p["stride"]), "iterations": int(p["iters"]), "words": int(p["slm_bytes"]) // 4}
    return Case(slm_bank, xe.NDRange(wg * grid, wg), (shape(I32, wg * grid),), static)


# --- Convolution ---


def _unrolled_loop(count, most, step, t):
    """A loop as it was compiled: 16 iterations at a time, then 8, then 4, then one by one.

    Work-items with fewer iterations begin with what is left over while the others go on, so that what all of them load
    in one iteration of the source they load apart.
    """
    whole = count // 16
    t = lax.fori_loop(0, most // 16, lambda k, t: _unrolled(16, lambda r, t: step(16 * k + r, k < whole, t), t), t)
    done = 16 * whole
    for size in (8, 4):
        live, first = count - done >= size, done
        t = _unrolled(size, lambda r, t, live=live, first=first: step(first + r, live, t), t)
        done = done + jnp.where(live, size, 0)
    return _unrolled(3, lambda r, t: step(done + r, r < count - done, t), t)


def _unrolled(times, step, t):
    for r in range(times):
        t = step(r, t)
    return t


@kernel
def conv_global(wg, data, taps, out):
    n, m = data.shape[0], taps.shape[0]
    i, group, size, half = wg.global_id(), wg.group_id(), wg.size, m // 2
    zeros = jnp.zeros(wg.size, I32)

    def inside():
        return lax.fori_loop(0, m, lambda j, t: t + data[i - half + j] * taps[j], zeros)

    def at_an_end():
        left, right = i < half, (i >= half) & (i + half >= n)

        def from_the_left(k, live, t):
            live = left & live
            return t + data.load(k, where=live) * taps.load(half - i + k, where=live)

        def to_the_right(j, live, t):
            live = right & live
            return t + data.load(i - half + j, where=live) * taps.load(j, where=live)

        def between(j, t):
            live = ~left & ~right
            return t + data.load(i - half + j, where=live) * taps.load(j, where=live)

        t = _unrolled_loop(m - half + i, m, from_the_left, zeros)
        t = _unrolled_loop(half + n - i, m, to_the_right, t)
        return lax.fori_loop(0, m, between, t)

    border = (group * size < half) | ((group + 1) * size + half > n)
    return out.at[i].set(lax.cond(border, at_an_end, inside))


@kernel
def conv_slm(wg, data, taps, out):
    n, m = data.shape[0], taps.shape[0]
    i, lid, size, half = wg.global_id(), wg.local_id(), wg.size, m // 2
    first, last = lid == 0, lid == size - 1
    cache = wg.local(size + 2 * half, I32)
    cache = cache.at[lid + half].set(data[i])

    def left(j, cache):
        k = i - half + j
        return cache.at[j].set(data.load(k, where=k >= 0))

    def right(j, cache):
        k = i + 1 + j
        return cache.at[size + half + j].set(data.load(k, where=k < n))

    for alone, copy in ((first, left), (last, right)):
        copied = functools.partial(lax.fori_loop, 0, half, copy)
        cache = wg.cond(alone, copied, lambda cache: cache, cache)
    cache = wg.barrier(cache)
    t = lax.fori_loop(0, m, lambda j, t: t + cache[lid + j] * taps[j], jnp.zeros(wg.size, I32))
    return out.at[i].set(t)


def _convolution(which: xe.Kernel, p: Params, wg: int, grid: int) -> Case:
    n, m = int(p["N"]), int(p["M"])
    return Case(which, xe.NDRange(n, wg), (shape(I32, n), shape(I32, m), shape(I32, n)), {})


# --- Histograms ---


def _word(wg, data, k, block):
    """The 64-bit word that each work-item counts in step k."""
    sub_group, lane = wg.sub_group.group_id(), wg.sub_group.local_id()
    return data[wg.group_id() * (wg.size * block) + sub_group * (32 * block) + lane + 32 * k]


@kernel
def hist_private(wg, data, hist, *, bins, mask, block):
    counts = wg.private(bins, U32)
    counts = lax.fori_loop(0, bins, lambda k, counts: counts.at[k].set(0), counts)

    def count(k, counts):
        x = _word(wg, data, k, block)
        for shift in range(0, 64, 8):
            bin_ = (x >> shift) & mask
            counts = counts.at[bin_].set(counts[bin_] + U32(1))
        return counts

    counts = lax.fori_loop(0, block, count, counts)
    return lax.fori_loop(0, bins, lambda k, hist: hist.atomic[k].add(counts[k].astype(U64)), hist)


@kernel
def hist_bcast(wg, data, hist, *, bins, block):
    lane = wg.sub_group.local_id()
    counts = tuple(jnp.zeros(wg.size, U32) for _ in range(bins // 32))

    def count(k, counts):
        x = _word(wg, data, k, block)

        def lane_by_lane(j, counts):
            y = wg.sub_group.broadcast(x, j)
            for _ in range(8):
                c = (y & 0xFF).astype(I32)
                mine = lane == (c & 31)
                counts = tuple(h + (mine & (c >> 5 == b)).astype(U32) for b, h in enumerate(counts))
                y = y >> 8
            return counts

        return lax.fori_loop(0, 32, lane_by_lane, counts)

    counts = lax.fori_loop(0, block, count, counts)
    for b, h in enumerate(counts):
        hist = hist.atomic[32 * b + lane].add(h.astype(U64))
    return hist


@kernel
def hist_slm(wg, data, hist, weight, *, bins, block, plain):
    """`plain` adds a weight that is known only as the kernel runs, else the constant 1."""
    lid, factor = wg.local_id(), bins // wg.size
    own = [(wg.size * k + lid, None) for k in range(factor)] if factor > 1 else [(lid, lid < bins)]
    local = wg.local(bins, U32)
    for place, live in own:
        local = local.at[place].set(0, where=live)
    local = wg.barrier(local)

    def count(k, local):
        x = _word(wg, data, k, block)
        for shift in range(0, 64, 8 if bins == 256 else 16):
            local = local.atomic[(x >> shift) & (bins - 1)].add(weight if plain else 1)
        return local

    local = wg.barrier(lax.fori_loop(0, block, count, local))
    for place, live in own:
        hist = hist.atomic[place].add(local.load(place, where=live).astype(U64), where=live)
    return hist


def splitmix64(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@functools.lru_cache(maxsize=1)
def words(kind: str, count: int, bins: int) -> np.ndarray:
    """The 64-bit words of a histogram: uniform, all 0, or with fields after Zipf's law."""
    number = np.arange(count, dtype=np.uint64)
    if kind == "uniform":
        return splitmix64(number + np.uint64(2009))
    if kind == "constant":
        return np.zeros(count, np.uint64)
    counts = [int(row["count_of_65536"]) for row in measured.rows(f"zipf_counts_{bins}.csv")]
    table = np.repeat(np.arange(bins, dtype=np.uint64), counts)
    fields = 8 if bins == 256 else 4
    total = np.zeros(count, np.uint64)
    for field in range(fields):
        drawn = splitmix64(np.uint64(2010 + field) + np.uint64(8) * number) >> np.uint64(48)
        total |= table[drawn] << np.uint64(field * 64 // fields)
    return total


def _histogram(which: xe.Kernel, p: Params, wg: int, grid: int) -> Case:
    bins, block = int(p["bins"]), int(p["block_size"])
    count = int(p["n_u64"])
    data = shape(U64, count) if which is hist_bcast else words(p["data"], count, bins if bins != 32 else 256)
    arguments: tuple[Any, ...] = (data, shape(U64, bins) if which is hist_bcast else np.zeros(bins, np.uint64))
    static: dict[str, Any] = {"bins": bins, "block": block}
    if which is hist_private:
        static["mask"] = bins - 1
    return Case(which, xe.NDRange(wg * grid, wg), arguments, static)


def _hist_slm(plain: bool, p: Params, wg: int, grid: int) -> Case:
    made = _histogram(hist_slm, p, wg, grid)
    return made._replace(arguments=(*made.arguments, np.uint32(1)), static={**made.static, "plain": plain})


# --- Table copies ---


def _use(wg, slm, out, size):
    place = (wg.local_linear_id() * 7 + wg.group_linear_id()) & (size - 1)
    return out.at[wg.group_linear_id() * wg.size + wg.local_linear_id()].set(slm[place])


@kernel
def table_bad(wg, table, out, end, *, unrolled=False):
    """The end of its loop is an argument; nevertheless it is unrolled or not."""
    size = table.shape[0]
    slm = wg.local(size, I32)

    def copy(i, slm):
        return slm.at[i].set(table[i])

    if unrolled:
        slm = lax.fori_loop(0, size, copy, slm)
    else:
        _, slm = lax.while_loop(lambda c: c[0] < end, lambda c: (c[0] + 1, copy(*c)), (I32(0), slm))
    return _use(wg, wg.barrier(slm), out, size)


@kernel
def table_good(wg, table, out):
    size, lid = table.shape[0], wg.local_id()
    slm = wg.local(size, I32)

    def copy(k, slm):
        i = lid + k * wg.size
        return slm.at[i].set(table[i])

    slm = wg.barrier(wg.fori_loop(0, (size - lid + wg.size - 1) // wg.size, copy, slm))
    return _use(wg, slm, out, size)


@kernel
def table_best(wg, table, out):
    i = wg.local_linear_id()
    slm = wg.local(table.shape[0], I32)
    slm = wg.barrier(slm.at[i].set(table[i]))
    return _use(wg, slm, out, table.shape[0])


@kernel
def table_min(wg, table, out):
    size = table.shape[0]
    i = jnp.minimum(wg.local_id(), size - 1)
    slm = wg.local(size, I32)
    slm = wg.barrier(slm.at[i].set(table[i]))
    return _use(wg, slm, out, size)


def _table(which: xe.Kernel, p: Params, wg: int, grid: int, **static: Any) -> Case:
    end = (I32(p["table"]),) if which is table_bad else ()
    return Case(which, xe.NDRange(wg * grid, wg), (shape(I32, int(p["table"])), shape(I32, wg * grid), *end), static)


# --- Tree reduction ---


@kernel
def reduce_inter(wg, data, out):
    length, lid, gid = data.shape[0], wg.local_id(), wg.global_id()
    tree = wg.local(wg.size, F32)
    live = 2 * gid < length
    pair = data.load(2 * gid, where=live) + data.load(2 * gid + 1, where=live)
    # The source stores 0 and then the pair where there is one; it was compiled to one store.
    tree = wg.barrier(tree.at[lid].set(jnp.where(live, pair, F32(0))))

    def step(k, tree):
        # A loop as it was compiled, for any size of the work-group.
        stride = 1 << k
        index = 2 * stride * lid
        live = index < wg.size
        pair = tree.load(index, where=live) + tree.load(index + stride, where=live)
        return wg.barrier(tree.at[index].set(pair, where=live))

    tree = lax.fori_loop(0, wg.size.bit_length() - 1, step, tree)
    # One sub-group of each work-group issues this load, as is counted: a branch.
    return wg.cond(lid == 0, lambda out: out.at[wg.group_id()].set(tree[0]), lambda out: out, out)


def _reduce(p: Params, wg: int, grid: int) -> Case:
    return Case(reduce_inter, xe.NDRange(wg * grid, wg), (shape(F32, int(p["len"])), shape(F32, grid)), {})


# --- Matrix products ---


@kernel
def mm_naive(wg, a, b, c, *, n, swapped):
    """`swapped` makes the contiguous dimension of the launch the row of the result."""
    i, j = (wg.global_id(1), wg.global_id(0)) if swapped else (wg.global_id(0), wg.global_id(1))
    zeros = jnp.zeros((wg.local_range(0), wg.local_range(1)), F32)
    t = lax.fori_loop(0, n, lambda k, t: t + a[i * n + k] * b[k * n + j], zeros)
    return c.at[i * n + j].set(t)


@kernel
def mm_tiled(wg, a, b, c, *, n, tile, pad, swapped, merged):
    """`merged` loads the row of the first tile four elements at a time, as it was compiled where rows are aligned."""
    x, y = (wg.local_id(1), wg.local_id(0)) if swapped else (wg.local_id(0), wg.local_id(1))
    group = (wg.group_id(1), wg.group_id(0)) if swapped else (wg.group_id(0), wg.group_id(1))
    i, j = group[0] * tile + x, group[1] * tile + y
    a_tile = wg.local((tile, tile + pad), F32)
    b_tile = wg.local((tile, tile + pad), F32)

    def step(s, carry):
        a_tile, b_tile, t = carry
        k0 = s * tile
        a_tile = a_tile.at[x, y].set(a[i * n + k0 + y])
        b_tile = b_tile.at[x, y].set(b[(k0 + x) * n + j])
        a_tile, b_tile = wg.barrier(a_tile, b_tile)
        for k in range(0, tile, 4):
            row = a_tile[x[..., None], k + _FOUR] if merged else None
            for r in range(4):
                t = t + (a_tile[x, k + r] if row is None else row[..., r]) * b_tile[k + r, y]
        a_tile, b_tile = wg.barrier(a_tile, b_tile)
        return a_tile, b_tile, t

    zeros = jnp.zeros((tile, tile), F32)
    *_, t = lax.fori_loop(0, n // tile, step, (a_tile, b_tile, zeros))
    return c.at[i * n + j].set(t)


_FOUR = np.arange(4, dtype=np.int32).reshape(1, 1, 4)


def _product(which: xe.Kernel, swapped: bool, p: Params, wg: int, grid: int, scalar: bool = False) -> Case:
    n, tile = int(p["N"]), int(p["tile"])
    static = {"n": n, "swapped": swapped}
    if which is mm_tiled:
        pad = int(p["pad"])
        static |= {"tile": tile, "pad": pad, "merged": not scalar and pad % 4 == 0}
    return Case(which, xe.NDRange((n, n), (tile, tile)), (shape(F32, n * n),) * 3, static)


# --- Global atomics ---


def _slot(wg, k, same):
    i = wg.global_id()
    return (i >> 5 if same else i) & (k - 1)


@kernel
def gatom_red(wg, data, out, *, k, same):
    x = data[wg.global_id()]
    return out.atomic[_slot(wg, k, same)].add(x.astype(out.dtype))


@kernel
def gatom_add(wg, data, out, *, k, same):
    _, out = out.atomic[_slot(wg, k, same)].fetch_add(data[wg.global_id()])
    return out


@kernel
def gatom_minmax(wg, data, out, *, k, same):
    x, s = data[wg.global_id()], _slot(wg, k, same)
    out = out.atomic[2 * s].min(x)
    return out.atomic[2 * s + 1].max(x)


@kernel
def gatom_source(wg, data, out):
    return out.atomic[0].add(data[wg.global_id()])


@kernel
def gatom_casmax(wg, data, out, *, k):
    """The greatest float by a loop of compare-and-exchanges, which ends where what is there is as great."""
    x = data[wg.global_id()].astype(F32)
    slot = wg.global_id() & (k - 1)
    old = out.atomic[slot].load()

    def goes_on(carry):
        live, _, _ = carry
        return jnp.any(live)

    def exchange(carry):
        live, seen, out = carry
        bits = lambda v: lax.bitcast_convert_type(v, U32)  # noqa: E731
        got, out = out.atomic[slot].compare_exchange(seen, bits(x), where=live)
        live = live & (got != seen) & (lax.bitcast_convert_type(got, F32) < x)
        return live, got, out

    live = lax.bitcast_convert_type(old, F32) < x
    _, _, out = lax.while_loop(goes_on, exchange, (live, old, out))
    return out


def _gatom(which: xe.Kernel, dtype: Any, p: Params, wg: int, grid: int) -> Case:
    n, k = int(p["n"]), int(p["k"])
    static = {"k": k, "same": p["lanes"] == "same"}
    words_ = 2 * k if which is gatom_minmax else k
    data = shape(I32 if which is gatom_minmax else U32, n)
    return Case(which, xe.NDRange(n, wg), (data, shape(dtype, words_)), static)


def _gatom_source(p: Params, wg: int, grid: int) -> Case:
    return Case(gatom_source, xe.NDRange(int(p["n"]), wg), (shape(U32, int(p["n"])), shape(U32, 1)), {})


def _gatom_casmax(p: Params, wg: int, grid: int) -> Case:
    n, k = int(p["n"]), int(p["k"])
    data = (splitmix64(np.arange(n, dtype=np.uint64)) >> np.uint64(32)).astype(np.uint32)
    return Case(gatom_casmax, xe.NDRange(n, wg), (data, np.zeros(k, np.uint32)), {"k": k})


# --- Coalescing ---


@kernel
def stride_ld(wg, a, sink, *, stride):
    """What is loaded is stored where it is a number that it never is; here, by no work-item."""
    x = a[wg.global_id() * stride]
    return sink.at[x.astype(I32) * 0].set(x, where=jnp.zeros(wg.size, bool))


@kernel
def stride_st(wg, a, *, stride):
    i = wg.global_id()
    return a.at[i * stride].set(i.astype(U32))


@kernel
def misalign_copy(wg, a, b, *, offset):
    i = wg.global_id()
    return b.at[i].set(a[i + offset])


def _mix(i):
    h = i.astype(U32)
    h = (h ^ (h >> 16)) * U32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * U32(0xC2B2AE35)
    return h ^ (h >> 16)


@kernel
def gather(wg, a, b, *, window):
    i = wg.global_id()
    return b.at[i].set(a[_mix(i) & U32(window - 1)])


@kernel
def scatter(wg, a, b, *, window):
    i = wg.global_id()
    return b.at[_mix(i) & U32(window - 1)].set(a[i])


def _strided(which: xe.Kernel, p: Params, wg: int, grid: int) -> Case:
    n, stride = int(p["n"]), int(p["stride"])
    arrays = (shape(U32, n * stride), shape(U32, 1)) if which is stride_ld else (shape(U32, n * stride),)
    return Case(which, xe.NDRange(n, wg), arrays, {"stride": stride})


def _misaligned(p: Params, wg: int, grid: int) -> Case:
    n, offset = int(p["n"]), int(p["offset"])
    return Case(misalign_copy, xe.NDRange(n, wg), (shape(U32, n + offset), shape(U32, n)), {"offset": offset})


def _windowed(which: xe.Kernel, p: Params, wg: int, grid: int) -> Case:
    n, window = int(p["n"]), int(p["window"])
    sizes = (window, n) if which is gather else (n, window)
    return Case(which, xe.NDRange(n, wg), tuple(shape(U32, size) for size in sizes), {"window": window})


# --- Bandwidth: elements of `width` words ---


def _vector(i, width):
    return i[:, None] * width + jnp.arange(width, dtype=i.dtype)


@kernel
def bw_read(wg, a, sink, end, *, width, slm_bytes, unrolled):
    """Every work-item steps through the array by the size of the launch, in a loop that is unrolled or not.

    The end of that comes with the arguments.
    """
    if slm_bytes:
        wg.local(slm_bytes, jnp.uint8)
    step, n = wg.global_range(), a.shape[0] // width
    steps = -(-n // step)

    def read(k, t):
        i = wg.global_id() + k * step
        live = (i < n)[:, None]
        return t ^ a.load(_vector(i, width), where=live).sum(-1, dtype=U32)

    zeros = jnp.zeros(wg.size, U32)
    if unrolled:
        t = lax.fori_loop(0, steps, read, zeros)
    else:
        _, t = lax.while_loop(lambda c: c[0] < end, lambda c: (c[0] + 1, read(*c)), (jnp.int32(0), zeros))
    return sink.at[wg.local_id() * 0].set(t, where=jnp.zeros(wg.size, bool))


@kernel
def bw_write(wg, a, *, width):
    i = wg.global_id()
    value = i.astype(U32)[:, None] + jnp.arange(width, dtype=U32)
    return a.at[_vector(i, width)].set(value, where=(i < a.shape[0] // width)[:, None])


@kernel
def bw_copy(wg, a, b, *, width):
    i = wg.global_id()
    live = (i < a.shape[0] // width)[:, None]
    return b.at[_vector(i, width)].set(a.load(_vector(i, width), where=live), where=live)


def _bandwidth(which: xe.Kernel, width: int, p: Params, wg: int, grid: int) -> Case:
    words_ = int(p["bytes"]) // 4
    static: dict[str, Any] = {"width": width}
    if which is bw_read:
        static |= {"slm_bytes": int(p.get("slm_bytes", 0)), "unrolled": "slm_bytes" not in p}
    arrays = {bw_read: (words_, 1), bw_write: (words_,), bw_copy: (words_, words_)}
    end = (I32(-(-(words_ // width) // (wg * grid))),) if which is bw_read else ()
    return Case(which, xe.NDRange(wg * grid, wg), (*(shape(U32, size) for size in arrays[which]), *end), static)


_CASES: dict[str, Callable[[Params, int, int], Case]] = {
    "slm_bank": _slm_bank,
    "conv_global": functools.partial(_convolution, conv_global),
    "conv_slm": functools.partial(_convolution, conv_slm),
    "hist_private": functools.partial(_histogram, hist_private),
    "hist_private32": functools.partial(_histogram, hist_private),
    "hist_bcast": functools.partial(_histogram, hist_bcast),
    "hist_slm": functools.partial(_hist_slm, False),
    "hist_slm_w": functools.partial(_hist_slm, True),
    "table_bad": functools.partial(_table, table_bad),
    "table_bad_unrolled": functools.partial(_table, table_bad, unrolled=True),
    "table_good": functools.partial(_table, table_good),
    "table_best": functools.partial(_table, table_best),
    "table_min": functools.partial(_table, table_min),
    "reduce_inter": _reduce,
    "mm_naive": functools.partial(_product, mm_naive, False),
    "mm_naive_t": functools.partial(_product, mm_naive, True),
    "mm_tiled": functools.partial(_product, mm_tiled, False),
    "mm_tiled_scalar": functools.partial(_product, mm_tiled, False, scalar=True),
    "mm_tiled_t": functools.partial(_product, mm_tiled, True),
    "gatom_red_u32": functools.partial(_gatom, gatom_red, U32),
    "gatom_red_f32": functools.partial(_gatom, gatom_red, F32),
    "gatom_red_u64": functools.partial(_gatom, gatom_red, U64),
    "gatom_add_u32_ret": functools.partial(_gatom, gatom_add, U32),
    "gatom_minmax_s32": functools.partial(_gatom, gatom_minmax, I32),
    "gatom_source_u32": _gatom_source,
    "gatom_casmax_f32": _gatom_casmax,
    "g_stride_ld": functools.partial(_strided, stride_ld),
    "g_stride_st": functools.partial(_strided, stride_st),
    "g_misalign_copy": _misaligned,
    "g_gather": functools.partial(_windowed, gather),
    "g_scatter": functools.partial(_windowed, scatter),
    "bw_read_b4": functools.partial(_bandwidth, bw_read, 1),
    "bw_read_b16": functools.partial(_bandwidth, bw_read, 4),
    "bw_read_occ_b4": functools.partial(_bandwidth, bw_read, 1),
    "bw_read_occ_b16": functools.partial(_bandwidth, bw_read, 4),
    "bw_write_b4": functools.partial(_bandwidth, bw_write, 1),
    "bw_copy_b4": functools.partial(_bandwidth, bw_copy, 1),
    "bw_copy_b16": functools.partial(_bandwidth, bw_copy, 4),
}
