"""Kernels of public measurements on Intel devices, in the kernel language, and the launch of each.

Each does what the published program's kernel does: the same loops, indices and sizes of groups. Where a publication
gives a rate, the work of one launch is divided by it, so that all are held as times.
"""

from collections.abc import Callable, Mapping

import intel_chains
import intel_course
import intel_hecbench
import intel_lattice
import intel_norms
import jax.numpy as jnp
import numpy as np
from intel_launches import Launch, repeated, shape
from jax import lax

import xeemu as xe

F32, I32 = jnp.float32, jnp.int32


# --- Streams of ProjectPhysX/OpenCL-Benchmark: 16 words for each work-item ---

_WORDS = 16


@xe.kernel
def coalesced_write(wg, data, *, items):
    n = wg.global_id()
    for i in range(_WORDS):
        data = data.at[i * items + n].set(n.astype(F32))
    return data


@xe.kernel
def coalesced_read(wg, data, *, items):
    n = wg.global_id()
    return data.at[n].set(sum(data[i * items + n] for i in range(_WORDS)))


# Of a work-item's neighbouring words IGC takes four in a message (its pass MemOpt).
_TOGETHER = 4


@xe.kernel
def misaligned_write(wg, data, *, items):
    first, word = wg.global_id()[:, None] * _WORDS, jnp.arange(_TOGETHER)[None]
    value = jnp.broadcast_to(wg.global_id().astype(F32)[:, None], (wg.size, _TOGETHER))
    for i in range(0, _WORDS, _TOGETHER):
        data = data.at[first + i + word].set(value)
    return data


@xe.kernel
def misaligned_read(wg, data, *, items):
    first, word = wg.global_id()[:, None] * _WORDS, jnp.arange(_TOGETHER)[None]
    total = sum(data[first + i + word] for i in range(0, _WORDS, _TOGETHER))
    return data.at[wg.global_id()].set(total.sum(-1))


def _opencl_benchmark(kernel: xe.Kernel) -> Launch:
    items = 2**24
    return Launch(kernel, xe.NDRange(items, 64), (shape(F32, items * _WORDS),), {"items": items}, 4.0 * items * _WORDS)


# --- Streams of clpeak, STREAM and BabelStream ---


@xe.kernel
def fetched(wg, a, b, *, width):
    """16 vectors of a work-item, a work-group's size apart."""
    i = wg.group_id() * wg.size * 16 + wg.local_id()
    element = jnp.arange(width)[None]
    total = sum(a[i[:, None] + k * wg.size, element] for k in range(16))
    return b.at[wg.global_id()].set(total.sum(-1))


def _clpeak_bandwidth(width: int) -> Launch:
    items = 2**28 // 16 // width
    arguments = (shape(F32, items * 16, width), shape(F32, items))
    return Launch(fetched, xe.NDRange(items, 256), arguments, {"width": width}, 4.0 * 2**28)


@xe.kernel
def streamed(wg, a, b, c, *, op):
    i = wg.global_id()
    match op:
        case "copy":
            return c.at[i].set(a[i])
        case "scale":
            return c.at[i].set(3 * a[i])
        case "add":
            return c.at[i].set(a[i] + b[i])
    return c.at[i].set(a[i] + 3 * b[i])


def _stream(op: str, dtype: str = "float32", items: int = 2**28, local: int = 256) -> Launch:
    arrays = tuple(shape(dtype, items) for _ in range(3))
    moved = (2 if op in ("copy", "scale") else 3) * np.dtype(dtype).itemsize * items
    return Launch(streamed, xe.NDRange(items, local), arrays, {"op": op}, float(moved))


def _vector_add(items: int) -> Launch:
    arrays = tuple(shape(I32, items) for _ in range(3))
    return Launch(streamed, xe.NDRange(items, 256), arrays, {"op": "add"}, 12.0 * items, submitted=True)


