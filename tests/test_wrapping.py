"""Index arithmetic that wraps: found where it lands in bounds, silent in hashes and where lanes are masked."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from notes import followed, found, line

import xeemu as xe

KIND = "wrapped-index"
N = xe.NDRange(128, 64)
A = np.arange(128, dtype=np.int32)
OUT = np.zeros(128, np.int32)
BIG = np.int32(1 << 30)


@xe.kernel
def product(wg, a, n, out):
    i = wg.global_id()
    row = i * n  # wraps
    return out.at[i].set(a.load(row, where=i % 4 == 0))  # used


@xe.kernel
def byte(wg, a, n, out):
    i = wg.global_id()
    b = a[i].astype(jnp.uint8)
    return out.at[i].set(a[(b * 4).astype(jnp.int32) // 8])  # wraps


@xe.kernel
def loop(wg, a, n, out):
    i = wg.global_id()

    def step(k, carry):
        j, x = carry
        x = x + a.load(j, where=(k == 0) | (k == 4))  # used
        return j + n, x  # wraps

    _, x = lax.fori_loop(0, 5, step, (i, jnp.zeros(64, jnp.int32)))
    return out.at[i].set(x)


@xe.kernel
def after_a_loop(wg, a, n, out):
    i = wg.global_id()

    def step(carry):
        j, k = carry
        return j + n, k + 1  # wraps

    j, _ = lax.while_loop(lambda carry: wg.any(carry[1] < 4), step, (i, jnp.zeros(64, jnp.int32)))
    return out.at[i].set(a[j])  # used


@xe.kernel
def in_a_branch(wg, a, n, out):
    i = wg.global_id()
    j = lax.cond(wg.group_id() == 1, lambda: i - 64 + (n + n) * 2, lambda: i)  # wraps
    return out.at[jnp.where(i < 3, 0, j)].set(1, where=i > 100)  # used


@xe.kernel
def quotient(wg, a, n, out):
    i = wg.global_id()
    return out.at[jnp.minimum(lax.div(i * n, n + 7), 5)].set(1, where=i == 4)  # wraps


@xe.kernel
def uniform(wg, a, n, out):
    start = (wg.group_id() + 3) * n * 4  # wraps
    return out.at[start + wg.local_id()].set(1)  # used


@xe.kernel
def fixed_point(wg, a, n, out):
    i = wg.global_id()
    offset = i.astype(jnp.uint32) * jnp.uint32(1 << 26)  # wraps
    return out.at[i].set(a[offset >> 26])  # used


WRONG = (fixed_point, product, byte, loop, after_a_loop, in_a_branch, quotient, uniform)


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.name)
def test_found_at_its_line_with_the_access(kernel):
    _, findings = xe.check(kernel, N)(A, BIG, OUT)
    (finding,) = [f for f in findings if f.kind == KIND]
    used = "used" if "# used" in inspect.getsource(kernel.function) else "wraps"
    assert finding.severity == "note"
    assert [site.line for site in finding.sites] == [line(kernel, "wraps")]
    assert f".py:{line(kernel, used)}: " in finding.text.splitlines()[2]


def test_a_cast_that_loses_bits():
    @xe.kernel
    def cast(wg, a, out):
        i = wg.global_id()
        return out.at[i].set(out[a[i].astype(jnp.int32)])

    (finding,) = found(cast, N, A + (np.int64(1) << 32) * (A % 2), OUT, kind=KIND)
    assert finding.text.splitlines()[0] == "note: wrapped-index: 4294967297 as int32 is 1"
    assert not found(cast, N, A.astype(np.int64), OUT, kind=KIND)


def test_what_a_finding_says():
    (finding,) = found(product, N, A, BIG, OUT, kind=KIND)
    assert str(finding).splitlines()[0] == (
        "note: wrapped-index: 4 * 1073741824 is 0 in int32, and should be 4294967296 (31 times)"
    )
    assert (finding.memory, finding.address, finding.work_items[0].global_id) == ("a", (0,), (4,))


@xe.kernel
def hashed(wg, a, n, out):
    i = wg.global_id()
    h = a[i].astype(jnp.uint32) * jnp.uint32(2654435761) + jnp.uint32(12345)
    h = h ^ (h << 13)
    return out.at[i].set(a[(h >> 25).astype(jnp.int32)] + a[h % jnp.uint32(100)] + a[h & 63])


@xe.kernel
def masked(wg, a, n, out):
    i = wg.global_id()
    j = jnp.where(i < 1, i * n, i)
    return out.at[i].set(a[j] + a.load(i * n, where=i == 0))


@xe.kernel
def turned_back(wg, a, n, out):
    i = wg.global_id()
    u = a[i].astype(jnp.uint32)
    return out.at[i].set(a[u - jnp.uint32(5) + jnp.uint32(5)] + a[(a[i] + n + n) - n - n])


@xe.kernel
def other_branch(wg, a, n, out):
    i = wg.global_id()
    j = lax.cond(wg.group_id() == 1, lambda: (i + n) * 2, lambda: i)
    return out.at[i].set(a.load(j * i, where=i < 10))


@xe.kernel
def small(wg, a, n, out):
    i = wg.global_id()
    return out.at[i].set(a[jnp.minimum(a[i] + 1, 127)] + i * n)


@pytest.mark.parametrize("kernel", [hashed, masked, turned_back, other_branch, small], ids=lambda kernel: kernel.name)
def test_silent_where_it_is_meant_or_right(kernel):
    assert not found(kernel, N, A, BIG, OUT, kind=KIND)


def test_what_ranges_prove_is_not_followed():
    @xe.kernel
    def strided(wg, a, n, out):
        x = lax.fori_loop(0, 7, lambda k, x: x + a.load(wg.global_id() * n + k, where=k < 5), jnp.zeros(64, jnp.int32))
        return out.at[wg.global_id()].set(x)

    assert followed(strided, N, A, np.int32(1000), OUT) == []
    assert followed(strided, N, A, BIG, OUT) == ["Wrapped"]


def test_what_wraps_far_from_the_bounds_is_not_followed():
    @xe.kernel
    def rows(wg, a, n, out):
        start = a[wg.global_id()]

        def step(carry):
            k, x = carry
            return k + n, x + a.load(k + 3, where=k < start + 8)

        _, x = lax.while_loop(lambda carry: wg.any(carry[0] < start + 8), step, (start, jnp.zeros(64, jnp.int32)))
        return out.at[wg.global_id()].set(x)

    assert followed(rows, N, A, np.int32(1), OUT) == []
    assert followed(rows, N, A, np.int32(1 << 12), OUT) == ["Wrapped"]
