"""Bank maps: rows against the passes of the rules, and the text."""

import measured
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xeemu.devices import bankmap
from xeemu.devices.banks import bank_counts, bank_passes
from xeemu.devices.lookup import device

H200, MAX1550, HD530 = device("h200"), device("max1550"), device("hd530")
LANE = np.arange(16)


def rows_of(addresses, dev, width=4, kind="load"):
    addresses = np.atleast_2d(addresses)
    return bankmap.draw(addresses, np.ones(addresses.shape, bool), dev, width, kind)


def test_a_column_of_a_16_by_16_tile_lies_in_one_bank():
    shown = rows_of(np.arange(3)[:, None] * 4 + 64 * LANE, MAX1550)
    assert shown.rows == tuple(tuple(16 * (bank == k) for bank in range(16)) for k in range(3))
    assert shown.lines() == ["|G...............| 16", "|.G..............| 16", "|..G.............| 16"]
    assert shown.addresses[1][2] == 4 + 128


def test_a_padded_column_takes_a_pass():
    assert rows_of(68 * LANE, MAX1550).lines() == ["|1111111111111111| 1"]


def test_a_sub_group_of_32_lanes_has_two_rows_on_xe_and_one_on_the_h200():
    addresses = 4 * np.arange(32)
    assert len(rows_of(addresses, MAX1550).rows) == 2
    assert rows_of(addresses, H200).lines() == [f"|{'1' * 32}| 1"]


def test_lanes_on_one_word_are_one_for_a_load_and_many_for_a_store_of_gen9():
    same = np.zeros(16, np.int64)
    assert rows_of(same, HD530).rows[0][0] == 1
    assert rows_of(same, HD530, kind="store").rows[0][0] == 16
    assert rows_of(same, H200, kind="store").rows[0][0] == 1


def test_components_have_a_row_each():
    shown = rows_of(64 * LANE, MAX1550, width=8)
    assert shown.lines() == ["|G...............| 16", "|.G..............| 16"]


def test_lanes_that_take_no_part_have_no_address():
    active = LANE[None] < 2
    shown = bankmap.draw(4 * LANE[None], active, MAX1550, 4, "load")
    assert shown.addresses == ((0, 4, *[None] * 14),)
    assert shown.lines() == ["|11..............| 1"]


def test_what_is_beyond_the_first_rows_is_said():
    shown = rows_of(4 * LANE + np.arange(100)[:, None] * 64, MAX1550)
    assert (len(shown.rows), len(shown.addresses), shown.left_out) == (64, 64, 36)
    assert shown.lines(most=2) == ["|1111111111111111| 1", "|1111111111111111| 1", "98 more"]


def test_more_than_35_have_one_sign():
    assert rows_of(np.zeros(40, np.int64), H200, kind="add").lines()[0].startswith("|W")
    assert bankmap._symbol(36) == "*"


# --- The greatest number of each row is its passes ---

TABLE = [t for t in measured.requests("patterns_shared.csv.gz", "micro_shared.csv") if t.op in ("st", "atom_add")]


@pytest.mark.parametrize("table", [t for t in TABLE if t.width <= 4 or t.op == "st"], ids=lambda t: f"{t.op}-{t.width}")
def test_rows_add_up_to_the_passes_of_the_hardware(table):
    kind = {"st": "store", "atom_add": "add"}[table.op]
    counts = bank_counts(table.addresses, table.active, H200, width=table.width, kind=kind)
    np.testing.assert_array_equal(counts.max(-1).sum(-1), table.counters["wavefronts"])


@given(
    st.lists(st.integers(0, 200), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
    st.sampled_from([MAX1550, HD530]),
    st.sampled_from([4, 8, 16]),
    st.sampled_from(["load", "store", "add", "max"]),
)
def test_rows_add_up_to_the_passes_of_the_rule(words, mask, dev, width, kind):
    addresses, active = width * np.array(words), np.array(mask)
    counts = bank_counts(addresses, active, dev, width=width, kind=kind)
    assert counts.max(-1).sum() == bank_passes(addresses, active, dev, width=width, kind=kind).passes
