"""Bank passes: the counters of an H200, the statements of Intel's guides, and a slow, obvious model."""

import dataclasses
import functools
import math

import jax
import measured
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xeemu.devices.banks import BankPasses, bank_passes, retry_load_passes
from xeemu.devices.lookup import device
from xeemu.errors import KernelArgumentError

H200, MAX1550, HD530 = device("h200"), device("max1550"), device("hd530")
KINDS = {
    "ld": "load",
    "st": "store",
    "atom_add": "add",
    "red_add": "add",
    "red_inc": "increment",
    "atom_cas": "compare_exchange",
    "atom_exch": "exchange",
    "atom_max": "max",
    "red_add_f32": "float_add",
}
TABLE = tuple(measured.requests("patterns_shared.csv.gz", "micro_shared.csv"))
MEASURED = pytest.mark.parametrize("table", TABLE, ids=lambda table: f"{table.op}-{table.width}")
ARRAYS = pytest.mark.parametrize("how", ["numpy", "jit"])
ALL = np.ones(32, dtype=bool)


@functools.cache
def counter(dev, width, kind, how="numpy"):
    count = functools.partial(bank_passes, device=dev, width=width, kind=kind)
    return jax.jit(count) if how == "jit" else count


def passes(addresses, dev, width=4, kind="load", active=None):
    active = np.ones(len(addresses), dtype=bool) if active is None else active
    return BankPasses(*map(int, counter(dev, width, kind)(np.asarray(addresses), active)))


# --- Measured on an H200 ---


@ARRAYS
@MEASURED
def test_passes_are_those_of_the_hardware(table, how):
    got = counter(H200, table.width, KINDS[table.op], how)(table.addresses, table.active)
    np.testing.assert_array_equal(got.passes, table.counters["wavefronts"])
    np.testing.assert_array_equal(got.conflicts, table.counters["bank_conflicts"])
    np.testing.assert_array_equal(got.requests, 1)


@ARRAYS
@MEASURED
def test_rounds_and_loads_of_atomics_are_those_of_the_hardware(table, how):
    if table.op in ("ld", "st"):
        return
    kind = KINDS[table.op]
    got = counter(H200, table.width, kind, how)(table.addresses, table.active)
    np.testing.assert_array_equal(got.rounds, table.counters["atom_inst"])
    load = functools.partial(retry_load_passes, device=H200, width=table.width, kind=kind)
    loads = (jax.jit(load) if how == "jit" else load)(table.addresses, table.active)
    np.testing.assert_array_equal(loads, table.counters["loop_ld_wavefronts"])


def test_the_table_is_whole():
    rows = {(table.op, table.width): len(table.addresses) for table in TABLE}
    assert sum(rows.values()) == 4538
    assert rows["ld", 4] == rows["st", 4] == 604
    assert rows["atom_add", 8] == rows["red_add", 8] == 63


@MEASURED
def test_conflicts_are_what_passes_exceed_the_ideal_by(table):
    got = counter(H200, table.width, KINDS[table.op])(table.addresses, table.active)
    if table.op == "atom_cas":
        np.testing.assert_array_equal(2 * got.conflicts, got.passes - got.ideal_passes)
    elif table.op == "red_add_f32" or (table.width == 8 and "add" in table.op):
        assert (got.ideal_passes <= got.passes).all()
    else:
        np.testing.assert_array_equal(got.conflicts, got.passes - got.ideal_passes)


# --- Stated by Intel ---


@pytest.mark.parametrize("dev", [HD530, MAX1550, device("iris_xe"), device("b580")], ids=lambda dev: dev.name)
def test_stride_16_has_a_sixteenth_of_the_bandwidth_and_stride_1_all_of_it(dev):
    lane = np.arange(16)
    assert passes(4 * lane, dev)[:3] == (1, 1, 1)
    assert passes(64 * lane, dev)[:3] == (1, 16, 1)
    assert passes(68 * lane, dev).passes == 1


