"""Kernels that were predicted before they were measured: 101 of OpenCL C in `tests/data/fresh`, in 194 launches.

They are of the kinds that people write to compare: stencils, filters, transposes, sums, scans, sorts, products, tables.
Each was written once; nvcc compiled the same text, with macros for OpenCL's names, for an NVIDIA H100. `LAUNCHES` has
them in the order of `tests/data/fresh-h100.csv`, whose numbers they have.
"""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from fresh_contents import DTYPES, Argument, Buffer, contents

import xeemu as xe

SOURCES = pathlib.Path(__file__).parent / "data" / "fresh"
MI, KI = 1 << 20, 1 << 10
_FIRST = 2  # the numbers before are those of empty launches


class Launch(NamedTuple):
    """A launch of the table.

    Attributes:
      family: kind of the kernel.
      task: what it does, and of which size; launches that do the same are variants.
      source: of `SOURCES`, without its ending.
      kernel: its name.
      size, local: global and local size in OpenCL's order.
      arguments: of the kernel.
    """

    family: str
    task: str
    source: str
    kernel: str
    size: tuple[int, ...]
    local: tuple[int, ...]
    arguments: tuple[Argument, ...]

    @property
    def nd_range(self) -> xe.NDRange:
        return xe.NDRange.opencl(self.size, self.local)

    def loaded(self) -> xe.Kernel:
        return _kernels(self.source)[self.kernel]

    def shapes(self) -> list[Any]:
        """The arguments without their contents."""
        dtypes = [DTYPES[a.kind] if isinstance(a, Buffer) else None for a in self.arguments]
        pairs = zip(self.arguments, dtypes, strict=True)
        return [jax.ShapeDtypeStruct((a.count,), d) if isinstance(a, Buffer) else a for a, d in pairs]

    def contents(self) -> list[Any]:
        """The arguments as they were measured."""
        every = enumerate(self.arguments)
        return [contents(a, at, self.arguments) if isinstance(a, Buffer) else a for at, a in every]


@functools.cache
def _kernels(source: str) -> Any:
    return xe.load(str(SOURCES / f"{source}.cl"))


# --- Launches ---


def _unit(count: int, kind: str = "F") -> Buffer:
    return Buffer(kind, count, "unit")


def _bits(count: int, kind: str = "I") -> Buffer:
    return Buffer(kind, count, "bits")


def _out(count: int, kind: str = "F") -> Buffer:
    return Buffer(kind, count)


_Row = tuple[str, str, str, tuple[int, ...] | int, tuple[int, ...] | int, tuple[Argument, ...]]
"""Family, task, kernel, global and local size, arguments."""


