"""Histograms of the fields of 64-bit words, from "Shared Local Memory" (Intel, oneAPI GPU Optimization Guide).

4096 * 4096 words, of which each work-item takes 256. It counts in bins of its own in private memory, in bins spread
over the registers of a sub-group, or in bins in local memory that a work-group shares through atomics. All are then
added to the global bins, which have 64 bits.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import SEED, Example, Inputs, Size

_GROUP = 64
_BLOCK = 256
_WORD_BITS = 64
_CHUNK = 2**20


@xe.kernel(sub_group_size=16)
def histogram_private(
    wg: xe.WorkGroup, data: xe.Memory, hist: xe.Memory, *, num_bins: int = 256, block: int = _BLOCK
) -> xe.Memory:
    """Counts bytes in bins that each work-item has for itself; as the text does, of their low five bits alone."""
    counts = wg.private(num_bins, jnp.uint32)
    counts = lax.fori_loop(0, num_bins, lambda k, counts: counts.at[k].set(0), counts)

    def count(k, counts):
        x = _load_block(wg, data, k, block)
        for _ in range(8):
            c = (x & 0x1F).astype(jnp.uint32)
            counts = counts.at[c].set(counts[c] + 1)
            x = x >> 8
        return counts

    counts = lax.fori_loop(0, block, count, counts)
    return lax.fori_loop(0, num_bins, lambda k, hist: hist.atomic[k].add(counts[k]), hist)


@xe.kernel(sub_group_size=16)
def histogram_registers(
    wg: xe.WorkGroup, data: xe.Memory, hist: xe.Memory, *, num_bins: int = 256, block: int = _BLOCK
) -> xe.Memory:
    """Counts bytes in the registers of a sub-group: bin c is register c // 16 of lane c % 16.

    Every lane sees every word by broadcast. Registers have no address: the one to count in is found by comparison.
    """
    sub_group, lane = wg.sub_group, wg.sub_group.local_id()
    registers = jnp.arange(num_bins // 16, dtype=jnp.uint32)[None]

    def count(k, counts):
        x = _load_block(wg, data, k, block)
        for j in range(16):
            y = sub_group.broadcast(x, j)
            for _ in range(8):
                c = (y & 0xFF).astype(jnp.uint32)
                mine = lane.astype(jnp.uint32) == (c & 0xF)
                here = registers == (c >> 4)[:, None]
                counts = counts + (mine[:, None] & here).astype(jnp.uint32)
                y = y >> 8
        return counts

    counts = lax.fori_loop(0, block, count, jnp.zeros((wg.size, num_bins // 16), jnp.uint32))
    for k in range(num_bins // 16):
        hist = hist.atomic[16 * k + lane].add(counts[:, k])
    return hist


@xe.kernel
def histogram_slm(
    wg: xe.WorkGroup,
    data: xe.Memory,
    hist: xe.Memory,
    *,
    num_bins: int = 256,
    field_bits: int = 8,
    block: int = _BLOCK,
) -> xe.Memory:
    """Counts fields in bins that a work-group shares in local memory.

    A field is the low bits of each `field_bits` of a word, as many as number `num_bins`, a power of two. The group's
    size must divide `num_bins` or reach it.
    """
    bins = wg.local(num_bins, jnp.uint32)
    for bin_, live in _own_bins(wg, num_bins):
        bins = bins.atomic[bin_].store(0, where=live)
    bins = wg.barrier(bins)

    def count(k, bins):
        x = _load_block(wg, data, k, block)
        for shift in range(0, _WORD_BITS, field_bits):
            bins = bins.atomic[(x >> shift) & (num_bins - 1)].add(1)
        return bins

    bins = lax.fori_loop(0, block, count, bins)
    bins = wg.barrier(bins)

    for bin_, live in _own_bins(wg, num_bins):
        hist = hist.atomic[bin_].add(bins.atomic[bin_].load(where=live), where=live)
    return hist


def _load_block(wg: xe.WorkGroup, data: xe.Memory, k: jax.Array, block: int) -> jax.Array:
    """The `k`-th words of the work-items: `block` words per work-item, a sub-group's words consecutive."""
    sub_group = wg.sub_group
    base = wg.group_id() * (wg.size * block) + sub_group.group_id() * (sub_group.size * block) + sub_group.size * k
    return sub_group.load(data, base)


def _own_bins(wg: xe.WorkGroup, num_bins: int) -> list[tuple[jax.Array, jax.Array | None]]:
    """The bins that each work-item clears and adds up: their indices, and who has one."""
    factor, lid = num_bins // wg.size, wg.local_id()
    if factor <= 1:
        return [(lid, lid < num_bins)]
    return [(wg.size * k + lid, None) for k in range(factor)]


def _inputs(size: Size, num_bins: int) -> Inputs:
    """Words whose bytes are uniform from 0 to 255, as the text's `rand() % 256`; and the global bins."""
    bytes_ = np.random.default_rng(SEED).integers(256, size=8 * size[0], dtype=np.uint8)
    return bytes_.view(np.uint64), np.zeros(num_bins, np.uint64)


def _reference(data: np.ndarray, hist: np.ndarray, field: type[np.generic], mask: int) -> np.ndarray:
    """Counts all values of the fields and folds those that differ above the mask alone."""
    values = 2 ** (8 * np.dtype(field).itemsize)
    counts = np.zeros(values, np.uint64)
    for start in range(0, data.size, _CHUNK):  # bincount makes a 64-bit copy of what it is given
        counts += np.bincount(data[start : start + _CHUNK].view(field), minlength=values).astype(np.uint64)
    folded = counts.reshape(-1, mask + 1).sum(axis=0, dtype=np.uint64)
    return hist + np.pad(folded, (0, hist.size - folded.size))


def _nd_range(size: Size) -> xe.NDRange:
    """Each work-item counts a block of words; the text has no remainder."""
    of_a_group = _BLOCK * _GROUP
    if size[0] % of_a_group:
        raise xe.KernelArgumentError(
            f"the histograms take whole groups of {_GROUP} work-items with {_BLOCK} words each; {size[0]} words are "
            f"no multiple of {of_a_group}; give for example {-(-size[0] // of_a_group) * of_a_group}"
        )
    return xe.NDRange(size[0] // _BLOCK, _GROUP)


def _example(
    name: str, where: str, kernel: xe.Kernel, field: type[np.generic], mask: int, num_bins: int = 256, **static: int
) -> Example:
    return Example(
        name=name,
        summary=f"Histogram of {num_bins} bins in {where} (oneAPI GPU Optimization Guide, Shared Local Memory)",
        kernel=kernel,
        size=(4096 * 4096,),
        size_names=("words",),
        nd_range=_nd_range,
        inputs=functools.partial(_inputs, num_bins=num_bins),
        reference=functools.partial(_reference, field=field, mask=mask),
        work=lambda size: size[0] * (_WORD_BITS // (8 * np.dtype(field).itemsize)),
        unit="updates",
        static={"num_bins": num_bins, **static},
    )


EXAMPLES = (
    _example("histogram_private", "private memory", histogram_private, np.uint8, 0x1F),
    _example("histogram_registers", "the registers of a sub-group", histogram_registers, np.uint8, 0xFF),
    _example("histogram_slm", "local memory", histogram_slm, np.uint8, 0xFF),
    _example("histogram_slm_1024", "local memory", histogram_slm, np.uint16, 0x3FF, num_bins=1024, field_bits=16),
)
