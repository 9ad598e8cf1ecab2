"""Operations on floats against NumPy's, which rounds each for itself: XLA would take them for real numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

N = 512
FORMS = {
    "x / b": lambda x, y, b: x / b,
    "x / 3.7f": lambda x, y, b: x / np.float32(3.7),
    "x / b / y": lambda x, y, b: x / b / y,
    "x / (b / y)": lambda x, y, b: x / (b / y),
    "1.0f / sqrt(y)": lambda x, y, b: np.float32(1) / np.sqrt(y),
    "x * 1.7f * 3.3f": lambda x, y, b: x * np.float32(1.7) * np.float32(3.3),
    "(x * 1e-30f) * 1e-30f * 1e30f * 1e30f": lambda x, y, b: np.zeros_like(x),
    "(x + 12582912.0f) - 12582912.0f": lambda x, y, b: np.rint(x),
    "1.5f - (2.5f - x)": lambda x, y, b: np.float32(1.5) - (np.float32(2.5) - x),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [1, 8])
def test_rounded_for_itself(form: str, groups: int) -> None:
    text = f"""kernel void f(global const float *a, global const float *c, global float *o, float b)
    {{ size_t i = get_global_id(0); float x = a[i], y = c[i]; o[i] = {form}; }}"""
    random = np.random.default_rng(0)
    x, y = (random.uniform(1, 2000, N).astype(np.float32) for _ in range(2))
    b = np.float32(13.198657)
    kernel = xe.load(text)["f"]
    found = xe.launch(kernel, xe.NDRange((N,), (N // groups,)))(x, y, np.zeros(N, np.float32), b)
    with np.errstate(under="ignore"):
        np.testing.assert_array_equal(np.asarray(found), FORMS[form](x, y, b))


@xe.kernel
def some_divided(wg, x, out, b):
    """A division of what a mask leaves in of a load, stored where it does."""
    lid, i = wg.local_id(), wg.global_id()
    value = x.load(i, where=lid < 16, other=0)
    return out.at[i].set(value / b, where=lid < 16)


def test_what_a_mask_leaves_in_is_rounded_for_itself() -> None:
    x = np.random.default_rng(1).uniform(1, 2000, N).astype(np.float32)
    b = np.float32(13.198657)
    found = np.asarray(xe.launch(some_divided, xe.NDRange(N, 32))(x, np.zeros_like(x), b)).reshape(-1, 32)
    np.testing.assert_array_equal(found[:, :16], (x / b).reshape(-1, 32)[:, :16])


@xe.kernel
def divided_by_the_groups(wg, x, out):
    """A division by a number that each group has of its own."""
    value = x[wg.global_id(0)]
    return out.at[wg.global_id(0)].set(value / wg.reduce(value, "max"))


def test_a_division_by_a_number_of_the_group_is_rounded_for_itself() -> None:
    x = np.random.default_rng(2).uniform(1, 2000, N).astype(np.float32)
    found = np.asarray(xe.launch(divided_by_the_groups, xe.NDRange(N, 32))(x, np.zeros_like(x)))
    np.testing.assert_array_equal(found, x / np.repeat(x.reshape(-1, 32).max(axis=1), 32))


@xe.kernel
def inverted(wg, y, out):
    """Powers below 0, which JAX has as reciprocals."""
    value = y[wg.global_id()]
    return out.at[wg.global_id()].set(lax.integer_pow(jnp.sqrt(value), -1) + lax.integer_pow(value, -3))


def test_a_reciprocal_of_a_root_is_rounded_for_itself() -> None:
    y = np.random.default_rng(3).uniform(0.1, 100, N).astype(np.float32)
    found = np.asarray(xe.launch(inverted, xe.NDRange(N, 64))(y, np.zeros_like(y)))
    np.testing.assert_array_equal(found, np.float32(1) / np.sqrt(y) + np.float32(1) / (y * y * y))


@xe.kernel
def numbers_by_the_groups(wg, x, out, *, sums):
    """A table of the kernel divided by a number of each group; or zeros of a table added to what is loaded."""
    lid, i = wg.local_id(), wg.global_id()
    table = jnp.arange(wg.size, dtype=jnp.float32) * 0.7
    return out.at[i].set(x[i] + jnp.zeros(wg.size) if sums else table[lid] / x[wg.group_id() * wg.size])


def test_a_table_divided_by_a_number_of_the_group_is_rounded_for_itself() -> None:
    x = np.random.default_rng(2).uniform(1, 2000, N).astype(np.float32)
    found = xe.launch(numbers_by_the_groups, xe.NDRange(N, 32))(x, np.zeros_like(x), sums=False)
    table = np.arange(32, dtype=np.float32) * np.float32(0.7)
    np.testing.assert_array_equal(np.asarray(found).reshape(-1, 32), table / x[::32, None])


def test_a_negative_zero_and_a_zero_are_a_zero() -> None:
    x = np.full(N, -0.0, np.float32)
    found = np.asarray(xe.launch(numbers_by_the_groups, xe.NDRange(N, 32))(x, np.ones_like(x), sums=True))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x + np.float32(0)))
    assert not found.any()


@xe.kernel
def halves(wg, x, out):
    """A sum of products with a power of 2, which overflows if it is formed first."""
    i = wg.global_id()
    return out.at[i].set(x[i] * 0.5 + x[x.shape[0] - 1 - i] * 0.5)


def test_a_product_does_not_wait_for_a_sum() -> None:
    x = np.full(N, 3e38, np.float32)
    np.testing.assert_array_equal(np.asarray(xe.launch(halves, xe.NDRange(N, 32))(x, np.zeros_like(x))), x)


@xe.kernel
def scaled(wg, x, out, factor):
    """Products with numbers that all groups share, of which two are known as the kernel is traced."""
    i = wg.global_id()
    return out.at[i].set(x[i] * 1.7 * factor * x[0] * 3.3)


def test_numbers_of_the_run_are_not_hidden() -> None:
    x = np.random.default_rng(3).uniform(1, 2000, N).astype(np.float32)
    factor, launch = np.float32(13.198657), xe.launch(scaled, xe.NDRange(N, 32))
    expected = x * np.float32(1.7) * factor * x[0] * np.float32(3.3)
    # In the second, XLA knows them.
    for call in (lambda out: launch(x, out, factor), jax.jit(lambda out: launch(x, out, factor))):
        np.testing.assert_array_equal(np.asarray(call(np.zeros_like(x))), expected)
    assert rounded(launch.lower(x, x, factor)) == 2


def rounded(lowered) -> int:
    """How many results of operations on floats are rounded to the precision that they have."""
    return lowered.as_text().count("stablehlo.reduce_precision")


@xe.kernel
def weighted(wg, x, out, *, known):
    """Products with what a local memory holds that all groups fill alike: numbers of the kernel, or loaded ones."""
    lid, i = wg.local_id(), wg.global_id()
    weights = jnp.full(wg.size, 1.7, jnp.float32) if known else x[lid]
    table = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(weights))
    total = lax.fori_loop(0, wg.size, lambda k, total: total + x[i] * table[k], jnp.zeros(wg.size, jnp.float32))
    return out.at[i].set(total)


@pytest.mark.parametrize("known", [True, False])
def test_memories_hide_what_is_stored_by_the_kernel_alone(known: bool) -> None:
    x = jax.ShapeDtypeStruct((N,), np.float32)
    assert bool(rounded(xe.launch(weighted, xe.NDRange(N, 32)).lower(x, x, known=known))) == known
