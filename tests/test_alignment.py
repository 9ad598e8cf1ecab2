"""Block loads and stores that begin where Intel's messages do not."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

SIZE = 16
RANGE = xe.NDRange(64, 32)


@xe.kernel(sub_group_size=SIZE)
def copied(wg, x, y, *, base, space, stores):
    """A block of each sub-group, `base` elements further than its number says, in local or global memory."""
    sg = wg.sub_group
    first = wg.group_id() * 32 + sg.group_id() * SIZE + base
    if space == "local":
        tile, place = wg.local(64, x.dtype), sg.group_id() * SIZE + base
        if stores:
            tile = wg.barrier(sg.store(tile, place, x[wg.global_id()]))  # <-
            return y.at[wg.global_id()].set(tile[sg.group_id() * SIZE + base + sg.local_id()])
        tile = tile.at[wg.local_linear_id()].set(0).at[32 + wg.local_linear_id()].set(0)
        return y.at[wg.global_id()].set(sg.load(wg.barrier(tile), place))  # <-
    if stores:
        return sg.store(y, first, x[wg.global_id()])  # <-
    return y.at[wg.global_id()].set(sg.load(x, first))  # <-


def required(space, stores):
    """In bytes, as Intel's extensions have it."""
    return 4 if (space, stores) == ("global", False) else 16


@pytest.mark.thorough
@pytest.mark.every(5)
@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("space", ["local", "global"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "int64"])
def test_a_block_is_told_if_it_does_not_begin_at_a_multiple(dtype, space, stores):
    x, bytes_ = np.zeros(96, dtype), np.dtype(dtype).itemsize
    for base in (0, 1, 2, 3, 4, 8, 12, SIZE):
        _, findings = xe.check(copied, RANGE)(x, x.copy(), base=base, space=space, stores=stores)
        if base * bytes_ % required(space, stores) == 0:
            assert not findings
            assert not findings.watched
            continue
        (found,) = findings
        assert (found.kind, found.severity, found.space, found.address) == ("misaligned-block", "note", space, (base,))
        assert found.sites[0].source.endswith("# <-")
        assert found.count == 4
        assert f"[{base}], byte {base * bytes_} (4 times)\n" in str(found)
        assert f"begins at a multiple of {required(space, stores)} bytes on Intel's devices" in str(found)


def assert_proved(function, right):
    """Checks a kernel that loads a block of bytes by a base that depends on data, for aligned bases and others."""
    kernel = xe.kernel(sub_group_size=SIZE)(function)
    starts = np.array([0, 3, 1, 7, 2], np.int32)
    _, findings = xe.check(kernel, RANGE)(np.zeros(256, np.uint8), np.zeros(64, np.uint8), starts, 2)
    assert not findings
    loads = [site for site in findings.watched if "sg.load" in site.source]
    assert not loads if right else loads


def test_a_base_that_is_multiplied_is_proved_whatever_data_says():
    def rows(wg, x, y, starts, n):
        sg = wg.sub_group
        row = lax.fori_loop(0, 2, lambda k, row: row + starts[k] * 8, wg.group_id() << 4)
        base = jnp.where(starts[1] > 2, row * 4, starts[0] * 12) + (sg.group_id() * 64 - 64 * sg.group_id())
        return y.at[wg.global_id()].set(sg.load(x, jnp.minimum(jnp.maximum(base, 4), 128)))

    assert_proved(rows, right=True)


def test_a_base_that_data_gives_is_watched():
    def anywhere(wg, x, y, starts, n):
        sg = wg.sub_group
        return y.at[wg.global_id()].set(
            sg.load(x, jnp.minimum(jnp.maximum(starts[2] * 4 * starts[4] + starts[0], 4), 128))
        )

    assert_proved(anywhere, right=False)


def test_a_base_that_data_gives_is_found():
    @xe.kernel(sub_group_size=SIZE)
    def picked(wg, x, y, starts):
        return y.at[wg.global_id()].set(wg.sub_group.load(x, starts[wg.group_id()]))

    _, findings = xe.check(picked, RANGE)(np.zeros(64, np.uint8), np.zeros(64, np.uint8), np.array([8, 6], np.int32))
    (found,) = findings
    assert (found.address, found.groups, found.count) == ((6,), ((1,),), 2)


def test_other_devices_have_no_such_messages():
    x = np.zeros(96, np.uint8)
    kernel = xe.kernel(copied.function)
    assert not xe.check(kernel, RANGE, device="h200")(x, x.copy(), base=1, space="global", stores=False)[1]
