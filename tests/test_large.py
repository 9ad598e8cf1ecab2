"""Arrays and nd-ranges beyond 2^31: what indexes them has 64 bits, and the last elements are found."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from launches import prepared

import xeemu as xe
from xeemu.launching import capacity

BEYOND = 2**31 + 2**20
N = 4096


def places(jaxpr, size):
    """The dtypes of what indexes arrays of more than so many elements, in a jaxpr and those inside it, by operation."""
    found = {}
    for eqn in jaxpr.eqns:
        inner = [p for p in jax.tree.leaves(list(eqn.params.values())) if hasattr(p, "eqns") or hasattr(p, "jaxpr")]
        for each in inner:
            for name, dtypes in places(getattr(each, "jaxpr", each), size).items():
                found.setdefault(name, set()).update(dtypes)
        first = {"gather": 1, "dynamic_slice": 1, "dynamic_update_slice": 2}.get(eqn.primitive.name)
        first = 1 if eqn.primitive.name.startswith("scatter") else first
        if first and eqn.invars[0].aval.size > size:
            last = first + 1 if first == 1 and "scatter" in eqn.primitive.name else len(eqn.invars)
            found.setdefault(eqn.primitive.name, set()).update(v.aval.dtype.name for v in eqn.invars[first:last])
    return found


def indexed(kernel, nd_range, *shapes):
    """The dtypes of what a launch indexes large arrays by, and of its ids, without an array of that size."""
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    ready = prepared(kernel, nd_range, structs)
    with jax.enable_x64(ready.program.wide):
        emitted = jax.make_jaxpr(ready.emit)(*structs)
    return places(emitted.jaxpr, 2**31 - 1), ready.program.geometry.id_type


@xe.kernel
def fill(wg, y):
    i = wg.global_id()
    return y.at[i].set((i % 251).astype(jnp.uint8))


@xe.kernel
def edges(wg, x, p, old):
    """Each way to reach an element, at places that are data."""
    i = wg.global_id()
    place = p[i]
    value = x[place]
    x = x.at[place].set(~value)
    x = x.atomic[place - 2 * N].add(1)
    before, x = x.atomic[place - N].fetch_add(3)
    return x, old.at[i].set(value ^ before)


@xe.kernel
def count(wg, total):
    return total.atomic[0].add(1, where=wg.global_id() >= 2**32)


# --- Shapes alone ---


@pytest.mark.parametrize("size", [2**31, BEYOND])
def test_a_large_array_is_indexed_by_64_bits(size):
    found, id_type = indexed(fill, xe.NDRange(size, 1024), ((size,), np.uint8))
    assert id_type == np.int64
    assert found
    assert set().union(*found.values()) == {"int64"}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_so_is_one_whose_places_are_data_of_either_width(dtype):
    found, id_type = indexed(edges, xe.NDRange(N, 64), ((BEYOND,), np.int32), ((N,), dtype), ((N,), np.int32))
    assert id_type == np.int64
    assert {"gather", "scatter", "scatter-add"} <= found.keys()
    assert set().union(*found.values()) == {"int64"}


def test_below_that_32_bits_do():
    found, id_type = indexed(fill, xe.NDRange(2**31 - 1024, 1024), ((2**31 - 1024,), np.uint8))
    assert id_type == np.int32
    assert not found


def test_an_array_of_several_dimensions_is_as_large_as_their_product():
    @xe.kernel
    def kernel(wg, y):
        return y.at[wg.global_id(0), wg.global_id(1)].set(1)

    found, id_type = indexed(kernel, xe.NDRange((2**16, 2**16), (8, 64)), ((2**16, 2**16), np.uint8))
    assert id_type == np.int64
    assert set().union(*found.values()) == {"int64"}


def test_a_large_nd_range_of_small_arrays_has_wide_ids():
    program = xe.trace(count, xe.NDRange(2**32 + 2048, 1024))(jax.ShapeDtypeStruct((4,), jnp.int32))
    assert "i64[1024]" in str(program)
    report = xe.estimate(count, xe.NDRange(2**40, 1024))(jax.ShapeDtypeStruct((4,), jnp.int32))
    assert report.sites[0].requests == (2**40 - 2**32) // 16


# --- Runs ---


def needs(gib):
    there = capacity.host_bytes()
    if there is not None and there < gib << 30:
        pytest.skip(f"takes {gib} GiB of memory")


@pytest.mark.long
def test_every_element_of_a_large_array_is_stored_to():
    needs(7)
    filled = np.asarray(xe.launch(fill, xe.NDRange(BEYOND, 1024))(np.zeros(BEYOND, np.uint8)))
    period = np.tile(np.arange(251, dtype=np.uint8), 2**14)
    for start in range(0, BEYOND, period.size):
        part = filled[start : start + period.size]
        np.testing.assert_array_equal(part, period[: part.size])


@pytest.mark.long
def test_elements_beyond_two_to_the_31_are_loaded_stored_and_updated():
    needs(12)
    x = jnp.zeros(BEYOND, jnp.int32)
    p = BEYOND - N + np.random.default_rng(0).permutation(N)
    for old_value, before in ((0, 0), (~0, 3)):
        x, old = xe.launch(edges, xe.NDRange(N, 64), donate=True)(x, p, np.zeros(N, np.int32))
        np.testing.assert_array_equal(old, np.full(N, old_value ^ before))
    expected = np.repeat(np.array([2, 6, 0], np.int32), N)
    np.testing.assert_array_equal(np.asarray(x)[-3 * N :], expected)
    assert not np.asarray(x)[: -3 * N].any()


@pytest.mark.long
def test_work_items_beyond_two_to_the_32_have_their_ids():
    total = xe.launch(count, xe.NDRange(2**32 + 2048, 1024))(np.zeros(4, np.int32))
    np.testing.assert_array_equal(total, [2048, 0, 0, 0])
