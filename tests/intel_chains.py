"""Chains of multiply-adds of public measurements on Intel devices: clpeak, vkpeak, mixbench, OpenCL-Benchmark.

They differ in what a multiply-add reads: two values in turn (clpeak until August 2026, OpenCL-Benchmark), a square
(clpeak since, mixbench), or a factor, a value and an addend (vkpeak). IGC takes 32 lanes where the registers suffice.
"""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
from intel_launches import Launch, repeated, shape

import xeemu as xe

F32 = jnp.float32


@xe.kernel(sub_group_size=32)
def alternating(wg, data, first, *, width, rounds):
    """Two multiply-adds in each round, on vectors of `width` numbers of the type of `first`."""
    numbers = jnp.arange(width).astype(first.dtype)[None]
    x = wg.global_id()[:, None].astype(first.dtype) + numbers
    y = wg.local_id()[:, None].astype(first.dtype) + first

    def twice(_, pair):
        a, b = pair
        a = b * a + b
        return a, a * b + a

    _, y = repeated(rounds, twice, (x, y + numbers))
    return data.at[wg.global_id()].set(y.sum(-1).astype(F32))


# Vectors of 16 do not fit the registers of 32 lanes, and IGC takes 16 rather than spill.
alternating_in_16_lanes = xe.kernel(sub_group_size=16)(alternating.function)


@xe.kernel(sub_group_size=32)
def squared(wg, data, first, *, width, chains, rounds):
    """x = x * x + c, `chains` of them side by side."""
    c = wg.local_id()[:, None].astype(first.dtype) + jnp.zeros((1, width), first.dtype)
    begun = tuple(first + (jnp.arange(width) + k).astype(first.dtype)[None] + c for k in range(chains))
    made = repeated(rounds, lambda _, every: tuple(x * x + c for x in every), begun)
    return data.at[wg.global_id()].set(sum(x.sum(-1) for x in made).astype(F32))


@xe.kernel(sub_group_size=32)
def affine(wg, data, first, *, width, chains, rounds):
    """y = a * y + b, `chains` of them side by side."""
    numbers = jnp.arange(width).astype(first.dtype)[None]
    a = wg.global_id()[:, None].astype(first.dtype) + numbers
    b = wg.local_id()[:, None].astype(first.dtype) + numbers + first
    begun = tuple(a + first + jnp.asarray(k, first.dtype) for k in range(chains))
    made = repeated(rounds, lambda _, every: tuple(a * y + b for y in every), begun)
    return data.at[wg.global_id()].set(sum(y.sum(-1) for y in made).astype(F32))


_ELEMENTS, _PARTS = 8, 4


@xe.kernel(sub_group_size=32)
def mixed(wg, data, seed, *, width, rounds):
    """mixbench: 8 elements of each of 4 parts of the array are loaded and squared `rounds` times each."""
    first = wg.group_id() * wg.size * _ELEMENTS + wg.local_id()
    element = jnp.arange(width)[None]
    total = jnp.zeros((wg.size, width), seed.dtype)
    for part in range(_PARTS):
        at = first + part * wg.global_range() * _ELEMENTS
        loaded = tuple(data[at[:, None] + k * wg.size, element] for k in range(_ELEMENTS))
        made = repeated(rounds, lambda _, every: tuple(x * x + seed for x in every), loaded)
        for k in range(0, _ELEMENTS, 2):
            total = made[k] * made[k + 1] + total
    # It stores nothing, by a condition that data never meet; here one work-item of a group does.
    return data.at[first[:, None] * width, element].set(total, where=(wg.local_id() == 0)[:, None])


def in_turn(dtype: str, rounds: int, width: int = 1, items: int = 2**24, local: int = 64) -> Launch:
    static = {"width": width, "rounds": rounds}
    arguments = (shape(F32, items), shape(dtype))
    kernel = alternating_in_16_lanes if width == 16 else alternating
    return Launch(kernel, xe.NDRange(items, local), arguments, static, 4.0 * rounds * width * items)


def _chains(kernel: xe.Kernel, dtype: str, width: int = 1, chains: int = 1) -> Launch:
    items, rounds = 2**24, 2048 // chains // width
    static = {"width": width, "chains": chains, "rounds": rounds}
    arguments = (shape(F32, items), shape(dtype))
    return Launch(kernel, xe.NDRange(items, 256), arguments, static, 2.0 * rounds * width * chains * items)


def _mixed(dtype: str, rounds: int, width: int = 1) -> Launch:
    elements = 2**25
    items = elements // _ELEMENTS // _PARTS
    # Of each element, `rounds` multiply-adds, and half of one for the sum.
    work = float((2 * rounds + 1) * elements * width)
    return Launch(
        mixed,
        xe.NDRange(items, 256),
        (shape(dtype, elements, width), shape(dtype)),
        {"width": width, "rounds": rounds},
        work,
    )


_CLPEAK = {"fp32": ("float32", 1024), "fp16": ("float16", 1024), "int32": ("int32", 512)}
_VKPEAK = {"fp32": "float32", "fp16": "float16", "int32": "int32"}

LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    "fma fp64": lambda: in_turn("float64", 128),
    "fma fp32": lambda: in_turn("float32", 512),
    "fma fp16": lambda: in_turn("float16", 512, width=2),
    "mad int64": lambda: in_turn("int64", 8),
    "mad int32": lambda: in_turn("int32", 512),
    **{
        f"clpeak {name} x{width}": lambda of=of, width=width: in_turn(of[0], of[1] // width, width)
        for name, of in _CLPEAK.items()
        for width in (1, 2, 4, 8, 16)
    },
    **{
        f"vkpeak {name} x{width}": lambda dtype=dtype, width=width: _chains(affine, dtype, width)
        for name, dtype in _VKPEAK.items()
        for width in (1, 4)
    },
    **{f"x * x + c, {n} chains": lambda n=n: _chains(squared, "float32", chains=n) for n in (1, 2, 4)},
    "x * x + c, vectors of 4": lambda: _chains(squared, "float32", width=4),
    **{f"a * y + b, {n} chains": lambda n=n: _chains(affine, "float32", chains=n) for n in (1, 2, 4)},
    **{
        f"mixbench {name} {rounds}": lambda dtype=dtype, width=width, rounds=rounds: _mixed(dtype, rounds, width)
        for name, dtype, width in (("fp32", "float32", 1), ("fp16", "float16", 2), ("int32", "int32", 1))
        for rounds in (40, 48, 56, 64, 80, 96, 128, 192)
    },
}
"""The launches by their names in `tests/data/intel-published.csv`."""