def test_a_wide_sub_group_is_two_requests_on_xe_and_one_on_the_h200():
    assert passes(4 * np.arange(32), MAX1550)[:3] == (2, 2, 2)
    assert passes(4 * np.arange(32), H200)[:3] == (1, 1, 1)


def test_stores_to_one_word_conflict_on_gen9_and_not_on_the_h200():
    same = np.zeros(16, dtype=np.int32)
    assert passes(same, HD530, kind="store").passes == 16
    assert passes(same, HD530, kind="load").passes == 1
    assert passes(same, H200, kind="store").passes == 1


def test_components_of_wide_accesses_follow_each_other_on_xe():
    contiguous = 16 * np.arange(16)
    assert passes(contiguous, MAX1550, width=16)[:3] == (1, 16, 4)
    padded = 20 * np.arange(16) * 4
    assert passes(padded, MAX1550, width=16)[:3] == (1, 16, 4)
    assert passes(np.arange(0, 16 * 68, 68), MAX1550, width=4).passes == 1


@pytest.mark.parametrize("kind", ["add", "increment", "min", "exchange", "compare_exchange", "float_add"])
def test_what_is_not_known_of_atomics_is_one_pass_for_each_lane_of_a_bank(kind):
    assert passes(np.zeros(16, dtype=np.int32), MAX1550, kind=kind) == (1, 16, 1, 15, 1)


# --- A slow, obvious model ---


def model(addresses, active, dev, width, kind):
    """The passes of loads, stores and plain atomics of up to 4 bytes."""
    total = 0
    for start in range(0, len(addresses), dev.request_lanes):
        banks = {}
        for address, on in list(zip(addresses, active, strict=True))[start : start + dev.request_lanes]:
            if on:
                word = address // dev.slm_bank_bytes
                banks.setdefault(word % dev.slm_banks, []).append(word)
        merged = kind == "load" or (kind == "store" and dev.slm_same_word_stores_conflict is False)
        total += max((len(set(words)) if merged else len(words) for words in banks.values()), default=0)
    return total


words = st.lists(st.integers(0, 300), min_size=32, max_size=32)
masks = st.lists(st.booleans(), min_size=32, max_size=32)
devices_ = st.sampled_from(
    [H200, MAX1550, HD530, dataclasses.replace(MAX1550, slm_banks=65), dataclasses.replace(MAX1550, slm_bank_bytes=8)]
)


