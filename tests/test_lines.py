"""Lines and sectors: the counters of an H200, and a slow, obvious model."""

import collections
import dataclasses
import functools

import jax
import measured
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xeemu.devices.lines import LineCounts, line_counts
from xeemu.devices.lookup import device
from xeemu.errors import KernelArgumentError

H200, MAX1550 = device("h200"), device("max1550")
TABLE = tuple(measured.requests("patterns_global.csv", "micro_global.csv"))
ACCESSES = [table for table in TABLE if table.op in ("gld", "gst")]
ATOMICS = [table for table in TABLE if table.op in ("gatom_add", "gred_add")]
ARRAYS = pytest.mark.parametrize("how", ["numpy", "jit"])
ALL = np.ones(32, dtype=bool)


def name(table):
    return f"{table.op}-{table.width}"


@functools.cache
def counter(dev, width=4, how="numpy", atomic=False, alignment=None):
    count = functools.partial(line_counts, device=dev, width=width, atomic=atomic, alignment=alignment)
    return jax.jit(count) if how == "jit" else count


def lines(addresses, dev, active=ALL, **access):
    return LineCounts(*map(int, counter(dev, **access)(np.asarray(addresses), active)))


# --- Measured on an H200 ---


@ARRAYS
@pytest.mark.parametrize("table", ACCESSES, ids=name)
def test_loads_and_stores_are_those_of_the_hardware(table, how):
    got = counter(H200, table.width, how)(table.addresses, table.active)
    np.testing.assert_array_equal(got.requests, table.counters["requests"])
    np.testing.assert_array_equal(got.sectors, table.counters["sectors"])
    np.testing.assert_array_equal(got.lines, table.counters["tag_accesses"])
    np.testing.assert_array_equal(got.tag_passes, table.counters["t_wavefronts"])


@ARRAYS
@pytest.mark.parametrize("table", ATOMICS, ids=name)
def test_atomics_are_those_of_the_hardware_but_for_two_scattered_patterns(table, how):
    got = counter(H200, table.width, how, atomic=True)(table.addresses, table.active)
    np.testing.assert_array_equal(got.sectors, table.counters["sectors"])
    again = table.counters["tag_accesses"] - np.asarray(got.lines)
    assert sorted(again)[-3:] == [0, 1, 1]
    assert min(again) == 0
    later = table.counters["t_wavefronts"] - np.asarray(got.tag_passes)
    assert sorted(later)[-2:] == [0, 1]
    assert min(later) == 0


def test_the_table_is_whole():
    assert sum(len(table.addresses) for table in ACCESSES) == 828
    assert sum(len(table.addresses) for table in ATOMICS) == 96


# --- A slow, obvious model ---