def _stencils() -> Iterator[_Row]:
    for n in (4096, 1024):
        task, given = f"jacobi2d n={n}", (_unit(n * n), _out(n * n), n)
        for local in ((32, 8), (16, 16), (256, 1), (8, 32)):
            yield "jacobi2d", task, "jacobi2d", (n, n), local, given
        yield "jacobi2d", task, "jacobi2d_local", (n, n), (32, 8), given
        yield "jacobi2d", task, "jacobi2d_march", (n, n // 8), (128, 1), given
    n = 256
    task, given = "jacobi3d n=256", (_unit(n**3), _out(n**3), n)
    for block in ((32, 4, 2), (256, 1, 1), (8, 8, 4)):
        yield "jacobi3d", task, "jacobi3d", (n, n, n), block, given
    for local in ((32, 8), (64, 2)):
        yield "jacobi3d", task, "jacobi3d_march", (n, n), local, given
    yield "jacobi3d", task, "jacobi3d_local", (n, n), (32, 8), given
    yield from _filters()


def _filters() -> Iterator[_Row]:
    n = 2048
    given: tuple[Argument, ...] = (_unit(n * n), _unit(17), _out(n * n), n)
    for local in ((128, 1), (32, 8)):
        yield "filter", "filter_rows", "filter_rows", (n, n), local, given
        yield "filter", "filter_columns", "filter_columns", (n, n), local, given
    yield "filter", "filter_rows", "filter_rows_local", (n, n), (128, 1), given
    yield "filter", "filter_columns", "filter_columns_local", (n, n // 4), (32, 8), given
    for taps in (31, 129):
        task, given = f"long_filter taps={taps}", (_unit(MI + 512), _unit(256), _out(MI), taps)
        yield "long_filter", task, "long_filter", MI, 256, given
        yield "long_filter", task, "long_filter_local", MI, 256, given
        yield "long_filter", task, "long_filter_four", MI // 4, 64, given
    for kernel in ("median9", "median9_sorted"):
        yield "median", "median9", kernel, (n, n), (32, 8), (_unit(n * n), _out(n * n), n)


def _layouts() -> Iterator[_Row]:
    n, task = 2048, "transpose_double"
    given: tuple[Argument, ...] = (_unit(n * n, "D"), _out(n * n, "D"), n)
    yield "transpose", task, "transpose_double", (n, n), (16, 16), given
    yield "transpose", task, "transpose_double", (n, n), (32, 8), given
    yield "transpose", task, "transpose_double_local", (n, n), (16, 16), given
    yield "transpose", task, "transpose_double_padded", (n, n), (16, 16), given
    n, task = 1024, "transpose_float4"
    given = (_unit(4 * n * n), _out(4 * n * n), n)
    yield "transpose", task, "transpose_float4", (n, n), (16, 16), given
    yield "transpose", task, "transpose_float4", (n, n), (4, 64), given
    yield "transpose", task, "transpose_float4_local", (n, n), (16, 16), given
    for n in (4 * MI, 256 * KI):
        for kernel in ("particles_aos", "particles_float4", "particles_aosoa"):
            yield "particles", f"particles n={n}", kernel, n, 256, (_unit(8 * n), 0.01)
        yield "particles", f"particles n={n}", "particles_soa", n, 256, (*(_unit(n) for _ in range(6)), 0.01)
    n = 2 * MI
    for items, k, m in ((n, 1, 2), (n, 2, 1), (n, 8, 1), (n, 1, 8), (n, 32, 32), (n // 8, 3, 3)):
        given = (_unit(items * k), _out(items * m), k, m)
        yield "strided", f"strided {k} {m}", "strided_copy", items, 256, given
    given = (_unit(2 * n, "D"), _out(2 * n, "D"), 2, 2)
    yield "strided", "strided double 2 2", "strided_copy_double", n, 256, given
    yield from _gathers(n)


def _gathers(n: int) -> Iterator[_Row]:
    for held in (16 * KI, MI, 64 * MI):
        index, task, part = Buffer("I", n, "mod", held), f"gather held={held}", n // 4
        yield "gather", task, "gather", n, 256, (index, _unit(held), _out(n))
        yield "gather", task, "gather_sum4", part, 256, (index, _unit(held), _out(part), part)
    for held in (MI, 16 * MI):
        index = Buffer("I", n, "mod", held)
        given = (index, _unit(held, "D"), _out(n, "D"))
        yield "gather", f"gather_double held={held}", "gather_double", n, 256, given
        given = (index, _unit(4 * held), _out(4 * n))
        yield "gather", f"gather_float4 held={held}", "gather_float4", n, 256, given
    for held in (MI, 32 * MI):
        yield "scatter", f"scatter held={held}", "scatter", n, 256, (Buffer("I", n, "mod", held), _unit(n), _out(held))
    many = 32 * 1056
    for items, local, held, steps in (
        (32, 32, 16 * KI, 1024),
        (32, 32, 4 * MI, 512),
        (32, 32, 64 * MI, 256),
        (many, 256, 4 * MI, 64),
        (many, 256, 64 * MI, 64),
    ):
        chased = (Buffer("I", held, "cycle"), _out(items, "I"), held // items, steps)
        yield "chase", f"chase {items} held={held}", "chase", items, local, chased
    n = 4 * MI
    yield "gray", "gray", "gray_bytes", n, 256, (_bits(3 * n, "B"), _out(n, "B"))
    yield "gray", "gray", "gray_uchar4", n, 256, (_bits(4 * n, "B"), _out(n, "B"))
    yield "gray", "gray", "gray_words", n // 4, 256, (_bits(n), _out(n // 4, "I"))


def _sums() -> Iterator[_Row]:
    for n, items in ((16 * MI, 132 * 2048), (16 * MI, 4 * MI), (MI, MI // 4)):
        for kernel in ("sum_atomic", "sum_shuffles", "sum_tree", "sum_local_atomic"):
            yield "sum", f"sum n={n} items={items}", kernel, items, 256, (_bits(n), _out(1, "I"), n)
    n = 4 * MI
    for kernel, items in (("scan_hillis_steele", n), ("scan_blelloch", n // 2), ("scan_shuffles", n)):
        yield "scan", "scan", kernel, items, 256, (_bits(n), _out(n, "I"))
    for kernel, items in (("argmax_tree", 4096 * 256), ("argmax_shuffles", 4096 * 32)):
        yield "argmax", "argmax", kernel, items, 256, (_unit(16 * MI), _out(4096, "I"))
    for rows in (8192, 1024):
        n, task = 1024, f"softmax rows={rows}"
        given: tuple[Argument, ...] = (_unit(rows * n), _out(rows * n), n)
        yield "softmax", task, "softmax_items", rows, 64, given
        yield "softmax", task, "softmax_shuffles", rows * 32, 256, given
        yield "softmax", task, "softmax_local", rows * 256, 256, given
        task, given = f"layer_norm rows={rows}", (_unit(rows * n), _unit(n), _unit(n), _out(rows * n), n)
        yield "layer_norm", task, "layer_norm_shuffles", rows * 32, 256, given
        yield "layer_norm", task, "layer_norm_local", rows * 256, 256, given


def _matrices() -> Iterator[_Row]:
    for n in (1024, 512):
        task, given = f"product n={n}", (_unit(n * n), _unit(n * n), _out(n * n), n)
        yield "product", task, "product_naive", (n, n), (32, 8), given
        yield "product", task, "product_naive", (n, n), (16, 16), given
        for tile in (8, 16, 32):
            yield "product", task, f"product_tiled{tile}", (n, n), (tile, tile), given
        for each in (4, 8):
            yield "product", task, f"product_registers{each}", (n // each, n // each), (16, 16), given
    n = 1024
    doubles = (_unit(n * n, "D"), _unit(n * n, "D"), _out(n * n, "D"), n)
    yield "product_double", "product_double n=1024", "product_tiled16_double", (n, n), (16, 16), doubles
    for rows, n in ((4096, 4096), (1024, 2048)):
        task, given = f"vector rows={rows} n={n}", (_unit(rows * n), _unit(n), _out(rows), n)
        yield "vector", task, "vector_rows", rows, 64, given
        yield "vector", task, "vector_columns", rows, 64, (*given, rows)
        yield "vector", task, "vector_shuffles", rows * 32, 256, given
        yield "vector", task, "vector_groups", rows * 128, 128, given
    rows = 128 * KI
    stored = (Buffer("I", 32 * rows, "mod", rows), _unit(32 * rows), _unit(rows), _out(rows))
    begin = Buffer("I", rows + 1, "rows")
    yield "sparse", "sparse", "sparse_scalar", rows, 128, (begin, *stored)
    yield "sparse", "sparse", "sparse_vector", rows * 32, 128, (begin, *stored)
    yield "sparse", "sparse", "sparse_ell", rows, 128, (*stored, 32, rows)
    yield from _steps()


def _steps() -> Iterator[_Row]:
    n = 2048
    given: tuple[Argument, ...] = (_unit(n * n), n, 777)
    yield "floyd", "floyd", "floyd", (n, n), (32, 8), given
    yield "floyd", "floyd", "floyd", (n, n), (256, 1), given
    yield "floyd", "floyd", "floyd_four", (n, n // 4), (256, 1), given
    above = Buffer("F", n * n, "above")
    yield "lu", "lu_step", "lu_step", (n, n), (32, 8), (above, n, 300)
    yield "lu", "lu_step", "lu_step", (n, n), (16, 16), (above, n, 300)
    yield "lu", "lu_panel", "lu_panel", (n, n), (16, 16), (above, _unit(8 * n), _unit(8 * n), n)
    given = (Buffer("F", 64 * 64, "above"), _unit(64 * 32 * KI), 64, 32 * KI)
    yield "triangular", "triangular", "triangular", 32 * KI, 128, given


def _compute() -> Iterator[_Row]:
    def market(n: int, kind: str = "F") -> tuple[Argument, ...]:
        return (*(Buffer(kind, n, "above") for _ in range(3)), _out(n, kind), _out(n, kind))

    n = 4 * MI
    for kernel in ("black_scholes", "black_scholes_native"):
        yield "options", "options", kernel, n, 256, market(n)
    yield "options", "options_double", "black_scholes_double", MI, 256, market(MI, "D")
    n = 1024
    for local in ((32, 8), (16, 16), (8, 4), (256, 1)):
        given: tuple[Argument, ...] = (_out(n * n, "I"), n, 512, -2.0, -1.25, 2.5 / 1024)
        yield "mandelbrot", "mandelbrot", "mandelbrot", (n, n), local, given
    for n in (16 * KI, 4 * KI):
        for kernel in ("bodies", "bodies_local"):
            yield "bodies", f"bodies n={n}", kernel, n, 128, (_unit(4 * n), _out(4 * n), n)
    n = 8 * KI
    yield "bodies", "bodies_double", "bodies_double", n, 128, (_unit(n, "D"), _unit(n, "D"), _out(n, "D"), n)
    keys = Buffer("I", MI, "odd")
    for held in (4 * MI, 32 * MI):
        for kernel in ("hash_insert", "hash_insert_looking"):
            yield "hash", f"hash_insert held={held}", kernel, MI, 256, (keys, _out(held, "I"), held - 1)
        given = (keys, Buffer("I", held, "hashed"), _out(MI, "I"), held - 1)
        yield "hash", f"hash_find held={held}", "hash_find", MI, 256, given
    yield from _sorting()
    yield from _arithmetic()


def _sorting() -> Iterator[_Row]:
    n = 4 * MI
    for j in (1, 16, 256, 65536):
        for kernel in ("bitonic_step", "bitonic_step_select"):
            yield "bitonic", f"bitonic_step j={j}", kernel, n // 2, 256, (_bits(n), j, 131072)
    yield "bitonic", "bitonic_local", "bitonic_local", n // 2, 256, (_bits(n),)
    n = 16 * MI
    for kernel, digits in (("radix16", 16), ("radix16_copies", 16), ("radix16_packed", 16), ("radix256", 256)):
        yield "radix", f"radix{digits}", kernel, n // 16, 256, (_bits(n), _out(digits * n // 4096, "I"), 8)
    for mask in (255, 65535):
        given = (_bits(2 * MI), _out(mask + 1, "I"), 4, mask)
        yield "radix", f"radix_global {mask}", "radix_global", 2 * MI, 256, given


def _arithmetic() -> Iterator[_Row]:
    n = 256 * KI
    yield "integers", "monte_carlo", "monte_carlo", n, 256, (_out(n, "I"), 256)
    yield "integers", "multiply_mod", "multiply_mod", n, 256, (_bits(n, "L"), _out(n, "L"), 256)
    yield "integers", "divisions_int", "divisions_int", n, 256, (_bits(n), _out(n, "I"), 17, 64)
    yield "floats", "polynomial_double", "polynomial_double", n, 256, (_unit(n, "D"), _out(n, "D"), 512)
    yield "floats", "sines", "sines", n, 256, (_unit(n), _out(n), 256)
    yield "floats", "powers", "powers", 4 * MI, 256, (_unit(4 * MI), _out(4 * MI))
    n = 2 * MI
    points = (_unit(4 * n), _unit(128), _out(n, "I"))
    for kernel, given in (("nearest", (n,)), ("nearest_local", (n,)), ("nearest_float4", ())):
        yield "nearest", "nearest", kernel, n, 256, (*points, *given)
    for kernel in ("private_counts", "private_counts_local"):
        counted = (_bits(128 * 64 * KI), _out(32 * 64 * KI, "I"), 128)
        yield "private", "private_counts", kernel, 64 * KI, 128, counted
    for groups in (4, 33, 132, 1056):
        n, m = groups * 256, groups * 128
        yield "small", f"scale_add groups={groups}", "scale_add", n, 256, (_unit(n), _unit(n), 0.5)
        yield "small", f"recurrence groups={groups}", "recurrence", m, 128, (_unit(m), _out(m), 2000)
    n = 8 * MI
    for local in (256, 1024, 64):
        yield "streams", "scale_add", "scale_add", n, local, (_unit(n), _unit(n), 0.5)
    for groups in (264, 1056):
        yield "streams", "scale_add", "scale_add_each", groups * 256, 256, (_unit(n), _unit(n), 0.5, n)
    for alike in (1, 32, 256):
        yield "divergent", f"divergent {alike}", "divergent", MI, 256, (_bits(MI), _out(MI, "I"), alike)


def _launches() -> Iterator[tuple[int, Launch]]:
    number = _FIRST
    every = (
        ("stencils", _stencils),
        ("layouts", _layouts),
        ("sums", _sums),
        ("matrices", _matrices),
        ("compute", _compute),
    )
    for source, rows in every:
        for family, task, kernel, size, local, arguments in rows():
            size, local = ((each,) if isinstance(each, int) else each for each in (size, local))
            yield number, Launch(family, task, source, kernel, size, local, arguments)
            number += 1


LAUNCHES = dict(_launches())
"""By their numbers."""
