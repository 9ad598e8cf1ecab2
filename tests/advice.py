"""Launches with a known best change: what a good engineer would do first to make each of them faster."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import xeemu as xe

F32, U32, I32 = jnp.float32, jnp.uint32, jnp.int32


@dataclasses.dataclass(frozen=True)
class Case:
    """A launch and the change that is known to be best.

    Attributes:
      kernel: it.
      nd_range: of the launch.
      arguments: shapes and dtypes.
      kind: of the hint that should come first; None where nothing is to be gained.
      memory: of the hint's first site; None where it is about the launch.
      says: words of the hint that name the change.
      static: static arguments of the launch.
      device: the modelled device.
    """

    kernel: Callable[..., Any]
    nd_range: xe.NDRange
    arguments: tuple[Any, ...]
    kind: str | None
    memory: str | None = None
    says: str = ""
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    device: str = "h200"

    def estimate(self, **static: Any) -> Any:
        """The report of the launch, or of the one with other static arguments."""
        return xe.estimate(self.kernel, self.nd_range, device=self.device)(*self.arguments, **{**self.static, **static})


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, F32)


def words(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, U32)


def octets(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.uint8)


# --- Local memory ---


@xe.kernel
def transpose(wg, a, out, *, pitch):
    row, col = wg.local_id(0), wg.local_id(1)
    tile = wg.local((32, pitch), F32)
    tile = wg.barrier(tile.at[row, col].set(a[wg.global_id(0), wg.global_id(1)]))
    return out.at[wg.group_id(1) * 32 + row, wg.group_id(0) * 32 + col].set(tile[col, row])


@xe.kernel
def columns(wg, x, out, *, turns, pitch):
    """Each work-item goes along its own row of local memory."""
    lid = wg.local_id()
    tile = wg.local((wg.size, pitch), F32)
    for k in range(32):
        tile = tile.at[lid, k].set(x[wg.global_id()] + k)

    def step(k, total):
        return total + tile[lid, k % 32]

    return out.at[wg.global_id()].set(lax.fori_loop(0, turns, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def blocked(wg, x, out, *, stripe):
    """Each work-item sums eight neighbouring words of local memory, or every `wg.size`-th, of each item in turn."""
    lid = wg.local_id()
    tile = wg.local((8 * wg.size,), F32)
    for k in range(8):
        tile = tile.at[k * wg.size + lid].set(x[wg.group_id() * 8 * wg.size + k * wg.size + lid])
    tile = wg.barrier(tile)

    def step(n, total):
        item = (lid + n) % wg.size
        for k in range(8):
            total = total + tile[k * wg.size + item if stripe else 8 * item + k]
        return total

    return out.at[wg.global_id()].set(lax.fori_loop(0, 64, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def product(wg, a, b, out, *, stripe):
    """A product in tiles of registers: a work-item computes 4 x 4 elements, next to each other or apart."""
    row, col = wg.local_id(0), wg.local_id(1)
    left, right = wg.local((16, 64), F32), wg.local((16, 64), F32)
    for k in range(4):
        left = left.at[row, 16 * k + col].set(a[row, 16 * k + col])
        right = right.at[row, 16 * k + col].set(b[row, 16 * k + col])
    left, right = wg.barrier(left, right)

    def step(k, sums):
        rows = [left[k, 16 * i + row if stripe else 4 * row + i] for i in range(4)]
        cols = [right[k, 16 * j + col if stripe else 4 * col + j] for j in range(4)]
        return tuple(sums[4 * i + j] + rows[i] * cols[j] for i in range(4) for j in range(4))

    zero = jnp.zeros((16, 16), F32)

    def again(_, sums):
        return lax.fori_loop(0, 16, step, sums)

    sums = lax.fori_loop(0, 16, again, (zero,) * 16)
    return out.at[wg.global_id(0), wg.global_id(1)].set(sum(sums))


@xe.kernel
def strided(wg, x, out, *, stride, turns):
    """Reads local memory with a stride, in one row of words."""
    lid = wg.local_id()
    tile = wg.local((stride * wg.size,), F32)
    for k in range(stride):
        tile = tile.at[k * wg.size + lid].set(x[wg.global_id()])
    tile = wg.barrier(tile)
    step = lambda n, total: total + tile[stride * lid + n % stride]  # noqa: E731
    return out.at[wg.global_id()].set(lax.fori_loop(0, turns, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def flag(wg, x, out):
    """All work-items store what they agree on, over and over."""
    flag = wg.local((1,), F32)

    def step(n, flag):
        return flag.at[jnp.zeros(wg.size, I32)].set(jnp.full(wg.size, 1.0) * n)

    flag = wg.barrier(lax.fori_loop(0, 256, step, flag))
    return out.at[wg.global_id()].set(x[wg.global_id()] + flag[0])


# --- Local atomics ---


@xe.kernel
def counted(wg, x, out):
    """All work-items of a group add to one word of local memory."""
    lid, total = wg.local_id(), wg.local((1,), U32)
    total = wg.barrier(total.at[0].set(0))

    def step(k, total):
        return total.atomic[jnp.zeros(wg.size, I32)].add(x[wg.group_id() * 16 * wg.size + k * wg.size + lid])

    total = wg.barrier(lax.fori_loop(0, 16, step, total))
    return out.at[wg.group_id()].set(total[0])


@xe.kernel
def binned(wg, x, out):
    """Work-items add to eight words of local memory."""
    lid, bins = wg.local_id(), wg.local((8,), U32)
    bins = wg.barrier(bins.at[lid % 8].set(0))

    def step(k, bins):
        return bins.atomic[(lid + k) % 8].add(x[wg.group_id() * 16 * wg.size + k * wg.size + lid])

    bins = wg.barrier(lax.fori_loop(0, 16, step, bins))
    return out.at[wg.group_id() * 8 + lid % 8].set(bins[lid % 8])


# --- Global memory ---


@xe.kernel
def scaled_columns(wg, a, out, *, turned):
    """Scales a matrix, ids along its columns or along its rows."""
    i, j = wg.global_id(0), wg.global_id(1)
    where = (i, j) if turned else (j, i)
    return out.at[where].set(2 * a[where])


@xe.kernel
def naive_transpose(wg, a, out):
    return out.at[wg.global_id(1), wg.global_id(0)].set(a[wg.global_id(0), wg.global_id(1)])


@xe.kernel
def particles(wg, x, out, *, fields, apart):
    """One field of an array of structures, or of a structure of arrays."""
    i = wg.global_id()
    return out.at[i].set(jnp.sqrt(x[i] if apart else x[fields * i]))


@xe.kernel
def all_fields(wg, x, out, *, apart):
    """Eight fields of a structure."""
    i, n = wg.global_id(), wg.global_range()
    total = sum(x[k * n + i if apart else 8 * i + k] for k in range(8))
    return out.at[i].set(total)


@xe.kernel
def own_rows(wg, a, out):
    """Each work-item sums up a row."""
    i = wg.global_id()
    step = lambda k, total: total + a[i, k]  # noqa: E731
    return out.at[i].set(lax.fori_loop(0, 256, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def own_columns(wg, a, out):
    """Each work-item sums up a column."""
    i = wg.global_id()
    step = lambda k, total: total + a[k, i]  # noqa: E731
    return out.at[i].set(lax.fori_loop(0, 256, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def chunks(wg, x, out):
    """Each work-item takes 16 neighbouring elements."""
    i = wg.global_id()
    total = jnp.zeros(wg.size, F32)
    total = lax.fori_loop(0, 16, lambda k, t: t + x[16 * i + k] * x[16 * i + k], total)
    return out.at[i].set(total)


@xe.kernel
def streams(wg, x, y, out):
    i = wg.global_id()
    return out.at[i].set(x[i] + 2 * y[i])


@xe.kernel
def shifted_rows(wg, x, out, *, pitch):
    """Rows of 256 words, written where the pitch says."""
    row, col = wg.global_id(0), wg.global_id(1)
    return out.at[row * pitch + col].set(x[row * 256 + col])


@xe.kernel
def naive_product(wg, a, b, out):
    """A product of matrices that reads each element as often as it is needed."""
    i, j = wg.global_id(0), wg.global_id(1)
    step = lambda k, total: total + a[i, k] * b[k, j]  # noqa: E731
    return out.at[i, j].set(lax.fori_loop(0, 512, step, jnp.zeros((16, 16), F32)))


@xe.kernel
def inverted(wg, x, out):
    """Each work-item takes one byte."""
    i = wg.global_id(0)
    return out.at[i].set(255 - x[i])


@xe.kernel
def bodies(wg, x, out):
    """Each work-item goes through all bodies."""
    i, n = wg.global_id(), wg.global_range()
    mine = x[i]
    step = lambda k, total: total + (x[k] - mine) * (x[k] - mine)  # noqa: E731
    return out.at[i].set(lax.fori_loop(0, n, step, jnp.zeros(wg.size, F32)))


@xe.kernel
def copies(wg, table, x, out, *, share):
    """A table copied by all work-items, by one of them (which each sub-group may load), or shared out."""
    lid, slm = wg.local_id(), wg.local((256,), F32)
    if share == "all":
        for k in range(256):
            slm = slm.at[jnp.full(wg.size, k)].set(table[jnp.full(wg.size, k)], where=True)
    elif share == "one":
        first = lid == 0
        step = lambda k, slm: slm.at[k].set(table.load(k, where=first), where=first)  # noqa: E731
        slm = lax.fori_loop(0, 256, step, slm)
    elif share == "scalars":
        slm = lax.fori_loop(0, 256, lambda k, slm: slm.at[k].set(table[k], where=lid == 0), slm)
    else:
        slm = slm.at[lid].set(table[lid])
    slm = wg.barrier(slm)
    return out.at[wg.global_id()].set(slm[lid] * x[wg.global_id()])


@xe.kernel(sub_group_size=32)
def flagged(wg, x, *, one=False):
    """All work-items of a group store to one word, or one does."""
    flag = wg.local(1, F32)
    for _ in range(64):
        flag = flag.at[0].set(1.0, where=wg.local_linear_id() == 0) if one else flag.at[0].set(1.0)
    flag = wg.barrier(flag)
    return x.at[wg.global_id()].set(x[wg.global_id()] + flag[0])


@xe.kernel(sub_group_size=16)
def four_of_a_row(wg, x, *, pitch=64):
    """Each work-item has four neighbours of a row, work-items lie along a column."""
    row, col = wg.local_id(0), wg.local_id(1)
    place = col[..., None], 4 * row[..., None] + jnp.arange(4)
    tile = wg.local((16, pitch), F32)
    tile = tile.at[place].set(x[wg.global_id(0), wg.global_id(1)][..., None])
    tile = wg.barrier(tile)
    for _ in range(8):
        x = x.at[wg.global_id(0), wg.global_id(1)].set(tile[place].sum(-1))
    return x


# --- Global atomics ---


@xe.kernel
def summed(wg, x, out):
    """Every work-item adds to one word."""
    return out.atomic[jnp.zeros(wg.size, I32)].add(x[wg.global_id()])


@xe.kernel
def few_bins(wg, x, out):
    """Every work-item adds to one of eight words."""
    return out.atomic[wg.local_id() % 8].add(x[wg.global_id()])


# --- Launches ---


@xe.kernel
def chained(wg, x, out, *, slm=0, turns=256):
    """A long chain of loads, one after the other."""
    i = wg.global_id()
    if slm:
        tile = wg.local((slm,), F32)
        tile = wg.barrier(tile.at[wg.local_id()].set(x[i]))
        x0 = tile[wg.size - 1 - wg.local_id()]
    else:
        x0 = x[i]

    def step(k, total):
        return jnp.sin(total + x[i + k * 4096])

    return out.at[i].set(lax.fori_loop(0, turns, step, x0))


@xe.kernel
def iterated(wg, x, out, *, turns=4096):
    """A sum of what does not need the sum."""
    i = wg.global_id()
    value = x[i]
    return out.at[i].set(lax.fori_loop(0, turns, lambda k, v: v + jnp.maximum(value, k) * value, value))


@xe.kernel
def one_of_many(wg, x, out, *, every):
    """One work-item of so many computes, the others wait."""
    lid = wg.local_id()
    works = lid % every == 0
    value = x[wg.global_id()]
    step = lambda k, v: v * 1.5 + jnp.sin(v)  # noqa: E731
    value = wg.cond(works, lambda v: lax.fori_loop(0, 256, step, v), lambda v: v, value)
    return out.at[wg.global_id()].set(value)


@xe.kernel
def tree(wg, x, out, *, packed):
    """A sum in local memory, by work-items that lie apart more and more, or by the first ones."""
    lid = wg.local_id()
    tile = wg.local((wg.size,), F32)
    tile = wg.barrier(tile.at[lid].set(x[wg.global_id()]))
    for level in range(wg.size.bit_length() - 1):
        step = 1 << level
        if packed:
            works, at, other = lid < wg.size >> (level + 1), lid, lid + (wg.size >> (level + 1))
        else:
            works, at, other = lid % (2 * step) == 0, lid, lid + step
        total = tile.load(at, where=works) + tile.load(other, where=works)
        tile = wg.barrier(tile.at[at].set(total, where=works))
    return out.at[wg.group_id()].set(tile[0])


def _range(global_: Any, local: Any) -> xe.NDRange:
    return xe.NDRange(global_, local)


N = 2**20
CASES = {
    # Padding.
    "transpose of 32 x 32 tiles": Case(
        transpose,
        _range((2048, 2048), (32, 32)),
        (floats(2048, 2048),) * 2,
        "bank conflict",
        "tile",
        "pitch",
        {"pitch": 32},
    ),
    "transpose of 32 x 32 tiles, max1550": Case(
        transpose,
        _range((2048, 2048), (32, 32)),
        (floats(2048, 2048),) * 2,
        "bank conflict",
        "tile",
        "pitch",
        {"pitch": 32},
        "max1550",
    ),
    "transpose of 32 x 32 tiles, a770, which its DRAM binds": Case(
        transpose, _range((2048, 2048), (32, 32)), (floats(2048, 2048),) * 2, None, None, "", {"pitch": 32}, "a770"
    ),
    "transpose of a small matrix, a770": Case(
        transpose,
        _range((1024, 1024), (32, 32)),
        (floats(1024, 1024),) * 2,
        "bank conflict",
        "tile",
        "pitch",
        {"pitch": 32},
        "a770",
    ),
    "rows of a tile": Case(
        columns, _range(N, 64), (floats(N),) * 2, "bank conflict", "tile", "pitch", {"turns": 128, "pitch": 32}
    ),
    "transpose, padded": Case(
        transpose, _range((2048, 2048), (32, 32)), (floats(2048, 2048),) * 2, None, None, "", {"pitch": 33}
    ),
    "vectors of a column, a770": Case(
        four_of_a_row,
        _range((1024, 1024), (16, 16)),
        (floats(1024, 1024),),
        "bank conflict",
        "tile",
        "one more column",
        device="a770",
    ),
    "a word that all store to, a770": Case(
        flagged, _range(2**18, 256), (floats(2**18),), "bank conflict", "flag", "one work-item", device="a770"
    ),
    # Striping, where a wider pitch changes nothing.
    "eight neighbours of a work-item": Case(
        blocked, _range(N // 8, 128), (floats(N), floats(N // 8)), "bank conflict", "tile", "apart", {"stripe": False}
    ),
    "eight neighbours of a work-item, max1550": Case(
        blocked,
        _range(N // 8, 128),
        (floats(N), floats(N // 8)),
        "bank conflict",
        "tile",
        "apart",
        {"stripe": False},
        "max1550",
    ),
    "product in registers": Case(
        product,
        _range((1024, 1024), (16, 16)),
        (floats(16, 64), floats(16, 64), floats(1024, 1024)),
        "bank conflict",
        "right",
        "apart",
        {"stripe": False},
    ),
    "product in registers, a770": Case(
        product,
        _range((1024, 1024), (16, 16)),
        (floats(16, 64), floats(16, 64), floats(1024, 1024)),
        "bank conflict",
        "right",
        "apart",
        {"stripe": False},
        "a770",
    ),
    "a stride of 16 words": Case(
        strided, _range(N, 128), (floats(N),) * 2, "bank conflict", "tile", "", {"stride": 16, "turns": 256}
    ),
    "one word for all": Case(
        flag, _range(N, 128), (floats(N),) * 2, "bank conflict", "flag", "one work-item", {}, "hd530"
    ),
    # Local atomics.
    "a counter of a group": Case(
        counted, _range(N, 256), (words(16 * N), words(N // 256)), "contended atomics", "total", "reduce"
    ),
    "a counter of a group, a770": Case(
        counted, _range(N, 256), (words(16 * N), words(N // 256)), "contended atomics", "total", "reduce", {}, "a770"
    ),
    "eight bins of a group": Case(
        binned, _range(N, 256), (words(16 * N), words(N // 32)), "contended atomics", "bins", "copy"
    ),
    # Coalescing.
    "columns in place of rows": Case(
        scaled_columns,
        _range((4096, 4096), (8, 32)),
        (floats(4096, 4096),) * 2,
        "uncoalesced",
        None,
        "",
        {"turned": False},
    ),
    "columns in place of rows, max1550": Case(
        scaled_columns,
        _range((4096, 4096), (1, 64)),
        (floats(4096, 4096),) * 2,
        "uncoalesced",
        None,
        "",
        {"turned": False},
        "max1550",
    ),
    "a transpose without a tile": Case(
        naive_transpose, _range((4096, 4096), (8, 32)), (floats(4096, 4096),) * 2, "uncoalesced", "out"
    ),
    "one field of eight": Case(
        particles, _range(N, 256), (floats(8 * N), floats(N)), "uncoalesced", "x", "", {"fields": 8, "apart": False}
    ),
    "one field of sixteen, max1550": Case(
        particles,
        _range(N, 256),
        (floats(16 * N), floats(N)),
        "uncoalesced",
        "x",
        "",
        {"fields": 16, "apart": False},
        "max1550",
    ),
    "rows of a matrix": Case(own_rows, _range(2**16, 256), (floats(2**16, 256), floats(2**16)), "uncoalesced", "a"),
    "sixteen elements in a row": Case(chunks, _range(N, 256), (floats(16 * N), floats(N)), "uncoalesced", "x"),
    "a stream": Case(streams, _range(2**24, 256), (floats(2**24),) * 3, None),
    "a stream, max1550": Case(streams, _range(2**24, 256), (floats(2**24),) * 3, None, device="max1550"),
    "columns of a matrix": Case(own_columns, _range(2**18, 256), (floats(256, 2**18), floats(2**18)), None),
    # Rows that begin between lines.
    "rows of 257 words, max1550": Case(
        shifted_rows,
        _range((2**14, 256), (1, 256)),
        (floats(2**22), floats(2**14 * 257)),
        "misaligned rows",
        "out",
        "",
        {"pitch": 257},
        "max1550",
    ),
    "rows of 256 words, max1550": Case(
        shifted_rows,
        _range((2**14, 256), (1, 256)),
        (floats(2**22), floats(2**22)),
        None,
        static={"pitch": 256},
        device="max1550",
    ),
    # Local memory for what is read again.
    "a product of matrices": Case(
        naive_product, _range((512, 512), (16, 16)), (floats(512, 512),) * 3, "loaded again", None, "local memory"
    ),
    "a product of matrices, max1550": Case(
        naive_product,
        _range((512, 512), (16, 16)),
        (floats(512, 512),) * 3,
        "loaded again",
        None,
        "local memory",
        {},
        "max1550",
    ),
    # Cooperative copies.
    "a table that all copy": Case(
        copies, _range(N, 256), (floats(256), floats(N), floats(N)), "table copy", "table", "", {"share": "all"}
    ),
    "a table that one copies": Case(
        copies, _range(N, 256), (floats(256), floats(N), floats(N)), "table copy", "table", "", {"share": "one"}
    ),
    "a table that one copies, a770": Case(
        copies, _range(N, 256), (floats(256), floats(N), floats(N)), "table copy", "table", "", {"share": "one"}, "a770"
    ),
    "a table of scalars that one copies, max1550": Case(
        copies,
        _range(N, 256),
        (floats(256), floats(N), floats(N)),
        "table copy",
        "table",
        "",
        {"share": "scalars"},
        "max1550",
    ),
    "a table that is shared out": Case(
        copies, _range(2**22, 256), (floats(256), floats(2**22), floats(2**22)), None, None, "", {"share": "shared"}
    ),
    # Global atomics.
    "a sum in one word": Case(summed, _range(2**22, 256), (words(2**22), words(1)), "contended atomics", "out"),
    "eight bins in global memory": Case(
        few_bins, _range(2**22, 256), (words(2**22), words(8)), "contended atomics", "out"
    ),
    # Launches.
    "a launch of one group": Case(iterated, _range(256, 256), (floats(256),) * 2, "small launch"),
    "a launch of eight groups": Case(iterated, _range(2048, 256), (floats(2048),) * 2, "small launch"),
    "a launch of eight groups, max1550": Case(
        iterated, _range(2048, 256), (floats(2048),) * 2, "small launch", device="max1550"
    ),
    "a stream of small work-groups": Case(streams, _range(2**24, 32), (floats(2**24),) * 3, "small work-groups"),
    "groups with much local memory": Case(
        chained,
        _range(2**18, 128),
        (floats(2 * N), floats(2**18)),
        "low occupancy",
        None,
        "local memory",
        {"slm": 24576},
    ),
    "groups with much local memory, max1550": Case(
        chained,
        _range(2**18, 128),
        (floats(2 * N), floats(2**18)),
        "low occupancy",
        None,
        "local memory",
        {"slm": 16384},
        "max1550",
    ),
    # Elements of a byte.
    "bytes one by one, max1550": Case(
        inverted, _range(2**24, 256), (octets(2**24),) * 2, "small elements", "out", "[4 * i", {}, "max1550"
    ),
    "words one by one, max1550": Case(inverted, _range(2**24, 256), (words(2**24),) * 2, None, device="max1550"),
    # Lanes without work.
    "one lane of eight": Case(
        one_of_many, _range(N, 256), (floats(N),) * 2, "lanes without work", None, "", {"every": 8}
    ),
    "one lane of sixteen, max1550": Case(
        one_of_many, _range(N, 256), (floats(N),) * 2, "lanes without work", None, "", {"every": 16}, "max1550"
    ),
}