def model(addresses, active, dev, width, atomic):
    counts = collections.Counter()
    for start in range(0, len(addresses), dev.request_lanes):
        part = slice(start, start + dev.request_lanes)
        taken = [int(a) for a, on in zip(addresses[part], active[part], strict=True) if on]
        lanes = collections.Counter(taken)
        counts["requests"] += bool(taken)
        counts["bytes_used"] += len({byte for a in taken for byte in range(a, a + width)})
        for unit, bytes_ in (("sectors", dev.sector_bytes or dev.line_bytes), ("lines", dev.line_bytes)):
            turns = collections.defaultdict(int)
            for address, sharing in lanes.items():
                for at in {address // bytes_, (address + width - 1) // bytes_}:
                    turns[at] = max(turns[at], sharing if atomic else 1)
            counts[unit] += sum(turns.values())
    return {unit: counts[unit] for unit in ("requests", "lines", "sectors", "bytes_used")}


words = st.lists(st.integers(0, 200), min_size=32, max_size=32)
masks = st.lists(st.booleans(), min_size=32, max_size=32)
devices_ = st.sampled_from([H200, MAX1550, dataclasses.replace(MAX1550, sector_bytes=32)])


@ARRAYS
@given(words, masks, devices_, st.booleans())
def test_counts_are_those_of_the_model(how, words, mask, dev, atomic):
    addresses, active = 4 * np.array(words, dtype=np.int32), np.array(mask)
    got = counter(dev, 4, how, atomic)(addresses, active)._asdict()
    expected = model(addresses, active, dev, 4, atomic)
    assert {unit: got[unit] for unit in expected} == expected


@given(words, masks, devices_)
def test_a_vector_access_may_straddle_lines(words, mask, dev):
    addresses, active = 4 * np.array(words), np.array(mask)
    got = lines(addresses, dev, active, width=16, alignment=4)._asdict()
    expected = model(addresses, active, dev, 16, atomic=False)
    assert {unit: got[unit] for unit in expected} == expected


# --- Laws ---


@given(words, masks, st.sampled_from([1, 2, 4, 8, 16]), devices_, st.booleans())
def test_bounds(words, mask, width, dev, atomic):
    got = lines(width * np.array(words), dev, np.array(mask), width=width, atomic=atomic)
    assert got.requests <= got.tag_passes <= got.lines <= got.sectors <= sum(mask)
    assert got.bytes_used <= got.bytes_moved == got.sectors * (dev.sector_bytes or dev.line_bytes)
    assert got.bytes_used <= width * sum(mask)
    assert (got.bytes_used == 0) == (not any(mask))


@given(words, masks, st.integers(0, 50), st.booleans())
def test_moving_by_whole_lines_changes_neither_lines_nor_sectors(words, mask, offset, atomic):
    addresses, active = 4 * np.array(words), np.array(mask)
    here = lines(addresses, MAX1550, active, atomic=atomic)
    assert lines(addresses + 64 * offset, MAX1550, active, atomic=atomic) == here


@given(words, masks, st.permutations(range(32)))
def test_the_order_of_the_lanes_does_not_matter_on_the_h200(words, mask, order):
    addresses, active = 4 * np.array(words), np.array(mask)
    order = list(order)
    for atomic in (False, True):
        here = lines(addresses, H200, active, atomic=atomic)
        assert lines(addresses[order], H200, active[order], atomic=atomic) == here


def test_contiguous_strided_and_broadcast_accesses():
    lane = np.arange(32)
    assert lines(4 * lane, MAX1550) == (2, 2, 2, 2, 128, 128)
    assert lines(64 * lane, MAX1550) == (2, 32, 32, 32, 128, 2048)
    assert lines(0 * lane, MAX1550) == (2, 2, 2, 2, 8, 128)
    assert lines(4 * lane, H200) == (1, 1, 4, 1, 128, 128)
    assert lines(4 * lane + 4, H200) == (1, 2, 5, 1, 128, 160)
    assert lines(0 * lane, H200, atomic=True) == (1, 32, 32, 32, 4, 1024)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_leading_axes_are_independent(dtype):
    rng = np.random.default_rng(3)
    addresses = (4 * rng.integers(0, 4096, (3, 5, 32))).astype(dtype)
    active = rng.random((3, 5, 32)) < 0.7
    for atomic in (False, True):
        got = counter(H200, atomic=atomic)(addresses, active)
        for at in np.ndindex(3, 5):
            assert [part[at] for part in got] == list(lines(addresses[at], H200, active[at], atomic=atomic))


def test_addresses_past_4_gb():
    far = (np.arange(32, dtype=np.int64) << 31) + 4
    for atomic in (False, True):
        assert lines(far, H200, atomic=atomic)[:3] == (1, 32, 32)
        with jax.enable_x64(True):
            got = counter(H200, how="jit", atomic=atomic)(far, ALL)
        assert got == lines(far, H200, atomic=atomic)
        assert {part.dtype for part in got} == {np.dtype(np.int32)}


# --- Errors ---


@pytest.mark.parametrize(
    ("dev", "access", "message"),
    [
        (device("cpu"), {}, "the lines of cpu are not known"),
        (H200, {"width": 8, "alignment": 3}, "8 bytes at multiples of 3 does not fit sectors of 32 bytes"),
        (H200, {"width": 64}, "64 bytes at multiples of 64 does not fit sectors of 32 bytes"),
        (H200, {"alignment": 0}, "4 bytes at multiples of 0"),
    ],
)
def test_refusals(dev, access, message):
    with pytest.raises(KernelArgumentError, match=message):
        line_counts(4 * np.arange(32), ALL, dev, **access)