@ARRAYS
@given(words, masks, devices_, st.sampled_from(["load", "store", "add"]))
def test_passes_are_those_of_the_model(how, words, mask, dev, kind):
    addresses, active = 4 * np.array(words, dtype=np.int32), np.array(mask)
    got = counter(dev, 4, kind, how)(addresses, active)
    assert got.passes == model(addresses, active, dev, 4, kind)
    assert got.requests == sum(map(any, np.split(active, 32 // dev.request_lanes)))


# --- Laws ---


@given(words, masks, devices_, st.sampled_from(["load", "store", "add", "increment", "max"]))
def test_a_request_takes_at_least_one_pass_and_at_most_one_per_active_lane(words, mask, dev, kind):
    got = passes(4 * np.array(words), dev, kind=kind, active=np.array(mask))
    assert got.requests == got.ideal_passes <= got.passes <= sum(mask)


@given(
    words,
    masks,
    st.sampled_from([4, 8, 16]),
    st.integers(0, 1000),
    st.sampled_from([H200, MAX1550, HD530]),
    st.sampled_from(["load", "store", "add", "increment", "compare_exchange", "float_add"]),
)
def test_a_uniform_offset_changes_nothing(words, mask, width, offset, dev, kind):
    addresses = width * np.array(words)
    moved = addresses + width * offset
    assert passes(addresses, dev, width, kind, np.array(mask)) == passes(moved, dev, width, kind, np.array(mask))


@given(st.integers(0, 200), st.sampled_from([4, 8, 16, 32]))
def test_a_stride_takes_gcd_passes_where_lanes_are_banks(stride, banks):
    dev = dataclasses.replace(H200, slm_banks=banks, request_lanes=banks)
    assert passes(4 * stride * np.arange(banks), dev).passes == (math.gcd(stride, banks) if stride else 1)


@given(st.integers(0, 1000), st.sampled_from([1, 2, 4, 8, 16]), devices_)
def test_a_broadcast_load_takes_the_ideal_passes(word, width, dev):
    got = passes(np.full(32, 16 * word), dev, width)
    assert got.passes == got.ideal_passes


@given(words, masks, st.sampled_from(["load", "add", "float_add"]))
def test_inactive_lanes_take_no_part(words, mask, kind):
    addresses, active = 4 * np.array(words), np.array(mask)
    elsewhere = np.where(active, addresses, 0)
    assert passes(addresses, H200, 4, kind, active) == passes(elsewhere, H200, 4, kind, active)
    assert passes(addresses, H200, 4, kind, ~ALL) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize(("width", "kind"), [(4, "load"), (8, "load"), (8, "add"), (4, "float_add")])
def test_leading_axes_are_independent(dtype, width, kind):
    rng = np.random.default_rng(3)
    addresses = (rng.integers(0, 64, (3, 5, 32)) * width).astype(dtype)
    active = rng.random((3, 5, 32)) < 0.7
    got = counter(H200, width, kind)(addresses, active)
    for at in np.ndindex(3, 5):
        assert [part[at] for part in got] == list(passes(addresses[at], H200, width, kind, active[at]))
        assert {part.dtype for part in got} == {np.dtype(np.int32)}


def test_a_mask_broadcasts_and_a_partial_request_is_filled_up():
    addresses = np.broadcast_to(4 * np.arange(24), (7, 24))
    got = bank_passes(addresses, np.True_, MAX1550)
    np.testing.assert_array_equal(got.requests, [2] * 7)
    np.testing.assert_array_equal(got.passes, [2] * 7)


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "kind"), [(4, "load"), (8, "load"), (8, "add"), (4, "float_add")])
def test_64_bit_addresses_count_as_32_bit_ones(width, kind):
    rng = np.random.default_rng(4)
    addresses, active = width * rng.integers(0, 64, (9, 32), dtype=np.int64), rng.random((9, 32)) < 0.7
    with jax.enable_x64(True):
        wide = counter(H200, width, kind, "jit")(addresses, active)
    narrow = counter(H200, width, kind, "jit")(addresses.astype(np.int32), active)
    for a, b in zip(wide, narrow, strict=True):
        assert a.dtype == b.dtype == np.int32
        np.testing.assert_array_equal(a, b)


def test_both_kinds_of_arrays_agree_on_a_random_loop():
    rng = np.random.default_rng(5)
    addresses, active = 8 * rng.integers(0, 40, (50, 32), dtype=np.int32), rng.random((50, 32)) < 0.8
    numpy_, jax_ = (counter(H200, 8, "add", how)(addresses, active) for how in ("numpy", "jit"))
    for a, b in zip(numpy_, jax_, strict=True):
        np.testing.assert_array_equal(a, b)


# --- Errors ---


@pytest.mark.parametrize(
    ("dev", "width", "kind", "message"),
    [
        (H200, 3, "load", "no access of width 3 and kind 'load'; a width is 1, 2, 4, 8 or 16 bytes"),
        (H200, 4, "fetch", "kind 'fetch'; .* and a kind one of load, store, add"),
        (device("cpu"), 4, "load", "the banks of cpu's local memory are not known"),
        (dataclasses.replace(H200, slm_banks=65), 8, "load", "h200's 65 banks do not divide into groups of 2"),
    ],
)
@pytest.mark.parametrize("function", [bank_passes, retry_load_passes])
def test_refusals(function, dev, width, kind, message):
    with pytest.raises(KernelArgumentError, match=message):
        function(np.zeros(32, dtype=np.int32), ALL, dev, width=width, kind=kind)


@pytest.mark.parametrize("kind", ["load", "compare_exchange", "add"])
def test_what_is_no_loop_retries_nothing(kind):
    assert retry_load_passes(np.zeros((2, 32), dtype=np.int32), ALL, H200, width=4, kind=kind).tolist() == [0, 0]