# --- Notebook 07 of oneAPI-samples: who copies which words, 16 of each work-item ---


@xe.kernel
def copied_by_items(wg, data, other):
    i = wg.global_id() * 16
    for j in range(16):
        data = data.at[i + j].set(other[i + j])
    return data


@xe.kernel(sub_group_size=16)
def copied_by_sub_groups(wg, data, other):
    i = wg.global_id() // 16 * 16 * 16 + wg.global_id() % 16
    for j in range(16):
        data = data.at[i + j * 16].set(other[i + j * 16])
    return data


def _copied(kernel: xe.Kernel) -> Launch:
    return Launch(kernel, xe.NDRange(2**16, 32), (shape(I32, 2**20), shape(I32, 2**20)), {}, 8.0 * 2**20)


# --- VectorAdd2 of Intel's GPU guide: each group adds its 2**17 words a thousand times ---


@xe.kernel(sub_group_size=32)
def added_again(wg, a, b, total, *, times):
    first = wg.group_id() * 2**17 + wg.local_id()

    def once(_, total):
        def step(k, total):
            i = first + k * 512
            return total.at[i].set(a[i] + b[i])

        return lax.fori_loop(0, 2**17 // 512, step, total)

    return lax.fori_loop(0, times, once, total)


def _added_again(groups: int) -> Launch:
    arrays = tuple(shape(I32, 2**17 * groups) for _ in range(3))
    return Launch(added_again, xe.NDRange(512 * groups, 512), arrays, {"times": 1000}, 12e3 * 2**17 * groups)


# --- Copies of tinafengfun/intel-b60-microbench: elements of 1 to 8 bytes, and how many for each work-item ---


@xe.kernel(sub_group_size=16)
def copied_over(wg, source, out, *, times, bounded):
    """Each work-item copies an element, and those as many further on as there are work-items."""
    element = jnp.arange(source.shape[1])[None]

    def step(k, out):
        i = wg.global_id()[:, None] + k * wg.global_range()
        there = i < source.shape[0] if bounded else None
        return out.at[i, element].set(source.load((i, element), where=there), where=there)

    return lax.fori_loop(0, times, step, out)


# The elements by their names, and how often a work-item copies one where each buffer has 2**27 numbers.
_COPIED = {
    "float": ("float32", 1, 128),
    "ushort": ("uint16", 1, 128),
    "ushort4": ("uint16", 4, 32),
    "two ushorts": ("uint32", 1, 64),
    "uchar": ("uint8", 1, 0),
    "uchar4": ("uint32", 1, 0),
}


def _copied_over(name: str, items: int, times: int = 0) -> Launch:
    """In SYCL, unless the times are given: then the time of the host, and no bounds."""
    dtype, width, in_sycl = _COPIED[name]
    arrays = tuple(shape(dtype, items * (times or in_sycl), width) for _ in range(2))
    static = {"times": times or in_sycl, "bounded": not times}
    return Launch(copied_over, xe.NDRange(items, 256), arrays, static, 0.0, submitted=bool(times))


# --- Local memory ---


@xe.kernel
def read_locally(wg, out, *, dtype):
    lid = wg.local_id()
    slm = wg.local(2048, dtype).at[lid].set(lid.astype(dtype)).at[lid + 1024].set(lid.astype(dtype))
    slm = wg.barrier(slm)

    def step(k, total):
        return total + sum(slm[lid + k + j * 32] for j in range(16))

    total = repeated(64, step, jnp.zeros_like(lid, dtype))
    return out.at[wg.global_id()].set(total.astype(F32))


def _read_locally(dtype: str = "float32") -> Launch:
    items = 2**20
    work = 1024.0 * np.dtype(dtype).itemsize * items
    return Launch(read_locally, xe.NDRange(items, 1024), (shape(F32, items),), {"dtype": jnp.dtype(dtype)}, work)


# --- Blocks of 34 bytes, a scale of two and 32 numbers of one, against the same in two arrays (llama.cpp 21527) ---


@xe.kernel(sub_group_size=32)
def in_blocks(wg, numbers, scales, vector, out, *, rounds):
    return _products(wg, numbers, scales, vector, out, rounds, block=34, first=2)


@xe.kernel(sub_group_size=32)
def in_arrays(wg, numbers, scales, vector, out, *, rounds):
    return _products(wg, numbers, scales, vector, out, rounds, block=32, first=0)


def _products(wg, numbers, scales, vector, out, rounds, block, first):
    """Each work-item takes two numbers of a block at a time; `rounds` blocks for each 16 work-items."""
    item, pair = wg.global_id(), wg.global_id() % 16

    def step(k, total):
        number = item // 16 + k * (wg.global_range() // 16)
        at = number * block + first + pair * 2
        scale = scales[number * (block // 2 if first else 1)].astype(F32)
        low, high = numbers[at].astype(F32), numbers[at + 1].astype(F32)
        column = (k * 32 + pair * 2) % 4096
        return total + scale * (low * vector[column] + high * vector[column + 1])

    total = lax.fori_loop(0, rounds, step, jnp.zeros_like(item, F32))
    return out.at[item].set(total)


def _of_blocks(kernel: xe.Kernel) -> Launch:
    items, rounds = 2**20, 64
    blocks = items // 16 * rounds
    size, scales = (34, 17) if kernel is in_blocks else (32, 1)
    numbers, scaled = shape(np.int8, blocks * size), shape(np.float16, blocks * scales)
    arguments = (numbers, scaled, shape(F32, 4096), shape(F32, items))
    return Launch(kernel, xe.NDRange(items, 32), arguments, {"rounds": rounds}, 34.0 * blocks)


LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    **intel_chains.LAUNCHES,
    **intel_lattice.LAUNCHES,
    **intel_course.LAUNCHES,
    **intel_norms.LAUNCHES,
    **intel_hecbench.LAUNCHES,
    "coalesced read": lambda: _opencl_benchmark(coalesced_read),
    "coalesced write": lambda: _opencl_benchmark(coalesced_write),
    "misaligned read": lambda: _opencl_benchmark(misaligned_read),
    "misaligned write": lambda: _opencl_benchmark(misaligned_write),
    **{f"clpeak float{n}": lambda n=n: _clpeak_bandwidth(n) for n in (1, 2, 4, 8, 16)},
    **{f"stream {op}": lambda op=op: _stream(op) for op in ("copy", "scale", "add", "triad")},
    "babelstream copy": lambda: _stream("copy", "float64", 2**25, 32),
    "vector add": lambda: _vector_add(2**16),
    **{f"scale of {n} MB": lambda n=n: _stream("scale", items=n * 2**18, local=1024) for n in (512, 1024)},
    "triad of 1 MB": lambda: _stream("triad", items=2**18, local=1024),
    **{
        f"copy by {name}, 2**{n} items": lambda name=name, n=n: _copied_over(name, 2**n, 64)
        for name in ("float", "ushort", "ushort4", "uchar", "uchar4")
        for n in (16, 20)
    },
    **{
        f"copy by {name}, in SYCL": lambda name=name: _copied_over(name, 2**20)
        for name in ("float", "ushort", "ushort4", "two ushorts")
    },
    "copied by items": lambda: _copied(copied_by_items),
    "copied by sub-groups": lambda: _copied(copied_by_sub_groups),
    **{
        f"added by {n} groups": lambda n=n: _added_again(n)
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 28, 32, 36, 40, 42, 44, 48)
    },
    "local reads of 4 bytes": lambda: _read_locally("float32"),
    "local reads of 2 bytes": lambda: _read_locally("float16"),
    "in blocks": lambda: _of_blocks(in_blocks),
    "in arrays": lambda: _of_blocks(in_arrays),
}
"""The launches by their names in `tests/data/intel-published.csv`."""
